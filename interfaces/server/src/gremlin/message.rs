//! Requests and responses of the Gremlin Server protocol, in GraphBinary 1.0 and in GraphSON 1 to 3.

use super::asking::{Part, Refusal};
use super::graphson::{self as answered, Dialect, JsonWriter};
use super::reading::{Malformed, Reader, Room, VALUE_BYTES};
use super::writing::Writer;
use database::Error;
use gremlin::object::{parse_uuid, uuid_text};
use gremlin::{Argument, Object, graphson};
use model::json::JsonShape;
use serde_json::Value as Json;
use std::sync::Arc;

pub use super::status::{Status, Wrapping};

/// GraphBinary's name in front of a frame and in the headers of HTTP.
pub const GRAPH_BINARY: &str = "application/vnd.graphbinary-v1.0";
/// Texts between `requestId` and the id itself, at most: a type and a name.
const ID_TEXTS_MAX: usize = 8;
/// The version byte of a message.
const VERSION: u8 = 0x81;

/// How a message is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// GraphBinary 1.0.
    Binary,
    /// GraphSON.
    Json(Dialect),
}

impl Format {
    /// The format of a name, as clients write it in front of a frame or in a header; names of types have no case (RFC 9110, 8.3.1).
    pub fn of(mime: &str) -> Option<Format> {
        if mime.eq_ignore_ascii_case(GRAPH_BINARY) {
            return Some(Format::Binary);
        }
        let dialect = Dialect::of(mime).or_else(|| Dialect::of(&mime.to_ascii_lowercase()));
        dialect.map(Format::Json)
    }
    /// Its name.
    pub fn mime(self) -> &'static str {
        match self {
            Format::Binary => GRAPH_BINARY,
            Format::Json(dialect) => dialect.mime(),
        }
    }
}

/// A frame for WebSocket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// GraphBinary.
    Binary(Vec<u8>),
    /// GraphSON.
    Text(String),
}

/// A client's request.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// Its format, and that of the answer.
    pub format: Format,
    /// Chosen by the client; answers repeat it.
    pub id: u128,
    /// `eval`, `bytecode`, `authentication`, `close`, …
    pub operation: String,
    /// Empty, `traversal` or `session`.
    pub processor: String,
    /// Everything else.
    pub arguments: Vec<(Arc<str>, Argument)>,
}

/// A request that cannot be read, and how its sender is answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unread {
    /// The format it came in.
    pub format: Format,
    /// Its id, where it could be read so far: drivers wait for an answer that repeats it.
    pub id: Option<u128>,
    /// The fault.
    pub why: Malformed,
}

/// Bytes that parsing a text of JSON takes: its texts, and each value twice, as JSON and as an object.
fn json_bytes(text: &[u8], shape: JsonShape) -> usize {
    text.len().saturating_add(shape.values.saturating_mul(JSON_VALUE_BYTES + VALUE_BYTES))
}

/// Parses a text of JSON; its memory is charged by `room`.
///
/// # Errors
/// There is no room, it is nested too deep, or it is no JSON.
pub(crate) fn json(text: &[u8], room: &mut Room<'_>) -> Result<Json, Malformed> {
    let shape = JsonShape::of(text);
    room(json_bytes(text, shape)).map_err(Malformed::new)?;
    shape.check().map_err(|error| Malformed::new(error.to_string()))?;
    serde_json::from_slice(text).map_err(|error| Malformed::new(format!("it is no JSON: {error}")))
}

/// Bytes that a value takes as JSON.
const JSON_VALUE_BYTES: usize = 2 * size_of::<Json>();

