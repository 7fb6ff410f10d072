//! One relation: its facts as flat records of words, found by all their columns or, through indexes, by some.
//!
//! A record is the fact's words, its *rank* and its *support* (see [`crate::maintain`]), and its state. While a change is carried through the rules
//! the old and the new answer coexist: a fact that goes is marked, and is removed only when the change is settled.

use crate::error::RulesError;
use crate::index::Index;
use crate::limits::{FACTS_MAX, SUPPORT_MAX, WARM_FACTS};
use crate::table::{SEED, Table, kept, mix};
use crate::words::Word;

/// Number of a fact's record.
pub(crate) type Row = u32;

/// States are bits, so that a mask says which facts a reader sees.
pub(crate) mod state {
    /// Derived, its consequences not yet found: not visible.
    pub const WAITING: u32 = 0;
    /// There before the change and after it.
    pub const STABLE: u32 = 1;
    /// New with the change.
    pub const ADDED: u32 = 2;
    /// Gone with the change.
    pub const REMOVED: u32 = 4;
    /// Bits of the state.
    pub const BITS: u32 = 3;
    pub const ALL: u32 = 7;
}

/// The hash of a fact, or of the columns of a key.
#[inline]
pub(crate) fn hash(words: impl IntoIterator<Item = Word>) -> u32 {
    kept(words.into_iter().fold(SEED, mix))
}

pub(crate) struct Relation {
    pub arity: usize,
    records: Vec<u32>,
    rows: Table,
    free: Vec<Row>,
    pub indexes: Vec<Index>,
    /// Facts there.
    live: usize,
    /// Marked since the last settling, each once or more.
    pub marked: Vec<Row>,
}

