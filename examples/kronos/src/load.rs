//! The parameters and the outcome of a run.

use std::time::Duration;
use world::clock::monotonic_ns;
use world::threads;

/// How much a run does.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Clients that work at once.
    pub threads: usize,
    /// Total operations of all clients.
    pub operations: usize,
    /// The same seed makes the same operations.
    pub seed: u64,
    /// How long a message between a client and a shard takes each way. The shards live in this process, so without it a message costs
    /// next to nothing, and locks seem free. Calls of Kronos go over a real connection and are not delayed.
    pub hop: Duration,
}

impl Load {
    /// So many clients and operations, with messages that cost nothing.
    pub fn new(threads: usize, operations: usize) -> Load {
        Load { threads, operations, seed: 1, hop: Duration::ZERO }
    }

    /// A message is on its way.
    pub(crate) fn travel(&self) {
        if !self.hop.is_zero() {
            threads::sleep(self.hop);
        }
    }

    /// Lets all clients work; `work` gets the client's number and how many operations are its own.
    pub(crate) fn run<T: Send>(&self, work: impl Fn(usize, usize) -> T + Sync) -> (Vec<T>, Duration) {
        let started = monotonic_ns();
        let share =
            |at: usize| self.operations * (at + 1) / self.threads - self.operations * at / self.threads;
        let done = threads::in_parallel("client", self.threads, |at| work(at, share(at)));
        (done, Duration::from_nanos(monotonic_ns() - started))
    }
}

/// The outcome of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Operations done.
    pub operations: usize,
    /// In which time, without the verification.
    pub elapsed: Duration,
    /// Tries that had to start over: an order that could not be had, a lock that was taken.
    pub repeated: u64,
    /// Calls of Kronos that assign orders.
    pub calls: u64,
    /// The first contradiction that the check found, if any.
    pub verdict: Result<(), String>,
}

impl Outcome {
    /// Operations a second.
    pub fn per_second(&self) -> f64 {
        self.operations as f64 / self.elapsed.as_secs_f64()
    }
}
