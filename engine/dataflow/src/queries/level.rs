//! A *level*: the inside of one scope instance that spans executors, as all of them see it, in counters without a lock.
//!
//! The whole query is one, and so is each instance of a [wide](crate::ScopeOptions) scope that lies in another. The meaning of the counters, and when
//! they change, is described in `progress`.

use crate::Message;
use crate::graphs::graph::{Graph, Inner, Scope, Vertex};
use crate::terms::message::Tag;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::SeqCst};

pub(crate) struct PortProgress {
    pub(crate) pending: AtomicUsize,
    pub(crate) upstream: AtomicUsize,
    pub(crate) exhausted: AtomicBool,
}

pub(crate) struct VertexProgress {
    pub(crate) ports: Vec<PortProgress>,
    pub(crate) ports_left: AtomicUsize,
    pub(crate) work: AtomicUsize,
    /// Acknowledgements still to come; starts at one a port, held by the executor that declares the port exhausted.
    pub(crate) acks: AtomicUsize,
    pub(crate) complete: AtomicBool,
    /// Cancelled by a limit downstream, or with its level.
    pub(crate) closed: AtomicBool,
    /// A limit that takes no more messages.
    pub(crate) inputs_closed: AtomicBool,
    pub(crate) made: AtomicU64,
    pub(crate) present: Vec<AtomicBool>,
}

pub(crate) struct ScopeProgress {
    /// Entries whose upstream vertex still runs.
    pub(crate) upstream: AtomicUsize,
    pub(crate) live: AtomicUsize,
    pub(crate) complete: AtomicBool,
    /// Cancelled by a limit downstream, or with its level.
    pub(crate) closed: AtomicBool,
    /// A loop that was finished early: no iteration follows.
    pub(crate) finished: AtomicBool,
    /// Of a wide loop: the earliest iteration that lives.
    pub(crate) earliest: AtomicU32,
    /// Of a wide scope: its live instances by number.
    pub(crate) instances: Mutex<BTreeMap<u32, Arc<Level>>>,
}

pub(crate) enum MemberProgress {
    Vertex(VertexProgress),
    Scope(ScopeProgress),
}

/// The inside of one scope instance that spans executors.
pub(crate) struct Level {
    /// Unique in its query; the root's is 0.
    pub(crate) number: u64,
    pub(crate) scope: usize,
    pub(crate) tag: Tag,
    pub(crate) rank: u64,
    pub(crate) parent: Option<Arc<Level>>,
    pub(crate) members: Vec<MemberProgress>,
    /// Members that are not complete; and of the root, executors in a turn.
    pub(crate) open: AtomicUsize,
    pub(crate) cancelled: AtomicBool,
    /// By executor: it has a node of this instance.
    pub(crate) present: Vec<AtomicBool>,
}

/// How a piece of work was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Account {
    Port(usize),
    Work,
    Ack,
    Free,
}

fn flags(executors: usize) -> Vec<AtomicBool> {
    (0..executors).map(|_| AtomicBool::new(false)).collect()
}

impl VertexProgress {
    fn new<M: Message>(graph: &Graph<M>, there: &Vertex<M>, executors: usize) -> VertexProgress {
        let port = |port: usize| PortProgress {
            pending: AtomicUsize::new(0),
            upstream: AtomicUsize::new(
                there.in_edges.iter().filter(|edge| graph.edges[**edge].port == port).count(),
            ),
            exhausted: AtomicBool::new(false),
        };
        VertexProgress {
            ports: (0..there.options.ports).map(port).collect(),
            ports_left: AtomicUsize::new(there.options.ports),
            work: AtomicUsize::new(usize::from(there.options.source)),
            acks: AtomicUsize::new(there.options.ports),
            complete: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            inputs_closed: AtomicBool::new(false),
            made: AtomicU64::new(0),
            present: flags(executors),
        }
    }
}

impl ScopeProgress {
    fn new(scope: &Scope) -> ScopeProgress {
        ScopeProgress {
            upstream: AtomicUsize::new(scope.entries.len()),
            live: AtomicUsize::new(0),
            complete: AtomicBool::new(false),
            closed: AtomicBool::new(false),
            finished: AtomicBool::new(false),
            earliest: AtomicU32::new(1),
            instances: Mutex::default(),
        }
    }
}

impl Level {
    pub(crate) fn root<M: Message>(graph: &Graph<M>, executors: usize) -> Arc<Level> {
        Level::new(graph, 0, 0, Tag::ROOT, 0, None, executors)
    }

