//! The parts of a stored chunk: each table and each column as a page of its own.
//!
//! Idea: a whole chunk is the right unit where the graph fits in memory. Where it does not, a reader that wants one list or one value would read and
//! decode every table and column of the chunk, and push as much out. So the first decode of a chunk notes where each table and column lies in its
//! bytes. Once the chunk has left memory, readers read only the part that they need: as a [`Base`] that holds nothing else. Of a long table, a reader of one
//! list needs a group of 512 slots: the pieces of the group are read one behind the other.
//! Invariants: the note describes one blob, which is immutable; a part is checked against the checksum that the first decode took of it, when the whole
//! was checked. A base of one part is never asked for another one ([`Base::table`] and its like assert it). Cost: some 90 bytes a table or column, 530 more
//! for a table that is read in groups, twice the bits of the vertices that exist, and a page for each part that was read; all is charged to the budget.

use crate::StoreError;
use crate::bytes::Reader;
use crate::chunks::chunk::{Base, BaseKnown, PartName};
use crate::chunks::chunk_bytes::{GroupPlace, Piece, TablePlaces, decode_group, decode_table, decode_whole};
use crate::chunks::column_bytes::decode_column;
use crate::chunks::table::{GROUP_SLOTS, GROUPS_MAX, group_slots};
use crate::paging::page::{Page, Paged};
use crate::paging::pager::{OverheadCharge, Pager};
use crate::paging::source::{BlobKey, ChunkSource};
use std::iter;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Bytes of a chunk whose parts are noted; positions have 32 bits, and a larger blob is stored in pieces.
const CHUNK_BYTES_MAX: usize = 1 << 30;

/// Bytes of a table whose groups are noted: a shorter one is read as a whole.
const GROUPED_BYTES_MIN: usize = 16 << 10;

/// One table or column within the bytes of its chunk.
struct Section {
    name: PartName,
    place: Place,
    page: PartPage,
    groups: Option<Box<TableGroups>>,
}

/// The groups of a table.
struct TableGroups {
    places: TablePlaces,
    crcs: [u32; GROUPS_MAX],
    pages: [PartPage; GROUPS_MAX],
}

/// The page of a part, once it was requested, and the charge of the page itself.
type PartPage = OnceLock<(Arc<Page<Base>>, OverheadCharge)>;

/// Where a part lies, and its checksum.
#[derive(Clone, Copy)]
struct Place {
    at: PartPieces,
    crc: u32,
}

#[derive(Clone, Copy)]
enum PartPieces {
    One(Piece),
    /// A group of a table, with its slots.
    Group(GroupPlace, u16, u16, bool),
}

/// The parts of one stored chunk.
pub(crate) struct ChunkParts {
    /// The head alone.
    head: Arc<Base>,
    /// The answer of the head where a part is missing.
    absent: OnceLock<Arc<Base>>,
    /// By name.
    sections: Box<[Section]>,
    _charge: OverheadCharge,
}

/// A table or column, as the first decode finds it.
type Found = (PartName, Range<usize>, Option<TablePlaces>);

impl Section {
    fn new((name, range, places): Found, bytes: &[u8]) -> Section {
        let crc = crc32fast::hash(&bytes[range.clone()]);
        let is_long =
            |places: &TablePlaces| range.len() >= GROUPED_BYTES_MIN && places.slot_count > GROUP_SLOTS;
        let groups = places.filter(is_long).map(|places| Box::new(TableGroups::new(places, bytes)));
        let piece = Piece { at: range.start as u32, length: range.len() as u32 };
        Section { name, place: Place { at: PartPieces::One(piece), crc }, page: PartPage::new(), groups }
    }
    fn is_loaded(&self) -> bool {
        self.page.get().is_some_and(|(page, _)| page.is_loaded())
    }
}

