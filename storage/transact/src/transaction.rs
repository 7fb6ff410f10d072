//! One transaction: a snapshot, the writes buffered over it, and its read set.
//!
//! Idea: writes are a list of changes; [`Transaction::refresh`] applies the new ones to a private snapshot, so that a later clause or statement reads
//! its own writes through the same interface as everything else. No other transaction sees them until the commit.
//! Invariant: no lock is held between calls; all methods take `&self`, so that operators may share the transaction.
//! Cost: a write is a push; a refresh copies the touched chunks' spines once.

use crate::committer::Basis;
use crate::engine::Shared;
use crate::error::explain;
use crate::footprint::labels;
use crate::limits::CHANGES_MAX;
use crate::party::{Act, Party, label_names};
use crate::reads::Inner as Reads;
use crate::remote::proposal;
use crate::reserve::RESERVE_AFTER_REFUSALS;
use crate::{ReadSet, TransactError, constraints};
use model::schema::ConstraintRule;
use model::{Direction, EdgeId, EdgeRef, EdgeTypeId, KeyId, LabelId, Value, VertexId};
use parking_lot::{Mutex, RwLock};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use store::{Change, EdgeScratch, NameNo, NameTable, Snapshot};
use world::clock::monotonic_ns;
use world::fiber::Still;

/// May a transaction write?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It only reads: nothing is recorded, and the commit is free.
    Read,
    /// It may write: reads are recorded and validated.
    Write,
}

/// A transaction in progress. Dropping it without [`Transaction::commit`] rolls it back.
pub struct Transaction {
    pub(crate) shared: Arc<Shared>,
    pub(crate) mode: Mode,
    pub(crate) base: Snapshot,
    /// The gatekeeper that stamps its commit.
    gatekeeper: usize,
    view: RwLock<Snapshot>,
    pub(crate) reads: ReadSet,
    pub(crate) writes: Mutex<Writes>,
    pub(crate) ended: AtomicBool,
    commits_next: AtomicBool,
    /// Times it was refused before.
    pub(crate) refusals: u32,
    /// Its reservation, if it has one.
    pub(crate) reservation: Option<u64>,
    began_ns: u64,
    /// How long it took, once it has ended.
    took_ns: AtomicU64,
    refused: Mutex<Option<Reads>>,
    /// It was refused after it had been delayed by another's reservation.
    was_held: AtomicBool,
    /// It committed in a reservation that delayed others: the reserved read set.
    contended: Mutex<Option<Reads>>,
    /// Its owner, where that may not do everything.
    party: Option<Party>,
    /// Why it has not begun: nothing that is read in it means anything.
    not_begun: Option<TransactError>,
}

/// Numbers of vertices or edges.
type FastSet<T> = hashbrown::HashSet<T, foldhash::fast::FixedState>;

/// Changes so far, and how many of them the view shows.
#[derive(Default)]
pub(crate) struct Writes {
    pub changes: Vec<Change>,
    /// See [`Change::value_bytes`].
    value_bytes: u64,
    shown: usize,
    born: FastSet<VertexId>,
    gone: FastSet<VertexId>,
    born_edges: FastSet<EdgeId>,
    gone_edges: FastSet<EdgeId>,
    touched: FastSet<VertexId>,
    pub created_vertices: Vec<(VertexId, model::LabelSetId)>,
    pub created_edges: Vec<EdgeId>,
}

