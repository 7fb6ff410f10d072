//! The log of a server: lines for people or JSON, to standard error or a file; and beside it the audit log.
//!
//! Idea: a thread that logs puts a line into a queue of bounded length; a writer thread writes. A blocked log (a full disk, a pipe without a reader)
//! delays no query: lines that do not fit into the queue are dropped, and counted in a line of their own. Levels can be changed, and files be opened
//! anew, while it runs.

use server::configuration::forms::{LOG_PARTS, levels};
use server::configuration::{Configuration, ConfigurationFaults};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::time::Duration;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::{Registry, fmt, reload};
use world::chance::Chance;
use world::disk::{Disk, DiskError, OpenHow, RealDisk};

/// Links that a path may lead through, as the kernel has it.
const LINKS_MAX: usize = 40;
/// What all parts of the log begin with.
const ROOT: &str = "tanglewood";
/// The part that the audit file takes.
const AUDIT: &str = "tanglewood::audit";
/// Bytes of a line; what is longer is cut.
const LINE_BYTES_MAX: usize = 64 << 10;
/// Lines that wait where nothing is said.
const QUEUE_LINES: usize = 8_192;
/// Time that the last lines get to be written.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(2);

/// The log of this process, from now on.
pub struct Logging {
    filter: reload::Handle<Targets, Registry>,
    writers: Vec<LineQueue>,
}

impl Logging {
    /// Looks whether it could begin as the settings say: whether its files can be appended to. None of them is made or changed.
    ///
    /// # Errors
    /// A file cannot be opened.
    pub fn check(configuration: &Configuration) -> io::Result<()> {
        for path in ["log.file", "log.audit_file"].into_iter().filter_map(|key| configuration.path(key)) {
            check_appending(&path).map_err(|error| io::Error::other(error.to_string()))?;
        }
        Ok(())
    }
    /// Begins it as the settings say.
    ///
    /// # Errors
    /// A file cannot be opened; there is a log already.
    pub fn start(configuration: &Configuration) -> io::Result<Logging> {
        let queue = configuration.count("log.queue").map_or(QUEUE_LINES, |lines| lines as usize);
        let main = LineQueue::start("log", configuration.path("log.file"), queue)?;
        let (filter, handle) = reload::Layer::new(targets(configuration));
        let lines = fmt::layer().with_ansi(false).with_writer(main.clone());
        let lines: Box<dyn Layer<Registry> + Send + Sync> = match configuration.text("log.format") {
            Some("json") => lines.json().flatten_event(true).with_filter(filter).boxed(),
            _ => lines.with_filter(filter).boxed(),
        };
        let mut writers = vec![main];
        let mut layers = vec![lines];
        if let Some(path) = configuration.path("log.audit_file") {
            let audit = LineQueue::start("audit log", Some(path), queue)?;
            let all = Targets::new().with_target(AUDIT, LevelFilter::TRACE);
            let lines = fmt::layer().with_ansi(false).with_writer(audit.clone()).json().flatten_event(true);
            layers.push(lines.with_filter(all).boxed());
            writers.push(audit);
        }
        let subscriber = tracing_subscriber::registry().with(layers);
        tracing::subscriber::set_global_default(subscriber).map_err(io::Error::other)?;
        Ok(Logging { filter: handle, writers })
    }
    /// Takes levels of other settings, and opens files anew: what moved them away leaves new ones behind.
    ///
    /// # Errors
    /// The log has ended.
    pub fn reload(&self, configuration: &Configuration) -> Result<(), ConfigurationFaults> {
        self.writers.iter().for_each(LineQueue::reopen);
        let taken = self.filter.reload(targets(configuration));
        taken.map_err(|error| ConfigurationFaults(vec![error.to_string()]))
    }
}

impl Drop for Logging {
    fn drop(&mut self) {
        self.writers.iter().for_each(LineQueue::settle);
    }
}

