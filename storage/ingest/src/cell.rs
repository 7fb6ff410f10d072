//! One field as a value, and the fields of one column as a typed column.
//!
//! Numbers and texts go straight into typed columns; a [`Value`] is made only for lists, temporal values and points. Every push
//! appends exactly one row, a null where the field is absent or wrong, so that the columns of a block stay of one length.

use formats::records::Field;
use model::column::Texts;
use model::temporal::Kind as Instant;
use model::temporal::build::{duration_from_text, from_text};
use model::{Column, Map, Nulls, Value, point};
use std::sync::Arc;

/// Characters of a wrong field that a message shows.
const SHOWN_CHARACTERS_MAX: usize = 40;

/// The type of a column's fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Int,
    /// Integers of fewer than 64 bits: `byte`, `short`, `int32`.
    Narrow(Width),
    /// Floats that 32 bits can be near to: `float32`.
    Float32,
    /// One character.
    Char,
    Float,
    Bool,
    Text,
    Instant(Instant),
    Duration,
    Point,
    /// An integer as it is, else a date and time, else a date: how LDBC writes instants, by choice of its generator.
    Moment,
    /// Any value, as `typed` writes it.
    Any,
    /// Several, separated by this.
    List(Box<Kind>, u8),
    /// As ordinary files have it: blanks around what is no text are passed over, and words such as `NA` are null there; so are these words
    /// everywhere.
    Sniffed(Box<Kind>, Arc<[Vec<u8>]>),
}

/// How many bits an integer may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    Byte,
    Short,
    Int32,
}

impl Width {
    fn name(self) -> &'static str {
        match self {
            Width::Byte => "byte",
            Width::Short => "short",
            Width::Int32 => "int32",
        }
    }
    /// An integer within the width; else the fault.
    fn read(self, bytes: &[u8]) -> Result<i64, String> {
        let bits = match self {
            Width::Byte => 8,
            Width::Short => 16,
            Width::Int32 => 32,
        };
        let most = (1i64 << (bits - 1)) - 1;
        let wrong =
            || format!("{} is no {}: whole numbers from {} to {most}", shown(bytes), self.name(), -most - 1);
        int(bytes).filter(|int| (-most - 1..=most).contains(int)).ok_or_else(wrong)
    }
}

/// Words that stand for no value where a number, truth value or date is expected.
const NULL_WORDS: [&[u8]; 8] = [b"null", b"na", b"n/a", b"nan", b"none", b"nil", b"#n/a", b"?"];
/// The word that always stands for no value in ordinary files: how databases dump null.
const NULL_MARK: &[u8] = b"\\N";

/// Is it one of the words that stand for no number?
pub(crate) fn is_null_word(bytes: &[u8]) -> bool {
    let bytes = bytes.trim_ascii();
    NULL_WORDS.iter().any(|word| word.eq_ignore_ascii_case(bytes))
}

/// Does it stand for no value in any column of an ordinary file?
pub(crate) fn is_null(bytes: &[u8], words: &[Vec<u8>]) -> bool {
    bytes == NULL_MARK || words.iter().any(|word| word == bytes)
}

/// A field as a message shows it.
pub(crate) fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.char_indices().nth(SHOWN_CHARACTERS_MAX) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}

/// An integer of at most 64 bits: digits, with a sign or not.
#[inline]
pub(crate) fn int(bytes: &[u8]) -> Option<i64> {
    let (negative, digits) = match bytes {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() {
        return None;
    }
    let mut magnitude: u64 = 0;
    // Eighteen digits cannot overflow; the few longer numbers are checked.
    if digits.len() <= 18 {
        for digit in digits {
            let digit = digit.wrapping_sub(b'0');
            if digit > 9 {
                return None;
            }
            magnitude = magnitude * 10 + u64::from(digit);
        }
        return Some(if negative { -(magnitude as i64) } else { magnitude as i64 });
    }
    for digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        magnitude = magnitude.checked_mul(10)?.checked_add(u64::from(digit))?;
    }
    match negative {
        true => 0i64.checked_sub_unsigned(magnitude),
        false => i64::try_from(magnitude).ok(),
    }
}

/// A float as programs write it.
pub(crate) fn float(bytes: &[u8]) -> Option<f64> {
    std::str::from_utf8(bytes).ok()?.trim().parse().ok()
}

/// A float that does not become infinite in 32 bits.
fn float32(bytes: &[u8]) -> Option<f64> {
    float(bytes).filter(|float| !float.is_finite() || (*float as f32).is_finite())
}

/// Is it one character?
fn is_char(text: &str) -> bool {
    text.chars().nth(1).is_none()
}

