//! The bytes a query holds, by operator, against its budget.
//!
//! Operators charge before they grow and release when they shrink. Going over is an error value that the operator hands on; the runtime
//! turns it into the query's end, with a list of who held what.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

/// The error of [`Context::charge`](crate::Context::charge).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetExceeded {
    /// The budget in bytes.
    pub limit: u64,
    /// Who held how many bytes, most first; what was just asked for is included.
    pub held: Vec<(String, u64)>,
}

impl fmt::Display for BudgetExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "memory budget of {} bytes exceeded", self.limit)
    }
}

impl std::error::Error for BudgetExceeded {}

#[derive(Default)]
struct Account {
    held: AtomicU64,
    peak: AtomicU64,
}

pub(crate) struct Ledger {
    limit: u64,
    total: AtomicU64,
    vertices: Vec<Account>,
}

impl Ledger {
    pub(crate) fn new(limit: u64, vertices: usize) -> Ledger {
        Ledger {
            limit,
            total: AtomicU64::new(0),
            vertices: (0..vertices).map(|_| Account::default()).collect(),
        }
    }

    /// Adds bytes; false if the query now holds more than it may. The bytes are counted either way.
    pub(crate) fn charge(&self, vertex: usize, bytes: u64) -> bool {
        let account = &self.vertices[vertex];
        let held = account.held.fetch_add(bytes, Ordering::Relaxed) + bytes;
        account.peak.fetch_max(held, Ordering::Relaxed);
        self.total.fetch_add(bytes, Ordering::Relaxed) + bytes <= self.limit
    }

    pub(crate) fn release(&self, vertex: usize, bytes: u64) {
        self.vertices[vertex].held.fetch_sub(bytes, Ordering::Relaxed);
        self.total.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(crate) fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    pub(crate) fn peak(&self, vertex: usize) -> u64 {
        self.vertices[vertex].peak.load(Ordering::Relaxed)
    }

    /// The error that says who holds what.
    pub(crate) fn exceeded(&self, names: impl Iterator<Item = String>) -> BudgetExceeded {
        let mut held: Vec<(String, u64)> = names
            .zip(&self.vertices)
            .map(|(name, account)| (name, account.held.load(Ordering::Relaxed)))
            .filter(|(_, bytes)| *bytes > 0)
            .collect();
        held.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        BudgetExceeded { limit: self.limit, held }
    }
}
