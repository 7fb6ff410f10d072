//! A whole connection of the Gremlin interface, and requests of HTTP: any frames in any order, to a database that answers.
//!
//! An input is a row of frames, each with its length in two bytes in front; the highest bit says that it is text.

use database::{Database, MEMORY, Options};
use server::Limits;
use server::gremlin::connection::{Connection, Next};
use server::gremlin::http::Http;
use server::gremlin::message::{Format, Frame, GRAPH_BINARY, Request};
use server::gremlin::request_head::Head;
use server::gremlin::{Manner, Sources};
use server::users::Gate;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::LazyLock;
use std::time::Duration;

/// Bytes of answers that one input may cause, before it is left.
const ANSWER_BYTES_MAX: usize = 1 << 20;
const PEER: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

static MANNER: LazyLock<Manner> = LazyLock::new(|| {
    let options = Options { executors: Some(1), query_bytes_max: 16 << 20, ..Options::default() };
    let database = Database::open(MEMORY, options).expect("memory can be opened");
    let sources = Sources::from([("g".to_string(), database)]);
    let timeout = Some(Duration::from_millis(50));
    Manner { sources: sources.into(), gate: Gate::open(), timeout }
});

/// Hands every frame in these bytes to a connection, and the whole to HTTP.
pub fn gremlin_interface(bytes: &[u8]) {
    let mut connection = Connection::new(MANNER.clone(), PEER, Box::new(|_| {}));
    let mut told = 0;
    let mut sink = |frame: Frame| {
        told += match frame {
            Frame::Binary(bytes) => bytes.len(),
            Frame::Text(text) => text.len(),
        };
        if told > ANSWER_BYTES_MAX { Err(std::io::ErrorKind::OutOfMemory.into()) } else { Ok(()) }
    };
    for (frame, is_text) in frames(bytes) {
        // What asks for a time of its own could run for as long.
        if asks_for_time(frame, is_text) {
            continue;
        }
        match connection.handle(frame, is_text, &mut sink) {
            Ok(Next::Read) => {}
            Ok(Next::Close) | Err(_) => break,
        }
    }
    http(bytes);
}

fn http(bytes: &[u8]) {
    let Ok(Some((head, length))) = Head::parse(bytes) else { return };
    let body = &bytes[length..];
    if head.body_bytes().is_err()
        || contains_time(&head.query)
        || contains_time(&String::from_utf8_lossy(body))
    {
        return;
    }
    let (limits, watch) = (Limits::default(), |_| {});
    let http = Http { manner: &MANNER, limits: &limits, peer: PEER, watch: &watch };
    let mut out = Answer(0);
    if let Ok(Some(known)) = http.admit(&head, &mut out) {
        // An answer that grows too long ends there.
        drop(http.answer(&known, (&head, body), &mut |_| Ok(()), &mut out));
    }
}

struct Answer(usize);

impl std::io::Write for Answer {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        if self.0 > ANSWER_BYTES_MAX { Err(std::io::ErrorKind::OutOfMemory.into()) } else { Ok(bytes.len()) }
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn contains_time(text: &str) -> bool {
    text.contains("imeout")
}

fn asks_for_time(frame: &[u8], is_text: bool) -> bool {
    let request = if is_text { Request::read_text(frame) } else { Request::read(frame) };
    let of_arguments =
        request.is_ok_and(|request| request.arguments.iter().any(|(name, _)| contains_time(name)));
    of_arguments || contains_time(&String::from_utf8_lossy(frame))
}

fn frames(mut bytes: &[u8]) -> Vec<(&[u8], bool)> {
    let mut all = Vec::new();
    while let Some((head, rest)) = bytes.split_first_chunk::<2>() {
        let head = u16::from_be_bytes(*head);
        let (frame, rest) = rest.split_at(usize::from(head & 0x7fff).min(rest.len()));
        all.push((frame, head & 0x8000 != 0));
        bytes = rest;
    }
    all
}

/// `g.V().has("name", P.gt(1))` of a driver, without the format's name.
pub(super) const BYTECODE: &[u8] = b"\x81\0\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff\
    \0\0\0\x08bytecode\0\0\0\x09traversal\0\0\0\x02\
    \x03\0\0\0\0\x07gremlin\x15\0\0\0\0\x02\0\0\0\x01V\0\0\0\0\0\0\0\x03has\0\0\0\x02\
    \x03\0\0\0\0\x04name\x1e\0\0\0\0\x02gt\0\0\0\x01\x01\0\0\0\0\x01\0\0\0\0\
    \x03\0\0\0\0\x07aliases\x0a\0\0\0\0\x01\x03\0\0\0\0\x01g\x03\0\0\0\0\x01g";
/// Bytecode as GraphSON 3 has it.
pub(super) const BYTECODE_3: &str = r#"{"requestId":{"@type":"g:UUID","@value":"00112233-4455-6677-8899-aabbccddeeff"},"op":"bytecode","processor":"traversal","args":{"@type":"g:Map","@value":["gremlin",{"@type":"g:Bytecode","@value":{"step":[["V"],["has","n",{"@type":"g:P","@value":{"predicate":"within","value":{"@type":"g:List","@value":[{"@type":"g:Int32","@value":1},2]}}}],["order"],["by","n",{"@type":"g:Order","@value":"desc"}]]}}]}}"#;
/// A script as GraphSON 2 has it.
pub(super) const EVAL_2: &str = r#"{"requestId":"00112233-4455-6677-8899-aabbccddeeff","op":"eval","processor":"session","args":{"gremlin":"g.addV('a').property('n', x)","bindings":{"x":{"@type":"g:Int64","@value":1}},"session":"s","batchSize":2}}"#;

fn framed(format: Format, message: &[u8]) -> Vec<u8> {
    let mime = format.mime();
    let length = (1 + mime.len() + message.len()) as u16;
    [&length.to_be_bytes()[..], &[mime.len() as u8], mime.as_bytes(), message].concat()
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let json = |mime: &str| Format::of(mime).expect("the format is spoken");
    let binary = framed(json(GRAPH_BINARY), BYTECODE);
    let three = framed(json("application/vnd.gremlin-v3.0+json"), BYTECODE_3.as_bytes());
    let two = framed(json("application/vnd.gremlin-v2.0+json"), EVAL_2.as_bytes());
    let close = EVAL_2.replace("eval", "close");
    let close = framed(json("application/vnd.gremlin-v2.0+json"), close.as_bytes());
    let text = [&(0x8000 | BYTECODE_3.len() as u16).to_be_bytes()[..], BYTECODE_3.as_bytes()].concat();
    let body =
        r#"{"gremlin":"g.inject(x).union(__.V(), __.E())","bindings":{"x":[1,{"a":2}]},"aliases":{"g":"g"}}"#;
    let post = format!(
        "POST /gremlin HTTP/1.1\r\nAccept: application/vnd.graphbinary-v1.0\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let get = "GET /gremlin?gremlin=g.inject(x)&bindings.x=%5B1%5D HTTP/1.1\r\nHost: localhost\r\n\r\n";
    vec![
        binary.clone(),
        three,
        [two.clone(), two, close].concat(),
        [text, binary].concat(),
        post.into_bytes(),
        get.as_bytes().to_vec(),
    ]
}
