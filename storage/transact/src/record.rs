//! The log record of one commit: version, wall clock, changes; or where to find a bulk load. Drawn in docs/formats/log.md.

use crate::limits::RECORD_BYTES_MAX;
use crate::{CommitRecord, TransactError};
use durable::BlobRef;
use store::{Change, StoreError};

const RECORD_VERSION: u8 = 1;
const LOAD_VERSION: u8 = 2;
const HEADER_BYTES: usize = 9;

/// Longer records are not read back to see whether they can be.
const READ_BACK_BYTES_MAX: usize = 1 << 20;

/// The payload of a commit: version (1 byte), microseconds since 1970 (8 bytes, little-endian), changes.
///
/// # Errors
/// It exceeds the maximum of a record; the query of this thread is over.
pub(crate) fn encode(record: &CommitRecord) -> Result<Vec<u8>, TransactError> {
    let mut bytes = vec![RECORD_VERSION];
    bytes.extend_from_slice(&record.time_micros.to_le_bytes());
    Change::encode_all(&record.changes, &mut bytes, RECORD_BYTES_MAX)?;
    if bytes.len() > RECORD_BYTES_MAX {
        return Err(TransactError::TooLarge);
    }
    let is_readable = || bytes.len() > READ_BACK_BYTES_MAX || decode(record.commit_version, &bytes).is_ok();
    debug_assert!(is_readable(), "a record that could not be replayed");
    Ok(bytes)
}

/// When the commit was, without looking at its changes.
pub(crate) fn time_micros(commit_version: u64, payload: &[u8]) -> Result<u64, TransactError> {
    let corrupt = |what: &str| StoreError::Corrupt(format!("commit {commit_version}: {what}").into());
    if payload.len() < HEADER_BYTES {
        return Err(corrupt("too short").into());
    }
    if payload[0] != RECORD_VERSION && payload[0] != LOAD_VERSION {
        return Err(corrupt("unknown version").into());
    }
    Ok(u64::from_le_bytes(payload[1..HEADER_BYTES].try_into().expect("eight bytes")))
}

/// Inverse of [`encode`].
pub(crate) fn decode(commit_version: u64, payload: &[u8]) -> Result<CommitRecord, TransactError> {
    let time_micros = time_micros(commit_version, payload)?;
    if payload[0] != RECORD_VERSION {
        return Err(StoreError::Corrupt(
            format!("commit {commit_version}: a list of changes was expected").into(),
        )
        .into());
    }
    let changes = Change::decode_all(&payload[HEADER_BYTES..])?;
    Ok(CommitRecord { commit_version, time_micros, changes })
}

/// A bulk load: the graph of a manifest, with all commits behind it, is the graph with the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LoadMark {
    /// The manifest of the load, put onto the graph at `base`.
    pub manifest: BlobRef,
    /// The last commit that the manifest's graph holds.
    pub base: u64,
}

/// The payload of a bulk load: version (1 byte), microseconds since 1970 (8 bytes), base (8 bytes), manifest (20 bytes).
pub(crate) fn encode_load(time_micros: u64, mark: LoadMark) -> Vec<u8> {
    let mut bytes = vec![LOAD_VERSION];
    bytes.extend_from_slice(&time_micros.to_le_bytes());
    bytes.extend_from_slice(&mark.base.to_le_bytes());
    bytes.extend_from_slice(&mark.manifest.encode());
    bytes
}

/// Inverse of [`encode_load`]; none for an ordinary commit.
pub(crate) fn decode_load(commit_version: u64, payload: &[u8]) -> Result<Option<LoadMark>, TransactError> {
    time_micros(commit_version, payload)?;
    if payload[0] != LOAD_VERSION {
        return Ok(None);
    }
    let corrupt =
        || StoreError::Corrupt(format!("commit {commit_version}: a bulk load of another length").into());
    let (base, manifest) = payload[HEADER_BYTES..].split_first_chunk::<8>().ok_or_else(corrupt)?;
    let manifest: &[u8; BlobRef::ENCODED_BYTES] = manifest.try_into().map_err(|_| corrupt())?;
    let base = u64::from_le_bytes(*base);
    if base >= commit_version {
        return Err(StoreError::Corrupt(
            format!("commit {commit_version}: a bulk load built on what came later").into(),
        )
        .into());
    }
    Ok(Some(LoadMark { manifest: BlobRef::decode(manifest), base }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_are_read_as_they_were_written_or_not_at_all() {
        let mark = LoadMark { manifest: BlobRef { file: 3, offset: 64, length: 5, crc: 6 }, base: 7 };
        let bytes = encode_load(9, mark);
        assert_eq!(bytes.len(), 37);
        assert_eq!((decode_load(8, &bytes).unwrap(), time_micros(8, &bytes).unwrap()), (Some(mark), 9));
        assert!(decode_load(7, &bytes).is_err(), "it cannot be its own base");
        assert!(
            decode(8, &bytes).is_err() && (0..37).all(|length| decode_load(8, &bytes[..length]).is_err())
        );
        let commit =
            encode(&CommitRecord { commit_version: 8, time_micros: 9, changes: Vec::new() }).unwrap();
        assert_eq!(decode_load(8, &commit).unwrap(), None);
    }
}
