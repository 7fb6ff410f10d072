//! Reads of vertices, edges and properties: ids, labels, values, and the filters over them.

use crate::compare::holds;
use crate::error::{Outcome, TraverseError};
use crate::graph::Kept;
use crate::machine::Machine;
use crate::step::{Body, HasWhat, Name, Step};
use crate::traverser::Traverser;
use gremlin::{Object, Predicate, Property, Token, VertexProperty};
use model::VertexId;
use std::sync::Arc;

impl Machine {
    pub(crate) fn id(&self, object: &Object) -> Outcome<Object> {
        match object {
            Object::Vertex(vertex) => self.graph.vertex_id(*vertex),
            Object::Edge(edge) => self.graph.edge_id(edge),
            Object::VertexProperty(property) => Ok(property_id(property)),
            other => Err(not_an_element("id", other)),
        }
    }
    pub(crate) fn label(&self, object: &Object) -> Outcome<Object> {
        match object {
            Object::Vertex(vertex) => Ok(Object::string(self.graph.labels(*vertex)?.join("::"))),
            Object::Edge(edge) => Ok(Object::String(self.graph.edge_type(edge)?)),
            Object::VertexProperty(property) => Ok(Object::String(property.key.clone())),
            other => Err(not_an_element("label", other)),
        }
    }
    pub(crate) fn key(&self, object: &Object) -> Outcome<Object> {
        match object {
            Object::VertexProperty(property) => Ok(Object::String(property.key.clone())),
            Object::Property(property) => Ok(Object::String(property.key.clone())),
            Object::Entry(entry) => Ok(entry.0.clone()),
            other => {
                Err(TraverseError::step("key", format!("{other} is a {}, not a property", other.type_name())))
            }
        }
    }
    pub(crate) fn value(&self, object: &Object) -> Outcome<Object> {
        match object {
            Object::VertexProperty(property) => Ok(property.value.clone()),
            Object::Property(property) => Ok(property.value.clone()),
            Object::Entry(entry) => Ok(entry.1.clone()),
            other => Err(TraverseError::step(
                "value",
                format!("{other} is a {}, not a property", other.type_name()),
            )),
        }
    }

    /// The values of one key of an element.
    pub(crate) fn values_of(&self, object: &Object, key: &str) -> Outcome<Vec<Object>> {
        Ok(match object {
            Object::Vertex(vertex) if self.sees_all() => {
                self.graph.property(*vertex, key)?.into_iter().map(|kept| kept.value).collect()
            }
            Object::Vertex(_) => {
                let properties = self.properties_of(object, &[key.into()])?;
                properties.iter().map(|property| self.value(property)).collect::<Outcome<_>>()?
            }
            Object::Edge(edge) => self.graph.edge_property(edge, key)?.into_iter().collect(),
            Object::VertexProperty(property) => property
                .meta
                .iter()
                .filter(|(known, _)| **known == *key)
                .map(|(_, value)| value.clone())
                .collect(),
            other => return Err(not_an_element("values", other)),
        })
    }

    /// The properties of an element with one of these keys; all, where there is none.
    pub(crate) fn properties_of(&self, object: &Object, keys: &[Name]) -> Outcome<Vec<Object>> {
        let owned = |key: Name, value: Object| {
            Object::Property(Arc::new(Property { owner: object.clone(), key, value }))
        };
        let mut found = Vec::new();
        match object {
            Object::Vertex(vertex) if keys.is_empty() => {
                for (key, kept) in self.graph.properties(*vertex)? {
                    vertex_properties(*vertex, &key, kept, &mut found);
                }
            }
            Object::Vertex(vertex) => {
                for key in keys {
                    vertex_properties(*vertex, key, self.graph.property(*vertex, key)?, &mut found);
                }
            }
            Object::Edge(edge) if keys.is_empty() => {
                found.extend(
                    self.graph.edge_properties(edge)?.into_iter().map(|(key, value)| owned(key, value)),
                );
            }
            Object::Edge(edge) => {
                for key in keys {
                    found.extend(self.graph.edge_property(edge, key)?.map(|value| owned(key.clone(), value)));
                }
            }
            Object::VertexProperty(property) => {
                let wanted = |key: &Name| keys.is_empty() || keys.contains(key);
                let all = property.meta.iter().filter(|(key, _)| wanted(key));
                found.extend(all.map(|(key, value)| owned(key.clone(), value.clone())));
            }
            other => return Err(not_an_element("properties", other)),
        }
        if !self.sees_all() && matches!(object, Object::Vertex(_)) {
            let mut seen = Vec::new();
            for property in found {
                if self.sees_property(&property)? {
                    seen.push(property);
                }
            }
            return Ok(seen);
        }
        Ok(found)
    }

