//! Sends an answer: from the thread that runs the request to the connection.
//!
//! A short answer is sent whole, with a length, and with a status that says whether it failed. A long one is sent in pieces: the channel between the
//! two is bounded, so a client that does not read holds back its query. Invariant: an unfinished answer ends its connection, so that it is not taken
//! for a complete one; a client that goes ends its running request.

use super::presence::Attended;
use super::refusal::Refusal;
use super::statuses::STATUSES;
use bytes::Bytes;
use database::Interrupter;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::SendTimeoutError;
use tokio::sync::{mpsc, oneshot};
use world::clock::monotonic_ns;

/// Bytes that are gathered before an answer goes out in pieces.
const GATHER_BYTES: usize = 256 << 10;
/// Bytes of a piece.
const PIECE_BYTES: usize = 64 << 10;
/// Pieces buffered between the thread and the connection.
const PIECES_MAX: usize = 4;

/// The answer as hyper takes it.
pub(super) type Answer = Response<Outgoing>;

/// A message to the connection.
pub(super) enum Outgoing {
    Whole(Option<Bytes>),
    Pieces { pieces: mpsc::Receiver<Bytes>, is_whole: Arc<AtomicBool>, attention: Option<Attention> },
}

impl Outgoing {
    pub fn of(bytes: impl Into<Bytes>) -> Outgoing {
        Outgoing::Whole(Some(bytes.into()))
    }
    /// The sender keeps the running request from being ended.
    pub fn attend(&mut self, new: Attention) {
        if let Outgoing::Pieces { attention, .. } = self {
            *attention = Some(new);
        }
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut *self {
            Outgoing::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Outgoing::Pieces { pieces, is_whole, .. } => pieces.poll_recv(context).map(|piece| match piece {
                Some(piece) => Some(Ok(Frame::data(piece))),
                None if is_whole.load(Ordering::Acquire) => None,
                None => Some(Err(ErrorKind::ConnectionAborted.into())),
            }),
        }
    }
    fn is_end_stream(&self) -> bool {
        matches!(self, Outgoing::Whole(None))
    }
    fn size_hint(&self) -> SizeHint {
        match self {
            Outgoing::Whole(bytes) => SizeHint::with_exact(bytes.as_ref().map_or(0, Bytes::len) as u64),
            Outgoing::Pieces { .. } => SizeHint::default(),
        }
    }
}

/// Held for a client while its request runs; dropped before its end, it interrupts the request.
pub(super) struct Attention {
    pub interrupter: Interrupter,
    pub is_over: Arc<AtomicBool>,
    /// Its client is looked after as long.
    pub _attended: Attended,
}

impl Drop for Attention {
    fn drop(&mut self) {
        if !self.is_over.load(Ordering::Acquire) {
            self.interrupter.interrupt("the client is gone");
        }
    }
}

/// Why something was not sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unsent {
    /// The client is gone, or does not read.
    Gone,
    /// The client reads, but not within the time limit of its statement. Unsent bytes are kept.
    Late,
}

/// Where an answer is written.
pub(super) struct Outlet {
    /// Bytes that are written and not sent.
    pub bytes: Vec<u8>,
    status: StatusCode,
    mime: &'static str,
    answer: Option<oneshot::Sender<Answer>>,
    pieces: Option<mpsc::Sender<Bytes>>,
    is_whole: Arc<AtomicBool>,
    runtime: Handle,
    write_timeout: Duration,
    /// The time limit of the statement that writes here.
    until_ns: Option<u64>,
}

