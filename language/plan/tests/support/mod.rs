//! Shared code of this crate's tests: a tiny graph, a slow evaluator that also understands `Match`, statistics to plan with.
#![allow(dead_code, missing_docs, reason = "each test uses a part of it")]

pub mod build;
pub mod chance;
pub mod counting;
pub mod evaluate;
pub mod figures;
pub mod graph;
pub mod run;
