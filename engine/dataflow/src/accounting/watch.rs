//! Watches over a loop inside one operator call: the query's end, its deadline and its bytes.
//!
//! The scheduler can end a query only between two calls of its operators. An expression may loop for long within one call, so the loop calls this
//! module: [`spend`] counts its work, looks at the clock and the query now and then, and pauses the whole turn where its time is over (see
//! [`world::fiber`]), so that other queries go on; [`LoopBytes`] charges the bytes it has built so far to the query's account, and gives them back
//! when it is dropped. Both fail with [`Stopped`] once the query is over; the loop returns the error.
//!
//! The runtime sets the watch of a thread for each turn ([`enter`]); work outside of a query, such as constants that are computed before one starts,
//! gets a [`Limited`] watch of its own. A thread without a watch is not limited.
//!
//! Invariant: the bytes charged are at least those held, and at most [`SLACK_BYTES`] more. Cost: a thread-local counter for each
//! [`spend`], a clock reading for each [`UNITS_PER_LOOK`] units.

use crate::terms::limits::PIPELINE_NS_MAX;
use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use world::clock::{after_ns, monotonic_ns, thread_cpu_ns};
use world::fiber;
use world::panics::caught;

/// Units of work between two looks. A unit is up to some 50 ns: an element gone through, or a hundred bytes of text.
pub const UNITS_PER_LOOK: u64 = 4_096;

/// Bytes drawn from the query's account at once.
const GRAIN_BYTES: u64 = 64 << 10;

/// Bytes that stay drawn although they are no longer held.
const SLACK_BYTES: u64 = 1 << 20;

/// Why a loop has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// The query has ended, or its time is over.
    Time,
    /// It would pass its limit of bytes.
    Bytes,
}

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stopped::Time => "the work was stopped: its time is over",
            Stopped::Bytes => "the work was stopped: it takes more memory than it may",
        })
    }
}

impl std::error::Error for Stopped {}

/// Can end work.
pub trait Watch {
    /// Must the work end?
    fn look(&self, now_ns: u64) -> Result<(), Stopped>;
    /// Adds bytes to the account.
    fn charge(&self, bytes: u64) -> Result<(), Stopped>;
    /// Gives bytes back.
    fn release(&self, bytes: u64);
    /// Does somebody else wait for the thread? Then the work pauses before its time is over.
    fn is_awaited(&self) -> bool {
        false
    }
    /// Is the work over, so that nothing it finds from now on is used?
    fn is_over(&self, _: u64) -> bool {
        false
    }
}

thread_local! {
    static WATCH: RefCell<Option<Arc<dyn Watch>>> = const { RefCell::new(None) };
    static METER: Meter = const { Meter::new() };
}

/// The state of a thread's present work; one look-up finds all of it.
struct Meter {
    /// Units until the next look.
    units_left: Cell<u64>,
    held_bytes: Cell<u64>,
    charged_bytes: Cell<u64>,
    /// The work was ended by command.
    told: Cell<bool>,
    paused: Cell<Paused>,
}

impl Meter {
    const fn new() -> Meter {
        Meter {
            units_left: Cell::new(UNITS_PER_LOOK),
            held_bytes: Cell::new(0),
            charged_bytes: Cell::new(0),
            told: Cell::new(false),
            paused: Cell::new(Paused { wall_ns: 0, cpu_ns: 0 }),
        }
    }
}

/// Time that work was paused for, and the thread's work for others meanwhile.
#[derive(Clone, Copy, Default)]
pub(crate) struct Paused {
    pub(crate) wall_ns: u64,
    pub(crate) cpu_ns: u64,
}

/// A clock that stands still while the caller's work is paused, in nanoseconds: for work that measures itself.
pub fn work_clock_ns() -> u64 {
    monotonic_ns() - METER.with(|meter| meter.paused.get().wall_ns)
}

/// How long the call that has just ended was paused.
#[inline]
pub(crate) fn take_paused() -> Paused {
    METER.with(|meter| meter.paused.take())
}

