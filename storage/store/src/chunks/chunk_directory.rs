//! The directory of a chunk's bytes: its head, and where each table and column lies (docs/formats/chunk.md, "Chunk").
//!
//! It stands at the end of the bytes, with a checksum of its own, so that a reader who wants one list or one value of a chunk that is not in memory
//! reads the end, then the part that it needs. Chunks of version 1 have none; [`Directory::noted`] makes the same of a decode of the whole.
//! Invariant: sections lie one behind the other from [`BODY_AT`] to the directory, in the order of their names.

use crate::StoreError;
use crate::bytes::{Reader, Writer};
use crate::chunks::chunk::{Base, BaseKnown, PartName};
use crate::chunks::chunk_bytes::{decode_head, encode_head};
use crate::chunks::table::{GROUP_SLOTS, GROUPS_MAX, Lane, group_slots};
use crate::paging::source::{BlobKey, ChunkSource};
use model::id::EDGE_TYPE_COUNT_MAX;
use model::{CHUNK_SLOTS, EdgeTypeId, KeyId};
use std::ops::Range;

/// Of a chunk with a directory at its end.
pub(crate) const VERSION: u8 = 2;
/// Where the first section begins: behind the magic and the version.
pub(crate) const BODY_AT: usize = 5;
/// Bytes of a table whose groups can be read by themselves: a shorter one is read as a whole.
const GROUPED_BYTES_MIN: usize = 16 << 10;
/// Behind the directory: its length, this word, the checksum of all three, and the seal of the chunk.
const MAGIC: &[u8; 4] = b"TWCD";
const LENGTH_BYTES: usize = 4;
const TAIL_BYTES: usize = LENGTH_BYTES + MAGIC.len() + 4 + 4;
/// Bytes of a chunk's end that are read first: most directories are shorter.
const END_BYTES: u32 = 4 << 10;
/// Sections that room is made for before they are read.
const SECTIONS_ROOM: usize = 64;

/// A range of bytes; those of a chunk that is read in parts are less than 4 GiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) at: u32,
    pub(crate) length: u32,
}

impl Piece {
    pub(crate) fn up_to(at: usize, reader: &Reader<'_>) -> Piece {
        Piece { at: at as u32, length: (reader.position() - at) as u32 }
    }
    pub(crate) fn of<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.at as usize..][..self.length as usize]
    }
    fn end(&self) -> usize {
        self.at as usize + self.length as usize
    }
}

/// The lists of one group within the bytes of a chunk: where their lengths, their neighbours and their edge slots lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GroupPlace {
    pub(crate) lengths: Piece,
    pub(crate) neighbours: Piece,
    /// Empty where slots are positions.
    pub(crate) slots: Piece,
    /// Position of its first edge in the table.
    pub(crate) first_edge: u32,
}

impl GroupPlace {
    pub(crate) fn pieces(&self) -> [Piece; 3] {
        [self.lengths, self.neighbours, self.slots]
    }
}

/// The groups of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TablePlaces {
    pub(crate) groups: [GroupPlace; GROUPS_MAX],
    pub(crate) slot_count: usize,
    pub(crate) has_slots: bool,
}

impl TablePlaces {
    /// The same, if the table begins `at` bytes later.
    fn shifted(mut self, at: u32) -> TablePlaces {
        let count = TableGroups::count(self.slot_count);
        let kinds = kinds(self.has_slots);
        for place in &mut self.groups[..count] {
            let pieces = [&mut place.lengths, &mut place.neighbours, &mut place.slots];
            pieces.into_iter().take(kinds).for_each(|piece| piece.at += at);
        }
        self
    }
}

/// The groups of a table, and the checksum of each.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TableGroups {
    pub(crate) places: TablePlaces,
    pub(crate) crcs: [u32; GROUPS_MAX],
}

