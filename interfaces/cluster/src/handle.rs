//! The handle of a gate for threads of the same process: reads and commits that wait for their end, up to a time.

use crate::inputs::Inputs;
use model::walk;
use order::Stamp;
use parking_lot::{Condvar, Mutex};
use protocol::message::{Commit, End, Refusal};
use protocol::{Bytes, Gate, GateCounts, GateSeat, Input, Route};
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use world::clock::{after_ns, monotonic_ns};

/// Requests that wait at a gate; one more is refused.
const REQUESTS_MAX: usize = 8_192;

/// How often a thread that waits for shards checks whether its statement is over.
pub(crate) const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Why a request has no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// Nothing of it happened, or ever will; it may be tried again.
    Refused(Refusal),
    /// The outcome is unknown; the commit may be there, or come yet.
    Unknown,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Refused(Refusal::Conflict) => write!(f, "what was read has been written meanwhile"),
            Failure::Refused(Refusal::Moved) => write!(f, "a chunk was moved meanwhile"),
            Failure::Refused(Refusal::Epoch) => write!(f, "the members of the cluster have changed"),
            Failure::Refused(Refusal::Busy) => write!(f, "too much is waiting"),
            Failure::Refused(Refusal::TooLarge) => write!(f, "the transaction reads too many keys"),
            Failure::Unknown => write!(f, "there was no answer in time"),
        }
    }
}

impl std::error::Error for Failure {}

/// A slot for one answer. A waiting thread sleeps at once: a channel that spins first takes the processor from the thread that makes the answer.
#[derive(Default)]
pub(crate) struct AnswerSlot {
    state: Mutex<AnswerSlotState>,
    came: Condvar,
}

#[derive(Default)]
struct AnswerSlotState {
    told: Option<RequestOutcome>,
    /// No answer will come any more.
    is_closed: bool,
}

impl AnswerSlot {
    fn tell(&self, told: Option<RequestOutcome>) {
        let mut state = self.state.lock();
        state.is_closed = told.is_none();
        state.told = told;
        drop(state);
        self.came.notify_one();
    }
    /// The answer, if it comes within this time.
    fn receive(&self, longest: Duration) -> Received {
        let mut state = self.state.lock();
        let waits = |state: &mut AnswerSlotState| state.told.is_none() && !state.is_closed;
        self.came.wait_while_for(&mut state, waits, longest);
        match (state.told.take(), state.is_closed) {
            (Some(told), _) => Received::Outcome(told),
            (None, true) => Received::Closed,
            (None, false) => Received::NotYet,
        }
    }
}

enum Received {
    Outcome(RequestOutcome),
    NotYet,
    Closed,
}

/// The answer, unless the statement of this thread is over before.
fn received_or_over(place: &AnswerSlot, longest: Duration) -> Option<RequestOutcome> {
    let until_ns = after_ns(longest);
    loop {
        match place.receive(LOOK_EVERY.min(longest)) {
            Received::Outcome(told) => return Some(told),
            Received::NotYet if monotonic_ns() < until_ns && walk::check().is_ok() => {}
            Received::NotYet | Received::Closed => return None,
        }
    }
}

/// How a request ended.
pub(crate) enum RequestOutcome {
    Answered(Vec<(u16, Bytes)>),
    Ended(End),
}

/// Takes an answer, or nothing where none came in time, on the thread that steps the gate, which has the gate meanwhile: it does little, and waits for nothing.
pub(crate) type TakeAnswer = Box<dyn FnOnce(Option<RequestOutcome>) + Send>;

/// The receiver of an answer.
pub(crate) enum Waiter {
    /// A thread.
    Slot(Arc<AnswerSlot>),
    /// A callback, up to this time (of [`monotonic_ns`]).
    Later(u64, TakeAnswer),
}

impl Waiter {
    pub(crate) fn tell(self, told: Option<RequestOutcome>) {
        match self {
            Waiter::Slot(slot) => slot.tell(told),
            Waiter::Later(_, take) => take(told),
        }
    }
}

#[derive(Default)]
pub(crate) struct Waiting {
    next: u64,
    by_request: BTreeMap<u64, Waiter>,
    /// Kept alive until then.
    lingering: Option<(u64, Lingering)>,
}

