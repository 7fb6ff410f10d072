//! Lives of a database: transactions, faults, death, recovery, and again, all from one seed.
//!
//! ```text
//!   life:  open ─ audit ─ read all ─ work (sessions interleaved, checkpoints, pairs, indexes), faults strike ─ audit ─ death
//!   death: power gone at an operation  |  power gone at rest  |  process killed  |  closed in order  |  dropped
//! ```
//!
//! Question: is what was acknowledged still there, whole and nothing else, however the process ended? One history spans all lives, so
//! the checker sees a loss as a cycle; the pairs know the exact state; the audit compares indexes, constraints and counts
//! with the data; `verify` reads the files before each open.
//! Invariant: on one thread the seed decides everything. With threads (groups of commits) the machine has a say too.

use crate::audit::audit;
use crate::check::check;
use crate::client::{DirectClient, Failure, Layout};
use crate::history::{History, Outcome, Recorder};
use crate::workload::{Shape, Values, interleaved, on_threads, read_everything};
use durable::LogOptions;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use transact::{Engine, OpenOptions, TransactError};
use world::chance::Chance;
use world::clock::ManualClock;
use world::disk::{Disk, Faults, SimDisk};
use world::threads::Thread;

mod cypher;
mod pairs;

pub use cypher::live_in_cypher;
pub use pairs::Pairs;

const FOLDER: &str = "/db";
/// Processes of histories from here on are the reads after each recovery.
const RECOVERY_PROCESS: usize = 1_000;

/// The parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Lives of one seed.
    pub lives: usize,
    /// Steps of all sessions together in one life, at most.
    pub steps_max: u64,
    /// Sessions on threads, so that commits are grouped; the seed then decides only the faults.
    pub threads: bool,
    /// The workload of the sessions.
    pub shape: Shape,
}

impl Default for Options {
    fn default() -> Options {
        let shape = Shape { processes: 3, transactions: 8, pause: 0.0, ..Shape::default() };
        Options { lives: 5, steps_max: 150, threads: false, shape }
    }
}

/// Counters of a run, so that a test can demand that each case occurred.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// Lives lived.
    pub lives: usize,
    /// Transactions acknowledged.
    pub committed: usize,
    /// Transactions with unknown outcome.
    pub unknown: usize,
    /// Commits replayed from the log by recoveries.
    pub replayed: u64,
    /// Recoveries that began from a checkpoint.
    pub from_checkpoint: usize,
    /// Opens that a fault made fail.
    pub failed_opens: usize,
    /// Lives in which a fault struck.
    pub struck: usize,
    /// Changes of pairs acknowledged.
    pub pairs: u64,
}

impl Report {
    /// Adds up.
    pub fn add(&mut self, other: &Report) {
        self.lives += other.lives;
        self.committed += other.committed;
        self.unknown += other.unknown;
        self.replayed += other.replayed;
        self.from_checkpoint += other.from_checkpoint;
        self.failed_opens += other.failed_opens;
        self.struck += other.struck;
        self.pairs += other.pairs;
    }
}

/// Checkpoints made while the sessions commit on their threads.
const CHECKPOINTS_BESIDE: usize = 3;

/// Makes them; one that a fault forbids is left.
fn checkpoints_beside(engine: &Engine) -> Thread<()> {
    let engine = engine.clone();
    world::threads::spawn("sim-checkpoints", move || {
        for _ in 0..CHECKPOINTS_BESIDE {
            drop(engine.checkpoint());
            world::threads::sleep(Duration::from_micros(500));
        }
    })
}

struct Run {
    options: Options,
    chance: Chance,
    disk: Arc<SimDisk>,
    recorder: Recorder,
    values: Values,
    pairs: Pairs,
    report: Report,
}

