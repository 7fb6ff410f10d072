//! Text that is not UTF-8, made UTF-8 while it is read.
//!
//! UTF-16 is known by its mark at the beginning of a file; bytes that are not UTF-8 are taken for Windows-1252, of which Latin-1 is a
//! part. A unit of UTF-16 that has no pair becomes U+FFFD.

use std::io::{self, Cursor, Read};

/// Bytes decoded at once.
const DECODE_BYTES: usize = 64 * 1024;

/// How the text of a file is encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Encoding {
    #[default]
    Utf8,
    Utf16Little,
    Utf16Big,
    Windows1252,
}

/// Characters of the bytes 0x80 to 0x9f; those that have none stand for themselves.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}',
    '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

impl Encoding {
    /// The encoding of this name.
    pub fn named(name: &str) -> Option<Encoding> {
        Some(match name.to_ascii_lowercase().as_str() {
            "utf-8" | "utf8" => Encoding::Utf8,
            "utf-16le" | "utf-16" | "utf16" => Encoding::Utf16Little,
            "utf-16be" => Encoding::Utf16Big,
            "windows-1252" | "cp1252" | "latin1" | "latin-1" | "iso-8859-1" => Encoding::Windows1252,
            _ => return None,
        })
    }
    /// As messages call it.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Utf8 => "UTF-8",
            Encoding::Utf16Little => "UTF-16 (little-endian)",
            Encoding::Utf16Big => "UTF-16 (big-endian)",
            Encoding::Windows1252 => "Windows-1252",
        }
    }
    /// The encoding by the mark at the beginning of a file.
    pub fn marked(head: &[u8]) -> Option<Encoding> {
        match head {
            [0xff, 0xfe, ..] => Some(Encoding::Utf16Little),
            [0xfe, 0xff, ..] => Some(Encoding::Utf16Big),
            _ => None,
        }
    }
}

/// The bytes as UTF-8: as they are, unless they begin with a mark of UTF-16 or are said to be of another encoding.
pub(super) fn decode(mut bytes: Box<dyn Read + Send>, given: Encoding) -> io::Result<Box<dyn Read + Send>> {
    let mut mark = Vec::new();
    Read::by_ref(&mut bytes).take(2).read_to_end(&mut mark)?;
    let marked = Encoding::marked(&mark);
    let encoding = marked.unwrap_or(given);
    let rest = Cursor::new(if marked.is_some() { Vec::new() } else { mark }).chain(bytes);
    Ok(match encoding {
        Encoding::Utf8 => Box::new(rest),
        encoding => Box::new(Decoder { bytes: rest, encoding, raw: Vec::new(), text: Cursor::default() }),
    })
}

struct Decoder<R> {
    bytes: R,
    encoding: Encoding,
    /// The rest of an incomplete unit.
    raw: Vec<u8>,
    text: Cursor<Vec<u8>>,
}

impl<R: Read> Decoder<R> {
    fn fill(&mut self) -> io::Result<()> {
        let kept = self.raw.len();
        let read = Read::by_ref(&mut self.bytes).take(DECODE_BYTES as u64).read_to_end(&mut self.raw)?;
        let mut whole = if read == 0 { self.raw.len() } else { self.raw.len() & !1 };
        // A pair of units stays together.
        if read > 0 && self.encoding != Encoding::Windows1252 && whole >= 2 {
            let last = self.unit(&self.raw[whole - 2..whole]);
            whole -= if (0xd800..0xdc00).contains(&last) { 2 } else { 0 };
        }
        if self.encoding == Encoding::Windows1252 {
            whole = self.raw.len();
        }
        debug_assert!(kept <= self.raw.len());
        let mut text = String::new();
        match self.encoding {
            Encoding::Windows1252 => text.extend(self.raw.iter().map(|byte| match byte {
                0x80..=0x9f => WINDOWS_1252[usize::from(byte - 0x80)],
                byte => char::from(*byte),
            })),
            _ => {
                let units = self.raw[..whole].chunks(2).map(|unit| self.unit(unit));
                text.extend(
                    char::decode_utf16(units).map(|read| read.unwrap_or(char::REPLACEMENT_CHARACTER)),
                );
            }
        }
        self.raw.drain(..whole);
        self.text = Cursor::new(text.into_bytes());
        Ok(())
    }
    /// A unit of UTF-16; half a one is no character.
    fn unit(&self, bytes: &[u8]) -> u16 {
        match (bytes, self.encoding) {
            ([low, high], Encoding::Utf16Little) => u16::from_le_bytes([*low, *high]),
            ([high, low], _) => u16::from_be_bytes([*high, *low]),
            _ => 0xfffd,
        }
    }
}

impl<R: Read> Read for Decoder<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let count = self.text.read(buffer)?;
            if count > 0 || buffer.is_empty() {
                return Ok(count);
            }
            self.fill()?;
            if self.text.get_ref().is_empty() && self.raw.is_empty() {
                return Ok(0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8], given: Encoding) -> String {
        let mut text = String::new();
        decode(Box::new(Cursor::new(bytes.to_vec())), given).unwrap().read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn texts_of_all_encodings_are_read() {
        let said = "né;€\u{1f600}\n".repeat(40_000);
        let mut little = vec![0xff, 0xfe];
        little.extend(said.encode_utf16().flat_map(u16::to_le_bytes));
        assert!(text(&little, Encoding::Utf8) == said);
        let mut big = vec![0xfe, 0xff];
        big.extend(said.encode_utf16().flat_map(u16::to_be_bytes));
        assert!(text(&big, Encoding::Utf8) == said);
        assert!(text(&big[2..], Encoding::Utf16Big) == said);
        assert_eq!(text(b"n\xe9 \x80\x9f", Encoding::Windows1252), "né €Ÿ");
        assert_eq!(text("né".as_bytes(), Encoding::Utf8), "né");
        assert_eq!(text(b"", Encoding::Utf16Little), "");
        assert_eq!(text(b"a\0b", Encoding::Utf16Little), "a\u{fffd}");
        assert_eq!(text(&[0x00, 0xd8, 0x61, 0x00], Encoding::Utf16Little), "\u{fffd}a");
    }
}
