//! Chunks as bytes and back (docs/formats/chunk.md, "Chunk"). A delta is compacted before it is written.

use crate::StoreError;
use crate::bytes::{Reader, Writer, debug_read_back};
use crate::chunks::chunk::{Base, BaseKnown, ChunkRead, PartName};
use crate::chunks::chunk_directory::{
    BODY_AT, Directory, End, GroupPlace, Piece, Section, TablePlaces, VERSION, read_has_slots, write_name,
};
use crate::chunks::column_bytes::{decode_column, encode_column};
use crate::chunks::compact;
use crate::chunks::delta::SlotBits;
use crate::chunks::table::{EdgeSlots, EdgeTable, GROUP_SLOTS, GROUPS_MAX, Lane, group_slots};
use model::id::{EDGE_SLOT_COUNT_MAX, EDGE_TYPE_COUNT_MAX};
use model::{CHUNK_SLOTS, EdgeTypeId, KeyId, LabelSetId};
use std::ops::Range;
use std::sync::Arc;

const MAGIC: &[u8; 4] = b"TWCK";
/// The head and the names of the sections stand before and between the sections.
const VERSION_WITHOUT_DIRECTORY: u8 = 1;

/// Bytes of the tables and columns of a chunk with a directory: positions have 32 bits, and a larger blob is stored in pieces, none of which can be read
/// by itself.
pub(crate) const BODY_BYTES_MAX: usize = 1 << 30;

/// The chunk as sealed bytes; its meta travels in the manifest.
pub(crate) fn encode(chunk: &impl ChunkRead) -> Vec<u8> {
    encode_within(chunk, BODY_BYTES_MAX)
}

/// As [`encode`], without a directory where tables and columns take more than `body_max` bytes.
pub(crate) fn encode_within(chunk: &impl ChunkRead, body_max: usize) -> Vec<u8> {
    debug_assert!(chunk.base().is_whole());
    let compacted = compact::compact(chunk);
    let base = &compacted.base;
    let mut writer = Writer::new();
    writer.raw(MAGIC);
    writer.byte(VERSION);
    debug_assert_eq!(writer.bytes.len(), BODY_AT);
    let mut found: Vec<Found> = Vec::new();
    let mut section = |name, begin, places, writer: &Writer| {
        found.push((name, begin..writer.bytes.len(), places));
    };
    for (key, column) in &base.columns {
        let begin = writer.bytes.len();
        encode_column(column, &mut writer);
        section(PartName::Column(*key), begin, None, &writer);
    }
    for (lane, table) in &base.tables {
        let begin = writer.bytes.len();
        let places = encode_table(table, &mut writer);
        section(PartName::Table(*lane), begin, Some(places), &writer);
    }
    for ((edge_type, key), column) in &base.edge_columns {
        let begin = writer.bytes.len();
        encode_column(column, &mut writer);
        section(PartName::EdgeColumn(*edge_type, *key), begin, None, &writer);
    }
    let bytes = match writer.bytes.len() <= BODY_AT + body_max {
        true => {
            let section = |(name, range, places)| Section::new(name, range, places, &writer.bytes);
            let sections: Vec<Section> = found.into_iter().map(section).collect();
            Directory::write(base, &sections, &mut writer);
            writer.seal()
        }
        false => without_directory(base, &found, &writer.bytes),
    };
    let known = BaseKnown { slot_bound: chunk.meta().slot_bound, live: chunk.meta().live };
    debug_read_back(|| decode(&bytes, known));
    bytes
}

/// A table or column: its name, where it lies in bytes, and where the groups of a table lie.
type Found = (PartName, Range<usize>, Option<TablePlaces>);

/// The chunk in version 1, of sections that were written already.
fn without_directory(base: &Base, found: &[Found], body: &[u8]) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.raw(MAGIC);
    writer.byte(VERSION_WITHOUT_DIRECTORY);
    encode_head(base, &mut writer);
    let [columns, tables] = [base.columns.len(), base.tables.len()];
    let (columns, rest) = found.split_at(columns);
    let (tables, edge_columns) = rest.split_at(tables);
    for sections in [columns, tables, edge_columns] {
        writer.size(sections.len());
        for (name, range, _) in sections {
            write_name(*name, &mut writer);
            writer.raw(&body[range.clone()]);
        }
    }
    writer.seal()
}

/// Which vertices exist, and labels that differ from birth.
pub(crate) fn encode_head(base: &Base, writer: &mut Writer) {
    writer.uint(base.slot_count as u64);
    base.exists.iter().for_each(|word| writer.word(*word));
    writer.size(base.labels.len());
    for (slot, set) in &base.labels {
        writer.uint(*slot as u64);
        writer.uint(set.0 as u64);
    }
}

/// Inverse of [`encode_head`].
pub(crate) fn decode_head(reader: &mut Reader<'_>, known: BaseKnown) -> Result<Base, StoreError> {
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
    Ok(Base { exists, slot_count, labels, ..Base::empty() })
}

