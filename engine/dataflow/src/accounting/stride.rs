//! Stride scheduling: chooses the next of the runnable members, so that time follows shares.
//!
//! Each member has a `pass`: the time used, divided by the share. The runnable one with the least pass is next. A member that was idle starts again
//! at the pass of the last one chosen, less a small credit, so that idling saves up no claim and short pauses lose none; a debt stays. Cost: two
//! steps in an ordered set a turn. (Waldspurger and Weihl, "Stride scheduling: deterministic proportional-share resource management".)

use crate::terms::limits::{ACCOUNTS_SLACK, CREDIT_NS_MAX};
use hashbrown::HashMap;
use std::collections::BTreeSet;
use std::hash::Hash;

/// The share of a member without one of its own.
pub(crate) const SHARE_DEFAULT: u32 = 100;

struct Account {
    share: u32,
    pass: u64,
    /// The turn since which it waits; those with equal passes go in this order.
    since: u64,
    runnable: bool,
    /// Its share was set, so the entry is kept.
    declared: bool,
}

pub(crate) struct Stride<K> {
    accounts: HashMap<K, Account, foldhash::fast::FixedState>,
    runnable: BTreeSet<(u64, u64, K)>,
    floor: u64,
    turns: u64,
    prune_at: usize,
}

impl<K: Copy + Eq + Hash + Ord> Default for Stride<K> {
    fn default() -> Stride<K> {
        let (accounts, runnable) = (HashMap::default(), BTreeSet::new());
        Stride { accounts, runnable, floor: 0, turns: 0, prune_at: ACCOUNTS_SLACK }
    }
}

impl<K: Copy + Eq + Hash + Ord> Stride<K> {
    fn account(&mut self, key: K) -> &mut Account {
        if self.accounts.len() >= self.prune_at {
            self.prune();
        }
        let pass = self.floor;
        self.accounts.entry(key).or_insert(Account {
            share: SHARE_DEFAULT,
            pass,
            since: 0,
            runnable: false,
            declared: false,
        })
    }

    /// Forgets idle members without debts or declared shares: they would begin alike.
    fn prune(&mut self) {
        let floor = self.floor;
        self.accounts.retain(|_, account| account.runnable || account.declared || account.pass > floor);
        self.prune_at = ACCOUNTS_SLACK.max(2 * self.accounts.len());
    }

    pub(crate) fn set_share(&mut self, key: K, share: u32) {
        let account = self.account(key);
        (account.share, account.declared) = (share.max(1), true);
    }

    /// It has something to do.
    pub(crate) fn push(&mut self, key: K) {
        let (floor, turns) = (self.floor, self.turns);
        let account = self.account(key);
        if !std::mem::replace(&mut account.runnable, true) {
            let credit = CREDIT_NS_MAX * 1_000 / u64::from(account.share);
            (account.pass, account.since) = (account.pass.max(floor.saturating_sub(credit)), turns);
            let entry = (account.pass, account.since, key);
            self.runnable.insert(entry);
        }
        self.turns += 1;
    }

    /// The next member; it stays runnable.
    pub(crate) fn next(&mut self) -> Option<K> {
        let (pass, _, key) = *self.runnable.first()?;
        self.floor = pass;
        Some(key)
    }

    /// It used time, and has more to do or not.
    pub(crate) fn charge(&mut self, key: K, used: u64, more: bool) {
        let turns = self.turns;
        let account = self.account(key);
        let before = (account.pass, account.since, key);
        account.pass += used.max(1) * 1_000 / u64::from(account.share);
        account.since = turns;
        let (was, after) = (account.runnable, (account.pass, account.since, key));
        account.runnable = more;
        if was {
            self.runnable.remove(&before);
        }
        if more {
            self.runnable.insert(after);
        } else if self.runnable.is_empty() {
            // Nobody was kept waiting, so nobody owes.
            self.floor = self.floor.max(after.0);
        }
        self.turns += 1;
    }

    /// It used time without having had a turn.
    pub(crate) fn owe(&mut self, key: K, used: u64) {
        let floor = self.floor;
        let account = self.account(key);
        let before = (account.pass, account.since, key);
        account.pass = account.pass.max(floor) + used * 1_000 / u64::from(account.share);
        let (runnable, after) = (account.runnable, (account.pass, account.since, key));
        if runnable {
            self.runnable.remove(&before);
            self.runnable.insert(after);
        }
    }

    /// Removes a member.
    pub(crate) fn remove(&mut self, key: K) {
        if let Some(account) = self.accounts.remove(&key)
            && account.runnable
        {
            self.runnable.remove(&(account.pass, account.since, key));
        }
    }

    /// It has nothing to do any more.
    pub(crate) fn idle(&mut self, key: K) {
        if let Some(account) = self.accounts.get_mut(&key)
            && std::mem::replace(&mut account.runnable, false)
        {
            self.runnable.remove(&(account.pass, account.since, key));
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.accounts.is_empty()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.runnable.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives `turns` turns of equal length to members that are always runnable; returns how many each got.
    fn run(stride: &mut Stride<usize>, turns: usize, members: usize) -> Vec<usize> {
        let mut got = vec![0; members];
        for _ in 0..turns {
            let key = stride.next().expect("all are always runnable");
            got[key] += 1;
            stride.charge(key, 500_000, true);
        }
        got
    }

    #[test]
    fn time_follows_shares() {
        let mut stride = Stride::default();
        stride.set_share(2, 300);
        (0..3).for_each(|key| stride.push(key));
        let got = run(&mut stride, 5_000, 3);
        assert!((2_990..=3_010).contains(&got[2]) && got[0].abs_diff(got[1]) <= 1, "{got:?}");
    }

    #[test]
    fn idling_saves_up_nothing_and_debts_stay() {
        let mut stride = Stride::default();
        stride.push(0);
        run(&mut stride, 1_000, 1);
        stride.push(1);
        let got = run(&mut stride, 1_000, 2);
        assert!(got[0].abs_diff(got[1]) <= 2, "{got:?}");
        stride.charge(1, 500_000 * 100, false);
        stride.push(1);
        let got = run(&mut stride, 100, 2);
        assert!(got[0] >= 99, "it had its turns in advance: {got:?}");
    }

    #[test]
    fn what_was_done_for_somebody_is_paid_for() {
        let mut stride = Stride::default();
        (0..2).for_each(|key| stride.push(key));
        stride.owe(0, 500_000 * 40);
        let got = run(&mut stride, 100, 2);
        assert!(got[1].abs_diff(got[0] + 40) <= 2, "{got:?}");
    }

    #[test]
    fn accounts_that_mean_nothing_are_forgotten() {
        let mut stride = Stride::default();
        stride.set_share(7, 5);
        for key in 0..100_000 {
            stride.push(key);
            assert_eq!(stride.next(), Some(key));
            stride.charge(key, 1, false);
        }
        assert!(stride.accounts.len() <= 2 * ACCOUNTS_SLACK, "{}", stride.accounts.len());
        assert!(stride.accounts[&7].share == 5 && stride.is_idle());
    }
}
