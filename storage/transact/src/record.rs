//! What one commit puts into the log: version, wall clock, changes. Drawn in docs/formats/log.md.

use crate::{CommitRecord, TransactError};
use store::{Change, StoreError};

const RECORD_VERSION: u8 = 1;
const HEADER_BYTES: usize = 9;

/// The payload of a commit: version (1 byte), microseconds since 1970 (8 bytes, little-endian), changes.
pub(crate) fn encode(record: &CommitRecord) -> Vec<u8> {
    let mut bytes = vec![RECORD_VERSION];
    bytes.extend_from_slice(&record.time_micros.to_le_bytes());
    let mut changes = Vec::new();
    Change::encode_all(&record.changes, &mut changes);
    bytes.extend_from_slice(&changes);
    bytes
}

/// When the commit was, without looking at its changes.
pub(crate) fn time_micros(place: u64, payload: &[u8]) -> Result<u64, TransactError> {
    let corrupt = |what: &str| StoreError::Corrupt(format!("commit {place}: {what}").into());
    if payload.len() < HEADER_BYTES {
        return Err(corrupt("too short").into());
    }
    if payload[0] != RECORD_VERSION {
        return Err(corrupt("unknown version").into());
    }
    Ok(u64::from_le_bytes(payload[1..HEADER_BYTES].try_into().expect("eight bytes")))
}

/// Inverse of [`encode`].
pub(crate) fn decode(place: u64, payload: &[u8]) -> Result<CommitRecord, TransactError> {
    let time_micros = time_micros(place, payload)?;
    let changes = Change::decode_all(&payload[HEADER_BYTES..])?;
    Ok(CommitRecord { place, time_micros, changes })
}