impl Transaction {
    pub(crate) fn new(shared: Arc<Shared>, mode: Mode, base: Snapshot, gatekeeper: usize) -> Transaction {
        let view = RwLock::new(base.clone());
        let (reads, writes) = (ReadSet::default(), Mutex::default());
        Transaction {
            shared,
            mode,
            base,
            gatekeeper,
            view,
            reads,
            writes,
            ended: AtomicBool::new(false),
            commits_next: AtomicBool::new(false),
            refusals: 0,
            reservation: None,
            began_ns: monotonic_ns(),
            took_ns: AtomicU64::new(0),
            refused: Mutex::default(),
            was_held: AtomicBool::new(false),
            contended: Mutex::default(),
            party: None,
            not_begun: None,
        }
    }
    /// The same transaction for an owner who may not do everything: it shows and writes what is allowed.
    #[must_use]
    pub fn of(mut self, party: Option<Party>) -> Transaction {
        self.party = party;
        self
    }
    /// Over a snapshot that was fetched elsewhere. If that failed, the transaction must not be used: see [`Transaction::has_begun`].
    pub(crate) fn begun(
        shared: Arc<Shared>,
        mode: Mode,
        base: Result<Snapshot, TransactError>,
        gatekeeper: usize,
    ) -> Transaction {
        let (base, not_begun) = match base {
            Ok(base) => (base, None),
            Err(error) => (shared.store.current(), Some(error)),
        };
        let mut transaction = Transaction::new(shared, mode, base, gatekeeper);
        transaction.not_begun = not_begun;
        transaction
    }
    /// An error where the snapshot that it was to begin with could not be had: then nothing may be read in it.
    pub fn has_begun(&self) -> Result<(), TransactError> {
        self.not_begun.clone().map_or(Ok(()), Err)
    }
    /// The graph as this transaction sees it: its snapshot and its own writes up to the last [`Transaction::refresh`].
    pub fn snapshot(&self) -> Snapshot {
        let view = self.view.read().clone();
        self.party.iter().fold(view, |view, party| party.shown(view))
    }
    /// The read set in which operators record their reads; unused in a read-only transaction.
    pub fn reads(&self) -> &ReadSet {
        &self.reads
    }
    /// May it write?
    pub fn mode(&self) -> Mode {
        self.mode
    }
    /// The statement that runs now is the last one: the commit comes next.
    pub fn commit_next(&self) {
        self.commits_next.store(true, Ordering::Relaxed);
    }
    /// Does the commit come next? Then writes that will not be read need not be shown.
    pub fn commits_next(&self) -> bool {
        self.commits_next.load(Ordering::Relaxed)
    }
    /// Has anything been written?
    pub fn has_changes(&self) -> bool {
        !self.writes.lock().changes.is_empty()
    }
    /// Bytes of all values written so far, each counted in full: the commit copies each, also shared ones.
    pub fn value_bytes(&self) -> u64 {
        self.writes.lock().value_bytes
    }
    /// How many changes were written so far.
    pub fn change_count(&self) -> usize {
        self.writes.lock().changes.len()
    }
    /// Is the vertex changed by a write that the view does not show yet?
    pub fn is_stale(&self, vertex: VertexId) -> bool {
        let writes = self.writes.lock();
        writes.touched.contains(&vertex) || writes.born.contains(&vertex) || writes.gone.contains(&vertex)
    }
    /// Number of a label, made where it is new.
    pub fn label(&self, name: &str) -> Result<LabelId, TransactError> {
        self.demand_name(Act::NewLabel(name))?;
        Ok(self.base.names().intern_label(name)?)
    }
    /// Number of an edge type, made where it is new.
    pub fn edge_type(&self, name: &str) -> Result<EdgeTypeId, TransactError> {
        self.demand_name(Act::NewEdgeType(name))?;
        Ok(self.base.names().intern_edge_type(name)?)
    }
    /// Number of a label, if it has one by now.
    pub fn known_label(&self, name: &str) -> Option<LabelId> {
        self.base.names().table().label(name)
    }
    /// Number of an edge type, if it has one by now.
    pub fn known_edge_type(&self, name: &str) -> Option<EdgeTypeId> {
        self.base.names().table().edge_type(name)
    }
    /// Number of a property key, if it has one by now.
    pub fn known_key(&self, name: &str) -> Option<KeyId> {
        self.base.names().table().key(name)
    }
    /// Number of a property key, made where it is new.
    pub fn key(&self, name: &str) -> Result<KeyId, TransactError> {
        self.demand_name(Act::NewKey(name))?;
        Ok(self.base.names().intern_key(name)?)
    }

