//! # rules: evaluation and maintenance of Datalog programs
//!
//! Facts are words of 32 bits in flat tables ([`words`], [`relation`], [`index`], [`table`]); rules are compiled to steps ([`compile`], [`plan`])
//! that go from one fact to all its consequences ([`run`]). [`evaluate`] answers from scratch, [`maintain`] carries changes through, facts that go as
//! well as facts that come; [`aggregate`] keeps groups. Facts of the graph are not stored: they are read on demand ([`Source`]), through
//! [`store::GraphRead`] ([`facts`]). [`ask()`] is all of it for a question that is answered once.
//!
//! The law: after any changes, the answer is that of the same program over the present facts.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod aggregate;
mod ask;
mod compile;
mod component;
mod error;
mod evaluate;
mod evaluation;
mod facts;
mod index;
mod input;
mod limits;
mod maintain;
mod plan;
mod relation;
mod run;
mod source;
mod table;
mod words;

pub use ask::{FileFacts, PreparedProgram, RulesAnswer, ask};
pub use error::RulesError;
pub use evaluation::{Bounds, Change, Evaluation, Look, RelationDelta};
pub use facts::{GraphFact, GraphFacts};
pub use limits::{FACTS_MAX, VALUES_MAX};
pub use source::Source;
pub use words::{Word, Words};
