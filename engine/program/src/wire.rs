//! The bytes between the database and a module.
//!
//! All numbers are little-endian. A text, a list and a table begin with their length (4 bytes). Names that come often, types and keys, stand once
//! in a table at the begin of a call, and by their place in it afterwards.
//!
//! ```text
//! value   tag (1): 0 null, 1 false, 2 true, 3 int (8), 4 float (8), 5 text, 6 bytes, 7 node (8), 8 list of values, 9 map: table of (text, value)
//! needs   0, edges (1), direction (1), types, properties, properties of edges, labels (1), least (1), ends (1), everywhere (1) with its labels;
//!         or 1 and a text: refused
//!         properties: 0 none, 1 all, 2 a table of texts
//! call    parameters, round (4), end (1), names: a table of texts, nodes: a table of
//!         id (8), state, messages, labels: a table of names (4), properties: a table of (name (4), value),
//!         edges: a table of other (8), type (4), outgoing (1), properties
//! reply   0, states, messages: a table of (node (8), value), rows likewise, enough (1); or 1 and a text: the program's error
//! ```
//!
//! Invariant: a reader reads all bytes or fails; it holds no more than a small multiple of the bytes that it reads, and goes no deeper than
//! [`DEPTH_MAX`].

use crate::Value;
use crate::visit::{EdgeDirection, Needs, NodeCall, NodeEdge, NodeOutbox, Properties, Reply, VisitedNode};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

/// Nesting of lists and maps.
pub const DEPTH_MAX: usize = 32;

/// Bytes that are no message of this format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed(pub &'static str);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Malformed {}

type WireRead<T> = Result<T, Malformed>;

/// Writes a message.
#[derive(Default)]
pub struct WireWriter {
    /// The bytes so far.
    pub bytes: Vec<u8>,
}

impl WireWriter {
    /// A byte.
    pub fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }
    /// Four bytes.
    pub fn number(&mut self, number: u32) {
        self.bytes.extend_from_slice(&number.to_le_bytes());
    }
    /// Eight bytes.
    pub fn long(&mut self, long: u64) {
        self.bytes.extend_from_slice(&long.to_le_bytes());
    }
    /// A length.
    pub fn length(&mut self, length: usize) {
        self.number(u32::try_from(length).unwrap_or(u32::MAX));
    }
    /// A text.
    pub fn text(&mut self, text: &str) {
        self.length(text.len());
        self.bytes.extend_from_slice(text.as_bytes());
    }
    /// Texts.
    pub fn texts<T: AsRef<str>>(&mut self, texts: &[T]) {
        self.length(texts.len());
        texts.iter().for_each(|text| self.text(text.as_ref()));
    }
    /// A value.
    pub fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.byte(0),
            Value::Bool(truth) => self.byte(1 + u8::from(*truth)),
            Value::Int(int) => self.tagged(3, *int as u64),
            Value::Float(float) => self.tagged(4, float.to_bits()),
            Value::Text(text) => {
                self.byte(5);
                self.text(text);
            }
            Value::Bytes(bytes) => {
                self.byte(6);
                self.length(bytes.len());
                self.bytes.extend_from_slice(bytes);
            }
            Value::Node(node) => self.tagged(7, *node),
            Value::List(values) => {
                self.byte(8);
                self.values(values);
            }
            Value::Map(entries) => {
                self.byte(9);
                self.length(entries.len());
                for (key, value) in entries {
                    self.text(key);
                    self.value(value);
                }
            }
        }
    }
    /// A tag and eight bytes.
    pub fn tagged(&mut self, tag: u8, long: u64) {
        self.byte(tag);
        self.long(long);
    }
    fn values(&mut self, values: &[Value]) {
        self.length(values.len());
        values.iter().for_each(|value| self.value(value));
    }
    fn pairs(&mut self, pairs: &[(u64, Value)]) {
        self.length(pairs.len());
        for (node, value) in pairs {
            self.long(*node);
            self.value(value);
        }
    }
    fn properties(&mut self, properties: &Properties) {
        match properties {
            Properties::None => self.byte(0),
            Properties::All => self.byte(1),
            Properties::Named(names) => {
                self.byte(2);
                self.texts(names);
            }
        }
    }
}

