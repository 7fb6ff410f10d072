//! A database whose files are damaged: the damage must be reported as an error, and must never lead to a wrong answer.
//!
//! ```text
//!   byte 0        which database: left as it was; closed in order; closed and keeping its past; a backup
//!   byte 1        which of its files
//!   byte 2        what is done: bits flipped, bytes written, cut off, added, zeroed, cut out, another file's bytes, removed
//!   bytes 3 to 6  where, modulo the file's length
//!   the rest      with what
//! ```
//!
//! Invariants tested: reading everything verifies, opens, and reads without a panic; whatever is answered is right; what `verify` calls sound
//! opens, and all of it can be read. One loss is allowed, because nobody can tell it from a power failure: the end of the log of a
//! database that was not closed. Then the answer is that of an earlier version, not before the checkpoint.

use crate::targets::log::write;
use database::{Database, MEMORY, Options, Params};
use model::Direction;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use store::{EdgeScratch, LabelFilter, Snapshot, StoreError};
use transact::{Engine, History, Moment, OpenOptions, TransactError};
use world::disk::{Disk, SimDisk};

const FOLDER: &str = "/db";
const BACKUP: &str = "/backup";
const RESTORED: &str = "/restored";

/// Ways to damage a file.
const KINDS: u8 = 8;
/// Bytes of a sector that is zeroed.
const SECTOR_BYTES: usize = 512;

/// The statements of a small graph: every kind of value, indexes, a constraint, edges with properties, deletions.
const STATEMENTS: [&str; 12] = [
    "CREATE CONSTRAINT person_id FOR (p:Person) REQUIRE p.id IS UNIQUE",
    "CREATE INDEX FOR (p:Person) ON (p.age)",
    "UNWIND range(1, 40) AS i CREATE (:Person {id: i, age: i % 7, name: 'person ' + toString(i)})",
    "MATCH (a:Person), (b:Person) WHERE b.id = a.id * 3 % 41 CREATE (a)-[:KNOWS {since: a.id, weight: a.id / 2.0}]->(b)",
    "UNWIND range(1, 12) AS i CREATE (:City {name: 'city ' + toString(i), big: i % 2 = 0, at: [i, i + 1]})",
    "MATCH (p:Person), (c:City) WHERE c.name = 'city ' + toString(p.id % 12 + 1) CREATE (p)-[:LIVES_IN]->(c)",
    "MATCH (p:Person) WHERE p.id > 36 DETACH DELETE p",
    "CREATE INDEX cities FOR (c:City) ON (c.name)",
    "MATCH (p:Person {id: 7}) SET p:Leader, p.since = date('2026-11-22'), p.tall = 1.5",
    "MATCH (p:Person) WHERE p.age = 3 REMOVE p.name SET p.note = 'three'",
    "MATCH (:Person {id: 2})-[r:KNOWS]->() SET r.weight = -1",
    "CREATE (:Person {id: 100, age: 100})-[:KNOWS]->(:Person {id: 101, age: 1})",
];

/// Puts the small graph into a database.
pub fn fill(database: &Database) {
    let mut session = database.session();
    for text in STATEMENTS {
        let done = session.query(text, Params::new()).and_then(|result| result.finish());
        done.unwrap_or_else(|error| panic!("{text}: {error}"));
    }
}

/// The small graph in memory.
pub fn example() -> Database {
    let options = Options { executors: Some(1), ..Options::default() };
    let database = Database::open(MEMORY, options).expect("memory can be opened");
    fill(&database);
    database
}

/// Everything that can be read from a snapshot, as text.
///
/// # Errors
/// When stored bytes cannot be read.
pub fn contents(snapshot: &Snapshot) -> Result<String, StoreError> {
    let (mut text, mut vertices) = (String::new(), Vec::new());
    for chunk in snapshot.scan_chunks(&LabelFilter::Any) {
        snapshot.scan_chunk(chunk, &LabelFilter::Any, &mut vertices)?;
    }
    vertices.sort_unstable();
    for vertex in vertices {
        let labels = snapshot.catalog().labels_of(snapshot.labels(vertex)?).to_vec();
        let mut properties = snapshot.properties(vertex)?;
        properties.sort_by_key(|(key, _)| key.0);
        line(&mut text, format_args!("{vertex:?} {labels:?} {properties:?}"));
        for direction in [Direction::Out, Direction::In] {
            let view = snapshot.adjacency(&[], direction);
            let mut scratch = EdgeScratch::default();
            let (neighbours, edges) = view.edges(vertex.dense(), &mut scratch)?;
            let mut found: Vec<(u64, u32)> = edges.iter().copied().zip(neighbours.iter().copied()).collect();
            found.sort_unstable();
            for (edge, neighbour) in found {
                let mut properties = snapshot.edge_properties(model::EdgeId(edge))?;
                properties.sort_by_key(|(key, _)| key.0);
                line(&mut text, format_args!("  {direction:?} {edge} {neighbour} {properties:?}"));
            }
        }
    }
    for index in snapshot.catalog().indexes() {
        let every = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
        let found = snapshot.seek_range(index.id, every.0, every.1)?.collect::<Result<Vec<_>, _>>()?;
        line(&mut text, format_args!("{index:?} {found:?}"));
    }
    line(&mut text, format_args!("{:?}", snapshot.catalog().constraints()));
    Ok(text)
}

