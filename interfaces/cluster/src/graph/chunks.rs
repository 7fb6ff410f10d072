//! Requests for whole chunks by their keys, and answers: one answer a key, in the order of the keys, and as many as one message should carry.
//!
//! ```text
//!   question:  CHUNKS, then keys of 20 bytes
//!   answer:    for each of the first keys: its length (u32, little endian), then HERE and the chunk, or FAILED and the reason
//! ```

use super::ask::content;
use super::queries::{CHUNKS, FAILED, HERE};
use protocol::Bytes;
use store::BlobKey;

/// Keys of one question at most.
pub(super) const KEYS_MAX: usize = 64;
/// An answer of at least this many bytes carries no further chunk.
const ANSWER_BYTES: usize = 1 << 20;
const KEY_BYTES: usize = size_of::<BlobKey>();

pub(super) fn question(keys: &[BlobKey]) -> Bytes {
    let mut question = Vec::with_capacity(1 + keys.len() * KEY_BYTES);
    question.push(CHUNKS);
    keys.iter().for_each(|key| question.extend(key.0));
    Bytes::from(question)
}

/// The answer to a question, behind its first byte.
pub(super) fn answer(
    keys: &[u8],
    chunk: impl Fn(BlobKey) -> Result<Vec<u8>, String>,
) -> Result<Vec<u8>, String> {
    if keys.is_empty() || !keys.len().is_multiple_of(KEY_BYTES) || keys.len() > KEYS_MAX * KEY_BYTES {
        return Err("keys of another length".to_string());
    }
    let mut answer = Vec::new();
    let (keys, _) = keys.as_chunks::<KEY_BYTES>();
    for key in keys {
        let (state, content) = match chunk(BlobKey(*key)) {
            Ok(bytes) => (HERE, bytes),
            Err(why) => (FAILED, why.into_bytes()),
        };
        let length = u32::try_from(1 + content.len()).map_err(|_| "a chunk is longer than a message")?;
        answer.extend(length.to_le_bytes());
        answer.push(state);
        answer.extend(content);
        if answer.len() >= ANSWER_BYTES {
            break;
        }
    }
    Ok(answer)
}

/// The parts of the answer to a request for `keys` keys: one answer for each of the first keys, each to be read by [`content`].
pub(super) fn answers(answer: &[u8], keys: usize) -> Result<Vec<&[u8]>, String> {
    let mut rest = content(answer)?;
    let mut answers = Vec::with_capacity(keys);
    while let Some((length, behind)) = rest.split_first_chunk() {
        let length = u32::from_le_bytes(*length) as usize;
        let (one, behind) = behind.split_at_checked(length).ok_or("a shard's answer is cut off")?;
        answers.push(one);
        rest = behind;
    }
    match rest.is_empty() && (1..=keys).contains(&answers.len()) {
        true => Ok(answers),
        false => Err("a shard's answer is not for what was asked".to_string()),
    }
}