/// The thread works for this watch as long as the guard lives; then for the watch before it.
#[must_use]
pub struct Entered {
    before: Option<Arc<dyn Watch>>,
    held_before: u64,
    charged_before: u64,
}

/// The thread works for `watch` from now on.
pub fn enter(watch: Arc<dyn Watch>) -> Entered {
    let before = WATCH.with_borrow_mut(|current| current.replace(watch));
    METER.with(|meter| {
        meter.told.set(false);
        let (held_before, charged_before) = (meter.held_bytes.replace(0), meter.charged_bytes.replace(0));
        Entered { before, held_before, charged_before }
    })
}

impl Drop for Entered {
    fn drop(&mut self) {
        let watch = WATCH.with_borrow_mut(|current| std::mem::replace(current, self.before.take()));
        let charged = METER.with(|meter| {
            meter.held_bytes.set(self.held_before);
            meter.charged_bytes.replace(self.charged_before)
        });
        if let Some(watch) = watch.filter(|_| charged > 0) {
            watch.release(charged);
        }
    }
}

/// Counts `units` of work.
///
/// # Errors
/// The work must end.
#[inline]
pub fn spend(units: u64) -> Result<(), Stopped> {
    let is_early = METER.with(|meter| {
        let left = meter.units_left.get();
        meter.units_left.set(left.saturating_sub(units));
        units < left
    });
    if is_early { Ok(()) } else { look() }
}

/// Is the work over? For a walk over a value (`model::walk`), which may stand under a lock: it does not pause.
pub fn is_over() -> bool {
    WATCH.with_borrow(|watch| watch.as_ref().is_some_and(|watch| watch.is_over(monotonic_ns())))
}

/// Looks at the clock and the query, and pauses where the time of the turn is over, or somebody waits.
#[cold]
fn look() -> Result<(), Stopped> {
    METER.with(|meter| meter.units_left.set(UNITS_PER_LOOK));
    let now_ns = monotonic_ns();
    let ask = |now_ns| WATCH.with_borrow(|watch| watch.as_ref().map_or(Ok(()), |watch| watch.look(now_ns)));
    let outcome = ask(now_ns);
    // Who is told to end does so at once; who was told before, and goes on, pauses like others.
    let is_news = outcome.is_err() && !METER.with(|meter| meter.told.replace(outcome.is_err()));
    let is_awaited = || WATCH.with_borrow(|watch| watch.as_ref().is_some_and(|watch| watch.is_awaited()));
    let pauses = fiber::is_due(now_ns) || (fiber::is_running() && is_awaited());
    // What is dropped while a panic unwinds is dropped in one go: the thread's next work would be taken for the one that panics.
    if is_news || !pauses || std::thread::panicking() { outcome } else { ask(pause(now_ns)) }
}

/// Lets the thread work for others; returns the clock afterwards. The state of this work is put away meanwhile.
fn pause(now_ns: u64) -> u64 {
    let began_cpu_ns = thread_cpu_ns();
    let watch = WATCH.take();
    let away = METER.with(|meter| {
        let (held, charged) = (meter.held_bytes.replace(0), meter.charged_bytes.replace(0));
        (held, charged, meter.told.take(), meter.paused.take())
    });
    fiber::pause();
    WATCH.set(watch);
    let (back_ns, (held, charged, told, before)) = (monotonic_ns(), away);
    METER.with(|meter| {
        meter.held_bytes.set(held);
        meter.charged_bytes.set(charged);
        meter.told.set(told);
        meter.paused.set(Paused {
            wall_ns: before.wall_ns + (back_ns - now_ns),
            cpu_ns: before.cpu_ns + (thread_cpu_ns() - began_cpu_ns),
        });
    });
    back_ns
}

/// Lets the thread work for others, for a caller that waits for something they hold. Returns at once where nothing may pause it.
pub fn give_way() {
    if fiber::is_running() {
        pause(monotonic_ns());
    }
}

