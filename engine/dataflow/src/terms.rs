//! Terms of the crate: ids, messages, limits, rules, faults.

pub(crate) mod fault;
pub(crate) mod ids;
pub mod limits;
pub mod message;
pub(crate) mod options;
pub(crate) mod parts;
pub mod root;
pub mod rules;
pub mod waker;
