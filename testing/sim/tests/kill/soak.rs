//! Rounds of work that end with kill -9. The clients live on this side of a pipe, and so does the history.
//!
//! ```text
//!   round:  child opens ─ four clients commit, one does chores ─ KILL ─ files verified ─ opened here ─ read, audited, checked
//! ```
//!
//! Lists, sets and registers go on from one round to the next until they have grown long; then new ones are made, and the old ones must stay as
//! they were. After more rounds a new database is begun, with another number of gatekeepers.

use database::{Database, History, Options};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tanglewood_sim::audit::audit;
use tanglewood_sim::check::check;
use tanglewood_sim::chores::Chores;
use tanglewood_sim::client::{CypherClient, Failure, Remote, RemoteClient, serve as serve_clients};
use tanglewood_sim::history::{Observed, Operation, Outcome, Recorder};
use tanglewood_sim::workload::{Shape, Values, on_threads_while, read_everything};
use world::chance::Chance;
use world::disk::{Disk, RealDisk};
use world::files::TemporaryFolder;
use world::threads::Thread;

/// In the child's environment: the database it opens. Elsewhere the child's test does nothing.
pub const CHILD_DATABASE: &str = "TANGLEWOOD_KILL_DATABASE";
/// In the child's environment: its gatekeepers.
const CHILD_GATEKEEPERS: &str = "TANGLEWOOD_KILL_GATEKEEPERS";
/// So small that checkpoints happen all the time.
const CHECKPOINT_LOG_BYTES: u64 = 32 << 10;
/// Clients that commit at the same time; one more does the chores.
const CLIENTS: usize = 4;
/// Rounds that objects live: reading a list costs its length.
const ROUNDS_OF_OBJECTS: u64 = 6;
/// Rounds that a database lives: the audit reads all of it.
const ROUNDS_OF_DATABASE: u64 = 30;
/// Lists, sets and registers each.
const OBJECTS: u32 = 6;
/// The longest time from the start of a child to its end.
const LIFE_MAX: Duration = Duration::from_millis(450);
/// The process number of reads after a recovery.
const READER: usize = 1_000;

fn options(gatekeepers: usize) -> Options {
    Options {
        executors: Some(2),
        checkpoint_log_bytes: CHECKPOINT_LOG_BYTES,
        gatekeepers,
        ..Options::default()
    }
}

/// The child: answers until it is killed.
pub fn serve(path: &Path) {
    let gatekeepers = std::env::var(CHILD_GATEKEEPERS).unwrap().parse().unwrap();
    let database = Database::open(path, options(gatekeepers)).unwrap();
    serve_clients(&database, std::io::stdin(), std::io::stdout());
}

/// One database after another.
pub struct Soak {
    chance: Chance,
    folder: TemporaryFolder,
    number: u64,
    values: Values,
    chores: Chores,
    recorder: Recorder,
    shape: Shape,
    /// The final content of earlier rounds' objects.
    settled: Vec<(Shape, Vec<Operation>)>,
    committed: usize,
    unknown: usize,
    chores_done: u64,
    killed_while_opening: u64,
}

