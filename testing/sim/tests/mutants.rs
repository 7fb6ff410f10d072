//! The checker against planted bugs: reads that are not validated, commits that are published before they are synced, histories that
//! were changed afterwards. Each must be found out, and the same run without the bug must be clean.

use durable::{BackingStore, DurableResult, LocalFolder, LogOptions, Meddled, Meddler, OpenMode};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use tanglewood_sim::check::check;
use tanglewood_sim::client::{DirectClient, Forgets, Layout};
use tanglewood_sim::history::{History, Operation, Outcome, Recorder};
use tanglewood_sim::workload::{Shape, Values, interleaved, read_everything};
use transact::{Engine, OpenOptions};
use world::chance::Chance;
use world::disk::SimDisk;

fn shape() -> Shape {
    Shape { processes: 4, rollback: 0.1, ..Shape::default() }
}

/// One seeded run on one thread, with a bug or without.
fn history(seed: u64, forgets: Option<Forgets>) -> History {
    let (engine, _) = transact::open(None, &OpenOptions::default()).unwrap();
    let layout = Layout::of(&engine).unwrap();
    layout.prepare(&engine, shape().objects()).unwrap();
    let (recorder, values) = (Recorder::new(), Values::default());
    let client = || {
        let client = DirectClient::new(&engine, layout);
        forgets.map_or(DirectClient::new(&engine, layout), |kind| client.forgetting(kind))
    };
    interleaved(&mut Chance::seeded(seed), &shape(), &recorder, &values, 250, client, |_| {});
    read_everything(999, &shape(), &recorder, &mut DirectClient::new(&engine, layout)).unwrap();
    recorder.history()
}

#[test]
fn every_kind_of_read_that_is_not_validated_is_found_out() {
    for kind in
        [Forgets::Vertices, Forgets::Adjacency, Forgets::IndexValues, Forgets::IndexRanges, Forgets::Labels]
    {
        let found: Vec<u64> = (0..40).filter(|seed| !check(&history(*seed, Some(kind))).is_clean()).collect();
        assert!(found.len() >= 2, "{kind:?} not validated is found in seeds {found:?} only");
        for seed in found {
            assert!(check(&history(seed, None)).is_clean(), "seed {seed} is not clean without the bug");
        }
    }
}

/// Says synced when it has only taken note: the last group is written when the next one comes.
#[derive(Default)]
struct Liar {
    held: Mutex<Vec<(u64, Vec<u8>)>>,
}

impl Meddler for Liar {
    fn append_and_sync(&self, inner: &LocalFolder, records: &[(u64, &[u8])]) -> DurableResult<()> {
        let mut held = self.held.lock();
        let before: Vec<(u64, &[u8])> =
            held.iter().map(|(commit_version, payload)| (*commit_version, payload.as_slice())).collect();
        if !before.is_empty() {
            inner.append_and_sync(&before)?;
        }
        *held = records.iter().map(|(commit_version, payload)| (*commit_version, payload.to_vec())).collect();
        Ok(())
    }
    fn last_version(&self, inner: &LocalFolder) -> u64 {
        let held = self.held.lock().last().map(|(commit_version, _)| *commit_version);
        held.unwrap_or_else(|| inner.last_version())
    }
}

fn open(disk: &SimDisk, lies: bool) -> Engine {
    let mode = OpenMode::CreateIfMissing;
    let inner =
        LocalFolder::open(Arc::new(disk.clone()), Path::new("/db"), mode, LogOptions::default()).unwrap();
    let backing: Arc<dyn BackingStore> = match lies {
        true => Arc::new(Meddled::new(inner, Liar::default())),
        false => Arc::new(inner),
    };
    transact::open_backing(backing, &OpenOptions::default()).unwrap().0
}

/// Two lives with a power failure in between.
fn two_lives(seed: u64, lies: bool) -> History {
    let disk = SimDisk::new();
    let (recorder, values) = (Recorder::new(), Values::default());
    let engine = open(&disk, lies);
    let layout = Layout::of(&engine).unwrap();
    layout.prepare(&engine, shape().objects()).unwrap();
    let mut chance = Chance::seeded(seed);
    let client = || DirectClient::new(&engine, layout);
    interleaved(&mut chance, &shape(), &recorder, &values, 200, client, |_| {});
    let found = disk.crash(chance.next_u64());
    let engine = open(&found, false);
    let layout = Layout::of(&engine).unwrap();
    read_everything(999, &shape(), &recorder, &mut DirectClient::new(&engine, layout)).unwrap();
    recorder.history()
}

#[test]
fn commits_published_before_they_are_synced_are_found_out() {
    let mut found = 0;
    for seed in 0..20 {
        assert!(check(&two_lives(seed, false)).is_clean(), "seed {seed} is not clean without the bug");
        found += usize::from(!check(&two_lives(seed, true)).is_clean());
    }
    // The last commit may be one that left nothing to read, such as of a register that was written over.
    assert!(found >= 15, "{found} of 20 lost groups were found");
}