/// Reads a message.
pub struct WireReader<'a>(&'a [u8]);

impl<'a> WireReader<'a> {
    /// Of these bytes.
    pub fn new(bytes: &'a [u8]) -> WireReader<'a> {
        WireReader(bytes)
    }
    fn take(&mut self, count: usize) -> WireRead<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count).ok_or(Malformed("the message ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }
    fn array<const N: usize>(&mut self) -> WireRead<[u8; N]> {
        let bytes = self.take(N)?;
        bytes.try_into().map_err(|_| Malformed("the message ends too early"))
    }
    /// A byte.
    ///
    /// # Errors
    /// There is none; so for all reads here.
    pub fn byte(&mut self) -> WireRead<u8> {
        Ok(self.array::<1>()?[0])
    }
    fn flag(&mut self) -> WireRead<bool> {
        match self.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed("a truth value is 0 or 1")),
        }
    }
    /// Four bytes.
    ///
    /// # Errors
    /// See [`WireReader::byte`].
    pub fn number(&mut self) -> WireRead<u32> {
        Ok(u32::from_le_bytes(self.array()?))
    }
    /// Eight bytes.
    ///
    /// # Errors
    /// See [`WireReader::byte`].
    pub fn long(&mut self) -> WireRead<u64> {
        Ok(u64::from_le_bytes(self.array()?))
    }
    /// A length: of a number of items, each of which has `least` bytes at least.
    ///
    /// # Errors
    /// See [`WireReader::byte`].
    pub fn length(&mut self, least: usize) -> WireRead<usize> {
        let length = self.number()? as usize;
        match length.checked_mul(least).is_some_and(|bytes| bytes <= self.0.len()) {
            true => Ok(length),
            false => Err(Malformed("a length passes the end of the message")),
        }
    }
    /// A text.
    ///
    /// # Errors
    /// See [`WireReader::byte`].
    pub fn text(&mut self) -> WireRead<&'a str> {
        let length = self.length(1)?;
        std::str::from_utf8(self.take(length)?).map_err(|_| Malformed("a text is not UTF-8"))
    }
    /// Bytes behind their length.
    ///
    /// # Errors
    /// See [`WireReader::byte`].
    pub fn bytes(&mut self) -> WireRead<&'a [u8]> {
        let length = self.length(1)?;
        self.take(length)
    }
    fn texts(&mut self) -> WireRead<Vec<String>> {
        (0..self.length(4)?).map(|_| Ok(self.text()?.to_string())).collect()
    }
    /// A value.
    ///
    /// # Errors
    /// See [`WireReader::byte`].
    pub fn value(&mut self) -> WireRead<Value> {
        self.value_at(0)
    }
    fn value_at(&mut self, depth: usize) -> WireRead<Value> {
        if depth > DEPTH_MAX {
            return Err(Malformed("lists and maps are nested deeper than 32"));
        }
        Ok(match self.byte()? {
            0 => Value::Null,
            1 => Value::Bool(false),
            2 => Value::Bool(true),
            3 => Value::Int(self.long()? as i64),
            4 => Value::Float(f64::from_bits(self.long()?)),
            5 => Value::Text(self.text()?.to_string()),
            6 => Value::Bytes(self.bytes()?.to_vec()),
            7 => Value::Node(self.long()?),
            8 => {
                Value::List((0..self.length(1)?).map(|_| self.value_at(depth + 1)).collect::<WireRead<_>>()?)
            }
            9 => {
                let length = self.length(5)?;
                let entry = |_| Ok((self.text()?.to_string(), self.value_at(depth + 1)?));
                Value::Map((0..length).map(entry).collect::<WireRead<_>>()?)
            }
            _ => return Err(Malformed("a value has an unknown tag")),
        })
    }
    fn values(&mut self) -> WireRead<Vec<Value>> {
        (0..self.length(1)?).map(|_| self.value()).collect()
    }
    fn properties(&mut self) -> WireRead<Properties> {
        Ok(match self.byte()? {
            0 => Properties::None,
            1 => Properties::All,
            2 => Properties::Named(self.texts()?),
            _ => return Err(Malformed("properties are none, all or some")),
        })
    }
    fn named(&mut self, names: &[Rc<str>]) -> WireRead<Vec<(Rc<str>, Value)>> {
        (0..self.length(5)?).map(|_| Ok((self.name(names)?, self.value()?))).collect()
    }
    fn name(&mut self, names: &[Rc<str>]) -> WireRead<Rc<str>> {
        let at = self.number()? as usize;
        names.get(at).cloned().ok_or(Malformed("a name is not in the table"))
    }
    fn edge(&mut self, names: &[Rc<str>]) -> WireRead<NodeEdge> {
        let (other, kind, is_outgoing) = (self.long()?, self.name(names)?, self.flag()?);
        Ok(NodeEdge { other, kind, is_outgoing, properties: self.named(names)? })
    }
    fn node(&mut self, names: &[Rc<str>]) -> WireRead<VisitedNode> {
        let (id, state, messages) = (self.long()?, self.value()?, self.values()?);
        let labels = (0..self.length(4)?).map(|_| self.name(names)).collect::<WireRead<_>>()?;
        let properties = self.named(names)?;
        let edges = (0..self.length(17)?).map(|_| self.edge(names)).collect::<WireRead<_>>()?;
        Ok(VisitedNode { id, state, messages, labels, properties, edges })
    }
    /// Is everything read?
    ///
    /// # Errors
    /// It is not.
    pub fn end(&self) -> WireRead<()> {
        if self.0.is_empty() { Ok(()) } else { Err(Malformed("bytes stand behind the message")) }
    }
}