/// Lives all lives of a seed.
///
/// # Errors
/// The first thing that is wrong, with the life it was found in.
pub fn live(seed: u64, options: Options) -> Result<(Report, History), String> {
    let mut run = Run {
        options,
        chance: Chance::seeded(seed),
        disk: Arc::new(SimDisk::new()),
        recorder: Recorder::new(),
        values: Values::default(),
        pairs: Pairs::default(),
        report: Report::default(),
    };
    for life in 0..options.lives {
        run.life(life).map_err(|what| format!("seed {seed}, life {life}: {what}"))?;
    }
    let history = run.recorder.history();
    let findings = check(&history);
    if !findings.is_clean() {
        return Err(format!("seed {seed}\n{findings}\nthe whole history:\n{history}"));
    }
    run.report.committed = history.committed();
    run.report.unknown = history.transactions.iter().filter(|one| one.outcome == Outcome::Unknown).count();
    run.report.pairs = run.pairs.acknowledged;
    Ok((run.report, history))
}

impl Run {
    fn life(&mut self, life: usize) -> Result<(), String> {
        self.report.lives += 1;
        let engine = self.open()?;
        let early = self.chance.happens(0.2);
        if early {
            self.strike();
        }
        let prepared = Layout::of(&engine).and_then(|layout| {
            layout.prepare(&engine, self.options.shape.objects())?;
            self.pairs.prepare(&engine)?;
            Ok(layout)
        });
        match prepared {
            Ok(layout) => {
                self.after_recovery(&engine, layout, life, early)?;
                if !early {
                    self.strike();
                }
                self.work(&engine, layout)?;
                self.before_death(&engine)?;
            }
            Err(_) if early => {}
            Err(error) => return Err(format!("objects cannot be made: {error}")),
        }
        self.die(engine);
        Ok(())
    }

    /// Opens the files that the last life left; a fault may make the first attempt fail, the next must not.
    fn open(&mut self) -> Result<Engine, String> {
        self.verify()?;
        let faulty = self.chance.happens(0.3);
        if faulty {
            let at = self.disk.operations() + 1 + self.chance.below(12);
            let faults = match self.chance.below(3) {
                0 => Faults { power_fails_at: Some(at), ..Faults::default() },
                1 => Faults { error_at: Some(at), ..Faults::default() },
                _ => Faults { full_at: Some(at), ..Faults::default() },
            };
            self.disk.set_faults(faults);
            match self.open_once() {
                Ok(engine) => {
                    // The fault may still be ahead; it belongs to this life then.
                    self.note_open(&engine);
                    return self.undisturbed(engine.0);
                }
                Err(_) => self.report.failed_opens += 1,
            }
            self.disk = Arc::new(match self.chance.happens(0.7) {
                true => self.disk.crash(self.chance.next_u64()),
                false => self.disk.kill(),
            });
            self.verify()?;
        }
        let opened = self.open_once().map_err(|error| format!("it does not open: {error}"))?;
        self.note_open(&opened);
        Ok(opened.0)
    }

    fn undisturbed(&mut self, engine: Engine) -> Result<Engine, String> {
        self.disk.set_faults(Faults::default());
        Ok(engine)
    }

    fn note_open(&mut self, opened: &(Engine, transact::RecoveryReport)) {
        self.report.replayed += opened.1.replayed;
        self.report.from_checkpoint += usize::from(opened.1.checkpoint.is_some());
    }

    fn open_once(&mut self) -> Result<(Engine, transact::RecoveryReport), TransactError> {
        let disk: Arc<dyn Disk> = self.disk.clone();
        let options = OpenOptions {
            log: LogOptions { segment_bytes_max: 2_048 },
            clock: Arc::new(ManualClock::new(1_000_000)),
            ..OpenOptions::default()
        };
        transact::open(Some((disk, Path::new(FOLDER))), &options)
    }

    /// The files as they lie there must be sound before anyone repairs anything.
    fn verify(&self) -> Result<(), String> {
        let copy: Arc<dyn Disk> = Arc::new(self.disk.copy());
        match transact::check(&copy, Path::new(FOLDER)) {
            Ok(report) if report.problems.is_empty() => Ok(()),
            Ok(report) => {
                let files: Vec<String> = self
                    .disk
                    .contents()
                    .iter()
                    .map(|(path, bytes)| format!("{} ({} bytes)", path.display(), bytes.len()))
                    .collect();
                Err(format!("verify finds damage: {:?} in {files:?}", report.problems))
            }
            // Nothing there yet, or a creation that was cut short: opening makes it anew.
            Err(_) if self.recorder.history().committed() == 0 && self.pairs.acknowledged == 0 => Ok(()),
            Err(error) => Err(format!("verify finds no database: {error}")),
        }
    }