fn line(text: &mut String, what: std::fmt::Arguments<'_>) {
    writeln!(text, "{what}").expect("a text takes everything");
}

/// How a database came to lie there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// Its process died.
    Left,
    /// Closed in order.
    Closed,
    /// Closed in order, with its whole past.
    Kept,
    /// A backup of the one that was left.
    Backup,
}

/// A database with a checkpoint, a log after it, and its content at each version.
struct Example {
    kind: Kind,
    disk: SimDisk,
    files: Vec<(PathBuf, Vec<u8>)>,
    checkpoint: u64,
    last: u64,
    truth: BTreeMap<u64, String>,
}

static EXAMPLES: LazyLock<[Example; 4]> =
    LazyLock::new(|| [build(Kind::Left), build(Kind::Closed), build(Kind::Kept), build(Kind::Backup)]);

fn build(kind: Kind) -> Example {
    let disk = SimDisk::new();
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    if kind == Kind::Kept {
        let (engine, _) = open(&shared, FOLDER, true).expect("an empty disk takes a database");
        engine.set_history(History::Forever).expect("the disk has room");
    }
    let options = Options { executors: Some(1), checkpoint_log_bytes: u64::MAX, ..Options::default() };
    let database =
        Database::open_on(shared.clone(), FOLDER, options).expect("an empty disk takes a database");
    let mut truth = BTreeMap::new();
    let mut session = database.session();
    let (mut checkpoint, middle) = (0, STATEMENTS.len() / 2);
    for (at, text) in STATEMENTS.iter().enumerate() {
        let done = session.query(text, Params::new()).and_then(|result| result.finish());
        done.unwrap_or_else(|error| panic!("{text}: {error}"));
        let snapshot = database.snapshot();
        truth.insert(snapshot.commit_version(), contents(&snapshot).expect("the disk is sound"));
        if at == middle {
            database.checkpoint().expect("the disk has room");
            checkpoint = snapshot.commit_version();
        }
    }
    let last = database.snapshot().commit_version();
    drop(session);
    match kind {
        Kind::Closed | Kind::Kept => database.close().expect("the disk is sound"),
        Kind::Left | Kind::Backup => drop(database),
    }
    if kind == Kind::Backup {
        transact::backup(&shared, Path::new(FOLDER), Path::new(BACKUP)).expect("the disk has room");
    }
    let disk = disk.kill();
    let is_inside = |path: &Path| path.starts_with(BACKUP) || kind != Kind::Backup;
    let files = disk.contents().into_iter().filter(|(path, _)| is_inside(path)).collect();
    Example { kind, disk, files, checkpoint, last, truth }
}

fn open(disk: &Arc<dyn Disk>, folder: &str, create: bool) -> Result<(Engine, u64), TransactError> {
    let options = OpenOptions { create, ..OpenOptions::default() };
    let (engine, _) = transact::open(Some((disk.clone(), Path::new(folder))), &options)?;
    let commit_version = engine.snapshot().commit_version();
    Ok((engine, commit_version))
}

/// How an input was dealt with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Fate {
    /// Nothing was changed.
    Unchanged,
    /// The damage was named.
    Named,
    /// The end of the log was cut, as after a power failure; if only its closing mark was lost, nothing is missing.
    Cut,
    /// Nobody noticed, and everything is right.
    Harmless,
}

/// Damages a file as the bytes say.
pub fn files(bytes: &[u8]) {
    fate(bytes);
}

/// Damages a file as the bytes say, and tells how that came out.
pub fn fate(bytes: &[u8]) -> Fate {
    let Some((head, with)) = bytes.split_at_checked(7) else { return Fate::Unchanged };
    let example = &EXAMPLES[head[0] as usize % EXAMPLES.len()];
    let (path, old) = &example.files[head[1] as usize % example.files.len()];
    let place = u32::from_le_bytes([head[3], head[4], head[5], head[6]]);
    let at = place as usize % (old.len() + 1);
    let disk = example.disk.copy();
    let kind = head[2] % KINDS;
    if kind == KINDS - 1 {
        disk.remove(path).expect("the file is there");
    } else {
        let new = damaged(old, kind, at, with, &example.files);
        if new == *old {
            return Fate::Unchanged;
        }
        write(&disk, path, &new);
    }
    let what = format!("{}, kind {kind} at {at} of {} with {with:?}", path.display(), old.len());
    // The last frame of a log may be its closing mark.
    let in_last_frame = is_in_log(path) && (kind == 3 || at + durable::RECORD_FRAME_BYTES >= old.len());
    match judge(example, &disk, path, &what) {
        Fate::Harmless if in_last_frame => Fate::Cut,
        fate => fate,
    }
}

