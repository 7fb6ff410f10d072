//! From elements of GraphML to nodes and relationships.

use super::super::{DefaultNames, Line, NodeId, TakeLine, labels_of};
use super::xml::{Element, XmlPiece, XmlReader};
use crate::ImportError;
use crate::cell;
use crate::source::{self, Encoding, InputFile};
use formats::typed;
use model::Value;
use serde_json::{Map, Value as Json};
use std::sync::Arc;

/// Properties that a file may declare.
const KEYS_MAX: usize = 1 << 15;

/// The type of a key's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DataKind {
    Int,
    Float,
    Bool,
    Text,
    /// A list as a text of JSON, as APOC writes it.
    List,
}

/// A property that the file declares.
struct DataKey {
    id: String,
    name: String,
    kind: DataKind,
    of_nodes: bool,
    of_edges: bool,
    default: Option<Json>,
    /// Is it a drawing or the like, which is no property?
    is_drawing: bool,
}

/// A node or an edge that is being read.
struct GraphItem {
    is_node: bool,
    line: u64,
    /// The id, or both ends.
    ids: Vec<String>,
    /// The attribute `labels` or `label`.
    named: Option<String>,
    properties: Map<String, Json>,
}

/// An element that has begun.
enum OpenElement {
    Item(GraphItem),
    /// A declaration: its default is a text in it.
    Key,
    Default(String),
    /// Data of the innermost item: which key, and the text so far.
    Data(String, String),
    /// Anything else, with all that is in it, or around everything.
    Other,
    /// Skipped with all its content.
    Skipped,
}

/// Says how the file is encoded, as its first line declares.
pub(super) fn encode(file: &InputFile) -> Result<(), ImportError> {
    let head = source::head(file)?;
    let line = head.split(|byte| *byte == b'>').next().unwrap_or_default();
    let line = String::from_utf8_lossy(line).into_owned();
    let Some((_, rest)) = line.split_once("encoding=").filter(|_| line.contains("<?xml")) else {
        return Ok(());
    };
    let name =
        rest.trim_start_matches(['"', '\'']).split(['"', '\'']).next().unwrap_or("").to_ascii_lowercase();
    let encoding = match name.as_str() {
        "utf-8" | "utf8" | "us-ascii" | "ascii" | "utf-16" => return Ok(()),
        "iso-8859-1" | "latin1" | "latin-1" | "windows-1252" | "cp1252" => Encoding::Windows1252,
        _ => {
            let what = format!("its first line says encoding `{name}`; write it as UTF-8");
            return Err(ImportError::Read { path: file.shown.clone(), what });
        }
    };
    file.encode(encoding);
    Ok(())
}

/// Calls `found` with every node and edge.
pub(super) fn each(file: &InputFile, names: &DefaultNames, found: TakeLine<'_>) -> Result<(), ImportError> {
    let reader = XmlReader::new(file, source::open(file, Arc::default())?);
    let mut reading = GraphmlReading { reader, names, keys: Vec::new(), open: Vec::new() };
    let mut is_graph = false;
    while let Some(piece) = reading.reader.next()? {
        match piece {
            XmlPiece::Begin(element) => {
                is_graph |= element.name == "graph";
                let open = reading.begin(element)?;
                reading.open.push(open);
            }
            XmlPiece::Text(text) => {
                if let Some(OpenElement::Data(_, held) | OpenElement::Default(held)) = reading.open.last_mut()
                {
                    held.push_str(&text);
                }
            }
            XmlPiece::End => {
                if let Some((line, made)) = reading.end()?
                    && !found(line, made)?
                {
                    return Ok(());
                }
            }
        }
    }
    match is_graph {
        true => Ok(()),
        false => Err(reading.reader.wrong("the file has no element `graph`")),
    }
}

struct GraphmlReading<'f> {
    reader: XmlReader<'f>,
    names: &'f DefaultNames,
    keys: Vec<DataKey>,
    open: Vec<OpenElement>,
}

