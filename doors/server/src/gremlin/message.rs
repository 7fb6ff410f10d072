//! Requests and responses of the Gremlin Server protocol, in GraphBinary 1.0.

use super::reading::{Malformed, Reader};
use super::writing::Writer;
use database::Error;
use database::gremlin::GremlinAnswer;
use gremlin::{Argument, Object};
use std::sync::Arc;

/// What clients say before a message: how it is written.
pub const MIME: &str = "application/vnd.graphbinary-v1.0";
/// The version byte of a message.
const VERSION: u8 = 0x81;

/// What a client asks.
#[derive(Clone, Debug)]
pub struct Request {
    /// Chosen by the client; answers repeat it.
    pub id: u128,
    /// `eval`, `bytecode`, `authentication`, `close`, …
    pub operation: String,
    /// Empty, `traversal` or `session`.
    pub processor: String,
    /// Everything else.
    pub arguments: Vec<(Arc<str>, Argument)>,
}

impl Request {
    /// Reads a whole frame: the length of the format's name, the name, the message.
    pub fn read(frame: &[u8]) -> Result<Request, Malformed> {
        let named =
            frame.split_first().and_then(|(length, rest)| rest.split_at_checked(usize::from(*length)));
        let Some((mime, message)) = named else { return Err(Malformed("it is empty".into())) };
        if mime != MIME.as_bytes() {
            let mime = String::from_utf8_lossy(mime);
            return Err(Malformed(format!("its format is {mime}; this door speaks {MIME}")));
        }
        let mut reader = Reader::new(message);
        if reader.byte()? != VERSION {
            return Err(Malformed("its version is not that of GraphBinary 1.0".into()));
        }
        let (id, operation, processor) = (reader.uuid()?, reader.text()?.into(), reader.text()?.into());
        Ok(Request { id, operation, processor, arguments: reader.named_arguments()? })
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

/// How a request went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the protocol")]
pub enum Status {
    Success = 200,
    NoContent = 204,
    PartialContent = 206,
    Unauthorized = 401,
    Authenticate = 407,
    MalformedRequest = 498,
    InvalidArguments = 499,
    ServerError = 500,
    FailStep = 595,
    ScriptError = 597,
    Timeout = 598,
}

/// What the objects of an answer are wrapped in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrapping {
    /// As traversers with their bulk: for bytecode.
    Traversers,
    /// As they are: for scripts.
    Plain,
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
pub fn response(
    id: u128,
    status: Status,
    objects: &[(Object, u64)],
    wrapping: Wrapping,
    answer: Option<&GremlinAnswer>,
) -> Result<Vec<u8>, Error> {
    let mut writer = Writer::new(answer);
    head(&mut writer, Some(id), status, Some(""));
    writer.int(0);
    writer.int(0);
    match wrapping {
        Wrapping::Traversers => writer.traversers(objects)?,
        Wrapping::Plain => writer.objects(objects)?,
    }
    Ok(writer.bytes)
}

/// A response that says what went wrong.
pub fn failure(id: Option<u128>, status: Status, message: &str, exception: &str) -> Vec<u8> {
    let mut writer = Writer::new(None);
    head(&mut writer, id, status, Some(message));
    writer.int(2);
    writer.typed_text("exceptions");
    writer.bytes.extend([0x09, 0]);
    writer.int(1);
    writer.typed_text(exception);
    writer.typed_text("stackTrace");
    writer.typed_text(message);
    writer.int(0);
    writer.bytes.extend([0xfe, 0x01]);
    writer.bytes
}

/// A challenge: the client is to say who it is.
pub fn challenge(id: u128) -> Vec<u8> {
    let mut writer = Writer::new(None);
    head(&mut writer, Some(id), Status::Authenticate, Some(""));
    writer.int(0);
    writer.int(0);
    writer.bytes.extend([0xfe, 0x01]);
    writer.bytes
}
