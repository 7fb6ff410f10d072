//! Checks the schema in the footer of a file of Parquet before its reader recurses on it.
//!
//! The schema is a tree, written as a list of elements in which each has the number of its children. The reader recurses once a level and makes room
//! for as many children as are promised, whatever that is: a small file could end the process. This scan checks both without recursion on the tree.
//! Thrift's compact protocol is read as far as that needs; anything else is refused, so that the reader meets nothing unchecked.

use std::io::Read;

/// Groups of columns within one another. A list takes two and a map two, so this is deeper than any value that can be imported.
pub(super) const GROUPS_MAX: usize = 128;
/// Bytes of a footer: some hundred for each column of each row group.
const FOOTER_BYTES_MAX: u64 = 256 << 20;
/// Structures of Thrift within one another that are passed over; the format knows some six.
const NESTING_MAX: usize = 32;
/// The length of the footer and the magic behind it.
const TAIL_BYTES: u64 = 8;
/// The field of the footer with the elements, and that of an element with the number of its children.
const SCHEMA: i64 = 2;
const CHILDREN: i64 = 5;

/// Types of the compact protocol.
const STOP: u8 = 0;
pub(super) const TRUE: u8 = 1;
pub(super) const FALSE: u8 = 2;
const BYTE: u8 = 3;
const INT16: u8 = 4;
pub(super) const INT32: u8 = 5;
const INT64: u8 = 6;
const DOUBLE: u8 = 7;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const SET: u8 = 10;
const MAP: u8 = 11;
pub(super) const STRUCT: u8 = 12;
const UUID: u8 = 13;

fn wrong<T>(what: impl Into<String>) -> Result<T, String> {
    Err(what.into())
}

/// Where the footer begins, and how many bytes it has.
///
/// # Errors
/// It cannot be read, or is longer than one may be.
pub(super) fn place<R: Read>(size_bytes: u64, part: impl Fn(u64) -> R) -> Result<(u64, u64), String> {
    let Some(tail_at) = size_bytes.checked_sub(TAIL_BYTES) else { return wrong("it has no footer") };
    let mut tail = [0; TAIL_BYTES as usize];
    part(tail_at).read_exact(&mut tail).map_err(|error| error.to_string())?;
    let length = u64::from(u32::from_le_bytes([tail[0], tail[1], tail[2], tail[3]]));
    let Some(at) = tail_at.checked_sub(length) else { return wrong("its footer is longer than the file") };
    if length > FOOTER_BYTES_MAX {
        return wrong(format!("its footer has more than {FOOTER_BYTES_MAX} bytes"));
    }
    Ok((at, length))
}

/// Checks the footer of a file of `size_bytes` bytes; `part` reads from a byte on.
///
/// # Errors
/// It cannot be read, or its schema is deeper or larger than the limits of a reader.
pub(super) fn check<R: Read>(size_bytes: u64, part: impl Fn(u64) -> R) -> Result<(), String> {
    let (at, length) = place(size_bytes, &part)?;
    let mut bytes = vec![0; length as usize];
    part(at).read_exact(&mut bytes).map_err(|error| error.to_string())?;
    check_footer(&bytes)
}

fn check_footer(bytes: &[u8]) -> Result<(), String> {
    let mut thrift = Thrift { bytes };
    let mut field = 0;
    while let Some(kind) = thrift.field(&mut field)? {
        match (field, kind) {
            (SCHEMA, LIST) => check_schema(&mut thrift)?,
            _ => thrift.pass(kind, 0)?,
        }
    }
    Ok(())
}

fn check_schema(thrift: &mut Thrift<'_>) -> Result<(), String> {
    let (count, kind) = thrift.list()?;
    if kind != STRUCT {
        return wrong("its schema is no list of columns");
    }
    // Children that are still to come, of each group around the next element.
    let mut open: Vec<u64> = Vec::new();
    for at in 0..count {
        let children = thrift.children()?;
        if children > count - at - 1 {
            return wrong("a group of its schema promises more columns than there are");
        }
        if let Some(rest) = open.last_mut() {
            *rest -= 1;
        }
        if children > 0 {
            open.push(children);
        }
        if open.len() > GROUPS_MAX {
            return wrong(format!("its columns are nested deeper than {GROUPS_MAX} groups; flatten them"));
        }
        while open.last() == Some(&0) {
            open.pop();
        }
    }
    Ok(())
}