/// The operations of the last transaction, which read everything when all others had answered.
fn last_reads(history: &mut History) -> &mut Vec<Operation> {
    &mut history.transactions.last_mut().unwrap().operations
}

/// A change of a history, after which no order explains it any more. Returns false if there was nothing to change.
type Mutation = fn(&mut History, &mut Chance) -> bool;

fn lists(history: &mut History, least: usize) -> Vec<&mut Vec<i64>> {
    let reads = last_reads(history).iter_mut();
    let lists = reads.filter_map(|operation| match operation {
        Operation::ReadList(_, seen) | Operation::ReadSet(_, seen) if seen.len() >= least => Some(seen),
        _ => None,
    });
    lists.collect()
}

/// The last read does not see the newest value.
fn stale(history: &mut History, chance: &mut Chance) -> bool {
    let mut lists = lists(history, 1);
    if lists.is_empty() {
        return false;
    }
    let at = chance.index(lists.len());
    lists[at].pop();
    true
}

/// A value is seen twice.
fn doubled(history: &mut History, chance: &mut Chance) -> bool {
    let mut lists = lists(history, 1);
    if lists.is_empty() {
        return false;
    }
    let at = chance.index(lists.len());
    let first = lists[at][0];
    lists[at].push(first);
    true
}

/// A read sees a value that was never written.
fn invented(history: &mut History, chance: &mut Chance) -> bool {
    let mut lists = lists(history, 0);
    let at = chance.index(lists.len());
    lists[at].push(1 << 40);
    true
}

/// An acknowledged transaction is gone from everything that anyone ever read.
fn lost(history: &mut History, chance: &mut Chance) -> bool {
    let committed = history.transactions.iter().filter(|one| one.outcome == Outcome::Committed);
    let growing = |operation: &&Operation| matches!(operation, Operation::Append(..) | Operation::Add(..));
    let written: Vec<i64> = committed
        .flat_map(|one| one.operations.iter().filter(growing).filter_map(Operation::written))
        .collect();
    let Some(value) = chance.choose(&written).copied() else { return false };
    for one in history.transactions.iter_mut().filter(|one| one.outcome == Outcome::Committed) {
        if one.operations.iter().any(|operation| operation.written() == Some(value)) {
            continue;
        }
        for operation in &mut one.operations {
            if let Operation::ReadList(_, seen) | Operation::ReadSet(_, seen) = operation {
                seen.retain(|one| *one != value);
            }
        }
    }
    true
}

/// A read sees a value that was rolled back.
fn dirty(history: &mut History, chance: &mut Chance) -> bool {
    let aborted = history.transactions.iter().filter(|one| one.outcome == Outcome::Aborted);
    let written: Vec<(u32, i64)> = aborted
        .flat_map(|one| one.operations.iter())
        .filter_map(|operation| match operation {
            Operation::Append(id, value) => Some((*id, *value)),
            _ => None,
        })
        .collect();
    let Some((list, value)) = chance.choose(&written).copied() else { return false };
    for operation in last_reads(history) {
        if let Operation::ReadList(id, seen) = operation
            && *id == list
        {
            seen.push(value);
        }
    }
    true
}

/// Two values that two transactions wrote one after the other in time have changed places.
fn swapped(history: &mut History, chance: &mut Chance) -> bool {
    let writer = |history: &History, value: i64| {
        let wrote = |operation: &Operation| operation.written() == Some(value);
        history.transactions.iter().position(|one| one.operations.iter().any(wrote)).unwrap()
    };
    let copy = history.clone();
    let mut lists: Vec<&mut Vec<i64>> = last_reads(history)
        .iter_mut()
        .filter_map(|operation| match operation {
            Operation::ReadList(_, seen) if seen.len() > 1 => Some(seen),
            _ => None,
        })
        .collect();
    if lists.is_empty() {
        return false;
    }
    let at = chance.index(lists.len());
    let last = lists[at].len() - 1;
    let (one, other) = (writer(&copy, lists[at][last - 1]), writer(&copy, lists[at][last]));
    lists[at].swap(last - 1, last);
    one != other && copy.transactions[one].returned < copy.transactions[other].invoked
}

#[test]
fn changed_histories_are_found_out() {
    let mutations: [(&str, Mutation); 6] = [
        ("stale", stale),
        ("doubled", doubled),
        ("invented", invented),
        ("lost", lost),
        ("dirty", dirty),
        ("swapped", swapped),
    ];
    let mut done: Vec<&str> = Vec::new();
    for seed in 0..60 {
        let clean = history(seed, None);
        assert!(check(&clean).is_clean(), "seed {seed}");
        for (name, mutate) in mutations {
            let mut changed = clean.clone();
            if mutate(&mut changed, &mut Chance::seeded(seed)) {
                done.push(name);
                let found = check(&changed);
                assert!(!found.is_clean(), "seed {seed}: {name} was not found in\n{changed}");
            }
        }
    }
    let kinds: BTreeSet<&str> = done.iter().copied().collect();
    assert!(kinds.len() == mutations.len() && done.len() > 200, "{} changes of {kinds:?}", done.len());
}