impl NodeCall {
    /// Reads a call.
    ///
    /// # Errors
    /// The bytes are none.
    pub fn read(bytes: &[u8]) -> WireRead<NodeCall> {
        let mut reader = WireReader(bytes);
        let (parameters, round, is_end) = (reader.value()?, reader.number()?, reader.flag()?);
        let names: Vec<Rc<str>> = reader.texts()?.into_iter().map(Rc::from).collect();
        let nodes = (0..reader.length(25)?).map(|_| reader.node(&names)).collect::<WireRead<_>>()?;
        reader.end()?;
        Ok(NodeCall { parameters, round, is_end, nodes })
    }
}

/// Reads one value.
///
/// # Errors
/// The bytes are none.
pub fn read_value(bytes: &[u8]) -> WireRead<Value> {
    let mut reader = WireReader(bytes);
    let value = reader.value()?;
    reader.end()?;
    Ok(value)
}

/// One value.
pub fn write_value(value: &Value) -> Vec<u8> {
    let mut writer = WireWriter::default();
    writer.value(value);
    writer.bytes
}

/// The answer to a call.
pub fn write_reply(reply: &Result<Reply, String>) -> Vec<u8> {
    let mut writer = WireWriter::default();
    match reply {
        Err(message) => {
            writer.byte(1);
            writer.text(message);
        }
        Ok(Reply { states, out }) => {
            writer.byte(0);
            writer.values(states);
            writer.pairs(&out.messages);
            writer.pairs(&out.rows);
            writer.byte(u8::from(out.is_enough));
        }
    }
    writer.bytes
}

/// A part of a reply, in the order of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplyPart {
    /// So many states follow.
    States(usize),
    /// A state; its value follows.
    State,
    /// A message to this node; its value follows.
    Message(u64),
    /// A row of this node; its value follows.
    Row(u64),
    /// The last: is it enough?
    End(bool),
}

