//! stub
use crate::StoreError;
use crate::index_run::IndexRun;
pub(crate) fn decode_run(_bytes: &[u8]) -> Result<IndexRun, StoreError> {
    Err(StoreError::Unsupported("decode"))
}
