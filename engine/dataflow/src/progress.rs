//! When is a stream at its end? Exact completion across executors, with counters and no lock.
//!
//! Every vertex has, for each port, the number of messages queued or being processed (`pending`) and the number of in-edges whose
//! upstream vertex still runs (`upstream`); and one more counter, `work`, for what belongs to no port: sources, invitations, scope ends.
//!
//! ```text
//! port exhausted    = upstream == 0 and pending == 0 and work == 0      then: on_completion(port) on every instance, each acknowledges
//! vertex complete   = all ports exhausted and acknowledged, work == 0   then: upstream -= 1 at the far end of every out-edge
//! scope complete    = upstream == 0 and no outermost instance lives     then: upstream -= 1 at the far end of every edge out of it
//! query ends        = all vertices outside scopes and all outermost scopes complete
//! ```
//!
//! Inside scopes nothing is counted here: an outermost instance is one piece of work from its opening to its end (`ends`).
//!
//! Invariant: a message is counted at its receiver before the work that sent it is taken off at the sender. So once `upstream` is zero,
//! `pending` only falls, and the first observer of all zeros (all accesses are sequentially consistent, and each decrement is followed
//! by a look) wins the one compare-and-swap. An instance that appears on an executor while another declares a port exhausted is caught
//! by two flags written before either is read: `exhausted` here, `present` there.

use crate::Message;
use crate::graph::{Crossing, Graph, Inner, Scope};
use crate::links::{Command, Shared};
use crate::query::QueryShared;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};

struct PortProgress {
    pending: AtomicUsize,
    upstream: AtomicUsize,
    exhausted: AtomicBool,
}

struct VertexProgress {
    ports: Vec<PortProgress>,
    ports_left: AtomicUsize,
    work: AtomicUsize,
    /// Acknowledgements of `on_completion` still to come; starts at one a port, held by whoever declares the port exhausted.
    acks: AtomicUsize,
    complete: AtomicBool,
    /// Cancelled by a limit downstream.
    closed: AtomicBool,
    /// It is the limit: takes no more messages.
    inputs_closed: AtomicBool,
    made: AtomicU64,
    present: Vec<AtomicBool>,
}

/// An outermost scope; those within it are left at zero.
struct ScopeProgress {
    /// Entries whose upstream vertex still runs.
    upstream: AtomicUsize,
    live: AtomicUsize,
    complete: AtomicBool,
    /// Cancelled by a limit downstream.
    closed: AtomicBool,
}

pub(crate) struct Progress {
    vertices: Vec<VertexProgress>,
    scopes: Vec<ScopeProgress>,
    /// Vertices outside scopes and outermost scopes that are not complete.
    open: AtomicUsize,
}

/// What a piece of work was counted as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Account {
    Port(usize),
    Work,
    Ack,
    Free,
}

impl Progress {
    pub(crate) fn new<M: Message>(graph: &Graph<M>, executors: usize) -> Progress {
        let port = |vertex: usize, port: usize| PortProgress {
            pending: AtomicUsize::new(0),
            upstream: AtomicUsize::new(
                graph.vertices[vertex]
                    .in_edges
                    .iter()
                    .filter(|edge| graph.edges[**edge].port == port)
                    .count(),
            ),
            exhausted: AtomicBool::new(false),
        };
        let vertex = |number: usize| {
            let options = &graph.vertices[number].options;
            VertexProgress {
                ports: (0..options.ports).map(|place| port(number, place)).collect(),
                ports_left: AtomicUsize::new(options.ports),
                work: AtomicUsize::new(usize::from(options.source)),
                acks: AtomicUsize::new(options.ports),
                complete: AtomicBool::new(false),
                closed: AtomicBool::new(false),
                inputs_closed: AtomicBool::new(false),
                made: AtomicU64::new(0),
                present: (0..executors).map(|_| AtomicBool::new(false)).collect(),
            }
        };
        let scope = |scope: &Scope| ScopeProgress {
            upstream: AtomicUsize::new(scope.entries.len()),
            live: AtomicUsize::new(0),
            complete: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        };
        Progress {
            vertices: (0..graph.vertices.len()).map(vertex).collect(),
            scopes: graph.scopes.iter().map(scope).collect(),
            open: AtomicUsize::new(graph.scopes[0].members.len()),
        }
    }

    /// True if messages to this vertex are dropped.
    pub(crate) fn refuses(&self, vertex: usize) -> bool {
        let vertex = &self.vertices[vertex];
        vertex.closed.load(SeqCst) || vertex.inputs_closed.load(SeqCst)
    }

    /// True if all work of this vertex is cancelled.
    pub(crate) fn is_closed(&self, vertex: usize) -> bool {
        self.vertices[vertex].closed.load(SeqCst)
    }

    /// True if all work in this scope, which is an outermost one, is cancelled.
    pub(crate) fn is_scope_closed(&self, scope: usize) -> bool {
        self.scopes[scope].closed.load(SeqCst)
    }

    /// An instance of an outermost scope begins.
    pub(crate) fn instance_opened(&self, scope: usize) {
        self.scopes[scope].live.fetch_add(1, SeqCst);
    }

    pub(crate) fn is_exhausted(&self, vertex: usize, port: usize) -> bool {
        self.vertices[vertex].ports[port].exhausted.load(SeqCst)
    }

    /// An instance appears. Must be called before the exhausted flags are read for it.
    pub(crate) fn instance_made(&self, vertex: usize, executor: usize) {
        let vertex = &self.vertices[vertex];
        vertex.made.fetch_add(1, SeqCst);
        vertex.present[executor].store(true, SeqCst);
    }