pub(crate) fn truth(bytes: &[u8]) -> Option<bool> {
    match bytes {
        _ if bytes.eq_ignore_ascii_case(b"true") => Some(true),
        _ if bytes.eq_ignore_ascii_case(b"false") => Some(false),
        _ => None,
    }
}

/// A field that is there, as a value of this kind.
pub(crate) fn value(kind: &Kind, text: &str) -> Result<Value, String> {
    let wrong = |name: &str| format!("{} is no {name}", shown(text.as_bytes()));
    let bytes = text.as_bytes();
    Ok(match kind {
        Kind::Int => Value::Int(int(bytes).ok_or_else(|| wrong("integer"))?),
        Kind::Narrow(width) => Value::Int(width.read(bytes)?),
        Kind::Float => Value::Float(float(bytes).ok_or_else(|| wrong("number"))?),
        Kind::Float32 => Value::Float(float32(bytes).ok_or_else(|| wrong("float32"))?),
        Kind::Bool => Value::Bool(truth(bytes).ok_or_else(|| wrong("truth value"))?),
        Kind::Char if !is_char(text) => return Err(format!("{}, one character", wrong("char"))),
        Kind::Text | Kind::Char => Value::string(text),
        Kind::Instant(instant) => from_text(*instant, text).map_err(|_| wrong(instant.name()))?,
        Kind::Duration => Value::from(duration_from_text(text).map_err(|_| wrong("duration"))?),
        Kind::Point => parse_point(text).ok_or_else(|| wrong("point"))?,
        Kind::Moment => moment(text).ok_or_else(|| wrong("date or number of milliseconds"))?,
        Kind::List(kind, separator) => {
            let parts = text.split(char::from(*separator)).filter(|part| !part.is_empty());
            Value::list(parts.map(|part| value(kind, part)).collect::<Result<_, _>>()?)
        }
        Kind::Any => formats::typed::read(text)?,
        Kind::Sniffed(kind, _) => value(kind, text)?,
    })
}

fn moment(text: &str) -> Option<Value> {
    if let Some(int) = int(text.as_bytes()) {
        return Some(Value::Int(int));
    }
    let kind = if text.contains('T') { Instant::DateTime } else { Instant::Date };
    from_text(kind, text).ok()
}

/// `{x: 1.5, y: 2}`, `{latitude: 51.5, longitude: -0.1, crs: WGS-84}`.
fn parse_point(text: &str) -> Option<Value> {
    let inner = text.trim().strip_prefix('{').and_then(|text| text.strip_suffix('}')).unwrap_or(text);
    let mut map = Map::new();
    for part in inner.split(',') {
        let (name, held) = part.split_once(':')?;
        let name = name.trim().trim_matches(['\'', '"']).to_lowercase();
        let held = held.trim().trim_matches(['\'', '"']);
        let value = match float(held.as_bytes()) {
            Some(float) if name != "srid" => Value::Float(float),
            _ => int(held.as_bytes()).map_or_else(|| Value::string(held), Value::Int),
        };
        map.insert(name.into(), value);
    }
    point::from_map(&map).ok()?.map(|point| Value::Point(point.into()))
}

/// The fields of one column so far.
pub(crate) struct Cells<'k> {
    kind: &'k Kind,
    /// Of ordinary files: the words that are null.
    sniffed: Option<&'k [Vec<u8>]>,
    column: Column,
}

