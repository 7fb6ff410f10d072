//! Bytes out and in: variable-length integers, texts and values, every read checked against what is left.
//!
//! Integers are LEB128 (seven bits a byte, low first); signed ones are zigzag-coded first. No length is trusted before it is certain that the bytes
//! exist, so corrupt input costs an error and no memory.

use crate::StoreError;
use model::nested::VALUE_DEPTH_MAX;
use model::temporal::{Date, Duration, LocalDateTime, LocalTime, ZonedDateTime, ZonedTime};
use model::value::{Path, Point};
use model::{EdgeId, EdgeRef, Map, MapValue, Value, VertexId, walk};
use std::sync::Arc;

/// In debug builds, and so in tests: checks that the reader of a structure accepts the writer's output.
pub(crate) fn debug_read_back<T>(read: impl FnOnce() -> Result<T, StoreError>) {
    if cfg!(debug_assertions)
        && let Err(error) = read()
    {
        panic!("what was encoded does not decode: {error}");
    }
}

/// Elements of a list that are written without a look whether the work is over.
const ELEMENTS_PER_LOOK: usize = 256;

/// Bytes that are copied without checking whether the work is over.
const RAW_BYTES_PER_LOOK: usize = 1 << 20;

/// The same in units of work.
const LOOK_NOW: usize = RAW_BYTES_PER_LOOK / 128;

/// Appends to a buffer.
#[derive(Default, Debug)]
pub(crate) struct Writer {
    pub(crate) bytes: Vec<u8>,
    end: End,
}

/// May the end of the work end a writer?
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
enum End {
    /// The output is never cut off.
    #[default]
    Never,
    May,
    /// It did: a part is missing.
    Cut,
}

