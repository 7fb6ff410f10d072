//! The rewrites, one a file, in folders by phase; [`crate::optimize()`] says in which order they run. Each head says what it does, when it is
//! sound, and what it costs. [`substitute`], `produced_columns` and [`loops`] are what rewrites of several phases share.

pub(crate) mod columns;
pub(crate) mod ends;
pub(crate) mod gather;
pub(crate) mod loops;
pub(crate) mod order;
pub(crate) mod produced_columns;
pub(crate) mod shape;
pub(crate) mod substitute;
