//! The distribution of degrees, from a sample: hubs decide how many pairs of edges there are.
//!
//! A vertex's degree is known where its list is, so no counter is kept for it at each commit. Instead a sample of the vertices of a label is read
//! when the planner first asks, and again once there are many more or fewer such edges. Cost: at most [`SPREAD_VERTICES`] lists a question, from a
//! few chunks spread over the graph; then one look-up.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::{Direction, EdgeTypeId, LabelId};
use parking_lot::Mutex;
use store::{LabelFilter, SAMPLE_VERTICES, Snapshot, StoreError};

/// Vertices of a sample: twice as many as for means, since few hubs decide.
const SPREAD_VERTICES: usize = 2 * SAMPLE_VERTICES;
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
        let Ok(answer) = sample(snapshot, label, types, direction) else { return None };
        let mut answers = self.answers.lock();
        if answers.len() >= ANSWERS_MAX {
            answers.clear();
        }
        answers.insert(asked, (edges, answer));
        answer
    }
}

fn sample(
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
