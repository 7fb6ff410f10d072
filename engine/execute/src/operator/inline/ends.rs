//! Rows of a test that ask for ends of the same walk: the walk is made once for all of them ([`plan::Scope::end`]).
//!
//! Idea: of a batch, the rows whose imports are the same but for the end share a walk. It is over once all that is asked for was met; a walk that goes
//! to its last end instead has met all there are, and they are kept for rows of later batches. Invariant: `bytes` is the size of what is kept, at most
//! [`BYTES_MAX`]; beyond that all is forgotten. Twin: the number of ways, which is found row by row.

use super::memo::Key;
use foldhash::fast::FixedState;
use hashbrown::hash_map::Entry;
use hashbrown::{HashMap, HashSet};
use model::{Batch, VertexId};

/// Bytes of the ends that are kept.
const BYTES_MAX: usize = 16 << 20;
/// Ends that all walks of a batch note on their way: they are not charged. A walk that would note more is not kept.
const NOTED_MAX: usize = 1 << 17;
/// Bytes of a walk that is kept, beside its ends, ...
const WALK_BYTES: usize = 96;
/// ... and of one of them, in a list or in a set.
const END_BYTES: usize = 24;

/// Where the end of a walk stands.
pub(super) struct EndColumns {
    /// In the outer rows: the one that is asked for.
    pub(super) asked: usize,
    /// In the inner rows: the one that was met.
    pub(super) met: usize,
}

/// All ends of a walk.
enum WalkEnds {
    /// As they were met.
    Met(Vec<VertexId>),
    /// Once somebody has asked for them.
    Set(HashSet<VertexId, FixedState>),
}

/// A walk of the present batch.
struct Walk {
    /// Ends that are asked for and were not met.
    left: u32,
    /// What it begins with and all ends it has met; none where it will not be kept.
    noted: Option<(Box<[Key]>, Vec<VertexId>)>,
}

/// Outer rows by the walks that they ask for. A row without an end to ask for is in none: nothing leads there.
#[derive(Default)]
pub(super) struct Walks {
    walks: Vec<Walk>,
    /// By walk and end, the row that asks for it.
    asking: HashMap<(u32, VertexId), u32, FixedState>,
    /// Rows that ask as another does: each with that one.
    alike: Vec<(u32, u32)>,
    /// Walks of the present batch by what they begin with.
    numbers: HashMap<Box<[Key]>, u32, FixedState>,
    /// Walks of earlier batches that met all their ends.
    kept: HashMap<Box<[Key]>, WalkEnds, FixedState>,
    bytes: usize,
    /// Ends that walks of the present batch have noted.
    noted: usize,
}

/// What an end means that was met.
pub(super) enum Met {
    /// Nobody asks for it.
    Nothing,
    /// This row has its answer.
    Row(usize),
    /// Likewise, and it was the last of the walk.
    Last(usize),
}

impl Walks {
    /// Takes a batch whose walks are the same where these columns are. Gives rows their answers that are known, and returns a row of each walk that is
    /// to be made.
    pub(super) fn begin(
        &mut self,
        outer: &Batch,
        (columns, end): (&[usize], usize),
        counts: &mut [i64],
        may_keep: bool,
    ) -> Vec<u32> {
        let mut rows = Vec::new();
        let mut key = Vec::with_capacity(columns.len());
        for (row, count) in counts.iter_mut().enumerate() {
            let Some(end) = outer.column(end).vertex(row) else { continue };
            key.clear();
            key.extend(columns.iter().map_while(|at| Key::of(&outer.get(row, *at))));
            let is_whole = key.len() == columns.len();
            if let Some(ends) = self.kept.get_mut(&key[..]).filter(|_| is_whole) {
                *count = i64::from(ends.contains(end));
                continue;
            }
            let walk = match self.numbers.get(&key[..]).filter(|_| is_whole) {
                Some(walk) => *walk,
                None => {
                    let key: Option<Box<[Key]>> = is_whole.then(|| key[..].into());
                    let next = self.walks.len() as u32;
                    self.numbers.extend(key.clone().map(|key| (key, next)));
                    let noted = key.filter(|_| may_keep).map(|key| (key, Vec::new()));
                    self.walks.push(Walk { left: 0, noted });
                    rows.push(row as u32);
                    next
                }
            };
            match self.asking.entry((walk, end)) {
                Entry::Occupied(first) => self.alike.push((row as u32, *first.get())),
                Entry::Vacant(place) => {
                    place.insert(row as u32);
                    self.walks[walk as usize].left += 1;
                }
            }
        }
        rows
    }
    /// A walk has met an end.
    pub(super) fn meet(&mut self, number: usize, end: Option<VertexId>) -> Met {
        let (Some(walk), Some(end)) = (self.walks.get_mut(number), end) else { return Met::Nothing };
        if let Some((_, met)) = &mut walk.noted {
            met.push(end);
            self.noted += 1;
            if self.noted > NOTED_MAX {
                self.noted -= met.len();
                walk.noted = None;
            }
        }
        let Some(row) = self.asking.remove(&(number as u32, end)) else { return Met::Nothing };
        walk.left -= 1;
        if walk.left > 0 {
            return Met::Row(row as usize);
        }
        self.noted -= walk.noted.take().map_or(0, |(_, met)| met.len());
        Met::Last(row as usize)
    }
    /// The walks are made: gives the answers of rows to those that ask for the same, and keeps all ends of walks that met all.
    pub(super) fn end(&mut self, counts: &mut [i64]) {
        self.noted = 0;
        self.alike.drain(..).for_each(|(row, first)| counts[row as usize] = counts[first as usize]);
        self.asking.clear();
        self.numbers.clear();
        for walk in self.walks.drain(..) {
            let Some((key, met)) = walk.noted else { continue };
            let keys: usize = key.iter().map(Key::bytes).sum();
            let bytes = WALK_BYTES + keys + met.len() * END_BYTES;
            if self.bytes + bytes > BYTES_MAX {
                (self.kept, self.bytes) = (HashMap::default(), 0);
            }
            self.bytes += bytes;
            self.kept.insert(key, WalkEnds::Met(met));
        }
    }
    /// Bytes of the ends that are kept, roughly.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
    /// Forgets all, also the batch at work.
    pub(super) fn forget(&mut self) {
        *self = Walks::default();
    }
}

impl WalkEnds {
    fn contains(&mut self, end: VertexId) -> bool {
        if let WalkEnds::Met(met) = self {
            *self = WalkEnds::Set(std::mem::take(met).into_iter().collect());
        }
        matches!(self, WalkEnds::Set(ends) if ends.contains(&end))
    }
}