    /// Creates a vertex. Null properties are left out.
    pub fn create_vertex(
        &self,
        labels: &[LabelId],
        properties: Vec<(KeyId, Value)>,
    ) -> Result<VertexId, TransactError> {
        self.writable()?;
        let keys = || properties.iter().filter(|(_, value)| !value.is_null()).map(|(key, _)| *key);
        self.demand_of_vertex(labels, &|labels, names| {
            let sets = keys().map(|key| Act::SetProperty(labels, named(names.key_name(key))));
            std::iter::once(Act::CreateVertex(labels)).chain(sets).collect()
        })?;
        let labels = self.base.names().intern_label_set(labels)?;
        let id = self.shared.store.allocator().vertex(labels)?;
        let mut writes = self.writes.lock();
        writes.born.insert(id);
        writes.created_vertices.push((id, labels));
        writes.push(Change::CreateVertex { id, labels, properties: present(properties) })?;
        Ok(id)
    }

    /// Creates an edge between two vertices that exist. Null properties are left out.
    pub fn create_edge(
        &self,
        source: VertexId,
        target: VertexId,
        edge_type: EdgeTypeId,
        properties: Vec<(KeyId, Value)>,
    ) -> Result<EdgeRef, TransactError> {
        self.writable()?;
        self.demand_vertex(source)?;
        self.demand_vertex(target)?;
        let keys = || properties.iter().filter(|(_, value)| !value.is_null()).map(|(key, _)| *key);
        self.demand_of_edge(edge_type, &|kind, names| {
            let sets = keys().map(|key| Act::SetEdgeProperty(kind, named(names.key_name(key))));
            std::iter::once(Act::CreateEdge(kind)).chain(sets).collect()
        })?;
        let allocator = self.shared.store.allocator();
        let id = match self.shared.remote {
            Some(_) => {
                let bound = self.base.edge_slot_bound(source.chunk(), edge_type);
                allocator.edge_above(source, edge_type, bound)?
            }
            None => allocator.edge(source, edge_type)?,
        };
        let edge = EdgeRef { id, source, target };
        let mut writes = self.writes.lock();
        writes.touched.extend([source, target]);
        writes.born_edges.insert(id);
        writes.created_edges.push(id);
        writes.push(Change::CreateEdge { edge, properties: present(properties) })?;
        Ok(edge)
    }

    /// Sets a vertex property; null removes it.
    pub fn set_property(&self, vertex: VertexId, key: KeyId, value: Value) -> Result<(), TransactError> {
        self.writable()?;
        self.demand_vertex(vertex)?;
        if self.party.is_some() {
            let labels = self.labels_now(vertex)?;
            self.demand_of_vertex(&labels, &|labels, names| {
                vec![Act::SetProperty(labels, named(names.key_name(key)))]
            })?;
        }
        let mut writes = self.writes.lock();
        writes.touched.insert(vertex);
        writes.push(Change::SetProperty { id: vertex, key, value })
    }

    /// Sets an edge property; null removes it.
    pub fn set_edge_property(&self, edge: EdgeRef, key: KeyId, value: Value) -> Result<(), TransactError> {
        self.writable()?;
        self.demand_edge(edge)?;
        self.demand_of_edge(edge.id.edge_type(), &|kind, names| {
            vec![Act::SetEdgeProperty(kind, named(names.key_name(key)))]
        })?;
        self.writes.lock().push(Change::SetEdgeProperty { edge, key, value })
    }

    /// Adds and removes labels; returns how many were added and removed.
    pub fn change_labels(
        &self,
        vertex: VertexId,
        add: &[LabelId],
        remove: &[LabelId],
    ) -> Result<(usize, usize), TransactError> {
        self.writable()?;
        self.demand_vertex(vertex)?;
        if self.is_stale(vertex) {
            self.refresh()?;
        }
        self.reads.vertex(vertex);
        let old = labels(&self.shown(), vertex)?;
        let kept = old.iter().chain(add).filter(|label| !remove.contains(label));
        let mut new: Vec<LabelId> = kept.copied().collect();
        new.sort_unstable();
        new.dedup();
        let told = self.demand_labels(&old, (add, remove), &new)?;
        if new != old {
            let labels = self.base.names().intern_label_set(&new)?;
            let mut writes = self.writes.lock();
            writes.touched.insert(vertex);
            writes.push(Change::SetLabels { id: vertex, labels })?;
        }
        Ok(told)
    }

