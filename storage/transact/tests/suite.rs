//! The tests of this crate that can share a process: one binary, since each one links all that the crate stands on. A test that
//! watches what belongs to the process (its memory, its failpoints, its time) is a binary of its own, named in `Cargo.toml`.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

// The name that the workspace knows it by, for all modules.
extern crate tanglewood_transact as transact;

mod anomalies;
mod check;
mod conflicts;
mod entries;
mod errors;
mod formats;
mod group;
mod history;
mod limits;
mod load_faults;
mod online_index;
mod opening;
mod recovery;
mod refusals;
mod serializable;
mod since;
mod turns;
mod watch_sets;
