//! PackStream: values as bytes (specification: PackStream 1.0). Big-endian, each value behind a marker that tells type and size.
//!
//! Reading is for hostile input: every length is checked against the bytes there are, depth and sizes have limits, nothing is allocated by an
//! unverified length.

use crate::listener::crowd::ValueAccount;
use model::nested::VALUE_DEPTH_MAX;
use model::{Map, Value, ValueTooLarge};
use std::sync::Arc;

/// A field of a message.
#[derive(Clone, Debug)]
pub enum Field {
    /// A map: the parameters of a statement, or other named fields of a message. Its values may be as deep as any value.
    Map(Map),
    /// Anything else.
    Value(Value),
}

/// Why bytes are not an acceptable value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// They are malformed: the sender does not speak this protocol.
    Malformed(&'static str),
    /// They are a value that this server does not accept.
    Refused(&'static str),
}

use Unreadable::{Malformed, Refused};

impl From<ValueTooLarge> for Unreadable {
    fn from(error: ValueTooLarge) -> Unreadable {
        Refused(match error {
            ValueTooLarge::Deep => "a parameter is nested deeper than 128 lists and maps; flatten it",
            ValueTooLarge::Wide => TOO_MANY,
        })
    }
}

/// Values in one message: each takes 24 bytes here, and one byte may send it.
const VALUES_MAX: usize = 1 << 24;

const TOO_MANY: &str = "a message holds more than 16777216 values; send it in parts";

const _: () = assert!(VALUE_DEPTH_MAX == 128 && VALUES_MAX == 16_777_216, "the texts above say these");

/// The head of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// A list of this many elements, which follow.
    List(usize),
    /// A map of this many pairs, which follow.
    Map(usize),
    /// A structure with this tag.
    Structure(u8),
    /// Another value.
    Other,
}

/// Writes values.
#[derive(Debug, Default)]
pub struct Packer {
    /// The bytes written.
    pub bytes: Vec<u8>,
}

impl Packer {
    /// A structure's head: its tag; `fields` values follow.
    pub fn structure(&mut self, tag: u8, fields: u8) {
        debug_assert!(fields < 16);
        self.bytes.extend_from_slice(&[0xB0 | fields, tag]);
    }
    /// Null.
    pub fn null(&mut self) {
        self.bytes.push(0xC0);
    }
    /// A truth value.
    pub fn bool(&mut self, value: bool) {
        self.bytes.push(if value { 0xC3 } else { 0xC2 });
    }
    /// An integer, in as few bytes as it needs.
    pub fn int(&mut self, value: i64) {
        if let Ok(tiny) = i8::try_from(value) {
            if tiny < -16 {
                self.bytes.push(0xC8);
            }
            self.bytes.push(tiny as u8);
        } else if let Ok(short) = i16::try_from(value) {
            self.bytes.push(0xC9);
            self.bytes.extend_from_slice(&short.to_be_bytes());
        } else if let Ok(word) = i32::try_from(value) {
            self.bytes.push(0xCA);
            self.bytes.extend_from_slice(&word.to_be_bytes());
        } else {
            self.bytes.push(0xCB);
            self.bytes.extend_from_slice(&value.to_be_bytes());
        }
    }
    /// A float.
    pub fn float(&mut self, value: f64) {
        self.bytes.push(0xC1);
        self.bytes.extend_from_slice(&value.to_be_bytes());
    }
    /// Text.
    pub fn text(&mut self, text: &str) {
        self.sized(text.len(), Some(0x80), [0xD0, 0xD1, 0xD2]);
        self.bytes.extend_from_slice(text.as_bytes());
    }
    /// Bytes.
    pub fn blob(&mut self, blob: &[u8]) {
        self.sized(blob.len(), None, [0xCC, 0xCD, 0xCE]);
        self.bytes.extend_from_slice(blob);
    }
    /// A list's head; `len` values follow.
    pub fn list(&mut self, len: usize) {
        self.sized(len, Some(0x90), [0xD4, 0xD5, 0xD6]);
    }
    /// A map's head; `len` pairs of text and value follow.
    pub fn map(&mut self, len: usize) {
        self.sized(len, Some(0xA0), [0xD8, 0xD9, 0xDA]);
    }
    fn sized(&mut self, len: usize, tiny: Option<u8>, markers: [u8; 3]) {
        match (tiny, len) {
            (Some(tiny), 0..=15) => self.bytes.push(tiny | len as u8),
            (_, 0..=0xFF) => self.bytes.extend_from_slice(&[markers[0], len as u8]),
            (_, 0x100..=0xFFFF) => {
                self.bytes.push(markers[1]);
                self.bytes.extend_from_slice(&(len as u16).to_be_bytes());
            }
            _ => {
                self.bytes.push(markers[2]);
                self.bytes.extend_from_slice(&(len as u32).to_be_bytes());
            }
        }
    }
}

/// Reads values.
#[derive(Debug)]
pub struct Unpacker<'a> {
    bytes: &'a [u8],
    /// Values read so far: each takes many times the byte that it may be sent in.
    values: usize,
    account: Option<&'a mut ValueAccount>,
    /// Bytes that were taken from the account and are not used yet.
    room: usize,
    has_taken: bool,
}

