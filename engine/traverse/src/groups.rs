//! What gathers: reductions, folds, orders, samples, groups.

use crate::compare::{IdOrder, order_by_ids};
use crate::convert::elements_of;
use crate::error::{Outcome, TraverseError};
use crate::limits::COLLECTION_MAX;
use crate::machine::Machine;
use crate::number::{Number, counted};
use crate::operate::operate;
use crate::ordered::Ordered;
use crate::pieces::{PieceQueue, metered};
use crate::reduce::Reducing;
use crate::step::{Body, By, Reduce, SortBy};
use crate::traverser::{Out, Traverser, Traversers};
use execute::{sorting, watch};
use foldhash::HashMap;
use gremlin::object::ReferenceKind;
use gremlin::{Object, Token};
use std::cell::RefCell;
use std::cmp::Ordering;

impl Machine {
    pub(crate) fn add_to_group(
        &self,
        groups: &mut Ordered<Traversers>,
        key: &By,
        traverser: Traverser,
    ) -> Outcome<()> {
        if let Some(key) = self.by(key, &traverser)? {
            groups.at(&key).push(traverser);
        }
        Ok(())
    }
    pub(crate) fn add_to_counts(
        &self,
        counts: &mut Ordered<i64>,
        by: &By,
        traverser: &Traverser,
    ) -> Outcome<()> {
        if let Some(key) = self.by(by, traverser)? {
            let count = counts.at(&key);
            *count = counted(*count, traverser.bulk)?;
        }
        Ok(())
    }
    /// Groups as a map: each key with the result of its traversers.
    pub(crate) fn group_map(
        &self,
        groups: PieceQueue<(Object, Traversers)>,
        value: &Body,
    ) -> Outcome<Object> {
        let mut pairs = Vec::with_capacity(groups.len());
        for (key, members) in groups {
            if let Some(first) = self.run_all(value, members)?.into_iter().next() {
                pairs.push((key, first.object));
            }
        }
        Ok(Object::map(pairs))
    }

    pub(crate) fn fold(
        &self,
        seed: Option<&(Object, Token)>,
        gathered: Traversers,
        out: Out<'_>,
    ) -> Outcome<()> {
        let folded = match seed {
            None => Object::list(unrolled(gathered)?),
            Some((seed, operator)) => {
                let mut folded = seed.clone();
                for object in unrolled(gathered)? {
                    watch::spend(1)?;
                    folded = operate(*operator, &folded, &object)?;
                }
                folded
            }
        };
        out.push(self.fresh(folded));
        Ok(())
    }

    /// One object of many; of elements the least and the greatest are those by their ids.
    fn reduced(&self, reduce: Reduce, all: &[(Object, u64)]) -> Outcome<Option<Object>> {
        let (mut reducing, ids) = (Reducing::new(reduce), ElementIds::of(self));
        metered(all).try_for_each(|(object, times_there)| reducing.add(object, *times_there, &ids))?;
        ids.end()?;
        reducing.finish()
    }
    /// Takes a traverser into the reduction of a step.
    pub(crate) fn reduce(&self, reducing: &mut Reducing, traverser: &Traverser) -> Outcome<()> {
        let ids = ElementIds::of(self);
        reducing.add(&traverser.object, traverser.bulk, &ids)?;
        ids.end()
    }

    pub(crate) fn sorted(&self, keys: &[SortBy], gathered: Traversers) -> Outcome<Traversers> {
        let mut keyed = Vec::with_capacity(gathered.len());
        'next: for traverser in gathered {
            watch::spend(1)?;
            let mut values = Vec::with_capacity(keys.len());
            for key in keys {
                match self.by(&key.by, &traverser)? {
                    Some(value) => values.push(value),
                    None => continue 'next,
                }
            }
            keyed.push((values, self.random(), traverser));
        }
        let ids = ElementIds::of(self);
        let keyed = sorting::sorted(keyed, |a, b| compare_keys(keys, (&a.0, a.1), (&b.0, b.1), &ids))?;
        ids.end()?;
        let mut sorted = Traversers::default();
        for (.., traverser) in keyed {
            watch::spend(1)?;
            sorted.push(traverser);
        }
        Ok(sorted)
    }

    /// A random sample; with a modulator, weighted by it.
    pub(crate) fn sample(
        &self,
        count: u64,
        by: Option<&By>,
        gathered: Traversers,
        out: Out<'_>,
    ) -> Outcome<()> {
        let mut weighted = Vec::new();
        for traverser in gathered {
            watch::spend(1)?;
            let weight = match by {
                None => Some(1.0),
                Some(by) => self.by(by, &traverser)?.and_then(|value| Number::of(&value)).map(Number::as_f64),
            };
            if let Some(weight) = weight {
                weighted.push((weight.max(0.0), traverser));
            }
        }
        for _ in 0..count {
            watch::spend(weighted.len() as u64)?;
            let total: f64 = weighted.iter().map(|(weight, traverser)| weight * traverser.bulk as f64).sum();
            let mut at = self.chance() * total;
            let chosen = weighted.iter().position(|(weight, traverser)| {
                at -= weight * traverser.bulk as f64;
                at < 0.0
            });
            let Some(chosen) = chosen else { break };
            out.push(Traverser { bulk: 1, ..weighted[chosen].1.clone() });
            weighted[chosen].1.bulk -= 1;
            if weighted[chosen].1.bulk == 0 {
                weighted.remove(chosen);
            }
        }
        Ok(())
    }

    pub(crate) fn barrier(&self, normalise_sacks: bool, mut gathered: Traversers) -> Outcome<Traversers> {
        if let Some((_, Some(operator))) = &self.setting().sack {
            gathered = self.merge_sacks(*operator, gathered)?;
        }
        if normalise_sacks {
            let total: f64 = gathered
                .iter()
                .filter_map(|one| Some(Number::of(&one.sack)?.as_f64() * one.bulk as f64))
                .sum();
            let normal = |mut one: Traverser| {
                if let Some(sack) = Number::of(&one.sack) {
                    one.sack = Object::Double(sack.as_f64() / total);
                }
                one
            };
            gathered = metered(gathered).map(normal).collect();
        }
        if self.keeps_path || self.setting().sack.is_some() {
            return Ok(gathered);
        }
        crate::pipeline::merge(&mut gathered, self)?;
        Ok(gathered)
    }
    /// Traversers on one object become one, their sacks put together.
    fn merge_sacks(&self, operator: Token, gathered: Traversers) -> Outcome<Traversers> {
        let mut merged = Ordered::<Option<Traverser>>::default();
        for one in gathered {
            watch::spend(1)?;
            let place = merged.at(&one.object);
            *place = Some(match place.take() {
                None => one,
                Some(known) => {
                    let sack = operate(operator, &known.sack, &one.sack)?;
                    // without bulks, who are put together are one
                    let bulk = if self.setting().no_bulk { 1 } else { known.bulk.saturating_add(one.bulk) };
                    Traverser { bulk, sack, ..known }
                }
            });
        }
        Ok(metered(merged.items).filter_map(|(_, one)| one).collect())
    }
}

