//! Storage for the part of an import that exceeds its memory, and for its finished chunks.

use super::source::BlobKey;
use crate::StoreError;

/// A file that only grows, and goes away with the import.
pub trait Spill: Sync {
    /// Writes bytes; returns their position.
    fn write(&self, bytes: &[u8]) -> Result<u64, StoreError>;
    /// Reads `len` bytes from a position.
    fn read(&self, at: u64, len: usize) -> Result<Vec<u8>, StoreError>;
}

/// Where finished chunks go, so that they need not stay in memory.
pub trait Emit: Sync {
    /// Writes a chunk.
    fn put(&self, bytes: &[u8]) -> Result<BlobKey, StoreError>;
    /// Makes all emitted blobs readable.
    fn settle(&self) -> Result<(), StoreError>;
}

/// The memory bound of an import, and where the rest is spilled.
#[derive(Clone, Copy)]
pub struct Room<'a> {
    /// Bytes.
    pub bytes: usize,
    /// The rest.
    pub spill: &'a dyn Spill,
}

impl Room<'_> {
    /// Bytes that sealed columns, edges that came in, edges of one band, edges on their way to their targets, and entries of an index may
    /// take, each.
    pub(crate) fn share(&self) -> usize {
        self.bytes / 8
    }
    pub(crate) fn put(&self, bytes: &[u8]) -> Result<Portion, StoreError> {
        Ok(Portion { at: self.spill.write(bytes)?, len: bytes.len() })
    }
    pub(crate) fn get(&self, portion: Portion) -> Result<Vec<u8>, StoreError> {
        self.spill.read(portion.at, portion.len)
    }
}

/// Bytes that were put aside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Portion {
    at: u64,
    pub(crate) len: usize,
}
