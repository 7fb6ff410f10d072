//! A tiny client's half of Bolt: requests written, answers read, structures kept as they come.
#![allow(dead_code, reason = "each test uses its part")]

pub mod gremlin;
pub mod http;
pub mod socket;

use model::Value;
use tanglewood_server::bolt::packstream::Packer;
use tanglewood_server::bolt::structure::pack;
use tanglewood_server::bolt::{Version, chunks};

pub const V44: Version = Version { major: 4, minor: 4 };
pub const V50: Version = Version { major: 5, minor: 0 };
pub const V54: Version = Version { major: 5, minor: 4 };
pub const V58: Version = Version { major: 5, minor: 8 };

pub const HELLO: u8 = 0x01;
pub const LOGON: u8 = 0x6A;
pub const LOGOFF: u8 = 0x6B;
pub const GOODBYE: u8 = 0x02;
pub const RESET: u8 = 0x0F;
pub const RUN: u8 = 0x10;
pub const DISCARD: u8 = 0x2F;
pub const PULL: u8 = 0x3F;
pub const BEGIN: u8 = 0x11;
pub const COMMIT: u8 = 0x12;
pub const ROLLBACK: u8 = 0x13;
pub const ROUTE: u8 = 0x66;
pub const TELEMETRY: u8 = 0x54;

/// What came back, as it lay there.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    Bytes(Vec<u8>),
    List(Vec<Item>),
    Map(Vec<(String, Item)>),
    Struct(u8, Vec<Item>),
}

impl Item {
    pub fn get(&self, name: &str) -> Option<&Item> {
        let Item::Map(pairs) = self else { panic!("no map: {self:?}") };
        pairs.iter().find(|(key, _)| key == name).map(|(_, item)| item)
    }
    pub fn text(&self) -> &str {
        let Item::Text(text) = self else { panic!("no text: {self:?}") };
        text
    }
    pub fn int(&self) -> i64 {
        let Item::Int(int) = self else { panic!("no int: {self:?}") };
        *int
    }
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    Success(Item),
    Record(Vec<Item>),
    Failure(String, String),
    Ignored,
}

impl Answer {
    pub fn metadata(&self) -> &Item {
        let Answer::Success(metadata) = self else { panic!("no success: {self:?}") };
        metadata
    }
    pub fn values(&self) -> &[Item] {
        let Answer::Record(values) = self else { panic!("no record: {self:?}") };
        values
    }
    pub fn code(&self) -> &str {
        let Answer::Failure(code, _) = self else { panic!("no failure: {self:?}") };
        code
    }
    pub fn is_success(&self) -> bool {
        matches!(self, Answer::Success(_))
    }
    pub fn parse(message: &[u8]) -> Answer {
        let mut bytes = message;
        let item = item(&mut bytes);
        assert!(bytes.is_empty(), "bytes behind {item:?}");
        let Item::Struct(tag, mut fields) = item else { panic!("no message: {item:?}") };
        match (tag, fields.len()) {
            (0x70, 1) => Answer::Success(fields.remove(0)),
            (0x71, 1) => match fields.remove(0) {
                Item::List(values) => Answer::Record(values),
                other => panic!("no list: {other:?}"),
            },
            (0x7F, 1) => {
                let text = |name| fields[0].get(name).map(|item| item.text().to_string());
                let code = text("code").or_else(|| text("neo4j_code")).unwrap();
                Answer::Failure(code, text("message").unwrap())
            }
            (0x7E, 0) => Answer::Ignored,
            _ => panic!("unknown message {tag:#x} of {} fields", fields.len()),
        }
    }
}

fn take<'a>(bytes: &mut &'a [u8], len: usize) -> &'a [u8] {
    let (taken, rest) = bytes.split_at(len);
    *bytes = rest;
    taken
}

fn size(bytes: &mut &[u8], len: usize) -> usize {
    take(bytes, len).iter().fold(0, |size, byte| size << 8 | *byte as usize)
}

fn item(bytes: &mut &[u8]) -> Item {
    let marker = take(bytes, 1)[0];
    let tiny = (marker & 0x0F) as usize;
    let wide = |base: u8| 1_usize << (marker - base);
    match marker {
        0x00..=0x7F | 0xF0..=0xFF => Item::Int(marker as i8 as i64),
        0x80..=0x8F => text(bytes, tiny),
        0x90..=0x9F => list(bytes, tiny),
        0xA0..=0xAF => map(bytes, tiny),
        0xB0..=0xBF => {
            let tag = take(bytes, 1)[0];
            Item::Struct(tag, (0..tiny).map(|_| item(bytes)).collect())
        }
        0xC0 => Item::Null,
        0xC1 => Item::Float(f64::from_be_bytes(take(bytes, 8).try_into().unwrap())),
        0xC2 | 0xC3 => Item::Bool(marker == 0xC3),
        0xC8..=0xCB => {
            let taken = take(bytes, wide(0xC8));
            let sign = if taken[0] & 0x80 == 0 { 0 } else { -1_i64 };
            Item::Int(taken.iter().fold(sign, |int, byte| int << 8 | *byte as i64))
        }
        0xCC..=0xCE => {
            let len = size(bytes, wide(0xCC));
            Item::Bytes(take(bytes, len).to_vec())
        }
        0xD0..=0xD2 => {
            let len = size(bytes, wide(0xD0));
            text(bytes, len)
        }
        0xD4..=0xD6 => {
            let len = size(bytes, wide(0xD4));
            list(bytes, len)
        }
        0xD8..=0xDA => {
            let len = size(bytes, wide(0xD8));
            map(bytes, len)
        }
        _ => panic!("unknown marker {marker:#x}"),
    }
}

fn text(bytes: &mut &[u8], len: usize) -> Item {
    Item::Text(String::from_utf8(take(bytes, len).to_vec()).unwrap())
}

fn list(bytes: &mut &[u8], len: usize) -> Item {
    Item::List((0..len).map(|_| item(bytes)).collect())
}

fn map(bytes: &mut &[u8], len: usize) -> Item {
    let pair = |bytes: &mut &[u8]| (item(bytes).text().to_string(), item(bytes));
    Item::Map((0..len).map(|_| pair(bytes)).collect())
}

/// A request's bytes, without chunks.
pub fn request(tag: u8, fields: &[Value]) -> Vec<u8> {
    let mut packer = Packer::default();
    packer.structure(tag, fields.len() as u8);
    fields.iter().for_each(|field| pack(&mut packer, field, true));
    packer.bytes
}

pub fn none() -> Value {
    Value::map::<&str>([])
}

pub fn run(text: &str) -> Vec<u8> {
    request(RUN, &[text.into(), none(), none()])
}

pub fn run_with(text: &str, params: Value, extra: Value) -> Vec<u8> {
    request(RUN, &[text.into(), params, extra])
}

pub fn pull(n: i64) -> Vec<u8> {
    request(PULL, &[Value::map([("n", Value::Int(n))])])
}

pub fn pull_of(n: i64, qid: i64) -> Vec<u8> {
    request(PULL, &[Value::map([("n", Value::Int(n)), ("qid", Value::Int(qid))])])
}

pub fn discard(n: i64) -> Vec<u8> {
    request(DISCARD, &[Value::map([("n", Value::Int(n))])])
}

/// Bytes of requests, in chunks, as a socket carries them.
pub fn chunked(requests: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    requests.iter().for_each(|request| chunks::write(request, &mut bytes));
    bytes
}
