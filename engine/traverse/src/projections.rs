//! Projections of a traverser: selections by label, projections, formulas, formats, conversions.

use crate::error::{Outcome, TraverseError};
use crate::machine::Machine;
use crate::pieces::metered;
use crate::step::{By, Convert, Given, Name};
use crate::traverser::Traverser;
use gremlin::{Object, Token};
use std::sync::Arc;

impl Machine {
    pub(crate) fn select(
        &self,
        labels: &[Name],
        pop: Token,
        by: &[By],
        traverser: &Traverser,
    ) -> Outcome<Option<Object>> {
        let mut map = crate::ordered::Ordered::<Object>::default();
        for (at, label) in labels.iter().enumerate() {
            let Some(object) = self.scoped(label, traverser, pop)? else { return Ok(None) };
            let there = Traverser { object, ..traverser.clone() };
            let Some(value) = self.by(self.turn(by, at), &there)? else { return Ok(None) };
            *map.at(&Object::String(label.clone())) = value;
        }
        let mut pairs = map.items.into_vec()?;
        Ok(match labels.len() {
            1 => pairs.pop().map(|(_, value)| value),
            _ => Some(Object::map(pairs)),
        })
    }

    /// Selects the key that a traversal yields.
    pub(crate) fn select_by(
        &self,
        body: &crate::step::Body,
        pop: Token,
        by: &[By],
        traverser: &Traverser,
    ) -> Outcome<Option<Object>> {
        let Some(key) = self.first(body, Traverser { bulk: 1, ..traverser.clone() })? else {
            return Ok(None);
        };
        let found = match (&traverser.object, &key.object) {
            (Object::Map(pairs), key) => pairs
                .iter()
                .find(|(known, _)| crate::compare::same(known, key))
                .map(|(_, value)| value.clone()),
            (_, Object::String(label)) => self.scoped(label, traverser, pop)?,
            _ => None,
        };
        match found {
            Some(object) => self.by(self.turn(by, 0), &Traverser { object, ..traverser.clone() }),
            None => Ok(None),
        }
    }

    pub(crate) fn project(&self, keys: &[Name], by: &[By], traverser: &Traverser) -> Outcome<Object> {
        let mut pairs = Vec::new();
        for (at, key) in keys.iter().enumerate() {
            if let Some(value) = self.by(self.turn(by, at), traverser)? {
                pairs.push((Object::String(key.clone()), value));
            }
        }
        Ok(Object::map(pairs))
    }

    pub(crate) fn math(
        &self,
        formula: &crate::formula::Formula,
        by: &[By],
        traverser: &Traverser,
    ) -> Outcome<Option<Object>> {
        let mut named = Vec::new();
        for (at, name) in formula.names().into_iter().enumerate() {
            let object = match &*name {
                "_" => Some(traverser.object.clone()),
                label => self.scoped(label, traverser, Token::Last)?,
            };
            let Some(object) = object else { return Ok(None) };
            let there = Traverser { object, ..traverser.clone() };
            let Some(value) = self.by(self.turn(by, at), &there)? else { return Ok(None) };
            match crate::number::Number::of(&value) {
                Some(number) => named.push((name, number.as_f64())),
                None => {
                    let message = format!("{name} is {value}, a {}, not a number", value.type_name());
                    return Err(TraverseError::step("math", message));
                }
            }
        }
        let value = |name: &str| {
            named.iter().find(|(known, _)| **known == *name).map_or(f64::NAN, |(_, value)| *value)
        };
        Ok(Some(Object::Double(formula.value(&value))))
    }

    /// `%{name}` is replaced by a property, an entry or the object of a label; `%{_}` by the next modulator's result.
    pub(crate) fn format(&self, text: &str, by: &[By], traverser: &Traverser) -> Outcome<Option<Object>> {
        let (mut shown, mut rest, mut turn) = (String::new(), text, 0);
        while let Some((before, behind)) = rest.split_once("%{") {
            let Some((name, after)) = behind.split_once('}') else { break };
            shown.push_str(before);
            let value = if name == "_" {
                turn += 1;
                self.by(self.turn(by, turn - 1), traverser)?
            } else {
                let own = match &traverser.object {
                    object @ (Object::Vertex(_) | Object::Edge(_) | Object::VertexProperty(_)) => {
                        self.values_of(object, name)?.into_iter().next()
                    }
                    _ => None,
                };
                match own {
                    Some(own) => Some(own),
                    None => self.scoped(name, traverser, Token::Last)?,
                }
            };
            let Some(value) = value else { return Ok(None) };
            shown.push_str(&crate::convert::shown(&value));
            rest = after;
        }
        shown.push_str(rest);
        Ok(Some(Object::string(shown)))
    }

