//! Guesses the label of a vertex for which a plan names none.
//!
//! Idea: edges of one type mostly leave vertices of one label. A bound vertex that is walked from (an element of a list, an end of a path) likely has
//! such edges, so its degree is taken from vertices with that label: the mean over all vertices of the graph would be far too low. Candidates are the
//! labels of the statistics and those that the statement itself names. Only estimates depend on the guess, never results. Cost: a look-up for each
//! label and edge of a pattern.

use crate::algebra::Plan;
use crate::expr::{Expr, LabelExpr, Name, Var};
use crate::statistics::{Planning, Sampled};
use model::{Direction, Value};
use std::ops::Bound;

/// Share of a type's edges that must leave vertices with a label for it to stand for them all.
const MOSTLY_SHARE: f64 = 0.5;
/// Labels whose edge counts come this close to the largest are as good: the rarest of them is chosen (Comment, rather than Message).
const CLOSE_SHARE: f64 = 0.99;
/// Labels that are considered; beyond, looking each up would cost more than a better order gains.
const LABELS_MAX: usize = 256;

/// The label of most vertices that such edges leave.
pub(crate) fn label_at(planning: &dyn Planning, types: &[Name], direction: Direction) -> Option<Name> {
    let types: Vec<&str> = types.iter().map(|name| &**name).collect();
    let all = planning.edges(None, &types, direction);
    let labels = planning.labels().into_iter().take(LABELS_MAX);
    let met = labels.map(|label| (planning.edges(Some(&label), &types, direction), label));
    let met: Vec<(f64, String)> =
        met.filter(|(edges, _)| *edges > 0.0 && *edges >= all * MOSTLY_SHARE).collect();
    let most = met.iter().fold(0.0, |most: f64, (edges, _)| most.max(*edges));
    let close = met.into_iter().filter(|(edges, _)| *edges >= most * CLOSE_SHARE);
    let size = |label: &str| planning.vertices(Some(label));
    let rarest = close.min_by(|(_, a), (_, b)| size(a).total_cmp(&size(b)).then_with(|| a.cmp(b)));
    rarest.map(|(_, label)| label.as_str().into())
}

/// The same figures, of a planner that also knows the labels which a plan names.
pub(crate) struct Named<'a> {
    planning: &'a dyn Planning,
    labels: Vec<String>,
}

impl<'a> Named<'a> {
    pub fn new(planning: &'a dyn Planning, plan: &Plan) -> Named<'a> {
        let mut labels = planning.labels();
        plan.any(&mut |node| {
            labels.extend(named_here(node).iter().map(|label| label.to_string()));
            false
        });
        labels.sort();
        labels.dedup();
        Named { planning, labels }
    }
}

/// Labels that vertices must carry by this node's own pattern.
fn named_here(plan: &Plan) -> Vec<Name> {
    let required = LabelExpr::required;
    match plan {
        Plan::Match(node) => {
            node.pattern.vertices.iter().flat_map(|vertex| required(&vertex.labels)).collect()
        }
        Plan::ScanVertices(node) => required(&node.labels),
        Plan::SeekVertices(node) => vec![node.label.clone()],
        Plan::Expand(node) => required(&node.labels),
        Plan::ExpandPath(node) => required(&node.labels),
        _ => Vec::new(),
    }
}

impl Planning for Named<'_> {
    fn counts_edges(&self) -> bool {
        self.planning.counts_edges()
    }
    fn vertices(&self, label: Option<&str>) -> f64 {
        self.planning.vertices(label)
    }
    fn labels(&self) -> Vec<String> {
        self.labels.clone()
    }
    fn edges(&self, near: Option<&str>, types: &[&str], direction: Direction) -> f64 {
        self.planning.edges(near, types, direction)
    }
    fn spread(&self, near: Option<&str>, types: &[&str], direction: Direction) -> Option<f64> {
        self.planning.spread(near, types, direction)
    }
    fn far_share(&self, near: Option<&str>, types: &[&str], direction: Direction, far: &str) -> f64 {
        self.planning.far_share(near, types, direction, far)
    }
    fn index(&self, label: &str, keys: &[&str]) -> Option<Vec<String>> {
        self.planning.index(label, keys)
    }
    fn labels_with_index(&self, key: &str) -> Vec<String> {
        self.planning.labels_with_index(key)
    }
    fn edge_indexes(&self, edge_type: &str) -> Vec<Vec<String>> {
        self.planning.edge_indexes(edge_type)
    }
    fn edges_between(
        &self,
        edge_type: &str,
        key: &str,
        lower: Bound<&Value>,
        upper: Bound<&Value>,
    ) -> Option<f64> {
        self.planning.edges_between(edge_type, key, lower, upper)
    }
    fn distinct(&self, label: &str, keys: &[&str]) -> Option<f64> {
        self.planning.distinct(label, keys)
    }
    fn between(&self, label: &str, key: &str, lower: Bound<&Value>, upper: Bound<&Value>) -> Option<f64> {
        self.planning.between(label, key, lower, upper)
    }
    fn sampled(&self, label: &str, vertex: Var, condition: &Expr) -> Option<Sampled> {
        self.planning.sampled(label, vertex, condition)
    }
}
