//! Steps that change the graph: `addV`, `addE`, `property`, `drop`.

use crate::compare::{Keyed, same};
use crate::error::{Outcome, TraverseError};
use crate::graph::Kept;
use crate::machine::Machine;
use crate::step::{EndOf, Given, Name, SetProperty, Step};
use crate::traverser::{Out, Traverser};
use foldhash::HashSet;
use gremlin::{Cardinality, Object, Token, VertexProperty};
use model::VertexId;
use std::sync::Arc;

/// A property to be set, its parts known.
struct Setting {
    cardinality: Option<Cardinality>,
    key: Object,
    value: Object,
    meta: Vec<(Name, Object)>,
}

impl Machine {
    pub(crate) fn change(&self, step: &Step, traverser: Traverser, out: Out<'_>) -> Outcome<()> {
        match step {
            Step::AddVertex { label, properties } => {
                let vertex = self.add_vertex(label.as_ref(), properties, &traverser)?;
                out.push(traverser.to(Object::Vertex(vertex), self.keeps_path));
            }
            Step::AddEdge { label, from, to, properties } => {
                let edge = self.add_edge(label, (from, to), properties, &traverser)?;
                out.push(traverser.to(edge, self.keeps_path));
            }
            Step::SetProperty(set) => {
                if let Some(setting) = self.setting_of(set, &traverser)? {
                    self.put(&traverser.object, setting)?;
                }
                out.push(traverser);
            }
            Step::SetProperties { cardinality, map } => {
                let map = self.given(map, &traverser)?;
                if let Some(Object::Map(pairs)) = map {
                    for (key, value) in pairs.iter() {
                        let cardinality = cardinality.and_then(Cardinality::of);
                        self.put_pair(&traverser.object, key, value, cardinality)?;
                    }
                }
                out.push(traverser);
            }
            Step::Drop => self.drop_object(&traverser.object)?,
            Step::Merge(merge) => self.merge(merge, &traverser, out)?,
            _ => {}
        }
        Ok(())
    }

    fn setting_of(&self, set: &SetProperty, traverser: &Traverser) -> Outcome<Option<Setting>> {
        let Some(key) = self.given(&set.key, traverser)? else { return Ok(None) };
        let Some(mut value) = self.given(&set.value, traverser)? else { return Ok(None) };
        let mut cardinality = set.cardinality.and_then(Cardinality::of);
        if let Object::Kept(kept) = &value {
            (cardinality, value) = (Some(kept.0), kept.1.clone());
        }
        let mut meta = Vec::new();
        for (key, value) in &set.meta {
            let (key, value) = (self.given(key, traverser)?, self.given(value, traverser)?);
            // null is no value: a property that is set to it is not there
            if let (Some(Object::String(key)), Some(value)) = (key, value)
                && value != Object::Null
            {
                meta.push((key, value));
            }
        }
        Ok(Some(Setting { cardinality, key, value, meta }))
    }

    /// The settings of a new element: its label, its id, and the rest.
    fn settings(
        &self,
        sets: &[SetProperty],
        traverser: &Traverser,
    ) -> Outcome<(Option<Object>, Option<Object>, Vec<Setting>)> {
        let (mut label, mut id, mut rest) = (None, None, Vec::new());
        for set in sets {
            let Some(setting) = self.setting_of(set, traverser)? else { continue };
            match setting.key {
                Object::Token(Token::TLabel) => label = Some(setting.value),
                Object::Token(Token::TId) => id = Some(setting.value),
                _ => rest.push(setting),
            }
        }
        Ok((label, id, rest))
    }

