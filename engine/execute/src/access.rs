//! The graph as a statement accesses it: a snapshot, or a transaction with its view of its own writes.
//!
//! Operators take the view when their first rows arrive and keep it. A writing operator sees all its input before it begins and refreshes the view
//! before it emits a row, so operators above it in the plan read its writes, and operators below do not: a statement needs no other staging.

use crate::ExecuteError;
use crate::imports::{FetchAccount, Imports};
use crate::program_cache::CacheAccess;
use crate::spill::SpillFolder;
use expression::Request;
use parking_lot::{Mutex, RwLock};
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use store::Snapshot;
use transact::{Mode, ReadSet, Transaction};

/// The access that a statement has.
#[derive(Clone)]
pub enum Access {
    /// Read this snapshot.
    Read(Snapshot),
    /// Read and write in this transaction; the session commits it or rolls it back.
    Write(Arc<Transaction>),
}

/// Counters of a statement's changes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names say it")]
pub struct Counters {
    pub nodes_created: u64,
    pub nodes_deleted: u64,
    pub relationships_created: u64,
    pub relationships_deleted: u64,
    pub properties_set: u64,
    pub labels_added: u64,
    pub labels_removed: u64,
}

/// The running counts behind [`Counters`].
#[derive(Debug, Default)]
pub(crate) struct Counting {
    pub(crate) nodes_created: AtomicU64,
    pub(crate) nodes_deleted: AtomicU64,
    pub(crate) relationships_created: AtomicU64,
    pub(crate) relationships_deleted: AtomicU64,
    pub(crate) properties_set: AtomicU64,
    pub(crate) labels_added: AtomicU64,
    pub(crate) labels_removed: AtomicU64,
}

impl Counting {
    pub(crate) fn add(counter: &AtomicU64, by: u64) {
        counter.fetch_add(by, Ordering::Relaxed);
    }
    pub(crate) fn read(&self) -> Counters {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counters {
            nodes_created: get(&self.nodes_created),
            nodes_deleted: get(&self.nodes_deleted),
            relationships_created: get(&self.relationships_created),
            relationships_deleted: get(&self.relationships_deleted),
            properties_set: get(&self.properties_set),
            labels_added: get(&self.labels_added),
            labels_removed: get(&self.labels_removed),
        }
    }
}

/// State shared by all operators of one statement.
pub(crate) struct Environment {
    /// Shared by the operators: what many statements share is counted once a statement.
    view: RwLock<Arc<Snapshot>>,
    transaction: Option<Arc<Transaction>>,
    writes: bool,
    pub(crate) request: Request,
    pub(crate) batch_rows: usize,
    pub(crate) counting: Counting,
    /// The sources of LOAD, and the account that is charged.
    pub(crate) imports: Imports,
    pub(crate) account: FetchAccount,
    /// Where rows may be put aside.
    pub(crate) spill: Option<Arc<SpillFolder>>,
    /// Results of node programs that are cached.
    pub(crate) cache: Option<CacheAccess>,
    /// How sources of searched paths are shared out, where the text says so.
    pub(crate) dispatch: Option<paths::DispatchPolicy>,
    /// Remarks of operators for PROFILE, by plan node: the last one of each.
    pub(crate) told: Mutex<BTreeMap<usize, String>>,
    /// A hint at a cheaper form of a statement that returns paths, given if its budget is exceeded.
    pub(crate) instead: OnceLock<&'static str>,
    /// Bytes that the statement may hold.
    pub(crate) bytes_max: u64,
}

/// Where operators find their environment: fixed when they are compiled, or set before each run of a cached pipeline.
#[derive(Clone)]
pub(crate) struct EnvironmentSlot {
    pub(crate) batch_rows: usize,
    place: SlotKind,
}

#[derive(Clone)]
enum SlotKind {
    Fixed(Arc<Environment>),
    /// Full while a run makes its operators and works.
    Kept(Arc<Mutex<Option<Arc<Environment>>>>),
}

impl EnvironmentSlot {
    /// Of operators that run once.
    pub(crate) fn fixed(environment: &Arc<Environment>) -> EnvironmentSlot {
        EnvironmentSlot { batch_rows: environment.batch_rows, place: SlotKind::Fixed(environment.clone()) }
    }
    /// For the operators of a cached pipeline.
    pub(crate) fn kept(batch_rows: usize) -> EnvironmentSlot {
        EnvironmentSlot { batch_rows, place: SlotKind::Kept(Arc::default()) }
    }
    /// The environment of the run that makes operators now.
    pub(crate) fn environment(&self) -> Arc<Environment> {
        match &self.place {
            SlotKind::Fixed(environment) => environment.clone(),
            SlotKind::Kept(place) => {
                place.lock().clone().expect("a pipeline makes operators only while it runs")
            }
        }
    }
    /// Does it belong to a pipeline on the calling thread, which is cached for many runs?
    pub(crate) fn is_kept(&self) -> bool {
        matches!(self.place, SlotKind::Kept(_))
    }
    /// Sets it before a run of a cached pipeline, and `None` after it, so that nothing is held between runs.
    pub(crate) fn set(&self, environment: Option<Arc<Environment>>) {
        if let SlotKind::Kept(place) = &self.place {
            *place.lock() = environment;
        }
    }
}

