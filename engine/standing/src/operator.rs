//! The steps with state: one file each, and each with an obvious twin in the tests: the whole input, computed anew.

mod aggregate;
mod combine;
mod distinct;
mod pair;
mod reach;
mod returns;
mod rounds;
mod top;
pub(crate) mod walk;

pub(crate) use aggregate::Aggregate;
pub(crate) use combine::Combine;
pub(crate) use distinct::Distinct;
pub(crate) use pair::{PAIR_MAX, Pair};
pub(crate) use reach::Reach;
pub(crate) use rounds::Rounds;
pub(crate) use top::Top;
