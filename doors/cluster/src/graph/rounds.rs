//! Reads that begin while another is under way share the next one.
//!
//! Idea: a read is strict for whoever called before it was stamped. So who comes while a round is under way waits for the next, together with all
//! others who come meanwhile: the shards are asked once for all of them.
//! Invariant: rounds run one after another, and a caller gets what a round gave that began after its call. Nothing is kept for nobody.

use parking_lot::{Condvar, Mutex};

/// Rounds that give a `T` each.
pub(super) struct SharedRounds<T> {
    state: Mutex<RoundState<T>>,
    ended: Condvar,
}

struct RoundState<T> {
    /// The last round that began, and the last that ended.
    begun: u64,
    ended: u64,
    /// What the last one gave, while somebody waits.
    last: Option<T>,
    waiting: usize,
}

impl<T: Clone> SharedRounds<T> {
    pub(super) fn new() -> SharedRounds<T> {
        let state = RoundState { begun: 0, ended: 0, last: None, waiting: 0 };
        SharedRounds { state: Mutex::new(state), ended: Condvar::new() }
    }
    /// What a round gives that begins after this call; `run` is run where nobody else runs it.
    pub(super) fn join(&self, run: impl FnOnce() -> T) -> T {
        let mut state = self.state.lock();
        let wanted = state.begun + 1;
        state.waiting += 1;
        let given = loop {
            if state.ended >= wanted && state.last.is_some() {
                break state.last.clone();
            }
            if state.ended == state.begun {
                break None;
            }
            self.ended.wait(&mut state);
        };
        state.waiting -= 1;
        if let Some(given) = given {
            if state.waiting == 0 {
                state.last = None;
            }
            return given;
        }
        state.begun += 1;
        drop(state);
        let mut round = Round { rounds: self, given: None };
        let given = run();
        round.given = Some(given.clone());
        given
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

    #[test]
    fn a_caller_gets_a_round_that_began_after_its_call_and_rounds_are_shared() {
        const CALLERS: usize = 8;
        const CALLS: usize = 200;
        let (rounds, clock, run) = (SharedRounds::<Arc<u64>>::new(), AtomicU64::new(0), AtomicU64::new(0));
        let caller = || {
            for _ in 0..CALLS {
                let called = clock.fetch_add(1, Ordering::SeqCst);
                let began = rounds.join(|| {
                    run.fetch_add(1, Ordering::SeqCst);
                    let began = clock.fetch_add(1, Ordering::SeqCst);
                    std::thread::yield_now();
                    Arc::new(began)
                });
                assert!(*began > called, "the round began at {began}, the call was at {called}");
            }
        };
        world::threads::in_parallel("caller", CALLERS, |_| caller());
        let run = run.load(Ordering::SeqCst);
        assert!(run <= (CALLERS * CALLS) as u64, "{run}");
        assert!(rounds.state.lock().last.is_none(), "nothing is kept for nobody");
    }

    #[test]
    fn a_round_that_panics_keeps_nobody() {
        let rounds = SharedRounds::<u64>::new();
        let fails =
            || std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| rounds.join(|| panic!("a test"))));
        assert!(fails().is_err());
        assert_eq!(rounds.join(|| 7), 7);
    }

    #[test]
    fn what_a_round_gave_ends_with_who_asked() {
        let rounds = SharedRounds::<Arc<u64>>::new();
        let seen: Weak<u64> = Arc::downgrade(&rounds.join(|| Arc::new(1)));
        assert!(seen.upgrade().is_none());
    }
}
