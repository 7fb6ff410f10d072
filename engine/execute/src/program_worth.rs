//! Decides whether results of similar calls, of one program with the same parameters, are worth caching.
//!
//! Idea: storing a result costs a part of a run, and is in vain if the result ends, by a change or by eviction, before its first hit. So ended
//! results and hits are counted. Where hits were too few, only some results are stored: as many as it takes to see that this has changed.
//! Cost: three numbers for each kind of calls.

use crate::limits::{CACHED_ENDED_MAX, CACHED_ENDED_MIN, CACHED_ENDED_PER_HIT, CACHED_TRIED_EVERY};

/// The history of the results of similar calls.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Worth {
    ended: u32,
    hits: u32,
    /// Calls that were not stored since the last that was.
    passed: u32,
}

impl Worth {
    /// A result was given out.
    pub(crate) fn hit(&mut self) {
        // More than all that can end in a while say nothing else.
        self.hits = (self.hits + 1).min(CACHED_ENDED_MAX);
    }
    /// A result ended.
    pub(crate) fn ended(&mut self) {
        self.ended += 1;
        if self.ended >= CACHED_ENDED_MAX {
            (self.ended, self.hits) = (self.ended / 2, self.hits / 2);
        }
    }
    fn is_worth_it(&self) -> bool {
        self.ended < CACHED_ENDED_MIN || self.hits >= self.ended / CACHED_ENDED_PER_HIT
    }
    /// Is the result of the next call stored?
    pub(crate) fn is_kept(&mut self) -> bool {
        self.passed += 1;
        let is_kept = self.is_worth_it() || self.passed >= CACHED_TRIED_EVERY;
        if is_kept {
            self.passed = 0;
        }
        is_kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of `calls` results are stored if each ends before its first hit, but for one of `one_is_asked_of`.
    fn kept(worth: &mut Worth, calls: u32, one_is_asked_of: u32) -> u32 {
        let mut kept = 0;
        for _ in 0..calls {
            if worth.is_kept() {
                kept += 1;
                if kept % one_is_asked_of == 0 {
                    worth.hit();
                }
                worth.ended();
            }
        }
        kept
    }

    #[test]
    fn results_that_nobody_asks_for_again_are_mostly_not_kept() {
        let mut worth = Worth::default();
        assert_eq!(kept(&mut worth, 10_000, 2), 10_000);
        let few = kept(&mut worth, 10_000, 100);
        assert!((600..1_200).contains(&few), "{few}");
        // It is asked for again: after some that are tried, all are kept.
        let many = kept(&mut worth, 10_000, 1);
        assert!(many > 6_000, "{many}");
        assert_eq!(kept(&mut Worth::default(), CACHED_ENDED_MIN, u32::MAX), CACHED_ENDED_MIN);
    }
}
