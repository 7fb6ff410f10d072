//! The bytes a query holds, by operator, against its budget.
//!
//! Operators charge before they grow and release when they shrink. Passing the budget is an error value that the operator returns; the runtime turns
//! it into the query's end, with a list of the bytes by operator.

use crate::accounting::accounts::Accounts;
use crate::terms::ids::Level;
use crate::terms::limits::{GRAIN_BYTES, GRAINS_KEPT_MAX};
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The error of [`Context::charge`](crate::Context::charge).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BudgetExceeded {
    /// The level whose budget was passed.
    pub level: Level,
    /// The budget in bytes.
    pub limit: u64,
    /// Bytes by operator, the most first, with the charge that failed.
    pub held: Vec<(String, u64)>,
}

impl fmt::Display for BudgetExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the {}'s memory budget of {} bytes is exceeded", self.level, self.limit)
    }
}

impl std::error::Error for BudgetExceeded {}

/// The error of [`Context::charge_spilled`](crate::Context::charge_spilled).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpillExceeded {
    /// The level whose limit it is.
    pub level: Level,
    /// The limit in bytes.
    pub limit: u64,
}

impl fmt::Display for SpillExceeded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.limit {
            0 => write!(f, "something aside on disk, which the {} may not", self.level),
            limit => write!(f, "more aside on disk than the {} may: {limit} bytes", self.level),
        }
    }
}

impl std::error::Error for SpillExceeded {}

#[derive(Default)]
struct Account {
    held: AtomicU64,
    peak: AtomicU64,
}

pub(crate) struct Ledger {
    limit: u64,
    total: AtomicU64,
    /// Drawn from the accounts.
    drawn: AtomicU64,
    /// Put aside on disk.
    spilled: AtomicU64,
    accounts: Accounts,
    /// The account that is over its limit, if any, and the limit.
    short: OnceLock<(Level, u64)>,
    vertices: Vec<Account>,
    /// Bytes that loops inside operator calls hold at present.
    inside: Account,
}

impl Ledger {
    pub(crate) fn new(limit: u64, vertices: usize, accounts: Accounts) -> Ledger {
        Ledger {
            limit,
            total: AtomicU64::new(0),
            drawn: AtomicU64::new(0),
            spilled: AtomicU64::new(0),
            accounts,
            short: OnceLock::new(),
            vertices: (0..vertices).map(|_| Account::default()).collect(),
            inside: Account::default(),
        }
    }

    /// Adds bytes; false if the query, or an account it belongs to, now holds more than it may. The bytes are counted either way.
    pub(crate) fn charge(&self, vertex: usize, bytes: u64) -> bool {
        self.charge_to(&self.vertices[vertex], bytes)
    }

    /// The same for a loop inside an operator's call.
    pub(crate) fn charge_inside(&self, bytes: u64) -> bool {
        self.charge_to(&self.inside, bytes)
    }

    fn charge_to(&self, account: &Account, bytes: u64) -> bool {
        let held = account.held.fetch_add(bytes, Ordering::Relaxed) + bytes;
        account.peak.fetch_max(held, Ordering::Relaxed);
        let total = self.total.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.draw(total) && total <= self.limit
    }

    /// Draws grains from the accounts until they cover `total`.
    fn draw(&self, total: u64) -> bool {
        let drawn = self.drawn.load(Ordering::Relaxed);
        if total <= drawn {
            return true;
        }
        let more = (total - drawn).next_multiple_of(GRAIN_BYTES);
        self.drawn.fetch_add(more, Ordering::Relaxed);
        match self.accounts.charge(more) {
            Ok(()) => true,
            Err(short) => {
                let _ = self.short.set(short);
                false
            }
        }
    }

    /// Gives unused grains back to the accounts.
    fn give_back(&self, total: u64) {
        let drawn = self.drawn.load(Ordering::Relaxed);
        let spare = drawn.saturating_sub(total) / GRAIN_BYTES;
        if spare > 2 * GRAINS_KEPT_MAX {
            let back = (spare - GRAINS_KEPT_MAX) * GRAIN_BYTES;
            let swapped =
                self.drawn.compare_exchange(drawn, drawn - back, Ordering::Relaxed, Ordering::Relaxed);
            if swapped.is_ok() {
                self.accounts.release(back);
            }
        }
    }

    pub(crate) fn release(&self, vertex: usize, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.release_from(&self.vertices[vertex], bytes);
    }

    /// Gives back bytes that were charged inside a call.
    pub(crate) fn release_inside(&self, bytes: u64) {
        self.release_from(&self.inside, bytes);
    }

    fn release_from(&self, account: &Account, bytes: u64) {
        account.held.fetch_sub(bytes, Ordering::Relaxed);
        let before = self.total.fetch_sub(bytes, Ordering::Relaxed);
        self.give_back(before.saturating_sub(bytes));
    }

    /// Bytes that could still be charged.
    pub(crate) fn room(&self) -> u64 {
        let (total, drawn) = (self.total.load(Ordering::Relaxed), self.drawn.load(Ordering::Relaxed));
        let shared = self.accounts.room().saturating_add(drawn.saturating_sub(total));
        shared.min(self.limit.saturating_sub(total))
    }

