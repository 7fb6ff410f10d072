//! Incoming tables: the edges of the outgoing ones, sorted by target chunk, then by target. Lists come out sorted by source, because
//! outgoing tables are visited in the order of their sources.

use super::out::OutPart;
use super::share::{SHARE_EDGES, Share, chunk_of, runs_by_size, slot_in_chunk};
use crate::StoreError;
use crate::bulk::parallel::{Parallel, run};
use crate::bulk::vertices::Target;
use crate::chunks::table::EdgeTable;
use model::ChunkNo;
use model::id::SLOT_BITS;
use std::ops::Range;

/// Edges of one type above which the incoming tables are made in passes, a part of the target chunks in each.
const PASS_EDGES_MIN: usize = 1 << 20;
/// Number of passes: edges in transit to their target chunks take 12 bytes each, and each pass holds a quarter of them.
const PASSES: usize = 4;

/// An edge on its way to its target's chunk.
#[derive(Clone, Copy, Default)]
pub(in crate::bulk) struct Arrival {
    pub(in crate::bulk) target: u32,
    pub(in crate::bulk) source: u32,
    pub(in crate::bulk) slot: u32,
}

/// The edges of an outgoing table as their targets see them.
pub(in crate::bulk) fn arrivals(part: &OutPart) -> impl Iterator<Item = Arrival> + Clone {
    (0..part.table.offsets.len() - 1).flat_map(move |slot| {
        let source = (part.chunk << SLOT_BITS) + slot as u32;
        part.table.range(slot).map(move |position| {
            let target = part.table.neighbours[position];
            Arrival { target, source, slot: part.table.edge_slot(position) }
        })
    })
}

pub(super) fn build_in(
    out: &[OutPart],
    target: &Target<'_>,
    parallel: Parallel<'_>,
    bound: usize,
) -> Result<Vec<(ChunkNo, EdgeTable)>, StoreError> {
    let groups = runs_by_size(out.iter().map(|part| part.table.len()), SHARE_EDGES);
    let edges: usize = out.iter().map(|part| part.table.len()).sum();
    let passes = if edges < PASS_EDGES_MIN { 1 } else { PASSES };
    let step = bound.div_ceil(passes).max(1);
    let mut tables = Vec::new();
    for first in (0..bound).step_by(step) {
        let chunks = first..(first + step).min(bound);
        let last = chunks.end == bound;
        let shares = run(parallel, groups.len(), &|at| share_in(&out[groups[at].clone()], &chunks, last))?;
        let met: Vec<usize> =
            chunks.filter(|chunk| shares.iter().any(|share| !share.of(chunk - first).is_empty())).collect();
        tables.extend(run(parallel, met.len(), &|at| {
            let arrivals = || shares.iter().flat_map(|share| share.of(met[at] - first));
            Ok((met[at] as ChunkNo, in_table(met[at], &arrivals, target)?))
        })?);
    }
    Ok(tables)
}

/// The edges of some outgoing tables that lead to these chunks.
fn share_in(parts: &[OutPart], chunks: &Range<usize>, last: bool) -> Result<Share<Arrival>, StoreError> {
    let arrivals = parts.iter().flat_map(arrivals).map(|arrival| (chunk_of(arrival.target), arrival));
    if last && let Some((_, arrival)) = arrivals.clone().find(|(chunk, _)| *chunk >= chunks.end) {
        return Err(StoreError::NoVertex(model::VertexId::from_dense(arrival.target)));
    }
    let within = arrivals.filter(|(chunk, _)| chunks.contains(chunk));
    Ok(Share::new(chunks.len(), within.map(|(chunk, arrival)| (chunk - chunks.start, arrival))))
}

pub(in crate::bulk) fn in_table<'s, I: Iterator<Item = &'s Arrival>>(
    chunk: usize,
    arrivals: &dyn Fn() -> I,
    target: &Target<'_>,
) -> Result<EdgeTable, StoreError> {
    let slot_count = target.slot_count(chunk as ChunkNo)?;
    let mut offsets = vec![0u32; slot_count + 1];
    for arrival in arrivals() {
        match offsets.get_mut(slot_in_chunk(arrival.target) + 1) {
            Some(offset) => *offset += 1,
            None => target.check_vertex(chunk as ChunkNo, slot_in_chunk(arrival.target))?,
        }
    }
    for slot in 0..slot_count {
        if offsets[slot + 1] > 0 {
            target.check_vertex(chunk as ChunkNo, slot)?;
        }
        offsets[slot + 1] += offsets[slot];
    }
    let mut next = offsets.clone();
    let len = offsets[slot_count] as usize;
    let (mut neighbours, mut slots) = (vec![0u32; len], vec![0u32; len]);
    for arrival in arrivals() {
        let place = &mut next[slot_in_chunk(arrival.target)];
        neighbours[*place as usize] = arrival.source;
        slots[*place as usize] = arrival.slot;
        *place += 1;
    }
    Ok(EdgeTable::new(offsets.into(), neighbours.into(), Some(slots.into())))
}
