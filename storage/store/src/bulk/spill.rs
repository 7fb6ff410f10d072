//! An import that exceeds its memory: the rest is spilled in portions of one chunk, and each chunk is assembled from a few of them.
//!
//! ```text
//!   edges ─> by source chunk ─┐
//!                             ├─ a band of source chunks ─> outgoing tables, spilled; by target chunk ──┐
//!   sealed columns ───────────┴──────────────────────────────────────── one chunk ─> finished, emitted <─┘
//! ```
//!
//! Cost: each edge is written and read twice, some 20 bytes each time.

use super::batch::{EdgeBatch, column_ref};
use super::edges::share::chunk_of;
use super::edges::{self, Arrival, EdgeParts};
use super::parallel::{Parallel, run};
use super::vertices::Target;
use crate::StoreError;
use crate::bytes::{Reader, Writer};
use crate::chunks::chunk::{Base, BaseKnown, Chunk, ChunkMeta};
use crate::chunks::chunk_bytes;
use crate::commits::allocator::Allocator;
use crate::paging::spill::{Portion, Room};
use model::{ChunkNo, Column, EdgeTypeId, KeyId, LabelSetId, Value};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Edges of one type that were put aside together, by source chunk, with their number.
pub(super) type EdgeRun = BTreeMap<ChunkNo, (Portion, usize)>;

/// Bytes that edges take while they wait, about.
pub(super) fn batch_bytes(batch: &EdgeBatch) -> usize {
    batch.pairs.len() * (8 + 16 * batch.columns.len())
}

/// Puts edges aside.
pub(super) fn spill(batches: &[EdgeBatch], room: Room<'_>) -> Result<EdgeRun, StoreError> {
    let mut keys: Vec<KeyId> =
        batches.iter().flat_map(|batch| batch.columns.iter().map(|(key, _)| *key)).collect();
    keys.sort_unstable();
    keys.dedup();
    let mut places: Vec<(ChunkNo, u32, u32)> = Vec::new();
    for (number, batch) in (0..).zip(batches) {
        let rows = (0..).zip(&batch.pairs);
        places.extend(rows.map(|(row, pair)| (chunk_of(pair.0) as ChunkNo, number, row)));
    }
    places.sort_unstable();
    let mut parts = EdgeRun::new();
    for part in places.chunk_by(|a, b| a.0 == b.0) {
        let mut writer = Writer::new();
        writer.size(keys.len());
        keys.iter().for_each(|key| writer.uint(key.0 as u64));
        writer.size(part.len());
        for (_, batch, row) in part {
            let batch = &batches[*batch as usize];
            let (source, target) = batch.pairs[*row as usize];
            writer.uint(source as u64);
            writer.uint(target as u64);
            for key in &keys {
                let column = batch.columns.iter().find(|(other, _)| other == key);
                let value = column.map(|(_, column)| column_ref(column, *row as usize).to_value());
                writer.value(&value.unwrap_or(Value::Null));
            }
        }
        parts.insert(part[0].0, (room.put(&writer.seal())?, part.len()));
    }
    Ok(parts)
}

fn load(portion: Portion, room: Room<'_>) -> Result<EdgeBatch, StoreError> {
    let bytes = room.get(portion)?;
    let reader = &mut Reader::checked(&bytes, "edges put aside")?;
    let keys =
        (0..reader.count()?).map(|_| Ok(KeyId(reader.uint32()?))).collect::<Result<Vec<_>, StoreError>>()?;
    let count = reader.count()?;
    let mut pairs = Vec::with_capacity(count);
    let mut rows: Vec<Vec<Value>> = keys.iter().map(|_| Vec::with_capacity(count)).collect();
    for _ in 0..count {
        pairs.push((reader.uint32()?, reader.uint32()?));
        rows.iter_mut().try_for_each(|rows| reader.value().map(|value| rows.push(value)))?;
    }
    let columns = keys.into_iter().zip(rows.into_iter().map(Column::Any)).collect();
    Ok(EdgeBatch { pairs, columns })
}