    /// Counts bytes that are put aside on disk, until the query ends.
    pub(crate) fn charge_spilled(&self, bytes: u64) -> Result<(), SpillExceeded> {
        self.accounts.charge_spilled(bytes).map_err(|(level, limit)| SpillExceeded { level, limit })?;
        self.spilled.fetch_add(bytes, Ordering::Relaxed);
        Ok(())
    }

    pub(crate) fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    pub(crate) fn held(&self, vertex: usize) -> u64 {
        self.vertices[vertex].held.load(Ordering::Relaxed)
    }

    pub(crate) fn peak(&self, vertex: usize) -> u64 {
        self.vertices[vertex].peak.load(Ordering::Relaxed)
    }

    /// The error, with the bytes by operator.
    pub(crate) fn exceeded(&self, names: impl Iterator<Item = String>) -> BudgetExceeded {
        let mut held: Vec<(String, u64)> = names
            .zip(&self.vertices)
            .chain([("expressions".to_string(), &self.inside)])
            .map(|(name, account)| (name, account.held.load(Ordering::Relaxed)))
            .filter(|(_, bytes)| *bytes > 0)
            .collect();
        held.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        // A charge that was refused before may have been taken back since.
        let own = (self.total() > self.limit).then_some((Level::Query, self.limit));
        let (level, limit) = own.or(self.short.get().copied()).unwrap_or((Level::Query, self.limit));
        BudgetExceeded { level, limit, held }
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        self.accounts.release(*self.drawn.get_mut());
        self.accounts.release_spilled(*self.spilled.get_mut());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounting::accounts::{Account as Counters, AccountOptions};
    use std::sync::Arc;

    const LIMIT: u64 = 6 << 20;
    const USER_MAX: u64 = 4 << 20;
    const VERTICES: usize = 3;

    fn accounts() -> ([Arc<Counters>; 3], Accounts) {
        let levels = [(); 3].map(|()| Arc::new(Counters::new()));
        levels[0].set(&AccountOptions { bytes_max: Some(USER_MAX), ..AccountOptions::default() });
        (levels.clone(), Accounts::new(levels))
    }

    /// Compared with a model that counts: the bytes and the peak of each operator, the grains drawn from the accounts, the limits passed.
    #[test]
    fn the_ledger_is_exact_and_draws_little_more_than_it_needs() {
        let seed = 5;
        let mut chance = world::chance::Chance::seeded(seed);
        let kept = GRAINS_KEPT_MAX * GRAIN_BYTES;
        let (mut gave_back, mut was_over) = (0, 0);
        for round in 0..200 {
            let (levels, own) = accounts();
            let ledger = Ledger::new(LIMIT, VERTICES, own);
            // The last stands for loops inside calls.
            let (mut held, mut peak) = ([0_u64; VERTICES + 1], [0_u64; VERTICES + 1]);
            for step in 0..100 {
                let at = format!("seed {seed} round {round} step {step}");
                let (who, before) = (chance.index(VERTICES + 1), levels[2].held());
                if chance.below(2) == 0 {
                    let most = [100, 50_000, 1 << 20][chance.index(3)];
                    let bytes = chance.below(most);
                    held[who] += bytes;
                    peak[who] = peak[who].max(held[who]);
                    let total: u64 = held.iter().sum();
                    let fits = match who < VERTICES {
                        true => ledger.charge(who, bytes),
                        false => ledger.charge_inside(bytes),
                    };
                    let drew = levels[2].held() > before;
                    assert_eq!(fits, total <= LIMIT && !(drew && levels[2].held() > USER_MAX), "{at}");
                    assert!(!drew || levels[2].held() - total < GRAIN_BYTES, "{at}: drew too much");
                    was_over += u64::from(!fits);
                } else {
                    let bytes = chance.below(held[who] + 1);
                    held[who] -= bytes;
                    match who < VERTICES {
                        true => ledger.release(who, bytes),
                        false => ledger.release_inside(bytes),
                    }
                    let spare = levels[2].held() - held.iter().sum::<u64>();
                    let gives = levels[2].held() < before;
                    assert!(!gives || (kept..kept + GRAIN_BYTES).contains(&spare), "{at}: {spare} spare");
                    gave_back += u64::from(gives);
                }
                let total: u64 = held.iter().sum();
                assert_eq!(ledger.total(), total, "{at}");
                let drawn = levels[2].held();
                assert!(levels.iter().all(|level| level.held() == drawn), "{at}: levels differ");
                assert!((total..total + 2 * kept + 2 * GRAIN_BYTES).contains(&drawn), "{at}: {drawn} drawn");
                for vertex in 0..VERTICES {
                    let own = (ledger.held(vertex), ledger.peak(vertex));
                    assert_eq!(own, (held[vertex], peak[vertex]), "{at}");
                }
                let mut named: Vec<u64> = held.iter().copied().filter(|bytes| *bytes > 0).collect();
                named.sort_unstable_by_key(|bytes| std::cmp::Reverse(*bytes));
                let told = ledger.exceeded(["a", "b", "c"].map(String::from).into_iter());
                assert_eq!(told.held.iter().map(|(_, bytes)| *bytes).collect::<Vec<_>>(), named, "{at}");
            }
            drop(ledger);
            assert_eq!(levels.map(|level| level.held()), [0; 3], "round {round}: not all was given back");
        }
        assert!(gave_back > 50 && was_over > 50, "{gave_back} times given back, {was_over} times over");
    }
}
