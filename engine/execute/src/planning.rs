//! Statistics for the planner, answered from a snapshot's counters and catalogue.

use model::schema::SchemaTarget;
use model::{Direction, EdgeTypeId, KeyId, LabelId, Value};
use plan::{Expr, Planning, Sampled, Var};
use std::ops::Bound;
use std::sync::Arc;
use store::Snapshot;

mod degrees;
mod far_ends;
mod shares;
mod values;

use degrees::Degrees;
use far_ends::FarEnds;
use shares::{SampledShares, SampledVertices};
use values::SampledValues;

/// Samples of one database, or of what one role sees of it: taken on first use, and again once the graph has grown or shrunk.
#[derive(Debug, Default)]
pub struct Samples {
    degrees: Degrees,
    far_ends: FarEnds,
    vertices: SampledVertices,
}

/// Statistics and indexes as of one snapshot.
#[derive(Clone, Debug)]
pub struct SnapshotPlanning {
    snapshot: Snapshot,
    samples: Option<Arc<Samples>>,
    values: SampledValues,
    shares: SampledShares,
}

impl SnapshotPlanning {
    /// The statistics of this snapshot.
    pub fn new(snapshot: Snapshot) -> SnapshotPlanning {
        let (values, shares) = (SampledValues::default(), SampledShares::default());
        SnapshotPlanning { snapshot, samples: None, values, shares }
    }
    /// As above, with these samples.
    pub fn with_samples(snapshot: Snapshot, samples: Arc<Samples>) -> SnapshotPlanning {
        SnapshotPlanning { samples: Some(samples), ..SnapshotPlanning::new(snapshot) }
    }
    /// The samples, if there are any.
    pub(crate) fn samples(&self) -> Option<&Arc<Samples>> {
        self.samples.as_ref()
    }
    /// The snapshot.
    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }
    fn label(&self, name: &str) -> Option<LabelId> {
        self.snapshot.catalog().label(name)
    }
    fn types(&self, names: &[&str]) -> Vec<EdgeTypeId> {
        match names {
            [] => self.snapshot.statistics().edge_types(),
            _ => names.iter().filter_map(|name| self.snapshot.catalog().edge_type(name)).collect(),
        }
    }
    fn keys(&self, keys: &[&str]) -> Option<Vec<KeyId>> {
        keys.iter().map(|key| self.snapshot.catalog().key(key)).collect()
    }
    /// The index on these keys in some order.
    fn find(&self, label: &str, keys: &[&str]) -> Option<&model::schema::IndexDefinition> {
        let (target, wanted) = (SchemaTarget::Vertices(self.label(label)?), self.keys(keys)?);
        let covers =
            |have: &[KeyId]| have.len() == wanted.len() && wanted.iter().all(|key| have.contains(key));
        self.snapshot.catalog().indexes().iter().find(|index| index.target == target && covers(&index.keys))
    }
}

