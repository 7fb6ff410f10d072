//! Intersect: for each row, the common neighbours of several bound vertices.
//!
//! Two ways, chosen for each batch. By row: one arm's list is walked and the others are probed; an arm whose vertex stays the same from row to row is
//! kept as a table, the shortest of the others is walked, and any left are searched. By group, for two arms of which one has few vertices in the
//! batch: its neighbours are walked once, from each of them the other edge back, and each vertex that is reached is looked up among the rows.
//! Invariant: both give a row the same vertices, once for each combination of edges; rows keep their order. Cost: by row, the shortest list that is
//! not kept (sorted first where parallel edges count once); by group, the lists of the few vertices and one look-up for each edge back.

mod cached_list;
mod grouped;

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::labels::LabelCheck;
use crate::operator::count_matches::lists::Lists;
use crate::stream::{Feed, Stream};
use crate::turn::{ExecutionContext, FanOut, Progress, Try, Turn};
use cached_list::CachedList;
use model::{Batch, Column, EdgeId, Nulls, VertexId};
use plan::VarSet;
use plan::algebra;
use std::sync::Arc;
use store::Snapshot;

/// Neighbours looked at in one slice of work: some tens of microseconds.
const LOOKS_PER_SLICE_MAX: usize = 8_192;
/// A walked list may be this much longer than a kept table before the table's list is walked instead: a search costs as much as some looks.
const LONGER_MAX: usize = 16;

/// How an arm takes part in a row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Walked,
    Cached,
    Searched,
}

/// State that depends on the view.
struct Bound {
    /// The edges of each arm, from its vertex.
    lists: Vec<Lists>,
    /// Likewise, seen from where the arms meet.
    back: Vec<Lists>,
    labels: LabelCheck,
    snapshot: Arc<Snapshot>,
}

struct Intersect {
    node: Arc<algebra::Intersect>,
    /// Columns of the arms' vertices.
    from: Arc<[usize]>,
    bound: Option<Bound>,
    held: Vec<CachedList>,
    row: usize,
    /// The decision for the current row, and the position in the list that is walked; empty before the decision.
    parts: Vec<Part>,
    cursor: usize,
    /// The list that is walked, sorted, where its arm counts parallel edges once and it is not kept.
    in_order: Vec<u32>,
    /// Row and vertex, where the batch is done by group: all of them, and how many have gone out.
    pairs: Option<(Vec<(u32, u32)>, usize)>,
    scratch: Vec<u32>,
    found: Vec<EdgeId>,
    far: Vec<VertexId>,
    charged: usize,
}

impl Intersect {
    fn vertex(&self, batch: &Batch, arm: usize, row: usize) -> Option<u32> {
        batch.column(self.from[arm]).vertex(row).map(VertexId::dense)
    }

    /// Decides which list is walked for the current row, and fills the tables of kept ones. With `one`, parallel edges need not be told apart.
    fn decide(&mut self, bound: &Bound, batch: &Batch, values: &[u32], one: bool) -> Try<usize> {
        let mut looked = 0;
        let stays = |arm: usize, value: u32| {
            let next = self.row + 1;
            self.held[arm].is_of(value) || next < batch.len() && self.vertex(batch, arm, next) == Some(value)
        };
        let mut parts: Vec<Part> = values
            .iter()
            .enumerate()
            .map(|(arm, value)| if stays(arm, *value) { Part::Cached } else { Part::Searched })
            .collect();
        let all_stay = parts.iter().all(|part| *part == Part::Cached);
        let mut walked = (0, u64::MAX);
        for (arm, value) in values.iter().enumerate() {
            if all_stay || parts[arm] == Part::Searched {
                let degree = bound.lists[arm].degree(*value)?;
                if degree < walked.1 {
                    walked = (arm, degree);
                }
            }
        }
        parts[walked.0] = Part::Walked;
        for (arm, value) in values.iter().enumerate() {
            if parts[arm] == Part::Cached {
                looked += self.held[arm].hold(*value, &bound.lists[arm], &mut self.scratch)?;
            }
        }
        let held = (0..values.len()).filter(|arm| parts[*arm] == Part::Cached);
        let shortest = held.min_by_key(|arm| self.held[*arm].list().len());
        if let Some(shorter) = shortest
            && self.held[shorter].list().len() * LONGER_MAX < walked.1 as usize
        {
            parts[walked.0] = Part::Searched;
            parts[shorter] = Part::Walked;
            walked.0 = shorter;
        }
        let (walked, vertex) = (walked.0, values[walked.0]);
        self.in_order.clear();
        if self.node.arms[walked].once && !one && !self.held[walked].is_of(vertex) {
            self.in_order.extend_from_slice(bound.lists[walked].of(vertex, &mut self.scratch)?);
            self.in_order.sort_unstable();
            looked += self.in_order.len();
        }
        self.parts = parts;
        Ok(looked)
    }

