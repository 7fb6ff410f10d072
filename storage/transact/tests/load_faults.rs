//! A bulk load on a disk that fails at each of its operations in turn: what is said of it is true, and so is what is said of commits after it.

use model::{LabelSetId, Value};
use std::path::Path;
use std::sync::Arc;
use store::{Change, Snapshot};
use tanglewood_transact::{
    CheckpointReport, Engine, History, Mode, Moment, OpenOptions, TransactError, open,
};
use world::disk::{Disk, Faults, SimDisk};

/// Numbers of the vertices, by who made them.
const BEFORE: i64 = 1;
const LOADED: i64 = 2;
const AFTER: i64 = 3;
const DURING: i64 = 4;

fn opened(disk: &SimDisk) -> Engine {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    open(Some((disk, Path::new("/db"))), &OpenOptions::default()).unwrap().0
}

fn create(engine: &Engine, number: i64) -> Result<u64, TransactError> {
    let t = engine.begin(Mode::Write);
    t.create_vertex(&[], vec![(t.key("n")?, Value::Int(number))])?;
    t.commit()
}

/// What became of the load, and of a commit while it was made: one that what is written ahead does not hold.
type Told = (Result<CheckpointReport, TransactError>, Option<Result<u64, TransactError>>);

fn load(engine: &Engine) -> Told {
    let mut during = None;
    let outcome = load_beside(engine, &mut during);
    (outcome, during)
}

fn load_beside(
    engine: &Engine,
    during: &mut Option<Result<u64, TransactError>>,
) -> Result<CheckpointReport, TransactError> {
    let key = engine.store().names().intern_key("n")?;
    let id = engine.store().allocator().vertex(LabelSetId(0))?;
    engine.install(|current, commit_version| {
        during.get_or_insert_with(|| create(engine, DURING));
        let properties = vec![(key, Value::Int(LOADED))];
        let change = Change::CreateVertex { id, labels: LabelSetId(0), properties };
        Ok(current.apply(commit_version, &[&[change]])?)
    })
}

/// How many vertices have the number.
fn count(engine: &Engine, number: i64) -> usize {
    count_in(&engine.snapshot(), number)
}

fn count_in(snapshot: &Snapshot, number: i64) -> usize {
    let key = snapshot.catalog().key("n").unwrap();
    let has = |id: u64| snapshot.property(model::VertexId(id), key).is_ok_and(|n| n.as_int() == Some(number));
    (0..snapshot.vertex_bound() as u64).filter(|id| has(*id)).count()
}

#[derive(Default, Debug)]
struct Seen {
    done: usize,
    refused: usize,
    unknown: usize,
    unknown_but_there: usize,
    commits_after_refusal: usize,
    /// The disk failed, and the load stands: by its record in the log, until the next open writes its checkpoint.
    finished_on_open: usize,
}

/// A life in which the operation `at` of a load and of a commit after it fails; false if none did.
fn life(at: u64, seed: u64, power_fails: bool, seen: &mut Seen) -> bool {
    let disk = SimDisk::new();
    let engine = opened(&disk);
    for _ in 0..3 {
        create(&engine, BEFORE).unwrap();
    }
    disk.set_faults(Faults { error_at: Some(disk.operations() + at), ..Faults::default() });
    let begun = disk.operations();
    let (outcome, during) = load(&engine);
    let strikes = disk.operations() >= begun + at;
    let after = create(&engine, AFTER);
    drop(engine);
    let left = if power_fails { disk.crash(seed) } else { disk.kill() };
    let engine = opened(&left);
    let told = format!("operation {at}, seed {seed}: {outcome:?} beside {during:?}, then {after:?}");
    let is_there = count(&engine, LOADED) == 1;
    match &outcome {
        Ok(_) => seen.done += 1,
        Err(TransactError::Unknown { .. }) => {
            seen.unknown += 1;
            seen.unknown_but_there += usize::from(is_there);
            assert!(after.is_err(), "{told}: a commit that builds upon a graph without the load");
        }
        Err(_) => {
            seen.refused += 1;
            seen.commits_after_refusal += usize::from(after.is_ok());
        }
    }
    match during.expect("the load asks for what it makes") {
        Ok(_) => assert_eq!(count(&engine, DURING), 1, "{told}"),
        Err(TransactError::Unknown { .. }) => {}
        Err(_) => assert_eq!(count(&engine, DURING), 0, "{told}"),
    }
    seen.finished_on_open += usize::from(outcome.is_ok() && strikes);
    match &outcome {
        Ok(_) => assert!(is_there, "{told}: it is gone"),
        Err(TransactError::Unknown { .. }) => {}
        Err(_) => assert!(!is_there, "{told}: it happened"),
    }
    assert_eq!(count(&engine, BEFORE), 3, "{told}");
    match after {
        Ok(_) => assert_eq!(count(&engine, AFTER), 1, "{told}"),
        Err(TransactError::Unknown { .. }) => {}
        Err(_) => assert_eq!(count(&engine, AFTER), 0, "{told}"),
    }
    create(&engine, AFTER).unwrap();
    strikes
}