fn targets(configuration: &Configuration) -> Targets {
    let text = configuration.text("log.level").unwrap_or("info");
    let (whole, parts) = levels(text).unwrap_or(("info", Vec::new()));
    let level = |name: &str| name.parse().unwrap_or(LevelFilter::INFO);
    let mut targets = Targets::new().with_target(ROOT, level(whole));
    for (part, name) in parts.iter().filter(|(part, _)| LOG_PARTS.contains(part)) {
        targets = targets.with_target(format!("{ROOT}::{part}"), level(name));
    }
    targets
}

/// What the writing thread is told.
enum Order {
    Line(Vec<u8>),
    Reopen,
    Flush(SyncSender<()>),
}

/// Lines on their way to a file.
#[derive(Clone)]
struct LineQueue {
    orders: SyncSender<Order>,
    dropped: Arc<AtomicU64>,
}

impl LineQueue {
    fn start(name: &'static str, path: Option<PathBuf>, lines_max: usize) -> io::Result<LineQueue> {
        let out = opened(path.as_ref()).map_err(|error| io::Error::other(error.to_string()))?;
        let (orders, taken) = sync_channel(lines_max);
        let dropped = Arc::new(AtomicU64::new(0));
        let counted = dropped.clone();
        let thread =
            world::threads::try_spawn(name, move || write_lines(&taken, path.as_ref(), out, &counted))?;
        // It ends with the process, whose last act is to flush.
        std::mem::forget(thread);
        Ok(LineQueue { orders, dropped })
    }
    fn reopen(&self) {
        // A queue that is full is one that nobody takes; the next signal finds it again.
        let _ = self.orders.try_send(Order::Reopen);
    }
    /// Waits until all lines before are written.
    fn settle(&self) {
        let (told, done) = sync_channel(1);
        if self.orders.try_send(Order::Flush(told)).is_ok() {
            // What is not written by then is lost with the process.
            let _ = done.recv_timeout(FLUSH_TIMEOUT);
        }
    }
}

/// Could a file be appended to, or made? One that is there is opened and not changed. Where there is none, its folder is tried with a file of another
/// name that is gone on return, so that nobody else's file is made or removed. Links are followed, also to a file that is not there yet.
fn check_appending(path: &Path) -> Result<(), DiskError> {
    if path.exists() {
        return match RealDisk.open(path, OpenHow::Write) {
            // It may be there to be written alone, or have been moved away meanwhile.
            Err(_) if path.exists() => world::files::open_appending(path).map(drop),
            Err(DiskError::NotFound { .. }) => check_making(path),
            outcome => outcome.map(drop),
        };
    }
    let mut at = path.to_path_buf();
    for _ in 0..LINKS_MAX {
        let Ok(target) = at.read_link() else { return check_making(&at) };
        at = at.parent().unwrap_or(Path::new("")).join(target);
    }
    // The links lead in a circle, so this fails and makes nothing.
    RealDisk.open(path, OpenHow::Write).map(drop)
}

/// Could a file be made that is not there?
fn check_making(path: &Path) -> Result<(), DiskError> {
    // A name that is too long, or one that ends as a folder's does, is told by looking for it.
    let name = path.file_name().filter(|name| path.as_os_str().as_bytes().ends_with(name.as_bytes()));
    match RealDisk.open(path, OpenHow::Write) {
        Err(DiskError::NotFound { .. }) if name.is_some() => {}
        outcome => return outcome.map(drop),
    }
    let number = Chance::from_system().next_u64();
    let probe = path.with_file_name(format!(".tanglewood-check-{number:016x}"));
    drop(RealDisk.open(&probe, OpenHow::CreateNew)?);
    RealDisk.remove(&probe)
}

fn opened(path: Option<&PathBuf>) -> Result<Box<dyn Write + Send>, DiskError> {
    path.map_or_else(|| Ok(world::files::stderr()), |path| world::files::open_appending(path))
}