impl Request {
    /// Reads a binary frame: the length of the format's name, the name, the message.
    ///
    /// # Errors
    /// It is no request of a format that is spoken here.
    pub fn read(frame: &[u8]) -> Result<Request, Unread> {
        Request::read_within(frame, &mut |_| Ok(()))
    }
    /// The same; its values are charged by `room`.
    ///
    /// # Errors
    /// As there, or there is no room.
    pub fn read_within(frame: &[u8], room: &mut Room<'_>) -> Result<Request, Unread> {
        let refused = |why: String| Unread { format: Format::Binary, id: None, why: Malformed::new(why) };
        let named =
            frame.split_first().and_then(|(length, rest)| rest.split_at_checked(usize::from(*length)));
        let Some((mime, message)) = named else { return Err(refused("it is empty".into())) };
        let mime = String::from_utf8_lossy(mime);
        let Some(format) = Format::of(&mime) else {
            return Err(refused(format!(
                "its format is {mime}; this interface speaks {GRAPH_BINARY} and GraphSON 1 to 3"
            )));
        };
        Request::of_within(format, message, room)
    }
    /// Reads a text frame, which is GraphSON 3 and names no format.
    ///
    /// # Errors
    /// It is no request.
    pub fn read_text(frame: &[u8]) -> Result<Request, Unread> {
        Request::of(Format::Json(Dialect::DEFAULT), frame)
    }
    /// The same; its values are charged by `room`.
    ///
    /// # Errors
    /// As there, or there is no room.
    pub fn read_text_within(frame: &[u8], room: &mut Room<'_>) -> Result<Request, Unread> {
        Request::of_within(Format::Json(Dialect::DEFAULT), frame, room)
    }
    /// Reads a message whose format is known.
    ///
    /// # Errors
    /// It is no request.
    pub fn of(format: Format, message: &[u8]) -> Result<Request, Unread> {
        Request::of_within(format, message, &mut |_| Ok(()))
    }
    pub(super) fn of_within(format: Format, message: &[u8], room: &mut Room<'_>) -> Result<Request, Unread> {
        let mut id = None;
        let read = match format {
            Format::Binary => Request::of_binary(message, &mut id, room),
            Format::Json(dialect) => Request::of_json(dialect, message, &mut id, room),
        };
        read.map_err(|why| Unread { format, id, why })
    }
    fn of_binary(
        message: &[u8],
        known: &mut Option<u128>,
        room: &mut Room<'_>,
    ) -> Result<Request, Malformed> {
        // So that what is held does not outlive the reader.
        let mut room = |bytes| room(bytes);
        let mut reader = Reader::within(message, &mut room);
        if reader.byte()? != VERSION {
            return Err(Malformed::new("its version is not that of GraphBinary 1.0"));
        }
        let id = *known.insert(reader.uuid()?);
        let (operation, processor) = (reader.text()?.into(), reader.text()?.into());
        Ok(Request { format: Format::Binary, id, operation, processor, arguments: reader.named_arguments()? })
    }
    fn of_json(
        dialect: Dialect,
        message: &[u8],
        known: &mut Option<u128>,
        room: &mut Room<'_>,
    ) -> Result<Request, Malformed> {
        let json = json(message, room).inspect_err(|_| *known = id_within(message))?;
        *known = match json.get("requestId") {
            Some(Json::String(id)) => parse_uuid(id),
            Some(typed) => typed["@value"].as_str().and_then(parse_uuid),
            None => None,
        };
        let id = known.ok_or_else(|| Malformed::new("its requestId is no UUID"))?;
        let text = |name: &str| json.get(name).and_then(Json::as_str).unwrap_or_default().to_string();
        let arguments = match json.get("args") {
            None | Some(Json::Null) => Vec::new(),
            Some(arguments) => {
                graphson::named_arguments(arguments).map_err(|error| Malformed::new(error.0))?
            }
        };
        let (operation, processor) = (text("op"), text("processor"));
        Ok(Request { format: Format::Json(dialect), id, operation, processor, arguments })
    }
    /// An argument by name.
    pub fn argument(&self, name: &str) -> Option<&Argument> {
        self.arguments.iter().find(|(known, _)| &**known == name).map(|(_, argument)| argument)
    }
    /// The value of an argument, unless it is null.
    pub fn value(&self, name: &str) -> Option<&Object> {
        self.argument(name).and_then(Argument::value).filter(|value| !matches!(value, Object::Null))
    }
}

