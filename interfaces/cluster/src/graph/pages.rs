//! Reads of chunks on first touch at a gate: a read that waits, or a prefetch whose answer is buffered for the read behind it.
//!
//! ```text
//!   operator: chunks are missing ─> [wanted, by shard] ── a few requests at once, of many keys ─> shard      no answer: sent again
//!   operator <── wake ── answers, buffered here                 it is parked meanwhile, and its executor serves others
//! ```
//!
//! A read of a chunk that nobody asked for ahead is fetched the same way: work on a fiber pauses until it has come, a client's thread sleeps. Only where too
//! much is wanted already, or a request could not be sent, the read waits itself.
//!
//! Invariants: each operator that waits for a chunk is woken once, whatever becomes of the request, at the latest about [`PATIENCE`] later; then the
//! read finds out why the chunk did not come, and does not wait for it a second time. A shard that does not answer holds up only requests to itself.
//! Unread buffers are swept away.

use super::ask::{ANSWER, PATIENCE, PAUSE, ask, content};
use super::chunks::{KEYS_MAX, answers, question};
use crate::GateHandle;
use dataflow::Latch;
use model::walk;
use parking_lot::Mutex;
use protocol::Bytes;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;
use store::{BlobKey, ChunkSource, Fetched, ShareKey, StoreError};
use world::clock;

/// Chunks of one shard that are wanted, or lie ready, at once; of one more the read waits.
const FETCHES_MAX: usize = 1_024;
/// Concurrent requests to one shard; further keys go with the next ones.
const QUESTIONS_MAX: usize = 4;
/// Buffers of this age are not read any more: their query is over, or requests them again.
const READY_KEPT: Duration = Duration::from_secs(2);
/// A read decodes its chunk within this time; until then other operators do not request it again.
const TAKEN_KEPT: Duration = Duration::from_millis(100);
/// Bytes of buffered answers of one shard from which on further reads wait.
const READY_BYTES_MAX: usize = 64 << 20;
/// The longest pause between two questions for the same chunks; the first is [`PAUSE`], and each is twice the one before.
const PAUSE_MAX: Duration = Duration::from_millis(200);

/// The state of a requested chunk.
enum Fetch {
    /// The wakers, and the time until which it is requested (of [`clock::monotonic_ns`]).
    Wanted(Vec<Fetched>, u64),
    /// The answer of its shard, and when it came.
    Ready(Bytes, u64),
    /// The requests failed, and when: for a short time after that no operator waits for it again.
    Failed(u64),
    /// The answer was taken by a read, and when: its chunk is in memory soon.
    Taken(u64),
    /// No request could be sent, and when: the read makes its own.
    Left(u64),
}

impl Fetch {
    /// Is it so old that it will not be read?
    fn is_old(&self, now_ns: u64) -> bool {
        let (at_ns, kept) = match self {
            Fetch::Wanted(..) => return false,
            Fetch::Taken(at_ns) => (at_ns, TAKEN_KEPT),
            Fetch::Ready(_, at_ns) | Fetch::Failed(at_ns) | Fetch::Left(at_ns) => (at_ns, READY_KEPT),
        };
        at_ns.saturating_add(clock::span_ns(kept)) <= now_ns
    }
}

/// The fetches from one shard.
#[derive(Default)]
struct ShardFetches {
    by_key: BTreeMap<BlobKey, Fetch>,
    /// Wanted, and in no question yet.
    next: VecDeque<BlobKey>,
    /// Questions on their way.
    questions: usize,
    /// Bytes of buffered answers.
    ready_bytes: usize,
}

