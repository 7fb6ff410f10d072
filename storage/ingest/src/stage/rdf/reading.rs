//! From triples to nodes and relationships. All of the graph is held, since triples about a node may stand anywhere.
//!
//! Invariant: a repeated triple is stored once, and at most [`HELD_BYTES_MAX`] are held.

use super::literal;
use super::naming::names;
use crate::ImportError;
use crate::source::{self, InputFile};
use crate::stage::{Line, NodeId, TakeLine};
use crate::staging::simple_list;
use flate2::Crc;
use foldhash::fast::FixedState;
use formats::blocks::RECORD_BYTES_MAX;
use formats::typed;
use hashbrown::{HashMap, HashSet};
use model::Value;
use model::compare::equivalent;
use oxrdf::{NamedOrBlankNode, Term, Triple};
use oxttl::TurtleParser;
use oxttl::turtle::LowLevelTurtleParser;
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::sync::Arc;
use world::files;

/// The label of every node.
const LABEL: &str = "Resource";
/// The property that names every node.
const URI: &str = "uri";
const RDF_TYPE: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
/// Bytes that one triple with everything before it may have.
const TRIPLE_BYTES_MAX: usize = RECORD_BYTES_MAX;
/// Bytes without a triple up to which each line is looked at as it comes.
const EAGER_BYTES: usize = 64 << 10;
/// Beyond them, the parser gets a part of the bytes since the last triple at once: this one.
const LATE_SHARE: usize = 4;
/// Bytes of names, literals and triples that may be held.
const HELD_BYTES_MAX: usize = 8 << 30;
/// Bytes that are held for a node or a relationship beside its texts, about.
const ENTRY_BYTES: usize = 64;

/// Number of an IRI or of a blank node.
type NameNo = u32;

/// The thing with a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum RdfName {
    Iri(Box<str>),
    /// Of which file, and the number in it.
    Blank(u32, u32),
}

/// The triples about a resource.
#[derive(Default)]
struct Resource {
    line: u64,
    /// Is it a node? Predicates and classes that nothing else speaks of are none.
    is_node: bool,
    labels: Vec<NameNo>,
    values: Vec<(NameNo, Value)>,
}

struct RdfEdge {
    start: NameNo,
    predicate: NameNo,
    end: NameNo,
    line: u64,
}

/// Everything that the files say.
#[derive(Default)]
pub(super) struct RdfGraph {
    numbers: HashMap<RdfName, NameNo, FixedState>,
    names: Vec<RdfName>,
    /// By number of the name.
    resources: Vec<Resource>,
    edges: Vec<RdfEdge>,
    seen: HashSet<(NameNo, NameNo, NameNo), FixedState>,
    /// Of each file, for the names of its blank nodes.
    checksums: Vec<u32>,
    held_bytes: usize,
}

/// Reads all files.
pub(super) fn read(files: &[InputFile]) -> Result<RdfGraph, ImportError> {
    let mut graph = RdfGraph::default();
    for (number, file) in files.iter().enumerate() {
        let reading = FileReading {
            file,
            number: number as u32,
            graph: &mut graph,
            blanks: HashMap::default(),
            line: 1,
            bytes: 0,
        };
        let checksum = reading.run()?;
        graph.checksums.push(checksum);
    }
    Ok(graph)
}

/// One file being read.
struct FileReading<'g> {
    file: &'g InputFile,
    number: u32,
    graph: &'g mut RdfGraph,
    /// Numbers of its blank nodes, in the order in which they are met.
    blanks: HashMap<String, u32, FixedState>,
    line: u64,
    /// Since the last triple.
    bytes: usize,
}