/// Bytes of the compact protocol.
pub(super) struct Thrift<'b> {
    pub bytes: &'b [u8],
}

impl Thrift<'_> {
    fn take(&mut self, count: u64) -> Result<&[u8], String> {
        match usize::try_from(count).ok().and_then(|count| self.bytes.split_at_checked(count)) {
            Some((taken, rest)) => {
                self.bytes = rest;
                Ok(taken)
            }
            None => wrong("its footer ends too soon"),
        }
    }
    fn byte(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?[0])
    }
    /// A number of seven bits a byte.
    fn varint(&mut self) -> Result<u64, String> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        wrong("a number in its footer is too long")
    }
    /// The same, whose lowest bit is the sign.
    pub fn signed(&mut self) -> Result<i64, String> {
        let number = self.varint()?;
        Ok((number >> 1) as i64 ^ -((number & 1) as i64))
    }
    /// The next field of a structure and its type; none at its end.
    pub fn field(&mut self, field: &mut i64) -> Result<Option<u8>, String> {
        let head = self.byte()?;
        if head == STOP {
            return Ok(None);
        }
        *field = match head >> 4 {
            0 => self.signed()?,
            more => field.saturating_add(i64::from(more)),
        };
        Ok(Some(head & 0x0f))
    }
    /// How many elements a list has, and their type.
    fn list(&mut self) -> Result<(u64, u8), String> {
        let head = self.byte()?;
        let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
        // Each has a byte at least.
        if count > self.bytes.len() as u64 {
            return wrong("a list in its footer is longer than the footer");
        }
        Ok((count, head & 0x0f))
    }
    /// Reads an element of the schema: how many children it has.
    fn children(&mut self) -> Result<u64, String> {
        let (mut field, mut children) = (0, 0);
        while let Some(kind) = self.field(&mut field)? {
            match (field, kind) {
                (CHILDREN, INT32) => match u64::try_from(self.signed()?) {
                    Ok(count) => children = count,
                    Err(_) => return wrong("a group of its schema promises less than no column"),
                },
                _ => self.pass(kind, 0)?,
            }
        }
        Ok(children)
    }
    /// Passes over a value that is a field.
    pub fn pass(&mut self, kind: u8, depth: usize) -> Result<(), String> {
        match kind {
            // The type says which.
            TRUE | FALSE => Ok(()),
            _ => self.pass_element(kind, depth),
        }
    }
    /// Passes over a value that is an element of a list.
    fn pass_element(&mut self, kind: u8, depth: usize) -> Result<(), String> {
        if depth > NESTING_MAX {
            return wrong(format!("its footer is nested deeper than {NESTING_MAX}"));
        }
        match kind {
            TRUE | FALSE | BYTE => self.take(1).map(drop),
            INT16 | INT32 | INT64 => self.varint().map(drop),
            DOUBLE => self.take(8).map(drop),
            UUID => self.take(16).map(drop),
            BINARY => {
                let length = self.varint()?;
                self.take(length).map(drop)
            }
            LIST | SET => {
                let (count, kind) = self.list()?;
                (0..count).try_for_each(|_| self.pass_element(kind, depth + 1))
            }
            MAP => {
                let count = self.varint()?;
                let kinds = if count == 0 { 0 } else { self.byte()? };
                (0..count).try_for_each(|_| {
                    self.pass_element(kinds >> 4, depth + 1)?;
                    self.pass_element(kinds & 0x0f, depth + 1)
                })
            }
            STRUCT => {
                let mut field = 0;
                while let Some(kind) = self.field(&mut field)? {
                    self.pass(kind, depth + 1)?;
                }
                Ok(())
            }
            _ => wrong("its footer holds a value of no known type"),
        }
    }
}
