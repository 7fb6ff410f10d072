//! Texts of gremlin-lang through a session, with objects as values for display.

use super::Session;
use super::gremlin_script::Script;
use crate::entity::{Hydrated, hydrate};
use crate::gremlin::{Ended, GremlinOptions};
use crate::{Error, Params};
use gremlin::object::uuid_text;
use gremlin::{Bindings, Object, Request};
use model::Value;
use std::sync::Arc;
use store::Snapshot;
use transact::Mode;
use traverse::answer::stored_value;

/// The answer to a text, in batches.
pub struct GremlinRows {
    source: Source,
}

enum Source {
    Traversal(Ended),
    Value(Option<Object>),
    Nothing,
}

impl Session {
    /// Runs a text, its parameters as bindings. Of several traversals the last one's objects are the answer. `g.tx()` begins, commits and
    /// rolls back the session's transaction.
    ///
    /// # Errors
    /// The text cannot be parsed, or the traversal fails.
    pub fn gremlin_text(
        &mut self,
        text: &str,
        params: &Params,
        options: &GremlinOptions,
    ) -> Result<GremlinRows, Error> {
        let bindings: Bindings = params
            .iter()
            .map(|(name, value)| (name.to_string(), stored_value::to_object(value).into()))
            .collect();
        let mut source = Source::Nothing;
        let requests = match self.gremlin_script(text, &bindings, options)? {
            Script::Answer(ended) => return Ok(GremlinRows { source: Source::Traversal(ended) }),
            Script::Requests(requests) => requests,
        };
        for request in requests {
            // What came before runs to its end.
            GremlinRows { source }.drain()?;
            source = match request {
                Request::Traversal(traversal, terminal) => {
                    Source::Traversal(self.gremlin(&traversal, options)?.ended_by(terminal))
                }
                Request::Transaction(word) => {
                    self.transact(&word)?;
                    Source::Nothing
                }
                Request::Value(value) => Source::Value(Some(value)),
            };
        }
        Ok(GremlinRows { source })
    }
    fn transact(&mut self, word: &str) -> Result<(), Error> {
        match word {
            "begin" | "open" => self.begin(Mode::Write),
            "commit" => self.commit().map(drop),
            "rollback" => self.rollback(),
            other => {
                let message = format!("tx().{other}() is not known; begin, commit and rollback are");
                Err(Error::new("Neo.ClientError.Statement.ArgumentError", message))
            }
        }
    }
}

impl GremlinRows {
    /// Does it run for its effects alone: `.iterate()`, `g.tx()`?
    pub fn is_silent(&self) -> bool {
        match &self.source {
            Source::Nothing => true,
            Source::Value(_) => false,
            Source::Traversal(ended) => ended.is_silent(),
        }
    }
    /// Waits for more objects, each with its multiplicity; none at the end.
    ///
    /// # Errors
    /// The traversal fails, or a vertex or an edge of the answer cannot be read.
    pub fn next_objects(&mut self) -> Result<Option<Vec<(Hydrated, u64)>>, Error> {
        match &mut self.source {
            Source::Nothing => Ok(None),
            Source::Value(value) => Ok(value.take().map(|value| vec![(plain(&value), 1)])),
            Source::Traversal(ended) => {
                let Some(found) = ended.next_objects()? else { return Ok(None) };
                let view = ended.answer.view();
                let shown = found.into_iter().map(|(object, bulk)| Ok((shown(&object, view)?, bulk)));
                shown.collect::<Result<_, Error>>().map(Some)
            }
        }
    }
    fn drain(mut self) -> Result<(), Error> {
        if let Source::Traversal(ended) = &mut self.source {
            while ended.next_objects()?.is_some() {}
        }
        Ok(())
    }
}

/// A value that needs nothing looked up.
fn plain(object: &Object) -> Hydrated {
    Hydrated::Plain(value_of(object))
}

/// The value of an object. Types without a value type are texts; the mark under which the graph stores them is removed.
fn value_of(object: &Object) -> Value {
    match object {
        Object::Uuid(uuid) => Value::string(uuid_text(**uuid)),
        Object::BigInt(number) => Value::string(number.to_string()),
        Object::BigDecimal(_) => Value::string(object.to_string().trim_end_matches(['m', 'M'])),
        Object::Char(letter) => Value::string(letter.to_string()),
        other => stored_value::to_value(other).unwrap_or_else(|| Value::string(other.to_string())),
    }
}

/// The same for the properties of a vertex or an edge.
fn readable(mut hydrated: Hydrated) -> Hydrated {
    let properties = match &mut hydrated {
        Hydrated::Node(node) => &mut node.properties,
        Hydrated::Relationship(relationship) => &mut relationship.properties,
        _ => return hydrated,
    };
    for (_, value) in properties.iter_mut().filter(|(_, value)| matches!(value, Value::Map(_))) {
        *value = value_of(&stored_value::to_object(value));
    }
    hydrated
}

/// An object with all about the vertices and edges in it.
fn shown(object: &Object, view: &Snapshot) -> Result<Hydrated, Error> {
    let list = |all: &[Object]| -> Result<Hydrated, Error> {
        Ok(Hydrated::List(all.iter().map(|one| shown(one, view)).collect::<Result<_, _>>()?))
    };
    let map = |pairs: &[(Object, Object)]| -> Result<Hydrated, Error> {
        let pair = |(key, value): &(Object, Object)| Ok((name(key), shown(value, view)?));
        Ok(Hydrated::Map(pairs.iter().map(pair).collect::<Result<_, Error>>()?))
    };
    Ok(match object {
        Object::Vertex(vertex) => readable(hydrate(&Value::Vertex(*vertex), view)?),
        Object::Edge(edge) => readable(hydrate(&Value::Edge(edge.clone()), view)?),
        Object::VertexProperty(property) => property_of(&property.key, &property.value, view)?,
        Object::Property(property) => property_of(&property.key, &property.value, view)?,
        Object::List(all) | Object::Set(all) => list(all)?,
        Object::Path(path) => list(&path.objects)?,
        Object::Map(pairs) | Object::Tree(pairs) => map(pairs)?,
        Object::Entry(entry) => map(std::slice::from_ref(&**entry))?,
        Object::Bulk(bag) => {
            let pair = |(one, bulk): &(Object, u64)| (name(one), Hydrated::Plain(Value::Int(*bulk as i64)));
            Hydrated::Map(bag.iter().map(pair).collect())
        }
        Object::Graph(graph) => {
            let vertices = graph.vertices.iter().map(|vertex| shown(&Object::Vertex(*vertex), view));
            let edges = graph.edges.iter().map(|edge| shown(&Object::Edge(edge.clone()), view));
            Hydrated::Map(vec![
                ("vertices".into(), Hydrated::List(vertices.collect::<Result<_, _>>()?)),
                ("edges".into(), Hydrated::List(edges.collect::<Result<_, _>>()?)),
            ])
        }
        Object::Token(token) => Hydrated::Plain(Value::string(token.name())),
        other => plain(other),
    })
}

fn property_of(key: &Arc<str>, value: &Object, view: &Snapshot) -> Result<Hydrated, Error> {
    Ok(Hydrated::Map(vec![(key.clone(), shown(value, view)?)]))
}

/// A key as text.
fn name(key: &Object) -> Arc<str> {
    match key {
        Object::String(text) => text.clone(),
        Object::Token(token) => token.name().into(),
        Object::Vertex(vertex) => format!("v[{}]", vertex.0).into(),
        Object::Edge(edge) => format!("e[{}]", edge.id.0).into(),
        other => other.as_long().map_or_else(|| other.to_string(), |number| number.to_string()).into(),
    }
}