/// The environment of the run that an operator works in. Between two runs of a cached pipeline there is none, so that nothing of a run is held.
pub(crate) struct RunEnvironment {
    slot: EnvironmentSlot,
    present: Option<Arc<Environment>>,
}

impl RunEnvironment {
    /// Of the run that makes the operator.
    pub(crate) fn new(slot: &EnvironmentSlot) -> RunEnvironment {
        RunEnvironment { slot: slot.clone(), present: Some(slot.environment()) }
    }
    /// The run is over.
    pub(crate) fn end_run(&mut self) {
        self.present = None;
    }
    /// The next run has begun.
    pub(crate) fn begin_run(&mut self) {
        self.present = Some(self.slot.environment());
    }
}

impl Deref for RunEnvironment {
    type Target = Arc<Environment>;

    fn deref(&self) -> &Arc<Environment> {
        self.present.as_ref().expect("operators are called within a run")
    }
}

impl Environment {
    pub(crate) fn new(access: Access, request: Request, batch_rows: usize, writes: bool) -> Environment {
        let (view, transaction) = match access {
            Access::Read(snapshot) => (snapshot, None),
            Access::Write(transaction) => (transaction.snapshot(), Some(transaction)),
        };
        Environment {
            view: RwLock::new(Arc::new(view)),
            transaction,
            writes,
            request,
            batch_rows: batch_rows.max(1),
            counting: Counting::default(),
            imports: Imports::default(),
            account: FetchAccount::default(),
            spill: None,
            cache: None,
            dispatch: None,
            told: Mutex::default(),
            instead: OnceLock::new(),
            bytes_max: dataflow::limits::QUERY_BYTES_MAX_DEFAULT,
        }
    }
    /// The same, with a byte budget.
    pub(crate) fn within(self, bytes_max: u64) -> Environment {
        Environment { bytes_max, ..self }
    }
    /// The same, with the sources of LOAD, and the account that is charged.
    pub(crate) fn importing_from(self, imports: Imports, account: FetchAccount) -> Environment {
        Environment { imports, account, ..self }
    }
    /// The same, with a folder for rows that are put aside.
    pub(crate) fn putting_aside_in(self, spill: Option<Arc<SpillFolder>>) -> Environment {
        Environment { spill, ..self }
    }
    /// The same, with a cache for results of node programs.
    pub(crate) fn caching(self, cache: Option<CacheAccess>) -> Environment {
        Environment { cache, ..self }
    }
    /// The same, with a policy for the sources of searched paths.
    pub(crate) fn dispatching(self, dispatch: Option<paths::DispatchPolicy>) -> Environment {
        Environment { dispatch, ..self }
    }
    /// The graph as the statement sees it now.
    pub(crate) fn view(&self) -> Arc<Snapshot> {
        self.view.read().clone()
    }
    /// Does the statement see one version of the graph from its beginning to its end?
    pub(crate) fn has_one_view(&self) -> bool {
        self.transaction.is_none() || !self.writes
    }
    /// The transaction, if its reads are validated.
    pub(crate) fn recording(&self) -> Option<&Arc<Transaction>> {
        self.transaction.as_ref().filter(|transaction| transaction.mode() == Mode::Write)
    }
    /// Does the statement run in a transaction whose reads are validated?
    pub(crate) fn is_recording(&self) -> bool {
        self.recording().is_some()
    }
    /// Records reads in the transaction; does nothing for a plain snapshot. Call it once a batch.
    pub(crate) fn record(&self, tell: impl FnOnce(&ReadSet)) {
        if let Some(transaction) = self.recording() {
            tell(transaction.reads());
        }
    }
    /// The transaction, for writing operators.
    pub(crate) fn transaction(&self) -> Result<&Transaction, ExecuteError> {
        self.transaction.as_deref().ok_or(ExecuteError::ReadOnly)
    }
    /// Makes earlier writes visible to operators that have not taken their view yet.
    pub(crate) fn refresh(&self) -> Result<Arc<Snapshot>, ExecuteError> {
        let transaction = self.transaction()?;
        transaction.refresh()?;
        let view = Arc::new(transaction.snapshot());
        *self.view.write() = view.clone();
        Ok(view)
    }
}