impl Soak {
    pub fn new(chance: Chance) -> Soak {
        let folder = TemporaryFolder::new("soak").unwrap();
        let chores = Chores::new(folder.path()).unwrap();
        let shape = Shape {
            processes: CLIENTS,
            transactions: usize::MAX,
            objects: OBJECTS,
            pause: 0.0,
            rollback: 0.05,
            ..Shape::default()
        };
        Soak {
            chance,
            folder,
            number: 0,
            values: Values::default(),
            chores,
            recorder: Recorder::new(),
            shape,
            settled: Vec::new(),
            committed: 0,
            unknown: 0,
            chores_done: 0,
            killed_while_opening: 0,
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(format!("soak-{}.db", self.number))
    }

    fn gatekeepers(&self) -> usize {
        [1, 4][self.number as usize % 2]
    }

    /// One life and death.
    pub fn round(&mut self, round: u64) {
        if round.is_multiple_of(ROUNDS_OF_DATABASE) {
            self.begin_database();
        } else if round.is_multiple_of(ROUNDS_OF_OBJECTS) {
            self.begin_objects();
        }
        self.live_and_die();
        self.sound_files(round);
        let database = Database::open(self.path(), options(self.gatekeepers()))
            .unwrap_or_else(|error| panic!("round {round}: it does not open: {error}"));
        self.chores.recovered(&database).unwrap_or_else(|told| panic!("round {round}: {told}"));
        let faults = audit(&database.snapshot()).unwrap();
        assert!(faults.is_empty(), "round {round}: {faults:#?}");
        self.check(round, &database);
        // Left as it is, or closed in order.
        if self.chance.happens(0.3) {
            database.close().unwrap();
        }
    }

    fn begin_database(&mut self) {
        self.note_objects();
        self.settled.clear();
        self.chores_done += self.chores.done;
        self.number += 1;
        self.chores = Chores::new(self.folder.path()).unwrap();
        let database = Database::open(self.path(), options(self.gatekeepers())).unwrap();
        // Every other database keeps its past, which the check of its files rebuilds.
        if self.number.is_multiple_of(2) {
            database.set_history(History::Forever).unwrap();
        }
        Chores::prepare(&database).unwrap();
        self.new_objects(&database);
    }

    fn begin_objects(&mut self) {
        let database = Database::open(self.path(), options(self.gatekeepers())).unwrap();
        self.note_objects();
        let everything = everything(&database, &self.shape);
        self.settled.push((self.shape, everything));
        self.new_objects(&database);
    }

    fn new_objects(&mut self, database: &Database) {
        self.shape.first += OBJECTS;
        CypherClient::prepare(database, self.shape.objects()).unwrap();
        self.recorder = Recorder::new();
    }

    fn note_objects(&mut self) {
        let history = self.recorder.history();
        self.committed += history.committed();
        let unknown = |one: &&Observed| one.outcome == Outcome::Unknown && !one.operations.is_empty();
        self.unknown += history.transactions.iter().filter(unknown).count();
    }

    fn child(&self) -> Child {
        Command::new(std::env::current_exe().unwrap())
            .args(["child_serves_until_it_is_killed", "--exact", "--nocapture", "--test-threads=1"])
            .env(CHILD_DATABASE, self.path())
            .env(CHILD_GATEKEEPERS, self.gatekeepers().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    fn live_and_die(&mut self) {
        let (time, seed) = (LIFE_MAX.mul_f64(self.chance.float()), self.chance.next_u64());
        let mut child = self.child();
        let (remote, reader) = Remote::new(child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let over = Arc::new(AtomicBool::new(false));
        let killer = {
            let over = over.clone();
            world::threads::spawn("killer", move || {
                world::threads::sleep(time);
                child.kill().unwrap();
                over.store(true, Ordering::SeqCst);
                child.wait().unwrap();
            })
        };
        let clients = (0..CLIENTS).map(|number| remote.client(number)).collect();
        let chores = self.chores_beside(remote.client(CLIENTS), seed);
        let goes_on = || !over.load(Ordering::SeqCst);
        on_threads_while(seed, &self.shape, &self.recorder, &self.values, clients, goes_on);
        killer.join();
        reader.join();
        let (chores, answered) = chores.join();
        self.chores = chores;
        self.killed_while_opening += u64::from(!answered);
    }

    /// Chores until the process is gone; whether it ever answered.
    fn chores_beside(&mut self, mut client: RemoteClient, seed: u64) -> Thread<(Chores, bool)> {
        let mut chores = std::mem::replace(&mut self.chores, Chores::new(self.folder.path()).unwrap());
        let (mut chance, mut answered) = (Chance::seeded(seed), false);
        world::threads::spawn("chores", move || {
            loop {
                match chores.step(&mut chance, &mut |text| client.ask(text)) {
                    Ok(()) => answered = true,
                    Err(Failure::Unknown(_)) => return (chores, answered),
                    Err(failure) => panic!("a chore: {failure}"),
                }
            }
        })
    }

    /// Verifies the files as they are, before any repair.
    fn sound_files(&self, round: u64) {
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let report = transact::check(&disk, &self.path()).unwrap();
        assert!(report.problems.is_empty(), "round {round}: {:?}", report.problems);
    }

    fn check(&self, round: u64, database: &Database) {
        let reader = READER + round as usize;
        read_everything(reader, &self.shape, &self.recorder, &mut CypherClient::new(database)).unwrap();
        let history = self.recorder.history();
        let findings = check(&history);
        assert!(findings.is_clean(), "round {round}\n{findings}\nthe whole history:\n{history}");
        for (shape, held) in &self.settled {
            assert_eq!(&everything(database, shape), held, "round {round}: what was settled has changed");
        }
    }

    /// Reports the counters, and checks that enough happened.
    pub fn finish(mut self) {
        self.note_objects();
        let (chores, opening) = (self.chores_done + self.chores.done, self.killed_while_opening);
        let (committed, unknown) = (self.committed, self.unknown);
        eprintln!(
            "{committed} transactions and {chores} chores acknowledged, {unknown} transactions without an answer; \
             {opening} kills before the first answer"
        );
        assert!(committed > 0 && chores > 0, "nothing was ever committed");
    }
}

/// The content of the objects, read in one transaction.
fn everything(database: &Database, shape: &Shape) -> Vec<Operation> {
    let recorder = Recorder::new();
    read_everything(READER, shape, &recorder, &mut CypherClient::new(database)).unwrap();
    let mut operations = recorder.history().transactions.remove(0).operations;
    // A set has no order of its own.
    for operation in &mut operations {
        if let Operation::ReadSet(_, seen) = operation {
            seen.sort_unstable();
        }
    }
    operations
}
