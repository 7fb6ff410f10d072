//! Blob files: immutable pieces of checkpoints, each with a checksum, one behind the other.
//!
//! ```text
//!  header (32) | length 4 | crc32 4 | "blob" 4 | head's crc32 4 | bytes ... | zeros up to 16 | length ...
//! ```
//! So every blob begins at a multiple of 16, and a file can be walked and checked without the manifest.

use std::path::{Path, PathBuf};

use world::disk::{DiskFile, DiskResult};

use crate::header::{HEADER_BYTES, Header, Kind, u32_at};
use crate::{BLOB_ALIGNMENT_BYTES, BlobRef, DurableError, DurableResult};

/// Bytes before each blob.
pub(crate) const BLOB_HEAD_BYTES: usize = 16;

const BLOB_WORD: [u8; 4] = *b"blob";

/// Bytes checked at once when a file is walked.
const WALK_BYTES: usize = 1 << 20;

/// The head of a blob: length, checksum of the bytes, a word, checksum of these three.
pub(crate) fn blob_head(length: u32, crc: u32) -> [u8; BLOB_HEAD_BYTES] {
    let mut head = [0; BLOB_HEAD_BYTES];
    head[0..4].copy_from_slice(&length.to_le_bytes());
    head[4..8].copy_from_slice(&crc.to_le_bytes());
    head[8..12].copy_from_slice(&BLOB_WORD);
    let head_crc = crc32fast::hash(&head[0..12]);
    head[12..16].copy_from_slice(&head_crc.to_le_bytes());
    head
}

/// Zeros that bring a length to the next multiple of the alignment.
pub(crate) fn padding_bytes(length: u64) -> u64 {
    length.next_multiple_of(BLOB_ALIGNMENT_BYTES) - length
}

/// Where the blob file with this number lies in the folder `data/`.
pub(crate) fn blob_path(data: &Path, number: u32) -> PathBuf {
    data.join(format!("{number:08}.blobs"))
}

/// The number in a blob file's name; none for other files.
pub(crate) fn blob_number(name: &str) -> Option<u32> {
    let number = name.strip_suffix(".blobs")?.parse().ok()?;
    (format!("{number:08}.blobs") == name && number > 0).then_some(number)
}

/// The header of the blob file with this number.
pub(crate) fn blob_file_header(number: u32) -> [u8; HEADER_BYTES] {
    Header { kind: Kind::Blobs, first: u64::from(number), second: 0 }.encode()
}

/// Checks that an open file is the blob file with this number.
pub(crate) fn check_blob_file(file: &dyn DiskFile, number: u32, path: &Path) -> DurableResult<()> {
    let mut bytes = [0; HEADER_BYTES];
    let length = file.read_at(&mut bytes, 0)?;
    let header = Header::decode(Kind::Blobs, &bytes[..length], path)?;
    if header.first != u64::from(number) {
        return Err(DurableError::corrupt(path, 16, "this is another blob file's number"));
    }
    if header.second != 0 {
        return Err(DurableError::corrupt(path, 24, "a field that must be zero is not"));
    }
    Ok(())
}

/// Reads one blob, and checks its head and its bytes.
pub(crate) fn read_blob(file: &dyn DiskFile, blob: BlobRef, path: &Path) -> DurableResult<Vec<u8>> {
    let aligned = blob.offset.is_multiple_of(BLOB_ALIGNMENT_BYTES);
    let end = blob.offset.checked_add(u64::from(blob.length));
    if !aligned
        || blob.offset < (HEADER_BYTES + BLOB_HEAD_BYTES) as u64
        || end.is_none_or(|end| end > i64::MAX as u64)
    {
        return Err(DurableError::corrupt(path, blob.offset, "no blob can begin here"));
    }
    if end > Some(file.len()?) {
        return Err(DurableError::corrupt(path, blob.offset, "the file ends before the end of the blob"));
    }
    let mut bytes = vec![0; BLOB_HEAD_BYTES + blob.length as usize];
    let read = file.read_at(&mut bytes, blob.offset - BLOB_HEAD_BYTES as u64)?;
    if read < bytes.len() {
        return Err(DurableError::corrupt(path, blob.offset, "the file ends inside a blob"));
    }
    if bytes[..BLOB_HEAD_BYTES] != blob_head(blob.length, blob.crc) {
        let at = blob.offset - BLOB_HEAD_BYTES as u64;
        return Err(DurableError::corrupt(path, at, "the head of a blob is not the one expected"));
    }
    bytes.drain(..BLOB_HEAD_BYTES);
    if crc32fast::hash(&bytes) != blob.crc {
        return Err(DurableError::corrupt(path, blob.offset, "a blob does not match its checksum"));
    }
    Ok(bytes)
}

