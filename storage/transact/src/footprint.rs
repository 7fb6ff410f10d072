//! The writes of a list of changes, as keys: the counterpart of the read set.
//!
//! Labels and index values of a vertex before and after decide which predicates (label scans, index ranges) a change touches, so both snapshots are
//! read. Only the leading value of an index is tracked, as read sets record ranges on it only.

use crate::conflicts::Footprint;
use crate::reads::Key;
use model::compare::OrderKey;
use model::schema::SchemaTarget;
use model::{EdgeRef, KeyId, LabelId, VertexId, walk};
use store::{Change, Snapshot, StoreError};

/// Units of work ([`walk::spend`]) of one change.
pub(crate) const CHANGE_UNITS: usize = 4;

/// Computes the footprint of `changes`, which led from `before` to `after`.
pub(crate) fn footprint(
    changes: &[Change],
    before: &Snapshot,
    after: &Snapshot,
) -> Result<Footprint, StoreError> {
    let mut writer = FootprintWriter { before, after, footprint: Footprint::default() };
    for change in changes {
        walk::spend(CHANGE_UNITS)?;
        writer.change(change)?;
    }
    Ok(writer.footprint)
}

struct FootprintWriter<'a> {
    before: &'a Snapshot,
    after: &'a Snapshot,
    footprint: Footprint,
}

impl FootprintWriter<'_> {
    fn change(&mut self, change: &Change) -> Result<(), StoreError> {
        match change {
            Change::CreateVertex { id, .. } | Change::DeleteVertex { id } => {
                self.key(Key::existence(*id));
                self.key(Key::vertex(*id));
                self.key(Key::label(None));
                self.labels_changed(*id)?;
                self.indexed(*id, None)
            }
            Change::SetLabels { id, .. } => {
                self.key(Key::vertex(*id));
                for label in self.labels_changed(*id)? {
                    self.key(Key::relabelled(label));
                }
                self.indexed(*id, None)
            }
            Change::SetProperty { id, key, .. } => {
                self.key(Key::vertex(*id));
                self.indexed(*id, Some(*key))
            }
            Change::CreateEdge { edge, .. } | Change::DeleteEdge { edge } => {
                self.edge(edge);
                self.edge_indexed(edge, None)
            }
            Change::SetEdgeProperty { edge, key, .. } => {
                self.key(Key::edge(edge.id.0));
                self.edge_indexed(edge, Some(*key))
            }
            Change::DefineName(_) => {
                self.key(Key::catalogue());
                Ok(())
            }
            Change::CreateIndex(_) | Change::DropIndex(_) => {
                self.footprint.indexes = true;
                self.key(Key::catalogue());
                Ok(())
            }
            Change::CreateConstraint(_) | Change::DropConstraint(_) => {
                self.key(Key::catalogue());
                Ok(())
            }
            Change::SetEntry { .. } => {
                self.key(Key::entries());
                Ok(())
            }
        }
    }

    fn key(&mut self, key: Key) {
        self.footprint.keys.push(key);
    }

    fn edge(&mut self, edge: &EdgeRef) {
        let edge_type = edge.id.edge_type();
        self.key(Key::adjacency(edge.source, Some(edge_type), true));
        self.key(Key::adjacency(edge.source, None, true));
        self.key(Key::adjacency(edge.target, Some(edge_type), false));
        self.key(Key::adjacency(edge.target, None, false));
        self.key(Key::pair(edge.source, edge.target));
        self.key(Key::edge(edge.id.0));
    }

    /// Labels that the vertex had on one side only.
    fn labels_changed(&mut self, vertex: VertexId) -> Result<Vec<LabelId>, StoreError> {
        let (old, new) = (labels(self.before, vertex)?, labels(self.after, vertex)?);
        let changed = old
            .iter()
            .filter(|label| !new.contains(label))
            .chain(new.iter().filter(|label| !old.contains(label)));
        let changed: Vec<LabelId> = changed.copied().collect();
        self.footprint.keys.extend(changed.iter().map(|label| Key::label(Some(*label))));
        Ok(changed)
    }

    /// Leading values in every index the edge was or is in; with `key`, only in indexes that contain it.
    fn edge_indexed(&mut self, edge: &EdgeRef, key: Option<KeyId>) -> Result<(), StoreError> {
        let target = SchemaTarget::Edges(edge.id.edge_type());
        for snapshot in [self.before, self.after] {
            for index in snapshot.catalog().indexes() {
                let concerned = index.target == target && key.is_none_or(|key| index.keys.contains(&key));
                if let (true, Some(leading)) = (concerned, index.keys.first())
                    && snapshot.edge_exists(*edge)?
                {
                    let value = snapshot.edge_property(edge.id, *leading)?;
                    self.footprint.index_values.push((index.id, OrderKey(value)));
                }
            }
        }
        Ok(())
    }

    /// Leading values in every index the vertex was or is in; with `key`, only in indexes that contain it.
    fn indexed(&mut self, vertex: VertexId, key: Option<KeyId>) -> Result<(), StoreError> {
        for snapshot in [self.before, self.after] {
            if snapshot.catalog().indexes().is_empty() {
                continue;
            }
            let labels = labels(snapshot, vertex)?;
            for index in snapshot.catalog().indexes() {
                let SchemaTarget::Vertices(label) = index.target else { continue };
                let concerned = labels.contains(&label) && key.is_none_or(|key| index.keys.contains(&key));
                if let (true, Some(leading)) = (concerned, index.keys.first()) {
                    let value = snapshot.property(vertex, *leading)?;
                    self.footprint.index_values.push((index.id, OrderKey(value)));
                }
            }
        }
        Ok(())
    }
}

/// Labels of a vertex, none where it does not exist.
pub(crate) fn labels(snapshot: &Snapshot, vertex: VertexId) -> Result<Vec<LabelId>, StoreError> {
    if !snapshot.exists(vertex)? {
        return Ok(Vec::new());
    }
    Ok(snapshot.catalog().labels_of(snapshot.labels(vertex)?).to_vec())
}
