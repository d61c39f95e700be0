//! The integration tests of `fathom-puzzle`, as one program: it is linked once, and its tests share the
//! processors.

mod families;
mod files;
mod groups;
mod guards;
mod search;
mod square1;
