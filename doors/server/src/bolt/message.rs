//! What client and server say to each other: requests parsed, answers written.

use super::packstream::{Packer, Unpacker, Unreadable};
use super::structure::pack_map;
use model::{Map, Value};
use std::sync::Arc;

/// What a client asks.
#[derive(Clone, Debug)]
pub enum Request {
    /// Introduces itself; before 5.1 with credentials.
    Hello(Arc<Map>),
    /// Credentials.
    Logon(Arc<Map>),
    /// Forgets the credentials.
    Logoff,
    /// Ends the connection.
    Goodbye,
    /// Ends whatever runs and forgets failures.
    Reset,
    /// Runs a statement: text, parameters, extras.
    Run(Arc<str>, Arc<Map>, Arc<Map>),
    /// Drops rows of a result: `n` (-1 for all), `qid`.
    Discard(Arc<Map>),
    /// Asks for rows of a result: `n` (-1 for all), `qid`.
    Pull(Arc<Map>),
    /// Begins a transaction.
    Begin(Arc<Map>),
    /// Commits it.
    Commit,
    /// Rolls it back.
    Rollback,
    /// Asks where to send what.
    Route,
    /// Tells how the driver is used.
    Telemetry,
}

impl Request {
    /// Reads one message.
    pub fn parse(bytes: &[u8]) -> Result<Request, Unreadable> {
        let mut unpacker = Unpacker::new(bytes);
        let (tag, fields) = unpacker.structure()?;
        let fields = (0..fields).map(|_| unpacker.value()).collect::<Result<Vec<_>, _>>()?;
        if !unpacker.is_empty() {
            return Err(Unreadable::Malformed("bytes after the end of the message"));
        }
        let map = |at: usize| match fields.get(at) {
            Some(Value::Map(map)) => Ok(map.clone()),
            None | Some(Value::Null) => Ok(Arc::default()),
            Some(_) => Err(Unreadable::Malformed("expected a map")),
        };
        Ok(match tag {
            0x01 => Request::Hello(map(0)?),
            0x6A => Request::Logon(map(0)?),
            0x6B => Request::Logoff,
            0x02 => Request::Goodbye,
            0x0F => Request::Reset,
            0x10 => match fields.first() {
                Some(Value::String(text)) => Request::Run(text.clone(), map(1)?, map(2)?),
                _ => return Err(Unreadable::Malformed("RUN without a text")),
            },
            0x2F => Request::Discard(map(0)?),
            0x3F => Request::Pull(map(0)?),
            0x11 => Request::Begin(map(0)?),
            0x12 => Request::Commit,
            0x13 => Request::Rollback,
            0x66 => Request::Route,
            0x54 => Request::Telemetry,
            _ => return Err(Unreadable::Malformed("unknown message")),
        })
    }
}

/// SUCCESS with metadata.
pub fn success(packer: &mut Packer, metadata: &Map) {
    packer.structure(0x70, 1);
    pack_map(packer, metadata, true);
}

/// FAILURE with code and message.
pub fn failure(packer: &mut Packer, code: &str, message: &str) {
    packer.structure(0x7F, 1);
    packer.map(2);
    packer.text("code");
    packer.text(code);
    packer.text("message");
    packer.text(message);
}

/// IGNORED: an earlier message failed.
pub fn ignored(packer: &mut Packer) {
    packer.structure(0x7E, 0);
}

/// The head of a RECORD of so many values, which follow.
pub fn record(packer: &mut Packer, width: usize) {
    packer.structure(0x71, 1);
    packer.list(width);
}
