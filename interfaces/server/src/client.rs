//! A Bolt client: the interface of a session, for a server. It speaks versions 5.0 to 5.4 and 4.4, so to Neo4j as well.
//!
//! One conversation, one request at a time; rows are pulled [`ROWS_PULLED`] at a time, so a result of any length takes bounded memory. A waiting
//! reader checks every few milliseconds whether it was interrupted, and then sends RESET, which ends the query on the server.

pub mod address;
mod ending;
mod socket;

pub use address::{Address, Security, is_url};

use crate::bolt::chunks::{self, Assembler, Message};
use crate::bolt::packstream::{Field, Packer, Unpacker};
use crate::bolt::structure::{pack, pack_map};
use crate::bolt::{Version, entities, handshake};
use database::entity::Hydrated;
use database::{Error, Params, Summary};
use model::{Map, Value};
use socket::Socket;
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use world::clock::{after_ns, monotonic_ns};

/// Rows in one PULL.
const ROWS_PULLED: i64 = 1_000;
/// Bytes read from the socket at once.
const READ_BYTES: usize = 64 << 10;
/// Bytes of a message that a server may send.
const MESSAGE_BYTES_MAX: usize = 1 << 30;
/// Time for the server to answer requests without work: handshake, log-on, reset.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);
/// Versions that are proposed: 5.4 to 5.0, then 4.4.
const PROPOSALS: [[u8; 4]; 4] = [[0, 4, 4, 5], [0, 0, 4, 4], [0; 4], [0; 4]];

const SUCCESS: u8 = 0x70;
const RECORD: u8 = 0x71;
const IGNORED: u8 = 0x7E;
const FAILURE: u8 = 0x7F;

/// Options of a client.
#[derive(Clone, Debug, Default)]
pub struct ClientOptions {
    /// Name and password; none where the server demands none.
    pub credentials: Option<(String, String)>,
    /// Name of the database; the user's home where absent.
    pub database: Option<String>,
    /// Time that each statement may take.
    pub timeout: Option<Duration>,
}

/// A conversation with a server.
pub struct Client {
    socket: Socket,
    assembler: Assembler,
    version: Version,
    options: ClientOptions,
    interrupted: Arc<AtomicBool>,
    /// Has a transaction been begun, and not ended?
    in_transaction: bool,
    /// Answers that are still to come: of a result that was not read to its end.
    open: Option<OpenRows>,
    /// Nothing can be said any more.
    broken: bool,
    /// Bytes from the socket, before they are parsed.
    buffer: Box<[u8]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenRows {
    /// A PULL was sent whose answer has not been read to its end.
    Pulling,
    /// The server has more rows, and waits for a PULL.
    More,
}

/// A message of the server.
enum ServerMessage {
    Success(Map),
    Record(Vec<Hydrated>),
    Ignored,
    Failure(Error),
}

impl Client {
    /// Connects and logs on.
    ///
    /// # Errors
    /// No server listens there, it is no Bolt server, or it refuses the log-on.
    pub fn connect(address: &Address, options: ClientOptions) -> Result<Client, Error> {
        let mut client = Client {
            socket: Socket::connect(address)?,
            assembler: Assembler::within(MESSAGE_BYTES_MAX),
            version: Version { major: 5, minor: 0 },
            options,
            interrupted: Arc::default(),
            in_transaction: false,
            open: None,
            broken: false,
            buffer: vec![0; READ_BYTES].into_boxed_slice(),
        };
        client.agree()?;
        client.log_on()?;
        Ok(client)
    }
    /// Set to end the running statement; see [`Client::settle_interrupt`].
    pub fn interrupter(&self) -> Arc<AtomicBool> {
        self.interrupted.clone()
    }
    /// Forgets an interruption that came too late.
    pub fn settle_interrupt(&self) {
        self.interrupted.store(false, Ordering::Relaxed);
    }
    /// Is a transaction open?
    pub fn in_transaction(&self) -> bool {
        self.in_transaction
    }