impl ShardFetches {
    /// Stores the outcome for a wanted key, and returns the wakers to call.
    fn put(&mut self, key: BlobKey, fetch: Fetch) -> Vec<Fetched> {
        if let (Some(Fetch::Wanted(..)), Fetch::Ready(answer, _)) = (self.by_key.get(&key), &fetch) {
            self.ready_bytes += answer.len();
        }
        match self.by_key.get_mut(&key) {
            Some(wanted @ Fetch::Wanted(..)) => match std::mem::replace(wanted, fetch) {
                Fetch::Wanted(waiting, _) => waiting,
                _ => Vec::new(),
            },
            _ => Vec::new(),
        }
    }
    /// Removes old entries.
    fn sweep(&mut self, now_ns: u64) {
        let Self { by_key, ready_bytes, .. } = self;
        by_key.retain(|_, fetch| {
            let is_old = fetch.is_old(now_ns);
            if let (true, Fetch::Ready(answer, _)) = (is_old, &*fetch) {
                *ready_bytes -= answer.len();
            }
            !is_old
        });
    }
    fn is_full(&self) -> bool {
        self.by_key.len() >= FETCHES_MAX || self.ready_bytes >= READY_BYTES_MAX
    }
    /// Until when it is wanted, if there is time to request it.
    fn wanted_until(&self, key: BlobKey, now_ns: u64) -> Option<u64> {
        match self.by_key.get(&key) {
            Some(Fetch::Wanted(_, until_ns)) if *until_ns > now_ns => Some(*until_ns),
            _ => None,
        }
    }
    /// Splits keys into those still wanted, and the wakers of the others, which failed.
    fn still_wanted(&mut self, keys: Vec<BlobKey>, now_ns: u64) -> (Vec<BlobKey>, Vec<Fetched>) {
        let (keys, late): (Vec<_>, Vec<_>) =
            keys.into_iter().partition(|key| self.wanted_until(*key, now_ns).is_some());
        let woken = late.into_iter().flat_map(|key| self.put(key, Fetch::Failed(now_ns))).collect();
        (keys, woken)
    }
}

#[derive(Default)]
struct Fetches {
    by_shard: BTreeMap<u16, ShardFetches>,
    /// A sweep of old buffers is scheduled.
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
    /// Takes a buffered answer.
    fn take_ready(&self, key: BlobKey) -> Option<Result<Bytes, StoreError>> {
        let mut fetches = self.fetches.lock();
        let of = fetches.by_shard.get_mut(&ShareKey::of(key).shard)?;
        let fetch = of.by_key.get_mut(&key)?;
        match fetch {
            Fetch::Wanted(..) | Fetch::Taken(_) => None,
            Fetch::Failed(_) => {
                let why = "its shard did not answer in time";
                Some(Err(StoreError::Unavailable(why.into())))
            }
            Fetch::Left(_) => {
                of.by_key.remove(&key);
                None
            }
            Fetch::Ready(answer, _) => {
                let answer = answer.clone();
                of.ready_bytes -= answer.len();
                *fetch = Fetch::Taken(clock::monotonic_ns());
                Some(Ok(answer))
            }
        }
    }

    /// Requests wanted keys from a shard, up to the limit of concurrent requests.
    fn ask_next(&self, shard: u16) {
        loop {
            let mut fetches = self.fetches.lock();
            let Some(of) = fetches.by_shard.get_mut(&shard) else { return };
            if of.questions >= QUESTIONS_MAX || of.next.is_empty() {
                return;
            }
            of.questions += 1;
            let some = of.next.len().min(KEYS_MAX);
            let keys = of.next.drain(..some).collect();
            drop(fetches);
            self.ask_for(shard, keys, PAUSE);
        }
    }
    /// Puts a question that counts as being on its way already; once none of its keys is wanted any more, it counts no longer.
    fn ask_for(&self, shard: u16, keys: Vec<BlobKey>, pause: Duration) {
        let now_ns = clock::monotonic_ns();
        let mut fetches = self.fetches.lock();
        let Some(of) = fetches.by_shard.get_mut(&shard) else { return };
        let (keys, woken) = of.still_wanted(keys, now_ns);
        let until_ns = keys.iter().filter_map(|key| of.wanted_until(*key, now_ns)).max();
        of.questions -= usize::from(until_ns.is_none());
        drop(fetches);
        self.wake(&woken);
        let Some(until_ns) = until_ns else { return self.ask_next(shard) };
        let longest = ANSWER.min(Duration::from_nanos(until_ns - now_ns));
        let (pages, asked) = (self.clone(), keys.clone());
        let is_asked = self.handle.read_later(vec![(shard, question(&keys))], longest, move |told| {
            let told = told.and_then(|mut told| told.pop());
            match told.as_ref().map(|(_, answer)| answers(answer, asked.len())) {
                Some(Ok(answers)) => pages.take(shard, asked, &answers),
                // The shard refuses: the reads get its reason.
                Some(Err(_)) => pages.leave_to_reads(shard, asked),
                None => pages.ask_later(shard, asked, pause),
            }
        });
        if !is_asked {
            self.leave_to_reads(shard, keys);
        }
    }
    /// Puts the same question after a pause, which is longer each time.
    fn ask_later(&self, shard: u16, keys: Vec<BlobKey>, pause: Duration) {
        let (pages, asked) = (self.clone(), keys.clone());
        let asks = move || pages.ask_for(shard, asked, (2 * pause).min(PAUSE_MAX));
        if !self.handle.after(pause, asks) {
            self.leave_to_reads(shard, keys);
        }
    }
    /// No request can be sent: the reads make their own.
    fn leave_to_reads(&self, shard: u16, mut keys: Vec<BlobKey>) {
        let mut fetches = self.fetches.lock();
        let Some(of) = fetches.by_shard.get_mut(&shard) else { return };
        of.questions -= 1;
        keys.extend(of.next.drain(..));
        let now_ns = clock::monotonic_ns();
        let woken = keys.into_iter().flat_map(|key| of.put(key, Fetch::Left(now_ns)));
        let woken: Vec<Fetched> = woken.collect();
        drop(fetches);
        self.wake(&woken);
    }
    /// Takes the answers for the first of these keys; the others are requested at once.
    fn take(&self, shard: u16, keys: Vec<BlobKey>, answers: &[&[u8]]) {
        let now_ns = clock::monotonic_ns();
        let mut fetches = self.fetches.lock();
        let Some(of) = fetches.by_shard.get_mut(&shard) else { return };
        of.questions -= 1;
        keys[answers.len()..].iter().rev().for_each(|key| of.next.push_front(*key));
        let put =
            |(key, answer): (&BlobKey, &&[u8])| of.put(*key, Fetch::Ready(Bytes::from(*answer), now_ns));
        let woken: Vec<Fetched> = keys.iter().zip(answers).flat_map(put).collect();
        drop(fetches);
        self.ask_next(shard);
        self.wake(&woken);
    }
    fn wake(&self, woken: &[Fetched]) {
        if !woken.is_empty() {
            self.sweep_later();
        }
        woken.iter().for_each(|fetched| fetched());
    }

