//! Values of a JSON text one after the other, without holding the text: an object a line, values behind each other, or the elements of a list.
//!
//! Numbers stay as they are written, so that none loses digits; `NaN` and `Infinity`, as Python writes them, are numbers. Invariant: no text makes
//! it recurse deeper than [`JSON_DEPTH_MAX`] or hold more than `VALUE_BYTES_MAX` of one value. Whoever reads for somebody else's account is told of each part
//! that is held ([`JsonReader::metered`]).

use crate::blocks::RECORD_BYTES_MAX;
use model::json::{JSON_DEPTH_MAX, JsonTooDeep};
use std::io::{self, Read};

/// Bytes that one row may have.
const VALUE_BYTES_MAX: u64 = RECORD_BYTES_MAX as u64;
/// Bytes read at once.
const BUFFER_BYTES: usize = 64 * 1024;
/// Bytes of parts between two words to the meter.
const METERED_BYTES: usize = 4 * 1024;
/// Characters of a wrong number that a message shows.
const SHOWN_CHARACTERS_MAX: usize = 40;

/// Called with further bytes of a value; an error ends the reading.
pub type JsonMeter = Box<dyn FnMut(usize) -> io::Result<()> + Send>;

/// A wrong number as a message shows it.
fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARACTERS_MAX) {
        Some((end, _)) => format!("`{}…`", &text[..end]),
        None => format!("`{text}`"),
    }
}

/// A value of JSON.
#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    /// Nothing.
    Null,
    /// true or false.
    Bool(bool),
    /// As it is written.
    Number(String),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// Names and values, in the order of the text.
    Object(Vec<(String, Json)>),
}