    fn agree(&mut self) -> Result<(), Error> {
        let mut bytes = handshake::MAGIC.to_vec();
        PROPOSALS.iter().for_each(|proposal| bytes.extend_from_slice(proposal));
        self.write(&bytes)?;
        let (mut answer, mut read) = ([0; 4], 0);
        let until_ns = after_ns(ANSWER_TIMEOUT);
        while read < answer.len() {
            match self.socket.read(&mut answer[read..]) {
                Ok(0) => return Err(foreign("it closes the connection")),
                Ok(count) => read += count,
                Err(error) if is_silence(&error) && monotonic_ns() < until_ns => {}
                Err(error) if is_silence(&error) => return Err(foreign("it does not answer")),
                Err(error) => return Err(self.lost(&error)),
            }
        }
        self.version = Version { major: answer[3], minor: answer[2] };
        let is_proposed = matches!((answer[3], answer[2]), (5, 0..=4) | (4, 4)) && answer[..2] == [0, 0];
        match answer {
            [0, 0, 0, 0] => Err(foreign("it speaks none of the versions 4.4 and 5.0 to 5.4")),
            _ if is_proposed => Ok(()),
            _ => Err(foreign("its answer is none of Bolt")),
        }
    }
    fn log_on(&mut self) -> Result<(), Error> {
        let agent = concat!("tanglewood/", env!("CARGO_PKG_VERSION"));
        let mut hello = map([("user_agent", agent.into())]);
        if self.version >= (Version { major: 5, minor: 3 }) {
            hello.insert("bolt_agent".into(), Value::map([("product", Value::from(agent))]));
        }
        let token = match &self.options.credentials {
            Some((name, password)) => map([
                ("scheme", "basic".into()),
                ("principal", name.as_str().into()),
                ("credentials", password.as_str().into()),
            ]),
            None => map([("scheme", "none".into())]),
        };
        if !self.version.has_logon() {
            hello.extend(token.clone());
        }
        self.say(0x01, |packer| pack_map(packer, &hello, true), 1)?;
        self.success()?;
        if self.version.has_logon() {
            self.say(0x6A, |packer| pack_map(packer, &token, true), 1)?;
            self.success()?;
        }
        Ok(())
    }

    /// Runs a statement, alone or in the open transaction. The rest of the answer before is given up.
    ///
    /// # Errors
    /// The server's, or the connection is lost.
    pub fn run(&mut self, text: &str, params: &Params) -> Result<Rows<'_>, Error> {
        self.give_up_rows()?;
        let started_ns = monotonic_ns();
        let utc = self.version.sends_utc();
        let extra = if self.in_transaction { Map::default() } else { self.extra() };
        let packed = |packer: &mut Packer| {
            packer.text(text);
            packer.map(params.len());
            params.iter().for_each(|(name, value)| {
                packer.text(name);
                pack(packer, value, utc);
            });
            pack_map(packer, &extra, utc);
        };
        self.say(0x10, packed, 3)?;
        let told = self.success()?;
        let columns = match told.get("fields") {
            Some(Value::List(fields)) => fields.iter().filter_map(text_of).collect(),
            _ => Vec::new(),
        };
        self.open = Some(OpenRows::More);
        let first = text.trim_start().split(|letter: char| !letter.is_alphabetic()).next();
        let is_endless = first.is_some_and(|word| word.eq_ignore_ascii_case("SUBSCRIBE"));
        let has_plan_only = first.is_some_and(|word| word.eq_ignore_ascii_case("EXPLAIN"));
        let mut rows = Rows {
            client: self,
            columns,
            summary: None,
            started_ns,
            first_after: Duration::ZERO,
            is_endless,
        };
        if has_plan_only {
            // There are no rows: the plan is told at their end.
            rows.next_rows()?;
        }
        Ok(rows)
    }
    /// Begins a transaction.
    ///
    /// # Errors
    /// One is open, or the server refuses.
    pub fn begin(&mut self) -> Result<(), Error> {
        self.give_up_rows()?;
        if self.in_transaction {
            let code = "Neo.ClientError.Transaction.TransactionStartFailed";
            return Err(Error::new(code, "a transaction is open already"));
        }
        let extra = self.extra();
        self.say(0x11, |packer| pack_map(packer, &extra, true), 1)?;
        self.success()?;
        self.in_transaction = true;
        Ok(())
    }
    /// Commits the open transaction.
    ///
    /// # Errors
    /// There is none, or the server refuses; then it is gone.
    pub fn commit(&mut self) -> Result<(), Error> {
        self.end_transaction(0x12)
    }
    /// Rolls the open transaction back.
    ///
    /// # Errors
    /// There is none, or the connection is lost.
    pub fn rollback(&mut self) -> Result<(), Error> {
        self.end_transaction(0x13)
    }
    fn end_transaction(&mut self, tag: u8) -> Result<(), Error> {
        self.give_up_rows()?;
        if !self.in_transaction {
            return Err(Error::new(
                "Neo.ClientError.Transaction.TransactionNotFound",
                "no transaction is open",
            ));
        }
        self.in_transaction = false;
        self.say(tag, |_| {}, 0)?;
        self.success().map(drop)
    }
    fn extra(&self) -> Map {
        let mut extra = Map::default();
        if let Some(database) = &self.options.database {
            extra.insert("db".into(), database.as_str().into());
        }
        if let Some(timeout) = self.options.timeout {
            let milliseconds = i64::try_from(timeout.as_millis()).unwrap_or(i64::MAX);
            extra.insert("tx_timeout".into(), Value::Int(milliseconds));
        }
        extra
    }

