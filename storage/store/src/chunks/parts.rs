//! The parts of a stored chunk: each table and each column as a page of its own.
//!
//! Idea: a whole chunk is the right unit where the graph fits in memory. Where it does not, a reader that wants one list or one value would read and
//! decode every table and column of the chunk, and push as much out. So the first decode of a chunk notes where each table and column lies in its
//! bytes. Once the chunk has left memory, readers read only the part that they need: as a [`Base`] that holds nothing else.
//! Invariants: the note describes one blob, which is immutable; a part is checked against the checksum that the first decode took of it, when the whole
//! was checked. A base of one part is never asked for another one ([`Base::table`] and its like assert it). Cost: some 40 bytes a table or column, and
//! the bits of the vertices that exist, charged to the budget; a page of some 200 bytes for each part that was read.

use crate::StoreError;
use crate::bytes::Reader;
use crate::chunks::chunk::{Base, BaseKnown, PartName};
use crate::chunks::chunk_bytes::{decode_table, decode_whole};
use crate::chunks::column_bytes::decode_column;
use crate::paging::page::{Page, Paged};
use crate::paging::pager::{OverheadCharge, Pager};
use crate::paging::source::{BlobKey, ChunkSource};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Bytes of a chunk whose parts are noted; positions have 32 bits, and a larger blob is stored in pieces.
const CHUNK_BYTES_MAX: usize = 1 << 30;

/// One table or column within the bytes of its chunk.
struct Section {
    name: PartName,
    place: Place,
    page: OnceLock<Arc<Page<Base>>>,
}

/// Where a section lies, and its checksum.
#[derive(Clone, Copy)]
struct Place {
    at: u32,
    length: u32,
    crc: u32,
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

/// A part, as a reader finds it.
pub(crate) enum Part<'a> {
    Page(&'a Arc<Page<Base>>),
    /// The head, or the answer that the chunk has no such table or column.
    Resident(&'a Arc<Base>),
}

impl ChunkParts {
    fn new(
        base: &Base,
        bytes: &[u8],
        mut places: Vec<(PartName, Range<usize>)>,
        pager: &Arc<Pager>,
    ) -> ChunkParts {
        places.sort_by_key(|(name, _)| *name);
        let section = |(name, range): &(PartName, Range<usize>)| {
            let crc = crc32fast::hash(&bytes[range.clone()]);
            debug_assert!(range.end <= u32::MAX as usize, "a blob has less than 4 GiB");
            let place = Place { at: range.start as u32, length: range.len() as u32, crc };
            Section { name: *name, place, page: OnceLock::new() }
        };
        let sections: Box<[Section]> = places.iter().map(section).collect();
        let head = Arc::new(base.head());
        let bytes = size_of::<ChunkParts>() + head.room_bytes() + size_of_val(&*sections);
        ChunkParts { head, absent: OnceLock::new(), sections, _charge: OverheadCharge::new(pager, bytes) }
    }
    /// The part of this name of the chunk that is stored as `blob`.
    pub(crate) fn part(&self, name: PartName, blob: BlobKey, pager: &Arc<Pager>) -> Part<'_> {
        if name == PartName::Head {
            return Part::Resident(&self.head);
        }
        let Ok(at) = self.sections.binary_search_by_key(&name, |section| section.name) else {
            let absent = || Arc::new(Base { part: Some(PartName::Absent), ..self.head.head() });
            return Part::Resident(self.absent.get_or_init(absent));
        };
        let section = &self.sections[at];
        let page = section.page.get_or_init(|| {
            let part = StoredPart { head: self.head.clone(), name, place: section.place };
            Page::stored(blob, StoredBase::Part(part), pager)
        });
        Part::Page(page)
    }
    /// The names of all tables and columns.
    pub(crate) fn names(&self) -> impl Iterator<Item = PartName> {
        self.sections.iter().map(|section| section.name)
    }
    /// The parts in memory.
    pub(crate) fn loaded(&self) -> impl Iterator<Item = Arc<Base>> {
        let pages = self.sections.iter().filter_map(|section| section.page.get());
        pages.filter_map(|page| Some(page.peek()?.shared().clone()))
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
            StoredBase::Part(part) => source.read_part(blob, part.place.at, part.place.length),
        }
    }
    fn decode(bytes: &[u8], known: &StoredBase) -> Result<Base, StoreError> {
        match known {
            StoredBase::Whole(known, Some(slot)) if slot.notes(bytes) => {
                let mut places = Vec::new();
                let base = decode_whole(bytes, *known, |name, range| places.push((name, range)))?;
                slot.parts.get_or_init(|| ChunkParts::new(&base, bytes, places, &slot.pager));
                Ok(base)
            }
            StoredBase::Whole(known, _) => decode_whole(bytes, *known, |_, _| {}),
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
        PartName::Table(lane) => base.tables.push((lane, Arc::new(decode_table(reader)?))),
        PartName::EdgeColumn(edge_type, key) => {
            base.edge_columns.push(((edge_type, key), Arc::new(decode_column(reader)?)));
        }
    }
    reader.finish()?;
    Ok(base)
}
