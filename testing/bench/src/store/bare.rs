//! The bare log: group commit on the log's files without an engine, as an upper bound for commits.
//!
//! A thread that finds no leader appends and syncs the records of all waiting threads, as the engine does.

use durable::{BackingStore, LocalFolder, LogOptions, OpenMode};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use world::clock::monotonic_ns;
use world::disk::RealDisk;
use world::threads::in_parallel;

/// Bytes that the log puts around a record of its own accord.
pub const FRAME_BYTES: u64 = durable::RECORD_FRAME_BYTES as u64;

/// An open log and its waiting threads.
pub struct Bare {
    log: LocalFolder,
    queue: Mutex<Queue>,
    settled: Condvar,
}

#[derive(Default)]
struct Queue {
    waiting: Vec<(u64, Vec<u8>)>,
    /// Tickets handed out, and up to which of them all is durable.
    tickets: u64,
    durable: u64,
    led: bool,
    fault: Option<String>,
}

/// Records and syncs a second.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// Records, or commits.
    pub commits: f64,
    /// Syncs.
    pub syncs: f64,
}

impl Bare {
    /// Begins a log in a folder that does not exist yet.
    ///
    /// # Errors
    /// The disk refuses.
    pub fn create(path: &Path) -> Result<Bare, String> {
        let (disk, mode) = (Arc::new(RealDisk), OpenMode::CreateIfMissing);
        let log =
            LocalFolder::open(disk, path, mode, LogOptions::default()).map_err(|error| error.to_string())?;
        Ok(Bare { log, queue: Mutex::default(), settled: Condvar::new() })
    }

    /// Appends records of `bytes` bytes on `writers` threads, each waiting for its own, for this long.
    ///
    /// # Errors
    /// The disk failed.
    pub fn measure(&self, writers: usize, bytes: usize, time_ns: u64) -> Result<Rates, String> {
        let syncs = AtomicU64::new(0);
        let began_ns = monotonic_ns();
        let records = in_parallel("bare-writer", writers, |_| {
            let mut records = 0;
            while monotonic_ns() < began_ns + time_ns {
                self.append(bytes, &syncs)?;
                records += 1;
            }
            Ok::<u64, String>(records)
        });
        let seconds = (monotonic_ns() - began_ns) as f64 / 1e9;
        let records = records.into_iter().sum::<Result<u64, String>>()?;
        Ok(Rates { commits: records as f64 / seconds, syncs: syncs.load(Ordering::Relaxed) as f64 / seconds })
    }

    fn append(&self, bytes: usize, syncs: &AtomicU64) -> Result<(), String> {
        let poisoned = "no thread panics while it holds the queue";
        let mut queue = self.queue.lock().expect(poisoned);
        queue.tickets += 1;
        let ticket = queue.tickets;
        queue.waiting.push((ticket, vec![7; bytes]));
        while queue.led && queue.durable < ticket {
            queue = self.settled.wait(queue).expect(poisoned);
        }
        if let Some(fault) = &queue.fault {
            return Err(fault.clone());
        }
        if queue.durable >= ticket {
            return Ok(());
        }
        queue.led = true;
        let group = std::mem::take(&mut queue.waiting);
        drop(queue);
        let records: Vec<(u64, &[u8])> =
            group.iter().map(|(place, bytes)| (*place, bytes.as_slice())).collect();
        let outcome = self.log.append_and_sync(&records);
        syncs.fetch_add(1, Ordering::Relaxed);
        let mut queue = self.queue.lock().expect(poisoned);
        queue.fault = outcome.err().map(|error| error.to_string());
        queue.durable = group.last().map_or(ticket, |(place, _)| *place);
        queue.led = false;
        let fault = queue.fault.clone();
        drop(queue);
        self.settled.notify_all();
        fault.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::files::TemporaryFolder;

    #[test]
    fn every_record_is_in_the_log_once() {
        let place = TemporaryFolder::new("bare").expect("a folder");
        let bare = Bare::create(&place.path().join("log")).expect("a log");
        let rates = bare.measure(3, 10, 20_000_000).expect("a disk");
        assert!(rates.commits > 0.0 && rates.syncs > 0.0 && rates.syncs <= rates.commits * 1.01);
        let tickets = bare.queue.lock().expect("nobody panicked").tickets;
        assert_eq!(bare.log.last_version(), tickets);
    }
}
