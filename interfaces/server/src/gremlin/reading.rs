//! Reading GraphBinary 1.0: values, predicates and traversals from a client.
//!
//! Every length is checked against the remaining bytes before memory is allocated, and nesting has a limit: a hostile message costs no more than its
//! own size.

use super::status::Status;
use gremlin::limits::INSTRUCTIONS_MAX;
pub use gremlin::limits::NESTING_DEPTH_MAX;
use gremlin::object::{Decimal, Instant, ReferenceKind};
use gremlin::{Argument, Instruction, Object, Reference, Strategy, Token, bytecode};
use model::temporal::calendar::days_of;
use std::fmt;
use std::sync::Arc;

/// Bytes that are no GraphBinary, or contain unsupported types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    why: String,
    /// A script error where the same traversal as a text is one.
    pub status: Status,
}

impl Malformed {
    /// The message is no message.
    pub fn new(why: impl Into<String>) -> Malformed {
        Malformed { why: why.into(), status: Status::MalformedRequest }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.status == Status::MalformedRequest {
            f.write_str("the message cannot be read: ")?;
        }
        f.write_str(&self.why)
    }
}

fn malformed<T>(why: impl Into<String>) -> Result<T, Malformed> {
    Err(Malformed::new(why))
}

/// Charges further bytes while values are unpacked.
pub type Room<'r> = dyn FnMut(usize) -> Result<(), &'static str> + 'r;

/// Bytes of values that are charged at once.
const ROOM_BYTES: usize = 64 << 10;
/// Bytes that a value takes beside its text: itself, and its slot in the enclosing value.
pub(super) const VALUE_BYTES: usize = 2 * size_of::<Argument>();

/// Bytes that an instruction takes, as it is read and as a part of its traversal, beside its arguments.
const INSTRUCTION_BYTES: usize = size_of::<bytecode::Written<'_>>() + 2 * size_of::<Instruction>();

/// Nanoseconds of a second.
const NANOS: i64 = 1_000_000_000;

/// Reads from the front of a message.
pub struct Reader<'m> {
    bytes: &'m [u8],
    depth: usize,
    /// Bytes that are not charged yet.
    owed: usize,
    room: Option<&'m mut Room<'m>>,
}

