//! Memory management: pages that can be read again, the budget, and where bytes are read from and spilled to.

pub(crate) mod page;
pub(crate) mod pager;
pub(crate) mod rows;
pub(crate) mod source;
pub(crate) mod spill;
