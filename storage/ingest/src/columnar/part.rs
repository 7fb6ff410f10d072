//! Parts of a file, as the readers of both formats want them.

use formats::tables::MeteredFile;
use parquet::errors::ParquetError;
use parquet::file::reader::{ChunkReader, Length};
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::Arc;
use world::files::RandomFile;

/// A file without an account: an import has the memory of the machine.
pub(super) struct Unmetered(pub RandomFile);

impl MeteredFile for Unmetered {
    fn size_bytes(&self) -> u64 {
        self.0.size_bytes()
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read_at(offset, buffer)
    }
    fn hold(&self, _: u64) -> io::Result<()> {
        Ok(())
    }
}

/// A part of a file, read from its beginning.
pub(super) struct Span {
    file: Arc<dyn MeteredFile>,
    at: u64,
    end: u64,
}

impl Span {
    /// From a place to the end.
    pub fn from(file: &Arc<dyn MeteredFile>, at: u64) -> Span {
        Span { file: file.clone(), at, end: file.size_bytes() }
    }
}

impl Read for Span {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX).min(buffer.len());
        let count = self.file.read_at(self.at, &mut buffer[..room])?;
        self.at += count as u64;
        Ok(count)
    }
}

impl Seek for Span {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let place = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.end.checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = place.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

/// Looks at the parts of a file that are unpacked.
pub(super) trait PartWatch: Send + Sync {
    /// So many bytes at this place are about to be read.
    fn before(&self, start: u64, length: u64) -> Result<(), ParquetError>;
    /// These are about to be unpacked.
    fn read(&self, start: u64, bytes: &[u8]) -> Result<(), ParquetError>;
}

/// A file as the reader of Parquet wants it.
pub(super) struct Chunks {
    file: Arc<dyn MeteredFile>,
    watch: Option<Arc<dyn PartWatch>>,
}

impl Chunks {
    /// Of which nothing is looked at.
    pub fn new(file: &Arc<dyn MeteredFile>) -> Chunks {
        Chunks { file: file.clone(), watch: None }
    }
    /// Of which every part that is unpacked is looked at first.
    pub fn watched(file: &Arc<dyn MeteredFile>, watch: Arc<dyn PartWatch>) -> Chunks {
        Chunks { file: file.clone(), watch: Some(watch) }
    }
}

impl Length for Chunks {
    fn len(&self) -> u64 {
        self.file.size_bytes()
    }
}

impl ChunkReader for Chunks {
    type T = io::BufReader<Span>;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        Ok(io::BufReader::new(Span::from(&self.file, start)))
    }
    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<bytes::Bytes> {
        let end = start.checked_add(length as u64).filter(|end| *end <= self.file.size_bytes());
        let end = end.ok_or_else(|| ParquetError::EOF("a part lies behind the end of the file".into()))?;
        if let Some(watch) = &self.watch {
            watch.before(start, length as u64)?;
        }
        let mut bytes = vec![0; length];
        Span { file: self.file.clone(), at: start, end }.read_exact(&mut bytes)?;
        if let Some(watch) = &self.watch {
            watch.read(start, &bytes)?;
        }
        Ok(bytes.into())
    }
}