    pub(crate) fn new<M: Message>(
        graph: &Graph<M>,
        number: u64,
        scope: usize,
        tag: Tag,
        rank: u64,
        parent: Option<Arc<Level>>,
        executors: usize,
    ) -> Arc<Level> {
        let member = |inner: &Inner| match inner {
            Inner::Vertex(vertex) => {
                MemberProgress::Vertex(VertexProgress::new(graph, &graph.vertices[*vertex], executors))
            }
            Inner::Scope(scope) => MemberProgress::Scope(ScopeProgress::new(&graph.scopes[*scope])),
        };
        let members: Vec<_> = graph.scopes[scope].members.iter().map(member).collect();
        let (open, cancelled) = (AtomicUsize::new(members.len()), AtomicBool::new(false));
        Arc::new(Level {
            number,
            scope,
            tag,
            rank,
            parent,
            members,
            open,
            cancelled,
            present: flags(executors),
        })
    }

    pub(crate) fn vertex(&self, place: usize) -> &VertexProgress {
        match &self.members[place] {
            MemberProgress::Vertex(vertex) => vertex,
            MemberProgress::Scope(_) => unreachable!("the place is a vertex's"),
        }
    }

    pub(crate) fn member_scope(&self, place: usize) -> &ScopeProgress {
        match &self.members[place] {
            MemberProgress::Scope(scope) => scope,
            MemberProgress::Vertex(_) => unreachable!("the place is a scope's"),
        }
    }

    /// Keeps it open until it is [let go](crate::queries::query::QueryShared::let_go).
    pub(crate) fn hold(&self) {
        self.open.fetch_add(1, SeqCst);
    }

    /// True if messages to the vertex at this place are dropped.
    pub(crate) fn refuses(&self, place: usize) -> bool {
        let vertex = self.vertex(place);
        vertex.closed.load(SeqCst) || vertex.inputs_closed.load(SeqCst)
    }

    /// True if all work of the member at this place is cancelled.
    pub(crate) fn is_closed(&self, place: usize) -> bool {
        match &self.members[place] {
            MemberProgress::Vertex(vertex) => vertex.closed.load(SeqCst),
            MemberProgress::Scope(scope) => scope.closed.load(SeqCst),
        }
    }

    /// True if the loop at this place takes no further iteration.
    pub(crate) fn is_finished(&self, place: usize) -> bool {
        let scope = self.member_scope(place);
        scope.closed.load(SeqCst) || scope.finished.load(SeqCst)
    }

    /// An instance of the scope at this place begins.
    pub(crate) fn instance_opened(&self, place: usize) {
        self.member_scope(place).live.fetch_add(1, SeqCst);
    }

    /// Live instances of the scope at this place.
    pub(crate) fn live(&self, place: usize) -> usize {
        self.member_scope(place).live.load(SeqCst)
    }

    /// The earliest live iteration of the wide loop at this place.
    pub(crate) fn earliest(&self, place: usize) -> u32 {
        self.member_scope(place).earliest.load(SeqCst)
    }

    pub(crate) fn is_exhausted(&self, place: usize, port: usize) -> bool {
        self.vertex(place).ports[port].exhausted.load(SeqCst)
    }

    pub(crate) fn is_complete(&self, place: usize) -> bool {
        match &self.members[place] {
            MemberProgress::Vertex(vertex) => vertex.complete.load(SeqCst),
            MemberProgress::Scope(scope) => scope.complete.load(SeqCst),
        }
    }

    /// An executor has a node of it from now on.
    pub(crate) fn arrive(&self, executor: usize) {
        self.present[executor].store(true, SeqCst);
    }

    pub(crate) fn present(&self) -> impl Iterator<Item = usize> {
        self.present.iter().enumerate().filter(|(_, flag)| flag.load(SeqCst)).map(|(executor, _)| executor)
    }

    /// An operator appears. Must be called before the exhausted flags are read for it.
    pub(crate) fn operator_made(&self, place: usize, executor: usize) {
        let vertex = self.vertex(place);
        vertex.made.fetch_add(1, SeqCst);
        vertex.present[executor].store(true, SeqCst);
    }

    /// Only one operator of the vertex at this place was made: one executor does its work.
    pub(crate) fn is_alone(&self, place: usize) -> bool {
        self.vertex(place).made.load(SeqCst) == 1
    }

    pub(crate) fn begin(&self, place: usize, account: Account) {
        let vertex = self.vertex(place);
        match account {
            Account::Port(port) => vertex.ports[port].pending.fetch_add(1, SeqCst),
            Account::Work => vertex.work.fetch_add(1, SeqCst),
            Account::Ack => vertex.acks.fetch_add(1, SeqCst),
            Account::Free => 0,
        };
    }

    /// Releases all instances within: parents and instances hold references to each other.
    pub(crate) fn dissolve(&self) {
        for member in &self.members {
            if let MemberProgress::Scope(scope) = member {
                let instances = std::mem::take(&mut *scope.instances.lock());
                instances.values().for_each(|level| level.dissolve());
            }
        }
    }
}
