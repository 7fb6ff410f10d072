//! A gate without a thread: the test answers its requests, or lets them time out.

use super::*;
use crate::handle::{RequestOutcome, Waiting};
use crate::inputs::Inputs;
use protocol::message::{End, Refusal};
use protocol::{Gate, Rules, Timing};
use std::sync::atomic::{AtomicUsize, Ordering};
use world::net::TcpNet;

const KEY: BlobKey = BlobKey([7; 20]);

/// A chunk of this shard.
fn key(shard: u16, chunk: u32) -> BlobKey {
    ShareKey { shard, life: 1, chunk, version: 1 }.blob()
}

struct SilentGate {
    pages: Pages,
    woken: Arc<AtomicUsize>,
    asked: u64,
}

impl SilentGate {
    fn new() -> SilentGate {
        let machine = Gate::new(0, 1, Timing::default(), Rules::default());
        let inputs = Inputs::new(Box::new(TcpNet::open("127.0.0.1:0", b"").unwrap()));
        let waiting = Arc::new(Mutex::new(Waiting::default()));
        let handle = GateHandle { gate: Arc::new(Mutex::new(machine)), inputs: Arc::new(inputs), waiting };
        SilentGate { pages: Pages::new(handle), woken: Arc::default(), asked: 0 }
    }
    fn fetch(&self) -> bool {
        self.fetch_all(&[KEY]) == 1
    }
    fn fetch_all(&self, keys: &[BlobKey]) -> usize {
        let woken = self.woken.clone();
        let fetched: Fetched = Arc::new(move || {
            woken.fetch_add(1, Ordering::SeqCst);
        });
        self.pages.fetch(keys, &fetched)
    }
    /// Questions on their way to a shard, and keys behind them.
    fn asked_of(&self, shard: u16) -> (usize, usize) {
        let fetches = self.pages.fetches.lock();
        fetches.by_shard.get(&shard).map_or((0, 0), |of| (of.questions, of.next.len()))
    }
    fn woken(&self) -> usize {
        self.woken.load(Ordering::SeqCst)
    }
    /// Delivers the gate thread's outcome to the last request.
    fn tell(&mut self, told: RequestOutcome) {
        let waiter = (self.asked + 1..self.asked + 8).find_map(|request| {
            self.asked = request;
            self.pages.handle.waiting.lock().take(request)
        });
        waiter.expect("something is asked").tell(Some(told));
    }
    /// Advances the time.
    fn pass(&self, time: Duration) {
        let late = self.pages.handle.waiting.lock().take_late(clock::after_ns(time));
        late.into_iter().for_each(|waiter| waiter.tell(None));
    }
    /// Entries that are not those of chunks that a read has taken.
    fn ready(&self) -> usize {
        let fetches = self.pages.fetches.lock();
        let mut count = 0;
        for of in fetches.by_shard.values() {
            count += of.by_key.values().filter(|fetch| !matches!(fetch, Fetch::Taken(_))).count();
        }
        count
    }
}

/// The answer of a shard to a request for `chunks` chunks, each of these bytes.
fn answer_of(shard: u16, chunks: usize, bytes: &[u8]) -> RequestOutcome {
    let keys: Vec<u8> = (0..chunks).flat_map(|_| KEY.0).collect();
    let answer = super::super::chunks::answer(&keys, |_| Ok(bytes.to_vec())).unwrap();
    RequestOutcome::Answered(vec![(
        shard,
        Bytes::from([&[super::super::queries::HERE], &answer[..]].concat()),
    )])
}

fn answer() -> RequestOutcome {
    answer_of(0, 1, &[1, 2, 3])
}

/// A past fault: a refused or unanswered request was left to the read, which held its executor for up to 20 s.
#[test]
fn a_chunk_that_does_not_come_is_asked_for_again() {
    let mut gate = SilentGate::new();
    assert!(gate.fetch());
    gate.tell(RequestOutcome::Ended(End::Refused(Refusal::Epoch)));
    gate.pass(PAUSE);
    // Now nobody answers in time.
    gate.pass(ANSWER);
    // The second pause is twice as long as the first.
    gate.pass(2 * PAUSE);
    assert_eq!(gate.woken(), 0, "it is still asked for");
    assert!(gate.fetch(), "another one waits with it");
    gate.asked += 2;
    gate.tell(answer());
    assert_eq!(gate.woken(), 2);
    assert_eq!(gate.pages.read(KEY).unwrap(), [1, 2, 3]);
}

