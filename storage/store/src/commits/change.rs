//! Changes of a transaction, as data: the content of the commit log and of the change feed.
//!
//! A list of changes is encoded as a version byte, a count, and each change as a tag and its fields (varints; see
//! docs/formats/chunk.md). Vertex and edge numbers are written whole: they are small while stores are small.

use crate::StoreError;
use crate::bytes::{Reader, Writer};
use crate::schema::definitions::{
    decode_constraint, decode_index, decode_name, encode_constraint, encode_index, encode_name,
};
use crate::schema::entries::{EntryKind, decode_content};
use crate::schema::names::NameDefinition;
use model::id::{EDGE_SLOT_COUNT_MAX, EDGE_TYPE_COUNT_MAX};
use model::pace::Stopped;
use model::schema::{ConstraintDefinition, IndexDefinition, IndexId};
use model::{EdgeId, EdgeRef, EdgeTypeId, KeyId, LabelSetId, Value, VertexId, walk};
use std::sync::Arc;

/// Version of the encoding of changes.
const CHANGES_VERSION: u8 = 1;

/// Encoded bytes that count as one unit of work.
const BYTES_PER_UNIT: usize = 128;

/// One change of the graph or of its catalogue.
#[derive(Clone, Debug)]
pub enum Change {
    /// A vertex is born; `id` comes from the allocator for the same label set.
    CreateVertex {
        /// The new vertex.
        id: VertexId,
        /// Its labels.
        labels: LabelSetId,
        /// Its properties; nulls are ignored.
        properties: Vec<(KeyId, Value)>,
    },
    /// A vertex without edges goes.
    DeleteVertex {
        /// The vertex.
        id: VertexId,
    },
    /// A vertex takes this whole set of labels.
    SetLabels {
        /// The vertex.
        id: VertexId,
        /// All its labels from now on.
        labels: LabelSetId,
    },
    /// A vertex property takes a value; null removes it.
    SetProperty {
        /// The vertex.
        id: VertexId,
        /// Which property.
        key: KeyId,
        /// Its value from now on.
        value: Value,
    },
    /// An edge is born; its id comes from the allocator for the same source and type.
    CreateEdge {
        /// The new edge.
        edge: EdgeRef,
        /// Its properties; nulls are ignored.
        properties: Vec<(KeyId, Value)>,
    },
    /// An edge goes.
    DeleteEdge {
        /// The edge.
        edge: EdgeRef,
    },
    /// An edge property takes a value; null removes it.
    SetEdgeProperty {
        /// The edge.
        edge: EdgeRef,
        /// Which property.
        key: KeyId,
        /// Its value from now on.
        value: Value,
    },
    /// A name gets its number.
    DefineName(NameDefinition),
    /// An index is built over the existing graph, and maintained from now on.
    CreateIndex(IndexDefinition),
    /// An index goes.
    DropIndex(IndexId),
    /// A constraint is written into the catalogue; commits check it.
    CreateConstraint(ConstraintDefinition),
    /// The constraint of this name goes.
    DropConstraint(String),
    /// An entry of the catalogue takes this content, or goes where there is none.
    SetEntry {
        /// Its kind.
        kind: EntryKind,
        /// Its name.
        name: Arc<str>,
        /// Its content from now on.
        content: Option<Arc<[u8]>>,
    },
}

impl Change {
    /// Bytes of its values, each counted in full: values shared by changes until they are committed have a copy each in the graph.
    pub fn value_bytes(&self) -> usize {
        match self {
            Change::CreateVertex { properties, .. } | Change::CreateEdge { properties, .. } => {
                properties.iter().map(|(_, value)| value.heap_bytes()).sum()
            }
            Change::SetProperty { value, .. } | Change::SetEdgeProperty { value, .. } => value.heap_bytes(),
            _ => 0,
        }
    }
    /// Chunks that it writes to, the two ends of an edge; none where it speaks of the catalogue.
    pub fn chunks(&self) -> [Option<model::ChunkNo>; 2] {
        match self {
            Change::CreateVertex { id, .. }
            | Change::DeleteVertex { id }
            | Change::SetLabels { id, .. }
            | Change::SetProperty { id, .. } => [Some(id.chunk()), None],
            Change::CreateEdge { edge, .. } | Change::DeleteEdge { edge } => {
                [Some(edge.source.chunk()), Some(edge.target.chunk())]
            }
            Change::SetEdgeProperty { edge, .. } => [Some(edge.source.chunk()), None],
            _ => [None, None],
        }
    }
    /// Appends the encoding of `changes` to `bytes`, or, where that takes more than `bytes_max`, some part of it.
    ///
    /// # Errors
    /// The work of this thread is over ([`model::walk::spend`]).
    pub fn encode_all(changes: &[Change], bytes: &mut Vec<u8>, bytes_max: usize) -> Result<(), StoreError> {
        let mut writer = Writer::endable(std::mem::take(bytes));
        writer.byte(CHANGES_VERSION);
        writer.size(changes.len());
        for change in changes {
            let before = writer.bytes.len();
            encode(change, &mut writer);
            walk::spend(1 + (writer.bytes.len() - before) / BYTES_PER_UNIT)?;
            if writer.bytes.len() > bytes_max {
                break;
            }
        }
        let is_cut = writer.is_cut();
        *bytes = writer.bytes;
        if is_cut { Err(Stopped.into()) } else { Ok(()) }
    }
    /// Inverse of [`Change::encode_all`]; `bytes` holds one list and nothing else.
    pub fn decode_all(bytes: &[u8]) -> Result<Vec<Change>, StoreError> {
        let mut reader = Reader::new(bytes, "changes");
        if reader.byte()? != CHANGES_VERSION {
            return Err(reader.fail("unknown version"));
        }
        let count = reader.count()?;
        let changes = (0..count).map(|_| decode(&mut reader)).collect::<Result<_, _>>()?;
        reader.finish()?;
        Ok(changes)
    }
}