/// The ids of the elements that one sort compares, each read once.
pub(crate) struct ElementIds<'m> {
    machine: &'m Machine,
    known: RefCell<HashMap<(ReferenceKind, u64), Object>>,
    fault: RefCell<Option<TraverseError>>,
}

impl<'m> ElementIds<'m> {
    pub(crate) fn of(machine: &'m Machine) -> ElementIds<'m> {
        ElementIds { machine, known: RefCell::default(), fault: RefCell::default() }
    }
    /// The sort is over.
    ///
    /// # Errors
    /// An id could not be read, so that the order means nothing.
    pub(crate) fn end(self) -> Outcome<()> {
        self.fault.into_inner().map_or(Ok(()), Err)
    }
}

impl IdOrder for ElementIds<'_> {
    fn id(&self, element: &Object) -> Option<Object> {
        let number = match element {
            Object::Vertex(vertex) => (ReferenceKind::Vertex, vertex.0),
            Object::Edge(edge) => (ReferenceKind::Edge, edge.id.0),
            _ => return None,
        };
        if let Some(known) = self.known.borrow().get(&number) {
            return Some(known.clone());
        }
        if self.fault.borrow().is_some() {
            return None;
        }
        match self.machine.id(element) {
            Ok(id) => {
                self.known.borrow_mut().insert(number, id.clone());
                Some(id)
            }
            Err(fault) => {
                *self.fault.borrow_mut() = Some(fault);
                None
            }
        }
    }
}

/// Compares by the first key that differs.
pub(crate) fn compare_keys(
    keys: &[SortBy],
    a: (&[Object], u64),
    b: (&[Object], u64),
    ids: &ElementIds<'_>,
) -> Ordering {
    for (at, key) in keys.iter().enumerate() {
        let found = match key.order {
            Token::Desc => order_by_ids(&b.0[at], &a.0[at], ids),
            Token::Shuffle => a.1.cmp(&b.1),
            _ => order_by_ids(&a.0[at], &b.0[at], ids),
        };
        if found != Ordering::Equal {
            return found;
        }
    }
    Ordering::Equal
}

/// Every object as often as its bulk.
fn unrolled(gathered: Traversers) -> Outcome<Vec<Object>> {
    let count = gathered.iter().fold(0_u64, |count, one| count.saturating_add(one.bulk));
    if count > COLLECTION_MAX as u64 {
        return Err(TraverseError::Limit(format!("fold makes a list of more than {COLLECTION_MAX} objects")));
    }
    let mut all = Vec::with_capacity(count as usize);
    for one in gathered {
        watch::spend(one.bulk)?;
        all.extend(std::iter::repeat_n(one.object, one.bulk as usize));
    }
    Ok(all)
}

/// A reduction of one object's elements.
pub(crate) fn reduced_locally(machine: &Machine, reduce: Reduce, object: &Object) -> Outcome<Option<Object>> {
    let all = match object {
        Object::Map(pairs) | Object::Tree(pairs) if reduce == Reduce::Count => {
            return Ok(Some(Object::Long(pairs.len() as i64)));
        }
        Object::Bulk(bag) => metered(bag.iter()).cloned().collect(),
        other => match elements_of(other) {
            Some(elements) => metered(elements).map(|element| (element, 1)).collect(),
            None if reduce == Reduce::Count => {
                return Ok(Some(Object::Long(i64::from(*other != Object::Null))));
            }
            None => vec![(other.clone(), 1)],
        },
    };
    if reduce != Reduce::Count && all.is_empty() {
        return Ok(None);
    }
    machine.reduced(reduce, &all)
}