/// Counts `units` of work, and `bytes` that stay allocated until the whole turn of this work is over.
///
/// # Errors
/// The work must end.
#[inline]
pub fn spend_and_keep(units: u64, bytes: u64) -> Result<(), Stopped> {
    if bytes > 0 {
        let mut kept = LoopBytes::default();
        let outcome = kept.grow(bytes);
        // Given back with all that the turn still holds: see [`Entered`].
        std::mem::forget(kept);
        outcome?;
    }
    spend(units)
}

/// Bytes that a loop has built and still holds.
#[derive(Debug, Default)]
pub struct LoopBytes {
    bytes: u64,
}

impl LoopBytes {
    /// Sets the bytes that it holds.
    ///
    /// # Errors
    /// They are more than the account has left, or the work must end.
    pub fn set(&mut self, bytes: u64) -> Result<(), Stopped> {
        if bytes > self.bytes {
            return self.grow(bytes - self.bytes);
        }
        self.shrink(self.bytes - bytes);
        Ok(())
    }
    /// Holds `more` bytes than before.
    ///
    /// # Errors
    /// As [`LoopBytes::set`].
    #[inline]
    pub fn grow(&mut self, more: u64) -> Result<(), Stopped> {
        self.bytes = self.bytes.saturating_add(more);
        let missing = METER.with(|meter| {
            let held = meter.held_bytes.get().saturating_add(more);
            meter.held_bytes.set(held);
            held.saturating_sub(meter.charged_bytes.get())
        });
        if missing == 0 { Ok(()) } else { LoopBytes::draw(missing) }
    }
    #[cold]
    fn draw(missing: u64) -> Result<(), Stopped> {
        let missing = missing.div_ceil(GRAIN_BYTES).saturating_mul(GRAIN_BYTES);
        METER.with(|meter| meter.charged_bytes.set(meter.charged_bytes.get().saturating_add(missing)));
        WATCH.with_borrow(|watch| watch.as_ref().map_or(Ok(()), |watch| watch.charge(missing)))
    }
    #[inline]
    fn shrink(&mut self, less: u64) {
        self.bytes -= less;
        let spare = METER.with(|meter| {
            let held = meter.held_bytes.get().saturating_sub(less);
            meter.held_bytes.set(held);
            meter.charged_bytes.get().saturating_sub(held)
        });
        if spare > SLACK_BYTES {
            LoopBytes::give_back(spare);
        }
    }
    #[cold]
    fn give_back(back: u64) {
        METER.with(|meter| meter.charged_bytes.set(meter.charged_bytes.get() - back));
        WATCH.with_borrow(|watch| watch.iter().for_each(|watch| watch.release(back)));
    }
}

impl Drop for LoopBytes {
    fn drop(&mut self) {
        self.shrink(self.bytes);
    }
}

/// A watch with a time and a number of bytes, for work that belongs to no query.
#[derive(Debug)]
pub struct Limited {
    until_ns: u64,
    bytes_max: u64,
    bytes: AtomicU64,
}

impl Limited {
    /// A watch with a time limit from now, and a limit of bytes.
    pub fn new(time: Duration, bytes_max: u64) -> Arc<Limited> {
        let until_ns = after_ns(time);
        Arc::new(Limited::until(until_ns, bytes_max))
    }
    fn until(until_ns: u64, bytes_max: u64) -> Limited {
        Limited { until_ns, bytes_max, bytes: AtomicU64::new(0) }
    }
}

