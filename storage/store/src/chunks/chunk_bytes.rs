//! Chunks as bytes and back (docs/formats/chunk.md, "Chunk"). A delta is compacted before it is written.

use crate::StoreError;
use crate::bytes::{Reader, Writer, debug_read_back};
use crate::chunks::chunk::PartName;
use crate::chunks::chunk::{Base, BaseKnown, ChunkRead};
use crate::chunks::column_bytes::{decode_column, encode_column};
use crate::chunks::compact;
use crate::chunks::delta::SlotBits;
use crate::chunks::table::{EdgeSlots, EdgeTable, Lane};
use model::id::{EDGE_SLOT_COUNT_MAX, EDGE_TYPE_COUNT_MAX};
use model::{CHUNK_SLOTS, EdgeTypeId, KeyId, LabelSetId};
use std::ops::Range;
use std::sync::Arc;

const MAGIC: &[u8; 4] = b"TWCK";
const VERSION: u8 = 1;

/// The chunk as sealed bytes; its meta travels in the manifest.
pub(crate) fn encode(chunk: &impl ChunkRead) -> Vec<u8> {
    debug_assert!(chunk.base().is_whole());
    let compacted = compact::compact(chunk);
    let base = &compacted.base;
    let mut writer = Writer::new();
    writer.raw(MAGIC);
    writer.byte(VERSION);
    writer.uint(base.slot_count as u64);
    base.exists.iter().for_each(|word| writer.word(*word));
    writer.size(base.labels.len());
    for (slot, set) in &base.labels {
        writer.uint(*slot as u64);
        writer.uint(set.0 as u64);
    }
    writer.size(base.columns.len());
    for (key, column) in &base.columns {
        writer.uint(key.0 as u64);
        encode_column(column, &mut writer);
    }
    writer.size(base.tables.len());
    for (lane, table) in &base.tables {
        writer.uint(lane.0 as u64);
        encode_table(table, &mut writer);
    }
    writer.size(base.edge_columns.len());
    for ((edge_type, key), column) in &base.edge_columns {
        writer.uint(edge_type.0 as u64);
        writer.uint(key.0 as u64);
        encode_column(column, &mut writer);
    }
    let bytes = writer.seal();
    let known = BaseKnown { slot_bound: chunk.meta().slot_bound, live: chunk.meta().live };
    debug_read_back(|| decode(&bytes, known));
    bytes
}

/// Inverse of [`encode`]; `known` is the manifest's entry of the chunk.
pub(crate) fn decode(bytes: &[u8], known: BaseKnown) -> Result<Base, StoreError> {
    decode_whole(bytes, known, |_, _| {})
}

/// As [`decode`]; shows `found` where each table and column lies in `bytes`.
pub(crate) fn decode_whole(
    bytes: &[u8],
    known: BaseKnown,
    mut found: impl FnMut(PartName, Range<usize>),
) -> Result<Base, StoreError> {
    let reader = &mut Reader::checked(bytes, "chunk")?;
    if reader.raw(4)? != MAGIC || reader.byte()? != VERSION {
        return Err(reader.fail("not a chunk of a known version"));
    }
    let slot_count = reader.uint32()?;
    if slot_count as usize > CHUNK_SLOTS || slot_count < known.slot_bound {
        return Err(reader.fail("slot count outside its bounds"));
    }
    let mut exists: SlotBits = [0; 64];
    for word in &mut exists {
        *word = reader.word()?;
    }
    if exists.iter().map(|word| word.count_ones()).sum::<u32>() != known.live {
        return Err(reader.fail("number of vertices differs from the manifest"));
    }
    let labels = decode_list(reader, |reader| {
        let slot = reader.uint16()?;
        if slot as usize >= CHUNK_SLOTS {
            return Err(reader.fail("slot outside the chunk"));
        }
        Ok((slot, LabelSetId(reader.uint32()?)))
    })?;
    let columns = decode_list(reader, |reader| {
        let key = KeyId(reader.uint32()?);
        let begin = reader.position();
        let column = Arc::new(decode_column(reader)?);
        found(PartName::Column(key), begin..reader.position());
        Ok((key, column))
    })?;
    let tables = decode_list(reader, |reader| {
        let lane = Lane(reader.uint32()?);
        if lane.0 as usize >= EDGE_TYPE_COUNT_MAX * 2 {
            return Err(reader.fail("edge type outside its bounds"));
        }
        let begin = reader.position();
        let table = Arc::new(decode_table(reader)?);
        found(PartName::Table(lane), begin..reader.position());
        Ok((lane, table))
    })?;
    let edge_columns = decode_list(reader, |reader| {
        let key = (EdgeTypeId(reader.uint16()?), KeyId(reader.uint32()?));
        let begin = reader.position();
        let column = Arc::new(decode_column(reader)?);
        found(PartName::EdgeColumn(key.0, key.1), begin..reader.position());
        Ok((key, column))
    })?;
    reader.finish()?;
    Ok(Base { exists, slot_count, labels, columns, tables, edge_columns, part: None })
}

