//! Statistics for the planner: a small trait that the consumer owns. `execute` implements it over a snapshot.

use crate::expr::{Expr, Var};
use model::{Direction, Value};
use std::ops::Bound;

/// Of the vertices of a sample, those for which conditions are true.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampled {
    /// For how many.
    pub hits: usize,
    /// How many vertices there are in the sample.
    pub of: usize,
}

/// Sizes and indexes of the graph as of one snapshot; estimates may be rough, answers about indexes must be exact.
pub trait Planning {
    /// Vertices with this label, or all.
    fn vertices(&self, label: Option<&str>) -> f64;
    /// Labels that vertices carry, in any order; none where unknown.
    fn labels(&self) -> Vec<String> {
        Vec::new()
    }
    /// Edges of these types (empty: all) leaving, in this direction, vertices with this label (or any).
    fn edges(&self, near: Option<&str>, types: &[&str], direction: Direction) -> f64;
    /// How unequally such edges are distributed among these vertices: the mean of the squared degree over the square of the mean one. 1 if all have
    /// the same number, more the larger the hubs; none where unknown.
    fn spread(&self, near: Option<&str>, types: &[&str], direction: Direction) -> Option<f64> {
        let _ = (near, types, direction);
        None
    }
    /// Share of the far ends of such edges that carry `far` (0 to 1); 1 where unknown.
    fn far_share(&self, near: Option<&str>, types: &[&str], direction: Direction, far: &str) -> f64;
    /// Is there a property index on exactly these keys in some order? Returns the keys in index order.
    fn index(&self, label: &str, keys: &[&str]) -> Option<Vec<String>>;
    /// Labels that have a property index on this key alone; none where unknown.
    fn labels_with_index(&self, key: &str) -> Vec<String> {
        let _ = key;
        Vec::new()
    }
    /// Keys of each property index over the edges of this type.
    fn edge_indexes(&self, edge_type: &str) -> Vec<Vec<String>> {
        let _ = edge_type;
        Vec::new()
    }
    /// Number of edges of this type whose value of `key` lies between the bounds, if an index on the key alone can tell; else none.
    fn edges_between(
        &self,
        edge_type: &str,
        key: &str,
        lower: Bound<&Value>,
        upper: Bound<&Value>,
    ) -> Option<f64> {
        let _ = (edge_type, key, lower, upper);
        None
    }
    /// Are edges counted exactly? Not for a reader from whom some of their ends are hidden.
    fn counts_edges(&self) -> bool {
        true
    }
    /// Distinct values of an index's keys.
    fn distinct(&self, label: &str, keys: &[&str]) -> Option<f64>;
    /// Number of vertices with this label whose value of `key` lies between the bounds, if an index on the key alone can tell; else none.
    fn between(&self, label: &str, key: &str, lower: Bound<&Value>, upper: Bound<&Value>) -> Option<f64> {
        let _ = (label, key, lower, upper);
        None
    }
    /// For how many vertices of a sample with this label the condition is true, which reads `vertex` and nothing else; none where there is no sample,
    /// or it cannot be computed while a plan is made.
    fn sampled(&self, label: &str, vertex: Var, condition: &Expr) -> Option<Sampled> {
        let _ = (label, vertex, condition);
        None
    }
}

/// A graph of which nothing is known; for tests and for planning before anything is stored.
#[derive(Clone, Copy, Debug, Default)]
pub struct NothingKnown;

impl Planning for NothingKnown {
    fn vertices(&self, label: Option<&str>) -> f64 {
        label.map_or(10_000.0, |_| 1_000.0)
    }
    fn edges(&self, near: Option<&str>, _: &[&str], _: Direction) -> f64 {
        self.vertices(near) * 10.0
    }
    fn far_share(&self, _: Option<&str>, _: &[&str], _: Direction, _: &str) -> f64 {
        1.0
    }
    fn index(&self, _: &str, _: &[&str]) -> Option<Vec<String>> {
        None
    }
    fn distinct(&self, _: &str, _: &[&str]) -> Option<f64> {
        None
    }
}
