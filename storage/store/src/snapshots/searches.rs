//! Cached searches of a restricted reader: the names that it has met, and chunks where others were searched in vain (see `name_search`).
//!
//! Invariant: a cached search is true of the versions of chunks that it names. Cost: 8 bytes a chunk for each snapshot with a cached search, charged
//! to the budget; [`SEARCHES_MAX`] searches.

use crate::paging::pager::Charge;
use crate::schema::met::{MetNames, NameNo};
use crate::versions::directory::{Chunks, Directory};
use model::{ChunkNo, Direction};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Searches that are cached for one reader; beyond, the oldest is dropped.
const SEARCHES_MAX: usize = 64;

/// Which version each chunk of a graph has.
pub(crate) struct Versions {
    /// 0 where there is no such chunk.
    numbers: Box<[u64]>,
    _charge: Charge,
}

impl Versions {
    pub(crate) fn of(chunks: Chunks<'_>) -> Versions {
        let Chunks { directory, pager } = chunks;
        let numbers: Box<[u64]> = (0..directory.bound()).map(|chunk| version_of(directory, chunk)).collect();
        let charge = Charge::new(pager, size_of_val(&*numbers));
        Versions { numbers, _charge: charge }
    }
    /// Is the chunk the same in this graph?
    pub(crate) fn is_same(&self, directory: &Directory, chunk: ChunkNo) -> bool {
        self.numbers.get(chunk as usize).copied().unwrap_or(0) == version_of(directory, chunk)
    }
}

fn version_of(directory: &Directory, chunk: ChunkNo) -> u64 {
    directory.get(chunk).map_or(0, |cell| cell.version)
}

/// The cached result of one search.
#[derive(Clone)]
pub(crate) struct Searched {
    pub(crate) name: NameNo,
    /// How edges were followed.
    pub(crate) direction: Direction,
    pub(crate) versions: Arc<Versions>,
    /// In these versions, nothing in chunks below this carries the name.
    pub(crate) done: ChunkNo,
    /// Something in this chunk carried it, or had an edge that did, in some version.
    pub(crate) hit: Option<ChunkNo>,
}

/// The names that one reader has met, and its searches.
#[derive(Default)]
pub(crate) struct Searches {
    met: MetNames,
    /// The one that was done last at the end.
    kept: Mutex<Vec<Searched>>,
    chunks: AtomicU64,
}

impl Searches {
    pub(crate) fn has_met(&self, name: NameNo) -> bool {
        self.met.has(name)
    }
    /// It stays met: cached searches for a property key are of no more use.
    pub(crate) fn add_met(&self, name: NameNo) {
        self.met.add(name);
        if !matches!(name, NameNo::EdgeType(_)) {
            self.kept.lock().retain(|kept| kept.name != name);
        }
    }
    pub(crate) fn count_chunk(&self) {
        self.chunks.fetch_add(1, Ordering::Relaxed);
    }
    /// Chunks that were looked at.
    pub(crate) fn chunks_searched(&self) -> u64 {
        self.chunks.load(Ordering::Relaxed)
    }
    pub(crate) fn before(&self, name: NameNo) -> Option<Searched> {
        self.kept.lock().iter().find(|kept| kept.name == name).cloned()
    }
    pub(crate) fn keep(&self, searched: Searched) {
        let mut kept = self.kept.lock();
        kept.retain(|other| other.name != searched.name);
        if kept.len() >= SEARCHES_MAX {
            kept.remove(0);
        }
        kept.push(searched);
    }
}
