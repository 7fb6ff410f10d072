//! Where stored bytes are read from again: keys of blobs, and whoever knows what is under them.

use crate::StoreError;
use crate::bytes::Reader;
use std::fmt;

/// Names stored bytes; only the source that made it knows what is in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobKey(pub [u8; 20]);

impl fmt::Debug for BlobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Where chunks and index runs are read from when first touched.
pub trait ChunkSource: Send + Sync {
    /// The bytes stored under `key`; [`StoreError::Source`] where the medium fails.
    fn read(&self, key: BlobKey) -> Result<Vec<u8>, StoreError>;
}

/// A key as it stands in a manifest.
pub(crate) fn read_blob(reader: &mut Reader<'_>) -> Result<BlobKey, StoreError> {
    let bytes = reader.raw(size_of::<BlobKey>())?;
    Ok(BlobKey(bytes.try_into().expect("a blob key is as long as what was read")))
}
