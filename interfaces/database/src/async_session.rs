//! Sessions for async programs: blocking calls run on a thread of the session, and any executor polls their futures.
//!
//! Idea: calls of one session are a queue of closures that its thread runs one after the other. A call is a future that knows no runtime. Invariant: a call
//! that is dropped before it ended never runs, or is interrupted; it never ends a call that came after it, since both are decided under the call's
//! lock. Cost: two switches of threads a call; rows come a batch a call.

use crate::result_row::{ResultRow, ResultRows};
use crate::session::{Session, TransactionScope};
use crate::{Database, Error, Interrupter, Params};
use futures_core::Stream;
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use transact::Mode;
use world::panics::caught;
use world::threads::{Thread, try_spawn};

/// Calls of one session that may wait in its queue.
pub const ASYNC_CALLS_MAX: usize = 1_024;

const TOO_MANY: &str = "Tanglewood.ClientError.Session.TooManyCalls";
const NO_THREAD: &str = "Tanglewood.TransientError.Session.NoThread";
const ANSWERED: &str = "Tanglewood.ClientError.Session.Answered";
/// The reason with which a statement ends when its call was dropped.
const DROPPED: &str = "its call was dropped";

type QueuedCall = Box<dyn FnOnce(&mut Session) + Send>;

#[derive(Default)]
struct WaitingCalls {
    waiting: VecDeque<QueuedCall>,
    is_closed: bool,
}

#[derive(Default)]
struct CallQueue {
    jobs: Mutex<WaitingCalls>,
    changed: Condvar,
}

impl CallQueue {
    /// Runs the jobs until the queue is closed; jobs that wait then are dropped.
    fn run(&self, session: &mut Session) {
        loop {
            let job = {
                let mut jobs = self.jobs.lock();
                while jobs.waiting.is_empty() && !jobs.is_closed {
                    self.changed.wait(&mut jobs);
                }
                match jobs.is_closed {
                    true => return,
                    false => jobs.waiting.pop_front(),
                }
            };
            if let Some(job) = job {
                job(session);
            }
        }
    }
    fn add(&self, job: QueuedCall) -> Result<(), Error> {
        let mut jobs = self.jobs.lock();
        if jobs.waiting.len() >= ASYNC_CALLS_MAX {
            return Err(Error::new(TOO_MANY, format!("{ASYNC_CALLS_MAX} calls of this session wait"))
                .hint("await calls before more are made, or take more sessions"));
        }
        jobs.waiting.push_back(job);
        self.changed.notify_one();
        Ok(())
    }
}

/// Shared by the handles of one session; the last handle ends its thread.
struct SessionThread {
    queue: Arc<CallQueue>,
    interrupter: Interrupter,
    _thread: Thread<()>,
}

/// Interrupts the running statement; the thread is joined by its own drop, which comes next.
impl Drop for SessionThread {
    fn drop(&mut self) {
        self.queue.jobs.lock().is_closed = true;
        self.interrupter.close();
        self.queue.changed.notify_one();
    }
}

/// Where a call is.
enum CallPhase<T> {
    Waiting,
    Running,
    Ended(Result<T, Error>),
    /// Its answer was taken, or its future was dropped.
    Over,
}

struct CallState<T> {
    phase: CallPhase<T>,
    waker: Option<Waker>,
}

/// A call of a session: a future of its answer, which runs even if it is never polled. Dropping it cancels the call: it does not begin, or its
/// statement is interrupted, together with the open results of the same session.
#[must_use = "dropping a call ends it"]
pub struct AsyncCall<T> {
    state: Arc<Mutex<CallState<T>>>,
    thread: Arc<SessionThread>,
}

