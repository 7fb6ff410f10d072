//! Errors of the store, as one typed enum.

use model::schema::IndexId;
use model::{ChunkNo, EdgeId, VertexId, pace};
use std::fmt;

/// An error of the store. Every one but [`StoreError::NotUnique`] means a fault of the caller or of the medium, not of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StoreError {
    /// Stored bytes do not decode; the text says where.
    Corrupt(Box<str>),
    /// The medium under a chunk source failed; the text is its message.
    Source(Box<str>),
    /// A part of the graph lies on another machine that does not answer or no longer keeps it; a new snapshot can be read.
    Unavailable(Box<str>),
    /// A change speaks of a vertex that is not there.
    NoVertex(VertexId),
    /// A change creates a vertex that is already there.
    VertexExists(VertexId),
    /// A change speaks of an edge that is not there.
    NoEdge(EdgeId),
    /// A change creates an edge that is already there.
    EdgeExists(EdgeId),
    /// A vertex is deleted that still has edges.
    VertexHasEdges(VertexId),
    /// No such index in the catalogue.
    NoIndex(IndexId),
    /// An index with this number or name exists.
    IndexExists(Box<str>),
    /// No such constraint in the catalogue.
    NoConstraint(Box<str>),
    /// A constraint with this name exists.
    ConstraintExists(Box<str>),
    /// A name or a label set is used whose definition is unknown, or defined twice with different meaning.
    BadName(Box<str>),
    /// A unique index would hold two vertices with the same values.
    NotUnique {
        /// The index.
        index: IndexId,
        /// The two vertices.
        vertices: (VertexId, VertexId),
    },
    /// A unique index would hold two edges with the same values.
    EdgesNotUnique {
        /// The index.
        index: IndexId,
        /// The two edges.
        edges: (EdgeId, EdgeId),
    },
    /// A catalogue entry would pass a limit; the text says which.
    EntryRefused(&'static str),
    /// A named limit of the store is reached.
    Full(&'static str),
    /// The chunk already has its final position and cannot take this.
    ChunkMismatch(ChunkNo),
    /// An import conflicts with commits made while it was built; nothing of it was taken.
    Outdated(&'static str),
    /// A request this store does not serve.
    Unsupported(&'static str),
    /// A label, edge type or property key has this many bytes, more than [`crate::schema::names::NAME_BYTES_MAX`].
    NameTooLong(usize),
    /// No label, edge type or property key is called this; the text says why.
    NameRefused(&'static str),
    /// The query that did the work was ended; nothing of it was taken.
    Stopped,
    /// Freshly encoded data does not decode: a fault of this program, found before anything was replaced by it.
    NotReadBack(Box<str>),
}

impl StoreError {
    /// A corruption found in `place`.
    #[cold]
    pub fn corrupt(place: impl Into<Box<str>>) -> StoreError {
        StoreError::Corrupt(place.into())
    }
    /// Stable code for logs and interfaces.
    pub fn code(&self) -> &'static str {
        match self {
            StoreError::Corrupt(_) => "store.corrupt",
            StoreError::Source(_) => "store.source",
            StoreError::Unavailable(_) => "store.unavailable",
            StoreError::NoVertex(_) => "store.no_vertex",
            StoreError::VertexExists(_) => "store.vertex_exists",
            StoreError::NoEdge(_) => "store.no_edge",
            StoreError::EdgeExists(_) => "store.edge_exists",
            StoreError::VertexHasEdges(_) => "store.vertex_has_edges",
            StoreError::NoIndex(_) => "store.no_index",
            StoreError::IndexExists(_) => "store.index_exists",
            StoreError::NoConstraint(_) => "store.no_constraint",
            StoreError::ConstraintExists(_) => "store.constraint_exists",
            StoreError::BadName(_) => "store.bad_name",
            StoreError::NotUnique { .. } | StoreError::EdgesNotUnique { .. } => "store.not_unique",
            StoreError::EntryRefused(_) => "store.entry_refused",
            StoreError::Full(_) => "store.full",
            StoreError::ChunkMismatch(_) => "store.chunk_mismatch",
            StoreError::Outdated(_) => "store.outdated",
            StoreError::Unsupported(_) => "store.unsupported",
            StoreError::Stopped => "store.stopped",
            StoreError::NameTooLong(_) => "store.name_too_long",
            StoreError::NameRefused(_) => "store.name_refused",
            StoreError::NotReadBack(_) => "store.not_read_back",
        }
    }
    /// Advice for the user.
    pub fn hint(&self) -> &'static str {
        match self {
            StoreError::Corrupt(_) => "restore the store from a backup or an earlier checkpoint",
            StoreError::Source(_) => "check the disk or the backing store; its message is given above",
            StoreError::Unavailable(_) => "run the transaction again",
            StoreError::VertexHasEdges(_) => "delete the edges first, or use DETACH DELETE",
            StoreError::NotUnique { .. } | StoreError::EdgesNotUnique { .. } => {
                "find the duplicates and change one of them"
            }
            StoreError::Outdated(_) => "import again",
            StoreError::EntryRefused(_) => "shorten it, or drop others first",
            StoreError::Full(_) => {
                "keep what differs from one entity to the next in properties, not in names"
            }
            StoreError::Stopped => "ask again, with more time",
            StoreError::NameTooLong(_) => "names have at most 65,535 bytes; keep long text in a property",
            StoreError::NameRefused(_) => "a name has at least one character, and none that is NUL",
            StoreError::NotReadBack(_) => "nothing is lost: every commit is in the log; report this",
            _ => "the statement met a graph other than the one it was checked against; report this",
        }
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StoreError::Corrupt(place) => write!(f, "stored bytes are corrupt: {place}"),
            StoreError::Source(message) => write!(f, "stored bytes cannot be read: {message}"),
            StoreError::Unavailable(why) => write!(f, "a part of the graph cannot be read now: {why}"),
            StoreError::NoVertex(vertex) => write!(f, "vertex {vertex:?} does not exist"),
            StoreError::VertexExists(vertex) => write!(f, "vertex {vertex:?} exists already"),
            StoreError::NoEdge(edge) => write!(f, "edge {edge:?} does not exist"),
            StoreError::EdgeExists(edge) => write!(f, "edge {edge:?} exists already"),
            StoreError::VertexHasEdges(vertex) => write!(f, "vertex {vertex:?} still has edges"),
            StoreError::NoIndex(index) => write!(f, "index {} does not exist", index.0),
            StoreError::IndexExists(name) => write!(f, "index {name} exists already"),
            StoreError::NoConstraint(name) => write!(f, "constraint {name} does not exist"),
            StoreError::ConstraintExists(name) => write!(f, "constraint {name} exists already"),
            StoreError::BadName(what) => write!(f, "bad name definition: {what}"),
            StoreError::NotUnique { index, vertices: (a, b) } => {
                write!(f, "vertices {a:?} and {b:?} hold the same values in unique index {}", index.0)
            }
            StoreError::EdgesNotUnique { index, edges: (a, b) } => {
                write!(f, "edges {a:?} and {b:?} hold the same values in unique index {}", index.0)
            }
            StoreError::EntryRefused(why) => write!(f, "the catalogue does not take this: {why}"),
            StoreError::Full(limit) => write!(f, "limit reached: {limit}"),
            StoreError::ChunkMismatch(chunk) => write!(f, "chunk {chunk} was born with another label set"),
            StoreError::Outdated(what) => write!(f, "the graph changed while the import was built: {what}"),
            StoreError::Unsupported(what) => write!(f, "not supported: {what}"),
            StoreError::NameTooLong(bytes) => {
                write!(f, "a label, relationship type or property key of {bytes} bytes is too long")
            }
            StoreError::NameRefused(why) => {
                write!(f, "the name of a label, relationship type or property key {why}")
            }
            StoreError::Stopped => write!(f, "{}", pace::Stopped),
            StoreError::NotReadBack(what) => write!(f, "what was written could not be read back: {what}"),
        }
    }
}

impl From<pace::Stopped> for StoreError {
    fn from(_: pace::Stopped) -> StoreError {
        StoreError::Stopped
    }
}

impl std::error::Error for StoreError {}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each kind; a new kind does not build until it is added here.
    fn all() -> Vec<StoreError> {
        let all = vec![
            StoreError::Corrupt("chunk 3".into()),
            StoreError::Source("no such file".into()),
            StoreError::Unavailable("shard 2 does not answer".into()),
            StoreError::NoVertex(VertexId(7)),
            StoreError::VertexExists(VertexId(7)),
            StoreError::NoEdge(EdgeId(9)),
            StoreError::EdgeExists(EdgeId(9)),
            StoreError::VertexHasEdges(VertexId(7)),
            StoreError::NoIndex(IndexId(3)),
            StoreError::IndexExists("by_name".into()),
            StoreError::NoConstraint("one_name".into()),
            StoreError::ConstraintExists("one_name".into()),
            StoreError::BadName("label 5 twice".into()),
            StoreError::NotUnique { index: IndexId(3), vertices: (VertexId(7), VertexId(8)) },
            StoreError::EdgesNotUnique { index: IndexId(3), edges: (EdgeId(9), EdgeId(10)) },
            StoreError::EntryRefused("its name is empty"),
            StoreError::Full("labels"),
            StoreError::ChunkMismatch(2),
            StoreError::Outdated("a node was deleted"),
            StoreError::Unsupported("an index over labels"),
            StoreError::NameTooLong(70_000),
            StoreError::NameRefused("is empty"),
            StoreError::Stopped,
            StoreError::NotReadBack("chunk 3".into()),
        ];
        for error in &all {
            match error {
                StoreError::Corrupt(_) | StoreError::Source(_) | StoreError::Unavailable(_) => {}
                StoreError::NoVertex(_) | StoreError::VertexExists(_) | StoreError::VertexHasEdges(_) => {}
                StoreError::NoEdge(_) | StoreError::EdgeExists(_) | StoreError::BadName(_) => {}
                StoreError::NoIndex(_) | StoreError::IndexExists(_) | StoreError::NoConstraint(_) => {}
                StoreError::ConstraintExists(_) | StoreError::NotUnique { .. } => {}
                StoreError::EdgesNotUnique { .. } | StoreError::EntryRefused(_) | StoreError::Full(_) => {}
                StoreError::ChunkMismatch(_) | StoreError::Outdated(_) | StoreError::Unsupported(_) => {}
                StoreError::NameTooLong(_) | StoreError::NameRefused(_) | StoreError::Stopped => {}
                StoreError::NotReadBack(_) => {}
            }
        }
        all
    }

    /// With `LEDGER=write` the page is written anew, to be read as any other change is.
    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test that writes its page")]
    fn each_error_has_its_code_words_and_hint() {
        let line = |error: &StoreError| format!("{}: {error}\n    {}\n", error.code(), error.hint());
        let told: String = all().iter().map(line).collect();
        if std::env::var("LEDGER").is_ok_and(|what| what == "write") {
            std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/src/error.txt"), &told).unwrap();
        }
        assert_eq!(told, include_str!("error.txt"));
        let codes: std::collections::BTreeSet<&str> = all().iter().map(StoreError::code).collect();
        // The two kinds of what is not unique have one.
        assert_eq!(codes.len() + 1, all().len(), "each has a code of its own");
    }
}
