//! Orders that several callers assign at the same time, sent as one batch.
//!
//! Idea: while calls are under way, constraints of new callers wait; the next call takes all of them. So many callers cost as few calls as one, and a
//! lone caller never waits. Invariant: each caller's constraints are carried out whole or not at all. If the service refuses a batch, each caller's
//! constraints are sent alone, and each gets its own error. Every waiting caller is answered, also if no call is made any more.
//! Cost: a caller that finds [`CALLS_MAX`] calls under way waits for one of them besides its own.

use crate::KronosError;
use crate::types::{Assigned, BATCH_MAX, Constraint};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use tokio::sync::oneshot;

/// Calls under way at once: the next one is on its way while the last is answered.
const CALLS_MAX: usize = 2;

type Answer = Result<Vec<Assigned>, KronosError>;

#[derive(Default)]
pub(crate) struct Gather {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Part>,
    calls: usize,
}

/// The constraints of one caller.
pub(crate) struct Part {
    pub(crate) constraints: Vec<Constraint>,
    reply: oneshot::Sender<Answer>,
}

impl Gather {
    /// Puts constraints in line. Where too few calls are under way, the caller must make some; see [`Calls::next`].
    pub(crate) fn put(
        self: &Arc<Gather>,
        constraints: &[Constraint],
    ) -> (oneshot::Receiver<Answer>, Option<Calls>) {
        let (reply, answer) = oneshot::channel();
        let mut state = self.state.lock();
        state.waiting.push_back(Part { constraints: constraints.to_vec(), reply });
        let must_call = state.calls < CALLS_MAX;
        state.calls += usize::from(must_call);
        (answer, must_call.then(|| Calls { gather: self.clone(), is_over: false }))
    }
}

/// Calls one after the other, as long as there are waiting callers.
pub(crate) struct Calls {
    gather: Arc<Gather>,
    is_over: bool,
}

impl Drop for Calls {
    /// The task that made the calls was dropped with its runtime: waiting callers get an error.
    fn drop(&mut self) {
        if !self.is_over {
            let mut state = self.gather.state.lock();
            state.calls -= 1;
            state.waiting.clear();
        }
    }
}

impl Calls {
    /// The constraints of the next call; none without waiting callers, and then it is over.
    pub(crate) fn next(&mut self) -> Option<Vec<Part>> {
        let mut state = self.gather.state.lock();
        let (mut parts, mut count) = (Vec::new(), 0);
        while let Some(part) = state.waiting.front() {
            count += part.constraints.len();
            // A first one that is too large alone is told so by the service.
            if count > BATCH_MAX && !parts.is_empty() {
                break;
            }
            parts.extend(state.waiting.pop_front());
        }
        if parts.is_empty() {
            state.calls -= 1;
            self.is_over = true;
            return None;
        }
        Some(parts)
    }
}

impl Part {
    /// A caller that is gone needs no answer.
    pub(crate) fn answer(self, answer: Answer) {
        drop(self.reply.send(answer));
    }
}

/// All constraints in their order.
pub(crate) fn joined(parts: &[Part]) -> Vec<Constraint> {
    parts.iter().flat_map(|part| part.constraints.iter().copied()).collect()
}

/// Each caller gets its part of the answer.
pub(crate) fn hand_out(parts: Vec<Part>, assigned: Vec<Assigned>) {
    let mut assigned = assigned.into_iter();
    for part in parts {
        let own = assigned.by_ref().take(part.constraints.len()).collect();
        part.answer(Ok(own));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Event, Order};

    #[test]
    fn calls_take_what_waits_up_to_a_batch() {
        let gather = Arc::new(Gather::default());
        let constraint = |n: u64| Constraint::prefer(Event(n), Order::Before, Event(n + 1));
        let many = |count: usize| vec![constraint(1); count];
        let (mut first, calls) = gather.put(&many(2));
        let mut calls = calls.unwrap();
        let (_second, others) = gather.put(&many(1));
        let mut others = others.unwrap();
        assert!(gather.put(&[constraint(7)]).1.is_none(), "two calls are enough");
        let parts = calls.next().unwrap();
        assert_eq!(parts.len(), 3);
        let assigned = Assigned { order: Order::Before, decided: true };
        hand_out(parts, vec![assigned; 4]);
        assert_eq!(first.try_recv().unwrap().unwrap().len(), 2);
        for count in [BATCH_MAX - 1, 2, BATCH_MAX + 1, 1] {
            drop(gather.put(&many(count)));
        }
        let mut taken = || calls.next().map(|parts| joined(&parts).len());
        assert_eq!(
            (taken(), taken(), taken(), taken()),
            (Some(BATCH_MAX - 1), Some(2), Some(BATCH_MAX + 1), Some(1))
        );
        assert_eq!(taken(), None);
        assert!(others.next().is_none());
        let (mut left, calls) = gather.put(&many(1));
        drop(calls.expect("nobody calls any more"));
        assert!(left.try_recv().is_err(), "who waits is told that nobody calls");
        assert!(gather.put(&many(1)).1.is_some());
    }
}
