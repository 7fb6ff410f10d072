//! Random transactions by several clients at once, recorded.
//!
//! Two ways to run the same thing: on threads, where the machine decides who goes first (finds real races, replays only
//! roughly), and interleaved step by step on one thread, where the seed decides (replays exactly).

use crate::client::{Client, Failure, Request};
use crate::history::{ObjectId, Operation, Outcome, Recorder};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use world::chance::Chance;

/// The parameters of a run.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Clients at once.
    pub processes: usize,
    /// Transactions of each.
    pub transactions: usize,
    /// Operations of one transaction, at most.
    pub operations_max: u64,
    /// First number of the objects.
    pub first: ObjectId,
    /// Lists, registers and sets each; few, so that transactions meet.
    pub objects: ObjectId,
    /// How likely a pause stands before an operation, on threads.
    pub pause: f64,
    /// How likely a transaction is one statement by itself.
    pub alone: f64,
    /// How likely a transaction is rolled back in the end.
    pub rollback: f64,
    /// How likely a transaction only reads, and says so.
    pub reading: f64,
}

impl Default for Shape {
    fn default() -> Shape {
        Shape {
            processes: 4,
            transactions: 6,
            operations_max: 4,
            first: 0,
            objects: 4,
            pause: 0.2,
            alone: 0.2,
            rollback: 0.1,
            reading: 0.15,
        }
    }
}

/// The planned operations of one transaction.
#[derive(Clone, Debug)]
struct Intent {
    requests: Vec<Request>,
    alone: bool,
    rollback: bool,
    reading: bool,
}

/// Values that are never used twice.
#[derive(Debug, Default)]
pub struct Values(AtomicI64);

impl Values {
    fn next(&self) -> i64 {
        self.0.fetch_add(1, Ordering::Relaxed) + 1
    }
}

impl Shape {
    /// Their numbers.
    pub fn objects(&self) -> std::ops::Range<ObjectId> {
        self.first..self.first + self.objects
    }

    fn intent(&self, chance: &mut Chance, values: &Values) -> Intent {
        let alone = chance.happens(self.alone);
        let reading = !alone && chance.happens(self.reading);
        let count = if alone { 1 } else { 1 + chance.below(self.operations_max) };
        let requests = (0..count).map(|_| self.request(chance, values, reading)).collect();
        Intent { requests, alone, rollback: !alone && chance.happens(self.rollback), reading }
    }

    fn request(&self, chance: &mut Chance, values: &Values, reading: bool) -> Request {
        let id = self.first + chance.below(u64::from(self.objects)) as ObjectId;
        let kind = chance.below(3);
        if reading || chance.happens(0.5) {
            return [Request::ReadList(id), Request::ReadSet(id), Request::Read(id)][kind as usize];
        }
        let value = values.next();
        [Request::Append(id, value), Request::Add(id, value), Request::Write(id, value)][kind as usize]
    }
}

/// One client at work: its transaction, step by step.
struct Worker<'a, C> {
    process: usize,
    client: C,
    recorder: &'a Recorder,
    values: &'a Values,
    intent: Option<Intent>,
    begun: Option<u64>,
    done: Vec<Operation>,
}

impl<'a, C: Client> Worker<'a, C> {
    fn new(process: usize, client: C, recorder: &'a Recorder, values: &'a Values) -> Worker<'a, C> {
        Worker { process, client, recorder, values, intent: None, begun: None, done: Vec::new() }
    }

    /// One step of the transaction at hand. True when it has ended.
    fn step(&mut self) -> bool {
        let intent = self.intent.clone().expect("a worker has an intent before it steps");
        let Some(invoked) = self.begun else {
            let invoked = self.recorder.tick();
            if intent.alone {
                return self.alone(invoked, intent.requests[0]);
            }
            self.begun = Some(invoked);
            return match self.client.begin(intent.reading) {
                Ok(()) => false,
                Err(failure) => self.end(Err(failure)),
            };
        };
        debug_assert!(self.begun == Some(invoked));
        match intent.requests.get(self.done.len()) {
            Some(request) => match self.client.run(*request) {
                Ok(operation) => {
                    self.done.push(operation);
                    false
                }
                // Nothing was handed over for commit, so nothing of it may ever be seen.
                Err(Failure::Unknown(what)) => self.end(Err(Failure::Refused(what))),
                Err(failure) => self.end(Err(failure)),
            },
            None if intent.rollback => self.end(Err(Failure::Refused("by its own wish".into()))),
            None => {
                let committed = self.client.commit();
                self.end(committed)
            }
        }
    }

    fn alone(&mut self, invoked: u64, request: Request) -> bool {
        self.begun = Some(invoked);
        match self.client.alone(request) {
            Ok(operation) => {
                self.done.push(operation);
                self.end(Ok(()))
            }
            Err(failure) => {
                self.done.extend(request.written());
                self.end(Err(failure))
            }
        }
    }

    fn end(&mut self, outcome: Result<(), Failure>) -> bool {
        let invoked = self.begun.take().expect("what ends has begun");
        let outcome = match outcome {
            Ok(()) => Outcome::Committed,
            Err(Failure::Refused(_)) => Outcome::Aborted,
            Err(Failure::Unknown(_)) => Outcome::Unknown,
            Err(failure @ Failure::Broken(_)) => panic!("process {}: {failure}", self.process),
        };
        self.client.rollback();
        self.recorder.record(self.process, invoked, outcome, std::mem::take(&mut self.done));
        true
    }

    /// Asked again, with values of its own.
    fn again(&self, intent: &Intent) -> Intent {
        let fresh = |request: &Request| match request.writes() {
            true => request.with_value(self.values.next()),
            false => *request,
        };
        Intent { requests: intent.requests.iter().map(fresh).collect(), ..intent.clone() }
    }
}