impl Writer {
    pub(crate) fn new() -> Writer {
        Writer::default()
    }
    /// One that appends to these bytes.
    pub(crate) fn behind(bytes: Vec<u8>) -> Writer {
        Writer { bytes, end: End::Never }
    }
    /// A writer that leaves out the rest of a large value once the work of this thread is over ([`model::walk`]).
    pub(crate) fn endable(bytes: Vec<u8>) -> Writer {
        Writer { bytes, end: End::May }
    }
    /// Was anything left out?
    pub(crate) fn is_cut(&self) -> bool {
        self.end == End::Cut
    }
    /// Counts work; true where the rest is to be left out.
    fn ends(&mut self, units: usize) -> bool {
        if self.end == End::May && walk::spend(units).is_err() {
            self.end = End::Cut;
        }
        self.end == End::Cut
    }
    pub(crate) fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }
    pub(crate) fn uint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
    pub(crate) fn size(&mut self, value: usize) {
        self.uint(value as u64);
    }
    pub(crate) fn int(&mut self, value: i64) {
        self.uint(((value << 1) ^ (value >> 63)) as u64);
    }
    pub(crate) fn word(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }
    pub(crate) fn raw(&mut self, bytes: &[u8]) {
        if bytes.len() <= RAW_BYTES_PER_LOOK {
            return self.bytes.extend_from_slice(bytes);
        }
        for piece in bytes.chunks(RAW_BYTES_PER_LOOK) {
            if self.ends(LOOK_NOW) {
                return;
            }
            self.bytes.extend_from_slice(piece);
        }
    }
    pub(crate) fn text(&mut self, text: &str) {
        self.size(text.len());
        self.raw(text.as_bytes());
    }
    pub(crate) fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.byte(0),
            Value::Bool(false) => self.byte(1),
            Value::Bool(true) => self.byte(2),
            Value::Int(int) => {
                self.byte(3);
                self.int(*int);
            }
            Value::Float(float) => {
                self.byte(4);
                self.word(float.to_bits());
            }
            Value::String(text) => {
                self.byte(5);
                self.text(text);
            }
            Value::Bytes(bytes) => {
                self.byte(6);
                self.size(bytes.len());
                self.raw(bytes);
            }
            Value::List(list) => {
                self.byte(7);
                self.size(list.len());
                for piece in list.chunks(ELEMENTS_PER_LOOK) {
                    if self.ends(piece.len()) {
                        return;
                    }
                    piece.iter().for_each(|value| self.value(value));
                }
            }
            Value::Map(map) => {
                self.byte(8);
                self.size(map.len());
                for (key, value) in map.iter() {
                    if self.ends(1) {
                        return;
                    }
                    self.text(key);
                    self.value(value);
                }
            }
            Value::Vertex(vertex) => {
                self.byte(9);
                self.uint(vertex.0);
            }
            Value::Edge(edge) => {
                self.byte(10);
                self.edge(edge);
            }
            Value::Path(path) => {
                self.byte(11);
                self.size(path.edges.len());
                path.vertices.iter().for_each(|vertex| self.uint(vertex.0));
                path.edges.iter().for_each(|edge| self.edge(edge));
            }
            Value::Point(point) => self.point(point),
            _ => self.temporal(value),
        }
    }
    fn point(&mut self, point: &Point) {
        self.byte(if point.z.is_some() { 13 } else { 12 });
        self.uint(point.srid as u64);
        self.word(point.x.to_bits());
        self.word(point.y.to_bits());
        if let Some(z) = point.z {
            self.word(z.to_bits());
        }
    }
    fn temporal(&mut self, value: &Value) {
        match value {
            Value::Date(date) => {
                self.byte(14);
                self.int(date.days);
            }
            Value::LocalTime(time) => {
                self.byte(15);
                self.uint(time.nanos);
            }
            Value::Time(time) => {
                self.byte(16);
                self.uint(time.nanos);
                self.int(time.offset_seconds as i64);
            }
            Value::LocalDateTime(time) => {
                self.byte(17);
                self.int(time.seconds);
                self.uint(time.nanos as u64);
            }
            Value::DateTime(time) => {
                self.byte(if time.zone.is_some() { 19 } else { 18 });
                self.int(time.seconds);
                self.uint(time.nanos as u64);
                self.int(time.offset_seconds as i64);
                if let Some(zone) = &time.zone {
                    self.text(zone);
                }
            }
            Value::Duration(duration) => {
                self.byte(20);
                self.int(duration.months);
                self.int(duration.days);
                self.int(duration.seconds);
                self.uint(duration.nanos as u64);
            }
            _ => unreachable!("every other value is written by Writer::value"),
        }
    }
    pub(crate) fn edge(&mut self, edge: &EdgeRef) {
        self.uint(edge.id.0);
        self.uint(edge.source.0);
        self.uint(edge.target.0);
    }
    /// Appends the checksum of all bytes so far; [`Reader::checked`] is its inverse.
    pub(crate) fn seal(mut self) -> Vec<u8> {
        let checksum = crc32fast::hash(&self.bytes);
        self.bytes.extend_from_slice(&checksum.to_le_bytes());
        self.bytes
    }
}

