//! Gremlin over HTTP, without its socket: one request, one answer.
//!
//! `GET /gremlin?gremlin=…` and `POST /gremlin` with `{"gremlin": …, "bindings": …, "aliases": …}` or a whole message of a driver, answered in the
//! format that the client accepts. An answer in JSON is streamed, in chunks if it is long; GraphBinary has the count before the first object, so such
//! an answer is buffered, up to a limit. An error after the first chunk ends the connection: the client sees that the end is missing.

use super::asking::{Asking, DEFAULT_SOURCE, Outlet, Part, Refusal, Stop};
use super::connection::{Manner, Watch};
use super::graphson::{self as answered, Dialect, JsonWriter};
use super::message::{self, Format, Request, Status, Wrapping};
use super::reading::Room;
use super::request_head::{Head, decoded_pairs};
use super::writing::Writer;
use crate::limits::Limits;
use database::{Credential, Error};
use gremlin::object::{parse_uuid, uuid_text};
use gremlin::{Argument, Object, graphson};
use model::json::JsonShape;
use serde_json::{Value as Json, json};
use std::io::{self, Write};
use std::net::IpAddr;
use std::sync::Arc;
use world::chance::Chance;
use world::failpoint;
use world::panics::caught;

/// Bytes of JSON that are gathered before the first chunk goes out: an answer below has a length and, if it fails, a status that says so.
const GATHER_BYTES: usize = 256 << 10;
/// Fields of a request that are used; all others are ignored.
const ARGUMENTS: [&str; 6] =
    ["gremlin", "bindings", "aliases", "language", "evaluationTimeout", "scriptEvaluationTimeout"];

/// The state of a connection, and options of the interface.
pub struct Http<'h> {
    /// The interface's manner.
    pub manner: &'h Manner,
    /// The limits of a client.
    pub limits: &'h Limits,
    /// Where the client is.
    pub peer: IpAddr,
    /// Called with the interrupter of a running request.
    pub watch: &'h Watch,
}

/// A refusal as HTTP has it.
struct Denied {
    code: u16,
    refusal: Refusal,
    id: Option<u128>,
}

impl Denied {
    fn new(code: u16, message: impl Into<String>) -> Denied {
        let refusal = Refusal { status: Status::MalformedRequest, message: message.into() };
        Denied { code, refusal, id: None }
    }
}

impl From<Refusal> for Denied {
    fn from(refusal: Refusal) -> Denied {
        let code = match refusal.status {
            Status::MalformedRequest | Status::InvalidArguments => 400,
            Status::Unauthorized => 401,
            _ => 500,
        };
        Denied { code, refusal, id: None }
    }
}

