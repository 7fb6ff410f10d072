//! One record in a segment, and how to tell a torn tail from damage.
//!
//! ```text
//!  0        4       8        16           20
//!  | length | crc32 | commit version  | synced     | payload ...
//! ```
//! `synced` is the trick: how many bytes of this segment were known to be durable when the record was appended. A bad record at
//! offset x with a good one behind it whose `synced` is above x was durable once and is damaged now. If all good ones behind it say less, the bad one
//! was never acknowledged: the power failed while the disk wrote in an order of its own, and the tail is cut.
//! A frame with commit version 0 carries no record: it is a mark, written to close a segment or a run.

use crate::header::{u32_at, u64_at};

/// Bytes before the payload.
pub(crate) const FRAME_BYTES: usize = 20;

/// The commit version that marks carry. Records begin at 1.
pub(crate) const MARK_VERSION: u64 = 0;

/// A frame in the bytes of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub(crate) commit_version: u64,
    pub(crate) synced: u32,
    pub(crate) payload: &'a [u8],
}

impl<'a> Frame<'a> {
    pub(crate) fn encode_into(&self, bytes: &mut Vec<u8>) {
        let start = bytes.len();
        let length = u32::try_from(self.payload.len()).expect("the log checked the length");
        bytes.extend_from_slice(&length.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&self.commit_version.to_le_bytes());
        bytes.extend_from_slice(&self.synced.to_le_bytes());
        bytes.extend_from_slice(self.payload);
        let crc = frame_crc(&bytes[start..]);
        bytes[start + 4..start + 8].copy_from_slice(&crc.to_le_bytes());
    }

    /// The frame that begins at `at`, or the fault there.
    pub(crate) fn decode(bytes: &'a [u8], at: usize) -> Result<Self, &'static str> {
        let rest = &bytes[at..];
        if rest.len() < FRAME_BYTES {
            return Err("the file ends inside the head of a record");
        }
        let length = u32_at(rest, 0) as usize;
        if rest.len() - FRAME_BYTES < length {
            return Err("the file ends inside a record, or its length is wrong");
        }
        let whole = &rest[..FRAME_BYTES + length];
        if u32_at(whole, 4) != frame_crc(whole) {
            return Err("a record does not match its checksum");
        }
        Ok(Self {
            commit_version: u64_at(whole, 8),
            synced: u32_at(whole, 16),
            payload: &whole[FRAME_BYTES..],
        })
    }

    pub(crate) fn length(&self) -> usize {
        FRAME_BYTES + self.payload.len()
    }

    pub(crate) fn is_mark(&self) -> bool {
        self.commit_version == MARK_VERSION
    }
}

fn frame_crc(frame: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&frame[0..4]);
    hasher.update(&frame[8..]);
    hasher.finalize()
}

/// Walks the frames of a segment from front to back.
#[derive(Clone, Debug)]
pub(crate) struct Walk {
    /// Offset of the next frame.
    pub(crate) at: usize,
    /// Commit version of the last record walked over.
    pub(crate) last_version: u64,
    /// Whether the last frame walked over was a mark.
    pub(crate) after_mark: bool,
}

impl Walk {
    pub(crate) fn new(first_frame: usize, base_version: u64) -> Self {
        Self { at: first_frame, last_version: base_version, after_mark: false }
    }

    /// The next frame; none at the end; the fault if it is bad (and then the walk stays where it is).
    pub(crate) fn next<'a>(&mut self, bytes: &'a [u8]) -> Result<Option<Frame<'a>>, &'static str> {
        if self.at == bytes.len() {
            return Ok(None);
        }
        let frame = Frame::decode(bytes, self.at)?;
        if frame.synced as usize > self.at {
            return Err("a record says that bytes behind it were durable before it");
        }
        if frame.is_mark() && !frame.payload.is_empty() {
            return Err("a mark carries a payload");
        }
        if !frame.is_mark() {
            if frame.commit_version <= self.last_version {
                return Err("the version of a record does not follow the one before it");
            }
            self.last_version = frame.commit_version;
        }
        self.after_mark = frame.is_mark();
        self.at += frame.length();
        Ok(Some(frame))
    }
}

/// Whether some good frame behind the bad one at `bad` proves that `bad` was durable once.
pub(crate) fn was_durable(bytes: &[u8], bad: usize) -> bool {
    let possible = |at: usize| {
        let synced = u32_at(bytes, at + 16) as usize;
        // The cheap test first: it passes almost nowhere, so the checksum is seldom computed.
        synced > bad && synced <= at && Frame::decode(bytes, at).is_ok()
    };
    (bad + 1..(bytes.len() + 1).saturating_sub(FRAME_BYTES)).any(possible)
}
