//! Maps and bags that keep insertion order. They grow and are dropped in parts, so that no step takes long however many keys they have.

use crate::compare::Keyed;
use crate::error::{Outcome, TraverseError};
use crate::limits::COLLECTION_MAX;
use crate::number::counted;
use crate::pieces::{PieceQueue, metered};
use execute::watch;
use gremlin::Object;
use hashbrown::HashTable;
use std::hash::{BuildHasher, Hash};

/// Keys of one table, from which on there are many tables.
const TABLE_KEYS_MAX: usize = 4_096;
/// Tables for many keys: one that doubles has a small share of them.
const TABLES: usize = 256;
/// The bits of a hash that choose the table: those that it does not use itself.
const TABLE_SHIFT: u32 = 40;

/// Keys, numbered as they come.
#[derive(Clone)]
pub(crate) struct KeyNumbers<K> {
    hasher: foldhash::fast::RandomState,
    few: HashTable<(K, usize)>,
    /// The tables of many keys.
    many: Vec<HashTable<(K, usize)>>,
    len: usize,
}

impl<K> Default for KeyNumbers<K> {
    fn default() -> KeyNumbers<K> {
        KeyNumbers { hasher: Default::default(), few: HashTable::new(), many: Vec::new(), len: 0 }
    }
}

impl<K: Hash + Eq> KeyNumbers<K> {
    /// The number of a key; the next for a new one.
    pub(crate) fn of(&mut self, key: K) -> usize {
        let (hasher, hash) = (&self.hasher, self.hasher.hash_one(&key));
        if self.many.is_empty() && self.few.len() == TABLE_KEYS_MAX {
            self.many = (0..TABLES).map(|_| HashTable::new()).collect();
            for (key, number) in self.few.drain() {
                let hash = hasher.hash_one(&key);
                let table = &mut self.many[table_of(hash)];
                table.insert_unique(hash, (key, number), |(key, _)| hasher.hash_one(key));
            }
        }
        let table = self.many.get_mut(table_of(hash)).unwrap_or(&mut self.few);
        let entry = table.entry(hash, |(known, _)| *known == key, |(key, _)| hasher.hash_one(key));
        match entry {
            hashbrown::hash_table::Entry::Occupied(known) => known.get().1,
            hashbrown::hash_table::Entry::Vacant(place) => {
                place.insert((key, self.len));
                self.len += 1;
                self.len - 1
            }
        }
    }
    /// Is it a known key?
    pub(crate) fn contains(&self, key: &K) -> bool {
        let hash = self.hasher.hash_one(key);
        let table = self.many.get(table_of(hash)).unwrap_or(&self.few);
        table.find(hash, |(known, _)| known == key).is_some()
    }
    /// True of a key that is new.
    pub(crate) fn insert(&mut self, key: K) -> bool {
        let before = self.len;
        self.of(key) == before
    }
}

impl<K: Hash + Eq> FromIterator<K> for KeyNumbers<K> {
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> KeyNumbers<K> {
        let mut numbers = KeyNumbers::default();
        for key in keys {
            numbers.of(key);
        }
        numbers
    }
}

impl<K> KeyNumbers<K> {
    pub(crate) fn len(&self) -> usize {
        self.len
    }
    /// Drops a part; true if more is left.
    pub(crate) fn drop_some(&mut self) -> bool {
        self.many.pop().is_some()
    }
}

impl<K> Drop for KeyNumbers<K> {
    /// Between the tables other queries run.
    fn drop(&mut self) {
        while let Some(table) = self.many.pop() {
            let _ = watch::spend(table.len() as u64);
        }
    }
}

fn table_of(hash: u64) -> usize {
    (hash >> TABLE_SHIFT) as usize % TABLES
}

/// A map that remembers the order of its making.
#[derive(Clone)]
pub(crate) struct Ordered<V> {
    numbers: KeyNumbers<Keyed>,
    /// Keys with their values.
    pub items: PieceQueue<(Object, V)>,
}

impl<V> Default for Ordered<V> {
    fn default() -> Ordered<V> {
        Ordered { numbers: KeyNumbers::default(), items: PieceQueue::default() }
    }
}

impl<V: Default> Ordered<V> {
    /// The value of a key, made where it is new.
    pub fn at(&mut self, key: &Object) -> &mut V {
        let next = self.items.len();
        let number = self.numbers.of(Keyed(key.clone()));
        if number == next {
            self.items.push((key.clone(), V::default()));
        }
        &mut self.items.at_mut(number).1
    }
}

impl<V> Ordered<V> {
    /// Drops a part; true if more is left.
    pub(crate) fn drop_some(&mut self) -> bool {
        self.numbers.drop_some() || self.items.drop_some()
    }
}

impl Ordered<Object> {
    /// It as an object.
    ///
    /// # Errors
    /// The query is over.
    pub(crate) fn into_map(self) -> Outcome<Object> {
        self.items.into_vec().map(Object::map)
    }
}

/// Counts as a map.
pub(crate) fn counts_map(counts: &Ordered<i64>) -> Object {
    let pairs = metered(counts.items.iter()).map(|(key, count)| (key.clone(), Object::Long(*count)));
    Object::map(pairs.collect())
}

/// Puts an object into a bag `count` times.
pub(crate) fn put_in_bag(bag: &mut Ordered<u64>, object: &Object, count: u64) -> Outcome<()> {
    let known = bag.at(object);
    *known = counted(0, known.saturating_add(count))? as u64;
    match bag.items.len() > COLLECTION_MAX {
        true => Err(TraverseError::Limit(format!("aggregate keeps more than {COLLECTION_MAX} objects"))),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use world::chance::Chance;

    /// Its twin: the library's map.
    #[test]
    fn keys_are_numbered_as_they_come() {
        for keys in [10, TABLE_KEYS_MAX as u64, 5 * TABLE_KEYS_MAX as u64] {
            let mut chance = Chance::seeded(keys);
            let (mut numbers, mut twin) = (KeyNumbers::default(), HashMap::new());
            for _ in 0..20 * TABLE_KEYS_MAX {
                let (key, next) = (chance.below(keys), twin.len());
                assert_eq!(numbers.of(key), *twin.entry(key).or_insert(next));
                assert_eq!(numbers.len(), twin.len());
            }
        }
    }
}
