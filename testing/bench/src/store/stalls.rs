//! How long a commit takes beside maintenance: checkpoints and compaction of deltas, an index build, a bulk load.
//!
//! One writer commits one change after the other. Beside it, on a thread and a file of its own, a bare loop writes as many bytes and syncs
//! them: the disk and the machine have stalls of their own, and what the loop suffers in the same seconds is not the database's doing.

use super::{scratch, told};
use crate::report::Report;
use crate::timing::{Samples, shown_ms};
use database::{Database, ImportOptions, Options, Session, params};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use world::chance::Chance;
use world::clock::monotonic_ns;
use world::disk::{Disk, OpenHow, RealDisk};
use world::files;
use world::threads::in_parallel;

const SEED: u64 = 17;
const VERTICES: u64 = 200_000;
const EDGES: u64 = 1_000_000;
/// Bytes the bare loop writes before each sync: a record of the writer.
const RECORD_BYTES: usize = 64;
/// How long each chore is repeated, and the pause before it is done again.
const TURN_NS: u64 = 4_000_000_000;
const PAUSE: Duration = Duration::from_millis(50);
/// How much longer the longest commit may be beside maintenance, beyond what the bare loop suffers, in milliseconds.
const STALL_MS_MAX: f64 = 2.0;

const WRITE: &str = "MATCH (n:N {id: $v}) SET n.score = $w";
const EDGE: &str = "MATCH (a:N {id: $v}), (b:N {id: $w}) CREATE (a)-[:E]->(b)";

/// The maintenance that is repeated beside the writer.
type Chore = fn(&mut Session, &Path) -> Result<(), String>;

const CHORES: [(&str, Chore); 4] = [
    ("nothing", |_, _| Ok(())),
    ("checkpoints", |session, _| session.database().checkpoint().map(drop).map_err(|error| told(&error))),
    ("an index built", |session, _| {
        ask(session, "CREATE INDEX beside FOR (n:N) ON (n.score, n.id)")?;
        ask(session, "DROP INDEX beside")
    }),
    ("a bulk load", |session, edges| import(session.database(), edges, "M", "F")),
];

/// Measures all chores.
pub fn run(_: Option<&Path>, report: &mut Report) -> Result<(), String> {
    report.section("one writer's commits beside chores, and a bare loop of write and sync beside both");
    let place = scratch("stalls")?;
    let (edges, few) = (place.path().join("edges.txt"), place.path().join("few.txt"));
    files::write_bytes(&edges, network(EDGES).as_bytes()).map_err(|error| error.to_string())?;
    files::write_bytes(&few, network(EDGES / 10).as_bytes()).map_err(|error| error.to_string())?;
    let database =
        Database::open(place.path().join("db"), Options::default()).map_err(|error| told(&error))?;
    import(&database, &edges, "N", "E")?;
    let mut session = database.session();
    ask(&mut session, "CREATE INDEX score FOR (n:N) ON (n.score)")?;
    report.note(format!("{VERTICES} vertices, {EDGES} edges, an index on what is written, seed {SEED}"));
    for (name, chore) in CHORES {
        let turn = Turn::run(&database, chore, &few, place.path())?;
        turn.show(name, report);
    }
    Ok(())
}

fn network(edges: u64) -> String {
    let mut chance = Chance::seeded(SEED);
    let mut text = String::new();
    for _ in 0..edges {
        let (source, target) = (chance.below(VERTICES), chance.below(VERTICES));
        writeln!(text, "{source} {target}").expect("memory takes it");
    }
    text
}

fn import(database: &Database, edges: &Path, label: &str, edge_type: &str) -> Result<(), String> {
    let options = ImportOptions {
        from: edges.to_path_buf(),
        vertex_label: Some(label.into()),
        edge_type: Some(edge_type.into()),
        ..ImportOptions::default()
    };
    database.import(&options).map(drop).map_err(|error| told(&error))
}

fn ask(session: &mut Session, text: &str) -> Result<(), String> {
    session.query(text, params! {}).and_then(|result| result.finish()).map(drop).map_err(|error| told(&error))
}

/// The measurements beside one kind of maintenance.
#[derive(Default)]
struct Turn {
    commits: Samples,
    syncs: Samples,
    /// Times that the chore was done.
    chores: u64,
}

