//! From one snapshot to the next: changes are applied one by one to working copies of the chunks they touch, then a new root is made.
//!
//! The same code serves a commit group and a transaction's private view of its own writes. Each touched chunk is copied once (the
//! spine of its delta, never its base); an error leaves nothing behind. Indexes and statistics are kept in the same pass.

use super::apply_edges::{hold, run_length};
use super::change::Change;
use super::draft::{CHANGE_UNITS, Draft, Part, Working, delta_of};
use crate::StoreError;
use crate::chunks::chunk::{Chunk, ChunkRead};
use crate::chunks::compact::compact;
use crate::chunks::delta::{Life, outside, set_property};
use crate::chunks::edge_set::pack;
use crate::chunks::table::Lane;
use crate::indexes::run::EntryChange;
use crate::schema::statistics::Counter;
use crate::snapshots::root::{Root, Snapshot};
use crate::versions::cell::Cell;
use model::schema::IndexDefinition;
use model::{ChunkNo, EdgeRef, KeyId, LabelSetId, Value, VertexId, walk};
use std::sync::Arc;

impl Snapshot {
    /// The snapshot after these changes, in order; this one is untouched. Fails as a whole.
    pub fn apply(&self, commit_version: u64, changes: &[&[Change]]) -> Result<Snapshot, StoreError> {
        let mut draft = Draft::new(self);
        changes.iter().try_for_each(|group| draft.take_all(group))?;
        let next = draft.finish(commit_version)?;
        // A compaction, or a search in an index, that was ended may have come to anything.
        walk::check()?;
        Ok(next)
    }
    /// As [`Snapshot::apply`], of uncommitted changes: results of searches in it are cached for no other snapshot.
    pub fn apply_uncommitted(&self, changes: &[Change]) -> Result<Snapshot, StoreError> {
        let next = self.apply(self.commit_version(), &[changes])?;
        if next.root.uncommitted.is_some() {
            return Ok(next);
        }
        let uncommitted = Some(self.root.catalog.names.clone());
        Ok(Snapshot::from_root(Root { uncommitted, ..next.root.copy() }))
    }
    /// As [`Snapshot::apply`], on the share of one shard: an edge is written at those of its ends whose chunks are in the share. Also returns the
    /// entries that the existing indexes gained and lost, in order.
    pub fn apply_share(
        &self,
        commit_version: u64,
        changes: &[Change],
    ) -> Result<(Snapshot, Vec<EntryChange>), StoreError> {
        let mut draft = Draft::of_part(self, Part::Share);
        draft.take_all(changes)?;
        let entry_changes = std::mem::take(&mut draft.entry_changes);
        Ok((draft.finish(commit_version)?, entry_changes))
    }
    /// The same graph with the delta of one chunk compacted into its base.
    pub fn compact(&self, chunk: ChunkNo) -> Result<Snapshot, StoreError> {
        let mut draft = Draft::new(self);
        if let Some(content) = self.chunk(chunk)?.filter(|content| content.delta().is_some()) {
            let compacted = compact(&content);
            walk::check()?;
            draft.directory.set(chunk, Arc::new(Cell::new(compacted, &self.root.pager)));
        }
        draft.finish(self.root.commit_version)
    }
    /// Chunks whose delta holds at least `changes_min` changes: candidates for a compactor.
    pub fn chunks_to_compact(&self, changes_min: usize) -> Vec<ChunkNo> {
        let weight = |cell: &Cell| cell.delta().map_or(0, |delta| delta.weight);
        let due = self.root.directory.iter().filter(|(_, cell)| weight(cell) >= changes_min.max(1));
        due.map(|(chunk, _)| chunk).collect()
    }
}

