//! stub
use crate::StoreError;
use crate::chunk::{Chunk, ChunkMeta};
use std::sync::Arc;
pub(crate) fn decode(_bytes: &[u8], _meta: &Arc<ChunkMeta>) -> Result<Chunk, StoreError> {
    Err(StoreError::Unsupported("decode"))
}