/// The id in a message that is no JSON, or nested too deep to be parsed.
fn id_within(message: &[u8]) -> Option<u128> {
    let text = std::str::from_utf8(message).ok()?;
    let behind = &text[text.find("\"requestId\"")? + "\"requestId\"".len()..];
    // It is a text, or the value of a typed one: in both a text of its own.
    behind.split('"').take(ID_TEXTS_MAX).find_map(parse_uuid)
}

fn head(writer: &mut Writer<'_>, id: Option<u128>, status: Status, message: Option<&str>) {
    writer.bytes.push(VERSION);
    match id {
        Some(id) => {
            writer.bytes.push(0);
            writer.bytes.extend(id.to_be_bytes());
        }
        None => writer.bytes.push(1),
    }
    writer.int(status as i32);
    match message {
        Some(message) => {
            writer.bytes.push(0);
            writer.text(message);
        }
        None => writer.bytes.push(1),
    }
}

/// A response with objects, or without any.
///
/// # Errors
/// A vertex or an edge cannot be resolved, or the format has no form for an object.
pub fn response(format: Format, id: u128, part: &Part<'_>) -> Result<Frame, Error> {
    match format {
        Format::Binary => {
            let mut elements = Writer::new(part.answer);
            let count = elements.elements_of(part.objects, part.wrapping)?;
            let mut frame = binary_head(id, part.status, count);
            frame.append(&mut elements.bytes);
            Ok(Frame::Binary(frame))
        }
        Format::Json(dialect) => {
            let mut writer = JsonWriter::new(dialect, part.answer);
            answered::begin_response(&mut writer, &uuid_text(id), part.status);
            let mut is_first = true;
            answered::elements(&mut writer, part.objects, part.wrapping, &mut is_first)?;
            answered::end_response(&mut writer);
            Ok(Frame::Text(writer.text))
        }
    }
}

/// A response in GraphBinary up to the first of `count` objects.
pub fn binary_head(id: u128, status: Status, count: usize) -> Vec<u8> {
    let mut writer = Writer::new(None);
    head(&mut writer, Some(id), status, Some(""));
    writer.int(0);
    writer.int(0);
    writer.begin_list(count);
    writer.bytes
}

/// A response that there is nothing.
pub fn nothing(format: Format, id: u128) -> Frame {
    let part = Part { status: Status::NoContent, objects: &[], wrapping: Wrapping::Plain, answer: None };
    response(format, id, &part).expect("nothing is looked up for no objects")
}

/// A response with an error.
pub fn failure(format: Format, id: Option<u128>, refusal: &Refusal, exception: &str) -> Frame {
    let message = &refusal.message;
    match format {
        Format::Binary => {
            let mut writer = Writer::new(None);
            head(&mut writer, id, refusal.status, Some(message));
            writer.int(2);
            writer.typed_text("exceptions");
            writer.bytes.extend([0x09, 0]);
            writer.int(1);
            writer.typed_text(exception);
            writer.typed_text("stackTrace");
            writer.typed_text(message);
            writer.int(0);
            writer.bytes.extend([0xfe, 0x01]);
            Frame::Binary(writer.bytes)
        }
        Format::Json(dialect) => {
            let mut writer = JsonWriter::new(dialect, None);
            answered::failure(&mut writer, id.map(uuid_text).as_deref(), refusal.status, message, exception);
            Frame::Text(writer.text)
        }
    }
}

/// A challenge: the client must authenticate.
pub fn challenge(format: Format, id: u128) -> Frame {
    match format {
        Format::Binary => {
            let mut writer = Writer::new(None);
            head(&mut writer, Some(id), Status::Authenticate, Some(""));
            writer.int(0);
            writer.int(0);
            writer.bytes.extend([0xfe, 0x01]);
            Frame::Binary(writer.bytes)
        }
        Format::Json(dialect) => {
            let mut writer = JsonWriter::new(dialect, None);
            answered::challenge(&mut writer, &uuid_text(id));
            Frame::Text(writer.text)
        }
    }
}
