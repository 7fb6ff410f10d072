//! The execution of an import: threads, the files they share, progress, rejected lines.
//!
//! Idea: every file is a queue of blocks. A thread takes the next block of the first file that no other thread is reading at the moment, parses it,
//! and comes back; so one large file occupies all threads, and many compressed files are decompressed side by side. A slow block holds up no other
//! thread: the others go on with the next ones (see `work_queue`), in the same file or in another.
//! Invariant: results are handed out in the order of the files and their blocks, whichever thread made them.

use crate::reject::{Rejection, Rejects};
use crate::source::{self, InputFile};
use crate::table::Table;
use crate::work_queue::WorkQueue;
use crate::{ImportError, ImportOptions, Progress};
use formats::blocks::{Block, BlockReader};
use formats::records::Format;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use world::{clock, machine, threads};

/// Threads an import may use; more would only wait for the disk.
const THREADS_MAX: usize = 256;
/// How often progress is reported.
const PROGRESS_EVERY_NS: u64 = 80_000_000;

/// A file to be read in blocks.
pub(crate) struct Job {
    /// Which input file.
    pub file: usize,
    pub format: Format,
    /// Records at its beginning to leave out.
    pub skip: usize,
}

/// Jobs that read these tables.
pub(crate) fn jobs<'t>(tables: impl Iterator<Item = &'t Table>) -> Vec<Job> {
    tables.map(|table| Job { file: table.file, format: table.format, skip: table.skip }).collect()
}

/// Shared by all threads of an import.
pub(crate) struct Work<'a> {
    pub files: &'a [InputFile],
    pub threads: usize,
    pub rejection: Rejection,
    pub vertices: AtomicU64,
    pub edges: AtomicU64,
    bytes_done: Arc<AtomicU64>,
    bytes_total: u64,
    options: &'a ImportOptions,
    phase: Mutex<&'static str>,
    told_ns: AtomicU64,
}

