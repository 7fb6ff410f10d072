//! The tests of this crate that can share a process: one binary, since each one links all that the crate stands on. A test that
//! watches what belongs to the process (its memory, its failpoints, its time) is a binary of its own, named in `Cargo.toml`.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

// The name that the workspace knows it by, for all modules.
extern crate tanglewood_database as database;

mod backup_work;
mod catalogue;
mod clauses;
mod commit_ends;
mod counts;
mod cypher5;
mod datalog;
mod datalog_standing;
mod edge_index;
mod export;
mod extremes;
mod garbage;
mod graph_procedures;
mod graphalytics;
mod gremlin;
mod gremlin_ids;
mod gremlin_one_mode;
mod in_transactions;
mod join_keys;
mod lists_in_turns;
mod load_csv;
mod many_sources;
mod metered;
mod names5;
mod names_max;
mod past;
mod planning;
mod random_catalogue;
mod random_writes;
mod repeat;
mod roles;
mod schema_work;
mod session;
mod shared_answers;
mod spill;
mod standing;
mod tablets;
mod trail_ends;
mod walk_tests;
mod walks;
mod whole_graph;
