//! Where stored bytes are read from again: keys of blobs, and whoever knows what is under them.

use crate::StoreError;
use crate::bytes::Reader;
use std::fmt;
use std::sync::Arc;

/// Names stored bytes; only the source that made it knows what is in it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobKey(pub [u8; 20]);

impl fmt::Debug for BlobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// To be called, from any thread, when what was asked for has come, or will not come.
pub type Fetched = Arc<dyn Fn() + Send + Sync>;

/// Where chunks and index runs are read from when first touched.
pub trait ChunkSource: Send + Sync {
    /// The bytes stored under `key`; [`StoreError::Source`] where the medium fails.
    fn read(&self, key: BlobKey) -> Result<Vec<u8>, StoreError>;
    /// Does a read wait for another machine?
    fn is_remote(&self) -> bool {
        false
    }
    /// Asks for what is stored under these keys, where a read would wait for another machine, and says for how many: so often `fetched` is called. A read
    /// behind the calls finds them at hand, or has to ask by itself after all. None where a read does not wait so, or too much is asked for.
    fn fetch(&self, keys: &[BlobKey], fetched: &Fetched) -> usize {
        let _ = (keys, fetched);
        0
    }
}

/// A key as it stands in a manifest.
pub(crate) fn read_blob(reader: &mut Reader<'_>) -> Result<BlobKey, StoreError> {
    let bytes = reader.raw(size_of::<BlobKey>())?;
    Ok(BlobKey(bytes.try_into().expect("a blob key is as long as what was read")))
}
