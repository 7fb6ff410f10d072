//! The 32 bytes every file of a database begins with, and small files that are written whole ("sealed").
//!
//! ```text
//!  0        8         12      16               24               32
//!  | magic  | version | crc32 | first number   | second number  |
//! ```
//! The crc covers the other 28 bytes. Magic, version and crc keep their places in every later version, so that an older program
//! can always say "newer" instead of "damaged". All numbers of all files are little-endian.

use std::path::Path;

use crate::{DurableError, DurableResult};

/// Length of the header.
pub(crate) const HEADER_BYTES: usize = 32;

/// The latest version of any file's format that this program reads and writes.
pub const FORMAT_VERSION: u32 = 2;

/// What a file is, told by its first eight bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Identity,
    Log,
    Blobs,
    Manifest,
    Current,
    Backup,
}

impl Kind {
    fn magic(self) -> &'static [u8; 8] {
        match self {
            Self::Identity => b"tw-ident",
            Self::Log => b"tw-log\r\n",
            Self::Blobs => b"tw-blobs",
            Self::Manifest => b"tw-manif",
            Self::Current => b"tw-curr\n",
            Self::Backup => b"tw-backp",
        }
    }

    /// The version of its format that is written, the latest that is read.
    fn version(self) -> u32 {
        match self {
            Self::Current => FORMAT_VERSION,
            Self::Identity | Self::Log | Self::Blobs | Self::Manifest | Self::Backup => 1,
        }
    }
}

/// A decoded header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) kind: Kind,
    pub(crate) first: u64,
    pub(crate) second: u64,
}

impl Header {
    pub(crate) fn encode(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..8].copy_from_slice(self.kind.magic());
        bytes[8..12].copy_from_slice(&self.kind.version().to_le_bytes());
        bytes[16..24].copy_from_slice(&self.first.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.second.to_le_bytes());
        let crc = header_crc(&bytes);
        bytes[12..16].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// Reads the header that begins `bytes`, the contents of `file`.
    pub(crate) fn decode(kind: Kind, bytes: &[u8], file: &Path) -> DurableResult<Self> {
        let Some(bytes) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(DurableError::corrupt(file, bytes.len() as u64, "the file ends inside its header"));
        };
        if &bytes[0..8] != kind.magic() {
            return Err(DurableError::corrupt(file, 0, "this is not the kind of file its name says"));
        }
        if u32_at(bytes, 12) != header_crc(bytes) {
            return Err(DurableError::corrupt(file, 0, "the header does not match its checksum"));
        }
        let found = u32_at(bytes, 8);
        if found > kind.version() {
            let supported = kind.version();
            return Err(DurableError::NewerFormat { file: file.to_path_buf(), found, supported });
        }
        if found == 0 {
            return Err(DurableError::corrupt(file, 8, "there is no format version 0"));
        }
        Ok(Self { kind, first: u64_at(bytes, 16), second: u64_at(bytes, 24) })
    }
}

/// The version of the format of a file whose header was decoded.
pub(crate) fn version_of(bytes: &[u8]) -> u32 {
    u32_at(bytes, 8)
}

fn header_crc(bytes: &[u8; HEADER_BYTES]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes[0..12]);
    hasher.update(&bytes[16..32]);
    hasher.finalize()
}

/// The four bytes at `at`, which must be there.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes were sliced"))
}

/// The eight bytes at `at`, which must be there.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes were sliced"))
}

/// A sealed file: header (second number = length of the body), body, crc of the body.
pub(crate) fn seal(kind: Kind, first: u64, body: &[u8]) -> Vec<u8> {
    let header = Header { kind, first, second: body.len() as u64 };
    let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len() + 4);
    bytes.extend_from_slice(&header.encode());
    bytes.extend_from_slice(body);
    bytes.extend_from_slice(&crc32fast::hash(body).to_le_bytes());
    bytes
}

/// The first number and the body of a sealed file.
pub(crate) fn unseal<'a>(kind: Kind, bytes: &'a [u8], file: &Path) -> DurableResult<(u64, &'a [u8])> {
    let header = Header::decode(kind, bytes, file)?;
    let wanted = header.second.saturating_add(HEADER_BYTES as u64 + 4);
    if bytes.len() as u64 != wanted {
        let what = format!("the file has {} bytes and should have {wanted}", bytes.len());
        return Err(DurableError::corrupt(file, bytes.len() as u64, what));
    }
    let (body, crc) = bytes[HEADER_BYTES..].split_at(bytes.len() - HEADER_BYTES - 4);
    if u32_at(crc, 0) != crc32fast::hash(body) {
        return Err(DurableError::corrupt(
            file,
            HEADER_BYTES as u64,
            "the contents do not match their checksum",
        ));
    }
    Ok((header.first, body))
}
