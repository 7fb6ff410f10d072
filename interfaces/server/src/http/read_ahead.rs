//! Reads a client's stream ahead while its request is answered, so that the client's end is noticed whatever it sent before.
//!
//! The library notices the end of a client only while no byte of it waits to be read: one byte behind a request would hide it, and the query would
//! run in vain. Invariant: bytes are passed on in order, and none is read ahead while no request is answered, so an unread body holds its client
//! back. A client that sends more than [`AHEAD_BYTES_MAX`] behind its request is disconnected: its end could not be noticed behind these bytes.

use super::presence::Presence;
use bytes::BytesMut;
use parking_lot::Mutex;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that a client may send behind a request that is answered: the next ones, where it does not wait.
pub(super) const AHEAD_BYTES_MAX: usize = 64 << 10;
/// Bytes taken at once.
const READ_BYTES: usize = 4 << 10;

/// Shared by both ends. One task uses both, so the lock is never contended.
struct Ahead<S> {
    stream: S,
    bytes: BytesMut,
    /// Notified when bytes come.
    presence: Arc<Presence>,
}

/// The end that the library reads and writes.
pub(super) struct AheadStream<S>(Arc<Mutex<Ahead<S>>>);

/// The end that looks after the client.
pub(super) struct Lookout<S>(Arc<Mutex<Ahead<S>>>);

/// Two ends of a stream. The presence is notified when bytes come.
pub(super) fn read_ahead<S>(stream: S, presence: Arc<Presence>) -> (AheadStream<S>, Lookout<S>) {
    let ahead = Arc::new(Mutex::new(Ahead { stream, bytes: BytesMut::new(), presence }));
    (AheadStream(ahead.clone()), Lookout(ahead))
}

impl<S: AsyncRead + Unpin> Lookout<S> {
    /// Ready when the client is gone, will send nothing more, or has sent too much. Buffers received bytes meanwhile.
    pub fn poll_end(&self, context: &mut Context<'_>) -> Poll<()> {
        let mut ahead = self.0.lock();
        let ahead = &mut *ahead;
        let mut room = [0; READ_BYTES];
        while ahead.bytes.len() <= AHEAD_BYTES_MAX {
            let mut taken = ReadBuf::new(&mut room);
            let outcome = ready!(Pin::new(&mut ahead.stream).poll_read(context, &mut taken));
            if outcome.is_err() || taken.filled().is_empty() {
                return Poll::Ready(());
            }
            ahead.bytes.extend_from_slice(taken.filled());
            ahead.presence.arrive();
        }
        Poll::Ready(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for AheadStream<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let mut ahead = self.0.lock();
        if !ahead.bytes.is_empty() {
            let count = ahead.bytes.len().min(into.remaining());
            into.put_slice(&ahead.bytes.split_to(count));
            return Poll::Ready(Ok(()));
        }
        let before = into.filled().len();
        let outcome = ready!(Pin::new(&mut ahead.stream).poll_read(context, into));
        if into.filled().len() > before {
            ahead.presence.arrive();
        }
        Poll::Ready(outcome)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for AheadStream<S> {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0.lock().stream).poll_write(context, bytes)
    }
    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0.lock().stream).poll_write_vectored(context, slices)
    }
    fn is_write_vectored(&self) -> bool {
        self.0.lock().stream.is_write_vectored()
    }
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0.lock().stream).poll_flush(context)
    }
    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0.lock().stream).poll_shutdown(context)
    }
}