/// The same for a blob that may be kept in parts.
pub(crate) fn read_blob_or_parts(file: &dyn DiskFile, blob: BlobRef, path: &Path) -> DurableResult<Vec<u8>> {
    let Some(list) = blob.parts() else { return read_blob(file, blob, path) };
    let references = read_blob(file, list, path)?;
    let corrupt = || DurableError::corrupt(path, list.offset, "this is not a list of the parts of a blob");
    let (references, rest) = references.as_chunks::<{ BlobRef::ENCODED_BYTES }>();
    let parts: Vec<BlobRef> = references.iter().map(BlobRef::decode).collect();
    if !rest.is_empty() || parts.iter().any(|part| part.file != blob.file || part.parts().is_some()) {
        return Err(corrupt());
    }
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend_from_slice(&read_blob(file, part, path)?);
    }
    Ok(bytes)
}

/// Reads `length` bytes of a blob from `at` on. Their checksum is not checked, since there is only one of all of them.
pub(crate) fn read_part(
    file: &dyn DiskFile,
    blob: BlobRef,
    at: u32,
    length: u32,
    path: &Path,
) -> DurableResult<Vec<u8>> {
    let ends_early = || DurableError::corrupt(path, blob.offset, "the blob ends before its part");
    if blob.parts().is_some() {
        let bytes = read_blob_or_parts(file, blob, path)?;
        let part = bytes.get(at as usize..).and_then(|rest| rest.get(..length as usize));
        return part.map(<[u8]>::to_vec).ok_or_else(ends_early);
    }
    if at.checked_add(length).is_none_or(|end| end > blob.length) {
        return Err(ends_early());
    }
    let mut bytes = vec![0; length as usize];
    let begin = blob.offset.checked_add(u64::from(at)).ok_or_else(ends_early)?;
    match file.read_at(&mut bytes, begin)? == bytes.len() {
        true => Ok(bytes),
        false => Err(ends_early()),
    }
}

/// Reads the last `length` bytes of a blob, or all that it has, as [`read_part`] does; nothing of one that is kept in parts, which is read as a whole.
pub(crate) fn read_end(
    file: &dyn DiskFile,
    blob: BlobRef,
    length: u32,
    path: &Path,
) -> DurableResult<Vec<u8>> {
    if blob.parts().is_some() {
        return Ok(Vec::new());
    }
    let length = length.min(blob.length);
    read_part(file, blob, blob.length - length, length, path)
}

/// Reads a whole blob file and checks every byte. Returns how many blobs there are.
pub(crate) fn walk_blob_file(file: &dyn DiskFile, number: u32, path: &Path) -> DurableResult<u64> {
    check_blob_file(file, number, path)?;
    let (length, mut at, mut count) = (file.len()?, HEADER_BYTES as u64, 0);
    while at < length {
        let mut head = [0; BLOB_HEAD_BYTES];
        let read = file.read_at(&mut head, at)?;
        let (blob_length, crc) = (u32_at(&head, 0), u32_at(&head, 4));
        if read < head.len() || head != blob_head(blob_length, crc) {
            return Err(DurableError::corrupt(path, at, "no blob begins here"));
        }
        at += BLOB_HEAD_BYTES as u64;
        let padding = padding_bytes(u64::from(blob_length));
        if length - at < u64::from(blob_length) + padding {
            return Err(DurableError::corrupt(path, at, "the file ends inside a blob"));
        }
        if crc_of(file, at, u64::from(blob_length))? != crc {
            return Err(DurableError::corrupt(path, at, "a blob does not match its checksum"));
        }
        at += u64::from(blob_length);
        if !is_zero(file, at, padding)? {
            return Err(DurableError::corrupt(path, at, "the space behind a blob is not zero"));
        }
        at += padding;
        count += 1;
    }
    Ok(count)
}

fn crc_of(file: &dyn DiskFile, mut at: u64, mut length: u64) -> DiskResult<u32> {
    let mut hasher = crc32fast::Hasher::new();
    let mut buffer = vec![0; WALK_BYTES.min(usize::try_from(length).unwrap_or(WALK_BYTES))];
    while length > 0 {
        let wanted = usize::try_from(length).unwrap_or(WALK_BYTES).min(buffer.len());
        let read = file.read_at(&mut buffer[..wanted], at)?;
        if read == 0 {
            break;
        }
        hasher.update(&buffer[..read]);
        at += read as u64;
        length -= read as u64;
    }
    Ok(hasher.finalize())
}

fn is_zero(file: &dyn DiskFile, at: u64, length: u64) -> DiskResult<bool> {
    let mut bytes = [0; BLOB_ALIGNMENT_BYTES as usize];
    let wanted = usize::try_from(length).expect("padding is shorter than the alignment");
    let read = file.read_at(&mut bytes[..wanted], at)?;
    Ok(read == wanted && bytes.iter().all(|&byte| byte == 0))
}
