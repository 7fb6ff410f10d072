//! Samples of edges: which vertices they lead to, and which labels those have, since labels and types depend on each other.
//!
//! Counters know how many edges of a type leave or enter vertices of each label, but not from which label to which. Where a type connects several
//! pairs of labels (persons and messages lie in places, places of one kind in those of another), the share of a label among the far ends depends on
//! the label of the near ones. A sample of edges is read when the planner first asks, and again once there are many more or fewer of them. Cost: the
//! lists of [`SAMPLE_VERTICES`] vertices from a few chunks, and the labels of [`EDGES`] vertices wherever they lie, given up after [`SAMPLE_NS_MAX`];
//! then one look-up.

use dataflow::watch::work_clock_ns;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::{Direction, EdgeTypeId, LabelId, LabelSetId, VertexId};
use parking_lot::Mutex;
use std::sync::Arc;
use store::{LabelFilter, SAMPLE_VERTICES, Snapshot, StoreError};
use world::chance::Chance;

/// Edges of a sample: a share of a half is within some percent.
const EDGES: usize = 512;
/// A smaller sample tells nothing, unless these are all.
pub(super) const EDGES_MIN: usize = 32;
/// Edges that are read to choose these.
const READ_EDGES_MAX: u64 = 1 << 20;
/// Time after which a sample is given up, to be tried again by the next plan: enough to read some of it from the disk.
pub(super) const SAMPLE_NS_MAX: u64 = 50_000_000;
/// Cached answers; beyond, all are dropped.
const ANSWERS_MAX: usize = 1_024;
/// How many times more or fewer edges there must be for a sample to be taken anew.
const CHANGE: f64 = 1.25;
/// Hits that are assumed where the sample has none.
const HITS_MIN: f64 = 0.5;

/// It cannot be read, or not in its time. A plan must not fail for that; it is not kept either.
pub(super) struct NotNow;

impl From<StoreError> for NotNow {
    fn from(_: StoreError) -> NotNow {
        NotNow
    }
}

/// # Errors
/// The time is over.
pub(super) fn in_time(until_ns: u64) -> Result<(), NotNow> {
    if work_clock_ns() < until_ns { Ok(()) } else { Err(NotNow) }
}

type EndsKey = (LabelId, Vec<EdgeTypeId>, Direction);
/// Edges when it was sampled, and the answer.
type EndsAnswer = (f64, Option<Arc<SampledEnds>>);

/// The label sets that sampled edges lead to, and how many do.
#[derive(Debug)]
struct SampledEnds {
    by_set: Vec<(LabelSetId, u32)>,
    /// The sample is all edges that there are.
    is_all: bool,
}

/// Samples of one database.
#[derive(Debug, Default)]
pub(super) struct FarEnds {
    answers: Mutex<HashMap<EndsKey, EndsAnswer, FixedState>>,
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
        let all: u32 = ends.by_set.iter().map(|(_, count)| count).sum();
        let leads_there = |set: LabelSetId| snapshot.catalog().labels_of(set).contains(&far);
        let hits: u32 = ends.by_set.iter().filter(|(set, _)| leads_there(*set)).map(|(_, count)| count).sum();
        let hits = if ends.is_all { f64::from(hits) } else { f64::from(hits).max(HITS_MIN) };
        Some(hits / f64::from(all))
    }
    fn ends(
        &self,
        snapshot: &Snapshot,
        near: LabelId,
        types: &[EdgeTypeId],
        direction: Direction,
    ) -> Option<Arc<SampledEnds>> {
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
        let sampled = sample(snapshot, near, types, direction).ok()?.map(Arc::new);
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
) -> Result<Option<SampledEnds>, NotNow> {
    let until_ns = work_clock_ns() + SAMPLE_NS_MAX;
    let EdgeSample { ends, is_all } = edge_sample(snapshot, Some(near), types, direction, EDGES, until_ns)?;
    let (by_set, count) = counted_sets(snapshot, &ends, until_ns)?;
    let is_all = is_all && count == ends.len();
    Ok((count >= EDGES_MIN || is_all && count > 0).then_some(SampledEnds { by_set, is_all }))
}

/// The label sets of these vertices, how many have each, and of how many in all, which may be fewer once [`EDGES_MIN`] were read in time.
///
/// # Errors
/// They cannot be read now.
pub(super) fn counted_sets(
    snapshot: &Snapshot,
    ends: &[u32],
    until_ns: u64,
) -> Result<(Vec<(LabelSetId, u32)>, usize), NotNow> {
    let (mut by_set, mut all): (Vec<(LabelSetId, u32)>, _) = (Vec::new(), 0);
    for end in ends {
        if all >= EDGES_MIN && in_time(until_ns).is_err() {
            break;
        }
        in_time(until_ns)?;
        let set = snapshot.labels(VertexId::from_dense(*end))?;
        match by_set.iter_mut().find(|(known, _)| *known == set) {
            Some((_, count)) => *count += 1,
            None => by_set.push((set, 1)),
        }
        all += 1;
    }
    Ok((by_set, all))
}

/// Some edges of vertices with a label.
pub(super) struct EdgeSample {
    /// Where they lead.
    pub(super) ends: Vec<u32>,
    /// There are no others.
    is_all: bool,
}

/// About `wanted` of the edges at vertices with the label `near`, of as many vertices as are in a sample; none where the lists of these are too long
/// to be read, where ends of edges are hidden, or on other machines, for which a plan does not wait.
///
/// # Errors
/// It cannot be read now.
pub(super) fn edge_sample(
    snapshot: &Snapshot,
    near: Option<LabelId>,
    types: &[EdgeTypeId],
    direction: Direction,
    wanted: usize,
    until_ns: u64,
) -> Result<EdgeSample, NotNow> {
    let statistics = snapshot.statistics();
    if snapshot.is_remote() || !statistics.counts_edges() {
        return Ok(EdgeSample { ends: Vec::new(), is_all: false });
    }
    let (view, mut scratch) = (snapshot.adjacency(types, direction), Vec::new());
    let vertices = snapshot.sample(&near.map_or(LabelFilter::Any, LabelFilter::Has), SAMPLE_VERTICES)?;
    let mut read = 0;
    for vertex in &vertices {
        in_time(until_ns)?;
        read += u64::from(view.degree(vertex.dense())?);
    }
    if read == 0 || read > READ_EDGES_MAX {
        return Ok(EdgeSample { ends: Vec::new(), is_all: false });
    }
    // One of each so many, not always the same: lists of vertices of one label begin alike.
    let (step, mut chance) = ((read as usize).div_ceil(wanted), Chance::seeded(read));
    let (mut ends, mut passed, mut next) = (Vec::with_capacity(wanted), 0, chance.index(step));
    for vertex in &vertices {
        in_time(until_ns)?;
        let list = view.neighbours(vertex.dense(), &mut scratch)?;
        while let Some(end) = list.get(next - passed) {
            ends.push(*end);
            next += step - next % step + chance.index(step);
        }
        passed += list.len();
    }
    let count = near.map_or_else(|| statistics.vertices(), |near| statistics.vertices_with_label(near));
    let is_all = step == 1 && vertices.len() as u64 == count;
    Ok(EdgeSample { ends, is_all })
}