    pub(crate) fn begin(&self, vertex: usize, account: Account) {
        let vertex = &self.vertices[vertex];
        match account {
            Account::Port(port) => vertex.ports[port].pending.fetch_add(1, SeqCst),
            Account::Work => vertex.work.fetch_add(1, SeqCst),
            Account::Ack => vertex.acks.fetch_add(1, SeqCst),
            Account::Free => 0,
        };
    }
}

impl<M: Message> QueryShared<M> {
    /// A piece of work is over.
    pub(crate) fn settle(self: &Shared<M>, number: usize, account: Account) {
        let vertex = &self.progress.vertices[number];
        match account {
            Account::Port(port) => {
                if vertex.ports[port].pending.fetch_sub(1, SeqCst) == 1 {
                    self.look_exhausted(number, port);
                }
            }
            Account::Work => {
                if vertex.work.fetch_sub(1, SeqCst) == 1 {
                    (0..vertex.ports.len()).for_each(|port| self.look_exhausted(number, port));
                    self.look_complete(number);
                }
            }
            Account::Ack => {
                if vertex.acks.fetch_sub(1, SeqCst) == 1 {
                    self.look_complete(number);
                }
            }
            Account::Free => {}
        }
    }

    fn look_exhausted(self: &Shared<M>, number: usize, place: usize) {
        let vertex = &self.progress.vertices[number];
        let port = &vertex.ports[place];
        let over = port.upstream.load(SeqCst) == 0
            && port.pending.load(SeqCst) == 0
            && vertex.work.load(SeqCst) == 0;
        if over && port.exhausted.compare_exchange(false, true, SeqCst, SeqCst).is_ok() {
            self.announce_exhausted(number, place);
        }
    }

    fn announce_exhausted(self: &Shared<M>, number: usize, port: usize) {
        let vertex = &self.progress.vertices[number];
        if !vertex.closed.load(SeqCst) {
            for executor in (0..self.executors()).filter(|executor| vertex.present[*executor].load(SeqCst)) {
                vertex.acks.fetch_add(1, SeqCst);
                self.links.post(executor, Command::Exhausted { query: self.clone(), vertex: number, port });
            }
        }
        let last = vertex.ports_left.fetch_sub(1, SeqCst) == 1;
        if last && self.wants_empty_instance(number) {
            vertex.acks.fetch_add(1, SeqCst);
            self.links.post(self.home, Command::CreateEmpty { query: self.clone(), vertex: number });
        }
        self.settle(number, Account::Ack);
    }

    fn wants_empty_instance(&self, number: usize) -> bool {
        let vertex = &self.progress.vertices[number];
        let graph = &self.graph.vertices[number];
        graph.options.create_if_empty
            && graph.depth == 0
            && vertex.made.load(SeqCst) == 0
            && !vertex.closed.load(SeqCst)
    }

    fn look_complete(self: &Shared<M>, number: usize) {
        let vertex = &self.progress.vertices[number];
        let over = vertex.acks.load(SeqCst) == 0 && vertex.work.load(SeqCst) == 0;
        if !over || vertex.complete.compare_exchange(false, true, SeqCst, SeqCst).is_err() {
            return;
        }
        for edge in self.graph.vertices[number].outputs.iter().flatten() {
            match self.graph.edges[*edge].crossing {
                Crossing::Enter(scope) => {
                    if self.progress.scopes[scope].upstream.fetch_sub(1, SeqCst) == 1 {
                        // Whoever opens the last instance was counted until then, so none is missed.
                        self.post_entered(scope);
                        self.look_scope(scope);
                    }
                }
                _ => self.feeder_complete(*edge),
            }
        }
        self.member_complete();
    }

    /// What sends on this edge is complete.
    fn feeder_complete(self: &Shared<M>, edge: usize) {
        let edge = &self.graph.edges[edge];
        if self.progress.vertices[edge.to].ports[edge.port].upstream.fetch_sub(1, SeqCst) == 1 {
            self.look_exhausted(edge.to, edge.port);
        }
    }

    fn member_complete(self: &Shared<M>) {
        if self.progress.open.fetch_sub(1, SeqCst) == 1 {
            self.stop(None);
        }
    }

    /// An instance is over; only those of outermost scopes count.
    pub(crate) fn instance_gone(self: &Shared<M>, scope: usize) {
        if self.progress.scopes[scope].live.fetch_sub(1, SeqCst) == 1 {
            self.look_scope(scope);
        }
    }

    fn look_scope(self: &Shared<M>, number: usize) {
        let scope = &self.progress.scopes[number];
        let over = scope.upstream.load(SeqCst) == 0 && scope.live.load(SeqCst) == 0;
        if over && scope.complete.compare_exchange(false, true, SeqCst, SeqCst).is_ok() {
            self.graph.scopes[number].exits.iter().for_each(|edge| self.feeder_complete(*edge));
            self.member_complete();
        }
    }

    /// A limit was reached at this vertex.
    pub(crate) fn close_inputs(self: &Shared<M>, number: usize) {
        if self.progress.vertices[number].inputs_closed.swap(true, SeqCst) {
            return;
        }
        for place in &self.graph.vertices[number].closes {
            match self.graph.scopes[0].members[*place] {
                Inner::Vertex(vertex) => self.progress.vertices[vertex].closed.store(true, SeqCst),
                Inner::Scope(scope) => self.progress.scopes[scope].closed.store(true, SeqCst),
            }
        }
        self.post_closed();
    }
}
