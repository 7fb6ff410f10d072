//! The HTTP interface's sockets: a runtime of its own, connections within the limits of all interfaces, an announced shutdown.

use super::metrics;
use super::outlet::{Answer, whole};
use super::page;
use super::presence::{InHand, Presence, Silence};
use super::read_ahead::read_ahead;
use super::route::Route;
use super::tokens::Tokens;
use super::transactions::Transactions;
use super::visitor::{Known, Visitor};
use super::wire::Wire;
use crate::Limits;
use crate::listener::acceptor::{listen, permitted, prepare};
use crate::listener::crowd::{Crowd, Origin};
use crate::listener::{ServeError, Server, Tls};
use crate::trace_counts::TraceCounts;
use crate::users::Gate;
use database::{Database, NamedFigures};
use hyper::body::{Body, Incoming};
use hyper::header::{HOST, HeaderMap};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, StatusCode};
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Handle, Runtime};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

/// Threads that read and write sockets; they wait for nothing else.
const WORKERS: usize = 2;
/// Stack of a thread that runs requests: texts are parsed and planned on it.
const STACK_BYTES: usize = 4 << 20;
/// Time that an interface that closes gives its clients.
const FAREWELL: Duration = Duration::from_secs(2);
/// How often idle transactions are looked for.
const SWEEP_EVERY: Duration = Duration::from_millis(200);
/// Pause when the system gives no more sockets.
const BREATH: Duration = Duration::from_millis(20);

/// The description of the interface (OpenAPI), for generators of clients.
const DESCRIPTION: &str = include_str!("openapi.json");

/// Options of the interface.
#[derive(Clone, Debug)]
pub struct HttpServeOptions {
    /// Its address.
    pub address: String,
    /// Authenticates clients.
    pub gate: Arc<Gate>,
    /// Wraps every connection, where given.
    pub tls: Option<Tls>,
    /// The limits of a client.
    pub limits: Limits,
    /// Sites whose pages may send requests, such as `https://app.example`; `*` for all.
    pub cors: Vec<String>,
    /// May everyone read the metrics, where passwords are demanded?
    pub metrics_for_everyone: bool,
    /// Counters of traces, where they are sent.
    pub traces: Option<Arc<TraceCounts>>,
}

impl HttpServeOptions {
    /// Without passwords and TLS at this address.
    pub fn at(address: &str) -> HttpServeOptions {
        let (gate, limits) = (Gate::open(), Limits::default());
        HttpServeOptions {
            address: address.into(),
            gate,
            tls: None,
            limits,
            cors: Vec::new(),
            metrics_for_everyone: false,
            traces: None,
        }
    }
}

/// Shared by all connections.
pub(super) struct Interface {
    pub database: Database,
    pub gate: Arc<Gate>,
    pub limits: Limits,
    pub cors: Vec<String>,
    pub crowd: Arc<Crowd>,
    pub tokens: Arc<Tokens>,
    pub transactions: Transactions,
    pub runtime: Handle,
    pub connections: AtomicUsize,
    pub is_stopping: AtomicBool,
    /// Where drivers of Neo4j are listened to.
    bolt: Option<SocketAddr>,
    tls: Option<Tls>,
    /// Are the metrics open without a log-on?
    pub metrics_for_everyone: bool,
    pub traces: Option<Arc<TraceCounts>>,
}

/// A running HTTP interface. Dropping it closes every connection.
pub struct HttpServer {
    interface: Arc<Interface>,
    runtime: Option<Runtime>,
    stop: watch::Sender<bool>,
    address: SocketAddr,
}