impl Watch for Limited {
    fn look(&self, now_ns: u64) -> Result<(), Stopped> {
        if now_ns < self.until_ns { Ok(()) } else { Err(Stopped::Time) }
    }
    fn charge(&self, bytes: u64) -> Result<(), Stopped> {
        let held = self.bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if held <= self.bytes_max { Ok(()) } else { Err(Stopped::Bytes) }
    }
    fn release(&self, bytes: u64) {
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Watches over work that is only tried on the calling thread, and remembers whether it stopped it.
pub(crate) struct Tripwire {
    limits: Limited,
    tripped: AtomicBool,
}

impl Tripwire {
    pub(crate) fn until(until_ns: u64, bytes_max: u64) -> Tripwire {
        Tripwire { limits: Limited::until(until_ns, bytes_max), tripped: AtomicBool::new(false) }
    }
    pub(crate) fn is_tripped(&self) -> bool {
        self.tripped.load(Ordering::Relaxed)
    }
    fn note(&self, outcome: Result<(), Stopped>) -> Result<(), Stopped> {
        outcome.inspect_err(|_| self.tripped.store(true, Ordering::Relaxed))
    }
}

impl Watch for Tripwire {
    fn look(&self, now_ns: u64) -> Result<(), Stopped> {
        self.note(self.limits.look(now_ns))
    }
    fn charge(&self, bytes: u64) -> Result<(), Stopped> {
        self.note(self.limits.charge(bytes))
    }
    fn release(&self, bytes: u64) {
        self.limits.release(bytes);
    }
    fn is_over(&self, now_ns: u64) -> bool {
        self.look(now_ns).is_err()
    }
}

/// Tries work on the calling thread, within the time limit of a pipeline there. None where the time or the bytes do not suffice, or where it panics:
/// the caller then begins anew on the executors, so the work must leave nothing behind.
pub fn try_here<T>(bytes_max: u64, work: impl FnOnce() -> T) -> Option<T> {
    let wire = Arc::new(Tripwire::until(monotonic_ns() + PIPELINE_NS_MAX, bytes_max));
    let _watched = enter(wire.clone());
    let outcome = caught(work).ok();
    outcome.filter(|_| !wire.is_tripped())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_ends_when_its_time_is_over() {
        let _entered = enter(Limited::new(Duration::ZERO, 0));
        let spent = (0..2 * UNITS_PER_LOOK).find_map(|_| spend(1).err());
        assert_eq!(spent, Some(Stopped::Time));
    }

    #[test]
    fn bytes_are_charged_while_they_are_held_and_given_back_after() {
        let watch = Limited::new(Duration::from_secs(60), 10 << 20);
        let charged = || watch.bytes.load(Ordering::Relaxed);
        let entered = enter(watch.clone());
        let (mut one, mut other) = (LoopBytes::default(), LoopBytes::default());
        assert_eq!(one.set(4 << 20), Ok(()));
        assert_eq!(other.grow(4 << 20), Ok(()));
        assert_eq!(charged(), 8 << 20);
        drop(one);
        assert_eq!(charged(), 4 << 20);
        assert_eq!(other.grow(7 << 20), Err(Stopped::Bytes));
        drop(other);
        drop(entered);
        assert_eq!(charged(), 0);
    }

    #[test]
    fn a_watch_within_a_watch_leaves_the_outer_one_as_it_was() {
        let outer = Limited::new(Duration::from_secs(60), 1 << 30);
        let _entered = enter(outer.clone());
        let mut hold = LoopBytes::default();
        assert_eq!(hold.set(1 << 20), Ok(()));
        {
            let _inner = enter(Limited::new(Duration::from_secs(60), 1));
            assert_eq!(LoopBytes::default().set(1 << 20), Err(Stopped::Bytes));
        }
        assert_eq!(hold.set(2 << 20), Ok(()));
        assert_eq!(outer.bytes.load(Ordering::Relaxed), 2 << 20);
    }

    #[test]
    fn a_thread_without_a_watch_is_not_limited() {
        assert_eq!(spend(10 * UNITS_PER_LOOK), Ok(()));
        assert_eq!(LoopBytes::default().set(1 << 40), Ok(()));
    }

    #[test]
    fn what_is_tried_here_ends_within_its_bounds_or_is_begun_anew() {
        let hold = |bytes| LoopBytes::default().set(bytes).map(|()| bytes);
        assert_eq!(try_here(2 << 20, || hold(1 << 20)), Some(Ok(1 << 20)));
        assert_eq!(try_here(1 << 20, || hold(2 << 20).ok()), None);
        assert_eq!(try_here(1 << 20, || -> u32 { panic!("within") }), None);
        let spent = try_here(1 << 20, || while spend(UNITS_PER_LOOK).is_ok() {});
        assert_eq!(spent, None, "it takes too long");
        assert_eq!(spend(1), Ok(()), "no watch is left behind");
    }
}
