//! Sound is what opens: a check finds what an open would find, leaves no trace, and a backup refuses what does not open.
#![allow(clippy::disallowed_methods)]

use durable::{BackingStore, CheckpointMark, LocalFolder, LogOptions, OpenMode};
use model::Value;
use std::path::Path;
use std::sync::Arc;
use tanglewood_transact::{
    Engine, History, Mode, Moment, OpenOptions, TransactError, backup, check, open, restore,
};
use world::disk::{Disk, SimDisk};

const DATABASE: &str = "/db";

fn opened(disk: &SimDisk) -> Result<Engine, TransactError> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    let log = LogOptions { segment_bytes_max: 2_048 };
    let options = OpenOptions { log, ..OpenOptions::default() };
    open(Some((disk, Path::new(DATABASE))), &options).map(|opened| opened.0)
}

fn commit(engine: &Engine, label: &str, number: i64) {
    let t = engine.begin(Mode::Write);
    let labels = [t.label(label).unwrap()];
    t.create_vertex(&labels, vec![(t.key("n").unwrap(), Value::Int(number))]).unwrap();
    t.commit().unwrap();
}

fn raw(disk: &SimDisk) -> LocalFolder {
    let options = LogOptions::default();
    LocalFolder::open(Arc::new(disk.clone()), Path::new(DATABASE), OpenMode::Existing, options).unwrap()
}

/// Does not open, is not called sound, is neither backed up nor restored.
fn is_refused(disk: &SimDisk) {
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    assert!(opened(&disk.copy()).is_err());
    let report = check(&shared, Path::new(DATABASE)).unwrap();
    assert_eq!(report.problems.len(), 1, "{:?}", report.problems);
    assert!(backup(&shared, Path::new(DATABASE), Path::new("/backup")).is_err());
    assert!(!disk.exists(Path::new("/backup")).unwrap());
}

#[test]
fn a_record_that_cannot_be_replayed_is_found() {
    let disk = SimDisk::new();
    (0..5).for_each(|number| commit(&opened(&disk).unwrap(), "A", number));
    let log = raw(&disk);
    log.append_and_sync(&[(6, b"sound bytes without a meaning")]).unwrap();
    log.close().unwrap();
    drop(log);
    is_refused(&disk);
}

#[test]
fn a_manifest_that_cannot_be_read_is_found() {
    let disk = SimDisk::new();
    let engine = opened(&disk).unwrap();
    commit(&engine, "A", 1);
    engine.close().unwrap();
    drop(engine);
    let folder = raw(&disk);
    folder.begin_checkpoint(1).unwrap().finish(b"not a manifest", &CheckpointMark::default()).unwrap();
    drop(folder);
    is_refused(&disk);
}

/// The byte is sound for its checksum; only who decodes the chunk sees it.
#[test]
fn a_chunk_that_cannot_be_read_is_found() {
    let disk = SimDisk::new();
    let engine = opened(&disk).unwrap();
    commit(&engine, "A", 1);
    let disk = disk.kill();
    let folder = raw(&disk);
    let mut sink = folder.begin_checkpoint(1).unwrap();
    let written = engine.snapshot().checkpoint(&mut |_: &[u8]| -> Result<store::BlobKey, TransactError> {
        Ok(store::BlobKey(sink.put(b"a blob that is no chunk")?.encode()))
    });
    sink.finish(written.unwrap().manifest(), &CheckpointMark::default()).unwrap();
    drop(folder);
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    assert_eq!(check(&shared, Path::new(DATABASE)).unwrap().problems.len(), 1);
    assert!(backup(&shared, Path::new(DATABASE), Path::new("/backup")).is_err());
}

#[test]
fn a_check_leaves_no_trace_and_knows_backups() {
    let disk = SimDisk::new();
    let engine = opened(&disk).unwrap();
    engine.set_history(History::Forever).unwrap();
    for number in 0..60 {
        commit(&engine, ["A", "B"][number as usize % 2], number);
        if number % 7 == 0 {
            engine.checkpoint().unwrap();
        }
    }
    drop(engine);
    // A tail that a power failure tore, and a file that no checkpoint needs: opening repairs both, a check does not.
    let names = disk.list(Path::new("/db/log")).unwrap();
    let last = Path::new("/db/log").join(names.last().unwrap());
    disk.open(&last, world::disk::OpenHow::Write).unwrap().append(b"torn").unwrap();
    disk.open(Path::new("/db/CURRENT.new"), world::disk::OpenHow::CreateNew).unwrap();
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let mut before = disk.contents();
    let report = check(&shared, Path::new(DATABASE)).unwrap();
    let mut after = disk.contents();
    for files in [&mut before, &mut after] {
        files.remove(Path::new("/db/LOCK"));
    }
    assert!(before == after && report.problems.is_empty(), "{:?}", report.problems);
    assert_eq!((report.torn_tail_bytes, report.leftovers.len()), (4, 1));

    backup(&shared, Path::new(DATABASE), Path::new("/backup")).unwrap();
    let report = check(&shared, Path::new("/backup")).unwrap();
    assert!(
        report.problems.is_empty()
            && report.is_backup
            && !disk.exists(Path::new("/backup/IDENTITY")).unwrap()
    );
    disk.remove(&last).unwrap();
    restore(&shared, Path::new("/backup"), Path::new("/again")).unwrap();
    assert!(check(&shared, Path::new("/again")).unwrap().problems.is_empty());
}

/// What broke: a name that only an aborted transaction had used went into a checkpoint, and no record ever carried it. Once that checkpoint was
/// given up, what came after it could not be rebuilt from an earlier one: `number 2 contradicts what is known`.
#[test]
fn the_past_has_the_names_of_aborted_transactions() {
    let mut disk = SimDisk::new();
    opened(&disk).unwrap().set_history(History::Forever).unwrap();
    let mut states = Vec::new();
    for round in 0..6 {
        disk = disk.kill();
        let engine = opened(&disk).unwrap();
        commit(&engine, "A", round);
        let aborted = engine.begin(Mode::Write);
        let label = aborted.label(&format!("Aborted{round}")).unwrap();
        aborted
            .create_vertex(&[label], vec![(aborted.key(&format!("k{round}")).unwrap(), 1.into())])
            .unwrap();
        aborted.rollback();
        engine.checkpoint().unwrap();
        states.push((engine.snapshot().commit_version(), engine.snapshot().statistics().vertices()));
        disk = disk.kill();
        let engine = opened(&disk).unwrap();
        commit(&engine, &format!("New{round}"), round);
        states.push((engine.snapshot().commit_version(), engine.snapshot().statistics().vertices()));
        engine.checkpoint().unwrap();
    }
    disk = disk.kill();
    let engine = opened(&disk).unwrap();
    for (commit_version, vertices) in states {
        let past = engine
            .snapshot_at(Moment::CommitVersion(commit_version))
            .unwrap_or_else(|error| panic!("{commit_version}: {error}"));
        assert_eq!(past.statistics().vertices(), vertices);
    }
    let shared: Arc<dyn Disk> = Arc::new(disk.kill());
    assert_eq!(check(&shared, Path::new(DATABASE)).unwrap().problems, []);
}