/// Shows `take` each part of a reply; of a part with a value it must read just that from the reader. Returns the error that the program says in place of
/// a reply.
///
/// # Errors
/// The bytes are no reply; those of `take`.
pub fn each_of_reply<E: From<Malformed>>(
    bytes: &[u8],
    mut take: impl FnMut(ReplyPart, &mut WireReader<'_>) -> Result<(), E>,
) -> Result<Result<(), String>, E> {
    let mut reader = WireReader(bytes);
    let reply = match reader.byte()? {
        0 => {
            let states = reader.length(1)?;
            take(ReplyPart::States(states), &mut reader)?;
            for _ in 0..states {
                take(ReplyPart::State, &mut reader)?;
            }
            for of in [ReplyPart::Message, ReplyPart::Row] {
                for _ in 0..reader.length(9)? {
                    let node = reader.long()?;
                    take(of(node), &mut reader)?;
                }
            }
            let is_enough = reader.flag()?;
            take(ReplyPart::End(is_enough), &mut reader)?;
            Ok(())
        }
        1 => Err(reader.text()?.to_string()),
        _ => return Err(Malformed("a reply begins with 0 or 1").into()),
    };
    reader.end()?;
    Ok(reply)
}

/// Reads the answer to a call: it, or the program's error.
///
/// # Errors
/// The bytes are none.
pub fn read_reply(bytes: &[u8]) -> WireRead<Result<Reply, String>> {
    let (mut states, mut out) = (Vec::new(), NodeOutbox::default());
    let told = each_of_reply(bytes, |part, reader| -> WireRead<()> {
        match part {
            ReplyPart::States(_) => {}
            ReplyPart::State => states.push(reader.value()?),
            ReplyPart::Message(node) => out.messages.push((node, reader.value()?)),
            ReplyPart::Row(node) => out.rows.push((node, reader.value()?)),
            ReplyPart::End(is_enough) => out.is_enough = is_enough,
        }
        Ok(())
    })?;
    Ok(told.map(|()| Reply { states, out }))
}

/// Writes the needs of a program.
pub fn write_needs(needs: &Result<Needs, String>) -> Vec<u8> {
    let mut writer = WireWriter::default();
    match needs {
        Err(message) => {
            writer.byte(1);
            writer.text(message);
        }
        Ok(needs) => {
            writer.byte(0);
            writer.byte(u8::from(needs.edges));
            writer.byte(match needs.direction {
                EdgeDirection::Out => 0,
                EdgeDirection::In => 1,
                EdgeDirection::Both => 2,
            });
            writer.texts(&needs.types);
            writer.properties(&needs.properties);
            writer.properties(&needs.edge_properties);
            [needs.labels, needs.least, needs.ends].iter().for_each(|flag| writer.byte(u8::from(*flag)));
            writer.byte(u8::from(needs.everywhere.is_some()));
            writer.texts(needs.everywhere.as_deref().unwrap_or_default());
        }
    }
    writer.bytes
}

/// Reads the needs of a program, or why it refuses.
///
/// # Errors
/// The bytes are malformed.
pub fn read_needs(bytes: &[u8]) -> WireRead<Result<Needs, String>> {
    let mut reader = WireReader(bytes);
    let needs = match reader.byte()? {
        0 => {
            let edges = reader.flag()?;
            let direction = match reader.byte()? {
                0 => EdgeDirection::Out,
                1 => EdgeDirection::In,
                2 => EdgeDirection::Both,
                _ => return Err(Malformed("a direction is 0, 1 or 2")),
            };
            let types = reader.texts()?;
            let (properties, edge_properties) = (reader.properties()?, reader.properties()?);
            let (labels, least, ends) = (reader.flag()?, reader.flag()?, reader.flag()?);
            let (begins, at) = (reader.flag()?, reader.texts()?);
            let everywhere = begins.then_some(at);
            Ok(Needs {
                types,
                direction,
                edges,
                properties,
                edge_properties,
                labels,
                least,
                everywhere,
                ends,
            })
        }
        1 => Err(reader.text()?.to_string()),
        _ => return Err(Malformed("needs begin with 0 or 1")),
    };
    reader.end()?;
    Ok(needs)
}

/// Writes a call node by node, without a [`NodeCall`] in memory: the database's side.
#[derive(Default)]
pub struct CallWriter {
    names: WireWriter,
    places: BTreeMap<String, u32>,
    nodes: WireWriter,
    nodes_count: u32,
}

/// No labels, no properties, no edges: the end of a node of which none of them is wanted.
const NOTHING_OF_IT: [u8; 12] = [0; 12];

impl CallWriter {
    /// Ends a node of which no labels, properties and edges are wanted.
    pub fn nothing_of_it(&mut self) {
        self.nodes.bytes.extend_from_slice(&NOTHING_OF_IT);
    }
    /// The place of a name in the table.
    pub fn name(&mut self, name: &str) -> u32 {
        if let Some(place) = self.places.get(name) {
            return *place;
        }
        let place = self.places.len() as u32;
        self.names.text(name);
        self.places.insert(name.to_string(), place);
        place
    }
    /// Writes the place of a name.
    pub fn named(&mut self, name: &str) {
        let place = self.name(name);
        self.nodes.number(place);
    }
    /// The next node; the caller writes its parts in their order.
    pub fn node(&mut self) -> &mut WireWriter {
        self.nodes_count += 1;
        &mut self.nodes
    }
    /// Where the next part of the node is written.
    pub fn part(&mut self) -> &mut WireWriter {
        &mut self.nodes
    }
    /// The whole call.
    pub fn finish(self, parameters: &[u8], round: u32, is_end: bool) -> Vec<u8> {
        let length = parameters.len() + self.names.bytes.len() + self.nodes.bytes.len() + 16;
        let mut call = WireWriter { bytes: Vec::with_capacity(length) };
        call.bytes.extend_from_slice(parameters);
        call.number(round);
        call.byte(u8::from(is_end));
        call.length(self.places.len());
        call.bytes.extend_from_slice(&self.names.bytes);
        call.number(self.nodes_count);
        call.bytes.extend_from_slice(&self.nodes.bytes);
        call.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers that look random.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % bound
        }
        fn value(&mut self, depth: usize) -> Value {
            let count = self.below(4);
            match self.below(if depth < 3 { 10 } else { 8 }) {
                0 => Value::Null,
                1 => Value::Bool(true),
                2 => Value::Bool(false),
                3 => Value::Int(self.below(1 << 30) as i64 - 77),
                4 => Value::Float(self.below(100) as f64 / 3.0),
                5 => Value::Text("ä".repeat(count as usize)),
                6 => Value::Bytes(vec![7; count as usize]),
                7 => Value::Node(self.below(9)),
                8 => Value::List((0..count).map(|_| self.value(depth + 1)).collect()),
                _ => Value::Map((0..count).map(|at| (format!("k{at}"), self.value(depth + 1))).collect()),
            }
        }
    }

    #[test]
    fn what_is_written_is_read_back_and_nothing_else_is() {
        let mut dice = Dice(1);
        for _ in 0..300 {
            let states = (0..dice.below(4)).map(|_| dice.value(0)).collect();
            let pairs =
                |dice: &mut Dice| (0..dice.below(3)).map(|at| (at, dice.value(0))).collect::<Vec<_>>();
            let out = NodeOutbox {
                messages: pairs(&mut dice),
                rows: pairs(&mut dice),
                is_enough: dice.below(2) == 1,
            };
            let reply = Ok(Reply { states, out });
            let bytes = write_reply(&reply);
            assert_eq!(read_reply(&bytes), Ok(reply));
            // What is cut off, and what is longer, is refused; what is changed may be another reply, and never more than an error.
            (0..bytes.len()).for_each(|end| assert!(read_reply(&bytes[..end]).is_err()));
            assert!(read_reply(&[bytes.as_slice(), &[0]].concat()).is_err());
            let mut changed = bytes.clone();
            let at = dice.below(changed.len() as u64) as usize;
            changed[at] ^= 1 << dice.below(8);
            let _ = read_reply(&changed);
        }
        let needs = Ok(Needs { types: vec!["A".into()], least: true, ..Needs::both() });
        assert_eq!(read_needs(&write_needs(&needs)), Ok(needs));
        assert_eq!(read_needs(&write_needs(&Err("no".into()))), Ok(Err("no".into())));
    }

    #[test]
    fn depth_and_lengths_are_bounded() {
        let nested = |depth: usize| (0..depth).fold(Value::Null, |value, _| Value::List(vec![value]));
        assert!(read_value(&write_value(&nested(DEPTH_MAX))).is_ok());
        assert!(read_value(&write_value(&nested(DEPTH_MAX + 1))).is_err());
        assert!(read_value(&[8, 255, 255, 255, 255]).is_err());
        assert!(read_value(&[5, 2, 0, 0, 0, 0xff, 0xff]).is_err());
    }
}