/// Edges on their way to their target chunks: some in memory, some put aside.
struct Arrivals<'a> {
    room: Room<'a>,
    held: Vec<Arrival>,
    runs: Vec<BTreeMap<ChunkNo, Portion>>,
}

impl Arrivals<'_> {
    fn push(&mut self, arrival: Arrival) -> Result<(), StoreError> {
        self.held.push(arrival);
        if self.held.len() * 2 * size_of::<Arrival>() >= self.room.share() {
            self.put_aside()
        } else {
            Ok(())
        }
    }
    fn put_aside(&mut self) -> Result<(), StoreError> {
        let mut held = std::mem::take(&mut self.held);
        // Stable: edges stay in the order of their sources.
        held.sort_by_key(|arrival| chunk_of(arrival.target));
        let mut run = BTreeMap::new();
        for part in held.chunk_by(|a, b| chunk_of(a.target) == chunk_of(b.target)) {
            let words = part.iter().flat_map(|arrival| [arrival.target, arrival.source, arrival.slot]);
            let bytes: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
            run.insert(chunk_of(part[0].target) as ChunkNo, self.room.put(&bytes)?);
        }
        self.runs.push(run);
        Ok(())
    }
}

/// All edges, put aside by chunk, ready to be taken chunk by chunk.
pub(super) struct Aside<'a> {
    room: Room<'a>,
    /// By chunk: outgoing tables and properties of each type, as the bytes of a chunk of nothing else.
    out: BTreeMap<ChunkNo, Vec<(EdgeTypeId, u32, Portion)>>,
    /// By type.
    arrivals: BTreeMap<EdgeTypeId, Vec<BTreeMap<ChunkNo, Portion>>>,
}

/// Makes the outgoing tables of all types, a band of source chunks at a time.
pub(super) fn sort<'a>(
    runs: BTreeMap<EdgeTypeId, Vec<EdgeRun>>,
    target: &Target<'_>,
    allocator: &Allocator,
    room: Room<'a>,
    parallel: Parallel<'_>,
) -> Result<Aside<'a>, StoreError> {
    let mut aside = Aside { room, out: BTreeMap::new(), arrivals: BTreeMap::new() };
    for (edge_type, runs) in runs {
        let mut arrivals = Arrivals { room, held: Vec::new(), runs: Vec::new() };
        for band in bands(&runs, room.share()) {
            let batches = run(parallel, band.len(), &|at| load(band[at], room))?;
            let parts = edges::build_out_of(edge_type, batches, target, allocator, parallel)?;
            let written = run(parallel, parts.len(), &|at| room.put(&encode(&parts[at])))?;
            for (part, portion) in parts.iter().zip(written) {
                aside.out.entry(part.chunk).or_default().push((edge_type, part.slot_bound, portion));
                edges::arrivals(part).try_for_each(|arrival| arrivals.push(arrival))?;
            }
        }
        arrivals.put_aside()?;
        aside.arrivals.insert(edge_type, arrivals.runs);
    }
    Ok(aside)
}

/// Portions of consecutive source chunks, about `bytes` of edges in each band.
fn bands(runs: &[EdgeRun], bytes: usize) -> Vec<Vec<Portion>> {
    let mut by_chunk: BTreeMap<ChunkNo, Vec<(Portion, usize)>> = BTreeMap::new();
    for (chunk, portion) in runs.iter().flatten() {
        by_chunk.entry(*chunk).or_default().push(*portion);
    }
    let (mut bands, mut held) = (vec![Vec::new()], 0);
    for portions in by_chunk.into_values() {
        if held >= bytes {
            bands.push(Vec::new());
            held = 0;
        }
        for (portion, edges) in portions {
            bands.last_mut().expect("there is always one").push(portion);
            // Read, sorted, in tables: about four times what the pair takes.
            held += edges * 32 + portion.len;
        }
    }
    bands
}