    /// Deletes an edge; false if this transaction has deleted it already.
    pub fn delete_edge(&self, edge: EdgeRef) -> Result<bool, TransactError> {
        self.writable()?;
        self.demand_of_edge(edge.id.edge_type(), &|kind, _| vec![Act::DeleteEdge(kind)])?;
        let mut writes = self.writes.lock();
        if !writes.gone_edges.insert(edge.id) {
            return Ok(false);
        }
        writes.touched.extend([edge.source, edge.target]);
        drop(writes);
        self.reads.edge(edge.id);
        let known = self.shown().edge_exists(edge)?;
        let mut writes = self.writes.lock();
        if !known && !writes.born_edges.contains(&edge.id) {
            return Ok(false);
        }
        writes.push(Change::DeleteEdge { edge })?;
        Ok(true)
    }

    /// Deletes a vertex; with `detach` its edges first, otherwise it must have none. Returns whether it existed still, and how
    /// many edges went with it.
    pub fn delete_vertex(&self, vertex: VertexId, detach: bool) -> Result<(bool, usize), TransactError> {
        self.writable()?;
        if self.is_stale(vertex) {
            self.refresh()?;
        }
        if self.is_gone(vertex)? || self.is_hidden(vertex)? {
            return Ok((false, 0));
        }
        self.reads.existence(vertex);
        self.reads.adjacency(vertex, &[], Direction::Both);
        let edges = self.edges_of(vertex)?;
        self.demand_deletion(vertex, &edges)?;
        if !edges.is_empty() && !detach {
            return Err(TransactError::StillConnected { vertex });
        }
        for edge in &edges {
            self.delete_edge(*edge)?;
        }
        let mut writes = self.writes.lock();
        writes.gone.insert(vertex);
        writes.push(Change::DeleteVertex { id: vertex })?;
        Ok((true, edges.len()))
    }

    /// All edges of a vertex in the view, those deleted since excepted; a self-loop once.
    fn edges_of(&self, vertex: VertexId) -> Result<Vec<EdgeRef>, TransactError> {
        // Hidden ones too.
        let view = self.view.read().clone();
        let (mut found, mut scratch) = (Vec::new(), EdgeScratch::default());
        for direction in [Direction::Out, Direction::In] {
            let adjacency = view.adjacency(&[], direction);
            let (neighbours, edges) = adjacency.edges(vertex.dense(), &mut scratch)?;
            for (neighbour, edge) in neighbours.iter().zip(edges) {
                let neighbour = VertexId::from_dense(*neighbour);
                let id = EdgeId(*edge);
                match direction {
                    Direction::Out => found.push(EdgeRef { id, source: vertex, target: neighbour }),
                    _ if neighbour != vertex => found.push(EdgeRef { id, source: neighbour, target: vertex }),
                    _ => {}
                }
            }
        }
        let writes = self.writes.lock();
        found.retain(|edge| !writes.gone_edges.contains(&edge.id));
        Ok(found)
    }

    /// Makes the writes so far visible in [`Transaction::snapshot`]; checks them against the constraints.
    pub fn refresh(&self) -> Result<(), TransactError> {
        // Other streams of this transaction wait for these locks.
        let _still = Still::begin();
        let mut writes = self.writes.lock();
        if writes.shown == writes.changes.len() {
            return Ok(());
        }
        let mut view = self.view.write();
        let fresh = &writes.changes[writes.shown..];
        let applied = view.apply_uncommitted(fresh);
        let shown = applied.map_err(|error| self.told(explain(error, &view)))?;
        constraints::check(fresh, &shown).map_err(|error| self.told(error))?;
        *view = shown;
        writes.shown = writes.changes.len();
        writes.born.clear();
        writes.born_edges.clear();
        writes.gone.clear();
        writes.touched.clear();
        Ok(())
    }

