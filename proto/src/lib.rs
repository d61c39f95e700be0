//! What a coordinator and its workers say to each other.