    pub(crate) fn has_key(&self, key: &str, object: &Object) -> Outcome<bool> {
        Ok(match object {
            Object::Map(pairs) => pairs.iter().any(|(known, _)| known.as_str() == Some(key)),
            Object::Vertex(_) | Object::Edge(_) | Object::VertexProperty(_) => {
                !self.values_of(object, key)?.is_empty()
            }
            _ => false,
        })
    }

    pub(crate) fn has(&self, what: &HasWhat, predicate: &Predicate, object: &Object) -> Outcome<bool> {
        let test = |value: &Object| holds(predicate, value) == Some(true);
        Ok(match what {
            HasWhat::Key(key) => match object {
                Object::Vertex(_) | Object::Edge(_) | Object::VertexProperty(_) => {
                    self.values_of(object, key)?.iter().any(test)
                }
                _ => false,
            },
            HasWhat::Id => self.has_id(predicate, object)?,
            HasWhat::Label => match object {
                Object::Vertex(vertex) => {
                    let labels = self.graph.labels(*vertex)?;
                    // several labels are one name, or each of them
                    test(&Object::string(labels.join("::")))
                        || labels.iter().any(|label| labels.len() > 1 && test(&Object::String(label.clone())))
                }
                Object::Edge(edge) => test(&Object::String(self.graph.edge_type(edge)?)),
                Object::VertexProperty(property) => test(&Object::String(property.key.clone())),
                _ => false,
            },
            HasWhat::PropertyKey => test(&self.key(object)?),
            HasWhat::PropertyValue => test(&self.value(object)?),
        })
    }

    /// Ids compare as the graph finds elements by them: a client may give the element, the number or its text.
    fn has_id(&self, predicate: &Predicate, object: &Object) -> Outcome<bool> {
        let own = match object {
            Object::Vertex(_) | Object::Edge(_) | Object::VertexProperty(_) => self.id(object)?,
            _ => return Ok(false),
        };
        Ok(holds(&as_ids(predicate, &own, self)?, &own) == Some(true))
    }

    pub(crate) fn all_hold(&self, bodies: &[Body], traverser: &Traverser) -> Outcome<bool> {
        for body in bodies {
            if !self.holds(body, traverser)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
    pub(crate) fn any_holds(&self, bodies: &[Body], traverser: &Traverser) -> Outcome<bool> {
        for body in bodies {
            if self.holds(body, traverser)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
    /// Does a filter deny? A comparison that is an error is neither true nor false, and negated it is an error still.
    pub(crate) fn denies(&self, body: &Body, traverser: &Traverser) -> Outcome<bool> {
        if let [Step::Is(predicate)] = body.steps.as_slice() {
            return Ok(holds(predicate, &traverser.object) == Some(false));
        }
        Ok(!self.holds(body, traverser)?)
    }
}

fn vertex_properties(vertex: VertexId, key: &Name, kept: Vec<Kept>, found: &mut Vec<Object>) {
    for (place, kept) in kept.into_iter().enumerate() {
        let (key, place) = (key.clone(), place as u32);
        let property = VertexProperty { vertex, key, place, value: kept.value, meta: kept.meta };
        found.push(Object::VertexProperty(Arc::new(property)));
    }
}

/// The id of a property of a vertex: of its vertex, its key and its position there.
pub fn property_id(property: &VertexProperty) -> Object {
    Object::string(format!("{}/{}/{}", property.vertex.0, property.key, property.place))
}

fn not_an_element(step: &'static str, object: &Object) -> TraverseError {
    let kind = object.type_name();
    TraverseError::step(step, format!("{object} is a {kind}, not an element of the graph"))
}

/// A predicate over ids in which elements stand for their ids, and text for the number it writes.
fn as_ids(predicate: &Predicate, own: &Object, machine: &Machine) -> Outcome<Predicate> {
    let id = |object: &Object| -> Outcome<Object> {
        Ok(match object {
            Object::Reference(reference) => reference.id.clone(),
            Object::Vertex(_) | Object::Edge(_) | Object::VertexProperty(_) => machine.id(object)?,
            Object::String(text) if own.as_long().is_some() => {
                text.parse().map_or(object.clone(), Object::Long)
            }
            other => other.clone(),
        })
    };
    let all = |objects: &[Object]| objects.iter().map(id).collect::<Outcome<Vec<_>>>();
    Ok(match predicate {
        Predicate::Compare(how, value) => Predicate::Compare(*how, id(value)?),
        Predicate::Within(values) => Predicate::Within(all(values)?),
        Predicate::Without(values) => Predicate::Without(all(values)?),
        Predicate::And(left, right) => as_ids(left, own, machine)?.and(as_ids(right, own, machine)?),
        Predicate::Or(left, right) => as_ids(left, own, machine)?.or(as_ids(right, own, machine)?),
        other => other.clone(),
    })
}

/// Is it one of the tokens an element map begins with?
pub(crate) fn is_token(object: &Object) -> bool {
    matches!(object, Object::Token(Token::TId | Token::TLabel | Token::TKey | Token::TValue))
}