    /// Ends the transaction and makes its writes durable and visible to all. Returns the version of the commit, or that of the
    /// snapshot if nothing was written.
    ///
    /// # Errors
    /// It is refused, or the log fails. If the query of this thread is over ([`model::walk::check`]) before the record is on its way into the log,
    /// the commit does not happen.
    pub fn commit(&self) -> Result<u64, TransactError> {
        let shown = match self.shared.remote {
            // The view decides what is proposed.
            Some(_) => self.has_begun().and_then(|()| self.refresh()),
            None => Ok(()),
        };
        let changes = std::mem::take(&mut self.writes.lock().changes);
        let outcome = match (shown, &self.shared.remote) {
            (Err(error), _) => Err(error),
            (Ok(()), _) if changes.is_empty() => Ok(self.base.commit_version()),
            (Ok(()), Some(remote)) => {
                let proposed = proposal(changes, self.reads.take(), &self.base, &self.snapshot());
                let committed = proposed.and_then(|proposal| remote.commit(&self.base, proposal));
                committed.map(|()| self.base.commit_version()).map_err(TransactError::from)
            }
            (Ok(()), None) => {
                let (base, at) = (Basis::of(&self.base), (self.gatekeeper, self.reservation));
                let (outcome, refused) = self.shared.commit(changes, self.reads.take(), base, at);
                if let Some((reads, was_held)) = refused {
                    self.was_held.store(was_held, Ordering::Relaxed);
                    *self.refused.lock() = Some(reads);
                }
                outcome
            }
        };
        self.end(outcome.is_ok());
        outcome.map_err(|error| self.told(error))
    }

    /// How often it was refused, this time included, and its read set if it was refused this time.
    pub(crate) fn refusal(&self) -> (u32, Option<Reads>) {
        let refused = self.refused.lock().take();
        // Who waited for another's reservation and lost by that has waited enough.
        let counted = if self.was_held.load(Ordering::Relaxed) { RESERVE_AFTER_REFUSALS } else { 1 };
        (self.refusals + if refused.is_some() { counted } else { 0 }, refused)
    }
    /// Did others have to wait while it had its reservation? Then its next run should have one from the beginning.
    pub fn is_contended(&self) -> bool {
        self.contended.lock().is_some()
    }
    /// The read set that its next run reserves from the beginning.
    pub(crate) fn take_contended(&self) -> Option<Reads> {
        self.contended.lock().take()
    }
    /// How long it took, once it has ended.
    pub(crate) fn took_ns(&self) -> u64 {
        self.took_ns.load(Ordering::Relaxed)
    }

    /// Ends the transaction and forgets its writes.
    pub fn rollback(&self) {
        self.end(false);
    }

    fn end(&self, committed: bool) {
        if self.ended.swap(true, Ordering::AcqRel) {
            return;
        }
        self.took_ns.store(monotonic_ns().saturating_sub(self.began_ns), Ordering::Relaxed);
        let writes = std::mem::take(&mut *self.writes.lock());
        if !committed {
            self.shared.store.allocator().give_back(&writes.created_vertices, &writes.created_edges);
        }
        if self.mode == Mode::Write {
            self.shared.retire(self.base.commit_version());
        }
        if let Some(reservation) = self.reservation {
            let reserved = self.shared.reservations.end(reservation);
            // Everything is never reserved out of habit.
            *self.contended.lock() = reserved.filter(|reads| committed && !reads.everything);
        }
    }

    fn writable(&self) -> Result<(), TransactError> {
        self.has_begun()?;
        if self.mode == Mode::Read { Err(TransactError::ReadOnly) } else { Ok(()) }
    }

    /// The graph with the writes that are shown; no lock is held while it is read, since a read may pause.
    fn shown(&self) -> Snapshot {
        self.view.read().clone()
    }

    fn is_gone(&self, vertex: VertexId) -> Result<bool, TransactError> {
        let writes = self.writes.lock();
        let (is_gone, is_born) = (writes.gone.contains(&vertex), writes.born.contains(&vertex));
        drop(writes);
        Ok(is_gone || !is_born && !self.shown().exists(vertex)?)
    }