impl Http<'_> {
    /// May this client send requests? Checked before the rest of the request is read.
    ///
    /// # Errors
    /// The refusal cannot be written.
    pub fn admit(&self, head: &Head, out: &mut dyn Write) -> io::Result<Option<Known>> {
        let known = self.known(head);
        known.map(Some).or_else(|denied| deny(head, &denied, out).map(|()| None))
    }
    fn known(&self, head: &Head) -> Result<Known, Denied> {
        if !self.manner.gate.asks_now() {
            return Ok(Known { user: None });
        }
        let basic = head.header("authorization").and_then(|value| value.split_once(' '));
        let token = basic.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("basic"));
        let token = token.and_then(|(_, token)| data_encoding::BASE64.decode(token.trim().as_bytes()).ok());
        let text = token.and_then(|token| String::from_utf8(token).ok());
        let Some((name, password)) = text.as_deref().and_then(|text| text.split_once(':')) else {
            return Err(Denied::new(401, "this server asks for a name and a password"));
        };
        match self.manner.admit(name, password, self.peer) {
            Ok(user) => Ok(Known { user }),
            Err(error) => Err(Denied::new(401, error.to_string())),
        }
    }
    /// Answers a request.
    ///
    /// # Errors
    /// The client is gone, or its answer failed when part of it was sent.
    pub fn answer(
        &self,
        known: &Known,
        (head, body): (&Head, &[u8]),
        room: &mut Room<'_>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let asked = caught(|| {
            failpoint::visit("request of HTTP");
            understood(head, body, room)
        });
        let asked = asked
            .unwrap_or_else(|panicked| Err(Denied::from(Refusal::from(Error::internal(&panicked))).into()));
        let outcome = asked.and_then(|(request, format)| {
            let id = request.id;
            self.run(known, head, &request, format, out).map_err(|stop| match stop {
                Stop::Refused(refusal) => Outcome::Denied(Denied { id: Some(id), ..refusal.into() }),
                Stop::Gone(error) => Outcome::Gone(error),
            })
        });
        (self.watch)(None);
        match outcome {
            Ok(()) => Ok(()),
            Err(Outcome::Denied(denied)) => {
                let refusal = self.manner.without_paths(denied.refusal);
                deny(head, &Denied { refusal, ..denied }, out)
            }
            Err(Outcome::Gone(error)) => Err(error),
        }
    }
    fn run(
        &self,
        known: &Known,
        head: &Head,
        request: &Request,
        format: Format,
        out: &mut dyn Write,
    ) -> Result<(), Stop> {
        let asking = Asking::of(request, self.manner)?;
        let mut session = self.manner.database(&asking.source)?.session();
        if let Some(user) = &known.user {
            session.log_on(user.clone());
        }
        (self.watch)(Some(session.interrupter()));
        let mut sheet = Sheet::new(request.id, format, head, self.limits, out);
        let outcome = caught(|| asking.run(&mut session, false, &mut sheet));
        match outcome.unwrap_or_else(|panicked| Err(Error::internal(&panicked).into())) {
            // Too late for a status.
            Err(Stop::Refused(refusal)) if sheet.is_begun => {
                Err(Stop::Gone(io::Error::other(refusal.message)))
            }
            Err(stop) => Err(stop),
            Ok(()) => Ok(sheet.end()?),
        }
    }
}

/// An authenticated client.
pub struct Known {
    user: Option<Credential>,
}

impl Known {
    /// The user, where the gate knows users.
    pub fn user(&self) -> Option<&str> {
        self.user.as_ref().map(Credential::name)
    }
}

enum Outcome {
    Denied(Denied),
    Gone(io::Error),
}

impl From<Denied> for Outcome {
    fn from(denied: Denied) -> Outcome {
        Outcome::Denied(denied)
    }
}

/// The parsed request, and the format of the answer.
fn understood(head: &Head, body: &[u8], room: &mut Room<'_>) -> Result<(Request, Format), Outcome> {
    let format = accepted(head)?;
    let request = match head.method.as_str() {
        "GET" => of_pairs(&head.query, format)?,
        "POST" => of_body(head, body, format, room)?,
        other => return Err(Denied::new(405, format!("{other} is not answered; GET and POST are")).into()),
    };
    Ok((request, format))
}

/// The first supported format in `Accept`; JSON if there is no such header.
fn accepted(head: &Head) -> Result<Format, Denied> {
    let Some(accept) = head.header("accept") else { return Ok(Format::Json(Dialect::DEFAULT)) };
    for one in accept.split(',') {
        let named: Vec<&str> = one.split(';').map(str::trim).filter(|part| !part.starts_with("q=")).collect();
        match named.join(";").as_str() {
            "*/*" | "application/*" | "" => return Ok(Format::Json(Dialect::DEFAULT)),
            mime => {
                if let Some(format) = Format::of(mime) {
                    return Ok(format);
                }
            }
        }
    }
    Err(Denied::new(400, format!("no format of `{accept}` is spoken here; application/json is")))
}

/// A request out of arguments.
fn eval(format: Format, arguments: Vec<(Arc<str>, Argument)>) -> Request {
    let id = u128::from(Chance::system_seed()) << 64 | u128::from(Chance::system_seed());
    Request { format, id, operation: "eval".into(), processor: String::new(), arguments }
}

