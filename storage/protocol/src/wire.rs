//! Messages as bytes: what a driver puts into a frame.
//!
//! ```text
//!   frame, entry: version u8 · sender (role u8, number u16) · epoch u64 · kind u8 · the fields of that kind, in the order of their declaration
//!   list: count u32 · its items      stamp: epoch u64 · gate u16 · vector      nothing or something: 0 or 1, u8
//! ```
//! All numbers are little endian. Received bytes are not trusted: a count that they cannot hold is refused before anything is allocated, and a stamp
//! that fits no gate is no stamp.

use crate::channel::Item;
use crate::message::{Body, Members, Message, Node};
use crate::record::{Bytes, Record};
use order::{GATEKEEPERS_MAX, Stamp};
use std::sync::Arc;

/// The version of frames, which rises with any change of their form. All processes of one cluster must have the same; a process that receives another
/// reports it.
pub const WIRE_VERSION: u8 = 1;
/// The version of entries of the oracle's log. They outlive the program that wrote them, so the kinds that are logged (questions, orders, forgotten
/// counters) keep their form while it is the same; a test checks it.
pub const ENTRY_VERSION: u8 = 1;

/// A message and its sender, as bytes.
pub fn encode(from: Node, message: &Message) -> Vec<u8> {
    encode_as(WIRE_VERSION, from, message)
}

/// A message and its sender as an entry of the oracle's log.
pub fn encode_entry(from: Node, message: &Message) -> Vec<u8> {
    encode_as(ENTRY_VERSION, from, message)
}

fn encode_as(version: u8, from: Node, message: &Message) -> Vec<u8> {
    let mut to = WireWriter(Vec::with_capacity(64));
    to.u8(version);
    to.node(from);
    to.u64(message.epoch);
    to.body(&message.body);
    to.0
}

/// The version of a frame, if it is not [`WIRE_VERSION`].
pub fn other_version(bytes: &[u8]) -> Option<u8> {
    bytes.first().copied().filter(|version| *version != WIRE_VERSION)
}

/// The sender and its message; none where the bytes are not those of [`encode`].
pub fn decode(bytes: &[u8]) -> Option<(Node, Message)> {
    decode_as(WIRE_VERSION, bytes)
}

/// The same of an entry; none where the bytes are not those of [`encode_entry`].
pub fn decode_entry(bytes: &[u8]) -> Option<(Node, Message)> {
    decode_as(ENTRY_VERSION, bytes)
}

fn decode_as(version: u8, bytes: &[u8]) -> Option<(Node, Message)> {
    let mut from = Reader(bytes);
    if from.u8()? != version {
        return None;
    }
    let sender = from.node()?;
    let epoch = from.u64()?;
    let body = from.body()?;
    from.0.is_empty().then_some((sender, Message { epoch, body }))
}

struct WireWriter(Vec<u8>);

impl WireWriter {
    fn u8(&mut self, value: u8) {
        self.0.push(value);
    }
    fn u16(&mut self, value: u16) {
        self.0.extend(value.to_le_bytes());
    }
    fn u32(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }
    fn u64(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }
    fn bool(&mut self, value: bool) {
        self.u8(u8::from(value));
    }
    fn list<T>(&mut self, items: &[T], mut each: impl FnMut(&mut WireWriter, &T)) {
        self.u32(items.len() as u32);
        items.iter().for_each(|item| each(self, item));
    }
    fn option<T>(&mut self, value: Option<&T>, each: impl FnOnce(&mut WireWriter, &T)) {
        self.bool(value.is_some());
        if let Some(value) = value {
            each(self, value);
        }
    }
    fn vector(&mut self, vector: &[u64]) {
        self.list(vector, |to, counter| to.u64(*counter));
    }
    fn bytes(&mut self, bytes: &[u8]) {
        self.u32(bytes.len() as u32);
        self.0.extend_from_slice(bytes);
    }
    fn stamp(&mut self, stamp: &Stamp) {
        self.u64(stamp.epoch());
        self.u16(stamp.gatekeeper() as u16);
        self.vector(stamp.vector());
    }
    fn node(&mut self, node: Node) {
        let (role, number) = match node {
            Node::Gate(number) => (0, number),
            Node::Shard(number) => (1, number),
            Node::Oracle => (2, 0),
            Node::Scribe => (3, 0),
            Node::Keeper => (4, 0),
        };
        self.u8(role);
        self.u16(number);
    }
    fn record(&mut self, record: &Record) {
        self.stamp(&record.stamp);
        self.list(&record.parts, |to, (shard, part)| {
            to.u16(*shard);
            to.bytes(part);
        });
    }
    fn pairs(&mut self, pairs: &[(Stamp, Stamp)]) {
        self.list(pairs, |to, (this, that)| {
            to.stamp(this);
            to.stamp(that);
        });
    }

