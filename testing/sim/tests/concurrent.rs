//! Random transactions on threads, through Cypher and directly: every history must be strictly serializable.

use database::{Database, MEMORY, Options};
use std::sync::atomic::{AtomicUsize, Ordering};
use tanglewood_sim::check::check;
use tanglewood_sim::client::{Client, CypherClient, DirectClient, Failure, Layout, Request};
use tanglewood_sim::history::{History, Operation, Recorder};
use tanglewood_sim::workload::{Shape, Values, interleaved, on_threads, read_everything};
use transact::{BankCounts, OpenOptions};
use world::chance::Chance;

mod soak;

fn accept(seed: u64, history: &History) {
    let findings = check(history);
    assert!(findings.is_clean(), "seed {seed}\n{findings}\nthe whole history:\n{history}");
}

/// Histories checked, transactions in them, and how many of those were acknowledged.
#[derive(Default, Debug)]
struct Seen {
    histories: usize,
    transactions: usize,
    committed: usize,
    bank: BankCounts,
}

impl Seen {
    fn note(&mut self, history: &History) {
        self.histories += 1;
        self.transactions += history.transactions.len();
        self.committed += history.committed();
    }
    /// Both must occur, or the test shows nothing.
    fn conflicts_and_commits(&self) {
        assert!(self.committed * 4 > self.transactions, "hardly anything was committed: {self:?}");
        assert!(self.committed * 20 < self.transactions * 19, "hardly anything conflicted: {self:?}");
    }
}

fn cypher_histories(seeds: std::ops::Range<u64>, shape: &Shape, gatekeepers: usize) -> Seen {
    let options = Options { executors: Some(2), gatekeepers, ..Options::default() };
    let database = Database::open(MEMORY, options).unwrap();
    let (values, mut seen) = (Values::default(), Seen::default());
    for seed in seeds.clone() {
        let shape = Shape { first: (seed - seeds.start) as u32 * shape.objects, ..*shape };
        CypherClient::prepare(&database, shape.objects()).unwrap();
        let recorder = Recorder::new();
        on_threads(seed, &shape, &recorder, &values, || CypherClient::new(&database));
        read_everything(999, &shape, &recorder, &mut CypherClient::new(&database)).unwrap();
        accept(seed, &recorder.history());
        seen.note(&recorder.history());
    }
    seen
}

fn direct_histories(seeds: std::ops::Range<u64>, shape: &Shape, gatekeepers: usize) -> Seen {
    let (engine, _) = transact::open(None, &OpenOptions { gatekeepers, ..OpenOptions::default() }).unwrap();
    let next = AtomicUsize::new(0);
    let layout = Layout::of(&engine).unwrap();
    layout.prepare(&engine, 0..(seeds.end - seeds.start) as u32 * shape.objects).unwrap();
    let (values, mut seen) = (Values::default(), Seen::default());
    for seed in seeds.clone() {
        let shape = Shape { first: (seed - seeds.start) as u32 * shape.objects, ..*shape };
        let recorder = Recorder::new();
        on_threads(seed, &shape, &recorder, &values, || {
            DirectClient::new(&engine, layout).through(next.fetch_add(1, Ordering::Relaxed))
        });
        read_everything(999, &shape, &recorder, &mut DirectClient::new(&engine, layout)).unwrap();
        accept(seed, &recorder.history());
        seen.note(&recorder.history());
    }
    seen.bank = engine.bank_counts();
    seen
}

fn interleaved_histories(seeds: std::ops::Range<u64>, shape: &Shape, steps: u64, gatekeepers: usize) -> Seen {
    let mut seen = Seen::default();
    for seed in seeds {
        let history = interleaved_history(seed, shape, steps, gatekeepers);
        accept(seed, &history);
        seen.note(&history);
    }
    seen
}

fn interleaved_history(seed: u64, shape: &Shape, steps: u64, gatekeepers: usize) -> History {
    let (engine, _) = transact::open(None, &OpenOptions { gatekeepers, ..OpenOptions::default() }).unwrap();
    let layout = Layout::of(&engine).unwrap();
    layout.prepare(&engine, shape.objects()).unwrap();
    let (recorder, values) = (Recorder::new(), Values::default());
    let next = AtomicUsize::new(0);
    let client = || DirectClient::new(&engine, layout).through(next.fetch_add(1, Ordering::Relaxed));
    interleaved(&mut Chance::seeded(seed), shape, &recorder, &values, steps, client, |_| {});
    read_everything(999, shape, &recorder, &mut client()).unwrap();
    recorder.history()
}

