//! The parts of a stored chunk: each table and each column as a page of its own.
//!
//! Idea: a whole chunk is the right unit where the graph fits in memory. Where it does not, a reader that wants one list or one value would read and
//! decode every table and column of the chunk, and push as much out. So a chunk ends in a directory that says where each table and column lies (see
//! `chunk_directory`), and readers of a chunk that is not in memory read only the part that they need: as a [`Base`] that holds nothing else. Of a long
//! table, a reader of one list needs a group of 512 slots: the pieces of the group are read one behind the other. Where memory is not short, only the first
//! few readers of a chunk get parts; then the whole is loaded, as it is at once by a view that keeps it.
//! Invariants: the directory describes one blob, which is immutable; a part is checked against the checksum that the directory has of it. A base of one
//! part is never asked for another one ([`Base::table`] and its like assert it). Cost: some 90 bytes a table or column, 530 more for a table that is read
//! in groups, twice the bits of the vertices that exist, and a page for each part that was read; all is charged to the budget.

use crate::StoreError;
use crate::bytes::Reader;
use crate::chunks::chunk::{Base, BaseKnown, PartName};
use crate::chunks::chunk_bytes::{BODY_BYTES_MAX, decode, decode_group, decode_whole};
use crate::chunks::chunk_directory::{Directory, GroupPlace, Piece, Section, TableGroups, TablePlaces};
use crate::chunks::table::{GROUPS_MAX, group_slots};
use crate::paging::page::{Page, Paged};
use crate::paging::pager::{OverheadCharge, Pager};
use crate::paging::source::{BlobKey, ChunkSource};
use std::iter;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

/// Bytes in memory for each of a table or column that is stored, about.
const DECODED_BY_STORED: usize = 2;

/// Readers of a chunk that is not in memory that get a part each, where memory is not short; the next one loads the whole.
const PART_READS_MAX: u32 = 4;

/// The pages of one table or column.
struct SectionPages {
    section: Section,
    page: PartPage,
    /// Of the groups of a long table.
    groups: Option<Box<[PartPage; GROUPS_MAX]>>,
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
    sections: Box<[SectionPages]>,
    /// Bytes that the whole takes in memory, about.
    whole_bytes: usize,
    _charge: OverheadCharge,
}

impl SectionPages {
    fn new(section: Section) -> SectionPages {
        let groups = section.groups.as_ref().map(|_| Default::default());
        SectionPages { section, page: PartPage::new(), groups }
    }
    fn is_loaded(&self) -> bool {
        self.page.get().is_some_and(|(page, _)| page.is_loaded())
    }
    fn place(&self) -> Place {
        Place { at: PartPieces::One(self.section.piece), crc: self.section.crc }
    }
}

/// Where a group lies; none behind the last slot that the table knows.
fn place_of(TableGroups { places, crcs }: &TableGroups, group: usize) -> Option<Place> {
    let TablePlaces { groups, slot_count, has_slots } = places;
    let slots = group_slots(group, *slot_count);
    let at = PartPieces::Group(groups[group], slots.start as u16, slots.end as u16, *has_slots);
    (!slots.is_empty()).then_some(Place { at, crc: crcs[group] })
}

