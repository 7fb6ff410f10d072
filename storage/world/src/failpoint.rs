//! Failpoints: named places where a test lets the program panic, to see that only the work at that place is lost.
//!
//! A place is named where it stands: `failpoint::visit("commit accepted")`. A test says at which visit of which place it panics
//! ([`panic_at`]), and asks afterwards how often each was visited. Cost: one relaxed load a visit in a debug build; in a release build a
//! visit is nothing, and no failpoint can be set.

#[cfg(debug_assertions)]
pub use set::{clear, panic_at, panicked, visits};

/// A place where a test may let the program panic.
///
/// # Panics
/// A test requested it, in a debug build.
#[inline]
pub fn visit(place: &'static str) {
    #[cfg(debug_assertions)]
    set::visit(place);
    #[cfg(not(debug_assertions))]
    let _ = place;
}

#[cfg(debug_assertions)]
mod set {
    use parking_lot::Mutex;
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicBool, Ordering};

    static IS_SET: AtomicBool = AtomicBool::new(false);
    static STATE: Mutex<State> = Mutex::new(State { visits: BTreeMap::new(), point: None, panicked: 0 });

    struct State {
        visits: BTreeMap<&'static str, u64>,
        /// The place that panics, how many of its visits are still let through, and how many panic then.
        point: Option<(String, u64, u64)>,
        panicked: u64,
    }

    pub(super) fn visit(place: &'static str) {
        if IS_SET.load(Ordering::Relaxed) {
            look(place);
        }
    }

    #[cold]
    fn look(place: &'static str) {
        let mut state = STATE.lock();
        *state.visits.entry(place).or_default() += 1;
        let Some((_, passing, panicking)) = state.point.as_mut().filter(|(name, ..)| name == place) else {
            return;
        };
        if *passing > 0 {
            *passing -= 1;
            return;
        }
        if *panicking > 0 {
            *panicking -= 1;
            state.panicked += 1;
            drop(state);
            panic!("failpoint `{place}`");
        }
    }

    /// From now on visits are counted, and the n-th visit of a place panics, counted from 1, and those behind it, `times` in all. Any name
    /// may be given; one that stands nowhere only counts.
    pub fn panic_at(place: &str, nth: u64, times: u64) {
        let mut state = STATE.lock();
        state.visits.clear();
        (state.point, state.panicked) = (Some((place.to_string(), nth.saturating_sub(1), times)), 0);
        IS_SET.store(true, Ordering::Relaxed);
    }

    /// Nothing panics from now on, and nothing is counted.
    pub fn clear() {
        IS_SET.store(false, Ordering::Relaxed);
        STATE.lock().point = None;
    }

    /// How often each place was visited since the last [`panic_at`].
    pub fn visits() -> BTreeMap<&'static str, u64> {
        STATE.lock().visits.clone()
    }

    /// How often a place panicked since the last [`panic_at`].
    pub fn panicked() -> u64 {
        STATE.lock().panicked
    }
}

#[cfg(all(test, debug_assertions))]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    #[test]
    fn the_visit_that_was_asked_for_panics_and_no_other() {
        let visited = || catch_unwind(|| visit("here")).is_ok();
        assert!(visited());
        panic_at("here", 2, 1);
        visit("there");
        assert_eq!([visited(), visited(), visited()], [true, false, true]);
        assert_eq!((visits()["here"], visits()["there"], panicked()), (3, 1, 1));
        clear();
        assert!(visited());
    }
}
