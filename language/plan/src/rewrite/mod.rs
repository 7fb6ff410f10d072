//! The rewrites, one a file, in folders by phase; [`crate::optimize()`] defines their order. Each head says what the rewrite does, when it is sound,
//! and its cost. [`substitute`], `produced_columns` and [`loops`] are shared by rewrites of several phases.

pub(crate) mod columns;
pub(crate) mod ends;
pub(crate) mod gather;
pub(crate) mod loops;
pub(crate) mod order;
pub(crate) mod produced_columns;
pub(crate) mod shape;
pub(crate) mod substitute;
