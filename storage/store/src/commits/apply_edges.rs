//! Many edges at once: a run of edges that come and go, applied end by end instead of change by change.
//!
//! ```text
//!   run       a->f  z->b  c->a  ...             in the order of the statements: each change meets two chunks anywhere in the graph
//!   by end    a: out f, in c | b: in z | c: ...  each chunk is met once, and in it each leaf of its delta
//! ```
//! Idea: writes to the lists of one vertex do not depend on those of another, so a run is sorted by vertex; the changes of one vertex stay in their
//! order. Invariant: the result is that of applying them one by one, errors included, though with several errors another may be reported. Cost: a
//! sort of two words a change; then a chunk costs its spine once, however many of its vertices are written to. An edge whose slot no edge of its
//! chunk ever had is new without a search.

use crate::StoreError;
use crate::chunks::chunk::{Chunk, ChunkRead};
use crate::chunks::delta::{Delta, Overrides, outside, set_property};
use crate::chunks::edge_set::pack;
use crate::chunks::table::Lane;
use crate::commits::change::Change;
use crate::commits::draft::{CHANGE_UNITS, Draft};
use crate::paging::pager::Pager;
use crate::schema::statistics::Counter;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::schema::SchemaTarget;
use model::{EdgeRef, EdgeTypeId, KeyId, Value, VertexId, walk};
use std::sync::Arc;

/// Changes from which on sorting them is worth its while.
const RUN_MIN: usize = 32;

/// And at this length it is cut: its ends are sorted in one call, which cannot be ended.
const RUN_MAX: usize = 1 << 18;

/// A change of a run.
struct Step<'a> {
    edge: EdgeRef,
    /// Of an edge that comes; none where it goes.
    properties: Option<&'a [(KeyId, Value)]>,
}

/// One end of a change: vertex, number of the step, and whether it is the source; sorts in the order of processing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct End(u64);

impl End {
    fn new(vertex: VertexId, number: usize, is_source: bool) -> End {
        End((vertex.dense() as u64) << 32 | (number as u64) << 1 | is_source as u64)
    }
    fn vertex(self) -> VertexId {
        VertexId::from_dense((self.0 >> 32) as u32)
    }
    fn number(self) -> usize {
        (self.0 as u32 >> 1) as usize
    }
    fn is_source(self) -> bool {
        self.0 & 1 == 1
    }
}

/// How many of the first changes are a run that is worth sorting; 0 for none.
pub(crate) fn run_length(changes: &[Change]) -> usize {
    let is_of_edges =
        |change: &&Change| matches!(change, Change::CreateEdge { .. } | Change::DeleteEdge { .. });
    let length = changes.iter().take_while(is_of_edges).take(RUN_MAX).count();
    if length < RUN_MIN { 0 } else { length }
}

/// Differences of counters. Mostly the next is that of the last again, or of the one before.
#[derive(Default)]
struct Counts {
    last: [Option<(Counter, i64)>; 2],
    sums: HashMap<Counter, i64, FixedState>,
}

impl Counts {
    fn add(&mut self, counter: Counter, difference: i64) {
        for (other, sum) in self.last.iter_mut().flatten() {
            if *other == counter {
                *sum += difference;
                return;
            }
        }
        let [newer, older] = self.last;
        self.last = [Some((counter, difference)), newer];
        self.hand_on(older);
    }
    fn hand_on(&mut self, sum: Option<(Counter, i64)>) {
        if let Some((counter, difference)) = sum {
            *self.sums.entry(counter).or_default() += difference;
        }
    }
    fn into_sums(mut self) -> impl Iterator<Item = (Counter, i64)> {
        self.last.into_iter().for_each(|sum| self.hand_on(sum));
        self.sums.into_iter()
    }
}

impl Draft<'_> {
    /// Can runs be sorted? Not where indexes over edges must follow each change.
    pub(crate) fn takes_runs(&self) -> bool {
        let is_of_edges = |target| matches!(target, SchemaTarget::Edges(_));
        !self.indexes.iter().any(|(_, index)| is_of_edges(index.definition.target))
    }
    /// Applies a run.
    pub(crate) fn take_run(&mut self, changes: &[Change]) -> Result<(), StoreError> {
        let steps: Vec<Step<'_>> = changes.iter().map(step).collect::<Result<_, _>>()?;
        let mut ends: Vec<End> = Vec::with_capacity(2 * steps.len());
        for (number, step) in steps.iter().enumerate() {
            ends.push(End::new(step.edge.source, number, true));
            ends.push(End::new(step.edge.target, number, false));
        }
        ends.sort_unstable();
        let (pager, mut counts) = (&self.from.pager, Counts::default());
        for here in ends.chunk_by(|one, other| one.vertex().chunk() == other.vertex().chunk()) {
            walk::spend(here.len() * CHANGE_UNITS)?;
            let chunk = self.chunk(here[0].vertex())?;
            take_ends(chunk, pager, here, &steps, &mut counts)?;
        }
        counts.into_sums().for_each(|(counter, difference)| self.count(counter, difference));
        Ok(())
    }
}

