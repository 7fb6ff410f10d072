//! The listener: owns the sockets, feeds connections, and never lets one of them wait for another.
//!
//! Each connection has an asynchronous reader, which puts messages together and notices RESET while a query runs, and one blocking
//! thread for its conversation. Writing waits for the client, and so holds back the query: a slow client costs bounded memory.

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
use tokio::sync::{mpsc, watch};

/// Connections served at once; each has a thread. One more is closed at once.
pub const CONNECTIONS_MAX: usize = 1_024;
/// Messages read ahead of a connection that is busy.
const MESSAGES_AHEAD_MAX: usize = 64;
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
        if open.fetch_add(1, Ordering::AcqRel) >= CONNECTIONS_MAX {
            open.fetch_sub(1, Ordering::AcqRel);
            continue;
        }
        let (database, stopped, open) = (database.clone(), stopped.clone(), open.clone());
        tokio::spawn(async move {
            // How a connection ends is the client's affair: it sees the socket close.
            let _ = converse(stream, database, NUMBER.fetch_add(1, Ordering::Relaxed), stopped).await;
            open.fetch_sub(1, Ordering::AcqRel);
        });
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
    let sink = SocketSink { socket: writing, runtime: Handle::current() };
    let talking = tokio::task::spawn_blocking(move || talk(connection, receiver, sink));
    let on_reset = || {
        interrupt.raise();
        interrupter.interrupt("the client sent RESET");
    };
    tokio::select! {
        _ = read(reading, sender, on_reset) => {}
        _ = stopped.changed() => {}
    }
    // The client is gone, or the server ends: so does what runs for it.
    interrupter.interrupt("the client is gone");
    interrupter.close();
    drop(talking.await);
    Ok(())
}

/// Puts messages together until the client closes, sends nonsense, or the conversation ends.
async fn read(
    mut socket: OwnedReadHalf,
    sender: mpsc::Sender<Vec<u8>>,
    on_reset: impl Fn(),
) -> std::io::Result<()> {
    let mut assembler = Assembler::default();
    let mut bytes = vec![0; READ_BYTES];
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
            if sender.send(message).await.is_err() {
                return Ok(());
            }
        }
    }
}

fn talk(
    mut connection: Connection,
    mut receiver: mpsc::Receiver<Vec<u8>>,
    mut sink: SocketSink,
) -> std::io::Result<()> {
    while let Some(message) = receiver.blocking_recv() {
        if connection.handle(&message, &mut sink)? == Next::Close {
            break;
        }
    }
    Ok(())
}

struct SocketSink {
    socket: OwnedWriteHalf,
    runtime: Handle,
}

impl Sink for SocketSink {
    fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.runtime.block_on(self.socket.write_all(bytes))
    }
}
