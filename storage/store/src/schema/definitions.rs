//! Definitions as bytes and back: of names, indexes and constraints, in a log record and in a manifest alike (docs/formats/chunk.md).

use super::names::NameDefinition;
use crate::StoreError;
use crate::bytes::{Reader, Writer};
use model::schema::{ConstraintDefinition, ConstraintRule, IndexDefinition, IndexId, SchemaTarget};
use model::value::ValueType;
use model::{EdgeTypeId, KeyId, LabelId, LabelSetId};
use std::sync::Arc;

pub(crate) fn encode_name(definition: &NameDefinition, writer: &mut Writer) {
    match definition {
        NameDefinition::Label(id, name) => {
            writer.byte(1);
            writer.uint(id.0 as u64);
            writer.text(name);
        }
        NameDefinition::EdgeType(id, name) => {
            writer.byte(2);
            writer.uint(id.0 as u64);
            writer.text(name);
        }
        NameDefinition::Key(id, name) => {
            writer.byte(3);
            writer.uint(id.0 as u64);
            writer.text(name);
        }
        NameDefinition::LabelSet(id, labels) => {
            writer.byte(4);
            writer.uint(id.0 as u64);
            writer.size(labels.len());
            labels.iter().for_each(|label| writer.uint(label.0 as u64));
        }
    }
}

pub(crate) fn decode_name(reader: &mut Reader<'_>) -> Result<NameDefinition, StoreError> {
    Ok(match reader.byte()? {
        1 => NameDefinition::Label(LabelId(reader.uint16()?), reader.text()?.into()),
        2 => NameDefinition::EdgeType(EdgeTypeId(reader.uint16()?), reader.text()?.into()),
        3 => NameDefinition::Key(KeyId(reader.uint32()?), reader.text()?.into()),
        4 => {
            let id = LabelSetId(reader.uint32()?);
            let count = reader.count()?;
            let labels = (0..count).map(|_| reader.uint16().map(LabelId)).collect::<Result<Arc<[_]>, _>>()?;
            NameDefinition::LabelSet(id, labels)
        }
        _ => return Err(reader.fail("unknown kind of name")),
    })
}

fn encode_target(target: SchemaTarget, keys: &[KeyId], writer: &mut Writer) {
    match target {
        SchemaTarget::Vertices(label) => {
            writer.byte(0);
            writer.uint(label.0 as u64);
        }
        SchemaTarget::Edges(edge_type) => {
            writer.byte(1);
            writer.uint(edge_type.0 as u64);
        }
    }
    writer.size(keys.len());
    keys.iter().for_each(|key| writer.uint(key.0 as u64));
}

fn decode_target(reader: &mut Reader<'_>) -> Result<(SchemaTarget, Vec<KeyId>), StoreError> {
    let target = match reader.byte()? {
        0 => SchemaTarget::Vertices(LabelId(reader.uint16()?)),
        1 => SchemaTarget::Edges(EdgeTypeId(reader.uint16()?)),
        _ => return Err(reader.fail("unknown kind of target")),
    };
    let count = reader.count()?;
    Ok((target, (0..count).map(|_| reader.uint32().map(KeyId)).collect::<Result<_, _>>()?))
}

pub(crate) fn encode_index(definition: &IndexDefinition, writer: &mut Writer) {
    writer.uint(definition.id.0 as u64);
    writer.text(&definition.name);
    writer.byte(definition.unique as u8);
    encode_target(definition.target, &definition.keys, writer);
}

pub(crate) fn decode_index(reader: &mut Reader<'_>) -> Result<IndexDefinition, StoreError> {
    let (id, name) = (IndexId(reader.uint32()?), reader.text()?.to_string());
    let unique = reader.byte()? != 0;
    let (target, keys) = decode_target(reader)?;
    Ok(IndexDefinition { id, name, target, keys, unique })
}

pub(crate) fn encode_constraint(definition: &ConstraintDefinition, writer: &mut Writer) {
    writer.text(&definition.name);
    encode_target(definition.target, &definition.keys, writer);
    match &definition.rule {
        ConstraintRule::Unique(index) => {
            writer.byte(0);
            writer.uint(index.0 as u64);
        }
        ConstraintRule::Exists => writer.byte(1),
        ConstraintRule::NodeKey(index) => {
            writer.byte(2);
            writer.uint(index.0 as u64);
        }
        ConstraintRule::Typed(value_type) => {
            writer.byte(3);
            let number = VALUE_TYPES.iter().position(|known| known == value_type);
            writer.size(number.expect("VALUE_TYPES lists every type"));
        }
    }
}

pub(crate) fn decode_constraint(reader: &mut Reader<'_>) -> Result<ConstraintDefinition, StoreError> {
    let name = reader.text()?.to_string();
    let (target, keys) = decode_target(reader)?;
    let rule = match reader.byte()? {
        0 => ConstraintRule::Unique(IndexId(reader.uint32()?)),
        1 => ConstraintRule::Exists,
        2 => ConstraintRule::NodeKey(IndexId(reader.uint32()?)),
        3 => {
            let number = reader.uint()? as usize;
            ConstraintRule::Typed(
                *VALUE_TYPES.get(number).ok_or_else(|| reader.fail("unknown type of value"))?,
            )
        }
        _ => return Err(reader.fail("unknown kind of constraint")),
    };
    Ok(ConstraintDefinition { name, target, keys, rule })
}

/// Value types by their number in the encoding; only append.
const VALUE_TYPES: [ValueType; 18] = [
    ValueType::Null,
    ValueType::Bool,
    ValueType::Int,
    ValueType::Float,
    ValueType::String,
    ValueType::Bytes,
    ValueType::Date,
    ValueType::LocalTime,
    ValueType::Time,
    ValueType::LocalDateTime,
    ValueType::DateTime,
    ValueType::Duration,
    ValueType::Point,
    ValueType::List,
    ValueType::Map,
    ValueType::Vertex,
    ValueType::Edge,
    ValueType::Path,
];