impl<'m> Reader<'m> {
    /// Begins at the front.
    pub fn new(bytes: &'m [u8]) -> Reader<'m> {
        Reader { bytes, depth: 0, owed: 0, room: None }
    }
    /// Begins at the front; values are charged by `room`.
    pub fn within(bytes: &'m [u8], room: &'m mut Room<'m>) -> Reader<'m> {
        Reader { room: Some(room), ..Reader::new(bytes) }
    }
    /// Counts `bytes` more.
    fn holds(&mut self, bytes: usize) -> Result<(), Malformed> {
        self.owed += bytes;
        if self.owed < ROOM_BYTES {
            return Ok(());
        }
        let owed = std::mem::take(&mut self.owed);
        self.room.as_mut().map_or(Ok(()), |room| room(owed)).map_err(Malformed::new)
    }
    /// Nothing left?
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
    fn take(&mut self, count: usize) -> Result<&'m [u8], Malformed> {
        match self.bytes.split_at_checked(count) {
            Some((taken, rest)) => {
                self.bytes = rest;
                Ok(taken)
            }
            None => malformed(format!("it ends {} bytes too soon", count - self.bytes.len())),
        }
    }
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let taken = self.take(N)?;
        taken.try_into().map_err(|_| Malformed::new("it ends too soon"))
    }
    /// One byte.
    pub fn byte(&mut self) -> Result<u8, Malformed> {
        Ok(self.array::<1>()?[0])
    }
    /// A 32-bit whole number.
    pub fn int(&mut self) -> Result<i32, Malformed> {
        Ok(i32::from_be_bytes(self.array()?))
    }
    fn long(&mut self) -> Result<i64, Malformed> {
        Ok(i64::from_be_bytes(self.array()?))
    }
    /// A number of things that follow, each of which takes at least a byte.
    fn count(&mut self) -> Result<usize, Malformed> {
        let count = self.int()?;
        match usize::try_from(count) {
            Ok(count) if count <= self.bytes.len() => Ok(count),
            _ => malformed(format!("{count} things are promised, {} bytes are left", self.bytes.len())),
        }
    }
    /// Text without a type in front.
    pub fn text(&mut self) -> Result<&'m str, Malformed> {
        let count = self.count()?;
        std::str::from_utf8(self.take(count)?).map_err(|_| Malformed::new("a text is not UTF-8"))
    }
    /// A UUID without a type in front.
    pub fn uuid(&mut self) -> Result<u128, Malformed> {
        Ok(u128::from_be_bytes(self.array()?))
    }

    /// A value with its type in front.
    pub fn argument(&mut self) -> Result<Argument, Malformed> {
        self.holds(VALUE_BYTES)?;
        let code = self.byte()?;
        let is_null = self.byte()? & 1 == 1;
        if is_null {
            return Ok(Argument::Value(Object::Null));
        }
        self.depth += 1;
        if self.depth > NESTING_DEPTH_MAX {
            return malformed(format!("values are nested deeper than {NESTING_DEPTH_MAX}"));
        }
        let found = self.of_type(code);
        self.depth -= 1;
        found
    }
    /// A value that is neither a predicate nor a traversal.
    pub fn object(&mut self) -> Result<Object, Malformed> {
        match self.argument()? {
            Argument::Value(value) => Ok(value),
            _ => malformed("a traversal or predicate stands where a value belongs"),
        }
    }
    fn of_type(&mut self, code: u8) -> Result<Argument, Malformed> {
        Ok(Argument::Value(match code {
            0x01 => Object::Int(self.int()?),
            0x02 => Object::Long(self.long()?),
            0x03 | 0x06 => Object::string(self.text()?),
            0x04 | 0x05 => {
                let millis = self.long()?;
                let (seconds, rest) = (millis.div_euclid(1_000), millis.rem_euclid(1_000) as u32);
                Object::DateTime(Arc::new(Instant { seconds, nanos: rest * 1_000_000, offset_seconds: 0 }))
            }
            0x07 => Object::Double(f64::from_be_bytes(self.array()?)),
            0x08 => Object::Float(f32::from_be_bytes(self.array()?)),
            0x09 => Object::list(self.objects()?),
            0x0a => Object::map(self.pairs()?),
            0x0b => bytecode::set(self.objects()?),
            0x0c => Object::Uuid(Arc::new(self.uuid()?)),
            0x0d => return self.edge(),
            0x11 => {
                let (id, label) = (self.object()?, self.text()?.into());
                self.argument()?;
                Object::Reference(Arc::new(Reference { kind: ReferenceKind::Vertex, id, label }))
            }
            0x12 => {
                let (id, label) = (self.object()?, self.text()?.into());
                (0..3).try_for_each(|_| self.argument().map(drop))?;
                Object::Reference(Arc::new(Reference { kind: ReferenceKind::VertexProperty, id, label }))
            }
            0x13 => self.token("Barrier")?,
            0x14 => {
                self.text()?;
                return self.argument();
            }
            0x15 => return self.bytecode(),
            0x16 => self.token("Cardinality")?,
            0x17 => self.token("Column")?,
            0x18 => self.token("Direction")?,
            0x19 => self.token("Operator")?,
            0x1a => self.token("Order")?,
            0x1b => self.token("Pick")?,
            0x1c => self.token("Pop")?,
            0x1d => return malformed("lambdas are not run; say it in steps"),
            0x1e | 0x28 => return self.predicate(),
            0x1f => self.token("Scope")?,
            0x20 => self.token("T")?,
            0x22 => {
                let scale = self.int()?;
                Object::BigDecimal(Arc::new(Decimal { unscaled: self.big()?, scale }))
            }
            0x23 => Object::BigInt(Arc::new(self.big()?)),
            0x24 => Object::Byte(i8::from_be_bytes(self.array()?)),
            0x25 => {
                let count = self.count()?;
                Object::Binary(self.take(count)?.into())
            }
            0x26 => Object::Short(i16::from_be_bytes(self.array()?)),
            0x27 => Object::Bool(self.byte()? != 0),
            0x29 => return self.strategy(),
            0x2e => self.token("Merge")?,
            0x2f => self.token("DT")?,
            0x30 => self.token("GType")?,
            0x80 => self.char()?,
            0x81 => {
                let (seconds, nanos) = (self.long()?, i64::from(self.int()?));
                let Some(seconds) = seconds.checked_add(nanos.div_euclid(NANOS)) else {
                    return malformed("a duration is too long");
                };
                Object::Duration(seconds, nanos.rem_euclid(NANOS) as u32)
            }
            0x88 => self.offset_date_time()?,
            other => return malformed(format!("type {other:#04x} of GraphBinary is not supported")),
        }))
    }
    fn objects(&mut self) -> Result<Vec<Object>, Malformed> {
        let count = self.count()?;
        (0..count).map(|_| self.object()).collect()
    }
    /// Pairs of a map without a type in front.
    pub fn pairs(&mut self) -> Result<Vec<(Object, Object)>, Malformed> {
        let count = self.count()?;
        (0..count).map(|_| Ok((self.object()?, self.object()?))).collect()
    }
    /// As [`Reader::pairs`], where values may be traversals.
    pub fn named_arguments(&mut self) -> Result<Vec<(Arc<str>, Argument)>, Malformed> {
        let count = self.count()?;
        let pair = |reader: &mut Self| match reader.object()? {
            Object::String(name) => Ok((name, reader.argument()?)),
            _ => malformed("an argument has no name"),
        };
        (0..count).map(|_| pair(self)).collect()
    }
    fn edge(&mut self) -> Result<Argument, Malformed> {
        let (id, label) = (self.object()?, self.text()?.into());
        // Its ends, then its parent and its properties.
        for _ in 0..2 {
            self.object()?;
            self.text()?;
        }
        (0..2).try_for_each(|_| self.argument().map(drop))?;
        Ok(Object::Reference(Arc::new(Reference { kind: ReferenceKind::Edge, id, label })).into())
    }
    fn token(&mut self, class: &str) -> Result<Object, Malformed> {
        let Object::String(name) = self.object()? else { return malformed(format!("a {class} has no name")) };
        match Token::parse(class, &name) {
            Some(token) => Ok(Object::Token(token)),
            None => malformed(format!("there is no {class}.{name}")),
        }
    }
    fn predicate(&mut self) -> Result<Argument, Malformed> {
        let name = self.text()?;
        let count = self.count()?;
        let arguments = (0..count).map(|_| self.argument()).collect::<Result<Vec<_>, _>>()?;
        let predicate = bytecode::predicate(name, arguments).map_err(Malformed::new)?;
        Ok(Argument::Predicate(predicate))
    }
    fn strategy(&mut self) -> Result<Argument, Malformed> {
        let class = self.text()?;
        let name = class.rsplit(['.', '$']).next().unwrap_or(class).into();
        Ok(Argument::Strategy(Strategy { name, options: self.named_arguments()? }))
    }
    fn instructions(&mut self) -> Result<Vec<bytecode::Written<'m>>, Malformed> {
        let count = self.count()?;
        // Each becomes many times the bytes that it is sent in.
        if count > INSTRUCTIONS_MAX {
            let why = format!("the traversal has more than {INSTRUCTIONS_MAX} steps");
            return Err(Malformed { why, status: Status::ScriptError });
        }
        let instruction = |reader: &mut Self| {
            reader.holds(INSTRUCTION_BYTES)?;
            let name = reader.text()?;
            let count = reader.count()?;
            let arguments = (0..count).map(|_| reader.argument()).collect::<Result<_, _>>()?;
            Ok((name, arguments))
        };
        (0..count).map(|_| instruction(self)).collect()
    }
    fn bytecode(&mut self) -> Result<Argument, Malformed> {
        let (steps, sources) = (self.instructions()?, self.instructions()?);
        Ok(bytecode::traversal(sources, steps))
    }
    fn big(&mut self) -> Result<i128, Malformed> {
        let count = self.count()?;
        let bytes = self.take(count)?;
        if count > 16 {
            return malformed("whole numbers beyond 128 bits are not supported");
        }
        let sign = if bytes.first().is_some_and(|first| first & 0x80 != 0) { 0xff } else { 0 };
        let mut whole = [sign; 16];
        whole[16 - count..].copy_from_slice(bytes);
        Ok(i128::from_be_bytes(whole))
    }
    fn char(&mut self) -> Result<Object, Malformed> {
        let first = self.byte()?;
        let more = match first {
            0..0x80 => 0,
            0xc0..0xe0 => 1,
            0xe0..0xf0 => 2,
            0xf0..=0xff => 3,
            _ => return malformed("a character is not UTF-8"),
        };
        let mut bytes = vec![first];
        bytes.extend_from_slice(self.take(more)?);
        let text = std::str::from_utf8(&bytes).ok().and_then(|text| text.chars().next());
        text.map(Object::Char).ok_or_else(|| Malformed::new("a character is not UTF-8"))
    }
    fn offset_date_time(&mut self) -> Result<Object, Malformed> {
        let (year, month, day) = (self.int()?, self.byte()?, self.byte()?);
        let (nanos, offset_seconds) = (self.long()?, self.int()?);
        let days = days_of(i64::from(year), i64::from(month), i64::from(day));
        let seconds = days * 86_400 + nanos.div_euclid(1_000_000_000) - i64::from(offset_seconds);
        let nanos = nanos.rem_euclid(1_000_000_000) as u32;
        Ok(Object::DateTime(Arc::new(Instant { seconds, nanos, offset_seconds })))
    }
}
