//! Rings as they are delivered, beside a search through all payments.

use applications::rings::{Alert, Ledger, Payment, WINDOW};
use applications::search;
use std::collections::BTreeMap;
use std::time::Duration;
use world::chance::Chance;
use world::files::TemporaryFolder;

/// The obvious twin: all rings of all payments.
fn rings(payments: &[Payment]) -> BTreeMap<([i64; 3], [i64; 2]), i64> {
    let mut found = BTreeMap::new();
    for x in payments {
        for y in payments.iter().filter(|y| y.from == x.to && x.time <= y.time) {
            for z in payments.iter().filter(|z| z.from == y.to && z.to == x.from && y.time <= z.time) {
                let accounts = [x.from, y.from, z.from];
                let differ =
                    accounts[0] != accounts[1] && accounts[1] != accounts[2] && accounts[0] != accounts[2];
                if differ && z.time - x.time <= WINDOW {
                    *found.entry((accounts, [x.time, z.time])).or_default() += 1;
                }
            }
        }
    }
    found
}

fn add(told: &mut BTreeMap<([i64; 3], [i64; 2]), i64>, alerts: &[Alert]) {
    for alert in alerts {
        *told.entry((alert.accounts, alert.times)).or_default() += alert.difference;
    }
    told.retain(|_, count| *count != 0);
}

#[test]
fn what_is_told_is_what_a_search_finds() {
    for seed in 0..3 {
        let mut chance = Chance::seeded(seed);
        let mut ledger = Ledger::open(None).unwrap();
        let mut alerts = ledger.watch(true).unwrap();
        let (mut payments, mut told) = (Vec::new(), BTreeMap::new());
        let mut seen = 0;
        for step in 0..150 {
            if chance.below(5) == 0 && !payments.is_empty() {
                let payment = payments.swap_remove(chance.index(payments.len()));
                assert!(ledger.take_back(payment).unwrap());
            } else {
                let time = step * 3_000 + chance.below(6_000) as i64;
                let (from, to) = (chance.below(7) as i64, chance.below(7) as i64);
                let payment = Payment { from, to, amount: step, time };
                ledger.pay(payment).unwrap();
                payments.push(payment);
            }
            let wanted = rings(&payments);
            assert_eq!(search::rings(&payments), wanted, "seed {seed}, step {step}");
            for _ in 0..200 {
                if told == wanted {
                    break;
                }
                add(&mut told, &alerts.next(Duration::from_millis(50)).unwrap());
            }
            assert_eq!(told, wanted, "seed {seed}, step {step}");
            seen = seen.max(told.len());
        }
        assert!(seen > 5, "{seen}");
        assert!(!ledger.take_back(Payment { from: 1, to: 2, amount: -1, time: 0 }).unwrap());
    }
}

#[test]
fn a_ledger_is_there_after_a_restart_with_its_rings() {
    let folder = TemporaryFolder::new("fraud").unwrap();
    let pay = |ledger: &mut Ledger, from, to, time| {
        ledger.pay(Payment { from, to, amount: 10, time }).unwrap();
    };
    let mut ledger = Ledger::open(Some(folder.path())).unwrap();
    pay(&mut ledger, 1, 2, 100);
    pay(&mut ledger, 2, 3, 200);
    drop(ledger);
    let mut ledger = Ledger::open(Some(folder.path())).unwrap();
    let mut alerts = ledger.watch(true).unwrap();
    pay(&mut ledger, 3, 1, 100 + WINDOW);
    pay(&mut ledger, 3, 1, 101 + WINDOW);
    let mut found = Vec::new();
    for _ in 0..200 {
        found.extend(alerts.next(Duration::from_millis(20)).unwrap());
        if !found.is_empty() {
            break;
        }
    }
    found.extend(alerts.next(Duration::from_millis(200)).unwrap());
    let ring = Alert { accounts: [1, 2, 3], times: [100, 100 + WINDOW], difference: 1 };
    assert_eq!(found, [ring], "the last payment comes a second too late");
}