    fn body(&mut self, body: &Body) {
        self.u8(kind(body));
        match body {
            Body::Announce(clock) | Body::Want(clock) | Body::Low(clock) | Body::Forget(clock) => {
                self.vector(clock);
            }
            Body::Heard(number) | Body::Pulse(number) => self.u64(*number),
            Body::Item(item) => {
                self.u64(item.number);
                self.stamp(&item.stamp);
                self.option(item.record.as_deref(), WireWriter::record);
            }
            Body::Pin { read, request, query } => {
                self.stamp(read);
                self.u64(*request);
                self.bytes(query);
            }
            Body::Received { next, gap, questions } => {
                self.u64(*next);
                self.bool(*gap);
                self.u64(*questions);
            }
            Body::Pinned { request, answer } => {
                self.u64(*request);
                self.bytes(answer);
            }
            Body::Ask { question, pairs } => {
                self.u64(*question);
                self.pairs(pairs);
            }
            Body::Told { question, answer } => {
                self.u64(*question);
                self.bool(answer.is_ok());
                match answer {
                    Ok(before) => self.list(before, |to, before| to.bool(*before)),
                    Err(at) => self.u64(*at as u64),
                }
            }
            Body::Order(gates) => self.u64(*gates as u64),
            Body::Ordering => {}
            Body::Replica(bytes) => self.bytes(bytes),
            Body::Executed { from, records, taken } => {
                self.u64(*from);
                self.list(records, |to, (stamp, shards)| {
                    to.stamp(stamp);
                    to.list(shards, |to, shard| to.u16(*shard));
                });
                self.option(taken.as_ref(), |to, taken| {
                    to.list(taken, |to, stamp| to.option(stamp.as_ref(), WireWriter::stamp));
                });
            }
            Body::Settled { next, commit_version, frontier } => {
                self.u64(*next);
                self.u64(*commit_version);
                self.option(frontier.as_ref(), |to, frontier| to.vector(frontier));
            }
            Body::Alive { incarnation, ready, pulse } => {
                self.u64(*incarnation);
                self.bool(*ready);
                self.u64(*pulse);
            }
            Body::Begin { incarnation, members } => {
                self.u64(*incarnation);
                self.u64(members.epoch);
                self.list(&members.gates, |to, gate| to.u16(*gate));
                self.u16(members.shards);
                self.u64(members.first_version);
            }
            Body::Open { incarnation } => self.u64(*incarnation),
        }
    }
}

/// The number of each kind, for good.
fn kind(body: &Body) -> u8 {
    match body {
        Body::Announce(_) => 1,
        Body::Heard(_) => 2,
        Body::Item(_) => 3,
        Body::Pin { .. } => 4,
        Body::Received { .. } => 5,
        Body::Want(_) => 6,
        Body::Pinned { .. } => 7,
        Body::Ask { .. } => 8,
        Body::Told { .. } => 9,
        Body::Order(_) => 10,
        Body::Ordering => 11,
        Body::Executed { .. } => 12,
        Body::Settled { .. } => 13,
        Body::Low(_) => 14,
        Body::Forget(_) => 15,
        Body::Alive { .. } => 16,
        Body::Begin { .. } => 17,
        Body::Open { .. } => 18,
        Body::Replica(_) => 19,
        Body::Pulse(_) => 20,
    }
}

