//! Writes one checkpoint: blobs into fresh files, then the manifest, then the swap.

use world::disk::{DiskFile, OpenHow};

use super::blobs::{BLOB_HEAD_BYTES, blob_file_header, blob_head, blob_path, padding_bytes};
use super::{BLOB_BYTES_MAX, BLOB_FILE_BYTES_MAX, Checkpoints};
use crate::header::HEADER_BYTES;
use crate::{BlobRef, CheckpointMark, DurableResult};

/// Bytes collected before they are written.
pub(super) const BUFFER_BYTES: usize = 1 << 20;

/// A checkpoint being written. Dropping it without [`CheckpointWriter::finish`] abandons it and removes its files.
pub struct CheckpointWriter<'a> {
    checkpoints: &'a Checkpoints,
    commit_version: u64,
    open: Option<OpenFile>,
    /// Files begun by this checkpoint and their lengths, as far as they are closed.
    written: Vec<(u32, u64)>,
    finished: bool,
    /// [`BLOB_FILE_BYTES_MAX`], or less in tests.
    pub(super) file_bytes_max: u64,
}

struct OpenFile {
    number: u32,
    file: Box<dyn DiskFile>,
    /// Bytes in the file, without those in the buffer.
    length: u64,
    buffer: Vec<u8>,
}

impl OpenFile {
    fn flush(&mut self) -> DurableResult<()> {
        self.file.write_at(&self.buffer, self.length)?;
        self.length += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn end(&self) -> u64 {
        self.length + self.buffer.len() as u64
    }

    fn push(&mut self, bytes: &[u8], crc: u32) -> DurableResult<BlobRef> {
        let length = u32::try_from(bytes.len()).expect("the writer checked the length");
        self.buffer.extend_from_slice(&blob_head(length, crc));
        let blob = BlobRef { file: self.number, offset: self.end(), length, crc };
        if bytes.len() < BUFFER_BYTES {
            self.buffer.extend_from_slice(bytes);
        } else {
            self.flush()?;
            self.file.write_at(bytes, self.length)?;
            self.length += bytes.len() as u64;
        }
        let padding = usize::try_from(padding_bytes(self.end())).expect("shorter than the alignment");
        self.buffer.resize(self.buffer.len() + padding, 0);
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        Ok(blob)
    }
}

impl<'a> CheckpointWriter<'a> {
    pub(super) fn new(checkpoints: &'a Checkpoints, commit_version: u64) -> Self {
        let (open, written, finished) = (None, Vec::new(), false);
        Self { checkpoints, commit_version, open, written, finished, file_bytes_max: BLOB_FILE_BYTES_MAX }
    }

    /// Writes a blob. It can be read once the checkpoint is finished.
    pub fn put(&mut self, bytes: &[u8]) -> DurableResult<BlobRef> {
        if bytes.len() as u64 > BLOB_BYTES_MAX {
            return self.put_in_parts(bytes, BLOB_BYTES_MAX as usize);
        }
        let crc = crc32fast::hash(bytes);
        self.room_for(bytes.len() as u64)?.push(bytes, crc)
    }

    /// Writes a blob in parts, and a list of them, into one file, which is what the reference names.
    pub(super) fn put_in_parts(&mut self, bytes: &[u8], part_bytes_max: usize) -> DurableResult<BlobRef> {
        let open = self.room_for(bytes.len() as u64)?;
        let mut list = Vec::new();
        for part in bytes.chunks(part_bytes_max) {
            list.extend_from_slice(&open.push(part, crc32fast::hash(part))?.encode());
        }
        let crc = crc32fast::hash(&list);
        Ok(open.push(&list, crc)?.of_parts())
    }

    /// Makes the blobs written so far durable and readable; the next go to a fresh file.
    pub fn settle(&mut self) -> DurableResult<()> {
        self.close_file()
    }

    /// As [`CheckpointWriter::settle`], and the files belong to the database from now on, whatever becomes of this checkpoint.
    pub fn adopt(&mut self) -> DurableResult<()> {
        self.close_file()?;
        let outcome = self.checkpoints.adopt(&self.written);
        if outcome.is_ok() || self.checkpoints.is_poisoned() {
            // In the second case the disk may say either; the files stay, and the next open decides.
            self.written.clear();
        }
        outcome
    }

    /// Moves the checkpoint to a later commit version than it was begun at.
    ///
    /// # Panics
    /// When the commit version is before the one it was begun at: another checkpoint may stand for that.
    pub fn set_commit_version(&mut self, commit_version: u64) {
        assert!(commit_version >= self.commit_version, "a checkpoint moves only to later versions");
        self.commit_version = commit_version;
    }

    /// Makes the blobs and the manifest durable, then makes this the latest checkpoint in one step.
    ///
    /// The manifest may refer to blobs of older checkpoints as well as to this one's.
    pub fn finish(mut self, manifest: &[u8], mark: &CheckpointMark) -> DurableResult<()> {
        self.close_file()?;
        let outcome = self.checkpoints.publish(self.commit_version, manifest, &self.written, mark);
        // From here on the disk may say either; the files stay, and the next open decides.
        self.finished = outcome.is_ok() || self.checkpoints.is_poisoned();
        outcome
    }

    /// The file that takes the next blob of this length.
    fn room_for(&mut self, length: u64) -> DurableResult<&mut OpenFile> {
        let (needed, end_max) = (BLOB_HEAD_BYTES as u64 + length, self.file_bytes_max);
        let full = |open: &OpenFile| open.end() > HEADER_BYTES as u64 && open.end() + needed > end_max;
        if self.open.as_ref().is_some_and(full) {
            self.close_file()?;
        }
        if self.open.is_none() {
            self.open = Some(self.begin_file()?);
        }
        Ok(self.open.as_mut().expect("it was just opened"))
    }

    fn begin_file(&mut self) -> DurableResult<OpenFile> {
        let number = self.checkpoints.take_file_number()?;
        self.written.push((number, 0));
        let path = blob_path(&self.checkpoints.data, number);
        let file = self.checkpoints.disk.open(&path, OpenHow::Replace)?;
        let mut buffer = Vec::with_capacity(BUFFER_BYTES);
        buffer.extend_from_slice(&blob_file_header(number));
        Ok(OpenFile { number, file, length: 0, buffer })
    }

    fn close_file(&mut self) -> DurableResult<()> {
        if let Some(mut open) = self.open.take() {
            open.flush()?;
            open.file.sync()?;
            self.written.last_mut().expect("an open file was noted when it was begun").1 = open.length;
        }
        Ok(())
    }
}

impl Drop for CheckpointWriter<'_> {
    fn drop(&mut self) {
        if !self.finished {
            for &(number, _) in &self.written {
                // What cannot be removed now is a leftover, and goes on the next open.
                let _ = self.checkpoints.disk.remove(&blob_path(&self.checkpoints.data, number));
            }
        }
        self.checkpoints.end_writing();
    }
}
