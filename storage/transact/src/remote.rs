//! A graph on other machines: transactions of a cluster's gate. They run here as always, over a snapshot of the shards, and commit there.
//!
//! Idea: a transaction collects changes and read keys as on one machine; its commit proposes them by keys instead of validating them here.
//! Invariants: names that a transaction hands out are its own until it commits, and one that defines a name reads and writes the key of the
//! catalogue, which every writing transaction reads: so no number is given twice, and no transaction misses a name that was there. A footprint is
//! computed from the transaction's own snapshot, so the data that decides it (labels of a deleted vertex, values in an index) is read, too. An index
//! is read by one value or as a whole; a unique value is read by its writer, so that of two writers of the same one is refused.

use crate::TransactError;
use crate::error::explain;
use crate::footprint::footprint;
use crate::reads::{IndexRange, Inner as Reads, Key};
use model::{LabelId, VertexId, walk};
use std::sync::Arc;
use std::time::Duration;
use store::{Allocator, Catalog, Change, NameDefinition, Snapshot, StoreError};
use world::clock;

/// The read and written keys of a transaction, and its changes, as proposed to the cluster.
#[derive(Debug)]
pub struct Proposal {
    /// Definitions of new names first, then the changes.
    pub changes: Vec<Change>,
    /// Keys that it read.
    pub reads: Vec<u64>,
    /// Keys that it writes.
    pub writes: Vec<u64>,
    /// It read data that any commit may change.
    pub everything: bool,
}

/// Why the cluster did not do something.
#[derive(Clone, Debug)]
pub enum RemoteError {
    /// The read set has been written meanwhile, or the members have changed. Nothing happened.
    Conflict(&'static str),
    /// No answer came in time. Nothing happened.
    Unavailable(String),
    /// A commit was proposed, and no answer came: it may have happened, or happen yet.
    Unanswered,
    /// The transaction reads or writes more than one may.
    TooLarge,
    /// It is not possible in a cluster yet.
    NotInCluster(&'static str),
    /// The snapshot's own error.
    Store(StoreError),
}

impl From<StoreError> for RemoteError {
    fn from(error: StoreError) -> RemoteError {
        RemoteError::Store(error)
    }
}

/// A process of a cluster, as a gate sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterProcess {
    /// Its role: gate, shard, oracle, scribe or keeper; or the database of one machine.
    pub role: &'static str,
    /// Its number among those of its role.
    pub number: u16,
    /// Where other processes reach it.
    pub address: Option<String>,
    /// How it stands, in words, where that is known.
    pub state: Option<String>,
    /// The epoch that it takes part in.
    pub epoch: Option<u64>,
    /// Commits that it made, or carried out, in this life.
    pub commits: Option<u64>,
    /// Questions that it put to the oracle in this life.
    pub questions: Option<u64>,
}

/// The rows of `SHOW CLUSTER` and `SHOW ORDER`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterReport {
    /// The processes.
    pub processes: Vec<ClusterProcess>,
    /// Counters of the order: name, value, description.
    pub order: Vec<(&'static str, u64, &'static str)>,
}

/// The shards of a cluster, as the engine of a gate meets them.
pub trait Remote: Send + Sync {
    /// The graph with everything that was acknowledged before this call. It can be read as long as it, or a snapshot made from it, is there;
    /// its names are its own. Waits while the cluster has no open epoch, up to a limit.
    fn begin(&self) -> Result<Snapshot, RemoteError>;
    /// As [`Remote::begin`], but commits acknowledged within `age` may be missing: then the shards need not be asked.
    fn begin_within(&self, age: Duration) -> Result<Snapshot, RemoteError>;
    /// The last snapshot that [`Remote::begin`] returned, whose chunks may be gone: for reads of the catalogue.
    fn last(&self) -> Snapshot;
    /// The report of the cluster. Asks the shards, for a bounded time.
    fn report(&self) -> ClusterReport;
    /// Commits changes over a snapshot that [`Remote::begin`] returned; returns when they are on disk and visible to all.
    fn commit(&self, base: &Snapshot, proposal: Proposal) -> Result<(), RemoteError>;
}

/// A gate's part of an engine.
pub struct GateParts {
    /// The shards.
    pub remote: Arc<dyn Remote>,
    /// Ids that no other gate gives.
    pub allocator: Allocator,
    /// A snapshot of nothing, which reads chunks where those of the shards are read.
    pub empty: Snapshot,
}

/// How long a change of the catalogue is retried when it conflicts.
const ALTER_PATIENCE: Duration = Duration::from_secs(20);
/// Pause before a retry.
const ALTER_PAUSE: Duration = Duration::from_millis(5);

