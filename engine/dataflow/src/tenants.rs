//! Who runs next on an executor: stride scheduling among tenants and roots, round robin among a tenant's queries.
//!
//! Each payer has a `pass`: the time it used, divided by its share. The runnable payer with the least pass runs. One that had nothing to
//! run starts again at the pass of the last one chosen, so that idling saves up no claim. Cost: a scan over payers, of which there are few.

use std::collections::VecDeque;

/// The share of a tenant nobody set.
pub(crate) const SHARE_DEFAULT: u32 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payer {
    Tenant(u32),
    Root(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    Query(u64),
    Root(usize),
}

struct Account {
    payer: Payer,
    share: u32,
    pass: u64,
    /// Runnable queries; a root has itself in it (as 0) when it is runnable.
    ring: VecDeque<u64>,
}

#[derive(Default)]
pub(crate) struct Tenants {
    accounts: Vec<Account>,
    floor: u64,
}

impl Tenants {
    /// The account's place, opened if need be.
    fn account(&mut self, payer: Payer) -> &mut Account {
        let place = self.accounts.iter().position(|account| account.payer == payer).unwrap_or_else(|| {
            self.accounts.push(Account {
                payer,
                share: SHARE_DEFAULT,
                pass: self.floor,
                ring: VecDeque::new(),
            });
            self.accounts.len() - 1
        });
        &mut self.accounts[place]
    }

    pub(crate) fn set_share(&mut self, payer: Payer, share: u32) {
        self.account(payer).share = share.max(1);
    }

    pub(crate) fn knows(&self, payer: Payer) -> bool {
        self.accounts.iter().any(|account| account.payer == payer)
    }

    /// Adds a query (or a root, as 0) to what its payer has to run. The caller adds it once.
    pub(crate) fn push(&mut self, payer: Payer, query: u64) {
        let floor = self.floor;
        let account = self.account(payer);
        if account.ring.is_empty() {
            account.pass = account.pass.max(floor);
        }
        account.ring.push_back(query);
    }

    /// Takes the next piece of work; give the time it used back with [`charge`](Self::charge).
    pub(crate) fn pick(&mut self) -> Option<(Payer, Work)> {
        let runnable = self.accounts.iter_mut().filter(|account| !account.ring.is_empty());
        let account = runnable.min_by_key(|account| account.pass)?;
        self.floor = account.pass;
        let query = account.ring.pop_front().expect("runnable accounts have work");
        let work = match account.payer {
            Payer::Tenant(_) => Work::Query(query),
            Payer::Root(root) => Work::Root(root),
        };
        Some((account.payer, work))
    }

    pub(crate) fn charge(&mut self, payer: Payer, used_ns: u64) {
        let account = self.account(payer);
        account.pass += used_ns.max(1) * 1_000 / u64::from(account.share);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `turns` turns of equal length; returns how many each query got.
    fn run(tenants: &mut Tenants, turns: usize, queries: usize) -> Vec<usize> {
        let mut got = vec![0; queries];
        for _ in 0..turns {
            let (payer, work) = tenants.pick().expect("all are always runnable");
            let Work::Query(query) = work else { panic!("no roots here") };
            got[query as usize] += 1;
            tenants.charge(payer, 500_000);
            tenants.push(payer, query);
        }
        got
    }

    #[test]
    fn time_follows_shares_and_not_the_number_of_queries() {
        let mut tenants = Tenants::default();
        tenants.set_share(Payer::Tenant(2), 300);
        (0..3).for_each(|query| tenants.push(Payer::Tenant(1), query));
        tenants.push(Payer::Tenant(2), 3);
        let got = run(&mut tenants, 4_000, 4);
        assert!((2_990..=3_010).contains(&got[3]), "three quarters to tenant 2, got {got:?}");
        assert!(got[..3].iter().all(|turns| (330..=337).contains(turns)), "{got:?}");
    }

    #[test]
    fn idling_saves_up_nothing() {
        let mut tenants = Tenants::default();
        tenants.push(Payer::Tenant(1), 0);
        run(&mut tenants, 1_000, 1);
        tenants.push(Payer::Tenant(2), 1);
        let got = run(&mut tenants, 1_000, 2);
        assert!(got[0].abs_diff(got[1]) <= 2, "{got:?}");
    }
}