/// An object that may be used again.
type Lingering = Arc<dyn Any + Send + Sync>;

impl Waiting {
    /// The receivers that are left when the gate has ended, to be called without a lock.
    pub(crate) fn end(&mut self) -> Vec<Waiter> {
        self.lingering = None;
        std::mem::take(&mut self.by_request).into_values().collect()
    }
    /// Lingering objects whose time is over, to be dropped without a lock.
    pub(crate) fn take_over(&mut self, now_ns: u64) -> Option<Lingering> {
        let is_over = self.lingering.as_ref().is_some_and(|(until_ns, _)| now_ns >= *until_ns);
        if is_over { self.lingering.take().map(|(_, lingering)| lingering) } else { None }
    }
    /// The receiver for this request, to be called without a lock.
    pub(crate) fn take(&mut self, request: u64) -> Option<Waiter> {
        self.by_request.remove(&request)
    }
    /// The callbacks whose time is over, to be called without a lock.
    pub(crate) fn take_late(&mut self, now_ns: u64) -> Vec<Waiter> {
        let is_late = |waiter: &Waiter| matches!(waiter, Waiter::Later(until_ns, _) if now_ns >= *until_ns);
        let late: Vec<u64> = self
            .by_request
            .iter()
            .filter(|(_, waiter)| is_late(waiter))
            .map(|(request, _)| *request)
            .collect();
        late.iter().filter_map(|request| self.by_request.remove(request)).collect()
    }
}

/// A gate, from other threads.
#[derive(Clone)]
pub struct GateHandle {
    pub(crate) gate: Arc<Mutex<Gate>>,
    pub(crate) inputs: Arc<Inputs>,
    pub(crate) waiting: Arc<Mutex<Waiting>>,
}

impl GateHandle {
    /// Is the gate in an open epoch?
    pub fn is_open(&self) -> bool {
        self.gate.lock().is_open()
    }
    /// Where a chunk is, as far as the gate knows.
    pub fn route(&self, chunk: u32) -> Option<Route> {
        self.gate.lock().route(chunk)
    }
    /// A unique chunk number, and its shard; none while there is no lease.
    pub fn take_chunk(&self) -> Option<(u32, u16)> {
        self.gate.lock().take_chunk()
    }
    /// Its part in the epoch; none while it has none.
    pub fn seat(&self) -> Option<GateSeat> {
        self.gate.lock().seat()
    }
    /// Reads that are open.
    pub fn open_reads(&self) -> usize {
        self.gate.lock().open_reads()
    }
    /// The counters so far.
    pub fn counts(&self) -> GateCounts {
        self.gate.lock().counts()
    }

    /// Reads from one snapshot, strictly: everything that was acknowledged before is in it. Returns the number of the read, which is open until it is
    /// closed, and the answers by shard. After a failure nothing is open. Ends with the statement of this thread.
    pub fn read(
        &self,
        queries: Vec<(u16, Bytes)>,
        longest: Duration,
    ) -> Result<(u64, Vec<(u16, Bytes)>), Failure> {
        let input = |request| Input::Read { request, queries };
        let (request, told) = self.ask(input, longest, received_or_over)?;
        match told {
            Some(RequestOutcome::Answered(answers)) => Ok((request, answers)),
            Some(RequestOutcome::Ended(End::Refused(refusal))) => Err(Failure::Refused(refusal)),
            Some(RequestOutcome::Ended(End::Committed(_))) | None => {
                self.close(request);
                Err(Failure::Unknown)
            }
        }
    }
    /// Reads more from the snapshot of an open read. After a failure it is closed.
    pub fn read_more(
        &self,
        request: u64,
        queries: Vec<(u16, Bytes)>,
        longest: Duration,
    ) -> Result<Vec<(u16, Bytes)>, Failure> {
        match self.wait(request, Input::Read { request, queries }, longest, received_or_over)? {
            Some(RequestOutcome::Answered(answers)) => Ok(answers),
            Some(RequestOutcome::Ended(End::Refused(refusal))) => Err(Failure::Refused(refusal)),
            Some(RequestOutcome::Ended(End::Committed(_))) | None => {
                self.close(request);
                Err(Failure::Unknown)
            }
        }
    }
    /// Keeps an object alive for a time, instead of the one before.
    pub(crate) fn linger(&self, time: Duration, what: Lingering) {
        let before = self.waiting.lock().lingering.replace((after_ns(time), what));
        drop(before);
    }
    /// A read is over.
    pub fn close(&self, request: u64) {
        // Where this does not get through, the end of the epoch closes it.
        self.inputs.put_aside(Input::Close(request));
    }
    /// Commits; the read that it is based on stays open. Returns its stamp when it is on disk and every gate has heard of it.
    pub fn commit(&self, commit: Commit, longest: Duration) -> Result<Stamp, Failure> {
        let input = |request| Input::Commit { request, commit };
        let received = |place: &AnswerSlot, longest| match place.receive(longest) {
            Received::Outcome(told) => Some(told),
            Received::NotYet | Received::Closed => None,
        };
        match self.ask(input, longest, received)?.1 {
            Some(RequestOutcome::Ended(End::Committed(stamp))) => Ok(stamp),
            Some(RequestOutcome::Ended(End::Refused(refusal))) => Err(Failure::Refused(refusal)),
            Some(RequestOutcome::Answered(_)) | None => Err(Failure::Unknown),
        }
    }