/// Bytes that are not read yet.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }
    fn u8(&mut self) -> Option<u8> {
        self.take::<1>().map(|[byte]| byte)
    }
    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_le_bytes)
    }
    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }
    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }
    fn bool(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
    /// Each item takes a byte at least, so the bytes bound the count.
    fn list<T>(&mut self, mut each: impl FnMut(&mut Reader<'a>) -> Option<T>) -> Option<Vec<T>> {
        let count = self.u32()? as usize;
        if count > self.0.len() {
            return None;
        }
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(each(self)?);
        }
        Some(items)
    }
    fn option<T>(&mut self, each: impl FnOnce(&mut Reader<'a>) -> Option<T>) -> Option<Option<T>> {
        match self.bool()? {
            true => each(self).map(Some),
            false => Some(None),
        }
    }
    fn vector(&mut self) -> Option<Box<[u64]>> {
        let vector = self.list(Reader::u64)?;
        (vector.len() <= GATEKEEPERS_MAX).then(|| vector.into())
    }
    fn bytes(&mut self) -> Option<Bytes> {
        let length = self.u32()? as usize;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes.into())
    }
    fn stamp(&mut self) -> Option<Stamp> {
        let (epoch, gate) = (self.u64()?, self.u16()?);
        Stamp::from_parts(epoch, usize::from(gate), self.vector()?.into_vec())
    }
    fn node(&mut self) -> Option<Node> {
        let (role, number) = (self.u8()?, self.u16()?);
        match role {
            0 => Some(Node::Gate(number)),
            1 => Some(Node::Shard(number)),
            2 => Some(Node::Oracle),
            3 => Some(Node::Scribe),
            4 => Some(Node::Keeper),
            _ => None,
        }
    }
    fn record(&mut self) -> Option<Arc<Record>> {
        let stamp = self.stamp()?;
        let parts = self.list(|from| Some((from.u16()?, from.bytes()?)))?;
        Some(Arc::new(Record { stamp, parts }))
    }
    fn pairs(&mut self) -> Option<Vec<(Stamp, Stamp)>> {
        self.list(|from| Some((from.stamp()?, from.stamp()?)))
    }
    fn members(&mut self) -> Option<Arc<Members>> {
        let (epoch, gates) = (self.u64()?, self.list(Reader::u16)?);
        let (shards, first_version) = (self.u16()?, self.u64()?);
        Some(Arc::new(Members { epoch, gates, shards, first_version }))
    }

    fn body(&mut self) -> Option<Body> {
        Some(match self.u8()? {
            1 => Body::Announce(self.vector()?),
            2 => Body::Heard(self.u64()?),
            3 => Body::Item(Item {
                number: self.u64()?,
                stamp: self.stamp()?,
                record: self.option(Reader::record)?,
            }),
            4 => Body::Pin { read: self.stamp()?, request: self.u64()?, query: self.bytes()? },
            5 => Body::Received { next: self.u64()?, gap: self.bool()?, questions: self.u64()? },
            6 => Body::Want(self.vector()?),
            7 => Body::Pinned { request: self.u64()?, answer: self.bytes()? },
            8 => Body::Ask { question: self.u64()?, pairs: self.pairs()? },
            9 => {
                let question = self.u64()?;
                let answer = match self.bool()? {
                    true => Ok(self.list(Reader::bool)?),
                    false => Err(usize::try_from(self.u64()?).ok()?),
                };
                Body::Told { question, answer }
            }
            10 => Body::Order(usize::try_from(self.u64()?).ok()?),
            11 => Body::Ordering,
            12 => Body::Executed {
                from: self.u64()?,
                records: self.list(|from| Some((from.stamp()?, from.list(Reader::u16)?.into())))?,
                taken: self.option(|from| from.list(|from| from.option(Reader::stamp)))?,
            },
            13 => Body::Settled {
                next: self.u64()?,
                commit_version: self.u64()?,
                frontier: self.option(Reader::vector)?,
            },
            14 => Body::Low(self.vector()?),
            15 => Body::Forget(self.vector()?),
            16 => Body::Alive { incarnation: self.u64()?, ready: self.bool()?, pulse: self.u64()? },
            17 => Body::Begin { incarnation: self.u64()?, members: self.members()? },
            18 => Body::Open { incarnation: self.u64()? },
            19 => Body::Replica(self.bytes()?),
            20 => Body::Pulse(self.u64()?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests;