impl Planning for SnapshotPlanning {
    fn counts_edges(&self) -> bool {
        self.snapshot.statistics().counts_edges()
    }
    fn vertices(&self, label: Option<&str>) -> f64 {
        let statistics = self.snapshot.statistics();
        match label {
            None => statistics.vertices() as f64,
            Some(name) => self.label(name).map_or(0, |label| statistics.vertices_with_label(label)) as f64,
        }
    }
    fn edges(&self, near: Option<&str>, types: &[&str], direction: Direction) -> f64 {
        let label = near.map(|name| self.label(name));
        if label == Some(None) {
            return 0.0;
        }
        let count = |edge_type| self.snapshot.statistics().edges_near(edge_type, direction, label.flatten());
        self.types(types).into_iter().map(count).sum::<u64>() as f64
    }
    fn spread(&self, near: Option<&str>, types: &[&str], direction: Direction) -> Option<f64> {
        let label = match near {
            Some(name) => Some(self.label(name)?),
            None => None,
        };
        self.samples.as_ref()?.degrees.spread(&self.snapshot, label, &self.types(types), direction)
    }
    fn far_share(&self, near: Option<&str>, types: &[&str], direction: Direction, far: &str) -> f64 {
        // Counted from the other end: of all edges of these types, those whose far end carries the label.
        let (all, there) = (
            self.edges(None, types, direction.reversed()),
            self.edges(Some(far), types, direction.reversed()),
        );
        let here = self.edges(near, types, direction);
        if all == 0.0 || here == 0.0 {
            return 1.0;
        }
        if here == all || there == 0.0 || there == all {
            return there / all;
        }
        let labels = near.and_then(|near| Some((self.label(near)?, self.label(far)?)));
        let sampled = labels.zip(self.samples.as_ref()).and_then(|(labels, samples)| {
            samples.far_ends.share(&self.snapshot, labels, &self.types(types), direction)
        });
        // No more of them can lead there than are met there.
        sampled.unwrap_or(there / all).min(there / here)
    }
    fn index(&self, label: &str, keys: &[&str]) -> Option<Vec<String>> {
        let index = self.find(label, keys)?;
        let name = |key: &KeyId| self.snapshot.catalog().key_name(*key).map(|name| name.to_string());
        index.keys.iter().map(name).collect()
    }
    fn labels(&self) -> Vec<String> {
        let all = self.snapshot.catalog().names().labels().iter();
        // A hidden label has no name; one that only hidden nodes carry would tell of them.
        let is_met = |label: LabelId| {
            !self.snapshot.is_restricted() || self.snapshot.statistics().vertices_with_label(label) > 0
        };
        all.filter(|name| self.label(name).is_some_and(is_met)).map(|name| name.to_string()).collect()
    }
    fn labels_with_index(&self, key: &str) -> Vec<String> {
        let catalog = self.snapshot.catalog();
        let Some(key) = catalog.key(key) else { return Vec::new() };
        let on_key = catalog.indexes().iter().filter(|index| index.keys[..] == [key]);
        let labels = on_key.filter_map(|index| match index.target {
            SchemaTarget::Vertices(label) => catalog.label_name(label).map(|name| name.to_string()),
            SchemaTarget::Edges(_) => None,
        });
        let mut labels: Vec<String> = labels.collect();
        labels.sort();
        labels.dedup();
        labels
    }
    fn edge_indexes(&self, edge_type: &str) -> Vec<Vec<String>> {
        let catalog = self.snapshot.catalog();
        let Some(target) = catalog.edge_type(edge_type).map(SchemaTarget::Edges) else { return Vec::new() };
        let name = |key: &KeyId| catalog.key_name(*key).map(|name| name.to_string());
        let of_type = catalog.indexes().iter().filter(|index| index.target == target);
        of_type.filter_map(|index| index.keys.iter().map(name).collect()).collect()
    }
    fn edges_between(
        &self,
        edge_type: &str,
        key: &str,
        lower: Bound<&Value>,
        upper: Bound<&Value>,
    ) -> Option<f64> {
        let catalog = self.snapshot.catalog();
        let target = SchemaTarget::Edges(catalog.edge_type(edge_type)?);
        self.snapshot.estimate_range(catalog.index_for(target, &[catalog.key(key)?])?, lower, upper)
    }
    fn distinct(&self, label: &str, keys: &[&str]) -> Option<f64> {
        let index = self.find(label, keys)?;
        match self.snapshot.statistics().index(index.id) {
            Some(size) => Some(size.distinct as f64),
            None if index.unique => Some(self.vertices(Some(label))),
            None => self.values.distinct(&self.snapshot, self.label(label)?, &index.keys),
        }
    }
    fn between(&self, label: &str, key: &str, lower: Bound<&Value>, upper: Bound<&Value>) -> Option<f64> {
        let index = self.find(label, &[key])?;
        let estimate = self.snapshot.estimate_range(index.id, lower, upper);
        let sampled = || self.values.between(&self.snapshot, self.label(label)?, index.keys[0], lower, upper);
        estimate.or_else(sampled)
    }
    fn sampled(&self, label: &str, vertex: Var, condition: &Expr) -> Option<Sampled> {
        // A plan does not wait for chunks of other machines.
        let samples = &self.samples.as_ref().filter(|_| !self.snapshot.is_remote())?.vertices;
        self.shares.of(&self.snapshot, samples, self.label(label)?, (vertex, condition))
    }
}
