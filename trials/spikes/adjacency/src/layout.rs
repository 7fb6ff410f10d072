//! The candidates: chunks of 4,096 vertices, an immutable base and an immutable delta each, shared by `Arc`;
//! read (a) through the directory, (b) through a view of raw pointers, (c) through the same view in safe slices.

use crate::graph::Csr;
use std::sync::{Arc, OnceLock};

pub const SLOT_BITS: u32 = 12;
pub const CHUNK_SIZE: usize = 1 << SLOT_BITS;

/// What one (edge type, direction) of one chunk holds. Invariant: `offsets.len() == CHUNK_SIZE + 1`.
pub struct Table {
    pub offsets: Arc<[u32; CHUNK_SIZE + 1]>,
    pub neighbours: Arc<[u32]>,
    pub delta: Option<Arc<Delta>>,
}

/// Changes since the base. A dirty vertex finds its entry by rank in the bitmap: no hashing.
pub struct Delta {
    dirty: [u64; CHUNK_SIZE / 64],
    rank: [u16; CHUNK_SIZE / 64],
    entries: Vec<Entry>,
}

struct Entry {
    /// Sorted positions in the base list that are gone.
    removed: Box<[u32]>,
    added: Box<[u32]>,
    /// Candidate (d): the whole list, put together by the first reader and kept while the delta lives.
    assembled: OnceLock<Box<[u32]>>,
}

impl Delta {
    #[inline(always)]
    fn is_dirty(&self, slot: usize) -> bool {
        self.dirty[slot / 64] >> (slot % 64) & 1 == 1
    }
    #[cold]
    #[inline(never)]
    fn assemble<'a>(&self, slot: usize, base: &[u32], scratch: &'a mut Vec<u32>) -> &'a [u32] {
        let entry = self.entry(slot);
        scratch.clear();
        let mut from = 0;
        for &position in &entry.removed {
            scratch.extend_from_slice(&base[from..position as usize]);
            from = position as usize + 1;
        }
        scratch.extend_from_slice(&base[from..]);
        scratch.extend_from_slice(&entry.added);
        scratch
    }
    #[inline(always)]
    fn entry(&self, slot: usize) -> &Entry {
        let below = self.dirty[slot / 64] & ((1u64 << (slot % 64)) - 1);
        &self.entries[self.rank[slot / 64] as usize + below.count_ones() as usize]
    }
    #[inline(always)]
    fn kept(&self, slot: usize, base: &[u32]) -> &[u32] {
        self.entry(slot).assembled.get_or_init(|| {
            let mut list = Vec::with_capacity(base.len() + self.entry(slot).added.len());
            self.assemble(slot, base, &mut list);
            list.into()
        })
    }
    fn bytes(&self) -> usize {
        size_of::<Delta>()
            + self
                .entries
                .iter()
                .map(|e| size_of::<Entry>() + 4 * (e.removed.len() + e.added.len()))
                .sum::<usize>()
    }
}

pub struct Chunk {
    /// Keyed by (edge type, direction); few, so a linear look-up.
    pub tables: Vec<(u32, Table)>,
}

pub struct Snapshot {
    pub directory: Vec<Option<Arc<Chunk>>>,
}

/// One change set: for dirty vertices, removed positions and added neighbours.
pub type Changes = std::collections::BTreeMap<u32, (Vec<u32>, Vec<u32>)>;

impl Snapshot {
    pub fn build(csr: &Csr, changes: &Changes) -> Snapshot {
        let chunks = (csr.vertices() as usize).div_ceil(CHUNK_SIZE);
        let directory = (0..chunks).map(|chunk| Some(Arc::new(build_chunk(csr, chunk, changes)))).collect();
        Snapshot { directory }
    }
    pub fn bytes(&self) -> (usize, usize) {
        let tables = || self.directory.iter().flatten().map(|c| &c.tables[TABLE_AT].1);
        (
            tables().map(|t| 4 * (CHUNK_SIZE + 1) + 4 * t.neighbours.len() + size_of::<Table>()).sum(),
            tables().filter_map(|t| t.delta.as_ref()).map(|d| d.bytes()).sum(),
        )
    }
}

