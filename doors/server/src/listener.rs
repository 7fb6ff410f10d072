//! The listener: owns the sockets, feeds connections, and never lets one of them wait for another.
//!
//! Each connection has an asynchronous reader, which puts messages together and notices RESET while a query runs, and one blocking
//! thread for its conversation. Writing waits for the client, and so holds back the query: a slow client costs bounded memory. A client
//! that is gone, or a server that ends, is noticed by the reader, which ends the query and a write that waits.

use crate::bolt::chunks::Assembler;
use crate::bolt::connection::{Connection, Next, Sink};
use crate::bolt::handshake::{self, HANDSHAKE_BYTES};
use database::Database;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Handle, Runtime};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

/// Connections served at once; each has a thread. One more is closed at once.
pub const CONNECTIONS_MAX: usize = 1_024;
/// Messages read ahead of a connection that is busy.
const MESSAGES_AHEAD_MAX: usize = 64;
/// Bytes of such messages; the one that goes beyond is still read.
const BYTES_AHEAD_MAX: usize = 1 << 20;
/// A client that connects and says nothing is let go.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(15);
const READ_BYTES: usize = 64 << 10;

/// Where to listen.
#[derive(Clone, Debug)]
pub struct ServeOptions {
    /// Address of the Bolt door.
    pub bolt: String,
}

/// Why the server did not start.
#[derive(Debug)]
pub enum ServeError {
    /// The address is none.
    Address(String),
    /// An address that others can reach, while no users exist.
    NotLoopback(SocketAddr),
    /// The system refused.
    Io(String, std::io::Error),
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServeError::Address(address) => {
                write!(f, "`{address}` is not an address\nhint: addresses look like 127.0.0.1:7687")
            }
            ServeError::NotLoopback(address) => write!(
                f,
                "{address} can be reached by others, and no users are set up\nhint: listen on 127.0.0.1, where no password is asked"
            ),
            ServeError::Io(address, error) => write!(f, "cannot listen on {address}: {error}"),
        }
    }
}

impl std::error::Error for ServeError {}

/// A running server. Dropping it closes every connection.
pub struct Server {
    runtime: Option<Runtime>,
    address: SocketAddr,
    stop: watch::Sender<bool>,
    open: Arc<AtomicUsize>,
}

impl Server {
    /// Listens; ready when this returns.
    pub fn start(database: Database, options: &ServeOptions) -> Result<Server, ServeError> {
        let address = loopback(&options.bolt)?;
        let failed = |error| ServeError::Io(address.to_string(), error);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(CONNECTIONS_MAX + 8)
            .thread_name("bolt")
            .enable_all()
            .build()
            .map_err(failed)?;
        let listener = runtime.block_on(TcpListener::bind(address)).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        let (stop, stopped) = watch::channel(false);
        let open = Arc::new(AtomicUsize::new(0));
        runtime.spawn(accept(listener, database, stopped, open.clone()));
        Ok(Server { runtime: Some(runtime), address, stop, open })
    }
    /// Where it listens; the port is the one the system chose if 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
    /// Connections open now.
    pub fn connections(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }
    /// Waits until the process is asked to end (Ctrl-C or SIGTERM).
    pub fn wait_for_signal(&self) {
        let Some(runtime) = &self.runtime else { return };
        runtime.block_on(async {
            let mut terminate = match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
                Ok(terminate) => terminate,
                Err(_) => return drop(tokio::signal::ctrl_c().await),
            };
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = terminate.recv() => {}
            }
        });
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Without a receiver left there is nobody to tell.
        let _ = self.stop.send(true);
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(Duration::from_secs(2));
        }
    }
}

fn loopback(text: &str) -> Result<SocketAddr, ServeError> {
    let text = text.replace("localhost", "127.0.0.1");
    let address: SocketAddr = text.parse().map_err(|_| ServeError::Address(text.clone()))?;
    if address.ip().is_loopback() { Ok(address) } else { Err(ServeError::NotLoopback(address)) }
}

async fn accept(
    listener: TcpListener,
    database: Database,
    mut stopped: watch::Receiver<bool>,
    open: Arc<AtomicUsize>,
) {
    static NUMBER: AtomicU64 = AtomicU64::new(1);
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                // Out of descriptors, usually: let some close.
                Err(_) => {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    continue;
                }
            },
            _ = stopped.changed() => return,
        };
        let Some(slot) = Slot::take(&open) else { continue };
        let (database, stopped) = (database.clone(), stopped.clone());
        tokio::spawn(async move {
            let _slot = slot;
            // How a connection ends is the client's affair: it sees the socket close.
            let _ = converse(stream, database, NUMBER.fetch_add(1, Ordering::Relaxed), stopped).await;
        });
    }
}

/// One of the connections served at once, given back whatever ends it.
struct Slot(Arc<AtomicUsize>);

