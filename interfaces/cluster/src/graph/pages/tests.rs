//! A gate that no thread serves: the test answers its questions, or lets their time pass.

use super::*;
use crate::handle::{RequestOutcome, Waiting};
use crate::inputs::Inputs;
use protocol::message::{End, Refusal};
use protocol::{Gate, Rules, Timing};
use std::sync::atomic::{AtomicUsize, Ordering};
use world::net::TcpNet;

const KEY: BlobKey = BlobKey([7; 20]);

struct House {
    pages: Pages,
    woken: Arc<AtomicUsize>,
    asked: u64,
}

impl House {
    fn new() -> House {
        let gate = Gate::new(0, 1, Timing::default(), Rules::default());
        let inputs = Inputs::new(Box::new(TcpNet::open("127.0.0.1:0", b"").unwrap()));
        let waiting = Arc::new(Mutex::new(Waiting::default()));
        let handle = GateHandle { gate: Arc::new(Mutex::new(gate)), inputs: Arc::new(inputs), waiting };
        House { pages: Pages::new(handle), woken: Arc::default(), asked: 0 }
    }
    fn fetch(&self) -> bool {
        let woken = self.woken.clone();
        let fetched: Fetched = Arc::new(move || {
            woken.fetch_add(1, Ordering::SeqCst);
        });
        self.pages.fetch(KEY, &fetched)
    }
    fn woken(&self) -> usize {
        self.woken.load(Ordering::SeqCst)
    }
    /// What the thread of the gate would tell whoever asked last.
    fn tell(&mut self, told: RequestOutcome) {
        let waiter = (self.asked + 1..self.asked + 8).find_map(|request| {
            self.asked = request;
            self.pages.handle.waiting.lock().take(request)
        });
        waiter.expect("something is asked").tell(Some(told));
    }
    /// The time passes, by so much.
    fn pass(&self, time: Duration) {
        let late = self.pages.handle.waiting.lock().take_late(clock::after_ns(time));
        late.into_iter().for_each(|waiter| waiter.tell(None));
    }
    fn ready(&self) -> usize {
        self.pages.fetches.lock().by_key.len()
    }
}

fn answer() -> RequestOutcome {
    RequestOutcome::Answered(vec![(0, Bytes::from(&[super::super::queries::HERE, 1, 2, 3][..]))])
}

/// A question that was refused, or that nobody answered, was left to the read, which held its executor for up to 20 s.
#[test]
fn a_chunk_that_does_not_come_is_asked_for_again() {
    let mut house = House::new();
    assert!(house.fetch());
    house.tell(RequestOutcome::Ended(End::Refused(Refusal::Epoch)));
    house.pass(PAUSE);
    // Now nobody answers in time.
    house.pass(ANSWER);
    // The second pause is twice as long as the first.
    house.pass(2 * PAUSE);
    assert_eq!(house.woken(), 0, "it is still asked for");
    assert!(house.fetch(), "another one waits with it");
    house.asked += 2;
    house.tell(answer());
    assert_eq!(house.woken(), 2);
    assert_eq!(house.pages.read(KEY).unwrap(), [1, 2, 3]);
}

#[test]
fn readers_of_a_chunk_that_never_came_do_not_wait_again() {
    let house = House::new();
    assert!(house.fetch() && house.fetch());
    house.pages.ask_again(KEY, clock::monotonic_ns(), PAUSE);
    assert_eq!(house.woken(), 2);
    for _ in 0..2 {
        let began_ns = clock::monotonic_ns();
        assert!(matches!(house.pages.read(KEY), Err(StoreError::Unavailable(_))));
        assert!(clock::monotonic_ns() - began_ns < clock::span_ns(PATIENCE) / 4);
    }
    assert_eq!(house.ready(), 0, "each was told once");
    assert!(house.fetch(), "the next one asks again");
}

/// They stayed in memory until something else was fetched.
#[test]
fn chunks_that_nobody_reads_are_swept_away() {
    let mut house = House::new();
    assert!(house.fetch());
    house.tell(answer());
    assert_eq!((house.woken(), house.ready()), (1, 1));
    let came_ns = clock::monotonic_ns();
    world::threads::sleep(READY_KEPT);
    assert!(clock::monotonic_ns() > came_ns);
    house.pass(READY_KEPT);
    assert_eq!(house.ready(), 0);
    assert!(!house.pages.fetches.lock().is_swept, "nothing is left to sweep");
}