/// The result of one of the three threads.
enum Part {
    Commits(Samples),
    Syncs(Samples),
    Chores(u64),
}

impl Turn {
    fn run(database: &Database, chore: Chore, edges: &Path, place: &Path) -> Result<Turn, String> {
        let (end_ns, over) = (monotonic_ns() + TURN_NS, AtomicBool::new(false));
        let mut turn = Turn::default();
        let parts = in_parallel("stalls", 3, |who| match who {
            0 => {
                let commits = write(&mut database.session(), &over);
                over.store(true, Ordering::Relaxed);
                commits.map(Part::Commits)
            }
            1 => sync(place, &over).map(Part::Syncs),
            _ => {
                let done = repeat(&mut database.session(), chore, edges, end_ns, &over);
                over.store(true, Ordering::Relaxed);
                done.map(Part::Chores)
            }
        });
        for part in parts {
            match part? {
                Part::Commits(commits) => turn.commits = commits,
                Part::Syncs(syncs) => turn.syncs = syncs,
                Part::Chores(chores) => turn.chores = chores,
            }
        }
        Ok(turn)
    }
    fn show(&self, name: &str, report: &mut Report) {
        let quantiles = |samples: &Samples| {
            let at = |part| shown_ms(samples.quantile_ms(part));
            format!("p50 {}, p99 {}, p99.9 {}, max {}", at(0.5), at(0.99), at(0.999), at(1.0))
        };
        report.note(format!("beside {name} ({} times)", self.chores));
        report.note(format!("  {} commits: {}", self.commits.len(), quantiles(&self.commits)));
        report.note(format!("  {} bare syncs: {}", self.syncs.len(), quantiles(&self.syncs)));
        let (longest, bare) = (self.commits.quantile_ms(1.0), self.syncs.quantile_ms(1.0));
        let shown = format!("{} (bare sync {})", shown_ms(longest), shown_ms(bare));
        let target = format!("at most {STALL_MS_MAX} ms above the longest bare sync");
        let reached = longest <= bare + STALL_MS_MAX;
        report.figure(&format!("longest commit beside {name}"), &shown, &target, reached);
    }
}

/// Commits one change after the other; each is counted in its answer.
fn write(session: &mut Session, over: &AtomicBool) -> Result<Samples, String> {
    let (mut samples, mut chance) = (Samples::default(), Chance::seeded(SEED));
    while !over.load(Ordering::Relaxed) {
        let (v, w) = (chance.below(VERTICES) as i64, chance.below(VERTICES) as i64);
        let text = if chance.happens(0.5) { WRITE } else { EDGE };
        let begin_ns = monotonic_ns();
        let summary = session.query(text, params! { "v" => v, "w" => w }).and_then(|result| result.finish());
        samples.push((monotonic_ns() - begin_ns) as f64 / 1e6);
        let counters = summary.map_err(|error| told(&error))?.counters;
        if counters.properties_set + counters.relationships_created != 1 {
            // A vertex that no edge of the file names does not exist; both ends of nearly all do.
            samples.pop();
        }
    }
    Ok(samples)
}

/// Writes and syncs, at the end of the file.
fn sync(place: &Path, over: &AtomicBool) -> Result<Samples, String> {
    let told = |error: world::disk::DiskError| error.to_string();
    let file = RealDisk.open(&place.join("bare"), OpenHow::Replace).map_err(told)?;
    let (mut samples, mut length) = (Samples::default(), 0);
    while !over.load(Ordering::Relaxed) {
        let begin_ns = monotonic_ns();
        file.write_at(&[7; RECORD_BYTES], length).and_then(|()| file.sync()).map_err(told)?;
        samples.push((monotonic_ns() - begin_ns) as f64 / 1e6);
        length += RECORD_BYTES as u64;
    }
    Ok(samples)
}

fn repeat(
    session: &mut Session,
    chore: Chore,
    edges: &Path,
    end_ns: u64,
    over: &AtomicBool,
) -> Result<u64, String> {
    let mut done = 0;
    while monotonic_ns() < end_ns && !over.load(Ordering::Relaxed) {
        chore(session, edges)?;
        done += 1;
        world::threads::sleep(PAUSE);
    }
    Ok(done)
}