fn encode(change: &Change, writer: &mut Writer) {
    match change {
        Change::CreateVertex { id, labels, properties } => {
            writer.byte(1);
            writer.uint(id.0);
            writer.uint(labels.0 as u64);
            encode_properties(properties, writer);
        }
        Change::DeleteVertex { id } => {
            writer.byte(2);
            writer.uint(id.0);
        }
        Change::SetLabels { id, labels } => {
            writer.byte(3);
            writer.uint(id.0);
            writer.uint(labels.0 as u64);
        }
        Change::SetProperty { id, key, value } => {
            writer.byte(4);
            writer.uint(id.0);
            writer.uint(key.0 as u64);
            writer.value(value);
        }
        Change::CreateEdge { edge, properties } => {
            writer.byte(5);
            encode_edge(*edge, writer);
            encode_properties(properties, writer);
        }
        Change::DeleteEdge { edge } => {
            writer.byte(6);
            encode_edge(*edge, writer);
        }
        Change::SetEdgeProperty { edge, key, value } => {
            writer.byte(7);
            encode_edge(*edge, writer);
            writer.uint(key.0 as u64);
            writer.value(value);
        }
        Change::DefineName(definition) => {
            writer.byte(8);
            encode_name(definition, writer);
        }
        Change::CreateIndex(definition) => {
            writer.byte(9);
            encode_index(definition, writer);
        }
        Change::DropIndex(id) => {
            writer.byte(10);
            writer.uint(id.0 as u64);
        }
        Change::CreateConstraint(definition) => {
            writer.byte(11);
            encode_constraint(definition, writer);
        }
        Change::DropConstraint(name) => {
            writer.byte(12);
            writer.text(name);
        }
        Change::SetEntry { kind, name, content } => {
            writer.byte(if content.is_some() { 13 } else { 14 });
            writer.byte(kind.0);
            writer.text(name);
            if let Some(content) = content {
                writer.size(content.len());
                writer.raw(content);
            }
        }
    }
}

fn decode(reader: &mut Reader<'_>) -> Result<Change, StoreError> {
    Ok(match reader.byte()? {
        1 => Change::CreateVertex {
            id: VertexId(reader.uint()?),
            labels: LabelSetId(reader.uint32()?),
            properties: decode_properties(reader)?,
        },
        2 => Change::DeleteVertex { id: VertexId(reader.uint()?) },
        3 => Change::SetLabels { id: VertexId(reader.uint()?), labels: LabelSetId(reader.uint32()?) },
        4 => Change::SetProperty {
            id: VertexId(reader.uint()?),
            key: KeyId(reader.uint32()?),
            value: reader.value()?,
        },
        5 => Change::CreateEdge { edge: decode_edge(reader)?, properties: decode_properties(reader)? },
        6 => Change::DeleteEdge { edge: decode_edge(reader)? },
        7 => Change::SetEdgeProperty {
            edge: decode_edge(reader)?,
            key: KeyId(reader.uint32()?),
            value: reader.value()?,
        },
        8 => Change::DefineName(decode_name(reader)?),
        9 => Change::CreateIndex(decode_index(reader)?),
        10 => Change::DropIndex(IndexId(reader.uint32()?)),
        11 => Change::CreateConstraint(decode_constraint(reader)?),
        12 => Change::DropConstraint(reader.text()?.to_string()),
        tag @ (13 | 14) => {
            let (kind, name) = (EntryKind(reader.byte()?), reader.text()?.into());
            let content = if tag == 13 { Some(decode_content(reader)?) } else { None };
            Change::SetEntry { kind, name, content }
        }
        _ => return Err(reader.fail("unknown kind of change")),
    })
}

/// The chunk in an edge's id is its source's, so type and slot are enough.
fn encode_edge(edge: EdgeRef, writer: &mut Writer) {
    debug_assert_eq!(edge.id.chunk(), edge.source.chunk());
    writer.uint(edge.source.0);
    writer.uint(edge.target.0);
    writer.uint(edge.id.edge_type().0 as u64);
    writer.uint(edge.id.slot() as u64);
}

fn decode_edge(reader: &mut Reader<'_>) -> Result<EdgeRef, StoreError> {
    let (source, target) = (VertexId(reader.uint()?), VertexId(reader.uint()?));
    let (edge_type, slot) = (reader.uint16()?, reader.uint32()?);
    if edge_type as usize >= EDGE_TYPE_COUNT_MAX
        || slot as usize >= EDGE_SLOT_COUNT_MAX
        || source.0 > u32::MAX as u64
    {
        return Err(reader.fail("edge outside its bounds"));
    }
    Ok(EdgeRef { id: EdgeId::new(source.chunk(), EdgeTypeId(edge_type), slot), source, target })
}

fn encode_properties(properties: &[(KeyId, Value)], writer: &mut Writer) {
    writer.size(properties.len());
    for (key, value) in properties {
        writer.uint(key.0 as u64);
        writer.value(value);
    }
}

fn decode_properties(reader: &mut Reader<'_>) -> Result<Vec<(KeyId, Value)>, StoreError> {
    let count = reader.count()?;
    (0..count).map(|_| Ok((KeyId(reader.uint32()?), reader.value()?))).collect()
}