impl TableGroups {
    fn new(places: TablePlaces, bytes: &[u8]) -> TableGroups {
        let crc = |place: &GroupPlace| {
            let mut hasher = crc32fast::Hasher::new();
            for Piece { at, length } in place.pieces() {
                hasher.update(&bytes[at as usize..][..length as usize]);
            }
            hasher.finalize()
        };
        TableGroups { crcs: places.groups.each_ref().map(crc), places, pages: Default::default() }
    }
    /// Where a group lies; none behind the last slot that the table knows.
    fn place(&self, group: usize) -> Option<Place> {
        let TablePlaces { groups, slot_count, has_slots } = &self.places;
        let slots = group_slots(group, *slot_count);
        let at = PartPieces::Group(groups[group], slots.start as u16, slots.end as u16, *has_slots);
        (!slots.is_empty()).then_some(Place { at, crc: self.crcs[group] })
    }
}

/// A part, as a reader finds it.
pub(crate) enum Part<'a> {
    Page(&'a Arc<Page<Base>>),
    /// The head, or the answer that the chunk has no such table or column.
    Resident(&'a Arc<Base>),
}

impl ChunkParts {
    fn new(base: &Base, bytes: &[u8], mut found: Vec<Found>, pager: &Arc<Pager>) -> ChunkParts {
        found.sort_by_key(|found| found.0);
        debug_assert!(bytes.len() <= u32::MAX as usize, "a blob has less than 4 GiB");
        let sections: Box<[Section]> = found.into_iter().map(|found| Section::new(found, bytes)).collect();
        let head = Arc::new(base.head());
        let groups = sections.iter().filter(|section| section.groups.is_some()).count();
        // The answer of the head comes later, where it comes.
        let bytes = size_of::<ChunkParts>() + 2 * head.room_bytes() + size_of_val(&*sections);
        let bytes = bytes + groups * size_of::<TableGroups>();
        ChunkParts { head, absent: OnceLock::new(), sections, _charge: OverheadCharge::new(pager, bytes) }
    }
    /// The part of this name of the chunk that is stored as `blob`; of a group of lists the whole table, where that is in memory or short.
    pub(crate) fn part(&self, name: PartName, blob: BlobKey, pager: &Arc<Pager>) -> Part<'_> {
        let (of, group) = match name {
            PartName::Head => return Part::Resident(&self.head),
            PartName::Lists(lane, group) => (PartName::Table(lane), Some(usize::from(group))),
            _ => (name, None),
        };
        let Ok(at) = self.sections.binary_search_by_key(&of, |section| section.name) else {
            return self.absent();
        };
        let section = &self.sections[at];
        let (page, name, place) = match (group, &section.groups) {
            (Some(group), Some(groups)) if !section.is_loaded() => match groups.place(group) {
                Some(place) => (&groups.pages[group], name, place),
                None => return self.absent(),
            },
            _ => (&section.page, of, section.place),
        };
        let (page, _) = page.get_or_init(|| {
            let part = StoredPart { head: self.head.clone(), name, place };
            let page = Page::stored(blob, StoredBase::Part(part), pager);
            (page, OverheadCharge::new(pager, size_of::<Page<Base>>()))
        });
        Part::Page(page)
    }
    fn absent(&self) -> Part<'_> {
        let absent = || Arc::new(Base { part: Some(PartName::Absent), ..self.head.head() });
        Part::Resident(self.absent.get_or_init(absent))
    }
    /// The names of all tables and columns.
    pub(crate) fn names(&self) -> impl Iterator<Item = PartName> {
        self.sections.iter().map(|section| section.name)
    }
    /// The parts in memory.
    pub(crate) fn loaded(&self) -> impl Iterator<Item = Arc<Base>> {
        let pages = self.sections.iter().flat_map(|section| {
            let groups = section.groups.iter().flat_map(|groups| &groups.pages);
            iter::once(&section.page).chain(groups)
        });
        pages.filter_map(|page| Some(page.get()?.0.peek()?.shared().clone()))
    }
}

/// One part of a chunk, to be read again.
pub(crate) struct StoredPart {
    head: Arc<Base>,
    name: PartName,
    place: Place,
}

/// Facts about a page of a chunk.
pub(crate) enum StoredBase {
    /// All of it.
    Whole(BaseKnown, Option<PartsSlot>),
    Part(StoredPart),
}

