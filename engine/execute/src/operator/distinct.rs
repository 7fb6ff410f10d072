//! Distinct: each combination of columns once, with the other columns of its first row. On every executor first, then at home if several executors
//! found some.
//!
//! A single column of vertices is kept as a bitmap, anything else as a hash table. Once memory is short, no combination is added to the table any
//! more: rows of others are spilled by their hashes, and are deduplicated part by part at the end.

use crate::ExecuteError;
use crate::columns::carried;
use crate::compile::Compiler;
use crate::rows::Rows;
use crate::spill::{SpillFolder, SpilledPart, SpilledParts, is_tight};
use crate::stream::{Feed, Stream};
use crate::turn::Try;
use dataflow::{Context, Flow, Operator, Outcome, Tag};
use expression::{GroupTable, Layout, NO_GROUP};
use model::batch::Carried;
use model::{Batch, Column, VertexId};
use paths::Bitmap;
use plan::Var;
use plan::VarSet;
use std::sync::Arc;

/// A set of vertices: a few in a list, more as a bit each; grows with the largest number met.
#[derive(Debug, Default)]
pub(crate) struct VertexSet {
    /// As long as there are no bits.
    few: Vec<u32>,
    bits: Bitmap,
    len: u64,
}

/// Vertices looked through in a list: where a LIMIT wants ten, no bits for all vertices are made.
const FEW_MAX: usize = 32;

impl VertexSet {
    /// Adds a vertex; was it new?
    #[inline]
    pub(crate) fn insert(&mut self, vertex: VertexId) -> bool {
        let dense = vertex.dense();
        if self.bits.vertex_bound() == 0 {
            if self.few.contains(&dense) {
                return false;
            }
            if self.few.len() < FEW_MAX {
                self.few.push(dense);
                self.len += 1;
                return true;
            }
            self.mark_few(dense);
        }
        let is_new = self.mark(dense);
        self.len += u64::from(is_new);
        is_new
    }
    /// From now on a bit for each.
    fn mark_few(&mut self, dense: u32) {
        let few = std::mem::take(&mut self.few);
        self.grow(few.iter().copied().fold(dense, u32::max));
        few.into_iter().for_each(|known| {
            self.mark(known);
        });
    }
    #[inline]
    fn mark(&mut self, dense: u32) -> bool {
        if self.bits.vertex_bound() <= dense as usize {
            self.grow(dense);
        }
        self.bits.insert(dense)
    }
    /// Makes room for this vertex, and as many again.
    #[cold]
    fn grow(&mut self, dense: u32) {
        let bound = (dense as usize + 1).next_power_of_two().max(64);
        let larger = Bitmap::new(u32::try_from(bound).unwrap_or(u32::MAX));
        let before = std::mem::replace(&mut self.bits, larger);
        self.bits.add(&before);
    }
    pub(crate) fn len(&self) -> u64 {
        self.len
    }
    pub(crate) fn bytes(&self) -> usize {
        self.bits.bytes()
    }
    pub(crate) fn merge(&mut self, other: &VertexSet) {
        if other.bits.vertex_bound() == 0 {
            return other.iter().for_each(|vertex| {
                self.insert(vertex);
            });
        }
        if self.bits.vertex_bound() == 0 {
            self.mark_few(0);
        }
        if self.bits.vertex_bound() < other.bits.vertex_bound() {
            self.grow((other.bits.vertex_bound() - 1) as u32);
        }
        self.bits.add(&other.bits);
        self.len = self.bits.marked_words().map(|(_, word)| u64::from(word.count_ones())).sum();
    }
    pub(crate) fn iter(&self) -> impl Iterator<Item = VertexId> + '_ {
        let marked = self.bits.marked_words().flat_map(|(at, word)| {
            (0..64)
                .filter(move |bit| word >> bit & 1 == 1)
                .map(move |bit| VertexId::from_dense((at * 64 + bit) as u32))
        });
        self.few.iter().map(|dense| VertexId::from_dense(*dense)).chain(marked)
    }
}

/// A column of vertices none of which is null.
pub(crate) fn plain_vertices(carried: &Carried) -> Option<&[VertexId]> {
    match carried.column() {
        Column::Vertex(vertices, nulls) if nulls.is_empty() => Some(vertices),
        _ => None,
    }
}

/// The combinations met so far.
enum DistinctRows {
    Vertices(VertexSet),
    Table(GroupTable),
}

