//! Lives of a whole database, in Cypher: sessions, chores and imports on a disk that fails, from one seed.
//!
//! The same question as [`super::live`], asked at the interface: parser, planner, executors, plan cache and the background's checkpoints take
//! part. Invariant: the seed decides what is asked, and when the disk fails; executors are threads, so the machine has a say in the rest.

use crate::audit::audit;
use crate::check::check;
use crate::chores::{Chores, perform};
use crate::client::{CypherClient, Failure};
use crate::history::{History, Outcome, Recorder};
use crate::lives::Report;
use crate::workload::{Shape, Values, interleaved, on_threads, read_everything};
use database::{Database, Options};
use std::path::Path;
use std::sync::Arc;
use world::chance::Chance;
use world::disk::{Disk, Faults, SimDisk};
use world::files::TemporaryFolder;

const FOLDER: &str = "/db";
/// Processes of histories from here on are the reads after each recovery.
const RECOVERY_PROCESS: usize = 1_000;
/// Steps of all sessions together in one life, at most.
const STEPS_MAX: u64 = 120;

struct Run {
    chance: Chance,
    disk: Arc<SimDisk>,
    shape: Shape,
    recorder: Recorder,
    values: Values,
    chores: Chores,
    report: Report,
    gatekeepers: usize,
}

/// Lives some lives of a seed; with threads, sessions really are concurrent and checkpoints happen in the background.
///
/// # Errors
/// The first thing that is wrong, with the life it was found in.
pub fn live_in_cypher(seed: u64, lives: usize, threads: bool) -> Result<(Report, History), String> {
    let mut chance = Chance::seeded(seed);
    let folder = TemporaryFolder::new("lives").map_err(|error| error.to_string())?;
    let shape = Shape { processes: 3, transactions: 6, pause: 0.0, ..Shape::default() };
    let mut run = Run {
        gatekeepers: 1 + chance.index(4),
        chance,
        disk: Arc::new(SimDisk::new()),
        shape,
        recorder: Recorder::new(),
        values: Values::default(),
        chores: Chores::new(folder.path()).map_err(|error| error.to_string())?,
        report: Report::default(),
    };
    for life in 0..lives {
        run.life(life, threads).map_err(|what| format!("seed {seed}, life {life}: {what}"))?;
    }
    let history = run.recorder.history();
    let findings = check(&history);
    if !findings.is_clean() {
        return Err(format!("seed {seed}\n{findings}\nthe whole history:\n{history}"));
    }
    run.report.committed = history.committed();
    run.report.unknown = history.transactions.iter().filter(|one| one.outcome == Outcome::Unknown).count();
    run.report.pairs = run.chores.done;
    Ok((run.report, history))
}

impl Run {
    fn life(&mut self, life: usize, threads: bool) -> Result<(), String> {
        self.report.lives += 1;
        let database = self.open(threads)?;
        if life == 0 {
            let made = CypherClient::prepare(&database, self.shape.objects());
            made.and_then(|()| Chores::prepare(&database)).map_err(|error| error.to_string())?;
        }
        self.chores.recovered(&database)?;
        let faults = audit(&database.snapshot()).map_err(|error| error.to_string())?;
        if !faults.is_empty() {
            return Err(format!("the snapshot disagrees with itself: {faults:#?}"));
        }
        let mut client = CypherClient::new(&database);
        read_everything(RECOVERY_PROCESS + life, &self.shape, &self.recorder, &mut client)
            .map_err(|failure| format!("reading after recovery: {failure}"))?;
        drop(client);
        self.strike();
        self.work(&database, threads)?;
        self.die(database);
        Ok(())
    }

    /// Opens the files that the last life left; a fault may make the first attempt fail, the next must not.
    fn open(&mut self, threads: bool) -> Result<Database, String> {
        self.verify()?;
        if self.chance.happens(0.3) {
            let at = self.disk.operations() + 1 + self.chance.below(12);
            self.disk.set_faults(match self.chance.below(3) {
                0 => Faults { power_fails_at: Some(at), ..Faults::default() },
                1 => Faults { error_at: Some(at), ..Faults::default() },
                _ => Faults { full_at: Some(at), ..Faults::default() },
            });
            let failed = self.open_once(threads).is_err();
            self.report.failed_opens += usize::from(failed);
            // What was opened dies at once.
            self.disk = Arc::new(self.disk.crash(self.chance.next_u64()));
            self.verify()?;
        }
        let database = self.open_once(threads).map_err(|error| format!("it does not open: {error}"))?;
        let recovery = database.recovery();
        self.report.replayed += recovery.replayed;
        self.report.from_checkpoint += usize::from(recovery.checkpoint.is_some());
        Ok(database)
    }

    fn open_once(&self, threads: bool) -> Result<Database, database::Error> {
        let options = Options {
            executors: Some(1),
            gatekeepers: self.gatekeepers,
            checkpoint_log_bytes: if threads { 4_096 } else { u64::MAX },
            ..Options::default()
        };
        let disk: Arc<dyn Disk> = self.disk.clone();
        Database::open_on(disk, FOLDER, options)
    }

    /// The files as they lie there must be sound before anyone repairs anything.
    fn verify(&self) -> Result<(), String> {
        let copy: Arc<dyn Disk> = Arc::new(self.disk.copy());
        match transact::check(&copy, Path::new(FOLDER)) {
            Ok(report) if report.problems.is_empty() => Ok(()),
            Ok(report) => Err(format!("verify finds damage: {:?}", report.problems)),
            Err(_) if self.recorder.history_len() == 0 => Ok(()),
            Err(error) => Err(format!("verify finds no database: {error}")),
        }
    }

    fn strike(&mut self) {
        let faults = super::faults(&mut self.chance, &self.disk, 120);
        self.report.struck += usize::from(faults != Faults::default());
        self.disk.set_faults(faults);
    }

    fn work(&mut self, database: &Database, threads: bool) -> Result<(), String> {
        let Run { chance, shape, recorder, values, chores, .. } = self;
        let client = || CypherClient::new(database);
        if threads {
            on_threads(chance.next_u64(), shape, recorder, values, client);
        }
        let steps = 1 + chance.below(STEPS_MAX);
        let (mut wrong, mut unclear) = (None, false);
        interleaved(chance, shape, recorder, values, steps, client, |chance| {
            // After an unclear answer nothing more is asked: the books know of one chore under way.
            if unclear || wrong.is_some() || !chance.happens(0.25) {
                return;
            }
            let mut ask = |text: &str| perform(database, text.trim_start_matches("chore "));
            match chores.step(chance, &mut ask) {
                Ok(()) => {}
                Err(Failure::Unknown(_)) => unclear = true,
                Err(failure) => wrong = Some(failure.to_string()),
            }
        });
        wrong.map_or(Ok(()), Err)
    }

    fn die(&mut self, database: Database) {
        let seed = self.chance.next_u64();
        let closed = match self.chance.below(4) {
            0 => {
                self.disk.set_faults(Faults::default());
                database.close().is_ok()
            }
            1 => {
                drop(database);
                false
            }
            _ => {
                // The background still works when the power goes.
                self.disk = Arc::new(self.disk.crash(seed));
                return;
            }
        };
        let keeps = closed || self.chance.happens(0.5);
        self.disk = Arc::new(if keeps { self.disk.kill() } else { self.disk.crash(seed) });
    }
}
