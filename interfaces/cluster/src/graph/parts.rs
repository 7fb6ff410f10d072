//! Changes of a transaction by the shards that apply them.

use model::ChunkNo;
use protocol::Bytes;
use std::collections::BTreeMap;
use store::{Change, StoreError};

/// The parts of a record by shard, ascending.
pub(crate) type RecordParts = Vec<(u16, Bytes)>;

/// A list of changes for each shard, in their order. A change is in the list of each of its chunks' owners; one of the catalogue, which is the same
/// on every shard, in all lists. A list may be cut after `bytes_max` bytes.
///
/// # Errors
/// Errors of `owner`; or the query of this thread is over.
pub(crate) fn by_shards<E: From<StoreError>>(
    changes: &[Change],
    shards: u16,
    mut owner: impl FnMut(ChunkNo) -> Result<u16, E>,
    bytes_max: usize,
) -> Result<RecordParts, E> {
    let mut lists: BTreeMap<u16, Vec<Change>> = BTreeMap::new();
    for change in changes {
        let mut owners = Vec::new();
        for chunk in change.chunks().into_iter().flatten() {
            owners.push(owner(chunk)?);
        }
        match owners.len() {
            0 => owners.extend(0..shards),
            _ => owners.dedup(),
        }
        owners.into_iter().for_each(|owner| lists.entry(owner).or_default().push(change.clone()));
    }
    let encoded = |(shard, changes): (u16, Vec<Change>)| {
        let mut bytes = Vec::new();
        Change::encode_all(&changes, &mut bytes, bytes_max)?;
        Ok((shard, Bytes::from(bytes)))
    };
    lists.into_iter().map(encoded).collect()
}
