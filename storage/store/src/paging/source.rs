//! Where stored bytes are read from again: keys of blobs, and the source that resolves them.

use crate::StoreError;
use crate::bytes::Reader;
use std::fmt;
use std::sync::Arc;

/// Names stored bytes; only the source that made it knows their content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlobKey(pub [u8; 20]);

impl fmt::Debug for BlobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Called, from any thread, when a requested blob has come, or has failed.
pub type Fetched = Arc<dyn Fn() + Send + Sync>;

/// Where chunks and index runs are read from when first touched.
pub trait ChunkSource: Send + Sync {
    /// The bytes stored under `key`; [`StoreError::Source`] where the medium fails.
    fn read(&self, key: BlobKey) -> Result<Vec<u8>, StoreError>;
    /// The bytes of this blob from `at` on, that many of them. They need not be checked: the caller has a checksum of them.
    fn read_part(&self, key: BlobKey, at: u32, length: u32) -> Result<Vec<u8>, StoreError> {
        let bytes = self.read(key)?;
        let part = bytes.get(at as usize..).and_then(|rest| rest.get(..length as usize));
        part.map(<[u8]>::to_vec).ok_or_else(|| StoreError::corrupt("a blob ends before its part"))
    }
    /// The last `length` bytes of this blob, or all that it has, or nothing where only the whole can be read. They need not be checked either.
    fn read_end(&self, key: BlobKey, length: u32) -> Result<Vec<u8>, StoreError> {
        let mut bytes = self.read(key)?;
        Ok(bytes.split_off(bytes.len().saturating_sub(length as usize)))
    }
    /// Does a read wait for another machine?
    fn is_remote(&self) -> bool {
        false
    }
    /// Waits until a read of this key need not wait for another machine: work on a fiber pauses, so that its thread goes on with others. So the caller
    /// holds no lock that others take. The read still waits where too much is requested, or the request fails.
    ///
    /// # Errors
    /// The work is over.
    fn wait_for(&self, key: BlobKey) -> Result<(), StoreError> {
        let _ = key;
        Ok(())
    }
    /// Requests the content of these keys from another machine, where a read would wait for it, and returns how many requests were made: `fetched` is
    /// called that often. A read after the calls finds the content in memory, or requests it again. Zero where a read does not wait, or too much is
    /// requested.
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