fn encode(part: &edges::OutPart) -> Vec<u8> {
    let slot_count = part.table.offsets.len() as u32 - 1;
    let mut meta = ChunkMeta::new(LabelSetId(0));
    (meta.slot_bound, meta.live) = (slot_count, 0);
    let empty =
        Chunk { meta: Arc::new(meta), base: Arc::new(Base { slot_count, ..Base::empty() }), delta: None };
    let (chunk, _) = EdgeParts::of_out(part).merged(empty);
    chunk_bytes::encode(&chunk)
}

impl Aside<'_> {
    /// Chunks that have outgoing or incoming edges.
    pub(super) fn chunks(&self) -> Vec<ChunkNo> {
        let arrivals = self.arrivals.values().flatten().flat_map(BTreeMap::keys);
        let mut chunks: Vec<ChunkNo> = self.out.keys().chain(arrivals).copied().collect();
        chunks.sort_unstable();
        chunks.dedup();
        chunks
    }
    /// The edges of one chunk.
    pub(super) fn parts(&self, chunk: ChunkNo, target: &Target<'_>) -> Result<EdgeParts, StoreError> {
        let mut parts = EdgeParts::default();
        for (edge_type, slot_bound, portion) in self.out.get(&chunk).into_iter().flatten() {
            let known = BaseKnown { slot_bound: 0, live: 0 };
            let base = chunk_bytes::decode(&self.room.get(*portion)?, known)?;
            parts.add_out(*edge_type, *slot_bound, &base);
        }
        for (edge_type, runs) in &self.arrivals {
            let mut arrived: Vec<Arrival> = Vec::new();
            for portion in runs.iter().filter_map(|run| run.get(&chunk)) {
                let bytes = self.room.get(*portion)?;
                let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
                let starts = (0..bytes.len()).step_by(12);
                arrived.extend(starts.map(|at| Arrival {
                    target: word(at),
                    source: word(at + 4),
                    slot: word(at + 8),
                }));
            }
            if !arrived.is_empty() {
                parts.add_in(*edge_type, edges::in_table(chunk as usize, &|| arrived.iter(), target)?);
            }
        }
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paging::spill::Spill;
    use std::sync::Mutex;

    #[derive(Default)]
    struct Held(Mutex<Vec<u8>>);

    impl Spill for Held {
        fn write(&self, bytes: &[u8]) -> Result<u64, StoreError> {
            let mut held = self.0.lock().unwrap();
            held.extend_from_slice(bytes);
            Ok((held.len() - bytes.len()) as u64)
        }
        fn read(&self, at: u64, len: usize) -> Result<Vec<u8>, StoreError> {
            Ok(self.0.lock().unwrap()[at as usize..at as usize + len].to_vec())
        }
    }

    /// Waiting edges take no more than half of their share, since they may be held twice while they are sorted; and they are not spilled sooner.
    #[test]
    fn arrivals_wait_within_their_share() {
        let spill = Held::default();
        let room = Room { bytes: 8 * 64 * size_of::<Arrival>(), spill: &spill };
        let mut arrivals = Arrivals { room, held: Vec::new(), runs: Vec::new() };
        for number in 0..1_000_usize {
            arrivals.push(Arrival { target: 7, source: number as u32, slot: 0 }).unwrap();
            assert_eq!(arrivals.held.len(), (number + 1) % 32);
            assert_eq!(arrivals.runs.len(), (number + 1) / 32);
        }
    }

    #[test]
    fn edges_are_counted_with_their_columns() {
        let column = || (KeyId(0), Column::Any(vec![Value::Null; 3]));
        let batch = |columns| batch_bytes(&EdgeBatch { pairs: vec![(1, 2); 3], columns });
        assert_eq!([batch(vec![]), batch(vec![column()]), batch(vec![column(), column()])], [24, 72, 120]);
    }
}
