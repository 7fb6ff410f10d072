//! The share of vertices for which conditions are true, from a sample: conditions that no index knows about.
//!
//! The vertices of a sample are chosen once for a label and kept; conditions are computed over them by the code that computes them in queries, so
//! any condition on one vertex is estimated, and several together: ranges, texts, properties that depend on each other. What is not known
//! when a plan is made (a parameter) is not estimated so. Invariant: an estimate depends on vertices alone that its reader sees and that carry the
//! label. Cost: [`SAMPLE_VERTICES`] rows for each condition of a plan on a label with many vertices, some 20 us where they are in memory,
//! [`SHARES_NS_MAX`] at most for all.

use dataflow::watch::{self, Limited, work_clock_ns};
use expression::{Layout, Parameters, Request, Scope, compile};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::column::Nulls;
use model::{Batch, Column, LabelId, VertexId};
use parking_lot::Mutex;
use plan::{Expr, Sampled, Var};
use std::sync::Arc;
use std::time::Duration;
use store::{LabelFilter, SAMPLE_VERTICES, Snapshot};

/// Vertices of a label from which on conditions on them are estimated so: of fewer, all are read in less time than a plan takes.
const VERTICES_MIN: u64 = 8_192;
/// How many times more or fewer vertices there must be for a sample to be chosen anew.
const CHANGE: f64 = 1.1;
/// Chunks that a sample comes from: vertices that were made together are often alike.
const CHUNKS_MAX: usize = 64;
/// A smaller sample tells nothing.
const SAMPLE_MIN: usize = SAMPLE_VERTICES / 4;
/// Of a sample, the part that may be gone or have lost the label before another one is chosen.
const GONE_PART: usize = 8;
/// Labels with a sample; beyond, all samples are dropped.
const SAMPLES_MAX: usize = 1_024;
/// Conditions that are estimated for one plan; a plan with more of them takes the usual shares for the rest.
const CONDITIONS_MAX: usize = 64;
/// Time that the conditions of one plan may take: enough to read some columns of the sample from the disk, once.
const SHARES_NS_MAX: u64 = 100_000_000;
/// Bytes that one condition may hold meanwhile.
const SHARE_BYTES_MAX: u64 = 1 << 20;

/// The vertices of a label that stand for all, and how many there were when they were chosen.
type Chosen = (u64, Arc<[VertexId]>);

/// The samples of one database, or of one view of it.
#[derive(Debug, Default)]
pub(super) struct SampledVertices {
    by_label: Mutex<HashMap<LabelId, Chosen, FixedState>>,
}

impl SampledVertices {
    /// Vertices of a sample that are there and carry the label.
    fn of(&self, snapshot: &Snapshot, label: LabelId) -> Option<Vec<VertexId>> {
        let count = snapshot.statistics().vertices_with_label(label);
        if count < VERTICES_MIN {
            return None;
        }
        let known = self.by_label.lock().get(&label).cloned();
        let is_current =
            |then: u64| count as f64 <= then as f64 * CHANGE && then as f64 <= count as f64 * CHANGE;
        // What cannot be read now is not sampled: a plan must not fail for it.
        let present = |vertices: &[VertexId]| -> Option<Vec<VertexId>> {
            let mut present = vertices.to_vec();
            let mut is_read = true;
            present.retain(|vertex| {
                let has = snapshot.has_label(*vertex, label);
                is_read &= has.is_ok();
                has.unwrap_or(false)
            });
            is_read.then_some(present)
        };
        if let Some((then, vertices)) = known
            && is_current(then)
        {
            let present = present(&vertices)?;
            if (vertices.len() - present.len()) * GONE_PART <= vertices.len() {
                return Some(present).filter(|present| present.len() >= SAMPLE_MIN);
            }
        }
        let filter = LabelFilter::Has(label);
        let vertices: Arc<[VertexId]> = snapshot.sample_of(&filter, SAMPLE_VERTICES, CHUNKS_MAX).ok()?.into();
        let mut samples = self.by_label.lock();
        if samples.len() >= SAMPLES_MAX {
            samples.clear();
        }
        samples.insert(label, (count, vertices.clone()));
        Some(vertices.to_vec()).filter(|vertices| vertices.len() >= SAMPLE_MIN)
    }
}

/// What was estimated for one plan.
#[derive(Clone, Debug, Default)]
pub(super) struct SampledShares {
    known: Arc<Mutex<EstimatedShares>>,
}

#[derive(Debug, Default)]
struct EstimatedShares {
    answers: Vec<(LabelId, Expr, Option<Sampled>)>,
    /// Time that they took.
    spent_ns: u64,
}

impl SampledShares {
    /// For how many of the sampled vertices with a label the condition, which reads `vertex` alone, is true.
    pub(super) fn of(
        &self,
        snapshot: &Snapshot,
        samples: &SampledVertices,
        label: LabelId,
        (vertex, condition): (Var, &Expr),
    ) -> Option<Sampled> {
        let is_known =
            |(of, asked, _): &&(LabelId, Expr, Option<Sampled>)| *of == label && asked == condition;
        let left_ns = {
            let known = self.known.lock();
            if let Some((.., answer)) = known.answers.iter().find(is_known) {
                return *answer;
            }
            let left_ns = SHARES_NS_MAX.saturating_sub(known.spent_ns);
            if known.answers.len() >= CONDITIONS_MAX || left_ns == 0 {
                return None;
            }
            left_ns
        };
        let began_ns = work_clock_ns();
        let answer = count(snapshot, samples, label, (vertex, condition), Duration::from_nanos(left_ns));
        let mut known = self.known.lock();
        known.spent_ns += work_clock_ns() - began_ns;
        known.answers.push((label, condition.clone(), answer));
        answer
    }
}

/// None where the condition cannot be computed now: a parameter, an error, too much work; or where there is no sample.
fn count(
    snapshot: &Snapshot,
    samples: &SampledVertices,
    label: LabelId,
    (vertex, condition): (Var, &Expr),
    time_max: Duration,
) -> Option<Sampled> {
    let _watched = watch::enter(Limited::new(time_max, SHARE_BYTES_MAX));
    let condition = compile(condition, &Layout::new(&[vertex]), snapshot, &Parameters::default()).ok()?;
    let vertices = samples.of(snapshot, label)?;
    let of = vertices.len();
    let batch = Batch::new(vec![Column::Vertex(vertices, Nulls::none())], of);
    let request = Request::begin(Parameters::default(), None).without_deletes();
    let mut selected = Vec::new();
    condition.select(&batch, &Scope::new(snapshot, &request), &mut selected).ok()?;
    Some(Sampled { hits: selected.len(), of })
}
