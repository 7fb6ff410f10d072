//! A socket whose client must read: a write that makes no progress for too long fails.

use std::future::Future;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// A socket with a time limit for each write.
pub(super) struct Wire {
    socket: TcpStream,
    write_timeout: Duration,
    /// Runs while a write waits for the client.
    waiting: Option<Pin<Box<Sleep>>>,
}

impl Wire {
    pub fn new(socket: TcpStream, write_timeout: Duration) -> Wire {
        Wire { socket, write_timeout, waiting: None }
    }
    fn limited<T>(
        &mut self,
        context: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut TcpStream>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if let Poll::Ready(outcome) = write(Pin::new(&mut self.socket), context) {
            self.waiting = None;
            return Poll::Ready(outcome);
        }
        let write_timeout = self.write_timeout;
        let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(write_timeout)));
        ready!(waiting.as_mut().poll(context));
        Poll::Ready(Err(ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(context, bytes)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.limited(context, |socket, context| socket.poll_write(context, bytes))
    }
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.limited(context, |socket, context| socket.poll_flush(context))
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.limited(context, |socket, context| socket.poll_shutdown(context))
    }
}
