//! Modulators, and the objects of labels.

use crate::compare::{holds, same};
use crate::error::{Outcome, TraverseError};
use crate::machine::Machine;
use crate::pieces::metered;
use crate::step::{By, Name, PathPart, WhereIs};
use crate::traverser::Traverser;
use gremlin::{Object, Predicate, Token};
use std::collections::BTreeSet;

/// An object of a way, with the labels it has there.
type Labelled = (Object, BTreeSet<Name>);

impl Machine {
    /// The result of a modulator on a traverser's object: none where it yields nothing.
    pub(crate) fn by(&self, by: &By, traverser: &Traverser) -> Outcome<Option<Object>> {
        match by {
            By::Identity => Ok(Some(traverser.object.clone())),
            By::Key(key) => self.keyed(key, &traverser.object),
            By::Token(token) => self.token(*token, &traverser.object).map(Some),
            By::Column(token) => column(*token, &traverser.object).map(Some),
            By::Body(body) => {
                let start = Traverser { bulk: 1, ..traverser.clone() };
                Ok(self.first(body, start)?.map(|found| found.object))
            }
            By::OrNull(by) => Ok(Some(self.by(by, traverser)?.unwrap_or(Object::Null))),
        }
    }

    /// An entry of a map, or the first value of a property.
    fn keyed(&self, key: &str, object: &Object) -> Outcome<Option<Object>> {
        match object {
            Object::Map(pairs) => {
                let found = pairs.iter().find(|(known, _)| known.as_str() == Some(key));
                Ok(found.map(|(_, value)| value.clone()))
            }
            Object::Entry(entry) if entry.0.as_str() == Some(key) => Ok(Some(entry.1.clone())),
            Object::Vertex(_) | Object::Edge(_) | Object::VertexProperty(_) => {
                Ok(self.values_of(object, key)?.into_iter().next())
            }
            other => {
                let kind = other.type_name();
                let message = format!(
                    "The by(\"{key}\") modulator can only be applied to a traverser that is an Element or a Map - it is being applied to [{other}] a {kind} class instead"
                );
                Err(TraverseError::step("by", message))
            }
        }
    }

    /// `T.id` and its kin of an object.
    pub(crate) fn token(&self, token: Token, object: &Object) -> Outcome<Object> {
        match token {
            Token::TId => self.id(object),
            Token::TLabel => self.label(object),
            Token::TKey => self.key(object),
            _ => self.value(object),
        }
    }

    /// The object of a label: an entry of the object itself, a side effect, or an object of the path.
    pub(crate) fn scoped(&self, label: &str, traverser: &Traverser, pop: Token) -> Outcome<Option<Object>> {
        if let Object::Map(pairs) = &traverser.object
            && let Some((_, value)) = pairs.iter().find(|(key, _)| key.as_str() == Some(label))
        {
            return Ok(Some(value.clone()));
        }
        if let Some(value) = self.side(label)? {
            return Ok(Some(value));
        }
        Ok(match pop {
            Token::Last => traverser.newest(label),
            Token::First => traverser.labelled(label).into_iter().next(),
            Token::All => match traverser.labelled(label) {
                all if all.is_empty() => None,
                all => Some(Object::list(all)),
            },
            _ => {
                let mut all = traverser.labelled(label);
                match all.len() {
                    0 => None,
                    1 => all.pop(),
                    _ => Some(Object::list(all)),
                }
            }
        })
    }

    /// Does the label stand for the object?
    pub(crate) fn is_at(&self, label: &str, traverser: &Traverser) -> Outcome<bool> {
        let stands = self.scoped(label, traverser, Token::Last)?;
        Ok(stands.is_some_and(|object| same(&object, &traverser.object)))
    }

    /// `where` with a predicate over labels.
    pub(crate) fn where_is(&self, condition: &WhereIs, traverser: &Traverser) -> Outcome<bool> {
        let left = match &condition.left {
            Some(label) => match self.scoped(label, traverser, Token::Last)? {
                Some(object) => object,
                None => return Ok(false),
            },
            None => traverser.object.clone(),
        };
        let mut turn = 0;
        let mut seen = |object: Object| {
            let by = self.turn(&condition.by, turn);
            turn += 1;
            self.by(by, &Traverser { object, ..traverser.clone() })
        };
        let Some(left) = seen(left)? else { return Ok(false) };
        let mut labels = Vec::new();
        crate::compile::named(&condition.predicate, &mut labels);
        let mut values = Vec::new();
        for label in labels {
            let Some(object) = self.scoped(&label, traverser, Token::Last)? else { return Ok(false) };
            let Some(value) = seen(object)? else { return Ok(false) };
            values.push((label, value));
        }
        Ok(holds(&filled(&condition.predicate, &values), &left) == Some(true))
    }