/// Reads from a buffer; every method fails instead of reading past the end.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    what: &'static str,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], what: &'static str) -> Reader<'a> {
        Reader { bytes, at: 0, what }
    }
    /// A reader over the content of a sealed buffer, its checksum verified.
    pub(crate) fn checked(bytes: &'a [u8], what: &'static str) -> Result<Reader<'a>, StoreError> {
        let Some((content, checksum)) = bytes.split_last_chunk::<4>() else {
            return Err(StoreError::corrupt(format!("{what}: too short")));
        };
        if crc32fast::hash(content) != u32::from_le_bytes(*checksum) {
            return Err(StoreError::corrupt(format!("{what}: checksum does not match")));
        }
        Ok(Reader::new(content, what))
    }
    #[cold]
    pub(crate) fn fail(&self, why: &str) -> StoreError {
        StoreError::corrupt(format!("{} at byte {}: {why}", self.what, self.at))
    }
    /// Bytes that were read.
    pub(crate) fn position(&self) -> usize {
        self.at
    }
    pub(crate) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }
    pub(crate) fn byte(&mut self) -> Result<u8, StoreError> {
        let byte = *self.bytes.get(self.at).ok_or_else(|| self.fail("ends early"))?;
        self.at += 1;
        Ok(byte)
    }
    #[inline]
    pub(crate) fn uint(&mut self) -> Result<u64, StoreError> {
        match self.short() {
            Some((value, length)) => {
                self.at += length;
                Ok(value)
            }
            None => self.uint_slowly(),
        }
    }
    fn uint_slowly(&mut self) -> Result<u64, StoreError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            if shift == 63 && byte > 1 {
                break;
            }
            value |= ((byte & 0x7f) as u64) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.fail("integer too long"))
    }
    /// The next integer and its length, where it has up to five bytes and eight are left: most bytes of a chunk are such integers.
    #[inline]
    fn short(&self) -> Option<(u64, usize)> {
        let word = u64::from_le_bytes(*self.bytes[self.at..].first_chunk::<8>()?);
        let ends = !word & 0x80_8080_8080;
        if ends == 0 {
            return None;
        }
        let length = ends.trailing_zeros() as usize / 8 + 1;
        let word = word & (u64::MAX >> (64 - 8 * length));
        let low = word & 0x7f | (word >> 1) & 0x3f80 | (word >> 2) & 0x1f_c000;
        Some((low | (word >> 3) & 0xfe0_0000 | (word >> 4) & 0x7_f000_0000, length))
    }
    #[inline]
    pub(crate) fn uint32(&mut self) -> Result<u32, StoreError> {
        if let Some((value, length)) = self.short()
            && let Ok(value) = u32::try_from(value)
        {
            self.at += length;
            return Ok(value);
        }
        self.uint32_slowly()
    }
    /// This many integers.
    pub(crate) fn uint32s(&mut self, count: usize) -> Result<Box<[u32]>, StoreError> {
        let mut all = Vec::new();
        self.append_uint32s(count, &mut all)?;
        Ok(all.into())
    }
    /// Appends this many integers.
    pub(crate) fn append_uint32s(&mut self, count: usize, all: &mut Vec<u32>) -> Result<(), StoreError> {
        if count > self.left() {
            return Err(self.fail("ends early"));
        }
        all.reserve(count);
        for _ in 0..count {
            all.push(self.uint32()?);
        }
        Ok(())
    }
    fn uint32_slowly(&mut self) -> Result<u32, StoreError> {
        let value = self.uint()?;
        u32::try_from(value).map_err(|_| self.fail("integer above 32 bits"))
    }
    pub(crate) fn uint16(&mut self) -> Result<u16, StoreError> {
        let value = self.uint()?;
        u16::try_from(value).map_err(|_| self.fail("integer above 16 bits"))
    }
    /// A count of things that each take at least one of the bytes left.
    pub(crate) fn count(&mut self) -> Result<usize, StoreError> {
        let value = self.uint()?;
        if value > self.left() as u64 {
            Err(self.fail("count exceeds the bytes left"))
        } else {
            Ok(value as usize)
        }
    }
    pub(crate) fn int(&mut self) -> Result<i64, StoreError> {
        let folded = self.uint()?;
        Ok((folded >> 1) as i64 ^ -((folded & 1) as i64))
    }
    pub(crate) fn int32(&mut self) -> Result<i32, StoreError> {
        let value = self.int()?;
        i32::try_from(value).map_err(|_| self.fail("integer above 32 bits"))
    }
    pub(crate) fn word(&mut self) -> Result<u64, StoreError> {
        Ok(u64::from_le_bytes(self.raw(8)?.try_into().expect("eight bytes were read")))
    }
    pub(crate) fn raw(&mut self, len: usize) -> Result<&'a [u8], StoreError> {
        if len > self.left() {
            return Err(self.fail("ends early"));
        }
        let bytes = &self.bytes[self.at..self.at + len];
        self.at += len;
        Ok(bytes)
    }
    pub(crate) fn text(&mut self) -> Result<&'a str, StoreError> {
        let len = self.count()?;
        let bytes = self.raw(len)?;
        std::str::from_utf8(bytes).map_err(|_| self.fail("text is not UTF-8"))
    }
    /// A value; one that is nested too deep or too large is taken for corruption.
    pub(crate) fn value(&mut self) -> Result<Value, StoreError> {
        self.value_within(VALUE_DEPTH_MAX + 1)
    }
    fn value_within(&mut self, depth: usize) -> Result<Value, StoreError> {
        let Some(depth) = depth.checked_sub(1) else { return Err(self.fail("value nested too deep")) };
        Ok(match self.byte()? {
            0 => Value::Null,
            1 => Value::Bool(false),
            2 => Value::Bool(true),
            3 => Value::Int(self.int()?),
            4 => Value::Float(f64::from_bits(self.word()?)),
            5 => Value::string(self.text()?),
            6 => {
                let len = self.count()?;
                Value::Bytes(self.raw(len)?.into())
            }
            7 => {
                let len = self.count()?;
                let elements = (0..len).map(|_| self.value_within(depth)).collect::<Result<_, _>>()?;
                Value::try_list(elements).map_err(|_| self.fail("list too large"))?
            }
            8 => {
                let mut map = Map::new();
                for _ in 0..self.count()? {
                    let key: Arc<str> = self.text()?.into();
                    map.insert(key, self.value_within(depth)?);
                }
                Value::Map(MapValue::new(map).map_err(|_| self.fail("map too large"))?)
            }
            9 => Value::Vertex(VertexId(self.uint()?)),
            10 => Value::edge(self.edge()?),
            11 => {
                let len = self.count()?;
                let vertices = (0..=len).map(|_| self.uint().map(VertexId)).collect::<Result<_, _>>()?;
                let edges = (0..len).map(|_| self.edge()).collect::<Result<_, _>>()?;
                Value::Path(Arc::new(Path { vertices, edges }))
            }
            tag => self.scalar(tag)?,
        })
    }
    fn float(&mut self) -> Result<f64, StoreError> {
        Ok(f64::from_bits(self.word()?))
    }
    fn scalar(&mut self, tag: u8) -> Result<Value, StoreError> {
        Ok(match tag {
            12 | 13 => {
                let (srid, x, y) = (self.uint32()?, self.float()?, self.float()?);
                let z = if tag == 13 { Some(self.float()?) } else { None };
                Value::Point(Arc::new(Point { srid, x, y, z }))
            }
            14 => Value::Date(Date { days: self.int()? }),
            15 => Value::LocalTime(LocalTime { nanos: self.uint()? }),
            16 => Value::Time(ZonedTime { nanos: self.uint()?, offset_seconds: self.int32()? }),
            17 => Value::LocalDateTime(LocalDateTime { seconds: self.int()?, nanos: self.uint32()? }),
            18 | 19 => {
                let (seconds, nanos, offset_seconds) = (self.int()?, self.uint32()?, self.int32()?);
                let zone = if tag == 19 { Some(self.text()?.into()) } else { None };
                Value::from(ZonedDateTime { seconds, nanos, offset_seconds, zone })
            }
            20 => Value::from(Duration {
                months: self.int()?,
                days: self.int()?,
                seconds: self.int()?,
                nanos: self.uint32()?,
            }),
            _ => return Err(self.fail("unknown kind of value")),
        })
    }
    pub(crate) fn edge(&mut self) -> Result<EdgeRef, StoreError> {
        Ok(EdgeRef {
            id: EdgeId(self.uint()?),
            source: VertexId(self.uint()?),
            target: VertexId(self.uint()?),
        })
    }
    /// Fails unless all bytes were read.
    pub(crate) fn finish(&self) -> Result<(), StoreError> {
        if self.left() == 0 { Ok(()) } else { Err(self.fail("bytes left over")) }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, clippy::disallowed_types)]
    use super::*;

    #[test]
    fn integers_taken_at_once_are_those_taken_byte_by_byte() {
        let mut state = 20_261_122_u64;
        println!("seed {state}");
        for _ in 0..20_000 {
            let mut bytes: Vec<u8> = Vec::new();
            for _ in 0..12 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let byte = (state >> 40) as u8;
                bytes.push(if state >> 62 == 0 { byte & 0x7f } else { byte });
            }
            let (mut quick, mut slow) = (Reader::new(&bytes, "test"), Reader::new(&bytes, "test"));
            loop {
                let (left, right) = (quick.uint32(), slow.uint32_slowly());
                assert_eq!(left.is_ok(), right.is_ok(), "{bytes:?}");
                let (Ok(left), Ok(right)) = (left, right) else { break };
                assert_eq!((left, quick.left()), (right, slow.left()), "{bytes:?}");
            }
        }
    }
}
