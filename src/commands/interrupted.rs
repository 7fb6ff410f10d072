//! Ctrl-C, or SIGTERM, while a database is made: removes incomplete files.

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
    unfinished: Arc<Mutex<Unfinished>>,
}

/// What an interruption finds.
#[derive(Default)]
struct Unfinished {
    folder: Option<PathBuf>,
    /// Is it sent to a server, piece by piece?
    is_sent: bool,
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
        unfinished.folder = None;
        outcome
    }
    /// From now on pieces are sent to a server, where they stay.
    pub fn sends(&self) {
        *self.unfinished.lock() = Unfinished { folder: None, is_sent: true };
    }
}

/// Whoever fails meanwhile, perhaps since files vanish, waits here until an interruption that is under way has ended the process.
impl Drop for Watch {
    fn drop(&mut self) {
        drop(self.unfinished.lock());
    }
}

/// From now on a signal removes this folder, if one is given, and ends the process. A database that exists needs nothing: it opens as it was.
pub fn watch(unfinished: Option<PathBuf>) -> Watch {
    let unfinished = Arc::new(Mutex::new(Unfinished { folder: unfinished, is_sent: false }));
    let (watched, signal) = (unfinished.clone(), EndSignal::catch());
    if let Ok(signal) = signal {
        // It lives as long as the process.
        std::mem::forget(world::threads::spawn("interrupted", move || {
            signal.wait();
            // Held to the end: see the drop of `Watch`.
            let mut unfinished = watched.lock();
            end(std::mem::take(&mut *unfinished));
        }));
    }
    Watch { unfinished }
}

fn end(unfinished: Unfinished) {
    match unfinished.folder {
        Some(folder) => {
            for _ in 0..REMOVE_ROUNDS {
                if !world::files::exists(&folder) || folder::remove(&folder).is_ok() {
                    break;
                }
                world::threads::sleep(PAUSE);
            }
            world::files::say(format_args!("interrupted: nothing was imported, and no database was made"));
        }
        None if unfinished.is_sent => world::files::say(format_args!(
            "interrupted: what was sent before stays there; --existing skip passes over nodes that something unique tells apart"
        )),
        None => {
            world::files::say(format_args!("interrupted: the database has all of the import, or nothing"))
        }
    }
    std::process::exit(INTERRUPTED);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// An import failed because its files were being removed, and its process ended before all of them were: a part stayed behind.
    #[test]
    fn who_fails_waits_for_an_interruption_under_way() {
        let unfinished = Arc::new(Mutex::new(Unfinished::default()));
        let watch = Watch { unfinished: unfinished.clone() };
        let under_way = unfinished.lock();
        let has_left = Arc::new(AtomicBool::new(false));
        let leaves = has_left.clone();
        let failed = world::threads::spawn("failed", move || {
            drop(watch);
            leaves.store(true, Ordering::SeqCst);
        });
        world::threads::sleep(Duration::from_millis(50));
        assert!(!has_left.load(Ordering::SeqCst), "the interruption is not over");
        drop(under_way);
        failed.join();
        assert!(has_left.load(Ordering::SeqCst));
    }
}
