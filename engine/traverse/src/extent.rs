//! Limits depth and size of the values that steps make: those of the graph's own values.
//!
//! Comparing, hashing, printing, encoding or dropping a value recurses into it, so its depth has a limit; and as parts are shared, a value that takes
//! little memory can be huge to traverse, so its size is counted as if written out. Each value that a step makes is checked once, here, before any
//! other step sees it. Cost: a visit of each part; a shared one is measured once, so that a value whose size doubles at each step passes the limit as
//! quickly as it was made.

use crate::error::{Outcome, TraverseError};
use foldhash::HashMap;
use gremlin::Object;
use model::nested::VALUE_DEPTH_MAX;
use std::mem::Discriminant;
use std::sync::Arc;

/// Parts of one value: as many as one collection may have, and as many again for their own parts.
const PARTS_MAX: usize = 2 * crate::limits::COLLECTION_MAX;

/// Is it a value without parts?
pub(crate) fn is_flat(object: &Object) -> bool {
    !matches!(
        object,
        Object::List(_)
            | Object::Set(_)
            | Object::Bulk(_)
            | Object::Map(_)
            | Object::Entry(_)
            | Object::Path(_)
            | Object::Tree(_)
    )
}

/// A collection that may be shared by several places of a value, identified as long as the value lives.
pub(crate) type SharedPart = (Discriminant<Object>, *const ());

/// The identity of a collection that has other holders, too.
pub(crate) fn shared(object: &Object) -> Option<SharedPart> {
    fn of<T>(part: &Arc<T>) -> Option<*const ()> {
        (Arc::strong_count(part) > 1).then(|| Arc::as_ptr(part).cast())
    }
    let place = match object {
        Object::List(all) | Object::Set(all) => of(all),
        Object::Bulk(bag) => of(bag),
        Object::Map(pairs) | Object::Tree(pairs) => of(pairs),
        Object::Entry(entry) => of(entry),
        Object::Path(path) => of(path),
        _ => None,
    };
    place.map(|place| (std::mem::discriminant(object), place))
}

/// How large a value is, written out.
#[derive(Clone, Copy)]
struct ValueSize {
    parts: usize,
    /// Collections within collections.
    depth: usize,
}

/// Says whether a value is within the limits.
///
/// # Errors
/// It is deeper or larger.
pub(crate) fn check(object: &Object) -> Outcome<()> {
    Measuring::default().extent(object, 0).map(drop)
}

#[derive(Default)]
struct Measuring {
    known: HashMap<SharedPart, ValueSize>,
}

impl Measuring {
    /// The extent of a part so deep within the value; the limit of depth bounds the recursion.
    fn extent(&mut self, object: &Object, above: usize) -> Outcome<ValueSize> {
        let place = shared(object);
        let known = place.and_then(|place| self.known.get(&place).copied());
        if above + known.map_or(0, |known| known.depth) > VALUE_DEPTH_MAX {
            return Err(TraverseError::Limit(format!("a value is nested deeper than {VALUE_DEPTH_MAX}")));
        }
        if let Some(known) = known {
            return Ok(known);
        }
        let mut all = ValueSize { parts: 1, depth: 0 };
        match object {
            Object::List(parts) | Object::Set(parts) => self.add_all(&mut all, parts.iter(), above)?,
            Object::Bulk(bag) => self.add_all(&mut all, bag.iter().map(|(part, _)| part), above)?,
            Object::Path(path) => self.add_all(&mut all, path.objects.iter(), above)?,
            Object::Entry(entry) => self.add_all(&mut all, [&entry.0, &entry.1].into_iter(), above)?,
            Object::Map(pairs) | Object::Tree(pairs) => {
                self.add_all(&mut all, pairs.iter().flat_map(|(key, value)| [key, value]), above)?;
            }
            _ => {}
        }
        self.known.extend(place.map(|place| (place, all)));
        Ok(all)
    }
    fn add_all<'o>(
        &mut self,
        all: &mut ValueSize,
        parts: impl Iterator<Item = &'o Object>,
        above: usize,
    ) -> Outcome<()> {
        for part in parts {
            execute::watch::spend(1)?;
            let found = self.extent(part, above + 1)?;
            all.parts = all.parts.saturating_add(found.parts);
            all.depth = all.depth.max(found.depth + 1);
            if all.parts > PARTS_MAX {
                return Err(TraverseError::Limit(format!("a value has more than {PARTS_MAX} parts")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deep(depth: usize) -> Object {
        (0..depth).fold(Object::Int(1), |inner, _| Object::list(vec![inner]))
    }

    #[test]
    fn depth_has_a_limit() {
        let most = VALUE_DEPTH_MAX;
        assert!(check(&deep(most - 1)).is_ok() && check(&deep(most)).is_ok());
        assert!(check(&deep(most + 1)).is_err());
    }

    /// The plain form: each part is gone to wherever it stands.
    fn twin(object: &Object) -> (usize, usize) {
        let parts: Vec<&Object> = match object {
            Object::List(all) | Object::Set(all) => all.iter().collect(),
            Object::Map(pairs) => pairs.iter().flat_map(|(key, value)| [key, value]).collect(),
            _ => return (1, 0),
        };
        let found = parts.into_iter().map(twin).collect::<Vec<_>>();
        let sum = found.iter().map(|(parts, _)| parts).sum::<usize>();
        (1 + sum, found.iter().map(|(_, depth)| depth + 1).max().unwrap_or(0))
    }

    #[test]
    fn what_stands_in_many_places_is_measured_as_if_written_out() {
        let mut chance = world::chance::Chance::seeded(7);
        for _ in 0..200 {
            let mut made = vec![Object::Int(1), Object::list(vec![])];
            for _ in 0..12 {
                let mut some = || made[chance.index(made.len())].clone();
                let (one, other) = (some(), some());
                made.push(match chance.below(3) {
                    0 => Object::list(vec![one, other]),
                    1 => Object::Set(Arc::new(vec![one])),
                    _ => Object::map(vec![(one, other)]),
                });
            }
            for object in &made {
                let found = Measuring::default().extent(object, 0).unwrap();
                assert_eq!((found.parts, found.depth), twin(object));
            }
        }
        // Written out, it would have a part for each grain of the chessboard.
        let doubled = (0..64).fold(Object::Int(1), |part, _| Object::list(vec![part.clone(), part]));
        assert!(check(&doubled).unwrap_err().to_string().contains("parts"));
    }
}