    /// Schedules a sweep of old buffers.
    fn sweep_later(&self) {
        let mut fetches = self.fetches.lock();
        let mut all = fetches.by_shard.values().flat_map(|of| of.by_key.values());
        if fetches.is_swept || all.all(|fetch| matches!(fetch, Fetch::Wanted(..))) {
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
        fetches.by_shard.values_mut().for_each(|of| of.sweep(now_ns));
        drop(fetches);
        self.sweep_later();
    }
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
        let query = (ShareKey::of(key).shard, question(&[key]));
        let (_read, told) = ask(&self.handle, &[query], clock::after_ns(PATIENCE))?;
        let [(_, told)] = &told[..] else { return Err(failed("no answer of the shard".into())) };
        let told = answers(told, 1).map_err(failed)?;
        content(told[0]).map(<[u8]>::to_vec).map_err(failed)
    }

    fn is_remote(&self) -> bool {
        true
    }

    fn wait_for(&self, key: BlobKey) -> Result<(), StoreError> {
        // Work that others wait for is not ended: its read waits.
        if walk::is_unended() {
            return Ok(());
        }
        let come = Arc::new(Latch::default());
        let opens = come.clone();
        let fetched: Fetched = Arc::new(move || opens.open());
        if self.fetch(&[key], &fetched) == 0 {
            return Ok(());
        }
        come.wait().map_err(|_| StoreError::Stopped)
    }

    fn fetch(&self, keys: &[BlobKey], fetched: &Fetched) -> usize {
        let now_ns = clock::monotonic_ns();
        let until_ns = now_ns.saturating_add(clock::span_ns(PATIENCE));
        let mut count = 0;
        let (mut shards, mut swept) = (Vec::new(), None);
        let mut fetches = self.fetches.lock();
        for key in keys {
            let shard = ShareKey::of(*key).shard;
            let of = fetches.by_shard.entry(shard).or_default();
            // Keys of a shard come together: it is swept once.
            if of.is_full() && swept.replace(shard) != Some(shard) {
                of.sweep(now_ns);
            }
            let is_full = of.is_full();
            match of.by_key.get_mut(key) {
                Some(Fetch::Wanted(waiting, _)) => waiting.push(fetched.clone()),
                Some(_) => continue,
                None if is_full => continue,
                None => {
                    of.by_key.insert(*key, Fetch::Wanted(vec![fetched.clone()], until_ns));
                    of.next.push_back(*key);
                    shards.push(shard);
                }
            }
            count += 1;
        }
        drop(fetches);
        shards.sort_unstable();
        shards.dedup();
        shards.into_iter().for_each(|shard| self.ask_next(shard));
        count
    }
}

#[cfg(test)]
mod tests;
