//! stub
use crate::{Change, Snapshot, StoreError};
impl Snapshot {
    /// The snapshot after these changes, in order; this one is untouched.
    pub fn apply(&self, _place: u64, _changes: &[&[Change]]) -> Result<Snapshot, StoreError> {
        Err(StoreError::Unsupported("apply"))
    }
}