    /// As [`GateHandle::read`], without waiting: `take` gets the answer, or none. The read is closed after the callback. False where no request is
    /// sent.
    pub(crate) fn read_later(
        &self,
        queries: Vec<(u16, Bytes)>,
        longest: Duration,
        take: impl FnOnce(Option<Vec<(u16, Bytes)>>) + Send + 'static,
    ) -> bool {
        let (request, inputs) = (self.next_request(), self.inputs.clone());
        let take = Box::new(move |told: Option<RequestOutcome>| {
            if !matches!(told, Some(RequestOutcome::Ended(_))) {
                inputs.put(Input::Close(request));
            }
            take(match told {
                Some(RequestOutcome::Answered(answers)) => Some(answers),
                Some(RequestOutcome::Ended(_)) | None => None,
            });
        });
        if !self.tell_later(request, longest, take) {
            return false;
        }
        if !self.inputs.put_and_step(Input::Read { request, queries }) {
            return self.waiting.lock().by_request.remove(&request).is_none();
        }
        true
    }

    /// Runs something after this time, or when the gate ends, as a [`TakeAnswer`]. False where it will not.
    pub(crate) fn after(&self, time: Duration, run: impl FnOnce() + Send + 'static) -> bool {
        self.tell_later(self.next_request(), time, Box::new(|_| run()))
    }

    fn tell_later(&self, request: u64, longest: Duration, take: TakeAnswer) -> bool {
        let mut waiting = self.waiting.lock();
        // Behind the end of the gate nobody would tell anything.
        if waiting.by_request.len() >= REQUESTS_MAX || self.inputs.is_closed() {
            return false;
        }
        waiting.by_request.insert(request, Waiter::Later(after_ns(longest), take));
        true
    }

    fn next_request(&self) -> u64 {
        let mut waiting = self.waiting.lock();
        waiting.next += 1;
        waiting.next
    }

    fn ask(
        &self,
        input: impl FnOnce(u64) -> Input,
        longest: Duration,
        receive: impl FnOnce(&AnswerSlot, Duration) -> Option<RequestOutcome>,
    ) -> Result<(u64, Option<RequestOutcome>), Failure> {
        let request = self.next_request();
        Ok((request, self.wait(request, input(request), longest, receive)?))
    }

    fn wait(
        &self,
        request: u64,
        input: Input,
        longest: Duration,
        receive: impl FnOnce(&AnswerSlot, Duration) -> Option<RequestOutcome>,
    ) -> Result<Option<RequestOutcome>, Failure> {
        let place = Arc::new(AnswerSlot::default());
        {
            let mut waiting = self.waiting.lock();
            if waiting.by_request.len() >= REQUESTS_MAX {
                return Err(Failure::Refused(Refusal::Busy));
            }
            waiting.by_request.insert(request, Waiter::Slot(place.clone()));
        }
        let told = if self.inputs.put_and_step(input) {
            receive(&place, longest)
        } else {
            Some(RequestOutcome::Ended(End::Refused(Refusal::Busy)))
        };
        self.waiting.lock().by_request.remove(&request);
        Ok(told)
    }
}
