//! Commits as a restricted reader sees them.
//!
//! Idea: a query under a restriction is maintained like any other: over a snapshot that hides, and over commits. So each commit is rewritten as it
//! would be on a graph without the hidden data. Visibility depends on the labels of a vertex, so a commit that changes them may make a vertex come or
//! go with its properties and its edges, which the commit itself does not contain: these are read from a view of the whole graph, before and after
//! the commit. Invariant: the restricted graph before a commit, with the rewritten commit, is the restricted graph after it (tested on random graphs:
//! the changes that a subscriber got add up to its query's answer). Cost: reading the labels of vertices that a commit touches and of the ends of its
//! edges; for a vertex that becomes visible or hidden, its edges.

use crate::StandingError;
use crate::view::{Timestamp, Touched, View};
use model::{Direction, EdgeRef, KeyId, LabelSetId, Value, VertexId};
use std::collections::BTreeSet;
use std::sync::Arc;
use store::{Change, Restriction, Snapshot, StoreError};
use transact::CommitRecord;

/// State beside the view that a restricted query reads.
pub(crate) struct Shown {
    restriction: Arc<Restriction>,
    /// The graph with all that is hidden.
    whole: View,
}

/// A view of a graph as this restriction shows it, where there is one.
pub(crate) fn view_of(graph: Snapshot, restriction: Option<&Arc<Restriction>>) -> (View, Option<Shown>) {
    match restriction {
        None => (View::new(graph), None),
        Some(restriction) => {
            let view = View::new(graph.restricted(restriction));
            (view, Some(Shown { restriction: restriction.clone(), whole: View::new(graph) }))
        }
    }
}

/// A vertex at a timestamp: its labels, where it is visible.
type Sight = Option<LabelSetId>;

/// One commit, between two timestamps.
struct Translation<'a> {
    whole: &'a View,
    /// Knows the visibility of each label set and type.
    newest: &'a Snapshot,
    timestamp: Timestamp,
    changes: Vec<Change>,
}

impl Shown {
    /// The restriction.
    pub fn restriction(&self) -> &Arc<Restriction> {
        &self.restriction
    }
    /// Commits with new names are about to come: returns the restricted snapshot that knows them.
    pub fn prepare(&mut self, newest: Snapshot) -> Snapshot {
        let shown = newest.restricted(&self.restriction);
        self.whole.prepare(newest);
        shown
    }
    /// As [`View::rebase`].
    pub fn rebase(&mut self) {
        self.whole.rebase();
    }
    /// A commit as the reader sees it, for the view that has processed all before it. None where a vertex becomes visible again that was hidden since
    /// the base of the view: an id names one vertex there, so the view must begin anew.
    pub fn record(
        &mut self,
        timestamp: Timestamp,
        record: &Arc<CommitRecord>,
        view: &View,
    ) -> Result<Option<Arc<CommitRecord>>, StandingError> {
        let newest = view.newest();
        debug_assert!(newest.is_restricted(), "what is shown is read from a snapshot that hides");
        let touched = self.whole.absorb(timestamp, record)?;
        let mut translation = Translation { whole: &self.whole, newest, timestamp, changes: Vec::new() };
        translation.commit(&touched)?;
        let comes_again =
            |change: &Change| matches!(change, Change::CreateVertex { id, .. } if view.has_changed(*id));
        if translation.changes.iter().any(comes_again) {
            return Ok(None);
        }
        let CommitRecord { commit_version, time_micros, .. } = **record;
        Ok(Some(Arc::new(CommitRecord { commit_version, time_micros, changes: translation.changes })))
    }
}

