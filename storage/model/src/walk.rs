//! A walk over a large value takes seconds: it counts its work here, so that the end of a query ends it.
//!
//! Other work may pause where it counts itself ([`crate::pace`]); a walk may not, since the caller may hold a lock. The crate that runs queries
//! registers once how to tell their end ([`ended_by`]); until then no walk is ended. A walk that is ended returns at once, with any answer: its query
//! is over, and the answer is not used. The registered function may only return true where that holds.
//!
//! A commit counts its work here too ([`spend`]), since it holds a lock. It checks once more before it cannot be undone ([`check`]), and no later
//! walk is ended ([`unended`]).
//!
//! Cost: a thread-local counter for each [`PIECE`] of a list or a map, and a call for each [`LOOK_EVERY`] values.

use crate::pace::Stopped;
use std::cell::Cell;
use std::sync::OnceLock;

/// Values that are gone through without a look at the counter.
pub(crate) const PIECE: usize = 256;

/// Values between two questions whether the work is over.
const LOOK_EVERY: usize = 4_096;

/// Is the work of this thread over, so that its results are not used?
pub type IsOver = fn() -> bool;

static IS_OVER: OnceLock<IsOver> = OnceLock::new();

thread_local! {
    static LEFT: Cell<usize> = const { Cell::new(LOOK_EVERY) };
    static UNENDED: Cell<bool> = const { Cell::new(false) };
}

/// Registers the function for all threads; the first call wins.
pub fn ended_by(is_over: IsOver) {
    let _ = IS_OVER.set(is_over);
}

/// Counts values of a walk; true where it is to end.
#[inline]
pub(crate) fn must_end(values: usize) -> bool {
    LEFT.with(|left| match left.get().checked_sub(values) {
        Some(rest) => {
            left.set(rest);
            false
        }
        None => look(left),
    })
}

#[cold]
fn look(left: &Cell<usize>) -> bool {
    let ends = !UNENDED.get() && IS_OVER.get().is_some_and(|is_over| is_over());
    // Who was told once is told at each step from then on, until it is done.
    left.set(if ends { 0 } else { LOOK_EVERY });
    ends
}

/// Counts `units` units of work, values or pieces of a hundred bytes, without a pause.
///
/// # Errors
/// The work of this thread is over.
#[inline]
pub fn spend(units: usize) -> Result<(), Stopped> {
    if must_end(units) { Err(Stopped) } else { Ok(()) }
}

/// Checks at once whether the work is over: the next step cannot be undone, and depends on walks that may have been ended.
///
/// # Errors
/// The work of this thread is over.
pub fn check() -> Result<(), Stopped> {
    if LEFT.with(look) { Err(Stopped) } else { Ok(()) }
}

/// Is this thread in work that nothing ends ([`unended`])?
pub fn is_unended() -> bool {
    UNENDED.get()
}

/// While it lives, nothing ends the walks of this thread.
#[must_use]
pub struct Unended {
    before: bool,
}

/// What this thread does from now on is finished, whoever's work is over.
pub fn unended() -> Unended {
    LEFT.set(LOOK_EVERY);
    Unended { before: UNENDED.replace(true) }
}

impl Drop for Unended {
    fn drop(&mut self) {
        UNENDED.set(self.before);
    }
}

/// Counts a walk whose parts come one by one: its first at once, so that small values within one another count too.
#[derive(Default)]
pub(crate) struct Steps {
    left: usize,
}

impl Steps {
    #[inline]
    pub(crate) fn must_end(&mut self) -> bool {
        match self.left.checked_sub(1) {
            Some(left) => {
                self.left = left;
                false
            }
            None => {
                self.left = PIECE - 1;
                must_end(PIECE_BEGUN)
            }
        }
    }
}

/// What a piece counts whose length is not known: few lists are long.
const PIECE_BEGUN: usize = 16;
