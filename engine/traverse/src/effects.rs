//! Steps with side effects: they fill the side effects that `cap` and `select` read.

use crate::error::{Outcome, TraverseError};
use crate::limits::COLLECTION_MAX;
use crate::machine::Machine;
use crate::number::counted;
use crate::operate::operate;
use crate::ordered::{Ordered, counts_map, put_in_bag};
use crate::pieces::metered;
use crate::sides::Side;
use crate::step::{By, Name, Step};
use crate::traverser::{Out, Traverser, Traversers};
use execute::watch;
use gremlin::{Object, Token};
use std::sync::Arc;

impl Machine {
    /// Steps that put something aside.
    pub(crate) fn effect(&self, step: &Step, mut traverser: Traverser, out: Out<'_>) -> Outcome<()> {
        match step {
            Step::SideEffect(body) => {
                self.run(body, traverser.clone())?;
            }
            Step::Aggregate { side, by, .. } => self.aggregate(side, by, &traverser)?,
            Step::Sack { operator, by } => {
                let by = by.as_ref().unwrap_or(&By::Identity);
                // what has nothing to put to its sack goes no further
                let Some(value) = self.by(by, &traverser)? else { return Ok(()) };
                traverser.sack = operate(*operator, &traverser.sack, &value)?;
            }
            Step::Fail(message) => {
                let message = message.as_ref().map_or("fail() step triggered", |message| message);
                return Err(TraverseError::Failed(message.to_string()));
            }
            Step::Group { side: Some(side), grouping } => {
                let new = || Side::Groups(Ordered::default(), grouping.value.clone());
                let key = self.by(&grouping.key, &traverser)?;
                if let Some(key) = key {
                    self.with_side(side, new, |kept| {
                        if let Side::Groups(groups, _) = kept {
                            groups.at(&key).push(traverser.clone());
                        }
                        Ok(())
                    })?;
                }
            }
            Step::GroupCount { side: Some(side), by } => {
                let key = self.by(by, &traverser)?;
                if let Some(key) = key {
                    self.with_side(
                        side,
                        || Side::Counts(Ordered::default()),
                        |kept| {
                            if let Side::Counts(counts) = kept {
                                let count = counts.at(&key);
                                *count = counted(*count, traverser.bulk)?;
                            }
                            Ok(())
                        },
                    )?;
                }
            }
            Step::Tree { side: Some(side), by } => {
                let way = self.tree_way(by, &traverser)?;
                self.with_side(
                    side,
                    || Side::Tree(Vec::new()),
                    |kept| {
                        if let Side::Tree(tree) = kept {
                            graft(tree, &way);
                        }
                        Ok(())
                    },
                )?;
            }
            Step::Subgraph(side) => self.with_side(
                side,
                || Side::Graph(Box::default()),
                |kept| match kept {
                    Side::Graph(part) => part.add(&traverser.object),
                    _ => Err(TraverseError::step("subgraph", format!("{side} is kept by another step"))),
                },
            )?,
            _ => {}
        }
        out.push(traverser);
        Ok(())
    }

    fn with_side(
        &self,
        name: &Name,
        new: impl FnOnce() -> Side,
        put: impl FnOnce(&mut Side) -> Outcome<()>,
    ) -> Outcome<()> {
        let mut sides = self.sides.borrow_mut();
        if !sides.named.contains_key(name) {
            sides.named.insert(name.clone(), new());
        }
        match sides.named.get_mut(name) {
            Some(side) => put(side),
            None => Ok(()),
        }
    }

    /// Puts an object aside as often as its traverser's bulk.
    pub(crate) fn aggregate(&self, name: &Name, by: &By, traverser: &Traverser) -> Outcome<()> {
        let Some(object) = self.by(by, traverser)? else { return Ok(()) };
        self.with_side(
            name,
            || Side::Bag(Ordered::default()),
            |side| match side {
                Side::Bag(bag) => put_in_bag(bag, &object, traverser.bulk),
                Side::Value(value, operator) => put(value, *operator, &object, traverser.bulk),
                _ => Err(TraverseError::step("aggregate", format!("{name} is kept by another step"))),
            },
        )
    }

    /// Puts the objects of all traversers aside, at once.
    pub(crate) fn aggregate_all(&self, name: &Name, by: &By, all: &Traversers) -> Outcome<()> {
        let is_assigned =
            matches!(self.sides.borrow().named.get(name), Some(Side::Value(_, Some(Token::Assign))));
        if !is_assigned {
            return all.iter().try_for_each(|traverser| {
                watch::spend(1)?;
                self.aggregate(name, by, traverser)
            });
        }
        // all of them take the place of what was there
        let mut bag = Ordered::<u64>::default();
        for traverser in all.iter() {
            watch::spend(1)?;
            if let Some(object) = self.by(by, traverser)? {
                put_in_bag(&mut bag, &object, traverser.bulk)?;
            }
        }
        let value = Side::Value(Object::Bulk(Arc::new(bag.items.into_vec()?)), Some(Token::Assign));
        self.sides.borrow_mut().named.insert(name.clone(), value);
        Ok(())
    }

