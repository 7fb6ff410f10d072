//! Commits are handed out again from any place that a retention keeps, over checkpoints, bulk loads, restarts and crashes; what is older
//! than the retention, or more than its bytes, is given up.
#![allow(clippy::disallowed_methods)]

use durable::{LocalFolder, LogOptions, OpenMode};
use model::{Value, VertexId};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::{Change, LabelFilter, Snapshot};
use tanglewood_transact::{Engine, Mode, OpenOptions, Stretch, TransactError, open_backing};
use world::chance::Chance;
use world::clock::{Clock, ManualClock};
use world::disk::{Disk, SimDisk};

const SECOND_NS: u64 = 1_000_000_000;

struct Place {
    disk: Arc<SimDisk>,
    clock: Arc<ManualClock>,
    retention: Duration,
    retained_log_bytes: u64,
}

impl Place {
    fn new(retention: Duration, retained_log_bytes: u64) -> Place {
        let clock = Arc::new(ManualClock::new(1_700_000_000_000_000));
        Place { disk: Arc::new(SimDisk::new()), clock, retention, retained_log_bytes }
    }
    fn open(&self) -> Engine {
        let disk: Arc<dyn Disk> = self.disk.clone();
        let log = LogOptions { segment_bytes_max: 2_048 };
        let folder = LocalFolder::open(disk, Path::new("/db"), OpenMode::CreateIfMissing, log).unwrap();
        let retention = self.retention;
        let options = OpenOptions {
            clock: self.clock.clone(),
            anchor_log_bytes: 1_000,
            retention: Some(Arc::new(move |_| retention)),
            retained_log_bytes: self.retained_log_bytes,
            ..OpenOptions::default()
        };
        open_backing(Arc::new(folder), &options).unwrap().0
    }
}

/// The one vertex there is.
fn vertex(graph: &Snapshot) -> Option<VertexId> {
    let mut vertices = Vec::new();
    for chunk in graph.scan_chunks(&LabelFilter::Any) {
        graph.scan_chunk(chunk, &LabelFilter::Any, &mut vertices).unwrap();
    }
    vertices.first().copied()
}

fn value(graph: &Snapshot) -> i64 {
    let Some(key) = graph.catalog().key("n") else { return 0 };
    vertex(graph).map_or(0, |vertex| graph.property(vertex, key).unwrap().as_int().unwrap())
}

fn commit(engine: &Engine, n: i64) -> u64 {
    let t = engine.begin(Mode::Write);
    let key = t.key("n").unwrap();
    match vertex(&engine.snapshot()) {
        None => drop(t.create_vertex(&[t.label("V").unwrap()], vec![(key, n.into())]).unwrap()),
        Some(vertex) => t.set_property(vertex, key, Value::Int(n)).unwrap(),
    }
    t.commit().unwrap()
}

/// Values and times by place.
type Twin = BTreeMap<u64, (i64, u64)>;

/// Goes on from a place to the newest; how many commits were met.
fn follow(engine: &Engine, from: u64, twin: &Twin) -> usize {
    let newest = |place: u64| *twin.range(..=place).next_back().unwrap().1;
    let mut since = engine.since(from).unwrap();
    assert_eq!((value(since.graph()), since.at().time_micros), newest(from), "at {from}");
    let (mut at, mut met) = (from, 0);
    while let Some(stretch) = since.read_next().unwrap() {
        match stretch {
            Stretch::Commits { records, after } => {
                for record in records {
                    let next = twin.range(at + 1..).next().unwrap();
                    assert_eq!(
                        (record.commit_version, record.time_micros),
                        (*next.0, next.1.1),
                        "from {from}"
                    );
                    let set = record.changes.iter().any(|change| match change {
                        Change::SetProperty { value, .. } => value.as_int() == Some(next.1.0),
                        Change::CreateVertex { .. } => true,
                        _ => false,
                    });
                    assert!(set, "from {from}: another commit at {}", record.commit_version);
                    (at, met) = (record.commit_version, met + 1);
                }
                assert_eq!(value(&after), newest(at).0);
            }
            Stretch::Replaced { graph, at: point } => {
                assert!(point.commit_version > at, "{from}: {at} {point}");
                assert_eq!(
                    (value(&graph), point.time_micros),
                    newest(point.commit_version),
                    "a load at {point}"
                );
                (at, met) = (point.commit_version, met + 1);
            }
        }
    }
    assert_eq!(at, engine.newest().commit_version.max(from));
    met
}