impl Relation {
    pub fn new(arity: usize) -> Relation {
        Relation {
            arity,
            records: Vec::new(),
            rows: Table::default(),
            free: Vec::new(),
            indexes: Vec::new(),
            live: 0,
            marked: Vec::new(),
        }
    }
    #[inline]
    fn stride(&self) -> usize {
        self.arity + 2
    }
    /// Facts and free records.
    pub fn bound(&self) -> Row {
        (self.records.len() / self.stride()) as Row
    }
    /// Facts there, waiting ones included.
    pub fn len(&self) -> usize {
        self.live
    }
    pub fn bytes(&self) -> usize {
        self.records.capacity() * size_of::<u32>()
            + self.rows.bytes()
            + self.indexes.iter().map(Index::bytes).sum::<usize>()
    }
    #[inline]
    pub fn words(&self, row: Row) -> &[Word] {
        let at = row as usize * self.stride();
        &self.records[at..at + self.arity]
    }
    /// Words, rank, support and state.
    #[inline]
    pub fn record(&self, row: Row) -> &[u32] {
        let at = row as usize * self.stride();
        &self.records[at..at + self.stride()]
    }
    #[inline]
    pub fn rank(&self, row: Row) -> u32 {
        self.records[row as usize * self.stride() + self.arity]
    }
    #[inline]
    pub fn state(&self, row: Row) -> u32 {
        self.records[row as usize * self.stride() + self.arity + 1] & state::ALL
    }
    /// Derivations of lower rank.
    #[inline]
    pub fn support(&self, row: Row) -> u32 {
        self.records[row as usize * self.stride() + self.arity + 1] >> state::BITS
    }
    #[inline]
    pub fn set_state(&mut self, row: Row, state: u32) {
        let at = row as usize * self.stride() + self.arity + 1;
        self.records[at] = self.records[at] & !state::ALL | state;
    }
    pub fn set_rank(&mut self, row: Row, rank: u32, support: u32) {
        let at = row as usize * self.stride() + self.arity;
        self.records[at] = rank;
        self.records[at + 1] = self.records[at + 1] & state::ALL | support << state::BITS;
    }
    /// One derivation more.
    #[inline]
    pub fn add_support(&mut self, row: Row) -> Result<(), RulesError> {
        let at = row as usize * self.stride() + self.arity + 1;
        if self.records[at] >> state::BITS >= SUPPORT_MAX {
            return Err(RulesError::TooLarge {
                what: "derivations of one fact",
                limit: SUPPORT_MAX as usize,
            });
        }
        self.records[at] += 1 << state::BITS;
        Ok(())
    }
    /// One derivation less; how many are left.
    #[inline]
    pub fn take_support(&mut self, row: Row) -> u32 {
        let at = row as usize * self.stride() + self.arity + 1;
        debug_assert!(self.records[at] >> state::BITS > 0, "a derivation is taken back once");
        self.records[at] -= 1 << state::BITS;
        self.records[at] >> state::BITS
    }
    /// The fact of these words, whatever its state.
    #[inline]
    pub fn find(&self, words: &[Word]) -> Option<Row> {
        self.find_hashed(hash(words.iter().copied()), words)
    }
    #[inline]
    pub fn find_hashed(&self, hash: u32, words: &[Word]) -> Option<Row> {
        // Word by word: they are few, and a comparison of memory is a call.
        let is_it = |row| self.words(row).iter().zip(words).all(|(one, other)| one == other);
        self.rows.find(hash, is_it)
    }
    /// Prefetches the slots of these hashes, and their facts, into the processor's cache: independent reads wait for memory together, where finds one
    /// after another each wait on their own.
    #[inline]
    pub fn warm(&self, hashes: &[u32]) {
        let mut rows = [0; WARM_FACTS];
        for (row, hash) in rows.iter_mut().zip(hashes) {
            *row = self.rows.peek(*hash);
        }
        let first = |row: &Row| self.records.get(*row as usize * self.stride());
        std::hint::black_box(rows.iter().filter_map(first).fold(0, |all, word| all ^ word));
    }
    /// Is there such a fact in one of these states?
    #[inline]
    pub fn sees(&self, words: &[Word], mask: u32) -> bool {
        self.find(words).is_some_and(|row| self.state(row) & mask != 0)
    }
    /// A new record, not visible and in no index.
    pub fn insert(&mut self, hash: u32, words: &[Word], rank: u32, support: u32) -> Result<Row, RulesError> {
        let row = match self.free.pop() {
            Some(row) => {
                let at = row as usize * self.stride();
                self.records[at..at + self.arity].copy_from_slice(words);
                row
            }
            None => {
                let row = self.bound();
                if row as usize >= FACTS_MAX {
                    return Err(RulesError::TooLarge { what: "facts of one relation", limit: FACTS_MAX });
                }
                self.records.extend_from_slice(words);
                self.records.extend([0, 0]);
                row
            }
        };
        let at = row as usize * self.stride() + self.arity;
        self.records[at] = rank;
        self.records[at + 1] = support << state::BITS;
        self.rows.insert(hash, row);
        self.live += 1;
        Ok(row)
    }
    /// Puts a record into the indexes: from now on readers may see it.
    #[inline]
    pub fn index(&mut self, row: Row) {
        let stride = self.stride();
        for index in &mut self.indexes {
            index.insert(row, &self.records, stride);
        }
    }
    /// Marks a fact as come or gone.
    pub fn mark(&mut self, row: Row, state: u32) {
        self.set_state(row, state);
        self.marked.push(row);
    }
    /// The index of these columns, made where there is none.
    pub fn index_of(&mut self, columns: &[usize]) -> usize {
        if let Some(known) = self.indexes.iter().position(|index| index.columns() == columns) {
            return known;
        }
        let mut index = Index::new(columns);
        for row in 0..self.bound() {
            if self.state(row) != state::WAITING {
                index.insert(row, &self.records, self.stride());
            }
        }
        self.indexes.push(index);
        self.indexes.len() - 1
    }
    /// Facts with this key in an index.
    #[inline]
    pub fn seek(&self, index: usize, key: &[Word]) -> &[Row] {
        self.indexes[index].seek(key, &self.records, self.stride())
    }
    /// Makes the change final: gone facts are removed, new ones become stable.
    pub fn settle(&mut self) {
        let mut marked = std::mem::take(&mut self.marked);
        marked.sort_unstable();
        marked.dedup();
        for row in marked.drain(..) {
            match self.state(row) {
                state::ADDED => self.set_state(row, state::STABLE),
                state::REMOVED => self.forget(row),
                // Came and went with the same change.
                state::WAITING if self.support(row) == 0 => self.forget(row),
                _ => {}
            }
        }
        self.marked = marked;
    }
    fn forget(&mut self, row: Row) {
        let stride = self.stride();
        for index in &mut self.indexes {
            index.remove(row, &self.records, stride);
        }
        let hash = hash(self.words(row).iter().copied());
        self.rows.remove(hash, row);
        self.set_rank(row, 0, 0);
        self.set_state(row, state::WAITING);
        self.free.push(row);
        self.live -= 1;
    }
    /// Forgets the facts that a change moved, of a relation that is read on demand.
    pub fn forget_moved(&mut self) {
        if self.live > 0 {
            self.clear();
        }
    }
    /// Forgets all facts; the indexes stay, empty.
    pub fn clear(&mut self) {
        let indexes = self.indexes.iter().map(|index| Index::new(index.columns())).collect();
        *self = Relation { indexes, ..Relation::new(self.arity) };
    }
    /// Facts in one of these states.
    pub fn seen(&self, mask: u32) -> impl Iterator<Item = Row> + '_ {
        (0..self.bound()).filter(move |row| self.state(*row) & mask != 0)
    }
    /// Facts marked in this state, each once.
    pub fn marked_as(&self, state: u32) -> Vec<Row> {
        let mut found: Vec<Row> =
            self.marked.iter().copied().filter(|row| self.state(*row) == state).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}
