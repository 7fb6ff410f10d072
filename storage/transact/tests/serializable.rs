//! Concurrent transfers between accounts, on threads: the total never changes, and every reader sees it whole.
#![allow(clippy::disallowed_methods)]

use model::{Value, VertexId};
use tanglewood_transact::{Mode, OpenOptions, TransactError};
use world::chance::Chance;

const ACCOUNTS: usize = 8;
const THREADS: usize = 4;
const TRANSFERS: usize = 400;

#[test]
fn concurrent_transfers_keep_the_total() {
    let (engine, _) = tanglewood_transact::open(None, &OpenOptions::default()).unwrap();
    let setup = engine.begin(Mode::Write);
    let (label, key) = (setup.label("Account").unwrap(), setup.key("balance").unwrap());
    let accounts: Vec<VertexId> =
        (0..ACCOUNTS).map(|_| setup.create_vertex(&[label], vec![(key, 100.into())]).unwrap()).collect();
    setup.commit().unwrap();
    let total = |snapshot: &store::Snapshot| -> i64 {
        accounts.iter().map(|account| snapshot.property(*account, key).unwrap().as_int().unwrap()).sum()
    };
    let conflicts: u64 = world::threads::in_parallel("transfer", THREADS, |thread| {
        let mut chance = Chance::seeded(thread as u64);
        let mut conflicts = 0;
        for _ in 0..TRANSFERS {
            loop {
                let t = engine.begin(Mode::Write);
                let from = accounts[chance.below(ACCOUNTS as u64) as usize];
                let to = accounts[chance.below(ACCOUNTS as u64) as usize];
                t.reads().vertices([from, to]);
                let snapshot = t.snapshot();
                let balance = |account| snapshot.property(account, key).unwrap().as_int().unwrap();
                if from != to {
                    t.set_property(from, key, Value::Int(balance(from) - 1)).unwrap();
                    t.set_property(to, key, Value::Int(balance(to) + 1)).unwrap();
                }
                match t.commit() {
                    Ok(_) => break,
                    Err(TransactError::Conflict { .. }) => conflicts += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            assert_eq!(total(&engine.snapshot()), 100 * ACCOUNTS as i64);
        }
        conflicts
    })
    .into_iter()
    .sum();
    assert_eq!(total(&engine.snapshot()), 100 * ACCOUNTS as i64);
    assert_eq!(engine.counts().conflicts, conflicts);
}
