//! When is a stream at its end? Exact completion across executors, with counters and no lock.
//!
//! Every vertex has, for each port, the number of messages queued or being processed (`pending`) and the number of in-edges whose
//! upstream vertex still runs (`upstream`); and one more counter, `work`, for what belongs to no port: sources, invitations, scope ends.
//!
//! ```text
//! port exhausted    = upstream == 0 and pending == 0 and work == 0      then: on_completion(port) on every instance, each acknowledges
//! vertex complete   = all ports exhausted and acknowledged, work == 0   then: upstream -= 1 at the far end of every out-edge
//! query ends        = all vertices complete
//! ```
//!
//! Invariant: a message is counted at its receiver before the work that sent it is taken off at the sender. So once `upstream` is zero,
//! `pending` only falls, and the first observer of all zeros (all accesses are sequentially consistent, and each decrement is followed
//! by a look) wins the one compare-and-swap. An instance that appears on an executor while another declares a port exhausted is caught
//! by two flags written before either is read: `exhausted` here, `present` there.

use crate::Message;
use crate::graph::Graph;
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

pub(crate) struct Progress {
    vertices: Vec<VertexProgress>,
    vertices_open: AtomicUsize,
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
        let vertices: Vec<VertexProgress> = (0..graph.vertices.len()).map(vertex).collect();
        Progress { vertices_open: AtomicUsize::new(vertices.len()), vertices }
    }

    pub(crate) fn instances_made(&self, vertex: usize) -> u64 {
        self.vertices[vertex].made.load(SeqCst)
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
            let edge = &self.graph.edges[*edge];
            if self.progress.vertices[edge.to].ports[edge.port].upstream.fetch_sub(1, SeqCst) == 1 {
                self.look_exhausted(edge.to, edge.port);
            }
        }
        if self.progress.vertices_open.fetch_sub(1, SeqCst) == 1 {
            self.stop(None);
        }
    }

    /// A limit was reached at this vertex.
    pub(crate) fn close_inputs(self: &Shared<M>, number: usize) {
        if self.progress.vertices[number].inputs_closed.swap(true, SeqCst) {
            return;
        }
        for upstream in &self.graph.vertices[number].closes {
            self.progress.vertices[*upstream].closed.store(true, SeqCst);
        }
        self.post_closed();
    }
}