impl Outlet {
    pub fn new(runtime: Handle, write_timeout: Duration) -> (Outlet, oneshot::Receiver<Answer>) {
        let (answer, told) = oneshot::channel();
        let outlet = Outlet {
            bytes: Vec::new(),
            status: StatusCode::ACCEPTED,
            mime: "application/json",
            answer: Some(answer),
            pieces: None,
            is_whole: Arc::default(),
            runtime,
            write_timeout,
            until_ns: None,
        };
        (outlet, told)
    }
    /// Everything sent from now on must be taken by then.
    pub fn end_by(&mut self, until_ns: Option<u64>) {
        self.until_ns = until_ns;
    }
    /// Sets status and type of the answer, before any of it was sent.
    pub fn set(&mut self, status: StatusCode, mime: &'static str) {
        (self.status, self.mime) = (status, mime);
    }
    /// Was something sent, so that it is too late for another status?
    pub fn is_begun(&self) -> bool {
        self.pieces.is_some()
    }
    /// Is the client gone?
    pub fn is_abandoned(&self) -> bool {
        self.answer.as_ref().is_some_and(oneshot::Sender::is_closed)
            || self.pieces.as_ref().is_some_and(mpsc::Sender::is_closed)
    }
    /// Sends the buffered bytes if there are many.
    pub fn overflow(&mut self) -> Result<(), Unsent> {
        let limit = if self.is_begun() { PIECE_BYTES } else { GATHER_BYTES };
        if self.bytes.len() >= limit { self.flush() } else { Ok(()) }
    }
    /// Sends the buffered bytes, and before them the head of the answer.
    pub fn flush(&mut self) -> Result<(), Unsent> {
        if let Some(answer) = self.answer.take() {
            let (pieces, received) = mpsc::channel(PIECES_MAX);
            let is_whole = self.is_whole.clone();
            let body = Outgoing::Pieces { pieces: received, is_whole, attention: None };
            self.pieces = Some(pieces);
            answer.send(response(self.status, self.mime, body)).map_err(|_| Unsent::Gone)?;
        }
        if self.bytes.is_empty() {
            return Ok(());
        }
        let Some(pieces) = &self.pieces else { return Err(Unsent::Gone) };
        let piece = Bytes::from(std::mem::take(&mut self.bytes));
        let left =
            self.until_ns.map(|until_ns| Duration::from_nanos(until_ns.saturating_sub(monotonic_ns())));
        let wait = left.map_or(self.write_timeout, |left| left.min(self.write_timeout));
        let sent = self.runtime.block_on(async { pieces.send_timeout(piece, wait).await });
        match sent {
            Err(SendTimeoutError::Timeout(piece)) if wait < self.write_timeout => {
                self.bytes = piece.into();
                Err(Unsent::Late)
            }
            sent => sent.map_err(|_| Unsent::Gone),
        }
    }
    /// Everything has been written.
    pub fn finish(mut self) {
        // The statement has ended: only the client is waited for.
        self.until_ns = None;
        if self.is_begun() {
            if self.flush().is_ok() {
                self.is_whole.store(true, Ordering::Release);
            }
        } else if let Some(answer) = self.answer.take() {
            let bytes = std::mem::take(&mut self.bytes);
            // A client that is gone is told nothing.
            let _ = answer.send(response(self.status, self.mime, Outgoing::of(bytes)));
        }
    }
    /// Refuses instead, if nothing has been sent.
    pub fn refuse(mut self, refusal: &Refusal) {
        if let Some(answer) = self.answer.take() {
            let _ = answer.send(refused(refusal));
        }
    }
}

/// An answer with this body.
pub(super) fn response(status: StatusCode, mime: &'static str, body: Outgoing) -> Answer {
    debug_assert!(
        STATUSES.iter().any(|(known, _)| *known == status.as_u16()),
        "{status} is not in the table"
    );
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(mime));
    response
}

/// An answer that is whole.
pub(super) fn whole(status: StatusCode, mime: &'static str, bytes: impl Into<Bytes>) -> Answer {
    response(status, mime, Outgoing::of(bytes))
}

/// A refusal as an answer.
pub(super) fn refused(refusal: &Refusal) -> Answer {
    whole(refusal.status, "application/json", refusal.body())
}