impl TableGroups {
    fn new(places: TablePlaces, bytes: &[u8]) -> TableGroups {
        let crc = |place: &GroupPlace| {
            let mut hasher = crc32fast::Hasher::new();
            place.pieces().iter().for_each(|piece| hasher.update(piece.of(bytes)));
            hasher.finalize()
        };
        TableGroups { crcs: places.groups.each_ref().map(crc), places }
    }
    fn count(slot_count: usize) -> usize {
        slot_count.div_ceil(GROUP_SLOTS)
    }
}

/// One table or column within the bytes of its chunk.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) name: PartName,
    pub(crate) piece: Piece,
    pub(crate) crc: u32,
    /// Of a long table.
    pub(crate) groups: Option<Box<TableGroups>>,
}

impl Section {
    /// A section in `range` of `bytes`; `places` are those of a table.
    pub(crate) fn new(
        name: PartName,
        range: Range<usize>,
        places: Option<TablePlaces>,
        bytes: &[u8],
    ) -> Section {
        debug_assert!(range.end <= u32::MAX as usize, "a chunk with a directory has less than 4 GiB");
        let piece = Piece { at: range.start as u32, length: range.len() as u32 };
        let is_long =
            |places: &TablePlaces| range.len() >= GROUPED_BYTES_MIN && places.slot_count > GROUP_SLOTS;
        let groups = places.filter(is_long).map(|places| Box::new(TableGroups::new(places, bytes)));
        Section { name, piece, crc: crc32fast::hash(piece.of(bytes)), groups }
    }
    /// Is this the section that was read from its piece of `bytes`, whose groups lie there? Checksums are compared in development builds.
    pub(crate) fn describes(&self, places: Option<TablePlaces>, bytes: &[u8]) -> bool {
        let places = places.map(|places| places.shifted(self.piece.at));
        if cfg!(debug_assertions) {
            let range = self.piece.at as usize..self.piece.end();
            return *self == Section::new(self.name, range, places, bytes);
        }
        self.groups.as_ref().is_none_or(|groups| places == Some(groups.places))
    }
}

/// The head of a chunk, and its sections by name.
pub(crate) struct Directory {
    /// The head alone.
    pub(crate) head: Base,
    pub(crate) sections: Vec<Section>,
}

