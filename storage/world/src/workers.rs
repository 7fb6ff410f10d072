//! Worker threads: one a core, pinned where the machine lets us, parked when idle, woken cheaply.
//!
//! A worker is a thread that owns a body (a closure that loops until told to stop) and a [`WorkerControl`] to park on. Anyone may hold
//! a [`Waker`]: waking a running worker is one atomic swap and no system call; waking a parked one is one futex call.
//!
//! Invariant: a wake is never lost. A wake between the worker's last look at its queue and its park makes that park return at once.
//! Pinning is a wish: where the machine refuses (containers, other systems) the worker runs unpinned and `pinned()` says so. So is that a
//! worker does not keep other threads that wake up waiting (`slice`).
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{JoinHandle, Thread};
use std::time::Duration;

mod slice;

/// More worker threads than this in one process is a mistake in the configuration, not a machine.
pub const WORKERS_MAX: usize = 1_024;

const RUNNING: u8 = 0;
const PARKED: u8 = 1;
const NOTIFIED: u8 = 2;

/// How many workers to start and how.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    /// Number of threads, at least one.
    pub threads: usize,
    /// Name prefix of the threads, seen in debuggers: `name-0`, `name-1`, ….
    pub name: String,
    /// Pin thread `i` to the `i`-th core this process may use (round robin).
    pub pin: bool,
}

impl Default for WorkerOptions {
    fn default() -> WorkerOptions {
        WorkerOptions { threads: cores(), name: "worker".to_string(), pin: true }
    }
}

/// Cores this process may run on, at least one.
pub fn cores() -> usize {
    allowed_cores().len().max(1)
}

/// The core that the thread runs on now; it may run on another at any time.
#[cfg(target_os = "linux")]
pub fn current_core() -> usize {
    rustix::thread::sched_getcpu()
}

/// Where the system does not say, all threads are on one.
#[cfg(not(target_os = "linux"))]
pub fn current_core() -> usize {
    0
}

/// One breath of a short wait: lets another thread on the same core run, if there is one. A waiter that only spins may keep the very
/// thread it waits for off their common core.
pub fn breathe() {
    std::thread::yield_now();
}

/// The part of a worker that others touch: park state and stop flag.
#[derive(Debug, Default)]
struct Shared {
    state: AtomicU8,
    thread: OnceLock<Thread>,
    stopping: AtomicBool,
}

impl Shared {
    fn wake(&self) {
        if self.state.swap(NOTIFIED, Ordering::SeqCst) == PARKED {
            self.thread.get().expect("a worker names its thread before it parks").unpark();
        }
    }
}

/// Wakes one worker, from any thread. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Waker(Arc<Shared>);

impl Waker {
    /// Makes the worker's current park, or else its next one, return at once.
    pub fn wake(&self) {
        self.0.wake();
    }
}

/// A worker's own view of itself: its index, whether it should stop, and how it sleeps.
#[derive(Debug)]
pub struct WorkerControl {
    index: usize,
    count: usize,
    pinned: Option<usize>,
    shared: Arc<Shared>,
}

impl WorkerControl {
    /// This worker's number, from 0.
    pub fn index(&self) -> usize {
        self.index
    }
    /// How many workers there are.
    pub fn count(&self) -> usize {
        self.count
    }
    /// The core this worker is pinned to, if the machine allowed it.
    pub fn pinned(&self) -> Option<usize> {
        self.pinned
    }
    /// True once the owner asked the workers to stop: the body should return soon.
    pub fn stopping(&self) -> bool {
        self.shared.stopping.load(Ordering::Acquire)
    }
    /// Sleeps until woken, or until `timeout_ns` nanoseconds passed. Returns at once if a wake came since the last park.
    pub fn park(&self, timeout_ns: Option<u64>) {
        let state = &self.shared.state;
        if state.compare_exchange(RUNNING, PARKED, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
            match timeout_ns {
                Some(timeout_ns) => std::thread::park_timeout(Duration::from_nanos(timeout_ns)),
                None => std::thread::park(),
            }
        }
        // A swap, not a store: reading a NOTIFIED here orders the waker's writes before our next look at the queue.
        state.swap(RUNNING, Ordering::SeqCst);
    }
}

/// A set of running workers. Dropping it stops and joins them.
#[derive(Debug)]
pub struct Workers {
    shared: Vec<Arc<Shared>>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Starts the workers. `make(index)` is called on the caller's thread; the body it returns runs on the worker and should return when
    /// [`WorkerControl::stopping`] turns true.
    ///
    /// # Errors
    /// When the system refuses to start a thread; those already started are stopped and joined.
    pub fn start<Body, Make>(options: &WorkerOptions, mut make: Make) -> std::io::Result<Workers>
    where
        Make: FnMut(usize) -> Body,
        Body: FnOnce(&WorkerControl) + Send + 'static,
    {
        let count = options.threads.clamp(1, WORKERS_MAX);
        let allowed = allowed_cores();
        let mut workers = Workers {
            shared: (0..count).map(|_| Arc::new(Shared::default())).collect(),
            threads: Vec::with_capacity(count),
        };
        for index in 0..count {
            let body = make(index);
            let shared = workers.shared[index].clone();
            let core = (options.pin && !allowed.is_empty()).then(|| allowed[index % allowed.len()]);
            let thread =
                std::thread::Builder::new().name(format!("{}-{index}", options.name)).spawn(move || {
                    let _ = shared.thread.set(std::thread::current());
                    let pinned = core.filter(|core| pin_current_thread(*core));
                    slice::lengthen();
                    body(&WorkerControl { index, count, pinned, shared });
                })?;
            workers.threads.push(thread);
        }
        Ok(workers)
    }