    fn add_vertex(
        &self,
        label: Option<&Given>,
        sets: &[SetProperty],
        traverser: &Traverser,
    ) -> Outcome<VertexId> {
        let (token_label, id, settings) = self.settings(sets, traverser)?;
        let given = match label {
            Some(label) => self.given(label, traverser)?,
            None => None,
        };
        let label = label_text(given.or(token_label).filter(|label| *label != Object::Null), "vertex")?;
        let vertex = self.graph.add_vertex(&[label], id.as_ref())?;
        self.write_partition(&Object::Vertex(vertex))?;
        let mut keys: HashSet<Keyed> = HashSet::default();
        for mut setting in settings {
            // a key that is named again has several values
            if !keys.insert(Keyed(setting.key.clone())) && setting.cardinality.is_none() {
                setting.cardinality = Some(Cardinality::List);
            }
            self.put(&Object::Vertex(vertex), setting)?;
        }
        Ok(vertex)
    }

    /// Marks a new element as of the partition that is written.
    pub(crate) fn write_partition(&self, object: &Object) -> Outcome<()> {
        let Some(partition) = &self.setting().partition else { return Ok(()) };
        let Some(value) = partition.write.clone() else { return Ok(()) };
        let key = Object::String(partition.key.clone());
        self.put(object, Setting { cardinality: Some(Cardinality::Single), key, value, meta: Vec::new() })
    }

    fn add_edge(
        &self,
        label: &Given,
        ends: (&EndOf, &EndOf),
        sets: &[SetProperty],
        traverser: &Traverser,
    ) -> Outcome<Object> {
        let (_, id, settings) = self.settings(sets, traverser)?;
        let label = label_text(self.given(label, traverser)?, "edge")?;
        let source = self.end(ends.0, "from", traverser)?;
        let target = self.end(ends.1, "to", traverser)?;
        let edge = self.graph.add_edge(&label, source, target, id.as_ref())?;
        let edge = Object::Edge(Arc::new(edge));
        self.write_partition(&edge)?;
        for setting in settings {
            self.put(&edge, setting)?;
        }
        Ok(edge)
    }

    fn end(&self, end: &EndOf, side: &str, traverser: &Traverser) -> Outcome<VertexId> {
        let object = match end {
            EndOf::Current => Some(traverser.object.clone()),
            EndOf::Label(label) => self.scoped(label, traverser, Token::Last)?,
            EndOf::Vertex(vertex) => Some(vertex.clone()),
            EndOf::Body(body) => {
                self.first(body, Traverser { bulk: 1, ..traverser.clone() })?.map(|found| found.object)
            }
        };
        let found = match &object {
            Some(object) => self.vertex_of(object)?,
            None => None,
        };
        found.ok_or_else(|| {
            let shown = object.map_or("nothing".into(), |object| object.to_string());
            let message = format!("The value given to addE(...).{side}() must resolve to a Vertex or the ID of a Vertex present in the graph, but {shown} was specified instead");
            TraverseError::step("addE", message)
        })
    }

    /// Sets a property by a pair of a map.
    pub(crate) fn put_pair(
        &self,
        object: &Object,
        key: &Object,
        value: &Object,
        cardinality: Option<Cardinality>,
    ) -> Outcome<()> {
        let (cardinality, value) = match value {
            Object::Kept(kept) => (Some(kept.0), kept.1.clone()),
            value => (cardinality, value.clone()),
        };
        self.put(object, Setting { cardinality, key: key.clone(), value, meta: Vec::new() })
    }

    /// Sets a property of an element.
    fn put(&self, object: &Object, setting: Setting) -> Outcome<()> {
        let key = match &setting.key {
            Object::String(key) => key_text(key)?,
            Object::Token(token) => {
                let message = format!(
                    "{}.{} of an element that is there cannot be changed",
                    token.class(),
                    token.name()
                );
                return Err(TraverseError::step("property", message));
            }
            other => return Err(TraverseError::step("property", format!("{other} is no property key"))),
        };
        match object {
            Object::Vertex(vertex) => self.put_vertex(*vertex, &key, setting),
            Object::Edge(edge) => {
                let value = Some(&setting.value).filter(|value| **value != Object::Null);
                self.graph.set_edge_property(edge, &key, value)
            }
            Object::VertexProperty(property) => self.put_meta(property, &key, &setting.value),
            other => {
                let message = format!("{other} is a {}, not an element of the graph", other.type_name());
                Err(TraverseError::step("property", message))
            }
        }
    }