fn write_lines(
    orders: &Receiver<Order>,
    path: Option<&PathBuf>,
    mut out: Box<dyn Write + Send>,
    dropped: &AtomicU64,
) {
    for order in orders {
        match order {
            Order::Line(line) => {
                let lost = dropped.swap(0, Ordering::Relaxed);
                if lost > 0 {
                    let _ = writeln!(out, "{{\"dropped_lines\":{lost}}}");
                }
                // A disk that is full must not end the server.
                if out.write_all(&line).is_err() {
                    dropped.fetch_add(1 + lost, Ordering::Relaxed);
                }
            }
            Order::Reopen => {
                if let Ok(new) = opened(path) {
                    out = new;
                }
            }
            // Whoever waits may have gone.
            Order::Flush(told) => {
                drop(out.flush().and_then(|()| told.try_send(()).map_err(io::Error::other)))
            }
        }
    }
}

impl<'w> MakeWriter<'w> for LineQueue {
    type Writer = LineQueue;
    fn make_writer(&'w self) -> LineQueue {
        self.clone()
    }
}

impl Write for LineQueue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut kept = line[..line.len().min(LINE_BYTES_MAX)].to_vec();
        if kept.len() < line.len() {
            kept.push(b'\n');
        }
        if let Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) =
            self.orders.try_send(Order::Line(kept))
        {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::files::TemporaryFolder;

    #[test]
    fn a_file_is_opened_anew_and_lines_that_find_no_room_are_counted() {
        let folder = TemporaryFolder::new("log").unwrap();
        let (path, moved) = (folder.path().join("log"), folder.path().join("log.1"));
        let mut queue = LineQueue::start("log", Some(path.clone()), 64).unwrap();
        queue.write_all(b"one\n").unwrap();
        queue.settle();
        RealDisk.rename(&path, &moved).unwrap();
        queue.reopen();
        queue.dropped.store(3, Ordering::Relaxed);
        queue.write_all(&[vec![b'x'; LINE_BYTES_MAX], b"y\n".to_vec()].concat()).unwrap();
        queue.settle();
        assert_eq!(world::files::read_text(&moved).unwrap(), "one\n");
        let text = world::files::read_text(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!((lines[0], lines[1].len(), lines.len()), ("{\"dropped_lines\":3}", LINE_BYTES_MAX, 2));
    }

    /// Looking made the file, and removed it again: a link's target was left behind, and a file that came meanwhile was removed.
    #[test]
    fn looking_whether_a_file_can_be_appended_to_leaves_everything_as_it_is() {
        let folder = TemporaryFolder::new("log").unwrap();
        let at = |name: &str| folder.path().join(name);
        world::files::write_bytes(&at("there"), b"text").unwrap();
        world::files::create_folder(&at("inner")).unwrap();
        let links =
            [("linked", "there"), ("dangling", "inner/later"), ("lost", "none/later"), ("round", "round")];
        for (link, target) in links {
            std::os::unix::fs::symlink(target, at(link)).unwrap();
        }
        let before = world::files::list_folder(folder.path()).unwrap();
        for (name, is_good) in [
            ("there", true),
            ("new", true),
            ("linked", true),
            ("dangling", true),
            ("inner/new", true),
            ("lost", false),
            ("round", false),
            ("none/new", false),
            ("inner", false),
            ("new/", false),
            ("new/.", false),
            ("there/new", false),
            (&"x".repeat(300), false),
        ] {
            let checked = check_appending(&at(name));
            assert_eq!(checked.is_ok(), is_good, "{name}: {checked:?}");
            assert_eq!(world::files::list_folder(folder.path()).unwrap(), before, "{name}");
            assert!(world::files::list_folder(&at("inner")).unwrap().is_empty(), "{name}");
            // What is looked for here is what opening does, which leaves a file behind.
            assert_eq!(opened(Some(&at(name))).is_ok(), is_good, "{name}");
            for made in ["new", "inner/new", "inner/later"] {
                let _ = RealDisk.remove(&at(made));
            }
        }
        assert_eq!(world::files::read_text(&at("there")).unwrap(), "text");
    }

    #[test]
    fn a_queue_that_nobody_takes_drops_lines_and_holds_nobody_up() {
        let (orders, _taken) = sync_channel(2);
        let mut queue = LineQueue { orders, dropped: Arc::default() };
        for _ in 0..5 {
            queue.write_all(b"line\n").unwrap();
        }
        assert_eq!(queue.dropped.load(Ordering::Relaxed), 3);
    }
}