impl Directory {
    /// As noted while a whole chunk was decoded.
    pub(crate) fn noted(base: &Base, sections: Vec<Section>) -> Directory {
        debug_assert!(sections.is_sorted_by(|a, b| a.name < b.name), "each name once");
        Directory { head: base.head(), sections }
    }
    /// Appends the directory of the sections that the writer has, and what stands behind it but for the seal.
    pub(crate) fn write(base: &Base, sections: &[Section], writer: &mut Writer) {
        let begin = writer.bytes.len();
        encode_head(base, writer);
        writer.size(sections.len());
        for section in sections {
            write_name_and_kind(section.name, writer);
            writer.uint(u64::from(section.piece.length));
            writer.raw(&section.crc.to_le_bytes());
            if matches!(section.name, PartName::Table(_)) {
                write_groups(section, writer);
            }
        }
        let length = (writer.bytes.len() - begin) as u32;
        writer.raw(&length.to_le_bytes());
        writer.raw(MAGIC);
        let crc = crc32fast::hash(&writer.bytes[begin..]);
        writer.raw(&crc.to_le_bytes());
    }
    /// The directory at the end of a chunk whose last bytes these are.
    ///
    /// # Errors
    /// It is damaged.
    pub(crate) fn of_end(end: &[u8], known: BaseKnown) -> Result<End, StoreError> {
        let Some(at) = end.len().checked_sub(TAIL_BYTES) else { return Ok(End::Older) };
        let (before, tail) = end.split_at(at);
        let Some((length, rest)) = tail.split_first_chunk::<LENGTH_BYTES>() else { return Ok(End::Older) };
        let length = u32::from_le_bytes(*length) as usize;
        if &rest[..MAGIC.len()] != MAGIC {
            return Ok(End::Older);
        }
        let Some(begin) = before.len().checked_sub(length) else {
            return Ok(End::Longer(length + TAIL_BYTES));
        };
        let (checked, crc) = end[begin..end.len() - 4].split_at(length + LENGTH_BYTES + MAGIC.len());
        let reader = &mut Reader::new(&checked[..length], "directory of a chunk");
        if crc32fast::hash(checked).to_le_bytes() != crc {
            return Err(reader.fail("checksum does not match"));
        }
        let directory = Directory::read(reader, known)?;
        reader.finish()?;
        Ok(End::Directory(Box::new(directory), length + TAIL_BYTES))
    }
    /// Reads the directory of a stored chunk; none where it has none that is whole.
    pub(crate) fn of_stored(
        source: &dyn ChunkSource,
        blob: BlobKey,
        known: BaseKnown,
    ) -> Result<Option<Directory>, StoreError> {
        let mut found = Directory::of_end(&source.read_end(blob, END_BYTES)?, known);
        if let Ok(End::Longer(bytes)) = found
            && let Ok(bytes) = u32::try_from(bytes)
        {
            found = Directory::of_end(&source.read_end(blob, bytes)?, known);
        }
        // A damaged end is like none: the whole is read then, and its checksum tells.
        let Ok(End::Directory(directory, _)) = found else { return Ok(None) };
        // The end of an older chunk is a text of a user, who may have written what looks like a directory.
        let begin = source.read_part(blob, 0, BODY_AT as u32)?;
        Ok((begin.last() == Some(&VERSION)).then_some(*directory))
    }
    fn read(reader: &mut Reader<'_>, known: BaseKnown) -> Result<Directory, StoreError> {
        let head = Base { part: Some(PartName::Head), ..decode_head(reader, known)? };
        let count = reader.count()?;
        let mut sections: Vec<Section> = Vec::with_capacity(count.min(SECTIONS_ROOM));
        let mut at = BODY_AT;
        for _ in 0..count {
            let name = read_name(reader)?;
            if sections.last().is_some_and(|last| last.name >= name) {
                return Err(reader.fail("sections are not sorted"));
            }
            let piece = Piece { at: at as u32, length: reader.uint32()? };
            at = piece.end();
            if at > u32::MAX as usize {
                return Err(reader.fail("sections too long"));
            }
            let crc = read_crc(reader)?;
            let groups = if matches!(name, PartName::Table(_)) { read_groups(piece, reader)? } else { None };
            sections.push(Section { name, piece, crc, groups });
        }
        Ok(Directory { head, sections })
    }
    /// Where the sections end, and the directory begins.
    pub(crate) fn body_end(&self) -> usize {
        self.sections.last().map_or(BODY_AT, |section| section.piece.end())
    }
}

/// What stands at the end of a chunk.
pub(crate) enum End {
    /// A directory, and the bytes that it takes with all behind it.
    Directory(Box<Directory>, usize),
    /// A directory that takes this many bytes.
    Longer(usize),
    /// None: the chunk is of version 1.
    Older,
}

/// Writes the kind of a section and its name.
fn write_name_and_kind(name: PartName, writer: &mut Writer) {
    writer.byte(match name {
        PartName::Column(_) => 0,
        PartName::Table(_) => 1,
        _ => 2,
    });
    write_name(name, writer);
}

pub(crate) fn write_name(name: PartName, writer: &mut Writer) {
    match name {
        PartName::Column(key) => writer.uint(u64::from(key.0)),
        PartName::Table(lane) => writer.uint(u64::from(lane.0)),
        PartName::EdgeColumn(edge_type, key) => {
            writer.uint(u64::from(edge_type.0));
            writer.uint(u64::from(key.0));
        }
        PartName::Head | PartName::Lists(..) | PartName::Absent => {
            debug_assert!(false, "no section has this name")
        }
    }
}