#[test]
fn readers_of_a_chunk_that_never_came_do_not_wait_again() {
    let gate = SilentGate::new();
    assert!(gate.fetch() && gate.fetch());
    let shard = ShareKey::of(KEY).shard;
    if let Some(Fetch::Wanted(_, until_ns)) =
        gate.pages.fetches.lock().by_shard.get_mut(&shard).unwrap().by_key.get_mut(&KEY)
    {
        *until_ns = clock::monotonic_ns();
    }
    gate.pass(ANSWER);
    gate.pass(PAUSE);
    assert_eq!(gate.woken(), 2);
    for _ in 0..3 {
        let began_ns = clock::monotonic_ns();
        assert!(matches!(gate.pages.read(KEY), Err(StoreError::Unavailable(_))));
        assert!(clock::monotonic_ns() - began_ns < clock::span_ns(PATIENCE) / 4);
    }
    assert!(!gate.fetch(), "nobody waits again so soon");
    world::threads::sleep(READY_KEPT);
    gate.pass(READY_KEPT);
    assert_eq!(gate.ready(), 0);
    assert!(gate.fetch(), "later it is asked for again");
}

/// They stayed in memory until something else was fetched.
#[test]
fn chunks_that_nobody_reads_are_swept_away() {
    let mut gate = SilentGate::new();
    assert!(gate.fetch());
    gate.tell(answer());
    assert_eq!((gate.woken(), gate.ready()), (1, 1));
    let came_ns = clock::monotonic_ns();
    world::threads::sleep(READY_KEPT);
    assert!(clock::monotonic_ns() > came_ns);
    gate.pass(READY_KEPT);
    assert_eq!(gate.ready(), 0);
    assert!(!gate.pages.fetches.lock().is_swept, "nothing is left to sweep");
}

/// A past fault: 256 chunks could be fetched at once from all shards together: those of a lost shard held up the others' requests.
#[test]
fn a_silent_shard_holds_up_no_other() {
    let mut gate = SilentGate::new();
    let of_lost: Vec<BlobKey> = (0..1_000).map(|chunk| key(1, chunk)).collect();
    assert_eq!(gate.fetch_all(&of_lost), 1_000);
    assert_eq!(gate.asked_of(1), (QUESTIONS_MAX, 1_000 - QUESTIONS_MAX * KEYS_MAX));
    gate.asked += QUESTIONS_MAX as u64;
    assert_eq!(gate.fetch_all(&[key(2, 0), key(2, 1)]), 2);
    gate.tell(answer_of(2, 2, &[5]));
    assert_eq!(gate.woken(), 2);
    assert_eq!(gate.pages.read(key(2, 1)).unwrap(), [5]);
}

/// Long chunks come in several messages, and keys wanted meanwhile in one request.
#[test]
fn what_an_answer_has_no_room_for_is_asked_for_again() {
    let mut gate = SilentGate::new();
    let keys: Vec<BlobKey> = (0..10).map(|chunk| key(3, chunk)).collect();
    assert_eq!(gate.fetch_all(&keys), 10);
    for (wanted, left) in [(10, 6), (6, 2), (2, 0)] {
        gate.tell(answer_of(3, wanted, &vec![7; 300 << 10]));
        assert_eq!(gate.woken(), 10 - left);
        assert_eq!(gate.asked_of(3), (usize::from(left > 0), 0));
        // Behind the second question is the sweep.
        gate.asked += u64::from(left == 2);
    }
    assert!(keys.iter().all(|key| gate.pages.read(*key).unwrap().len() == 300 << 10));
    assert_eq!(gate.ready(), 0);
}

/// The operators that wait for a chunk are woken together: while the first decodes it, the others must not request it again.
#[test]
fn a_chunk_that_a_read_has_taken_is_not_requested_again_at_once() {
    let mut gate = SilentGate::new();
    assert!(gate.fetch() && gate.fetch());
    gate.tell(answer());
    assert_eq!(gate.pages.read(KEY).unwrap(), [1, 2, 3]);
    assert!(!gate.fetch(), "it is in memory soon");
    world::threads::sleep(TAKEN_KEPT);
    gate.pass(READY_KEPT);
    assert!(gate.fetch(), "it was evicted since");
}