    /// Sends one message.
    fn say(&mut self, tag: u8, pack: impl FnOnce(&mut Packer), fields: u8) -> Result<(), Error> {
        if self.broken {
            return Err(lost("it was lost before"));
        }
        let mut out = Vec::new();
        chunks::write_with(&mut out, |packer| {
            packer.structure(tag, fields);
            pack(packer);
        });
        self.write(&out)
    }
    fn write(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let written = self.socket.write_all(bytes).and_then(|()| self.socket.flush());
        written.map_err(|error| self.lost(&error))
    }
    fn lost(&mut self, error: &dyn std::fmt::Display) -> Error {
        self.broken = true;
        self.in_transaction = false;
        self.open = None;
        lost(&error.to_string())
    }

    /// The SUCCESS of a request.
    fn success(&mut self) -> Result<Map, Error> {
        match self.told()? {
            ServerMessage::Success(metadata) => Ok(metadata),
            ServerMessage::Failure(error) => {
                // Where that fails the connection is lost, as the next request is told.
                let _ = self.recover();
                Err(error)
            }
            ServerMessage::Record(_) | ServerMessage::Ignored => {
                Err(self.lost(&"the server sends what was not asked for"))
            }
        }
    }
    /// The next message; an interruption ends the wait.
    fn told(&mut self) -> Result<ServerMessage, Error> {
        if self.broken {
            return Err(lost("it was lost before"));
        }
        let message = match self.message(None)? {
            Some(message) => message,
            None => {
                self.recover()?;
                let code = "Neo.ClientError.Transaction.Terminated";
                return Err(Error::new(code, "the query was ended: Ctrl-C"));
            }
        };
        self.read(&message)
    }
    /// A message; none where an interruption came first. With a limit of time interruptions do not count.
    fn message(&mut self, until_ns: Option<u64>) -> Result<Option<Message>, Error> {
        loop {
            match self.assembler.next_message() {
                Ok(Some(message)) => return Ok(Some(message)),
                Ok(None) => {}
                Err(_) => return Err(self.lost(&"a message of the server is too long")),
            }
            if until_ns.is_none() && self.interrupted.swap(false, Ordering::Relaxed) {
                return Ok(None);
            }
            match self.socket.read(&mut self.buffer) {
                Ok(0) => return Err(self.lost(&"the server closed it")),
                Ok(count) => self.assembler.feed(&self.buffer[..count]),
                Err(error) if is_silence(&error) => {
                    if until_ns.is_some_and(|until_ns| monotonic_ns() > until_ns) {
                        return Err(self.lost(&"the server does not answer"));
                    }
                }
                Err(error) => return Err(self.lost(&error)),
            }
        }
    }
    fn read(&mut self, message: &[u8]) -> Result<ServerMessage, Error> {
        let mut unpacker = Unpacker::new(message);
        let told = unpacker.structure().and_then(|(tag, fields)| match (tag, fields) {
            (RECORD, 1) => match entities::hydrated(&mut unpacker)? {
                Hydrated::List(row) => Ok(Some(ServerMessage::Record(row))),
                Hydrated::Plain(Value::List(row)) => {
                    Ok(Some(ServerMessage::Record(row.iter().cloned().map(Hydrated::Plain).collect())))
                }
                _ => Ok(None),
            },
            (SUCCESS | FAILURE, 1) => Ok(match unpacker.field()? {
                Field::Map(map) if tag == SUCCESS => Some(ServerMessage::Success(map)),
                Field::Map(map) => Some(ServerMessage::Failure(ending::error(&map))),
                Field::Value(_) => None,
            }),
            (IGNORED, _) => Ok(Some(ServerMessage::Ignored)),
            _ => Ok(None),
        });
        match told {
            Ok(Some(told)) => Ok(told),
            Ok(None) => Err(self.lost(&"the server sends what is no message")),
            Err(error) => Err(self.lost(&format!("a message of the server cannot be read: {error:?}"))),
        }
    }
    /// After a failure or an interruption: RESET, and everything before its answer is passed over. An open transaction is gone.
    fn recover(&mut self) -> Result<(), Error> {
        self.open = None;
        self.in_transaction = false;
        self.say(0x0F, |_| {}, 0)?;
        let until_ns = Some(after_ns(ANSWER_TIMEOUT));
        // What comes before is of requests that RESET overtook: rows and IGNORED, at most one FAILURE and one SUCCESS of a pull.
        loop {
            let Some(message) = self.message(until_ns)? else { continue };
            // A RESET is answered with nothing in it; the end of a result tells something.
            if matches!(self.read(&message)?, ServerMessage::Success(metadata) if is_of_reset(&metadata)) {
                return Ok(());
            }
        }
    }
    /// Gives up the rows of the result before, if there are some.
    fn give_up_rows(&mut self) -> Result<(), Error> {
        match self.open.take() {
            None => Ok(()),
            Some(OpenRows::More) => {
                let all = map([("n", Value::Int(-1))]);
                self.say(0x2F, |packer| pack_map(packer, &all, true), 1)?;
                self.success().map(drop)
            }
            Some(OpenRows::Pulling) => loop {
                match self.told()? {
                    ServerMessage::Record(_) => {}
                    ServerMessage::Success(metadata) if has_more(&metadata) => {
                        self.open = Some(OpenRows::More);
                        return self.give_up_rows();
                    }
                    ServerMessage::Success(_) => return Ok(()),
                    ServerMessage::Failure(_) | ServerMessage::Ignored => return self.recover(),
                }
            },
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if !self.broken {
            // Whoever is gone already needs no farewell.
            let _ = self.say(0x02, |_| {}, 0);
        }
    }
}

/// The rows of a statement, as they come.
pub struct Rows<'c> {
    client: &'c mut Client,
    columns: Vec<Arc<str>>,
    summary: Option<Summary>,
    started_ns: u64,
    first_after: Duration,
    is_endless: bool,
}

