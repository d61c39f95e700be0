//! The tests of `fathom-layer` from outside, as one program: it is linked once, and its tests share the
//! processors.

mod damage;
mod durable;
mod fault;
mod format;
mod maps;
mod readahead;
mod writeback;
