//! # order: which of two transactions comes first
//!
//! A pure state machine: no clock, no network, no thread. In one process there is one gatekeeper, and the place of a commit is
//! its counter; the bank below is where several gatekeepers with vector clocks will stand (Weaver, §3.3, refinable timestamps),
//! behind the same two calls.

/// The place of a commit in this store's order: 1 for the first. Place 0 is the empty store.
pub type Place = u64;

/// Gatekeepers that hand out places, strictly increasing. A place that was handed out and not used is withdrawn before the
/// next is asked for, so that gaps stay rare.
#[derive(Debug)]
pub struct Bank {
    last: Place,
}

impl Bank {
    /// A bank of one gatekeeper that continues after `last`.
    pub fn of_one(last: Place) -> Bank {
        Bank { last }
    }
    /// The place of the next commit.
    pub fn take(&mut self) -> Place {
        self.last += 1;
        self.last
    }
    /// Takes back the place handed out last: its commit did not happen.
    pub fn withdraw(&mut self, place: Place) {
        assert_eq!(place, self.last, "only the last place can be withdrawn");
        self.last -= 1;
    }
    /// The place handed out last.
    pub fn last(&self) -> Place {
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_dense() {
        let mut bank = Bank::of_one(41);
        assert_eq!(bank.take(), 42);
        let lost = bank.take();
        bank.withdraw(lost);
        assert_eq!((bank.take(), bank.last()), (43, 43));
    }
}