impl<T> Future for AsyncCall<T> {
    type Output = Result<T, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T, Error>> {
        let mut state = self.state.lock();
        match std::mem::replace(&mut state.phase, CallPhase::Over) {
            CallPhase::Ended(answer) => Poll::Ready(answer),
            CallPhase::Over => Poll::Ready(Err(Error::new(ANSWERED, "the call has answered already"))),
            phase => {
                state.phase = phase;
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T> Drop for AsyncCall<T> {
    fn drop(&mut self) {
        let mut state = self.state.lock();
        // Under the lock: the thread cannot go on to the next call before this interruption is there.
        if matches!(state.phase, CallPhase::Running) {
            self.thread.interrupter.interrupt(DROPPED);
        }
        let answer = std::mem::replace(&mut state.phase, CallPhase::Over);
        drop(state);
        drop(answer);
    }
}

/// A session whose calls are futures. It is cheap to clone: clones share the session, and calls run one after the other.
///
/// ```
/// use tanglewood_database::{Database, Error, params};
///
/// async fn ask(database: &Database) -> Result<i64, Error> {
///     let session = database.async_session()?;
///     session.query("CREATE (:Person {name: $name})", params! { "name" => "Ada" }).await?;
///     let mut rows = session.query("MATCH (p:Person) RETURN p.name AS name", params! {}).await?;
///     while let Some(row) = rows.next().await? {
///         assert_eq!(row.as_str("name")?, "Ada");
///     }
///     let count = session.transaction(|tx| tx.query("MATCH (p) RETURN count(p)", params! {})?.single()).await?;
///     Ok(count.as_int().unwrap_or(0))
/// }
/// ```
#[derive(Clone)]
pub struct AsyncSession {
    thread: Arc<SessionThread>,
}

impl Database {
    /// A session for an async program, with a thread of its own.
    ///
    /// # Errors
    /// The operating system gives no more threads.
    pub fn async_session(&self) -> Result<AsyncSession, Error> {
        self.session().into_async()
    }
}

impl Session {
    /// This session on a thread of its own, for an async program. Limits, user and tenant stay as they are.
    ///
    /// # Errors
    /// The operating system gives no more threads.
    pub fn into_async(self) -> Result<AsyncSession, Error> {
        let (mut session, queue) = (self, Arc::new(CallQueue::default()));
        let (interrupter, own) = (session.interrupter(), queue.clone());
        let thread = try_spawn("session", move || own.run(&mut session)).map_err(|error| {
            Error::new(NO_THREAD, format!("there is no thread for the session: {error}"))
                .hint("drop sessions that are not used, or raise the limit of threads")
        })?;
        Ok(AsyncSession { thread: Arc::new(SessionThread { queue, interrupter, _thread: thread }) })
    }
}

impl AsyncSession {
    /// Calls a function with the session, on the session's thread, once all earlier calls have ended.
    ///
    /// The answer is an error where the function panics, and where [`ASYNC_CALLS_MAX`] calls wait already.
    pub fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Session) -> Result<T, Error> + Send + 'static,
    ) -> AsyncCall<T> {
        let state = Arc::new(Mutex::new(CallState { phase: CallPhase::Waiting, waker: None }));
        let own = state.clone();
        let job = move |session: &mut Session| {
            {
                let mut state = own.lock();
                if !matches!(state.phase, CallPhase::Waiting) {
                    return;
                }
                // An interruption that came before is not meant for this call, and one that comes from now on is.
                session.settle_interrupt();
                state.phase = CallPhase::Running;
            }
            let answer = caught(|| work(session)).unwrap_or_else(|panic| Err(Error::internal(&panic)));
            let (waker, unwanted) = {
                let mut state = own.lock();
                match state.phase {
                    CallPhase::Over => (None, Some(answer)),
                    _ => {
                        state.phase = CallPhase::Ended(answer);
                        (state.waker.take(), None)
                    }
                }
            };
            drop(unwanted);
            if let Some(waker) = waker {
                waker.wake();
            }
        };
        if let Err(error) = self.thread.queue.add(Box::new(job)) {
            state.lock().phase = CallPhase::Ended(Err(error));
        }
        AsyncCall { state, thread: self.thread.clone() }
    }
    /// Runs one statement; its rows are produced on demand.
    pub fn query(&self, text: &str, params: Params) -> AsyncCall<AsyncRows> {
        let (text, session) = (text.to_string(), self.clone());
        self.call(move |own| {
            let result = own.query(&text, params)?;
            let columns = result.columns().to_vec();
            Ok(AsyncRows {
                columns,
                session,
                source: Arc::new(Mutex::new(result.records())),
                ready: VecDeque::new(),
                reading: None,
                has_ended: false,
            })
        })
    }
    /// Runs a transaction: the writes of `work` are committed as a whole, or none of them; see [`Session::transaction`]. The function runs on the
    /// session's thread and may block.
    pub fn transaction<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut TransactionScope<'_>) -> Result<T, Error> + Send + 'static,
    ) -> AsyncCall<T> {
        self.call(move |session| session.transaction(work))
    }
    /// Begins a transaction, which the next calls belong to.
    pub fn begin(&self, mode: Mode) -> AsyncCall<()> {
        self.call(move |session| session.begin(mode))
    }
    /// Commits it; the answer is the number of the commit.
    pub fn commit(&self) -> AsyncCall<u64> {
        self.call(Session::commit)
    }
    /// Forgets it.
    pub fn rollback(&self) -> AsyncCall<()> {
        self.call(Session::rollback)
    }
}

/// The rows of an answer, as they come. Dropping it ends the statement; a `next` that is dropped loses no row.
pub struct AsyncRows {
    columns: Vec<Arc<str>>,
    session: AsyncSession,
    source: Arc<Mutex<ResultRows>>,
    ready: VecDeque<ResultRow>,
    reading: Option<AsyncCall<Vec<ResultRow>>>,
    has_ended: bool,
}

impl AsyncRows {
    /// Titles of the columns.
    pub fn columns(&self) -> &[Arc<str>] {
        &self.columns
    }
    /// The next row; `None` after the last.
    ///
    /// # Errors
    /// The statement fails while it runs; nothing comes after that.
    pub async fn next(&mut self) -> Result<Option<ResultRow>, Error> {
        poll_fn(|context| Pin::new(&mut *self).poll_next(context)).await.transpose()
    }
    /// All rows that are left.
    ///
    /// # Errors
    /// The statement fails while it runs.
    pub async fn rows(mut self) -> Result<Vec<ResultRow>, Error> {
        let mut rows = Vec::new();
        while let Some(row) = self.next().await? {
            rows.push(row);
        }
        Ok(rows)
    }
    /// The summary of the statement; complete once the last row was read.
    pub async fn summary(&self) -> Result<crate::Summary, Error> {
        let source = self.source.clone();
        self.session.call(move |_| Ok(source.lock().summary().clone())).await
    }
}

impl Stream for AsyncRows {
    type Item = Result<ResultRow, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(row) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(row)));
            }
            if self.has_ended {
                return Poll::Ready(None);
            }
            let mut reading = self.reading.take().unwrap_or_else(|| {
                let source = self.source.clone();
                self.session.call(move |_| source.lock().next_rows())
            });
            match Pin::new(&mut reading).poll(context) {
                Poll::Pending => {
                    self.reading = Some(reading);
                    return Poll::Pending;
                }
                Poll::Ready(Ok(rows)) => {
                    self.has_ended = rows.is_empty();
                    self.ready = rows.into();
                }
                Poll::Ready(Err(error)) => {
                    self.has_ended = true;
                    return Poll::Ready(Some(Err(error)));
                }
            }
        }
    }
}