/// Inverse of [`encode`]; `known` is the manifest's entry of the chunk.
pub(crate) fn decode(bytes: &[u8], known: BaseKnown) -> Result<Base, StoreError> {
    decode_whole(bytes, known, false).map(|(base, _)| base)
}

/// As [`decode`]; also where each table and column lies in `bytes`, where the bytes say so or the caller wants it.
pub(crate) fn decode_whole(
    bytes: &[u8],
    known: BaseKnown,
    wants_directory: bool,
) -> Result<(Base, Option<Directory>), StoreError> {
    let reader = &mut Reader::checked(bytes, "chunk")?;
    let is_known = reader.raw(4)? == MAGIC;
    match reader.byte()? {
        VERSION if is_known => decode_by_directory(bytes, known),
        VERSION_WITHOUT_DIRECTORY if is_known => decode_in_order(reader, bytes, known, wants_directory),
        _ => Err(reader.fail("not a chunk of a known version")),
    }
}

fn decode_by_directory(bytes: &[u8], known: BaseKnown) -> Result<(Base, Option<Directory>), StoreError> {
    let End::Directory(directory, length) = Directory::of_end(bytes, known)? else {
        return Err(StoreError::corrupt("chunk: it does not end in a directory"));
    };
    if directory.body_end() + length != bytes.len() {
        return Err(StoreError::corrupt("chunk: its directory is not of these bytes"));
    }
    let mut base = Base { part: None, ..directory.head.head() };
    for section in &directory.sections {
        let reader = &mut Reader::new(section.piece.of(bytes), "section of a chunk");
        let places = base.add_section(section.name, reader)?;
        reader.finish()?;
        if !section.describes(places, bytes) {
            return Err(reader.fail("the directory says otherwise"));
        }
    }
    Ok((base, Some(*directory)))
}

impl Base {
    /// Reads a table or column, whose name is behind those that it has; where the groups of a table lie in what was read.
    pub(crate) fn add_section(
        &mut self,
        name: PartName,
        reader: &mut Reader<'_>,
    ) -> Result<Option<TablePlaces>, StoreError> {
        match name {
            PartName::Column(key) => self.columns.push((key, Arc::new(decode_column(reader)?))),
            PartName::Table(lane) => {
                let (table, places) = decode_table(reader)?;
                self.tables.push((lane, Arc::new(table)));
                return Ok(Some(places));
            }
            PartName::EdgeColumn(edge_type, key) => {
                self.edge_columns.push(((edge_type, key), Arc::new(decode_column(reader)?)));
            }
            PartName::Head | PartName::Lists(..) | PartName::Absent => {
                return Err(reader.fail("no such part is stored"));
            }
        }
        Ok(None)
    }
}

/// A chunk of version 1.
fn decode_in_order(
    reader: &mut Reader<'_>,
    bytes: &[u8],
    known: BaseKnown,
    wants_directory: bool,
) -> Result<(Base, Option<Directory>), StoreError> {
    let mut base = decode_head(reader, known)?;
    let mut sections = Vec::new();
    let mut found = |name, begin, places, reader: &Reader<'_>| {
        if wants_directory {
            sections.push(Section::new(name, begin..reader.position(), places, bytes));
        }
    };
    base.columns = decode_list(reader, |reader| {
        let key = KeyId(reader.uint32()?);
        let begin = reader.position();
        let column = Arc::new(decode_column(reader)?);
        found(PartName::Column(key), begin, None, reader);
        Ok((key, column))
    })?;
    base.tables = decode_list(reader, |reader| {
        let lane = Lane(reader.uint32()?);
        if lane.0 as usize >= EDGE_TYPE_COUNT_MAX * 2 {
            return Err(reader.fail("edge type outside its bounds"));
        }
        let begin = reader.position();
        let (table, places) = decode_table(reader)?;
        found(PartName::Table(lane), begin, Some(places), reader);
        Ok((lane, Arc::new(table)))
    })?;
    base.edge_columns = decode_list(reader, |reader| {
        let key = (EdgeTypeId(reader.uint16()?), KeyId(reader.uint32()?));
        let begin = reader.position();
        let column = Arc::new(decode_column(reader)?);
        found(PartName::EdgeColumn(key.0, key.1), begin, None, reader);
        Ok((key, column))
    })?;
    reader.finish()?;
    let directory = wants_directory.then(|| Directory::noted(&base, sections));
    Ok((base, directory))
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

