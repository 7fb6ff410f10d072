//! # fuzz: what outsiders may hand to us, changed at random
//!
//! Question: is there a byte, in a file, on a wire or in a query, that makes us crash or answer wrongly? Each target is one function from bytes to
//! nothing: it panics if it finds something. The same functions run in three ways:
//!
//! ```text
//!   tests/mutations.rs     seeded, some thousand inputs each, with every test run
//!   examples/run.rs        stable Rust, as long as you like:  cargo run --release -p tanglewood-fuzz --example run -- chunk 60
//!   fuzz/                  cargo-fuzz, guided by coverage; a workspace of its own, needs nightly
//! ```
//!
//! Reading order: [`targets`] (what is tried), [`mutate`] (how inputs are changed), [`damage`] (a database whose files are damaged).

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod damage;
pub mod mutate;
pub mod targets;