#[test]
fn what_is_said_of_a_load_on_a_failing_disk_is_true() {
    let mut seen = Seen::default();
    for power_fails in [false, true] {
        for seed in 0..3 {
            let struck = (1..200).take_while(|at| life(*at, seed, power_fails, &mut seen)).count();
            assert!(struck > 10, "{struck} operations only");
        }
    }
    let Seen { done, refused, unknown, unknown_but_there, commits_after_refusal, finished_on_open } = seen;
    let rare = [done, refused, unknown, unknown_but_there, commits_after_refusal, finished_on_open];
    assert!(rare.iter().all(|count| *count > 0) && unknown_but_there < unknown, "{seen:?}");
}

/// Two loads whose checkpoints fail, and then a full disk: the database opens, with them and with what came behind each, and so does its
/// past. Answers whether both stood by their records alone.
fn opens_on_a_full_disk(at: u64) -> bool {
    let disk = SimDisk::new();
    let engine = opened(&disk);
    engine.set_history(History::Forever).unwrap();
    create(&engine, BEFORE).unwrap();
    let mut commit_versions = Vec::new();
    for _ in 0..2 {
        let begun = disk.operations();
        disk.set_faults(Faults { error_at: Some(begun + at), ..Faults::default() });
        let (Ok(report), Some(Ok(_))) = load(&engine) else { return false };
        if disk.operations() < begun + at {
            return false;
        }
        disk.set_faults(Faults::default());
        commit_versions.push(report.commit_version);
        create(&engine, AFTER).unwrap();
    }
    let check = |engine: &Engine, after: usize| {
        let counts = [BEFORE, LOADED, DURING, AFTER].map(|number| count(engine, number));
        assert_eq!(counts, [1, 2, 2, after], "operation {at}");
    };
    let check_past = |engine: &Engine| {
        for (index, commit_version) in commit_versions.iter().enumerate() {
            let then = engine.snapshot_at(Moment::CommitVersion(*commit_version)).unwrap();
            let counts = [BEFORE, LOADED, DURING, AFTER].map(|number| count_in(&then, number));
            assert_eq!(counts, [1, index + 1, index + 1, index], "operation {at}");
        }
    };
    check(&engine, 2);
    check_past(&engine);
    drop(engine);
    disk.set_faults(Faults { capacity_bytes: Some(1), ..Faults::default() });
    let engine = opened(&disk);
    check(&engine, 2);
    check_past(&engine);
    assert!(create(&engine, AFTER).is_err() && engine.checkpoint().is_err());
    disk.set_faults(Faults::default());
    create(&engine, AFTER).unwrap();
    engine.give_up().unwrap();
    check_past(&engine);
    if at.is_multiple_of(2) {
        engine.checkpoint().unwrap();
        engine.give_up().unwrap();
        check(&engine, 3);
    }
    drop(engine);
    check(&opened(&disk), 3);
    true
}

#[test]
fn a_load_without_its_checkpoint_opens_on_a_full_disk() {
    let stood = (1..60).filter(|at| opens_on_a_full_disk(*at)).count();
    assert!(stood > 1, "{stood}");
}