    /// Is no object of a part of the way there twice? None where a modulator yields nothing.
    pub(crate) fn is_simple(&self, part: &PathPart, traverser: &Traverser) -> Outcome<Option<bool>> {
        let Some(way) = self.part_of(part, traverser)? else { return Ok(None) };
        let mut seen = foldhash::HashSet::default();
        Ok(Some(way.into_iter().all(|(object, _)| seen.insert(crate::compare::Keyed(object)))))
    }

    /// A part of the way, its objects seen through the modulators, with their labels.
    pub(crate) fn part_of(&self, part: &PathPart, traverser: &Traverser) -> Outcome<Option<Vec<Labelled>>> {
        let way = traverser.way();
        let from = match &part.from {
            Some(label) => way.iter().position(|node| node.labels.contains(label)).unwrap_or(0),
            None => 0,
        };
        let to = match &part.to {
            Some(label) => {
                way.iter().rposition(|node| node.labels.contains(label)).map_or(way.len(), |at| at + 1)
            }
            None => way.len(),
        };
        let mut found = Vec::new();
        for (at, node) in metered(&way[from.min(to)..to]).enumerate() {
            let there = Traverser { object: node.object.clone(), ..traverser.clone() };
            match self.by(self.turn(&part.by, at), &there)? {
                Some(object) => found.push((object, node.labels.iter().cloned().collect())),
                None => return Ok(None),
            }
        }
        Ok(Some(found))
    }
}

/// `Column.keys` or `Column.values` of an object.
pub(crate) fn column(token: Token, object: &Object) -> Outcome<Object> {
    let keys = token == Token::Keys;
    Ok(match object {
        Object::Map(pairs) if keys => {
            Object::Set(metered(pairs.iter()).map(|(key, _)| key.clone()).collect::<Vec<_>>().into())
        }
        Object::Map(pairs) => Object::list(metered(pairs.iter()).map(|(_, value)| value.clone()).collect()),
        Object::Entry(entry) if keys => entry.0.clone(),
        Object::Entry(entry) => entry.1.clone(),
        Object::Path(path) if keys => {
            let labels = path.labels.iter().map(|labels| {
                Object::Set(labels.iter().cloned().map(Object::String).collect::<Vec<_>>().into())
            });
            Object::list(labels.collect())
        }
        Object::Path(path) => Object::list(path.objects.clone()),
        other => {
            let message = format!("{} has no keys and values: it is a {}", other, other.type_name());
            return Err(TraverseError::step("select", message));
        }
    })
}

/// A predicate whose labels are replaced by their objects.
fn filled(predicate: &Predicate, values: &[(Name, Object)]) -> Predicate {
    let value = |label: &Object| {
        let name = label.as_str().unwrap_or("");
        values.iter().find(|(known, _)| **known == *name).map_or(Object::Null, |(_, value)| value.clone())
    };
    // what a label stands for may be a collection: within() looks inside
    let all = |labels: &[Object]| {
        let inside = labels.iter().flat_map(|label| match value(label) {
            object @ (Object::List(_) | Object::Set(_) | Object::Bulk(_)) => {
                crate::convert::elements_of(&object).unwrap_or_default()
            }
            object => vec![object],
        });
        inside.collect::<Vec<_>>()
    };
    match predicate {
        Predicate::Compare(how, label) => Predicate::Compare(*how, value(label)),
        Predicate::Within(labels) => Predicate::Within(all(labels)),
        Predicate::Without(labels) => Predicate::Without(all(labels)),
        Predicate::Between(low, high) => Predicate::Between(value(low), value(high)),
        Predicate::Inside(low, high) => Predicate::Inside(value(low), value(high)),
        Predicate::Outside(low, high) => Predicate::Outside(value(low), value(high)),
        Predicate::Text(test, label, negated) => Predicate::Text(*test, value(label), *negated),
        Predicate::TypeOf(kind) => Predicate::TypeOf(kind.clone()),
        Predicate::And(left, right) => filled(left, values).and(filled(right, values)),
        Predicate::Or(left, right) => filled(left, values).or(filled(right, values)),
        Predicate::Not(inner) => Predicate::Not(Box::new(filled(inner, values))),
    }
}
