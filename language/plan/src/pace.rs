//! Reading and planning a long text takes a while: it counts its work here, so that a timeout or a kill ends it, and so that it makes way
//! for others.
//!
//! The languages and the planner know neither clock nor scheduler. Who carries statements out says once what counts work
//! ([`counted_by`]); until then nothing is counted. Cost: one call for each token, expression and rewrite.

use std::fmt;
use std::sync::OnceLock;

/// The work must end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the planning of the statement was stopped")
    }
}

impl std::error::Error for Stopped {}

/// Counts so many units, each an expression or a token; an error where the work must end.
pub type Count = fn(u64) -> Result<(), Stopped>;

static COUNT: OnceLock<Count> = OnceLock::new();

/// From now on `count` counts, in all threads; the first who says so stays.
pub fn counted_by(count: Count) {
    let _ = COUNT.set(count);
}

/// Counts work of so many units.
///
/// # Errors
/// The work must end.
#[inline]
pub fn spend(units: u64) -> Result<(), Stopped> {
    COUNT.get().map_or(Ok(()), |count| count(units))
}
