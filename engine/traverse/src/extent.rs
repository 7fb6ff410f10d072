//! How deep and large a value is that a step makes: no deeper and larger than the graph's own values may be.
//!
//! Whoever compares, hashes, prints, encodes or drops a value goes down into it, so its depth has a limit; and as parts are shared, a value
//! that takes little room can be huge to whoever goes through it, so what counts is its size as it would be written out. Each value that a
//! step gives is looked at once, here, before any other step sees it. Cost: a visit of each part, ended at the limit.

use crate::error::{Outcome, TraverseError};
use gremlin::Object;
use model::nested::VALUE_DEPTH_MAX;

/// Parts of one value: as many as one collection may have, and as many again for what they are made of.
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

/// Says whether a value is within the limits.
///
/// # Errors
/// It is deeper or larger.
pub(crate) fn check(object: &Object) -> Outcome<()> {
    let (mut waiting, mut parts): (Vec<(&Object, usize)>, usize) = (vec![(object, 0)], 0);
    while let Some((object, depth)) = waiting.pop() {
        parts += 1;
        if depth > VALUE_DEPTH_MAX {
            let message = format!("a value is nested deeper than {VALUE_DEPTH_MAX}");
            return Err(TraverseError::Limit(message));
        }
        if parts > PARTS_MAX {
            return Err(TraverseError::Limit(format!("a value has more than {PARTS_MAX} parts")));
        }
        let inner = depth + 1;
        // the order in which they are visited is of no matter
        match object {
            Object::List(all) | Object::Set(all) => waiting.extend(all.iter().map(|one| (one, inner))),
            Object::Bulk(bag) => waiting.extend(bag.iter().map(|(one, _)| (one, inner))),
            Object::Path(path) => waiting.extend(path.objects.iter().map(|one| (one, inner))),
            Object::Entry(entry) => waiting.extend([(&entry.0, inner), (&entry.1, inner)]),
            Object::Map(pairs) | Object::Tree(pairs) => {
                waiting.extend(pairs.iter().flat_map(|(key, value)| [(key, inner), (value, inner)]));
            }
            _ => {}
        }
    }
    Ok(())
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
}
