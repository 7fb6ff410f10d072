//! # conformance: outside test suites, run in process
//!
//! Others have written down what Cypher means: the openCypher Technology Compatibility Kit, and a kit about paths in the same
//! format. Their files are data that stay outside the project; this crate reads them, runs each scenario against a database of its own
//! in memory, and compares. What does not pass is named in a list that may only shrink ([`ratchet`]): a scenario that fails and is not
//! listed is a fault, and so is one that is listed and passes.
//!
//! The suites lie in the folder named by `TANGLEWOOD_CONFORMANCE`, or in `../shared/conformance` beside the repository; where there is
//! neither, the tests say so and pass.
//!
//! Reading order: [`gherkin`] (files to scenarios), [`shape`] (values without identity), [`notation`] (how tables write them), [`effects`]
//! (what a query changed), [`scenario`] (one scenario, run), [`suite`] (all of a folder), [`ratchet`].
#![cfg_attr(not(test), deny(clippy::unwrap_used))]
#![warn(missing_docs)]

pub mod effects;
pub mod gherkin;
pub mod gremlin;
pub mod notation;
pub mod ratchet;
pub mod scenario;
pub mod shape;
pub mod suite;