fn read_name(reader: &mut Reader<'_>) -> Result<PartName, StoreError> {
    match reader.byte()? {
        0 => Ok(PartName::Column(KeyId(reader.uint32()?))),
        1 => match Lane(reader.uint32()?) {
            lane if (lane.0 as usize) < EDGE_TYPE_COUNT_MAX * 2 => Ok(PartName::Table(lane)),
            _ => Err(reader.fail("edge type outside its bounds")),
        },
        2 => Ok(PartName::EdgeColumn(EdgeTypeId(reader.uint16()?), KeyId(reader.uint32()?))),
        _ => Err(reader.fail("unknown kind of section")),
    }
}

fn read_crc(reader: &mut Reader<'_>) -> Result<u32, StoreError> {
    let bytes = reader.raw(4)?.first_chunk::<4>().ok_or_else(|| reader.fail("ends early"))?;
    Ok(u32::from_le_bytes(*bytes))
}

/// Kinds of pieces that a group has: lengths, neighbours and, where there are any, edge slots.
fn kinds(has_slots: bool) -> usize {
    2 + usize::from(has_slots)
}

/// Does a table have edge slots?
pub(crate) fn read_has_slots(reader: &mut Reader<'_>) -> Result<bool, StoreError> {
    match reader.byte()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(reader.fail("unknown kind of slots")),
    }
}

/// The groups of a table; a table without groups has 0 slots here.
fn write_groups(section: &Section, writer: &mut Writer) {
    let Some(groups) = &section.groups else { return writer.size(0) };
    let places = &groups.places;
    writer.size(places.slot_count);
    writer.byte(u8::from(places.has_slots));
    let starts = places.groups[0].pieces();
    starts.iter().take(kinds(places.has_slots)).for_each(|piece| {
        writer.uint(u64::from(piece.at - section.piece.at));
    });
    for (place, crc) in places.groups.iter().zip(groups.crcs).take(TableGroups::count(places.slot_count)) {
        for piece in place.pieces().iter().take(kinds(places.has_slots)) {
            writer.uint(u64::from(piece.length));
        }
        writer.uint(u64::from(place.first_edge));
        writer.raw(&crc.to_le_bytes());
    }
}

fn read_groups(table: Piece, reader: &mut Reader<'_>) -> Result<Option<Box<TableGroups>>, StoreError> {
    let slot_count = reader.uint32()? as usize;
    if slot_count == 0 {
        return Ok(None);
    }
    if slot_count > CHUNK_SLOTS {
        return Err(reader.fail("table has more slots than a chunk"));
    }
    let has_slots = read_has_slots(reader)?;
    let inside = |start: u64, reader: &Reader<'_>| match start < u64::from(table.length) {
        true => Ok(table.at + start as u32),
        false => Err(reader.fail("group outside its table")),
    };
    let mut starts = [0; 3];
    let kinds = kinds(has_slots);
    for start in starts.iter_mut().take(kinds) {
        let at = reader.uint()?;
        *start = inside(at, reader)?;
    }
    let mut edges = 0;
    let (mut groups, mut crcs) = ([GroupPlace::default(); GROUPS_MAX], [0; GROUPS_MAX]);
    for number in 0..TableGroups::count(slot_count) {
        debug_assert!(!group_slots(number, slot_count).is_empty());
        let mut pieces = [Piece::default(); 3];
        for (piece, start) in pieces.iter_mut().zip(&mut starts).take(kinds) {
            *piece = Piece { at: *start, length: reader.uint32()? };
            if piece.end() > table.end() {
                return Err(reader.fail("group outside its table"));
            }
            *start = piece.end() as u32;
        }
        let [lengths, neighbours, slots] = pieces;
        let first_edge = reader.uint32()?;
        if first_edge < edges || first_edge > table.length || (number == 0 && first_edge > 0) {
            return Err(reader.fail("edges of a group outside its table"));
        }
        edges = first_edge;
        groups[number] = GroupPlace { lengths, neighbours, slots, first_edge };
        crcs[number] = read_crc(reader)?;
    }
    Ok(Some(Box::new(TableGroups { places: TablePlaces { groups, slot_count, has_slots }, crcs })))
}

#[cfg(test)]
mod tests;
