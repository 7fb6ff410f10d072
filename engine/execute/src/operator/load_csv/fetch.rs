//! A file behind a URL, downloaded by a thread of its own into an unnamed file, while the operator that waits for it is parked.
//!
//! Invariant: at most [`LIMITS`] downloads run at a time, in the whole process, for a tenant and for a user; further ones wait in the queue ([line]).
//! An operator that is dropped leaves the queue, or ends the download at the next piece.

mod line;

use crate::imports::FetchAccount;
use dataflow::OperatorWaker;
use formats::urls::UrlReader;
use line::{FetchLimits, FetchLine, SlotAnswer};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use world::files::RandomFile;
use world::threads::{self, Thread};

/// A fetch holds a thread, a socket and some buffers, and little processor time.
const LIMITS: FetchLimits = FetchLimits { all: 64, tenant: 16, user: 8, waiting: 4096, user_waiting: 256 };

static LINE: Mutex<FetchLine<OperatorWaker>> = Mutex::new(FetchLine::new(LIMITS));

/// Threads are joined once they have ended, by the next download: an executor must not wait for them. There are at most twice as many as slots.
static THREADS: Mutex<Vec<Thread<()>>> = Mutex::new(Vec::new());

/// A file on its way.
pub(super) struct Fetch {
    url: String,
    reader: Arc<dyn UrlReader>,
    account: FetchAccount,
    state: State,
}

enum State {
    /// Not requested yet: a statement that is only tried on the calling thread requests nothing.
    New,
    /// To be requested by the operator in its own turn.
    Tried,
    Waiting(Ticket),
    Running(Arc<Shared>),
}

/// A place in the queue.
struct Ticket {
    number: u64,
    account: FetchAccount,
    /// Its slot was taken.
    is_used: bool,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.is_used {
            let woken = LINE.lock().leave(self.number, self.account);
            woken.iter().for_each(OperatorWaker::wake);
        }
    }
}

/// A slot that is taken, until it is dropped.
struct Slot(FetchAccount);

impl Drop for Slot {
    fn drop(&mut self) {
        let woken = LINE.lock().free(self.0);
        woken.iter().for_each(OperatorWaker::wake);
    }
}

#[derive(Default)]
struct Shared {
    stopped: AtomicBool,
    outcome: Mutex<Brought>,
}

#[derive(Default)]
struct Brought {
    file: Option<Result<RandomFile, String>>,
    waker: Option<OperatorWaker>,
}

impl Fetch {
    pub(super) fn new(reader: &Arc<dyn UrlReader>, url: String, account: FetchAccount) -> Fetch {
        Fetch { url, reader: reader.clone(), account, state: State::New }
    }
    /// The file, once it is there; before that none, and `waker` will be called.
    pub(super) fn poll(&mut self, waker: OperatorWaker) -> Option<Result<RandomFile, String>> {
        match &mut self.state {
            State::New => {
                self.state = State::Tried;
                waker.wake();
                None
            }
            State::Tried => self.ask(waker),
            State::Waiting(ticket) => {
                if !LINE.lock().poll(ticket.number, waker.clone()) {
                    return None;
                }
                ticket.is_used = true;
                self.start(Slot(self.account), waker)
            }
            State::Running(shared) => {
                let mut outcome = shared.outcome.lock();
                let file = outcome.file.take();
                if file.is_none() {
                    outcome.waker = Some(waker);
                }
                file
            }
        }
    }
    fn ask(&mut self, waker: OperatorWaker) -> Option<Result<RandomFile, String>> {
        let account = self.account;
        let asked = LINE.lock().ask(account, waker.clone());
        match asked {
            SlotAnswer::Now => self.start(Slot(account), waker),
            SlotAnswer::Later(number) => {
                self.state = State::Waiting(Ticket { number, account, is_used: false });
                None
            }
            SlotAnswer::Full => {
                Some(Err(too_many_wait(format_args!("of all users at most {}", LIMITS.waiting))))
            }
            SlotAnswer::FullOfUser => {
                Some(Err(too_many_wait(format_args!("of a user at most {}", LIMITS.user_waiting))))
            }
        }
    }
    fn start(&mut self, slot: Slot, waker: OperatorWaker) -> Option<Result<RandomFile, String>> {
        let shared = Arc::new(Shared::default());
        shared.outcome.lock().waker = Some(waker);
        let (reader, url, told) = (self.reader.clone(), self.url.clone(), shared.clone());
        let work = move || {
            let brought = bring(&*reader, &url, &told);
            // Before the operator is woken, which may ask for the next file at once.
            drop(slot);
            told.end(brought);
        };
        match threads::try_spawn("fetch", work) {
            Ok(thread) => {
                let mut threads = THREADS.lock();
                threads.retain(|thread| !thread.is_finished());
                threads.push(thread);
                self.state = State::Running(shared);
                None
            }
            Err(error) => Some(Err(format!("there is no thread to read it: {error}"))),
        }
    }
}

impl Drop for Fetch {
    fn drop(&mut self) {
        if let State::Running(shared) = &self.state {
            shared.stopped.store(true, Ordering::Relaxed);
        }
    }
}

impl Shared {
    fn end(&self, brought: Result<RandomFile, String>) {
        let mut outcome = self.outcome.lock();
        outcome.file = Some(brought);
        if let Some(waker) = outcome.waker.take() {
            waker.wake();
        }
    }
}

fn too_many_wait(limit: std::fmt::Arguments<'_>) -> String {
    format!("too many files behind URLs wait to be read already: {limit}; try again later")
}

/// Runs on the thread: downloads the file.
fn bring(reader: &dyn UrlReader, url: &str, shared: &Shared) -> Result<RandomFile, String> {
    let goes_on = || !shared.stopped.load(Ordering::Relaxed);
    let brought = world::panics::caught(|| {
        let mut refused = None;
        let file = RandomFile::nameless(|sink| {
            refused = reader.read(url, sink, &goes_on).err();
            Ok(())
        });
        match refused {
            Some(what) => Err(what),
            None => file.map_err(|error| format!("it cannot be kept: {error}")),
        }
    });
    brought.unwrap_or_else(|panic| Err(panic.to_string()))
}