/// A list of pairs whose first halves strictly rise.
fn decode_list<'a, K: Ord, V>(
    reader: &mut Reader<'a>,
    mut item: impl FnMut(&mut Reader<'a>) -> Result<(K, V), StoreError>,
) -> Result<Vec<(K, V)>, StoreError> {
    let count = reader.count()?;
    let mut list: Vec<(K, V)> = Vec::new();
    for _ in 0..count {
        let pair = item(reader)?;
        if list.last().is_some_and(|last| last.0 >= pair.0) {
            return Err(reader.fail("list is not sorted"));
        }
        list.push(pair);
    }
    Ok(list)
}

fn encode_table(table: &EdgeTable, writer: &mut Writer) {
    writer.size(table.offsets.len() - 1);
    table.offsets.windows(2).for_each(|pair| writer.uint((pair[1] - pair[0]) as u64));
    for slot in 0..table.offsets.len() - 1 {
        let mut before = 0;
        for neighbour in table.list(slot) {
            writer.uint((neighbour - before) as u64);
            before = *neighbour;
        }
    }
    match &table.slots {
        EdgeSlots::Position => writer.byte(0),
        _ => {
            writer.byte(1);
            (0..table.len()).for_each(|at| writer.uint(table.edge_slot(at) as u64));
        }
    }
}

pub(crate) fn decode_table(reader: &mut Reader<'_>) -> Result<EdgeTable, StoreError> {
    let slot_count = reader.count()?;
    if slot_count > CHUNK_SLOTS {
        return Err(reader.fail("table has more slots than a chunk"));
    }
    let mut offsets = Vec::with_capacity(slot_count + 1);
    let mut end = 0u32;
    offsets.push(0);
    for _ in 0..slot_count {
        let degree = reader.uint32()?;
        end = end.checked_add(degree).ok_or_else(|| reader.fail("table too long"))?;
        offsets.push(end);
    }
    if end as usize > reader.left() {
        return Err(reader.fail("table longer than the bytes left"));
    }
    let mut neighbours = Vec::with_capacity(end as usize);
    for pair in offsets.windows(2) {
        let mut neighbour = 0u32;
        for _ in pair[0]..pair[1] {
            let step = reader.uint32()?;
            neighbour = neighbour.checked_add(step).ok_or_else(|| reader.fail("neighbour above 32 bits"))?;
            neighbours.push(neighbour);
        }
    }
    let slots = match reader.byte()? {
        0 => None,
        1 => Some(decode_slots(reader, end as usize)?),
        _ => return Err(reader.fail("unknown kind of slots")),
    };
    let table = EdgeTable::new(offsets.into(), neighbours.into(), slots);
    // Neighbours rise, as they are sums; where two are the same, slots must.
    for pair in table.offsets.windows(2) {
        let list = &table.neighbours[pair[0] as usize..pair[1] as usize];
        let mut repeated = list.windows(2).enumerate().filter(|(_, pair)| pair[0] == pair[1]);
        if repeated.any(|(at, _)| {
            let at = pair[0] as usize + at;
            table.edge_slot(at) >= table.edge_slot(at + 1)
        }) {
            return Err(reader.fail("edges of a vertex are not sorted"));
        }
    }
    Ok(table)
}

fn decode_slots(reader: &mut Reader<'_>, count: usize) -> Result<Box<[u32]>, StoreError> {
    if count > reader.left() {
        return Err(reader.fail("slots longer than the bytes left"));
    }
    let slots = reader.uint32s(count)?;
    if slots.iter().any(|slot| *slot as usize >= EDGE_SLOT_COUNT_MAX) {
        return Err(reader.fail("edge slot outside its bounds"));
    }
    Ok(slots)
}
