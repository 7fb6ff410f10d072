//! A query on one executor: its tree of operators, the choice of the next one, and its calls.

pub(crate) mod call;
pub(crate) mod closing;
pub(crate) mod ends;
pub(crate) mod executor;
pub(crate) mod local;
pub(crate) mod ready;
pub(crate) mod station;
pub(crate) mod step;
pub(crate) mod tree;
pub(crate) mod turn;
