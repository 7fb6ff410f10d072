//! Rules for queries that run away: thresholds and actions.

use crate::terms::ids::TenantNo;
use std::time::Duration;

/// The usage from which a rule applies to a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// Time since it was submitted.
    Age(Duration),
    /// CPU time on all executors.
    Cpu(Duration),
    /// Bytes it holds.
    Bytes(u64),
    /// Rows that its operators sent.
    Rows(u64),
}

/// The action on a query beyond the threshold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It ends.
    Kill,
    /// Sets its weight beside others of its user from then on, where 100 is a fresh query's.
    Slow {
        /// The weight, at least 1.
        weight: u32,
    },
    /// It runs on this tenant's share from then on; its bytes stay on its own tenant's account.
    MoveTo(TenantNo),
}

/// A rule of an account; those of all levels apply, each once a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// When it applies.
    pub beyond: Threshold,
    /// The action.
    pub then: Action,
}

/// Usage of a query so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Taken {
    pub(crate) age_ns: u64,
    pub(crate) cpu_ns: u64,
    pub(crate) bytes: u64,
    pub(crate) rows: u64,
}

impl Rule {
    pub(crate) fn applies(&self, taken: Taken) -> bool {
        match self.beyond {
            Threshold::Age(time) => u128::from(taken.age_ns) > time.as_nanos(),
            Threshold::Cpu(time) => u128::from(taken.cpu_ns) > time.as_nanos(),
            Threshold::Bytes(bytes) => taken.bytes > bytes,
            Threshold::Rows(rows) => taken.rows > rows,
        }
    }
}

impl std::fmt::Display for Threshold {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Threshold::Age(time) => write!(f, "ran for more than {} ms", time.as_millis()),
            Threshold::Cpu(time) => write!(f, "used more than {} ms of processor time", time.as_millis()),
            Threshold::Bytes(bytes) => write!(f, "held more than {bytes} bytes"),
            Threshold::Rows(rows) => write!(f, "moved more than {rows} rows"),
        }
    }
}