    fn after_recovery(
        &mut self,
        engine: &Engine,
        layout: Layout,
        life: usize,
        early: bool,
    ) -> Result<(), String> {
        self.pairs.recovered(engine)?;
        self.sound(engine)?;
        let mut client = DirectClient::new(engine, layout);
        let process = RECOVERY_PROCESS + life;
        match read_everything(process, &self.options.shape, &self.recorder, &mut client) {
            Err(Failure::Refused(_) | Failure::Unknown(_)) if early => Ok(()),
            Err(failure) => Err(format!("reading after recovery: {failure}")),
            Ok(()) => Ok(()),
        }
    }

    fn sound(&self, engine: &Engine) -> Result<(), String> {
        match audit(&engine.snapshot()) {
            Ok(faults) if faults.is_empty() => Ok(()),
            Ok(faults) => Err(format!("the snapshot disagrees with itself: {faults:#?}")),
            Err(error) => Err(format!("the snapshot cannot be read: {error}")),
        }
    }

    /// Draws the faults from now on.
    fn strike(&mut self) {
        let faults = faults(&mut self.chance, &self.disk, 80);
        self.report.struck += usize::from(faults != Faults::default());
        self.disk.set_faults(faults);
    }

    fn work(&mut self, engine: &Engine, layout: Layout) -> Result<(), String> {
        let Run { options, chance, recorder, values, pairs, .. } = self;
        let client = || DirectClient::new(engine, layout);
        if options.threads {
            let checkpoints = checkpoints_beside(engine);
            on_threads(chance.next_u64(), &options.shape, recorder, values, client);
            checkpoints.join();
        }
        let steps = 1 + chance.below(options.steps_max);
        let mut wrong = Ok(());
        interleaved(chance, &options.shape, recorder, values, steps, client, |chance| {
            let done = match chance.below(40) {
                // A checkpoint or an index that a fault forbids is tried again some other time.
                0 => engine.checkpoint().map(|_| ()).or(Ok(())),
                1 if chance.happens(0.3) => pairs.change_index(engine).or(Ok(())),
                2..12 => pairs.change(engine, chance),
                _ => Ok(()),
            };
            if wrong.is_ok() {
                wrong = done;
            }
        });
        wrong
    }

    /// With faults or without, the living process must agree with itself and with its acknowledgements, as far as it can still read.
    fn before_death(&mut self, engine: &Engine) -> Result<(), String> {
        self.disk.set_faults(Faults::default());
        if audit(&engine.snapshot()).is_err() {
            // The power is gone and chunks that were never read cannot be read any more.
            return Ok(());
        }
        self.sound(engine)?;
        self.pairs.alive(engine)
    }

    fn die(&mut self, engine: Engine) {
        let seed = self.chance.next_u64();
        match self.chance.below(5) {
            0 | 1 => self.disk = Arc::new(self.disk.crash(seed)),
            2 => self.disk = Arc::new(self.disk.kill()),
            3 => {
                // Whether it can be closed in order is for the disk to say; the next life must find everything either way.
                let closed = engine.close();
                drop(engine);
                let keeps = closed.is_ok() && self.chance.happens(0.5);
                self.disk = Arc::new(if keeps { self.disk.kill() } else { self.disk.crash(seed) });
                return;
            }
            _ => {
                drop(engine);
                self.disk = Arc::new(self.disk.kill());
                return;
            }
        }
        drop(engine);
    }
}

/// Faults within this many operations of the disk; none in two cases of six.
fn faults(chance: &mut Chance, disk: &SimDisk, operations: u64) -> Faults {
    let at = disk.operations() + 1 + chance.below(operations);
    let used: u64 = disk.contents().values().map(|bytes| bytes.len() as u64).sum();
    match chance.below(6) {
        0 => Faults { power_fails_at: Some(at), ..Faults::default() },
        1 => Faults { error_at: Some(at), ..Faults::default() },
        2 => Faults { full_at: Some(at), ..Faults::default() },
        3 => Faults { capacity_bytes: Some(used + chance.below(20_000)), ..Faults::default() },
        _ => Faults::default(),
    }
}
