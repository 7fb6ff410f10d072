//! Ids of the files: as columns while they are read, then as a map from id to vertex.
//!
//! An id that is written as an integer would be (`17`, not `017`) is an integer, any other is text: the map keeps both, and the
//! same bytes always mean the same id. Integers that lie close together are looked up in an array, others in hash tables by
//! shards, which are filled in parallel. Of equal ids the first in file order wins, whatever the number of threads.

use crate::cell;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::column::Texts;
use model::{Column, Nulls};
use parking_lot::Mutex;
use store::Parallel;

/// The content of an unused entry of an array.
pub(crate) const NO_ROW: u32 = u32::MAX;
/// Hash tables of a large map.
const SHARDS: usize = 16;
/// Ids below which one hash table is filled faster than many.
const SHARDED_MIN: usize = 1 << 15;
/// Array places that an id may cost; a hash table needs about this much memory.
const PLACES_PER_ID_MAX: u64 = 4;

/// One id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Id<'a> {
    Int(i64),
    Text(&'a str),
}

impl<'a> Id<'a> {
    /// The id that these bytes are; none if they are not UTF-8.
    #[inline]
    pub fn of(bytes: &'a [u8]) -> Option<Id<'a>> {
        match canonical_int(bytes) {
            Some(int) => Some(Id::Int(int)),
            None => std::str::from_utf8(bytes).ok().map(Id::Text),
        }
    }
}

/// The integer, if it is written as integers are printed.
#[inline]
fn canonical_int(bytes: &[u8]) -> Option<i64> {
    let canonical = matches!(bytes, [b'0'] | [b'-', b'1'..=b'9', ..] | [b'1'..=b'9', ..]);
    if canonical { cell::int(bytes) } else { None }
}

/// Ids of many rows.
#[derive(Debug)]
pub(crate) enum IdColumn {
    Ints(Vec<i64>),
    Texts(Texts),
}

impl Default for IdColumn {
    fn default() -> IdColumn {
        IdColumn::Ints(Vec::new())
    }
}

impl IdColumn {
    pub fn len(&self) -> usize {
        match self {
            IdColumn::Ints(rows) => rows.len(),
            IdColumn::Texts(rows) => rows.len(),
        }
    }
    pub fn push(&mut self, id: Id<'_>) {
        match (&mut *self, id) {
            (IdColumn::Ints(rows), Id::Int(int)) => rows.push(int),
            (IdColumn::Texts(rows), Id::Text(text)) => rows.push(text),
            (IdColumn::Texts(rows), Id::Int(int)) => rows.push(&int.to_string()),
            (IdColumn::Ints(_), Id::Text(text)) => {
                self.make_texts();
                self.push(Id::Text(text));
            }
        }
    }
    /// Integers become the texts they were.
    pub fn make_texts(&mut self) {
        if let IdColumn::Ints(rows) = self {
            let mut texts = Texts::default();
            rows.iter().for_each(|int| texts.push(&int.to_string()));
            *self = IdColumn::Texts(texts);
        }
    }
    #[inline]
    pub fn get(&self, row: usize) -> Id<'_> {
        match self {
            IdColumn::Ints(rows) => Id::Int(rows[row]),
            IdColumn::Texts(rows) => {
                let text = rows.get(row);
                canonical_int(text.as_bytes()).map_or(Id::Text(text), Id::Int)
            }
        }
    }
    /// As a property column.
    pub fn into_column(self) -> Column {
        match self {
            IdColumn::Ints(rows) => Column::Int(rows, Nulls::none()),
            IdColumn::Texts(rows) => Column::Text(rows, Nulls::none()),
        }
    }
}

type Table = HashMap<i64, u32, FixedState>;

/// Integer ids.
enum Ints {
    /// By id, counted from the first number.
    Array(i64, Vec<u32>),
    /// By shard of the id's hash.
    Hashed(Vec<Table>),
}

/// From id to a number: the row where it was met, later the dense vertex.
pub(crate) struct IdMap {
    ints: Ints,
    texts: HashMap<Box<str>, u32, FixedState>,
}

impl Default for IdMap {
    fn default() -> IdMap {
        IdMap { ints: Ints::Hashed(vec![Table::default()]), texts: HashMap::default() }
    }
}

