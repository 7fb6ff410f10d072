//! Connections between the executors: an inbox each, and the list of running queries.
//!
//! A command carries the query it is about, so an executor learns of a query by the first command that names it. Inboxes have no bound
//! of their own: a `Deliver` is counted at its port before it is sent ([`MAILBOX_MESSAGES_MAX`](crate::terms::limits::MAILBOX_MESSAGES_MAX)),
//! and the others are at most a few per vertex, port and query.

use crate::accounting::accounts::AccountOptions;
use crate::accounting::service::{Numbers, Services};
use crate::accounting::tablets::Tablets;
use crate::queries::admission::Admission;
use crate::queries::level::Level;
use crate::queries::output::ClientsDue;
use crate::queries::query::QueryShared;
use crate::terms::root::Root;
use crate::{Message, TenantNo, UserNo};
use crossbeam_queue::SegQueue;
use parking_lot::Mutex;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use world::workers::Waker;

pub(crate) type Shared<M> = Arc<QueryShared<M>>;

thread_local! {
    static EXECUTOR: Cell<Option<usize>> = const { Cell::new(None) };
}

/// From now on the thread is this executor's.
pub(crate) fn begin_here(executor: usize) {
    EXECUTOR.set(Some(executor));
}

/// The executor whose thread this is; none of another thread.
pub(crate) fn executor_here() -> Option<usize> {
    EXECUTOR.get()
}

pub(crate) enum Command<M: Message> {
    /// Begin: wake the sources. To the home executor.
    Start(Shared<M>),
    /// Keep an eye on the deadline of a query that waits to be let in. To the home executor.
    WatchDeadline(Shared<M>),
    /// A message from another executor, in a scope instance that spans executors or outside scopes.
    Deliver { query: Shared<M>, level: Arc<Level>, vertex: usize, port: usize, tablet: u32, message: M },
    /// Nothing more comes on this port, anywhere.
    Exhausted { query: Shared<M>, level: Arc<Level>, vertex: usize, port: usize },
    /// All ports are exhausted and no operator was ever made: make one.
    CreateEmpty { query: Shared<M>, level: Arc<Level>, vertex: usize },
    /// Nothing more enters this narrow scope, anywhere.
    Entered { query: Shared<M>, level: Arc<Level>, scope: usize },
    /// Calls `resume` of the operator on this executor.
    Invite { query: Shared<M>, level: Arc<Level>, vertex: usize },
    /// Some vertices or scopes were closed: drops their work.
    Closed { query: Shared<M>, level: Arc<Level> },
    /// An iteration gets nothing more. To the home executor, which has no other part in it.
    Feed { query: Shared<M>, level: Arc<Level> },
    /// A scope instance is over, everywhere.
    Over { query: Shared<M>, level: Arc<Level> },
    /// The query ended: drop everything of it.
    Stop(u64),
    /// Something this executor waited for happened.
    Nudge(u64),
    /// An operator's waker was called.
    Wake { query: u64, ticket: u64 },
    /// The event that a paused call of a query here waits for has happened.
    Unpark(u64),
    /// Hang a root on this executor.
    AddRoot { number: usize, share: u32, make: Arc<dyn Fn(usize) -> Box<dyn Root> + Send + Sync> },
    /// Wake a root.
    WakeRoot(usize),
    /// A tenant's or a user's share changed.
    Share { tenant: TenantNo, user: Option<UserNo>, share: u32 },
}

impl<M: Message> Command<M> {
    /// The query that the command is about.
    pub(crate) fn query(&self) -> Option<u64> {
        match self {
            Command::Start(query)
            | Command::WatchDeadline(query)
            | Command::Deliver { query, .. }
            | Command::Exhausted { query, .. }
            | Command::CreateEmpty { query, .. }
            | Command::Entered { query, .. }
            | Command::Invite { query, .. }
            | Command::Closed { query, .. }
            | Command::Over { query, .. } => Some(query.id),
            Command::Nudge(query) | Command::Wake { query, .. } => Some(*query),
            Command::Feed { .. }
            | Command::Stop(_)
            | Command::Unpark(_)
            | Command::AddRoot { .. }
            | Command::WakeRoot(_)
            | Command::Share { .. } => None,
        }
    }
}

pub(crate) struct Inbox<M: Message> {
    pub(crate) queue: SegQueue<Command<M>>,
    pub(crate) waker: OnceLock<Waker>,
    /// Queries whose home is this executor.
    pub(crate) homes: AtomicUsize,
    /// The executor has nothing to do.
    is_idle: AtomicBool,
}

pub(crate) struct Links<M: Message> {
    pub(crate) inboxes: Vec<Inbox<M>>,
    pub(crate) registry: Mutex<BTreeMap<u64, Shared<M>>>,
    pub(crate) admission: Admission<M>,
    pub(crate) tablets: Tablets,
    /// How many executors have nothing to do.
    pub(crate) idle: AtomicUsize,
    pub(crate) clients_due: Arc<ClientsDue>,
    /// Numbers of queries, and of turns of services.
    pub(crate) numbers: Numbers,
    pub(crate) services: Arc<Services>,
    pub(crate) root_next: AtomicUsize,
}

impl<M: Message> Links<M> {
    pub(crate) fn new(executors: usize, machine: &AccountOptions, tablets: Tablets) -> Links<M> {
        let inbox = |_| Inbox {
            queue: SegQueue::new(),
            waker: OnceLock::new(),
            homes: AtomicUsize::new(0),
            is_idle: AtomicBool::new(false),
        };
        Links {
            inboxes: (0..executors).map(inbox).collect(),
            registry: Mutex::new(BTreeMap::new()),
            admission: Admission::new(machine),
            tablets,
            idle: AtomicUsize::new(0),
            clients_due: Arc::default(),
            numbers: Arc::new(AtomicU64::new(1)),
            services: Arc::default(),
            root_next: AtomicUsize::new(0),
        }
    }

    pub(crate) fn executors(&self) -> usize {
        self.inboxes.len()
    }

    pub(crate) fn post(&self, executor: usize, command: Command<M>) {
        let inbox = &self.inboxes[executor];
        inbox.queue.push(command);
        if let Some(waker) = inbox.waker.get() {
            waker.wake();
        }
    }

    /// Had this executor nothing to do a moment ago?
    pub(crate) fn is_idle(&self, executor: usize) -> bool {
        self.inboxes[executor].is_idle.load(Ordering::Relaxed)
    }

    /// An executor goes idle, or is back.
    pub(crate) fn set_idle(&self, executor: usize, is_idle: bool) {
        self.inboxes[executor].is_idle.store(is_idle, Ordering::Relaxed);
        match is_idle {
            true => self.idle.fetch_add(1, Ordering::Relaxed),
            false => self.idle.fetch_sub(1, Ordering::Relaxed),
        };
    }

    /// The executor with the fewest queries at home.
    pub(crate) fn choose_home(&self) -> usize {
        let load = |executor: &usize| self.inboxes[*executor].homes.load(Ordering::Relaxed);
        (0..self.executors()).min_by_key(load).expect("a runtime has at least one executor")
    }
}