    /// The labels of a vertex, its latest changes taken into account.
    fn labels_now(&self, vertex: VertexId) -> Result<Vec<LabelId>, TransactError> {
        if self.is_stale(vertex) {
            self.refresh()?;
        }
        Ok(labels(&self.shown(), vertex)?)
    }
    /// Checks the use of a name that the graph does not know, or that only hidden data carries.
    fn demand_name(&self, act: Act<'_>) -> Result<(), TransactError> {
        let Some(party) = &self.party else { return Ok(()) };
        let names = self.base.names().table();
        let is_made = match act {
            Act::NewLabel(name) => names.label(name).is_some(),
            Act::NewEdgeType(name) => names.edge_type(name).is_some(),
            Act::NewKey(name) => names.key(name).is_some(),
            _ => false,
        };
        if is_made && party.restriction.is_none() {
            return Ok(());
        }
        let Err(refused) = party.demand(&act) else { return Ok(()) };
        let is_known = |shown: &Snapshot| match act {
            Act::NewLabel(name) => shown.knows_label(name),
            Act::NewEdgeType(name) => shown.knows_edge_type(name),
            Act::NewKey(name) => shown.knows_key(name),
            _ => Ok(false),
        };
        // Asked for each row: a name that was met is looked up alone. What was committed is asked first, since that stays met.
        if self.has_met(party, &act) || is_known(&party.shown(self.base.clone()))? {
            return Ok(());
        }
        // No lock is held while it is looked for, which may pause.
        let has_own = !self.view.read().is_same(&self.base);
        if has_own && is_known(&self.snapshot())? { Ok(()) } else { Err(refused.into()) }
    }
    /// Has a reader with the same rights met this name in the committed graph?
    fn has_met(&self, party: &Party, act: &Act<'_>) -> bool {
        let Some(restriction) = &party.restriction else { return false };
        let names = self.base.catalog();
        let number = match act {
            Act::NewLabel(name) => names.label(name).map(NameNo::Label),
            Act::NewEdgeType(name) => names.edge_type(name).map(NameNo::EdgeType),
            Act::NewKey(name) => names.key(name).map(NameNo::Key),
            _ => None,
        };
        number.is_some_and(|number| restriction.has_met(number))
    }
    /// Checks an act on a vertex with these labels.
    fn demand_of_vertex(
        &self,
        labels: &[LabelId],
        acts: &dyn for<'a> Fn(&'a [&'a str], &'a NameTable) -> Vec<Act<'a>>,
    ) -> Result<(), TransactError> {
        let Some(party) = &self.party else { return Ok(()) };
        let names = self.base.names().table();
        let labels = label_names(&names, labels);
        let labels: Vec<&str> = labels.iter().map(|label| &**label).collect();
        Ok(acts(&labels, &names).iter().try_for_each(|act| party.demand(act))?)
    }
    /// Checks an act on an edge of this type.
    fn demand_of_edge(
        &self,
        edge_type: EdgeTypeId,
        acts: &dyn for<'a> Fn(&'a str, &'a NameTable) -> Vec<Act<'a>>,
    ) -> Result<(), TransactError> {
        let Some(party) = &self.party else { return Ok(()) };
        let names = self.base.names().table();
        let acts = acts(named(names.edge_type_name(edge_type)), &names);
        Ok(acts.iter().try_for_each(|act| party.demand(act))?)
    }
    /// Checks a change of labels; returns how many are added and removed. A hidden label counts as added, and not as removed, whether the vertex has
    /// it or not, and both are checked.
    fn demand_labels(
        &self,
        old: &[LabelId],
        (add, remove): (&[LabelId], &[LabelId]),
        new: &[LabelId],
    ) -> Result<(usize, usize), TransactError> {
        let mut added: Vec<LabelId> = new.iter().copied().filter(|label| !old.contains(label)).collect();
        let mut removed: Vec<LabelId> = old.iter().copied().filter(|label| !new.contains(label)).collect();
        let Some(party) = &self.party else { return Ok((added.len(), removed.len())) };
        let names = self.base.names().table();
        let is_hidden = |label: &LabelId| !party.shows_label(named(names.label_name(*label)));
        added.extend(add.iter().copied().filter(|label| is_hidden(label) && !remove.contains(label)));
        removed.extend(remove.iter().copied().filter(is_hidden));
        for labels in [&mut added, &mut removed] {
            labels.sort_unstable();
            labels.dedup();
        }
        let adds = added.iter().map(|label| Act::AddLabel(named(names.label_name(*label))));
        let removes = removed.iter().map(|label| Act::RemoveLabel(named(names.label_name(*label))));
        adds.chain(removes).try_for_each(|act| party.demand(&act))?;
        Ok((added.len(), removed.iter().filter(|label| !is_hidden(label)).count()))
    }
    /// The error for an owner from whom data is hidden: without hidden data. A visible constraint on one element tells nothing of others; a
    /// uniqueness constraint may name an element that is hidden.
    fn told(&self, error: TransactError) -> TransactError {
        let restricted = self.party.as_ref().filter(|party| party.restriction.is_some());
        let (Some(party), TransactError::Constraint { name, .. }) = (restricted, &error) else {
            return error;
        };
        let shown = party.shown(self.base.clone());
        let rule = shown.catalog().constraint(name).map(|constraint| &constraint.rule);
        let (name, what) = match rule {
            Some(ConstraintRule::Exists | ConstraintRule::Typed(_)) => return error,
            Some(ConstraintRule::Unique(_)) => (name.clone(), "the change gives a value that is taken"),
            Some(ConstraintRule::NodeKey(_)) => {
                (name.clone(), "the change gives a value that is taken, or takes one that must be there")
            }
            None if shown.catalog().index_named(name).is_some() => {
                (name.clone(), "the change gives a value that is taken")
            }
            None => {
                (String::new(), "the change gives a value, or takes one, that the rules of the graph forbid")
            }
        };
        TransactError::Constraint { name, what: what.into() }
    }
    /// Checks the deletion of a vertex and of its edges; none of them may be hidden.
    fn demand_deletion(&self, vertex: VertexId, edges: &[EdgeRef]) -> Result<(), TransactError> {
        let Some(party) = &self.party else { return Ok(()) };
        let labels = self.labels_now(vertex)?;
        self.demand_of_vertex(&labels, &|labels, _| vec![Act::DeleteVertex(labels)])?;
        let view = party.shown(self.view.read().clone());
        for edge in edges {
            if !view.edge_exists(*edge)? {
                let what = "delete a node with relationships that are hidden";
                return Err(TransactError::Forbidden(what.to_string()));
            }
        }
        Ok(())
    }