impl FileReading<'_> {
    fn wrong(&self, line: u64, what: String) -> ImportError {
        self.file.malformed(line, what)
    }
    /// Reads the file line by line, so that the line of a triple is known; the checksum of its bytes.
    ///
    /// The parser looks at a term from its beginning whenever it is given more. Where a triple is long, it is given more and more at once, so that
    /// a text which never ends costs its length and not the square of it.
    fn run(mut self) -> Result<u32, ImportError> {
        let source = source::open(self.file, Arc::default())?;
        let mut reader = BufReader::with_capacity(files::BUFFER_BYTES, source);
        let mut parser = TurtleParser::new().low_level();
        let (mut checksum, mut unread) = (Crc::new(), Vec::new());
        loop {
            let held = reader.fill_buf().map_err(|error| self.file.unreadable(&error))?;
            if held.is_empty() {
                break;
            }
            let end = memchr::memchr(b'\n', held).map_or(held.len(), |at| at + 1);
            let piece = &held[..end];
            checksum.update(piece);
            let mark = if checksum.amount() as usize == end { b"\xef\xbb\xbf".as_slice() } else { b"" };
            unread.extend_from_slice(piece.strip_prefix(mark).unwrap_or(piece));
            let is_line = piece.ends_with(b"\n");
            reader.consume(end);
            self.bytes += end;
            if self.bytes <= EAGER_BYTES || unread.len() >= self.bytes / LATE_SHARE {
                parser.extend_from_slice(&unread);
                unread.clear();
                self.take_all(&mut parser)?;
            }
            if self.bytes > TRIPLE_BYTES_MAX {
                let what =
                    format!("more than {TRIPLE_BYTES_MAX} bytes without a triple; does a text never end?");
                return Err(self.wrong(self.line, what));
            }
            self.line += u64::from(is_line);
        }
        parser.extend_from_slice(&unread);
        parser.end();
        self.take_all(&mut parser)?;
        Ok(checksum.sum())
    }
    /// Takes all triples that are complete.
    fn take_all(&mut self, parser: &mut LowLevelTurtleParser) -> Result<(), ImportError> {
        while let Some(parsed) = parser.parse_next() {
            let triple = parsed.map_err(|error| {
                let at = error.location().start;
                self.wrong(at.line + 1, format!("column {}: {}", at.column + 1, error.message()))
            })?;
            self.bytes = 0;
            self.take(triple)?;
        }
        Ok(())
    }
    fn take(&mut self, triple: Triple) -> Result<(), ImportError> {
        let subject = match triple.subject {
            NamedOrBlankNode::NamedNode(node) => self.named(node.into_string())?,
            NamedOrBlankNode::BlankNode(node) => self.blank(node.as_str())?,
        };
        self.be_node(subject);
        let predicate = triple.predicate.into_string();
        let is_type = predicate == RDF_TYPE;
        let predicate = self.named(predicate)?;
        let object = match triple.object {
            Term::Literal(literal) => {
                let value = literal::value(literal.value(), literal.datatype().as_str());
                self.graph.held_bytes += value.heap_bytes() + ENTRY_BYTES;
                let values = &mut self.graph.resources[subject as usize].values;
                if !values.iter().any(|(name, held)| *name == predicate && is_same(held, &value)) {
                    values.push((predicate, value));
                }
                return Ok(());
            }
            Term::NamedNode(node) => {
                let object = self.named(node.into_string())?;
                if is_type {
                    let labels = &mut self.graph.resources[subject as usize].labels;
                    if !labels.contains(&object) {
                        labels.push(object);
                    }
                    return Ok(());
                }
                object
            }
            Term::BlankNode(node) => self.blank(node.as_str())?,
        };
        self.be_node(object);
        if self.graph.seen.insert((subject, predicate, object)) {
            self.graph.held_bytes += ENTRY_BYTES;
            self.graph.edges.push(RdfEdge { start: subject, predicate, end: object, line: self.line });
        }
        Ok(())
    }
    fn be_node(&mut self, name: NameNo) {
        let resource = &mut self.graph.resources[name as usize];
        if !resource.is_node {
            (resource.is_node, resource.line) = (true, self.line);
        }
    }
    fn blank(&mut self, label: &str) -> Result<NameNo, ImportError> {
        let next = self.blanks.len() as u32 + 1;
        let number = match self.blanks.get(label) {
            Some(number) => *number,
            None => *self.blanks.entry(label.to_string()).or_insert(next),
        };
        self.number_of(RdfName::Blank(self.number, number), label.len())
    }
    fn named(&mut self, iri: String) -> Result<NameNo, ImportError> {
        let bytes = iri.len();
        self.number_of(RdfName::Iri(iri.into_boxed_str()), bytes)
    }
    fn number_of(&mut self, name: RdfName, bytes: usize) -> Result<NameNo, ImportError> {
        if let Some(number) = self.graph.numbers.get(&name) {
            return Ok(*number);
        }
        self.graph.held_bytes += 2 * bytes + 2 * ENTRY_BYTES;
        if self.graph.held_bytes > HELD_BYTES_MAX {
            let what = format!(
                "the graph has more than {HELD_BYTES_MAX} bytes; import it in parts, with --existing merge"
            );
            return Err(self.wrong(self.line, what));
        }
        let number = NameNo::try_from(self.graph.names.len())
            .map_err(|_| self.wrong(self.line, "there are more than 2^32 names".into()))?;
        self.graph.numbers.insert(name.clone(), number);
        self.graph.names.push(name);
        self.graph.resources.push(Resource::default());
        Ok(number)
    }
}

