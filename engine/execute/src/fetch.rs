//! Fetches the chunks that an operator is about to read from other machines: all of them at once, while the operator is parked.
//!
//! Idea: an operator that waits within a read is paused with all of its query on this executor, a chunk at a time; a parked one waits for all chunks at
//! once, while others of its query go on. Whatever no operator asks for ahead, such as the far end of a condition, is fetched by the read itself.
//! Cost: on one machine one check a batch. At a gate each operator scans the vertices of a batch once; nothing is allocated unless a chunk is
//! missing.

use crate::rows::Rows;
use dataflow::Context;
use expression::Compiled;
use model::{Batch, ChunkNo};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use store::{Fetched, Snapshot};

/// Is one of these chunks on its way from another machine, so that the operator should be parked? Then it is woken once, when all have come or have
/// failed.
pub(crate) fn fetches_chunks(
    snapshot: &Snapshot,
    chunks: impl IntoIterator<Item = ChunkNo>,
    context: &mut Context<'_, Rows>,
) -> bool {
    let away: Vec<ChunkNo> = chunks.into_iter().filter(|chunk| snapshot.is_away(*chunk)).collect();
    if away.is_empty() {
        return false;
    }
    let waker = context.waker();
    if !waker.can_wake() {
        return false;
    }
    // All of these and one more, until it is known how many are on their way.
    let left = Arc::new(AtomicUsize::new(away.len() + 1));
    let come = {
        move |count: usize| {
            if left.fetch_sub(count, Ordering::AcqRel) == count {
                waker.wake();
            }
        }
    };
    let come = Arc::new(come);
    let fetched: Fetched = Arc::new({
        let come = come.clone();
        move || come(1)
    });
    let asked = snapshot.fetch_chunks(&away, &fetched);
    // Where nothing is asked for it is called by this: whoever waits within this call for something else is not parked on a waker that nobody calls.
    come(away.len() + 1 - asked);
    asked > 0
}

/// The same for the chunks of all vertices and edges in some columns of a batch.
pub(crate) fn fetches_vertices(
    snapshot: &Snapshot,
    batch: &Batch,
    columns: &[usize],
    context: &mut Context<'_, Rows>,
) -> bool {
    if !snapshot.is_remote() {
        return false;
    }
    let mut chunks: Vec<ChunkNo> = Vec::new();
    for column in columns {
        let (column, mut last) = (batch.column(*column), None);
        // An edge has its properties where its id is from.
        let chunk = |row| match column.vertex(row) {
            Some(vertex) => (vertex.0 <= u64::from(u32::MAX)).then(|| vertex.chunk()),
            None => column.edge(row).map(|edge| edge.id.chunk()),
        };
        for chunk in (0..batch.len()).filter_map(chunk) {
            if last != Some(chunk) && snapshot.is_away(chunk) {
                chunks.push(chunk);
            }
            last = Some(chunk);
        }
    }
    if chunks.is_empty() {
        return false;
    }
    chunks.sort_unstable();
    chunks.dedup();
    fetches_chunks(snapshot, chunks, context)
}

/// The columns whose vertices and edges some of these expressions read for every row.
pub(crate) fn looked_at<'e>(expressions: impl IntoIterator<Item = &'e Compiled>) -> Vec<usize> {
    let mut columns: Vec<usize> = expressions.into_iter().flat_map(Compiled::looks_at).collect();
    columns.sort_unstable();
    columns.dedup();
    columns
}
