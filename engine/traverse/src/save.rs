//! A graph out into a file of GraphSON 3: one vertex a line, with its properties and the edges on both sides, as TinkerGraph writes it.
//!
//! Ids are those that Gremlin shows: the client's, or else the number. Labels are joined by `::`; where that is ambiguous, a field `labels` lists
//! them. Values that GraphSON has no form for are written as in [`exact`]. Cost: one walk; memory for one vertex with its edges.

use crate::answer::{AnswerError, stored_value};
use crate::load::{LINE_BYTES_MAX, exact};
use gremlin::graphson::{BagTooLarge, Dialect, JsonWriter};
use gremlin::object::VertexProperty;
use gremlin::{Elements, Object, ShownEdge, ShownVertex};
use model::{Direction, EdgeId, EdgeRef, EdgeTypeId, KeyId, Value, VertexId};
use plan::hidden::{OWN_ID, is_hidden};
use std::collections::{BTreeMap, HashSet};
use std::io::Write;
use std::sync::Arc;
use store::{EdgeScratch, LabelFilter, Snapshot};

/// The prefix of the id of a vertex without a client's id, if another vertex has its number as id.
const NUMBERED: &str = "tanglewood:";

/// Counts of elements written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Saved {
    /// Vertices.
    pub vertices: u64,
    /// Edges.
    pub edges: u64,
}

/// Only values are written here, and no vertices or edges within them.
enum NoElements {}

impl Elements for NoElements {
    type Error = BagTooLarge;
    fn vertex(&self, _: VertexId) -> Result<ShownVertex, BagTooLarge> {
        match *self {}
    }
    fn vertex_name(&self, _: VertexId) -> Result<(Object, Arc<str>), BagTooLarge> {
        match *self {}
    }
    fn edge(&self, _: &EdgeRef) -> Result<ShownEdge, BagTooLarge> {
        match *self {}
    }
    fn property_id(&self, _: &VertexProperty) -> Object {
        match *self {}
    }
}

type LineWriter<'a> = JsonWriter<'a, NoElements>;

fn refused(message: String) -> AnswerError {
    AnswerError::File {
        code: "Neo.ClientError.Export.Refused",
        message: format!("{message}; nothing was exported"),
        hint: Some("csv, jsonl and parquet say every value"),
    }
}

/// Writes the graph, a line a vertex; polls `stopped` now and then.
///
/// # Errors
/// A value has no form, a line would be too long to be read, the graph cannot be read, the file not be written, or it was stopped.
pub fn save(
    snapshot: &Snapshot,
    to: &mut dyn Write,
    stopped: &dyn Fn() -> bool,
) -> Result<Saved, AnswerError> {
    let mut saving = Saving::new(snapshot)?;
    for chunk in snapshot.scan_chunks(&LabelFilter::Any) {
        if stopped() {
            return Err(AnswerError::File {
                code: "Neo.ClientError.Transaction.Terminated",
                message: "the export was stopped; nothing was exported".into(),
                hint: None,
            });
        }
        let mut vertices = Vec::new();
        snapshot.scan_chunk(chunk, &LabelFilter::Any, &mut vertices)?;
        for vertex in vertices {
            let mut line = saving.line(vertex)?;
            if line.len() as u64 + 1 >= LINE_BYTES_MAX {
                return Err(refused(format!(
                    "vertex {} with its edges would be a line that would have more than {LINE_BYTES_MAX} bytes",
                    vertex.dense()
                )));
            }
            line.push('\n');
            to.write_all(line.as_bytes()).map_err(|error| AnswerError::File {
                code: "Neo.ClientError.Import.Unreadable",
                message: format!("the file cannot be written: {error}; nothing was exported"),
                hint: None,
            })?;
        }
    }
    Ok(saving.saved)
}

