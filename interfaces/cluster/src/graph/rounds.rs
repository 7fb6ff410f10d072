//! Reads that begin while another is under way share the next one.
//!
//! Idea: a read is strict for every caller that came before it was stamped. So callers that come while a round is under way wait for the next,
//! together: the shards are asked once for all of them. Invariant: rounds run one after another, and a caller gets the result of a round that began
//! after its call. A result without a waiting caller is dropped. A caller whose statement is over leaves; if it ran the round, the next caller begins
//! one.

use crate::handle::LOOK_EVERY;
use model::pace::Stopped;
use model::walk;
use parking_lot::{Condvar, Mutex};
use world::clock;

/// Rounds that give a `T` each.
pub(super) struct SharedRounds<T> {
    state: Mutex<RoundState<T>>,
    ended: Condvar,
}

struct RoundState<T> {
    /// The last round that began, when it did (of [`clock::monotonic_ns`]), and the last that ended.
    begun: u64,
    begun_ns: u64,
    ended: u64,
    /// The result of the last round, while a caller waits.
    last: Option<T>,
    waiting: usize,
}

impl<T: Clone> SharedRounds<T> {
    pub(super) fn new() -> SharedRounds<T> {
        let state = RoundState { begun: 0, begun_ns: 0, ended: 0, last: None, waiting: 0 };
        SharedRounds { state: Mutex::new(state), ended: Condvar::new() }
    }
    /// The result of a round that begins after this call, or is under way and began at `oldest_ns` or later; `run` is called if no other caller runs
    /// the round, and returns none where the statement of this thread is over.
    ///
    /// # Errors
    /// The statement is over, or `until_ns` (of [`clock::monotonic_ns`]) is past while others run rounds.
    pub(super) fn join(
        &self,
        (until_ns, oldest_ns): (u64, u64),
        run: impl FnOnce() -> Option<T>,
    ) -> Result<T, Stopped> {
        let mut state = self.state.lock();
        let takes_running = state.ended < state.begun && state.begun_ns >= oldest_ns;
        let wanted = state.begun + u64::from(!takes_running);
        state.waiting += 1;
        let given = loop {
            if state.ended >= wanted && state.last.is_some() {
                break Ok(state.last.clone());
            }
            if state.ended == state.begun {
                break Ok(None);
            }
            let is_long = self.ended.wait_for(&mut state, LOOK_EVERY).timed_out();
            if is_long && (walk::check().is_err() || clock::monotonic_ns() > until_ns) {
                break Err(Stopped);
            }
        };
        state.waiting -= 1;
        if state.waiting == 0 && !matches!(given, Ok(None)) {
            state.last = None;
        }
        if let Some(given) = given? {
            return Ok(given);
        }
        state.begun += 1;
        state.begun_ns = clock::monotonic_ns();
        drop(state);
        let mut round = Round { rounds: self, given: None };
        round.given = run();
        round.given.clone().ok_or(Stopped)
    }
}

/// A round under way. However it ends, the next can begin.
struct Round<'a, T> {
    rounds: &'a SharedRounds<T>,
    given: Option<T>,
}

impl<T> Drop for Round<'_, T> {
    fn drop(&mut self) {
        let mut state = self.rounds.state.lock();
        state.ended = state.begun;
        state.last = self.given.take().filter(|_| state.waiting > 0);
        self.rounds.ended.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::{Arc, Weak};

    /// For ever, and no round that began before.
    const STRICT: (u64, u64) = (u64::MAX, u64::MAX);

    /// A caller that accepts an older result joins a round under way; one that does not, or wants a later one, waits for the next.
    #[test]
    fn a_round_under_way_is_joined_by_who_takes_what_is_older() {
        let rounds = SharedRounds::<u64>::new();
        let (begun, go_on) = (AtomicU64::new(0), AtomicU64::new(0));
        let given = world::threads::in_parallel("caller", 3, |caller| {
            if caller == 0 {
                return rounds.join(STRICT, || {
                    begun.store(1, Ordering::SeqCst);
                    while go_on.load(Ordering::SeqCst) < 2 {
                        std::thread::yield_now();
                    }
                    Some(1)
                });
            }
            // One after the other, so that each sees when it waits.
            while begun.load(Ordering::SeqCst) == 0 || go_on.load(Ordering::SeqCst) + 1 < caller as u64 {
                std::thread::yield_now();
            }
            let oldest_ns = if caller == 1 { 0 } else { clock::monotonic_ns() };
            let (state, mine) = (&rounds.state, caller as u64);
            let mut both = world::threads::in_parallel("joining", 2, |number| {
                if number == 0 {
                    return Some(rounds.join((u64::MAX, oldest_ns), || Some(1 + mine)));
                }
                while state.lock().waiting < caller {
                    std::thread::yield_now();
                }
                go_on.fetch_add(1, Ordering::SeqCst);
                None
            });
            both.swap_remove(0).expect("the first joins")
        });
        assert_eq!(given[..2], [Ok(1), Ok(1)]);
        assert_eq!(given[2], Ok(3), "its own round");
    }

    #[test]
    fn a_caller_gets_a_round_that_began_after_its_call_and_rounds_are_shared() {
        const CALLERS: usize = 8;
        const CALLS: usize = 200;
        let (rounds, clock, run) = (SharedRounds::<Arc<u64>>::new(), AtomicU64::new(0), AtomicU64::new(0));
        let caller = || {
            for _ in 0..CALLS {
                let called = clock.fetch_add(1, Ordering::SeqCst);
                let began = rounds.join(STRICT, || {
                    run.fetch_add(1, Ordering::SeqCst);
                    let began = clock.fetch_add(1, Ordering::SeqCst);
                    std::thread::yield_now();
                    Some(Arc::new(began))
                });
                let began = began.unwrap();
                assert!(*began > called, "the round began at {began}, the call was at {called}");
            }
        };
        world::threads::in_parallel("caller", CALLERS, |_| caller());
        let run = run.load(Ordering::SeqCst);
        assert!(run <= (CALLERS * CALLS) as u64, "{run}");
        assert!(rounds.state.lock().last.is_none(), "nothing is kept for nobody");
    }

    /// Of concurrent callers some end while they run the round: the others get one all the same.
    #[test]
    fn who_leaves_a_round_keeps_nobody() {
        const CALLERS: usize = 6;
        const CALLS: usize = 300;
        let (rounds, ended) = (SharedRounds::<Arc<u64>>::new(), AtomicU64::new(0));
        let caller = |caller: usize| {
            for call in 0..CALLS {
                let leaves = (call + caller).is_multiple_of(3);
                let given = rounds.join(STRICT, || (!leaves).then(|| Arc::new(1)));
                assert!(given.is_ok() || leaves, "it did not leave");
                ended.fetch_add(u64::from(given.is_err()), Ordering::Relaxed);
            }
        };
        world::threads::in_parallel("caller", CALLERS, caller);
        assert!(ended.into_inner() > 0 && rounds.state.lock().last.is_none());
    }

    #[test]
    fn a_round_that_panics_keeps_nobody() {
        let rounds = SharedRounds::<u64>::new();
        let fails = || {
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                rounds.join(STRICT, || panic!("a test"))
            }))
        };
        assert!(fails().is_err());
        assert_eq!(rounds.join(STRICT, || Some(7)), Ok(7));
    }

    #[test]
    fn what_a_round_gave_ends_with_who_asked() {
        let rounds = SharedRounds::<Arc<u64>>::new();
        let seen: Weak<u64> = Arc::downgrade(&rounds.join(STRICT, || Some(Arc::new(1))).unwrap());
        assert!(seen.upgrade().is_none());
    }
}
