//! Graphs in TinkerPop's files: GraphSON 1 to 3, one vertex a line with its outgoing edges, read into the database.
//!
//! The file is read twice, vertices first, then edges, since an edge may name a vertex of any line. Both are one transaction: all of it
//! or nothing. Memory is for the transaction and for the ids.

use crate::Kept;
use crate::answer::{AnswerError, kept, own_ids};
use execute::watch;
use gremlin::Object;
use gremlin::graphson::{self, FileEdge, FileVertex};
use model::{KeyId, Value, VertexId};
use plan::hidden::{OF_LABEL, OF_TYPE};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::io::{BufRead, Read};
use std::path::Path;
use transact::{Engine, Mode, Transaction};

/// Bytes of one line: a vertex with its edges.
const LINE_BYTES_MAX: u64 = 256 << 20;

/// Units of work that a line is beside its bytes: about a microsecond.
const UNITS_PER_LINE: u64 = 20;

/// What was read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Loaded {
    /// Vertices made.
    pub vertices: u64,
    /// Edges made.
    pub edges: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

struct Loading<'d> {
    from: &'d Path,
    transaction: Transaction,
    vertices: HashMap<String, VertexId>,
    report: Loaded,
}

/// What is wrong with a line.
struct Wrong(String);

impl From<graphson::GraphsonError> for Wrong {
    fn from(error: graphson::GraphsonError) -> Wrong {
        Wrong(error.0)
    }
}

impl From<transact::TransactError> for Wrong {
    fn from(error: transact::TransactError) -> Wrong {
        Wrong(error.to_string())
    }
}

/// Reads a file of GraphSON into the graph, all of it or nothing.
///
/// # Errors
/// The graph holds something already; the file cannot be read, a line is no vertex, an edge leads nowhere, a value cannot be kept; or another's
/// commit came between.
pub fn load(engine: &Engine, from: &Path) -> Result<Loaded, AnswerError> {
    let transaction = engine.begin(Mode::Write);
    // Whoever makes a vertex meanwhile is in the way.
    transaction.reads().scan(None);
    if transaction.snapshot().statistics().vertices() > 0 {
        let message =
            "the database holds a graph already, and which of the file's vertices it has cannot be told";
        return Err(AnswerError::File {
            code: "Neo.ClientError.Import.NotEmpty",
            message: message.into(),
            hint: Some("read the file into a new database"),
        });
    }
    let mut loading = Loading { from, transaction, vertices: HashMap::new(), report: Loaded::default() };
    loading.lines(Loading::vertex)?;
    loading.lines(Loading::edges)?;
    let Loading { transaction, report, .. } = loading;
    transaction.commit()?;
    Ok(report)
}

impl Loading<'_> {
    /// Does something with each line.
    fn lines(
        &mut self,
        mut each: impl FnMut(&mut Self, &Json) -> Result<(), Wrong>,
    ) -> Result<(), AnswerError> {
        let path = self.from;
        let unreadable = |error: &dyn std::fmt::Display| {
            let message = format!("{} cannot be read: {error}", path.display());
            AnswerError::File { code: "Neo.ClientError.Import.Unreadable", message, hint: None }
        };
        let mut reader = world::files::open_reader(path).map_err(|error| unreadable(&error))?;
        let (mut line, mut bytes) = (Vec::new(), 0);
        for number in 1.. {
            line.clear();
            let count = reader.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line);
            let count = count.map_err(|error| unreadable(&error))? as u64;
            bytes += count;
            watch::spend(UNITS_PER_LINE + count).map_err(stopped)?;
            if count == LINE_BYTES_MAX {
                return Err(malformed(path, number, &format!("it is longer than {LINE_BYTES_MAX} bytes")));
            }
            if count == 0 {
                break;
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            let json: Result<Json, _> = serde_json::from_slice(&line);
            let json = json.map_err(|error| malformed(path, number, &error.to_string()))?;
            each(self, &json).map_err(|Wrong(what)| malformed(path, number, &what))?;
        }
        self.report.bytes = bytes;
        Ok(())
    }

    fn vertex(&mut self, line: &Json) -> Result<(), Wrong> {
        let FileVertex { id, label, properties: given } = graphson::file_vertex(line)?;
        let labels = label.split("::").map(|label| self.transaction.label(label));
        let labels = labels.collect::<Result<Vec<_>, _>>()?;
        let mut properties = self.own_id(&id, OF_LABEL, label.split("::"))?;
        for (key, values) in given {
            let kept: Vec<Kept> = values.into_iter().map(|(value, meta)| Kept { value, meta }).collect();
            if kept.is_empty() {
                continue;
            }
            let value = kept::many_to_value(&kept)
                .ok_or_else(|| Wrong(format!("the values of `{key}` cannot be kept")))?;
            properties.push((kept::key_for(&self.transaction, &key, &kept)?, value));
        }
        let vertex = self.transaction.create_vertex(&labels, properties)?;
        self.report.vertices += 1;
        match self.vertices.insert(name(&id), vertex) {
            None => Ok(()),
            Some(_) => Err(Wrong(format!("there are two vertices with the id {}", name(&id)))),
        }
    }

    fn edges(&mut self, line: &Json) -> Result<(), Wrong> {
        for edge in graphson::file_edges(line)? {
            let FileEdge { label, id, source, target, properties: given } = edge;
            let (source, target) = (self.end(&source)?, self.end(&target)?);
            let kind = self.transaction.edge_type(&label)?;
            let mut properties = match id {
                Some(id) => self.own_id(&id, OF_TYPE, std::iter::once(&*label))?,
                None => Vec::new(),
            };
            for (key, object) in given {
                let value = self.value(&key, &object)?;
                properties.push((kept::key_for(&self.transaction, &key, &[Kept::plain(object)])?, value));
            }
            self.transaction.create_edge(source, target, kind, properties)?;
            self.report.edges += 1;
        }
        Ok(())
    }

    fn end(&self, id: &Object) -> Result<VertexId, Wrong> {
        let found = self.vertices.get(&name(id)).copied();
        found.ok_or_else(|| {
            Wrong(format!("an edge leads to the vertex {}, which is not in the file", name(id)))
        })
    }
    fn own_id<'n>(
        &self,
        id: &Object,
        mark: &str,
        of: impl Iterator<Item = &'n str>,
    ) -> Result<Vec<(KeyId, Value)>, Wrong> {
        let view = self.transaction.snapshot();
        let key = own_ids::key_for(&self.transaction, view.catalog(), id, mark, of)?;
        Ok(vec![(key, self.value("id", id)?)])
    }
    fn value(&self, key: &str, object: &Object) -> Result<Value, Wrong> {
        let value = kept::to_value(object);
        value.ok_or_else(|| Wrong(format!("`{key}` is a {}, which cannot be kept", object.type_name())))
    }
}

fn stopped(_: watch::Stopped) -> AnswerError {
    AnswerError::File {
        code: "Neo.ClientError.Transaction.Terminated",
        message: "the import was ended".into(),
        hint: None,
    }
}

fn malformed(path: &Path, line: u64, what: &str) -> AnswerError {
    AnswerError::File {
        code: "Neo.ClientError.Import.MalformedLine",
        message: format!("{}:{line}: {what}", path.display()),
        hint: Some(
            "a file of GraphSON has one vertex a line: {\"id\":…,\"label\":…,\"outE\":{…},\"properties\":{…}}",
        ),
    }
}

/// How an id is looked for: 1 is 1 however wide it is written.
fn name(id: &Object) -> String {
    id.as_long().map_or_else(|| id.to_string(), |number| number.to_string())
}
