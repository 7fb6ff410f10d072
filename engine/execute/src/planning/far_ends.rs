//! Where edges lead, from a sample of them: labels and types depend on each other.
//!
//! Counters know how many edges of a type leave or enter vertices of each label, but not from which label to which. Where a type connects several
//! pairs of labels (persons and messages lie in places, places of one kind in those of another), the share of a label among the far ends depends on
//! the label of the near ones. A sample of edges is read when the planner first asks, and again once there are many more or fewer of them. Cost: the
//! lists of [`SAMPLE_VERTICES`] vertices and [`EDGES`] labels a question; then one look-up.

use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::{Direction, EdgeTypeId, LabelId, LabelSetId, VertexId};
use parking_lot::Mutex;
use std::sync::Arc;
use store::{LabelFilter, SAMPLE_VERTICES, Snapshot, StoreError};
use world::chance::Chance;

/// Edges of a sample: a share of a half is within some percent.
const EDGES: usize = 512;
/// A smaller sample tells nothing.
const EDGES_MIN: usize = 32;
/// Edges that are read to choose these.
const READ_EDGES_MAX: u64 = 1 << 20;
/// Cached answers; beyond, all are dropped.
const ANSWERS_MAX: usize = 1_024;
/// How many times more or fewer edges there must be for a sample to be taken anew.
const CHANGE: f64 = 1.25;
/// Hits that are assumed where the sample has none.
const HITS_MIN: f64 = 0.5;

type EndsKey = (LabelId, Vec<EdgeTypeId>, Direction);
/// The label sets that edges lead to, and how many of the sample do.
type SampledEnds = Option<Arc<[(LabelSetId, u32)]>>;

/// Samples of one database.
#[derive(Debug, Default)]
pub(super) struct FarEnds {
    /// Edges when it was sampled, and the answer.
    answers: Mutex<HashMap<EndsKey, (f64, SampledEnds), FixedState>>,
}

impl FarEnds {
    /// Share of the edges at vertices with the label `near` that lead to vertices with the label `far` (0 to 1); none where there is no sample.
    pub(super) fn share(
        &self,
        snapshot: &Snapshot,
        (near, far): (LabelId, LabelId),
        types: &[EdgeTypeId],
        direction: Direction,
    ) -> Option<f64> {
        let ends = self.ends(snapshot, near, types, direction)?;
        let all: u32 = ends.iter().map(|(_, count)| count).sum();
        let leads_there = |set: LabelSetId| snapshot.catalog().labels_of(set).contains(&far);
        let hits: u32 = ends.iter().filter(|(set, _)| leads_there(*set)).map(|(_, count)| count).sum();
        Some(f64::from(hits).max(HITS_MIN) / f64::from(all))
    }
    fn ends(
        &self,
        snapshot: &Snapshot,
        near: LabelId,
        types: &[EdgeTypeId],
        direction: Direction,
    ) -> SampledEnds {
        let count =
            |edge_type: &EdgeTypeId| snapshot.statistics().edges_near(*edge_type, direction, Some(near));
        let edges = types.iter().map(count).sum::<u64>() as f64;
        let asked = (near, types.to_vec(), direction);
        let known = self.answers.lock().get(&asked).cloned();
        if let Some((then, answer)) = known
            && edges <= then * CHANGE
            && then <= edges * CHANGE
        {
            return answer;
        }
        // What cannot be read now is not sampled, and not kept: a plan must not fail for it.
        let sampled = sample(snapshot, near, types, direction).ok()?;
        let mut answers = self.answers.lock();
        if answers.len() >= ANSWERS_MAX {
            answers.clear();
        }
        answers.insert(asked, (edges, sampled.clone()));
        sampled
    }
}

fn sample(
    snapshot: &Snapshot,
    near: LabelId,
    types: &[EdgeTypeId],
    direction: Direction,
) -> Result<SampledEnds, StoreError> {
    let mut sets: Vec<(LabelSetId, u32)> = Vec::new();
    let ends = far_ends(snapshot, near, types, direction, EDGES)?;
    for far in &ends {
        let set = snapshot.labels(VertexId::from_dense(*far))?;
        match sets.iter_mut().find(|(known, _)| *known == set) {
            Some((_, count)) => *count += 1,
            None => sets.push((set, 1)),
        }
    }
    Ok((ends.len() >= EDGES_MIN).then(|| sets.into()))
}

/// The far ends of about `wanted` of the edges at vertices with the label `near`, of as many vertices as are in a sample; none where the lists of
/// these are too long to be read, or lie on other machines, for which a plan does not wait.
///
/// # Errors
/// A chunk cannot be read.
pub(super) fn far_ends(
    snapshot: &Snapshot,
    near: LabelId,
    types: &[EdgeTypeId],
    direction: Direction,
    wanted: usize,
) -> Result<Vec<u32>, StoreError> {
    if snapshot.is_remote() {
        return Ok(Vec::new());
    }
    let (view, mut scratch) = (snapshot.adjacency(types, direction), Vec::new());
    let vertices = snapshot.sample(&LabelFilter::Has(near), SAMPLE_VERTICES)?;
    let mut read = 0;
    for vertex in &vertices {
        read += u64::from(view.degree_about(vertex.dense())?);
    }
    if read == 0 || read > READ_EDGES_MAX {
        return Ok(Vec::new());
    }
    // One of each so many, not always the same: lists of vertices of one label begin alike.
    let (step, mut chance) = ((read as usize).div_ceil(wanted), Chance::seeded(read));
    let (mut ends, mut passed, mut next) = (Vec::with_capacity(wanted), 0, chance.index(step));
    for vertex in &vertices {
        let list = view.neighbours(vertex.dense(), &mut scratch)?;
        while let Some(end) = list.get(next - passed) {
            ends.push(*end);
            next += step - next % step + chance.index(step);
        }
        passed += list.len();
    }
    Ok(ends)
}