struct Saving<'s> {
    snapshot: &'s Snapshot,
    saved: Saved,
    own: Option<KeyId>,
    /// Ids of clients that are numbers.
    taken: HashSet<i64>,
    /// Keys that hold whole numbers of 64 bits.
    wide: HashSet<KeyId>,
    /// Properties of vertices so far.
    properties: i64,
    scratch: EdgeScratch,
}

impl Saving<'_> {
    fn new(snapshot: &Snapshot) -> Result<Saving<'_>, AnswerError> {
        let catalog = snapshot.catalog();
        let own = catalog.key(OWN_ID);
        let mut taken = HashSet::new();
        if let Some(own) = own {
            for chunk in snapshot.scan_chunks(&LabelFilter::Any) {
                let mut vertices = Vec::new();
                snapshot.scan_chunk(chunk, &LabelFilter::Any, &mut vertices)?;
                for vertex in vertices {
                    taken.extend(stored_value::to_object(&snapshot.property(vertex, own)?).as_long());
                }
            }
        }
        let names = catalog.names().keys().iter();
        let wide =
            names.filter(|name| stored_value::is_wide(snapshot, name)).filter_map(|name| catalog.key(name));
        let wide = wide.collect();
        let (saved, scratch) = (Saved::default(), EdgeScratch::default());
        Ok(Saving { snapshot, saved, own, taken, wide, properties: 0, scratch })
    }
    fn id(&self, vertex: VertexId) -> Result<Object, AnswerError> {
        let given = match self.own {
            Some(own) => self.snapshot.property(vertex, own)?,
            None => Value::Null,
        };
        let number = i64::from(vertex.dense());
        Ok(match given {
            Value::Null if self.taken.contains(&number) => Object::string(format!("{NUMBERED}{number}")),
            Value::Null => Object::Long(number),
            given => stored_value::read(&given, self.own.is_some_and(|own| self.wide.contains(&own))),
        })
    }
    fn value(&self, key: KeyId, name: &str, value: &Value, of: VertexId) -> Result<Object, AnswerError> {
        exact::to_object(value, self.wide.contains(&key)).ok_or_else(|| {
            let text = model::temporal::text(value).unwrap_or_default();
            refused(format!(
                "the property `{name}` at node {} cannot be written: {text} would not be read as the same value",
                of.dense()
            ))
        })
    }
    fn object(line: &mut LineWriter<'_>, object: &Object) -> Result<(), AnswerError> {
        line.object(object).map_err(|error| refused(error.to_string()))
    }
    fn name(&self, key: KeyId) -> Option<Arc<str>> {
        self.snapshot.catalog().key_name(key).filter(|name| !is_hidden(name)).cloned()
    }
    fn line(&mut self, vertex: VertexId) -> Result<String, AnswerError> {
        self.saved.vertices += 1;
        let catalog = self.snapshot.catalog();
        let labels = catalog.labels_of(self.snapshot.labels(vertex)?);
        let labels: Vec<Arc<str>> =
            labels.iter().filter_map(|label| catalog.label_name(*label)).cloned().collect();
        let mut line = LineWriter::new(Dialect::DEFAULT, None);
        line.put("{\"id\":");
        Self::object(&mut line, &self.id(vertex)?)?;
        line.put(",\"label\":");
        let joined = labels.join("::");
        line.quote(if labels.is_empty() { "vertex" } else { &joined });
        if labels.is_empty() || joined.split("::").count() != labels.len() {
            line.put(",\"labels\":[");
            for (number, label) in labels.iter().enumerate() {
                line.put(if number > 0 { "," } else { "" });
                line.quote(label);
            }
            line.put("]");
        }
        self.edges(&mut line, vertex, Direction::In)?;
        self.edges(&mut line, vertex, Direction::Out)?;
        self.properties(&mut line, vertex)?;
        line.put("}");
        Ok(line.text)
    }
    fn edges(
        &mut self,
        line: &mut LineWriter<'_>,
        vertex: VertexId,
        direction: Direction,
    ) -> Result<(), AnswerError> {
        let view = self.snapshot.adjacency(&[], direction);
        let mut groups: BTreeMap<EdgeTypeId, Vec<(VertexId, EdgeId)>> = BTreeMap::new();
        let (others, edges) = view.edges(vertex.dense(), &mut self.scratch)?;
        for (other, edge) in others.iter().zip(edges) {
            let edge = EdgeId(*edge);
            groups.entry(edge.edge_type()).or_default().push((VertexId::from_dense(*other), edge));
        }
        if groups.is_empty() {
            return Ok(());
        }
        let (side, end) = match direction {
            Direction::In => ("inE", "outV"),
            _ => ("outE", "inV"),
        };
        line.put(format_args!(",\"{side}\":{{"));
        for (number, (edge_type, edges)) in groups.into_iter().enumerate() {
            line.put(if number > 0 { "," } else { "" });
            line.quote(self.snapshot.catalog().edge_type_name(edge_type).map_or("", |name| name));
            line.put(":[");
            for (number, (other, edge)) in edges.into_iter().enumerate() {
                line.put(if number > 0 { ",{" } else { "{" });
                self.edge(line, edge, (vertex, other), end)?;
                line.put("}");
                self.saved.edges += u64::from(direction == Direction::Out);
            }
            line.put("]");
        }
        line.put("}");
        Ok(())
    }
    fn edge(
        &self,
        line: &mut LineWriter<'_>,
        edge: EdgeId,
        (vertex, other): (VertexId, VertexId),
        end: &str,
    ) -> Result<(), AnswerError> {
        let held = self.snapshot.edge_properties(edge)?;
        if let Some((own, id)) = held.iter().find(|(key, _)| Some(*key) == self.own) {
            line.put("\"id\":");
            Self::object(line, &stored_value::read(id, self.wide.contains(own)))?;
            line.put(",");
        }
        line.put(format_args!("\"{end}\":"));
        Self::object(line, &self.id(other)?)?;
        let named = held.iter().filter_map(|(key, value)| Some((*key, self.name(*key)?, value)));
        for (number, (key, name, value)) in named.enumerate() {
            line.put(if number > 0 { "," } else { ",\"properties\":{" });
            line.quote(&name);
            line.put(":");
            Self::object(line, &self.value(key, &name, value, vertex)?)?;
        }
        line.put(if held.iter().any(|(key, _)| self.name(*key).is_some()) { "}" } else { "" });
        Ok(())
    }
    fn properties(&mut self, line: &mut LineWriter<'_>, vertex: VertexId) -> Result<(), AnswerError> {
        let held = self.snapshot.properties(vertex)?;
        let mut is_first = true;
        for (key, value) in &held {
            let Some(name) = self.name(*key) else { continue };
            line.put(if is_first { ",\"properties\":{" } else { "," });
            is_first = false;
            line.quote(&name);
            line.put(":[");
            let is_many = matches!(value, Value::Map(_));
            let values = match is_many {
                true => stored_value::many_of(value, self.wide.contains(key)),
                false => vec![crate::Kept::plain(self.value(*key, &name, value, vertex)?)],
            };
            for (number, one) in values.iter().enumerate() {
                line.put(if number > 0 { ",{\"id\":" } else { "{\"id\":" });
                Self::object(line, &Object::Long(self.properties))?;
                self.properties += 1;
                line.put(",\"value\":");
                Self::object(line, &one.value)?;
                for (number, (key, value)) in one.meta.iter().enumerate() {
                    line.put(if number > 0 { "," } else { ",\"properties\":{" });
                    line.quote(key);
                    line.put(":");
                    Self::object(line, value)?;
                }
                line.put(if one.meta.is_empty() { "}" } else { "}}" });
            }
            line.put("]");
        }
        line.put(if is_first { "" } else { "}" });
        Ok(())
    }
}
