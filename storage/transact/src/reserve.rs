//! Write reservations: let a long transaction commit beside many short ones.
//!
//! Problem: optimistic validation favours the short. A transaction with a large read set is refused as long as others write it; this must end. Idea:
//! after [`RESERVE_AFTER_REFUSALS`] refusals a transaction that is begun again gets a reservation: its last read set is reserved, and commits that
//! would write any of it wait until it has committed, or its time is over. If it meets a conflict even so, because it read something else this time,
//! its next reservation reserves everything.
//! An explicit transaction, which its client retries, gets its reservation after the first refusal; and as long as other commits were delayed by its
//! last reservation, the next transaction of its session gets one from the beginning (see `Engine::begin_fairly`).
//! Invariants: one reservation at a time, in the order of the requests; a reservation lasts at most [`TURN_MAX`], so an idle client does not block
//! others for long; no commit is refused because of a reservation, only delayed; between two reservations every delayed commit has its chance, so
//! reservations do not starve transactions without one. Cost: without a reservation, one relaxed load a commit.

use crate::conflicts::{Footprint, in_range};
use crate::limits::WAIT_UNTIL_LOOK;
use crate::reads::Inner as Reads;
use model::pace::Stopped;
use model::walk;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use world::clock::{monotonic_ns, span_ns};

/// Refusals after which a transaction that is begun again gets a reservation.
pub const RESERVE_AFTER_REFUSALS: u32 = 3;
/// A reservation lasts twice as long as the attempt that was refused, but at least this.
pub const TURN_MIN: Duration = Duration::from_millis(100);
/// And at most this.
pub const TURN_MAX: Duration = Duration::from_secs(10);

/// How long the next reservation waits for commits delayed by the one before.
const HELD_PATIENCE: Duration = Duration::from_millis(100);

/// Catalogue commands are never delayed: they hold the committer's lock already.
pub(crate) const EXEMPT: u64 = 0;

/// The reservations of an engine.
#[derive(Default)]
pub(crate) struct WriteReservations {
    taken: AtomicBool,
    state: Mutex<ReservationState>,
    ended: Condvar,
}

#[derive(Default)]
struct ReservationState {
    last: u64,
    holder: Option<Holder>,
    /// Requests for a reservation, in order.
    line: VecDeque<u64>,
    last_in_line: u64,
    /// Delayed commits that have not been judged since.
    held: usize,
    /// When the last reservation ended.
    ended_ns: u64,
}

struct Holder {
    reservation: u64,
    reserved: Reads,
    until_ns: u64,
    /// A commit was delayed.
    is_wanted: bool,
}

/// A delayed commit; dropped when it has been judged.
pub(crate) struct DelayedCommit<'a>(&'a WriteReservations);

impl Drop for DelayedCommit<'_> {
    fn drop(&mut self) {
        self.0.state.lock().held -= 1;
        self.0.ended.notify_all();
    }
}

impl WriteReservations {
    /// Waits for the reservation before to end, then begins one that reserves this.
    pub fn take(&self, reserved: Reads, attempt_ns: u64) -> u64 {
        let length_ns = (2 * attempt_ns).clamp(span_ns(TURN_MIN), span_ns(TURN_MAX));
        let mut state = self.state.lock();
        state.last_in_line += 1;
        let place = state.last_in_line;
        state.line.push_back(place);
        while state.line.front() != Some(&place) || !self.is_free(&mut state) || is_crowded(&state) {
            self.wait(&mut state, TURN_MAX);
        }
        state.line.pop_front();
        state.last += 1;
        let reservation = state.last;
        let until_ns = monotonic_ns() + length_ns;
        state.holder = Some(Holder { reservation, reserved, until_ns, is_wanted: false });
        self.taken.store(true, Ordering::Release);
        reservation
    }
    /// Ends a reservation, unless its time was over already. Returns the reserved read set, if a commit was delayed.
    pub fn end(&self, reservation: u64) -> Option<Reads> {
        let mut state = self.state.lock();
        let own = state.holder.take_if(|holder| holder.reservation == reservation)?;
        self.free(&mut state);
        own.is_wanted.then_some(own.reserved)
    }
    /// Must a commit with this footprint wait for the end of another's reservation?
    pub fn holds_back(&self, reservation: Option<u64>, footprint: &Footprint) -> bool {
        if !self.taken.load(Ordering::Acquire) || reservation == Some(EXEMPT) {
            return false;
        }
        let mut state = self.state.lock();
        if self.is_free(&mut state) {
            return false;
        }
        let holder = state.holder.as_mut().expect("a turn that is not free has a holder");
        let is_held = reservation != Some(holder.reservation) && meets(&holder.reserved, footprint);
        holder.is_wanted |= is_held;
        is_held
    }
    /// Marks a commit as delayed until it is judged.
    pub fn hold(&self) -> DelayedCommit<'_> {
        self.state.lock().held += 1;
        DelayedCommit(self)
    }
    /// Waits for the end of the reservation, if there is one.
    ///
    /// # Errors
    /// The work of this thread is over.
    pub fn wait_for_end(&self) -> Result<(), Stopped> {
        let mut state = self.state.lock();
        let reservation = state.holder.as_ref().map(|holder| holder.reservation);
        while !self.is_free(&mut state)
            && state.holder.as_ref().map(|holder| holder.reservation) == reservation
        {
            self.wait(&mut state, WAIT_UNTIL_LOOK);
            MutexGuard::unlocked(&mut state, walk::check)?;
        }
        Ok(())
    }

    /// Is there no reservation? One whose time is over ends here.
    fn is_free(&self, state: &mut ReservationState) -> bool {
        let over = state.holder.as_ref().is_none_or(|holder| monotonic_ns() >= holder.until_ns);
        if over && state.holder.is_some() {
            self.free(state);
        }
        over
    }
    fn free(&self, state: &mut ReservationState) {
        state.holder = None;
        state.ended_ns = monotonic_ns();
        self.taken.store(false, Ordering::Release);
        self.ended.notify_all();
    }
    fn wait(&self, state: &mut MutexGuard<'_, ReservationState>, at_most: Duration) {
        let patience_ns = span_ns(HELD_PATIENCE);
        let until_ns = state.holder.as_ref().map_or(monotonic_ns() + patience_ns, |holder| holder.until_ns);
        let left = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
        self.ended.wait_for(state, left.min(at_most));
    }
}