fn of_pairs(query: &str, format: Format) -> Result<Request, Denied> {
    let (mut arguments, mut bindings, mut aliases) = (Vec::new(), Vec::new(), Vec::new());
    let pairs = decoded_pairs(query).map_err(|error| Denied::new(400, error.to_string()))?;
    for (key, value) in pairs {
        if let Some(name) = key.strip_prefix("bindings.") {
            // As the reference server does: what reads as JSON is that, anything else is text. What is too deep to be read is neither.
            let is_json = value.trim_start().starts_with(['[', '{']);
            if is_json {
                let shape = JsonShape::of(value.as_bytes());
                shape.check().map_err(|error| Denied::new(400, format!("`{key}`: {error}")))?;
            }
            let json: Json = serde_json::from_str(&value).unwrap_or_else(|_| Json::from(value.as_str()));
            let object = graphson::object(&json).map_err(|error| Denied::new(400, error.0))?;
            bindings.push((Object::from(name), object));
        } else if let Some(name) = key.strip_prefix("aliases.") {
            aliases.push((Object::from(name), Object::from(value.as_str())));
        } else if ARGUMENTS.contains(&key.as_str()) {
            let object = match value.parse::<i64>() {
                Ok(number) if key.ends_with("Timeout") => Object::Long(number),
                _ => Object::from(value.as_str()),
            };
            arguments.push((Arc::from(key.as_str()), Argument::Value(object)));
        }
    }
    if !arguments.iter().any(|(name, _)| &**name == "gremlin") {
        return Err(Denied::new(
            400,
            format!("no gremlin was given; ask /gremlin?gremlin={DEFAULT_SOURCE}.V().count()"),
        ));
    }
    arguments.push(("bindings".into(), Argument::Value(Object::map(bindings))));
    arguments.push(("aliases".into(), Argument::Value(Object::map(aliases))));
    Ok(eval(format, arguments))
}

fn of_body(head: &Head, body: &[u8], format: Format, room: &mut Room<'_>) -> Result<Request, Denied> {
    let mime = head.header("content-type").unwrap_or("application/json");
    let bare =
        mime.split(';').map(str::trim).filter(|part| !part.to_ascii_lowercase().starts_with("charset"));
    let written = Format::of(&bare.collect::<Vec<_>>().join(";"))
        .ok_or_else(|| Denied::new(400, format!("`{mime}` is not spoken here; application/json is")))?;
    let bad = |message: String| Denied::new(400, message);
    // Drivers send over HTTP what they would send as a frame, with the format's name in front.
    let is_frame = body.split_first().is_some_and(|(length, rest)| {
        usize::from(*length) == written.mime().len() && rest.starts_with(written.mime().as_bytes())
    });
    if is_frame {
        return Request::read_within(body, room).map_err(|unread| bad(unread.why.to_string()));
    }
    if written == Format::Binary {
        return Request::of_within(written, body, room).map_err(|unread| bad(unread.why.to_string()));
    }
    let json = message::json(body, room).map_err(|error| bad(error.to_string()))?;
    if json.get("args").is_some() {
        return Request::of(written, body).map_err(|unread| bad(unread.why.to_string()));
    }
    let Json::Object(mut fields) = json else { return Err(bad("the body is no JSON object".into())) };
    let id = fields.get("requestId").and_then(Json::as_str).and_then(parse_uuid);
    fields.retain(|key, _| ARGUMENTS.contains(&key.as_str()));
    if !fields.contains_key("gremlin") {
        return Err(bad("no gremlin was given; send {\"gremlin\": \"g.V().count()\"}".into()));
    }
    let arguments =
        graphson::named_arguments(&Json::Object(fields)).map_err(|error| bad(error.to_string()))?;
    let request = eval(format, arguments);
    Ok(Request { id: id.unwrap_or(request.id), ..request })
}

fn reason(code: u16) -> &'static str {
    match code {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        411 => "Length Required",
        413 => "Content Too Large",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}

/// Refuses a request with an unusable head.
///
/// # Errors
/// The client is gone.
pub fn refuse(head: Option<&Head>, code: u16, message: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut closing = head.cloned().unwrap_or_default();
    closing.keeps_alive = false;
    deny(&closing, &Denied::new(code, message), out)
}

