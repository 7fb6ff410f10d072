//! stub
use crate::{BlobKey, ChunkSource, Snapshot, StoreError, StoreOptions};
use std::sync::Arc;
impl Snapshot {
    /// Writes every chunk and index run that is not stored yet through `write`, which gives each its key, and returns the manifest:
    /// the bytes [`Snapshot::open`] takes. Incremental: what an earlier checkpoint stored is only named.
    pub fn checkpoint<E: From<StoreError>>(
        &self,
        _write: &mut dyn FnMut(&[u8]) -> Result<BlobKey, E>,
    ) -> Result<Vec<u8>, E> {
        Err(StoreError::Unsupported("checkpoint").into())
    }
    /// The snapshot a manifest describes; chunks and index runs are read from `source` on first touch.
    pub fn open(
        _manifest: &[u8],
        _source: Arc<dyn ChunkSource>,
        _options: StoreOptions,
    ) -> Result<Snapshot, StoreError> {
        Err(StoreError::Unsupported("checkpoint"))
    }
}