/// Do commits delayed by the last reservation still wait to be judged, within their patience?
fn is_crowded(state: &ReservationState) -> bool {
    state.held > 0 && monotonic_ns() < state.ended_ns + span_ns(HELD_PATIENCE)
}

/// Does the footprint conflict with the reads?
fn meets(reads: &Reads, footprint: &Footprint) -> bool {
    let written = || footprint.index_values.iter();
    reads.everything
        || footprint.keys.iter().any(|key| reads.keys.contains(key))
        || (footprint.indexes && !reads.ranges.is_empty())
        || reads.ranges.iter().any(|range| {
            written()
                .any(|(index, value)| *index == range.index && in_range(value, &range.lower, &range.upper))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reads::Key;
    use model::VertexId;
    use std::sync::Arc;
    use world::threads::{sleep, spawn};

    fn reads(vertex: u64) -> Reads {
        Reads { keys: [Key::vertex(VertexId(vertex))].into_iter().collect(), ..Reads::default() }
    }
    fn writes(vertex: u64) -> Footprint {
        Footprint { keys: vec![Key::vertex(VertexId(vertex))], ..Footprint::default() }
    }

    #[test]
    fn only_what_is_reserved_is_held_back_and_not_for_ever() {
        let reservations = WriteReservations::default();
        assert!(!reservations.holds_back(None, &writes(1)));
        let reservation = reservations.take(reads(1), 0);
        assert!(reservations.holds_back(None, &writes(1)) && !reservations.holds_back(None, &writes(2)));
        assert!(
            !reservations.holds_back(Some(reservation), &writes(1))
                && reservations.holds_back(Some(reservation + 1), &writes(1))
        );
        assert!(!reservations.holds_back(Some(EXEMPT), &writes(1)));
        reservations.wait_for_end().unwrap();
        assert!(!reservations.holds_back(None, &writes(1)), "its time is over");
        let everything = Reads { everything: true, ..Reads::default() };
        let next = reservations.take(everything, 0);
        reservations.end(reservation);
        assert!(reservations.holds_back(None, &writes(2)), "an old turn does not end another's");
        reservations.end(next);
        assert!(!reservations.holds_back(None, &writes(2)));
    }

    /// Between two reservations every delayed commit is judged; one that never is does not hold up the next reservation for ever.
    #[test]
    fn the_next_reservation_waits_for_delayed_commits_and_not_for_ever() {
        let reservations = Arc::new(WriteReservations::default());
        let patience_ns = span_ns(HELD_PATIENCE);
        let (one, other) = (reservations.hold(), reservations.hold());
        let reservation = reservations.take(reads(1), span_ns(TURN_MAX));
        let ended_ns = monotonic_ns();
        reservations.end(reservation);
        let reservation = reservations.take(reads(1), 0);
        assert!(monotonic_ns() - ended_ns >= patience_ns, "two wait to be judged");
        reservations.end(reservation);
        let is_crowded_at = |ended_ns: u64| {
            let mut state = reservations.state.lock();
            state.ended_ns = ended_ns;
            is_crowded(&state)
        };
        // An end in the future, so that it stays near however long this thread is held off.
        let soon = || monotonic_ns() + span_ns(TURN_MAX);
        assert!(is_crowded_at(soon()) && !is_crowded_at(monotonic_ns() - patience_ns));
        drop(one);
        assert!(is_crowded_at(soon()) && !is_crowded_at(monotonic_ns() - patience_ns));
        drop(other);
        assert!(!is_crowded_at(soon()), "all were judged");
    }

    #[test]
    fn reservations_are_taken_one_after_the_other() {
        let reservations = Arc::new(WriteReservations::default());
        let first = reservations.take(reads(1), span_ns(TURN_MAX));
        let other = reservations.clone();
        let waiting = spawn("second", move || other.take(reads(2), 0));
        sleep(Duration::from_millis(20));
        assert!(!waiting.is_finished());
        reservations.end(first);
        assert_eq!(waiting.join(), first + 1);
    }
}