impl Slot {
    fn take(open: &Arc<AtomicUsize>) -> Option<Slot> {
        let more = |count: usize| (count < CONNECTIONS_MAX).then_some(count + 1);
        open.fetch_update(Ordering::AcqRel, Ordering::Acquire, more).ok().map(|_| Slot(open.clone()))
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

async fn converse(
    mut stream: TcpStream,
    database: Database,
    number: u64,
    mut stopped: watch::Receiver<bool>,
) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let address = stream.local_addr()?.to_string();
    let mut hello = [0; HANDSHAKE_BYTES];
    match tokio::time::timeout(HANDSHAKE_TIMEOUT, stream.read_exact(&mut hello)).await {
        Ok(read) => read?,
        Err(_) => return Ok(()),
    };
    let version = handshake::negotiate(&hello);
    stream.write_all(&handshake::answer(version)).await?;
    let Some(version) = version else { return Ok(()) };

    let connection = Connection::new(&database, version, number, address);
    let (interrupt, interrupter) = connection.interrupter();
    let (reading, writing) = stream.into_split();
    let (sender, receiver) = mpsc::channel(MESSAGES_AHEAD_MAX);
    let (gone, was_gone) = watch::channel(false);
    let sink = SocketSink { socket: writing, runtime: Handle::current(), gone: was_gone };
    let talking = tokio::task::spawn_blocking(move || talk(connection, receiver, sink));
    let ending = Ending { interrupter, gone };
    let on_reset = || {
        interrupt.raise();
        ending.interrupter.interrupt("the client sent RESET");
    };
    tokio::select! {
        _ = read(reading, sender, on_reset) => {}
        _ = stopped.changed() => {}
    }
    drop(ending);
    drop(talking.await);
    Ok(())
}

/// Dropped when the client is gone, or the server ends and drops the conversation where it stands: so does what runs for it.
struct Ending {
    interrupter: database::Interrupter,
    gone: watch::Sender<bool>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        self.interrupter.close();
        // Without a receiver left nobody waits.
        let _ = self.gone.send(true);
    }
}

/// Puts messages together until the client closes, sends nonsense, or the conversation ends.
async fn read(
    mut socket: OwnedReadHalf,
    sender: mpsc::Sender<Message>,
    on_reset: impl Fn(),
) -> std::io::Result<()> {
    let mut assembler = Assembler::default();
    let mut bytes = vec![0; READ_BYTES];
    let ahead = Arc::new(Semaphore::new(BYTES_AHEAD_MAX));
    loop {
        let count = tokio::select! {
            count = socket.read(&mut bytes) => count?,
            () = sender.closed() => return Ok(()),
        };
        if count == 0 {
            return Ok(());
        }
        assembler.feed(&bytes[..count]);
        loop {
            let Ok(next) = assembler.next_message() else { return Ok(()) };
            let Some(message) = next else { break };
            if message.get(1) == Some(&0x0F) {
                on_reset();
            }
            let room = ahead.clone().acquire_many_owned(message.len().min(BYTES_AHEAD_MAX) as u32).await;
            let room = room.expect("the semaphore is never closed");
            if sender.send(Message { bytes: message, _room: room }).await.is_err() {
                return Ok(());
            }
        }
    }
}

/// A message that was read ahead, with the room it takes.
struct Message {
    bytes: Vec<u8>,
    _room: OwnedSemaphorePermit,
}

/// Answers messages as they come; answers go out when there is nothing more to answer.
fn talk(
    mut connection: Connection,
    mut receiver: mpsc::Receiver<Message>,
    mut sink: SocketSink,
) -> std::io::Result<()> {
    loop {
        let message = match receiver.try_recv() {
            Ok(message) => message,
            Err(_) => {
                connection.flush(&mut sink)?;
                let Some(message) = receiver.blocking_recv() else { return Ok(()) };
                message
            }
        };
        if connection.handle(&message.bytes, &mut sink)? == Next::Close {
            return connection.flush(&mut sink);
        }
    }
}

struct SocketSink {
    socket: OwnedWriteHalf,
    runtime: Handle,
    gone: watch::Receiver<bool>,
}

impl Sink for SocketSink {
    fn send(&mut self, mut bytes: &[u8]) -> std::io::Result<()> {
        // Nearly always there is room, and the runtime need not be asked.
        while !bytes.is_empty() {
            match self.socket.try_write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        if bytes.is_empty() {
            return Ok(());
        }
        let (socket, gone) = (&mut self.socket, &mut self.gone);
        self.runtime.block_on(async {
            tokio::select! {
                written = socket.write_all(bytes) => written,
                _ = gone.wait_for(|gone| *gone) => Err(std::io::ErrorKind::ConnectionAborted.into()),
            }
        })
    }
}
