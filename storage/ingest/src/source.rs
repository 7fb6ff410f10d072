//! The bytes of one input file, decompressed on the way: gzip and zstd are detected by their first bytes, never by a name.
//!
//! Invariant: progress counts the bytes on disk, so that it is true for compressed files as well.

use crate::staged::StagedTable;
use crate::{ImportError, Rejected};
use flate2::bufread::MultiGzDecoder;
use std::borrow::Cow;
use std::io::{self, BufRead, Read};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use world::files;

mod encoding;
#[cfg(feature = "archives")]
mod zstd;

pub(crate) use encoding::Encoding;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Bytes at the beginning of a file from which its layout is detected: a header or a first edge must end in them.
pub(crate) const HEAD_BYTES: usize = 256 * 1024;

/// A file to read.
#[derive(Clone, Debug, Default)]
pub(crate) struct InputFile {
    /// Where it lies.
    pub path: PathBuf,
    /// How messages call it: as the user named it, or its place in an archive.
    pub shown: PathBuf,
    pub size_bytes: u64,
    /// The first decompressed bytes of a compressed file, once they were asked for: zstd gives nothing before it has decoded a
    /// whole window, which can be megabytes.
    head: OnceLock<Vec<u8>>,
    /// How its text is encoded, where that is not UTF-8 and its first bytes do not say it.
    encoding: OnceLock<Encoding>,
    /// Facts about it, where it was made of a file that is no text.
    pub staged: Option<Arc<StagedTable>>,
}

impl InputFile {
    pub fn new(path: PathBuf, shown: PathBuf) -> Result<InputFile, ImportError> {
        let size_bytes = files::size_bytes(&path)?;
        Ok(InputFile { path, shown, size_bytes, ..InputFile::default() })
    }
    #[cfg(test)]
    pub fn named(shown: &str) -> InputFile {
        InputFile { shown: shown.into(), ..InputFile::default() }
    }
    /// Sets the encoding of its text, before any of it is read as text.
    pub fn encode(&self, encoding: Encoding) {
        // Whoever said it first looked at the same bytes.
        let _ = self.encoding.set(encoding);
    }
    /// How its text is encoded.
    pub fn encoding(&self) -> Encoding {
        self.encoding.get().copied().unwrap_or_default()
    }
    pub fn unreadable(&self, error: &io::Error) -> ImportError {
        ImportError::Read { path: self.shown.clone(), what: error.to_string() }
    }
    /// A line that makes the whole file unusable.
    pub fn malformed(&self, line: u64, what: impl Into<String>) -> ImportError {
        ImportError::Malformed(Rejected { file: self.shown.clone(), line, what: what.into() })
    }
    /// Its name without folders and without the suffixes of compression.
    pub fn name(&self) -> &str {
        let name = self.shown.file_name().and_then(|name| name.to_str()).unwrap_or("");
        let packed = [".gz", ".zst", ".zstd"];
        packed.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
    }
    /// Its name without the ending either.
    pub fn stem(&self) -> &str {
        self.name().rsplit_once('.').map_or(self.name(), |(stem, _)| stem)
    }
}

/// Opens a file for reading its decompressed bytes; `done` counts the bytes read of the file.
pub(crate) fn open(file: &InputFile, done: Arc<AtomicU64>) -> Result<Box<dyn Read + Send>, ImportError> {
    let mut source = Counted { inner: files::open_reader(&file.path)?, done };
    let head = source.inner.fill_buf().map_err(|error| file.unreadable(&error))?;
    let is_utf16 = Encoding::marked(head).is_some();
    let bytes: Box<dyn Read + Send> = if head.starts_with(&GZIP_MAGIC) {
        Box::new(MultiGzDecoder::new(source))
    } else if head.starts_with(&ZSTD_MAGIC) {
        zstd(file, source)?
    } else if is_utf16 || file.encoding() != Encoding::Utf8 {
        Box::new(source)
    } else {
        return Ok(Box::new(source));
    };
    encoding::decode(bytes, file.encoding()).map_err(|error| file.unreadable(&error))
}

/// Up to [`HEAD_BYTES`] of the first decompressed bytes of a file.
pub(crate) fn head(file: &InputFile) -> Result<Cow<'_, [u8]>, ImportError> {
    // What was kept is not as it is read if the encoding became known later.
    let is_plain = file.encoding.get().is_none();
    if let Some(head) = file.head.get().filter(|_| is_plain) {
        return Ok(Cow::Borrowed(head));
    }
    let mut head = Vec::new();
    let source = open(file, Arc::default())?;
    source.take(HEAD_BYTES as u64).read_to_end(&mut head).map_err(|error| file.unreadable(&error))?;
    let is_compressed = is_plain && is_packed(file)?;
    Ok(match is_compressed {
        true => Cow::Borrowed(file.head.get_or_init(|| head)),
        false => Cow::Owned(head),
    })
}

pub(crate) fn is_packed(file: &InputFile) -> Result<bool, ImportError> {
    let mut source = files::open_reader(&file.path)?;
    let start = source.fill_buf().map_err(|error| file.unreadable(&error))?;
    Ok(start.starts_with(&GZIP_MAGIC) || start.starts_with(&ZSTD_MAGIC))
}

#[cfg(feature = "archives")]
fn zstd(_: &InputFile, source: Counted) -> Result<Box<dyn Read + Send>, ImportError> {
    Ok(Box::new(zstd::Zstd::new(source)))
}

#[cfg(not(feature = "archives"))]
fn zstd(file: &InputFile, _: Counted) -> Result<Box<dyn Read + Send>, ImportError> {
    Err(ImportError::left_out(&file.shown, "packed by zstd", "archives"))
}

struct Counted {
    inner: Box<dyn BufRead + Send>,
    done: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.done.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

impl BufRead for Counted {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.inner.fill_buf()
    }
    fn consume(&mut self, count: usize) {
        self.done.fetch_add(count as u64, Ordering::Relaxed);
        self.inner.consume(count);
    }
}