/// Writes a table; where its groups lie.
fn encode_table(table: &EdgeTable, writer: &mut Writer) -> TablePlaces {
    debug_assert!(table.is_whole());
    let slot_count = table.offsets.len() - 1;
    let has_slots = !matches!(table.slots, EdgeSlots::Rising(_));
    let mut groups = [GroupPlace::default(); GROUPS_MAX];
    let piece = |begin: usize, writer: &Writer| Piece {
        at: begin as u32,
        length: (writer.bytes.len() - begin) as u32,
    };
    let numbers = || 0..slot_count.div_ceil(GROUP_SLOTS);
    writer.size(slot_count);
    for number in numbers() {
        let (begin, slots) = (writer.bytes.len(), group_slots(number, slot_count));
        groups[number].first_edge = table.offsets[slots.start];
        let offsets = &table.offsets[slots.start..=slots.end];
        offsets.windows(2).for_each(|pair| writer.uint((pair[1] - pair[0]) as u64));
        groups[number].lengths = piece(begin, writer);
    }
    for number in numbers() {
        let begin = writer.bytes.len();
        for slot in group_slots(number, slot_count) {
            let mut before = 0;
            for neighbour in table.list(slot) {
                writer.uint((neighbour - before) as u64);
                before = *neighbour;
            }
        }
        groups[number].neighbours = piece(begin, writer);
    }
    writer.byte(u8::from(has_slots));
    for number in numbers().filter(|_| has_slots) {
        let (begin, slots) = (writer.bytes.len(), group_slots(number, slot_count));
        let edges = table.offsets[slots.start]..table.offsets[slots.end];
        edges.for_each(|at| writer.uint(table.edge_slot(at as usize) as u64));
        groups[number].slots = piece(begin, writer);
    }
    TablePlaces { groups, slot_count, has_slots }
}

/// A table, and where its groups lie.
pub(crate) fn decode_table(reader: &mut Reader<'_>) -> Result<(EdgeTable, TablePlaces), StoreError> {
    let slot_count = reader.count()?;
    if slot_count > CHUNK_SLOTS {
        return Err(reader.fail("table has more slots than a chunk"));
    }
    let (table, places) = decode_lists(reader, slot_count, read_has_slots)?;
    if !places.has_slots && table.len() > EDGE_SLOT_COUNT_MAX {
        return Err(reader.fail("edge slot outside its bounds"));
    }
    Ok((table, places))
}

/// The lists of one group, whose pieces lie one behind the other.
pub(crate) fn decode_group(
    reader: &mut Reader<'_>,
    slots: Range<usize>,
    first_edge: u32,
    has_slots: bool,
) -> Result<EdgeTable, StoreError> {
    let (table, _) = decode_lists(reader, slots.len(), |_| Ok(has_slots))?;
    if !has_slots && first_edge as usize + table.len() > EDGE_SLOT_COUNT_MAX {
        return Err(reader.fail("edge slot outside its bounds"));
    }
    Ok(table.into_group(slots.start, first_edge, has_slots))
}

/// Lists of this many slots: lengths, neighbours, and edge slots where `has_slots` says so.
fn decode_lists(
    reader: &mut Reader<'_>,
    slot_count: usize,
    has_slots: impl FnOnce(&mut Reader<'_>) -> Result<bool, StoreError>,
) -> Result<(EdgeTable, TablePlaces), StoreError> {
    let mut groups = [GroupPlace::default(); GROUPS_MAX];
    let numbers = 0..slot_count.div_ceil(GROUP_SLOTS);
    let mut offsets = Vec::with_capacity(slot_count + 1);
    let mut end = 0u32;
    offsets.push(0);
    for number in numbers.clone() {
        let begin = reader.position();
        groups[number].first_edge = end;
        for _ in group_slots(number, slot_count) {
            let degree = reader.uint32()?;
            end = end.checked_add(degree).ok_or_else(|| reader.fail("table too long"))?;
            offsets.push(end);
        }
        groups[number].lengths = Piece::up_to(begin, reader);
    }
    if end as usize > reader.left() {
        return Err(reader.fail("table longer than the bytes left"));
    }
    let mut neighbours = Vec::with_capacity(end as usize);
    for number in numbers.clone() {
        let (begin, slots) = (reader.position(), group_slots(number, slot_count));
        for pair in offsets[slots.start..=slots.end].windows(2) {
            let mut neighbour = 0u32;
            for _ in pair[0]..pair[1] {
                let step = reader.uint32()?;
                neighbour =
                    neighbour.checked_add(step).ok_or_else(|| reader.fail("neighbour above 32 bits"))?;
                neighbours.push(neighbour);
            }
        }
        groups[number].neighbours = Piece::up_to(begin, reader);
    }
    let has_slots = has_slots(reader)?;
    let mut slots = has_slots.then(|| Vec::with_capacity(end as usize));
    if let Some(slots) = &mut slots {
        for number in numbers {
            let (begin, group) = (reader.position(), group_slots(number, slot_count));
            let count = offsets[group.end] - offsets[group.start];
            reader.append_uint32s(count as usize, slots)?;
            groups[number].slots = Piece::up_to(begin, reader);
        }
        if slots.iter().any(|slot| *slot as usize >= EDGE_SLOT_COUNT_MAX) {
            return Err(reader.fail("edge slot outside its bounds"));
        }
    }
    let table = EdgeTable::new(offsets.into(), neighbours.into(), slots.map(Vec::into_boxed_slice));
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
    Ok((table, TablePlaces { groups, slot_count, has_slots }))
}
