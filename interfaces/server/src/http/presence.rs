//! The state of a connection: a request that is being answered, or the time until the next one.
//!
//! Between two requests an authenticated client may be silent for `idle_timeout`; another one for `greeting_timeout`. From its first byte the head of
//! a request may take `greeting_timeout`, however slowly it comes. While a request is answered, other limits hold: those of bodies, statements and
//! writes.

use crate::Limits;
use hyper::body::{Body, Frame, SizeHint};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Sleep, sleep};

/// Counts of a connection.
#[derive(Debug, Default)]
pub(super) struct Presence {
    /// Requests whose answer has not been sent completely: one at most.
    in_hand: AtomicUsize,
    /// Of these, those whose bodies are read or not wanted, and that are running.
    running: AtomicUsize,
    answered: AtomicU64,
    /// How often bytes came.
    arrivals: AtomicU64,
    /// Arrivals when the last request had come to its end; [`UNREAD`] while its body is not read.
    arrivals_of_request: AtomicU64,
}

/// It is unknown which received bytes belong to the body of a request.
const UNREAD: u64 = u64::MAX;

impl Presence {
    /// Bytes have come.
    pub fn arrive(&self) {
        self.arrivals.fetch_add(1, Ordering::AcqRel);
    }
    /// The body of the present request is read: later bytes belong to the next one.
    pub fn end_body(&self) {
        self.arrivals_of_request.store(self.arrivals.load(Ordering::Acquire), Ordering::Release);
    }
    /// A request has come, complete or its head alone; it is in hand until its guard is dropped.
    pub fn take_in_hand(self: &Arc<Self>, has_body: bool) -> RequestInHand {
        self.end_body();
        if has_body {
            self.arrivals_of_request.store(UNREAD, Ordering::Release);
        }
        self.in_hand.fetch_add(1, Ordering::AcqRel);
        RequestInHand(self.clone())
    }
    /// Something runs for the client until the guard is dropped.
    pub fn attend(self: &Arc<Self>) -> Attended {
        self.running.fetch_add(1, Ordering::AcqRel);
        Attended(self.clone())
    }
    /// Does something run for the client, so that its end matters?
    pub fn is_attended(&self) -> bool {
        self.running.load(Ordering::Acquire) > 0
    }
}

/// A request that is in hand.
pub(super) struct RequestInHand(Arc<Presence>);

impl Drop for RequestInHand {
    fn drop(&mut self) {
        self.0.answered.fetch_add(1, Ordering::AcqRel);
        self.0.in_hand.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Something that runs for the client.
pub(super) struct Attended(Arc<Presence>);

impl Drop for Attended {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The body of an answer, which keeps its request in hand.
pub(super) struct InHand<B> {
    body: B,
    _request: RequestInHand,
}

impl<B> InHand<B> {
    pub fn new(body: B, request: RequestInHand) -> InHand<B> {
        InHand { body, _request: request }
    }
}

impl<B: Body + Unpin> Body for InHand<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }
    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The time that a client has until its next request is there.
pub(super) struct Silence {
    timer: Pin<Box<Sleep>>,
    head_timeout: Duration,
    idle_timeout: Duration,
    answered: u64,
    /// Arrivals when the last answer had gone, or before, where more came behind its request.
    arrivals: u64,
    is_in_head: bool,
}

impl Silence {
    /// Begins with the connection: its first head must come.
    pub fn new(limits: &Limits) -> Silence {
        let (head_timeout, idle_timeout) = (limits.greeting_timeout, limits.idle_timeout);
        let timer = Box::pin(sleep(head_timeout));
        Silence { timer, head_timeout, idle_timeout, answered: 0, arrivals: 0, is_in_head: true }
    }
    /// Ready when the client was silent for too long.
    pub fn poll_over(&mut self, presence: &Presence, is_known: bool, context: &mut Context<'_>) -> Poll<()> {
        if presence.in_hand.load(Ordering::Acquire) > 0 {
            return Poll::Pending;
        }
        let answered = presence.answered.load(Ordering::Acquire);
        let arrivals = presence.arrivals.load(Ordering::Acquire);
        if answered != self.answered {
            // A part of the next head may have come before the end of the answer.
            let of_request = presence.arrivals_of_request.load(Ordering::Acquire).min(arrivals);
            (self.answered, self.arrivals, self.is_in_head) = (answered, of_request, of_request < arrivals);
            let may_idle = is_known && !self.is_in_head;
            self.wait(if may_idle { self.idle_timeout } else { self.head_timeout });
        } else if arrivals != self.arrivals && !self.is_in_head {
            self.is_in_head = true;
            self.wait(self.head_timeout);
        }
        self.timer.as_mut().poll(context)
    }
    fn wait(&mut self, time: Duration) {
        self.timer.set(sleep(time));
    }
}