impl Json {
    /// As JSON writes it.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        self.write(&mut text);
        text
    }
    fn write(&self, text: &mut String) {
        match self {
            Json::Null => text.push_str("null"),
            Json::Bool(truth) => text.push_str(if *truth { "true" } else { "false" }),
            Json::Number(number) => text.push_str(number),
            Json::Text(held) => text.push_str(&quoted(held)),
            Json::List(items) => {
                text.push('[');
                for (at, item) in items.iter().enumerate() {
                    text.push_str(if at > 0 { "," } else { "" });
                    item.write(text);
                }
                text.push(']');
            }
            Json::Object(entries) => {
                text.push('{');
                for (at, (name, value)) in entries.iter().enumerate() {
                    text.push_str(if at > 0 { "," } else { "" });
                    text.push_str(&quoted(name));
                    text.push(':');
                    value.write(text);
                }
                text.push('}');
            }
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::String(text.to_string()).to_string()
}

/// Why reading ended early.
#[derive(Debug)]
pub enum JsonError {
    /// The bytes cannot be read.
    Unreadable(io::Error),
    /// A fault at this line and column, both from 1.
    Wrong {
        /// From 1.
        line: u64,
        /// From 1, in bytes.
        column: u64,
        /// The fault.
        what: String,
    },
}

/// Reads values from bytes.
pub struct JsonReader {
    source: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    at: usize,
    line: u64,
    /// Bytes of this line, and of this value, so far.
    column: u64,
    value_bytes: u64,
    depth: usize,
    meter: Option<JsonMeter>,
    /// Bytes of parts that are not metered yet.
    unmetered: usize,
}

type JsonResult<T> = Result<T, JsonError>;

impl JsonReader {
    /// Reads from bytes.
    ///
    /// # Errors
    /// The bytes cannot be read.
    pub fn new(source: Box<dyn Read + Send>) -> JsonResult<JsonReader> {
        JsonReader::with(source, None)
    }
    /// Reads from bytes, and reports memory to a meter.
    ///
    /// # Errors
    /// The bytes cannot be read.
    pub fn metered(source: Box<dyn Read + Send>, meter: JsonMeter) -> JsonResult<JsonReader> {
        JsonReader::with(source, Some(meter))
    }
    fn with(source: Box<dyn Read + Send>, meter: Option<JsonMeter>) -> JsonResult<JsonReader> {
        let mut made = JsonReader {
            source,
            buffer: Vec::new(),
            at: 0,
            line: 1,
            column: 1,
            value_bytes: 0,
            depth: 0,
            meter,
            unmetered: 0,
        };
        made.fill()?;
        if made.buffer.starts_with(b"\xef\xbb\xbf") {
            made.at = 3;
        }
        Ok(made)
    }
    /// The line of the next byte, from 1.
    #[must_use]
    pub fn line(&self) -> u64 {
        self.line
    }
    /// Bytes of the stream that are held.
    #[must_use]
    pub fn held_bytes(&self) -> usize {
        self.buffer.capacity()
    }
    /// The error for a fault at the next byte.
    pub fn wrong(&self, what: impl Into<String>) -> JsonError {
        JsonError::Wrong { line: self.line, column: self.column, what: what.into() }
    }
    fn fill(&mut self) -> JsonResult<()> {
        self.buffer.clear();
        self.at = 0;
        let mut limited = Read::by_ref(&mut self.source).take(BUFFER_BYTES as u64);
        limited.read_to_end(&mut self.buffer).map_err(JsonError::Unreadable)?;
        Ok(())
    }
    fn peek(&mut self) -> JsonResult<Option<u8>> {
        if self.at == self.buffer.len() {
            self.fill()?;
        }
        Ok(self.buffer.get(self.at).copied())
    }
    fn pass(&mut self, byte: u8) -> JsonResult<()> {
        self.at += 1;
        self.value_bytes += 1;
        match byte {
            b'\n' => (self.line, self.column) = (self.line + 1, 1),
            _ => self.column += 1,
        }
        match self.value_bytes > VALUE_BYTES_MAX {
            true => Err(self.wrong(format!("one value has more than {VALUE_BYTES_MAX} bytes"))),
            false => Ok(()),
        }
    }
    fn take(&mut self) -> JsonResult<u8> {
        let byte = self.peek()?.ok_or_else(|| self.wrong("the text ends inside a value"))?;
        self.pass(byte)?;
        Ok(byte)
    }
    /// Counts a part of a value that has this many bytes beside its entry in a list.
    fn hold(&mut self, bytes: usize) -> JsonResult<()> {
        let Some(meter) = &mut self.meter else { return Ok(()) };
        self.unmetered += size_of::<Json>() + bytes;
        if self.unmetered < METERED_BYTES {
            return Ok(());
        }
        meter(std::mem::take(&mut self.unmetered)).map_err(JsonError::Unreadable)
    }
    /// The next byte that is no blank; none at the end.
    ///
    /// # Errors
    /// The bytes cannot be read; too many blanks stand inside one value.
    pub fn next_byte(&mut self) -> JsonResult<Option<u8>> {
        while let Some(byte) = self.peek()? {
            if !matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
                return Ok(Some(byte));
            }
            self.pass(byte)?;
            if self.depth == 0 {
                self.value_bytes = 0;
            }
        }
        Ok(None)
    }
    /// Passes over this byte, if it is the next.
    ///
    /// # Errors
    /// As [`JsonReader::next_byte`].
    pub fn passes(&mut self, wanted: u8) -> JsonResult<bool> {
        let is_next = self.next_byte()? == Some(wanted);
        if is_next {
            self.pass(wanted)?;
        }
        Ok(is_next)
    }
    /// The next value.
    ///
    /// # Errors
    /// There is none, or it is none of JSON; it is too large, or nested too deep; the meter ends it.
    pub fn value(&mut self) -> JsonResult<Json> {
        if self.depth == 0 {
            self.value_bytes = 0;
        }
        let value = self.any_value()?;
        self.hold(match &value {
            Json::Text(text) | Json::Number(text) => text.len(),
            _ => 0,
        })?;
        Ok(value)
    }
    fn any_value(&mut self) -> JsonResult<Json> {
        match self.next_byte()? {
            None => Err(self.wrong("the text ends where a value is expected")),
            Some(b'{') => self.nested(|reader| reader.object()),
            Some(b'[') => self.nested(|reader| reader.list()),
            Some(b'"') => Ok(Json::Text(self.string()?)),
            Some(b'-' | b'0'..=b'9' | b'I' | b'N') => self.number(),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            Some(byte) => Err(self.wrong(format!("`{}` begins no value", byte.escape_ascii()))),
        }
    }
    fn nested(&mut self, read: impl FnOnce(&mut JsonReader) -> JsonResult<Json>) -> JsonResult<Json> {
        if self.depth == JSON_DEPTH_MAX {
            return Err(self.wrong(JsonTooDeep.to_string()));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }
    fn word(&mut self, word: &str, json: Json) -> JsonResult<Json> {
        for wanted in word.bytes() {
            if self.peek()? != Some(wanted) {
                return Err(self.wrong(format!("`{word}` is expected")));
            }
            self.pass(wanted)?;
        }
        Ok(json)
    }
    fn object(&mut self) -> JsonResult<Json> {
        self.pass(b'{')?;
        let mut entries: Vec<(String, Json)> = Vec::new();
        if self.passes(b'}')? {
            return Ok(Json::Object(entries));
        }
        loop {
            let name = self.name()?;
            self.hold(size_of::<String>() + name.len())?;
            let value = self.value()?;
            entries.push((name, value));
            if self.passes(b'}')? {
                return Ok(Json::Object(entries));
            }
            if !self.passes(b',')? {
                return Err(self.wrong("`,` or `}` is expected"));
            }
        }
    }
    /// A name and its colon.
    ///
    /// # Errors
    /// There is none.
    pub fn name(&mut self) -> JsonResult<String> {
        if self.next_byte()? != Some(b'"') {
            return Err(self.wrong("a name in double quotes is expected"));
        }
        let name = self.string()?;
        match self.passes(b':')? {
            true => Ok(name),
            false => Err(self.wrong("`:` is expected")),
        }
    }
    fn list(&mut self) -> JsonResult<Json> {
        self.pass(b'[')?;
        let mut items = Vec::new();
        if self.passes(b']')? {
            return Ok(Json::List(items));
        }
        loop {
            items.push(self.value()?);
            if self.passes(b']')? {
                return Ok(Json::List(items));
            }
            if !self.passes(b',')? {
                return Err(self.wrong("`,` or `]` is expected"));
            }
        }
    }
    fn number(&mut self) -> JsonResult<Json> {
        let mut text = String::new();
        while let Some(byte) = self.peek()? {
            if !matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'a'..=b'z' | b'A'..=b'Z') {
                break;
            }
            self.pass(byte)?;
            text.push(char::from(byte));
        }
        let is_named = matches!(text.as_str(), "NaN" | "Infinity" | "-Infinity");
        match is_named || is_number(text.as_bytes()) {
            true => Ok(Json::Number(text)),
            false => Err(self.wrong(format!("{} is no number", shown(&text)))),
        }
    }
    fn string(&mut self) -> JsonResult<String> {
        self.pass(b'"')?;
        let mut bytes = Vec::new();
        loop {
            // What needs no look of its own is taken at once.
            let rest = &self.buffer[self.at..];
            let plain = rest.iter().take_while(|byte| !matches!(byte, b'"' | b'\\' | 0..=0x1f)).count();
            bytes.extend_from_slice(&rest[..plain]);
            self.at += plain;
            self.column += plain as u64;
            self.value_bytes += plain as u64;
            match self.take()? {
                b'"' => break,
                b'\\' => {
                    let letter = self.escape()?;
                    bytes.extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
                }
                byte @ 0..=0x1f => {
                    return Err(self.wrong(format!(
                        "the byte {byte:#04x} stands in a text; write it as \\u00{byte:02x}"
                    )));
                }
                byte => bytes.push(byte),
            }
        }
        String::from_utf8(bytes).map_err(|_| self.wrong("a text is not UTF-8"))
    }
    fn escape(&mut self) -> JsonResult<char> {
        Ok(match self.take()? {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => return self.unit(),
            byte @ (b'"' | b'\\' | b'/') => char::from(byte),
            byte => return Err(self.wrong(format!("`\\{}` stands for nothing", byte.escape_ascii()))),
        })
    }
    /// A character by one unit of UTF-16 or by two.
    fn unit(&mut self) -> JsonResult<char> {
        let first = self.four()?;
        let code = match first {
            0xd800..=0xdbff => {
                let is_pair = self.take()? == b'\\' && self.take()? == b'u';
                let second = if is_pair { self.four()? } else { 0 };
                match second {
                    0xdc00..=0xdfff => 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00),
                    _ => return Err(self.wrong("half of a pair of surrogates stands alone")),
                }
            }
            other => other,
        };
        char::from_u32(code).ok_or_else(|| self.wrong("half of a pair of surrogates stands alone"))
    }
    fn four(&mut self) -> JsonResult<u32> {
        let mut code = 0;
        for _ in 0..4 {
            let byte = self.take()?;
            let digit = char::from(byte).to_digit(16);
            code = code * 16 + digit.ok_or_else(|| self.wrong("four hexadecimal digits follow \\u"))?;
        }
        Ok(code)
    }
}

/// Is it a number as JSON writes it?
fn is_number(bytes: &[u8]) -> bool {
    let digits = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let whole = digits(rest);
    if whole == 0 || (whole > 1 && rest[0] == b'0') {
        return false;
    }
    let mut rest = &rest[whole..];
    if let Some(fraction) = rest.strip_prefix(b".") {
        let count = digits(fraction);
        if count == 0 {
            return false;
        }
        rest = &fraction[count..];
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = exponent.strip_prefix(b"-").or(exponent.strip_prefix(b"+")).unwrap_or(exponent);
        return !exponent.is_empty() && digits(exponent) == exponent.len();
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests;