    /// The present value of a side effect; none where there is none of the name.
    pub(crate) fn side(&self, name: &str) -> Outcome<Option<Object>> {
        let (groups, value) = match self.sides.borrow().named.get(name) {
            None => return Ok(None),
            Some(Side::Value(value, _)) => return Ok(Some(value.clone())),
            Some(Side::Bag(bag)) => {
                let bag = metered(bag.items.iter()).cloned().collect();
                return Ok(Some(Object::Bulk(Arc::new(bag))));
            }
            Some(Side::Counts(counts)) => return Ok(Some(counts_map(counts))),
            Some(Side::Graph(part)) => return Ok(Some(part.object())),
            Some(Side::Tree(tree)) => return Ok(Some(self.tree_object(tree.clone()))),
            Some(Side::Groups(groups, value)) => {
                let copied = |(key, members): &(Object, Traversers)| {
                    (key.clone(), metered(members.iter()).cloned().collect::<Traversers>())
                };
                (metered(groups.items.iter()).map(copied).collect(), value.clone())
            }
        };
        self.group_map(groups, &value).map(Some)
    }

    pub(crate) fn cap(&self, names: &[Name]) -> Outcome<Traverser> {
        let absent = || Object::Bulk(Arc::new(Vec::new()));
        let object = match names {
            [name] => self.side(name)?.unwrap_or_else(absent),
            _ => {
                let mut pairs = Vec::new();
                for name in names {
                    pairs.push((Object::String(name.clone()), self.side(name)?.unwrap_or_else(absent)));
                }
                Object::map(pairs)
            }
        };
        Ok(self.fresh(object))
    }

    /// The objects of a path, each through the next modulator.
    pub(crate) fn tree_way(&self, by: &[By], traverser: &Traverser) -> Outcome<Vec<Object>> {
        let mut way = Vec::new();
        for (at, node) in traverser.way().into_iter().enumerate() {
            let there = traverser.to(node.object.clone(), false);
            match self.by(self.turn(by, at), &there)? {
                Some(object) => way.push(object),
                None => break,
            }
        }
        Ok(way)
    }
    /// A tree as clients are given it.
    pub(crate) fn tree_object(&self, tree: Vec<(Object, Object)>) -> Object {
        match self.setting().trees_are_maps {
            true => map_of(tree),
            false => Object::Tree(Arc::new(tree)),
        }
    }
    pub(crate) fn add_to_tree(
        &self,
        tree: &mut Vec<(Object, Object)>,
        by: &[By],
        traverser: &Traverser,
    ) -> Outcome<()> {
        graft(tree, &self.tree_way(by, traverser)?);
        Ok(())
    }
}

/// Adds a way to a tree.
fn graft(tree: &mut Vec<(Object, Object)>, way: &[Object]) {
    let Some((first, rest)) = way.split_first() else { return };
    let place = match tree.iter().position(|(known, _)| crate::compare::same(known, first)) {
        Some(place) => place,
        None => {
            tree.push((first.clone(), Object::Tree(Arc::new(Vec::new()))));
            tree.len() - 1
        }
    };
    if let Object::Tree(below) = &mut tree[place].1 {
        graft(Arc::make_mut(below), rest);
    }
}

/// A tree as a map of maps.
fn map_of(tree: Vec<(Object, Object)>) -> Object {
    let branch = |(key, below): (Object, Object)| match below {
        Object::Tree(below) => (key, map_of(Arc::unwrap_or_clone(below))),
        other => (key, other),
    };
    Object::map(tree.into_iter().map(branch).collect())
}

/// Puts an object to a given side effect.
fn put(value: &mut Object, operator: Option<Token>, object: &Object, count: u64) -> Outcome<()> {
    // once or often is the same to these
    let once = matches!(operator, Some(Token::Assign | Token::Min | Token::Max | Token::And | Token::Or));
    let count = if once { count.min(1) } else { count };
    if count > COLLECTION_MAX as u64 {
        let message = format!("one object is put aside more than {COLLECTION_MAX} times");
        return Err(TraverseError::Limit(message));
    }
    for _ in 0..count {
        match (operator, &mut *value) {
            (None | Some(Token::AddAll), Object::List(elements)) => {
                Arc::make_mut(elements).push(object.clone())
            }
            (None | Some(Token::AddAll), Object::Set(elements)) => {
                if !elements.iter().any(|known| crate::compare::same(known, object)) {
                    Arc::make_mut(elements).push(object.clone());
                }
            }
            (None, _) => *value = object.clone(),
            (Some(operator), _) => *value = operate(operator, value, object)?,
        }
    }
    Ok(())
}
