//! Values of the database as values of programs, and back.

use crate::program::ProgramGraph;
use dataflow::Failure;
use model::{Value, ValueTooLarge, VertexId};
use procedures::settings::wrong;
use program::Value as Told;
use program::wire::{DEPTH_MAX, Malformed, WireReader, WireWriter};

/// Writes a value.
pub(super) fn write_value(writer: &mut WireWriter, value: &Value) -> Result<(), Failure> {
    match value {
        Value::Null => writer.byte(0),
        Value::Bool(truth) => writer.byte(1 + u8::from(*truth)),
        Value::Int(int) => writer.tagged(3, *int as u64),
        Value::Float(float) => writer.tagged(4, float.to_bits()),
        Value::String(text) => {
            writer.byte(5);
            writer.text(text);
        }
        Value::Bytes(bytes) => {
            writer.byte(6);
            writer.length(bytes.len());
            writer.bytes.extend_from_slice(bytes);
        }
        Value::Vertex(vertex) => writer.tagged(7, vertex.0),
        Value::List(list) => {
            writer.byte(8);
            writer.length(list.len());
            for value in list.iter() {
                write_value(writer, value)?;
            }
        }
        Value::Map(map) => {
            writer.byte(9);
            writer.length(map.len());
            for (key, value) in map.iter() {
                writer.text(key);
                write_value(writer, value)?;
            }
        }
        Value::Edge(_) | Value::Path(_) => {
            return Err(wrong("a program takes nodes as parameters, and no relationships and paths").into());
        }
        other => {
            writer.byte(5);
            writer.text(&text_of(other));
        }
    }
    Ok(())
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Date(date) => date.to_string(),
        Value::LocalTime(time) => time.to_string(),
        Value::Time(time) => time.to_string(),
        Value::LocalDateTime(time) => time.to_string(),
        Value::DateTime(time) => time.to_string(),
        Value::Duration(duration) => duration.to_string(),
        Value::Point(point) => point.to_string(),
        _ => String::new(),
    }
}

/// Parameters in bytes; null is an empty map.
pub(super) fn parameters(given: &Value) -> Result<Vec<u8>, Failure> {
    let mut writer = WireWriter::default();
    match given {
        Value::Null => writer.value(&Told::Map(Vec::new())),
        Value::Map(_) => write_value(&mut writer, given)?,
        _ => return Err(wrong("the parameters of a program are a map, such as {types: 'KNOWS'}").into()),
    }
    Ok(writer.bytes)
}

/// The nodes that a program may name.
pub(super) struct KnownNodes<'a> {
    pub(super) graph: &'a ProgramGraph,
    pub(super) program: &'a str,
}

impl KnownNodes<'_> {
    /// The node of this number.
    pub(super) fn node(&self, number: u64) -> Result<VertexId, Failure> {
        if number < u64::from(self.graph.vertex_bound()) && self.graph.exists(number as u32)? {
            return Ok(VertexId(number));
        }
        Err(wrong(format!("the program `{}` names node {number}, which is not there", self.program)).into())
    }
}

/// Why what a program told was not taken.
pub(super) enum TakeEnd {
    /// It is no message.
    Malformed(Malformed),
    /// It names what is not there, or the query is over.
    Failed(Failure),
}

impl From<Malformed> for TakeEnd {
    fn from(malformed: Malformed) -> TakeEnd {
        TakeEnd::Malformed(malformed)
    }
}

impl From<Failure> for TakeEnd {
    fn from(failure: Failure) -> TakeEnd {
        TakeEnd::Failed(failure)
    }
}

impl From<ValueTooLarge> for TakeEnd {
    fn from(error: ValueTooLarge) -> TakeEnd {
        TakeEnd::Failed(error.into())
    }
}

/// A value from a program: the next of the reader.
pub(super) fn read_value(
    reader: &mut WireReader<'_>,
    depth: usize,
    known: &KnownNodes<'_>,
) -> Result<Value, TakeEnd> {
    if depth > DEPTH_MAX {
        return Err(Malformed("lists and maps are nested deeper than 32").into());
    }
    Ok(match reader.byte()? {
        0 => Value::Null,
        1 => Value::Bool(false),
        2 => Value::Bool(true),
        3 => Value::Int(reader.long()? as i64),
        4 => Value::Float(f64::from_bits(reader.long()?)),
        5 => Value::string(reader.text()?),
        6 => Value::Bytes(reader.bytes()?.into()),
        7 => Value::Vertex(known.node(reader.long()?)?),
        8 => {
            let values = (0..reader.length(1)?).map(|_| read_value(reader, depth + 1, known));
            Value::try_list(values.collect::<Result<_, TakeEnd>>()?)?
        }
        9 => {
            let mut entries = Vec::new();
            for _ in 0..reader.length(5)? {
                let key = reader.text()?.to_string();
                entries.push((key, read_value(reader, depth + 1, known)?));
            }
            Value::try_map(entries)?
        }
        _ => return Err(Malformed("a value has an unknown tag").into()),
    })
}
