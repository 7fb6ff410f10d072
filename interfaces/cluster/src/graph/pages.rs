//! Where a gate reads chunks on first touch: a read that waits, or a question whose answer lies ready for the read behind it.
//!
//! ```text
//!   operator: the chunk is away ── fetch ──> shard          it is parked, and its executor serves others; no answer: asked again
//!   operator <── wake ── answer, put down here              it reads the chunk, which does not wait
//! ```
//!
//! Invariants: whoever asked is woken once, whatever becomes of the question, after [`PATIENCE`] at the latest; then the read finds out why the chunk did not
//! come, and does not wait for it a second time. What nobody reads is swept away.

use super::ask::{ANSWER, PATIENCE, PAUSE, ask, content};
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
/// What lies ready for so long is not read any more: its query is over.
const READY_KEPT: Duration = Duration::from_secs(2);

/// The longest pause between two questions for one chunk; the first is [`PAUSE`], and each is twice the one before.
const PAUSE_MAX: Duration = Duration::from_millis(200);

/// A chunk that was asked for.
enum Fetch {
    /// Who is to be woken.
    Asked(Vec<Fetched>),
    /// The answer of its shard, and when it came (of [`clock::monotonic_ns`]).
    Ready(Bytes, u64),
    /// There was none in all the time; when that was found, and how many reads are to be told.
    Failed(u64, usize),
}

impl Fetch {
    /// Has nobody read it for too long?
    fn is_old(&self, now_ns: u64) -> bool {
        let (Fetch::Ready(_, at_ns) | Fetch::Failed(at_ns, _)) = self else { return false };
        at_ns.saturating_add(clock::span_ns(READY_KEPT)) <= now_ns
    }
}

#[derive(Default)]
struct Fetches {
    by_key: BTreeMap<BlobKey, Fetch>,
    /// Old ones will be swept away, without being asked.
    is_swept: bool,
}

/// See the head of this file.
#[derive(Clone)]
pub(super) struct Pages {
    handle: GateHandle,
    fetches: Arc<Mutex<Fetches>>,
}

impl Pages {
    pub(super) fn new(handle: GateHandle) -> Pages {
        Pages { handle, fetches: Arc::default() }
    }
    /// What lies ready.
    fn take_ready(&self, key: BlobKey) -> Option<Result<Bytes, StoreError>> {
        let all = &mut self.fetches.lock().by_key;
        let left = match all.get_mut(&key)? {
            Fetch::Asked(_) => return None,
            Fetch::Ready(..) => 0,
            Fetch::Failed(_, readers) => {
                *readers = readers.saturating_sub(1);
                *readers
            }
        };
        if left > 0 {
            return Some(Err(no_answer()));
        }
        match all.remove(&key)? {
            Fetch::Ready(answer, _) => Some(Ok(answer)),
            Fetch::Failed(..) | Fetch::Asked(_) => Some(Err(no_answer())),
        }
    }

    /// Asks for a chunk; false where nothing is asked.
    fn ask_for(&self, key: BlobKey, until_ns: u64, pause: Duration) -> bool {
        let left = Duration::from_nanos(until_ns.saturating_sub(clock::monotonic_ns()));
        let pages = self.clone();
        self.handle.read_later(vec![query(key)], ANSWER.min(left), move |answers| {
            match answers.and_then(|mut answers| answers.pop()) {
                Some((_, answer)) => pages.put(key, Some(Fetch::Ready(answer, clock::monotonic_ns()))),
                None => pages.ask_again(key, until_ns, pause),
            }
        })
    }
    /// After a pause, which is longer each time; where that cannot be, the read asks by itself.
    fn ask_again(&self, key: BlobKey, until_ns: u64, pause: Duration) {
        let now_ns = clock::monotonic_ns();
        if now_ns >= until_ns {
            self.put(key, Some(Fetch::Failed(now_ns, 0)));
            return;
        }
        let pages = self.clone();
        let asks = move || {
            if !pages.ask_for(key, until_ns, (2 * pause).min(PAUSE_MAX)) {
                pages.put(key, None);
            }
        };
        if !self.handle.after(pause, asks) {
            self.put(key, None);
        }
    }
    /// Puts down what became of a question, and wakes who waits.
    fn put(&self, key: BlobKey, fetch: Option<Fetch>) {
        let mut fetches = self.fetches.lock();
        let Some(Fetch::Asked(waiting)) = fetches.by_key.remove(&key) else { return };
        match fetch {
            Some(Fetch::Failed(at_ns, _)) => {
                fetches.by_key.insert(key, Fetch::Failed(at_ns, waiting.len()));
            }
            Some(fetch) => drop(fetches.by_key.insert(key, fetch)),
            None => {}
        }
        drop(fetches);
        self.sweep_later();
        waiting.iter().for_each(|fetched| fetched());
    }

    /// Sees that what lies ready goes when it is old.
    fn sweep_later(&self) {
        let mut fetches = self.fetches.lock();
        let is_needed = fetches.by_key.values().any(|fetch| !matches!(fetch, Fetch::Asked(_)));
        if fetches.is_swept || !is_needed {
            return;
        }
        let pages = self.clone();
        fetches.is_swept = true;
        drop(fetches);
        if !self.handle.after(READY_KEPT, move || pages.sweep()) {
            self.fetches.lock().is_swept = false;
        }
    }
    fn sweep(&self) {
        let now_ns = clock::monotonic_ns();
        let mut fetches = self.fetches.lock();
        fetches.is_swept = false;
        fetches.by_key.retain(|_, fetch| !fetch.is_old(now_ns));
        drop(fetches);
        self.sweep_later();
    }
}

fn no_answer() -> StoreError {
    StoreError::Unavailable("there was no answer in time".into())
}

/// The question for a chunk, to its shard.
fn query(key: BlobKey) -> (u16, Bytes) {
    (ShareKey::of(key).shard, Bytes::from([&[CHUNK], &key.0[..]].concat()))
}

impl ChunkSource for Pages {
    fn read(&self, key: BlobKey) -> Result<Vec<u8>, StoreError> {
        let failed = |why: String| StoreError::Unavailable(why.into());
        if let Some(ready) = self.take_ready(key) {
            // What a shard refused then may be had now.
            if let Ok(bytes) = content(&ready?) {
                return Ok(bytes.to_vec());
            }
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
        let mut fetches = self.fetches.lock();
        if fetches.by_key.len() >= FETCHES_MAX {
            let now_ns = clock::monotonic_ns();
            fetches.by_key.retain(|_, fetch| !fetch.is_old(now_ns));
        }
        let is_full = fetches.by_key.len() >= FETCHES_MAX;
        match fetches.by_key.get_mut(&key) {
            Some(Fetch::Asked(waiting)) => {
                waiting.push(fetched.clone());
                return true;
            }
            Some(Fetch::Ready(..) | Fetch::Failed(..)) => return false,
            None if is_full => return false,
            None => drop(fetches.by_key.insert(key, Fetch::Asked(vec![fetched.clone()]))),
        }
        drop(fetches);
        if self.ask_for(key, clock::after_ns(PATIENCE), PAUSE) {
            return true;
        }
        // Nobody else is told: others may have come meanwhile.
        if let Some(Fetch::Asked(waiting)) = self.fetches.lock().by_key.remove(&key) {
            waiting.iter().skip(1).for_each(|fetched| fetched());
        }
        false
    }
}

#[cfg(test)]
mod tests;
