//! A query as all executors and its client share it: its progress, its output, and admission to the runtime.

pub(crate) mod admission;
pub mod handle;
pub(crate) mod level;
pub(crate) mod links;
pub(crate) mod output;
pub mod profile;
pub(crate) mod progress;
pub(crate) mod query;
pub(crate) mod tally;
