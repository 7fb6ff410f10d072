//! A file behind a URL, brought by a thread of its own into a file without a name, while the operator that waits for it holds no executor.
//!
//! Invariant: at most [`FETCHES_MAX`] files are brought at a time, in the whole process; further ones wait in line. An operator that goes away ends the
//! bringing at the next piece.

use dataflow::OperatorWaker;
use formats::urls::UrlReader;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use world::files::RandomFile;
use world::threads::{self, Thread};

/// Files brought at a time.
const FETCHES_MAX: usize = 16;

/// What all fetches share.
struct FetchLine {
    running: usize,
    waiting: Vec<OperatorWaker>,
    /// Threads are joined once they have ended, by whoever comes next: an executor must not wait for them.
    threads: Vec<Thread<()>>,
}

static LINE: Mutex<FetchLine> =
    Mutex::new(FetchLine { running: 0, waiting: Vec::new(), threads: Vec::new() });

/// A file on its way.
pub(super) struct Fetch {
    url: String,
    reader: Arc<dyn UrlReader>,
    state: State,
}

enum State {
    /// Nothing was asked yet: a statement that is only tried on the asking thread asks nobody.
    New,
    /// In line, or on its way.
    Waiting,
    Running(Arc<Shared>),
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
    pub(super) fn new(reader: &Arc<dyn UrlReader>, url: String) -> Fetch {
        Fetch { url, reader: reader.clone(), state: State::New }
    }
    /// The file, once it is there; none before, and `waker` is called then.
    pub(super) fn poll(&mut self, waker: OperatorWaker) -> Option<Result<RandomFile, String>> {
        match &self.state {
            State::New => {
                self.state = State::Waiting;
                waker.wake();
                None
            }
            State::Waiting => self.start(waker),
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
    fn start(&mut self, waker: OperatorWaker) -> Option<Result<RandomFile, String>> {
        let mut line = LINE.lock();
        if line.running >= FETCHES_MAX {
            line.waiting.push(waker);
            return None;
        }
        line.threads.retain(|thread| !thread.is_finished());
        let shared = Arc::new(Shared::default());
        shared.outcome.lock().waker = Some(waker);
        let (reader, url, told) = (self.reader.clone(), self.url.clone(), shared.clone());
        match threads::try_spawn("fetch", move || bring(&*reader, &url, &told)) {
            Ok(thread) => {
                line.running += 1;
                line.threads.push(thread);
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

/// What the thread does.
fn bring(reader: &dyn UrlReader, url: &str, shared: &Shared) {
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
    let brought = brought.unwrap_or_else(|panic| Err(panic.to_string()));
    let waiting = {
        let mut line = LINE.lock();
        line.running -= 1;
        std::mem::take(&mut line.waiting)
    };
    waiting.iter().for_each(OperatorWaker::wake);
    let mut outcome = shared.outcome.lock();
    outcome.file = Some(brought);
    if let Some(waker) = outcome.waker.take() {
        waker.wake();
    }
}
