//! Ctrl-C, or SIGTERM, while a database is made: what is not whole goes.

use super::{Exit, folder};
use parking_lot::Mutex;
use server::EndSignal;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The exit code of a command that Ctrl-C ended: 128 and the signal's number.
const INTERRUPTED: i32 = 130;
/// Another thread may make a file while they are removed.
const REMOVE_ROUNDS: usize = 400;
/// Pause between two rounds.
const PAUSE: Duration = Duration::from_millis(5);

/// What is to be removed when the process is interrupted.
pub struct Watch {
    unfinished: Arc<Mutex<Option<PathBuf>>>,
}

impl Watch {
    /// Makes the folder; an interruption waits until it is there.
    pub fn make<M>(&self, make: impl FnOnce() -> M) -> M {
        let _waits = self.unfinished.lock();
        make()
    }
    /// What was made is whole when `finish` returns; an interruption waits for that, and removes nothing then.
    pub fn finish(&self, finish: impl FnOnce() -> Result<(), Exit>) -> Result<(), Exit> {
        let mut unfinished = self.unfinished.lock();
        let outcome = finish();
        *unfinished = None;
        outcome
    }
}

/// From now on a signal removes this folder, if one is given, and ends the process. A database that exists needs nothing: it opens as it was.
pub fn watch(unfinished: Option<PathBuf>) -> Watch {
    let unfinished = Arc::new(Mutex::new(unfinished));
    let (watched, signal) = (unfinished.clone(), EndSignal::catch());
    if let Ok(signal) = signal {
        // It lives as long as the process.
        std::mem::forget(world::threads::spawn("interrupted", move || {
            signal.wait();
            end(watched.lock().take());
        }));
    }
    Watch { unfinished }
}

fn end(unfinished: Option<PathBuf>) {
    match unfinished {
        Some(folder) => {
            for _ in 0..REMOVE_ROUNDS {
                if !world::files::exists(&folder) || folder::remove(&folder).is_ok() {
                    break;
                }
                world::threads::sleep(PAUSE);
            }
            eprintln!("interrupted: nothing was imported, and no database was made");
        }
        None => eprintln!("interrupted: the database has all of the import, or nothing"),
    }
    std::process::exit(INTERRUPTED);
}