fn step(change: &Change) -> Result<Step<'_>, StoreError> {
    let (edge, properties) = match change {
        Change::CreateEdge { edge, properties } => (*edge, Some(properties.as_slice())),
        Change::DeleteEdge { edge } => (*edge, None),
        _ => unreachable!("a run is of edges that come and go"),
    };
    let beyond = [edge.source, edge.target].into_iter().find(|vertex| vertex.0 > u32::MAX as u64);
    match (beyond, properties) {
        (Some(vertex), Some(_)) => return Err(StoreError::NoVertex(vertex)),
        (None, Some(_)) if edge.source.chunk() != edge.id.chunk() => {
            return Err(StoreError::ChunkMismatch(edge.id.chunk()));
        }
        (Some(_), None) => return Err(StoreError::NoEdge(edge.id)),
        (None, None) if edge.source.chunk() != edge.id.chunk() => return Err(StoreError::NoEdge(edge.id)),
        _ => {}
    }
    Ok(Step { edge, properties })
}

/// Writes the ends that lie in one chunk.
fn take_ends(
    chunk: &mut Chunk,
    pager: &Arc<Pager>,
    ends: &[End],
    steps: &[Step<'_>],
    counts: &mut Counts,
) -> Result<(), StoreError> {
    // Slots that no edge ever had lie behind these, which are raised when all are written.
    let mut bounds: Vec<(EdgeTypeId, u32)> = Vec::new();
    let mut outside_bytes = 0;
    for end in ends {
        let Step { edge, properties } = &steps[end.number()];
        let (vertex, edge_type) = (end.vertex(), edge.id.edge_type());
        let slot = vertex.slot() as usize;
        let labels = chunk.labels(slot).ok_or(StoreError::NoVertex(vertex))?;
        let (lane, far, counter) = match end.is_source() {
            true => (Lane::out(edge_type), edge.target, Counter::Out(edge_type, labels)),
            false => (Lane::into(edge_type), edge.source, Counter::In(edge_type, labels)),
        };
        let packed = pack(far.dense(), edge.id.slot());
        counts.add(counter, if properties.is_some() { 1 } else { -1 });
        let Some(properties) = properties else {
            if !chunk.has_edge(slot, lane, packed) {
                return Err(StoreError::NoEdge(edge.id));
            }
            unlink(delta_mut(chunk, pager), slot, lane, packed, end.is_source().then_some(edge));
            continue;
        };
        if end.is_source() {
            let is_new = edge.id.slot() >= chunk.meta.edge_slot_bound(edge_type);
            if !is_new && chunk.has_edge(slot, lane, packed) {
                return Err(StoreError::EdgeExists(edge.id));
            }
            raise(&mut bounds, edge_type, edge.id.slot() + 1);
            outside_bytes += outside(properties);
        }
        let delta = delta_mut(chunk, pager);
        if !delta.list_mut(slot, lane).added.insert(packed) && end.is_source() {
            return Err(StoreError::EdgeExists(edge.id));
        }
        if end.is_source() && !properties.is_empty() {
            hold(delta, edge, properties);
        }
    }
    delta_mut(chunk, pager).count_changes(ends.len(), outside_bytes);
    if bounds.iter().any(|(edge_type, bound)| chunk.meta.edge_slot_bound(*edge_type) < *bound) {
        let meta = Arc::make_mut(&mut chunk.meta);
        bounds.into_iter().for_each(|(edge_type, bound)| meta.raise_edge_slot_bound(edge_type, bound));
    }
    Ok(())
}

fn delta_mut<'c>(chunk: &'c mut Chunk, pager: &Arc<Pager>) -> &'c mut Delta {
    Arc::make_mut(chunk.delta.get_or_insert_with(|| Arc::new(Delta::new(pager))))
}

fn raise(bounds: &mut Vec<(EdgeTypeId, u32)>, edge_type: EdgeTypeId, to: u32) {
    match bounds.iter_mut().find(|(other, _)| *other == edge_type) {
        Some((_, bound)) => *bound = (*bound).max(to),
        None => bounds.push((edge_type, to)),
    }
}

/// Takes an edge that is there out of a list; with its properties, where this is its source.
fn unlink(delta: &mut Delta, slot: usize, lane: Lane, packed: u64, source_of: Option<&EdgeRef>) {
    let list = delta.list_mut(slot, lane);
    if !list.added.remove(packed) {
        list.removed.insert(packed);
    }
    if let Some(edge) = source_of
        && !delta.edge_properties.is_empty()
    {
        delta.edge_properties.remove(&(edge.id.edge_type(), edge.id.slot()));
    }
}

/// Keeps the properties of a new edge.
pub(crate) fn hold(delta: &mut Delta, edge: &EdgeRef, properties: &[(KeyId, Value)]) {
    let mut held: Overrides = Vec::new();
    let present = properties.iter().filter(|(_, value)| !value.is_null());
    present.for_each(|(key, value)| set_property(&mut held, *key, value.clone()));
    if !held.is_empty() {
        delta.edge_properties.insert((edge.id.edge_type(), edge.id.slot()), Arc::new(held));
    }
}
