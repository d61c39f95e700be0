//! The integration tests of `fathom-algebra`, as one program: it is linked once, and its tests share the
//! processors.

mod alike;
mod known_groups;
mod large;