#[inline]
fn shard_of(id: i64, count: usize) -> usize {
    // Multiplicative hashing; the tables hash on their own.
    ((id as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (count - 1)
}

impl IdMap {
    /// A map of all these ids to their rows, counted over all columns; and the rows whose id came before, sorted.
    pub fn build(columns: &[&IdColumn], parallel: Parallel<'_>) -> (IdMap, Vec<u32>) {
        let mut map = IdMap::default();
        let mut repeated = map.add_ints(columns, parallel);
        let mut row = 0;
        for column in columns {
            if let IdColumn::Texts(_) = column {
                (0..column.len()).for_each(|at| map.add(column.get(at), row + at as u32, &mut repeated));
            }
            row += column.len() as u32;
        }
        repeated.sort_unstable();
        (map, repeated)
    }

    fn add_ints(&mut self, columns: &[&IdColumn], parallel: Parallel<'_>) -> Vec<u32> {
        let mut row = 0;
        let mut pieces: Vec<(u32, &[i64])> = Vec::new();
        for column in columns {
            if let IdColumn::Ints(ids) = column {
                pieces.push((row, ids));
            }
            row += column.len() as u32;
        }
        let count: usize = pieces.iter().map(|(_, ids)| ids.len()).sum();
        let all = || pieces.iter().flat_map(|(_, ids)| ids.iter().copied());
        let (Some(low), Some(high)) = (all().min(), all().max()) else { return Vec::new() };
        let places = high.abs_diff(low);
        // With texts in between, an integer may come from any column: only the tables take them in any order.
        if count as u32 == row && places < count as u64 * PLACES_PER_ID_MAX {
            let mut array = vec![NO_ROW; places as usize + 1];
            let mut repeated = Vec::new();
            for (row, id) in (0u32..).zip(all()) {
                let place = &mut array[id.abs_diff(low) as usize];
                if *place == NO_ROW { *place = row } else { repeated.push(row) }
            }
            self.ints = Ints::Array(low, array);
            return repeated;
        }
        let shards = if count < SHARDED_MIN { 1 } else { SHARDS };
        let filled: Vec<Mutex<(Table, Vec<u32>)>> = (0..shards).map(|_| Mutex::default()).collect();
        parallel(shards, &|shard| {
            let (table, repeated) = &mut *filled[shard].lock();
            table.reserve(count / shards);
            for (first, ids) in &pieces {
                for (row, id) in (*first..).zip(*ids) {
                    if shard_of(*id, shards) == shard && table.try_insert(*id, row).is_err() {
                        repeated.push(row);
                    }
                }
            }
        });
        let (tables, repeated): (Vec<_>, Vec<_>) = filled.into_iter().map(Mutex::into_inner).unzip();
        self.ints = Ints::Hashed(tables);
        repeated.concat()
    }

    /// Adds an id that is met in `row`, or the row to the repeated ones. Earlier rows must have been added before.
    fn add(&mut self, id: Id<'_>, row: u32, repeated: &mut Vec<u32>) {
        match (id, &mut self.ints) {
            (Id::Text(text), _) => {
                if self.texts.contains_key(text) {
                    repeated.push(row);
                } else {
                    self.texts.insert(text.into(), row);
                }
            }
            (Id::Int(int), Ints::Hashed(tables)) => {
                let shard = shard_of(int, tables.len());
                match tables[shard].entry(int) {
                    hashbrown::hash_map::Entry::Vacant(place) => {
                        place.insert(row);
                    }
                    // An integer in a later column of integers was added before this one.
                    hashbrown::hash_map::Entry::Occupied(mut held) => {
                        repeated.push(row.max(*held.get()));
                        held.insert(row.min(*held.get()));
                    }
                }
            }
            (Id::Int(_), Ints::Array(..)) => unreachable!("an array is made only where all ids are integers"),
        }
    }

    /// An empty map that takes ids one by one.
    pub fn growing() -> IdMap {
        IdMap {
            ints: Ints::Hashed((0..SHARDS).map(|_| Table::default()).collect()),
            texts: HashMap::default(),
        }
    }
    /// Adds an id that is met in `row` to a growing map; false where it came before.
    #[inline]
    pub fn insert(&mut self, id: Id<'_>, row: u32) -> bool {
        match (id, &mut self.ints) {
            (Id::Text(text), _) if self.texts.contains_key(text) => false,
            (Id::Text(text), _) => self.texts.insert(text.into(), row).is_none(),
            (Id::Int(int), Ints::Hashed(tables)) => {
                let shard = shard_of(int, tables.len());
                tables[shard].try_insert(int, row).is_ok()
            }
            (Id::Int(_), Ints::Array(..)) => unreachable!("a map that was packed takes no more ids"),
        }
    }
    /// Makes an array of the integers where they lie close enough together.
    pub fn pack(&mut self) {
        let Ints::Hashed(tables) = &mut self.ints else { return };
        let count: usize = tables.iter().map(Table::len).sum();
        let ids = || tables.iter().flat_map(Table::keys).copied();
        let (Some(low), Some(high)) = (ids().min(), ids().max()) else { return };
        let places = high.abs_diff(low);
        if places < count as u64 * PLACES_PER_ID_MAX {
            let mut array = vec![NO_ROW; places as usize + 1];
            for (id, row) in tables.iter_mut().flat_map(std::mem::take) {
                array[id.abs_diff(low) as usize] = row;
            }
            self.ints = Ints::Array(low, array);
        }
    }

    /// The number of an id.
    #[inline]
    pub fn get(&self, id: Id<'_>) -> Option<u32> {
        match (id, &self.ints) {
            (Id::Int(int), Ints::Array(low, array)) => {
                if int < *low {
                    return None;
                }
                array.get(int.abs_diff(*low) as usize).copied().filter(|row| *row != NO_ROW)
            }
            (Id::Int(int), Ints::Hashed(tables)) => tables[shard_of(int, tables.len())].get(&int).copied(),
            (Id::Text(text), _) => self.texts.get(text).copied(),
        }
    }
    /// Replaces every number.
    pub fn renumber(&mut self, mut by: impl FnMut(u32) -> u32) {
        match &mut self.ints {
            Ints::Array(_, array) => {
                array.iter_mut().filter(|row| **row != NO_ROW).for_each(|row| *row = by(*row));
            }
            Ints::Hashed(tables) => {
                tables.iter_mut().flat_map(Table::values_mut).for_each(|row| *row = by(*row));
            }
        }
        self.texts.values_mut().for_each(|row| *row = by(*row));
    }
}

#[cfg(test)]
mod tests;
