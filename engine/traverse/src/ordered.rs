//! Maps and bags that keep insertion order.

use crate::compare::Keyed;
use crate::error::{Outcome, TraverseError};
use crate::limits::COLLECTION_MAX;
use crate::number::counted;
use foldhash::HashMap;
use gremlin::Object;

/// A map that remembers the order of its making.
#[derive(Clone)]
pub(crate) struct Ordered<V> {
    places: HashMap<Keyed, usize>,
    /// Keys with their values.
    pub items: Vec<(Object, V)>,
}

impl<V> Default for Ordered<V> {
    fn default() -> Ordered<V> {
        Ordered { places: HashMap::default(), items: Vec::new() }
    }
}

impl<V: Default> Ordered<V> {
    /// The value of a key, made where it is new.
    pub fn at(&mut self, key: &Object) -> &mut V {
        let next = self.items.len();
        let place = *self.places.entry(Keyed(key.clone())).or_insert(next);
        if place == next {
            self.items.push((key.clone(), V::default()));
        }
        &mut self.items[place].1
    }
}

/// Counts as a map.
pub(crate) fn counts_map(counts: &Ordered<i64>) -> Object {
    Object::map(counts.items.iter().map(|(key, count)| (key.clone(), Object::Long(*count))).collect())
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