impl Rows<'_> {
    /// Titles.
    pub fn columns(&self) -> &[Arc<str>] {
        &self.columns
    }
    /// Does it go on until someone ends it?
    pub fn is_endless(&self) -> bool {
        self.is_endless
    }
    /// The rows that come next, one at least; `None` after the last.
    ///
    /// # Errors
    /// The server's, or the connection is lost.
    pub fn next_rows(&mut self) -> Result<Option<Vec<Vec<Hydrated>>>, Error> {
        let mut rows = Vec::new();
        loop {
            match self.client.open {
                None => return Ok(None),
                Some(OpenRows::More) => {
                    let some = map([("n", Value::Int(ROWS_PULLED))]);
                    self.client.say(0x3F, |packer| pack_map(packer, &some, true), 1)?;
                    self.client.open = Some(OpenRows::Pulling);
                }
                Some(OpenRows::Pulling) => {}
            }
            loop {
                match self.client.told()? {
                    ServerMessage::Record(row) => rows.push(row),
                    ServerMessage::Success(metadata) => {
                        self.note_time();
                        if has_more(&metadata) {
                            self.client.open = Some(OpenRows::More);
                        } else {
                            self.client.open = None;
                            let elapsed = self.elapsed();
                            self.summary = Some(ending::summary(&metadata, elapsed, self.first_after));
                        }
                        break;
                    }
                    ServerMessage::Failure(error) => {
                        // As above.
                        let _ = self.client.recover();
                        return Err(error);
                    }
                    ServerMessage::Ignored => {
                        return Err(self.client.lost(&"the server ignores what was asked"));
                    }
                }
            }
            if !rows.is_empty() {
                return Ok(Some(rows));
            }
        }
    }
    /// The summary of the statement; complete after the last row.
    pub fn summary(&self) -> Summary {
        let none = || ending::summary(&Map::default(), self.elapsed(), self.first_after);
        self.summary.clone().unwrap_or_else(none)
    }
    fn elapsed(&self) -> Duration {
        Duration::from_nanos(monotonic_ns().saturating_sub(self.started_ns))
    }
    fn note_time(&mut self) {
        if self.first_after.is_zero() {
            self.first_after = self.elapsed();
        }
    }
}

fn has_more(metadata: &Map) -> bool {
    matches!(metadata.get("has_more"), Some(Value::Bool(true)))
}

/// Ends of results have a type, a time, or say that there is more; RUN has its fields.
fn is_of_reset(metadata: &Map) -> bool {
    ["has_more", "type", "t_last", "t_first", "fields", "bookmark"]
        .iter()
        .all(|key| metadata.get(*key).is_none())
}

fn is_silence(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted)
}

fn lost(why: &str) -> Error {
    Error::new(
        "Tanglewood.ClientError.Client.ConnectionLost",
        format!("the connection to the server is lost: {why}"),
    )
}

fn foreign(why: &str) -> Error {
    let message = format!("what listens there is no server that this client can talk to: {why}");
    Error::new("Tanglewood.ClientError.Client.Protocol", message).hint("bolt+s:// is for servers with TLS")
}

fn text_of(value: &Value) -> Option<Arc<str>> {
    match value {
        Value::String(text) => Some(text.clone()),
        _ => None,
    }
}

fn map<const N: usize>(pairs: [(&str, Value); N]) -> Map {
    pairs.into_iter().map(|(key, value)| (key.into(), value)).collect()
}
