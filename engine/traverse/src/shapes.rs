//! Steps within one collection: order, range, dedup, sample, unfold, index, and filters over its elements.

use crate::compare::{Keyed, holds};
use crate::convert::{elements_of, set_of};
use crate::error::Outcome;
use crate::groups::{ElementIds, compare_keys};
use crate::machine::Machine;
use crate::ordered::KeyNumbers;
use crate::pieces::metered;
use crate::step::{By, SortBy};
use crate::traverser::Traverser;
use execute::{sorting, watch};
use gremlin::{Object, Predicate};
use std::sync::Arc;

/// The parts of an object: elements of a collection, entries of a map, or the object alone.
pub(crate) fn unfolded(object: &Object) -> Vec<Object> {
    match object {
        Object::Map(pairs) | Object::Tree(pairs) => entries(pairs),
        other => elements_of(other).unwrap_or_else(|| vec![other.clone()]),
    }
}

fn entries(pairs: &[(Object, Object)]) -> Vec<Object> {
    metered(pairs).map(|pair| Object::Entry(Arc::new(pair.clone()))).collect()
}

/// Each element with its index: pairs, or a map from index to element.
pub(crate) fn indexed(object: &Object, map: bool) -> Object {
    let elements = metered(unfolded(object)).enumerate();
    match map {
        true => Object::map(elements.map(|(at, element)| (Object::Int(at as i32), element)).collect()),
        false => Object::list(
            elements.map(|(at, element)| Object::list(vec![element, Object::Int(at as i32)])).collect(),
        ),
    }
}

/// Do all, any or none of the elements satisfy a predicate? An object that is no collection does not pass.
pub(crate) fn quantified(what: &str, predicate: &Predicate, object: &Object) -> bool {
    let Some(elements) = elements_of(object) else { return false };
    let mut test = metered(&elements).map(|element| holds(predicate, element) == Some(true));
    match what {
        "any" => test.any(|truth| truth),
        "all" => test.all(|truth| truth),
        _ => !test.any(|truth| truth),
    }
}

/// The elements from one index to another.
pub(crate) fn ranged(object: &Object, low: i64, high: i64) -> Option<Object> {
    part(object, |count| {
        let to = if high == -1 { count } else { count.min(high.max(0) as usize) };
        (low.max(0) as usize, to)
    })
}

/// The last elements.
pub(crate) fn tailed(object: &Object, count: i64) -> Option<Object> {
    part(object, |all| (all.saturating_sub(count.max(0) as usize), all))
}

fn part(object: &Object, place: impl Fn(usize) -> (usize, usize)) -> Option<Object> {
    let cut = |elements: &[Object]| {
        let (from, to) = place(elements.len());
        metered(elements.get(from.min(to)..to).unwrap_or(&[])).cloned().collect::<Vec<_>>()
    };
    match object {
        Object::Map(pairs) => {
            let (from, to) = place(pairs.len());
            Some(Object::map(metered(pairs.get(from.min(to)..to).unwrap_or(&[])).cloned().collect()))
        }
        Object::Path(path) => {
            let (from, to) = place(path.objects.len());
            let (from, to) = (from.min(to), to);
            let objects = path.objects[from..to].to_vec();
            let labels = path.labels[from..to].to_vec();
            Some(Object::Path(Arc::new(gremlin::object::Path { labels, objects })))
        }
        Object::Set(elements) => Some(Object::Set(Arc::new(cut(elements)))),
        other => match elements_of(other) {
            Some(elements) => Some(Object::list(cut(&elements))),
            None => Some(other.clone()),
        },
    }
}

impl Machine {
    /// A random sample of `count` elements.
    pub(crate) fn sampled(&self, object: &Object, count: u64) -> Object {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        let chosen = |mut all: Vec<Object>| {
            let mut chosen = Vec::new();
            while chosen.len() < count && !all.is_empty() && watch::spend(1).is_ok() {
                let at = (self.random() % all.len() as u64) as usize;
                chosen.push(all.swap_remove(at));
            }
            chosen
        };
        match object {
            Object::Map(pairs) => {
                let pairs = metered(chosen(entries(pairs))).filter_map(|entry| match entry {
                    Object::Entry(entry) => Some((*entry).clone()),
                    _ => None,
                });
                Object::map(pairs.collect())
            }
            other => match elements_of(other) {
                Some(elements) if elements.len() > count => Object::list(chosen(elements)),
                _ => other.clone(),
            },
        }
    }

    pub(crate) fn local_dedup(&self, by: Option<&By>, traverser: &Traverser) -> Outcome<Object> {
        let Some(elements) = elements_of(&traverser.object) else { return Ok(traverser.object.clone()) };
        let Some(by) = by else { return Ok(set_of(elements)) };
        let (mut seen, mut kept) = (KeyNumbers::default(), Vec::with_capacity(elements.len()));
        for element in metered(elements) {
            let there = Traverser { object: element.clone(), ..traverser.clone() };
            if let Some(key) = self.by(by, &there)?
                && seen.insert(Keyed(key))
            {
                kept.push(element);
            }
        }
        Ok(Object::Set(Arc::new(kept)))
    }

    /// The same collection in order: a map stays a map, everything else becomes a list.
    pub(crate) fn local_order(&self, keys: &[SortBy], traverser: &Traverser) -> Outcome<Object> {
        let parts = match &traverser.object {
            Object::Map(pairs) => entries(pairs),
            other => match elements_of(other) {
                Some(elements) => elements,
                None => return Ok(other.clone()),
            },
        };
        let mut keyed = Vec::with_capacity(parts.len());
        'next: for part in metered(parts) {
            let there = Traverser { object: part.clone(), ..traverser.clone() };
            let mut values = Vec::new();
            for key in keys {
                match self.by(&key.by, &there)? {
                    Some(value) => values.push(value),
                    None => continue 'next,
                }
            }
            keyed.push((values, self.random(), part));
        }
        let ids = ElementIds::of(self);
        let keyed = sorting::sorted(keyed, |a, b| compare_keys(keys, (&a.0, a.1), (&b.0, b.1), &ids))?;
        ids.end()?;
        let parts = metered(keyed).map(|(.., part)| part);
        Ok(match &traverser.object {
            Object::Map(_) => Object::map(
                parts
                    .filter_map(|entry| match entry {
                        Object::Entry(entry) => Some((*entry).clone()),
                        _ => None,
                    })
                    .collect(),
            ),
            _ => Object::list(parts.collect()),
        })
    }
}
