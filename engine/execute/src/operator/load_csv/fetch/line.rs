//! Slots for downloads, shared fairly between the tenants and users of the statements.
//!
//! Idea: a slow host keeps a slot for as long as an hour, so no user and no tenant gets all of them. A download without a slot waits in the queue. A
//! slot that becomes free goes to the first waiting download of the user who has the fewest.
//!
//! Invariant: no slot is free for which a waiting download is eligible; so a newcomer overtakes nobody. Every queue has a limit ([`FetchLimits`]).

use crate::imports::FetchAccount;
use std::collections::VecDeque;

/// How many may be brought at a time, and how many may wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct FetchLimits {
    pub all: usize,
    pub tenant: usize,
    pub user: usize,
    /// Waiting downloads, of all, and of one user.
    pub waiting: usize,
    pub user_waiting: usize,
}

/// The slots that are taken, and the queue. `W` wakes a waiting download.
pub(super) struct FetchLine<W> {
    limits: FetchLimits,
    running: Vec<FetchAccount>,
    waiting: VecDeque<Waiter<W>>,
    /// Numbers of waiters that have a slot and have not come for it yet; `running` has them already.
    granted: Vec<u64>,
    next: u64,
}

struct Waiter<W> {
    number: u64,
    account: FetchAccount,
    waker: W,
}

/// The answer to a request for a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SlotAnswer {
    /// The slot is taken.
    Now,
    /// Queued, with this number.
    Later(u64),
    /// The queue is full.
    Full,
    /// The queue of this user is full.
    FullOfUser,
}

