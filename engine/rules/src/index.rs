//! An index of a relation by some of its columns: for each key the numbers of its facts, side by side.
//!
//! The lists lie in one arena, each in a piece of a power of two; a fact knows its position in its list, so that it is removed without a search,
//! however long the list is.

use crate::relation::{Row, hash};
use crate::table::Table;
use crate::words::Word;

#[derive(Clone, Copy, Default)]
struct List {
    start: u32,
    len: u32,
    /// Its capacity is `1 << class`.
    class: u8,
}

pub(crate) struct Index {
    columns: Vec<usize>,
    lists_by_key: Table,
    lists: Vec<List>,
    free_lists: Vec<u32>,
    arena: Vec<Row>,
    /// Starts of free pieces, by class.
    free: Vec<Vec<u32>>,
    /// The position of each fact in its list.
    places: Vec<u32>,
}

impl Index {
    pub fn new(columns: &[usize]) -> Index {
        Index {
            columns: columns.to_vec(),
            lists_by_key: Table::default(),
            lists: Vec::new(),
            free_lists: Vec::new(),
            arena: Vec::new(),
            free: vec![Vec::new(); 32],
            places: Vec::new(),
        }
    }
    pub fn columns(&self) -> &[usize] {
        &self.columns
    }
    pub fn bytes(&self) -> usize {
        let lists = self.lists.capacity() * size_of::<List>() + self.free_lists.capacity() * size_of::<u32>();
        self.lists_by_key.bytes()
            + lists
            + (self.arena.capacity() + self.places.capacity()) * size_of::<u32>()
    }
    #[inline]
    fn find(
        &self,
        hash: u32,
        records: &[u32],
        stride: usize,
        mut key: impl FnMut(usize) -> Word,
    ) -> Option<u32> {
        self.lists_by_key.find(hash, |list| {
            let first = self.arena[self.lists[list as usize].start as usize] as usize * stride;
            self.columns.iter().enumerate().all(|(at, column)| records[first + column] == key(at))
        })
    }
    /// Facts with this key.
    #[inline]
    pub fn seek(&self, key: &[Word], records: &[u32], stride: usize) -> &[Row] {
        match self.find(hash(key.iter().copied()), records, stride, |at| key[at]) {
            Some(list) => {
                let List { start, len, .. } = self.lists[list as usize];
                &self.arena[start as usize..(start + len) as usize]
            }
            None => &[],
        }
    }
    fn piece(&mut self, class: u8) -> u32 {
        self.free[class as usize].pop().unwrap_or_else(|| {
            let start = self.arena.len() as u32;
            self.arena.resize(self.arena.len() + (1 << class), 0);
            start
        })
    }
    pub fn insert(&mut self, row: Row, records: &[u32], stride: usize) {
        let at = row as usize * stride;
        let hash = hash(self.columns.iter().map(|column| records[at + column]));
        let known = self.find(hash, records, stride, |place| records[at + self.columns[place]]);
        let list = known.unwrap_or_else(|| {
            let start = self.piece(0);
            let list = self.free_lists.pop().unwrap_or(self.lists.len() as u32);
            if list as usize == self.lists.len() {
                self.lists.push(List::default());
            }
            self.lists[list as usize] = List { start, len: 0, class: 0 };
            // A list is compared by its first fact.
            self.arena[start as usize] = row;
            self.lists_by_key.insert(hash, list);
            list
        });
        let List { mut start, len, mut class } = self.lists[list as usize];
        if len == 1 << class {
            let wider = self.piece(class + 1);
            self.arena.copy_within(start as usize..(start + len) as usize, wider as usize);
            self.free[class as usize].push(start);
            (start, class) = (wider, class + 1);
        }
        self.arena[(start + len) as usize] = row;
        self.lists[list as usize] = List { start, len: len + 1, class };
        if self.places.len() <= row as usize {
            self.places.resize(row as usize + 1, 0);
        }
        self.places[row as usize] = len;
    }
    pub fn remove(&mut self, row: Row, records: &[u32], stride: usize) {
        let at = row as usize * stride;
        let hash = hash(self.columns.iter().map(|column| records[at + column]));
        let Some(list) = self.find(hash, records, stride, |place| records[at + self.columns[place]]) else {
            return;
        };
        let List { start, len, class } = self.lists[list as usize];
        if len == 1 {
            self.lists_by_key.remove(hash, list);
            self.free[class as usize].push(start);
            self.free_lists.push(list);
            return;
        }
        let (place, last) = (self.places[row as usize], self.arena[(start + len - 1) as usize]);
        self.arena[(start + place) as usize] = last;
        self.places[last as usize] = place;
        self.lists[list as usize].len = len - 1;
    }
}
