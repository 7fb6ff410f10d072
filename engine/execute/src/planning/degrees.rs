//! The distribution of degrees, from a sample: hubs decide how many pairs of edges there are.
//!
//! A vertex's degree is known where its list is, so no counter is kept for it at each commit. Instead a sample of the vertices of a label is read
//! when the planner first asks, and again once there are many more or fewer such edges. Where that would miss hubs, since not all vertices are in the
//! sample, edges are sampled from their other ends: the mean degree of the vertices that they lead to, over the mean degree of all, is the same
//! quotient, and a hub is met as often as it has edges. Cost: the lists of three samples of vertices at most, each from a few chunks spread over the
//! graph, and [`SPREAD_EDGES`] degrees wherever they lie, the edges given up after [`SAMPLE_NS_MAX`]; then one look-up.

use super::far_ends::{EDGES_MIN, NotNow, SAMPLE_NS_MAX, counted_sets, edge_sample, in_time};
use dataflow::watch::work_clock_ns;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::{Direction, EdgeTypeId, LabelId, VertexId};
use parking_lot::Mutex;
use store::{LabelFilter, SAMPLE_VERTICES, Snapshot, StoreError};

/// Vertices of a sample: twice as many as for means, since few hubs decide.
const SPREAD_VERTICES: usize = 2 * SAMPLE_VERTICES;
/// Edges of a sample: the mean degree of their ends is within some percent.
const SPREAD_EDGES: usize = 256;
/// Cached answers; beyond, all are dropped.
const ANSWERS_MAX: usize = 1_024;
/// How many times more or fewer edges there must be for a sample to be taken anew.
const CHANGE: f64 = 1.25;

type DegreeKey = (Option<LabelId>, Vec<EdgeTypeId>, Direction);

/// Samples of one database.
#[derive(Debug, Default)]
pub(super) struct Degrees {
    /// Edges when it was sampled, and the answer.
    answers: Mutex<HashMap<DegreeKey, (f64, Option<f64>), FixedState>>,
}

impl Degrees {
    /// The mean of the squared degree over the square of the mean degree, of vertices with this label; none where none has such an edge.
    pub(super) fn spread(
        &self,
        snapshot: &Snapshot,
        label: Option<LabelId>,
        types: &[EdgeTypeId],
        direction: Direction,
    ) -> Option<f64> {
        let count = |edge_type: &EdgeTypeId| snapshot.statistics().edges_near(*edge_type, direction, label);
        let edges = types.iter().map(count).sum::<u64>() as f64;
        let asked = (label, types.to_vec(), direction);
        let known = self.answers.lock().get(&asked).copied();
        if let Some((then, answer)) = known
            && edges <= then * CHANGE
            && then <= edges * CHANGE
        {
            return answer;
        }
        // What cannot be read now is not sampled, and not kept: a plan must not fail for it.
        let sampled = match by_edges(snapshot, label, types, direction) {
            Ok(None) => by_vertices(snapshot, label, types, direction).map_err(NotNow::from),
            other => other,
        };
        let Ok(answer) = sampled else { return None };
        let mut answers = self.answers.lock();
        if answers.len() >= ANSWERS_MAX {
            answers.clear();
        }
        answers.insert(asked, (edges, answer));
        answer
    }
}

fn by_vertices(
    snapshot: &Snapshot,
    label: Option<LabelId>,
    types: &[EdgeTypeId],
    direction: Direction,
) -> Result<Option<f64>, StoreError> {
    let filter = label.map_or(LabelFilter::Any, LabelFilter::Has);
    let view = snapshot.adjacency(types, direction);
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for vertex in snapshot.sample(&filter, SPREAD_VERTICES)? {
        let degree = f64::from(view.degree_about(vertex.dense())?);
        (count, sum, squares) = (count + 1.0, sum + degree, squares + degree * degree);
    }
    Ok((sum > 0.0).then(|| squares * count / (sum * sum)))
}

/// From a sample of edges; none where all vertices fit a sample, or too few of the edges that were sampled from the other end lead to them.
fn by_edges(
    snapshot: &Snapshot,
    label: Option<LabelId>,
    types: &[EdgeTypeId],
    direction: Direction,
) -> Result<Option<f64>, NotNow> {
    let statistics = snapshot.statistics();
    let vertices = label.map_or_else(|| statistics.vertices(), |label| statistics.vertices_with_label(label));
    if vertices <= SPREAD_VERTICES as u64 {
        return Ok(None);
    }
    let until_ns = work_clock_ns() + SAMPLE_NS_MAX;
    let Some(far) = far_label(snapshot, label, types, direction, until_ns)? else { return Ok(None) };
    let from = direction.reversed();
    let sample = edge_sample(snapshot, Some(far), types, from, SPREAD_EDGES, until_ns)?;
    let (view, mut count, mut sum) = (snapshot.adjacency(types, direction), 0, 0.0);
    for near in sample.ends {
        if count >= EDGES_MIN && in_time(until_ns).is_err() {
            break;
        }
        in_time(until_ns)?;
        let is_meant = match label {
            Some(label) => snapshot.has_label(VertexId::from_dense(near), label)?,
            None => true,
        };
        if is_meant {
            (count, sum) = (count + 1, sum + f64::from(view.degree(near)?));
        }
    }
    let edges = |edge_type: &EdgeTypeId| statistics.edges_near(*edge_type, direction, label);
    let mean = types.iter().map(edges).sum::<u64>() as f64 / vertices as f64;
    Ok((count >= EDGES_MIN && mean > 0.0).then(|| (sum / count as f64 / mean).max(1.0)))
}

/// A label of the vertices that most of these edges lead to, the rarest one.
fn far_label(
    snapshot: &Snapshot,
    label: Option<LabelId>,
    types: &[EdgeTypeId],
    direction: Direction,
    until_ns: u64,
) -> Result<Option<LabelId>, NotNow> {
    let ends = edge_sample(snapshot, label, types, direction, EDGES_MIN, until_ns)?.ends;
    let (sets, _) = counted_sets(snapshot, &ends, until_ns)?;
    let Some((set, _)) = sets.into_iter().max_by_key(|(_, count)| *count) else { return Ok(None) };
    let labels = snapshot.catalog().labels_of(set).iter().copied();
    Ok(labels.min_by_key(|label| snapshot.statistics().vertices_with_label(*label)))
}