    /// Goes on with the current row until it is done, it has as many as are wanted, or the slice is used up; returns the rows, and whether it is
    /// done.
    fn walk(
        &mut self,
        bound: &mut Bound,
        values: &[u32],
        rows: &mut Vec<u32>,
        rows_max: usize,
    ) -> Try<(usize, bool)> {
        let walked = self.parts.iter().position(|part| *part == Part::Walked).unwrap_or(0);
        let mut scratch = std::mem::take(&mut self.scratch);
        let list = match self.held[walked].is_of(values[walked]) {
            true => self.held[walked].list(),
            false if !self.in_order.is_empty() => &self.in_order,
            false => bound.lists[walked].of(values[walked], &mut scratch)?,
        };
        let begin = self.cursor;
        let is_once = self.node.arms[walked].once;
        while let Some(candidate) = list.get(self.cursor).copied() {
            if rows.len() >= rows_max || self.cursor - begin > LOOKS_PER_SLICE_MAX {
                break;
            }
            self.cursor += 1;
            // Where it matters the list is in order, and parallel edges stand side by side.
            if is_once && self.cursor > 1 && list[self.cursor - 2] == candidate {
                continue;
            }
            let mut times = 1;
            for (arm, part) in self.parts.iter().enumerate() {
                let met = match part {
                    Part::Walked => 1,
                    Part::Cached => self.held[arm].times(candidate),
                    Part::Searched => {
                        bound.lists[arm].between(values[arm], candidate, &mut self.found)? as usize
                    }
                };
                times *= if self.node.arms[arm].once { met.min(1) } else { met };
                if times == 0 {
                    break;
                }
            }
            let vertex = VertexId::from_dense(candidate);
            if times > 0 && bound.labels.admits_end(vertex, &bound.snapshot)? {
                rows.extend(std::iter::repeat_n(self.row as u32, times));
                self.far.extend(std::iter::repeat_n(vertex, times));
            }
        }
        let outcome = (self.cursor - begin, self.cursor >= list.len());
        self.scratch = scratch;
        Ok(outcome)
    }

    /// The batch row by row.
    fn by_row(
        &mut self,
        bound: &mut Bound,
        batch: &Batch,
        rows: &mut Vec<u32>,
        rows_max: usize,
        turn: &mut Turn<'_, '_>,
    ) -> Try<Progress> {
        let mut looked = 0;
        let mut values = vec![0; self.from.len()];
        while self.row < batch.len() {
            if rows.len() >= rows_max || looked > LOOKS_PER_SLICE_MAX {
                return Ok(Progress::More);
            }
            let wanted = turn.wanted(batch, self.row);
            let mut is_bound = wanted > 0;
            for (arm, value) in values.iter_mut().enumerate() {
                let vertex = self.vertex(batch, arm, self.row);
                (*value, is_bound) = (vertex.unwrap_or(0), is_bound && vertex.is_some());
            }
            let before = rows.len();
            let mut is_done = !is_bound;
            if is_bound {
                if self.parts.is_empty() {
                    looked += self.decide(bound, batch, &values, wanted == 1)?;
                }
                let rows_max = rows_max.min(before.saturating_add(wanted));
                let (seen, done) = self.walk(bound, &values, rows, rows_max)?;
                looked += seen + 1;
                is_done = turn.made(batch, self.row, rows.len() - before) || done;
            }
            if is_done {
                (self.row, self.cursor) = (self.row + 1, 0);
                self.parts.clear();
            } else if turn.takes_turns() {
                return Ok(Progress::More);
            }
        }
        Ok(Progress::Done)
    }