/// A part, as a reader finds it.
pub(crate) enum Part<'a> {
    Page(&'a Arc<Page<Base>>),
    /// The head, or the answer that the chunk has no such table or column.
    Resident(&'a Arc<Base>),
}

impl ChunkParts {
    fn new(directory: Directory, pager: &Arc<Pager>) -> ChunkParts {
        let head = Arc::new(directory.head);
        let sections: Box<[SectionPages]> = directory.sections.into_iter().map(SectionPages::new).collect();
        let groups = sections.iter().filter(|section| section.groups.is_some()).count();
        // The answer of the head comes later, where it comes.
        let bytes = size_of::<ChunkParts>() + 2 * head.room_bytes() + size_of_val(&*sections);
        let group_bytes = size_of::<TableGroups>() + size_of::<[PartPage; GROUPS_MAX]>();
        let bytes = bytes + groups * group_bytes;
        let stored: usize = sections.iter().map(|pages| pages.section.piece.length as usize).sum();
        let whole_bytes = head.room_bytes() + stored * DECODED_BY_STORED;
        let charge = OverheadCharge::new(pager, bytes);
        ChunkParts { head, absent: OnceLock::new(), sections, whole_bytes, _charge: charge }
    }
    /// The part of this name of the chunk that is stored as `blob`; of a group of lists the whole table, where that is in memory or short.
    pub(crate) fn part(&self, name: PartName, blob: BlobKey, pager: &Arc<Pager>) -> Part<'_> {
        let (of, group) = match name {
            PartName::Head => return Part::Resident(&self.head),
            PartName::Lists(lane, group) => (PartName::Table(lane), Some(usize::from(group))),
            _ => (name, None),
        };
        let Ok(at) = self.sections.binary_search_by_key(&of, |pages| pages.section.name) else {
            return self.absent();
        };
        let pages = &self.sections[at];
        let (page, name, place) = match (group, &pages.section.groups, &pages.groups) {
            (Some(group), Some(groups), Some(of_groups)) if !pages.is_loaded() => {
                match place_of(groups, group) {
                    Some(place) => (&of_groups[group], name, place),
                    None => return self.absent(),
                }
            }
            _ => (&pages.page, of, pages.place()),
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
        self.sections.iter().map(|pages| pages.section.name)
    }
    /// The parts in memory.
    pub(crate) fn loaded(&self) -> impl Iterator<Item = Arc<Base>> {
        let pages = self.sections.iter().flat_map(|pages| {
            let groups = pages.groups.iter().flat_map(|groups| &**groups);
            iter::once(&pages.page).chain(groups)
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

/// The parts of a chunk, once they are known.
pub(crate) struct PartsSlot {
    parts: OnceLock<ChunkParts>,
    /// Readers that got tables or columns while the whole was not in memory, up to [`PART_READS_MAX`].
    reads: AtomicU32,
    /// The chunk has no directory: only a decode of the whole tells of its parts.
    is_older: AtomicBool,
    pager: Arc<Pager>,
}

impl PartsSlot {
    fn new(pager: &Arc<Pager>) -> PartsSlot {
        let (reads, is_older) = (AtomicU32::new(0), AtomicBool::new(false));
        PartsSlot { parts: OnceLock::new(), reads, is_older, pager: pager.clone() }
    }
    /// Are the parts of a chunk of so many bytes known? Not where they come from another machine, which sends whole chunks.
    fn notes(&self, bytes: usize) -> bool {
        let is_remote = self.pager.source().is_some_and(|source| source.is_remote());
        bytes <= BODY_BYTES_MAX && !is_remote
    }
    /// The parts as the directory of the stored chunk has them.
    fn read(&self, known: BaseKnown, blob: BlobKey) -> Result<Option<&ChunkParts>, StoreError> {
        let Some(source) = self.pager.source().filter(|source| !source.is_remote()) else { return Ok(None) };
        if self.is_older.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let Some(directory) = Directory::of_stored(&**source, blob, known)? else {
            self.is_older.store(true, Ordering::Relaxed);
            return Ok(None);
        };
        Ok(Some(self.parts.get_or_init(|| ChunkParts::new(directory, &self.pager))))
    }
}

impl StoredBase {
    /// A whole chunk; its parts are noted only where it may leave memory.
    pub(crate) fn whole(known: BaseKnown, pager: &Arc<Pager>) -> StoredBase {
        StoredBase::Whole(known, pager.has_budget().then(|| PartsSlot::new(pager)))
    }
    /// The parts that are known already.
    pub(crate) fn parts(&self) -> Option<&ChunkParts> {
        match self {
            StoredBase::Whole(_, Some(slot)) => slot.parts.get(),
            StoredBase::Whole(_, None) | StoredBase::Part(_) => None,
        }
    }
    /// The parts of a chunk that is not in memory; none where only the whole can be read.
    fn parts_away(&self, blob: BlobKey) -> Result<Option<(&PartsSlot, &ChunkParts)>, StoreError> {
        let StoredBase::Whole(known, Some(slot)) = self else { return Ok(None) };
        let parts = match slot.parts.get() {
            Some(parts) => Some(parts),
            None => slot.read(*known, blob)?,
        };
        Ok(parts.map(|parts| (slot, parts)))
    }
    /// Bytes that the whole of a chunk takes that is not in memory: `before`, as when it was in memory last, or about, where it never was (0); 0 where nothing
    /// tells.
    pub(crate) fn whole_bytes(&self, blob: BlobKey, before: usize) -> Result<usize, StoreError> {
        match before {
            0 => Ok(self.parts_away(blob)?.map_or(0, |(_, parts)| parts.whole_bytes)),
            _ => Ok(before),
        }
    }
    /// The parts that a reader of a chunk is given that is not in memory; none where the whole is to be loaded: only that can be read, or parts were read
    /// before and there is room for the whole. `bytes` is `before` of [`StoredBase::whole_bytes`]; `counts` says that a table or column will be read.
    pub(crate) fn parts_to_read(
        &self,
        blob: BlobKey,
        bytes: usize,
        counts: bool,
    ) -> Result<Option<&ChunkParts>, StoreError> {
        let Some((slot, parts)) = self.parts_away(blob)? else { return Ok(None) };
        let bytes = if bytes > 0 { bytes } else { parts.whole_bytes };
        let reads = slot.reads.load(Ordering::Relaxed);
        if counts && reads < PART_READS_MAX {
            // Readers at the same time may count as one.
            slot.reads.store(reads + 1, Ordering::Relaxed);
        }
        let gets_parts = !counts || reads < PART_READS_MAX || !slot.pager.has_room(bytes);
        Ok(gets_parts.then_some(parts))
    }
    /// Can parts of a chunk be read that is not in memory?
    pub(crate) fn is_split(&self) -> bool {
        let StoredBase::Whole(_, Some(slot)) = self else { return false };
        let is_local = slot.pager.source().is_some_and(|source| !source.is_remote());
        slot.parts.get().is_some() || (is_local && !slot.is_older.load(Ordering::Relaxed))
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
            StoredBase::Whole(known, Some(slot)) if slot.notes(bytes.len()) => {
                let (base, directory) = decode_whole(bytes, *known, slot.parts.get().is_none())?;
                if let Some(directory) = directory {
                    slot.parts.get_or_init(|| ChunkParts::new(directory, &slot.pager));
                }
                Ok(base)
            }
            StoredBase::Whole(known, _) => decode(bytes, *known),
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
    match (part.name, part.place.at) {
        (PartName::Lists(lane, _), PartPieces::Group(place, start, end, has_slots)) => {
            let slots = usize::from(start)..usize::from(end);
            let table = decode_group(reader, slots, place.first_edge, has_slots)?;
            base.tables.push((lane, Arc::new(table)));
        }
        (name, _) => drop(base.add_section(name, reader)?),
    }
    reader.finish()?;
    Ok(base)
}