/// Bytes that are taken from an account at first: no more than every connection may have.
const FIRST_ROOM_BYTES: usize = 64 << 10;
/// Bytes that are taken from it at once then.
const ROOM_BYTES: usize = 1 << 20;
/// Bytes of an element of a list: lists grow, and are copied once when they are whole.
const ELEMENT_BYTES: usize = 2 * size_of::<Value>();
/// Bytes of a pair of a map, without what key and value hold.
const PAIR_BYTES: usize = 2 * size_of::<(Arc<str>, Value)>();
/// Bytes of a text or a blob, beside its own.
const HEADER_BYTES: usize = 2 * size_of::<usize>();

impl<'a> Unpacker<'a> {
    /// A reader of these bytes.
    pub fn new(bytes: &'a [u8]) -> Unpacker<'a> {
        Unpacker::within(bytes, None)
    }
    /// A reader that charges its values to an account.
    pub(crate) fn within(bytes: &'a [u8], account: Option<&'a mut ValueAccount>) -> Unpacker<'a> {
        Unpacker { bytes, account, room: 0, has_taken: false, values: 0 }
    }
    /// Charges a value before it is made.
    fn make_room(&mut self, bytes: usize) -> Result<(), Unreadable> {
        let Some(account) = &mut self.account else { return Ok(()) };
        if self.room < bytes {
            let step = if self.has_taken { ROOM_BYTES } else { FIRST_ROOM_BYTES };
            self.has_taken = true;
            let more = (bytes - self.room).max(step);
            account.grow(more).map_err(Unreadable::Refused)?;
            self.room += more;
        }
        self.room -= bytes;
        Ok(())
    }
    /// Was everything read?
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
    fn take(&mut self, len: usize) -> Result<&'a [u8], Unreadable> {
        let (taken, rest) =
            self.bytes.split_at_checked(len).ok_or(Malformed("the message ends within a value"))?;
        self.bytes = rest;
        Ok(taken)
    }
    fn byte(&mut self) -> Result<u8, Unreadable> {
        Ok(self.take(1)?[0])
    }
    fn size(&mut self, len: usize) -> Result<usize, Unreadable> {
        Ok(self.take(len)?.iter().fold(0, |size, byte| size << 8 | *byte as usize))
    }
    /// A structure's head: tag and number of fields.
    pub fn structure(&mut self) -> Result<(u8, usize), Unreadable> {
        let marker = self.byte()?;
        if marker & 0xF0 != 0xB0 {
            return Err(Malformed("expected a structure"));
        }
        Ok((self.byte()?, (marker & 0x0F) as usize))
    }
    /// The next head. The heads of lists and maps are consumed; a structure's and any other value's are not.
    pub(super) fn head(&mut self) -> Result<Head, Unreadable> {
        let marker = *self.bytes.first().ok_or(Malformed("the message ends within a value"))?;
        let tiny = (marker & 0x0F) as usize;
        let len = match marker {
            0x90..=0xAF => {
                self.byte()?;
                tiny
            }
            0xD4..=0xD6 => {
                self.byte()?;
                self.size(1 << (marker - 0xD4))?
            }
            0xD8..=0xDA => {
                self.byte()?;
                self.size(1 << (marker - 0xD8))?
            }
            0xB0..=0xBF => {
                let tag = self.bytes.get(1).ok_or(Malformed("the message ends within a value"))?;
                return Ok(Head::Structure(*tag));
            }
            _ => return Ok(Head::Other),
        };
        // Each element takes a byte at least.
        if len > self.bytes.len() {
            return Err(Malformed("the message ends within a list or a map"));
        }
        Ok(if matches!(marker, 0x90..=0x9F | 0xD4..=0xD6) { Head::List(len) } else { Head::Map(len) })
    }
    /// Any value; structures are temporal values and points.
    pub fn value(&mut self) -> Result<Value, Unreadable> {
        // One level more than lists and maps may have: what is in the innermost.
        self.value_within(VALUE_DEPTH_MAX + 1)
    }
    /// A field of a message.
    pub fn field(&mut self) -> Result<Field, Unreadable> {
        let len = match self.bytes.first() {
            Some(marker @ 0xA0..=0xAF) => {
                self.byte()?;
                (marker & 0x0F) as usize
            }
            Some(marker @ 0xD8..=0xDA) => {
                self.byte()?;
                self.size(1 << (marker - 0xD8))?
            }
            _ => return Ok(Field::Value(self.value()?)),
        };
        Ok(Field::Map(self.pairs_of(len, VALUE_DEPTH_MAX + 1)?.into_iter().collect()))
    }
    fn value_within(&mut self, depth: usize) -> Result<Value, Unreadable> {
        let depth = depth.checked_sub(1).ok_or(ValueTooLarge::Deep)?;
        self.values += 1;
        if self.values > VALUES_MAX {
            return Err(Refused(TOO_MANY));
        }
        let marker = self.byte()?;
        Ok(match marker {
            0x00..=0x7F | 0xF0..=0xFF => Value::Int(marker as i8 as i64),
            0x80..=0x8F => self.text_of((marker & 0x0F) as usize)?.into(),
            0x90..=0x9F => self.list_of((marker & 0x0F) as usize, depth)?,
            0xA0..=0xAF => self.map_of((marker & 0x0F) as usize, depth)?,
            0xB0..=0xBF => {
                let tag = self.byte()?;
                let fields =
                    (0..marker & 0x0F).map(|_| self.value_within(depth)).collect::<Result<Vec<_>, _>>()?;
                super::structure::value_from(tag, &fields)?
            }
            0xC0 => Value::Null,
            0xC1 => Value::Float(f64::from_be_bytes(self.take(8)?.try_into().expect("eight bytes"))),
            0xC2 => Value::Bool(false),
            0xC3 => Value::Bool(true),
            0xC8 => Value::Int(self.byte()? as i8 as i64),
            0xC9 => Value::Int(i16::from_be_bytes(self.take(2)?.try_into().expect("two bytes")) as i64),
            0xCA => Value::Int(i32::from_be_bytes(self.take(4)?.try_into().expect("four bytes")) as i64),
            0xCB => Value::Int(i64::from_be_bytes(self.take(8)?.try_into().expect("eight bytes"))),
            0xCC..=0xCE => {
                let len = self.size(1 << (marker - 0xCC))?;
                let blob = self.take(len)?;
                self.make_room(len + HEADER_BYTES)?;
                Value::Bytes(Arc::from(blob))
            }
            0xD0..=0xD2 => {
                let len = self.size(1 << (marker - 0xD0))?;
                self.text_of(len)?.into()
            }
            0xD4..=0xD6 => {
                let len = self.size(1 << (marker - 0xD4))?;
                self.list_of(len, depth)?
            }
            0xD8..=0xDA => {
                let len = self.size(1 << (marker - 0xD8))?;
                self.map_of(len, depth)?
            }
            _ => return Err(Malformed("unknown marker")),
        })
    }
    fn text_of(&mut self, len: usize) -> Result<&'a str, Unreadable> {
        let text = self.take(len)?;
        self.make_room(len + HEADER_BYTES)?;
        std::str::from_utf8(text).map_err(|_| Malformed("text is not UTF-8"))
    }
    fn list_of(&mut self, len: usize, depth: usize) -> Result<Value, Unreadable> {
        // An element takes a byte at least, so a length beyond what is there is a lie; nothing is reserved on its word.
        if len > self.bytes.len() {
            return Err(Malformed("the message ends within a list"));
        }
        let mut elements = Vec::new();
        for _ in 0..len {
            self.make_room(ELEMENT_BYTES)?;
            elements.push(self.value_within(depth)?);
        }
        Ok(Value::try_list(elements)?)
    }
    fn map_of(&mut self, len: usize, depth: usize) -> Result<Value, Unreadable> {
        Ok(Value::try_map(self.pairs_of(len, depth)?)?)
    }
    fn pairs_of(&mut self, len: usize, depth: usize) -> Result<Vec<(Arc<str>, Value)>, Unreadable> {
        let mut pairs = Vec::new();
        for _ in 0..len {
            self.make_room(PAIR_BYTES)?;
            let Value::String(key) = self.value_within(depth)? else {
                return Err(Malformed("a map key is not text"));
            };
            pairs.push((key, self.value_within(depth)?));
        }
        Ok(pairs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(value: Value) {
        let mut packer = Packer::default();
        super::super::structure::pack(&mut packer, &value, true);
        let mut unpacker = Unpacker::new(&packer.bytes);
        let back = unpacker.value().unwrap();
        assert!(unpacker.is_empty());
        assert!(model::compare::equivalent(&value, &back), "{value:?} came back as {back:?}");
    }

    #[test]
    fn values_come_back() {
        let edges =
            [0, 1, -1, -16, -17, 127, 128, -128, -129, 32_767, 32_768, -32_768, -32_769, i64::MAX, i64::MIN];
        edges.iter().for_each(|int| round_trip(Value::Int(*int)));
        [0, 15, 16, 255, 256, 65_535, 65_536].iter().for_each(|len| round_trip("x".repeat(*len).into()));
        [0, 15, 16, 300, 70_000].iter().for_each(|len| round_trip(Value::list(vec![Value::Null; *len])));
        round_trip(Value::map((0..300).map(|i| (format!("k{i}"), Value::Float(i as f64)))));
        round_trip(Value::Bytes(vec![1, 2, 3].into()));
    }

    #[test]
    fn lies_about_length_are_errors() {
        for bytes in [
            &[0xD6, 0xFF, 0xFF, 0xFF, 0xFF][..],
            &[0xD2, 0x7F, 0xFF, 0xFF, 0xFF],
            &[0xDA, 0xFF, 0xFF, 0xFF, 0xFF],
            &[0xC1, 0],
            &[0xDF],
            &[],
        ] {
            assert!(Unpacker::new(bytes).value().is_err());
        }
        assert!(Unpacker::new(&[0x91; 100_000]).value().is_err(), "nesting is bounded");
    }
}