pub(crate) struct Distinct {
    keys: Vec<usize>,
    seen: DistinctRows,
    groups: Vec<u32>,
    charged: usize,
    /// Where rows may be put aside.
    folder: Option<Arc<SpillFolder>>,
    /// Rows of combinations that the table has not.
    aside: Option<SpilledParts>,
    parts: Vec<SpilledPart>,
    part: Option<SpilledPart>,
}

impl Distinct {
    pub(crate) fn new(keys: Vec<usize>) -> Distinct {
        let seen = match keys.len() {
            1 => DistinctRows::Vertices(VertexSet::default()),
            width => DistinctRows::Table(GroupTable::new(width)),
        };
        let (groups, parts) = (Vec::new(), Vec::new());
        Distinct { keys, seen, groups, charged: 0, folder: None, aside: None, parts, part: None }
    }
    /// The same, of an operator of its own, which puts rows aside in this folder.
    fn spilling(self, folder: Option<Arc<SpillFolder>>) -> Distinct {
        Distinct { folder, ..self }
    }
    /// Takes rows: hands on those that are met for the first time, or puts aside those that may be.
    fn take(&mut self, batch: Batch, context: &mut Context<'_, Rows>) -> Try<()> {
        if let (Some(aside), DistinctRows::Table(table)) = (&mut self.aside, &self.seen) {
            let keys = carried(&batch, &self.keys);
            table.find(&keys, batch.len(), &mut self.groups);
            let others = (0..batch.len() as u32).filter(|row| self.groups[*row as usize] == NO_GROUP);
            aside.take(&batch, &keys, others, context)?;
            return self.charge(context);
        }
        let fresh = self.fresh(&batch);
        let width = batch.width();
        if !fresh.is_empty() {
            context.send(Rows(if fresh.len() == batch.len() { batch } else { batch.select(fresh) }));
        }
        let charged = self.charge(context);
        if matches!(self.seen, DistinctRows::Table(_))
            && (charged.is_err() || is_tight(context, self.charged, 0))
        {
            self.aside = SpilledParts::create(width, self.part.as_ref(), self.folder.as_ref(), context)?;
        }
        if self.aside.is_some() { Ok(()) } else { charged }
    }
    /// Deduplicates the spilled rows, after the end of the input.
    fn look_through(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        loop {
            let rows = match &mut self.part {
                Some(part) => part.next(context)?,
                None => None,
            };
            match rows {
                Some((rows, held)) => {
                    self.take(rows, context)?;
                    context.release(held);
                }
                None => {
                    // What a part was spread over again is of this part alone.
                    if let Some(aside) = self.aside.take() {
                        self.parts.extend(aside.finish(context)?);
                    }
                    self.part = self.parts.pop();
                    if self.part.is_none() {
                        return Ok(Flow::Ready);
                    }
                    self.seen = DistinctRows::Table(GroupTable::new(self.keys.len()));
                    context.release(std::mem::take(&mut self.charged));
                }
            }
            if context.should_yield() {
                return Ok(Flow::Again);
            }
        }
    }
    /// The rows whose keys are met for the first time.
    pub(crate) fn fresh(&mut self, batch: &Batch) -> Vec<u32> {
        let keys = carried(batch, &self.keys);
        if let DistinctRows::Vertices(seen) = &mut self.seen {
            if let Some(vertices) = plain_vertices(&keys[0]) {
                let is_new = |row: &u32| seen.insert(vertices[keys[0].at(*row as usize)]);
                return (0..batch.len() as u32).filter(is_new).collect();
            }
            let mut table = GroupTable::new(1);
            let vertices: Vec<VertexId> = seen.iter().collect();
            let held = Carried::new(Column::Vertex(vertices, model::Nulls::none()));
            table.assign(&[held], seen.len() as usize, &mut self.groups);
            self.seen = DistinctRows::Table(table);
        }
        let DistinctRows::Table(table) = &mut self.seen else { return Vec::new() };
        let mut next = table.len() as u32;
        table.assign(&keys, batch.len(), &mut self.groups);
        let mut fresh = Vec::new();
        for (row, group) in self.groups.iter().enumerate() {
            if *group == next {
                fresh.push(row as u32);
                next += 1;
            }
        }
        fresh
    }
    pub(crate) fn charge(&mut self, context: &mut Context<'_, Rows>) -> Try<()> {
        let bytes = match &self.seen {
            DistinctRows::Vertices(set) => set.bytes(),
            DistinctRows::Table(table) => table.bytes(),
        };
        let bytes = bytes + self.aside.as_ref().map_or(0, SpilledParts::bytes);
        context.charge(bytes.saturating_sub(self.charged))?;
        self.charged = self.charged.max(bytes);
        Ok(())
    }
}

