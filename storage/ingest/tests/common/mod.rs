//! Folders of files, and graphs as text.
#![allow(dead_code, reason = "each test file uses some of it")]

use ingest::{ImportError, ImportOptions, ImportReport, Layout, Mapping, edges_flag, nodes_flag};
use model::{Direction, Value, VertexId, temporal};
use std::path::{Path, PathBuf};
use store::{EdgeScratch, LabelFilter, Snapshot};
use transact::{Engine, OpenOptions};
use world::files::{self, TemporaryFolder};

/// A folder of files that goes away.
pub struct Files(TemporaryFolder);

impl Files {
    pub fn new(all: &[(&str, &str)]) -> Files {
        let files = Files(TemporaryFolder::new("ingest-test").unwrap());
        all.iter().for_each(|(name, text)| files.add(name, text.as_bytes()));
        files
    }
    pub fn add(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        files::create_folder(path.parent().unwrap()).unwrap();
        files::write_bytes(&path, bytes).unwrap();
    }
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
    pub fn folder(&self) -> &Path {
        self.0.path()
    }
}

pub fn memory() -> Engine {
    transact::open(None, &OpenOptions::default()).unwrap().0
}

pub fn options(from: &Path) -> ImportOptions {
    ImportOptions { from: from.to_path_buf(), ..ImportOptions::default() }
}

/// Files of a folder by flags.
pub fn mapped(folder: &Path, nodes: &[&str], edges: &[&str]) -> ImportOptions {
    let mut mapping = Mapping::default();
    mapping.nodes.extend(nodes.iter().map(|flag| nodes_flag(flag).unwrap()));
    mapping.edges.extend(edges.iter().map(|flag| edges_flag(flag).unwrap()));
    mapping.nodes.iter_mut().for_each(|nodes| nodes.file = folder.join(&nodes.file));
    mapping.edges.iter_mut().for_each(|edges| edges.file = folder.join(&edges.file));
    ImportOptions { mapping, ..ImportOptions::default() }
}

/// Imports files into an empty database.
pub fn import(all: &[(&str, &str)]) -> (Engine, ImportReport) {
    let (files, engine) = (Files::new(all), memory());
    let report = ingest::import(&engine, &options(files.folder())).unwrap();
    (engine, report)
}

/// What importing files in a layout fails with; the database must be as it was.
pub fn refused(all: &[(&str, &str)], layout: Layout, strict: bool) -> ImportError {
    let (files, engine) = (Files::new(all), memory());
    let options = ImportOptions { layout, strict, ..options(files.folder()) };
    let error = ingest::import(&engine, &options).unwrap_err();
    let snapshot = engine.snapshot();
    assert_eq!((snapshot.commit_version(), snapshot.statistics().vertices()), (0, 0));
    assert!(snapshot.catalog().indexes().is_empty());
    error
}

pub fn show(value: &Value) -> String {
    match value {
        Value::Int(int) => int.to_string(),
        Value::Float(float) => format!("{float:?}"),
        Value::Bool(truth) => truth.to_string(),
        Value::String(text) => format!("{text:?}"),
        Value::List(list) => format!("[{}]", list.iter().map(show).collect::<Vec<_>>().join(", ")),
        Value::Point(point) => point.to_string(),
        other => temporal::text(other).unwrap_or_else(|| format!("{other:?}")),
    }
}

fn properties(snapshot: &Snapshot, held: Vec<(model::KeyId, Value)>) -> String {
    let key = |key| snapshot.catalog().key_name(key).unwrap().to_string();
    let mut shown: Vec<String> =
        held.iter().map(|(name, value)| format!("{}: {}", key(*name), show(value))).collect();
    shown.sort();
    if shown.is_empty() { String::new() } else { format!(" {{{}}}", shown.join(", ")) }
}

fn vertices(snapshot: &Snapshot) -> Vec<VertexId> {
    let mut found = Vec::new();
    for chunk in snapshot.scan_chunks(&LabelFilter::Any) {
        snapshot.scan_chunk(chunk, &LabelFilter::Any, &mut found).unwrap();
    }
    found
}

fn vertex(snapshot: &Snapshot, vertex: VertexId) -> String {
    let labels = snapshot.catalog().labels_of(snapshot.labels(vertex).unwrap());
    let mut labels: Vec<&str> =
        labels.iter().map(|label| &**snapshot.catalog().label_name(*label).unwrap()).collect();
    labels.sort_unstable();
    format!(":{}{}", labels.join(":"), properties(snapshot, snapshot.properties(vertex).unwrap()))
}

/// Every vertex as a line, sorted: `:Person {id: 1}`.
pub fn vertex_lines(engine: &Engine) -> Vec<String> {
    let snapshot = engine.snapshot();
    let mut lines: Vec<String> = vertices(&snapshot).into_iter().map(|id| vertex(&snapshot, id)).collect();
    lines.sort();
    lines
}

/// Every edge as a line, sorted: `1 -[:KNOWS {since: 2}]-> 3`, ends by the property `id` (or the whole vertex without one).
pub fn edge_lines(engine: &Engine) -> Vec<String> {
    let snapshot = engine.snapshot();
    let id = snapshot.catalog().key("id");
    let end = |at: VertexId| match id.map(|key| snapshot.property(at, key).unwrap()) {
        None | Some(Value::Null) => vertex(&snapshot, at),
        Some(value) => show(&value),
    };
    let (view, incoming) = (snapshot.adjacency(&[], Direction::Out), snapshot.adjacency(&[], Direction::In));
    let (mut scratch, mut lines, mut arrived) = (EdgeScratch::default(), Vec::new(), 0);
    for from in vertices(&snapshot) {
        arrived += incoming.degree(from.dense()).unwrap();
        let (targets, edges) = view.edges(from.dense(), &mut scratch).unwrap();
        for (target, edge) in targets.iter().zip(edges) {
            let edge = model::EdgeId(*edge);
            let edge_type = snapshot.catalog().edge_type_name(edge.edge_type()).unwrap();
            let held = properties(&snapshot, snapshot.edge_properties(edge).unwrap());
            let to = end(VertexId::from_dense(*target));
            lines.push(format!("{} -[:{edge_type}{held}]-> {to}", end(from)));
        }
    }
    assert_eq!(arrived as usize, lines.len(), "what goes out comes in");
    lines.sort();
    lines
}

/// Indexes as lines, sorted: `unique Person.id`.
pub fn index_lines(engine: &Engine) -> Vec<String> {
    let snapshot = engine.snapshot();
    let catalog = snapshot.catalog();
    let line = |index: &model::schema::IndexDefinition| {
        let model::schema::SchemaTarget::Vertices(label) = index.target else { panic!("of vertices") };
        let key = catalog.key_name(index.keys[0]).unwrap();
        let unique = if index.unique { "unique " } else { "" };
        format!("{unique}{}.{key}", catalog.label_name(label).unwrap())
    };
    let mut lines: Vec<String> = catalog.indexes().iter().map(line).collect();
    lines.sort();
    lines
}

/// The rejected lines as text: `file:line: what`.
pub fn rejected(report: &ImportReport) -> Vec<String> {
    let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
    let lines = report.rejected_first.iter();
    lines.map(|line| format!("{}:{}: {}", name(&line.file), line.line, line.what)).collect()
}