    fn demand_vertex(&self, vertex: VertexId) -> Result<(), TransactError> {
        self.reads.existence(vertex);
        if self.is_gone(vertex)? || self.is_hidden(vertex)? {
            return Err(TransactError::NotFound { what: "node" });
        }
        Ok(())
    }
    /// Is it a vertex that was there before, and is not shown?
    fn is_hidden(&self, vertex: VertexId) -> Result<bool, TransactError> {
        let Some(party) = &self.party else { return Ok(false) };
        let was_there = self.base.exists(vertex)?;
        Ok(was_there && !party.shown(self.base.clone()).exists(vertex)?)
    }

    fn demand_edge(&self, edge: EdgeRef) -> Result<(), TransactError> {
        self.reads.edge(edge.id);
        let writes = self.writes.lock();
        let (is_gone, is_born) = (writes.gone_edges.contains(&edge.id), writes.born_edges.contains(&edge.id));
        drop(writes);
        let known = !is_gone && (is_born || self.shown().edge_exists(edge)?);
        if known { Ok(()) } else { Err(TransactError::NotFound { what: "relationship" }) }
    }
}

impl Writes {
    fn push(&mut self, change: Change) -> Result<(), TransactError> {
        if self.changes.len() >= CHANGES_MAX {
            return Err(TransactError::TooLarge);
        }
        self.value_bytes += change.value_bytes() as u64;
        self.changes.push(change);
        Ok(())
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        self.end(false);
    }
}

fn present(mut properties: Vec<(KeyId, Value)>) -> Vec<(KeyId, Value)> {
    properties.retain(|(_, value)| !value.is_null());
    properties
}

/// A name, where it is known; an unknown one has no privilege.
fn named(name: Option<&Arc<str>>) -> &str {
    name.map_or("", |name| name)
}