/// The reference server's form of an error: JSON, whatever the client accepts.
fn deny(head: &Head, denied: &Denied, out: &mut dyn Write) -> io::Result<()> {
    let message = &denied.refusal.message;
    let body = json!({
        "message": message,
        "Exception-Class": "org.apache.tinkerpop.gremlin.groovy.engine.GremlinExecutorException",
        "requestId": denied.id.map(uuid_text),
        "code": denied.refusal.status as i32,
    });
    let body = body.to_string();
    let mut text = line(head, denied.code, "application/json");
    if denied.code == 401 {
        text += "WWW-Authenticate: Basic realm=\"tanglewood\"\r\n";
    }
    text += &format!("Content-Length: {}\r\n\r\n{body}", body.len());
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// The first lines of an answer.
fn line(head: &Head, code: u16, mime: &str) -> String {
    let connection = if head.keeps_alive { "keep-alive" } else { "close" };
    format!("HTTP/1.1 {code} {}\r\nContent-Type: {mime}\r\nConnection: {connection}\r\n", reason(code))
}

/// An answer on its way.
struct Sheet<'s> {
    id: u128,
    format: Format,
    head: &'s Head,
    limits: &'s Limits,
    out: &'s mut dyn Write,
    /// Bytes that are written and not sent.
    bytes: Vec<u8>,
    count: usize,
    /// Has a chunk been sent?
    is_begun: bool,
}

impl<'s> Sheet<'s> {
    fn new(
        id: u128,
        format: Format,
        head: &'s Head,
        limits: &'s Limits,
        out: &'s mut dyn Write,
    ) -> Sheet<'s> {
        let mut sheet = Sheet { id, format, head, limits, out, bytes: Vec::new(), count: 0, is_begun: false };
        if let Format::Json(dialect) = format {
            let mut writer = JsonWriter::new(dialect, None);
            answered::begin_response(&mut writer, &uuid_text(id), Status::Success);
            sheet.bytes = writer.text.into_bytes();
        }
        sheet
    }
    fn chunk(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.is_begun, true) {
            let mut text = line(self.head, 200, self.format.mime());
            text += "Transfer-Encoding: chunked\r\n\r\n";
            self.out.write_all(text.as_bytes())?;
        }
        // An empty chunk would be the end.
        if !self.bytes.is_empty() {
            write!(self.out, "{:x}\r\n", self.bytes.len())?;
            self.out.write_all(&self.bytes)?;
            self.out.write_all(b"\r\n")?;
            self.bytes.clear();
        }
        Ok(())
    }
    fn end(mut self) -> io::Result<()> {
        match self.format {
            Format::Json(dialect) => {
                let mut writer = JsonWriter::new(dialect, None);
                answered::end_response(&mut writer);
                self.bytes.extend(writer.text.as_bytes());
            }
            Format::Binary => {
                let elements = std::mem::take(&mut self.bytes);
                self.bytes = message::binary_head(self.id, Status::Success, self.count);
                self.bytes.extend(elements);
            }
        }
        if self.is_begun {
            self.chunk()?;
            self.out.write_all(b"0\r\n\r\n")?;
        } else {
            let mut text = line(self.head, 200, self.format.mime());
            text += &format!("Content-Length: {}\r\n\r\n", self.bytes.len());
            self.out.write_all(text.as_bytes())?;
            self.out.write_all(&self.bytes)?;
        }
        self.out.flush()
    }
}

impl Outlet for Sheet<'_> {
    fn part(&mut self, part: &Part<'_>) -> Result<(), Stop> {
        match self.format {
            Format::Json(dialect) => {
                let mut writer = JsonWriter::new(dialect, part.answer);
                let mut is_first = self.count == 0;
                answered::elements(&mut writer, part.objects, part.wrapping, &mut is_first)?;
                self.bytes.extend(writer.text.as_bytes());
                // Clients of HTTP/1.0 know no chunks: theirs is gathered like GraphBinary.
                if self.bytes.len() > GATHER_BYTES && self.head.knows_chunks {
                    self.chunk()?;
                }
            }
            Format::Binary => {
                let mut writer = Writer::new(part.answer);
                writer.elements_of(part.objects, part.wrapping)?;
                self.bytes.append(&mut writer.bytes);
            }
        }
        let plain = part.objects.iter().map(|(_, bulk)| *bulk as usize).sum();
        self.count += if part.wrapping == Wrapping::Traversers { part.objects.len() } else { plain };
        if self.bytes.len() > self.limits.whole_answer_bytes_max {
            let message = format!(
                "the answer is larger than {} bytes; ask for JSON over HTTP/1.1, or over WebSocket",
                self.limits.whole_answer_bytes_max
            );
            return Err(Refusal { status: Status::ServerError, message }.into());
        }
        Ok(())
    }
}