/// Is it the same literal? A whole number and a float are two.
fn is_same(one: &Value, other: &Value) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other) && equivalent(one, other)
}

impl RdfGraph {
    /// Calls `found` with every node and relationship.
    pub fn each(&self, file: &InputFile, found: TakeLine<'_>) -> Result<(), ImportError> {
        let nodes = || self.resources.iter().filter(|resource| resource.is_node);
        let labels = names(self.iris(nodes().flat_map(|node| node.labels.iter().copied())), &[LABEL]);
        let values = nodes().flat_map(|node| node.values.iter().map(|(name, _)| *name));
        let properties = names(self.iris(values), &[URI]);
        let types = names(self.iris(self.edges.iter().map(|edge| edge.predicate)), &[]);
        for (number, resource) in self.resources.iter().enumerate().filter(|(_, resource)| resource.is_node) {
            let id = NodeId { text: self.uri(number as NameNo), is_text: true };
            let own = self.iris(resource.labels.iter().copied()).map(|iri| labels[iri].clone());
            let wrong = |what: String| file.malformed(resource.line, what);
            let own = std::iter::once(LABEL.to_string()).chain(own).collect();
            let held = self.properties(resource, &properties).map_err(wrong)?;
            if !found(resource.line, Line::Node { id, labels: own, properties: held })? {
                return Ok(());
            }
        }
        for edge in &self.edges {
            let Some(iri) = self.iri(edge.predicate) else { continue };
            let (name, start, end) = (types[iri].clone(), self.uri(edge.start), self.uri(edge.end));
            if !found(edge.line, Line::Edge { name, start, end, properties: Map::new() })? {
                return Ok(());
            }
        }
        Ok(())
    }
    fn properties(
        &self,
        resource: &Resource,
        names: &BTreeMap<&str, String>,
    ) -> Result<Map<String, Json>, String> {
        let mut by_name: BTreeMap<NameNo, Vec<&Value>> = BTreeMap::new();
        for (name, value) in &resource.values {
            by_name.entry(*name).or_default().push(value);
        }
        let mut made = Map::new();
        for (number, values) in by_name {
            let Some(iri) = self.iri(number) else { continue };
            let value = match values.as_slice() {
                [value] => (*value).clone(),
                several => list_of(several),
            };
            let json = typed::to_json(&value, 0).map_err(|what| format!("{iri}: {what}"))?;
            made.insert(names[iri].clone(), json);
        }
        Ok(made)
    }
    fn iri(&self, number: NameNo) -> Option<&str> {
        match &self.names[number as usize] {
            RdfName::Iri(iri) => Some(iri),
            RdfName::Blank(..) => None,
        }
    }
    fn iris(&self, numbers: impl Iterator<Item = NameNo>) -> impl Iterator<Item = &str> {
        numbers.filter_map(|number| self.iri(number))
    }
    fn uri(&self, number: NameNo) -> String {
        match &self.names[number as usize] {
            RdfName::Iri(iri) => iri.to_string(),
            RdfName::Blank(file, number) => format!("_:{:08x}-{number}", self.checksums[*file as usize]),
        }
    }
}

/// Several values of one property: a list, of texts where they are not of one type.
fn list_of(values: &[&Value]) -> Value {
    let held: Vec<Value> = values.iter().map(|value| (*value).clone()).collect();
    simple_list(held).unwrap_or_else(|| {
        let text = |value: &&Value| match value {
            Value::String(text) => Value::String(text.clone()),
            other => {
                let json = typed::to_json(other, 0).unwrap_or(Json::Null);
                let held =
                    json.as_object().and_then(|object| object.values().next().cloned()).unwrap_or(json);
                Value::from(held.as_str().map_or_else(|| held.to_string(), str::to_string))
            }
        };
        Value::list(values.iter().map(text).collect::<Vec<Value>>())
    })
}