impl GraphmlReading<'_> {
    fn begin(&mut self, mut element: Element) -> Result<OpenElement, ImportError> {
        let is_inside_data = matches!(self.open.last(), Some(OpenElement::Data(..) | OpenElement::Skipped));
        if is_inside_data {
            // Data with elements in it is a drawing, or something else that is no value.
            if let Some(OpenElement::Data(key, _)) = self.open.last() {
                let key = key.clone();
                self.drawing(&key);
            }
            return Ok(OpenElement::Skipped);
        }
        let name = std::mem::take(&mut element.name);
        let mut wanted = |name: &str, of: &str| {
            let value = element.take(name);
            value.ok_or_else(|| self.reader.wrong(format!("the element `{of}` has no attribute `{name}`")))
        };
        Ok(match name.as_str() {
            "node" => {
                let ids = vec![wanted("id", "node")?];
                self.item(true, ids, element.take("labels"))
            }
            "edge" => {
                let ids = vec![wanted("source", "edge")?, wanted("target", "edge")?];
                self.item(false, ids, element.take("label"))
            }
            "key" => {
                let id = wanted("id", "key")?;
                self.declare(id, element)?;
                OpenElement::Key
            }
            "default" if matches!(self.open.last(), Some(OpenElement::Key)) => {
                OpenElement::Default(String::new())
            }
            "data" if matches!(self.open.last(), Some(OpenElement::Item(_))) => {
                OpenElement::Data(wanted("key", "data")?, String::new())
            }
            // Of a graph or of a port: no property of a node.
            "data" | "desc" | "locator" | "port" => OpenElement::Skipped,
            "hyperedge" => {
                let what =
                    "an edge between more than two nodes has no form here; write it as a node with edges";
                return Err(self.reader.wrong(what));
            }
            _ => OpenElement::Other,
        })
    }
    fn item(&self, is_node: bool, ids: Vec<String>, named: Option<String>) -> OpenElement {
        let named = named.filter(|named| !named.is_empty());
        OpenElement::Item(GraphItem { is_node, line: self.reader.line(), ids, named, properties: Map::new() })
    }
    fn declare(&mut self, id: String, mut element: Element) -> Result<(), ImportError> {
        if self.keys.len() == KEYS_MAX {
            return Err(self.reader.wrong(format!("more than {KEYS_MAX} keys are declared")));
        }
        let of = element.take("for").unwrap_or_else(|| "all".into());
        let name = element.take("attr.name");
        let is_drawing = name.is_none() && element.take("yfiles.type").is_some();
        let is_list = element.take("attr.list").is_some();
        let type_name = element.take("attr.type").unwrap_or_else(|| "string".into());
        let kind = match type_name.to_ascii_lowercase().as_str() {
            _ if is_list => DataKind::List,
            "int" | "integer" | "long" | "short" | "byte" => DataKind::Int,
            "float" | "double" => DataKind::Float,
            "boolean" | "bool" => DataKind::Bool,
            "string" => DataKind::Text,
            _ => {
                let what = "is no type; GraphML has boolean, int, long, float, double and string";
                return Err(self.reader.wrong(format!("attr.type `{type_name}` {what}")));
            }
        };
        let (of_nodes, of_edges) =
            (matches!(of.as_str(), "node" | "all"), matches!(of.as_str(), "edge" | "all"));
        let name = name.unwrap_or_else(|| id.clone());
        self.keys.push(DataKey { id, name, kind, of_nodes, of_edges, default: None, is_drawing });
        Ok(())
    }
    /// Values of this key are no properties.
    fn drawing(&mut self, id: &str) {
        if let Some(key) = self.keys.iter_mut().find(|key| key.id == id) {
            key.is_drawing = true;
        }
    }
    /// The innermost element ends.
    fn end(&mut self) -> Result<Option<(u64, Line)>, ImportError> {
        match self.open.pop() {
            Some(OpenElement::Item(item)) => Ok(Some((item.line, self.line_of(item)?))),
            Some(OpenElement::Default(text)) => {
                if let Some(key) = self.keys.last() {
                    let value = self.value(key.kind, &key.name, &text)?;
                    if let Some(key) = self.keys.last_mut() {
                        key.default = value;
                    }
                }
                Ok(None)
            }
            Some(OpenElement::Data(id, text)) => self.data(&id, &text).map(|()| None),
            _ => Ok(None),
        }
    }
    fn data(&mut self, id: &str, text: &str) -> Result<(), ImportError> {
        let Some(OpenElement::Item(item)) = self.open.last() else { return Ok(()) };
        let key = self
            .keys
            .iter()
            .find(|key| key.id == id && (if item.is_node { key.of_nodes } else { key.of_edges }));
        let (name, kind) = match key {
            Some(key) if key.is_drawing => return Ok(()),
            Some(key) => (key.name.clone(), key.kind),
            None => (id.to_string(), DataKind::Text),
        };
        let Some(value) = self.value(kind, &name, text)? else { return Ok(()) };
        let Some(OpenElement::Item(item)) = self.open.last_mut() else { return Ok(()) };
        match item.properties.insert(name.clone(), value) {
            None => Ok(()),
            Some(_) => Err(self.reader.wrong(format!("`{name}` stands twice"))),
        }
    }
    fn value(&self, kind: DataKind, name: &str, text: &str) -> Result<Option<Json>, ImportError> {
        let trimmed = text.trim();
        if trimmed.is_empty() && kind != DataKind::Text {
            return Ok(None);
        }
        let wrong = |of: &str| {
            let shown = cell::shown(trimmed.as_bytes());
            self.reader.wrong(format!("`{name}`: {shown} is no {of}"))
        };
        let bytes = trimmed.as_bytes();
        Ok(Some(match kind {
            DataKind::Int => Json::from(cell::int(bytes).ok_or_else(|| wrong("whole number of 64 bits"))?),
            DataKind::Float => {
                let float = cell::float(bytes).ok_or_else(|| wrong("number"))?;
                typed::to_json(&Value::Float(float), 0).map_err(|what| self.reader.wrong(what))?
            }
            DataKind::Bool => Json::from(match bytes {
                b"1" => true,
                b"0" => false,
                bytes => cell::truth(bytes).ok_or_else(|| wrong("truth value"))?,
            }),
            DataKind::Text => Json::from(text),
            DataKind::List => match typed::read(trimmed).map(|value| typed::to_json(&value, 0)) {
                Ok(Ok(list @ Json::Array(_))) => list,
                _ => return Err(wrong("list of JSON")),
            },
        }))
    }
    fn line_of(&self, item: GraphItem) -> Result<Line, ImportError> {
        let GraphItem { is_node, ids, named, mut properties, .. } = item;
        for key in &self.keys {
            let is_of = if is_node { key.of_nodes } else { key.of_edges };
            if let Some(default) = key.default.as_ref().filter(|_| is_of && !key.is_drawing) {
                properties.entry(key.name.clone()).or_insert_with(|| default.clone());
            }
        }
        let mut text = |name: &str| match properties.get(name) {
            Some(Json::String(held)) if !held.is_empty() => {
                let held = held.clone();
                properties.remove(name);
                Some(held)
            }
            _ => None,
        };
        let empty = || self.reader.wrong("an id is empty");
        if ids.iter().any(String::is_empty) {
            return Err(empty());
        }
        let mut ids = ids.into_iter();
        if is_node {
            // APOC says labels twice.
            let labels = match named {
                Some(named) => {
                    text("labels");
                    Some(named)
                }
                None => text("labelV").or_else(|| text("labels")),
            };
            let labels = labels.map_or_else(|| vec![self.names.label.clone()], |labels| labels_of(&labels));
            let id = NodeId { text: ids.next().ok_or_else(empty)?, is_text: false };
            return Ok(Line::Node { id, labels, properties });
        }
        let name = match named {
            Some(named) => {
                text("label");
                named
            }
            None => text("labelE").or_else(|| text("type")).unwrap_or_else(|| self.names.edge_type.clone()),
        };
        let (start, end) = (ids.next().ok_or_else(empty)?, ids.next().ok_or_else(empty)?);
        Ok(Line::Edge { name, start, end, properties })
    }
}