impl Translation<'_> {
    fn commit(&mut self, touched: &Touched) -> Result<(), StoreError> {
        let mut edges: BTreeSet<EdgeRef> = touched.edges.iter().copied().collect();
        let (mut came, mut went, mut stayed) = (Vec::new(), Vec::new(), Vec::new());
        for vertex in &touched.vertices {
            let (was, is) = (self.sight(*vertex, self.timestamp - 1)?, self.sight(*vertex, self.timestamp)?);
            match (was, is) {
                (None, Some(set)) => came.push((*vertex, set)),
                (Some(_), None) => went.push(*vertex),
                (Some(was), Some(is)) if was != is => stayed.push((*vertex, was, is)),
                _ => {}
            }
            if was.is_some() != is.is_some() {
                for timestamp in [self.timestamp - 1, self.timestamp] {
                    self.whole.edges(*vertex, &[], Direction::Both, timestamp, |edge| {
                        edges.insert(edge);
                    })?;
                }
            }
        }
        let mut born = Vec::new();
        for edge in edges {
            let (was, is) =
                (self.shows_edge(edge, self.timestamp - 1)?, self.shows_edge(edge, self.timestamp)?);
            // One that was there and was made anew within the commit goes and comes.
            let is_other = was && is && touched.edges.contains(&edge);
            if was && (!is || is_other) {
                self.changes.push(Change::DeleteEdge { edge });
            }
            if is && (!was || is_other) {
                born.push(edge);
            }
        }
        self.changes.extend(went.into_iter().map(|id| Change::DeleteVertex { id }));
        for (id, labels) in &came {
            let properties = self.properties(*id, *labels)?;
            self.changes.push(Change::CreateVertex { id: *id, labels: *labels, properties });
        }
        for (id, was, is) in stayed {
            self.relabel(id, was, is)?;
        }
        self.set_properties(touched)?;
        for edge in &born {
            let properties = self.edge_properties(*edge)?;
            self.changes.push(Change::CreateEdge { edge: *edge, properties });
        }
        for (edge, key) in &touched.edge_properties {
            let is_new = born.contains(edge);
            let shows = self.newest.shows_edge_key(edge.id.edge_type(), *key);
            if !is_new && shows && self.shows_edge(*edge, self.timestamp)? {
                let value = self.whole.edge_property(edge.id, *key, self.timestamp)?;
                self.changes.push(Change::SetEdgeProperty { edge: *edge, key: *key, value });
            }
        }
        Ok(())
    }
    /// Properties of vertices that were in sight and are.
    fn set_properties(&mut self, touched: &Touched) -> Result<(), StoreError> {
        for (id, key) in &touched.properties {
            let (was, is) = (self.sight(*id, self.timestamp - 1)?, self.sight(*id, self.timestamp)?);
            if let (Some(_), Some(set)) = (was, is)
                && self.newest.shows_key(set, *key)
            {
                let value = self.whole.property(*id, *key, self.timestamp)?;
                self.changes.push(Change::SetProperty { id: *id, key: *key, value });
            }
        }
        Ok(())
    }
    /// Other labels, which may show or hide properties.
    fn relabel(&mut self, id: VertexId, was: LabelSetId, is: LabelSetId) -> Result<(), StoreError> {
        self.changes.push(Change::SetLabels { id, labels: is });
        let mut keys: BTreeSet<KeyId> = BTreeSet::new();
        for timestamp in [self.timestamp - 1, self.timestamp] {
            keys.extend(self.whole.property_list(id, timestamp)?.into_iter().map(|(key, _)| key));
        }
        for key in keys {
            let (showed, shows) = (self.newest.shows_key(was, key), self.newest.shows_key(is, key));
            if showed != shows {
                let value = if shows { self.whole.property(id, key, self.timestamp)? } else { Value::Null };
                self.changes.push(Change::SetProperty { id, key, value });
            }
        }
        Ok(())
    }
    fn sight(&self, vertex: VertexId, timestamp: Timestamp) -> Result<Sight, StoreError> {
        Ok(self.whole.labels(vertex, timestamp)?.filter(|set| self.newest.shows_label_set(*set)))
    }
    fn shows_edge(&self, edge: EdgeRef, timestamp: Timestamp) -> Result<bool, StoreError> {
        Ok(self.newest.shows_edge_type(edge.id.edge_type())
            && self.whole.has_edge(edge, timestamp)?
            && self.sight(edge.source, timestamp)?.is_some()
            && self.sight(edge.target, timestamp)?.is_some())
    }
    fn properties(&self, vertex: VertexId, set: LabelSetId) -> Result<Vec<(KeyId, Value)>, StoreError> {
        let mut all = self.whole.property_list(vertex, self.timestamp)?;
        all.retain(|(key, _)| self.newest.shows_key(set, *key));
        Ok(all)
    }
    fn edge_properties(&self, edge: EdgeRef) -> Result<Vec<(KeyId, Value)>, StoreError> {
        let mut all = self.whole.edge_property_list(edge.id, self.timestamp)?;
        all.retain(|(key, _)| self.newest.shows_edge_key(edge.id.edge_type(), *key));
        Ok(all)
    }
}