impl<'k> Cells<'k> {
    pub fn new(kind: &'k Kind) -> Cells<'k> {
        let (kind, sniffed) = match kind {
            Kind::Sniffed(kind, words) => (&**kind, Some(&**words)),
            kind => (kind, None),
        };
        let column = match kind {
            Kind::Int | Kind::Narrow(_) => Column::Int(Vec::new(), Nulls::none()),
            Kind::Float | Kind::Float32 => Column::Float(Vec::new(), Nulls::none()),
            Kind::Bool => Column::Bool(Vec::new(), Nulls::none()),
            Kind::Text | Kind::Char => Column::Text(Texts::default(), Nulls::none()),
            _ => Column::Any(Vec::new()),
        };
        Cells { kind, sniffed, column }
    }
    /// Appends a row; returns the fault of the field, if any.
    #[inline]
    pub fn push(&mut self, field: &Field<'_>) -> Result<(), String> {
        if field.is_absent() {
            self.push_null();
            return Ok(());
        }
        match self.sniffed {
            Some(words) => self.push_sniffed(field, words),
            None => self.push_present(field),
        }
    }
    fn push_sniffed(&mut self, field: &Field<'_>, words: &[Vec<u8>]) -> Result<(), String> {
        let is_text = matches!(self.kind, Kind::Text | Kind::Char);
        let is_none = || !is_text && (field.bytes.is_empty() || is_null_word(field.bytes));
        if is_null(field.bytes, words) || is_none() {
            self.push_null();
            return Ok(());
        }
        if is_text {
            return self.push_present(field);
        }
        self.push_present(&Field { bytes: field.bytes.trim_ascii(), ..*field })
    }
    #[inline]
    fn push_present(&mut self, field: &Field<'_>) -> Result<(), String> {
        if matches!(self.kind, Kind::Narrow(_) | Kind::Float32 | Kind::Char) {
            return self.push_slowly(field);
        }
        match &mut self.column {
            Column::Int(rows, _) if let Some(int) = int(field.bytes) => rows.push(int),
            Column::Float(rows, _) if let Some(float) = float(field.bytes) => rows.push(float),
            Column::Bool(rows, _) if let Some(truth) = truth(field.bytes) => rows.push(truth),
            Column::Text(rows, _) if let Ok(text) = field.text() => rows.push(&text),
            _ => return self.push_slowly(field),
        }
        Ok(())
    }
    fn push_slowly(&mut self, field: &Field<'_>) -> Result<(), String> {
        let value = field.text().and_then(|text| value(self.kind, &text));
        match (&mut self.column, value) {
            (Column::Any(rows), Ok(value)) => rows.push(value),
            (Column::Int(rows, _), Ok(Value::Int(int))) => rows.push(int),
            (Column::Float(rows, _), Ok(Value::Float(float))) => rows.push(float),
            (Column::Text(rows, _), Ok(Value::String(text))) => rows.push(&text),
            (_, Ok(_)) => unreachable!("a column has the values of its kind"),
            (_, Err(what)) => {
                self.push_null();
                return Err(what);
            }
        }
        Ok(())
    }
    /// Appends a row without a value.
    pub fn push_null(&mut self) {
        match &mut self.column {
            Column::Int(rows, nulls) => {
                nulls.set(rows.len());
                rows.push(0);
            }
            Column::Float(rows, nulls) => {
                nulls.set(rows.len());
                rows.push(0.0);
            }
            Column::Bool(rows, nulls) => {
                nulls.set(rows.len());
                rows.push(false);
            }
            Column::Text(rows, nulls) => {
                nulls.set(rows.len());
                rows.push("");
            }
            Column::Any(rows) => rows.push(Value::Null),
            Column::Constant(..) | Column::Vertex(..) | Column::Edge(..) => {
                unreachable!("cells are never of these")
            }
        }
    }
    /// The column.
    pub fn finish(self) -> Column {
        self.column
    }
}

/// The name of a kind in a header.
pub(crate) fn name_of(kind: &Kind) -> String {
    match kind {
        Kind::Int => "int".into(),
        Kind::Narrow(width) => width.name().into(),
        Kind::Float32 => "float32".into(),
        Kind::Char => "char".into(),
        Kind::Float => "float".into(),
        Kind::Bool => "boolean".into(),
        Kind::Text => "string".into(),
        Kind::Instant(Instant::Date) => "date".into(),
        Kind::Instant(Instant::LocalTime) => "localtime".into(),
        Kind::Instant(Instant::Time) => "time".into(),
        Kind::Instant(Instant::LocalDateTime) => "localdatetime".into(),
        Kind::Instant(Instant::DateTime) => "datetime".into(),
        Kind::Duration => "duration".into(),
        Kind::Point => "point".into(),
        Kind::Moment => "moment".into(),
        Kind::Any => "any".into(),
        Kind::List(kind, _) => format!("{}[]", name_of(kind)),
        Kind::Sniffed(kind, _) => name_of(kind),
    }
}

/// The kind that a type name of a header stands for.
pub(crate) fn kind_named(name: &str, list_separator: u8) -> Option<Kind> {
    let name = name.to_ascii_lowercase();
    if let Some(element) = name.strip_suffix("[]") {
        return Some(Kind::List(Box::new(kind_named(element, list_separator)?), list_separator));
    }
    Some(match name.as_str() {
        "int" | "long" | "integer" | "int64" => Kind::Int,
        "byte" => Kind::Narrow(Width::Byte),
        "short" => Kind::Narrow(Width::Short),
        "int32" => Kind::Narrow(Width::Int32),
        "float" | "double" | "float64" => Kind::Float,
        "float32" => Kind::Float32,
        "boolean" | "bool" => Kind::Bool,
        "char" => Kind::Char,
        "string" | "" => Kind::Text,
        "date" => Kind::Instant(Instant::Date),
        "localtime" => Kind::Instant(Instant::LocalTime),
        "time" => Kind::Instant(Instant::Time),
        "localdatetime" => Kind::Instant(Instant::LocalDateTime),
        "datetime" => Kind::Instant(Instant::DateTime),
        "duration" => Kind::Duration,
        "point" => Kind::Point,
        "any" => Kind::Any,
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
