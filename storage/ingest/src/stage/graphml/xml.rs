//! Events of an XML text with the line and the column where each ends.
//!
//! Invariant: one event has at most [`EVENT_BYTES_MAX`] bytes, and elements are nested at most [`DEPTH_MAX`] deep. Entities are those that XML itself has:
//! none that the file declares is expanded, so no file grows while it is read.

use crate::ImportError;
use crate::source::InputFile;
use formats::blocks::RECORD_BYTES_MAX;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use std::fmt::Display;
use std::io::{self, BufRead, Read};

/// Bytes that one element's name with its attributes, or one piece of text, may have.
const EVENT_BYTES_MAX: u64 = RECORD_BYTES_MAX as u64;
/// Elements around an element.
const DEPTH_MAX: usize = 128;
/// Bytes read at once.
const BUFFER_BYTES: usize = 64 * 1024;

/// Bytes whose lines are counted as they are consumed.
struct Counted {
    source: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    at: usize,
    line: u64,
    column: u64,
    /// Bytes since the last event.
    event_bytes: u64,
}

impl Read for Counted {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let held = self.fill_buf()?;
        let count = held.len().min(into.len());
        into[..count].copy_from_slice(&held[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Counted {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.event_bytes > EVENT_BYTES_MAX {
            return Err(io::Error::other(format!("one piece has more than {EVENT_BYTES_MAX} bytes")));
        }
        if self.at == self.buffer.len() {
            self.buffer.clear();
            self.at = 0;
            let mut limited = Read::by_ref(&mut self.source).take(BUFFER_BYTES as u64);
            limited.read_to_end(&mut self.buffer)?;
        }
        Ok(&self.buffer[self.at..])
    }
    fn consume(&mut self, count: usize) {
        let passed = &self.buffer[self.at..self.at + count];
        match memchr::memrchr(b'\n', passed) {
            Some(last) => {
                self.line += memchr::memchr_iter(b'\n', passed).count() as u64;
                self.column = (count - last) as u64;
            }
            None => self.column += count as u64,
        }
        self.at += count;
        self.event_bytes += count as u64;
    }
}

/// A piece of XML.
pub(super) enum XmlPiece {
    /// An element begins: its name without a prefix, and its attributes.
    Begin(Element),
    /// The innermost element ends.
    End,
    /// A piece of the text in an element.
    Text(String),
}

/// An element that begins.
pub(super) struct Element {
    pub name: String,
    attributes: Vec<(String, String)>,
}

impl Element {
    /// The value of an attribute; its name may have a prefix.
    pub fn take(&mut self, name: &str) -> Option<String> {
        let at = self.attributes.iter().position(|(held, _)| held == name)?;
        Some(self.attributes.swap_remove(at).1)
    }
}

/// Reads the pieces of a file.
pub(super) struct XmlReader<'f> {
    file: &'f InputFile,
    reader: Reader<Counted>,
    buffer: Vec<u8>,
    depth: usize,
}

/// The result of one event.
enum XmlOutcome {
    XmlPiece(XmlPiece),
    /// A comment or the like.
    Nothing,
    End,
}

impl<'f> XmlReader<'f> {
    pub fn new(file: &'f InputFile, source: Box<dyn Read + Send>) -> XmlReader<'f> {
        let counted = Counted { source, buffer: Vec::new(), at: 0, line: 1, column: 1, event_bytes: 0 };
        let mut reader = Reader::from_reader(counted);
        reader.config_mut().expand_empty_elements = true;
        XmlReader { file, reader, buffer: Vec::new(), depth: 0 }
    }
    /// The line up to which was read.
    pub fn line(&self) -> u64 {
        self.reader.get_ref().line
    }
    /// The error at this position.
    pub fn wrong(&self, what: impl Display) -> ImportError {
        let Counted { line, column, .. } = *self.reader.get_ref();
        let what = format!("column {column}: {what}");
        self.file.malformed(line, what)
    }
    fn malformed(&self, error: impl Display) -> ImportError {
        self.wrong(format!("the XML is wrong: {error}"))
    }
    /// The next piece; none at the end.
    pub fn next(&mut self) -> Result<Option<XmlPiece>, ImportError> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let found = loop {
            buffer.clear();
            self.reader.get_mut().event_bytes = 0;
            let met = match self.reader.read_event_into(&mut buffer) {
                Ok(event) => self.met(event)?,
                Err(quick_xml::Error::Io(error)) => return Err(self.wrong(error)),
                Err(error) => return Err(self.malformed(error)),
            };
            match met {
                XmlOutcome::XmlPiece(piece) => break Some(piece),
                XmlOutcome::Nothing => {}
                XmlOutcome::End if self.depth > 0 => {
                    return Err(self.malformed("the file ends inside an element"));
                }
                XmlOutcome::End => break None,
            }
        };
        self.buffer = buffer;
        Ok(found)
    }
    fn met(&mut self, event: Event<'_>) -> Result<XmlOutcome, ImportError> {
        Ok(XmlOutcome::XmlPiece(match event {
            Event::Start(start) => {
                self.depth += 1;
                if self.depth > DEPTH_MAX {
                    return Err(self.wrong(format!("elements are nested deeper than {DEPTH_MAX}")));
                }
                XmlPiece::Begin(self.element(&start)?)
            }
            Event::End(_) => {
                self.depth = self.depth.saturating_sub(1);
                XmlPiece::End
            }
            Event::Text(text) => XmlPiece::Text(text.xml10_content().into_owned()),
            Event::CData(text) => XmlPiece::Text(text.xml10_content().into_owned()),
            Event::GeneralRef(reference) => {
                let letter = reference.resolve_char_ref().map_err(|error| self.malformed(error))?;
                let name = reference.into_inner();
                match (letter, resolve_predefined_entity(&name)) {
                    (Some(letter), _) => XmlPiece::Text(letter.to_string()),
                    (None, Some(text)) => XmlPiece::Text(text.to_string()),
                    (None, None) => {
                        let what = "is none of XML's own entities; write its text in its place";
                        return Err(self.wrong(format!("`&{name};` {what}")));
                    }
                }
            }
            Event::Eof => return Ok(XmlOutcome::End),
            _ => return Ok(XmlOutcome::Nothing),
        }))
    }
    fn element(&self, start: &BytesStart<'_>) -> Result<Element, ImportError> {
        let mut attributes = Vec::new();
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|error| self.malformed(error))?;
            let value = attribute.normalized_value(XmlVersion::Implicit1_0);
            let value = value.map_err(|error| self.malformed(error))?;
            attributes.push((attribute.key.as_ref().to_string(), value.into_owned()));
        }
        Ok(Element { name: start.local_name().as_ref().to_string(), attributes })
    }
}
