//! Where a gate reads chunks on first touch: a read that waits, or a question whose answer lies ready for the read behind it.
//!
//! ```text
//!   operator: the chunk is away ── fetch ──> shard          it is parked, and its executor serves others
//!   operator <── wake ── answer, put down here              it reads the chunk, which does not wait
//! ```
//!
//! Invariant: whoever asked is woken once, whatever becomes of the question. A chunk that did not come is asked for by the read itself.

use super::ask::{ANSWER, PATIENCE, ask, content};
use super::queries::CHUNK;
use crate::GateHandle;
use parking_lot::Mutex;
use protocol::Bytes;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use store::{BlobKey, ChunkSource, Fetched, ShareKey, StoreError};
use world::clock;

/// Chunks that are asked for, or lie ready, at once; of one more the read waits.
const FETCHES_MAX: usize = 256;
/// A chunk that lies ready for so long is not read any more: its query is over.
const READY_KEPT: Duration = Duration::from_secs(2);

/// A chunk that was asked for.
enum Fetch {
    /// Who is to be woken.
    Asked(Vec<Fetched>),
    /// The answer of its shard, and when it came (of [`clock::monotonic_ns`]).
    Ready(Bytes, u64),
}

type Fetches = Arc<Mutex<BTreeMap<BlobKey, Fetch>>>;

/// See the head of this file.
pub(super) struct Pages {
    handle: GateHandle,
    fetches: Fetches,
}

impl Pages {
    pub(super) fn new(handle: GateHandle) -> Pages {
        Pages { handle, fetches: Fetches::default() }
    }
    /// What lies ready.
    fn take_ready(&self, key: BlobKey) -> Option<Bytes> {
        let mut fetches = self.fetches.lock();
        match fetches.get(&key)? {
            Fetch::Ready(..) => match fetches.remove(&key)? {
                Fetch::Ready(answer, _) => Some(answer),
                Fetch::Asked(_) => None,
            },
            Fetch::Asked(_) => None,
        }
    }
}

/// The question for a chunk, to its shard.
fn query(key: BlobKey) -> (u16, Bytes) {
    (ShareKey::of(key).shard, Bytes::from([&[CHUNK], &key.0[..]].concat()))
}

impl ChunkSource for Pages {
    fn read(&self, key: BlobKey) -> Result<Vec<u8>, StoreError> {
        let failed = |why: String| StoreError::Unavailable(why.into());
        // What a shard refused then may be had now.
        if let Some(Ok(bytes)) = self.take_ready(key).as_deref().map(content) {
            return Ok(bytes.to_vec());
        }
        // A read of its own carries the question; the version is kept for the read of whoever asks.
        let (_read, answers) = ask(&self.handle, &[query(key)], clock::after_ns(PATIENCE))?;
        let [(_, answer)] = &answers[..] else { return Err(failed("no answer of the shard".into())) };
        content(answer).map(<[u8]>::to_vec).map_err(failed)
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn fetch(&self, key: BlobKey, fetched: &Fetched) -> bool {
        let now_ns = clock::monotonic_ns();
        {
            let mut fetches = self.fetches.lock();
            match fetches.get_mut(&key) {
                Some(Fetch::Asked(waiting)) => {
                    waiting.push(fetched.clone());
                    return true;
                }
                Some(Fetch::Ready(..)) => return false,
                None => {}
            }
            let kept_ns = clock::span_ns(READY_KEPT);
            fetches.retain(
                |_, fetch| !matches!(fetch, Fetch::Ready(_, at_ns) if at_ns.saturating_add(kept_ns) < now_ns),
            );
            if fetches.len() >= FETCHES_MAX {
                return false;
            }
            fetches.insert(key, Fetch::Asked(vec![fetched.clone()]));
        }
        let fetches = self.fetches.clone();
        let take = move |answers: Option<Vec<(u16, Bytes)>>| {
            let mut all = fetches.lock();
            let asked = all.remove(&key);
            if let Some((_, answer)) = answers.and_then(|mut answers| answers.pop()) {
                all.insert(key, Fetch::Ready(answer, clock::monotonic_ns()));
            }
            drop(all);
            if let Some(Fetch::Asked(waiting)) = asked {
                waiting.iter().for_each(|fetched| fetched());
            }
        };
        if self.handle.read_later(vec![query(key)], ANSWER, take) {
            return true;
        }
        // Nobody else is told: others may have come meanwhile.
        if let Some(Fetch::Asked(waiting)) = self.fetches.lock().remove(&key) {
            waiting.iter().skip(1).for_each(|fetched| fetched());
        }
        false
    }
}