/// Where the parts of a chunk are noted, once it was decoded.
pub(crate) struct PartsSlot {
    parts: OnceLock<ChunkParts>,
    pager: Arc<Pager>,
}

impl PartsSlot {
    /// Are the parts of a chunk of these bytes noted? Not where they come from another machine, which sends whole chunks.
    fn notes(&self, bytes: &[u8]) -> bool {
        let is_remote = self.pager.source().is_some_and(|source| source.is_remote());
        bytes.len() <= CHUNK_BYTES_MAX && !is_remote
    }
}

impl StoredBase {
    /// A whole chunk; its parts are noted only where it may leave memory.
    pub(crate) fn whole(known: BaseKnown, pager: &Arc<Pager>) -> StoredBase {
        let slot = || PartsSlot { parts: OnceLock::new(), pager: pager.clone() };
        StoredBase::Whole(known, pager.has_budget().then(slot))
    }
    pub(crate) fn parts(&self) -> Option<&ChunkParts> {
        match self {
            StoredBase::Whole(_, Some(slot)) => slot.parts.get(),
            StoredBase::Whole(_, None) | StoredBase::Part(_) => None,
        }
    }
}

impl Paged for Base {
    type Known = StoredBase;
    fn read_stored(
        source: &dyn ChunkSource,
        blob: BlobKey,
        known: &StoredBase,
    ) -> Result<Vec<u8>, StoreError> {
        match known {
            StoredBase::Whole(..) => source.read(blob),
            StoredBase::Part(part) => match part.place.at {
                PartPieces::One(piece) => source.read_part(blob, piece.at, piece.length),
                PartPieces::Group(place, ..) => {
                    let [lengths, neighbours, slots] = place.pieces();
                    let mut bytes = source.read_part(blob, lengths.at, lengths.length)?;
                    for piece in [neighbours, slots].into_iter().filter(|piece| piece.length > 0) {
                        bytes.extend_from_slice(&source.read_part(blob, piece.at, piece.length)?);
                    }
                    Ok(bytes)
                }
            },
        }
    }
    fn decode(bytes: &[u8], known: &StoredBase) -> Result<Base, StoreError> {
        match known {
            StoredBase::Whole(known, Some(slot)) if slot.notes(bytes) => {
                let mut found = Vec::new();
                let base =
                    decode_whole(bytes, *known, |name, range, places| found.push((name, range, places)))?;
                slot.parts.get_or_init(|| ChunkParts::new(&base, bytes, found, &slot.pager));
                Ok(base)
            }
            StoredBase::Whole(known, _) => decode_whole(bytes, *known, |_, _, _| {}),
            StoredBase::Part(part) => decode_part(bytes, part),
        }
    }
    fn heap_bytes(&self) -> usize {
        self.room_bytes()
    }
}

fn decode_part(bytes: &[u8], part: &StoredPart) -> Result<Base, StoreError> {
    let reader = &mut Reader::new(bytes, "part of a chunk");
    if crc32fast::hash(bytes) != part.place.crc {
        return Err(reader.fail("checksum does not match"));
    }
    let mut base = Base { part: Some(part.name), ..part.head.head() };
    match part.name {
        PartName::Head | PartName::Absent => return Err(reader.fail("no such part is stored")),
        PartName::Column(key) => base.columns.push((key, Arc::new(decode_column(reader)?))),
        PartName::Table(lane) => base.tables.push((lane, Arc::new(decode_table(reader)?.0))),
        PartName::Lists(lane, _) => {
            let PartPieces::Group(place, start, end, has_slots) = part.place.at else {
                return Err(reader.fail("lists without a group"));
            };
            let slots = usize::from(start)..usize::from(end);
            let table = decode_group(reader, slots, place.first_edge, has_slots)?;
            base.tables.push((lane, Arc::new(table)));
        }
        PartName::EdgeColumn(edge_type, key) => {
            base.edge_columns.push(((edge_type, key), Arc::new(decode_column(reader)?)));
        }
    }
    reader.finish()?;
    Ok(base)
}