impl<'a> Work<'a> {
    pub fn new(files: &'a [InputFile], used: &[usize], options: &'a ImportOptions) -> Work<'a> {
        Work {
            files,
            threads: options.threads.unwrap_or_else(machine::cores).clamp(1, THREADS_MAX),
            rejection: Rejection::new(options.strict),
            vertices: AtomicU64::new(0),
            edges: AtomicU64::new(0),
            bytes_done: Arc::default(),
            bytes_total: used.iter().map(|file| files[*file].size_bytes).sum(),
            options,
            phase: Mutex::new("starting"),
            told_ns: AtomicU64::new(0),
        }
    }
    /// Bytes read so far.
    pub fn bytes_done(&self) -> u64 {
        self.bytes_done.load(Ordering::Relaxed)
    }
    /// Sets the current phase.
    pub fn phase(&self, name: &'static str) {
        *self.phase.lock() = name;
        self.tell();
    }
    fn tell(&self) {
        if let Some(progress) = &self.options.progress {
            progress(&Progress {
                bytes_done: self.bytes_done(),
                bytes_total: self.bytes_total,
                vertices: self.vertices.load(Ordering::Relaxed),
                edges: self.edges.load(Ordering::Relaxed),
                phase: *self.phase.lock(),
            });
        }
    }
    /// Tells the progress if it is time.
    fn tick(&self) {
        if self.options.progress.is_none() {
            return;
        }
        let (told, now) = (self.told_ns.load(Ordering::Relaxed), clock::monotonic_ns());
        let due = now.saturating_sub(told) >= PROGRESS_EVERY_NS;
        if due && self.told_ns.compare_exchange(told, now, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
            self.tell();
        }
    }
    /// The same files for a reading ahead of the real one, which tells no progress and whose rejected lines are met again.
    pub fn for_survey(&self) -> Work<'a> {
        Work {
            rejection: Rejection::new(false),
            told_ns: AtomicU64::new(u64::MAX),
            ..Work::new(self.files, &[], self.options)
        }
    }
    /// An error if the import was cancelled.
    pub fn check_stop(&self) -> Result<(), ImportError> {
        let is_stopped = |stop: &Arc<AtomicBool>| stop.load(Ordering::Acquire);
        if self.options.stop.as_ref().is_some_and(is_stopped) { Err(ImportError::Stopped) } else { Ok(()) }
    }
    /// An error if a line was rejected and the import is strict.
    pub fn check_strict(&self) -> Result<(), ImportError> {
        match self.rejection.is_stopped() {
            true => {
                let first = self.rejection.first(self.files).into_iter().next();
                Err(ImportError::Rejected(first.expect("a stopped import rejected a line")))
            }
            false => Ok(()),
        }
    }

    /// A parallel for, as the store wants it.
    pub fn parallel(&self, count: usize, task: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(0);
        threads::in_parallel("import", self.threads.min(count), |_| {
            while let Some(at) = Some(next.fetch_add(1, Ordering::Relaxed)).filter(|at| *at < count) {
                task(at);
            }
        });
    }
    /// Calls `work` with every number below `count`; the results in order.
    pub fn map<T: Send>(&self, count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
        let results: Vec<Mutex<Option<T>>> = (0..count).map(|_| Mutex::new(None)).collect();
        self.parallel(count, &|at| *results[at].lock() = Some(work(at)));
        results.into_iter().map(|cell| cell.into_inner().expect("every number was called")).collect()
    }

    /// Parses all blocks of all jobs: the results of `parse` for the blocks of each job, in order. Blocks that cannot be parsed are rejected here.
    pub fn sweep<T: Send>(
        &self,
        jobs: &[Job],
        parse: impl Fn(usize, &Block, &mut Rejects) -> T + Sync,
    ) -> Result<Vec<Vec<T>>, ImportError> {
        let mut results: Vec<Vec<T>> = jobs.iter().map(|_| Vec::new()).collect();
        let keep = |job: usize, parsed: T| -> Result<(), ImportError> {
            results[job].push(parsed);
            Ok(())
        };
        self.stream(jobs, parse, keep, &|| Ok(()))?;
        Ok(results)
    }

    /// Parses all blocks of all jobs, and passes the results to `take`, one after the other in the order of the jobs and their blocks. Between blocks
    /// every thread runs `errand`.
    pub fn stream<T: Send, E: From<ImportError> + Send>(
        &self,
        jobs: &[Job],
        parse: impl Fn(usize, &Block, &mut Rejects) -> T + Sync,
        take: impl FnMut(usize, T) -> Result<(), E> + Send,
        errand: &(dyn Fn() -> Result<(), ImportError> + Sync),
    ) -> Result<(), E> {
        let queues: Vec<Queue> = jobs.iter().map(|_| Queue::default()).collect();
        let failed: Mutex<Option<ImportError>> = Mutex::new(None);
        let work_queue = WorkQueue::new(jobs.len(), take);
        threads::in_parallel("import", self.threads, |_| {
            let mut block = Block::default();
            while !self.rejection.is_stopped() && !work_queue.is_stopped() && failed.lock().is_none() {
                let taken = self.check_stop().and_then(|()| errand()).and_then(|()| {
                    self.take_block(jobs, &queues, work_queue.turn(), &mut block, &|job, count| {
                        work_queue.end(job, count)
                    })
                });
                match taken {
                    Ok(Some(job)) => {
                        let mut rejects = Rejects::default();
                        let parsed = match block.broken {
                            Some(what) => {
                                rejects.add(block.first_line, what);
                                None
                            }
                            None => Some(parse(job, &block, &mut rejects)),
                        };
                        self.rejection.take(jobs[job].file, rejects);
                        work_queue.put(job, block.number, parsed);
                        self.tick();
                    }
                    Ok(None) => break,
                    Err(error) => *failed.lock() = Some(error),
                }
            }
        });
        if let Some(error) = failed.into_inner() {
            return Err(error.into());
        }
        work_queue.finish()?;
        errand()?;
        Ok(self.check_strict()?)
    }

    /// The next block of the job that must be preferred, or else of the first job that no other thread is reading, or else of the first at all.
    /// `ended` is called with jobs without further blocks.
    fn take_block(
        &self,
        jobs: &[Job],
        queues: &[Queue],
        preferred: Option<usize>,
        block: &mut Block,
        ended: &dyn Fn(usize, usize),
    ) -> Result<Option<usize>, ImportError> {
        if let Some(at) =
            preferred.filter(|at| queues.get(*at).is_some_and(|queue| !queue.is_done.load(Ordering::Acquire)))
        {
            let mut reader = queues[at].reader.lock();
            if self.read(&jobs[at], &queues[at], &mut reader, block, &|count| ended(at, count))? {
                return Ok(Some(at));
            }
        }
        let mut busy = None;
        for (at, queue) in queues.iter().enumerate() {
            if queue.is_done.load(Ordering::Acquire) {
                continue;
            }
            match queue.reader.try_lock() {
                Some(mut reader) => {
                    if self.read(&jobs[at], queue, &mut reader, block, &|count| ended(at, count))? {
                        return Ok(Some(at));
                    }
                }
                None => busy = busy.or(Some(at)),
            }
        }
        let Some(at) = busy else { return Ok(None) };
        let mut reader = queues[at].reader.lock();
        let found = self.read(&jobs[at], &queues[at], &mut reader, block, &|count| ended(at, count))?;
        drop(reader);
        if found { Ok(Some(at)) } else { self.take_block(jobs, queues, None, block, ended) }
    }

    fn read(
        &self,
        job: &Job,
        queue: &Queue,
        reader: &mut Option<BlockReader>,
        block: &mut Block,
        ended: &dyn Fn(usize),
    ) -> Result<bool, ImportError> {
        // Looked at again under the lock: another thread may have read the last block meanwhile.
        if queue.is_done.load(Ordering::Acquire) {
            return Ok(false);
        }
        let file = &self.files[job.file];
        if reader.is_none() {
            let source = source::open(file, self.bytes_done.clone())?;
            *reader = Some(BlockReader::new(source, job.format, job.skip));
        }
        let open = reader.as_mut().expect("it was just opened");
        let found = open.next(block).map_err(|error| file.unreadable(&error))?;
        if !found {
            ended(open.blocks());
            *reader = None;
            queue.is_done.store(true, Ordering::Release);
        }
        Ok(found)
    }
}

#[derive(Default)]
struct Queue {
    is_done: AtomicBool,
    reader: Mutex<Option<BlockReader>>,
}