    fn put_vertex(&self, vertex: VertexId, key: &Name, setting: Setting) -> Outcome<()> {
        if setting.value == Object::Null {
            return match setting.cardinality {
                None | Some(Cardinality::Single) => self.graph.set_property(vertex, key, &[]),
                _ => Ok(()),
            };
        }
        let cardinality = setting.cardinality.unwrap_or(Cardinality::Single);
        let new = Kept { value: setting.value, meta: setting.meta };
        let kept = match cardinality {
            Cardinality::Single => vec![new],
            Cardinality::List => {
                let mut all = self.graph.property(vertex, key)?;
                all.push(new);
                all
            }
            Cardinality::Set => {
                let mut all = self.graph.property(vertex, key)?;
                match all.iter_mut().find(|known| same(&known.value, &new.value)) {
                    Some(known) => known.meta = new.meta,
                    None => all.push(new),
                }
                all
            }
        };
        self.graph.set_property(vertex, key, &kept)
    }

    fn put_meta(&self, property: &VertexProperty, key: &Name, value: &Object) -> Outcome<()> {
        let mut all = self.graph.property(property.vertex, &property.key)?;
        if let Some(kept) = all.get_mut(property.place as usize) {
            kept.meta.retain(|(known, _)| known != key);
            if *value != Object::Null {
                kept.meta.push((key.clone(), value.clone()));
            }
        }
        self.graph.set_property(property.vertex, &property.key, &all)
    }

    fn drop_object(&self, object: &Object) -> Outcome<()> {
        match object {
            Object::Vertex(vertex) => self.graph.remove_vertex(*vertex),
            Object::Edge(edge) => self.graph.remove_edge(edge),
            Object::VertexProperty(property) => {
                let mut all = self.graph.property(property.vertex, &property.key)?;
                if let Some(at) = all.iter().position(|kept| same(&kept.value, &property.value)) {
                    all.remove(at);
                }
                self.graph.set_property(property.vertex, &property.key, &all)
            }
            Object::Property(property) => match &property.owner {
                Object::Edge(edge) => self.graph.set_edge_property(edge, &property.key, None),
                Object::VertexProperty(owner) => self.put_meta(owner, &property.key, &Object::Null),
                _ => Ok(()),
            },
            other => {
                let message = format!("{other} is a {}, which cannot be dropped", other.type_name());
                Err(TraverseError::step("drop", message))
            }
        }
    }
}

/// A key that a client may use.
pub(crate) fn key_text(key: &Name) -> Outcome<Name> {
    match key {
        key if key.is_empty() => {
            Err(TraverseError::step("property", "Property key can not be the empty string"))
        }
        key if key.starts_with('~') => {
            Err(TraverseError::step("property", format!("Property key can not be a hidden key: {key}")))
        }
        key => Ok(key.clone()),
    }
}

/// A label that a client may use, or the one that stands for none.
pub(crate) fn label_text(label: Option<Object>, absent: &str) -> Outcome<Name> {
    match label {
        None => Ok(absent.into()),
        Some(Object::String(label)) if label.is_empty() => {
            Err(TraverseError::step("addV", "Label can not be the empty string"))
        }
        Some(Object::String(label)) if label.starts_with('~') => {
            Err(TraverseError::step("addV", format!("Label can not be a hidden key: {label}")))
        }
        Some(Object::String(label)) => Ok(label),
        Some(Object::Null) => Err(TraverseError::step("addV", "Label can not be null")),
        Some(other) => {
            Err(TraverseError::step("addV", format!("{other} is a {}, not a label", other.type_name())))
        }
    }
}