    pub(crate) fn convert(&self, convert: &Convert, traverser: &Traverser) -> Outcome<Option<Object>> {
        if traverser.object == Object::Null && takes_collection(convert.name) {
            let message = format!("Incoming traverser for {} step can't be null.", convert.name);
            return Err(TraverseError::step(convert.name, message));
        }
        let mut arguments = Vec::with_capacity(convert.arguments.len());
        for given in &convert.arguments {
            match (given, self.given(given, traverser)?) {
                (Given::Body(_), value) if takes_collection(convert.name) => {
                    arguments.push(collection(convert.name, value, &traverser.object)?);
                }
                (_, Some(value)) => arguments.push(value),
                (_, None) if convert.name == "concat" => arguments.push(Object::Null),
                (_, None) => return Ok(None),
            }
        }
        let object = match convert.name {
            "asString" => &self.with_named_elements(&traverser.object)?,
            _ => &traverser.object,
        };
        crate::convert::convert(convert.name, convert.local, object, &arguments).map(Some)
    }

    /// The object with its vertices and edges as texts that name them by the ids that clients know: `v[1]`, `e[7][1-knows->2]`.
    fn with_named_elements(&self, object: &Object) -> Outcome<Object> {
        let all = |objects: &[Object]| -> Outcome<Vec<Object>> {
            metered(objects).map(|object| self.with_named_elements(object)).collect()
        };
        Ok(match object {
            Object::Vertex(vertex) => {
                Object::string(format!("v[{}]", crate::convert::shown(&self.graph.vertex_id(*vertex)?)))
            }
            Object::Edge(edge) => {
                let id = crate::convert::shown(&self.graph.edge_id(edge)?);
                let [source, target] = [edge.source, edge.target].map(|end| self.graph.vertex_id(end));
                let (source, target) = (crate::convert::shown(&source?), crate::convert::shown(&target?));
                let label = self.graph.edge_type(edge)?;
                Object::string(format!("e[{id}][{source}-{label}->{target}]"))
            }
            Object::List(objects) => Object::list(all(objects)?),
            Object::Set(objects) => Object::Set(Arc::new(all(objects)?)),
            Object::Bulk(_) => Object::list(all(&crate::convert::elements_of(object).unwrap_or_default())?),
            Object::Path(path) => {
                let (labels, objects) = (path.labels.clone(), all(&path.objects)?);
                Object::Path(Arc::new(gremlin::object::Path { labels, objects }))
            }
            Object::Map(pairs) => {
                let pair = |(key, value): &(Object, Object)| {
                    Ok((self.with_named_elements(key)?, self.with_named_elements(value)?))
                };
                Object::map(metered(pairs.iter()).map(pair).collect::<Outcome<_>>()?)
            }
            other => other.clone(),
        })
    }
}

fn takes_collection(name: &str) -> bool {
    matches!(name, "combine" | "difference" | "disjunct" | "intersect" | "merge" | "product")
}

/// The value of a traversal given to a step on collections, which must be one.
fn collection(name: &'static str, value: Option<Object>, object: &Object) -> Outcome<Object> {
    match value {
        Some(Object::Map(pairs)) if name == "merge" && matches!(object, Object::Map(_)) => {
            Ok(Object::Map(pairs))
        }
        None | Some(Object::Null) => {
            let message = format!("traversal argument for {name} step must yield an iterable type, not null");
            Err(TraverseError::step(name, message))
        }
        Some(value) if crate::convert::elements_of(&value).is_some() => Ok(value),
        Some(value) if name == "merge" && matches!(object, Object::Map(_)) => {
            let kind = value.type_name();
            let message =
                format!("merge step expected provided argument to evaluate to a Map, encountered {kind}");
            Err(TraverseError::step(name, message))
        }
        Some(value) => {
            let kind = value.type_name();
            let message =
                format!("traversal argument for {name} step must yield an iterable type, encountered {kind}");
            Err(TraverseError::step(name, message))
        }
    }
}