#[test]
fn commits_are_handed_out_again_from_every_place() {
    for seed in 0..6 {
        let mut place = Place::new(Duration::from_secs(3_600), 1 << 30);
        let (mut engine, mut chance, mut twin) =
            (place.open(), Chance::seeded(seed), Twin::from([(0, (0, 0))]));
        for n in 1..160 {
            place.clock.advance_ns(SECOND_NS);
            let at = commit(&engine, n);
            twin.insert(at, (n, place.clock.wall_us()));
            match chance.below(24) {
                0 | 1 => drop(engine.checkpoint().unwrap()),
                2 => {
                    engine.close().unwrap();
                    drop(engine);
                    engine = place.open();
                }
                3 => {
                    drop(engine);
                    place.disk = Arc::new(place.disk.crash(chance.below(1 << 32)));
                    engine = place.open();
                }
                4 => {
                    place.clock.advance_ns(SECOND_NS);
                    let report = engine.install(|graph, at| Ok(graph.apply(at, &[])?)).unwrap();
                    twin.insert(report.commit_version, (n, place.clock.wall_us()));
                }
                _ => {}
            }
            if chance.below(8) == 0 {
                let from = chance.below(engine.newest().commit_version + 1);
                follow(&engine, from, &twin);
            }
        }
        for from in 0..=engine.newest().commit_version {
            follow(&engine, from, &twin);
        }
        let ahead = engine.since(engine.newest().commit_version + 1).map(drop).unwrap_err();
        assert!(matches!(ahead, TransactError::NotReached { .. }), "{ahead}");
    }
}

#[test]
fn what_is_older_than_the_retention_is_given_up() {
    let place = Place::new(Duration::from_secs(60), 1 << 30);
    let (engine, mut twin) = (place.open(), Twin::from([(0, (0, 0))]));
    for n in 1..400 {
        place.clock.advance_ns(SECOND_NS);
        twin.insert(commit(&engine, n), (n, place.clock.wall_us()));
        if n % 10 == 0 {
            engine.checkpoint().unwrap();
        }
        // Anchors lie ten commits apart, and a few more where they are thinned.
        let oldest = engine.retained().unwrap().commit_version;
        assert!(oldest <= (n as u64).saturating_sub(60), "{n}: {oldest}");
        assert!(n < 200 || oldest + 120 >= n as u64, "{n}: {oldest}");
    }
    let oldest = engine.retained().unwrap().commit_version;
    assert_eq!(follow(&engine, oldest, &twin), 399 - oldest as usize);
    let error = engine.since(oldest - 1).map(drop).unwrap_err();
    assert!(matches!(error, TransactError::NotKept { oldest: Some(_), .. }), "{error}");
    // The log is read by whoever began before it was given up, and nothing wrong is told if it is gone by then.
    let mut late = engine.since(oldest).unwrap();
    place.clock.advance_ns(3_600 * SECOND_NS);
    engine.checkpoint().unwrap();
    commit(&engine, 400);
    engine.checkpoint().unwrap();
    commit(&engine, 401);
    engine.checkpoint().unwrap();
    assert!(matches!(late.read_next(), Err(TransactError::NotKept { .. })));
}

#[test]
fn no_more_log_is_kept_than_the_limit_says() {
    let place = Place::new(Duration::from_secs(3_600), 8_000);
    let engine = place.open();
    let mut twin = Twin::from([(0, (0, 0))]);
    for n in 1..1_000 {
        place.clock.advance_ns(SECOND_NS);
        twin.insert(commit(&engine, n), (n, place.clock.wall_us()));
        if n % 10 == 0 {
            engine.checkpoint().unwrap();
        }
    }
    let oldest = engine.retained().unwrap().commit_version;
    // A record takes some forty bytes.
    assert!((740..900).contains(&oldest), "{oldest}");
    follow(&engine, oldest, &twin);
    let files = place.disk.list(Path::new("/db/log")).unwrap();
    assert!(files.len() <= 8, "{files:?}");
}

#[test]
fn without_a_retention_only_the_last_checkpoint_is_kept() {
    let place = Place::new(Duration::ZERO, 1 << 30);
    let engine = place.open();
    for n in 1..10 {
        commit(&engine, n);
    }
    engine.checkpoint().unwrap();
    commit(&engine, 10);
    assert_eq!(engine.retained().unwrap().commit_version, 9);
    assert_eq!(engine.since(9).unwrap().at().commit_version, 9);
    assert!(matches!(engine.since(8).map(drop), Err(TransactError::NotKept { .. })));
}
