//! Counters of the vertices and scopes of a query, over all executors, readable while it runs.

use std::sync::atomic::AtomicU64;

/// Counters of one vertex, summed over its operators.
#[derive(Default)]
pub(crate) struct VertexStats {
    pub(crate) operators: AtomicU64,
    /// Operators that are gone again.
    pub(crate) gone: AtomicU64,
    /// Messages that came into its mailboxes, and those that left them, received or thrown away.
    pub(crate) arrived: AtomicU64,
    pub(crate) left: AtomicU64,
    pub(crate) messages_in: AtomicU64,
    pub(crate) rows_in: AtomicU64,
    pub(crate) rows_out: AtomicU64,
    pub(crate) batches: AtomicU64,
    pub(crate) cpu_ns: AtomicU64,
    pub(crate) overruns: AtomicU64,
    pub(crate) longest_ns: AtomicU64,
}

/// Counters of one scope, summed over its instances.
#[derive(Default)]
pub(crate) struct ScopeStats {
    pub(crate) opened: AtomicU64,
    pub(crate) cancelled: AtomicU64,
    pub(crate) ended: AtomicU64,
}
