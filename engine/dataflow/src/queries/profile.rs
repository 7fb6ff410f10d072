//! The ledger of a query: counters of its operators and scopes, readable from any thread while it runs.
//!
//! Executors count for themselves and publish after each turn, so the figures are at most one quota old. Time is split by clock
//! readings that short calls share (`pace`), so it is exact for a vertex with calls of a microsecond or more and an even split for others.

use crate::queries::query::QueryShared;
use crate::{Message, QueryInfo, ScopeKind, ScopeNo};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The profile of one vertex of a query, summed over all its operators on all executors and in all scope instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VertexProfile {
    /// The name given to the vertex.
    pub name: String,
    /// The scope it lies in.
    pub scope: ScopeNo,
    /// Operators made.
    pub instances: u64,
    /// Operators there now.
    pub operators_live: u64,
    /// Messages received.
    pub messages_in: u64,
    /// Messages that wait in mailboxes now.
    pub queued: u64,
    /// Rows received.
    pub rows_in: u64,
    /// Rows sent.
    pub rows_out: u64,
    /// Messages sent.
    pub batches: u64,
    /// Time spent in its calls, in nanoseconds; of long calls processor time.
    pub cpu_ns: u64,
    /// The same, by executor; empty where there is only one.
    pub cpu_by_executor_ns: Vec<u64>,
    /// Calls that ran past twice their quota.
    pub overruns: u64,
    /// The longest call, in nanoseconds; if it is long, of processor time.
    pub longest_ns: u64,
    /// Bytes held at present.
    pub bytes_held: u64,
    /// Most bytes held at once.
    pub bytes_peak: u64,
    /// It has had all its input and answered it; of a vertex inside scopes: the outermost scope around it is over.
    pub is_complete: bool,
}

/// The profile of one scope of a query, summed over all its instances. The first is the whole query: one instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopeProfile {
    /// The scope.
    pub scope: ScopeNo,
    /// The scope around it; the graph's is itself.
    pub parent: ScopeNo,
    /// Its name from its options.
    pub name: String,
    /// Branch or loop.
    pub kind: ScopeKind,
    /// Its instances span executors.
    pub wide: bool,
    /// Instances opened.
    pub opened: u64,
    /// Instances cancelled before their end.
    pub cancelled: u64,
    /// Instances that came to their end.
    pub ended: u64,
    /// Instances there now.
    pub live: u64,
    /// Operators in them at present, those in inner scopes included, as in the fields below.
    pub operators_live: u64,
    /// Time spent in calls, in nanoseconds.
    pub cpu_ns: u64,
    /// Messages received by operators.
    pub messages: u64,
    /// Messages that wait now.
    pub queued: u64,
    /// Bytes held at present.
    pub bytes_held: u64,
}

/// How far a query is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueryProgress {
    /// The query, and its totals.
    pub info: QueryInfo,
    /// Its vertices, in the order of their creation.
    pub vertices: Vec<VertexProfile>,
    /// Its scopes, the whole query first, in the order of their creation.
    pub scopes: Vec<ScopeProfile>,
}

impl QueryProgress {
    /// Vertices that are complete, and all. A query that ended well has completed all.
    pub fn complete(&self) -> (usize, usize) {
        (self.vertices.iter().filter(|vertex| vertex.is_complete).count(), self.vertices.len())
    }
}

fn read(counter: &AtomicU64) -> u64 {
    counter.load(Relaxed)
}

impl<M: Message> QueryShared<M> {
    pub(crate) fn progress(&self) -> QueryProgress {
        QueryProgress { info: self.info(), vertices: self.profile(), scopes: self.scope_profiles() }
    }

    pub(crate) fn profile(&self) -> Vec<VertexProfile> {
        let profile = |number: usize| {
            let (vertex, stats) = (&self.graph.vertices[number], &self.stats[number]);
            VertexProfile {
                name: vertex.name.clone(),
                scope: ScopeNo(vertex.scope),
                instances: read(&stats.operators),
                operators_live: read(&stats.operators).saturating_sub(read(&stats.gone)),
                messages_in: read(&stats.messages_in),
                queued: read(&stats.arrived).saturating_sub(read(&stats.left)),
                rows_in: read(&stats.rows_in),
                rows_out: read(&stats.rows_out),
                batches: read(&stats.batches),
                cpu_ns: read(&stats.cpu_ns),
                cpu_by_executor_ns: self.shares_of(number),
                overruns: read(&stats.overruns),
                longest_ns: read(&stats.longest_ns),
                bytes_held: self.ledger.held(number),
                bytes_peak: self.ledger.peak(number),
                is_complete: self.is_complete(number),
            }
        };
        (0..self.graph.vertices.len()).map(profile).collect()
    }

    fn shares_of(&self, vertex: usize) -> Vec<u64> {
        let executors = self.executors();
        let all = self.cpu_by_executor.get(vertex * executors..(vertex + 1) * executors).unwrap_or(&[]);
        if executors > 1 { all.iter().map(read).collect() } else { Vec::new() }
    }

    fn is_complete(&self, vertex: usize) -> bool {
        let vertex = &self.graph.vertices[vertex];
        let (mut scope, mut place) = (vertex.scope, vertex.place);
        while scope != 0 {
            let around = &self.graph.scopes[scope];
            (scope, place) = (around.parent, around.place);
        }
        self.root.is_complete(place)
    }

    fn scope_profiles(&self) -> Vec<ScopeProfile> {
        let profile = |number: usize| {
            let (scope, stats) = (&self.graph.scopes[number], &self.scope_stats[number]);
            let is_graph = u64::from(number == 0);
            let (opened, cancelled) = (read(&stats.opened) + is_graph, read(&stats.cancelled));
            let ended = read(&stats.ended) + is_graph * u64::from(self.is_stopped());
            ScopeProfile {
                scope: ScopeNo(number),
                parent: ScopeNo(scope.parent),
                name: scope.options.name.clone(),
                kind: scope.options.kind,
                wide: scope.wide,
                opened,
                cancelled,
                ended,
                live: opened.saturating_sub(cancelled + ended),
                operators_live: 0,
                cpu_ns: 0,
                messages: 0,
                queued: 0,
                bytes_held: 0,
            }
        };
        let mut scopes: Vec<ScopeProfile> = (0..self.graph.scopes.len()).map(profile).collect();
        for vertex in self.profile() {
            let mut at = vertex.scope.0;
            loop {
                let scope = &mut scopes[at];
                scope.operators_live += vertex.operators_live;
                scope.cpu_ns += vertex.cpu_ns;
                scope.messages += vertex.messages_in;
                scope.queued += vertex.queued;
                scope.bytes_held += vertex.bytes_held;
                if at == 0 {
                    break;
                }
                at = scope.parent.0;
            }
        }
        scopes
    }
}