impl HttpServer {
    /// Listens; ready when this returns.
    ///
    /// # Errors
    /// The address is invalid, taken, or reachable by others while no password is demanded.
    pub fn start(database: Database, options: HttpServeOptions) -> Result<HttpServer, ServeError> {
        let crowd = Crowd::new(&options.limits);
        HttpServer::start_within(database, options, crowd, None)
    }
    /// The same as another interface of a server: limits of all clients hold over all interfaces together.
    ///
    /// # Errors
    /// As [`HttpServer::start`].
    pub fn start_beside(
        server: &Server,
        database: Database,
        options: HttpServeOptions,
    ) -> Result<HttpServer, ServeError> {
        HttpServer::start_within(database, options, server.crowd().clone(), Some(server.address()))
    }
    fn start_within(
        database: Database,
        options: HttpServeOptions,
        crowd: Arc<Crowd>,
        bolt: Option<SocketAddr>,
    ) -> Result<HttpServer, ServeError> {
        let address = permitted(&options.address, &options.gate)?;
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::AddrInUse => ServeError::Taken(address),
            _ => ServeError::Io(address.to_string(), error),
        };
        let runtime = Builder::new_multi_thread()
            .worker_threads(WORKERS)
            // Each connection has one request at a time, so no work waits for a thread.
            .max_blocking_threads(options.limits.connections_max.max(1))
            .thread_stack_size(STACK_BYTES)
            .thread_name("http")
            .enable_all()
            .build()
            .map_err(failed)?;
        let socket = listen(address).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        let listener = {
            let _entered = runtime.enter();
            TcpListener::from_std(socket).map_err(failed)?
        };
        let limits = &options.limits;
        let tokens =
            Arc::new(Tokens::new(limits.token_lifetime, limits.tokens_max, limits.tokens_per_user_max));
        let known = tokens.clone();
        options.gate.take_tokens(move |token| known.find(token));
        let is_wrapped = options.tls.is_some();
        database.set_interface_settings(
            &name(address),
            crate::settings::of_http(address, is_wrapped, &options.cors, limits),
        );
        let interface = Arc::new(Interface {
            database,
            gate: options.gate,
            cors: options.cors,
            crowd,
            tokens,
            transactions: Transactions::new(limits),
            runtime: runtime.handle().clone(),
            connections: AtomicUsize::new(0),
            is_stopping: AtomicBool::new(false),
            bolt,
            tls: options.tls,
            metrics_for_everyone: options.metrics_for_everyone,
            traces: options.traces.clone(),
            limits: options.limits,
        });
        let (stop, stopped) = watch::channel(false);
        runtime.spawn(accept(interface.clone(), listener, stopped));
        runtime.spawn(sweep(interface.clone()));
        Ok(HttpServer { interface, runtime: Some(runtime), stop, address })
    }
    /// Where it listens; if port 0 was requested, with the port that the system chose.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
    /// Connections open now.
    pub fn connections(&self) -> usize {
        self.interface.connections.load(Ordering::Acquire)
    }
    /// Transactions that clients have open between requests.
    pub fn transactions(&self) -> usize {
        self.interface.transactions.count()
    }
}

/// The name under which the database lists the interface's settings.
fn name(address: SocketAddr) -> String {
    format!("http {address}")
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.interface.is_stopping.store(true, Ordering::Release);
        self.interface.database.set_interface_settings(&name(self.address), Vec::new());
        // Nobody listens where there is no connection.
        let _ = self.stop.send(true);
        self.interface.transactions.end_all();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_timeout(FAREWELL);
        }
    }
}

async fn sweep(interface: Arc<Interface>) {
    loop {
        sleep(SWEEP_EVERY.min(interface.limits.transaction_idle_timeout / 2).max(Duration::from_millis(1)))
            .await;
        let swept = interface.clone();
        // A sweep that fails is made again.
        let _ = interface.runtime.spawn_blocking(move || swept.transactions.sweep()).await;
    }
}

async fn accept(interface: Arc<Interface>, listener: TcpListener, stopped: watch::Receiver<bool>) {
    for number in 1.. {
        let Ok((socket, peer)) = listener.accept().await else {
            sleep(BREATH).await;
            continue;
        };
        if *stopped.borrow() {
            return;
        }
        let origin = Origin::from(peer.ip());
        // Whoever is one too many is closed at once.
        let Ok(stranger) = interface.crowd.strangers.take(origin, 1) else { continue };
        let Ok(place) = interface.crowd.places.take(origin, 1) else { continue };
        if prepare(&socket2::SockRef::from(&socket)).is_err() {
            continue;
        }
        let known = Mutex::new(Known::nobody(stranger));
        let (place, presence) = (Arc::new(place), Arc::new(Presence::default()));
        let visitor = Visitor { interface: interface.clone(), peer, origin, number, known, place, presence };
        interface.runtime.spawn(converse(Arc::new(visitor), socket, stopped.clone()));
    }
}

/// One connection, from its first byte to its last.
async fn converse(visitor: Arc<Visitor>, socket: TcpStream, stopped: watch::Receiver<bool>) {
    let interface = visitor.interface.clone();
    interface.connections.fetch_add(1, Ordering::AcqRel);
    let _present = interface.crowd.present("http");
    let wire = Wire::new(socket, interface.limits.write_timeout);
    match &interface.tls {
        None => talk(visitor, wire, stopped).await,
        Some(tls) => {
            // A handshake that fails or takes too long is the client's affair.
            let accepted = TlsAcceptor::from(tls.config()).accept(wire);
            if let Ok(Ok(stream)) = timeout(interface.limits.greeting_timeout, accepted).await {
                talk(visitor, stream, stopped).await;
            }
        }
    }
    interface.connections.fetch_sub(1, Ordering::AcqRel);
}