impl Draft<'_> {
    /// In order; runs of edges by their ends.
    pub(crate) fn take_all(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        let mut left = changes;
        while let Some(first) = left.first() {
            walk::spend(CHANGE_UNITS)?;
            let run =
                if self.takes_runs() && matches!(self.part, Part::Whole) { run_length(left) } else { 0 };
            if run > 0 {
                self.take_run(&left[..run])?;
                left = &left[run..];
            } else {
                if self.is_concerned(first) {
                    self.take(first)?;
                }
                left = &left[1..];
            }
        }
        Ok(())
    }
    fn take(&mut self, change: &Change) -> Result<(), StoreError> {
        match change {
            Change::CreateVertex { id, labels, properties } => self.create_vertex(*id, *labels, properties),
            Change::DeleteVertex { id } => self.delete_vertex(*id),
            Change::SetLabels { id, labels } => self.set_labels(*id, *labels),
            Change::SetProperty { id, key, value } => self.set_property(*id, *key, value),
            Change::CreateEdge { edge, properties } => self.create_edge(*edge, properties),
            Change::DeleteEdge { edge } => self.delete_edge(*edge),
            Change::SetEdgeProperty { edge, key, value } => self.set_edge_property(*edge, *key, value),
            Change::DefineName(definition) => {
                self.from.names.define(definition)?;
                self.catalog.names = self.from.names.table();
                Ok(())
            }
            Change::CreateIndex(definition) => self.create_index(definition),
            Change::DropIndex(id) => {
                self.catalog.drop_index(*id)?;
                self.indexes.retain(|(index, _)| index != id);
                Ok(())
            }
            Change::CreateConstraint(definition) => self.catalog.add_constraint(definition),
            Change::DropConstraint(name) => self.catalog.drop_constraint(name),
            Change::SetEntry { kind, name, content } => {
                self.catalog.entries.set(*kind, name, content.as_ref())
            }
        }
    }
    fn create_vertex(
        &mut self,
        id: VertexId,
        labels: LabelSetId,
        properties: &[(KeyId, Value)],
    ) -> Result<(), StoreError> {
        let pager = &self.from.pager;
        if self.catalog.names.labels_of(labels).is_none() {
            return Err(StoreError::BadName(format!("label set {} is not defined", labels.0).into()));
        }
        if id.0 > u32::MAX as u64 {
            return Err(StoreError::Full("chunks of one store"));
        }
        if self.directory.get(id.chunk()).is_none() {
            let new = || Working { chunk: Chunk::new(labels), page: None, held: None };
            self.chunks.entry(id.chunk()).or_insert_with(new);
        }
        let slot = id.slot() as usize;
        let chunk = self.chunk(id)?;
        chunk.expect_birth(id.chunk(), labels)?;
        let known = chunk.delta.as_ref().is_some_and(|delta| delta.vertex(slot).is_some());
        if known || chunk.exists(slot) {
            return Err(StoreError::VertexExists(id));
        }
        let meta = Arc::make_mut(&mut chunk.meta);
        meta.slot_bound = meta.slot_bound.max(slot as u32 + 1);
        meta.live += 1;
        meta.add_label_set(labels);
        let vertex = delta_of(chunk, pager, outside(properties)).altered_mut(slot);
        vertex.life = Life::Born;
        for (key, value) in properties.iter().filter(|(_, value)| !value.is_null()) {
            set_property(&mut vertex.properties, *key, value.clone());
        }
        self.count(Counter::Vertices(labels), 1);
        let after = self.index_keys(id, labels, |_| true)?;
        self.reindex(id, Vec::new(), after)
    }
    fn delete_vertex(&mut self, id: VertexId) -> Result<(), StoreError> {
        let pager = &self.from.pager;
        let (chunk, slot, labels) = self.existing(id)?;
        if chunk.has_edges(slot) {
            return Err(StoreError::VertexHasEdges(id));
        }
        let before = self.index_keys(id, labels, |_| true)?;
        let (chunk, ..) = self.existing(id)?;
        Arc::make_mut(&mut chunk.meta).live -= 1;
        let vertex = delta_of(chunk, pager, 0).altered_mut(slot);
        vertex.life = Life::Gone;
        vertex.properties.clear();
        vertex.labels = None;
        self.count(Counter::Vertices(labels), -1);
        self.reindex(id, before, Vec::new())
    }
    fn set_labels(&mut self, id: VertexId, labels: LabelSetId) -> Result<(), StoreError> {
        let pager = &self.from.pager;
        if self.catalog.names.labels_of(labels).is_none() {
            return Err(StoreError::BadName(format!("label set {} is not defined", labels.0).into()));
        }
        let (_, _, old) = self.existing(id)?;
        if old == labels {
            return Ok(());
        }
        let before = self.index_keys(id, old, |_| true)?;
        let (chunk, slot, _) = self.existing(id)?;
        Arc::make_mut(&mut chunk.meta).add_label_set(labels);
        delta_of(chunk, pager, 0).altered_mut(slot).labels = Some(labels);
        let degrees: Vec<(Lane, usize)> =
            chunk.lanes().into_iter().map(|lane| (lane, chunk.degree(slot, lane))).collect();
        self.count(Counter::Vertices(old), -1);
        self.count(Counter::Vertices(labels), 1);
        for (lane, degree) in degrees.into_iter().filter(|(_, degree)| *degree > 0) {
            self.count(near(lane, old), -(degree as i64));
            self.count(near(lane, labels), degree as i64);
        }
        let after = self.index_keys(id, labels, |_| true)?;
        self.reindex(id, before, after)
    }
    fn set_property(&mut self, id: VertexId, key: KeyId, value: &Value) -> Result<(), StoreError> {
        let pager = &self.from.pager;
        let (_, _, labels) = self.existing(id)?;
        let speaks_of = |index: &IndexDefinition| index.keys.contains(&key);
        let before = self.index_keys(id, labels, speaks_of)?;
        let (chunk, slot, _) = self.existing(id)?;
        set_property(
            &mut delta_of(chunk, pager, value.heap_bytes()).altered_mut(slot).properties,
            key,
            value.clone(),
        );
        let after = self.index_keys(id, labels, speaks_of)?;
        self.reindex(id, before, after)
    }
    fn create_edge(&mut self, edge: EdgeRef, properties: &[(KeyId, Value)]) -> Result<(), StoreError> {
        if edge.id.chunk() != edge.source.chunk() {
            return Err(StoreError::ChunkMismatch(edge.id.chunk()));
        }
        if self.owns(edge.target) {
            self.link_target(edge)?;
        }
        if self.owns(edge.source) { self.link_source(edge, properties) } else { Ok(()) }
    }
    fn link_target(&mut self, edge: EdgeRef) -> Result<(), StoreError> {
        let pager = &self.from.pager;
        let edge_type = edge.id.edge_type();
        let (target, target_slot, target_labels) = self.existing(edge.target)?;
        let at_target = pack(edge.source.0 as u32, edge.id.slot());
        delta_of(target, pager, 0).list_mut(target_slot, Lane::into(edge_type)).added.insert(at_target);
        self.count(Counter::In(edge_type, target_labels), 1);
        Ok(())
    }
    fn link_source(&mut self, edge: EdgeRef, properties: &[(KeyId, Value)]) -> Result<(), StoreError> {
        let pager = &self.from.pager;
        let edge_type = edge.id.edge_type();
        let (source, source_slot, source_labels) = self.existing(edge.source)?;
        let at_source = pack(edge.target.dense(), edge.id.slot());
        // A slot that no edge of the chunk ever had needs no search.
        let is_new = edge.id.slot() >= source.meta.edge_slot_bound(edge_type);
        if !is_new && source.has_edge(source_slot, Lane::out(edge_type), at_source) {
            return Err(StoreError::EdgeExists(edge.id));
        }
        Arc::make_mut(&mut source.meta).raise_edge_slot_bound(edge_type, edge.id.slot() + 1);
        let delta = delta_of(source, pager, outside(properties));
        delta.list_mut(source_slot, Lane::out(edge_type)).added.insert(at_source);
        if !properties.is_empty() {
            hold(delta, &edge, properties);
        }
        self.count(Counter::Out(edge_type, source_labels), 1);
        let after = self.edge_index_keys(edge, |_| true)?;
        self.reindex(edge.source, Vec::new(), after)
    }
    /// Takes the edge out of one end's list; labels of that end.
    fn unlink(
        &mut self,
        end: VertexId,
        lane: Lane,
        packed: u64,
        edge: EdgeRef,
    ) -> Result<LabelSetId, StoreError> {
        let pager = &self.from.pager;
        let (chunk, slot, labels) = self.existing(end)?;
        if !chunk.has_edge(slot, lane, packed) {
            return Err(StoreError::NoEdge(edge.id));
        }
        let list = delta_of(chunk, pager, 0).list_mut(slot, lane);
        if !list.added.remove(packed) {
            list.removed.insert(packed);
        }
        Ok(labels)
    }
    fn delete_edge(&mut self, edge: EdgeRef) -> Result<(), StoreError> {
        let edge_type = edge.id.edge_type();
        if edge.target.0 > u32::MAX as u64 || edge.source.chunk() != edge.id.chunk() {
            return Err(StoreError::NoEdge(edge.id));
        }
        let owns_source = self.owns(edge.source);
        let before = if owns_source { self.edge_index_keys(edge, |_| true)? } else { Vec::new() };
        if owns_source {
            let at_source = pack(edge.target.dense(), edge.id.slot());
            let source_labels = self.unlink(edge.source, Lane::out(edge_type), at_source, edge)?;
            self.count(Counter::Out(edge_type, source_labels), -1);
        }
        if self.owns(edge.target) {
            let at_target = pack(edge.source.dense(), edge.id.slot());
            let target_labels = self.unlink(edge.target, Lane::into(edge_type), at_target, edge)?;
            self.count(Counter::In(edge_type, target_labels), -1);
        }
        if !owns_source {
            return Ok(());
        }
        let pager = &self.from.pager;
        let delta = delta_of(self.chunk(edge.source)?, pager, 0);
        delta.edge_properties.remove(&(edge_type, edge.id.slot()));
        self.reindex(edge.source, before, Vec::new())
    }
    fn set_edge_property(&mut self, edge: EdgeRef, key: KeyId, value: &Value) -> Result<(), StoreError> {
        let pager = &self.from.pager;
        let edge_type = edge.id.edge_type();
        if edge.target.0 > u32::MAX as u64 || edge.source.chunk() != edge.id.chunk() {
            return Err(StoreError::NoEdge(edge.id));
        }
        let (chunk, slot, _) = self.existing(edge.source)?;
        if !chunk.has_edge(slot, Lane::out(edge_type), pack(edge.target.dense(), edge.id.slot())) {
            return Err(StoreError::NoEdge(edge.id));
        }
        let speaks_of = |index: &IndexDefinition| index.keys.contains(&key);
        let before = self.edge_index_keys(edge, speaks_of)?;
        let (chunk, ..) = self.existing(edge.source)?;
        let overrides = delta_of(chunk, pager, value.heap_bytes())
            .edge_properties
            .entry((edge_type, edge.id.slot()))
            .or_default();
        set_property(Arc::make_mut(overrides), key, value.clone());
        let after = self.edge_index_keys(edge, speaks_of)?;
        self.reindex(edge.source, before, after)
    }
}

fn near(lane: Lane, labels: LabelSetId) -> Counter {
    if lane.is_out() { Counter::Out(lane.edge_type(), labels) } else { Counter::In(lane.edge_type(), labels) }
}