fn damaged(old: &[u8], kind: u8, at: usize, with: &[u8], files: &[(PathBuf, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = old.to_vec();
    let end = |length: usize| (at + length).min(old.len());
    match kind {
        0 => {
            let mask = with.first().copied().unwrap_or(1).max(1);
            bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= mask);
        }
        1 => drop(bytes.splice(at..end(with.len()), with.iter().copied())),
        2 => bytes.truncate(at),
        3 => bytes.extend_from_slice(if with.is_empty() { &[0] } else { with }),
        4 => bytes[at..end(SECTOR_BYTES)].fill(0),
        5 => drop(bytes.drain(at..end(1 + with.len()))),
        _ => bytes.clone_from(&files[at % files.len()].1),
    }
    bytes
}

/// Reads the latest version and the past versions that are kept.
fn read(example: &Example, disk: &Arc<dyn Disk>) -> Result<BTreeMap<u64, String>, String> {
    let folder = match example.kind {
        Kind::Backup => {
            transact::restore(disk, Path::new(BACKUP), Path::new(RESTORED))
                .map_err(|error| error.to_string())?;
            RESTORED
        }
        _ => FOLDER,
    };
    let (engine, commit_version) = open(disk, folder, false).map_err(|error| error.to_string())?;
    let read = |snapshot: &Snapshot| contents(snapshot).map_err(|error| error.to_string());
    let mut found = BTreeMap::from([(commit_version, read(&engine.snapshot())?)]);
    if example.kind == Kind::Kept {
        for earlier in example.truth.keys().filter(|earlier| **earlier < commit_version) {
            let snapshot =
                engine.snapshot_at(Moment::CommitVersion(*earlier)).map_err(|error| error.to_string())?;
            found.insert(*earlier, read(&snapshot)?);
        }
    }
    Ok(found)
}

fn judge(example: &Example, disk: &SimDisk, path: &Path, what: &str) -> Fate {
    let shared: Arc<dyn Disk> = Arc::new(disk.clone());
    let folder = if example.kind == Kind::Backup { BACKUP } else { FOLDER };
    let verified = transact::check(&shared, Path::new(folder));
    let is_sound = verified.as_ref().is_ok_and(|report| report.problems.is_empty());
    let found = match read(example, &shared) {
        Err(error) => {
            assert!(!is_sound, "verified as sound, but {error}: {what}");
            return Fate::Named;
        }
        Ok(found) => found,
    };
    for (commit_version, text) in &found {
        let truth = example.truth.get(commit_version);
        assert_eq!(truth, Some(text), "a wrong answer at version {commit_version}: {what}\n{verified:?}");
    }
    let last = found.keys().next_back().copied().unwrap_or_default();
    if last == example.last {
        return if is_sound { Fate::Harmless } else { Fate::Named };
    }
    let at_the_end = example.kind == Kind::Left && last >= example.checkpoint && is_in_log(path);
    assert!(at_the_end, "commits up to {} are lost without a word: {what}\n{verified:?}", example.last);
    assert!(is_sound, "damage was named, and the log was cut nevertheless: {what}\n{verified:?}");
    Fate::Cut
}

/// Is the file one of the log's?
pub fn is_in_log(path: &Path) -> bool {
    path.parent().is_some_and(|folder| folder.ends_with("log"))
}

/// The files of both databases, with their lengths: first the number of the database, then that of the file.
pub fn all_files() -> Vec<(u8, u8, PathBuf, usize)> {
    let of = |number: usize| {
        let files = EXAMPLES[number].files.iter().enumerate();
        files.map(move |(file, (path, bytes))| (number as u8, file as u8, path.clone(), bytes.len()))
    };
    (0..EXAMPLES.len()).flat_map(of).collect()
}

/// An input of this target.
pub fn input(database: u8, file: u8, kind: u8, at: u32, with: &[u8]) -> Vec<u8> {
    let mut bytes = vec![database, file, kind];
    bytes.extend_from_slice(&at.to_le_bytes());
    bytes.extend_from_slice(with);
    bytes
}

/// Every kind of damage to every file, in its middle.
pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let every = all_files().into_iter().flat_map(|(database, file, _, length)| {
        (0..KINDS).map(move |kind| input(database, file, kind, length as u32 / 2, &[0x55, 0xaa, 1]))
    });
    every.collect()
}