#[test]
fn interleaved_transactions_are_strictly_serializable() {
    interleaved_histories(0..150, &Shape::default(), 200, 1).conflicts_and_commits();
    interleaved_histories(150..300, &Shape::default(), 200, 4).conflicts_and_commits();
}

#[test]
fn an_interleaved_history_replays_from_its_seed() {
    let again = || interleaved_history(17, &Shape::default(), 300, 3);
    assert_eq!(again(), again());
}

#[test]
fn concurrent_transactions_are_strictly_serializable() {
    direct_histories(0..150, &Shape::default(), 1).conflicts_and_commits();
}

#[test]
fn concurrent_transactions_through_four_gatekeepers_are_strictly_serializable() {
    let seen = direct_histories(0..150, &Shape::default(), 4);
    seen.conflicts_and_commits();
    let bank = seen.bank;
    assert!(bank.questions > 100 && bank.announcements > 10, "the oracle was hardly needed: {bank:?}");
}

#[test]
fn concurrent_cypher_is_strictly_serializable() {
    cypher_histories(0..40, &Shape::default(), 1).conflicts_and_commits();
    cypher_histories(40..80, &Shape::default(), 4).conflicts_and_commits();
}

/// A client that reads beside its transaction until it writes: nothing of that is validated.
struct Careless {
    inside: DirectClient,
    beside: DirectClient,
    wrote: bool,
}

impl Client for Careless {
    fn begin(&mut self, reading: bool) -> Result<(), Failure> {
        self.wrote = false;
        self.inside.begin(reading)
    }
    fn run(&mut self, request: Request) -> Result<Operation, Failure> {
        self.wrote |= request.writes();
        if self.wrote {
            return self.inside.run(request);
        }
        self.beside.begin(true)?;
        let answer = self.beside.run(request)?;
        self.beside.commit()?;
        Ok(answer)
    }
    fn commit(&mut self) -> Result<(), Failure> {
        self.inside.commit()
    }
    fn rollback(&mut self) {
        self.inside.rollback();
    }
}

/// The whole chain must be able to say no.
#[test]
fn unvalidated_reads_are_found_out() {
    let shape = Shape::default();
    let mut names = std::collections::BTreeSet::new();
    for seed in 0..40 {
        let (engine, _) = transact::open(None, &OpenOptions::default()).unwrap();
        let layout = Layout::of(&engine).unwrap();
        layout.prepare(&engine, shape.objects()).unwrap();
        let (recorder, values) = (Recorder::new(), Values::default());
        let direct = || DirectClient::new(&engine, layout);
        let client = || Careless { inside: direct(), beside: direct(), wrote: false };
        interleaved(&mut Chance::seeded(seed), &shape, &recorder, &values, 200, client, |_| {});
        read_everything(999, &shape, &recorder, &mut direct()).unwrap();
        names.extend(check(&recorder.history()).names());
    }
    assert!(names.contains("G-single (read skew)") && names.contains("G2 (write skew)"), "{names:?}");
    assert!(!names.contains("lost write") && !names.contains("garbage read"), "{names:?}");
}

#[test]
#[ignore = "soak: thousands of histories, more threads, fewer objects; minutes"]
fn soak_concurrent_transactions() {
    let crowded = Shape { processes: 8, transactions: 12, objects: 4, operations_max: 6, ..Shape::default() };
    println!("{:?}", interleaved_histories(soak::part(1_000..6_000), &Shape::default(), 300, 3));
    println!("{:?}", direct_histories(soak::part(1_000..3_000), &Shape::default(), 1));
    println!("{:?}", direct_histories(soak::part(5_000..5_500), &crowded, 4));
    println!("{:?}", cypher_histories(soak::part(1_000..1_500), &Shape::default(), 1));
    println!("{:?}", cypher_histories(soak::part(5_000..5_200), &crowded, 4));
}