impl Operator<Rows> for Distinct {
    fn receive(&mut self, _: usize, Rows(batch): Rows, context: &mut Context<'_, Rows>) -> Outcome {
        if !self.keys.is_empty() {
            self.take(batch, context)?;
        } else if self.groups.is_empty() && !batch.is_empty() {
            self.groups.push(0);
            context.send(Rows(batch.select(vec![0])));
        }
        Ok(Flow::Ready)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        self.look_through(context)
    }
    fn on_instance_end(&mut self, _: Tag, context: &mut Context<'_, Rows>) -> Outcome {
        self.look_through(context)
    }
    fn on_completion(&mut self, _: usize, context: &mut Context<'_, Rows>) -> Outcome {
        self.look_through(context)
    }
}

/// Deduplicates a stream whose layout is exactly the columns to compare.
pub(crate) fn attach(compiler: &mut Compiler, input: Stream) -> Stream {
    let keys = (0..input.layout.len()).collect();
    attach_keys(compiler, input, keys)
}

/// Deduplicates a stream by these columns; the others are those of the first rows.
fn attach_keys(compiler: &mut Compiler, input: Stream, keys: Vec<usize>) -> Stream {
    let layout = input.layout.clone();
    let (first_keys, environment_slot) = (keys.clone(), compiler.environment.clone());
    let first_slot = environment_slot.clone();
    let first = compiler.attach("Distinct", &Feed::Rows(input), layout, move || {
        Distinct::new(first_keys.clone()).spilling(first_slot.environment().spill.clone())
    });
    if !first.parallel {
        return first;
    }
    let vertex = compiler.vertex("Distinct", compiler.options(1), move || {
        Distinct::new(keys.clone()).spilling(environment_slot.environment().spill.clone())
    });
    compiler.gather(&first, vertex, 0);
    // They were shared out before, so there were many; what is left of them has come to one place.
    Stream { vertex, output: 0, parallel: false, fans_out: true, ..first }
}

/// Narrows a stream to these columns (and the hidden one).
pub(crate) fn narrow(
    compiler: &mut Compiler,
    input: Stream,
    columns: &[Var],
) -> Result<Stream, ExecuteError> {
    let mut layout = Layout::default();
    for variable in compiler.row().iter().chain(columns) {
        Compiler::position(&input.layout, *variable)?;
        if layout.position(*variable).is_none() {
            layout.push(*variable);
        }
    }
    if layout == input.layout {
        return Ok(input);
    }
    let wanted: VarSet = layout.variables().iter().copied().collect();
    let (picks, layout) = compiler.carry(&input.layout, &wanted);
    Ok(compiler.attach_step("Narrow", &Feed::Rows(input), layout, move || Narrow(picks.clone())))
}

struct Narrow(std::sync::Arc<[usize]>);

impl crate::turn::Step for Narrow {
    fn step(&mut self, _: usize, batch: Batch, _: &mut crate::turn::ExecutionContext) -> Try<Batch> {
        Ok(batch.project(&self.0))
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::Distinct,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let kept = [node.columns.as_slice(), &node.carried].concat();
    let input = compiler.rows(feed)?;
    let input = narrow(compiler, input, &kept)?;
    let row = compiler.row();
    let keys = row.iter().chain(&node.columns).map(|key| Compiler::position(&input.layout, *key));
    let keys = keys.collect::<Result<_, _>>()?;
    Ok(attach_keys(compiler, input, keys))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use world::chance::Chance;

    /// Sets of any size, of small and large numbers, and their unions.
    #[test]
    fn a_set_of_vertices_is_a_set() {
        let mut chance = Chance::seeded(6);
        for round in 0..200 {
            let (bound, mut total) = (1 << (1 + chance.below(21)), (VertexSet::default(), BTreeSet::new()));
            for _ in 0..1 + chance.below(3) {
                let (mut set, mut twin) = (VertexSet::default(), BTreeSet::new());
                for _ in 0..chance.below(200) {
                    let vertex = chance.below(bound) as u32;
                    assert_eq!(set.insert(VertexId::from_dense(vertex)), twin.insert(vertex));
                }
                total.0.merge(&set);
                total.1.extend(twin);
            }
            let mut found: Vec<u32> = total.0.iter().map(VertexId::dense).collect();
            found.sort_unstable();
            assert_eq!(found, total.1.iter().copied().collect::<Vec<_>>(), "round {round}");
            assert_eq!(total.0.len(), found.len() as u64);
        }
    }
}