impl<W> FetchLine<W> {
    pub const fn new(limits: FetchLimits) -> FetchLine<W> {
        FetchLine { limits, running: Vec::new(), waiting: VecDeque::new(), granted: Vec::new(), next: 0 }
    }
    /// Requests a slot.
    pub fn ask(&mut self, account: FetchAccount, waker: W) -> SlotAnswer {
        if self.has_room(account) {
            self.running.push(account);
            return SlotAnswer::Now;
        }
        if self.waiting.len() >= self.limits.waiting {
            return SlotAnswer::Full;
        }
        let of_user = self.waiting.iter().filter(|waiter| waiter.account == account).count();
        if of_user >= self.limits.user_waiting {
            return SlotAnswer::FullOfUser;
        }
        let number = self.next;
        self.next += 1;
        self.waiting.push_back(Waiter { number, account, waker });
        SlotAnswer::Later(number)
    }
    /// Has this waiter got a slot? If so it leaves the queue. Otherwise it waits on, and `waker` replaces the one before.
    pub fn poll(&mut self, number: u64, waker: W) -> bool {
        if let Some(at) = self.granted.iter().position(|granted| *granted == number) {
            self.granted.swap_remove(at);
            return true;
        }
        if let Some(waiter) = self.waiting.iter_mut().find(|waiter| waiter.number == number) {
            waiter.waker = waker;
        }
        false
    }
    /// A waiter goes away without having taken its slot. Returns the wakers to call.
    #[must_use]
    pub fn leave(&mut self, number: u64, account: FetchAccount) -> Vec<W> {
        if let Some(at) = self.granted.iter().position(|granted| *granted == number) {
            self.granted.swap_remove(at);
            return self.free(account);
        }
        self.waiting.retain(|waiter| waiter.number != number);
        Vec::new()
    }
    /// A slot of this account is free again. Returns the wakers to call.
    #[must_use]
    pub fn free(&mut self, account: FetchAccount) -> Vec<W> {
        if let Some(at) = self.running.iter().position(|running| *running == account) {
            self.running.swap_remove(at);
        }
        let mut woken = Vec::new();
        while let Some(waiter) = self.next_in_line().and_then(|at| self.waiting.remove(at)) {
            self.running.push(waiter.account);
            self.granted.push(waiter.number);
            woken.push(waiter.waker);
        }
        debug_assert!(self.running.len() <= self.limits.all && self.granted.len() <= self.running.len());
        woken
    }
    /// The index of the waiter that gets the next slot.
    fn next_in_line(&self) -> Option<usize> {
        let may = self.waiting.iter().enumerate().filter(|(_, waiter)| self.has_room(waiter.account));
        // The first of equals.
        may.min_by_key(|(_, waiter)| self.count_user(waiter.account)).map(|(at, _)| at)
    }
    fn has_room(&self, account: FetchAccount) -> bool {
        let of_tenant = self.running.iter().filter(|running| running.tenant == account.tenant).count();
        self.running.len() < self.limits.all
            && of_tenant < self.limits.tenant
            && self.count_user(account) < self.limits.user
    }
    fn count_user(&self, account: FetchAccount) -> usize {
        self.running.iter().filter(|running| **running == account).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dataflow::{TenantNo, UserNo};
    use world::chance::Chance;

    const LIMITS: FetchLimits = FetchLimits { all: 5, tenant: 3, user: 2, waiting: 7, user_waiting: 3 };

    fn account(tenant: TenantNo, user: UserNo) -> FetchAccount {
        FetchAccount { tenant, user }
    }

    #[test]
    fn nobody_takes_all_slots_and_the_next_goes_to_who_has_the_fewest() {
        let mut line = FetchLine::new(LIMITS);
        let (ada, bo, eve) = (account(1, 1), account(1, 2), account(2, 3));
        assert_eq!([(); 2].map(|()| line.ask(ada, ())), [SlotAnswer::Now; 2]);
        assert_eq!(line.ask(ada, ()), SlotAnswer::Later(0), "the user has two");
        assert_eq!(line.ask(bo, ()), SlotAnswer::Now);
        assert_eq!(line.ask(bo, ()), SlotAnswer::Later(1), "the tenant has three");
        assert_eq!([(); 2].map(|()| line.ask(eve, ())), [SlotAnswer::Now; 2], "another tenant");
        assert_eq!(line.ask(account(3, 4), ()), SlotAnswer::Later(2), "all five are taken");
        assert_eq!(line.free(eve).len(), 1);
        assert!(line.poll(2, ()) && !line.poll(2, ()) && !line.poll(0, ()));
        assert_eq!(line.free(ada).len(), 1);
        assert!(line.poll(0, ()), "first in line of those who have one each");
        assert_eq!([line.ask(bo, ()), line.ask(bo, ())], [SlotAnswer::Later(3), SlotAnswer::Later(4)]);
        assert_eq!(line.ask(bo, ()), SlotAnswer::FullOfUser, "three of one user wait");
        assert!(line.leave(3, bo).is_empty());
        assert_eq!(line.ask(bo, ()), SlotAnswer::Later(5));
        for number in 6..10 {
            assert_eq!(line.ask(account(3, number), ()), SlotAnswer::Later(u64::from(number)));
        }
        assert_eq!([line.ask(account(3, 10), ()), line.ask(bo, ())], [SlotAnswer::Full; 2], "seven wait");
    }

    /// Compared with the rules themselves, evaluated on plain lists after each step.
    #[test]
    fn random_clients_keep_the_rules() {
        let mut chance = Chance::seeded(18);
        let mut line = FetchLine::new(LIMITS);
        let (mut has, mut waits) = (Vec::new(), Vec::new());
        let (mut full, mut granted) = (0, 0);
        for step in 0..20_000 {
            let who = account(chance.below(3) as TenantNo, chance.below(4) as UserNo);
            match chance.below(4) {
                0 | 1 => match line.ask(who, ()) {
                    SlotAnswer::Now => has.push(who),
                    SlotAnswer::Later(number) => waits.push((number, who)),
                    SlotAnswer::Full | SlotAnswer::FullOfUser => full += 1,
                },
                2 if !has.is_empty() => {
                    let who = has.swap_remove(chance.below(has.len() as u64) as usize);
                    let _ = line.free(who);
                }
                _ if !waits.is_empty() => {
                    let (number, who) = waits.swap_remove(chance.below(waits.len() as u64) as usize);
                    let _ = line.leave(number, who);
                }
                _ => {}
            }
            waits.retain(|(number, who)| {
                let has_it = line.poll(*number, ());
                if has_it {
                    granted += 1;
                    has.push(*who);
                }
                !has_it
            });
            let count = |of: &dyn Fn(&FetchAccount) -> bool| has.iter().filter(|who| of(who)).count();
            let has_room = |who: &FetchAccount| {
                has.len() < LIMITS.all
                    && count(&|other| other.tenant == who.tenant) < LIMITS.tenant
                    && count(&|other| other == who) < LIMITS.user
            };
            assert!(has.len() <= LIMITS.all && waits.len() <= LIMITS.waiting, "{step}");
            assert!(has.iter().all(|who| count(&|other| other == who) <= LIMITS.user), "{step}");
            assert!(
                has.iter().all(|who| count(&|other| other.tenant == who.tenant) <= LIMITS.tenant),
                "{step}"
            );
            assert!(
                !waits.iter().any(|(_, who)| has_room(who)),
                "{step}: a slot is free that somebody may have"
            );
            assert_eq!((line.running.len(), line.waiting.len()), (has.len(), waits.len()), "{step}");
        }
        assert!(full > 100 && granted > 100, "{full} {granted}");
    }
}
