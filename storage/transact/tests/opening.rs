//! Reports and files of opening and closing, and how feeds and their wakers learn of commits.
#![allow(clippy::disallowed_methods)]

use durable::LogOptions;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tanglewood_transact::{Engine, FeedEnd, History, Mode, OpenOptions, RecoveryReport, TransactError, open};
use world::disk::{Disk, SimDisk};
use world::threads::{sleep, spawn};

fn opened(disk: &SimDisk) -> (Engine, RecoveryReport) {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let options = OpenOptions { log: LogOptions { segment_bytes_max: 2_048 }, ..OpenOptions::default() };
    open(Some((disk, Path::new("/db"))), &options).unwrap()
}

fn commit(engine: &Engine) -> u64 {
    let t = engine.begin(Mode::Write);
    t.create_vertex(&[], Vec::new()).unwrap();
    t.commit().unwrap()
}

#[test]
fn opening_tells_its_checkpoint_and_what_was_replayed() {
    let disk = SimDisk::new();
    let (engine, report) = opened(&disk);
    assert_eq!(report, RecoveryReport { checkpoint: None, replayed: 0 });
    for _ in 0..5 {
        commit(&engine);
    }
    drop(engine);
    let disk = disk.kill();
    let (engine, report) = opened(&disk);
    assert_eq!(report, RecoveryReport { checkpoint: None, replayed: 5 });
    let commit_version = commit(&engine);
    engine.checkpoint().unwrap();
    for _ in 0..3 {
        commit(&engine);
    }
    drop(engine);
    let disk = disk.kill();
    let (engine, report) = opened(&disk);
    assert_eq!(report, RecoveryReport { checkpoint: Some(commit_version), replayed: 3 });
    let last = engine.newest().commit_version;
    assert_eq!(last, commit_version + 3);
    engine.close().unwrap();
    drop(engine);
    let (engine, report) = opened(&disk);
    assert_eq!(report, RecoveryReport { checkpoint: Some(last), replayed: 0 });
    // Nothing was written since: closing has nothing to write either.
    drop(engine.close());
    drop(engine);
    let before = disk.contents();
    let (engine, _) = opened(&disk);
    engine.close().unwrap();
    drop(engine);
    let checkpoints = |files: &std::collections::BTreeMap<std::path::PathBuf, Vec<u8>>| {
        files.keys().filter(|path| !path.starts_with("/db/log")).cloned().collect::<Vec<_>>()
    };
    assert_eq!(checkpoints(&before), checkpoints(&disk.contents()));
}

#[test]
fn without_history_the_oldest_moment_is_the_newest() {
    let disk = SimDisk::new();
    let (engine, _) = opened(&disk);
    commit(&engine);
    engine.checkpoint().unwrap();
    commit(&engine);
    assert_eq!(engine.oldest(), engine.newest());
    engine.set_history(History::Forever).unwrap();
    let kept_from = engine.oldest();
    commit(&engine);
    assert_eq!(engine.oldest(), kept_from);
    assert!(engine.oldest().commit_version < engine.newest().commit_version);
    let memory = open(None, &OpenOptions::default()).unwrap().0;
    assert!(matches!(memory.set_history(History::Forever), Err(TransactError::NoHistoryInMemory)));
}

#[test]
fn a_commit_wakes_who_waits_for_it() {
    let engine = open(None, &OpenOptions::default()).unwrap().0;
    let woken = Arc::new(AtomicUsize::new(0));
    let counter = woken.clone();
    let waker = Arc::new(move || {
        counter.fetch_add(1, Ordering::SeqCst);
    });
    let (snapshot, at, feed) = engine.subscribe_waking(Some(waker));
    assert_eq!((snapshot.commit_version(), feed.from), (at.commit_version, at.commit_version));
    let (_, waiting) = engine.subscribe();
    let begin = Instant::now();
    let (patience, enough) = (Duration::from_secs(600), Duration::from_secs(300));
    let reader = spawn("reader", move || (waiting.next(patience), waiting.next(patience)));
    sleep(Duration::from_millis(20));
    let commit_version = commit(&engine);
    assert_eq!(woken.load(Ordering::SeqCst), 1);
    assert_eq!(feed.next(Duration::ZERO).unwrap().unwrap().commit_version, commit_version);
    assert!(feed.next(Duration::ZERO).unwrap().is_none());
    sleep(Duration::from_millis(20));
    engine.close().unwrap();
    let (first, second) = reader.join();
    assert_eq!(first.unwrap().unwrap().commit_version, commit_version);
    assert_eq!(second.unwrap_err(), FeedEnd::Closed);
    assert!(begin.elapsed() < enough, "it slept on");
    assert_eq!(woken.load(Ordering::SeqCst), 2);
    assert_eq!(feed.next(Duration::ZERO).unwrap_err(), FeedEnd::Closed);
}

#[test]
fn a_transaction_says_what_it_is() {
    let engine = open(None, &OpenOptions::default()).unwrap().0;
    let t = engine.begin(Mode::Write);
    assert!(!t.commits_next() && !t.has_changes());
    t.commit_next();
    assert!(t.commits_next() && t.mode() == Mode::Write);
    let vertex = t.create_vertex(&[], Vec::new()).unwrap();
    assert!(t.has_changes() && t.is_stale(vertex));
    assert_eq!(engine.counts().commits, 0);
    t.commit().unwrap();
    assert_eq!((engine.counts().commits, engine.counts().groups, engine.counts().conflicts), (1, 1, 0));
    let reading = engine.begin(Mode::Read);
    assert!(matches!(reading.create_vertex(&[], Vec::new()), Err(TransactError::ReadOnly)));
    assert!(
        !reading.is_stale(vertex)
            && reading.snapshot().commit_version() == engine.snapshot().commit_version()
    );
}