/// The proposal of a transaction's changes, which led from `base` to `view` and read these keys.
pub(crate) fn proposal(
    changes: Vec<Change>,
    reads: Reads,
    base: &Snapshot,
    view: &Snapshot,
) -> Result<Proposal, RemoteError> {
    let footprint = footprint(&changes, base, view)?;
    let mut writes: Vec<Key> = footprint.keys;
    let mut keys: Vec<Key> = reads.keys.into_iter().chain([Key::catalogue()]).collect();
    keys.extend(reads.ranges.iter().map(IndexRange::key));
    let catalog = base.catalog();
    keys.extend(changes.iter().filter_map(|change| whose_state_decides(change, catalog)).map(Key::vertex));
    for (index, value) in &footprint.index_values {
        let of_value = Key::index_value(*index, &value.0);
        writes.extend([of_value, Key::index(*index)]);
        // Nobody else was seen to have the value.
        if catalog.index(*index).is_some_and(|index| index.unique) {
            keys.push(of_value);
        }
    }
    if !has_names_of_its_own(base) {
        debug_assert!(false, "numbers of names do not pass from one transaction to another");
        return Err(RemoteError::Conflict("names were given meanwhile"));
    }
    let everything = reads.everything;
    let proposal = proposed(changes, (keys, writes), everything, base);
    // Values that were not hashed to their end have other keys.
    walk::check().map_err(StoreError::from)?;
    Ok(proposal)
}

/// Is each new label set made of labels that are known, or new here? No shard could ever apply another.
fn has_names_of_its_own(base: &Snapshot) -> bool {
    let (names, _) = base.names().undurable();
    let is_new = |label: &LabelId| {
        names.iter().any(|name| matches!(name, NameDefinition::Label(id, _) if id == label))
    };
    let is_known = |label: &LabelId| base.catalog().label_name(*label).is_some() || is_new(label);
    names.iter().all(|name| match name {
        NameDefinition::LabelSet(_, labels) => labels.iter().all(is_known),
        _ => true,
    })
}

/// Changes with the names that were given over `base` before them.
fn proposed(
    mut changes: Vec<Change>,
    (mut reads, mut writes): (Vec<Key>, Vec<Key>),
    everything: bool,
    base: &Snapshot,
) -> Proposal {
    let (names, _) = base.names().undurable();
    if !names.is_empty() {
        reads.push(Key::catalogue());
        writes.push(Key::catalogue());
        changes.splice(0..0, names.into_iter().map(Change::DefineName));
    }
    let bits = |keys: Vec<Key>| {
        let mut keys: Vec<u64> = keys.into_iter().map(Key::bits).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    };
    Proposal { changes, reads: bits(reads), writes: bits(writes), everything }
}

/// The vertex whose labels or properties decide which keys a change writes, or whether it is allowed.
fn whose_state_decides(change: &Change, catalog: &Catalog) -> Option<VertexId> {
    match change {
        Change::DeleteVertex { id } | Change::SetLabels { id, .. } => Some(*id),
        Change::SetProperty { id, key, .. } => {
            let indexed = catalog.indexes().iter().any(|index| index.keys.contains(key));
            let ruled = catalog.constraints().iter().any(|constraint| constraint.keys.contains(key));
            (indexed || ruled).then_some(*id)
        }
        _ => None,
    }
}

/// Changes the catalogue as [`crate::Engine::alter`] does. A new rule for existing data must have read all data; every transaction that reads or
/// writes under the catalogue reads its key, so none misses a rule that holds.
pub(crate) fn alter(
    remote: &dyn Remote,
    make: &mut dyn FnMut(&Snapshot) -> Result<Vec<Change>, TransactError>,
) -> Result<u64, TransactError> {
    let until_ns = clock::after_ns(ALTER_PATIENCE);
    loop {
        let base = remote.begin()?;
        let changes = make(&base)?;
        if changes.is_empty() && base.names().undurable().0.is_empty() {
            return Ok(base.commit_version());
        }
        match remote.commit(&base, alteration(changes, &base)?) {
            // What this gate knows of the catalogue has the change.
            Ok(()) => return Ok(remote.begin()?.commit_version()),
            Err(RemoteError::Conflict(_)) if clock::monotonic_ns() < until_ns => {
                walk::check().map_err(StoreError::from)?;
                world::threads::sleep(ALTER_PAUSE);
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn alteration(changes: Vec<Change>, base: &Snapshot) -> Result<Proposal, TransactError> {
    let rules = |change: &Change| match change {
        Change::CreateIndex(definition) => definition.unique,
        Change::CreateConstraint(_) => true,
        _ => false,
    };
    let everything = changes.iter().any(rules);
    if everything {
        // Does what is there keep the rule?
        base.apply(base.commit_version(), &[&changes]).map_err(|error| explain(error, base))?;
    }
    let is_entry = |change: &Change| matches!(change, Change::SetEntry { .. });
    let key = if changes.iter().all(is_entry) { Key::entries() } else { Key::catalogue() };
    Ok(proposed(changes, (vec![key], vec![key]), everything, base))
}