/// The searched table is neither first nor alone, as in a graph with several edge types.
const TABLE_AT: usize = 3;
pub const KEY: u32 = 7;

fn build_chunk(csr: &Csr, chunk: usize, changes: &Changes) -> Chunk {
    let first = chunk * CHUNK_SIZE;
    let end = (first + CHUNK_SIZE).min(csr.vertices() as usize);
    let base = csr.offsets[first];
    let mut offsets = Arc::new([0u32; CHUNK_SIZE + 1]);
    let slots = Arc::get_mut(&mut offsets).expect("just made");
    for (slot, offset) in slots.iter_mut().enumerate() {
        *offset = csr.offsets[(first + slot).min(end)] - base;
    }
    let neighbours: Arc<[u32]> = csr.neighbours[base as usize..csr.offsets[end] as usize].into();
    let mut delta = Delta { dirty: [0; 64], rank: [0; 64], entries: Vec::new() };
    for (&v, (removed, added)) in changes.range(first as u32..end as u32) {
        let slot = v as usize - first;
        delta.dirty[slot / 64] |= 1 << (slot % 64);
        delta.entries.push(Entry {
            removed: removed.clone().into(),
            added: added.clone().into(),
            assembled: OnceLock::new(),
        });
    }
    for word in 1..64 {
        delta.rank[word] = delta.rank[word - 1] + delta.dirty[word - 1].count_ones() as u16;
    }
    let delta = (!delta.entries.is_empty()).then(|| Arc::new(delta));
    let empty =
        |key| (key, Table { offsets: Arc::new([0; CHUNK_SIZE + 1]), neighbours: Arc::new([]), delta: None });
    let mut tables = vec![empty(1), empty(2), empty(4)];
    tables.push((KEY, Table { offsets, neighbours, delta }));
    Chunk { tables }
}

/// What a search needs.
pub trait Lists: Sync {
    fn vertices(&self) -> u32;
    fn list<'a>(&'a self, v: u32, scratch: &'a mut Vec<u32>) -> &'a [u32];
}

impl Lists for Csr {
    fn vertices(&self) -> u32 {
        Csr::vertices(self)
    }
    #[inline(always)]
    fn list<'a>(&'a self, v: u32, _: &'a mut Vec<u32>) -> &'a [u32] {
        Csr::list(self, v)
    }
}

/// (a) directory, chunk, table, each time.
pub struct Directory<'s>(pub &'s Snapshot, pub u32);

impl Lists for Directory<'_> {
    fn vertices(&self) -> u32 {
        self.1
    }
    #[inline(always)]
    fn list<'a>(&'a self, v: u32, scratch: &'a mut Vec<u32>) -> &'a [u32] {
        let Some(chunk) = &self.0.directory[(v >> SLOT_BITS) as usize] else { return &[] };
        let Some((_, table)) = chunk.tables.iter().find(|(key, _)| *key == KEY) else { return &[] };
        let slot = v as usize % CHUNK_SIZE;
        let base = &table.neighbours[table.offsets[slot] as usize..table.offsets[slot + 1] as usize];
        match &table.delta {
            Some(delta) if delta.is_dirty(slot) => delta.assemble(slot, base, scratch),
            _ => base,
        }
    }
}

/// (b) a view of raw pointers, 24 bytes a chunk, built once per query in O(chunks).
pub struct RawView<'s> {
    entries: Vec<RawEntry>,
    vertices: u32,
    _pins: &'s Snapshot,
}
struct RawEntry {
    offsets: *const u32,
    neighbours: *const u32,
    delta: *const Delta,
}
// SAFETY: the pointers lead into immutable memory kept alive by the borrowed snapshot.
unsafe impl Sync for RawView<'_> {}

