//! Estimates of edge counts for a reader from whom vertices may be hidden, from a sample of visible data.
//!
//! Edges are counted by one end, so the counts tell of edges whose other end is hidden. A plan made by them would tell, too. So the degrees of some
//! vertices of each label set are read, as the reader sees them; of a few vertices all, so that the estimate is exact. So edges of few vertices are
//! met, where these have labels of their own. Invariant: an estimate depends on visible data alone, and on its positions. Cost: at most [`SETS_MAX`]
//! times [`SAMPLE_VERTICES`] lists for each type, direction and filter of an estimate, once for each root.

use crate::StoreError;
use crate::schema::filter::LabelFilter;
use crate::schema::statistics::ShownEdges;
use crate::snapshots::root::{Root, Snapshot};
use crate::snapshots::sight::Sight;
use model::{Direction, EdgeTypeId, LabelId, VertexId};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

/// Vertices of a sample.
pub const SAMPLE_VERTICES: usize = 512;
/// Sets of labels that have a sample of their own; where there are more, one sample stands for all.
const SETS_MAX: usize = 64;
/// Chunks that a sample of many vertices comes from.
const SAMPLE_CHUNKS: usize = 16;
/// Estimates that are cached for one root; beyond, all are dropped.
const ESTIMATES_MAX: usize = 1_024;

type EdgeQuestion = (EdgeTypeId, Direction, LabelFilter);

/// Estimates for one reader of one root. It keeps neither alive.
pub(crate) struct SampledEdges {
    root: Weak<Root>,
    sight: Weak<Sight>,
    known: Mutex<Vec<(EdgeQuestion, u64)>>,
}

impl SampledEdges {
    pub(crate) fn of(root: &Arc<Root>, sight: &Arc<Sight>) -> Arc<dyn ShownEdges> {
        Arc::new(SampledEdges {
            root: Arc::downgrade(root),
            sight: Arc::downgrade(sight),
            known: Mutex::default(),
        })
    }
}

impl ShownEdges for SampledEdges {
    fn estimate(
        &self,
        edge_type: EdgeTypeId,
        direction: Direction,
        near: &LabelFilter,
        vertices: u64,
    ) -> u64 {
        let asked = (edge_type, direction, near.clone());
        if let Some((_, known)) = self.known.lock().iter().find(|(known, _)| *known == asked) {
            return *known;
        }
        let (Some(root), Some(sight)) = (self.root.upgrade(), self.sight.upgrade()) else { return 0 };
        let snapshot = Snapshot { root, sight: Some(sight) };
        // What cannot be read now is not sampled, and not kept: a plan must not fail for it.
        let Ok(estimate) = snapshot.edges_of_sample(edge_type, direction, near, vertices) else { return 0 };
        let mut known = self.known.lock();
        if known.len() >= ESTIMATES_MAX {
            known.clear();
        }
        known.push((asked, estimate));
        estimate
    }
}

impl Snapshot {
    fn edges_of_sample(
        &self,
        edge_type: EdgeTypeId,
        direction: Direction,
        near: &LabelFilter,
        vertices: u64,
    ) -> Result<u64, StoreError> {
        let statistics = self.statistics();
        // Sets that differ in labels which are not shown are one.
        let mut sets: BTreeMap<&[LabelId], u64> = BTreeMap::new();
        for (labels, count) in statistics.sets_matching(near) {
            *sets.entry(labels).or_default() += count;
        }
        if sets.len() > SETS_MAX || vertices <= SAMPLE_VERTICES as u64 {
            return self.edges_of_one_sample((edge_type, direction), near, vertices);
        }
        let all: BTreeSet<LabelId> = statistics
            .sets_matching(&LabelFilter::Any)
            .flat_map(|(labels, _)| labels.iter().copied())
            .collect();
        let mut edges = 0_u64;
        for (labels, vertices) in sets {
            let exactly = all.iter().map(|label| match labels.contains(label) {
                true => LabelFilter::Has(*label),
                false => LabelFilter::Not(Box::new(LabelFilter::Has(*label))),
            });
            let exactly = LabelFilter::And(exactly.collect());
            let sampled = self.edges_of_one_sample((edge_type, direction), &exactly, vertices)?;
            edges = edges.saturating_add(sampled);
        }
        Ok(edges)
    }
    fn edges_of_one_sample(
        &self,
        (edge_type, direction): (EdgeTypeId, Direction),
        near: &LabelFilter,
        vertices: u64,
    ) -> Result<u64, StoreError> {
        let sample = self.sample(near, SAMPLE_VERTICES)?;
        if sample.is_empty() {
            return Ok(0);
        }
        let (view, mut edges) = (self.adjacency(&[edge_type], direction), 0);
        for vertex in &sample {
            edges += u64::from(view.degree_about(vertex.dense())?);
        }
        let share = vertices as f64 / sample.len() as f64;
        Ok(if share <= 1.0 { edges } else { (edges as f64 * share) as u64 })
    }
    /// Vertices that pass the filter, spread over some chunks: all, where there are no more than `wanted`, else about `wanted`.
    ///
    /// # Errors
    /// A chunk cannot be read.
    pub fn sample(&self, filter: &LabelFilter, wanted: usize) -> Result<Vec<VertexId>, StoreError> {
        self.sample_of(filter, wanted, SAMPLE_CHUNKS)
    }
    /// As [`Snapshot::sample`], from about so many chunks, or more where these hold few.
    ///
    /// # Errors
    /// A chunk cannot be read.
    pub fn sample_of(
        &self,
        filter: &LabelFilter,
        wanted: usize,
        chunks_max: usize,
    ) -> Result<Vec<VertexId>, StoreError> {
        let (chunks, mut sample) = (self.scan_chunks(filter), Vec::new());
        if self.statistics().vertices_matching(filter) <= wanted as u64 {
            for chunk in chunks {
                self.scan_chunk(chunk, filter, &mut sample)?;
            }
            return Ok(sample);
        }
        let step = chunks.len().div_ceil(chunks_max).max(1);
        // Where the first chunks hold too few, those behind them are looked at.
        for first in 0..step {
            for chunk in chunks.iter().skip(first).step_by(step) {
                self.scan_chunk(*chunk, filter, &mut sample)?;
            }
            if sample.len() >= wanted {
                break;
            }
        }
        let many = sample.len().div_ceil(wanted).max(1);
        Ok(one_of_each(&sample, many).collect())
    }
}

/// One of each so many vertices, as if drawn: data that repeats with a period is not met at one place of it.
fn one_of_each(vertices: &[VertexId], many: usize) -> impl Iterator<Item = VertexId> {
    vertices.chunks(many).map(|part| part[scattered(part[0].0) as usize % part.len()])
}

/// A number that looks random (the finalizer of SplitMix64).
pub(crate) fn scattered(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (mixed ^ (mixed >> 31)) >> 1
}
