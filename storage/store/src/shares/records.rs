//! Records in a share: a reader updates chunks that it has in memory by the records that changed them, instead of fetching them anew.
//!
//! Invariant: an updated chunk equals the shard's under the same version; where this is impossible, the chunk is fetched on first touch. Its base is
//! the one that was fetched once, whose version the shard may have dropped: so it is pinned until the delta is compacted into it.

use crate::bytes::{Reader, Writer};
use crate::chunks::chunk::{Base, ChunkMeta};
use crate::commits::change::Change;
use crate::commits::draft::{Draft, Part};
use crate::paging::page::Pin;
use crate::snapshots::root::Root;
use crate::versions::cell::Cell;
use crate::{BlobKey, Snapshot, StoreError};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::{ChunkNo, walk};
use std::sync::Arc;

/// Writes the share's parts of records; none where chunks are to be fetched.
pub(super) fn write(parts: Option<&[&[u8]]>, writer: &mut Writer) {
    writer.byte(u8::from(parts.is_some()));
    let parts = parts.unwrap_or_default();
    writer.size(parts.len());
    for part in parts {
        writer.size(part.len());
        writer.raw(part);
    }
}

/// Reads the output of [`write`].
pub(super) fn read(reader: &mut Reader<'_>) -> Result<Option<Vec<Vec<Change>>>, StoreError> {
    let is_told = reader.byte()? != 0;
    let mut records = Vec::new();
    for _ in 0..reader.count()? {
        let length = reader.count()?;
        records.push(Change::decode_all(reader.raw(length)?)?);
    }
    Ok(is_told.then_some(records))
}

/// Changed chunks of one shard.
pub(super) struct Changed {
    pub(super) chunks: Vec<(ChunkNo, BlobKey, ChunkMeta)>,
    /// The records that changed them, in order, where they are sent.
    pub(super) records: Option<Vec<Vec<Change>>>,
}

/// Takes new versions of chunks: those in memory are updated by the records, the others are fetched on first touch.
pub(super) fn take(root: &mut Root, mut changed: Changed) -> Result<(), StoreError> {
    let known = |root: &Root, chunk| root.directory.get(chunk).and_then(|cell| cell.blob());
    changed.chunks.retain(|(chunk, key, _)| known(root, *chunk) != Some(*key));
    let mut brought = match &changed.records {
        Some(records) => bring_up(root, &changed.chunks, records)?,
        None => HashMap::default(),
    };
    let pager = root.pager.clone();
    for (chunk, key, meta) in changed.chunks {
        let cell = brought.remove(&chunk);
        let cell = cell.unwrap_or_else(|| Arc::new(Cell::stored(Arc::new(meta), key, &pager)));
        root.directory.set(chunk, cell);
    }
    Ok(())
}

type CellsByChunk = HashMap<ChunkNo, Arc<Cell>, FixedState>;

/// CellsByChunk of those chunks that could be brought up.
fn bring_up(
    root: &mut Root,
    chunks: &[(ChunkNo, BlobKey, ChunkMeta)],
    records: &[Vec<Change>],
) -> Result<CellsByChunk, StoreError> {
    let mut pins: HashMap<ChunkNo, Arc<Pin<Base>>, FixedState> = HashMap::default();
    for (chunk, ..) in chunks {
        let Some(cell) = root.directory.get(*chunk).filter(|cell| cell.loaded().is_some()) else { continue };
        match cell.base().pin() {
            Ok(Some((pin, _))) => drop(pins.insert(*chunk, Arc::new(pin))),
            Ok(None) => {
                // Memory is short: what is pinned for this is given up, and fetched again when somebody reads it.
                let held: Vec<(ChunkNo, Cell)> = root
                    .directory
                    .iter()
                    .filter_map(|(chunk, cell)| Some((chunk, cell.without_delta()?)))
                    .collect();
                held.into_iter().for_each(|(chunk, cell)| root.directory.set(chunk, Arc::new(cell)));
                return Ok(CellsByChunk::default());
            }
            // It was evicted at this moment.
            Err(_) => {}
        }
    }
    if pins.is_empty() {
        return Ok(CellsByChunk::default());
    }
    // Indexes are brought up by their entries.
    let view = Snapshot::from_root(Root { indexes: Vec::new(), lease: None, ..root.copy() });
    let mut draft = Draft::of_part(&view, Part::Chunks(pins.keys().copied().collect()));
    let is_done = records.iter().try_for_each(|changes| draft.take_all(changes)).and_then(|()| draft.flush());
    walk::check()?;
    if let Err(error) = is_done {
        debug_assert!(false, "records that a shard carried out are carried out by its reader: {error}");
        return Ok(CellsByChunk::default());
    }
    let mut cells = CellsByChunk::default();
    for (chunk, key, meta) in chunks {
        let Some((pin, cell)) = pins.remove(chunk).zip(draft.directory.get(*chunk)) else { continue };
        let is_it = (cell.meta.slot_bound, cell.meta.live) == (meta.slot_bound, meta.live);
        debug_assert!(is_it, "the shard's chunk {chunk} has as many vertices as its reader's");
        cell.set_stored(*key);
        if is_it && cell.blob() == Some(*key) {
            cell.hold(pin);
            cells.insert(*chunk, cell.clone());
        }
    }
    Ok(cells)
}