    /// Number of workers.
    pub fn count(&self) -> usize {
        self.shared.len()
    }

    /// A waker for worker `index`.
    pub fn waker(&self, index: usize) -> Waker {
        Waker(self.shared[index].clone())
    }

    /// Asks all workers to stop and wakes them; does not wait.
    pub fn stop(&self) {
        for shared in &self.shared {
            shared.stopping.store(true, Ordering::Release);
            shared.wake();
        }
    }

    /// Stops the workers and waits until all bodies returned. Returns how many of them panicked.
    pub fn join(&mut self) -> usize {
        self.stop();
        self.threads.drain(..).map(|thread| thread.join()).filter(Result::is_err).count()
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.join();
    }
}

#[cfg(target_os = "linux")]
fn allowed_cores() -> Vec<usize> {
    match rustix::thread::sched_getaffinity(None) {
        Ok(set) => (0..rustix::thread::CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect(),
        Err(_) => (0..std::thread::available_parallelism().map_or(1, |n| n.get())).collect(),
    }
}

#[cfg(target_os = "linux")]
fn pin_current_thread(core: usize) -> bool {
    let mut set = rustix::thread::CpuSet::new();
    set.set(core);
    rustix::thread::sched_setaffinity(None, &set).is_ok()
}

#[cfg(not(target_os = "linux"))]
fn allowed_cores() -> Vec<usize> {
    (0..std::thread::available_parallelism().map_or(1, |n| n.get())).collect()
}

#[cfg(not(target_os = "linux"))]
fn pin_current_thread(_core: usize) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn every_wake_is_seen() {
        let seen = Arc::new(AtomicUsize::new(0));
        let wanted = Arc::new(AtomicUsize::new(0));
        let options = WorkerOptions { threads: 2, ..WorkerOptions::default() };
        let mut workers = Workers::start(&options, |_| {
            let (seen, wanted) = (seen.clone(), wanted.clone());
            move |control: &WorkerControl| {
                let mut mine = 0;
                while !control.stopping() {
                    if wanted.load(Ordering::SeqCst) > mine {
                        mine += 1;
                        seen.fetch_add(1, Ordering::SeqCst);
                    } else {
                        control.park(None);
                    }
                }
            }
        })
        .expect("threads start");
        for round in 1..=2_000 {
            wanted.store(round, Ordering::SeqCst);
            (0..workers.count()).for_each(|index| workers.waker(index).wake());
            while seen.load(Ordering::SeqCst) < 2 * round {
                std::hint::spin_loop();
            }
        }
        assert_eq!(workers.join(), 0);
    }

    /// Each knows its number, runs under its name, and on the core it was given: one of those that the process may use.
    #[test]
    fn workers_know_who_they_are_and_stay_on_their_cores() {
        let told = Arc::new(parking_lot::Mutex::new(Vec::new()));
        for pin in [false, true] {
            let options = WorkerOptions { threads: 3, pin, name: "numbered".into() };
            let mut made = Vec::new();
            let mut workers = Workers::start(&options, |index| {
                made.push(index);
                let told = told.clone();
                move |control: &WorkerControl| {
                    let name = std::thread::current().name().unwrap_or_default().to_string();
                    let (who, cores) = ((control.index(), control.count()), allowed_cores());
                    told.lock().push((who, name, control.pinned(), cores));
                }
            })
            .expect("threads start");
            assert_eq!((workers.count(), workers.join()), (3, 0));
            assert_eq!(made, [0, 1, 2]);
            let mut found = std::mem::take(&mut *told.lock());
            found.sort();
            let allowed = allowed_cores();
            assert!(!allowed.is_empty() && allowed.is_sorted());
            for (number, (who, name, pinned, cores)) in found.into_iter().enumerate() {
                assert_eq!((who, name), ((number, 3), format!("numbered-{number}")));
                let own = allowed[number % allowed.len()];
                assert_eq!(pinned, pin.then_some(own), "a worker that is not to be pinned says so");
                assert_eq!(cores, if pin { vec![own] } else { allowed.clone() });
            }
        }
    }

    #[test]
    fn a_timed_park_returns() {
        let options = WorkerOptions { threads: 1, pin: false, ..WorkerOptions::default() };
        let mut workers =
            Workers::start(&options, |_| |control: &WorkerControl| control.park(Some(1_000_000)))
                .expect("threads start");
        assert_eq!(workers.join(), 0);
    }

    #[test]
    fn a_panicking_body_is_counted() {
        let options = WorkerOptions { threads: 1, pin: false, ..WorkerOptions::default() };
        let mut workers =
            Workers::start(&options, |_| |_: &WorkerControl| panic!("on purpose")).expect("threads start");
        assert_eq!(workers.join(), 1);
    }
}
