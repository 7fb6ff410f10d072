//! Limits on connections, in all and from one address: one beyond the limit is closed at once.
//!
//! Idea: clients that open connections and stay silent must not take the places of others, so one address may have at most three quarters of them.

use crate::KronosServerError;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;
use tokio_stream::wrappers::TcpListenerStream;
use tokio_stream::{Stream, StreamExt};
use tonic::transport::server::{Connected, TcpConnectInfo};

/// Connections served at once.
pub const CONNECTIONS_MAX: usize = 4_096;
/// Of these, connections of one address.
pub const CONNECTIONS_PER_ADDRESS_MAX: usize = CONNECTIONS_MAX / 4 * 3;

/// After an accept that failed, for want of file descriptors for example: the listener would fail again at once.
pub(crate) const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Slots that are taken, by address.
#[derive(Default)]
struct AdmissionSlots {
    taken: Mutex<HashMap<IpAddr, usize>>,
}

impl AdmissionSlots {
    fn take(self: &Arc<AdmissionSlots>, address: IpAddr) -> Option<AdmissionSlot> {
        let mut taken = self.taken.lock();
        if taken.values().sum::<usize>() >= CONNECTIONS_MAX {
            return None;
        }
        let of_address = taken.entry(address).or_insert(0);
        if *of_address >= CONNECTIONS_PER_ADDRESS_MAX {
            return None;
        }
        *of_address += 1;
        Some(AdmissionSlot { slots: self.clone(), address })
    }
}

/// One slot, until it is dropped.
struct AdmissionSlot {
    slots: Arc<AdmissionSlots>,
    address: IpAddr,
}

impl Drop for AdmissionSlot {
    fn drop(&mut self) {
        let mut taken = self.slots.taken.lock();
        if let Some(count) = taken.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.address);
            }
        }
    }
}

/// A connection that has a slot.
pub(crate) struct Served {
    stream: TcpStream,
    _slot: AdmissionSlot,
}

/// Connections as they come, without those that find no slot.
pub(crate) fn served(listener: TcpListenerStream) -> impl Stream<Item = io::Result<Served>> {
    let slots = Arc::new(AdmissionSlots::default());
    Accepted { incoming: listener, pause: None }.filter_map(move |stream| {
        // Of a listener that is handed over, the library leaves connections as they are: an answer would wait until the one before it is acknowledged.
        stream.set_nodelay(true).ok()?;
        let address = stream.peer_addr().ok()?.ip();
        slots.take(address).map(|slot| Ok(Served { stream, _slot: slot }))
    })
}

/// The outcome of accepting. After a failure nothing is tried for [`ACCEPT_PAUSE`].
struct Accepted<S> {
    incoming: S,
    pause: Option<Pin<Box<Sleep>>>,
}

impl<T, S: Stream<Item = io::Result<T>> + Unpin> Stream for Accepted<S> {
    type Item = T;
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        loop {
            if let Some(pause) = &mut self.pause {
                std::task::ready!(pause.as_mut().poll(context));
                self.pause = None;
            }
            match std::task::ready!(Pin::new(&mut self.incoming).poll_next(context)) {
                Some(Ok(one)) => return Poll::Ready(Some(one)),
                Some(Err(_)) => self.pause = Some(Box::pin(tokio::time::sleep(ACCEPT_PAUSE))),
                None => return Poll::Ready(None),
            }
        }
    }
}

/// Listens on an address.
///
/// # Errors
/// It is taken, or none of this machine's.
pub(crate) async fn listen(
    address: SocketAddr,
) -> Result<(SocketAddr, TcpListenerStream), KronosServerError> {
    let listener = tokio::net::TcpListener::bind(address).await.map_err(KronosServerError::Listen)?;
    let address = listener.local_addr().map_err(KronosServerError::Listen)?;
    Ok((address, TcpListenerStream::new(listener)))
}

impl Connected for Served {
    type ConnectInfo = TcpConnectInfo;
    fn connect_info(&self) -> TcpConnectInfo {
        self.stream.connect_info()
    }
}

impl AsyncRead for Served {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Served {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }
    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A past fault: a listener that had no file descriptor left was asked again at once, for ever.
    #[tokio::test]
    async fn an_accept_that_fails_is_not_tried_again_at_once() {
        let failed = || Err(io::Error::from(io::ErrorKind::Other));
        let incoming = tokio_stream::iter([Ok(1), failed(), failed(), Ok(2)]);
        let began = tokio::time::Instant::now();
        let mut accepted = Accepted { incoming, pause: None };
        assert_eq!(accepted.next().await, Some(1));
        assert!(began.elapsed() < ACCEPT_PAUSE);
        assert_eq!((accepted.next().await, accepted.next().await), (Some(2), None));
        assert!(began.elapsed() >= 2 * ACCEPT_PAUSE);
    }

    /// A second answer waited up to 40 ms until the first was acknowledged.
    #[tokio::test]
    async fn connections_send_at_once() {
        let (address, listener) = listen(SocketAddr::from(([127, 0, 0, 1], 0))).await.expect("a port");
        let _client = TcpStream::connect(address).await.expect("it listens");
        let mut served = std::pin::pin!(served(listener));
        let first = served.next().await.expect("it was accepted").expect("it was accepted");
        assert!(first.stream.nodelay().expect("a socket"));
    }

    #[test]
    fn places_are_bounded_and_given_back() {
        let slots = Arc::new(AdmissionSlots::default());
        let address = |last: u8| IpAddr::from([10, 0, 0, last]);
        let mut first: Vec<AdmissionSlot> =
            (0..CONNECTIONS_PER_ADDRESS_MAX).filter_map(|_| slots.take(address(1))).collect();
        assert_eq!(first.len(), CONNECTIONS_PER_ADDRESS_MAX);
        assert!(slots.take(address(1)).is_none(), "an address has no more");
        let left = CONNECTIONS_MAX - CONNECTIONS_PER_ADDRESS_MAX;
        let others: Vec<AdmissionSlot> = (0..left).filter_map(|_| slots.take(address(2))).collect();
        assert_eq!(others.len(), left);
        assert!(slots.take(address(3)).is_none(), "there are no more");
        first.pop();
        assert!(slots.take(address(3)).is_some());
        drop((first, others));
        assert!(slots.taken.lock().is_empty());
    }
}
