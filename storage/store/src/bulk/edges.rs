//! The edges of an import, one type at a time: pairs are sorted by source chunk into outgoing tables (`out`), and these by target chunk into incoming
//! ones (`into`); `parts` merges both into chunks.
//!
//! Each pass is a counting sort: tasks partition their share by chunk, then one task a chunk gathers its slices from all shares.

mod into;
mod out;
mod parts;
pub(super) mod share;

pub(super) use into::{Arrival, arrivals, in_table};
pub(super) use out::{OutPart, build_out_of};
pub(super) use parts::EdgeParts;

use super::batch::EdgeBatch;
use super::parallel::Parallel;
use super::vertices::Target;
use crate::StoreError;
use crate::commits::allocator::Allocator;
use model::{ChunkNo, EdgeTypeId};
use std::collections::BTreeMap;

/// Builds the tables of one edge type and adds them to `parts`.
pub(super) fn build(
    edge_type: EdgeTypeId,
    batches: Vec<EdgeBatch>,
    target: &Target<'_>,
    allocator: &Allocator,
    parallel: Parallel<'_>,
    parts: &mut BTreeMap<ChunkNo, EdgeParts>,
) -> Result<(), StoreError> {
    let bound = target.chunk_bound() as usize;
    let out = build_out_of(edge_type, batches, target, allocator, parallel)?;
    let into = into::build_in(&out, target, parallel, bound)?;
    EdgeParts::add_all(parts, edge_type, out, into);
    Ok(())
}