    /// Emits the results found by group.
    fn hand_on(
        &mut self,
        batch: &Batch,
        rows: &mut Vec<u32>,
        rows_max: usize,
        turn: &mut Turn<'_, '_>,
    ) -> Progress {
        let Some((pairs, given)) = &mut self.pairs else { return Progress::Done };
        let end = pairs.len().min(*given + rows_max.saturating_sub(rows.len()).max(1));
        for (row, vertex) in &pairs[*given..end] {
            if turn.wanted(batch, *row as usize) > 0 {
                rows.push(*row);
                self.far.push(VertexId::from_dense(*vertex));
                turn.made(batch, *row as usize, 1);
            }
        }
        *given = end;
        if end < pairs.len() {
            return Progress::More;
        }
        self.pairs = None;
        Progress::Done
    }

    fn bytes(&self) -> usize {
        let pairs = self.pairs.as_ref().map_or(0, |(pairs, _)| pairs.capacity() * size_of::<(u32, u32)>());
        let in_order = self.in_order.capacity() * size_of::<u32>();
        self.held.iter().map(CachedList::bytes).sum::<usize>() + in_order + pairs
    }
}

impl FanOut for Intersect {
    fn begin(&mut self, batch: &Batch, execution: &mut ExecutionContext) -> Try<()> {
        (self.row, self.cursor, self.pairs) = (0, 0, None);
        self.parts.clear();
        if self.bound.is_none() {
            let snapshot = execution.snapshot().clone();
            let environment = &execution.environment;
            let lists = |arm: &algebra::IntersectArm, direction| {
                Lists::new(&arm.types, direction, &snapshot, environment)
            };
            let labels = LabelCheck::new(&self.node.labels, &snapshot);
            environment.record(|reads| labels.record(reads));
            self.bound = Some(Bound {
                lists: self.node.arms.iter().map(|arm| lists(arm, arm.direction)).collect(),
                back: self.node.arms.iter().map(|arm| lists(arm, arm.direction.reversed())).collect(),
                labels,
                snapshot,
            });
        }
        let bound = self.bound.as_mut().expect("just bound");
        if let [a, b] = &self.from[..] {
            let once = [self.node.arms[0].once, self.node.arms[1].once];
            let columns = (batch.column(*a), batch.column(*b));
            self.pairs = grouped::pairs(bound, columns, once, batch.len())?.map(|pairs| (pairs, 0));
        }
        Ok(())
    }
    fn fill(
        &mut self,
        batch: &Batch,
        rows: &mut Vec<u32>,
        rows_max: usize,
        turn: &mut Turn<'_, '_>,
    ) -> Try<Progress> {
        let progress = if self.pairs.is_some() {
            self.hand_on(batch, rows, rows_max, turn)
        } else {
            let mut bound = self.bound.take().expect("a batch was begun");
            let progress = self.by_row(&mut bound, batch, rows, rows_max, turn);
            self.bound = Some(bound);
            progress?
        };
        let bytes = self.bytes();
        turn.context.charge(bytes.saturating_sub(self.charged))?;
        self.charged = self.charged.max(bytes);
        Ok(progress)
    }
    fn charged(&self) -> usize {
        self.charged
    }
    fn columns(&mut self) -> Vec<Column> {
        vec![Column::Vertex(std::mem::take(&mut self.far), Nulls::none())]
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &algebra::Intersect,
    required: &VarSet,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let layout = feed.layout();
    let places = node.arms.iter().map(|arm| Compiler::position(&layout, arm.from));
    let from: Arc<[usize]> = places.collect::<Result<Vec<_>, _>>()?.into();
    let arms = from.len();
    let (to, node) = (node.to, Arc::new(node.clone()));
    let make = move || Intersect {
        node: node.clone(),
        from: from.clone(),
        bound: None,
        held: (0..arms).map(|_| CachedList::default()).collect(),
        row: 0,
        parts: Vec::new(),
        cursor: 0,
        in_order: Vec::new(),
        pairs: None,
        scratch: Vec::new(),
        found: Vec::new(),
        far: Vec::new(),
        charged: 0,
    };
    Ok(compiler.attach_fan_out("Intersect", &feed, required, &[to], make))
}
