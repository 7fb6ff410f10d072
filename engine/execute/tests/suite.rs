//! The tests of this crate that can share a process: one binary, since each one links all that the crate stands on. A test that
//! watches what belongs to the process (its memory, its failpoints, its time) is a binary of its own, named in `Cargo.toml`.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

// The name that the workspace knows it by, for all modules.
extern crate tanglewood_execute as execute;

mod control;
mod count_matches;
mod demand;
mod depth;
mod early;
mod edge_samples;
mod first_rows;
mod intersect;
mod page;
mod random_plans;
mod shares;
mod support;
mod writes;
