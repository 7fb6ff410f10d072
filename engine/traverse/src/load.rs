//! Graphs in TinkerPop's files: GraphSON 1 to 3, one vertex a line with its outgoing edges, read into the database.
//!
//! The file is read twice, vertices first, then edges, since an edge may name a vertex of any line. Both are one transaction: all of it or nothing. A
//! vertex of the file exists already if one in the graph has its client's or file's id. Memory is for the transaction and for the ids.

pub(crate) mod exact;
mod there;

use crate::Kept;
use crate::answer::{AnswerError, own_ids, stored_value};
use execute::watch;
use gremlin::Object;
use gremlin::graphson::{self, FileEdge, FileVertex};
use model::json::JsonShape;
use model::{KeyId, Value, VertexId};
use plan::hidden::{OF_LABEL, OF_TYPE};
use serde_json::Value as Json;
use std::collections::HashMap;
use std::io::{BufRead, Read};
use std::path::Path;
use store::StoreError;
use there::There;
use transact::{Engine, Mode, Transaction};

/// Bytes of one line: a vertex with its edges.
pub(crate) const LINE_BYTES_MAX: u64 = 256 << 20;

/// Units of work of a line beside its bytes: about a microsecond.
const UNITS_PER_LINE: u64 = 20;

/// How vertices and edges that exist already are treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoadPolicy {
    /// The graph must be empty.
    #[default]
    Fail,
    /// They stay as they are.
    Skip,
    /// The properties of the file are set at vertices; edges stay as they are.
    Merge,
}

/// Counts of elements read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Loaded {
    /// Vertices made.
    pub vertices: u64,
    /// Edges made.
    pub edges: u64,
    /// Vertices and edges that were there already.
    pub existing: u64,
    /// Bytes of the file.
    pub bytes: u64,
}

struct Loading<'d> {
    from: &'d Path,
    transaction: Transaction,
    policy: LoadPolicy,
    vertices: HashMap<String, VertexId>,
    /// Elements that existed before.
    there: There,
    report: Loaded,
}

/// The fault of a line.
struct Wrong(String);

impl From<graphson::GraphsonError> for Wrong {
    fn from(error: graphson::GraphsonError) -> Wrong {
        Wrong(error.0)
    }
}

impl From<StoreError> for Wrong {
    fn from(error: StoreError) -> Wrong {
        Wrong(error.to_string())
    }
}

impl From<transact::TransactError> for Wrong {
    fn from(error: transact::TransactError) -> Wrong {
        Wrong(error.to_string())
    }
}

/// Imports a file of GraphSON into the graph, as a whole or not at all.
///
/// # Errors
/// The graph is not empty, and the policy is to fail then; the file cannot be read, a line is no vertex, an edge lacks an end, a value cannot be
/// stored; or another commit conflicted.
pub fn load(engine: &Engine, from: &Path, policy: LoadPolicy) -> Result<Loaded, AnswerError> {
    let loading = read(engine, from, policy)?;
    loading.transaction.commit()?;
    Ok(loading.report)
}

/// Reads a file as [`load`] does, and changes nothing.
///
/// # Errors
/// As there.
pub fn try_out(engine: &Engine, from: &Path, policy: LoadPolicy) -> Result<Loaded, AnswerError> {
    let loading = read(engine, from, policy)?;
    loading.transaction.rollback();
    Ok(loading.report)
}

fn read<'d>(engine: &Engine, from: &'d Path, policy: LoadPolicy) -> Result<Loading<'d>, AnswerError> {
    let transaction = engine.begin(Mode::Write);
    // Whoever makes a vertex meanwhile is in the way.
    transaction.reads().scan(None);
    if policy == LoadPolicy::Fail && transaction.snapshot().statistics().vertices() > 0 {
        let message = "the database holds a graph already";
        return Err(AnswerError::File {
            code: "Neo.ClientError.Import.NotEmpty",
            message: message.into(),
            hint: Some(
                "--existing skip adds what is new, --existing merge sets properties, too; vertices are the same by their ids in Gremlin",
            ),
        });
    }
    let there = There::of(&transaction.snapshot())?;
    let (vertices, report) = (HashMap::new(), Loaded::default());
    let mut loading = Loading { from, transaction, policy, vertices, there, report };
    loading.lines(Loading::vertex)?;
    loading.lines(Loading::edges)?;
    Ok(loading)
}

impl Loading<'_> {
    /// Calls a function with each line.
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
            JsonShape::of(&line).check().map_err(|error| malformed(path, number, &error.to_string()))?;
            let json: Result<Json, _> = serde_json::from_slice(&line);
            let json = json.map_err(|error| malformed(path, number, &error.to_string()))?;
            each(self, &json).map_err(|Wrong(what)| malformed(path, number, &what))?;
        }
        self.report.bytes = bytes;
        Ok(())
    }

    fn vertex(&mut self, line: &Json) -> Result<(), Wrong> {
        let FileVertex { id, labels: named, properties: given, .. } = graphson::file_vertex(line)?;
        let mut properties = Vec::new();
        for (key, values) in given {
            let kept: Vec<Kept> = values.into_iter().map(|(value, meta)| Kept { value, meta }).collect();
            if kept.is_empty() {
                continue;
            }
            properties.push(self.property(&key, &kept)?);
        }
        let vertex = match self.there.vertex(&name(&id)) {
            Some(vertex) => {
                self.report.existing += 1;
                if self.policy == LoadPolicy::Merge {
                    let mut each = properties.into_iter();
                    each.try_for_each(|(key, value)| self.transaction.set_property(vertex, key, value))?;
                }
                vertex
            }
            None => {
                let labels = named.iter().map(|label| self.transaction.label(label));
                let labels = labels.collect::<Result<Vec<_>, _>>()?;
                properties.extend(self.own_id(&id, OF_LABEL, named.iter().map(String::as_str))?);
                self.report.vertices += 1;
                self.transaction.create_vertex(&labels, properties)?
            }
        };
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
                properties.push(self.property(&key, &[Kept::plain(object)])?);
            }
            if self.there.take_edge(source, target, kind, &properties)? {
                self.report.existing += 1;
                continue;
            }
            self.transaction.create_edge(source, target, kind, properties)?;
            self.report.edges += 1;
        }
        Ok(())
    }

    /// The number of a key, and its value.
    fn property(&self, key: &str, kept: &[Kept]) -> Result<(KeyId, Value), Wrong> {
        if let [only] = kept
            && only.meta.is_empty()
            && let Some(value) = exact::to_value(&only.value)
        {
            return Ok((self.transaction.key(key)?, value));
        }
        let value = match kept {
            [only] if only.meta.is_empty() => self.value(key, &only.value)?,
            several => stored_value::many_to_value(several)
                .ok_or_else(|| Wrong(format!("the values of `{key}` cannot be kept")))?,
        };
        Ok((stored_value::key_for(&self.transaction, key, kept)?, value))
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
        let value = stored_value::to_value(object);
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

/// The form in which ids are compared: 1 is 1 however wide it is written.
fn name(id: &Object) -> String {
    id.as_long().map_or_else(|| id.to_string(), |number| number.to_string())
}
