//! Gates announce to each other, through truth, their usage of limits that hold over all.

use crate::replica::Connect;
use database::{Database, GateUsage};
use parking_lot::{Condvar, Mutex};
use protocol::limits::USAGE_KEPT_US;
use protocol::{Sequence, ToldUsage, Unknown};
use std::sync::Arc;
use std::time::Duration;
use world::clock;
use world::threads::{self, Thread};

/// The period of announcements, where anything has limits.
const TELL_EVERY: Duration = Duration::from_millis(50);
/// Where nothing has, it looks so often.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// The period in which the remainder of a divided limit goes around, in microseconds.
const TURN_US: u64 = 1_000_000;

/// A thread that announces and takes usage until this is dropped.
pub struct UsageExchange {
    stop: Arc<(Mutex<bool>, Condvar)>,
    _thread: Thread<()>,
}

impl UsageExchange {
    /// Begins, for the database of a gate with a name of its own.
    ///
    /// # Errors
    /// The system gives no thread.
    pub fn start(name: &str, database: Database, connect: Connect) -> std::io::Result<UsageExchange> {
        let stop = Arc::new((Mutex::new(false), Condvar::new()));
        let (stopped, name) = (stop.clone(), name.to_string());
        let thread = threads::try_spawn("cluster-usage", move || run(&name, &database, &connect, &stopped))?;
        Ok(UsageExchange { stop, _thread: thread })
    }
}

impl Drop for UsageExchange {
    fn drop(&mut self) {
        *self.stop.0.lock() = true;
        self.stop.1.notify_all();
    }
}

fn run(name: &str, database: &Database, connect: &Connect, (is_over, told): &(Mutex<bool>, Condvar)) {
    let (mut truth, mut heard_ns) = (None, clock::monotonic_ns());
    loop {
        let usage = database.usage();
        let mut pause = if usage.is_empty() { LOOK_EVERY } else { TELL_EVERY };
        if !usage.is_empty() {
            if truth.is_none() {
                truth = connect().ok();
            }
            match truth.as_mut().map(|truth| exchange(name, database, &usage, &mut **truth)) {
                Some(Ok(())) => heard_ns = clock::monotonic_ns(),
                None | Some(Err(Unknown)) => {
                    // To connect anew costs others more than a round does.
                    (truth, pause) = (None, LOOK_EVERY);
                    // Of the others nothing is known any more: each keeps to the whole limit, as on one machine.
                    if clock::monotonic_ns().saturating_sub(heard_ns) > USAGE_KEPT_US * 1_000 {
                        database.hear_usage(&[], 0);
                    }
                }
            }
        }
        let mut over = is_over.lock();
        if !*over {
            told.wait_for(&mut over, pause);
        }
        if *over {
            return;
        }
    }
}

/// One round.
fn exchange(
    name: &str,
    database: &Database,
    usage: &GateUsage,
    truth: &mut dyn Sequence,
) -> Result<(), Unknown> {
    // Turns go by one clock: those of two machines may differ by more than a turn, and then both had it, or nobody.
    let ToldUsage { now_us, others } = truth.tell_usage(name, &usage.encode())?;
    // What another build says otherwise is passed over.
    let other = |(other, bytes): (String, Vec<u8>)| Some((*other < *name, GateUsage::decode(&bytes)?));
    let others: Vec<(bool, GateUsage)> = others.into_iter().filter_map(other).collect();
    database.hear_usage(&others, now_us / TURN_US);
    Ok(())
}