/// Times a refused transaction is tried again on threads; after that it is left.
const RETRIES_MAX: usize = 3;

/// Runs the shape on as many threads as there are clients.
pub fn on_threads<C: Client + Send>(
    seed: u64,
    shape: &Shape,
    recorder: &Recorder,
    values: &Values,
    client: impl Fn() -> C + Sync,
) {
    let clients = (0..shape.processes).map(|_| client()).collect();
    on_threads_while(seed, shape, recorder, values, clients, || true);
}

/// Runs the shape with these clients, a thread each, as long as it may go on.
pub fn on_threads_while<C: Client + Send>(
    seed: u64,
    shape: &Shape,
    recorder: &Recorder,
    values: &Values,
    clients: Vec<C>,
    goes_on: impl Fn() -> bool + Sync,
) {
    let clients: Vec<Mutex<Option<C>>> = clients.into_iter().map(|one| Mutex::new(Some(one))).collect();
    world::threads::in_parallel("sim", clients.len(), |process| {
        let mut chance = Chance::seeded(seed ^ (process as u64) << 32);
        let client = clients[process].lock().take().expect("one thread takes it");
        let mut worker = Worker::new(process, client, recorder, values);
        for _ in 0..shape.transactions {
            if !goes_on() {
                break;
            }
            let intent = shape.intent(&mut chance, values);
            let retries = if chance.happens(0.5) { RETRIES_MAX } else { 0 };
            for attempt in 0..=retries {
                worker.intent = Some(if attempt == 0 { intent.clone() } else { worker.again(&intent) });
                let committed = recorder.history_len();
                while !worker.step() {
                    if chance.happens(shape.pause) {
                        world::threads::sleep(Duration::from_micros(chance.below(200)));
                    }
                }
                if recorder.last_of(process, committed) != Some(Outcome::Aborted) || intent.rollback {
                    break;
                }
            }
        }
    });
}

/// Runs the shape on one thread; the seed chooses the client of each step. Ends after `steps`, with transactions possibly open.
pub fn interleaved<C: Client>(
    chance: &mut Chance,
    shape: &Shape,
    recorder: &Recorder,
    values: &Values,
    steps: u64,
    mut client: impl FnMut() -> C,
    mut between: impl FnMut(&mut Chance),
) {
    let mut workers: Vec<Worker<'_, C>> =
        (0..shape.processes).map(|process| Worker::new(process, client(), recorder, values)).collect();
    for _ in 0..steps {
        let worker = &mut workers[chance.index(shape.processes)];
        if worker.intent.is_none() {
            worker.intent = Some(shape.intent(chance, values));
        }
        if worker.step() {
            worker.intent = None;
        }
        between(chance);
    }
    for worker in &mut workers {
        if worker.begun.is_some() {
            worker.end(Err(Failure::Refused("the run is over".into())));
        }
    }
}

/// Reads every object in one transaction that comes after all others.
///
/// # Errors
/// The error that the client got.
pub fn read_everything<C: Client>(
    process: usize,
    shape: &Shape,
    recorder: &Recorder,
    client: &mut C,
) -> Result<(), Failure> {
    let invoked = recorder.tick();
    client.begin(true)?;
    let mut done = Vec::new();
    for id in shape.objects() {
        for request in [Request::ReadList(id), Request::ReadSet(id), Request::Read(id)] {
            done.push(client.run(request)?);
        }
    }
    client.commit()?;
    recorder.record(process, invoked, Outcome::Committed, done);
    Ok(())
}