impl<'s> RawView<'s> {
    pub fn build(snapshot: &'s Snapshot, vertices: u32) -> Self {
        let entries = tables(snapshot)
            .map(|table| RawEntry {
                offsets: table.offsets.as_ptr(),
                neighbours: table.neighbours.as_ptr(),
                delta: table.delta.as_ref().map_or(std::ptr::null(), Arc::as_ptr),
            })
            .collect();
        RawView { entries, vertices, _pins: snapshot }
    }
}

fn tables(snapshot: &Snapshot) -> impl Iterator<Item = &Table> {
    let of = |c: &'_ Chunk| c.tables.iter().position(|(key, _)| *key == KEY).expect("present");
    snapshot.directory.iter().flatten().map(move |chunk| &chunk.tables[of(chunk)].1)
}

impl Lists for RawView<'_> {
    fn vertices(&self) -> u32 {
        self.vertices
    }
    #[inline(always)]
    fn list<'a>(&'a self, v: u32, scratch: &'a mut Vec<u32>) -> &'a [u32] {
        debug_assert!(v < self.vertices);
        let slot = v as usize % CHUNK_SIZE;
        // SAFETY: v is below the bound, so its chunk has an entry; offsets holds CHUNK_SIZE + 1 rising numbers
        // that end at the length of neighbours; the snapshot outlives self.
        unsafe {
            let entry = self.entries.get_unchecked((v >> SLOT_BITS) as usize);
            let (start, end) = (*entry.offsets.add(slot), *entry.offsets.add(slot + 1));
            let base =
                std::slice::from_raw_parts(entry.neighbours.add(start as usize), (end - start) as usize);
            if entry.delta.is_null() || !(*entry.delta).is_dirty(slot) {
                return base;
            }
            (*entry.delta).assemble(slot, base, scratch)
        }
    }
}

/// (c) the same view without `unsafe`: references and bounds checks.
pub struct SafeView<'s> {
    entries: Vec<SafeEntry<'s>>,
    vertices: u32,
}
struct SafeEntry<'s> {
    offsets: &'s [u32; CHUNK_SIZE + 1],
    neighbours: &'s [u32],
    delta: Option<&'s Delta>,
}

impl<'s> SafeView<'s> {
    pub fn build(snapshot: &'s Snapshot, vertices: u32) -> Self {
        let entry = |t: &'s Table| SafeEntry {
            offsets: &t.offsets,
            neighbours: &t.neighbours,
            delta: t.delta.as_deref(),
        };
        SafeView { entries: tables(snapshot).map(entry).collect(), vertices }
    }
}

impl Lists for SafeView<'_> {
    fn vertices(&self) -> u32 {
        self.vertices
    }
    #[inline(always)]
    fn list<'a>(&'a self, v: u32, scratch: &'a mut Vec<u32>) -> &'a [u32] {
        let entry = &self.entries[(v >> SLOT_BITS) as usize];
        let slot = v as usize % CHUNK_SIZE;
        let base = &entry.neighbours[entry.offsets[slot] as usize..entry.offsets[slot + 1] as usize];
        match entry.delta {
            Some(delta) if delta.is_dirty(slot) => delta.assemble(slot, base, scratch),
            _ => base,
        }
    }
}

/// (d) the safe view, with dirty lists assembled once and kept beside the delta.
pub struct KeptView<'s>(pub SafeView<'s>);

impl Lists for KeptView<'_> {
    fn vertices(&self) -> u32 {
        self.0.vertices
    }
    #[inline(always)]
    fn list<'a>(&'a self, v: u32, _: &'a mut Vec<u32>) -> &'a [u32] {
        let entry = &self.0.entries[(v >> SLOT_BITS) as usize];
        let slot = v as usize % CHUNK_SIZE;
        let base = &entry.neighbours[entry.offsets[slot] as usize..entry.offsets[slot + 1] as usize];
        match entry.delta {
            Some(delta) if delta.is_dirty(slot) => delta.kept(slot, base),
            _ => base,
        }
    }
}