async fn talk(
    visitor: Arc<Visitor>,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    mut stopped: watch::Receiver<bool>,
) {
    let limits = visitor.interface.limits.clone();
    let (served, mut silence) = (visitor.clone(), Silence::new(&limits));
    let (stream, lookout) = read_ahead(stream, visitor.presence.clone());
    let service = service_fn(move |request: Request<Incoming>| {
        let in_hand = served.presence.take_in_hand(!request.body().is_end_stream());
        let visitor = served.clone();
        async move { Ok::<_, Infallible>(visitor.answer(request).await.map(|body| InHand::new(body, in_hand))) }
    });
    let mut connection = pin!(
        http1::Builder::new()
            // Heads are waited for here, since a client that is known may be silent for longer between two requests.
            .header_read_timeout(None)
            .max_header_size(limits.head_bytes_max)
            .max_headers(limits.headers_max)
            .serve_connection(TokioIo::new(stream), service)
    );
    let mut stopping = pin!(async move {
        // An interface that is gone has stopped.
        let _ = stopped.wait_for(|stopped| *stopped).await;
    });
    let mut is_stopping = false;
    poll_fn(|context| {
        if !is_stopping && stopping.as_mut().poll(context).is_ready() {
            is_stopping = true;
            connection.as_mut().graceful_shutdown();
        }
        // How a connection ends is the client's affair: it sees the socket close.
        let has_ended = connection.as_mut().poll(context).is_ready();
        // What runs for a client that is gone ends with the connection.
        if has_ended || visitor.presence.is_attended() && lookout.poll_end(context).is_ready() {
            return Poll::Ready(());
        }
        silence.poll_over(&visitor.presence, visitor.is_known(), context)
    })
    .await;
}

impl Interface {
    /// Answers requests that do not need the database.
    pub fn public(&self, route: &Route, headers: &HeaderMap) -> Answer {
        let json = "application/json";
        match route {
            Route::Health => self.health(),
            Route::Ready => match self.is_stopping.load(Ordering::Acquire) || self.database.is_draining() {
                false => whole(StatusCode::OK, json, r#"{"status":"ready"}"#),
                true => whole(StatusCode::SERVICE_UNAVAILABLE, json, r#"{"status":"stopping"}"#),
            },
            Route::Description => whole(StatusCode::OK, json, DESCRIPTION),
            Route::Metrics => self.metrics(NamedFigures::default()),
            Route::Page(file) => file.answer(headers),
            _ if page::is_wanted(headers) => page::index(headers),
            _ => whole(StatusCode::OK, json, self.discovery(headers).to_string()),
        }
    }
    /// Says that the process answers; a failing checkpoint is reported beside, since a database serves without it.
    fn health(&self) -> Answer {
        let checkpoint = if self.database.checkpoint_failure().is_some() { "failing" } else { "ok" };
        let body = serde_json::json!({ "status": "up", "checkpoint": checkpoint });
        whole(StatusCode::OK, "application/json", body.to_string())
    }
    /// The metrics, with the names that may be shown.
    pub fn metrics(&self, named: NamedFigures) -> Answer {
        whole(StatusCode::OK, "text/plain; version=0.0.4; charset=utf-8", metrics::text(self, named))
    }
    /// The document at the root for drivers and tools.
    fn discovery(&self, headers: &HeaderMap) -> serde_json::Value {
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let secure = if self.tls.is_some() { "s" } else { "" };
        let mut fields = serde_json::json!({
            "query": format!("http{secure}://{host}/db/{{databaseName}}/query/v2"),
            "subscriptions": format!("http{secure}://{host}/db/{{databaseName}}/subscriptions/{{name}}"),
            "description": format!("http{secure}://{host}/openapi.json"),
            "neo4j_version": "5.26.0",
            "neo4j_edition": "community",
            "tanglewood_version": env!("CARGO_PKG_VERSION"),
            "auth_enabled": self.gate.asks(),
        });
        if let Some(bolt) = self.bolt {
            // Under the name by which the client came, and the other interface's port.
            let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
            let ssl = if self.tls.is_some() { "+s" } else { "" };
            fields["bolt_direct"] = format!("bolt{ssl}://{name}:{}", bolt.port()).into();
            fields["bolt_routing"] = format!("neo4j{ssl}://{name}:{}", bolt.port()).into();
        }
        fields
    }
}
