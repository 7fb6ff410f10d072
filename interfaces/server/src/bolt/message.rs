//! Messages between client and server: requests parsed, answers written.

use super::packstream::{Field, Packer, Unpacker, Unreadable};
use super::structure::{pack, pack_map};
use super::{Version, gql};
use crate::listener::crowd::ValueAccount;
use database::Error;
use model::{Map, Value};
use std::sync::Arc;

/// A request of a client.
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
    /// Ends running statements and forgets failures.
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
    /// Requests the routing table.
    Route(Box<Routing>),
    /// Reports how the driver is used.
    Telemetry,
}

/// A request for routes.
#[derive(Clone, Debug, Default)]
pub struct Routing {
    /// How it reached the server: `address`, and further parameters of its URL.
    pub context: Arc<Map>,
    /// Commits that the answer must know.
    pub bookmarks: Vec<Value>,
    /// `db`, `imp_user`.
    pub extra: Arc<Map>,
}

impl Request {
    /// Reads one message.
    pub fn parse(bytes: &[u8]) -> Result<Request, Unreadable> {
        Request::parse_within(bytes, None)
    }
    /// The same, the values on an account.
    pub(crate) fn parse_within(
        bytes: &[u8],
        account: Option<&mut ValueAccount>,
    ) -> Result<Request, Unreadable> {
        let mut unpacker = Unpacker::within(bytes, account);
        let (tag, fields) = unpacker.structure()?;
        let mut fields = (0..fields).map(|_| unpacker.field().map(Some)).collect::<Result<Vec<_>, _>>()?;
        if !unpacker.is_empty() {
            return Err(Unreadable::Malformed("bytes after the end of the message"));
        }
        Ok(match tag {
            0x01 => Request::Hello(map(&mut fields, 0)?),
            0x6A => Request::Logon(map(&mut fields, 0)?),
            0x6B => Request::Logoff,
            0x02 => Request::Goodbye,
            0x0F => Request::Reset,
            0x10 => match field(&mut fields, 0) {
                Some(Field::Value(Value::String(text))) => {
                    Request::Run(text, map(&mut fields, 1)?, map(&mut fields, 2)?)
                }
                _ => return Err(Unreadable::Malformed("RUN without a text")),
            },
            0x2F => Request::Discard(map(&mut fields, 0)?),
            0x3F => Request::Pull(map(&mut fields, 0)?),
            0x11 => Request::Begin(map(&mut fields, 0)?),
            0x12 => Request::Commit,
            0x13 => Request::Rollback,
            0x66 => {
                let bookmarks = match field(&mut fields, 1) {
                    Some(Field::Value(Value::List(bookmarks))) => bookmarks.to_vec(),
                    _ => Vec::new(),
                };
                // 4.3 sent the name of a database in place of the map.
                let extra = map(&mut fields, 2).unwrap_or_default();
                Request::Route(Box::new(Routing { context: map(&mut fields, 0)?, bookmarks, extra }))
            }
            0x54 => Request::Telemetry,
            _ => return Err(Unreadable::Malformed("unknown message")),
        })
    }
}

fn field(fields: &mut [Option<Field>], at: usize) -> Option<Field> {
    fields.get_mut(at).and_then(Option::take)
}

/// A field that is a map; an absent one is empty.
fn map(fields: &mut [Option<Field>], at: usize) -> Result<Arc<Map>, Unreadable> {
    match field(fields, at) {
        Some(Field::Map(map)) => Ok(Arc::new(map)),
        None | Some(Field::Value(Value::Null)) => Ok(Arc::default()),
        Some(_) => Err(Unreadable::Malformed("expected a map")),
    }
}

/// SUCCESS with metadata.
pub fn success(packer: &mut Packer, metadata: &Map) {
    packer.structure(0x70, 1);
    pack_map(packer, metadata, true);
}

/// FAILURE: Neo4j's code and a message; from 5.7 on with GQL's status.
pub fn failure(packer: &mut Packer, error: &Error, version: Version) {
    packer.structure(0x7F, 1);
    let message = error.to_string();
    if !version.has_status_of_failures() {
        pack_pairs(packer, [("code", error.code.as_str().into()), ("message", message.into())]);
        return;
    }
    let (status, description) = gql::of_error(error);
    let record = gql::diagnostic_record([("_classification", gql::classification(error).into())]);
    pack_pairs(
        packer,
        [
            ("neo4j_code", error.code.as_str().into()),
            ("message", message.into()),
            ("gql_status", status.into()),
            ("description", format!("error: {description}").into()),
            ("diagnostic_record", record),
        ],
    );
}

fn pack_pairs<const N: usize>(packer: &mut Packer, pairs: [(&str, Value); N]) {
    packer.map(N);
    pairs.iter().for_each(|(key, value)| {
        packer.text(key);
        pack(packer, value, true);
    });
}

/// IGNORED: an earlier message failed.
pub fn ignored(packer: &mut Packer) {
    packer.structure(0x7E, 0);
}

/// The head of a RECORD of `width` values, which follow.
pub fn record(packer: &mut Packer, width: usize) {
    packer.structure(0x71, 1);
    packer.list(width);
}
