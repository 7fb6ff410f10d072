//! Traces for a collector of OpenTelemetry, by OTLP over HTTP: a span for each query that is traced, and one for each operator of its plan.
//!
//! Idea: a query's end puts its trace into a queue of bounded length; one thread makes messages of traces and posts them. A slow or lost collector
//! holds up no query: traces that find no room are dropped, and counted. Invariant: every trace is counted once, as sent, dropped or refused,
//! including those that still wait when the server ends (see `trace_counts`). Reading order: `spans` (messages), then this file (queue, thread,
//! HTTP).

mod spans;

use crate::trace_counts::TraceCounts;
use bytes::Bytes;
use database::{QueryTrace, TraceListener};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1;
use hyper::header::{CONTENT_TYPE, HOST};
use hyper::{Request, StatusCode, Uri};
use hyper_util::rt::TokioIo;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;
use spans::Encoder;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;
use tokio::net::TcpStream;
use world::clock::{after_ns, monotonic_ns};
use world::threads::Thread;

/// Queries of one message.
const BATCH_QUERIES_MAX: usize = 256;
/// The longest that a trace waits for others.
const BATCH_WAIT: Duration = Duration::from_secs(1);
/// The longest that a collector may take for one message.
const POST_TIMEOUT: Duration = Duration::from_secs(10);
/// How often a message is sent that the collector cannot take just now.
const TRIES_MAX: u32 = 3;
/// Pause before the first retry; it doubles.
const RETRY_AFTER: Duration = Duration::from_millis(500);
/// Bytes of a collector's answer.
const ANSWER_BYTES_MAX: usize = 64 << 10;
/// Time that the last messages get when the server ends.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// Where collectors take traces, if the address names no path.
const USUAL_PATH: &str = "/v1/traces";

/// Where traces go.
#[derive(Clone, Debug)]
pub struct TelemetryOptions {
    /// The collector's address, such as `http://127.0.0.1:4318`; a path other than `/v1/traces` may stand behind it.
    pub endpoint: String,
    /// `service.name` of the spans.
    pub service: String,
    /// Queries that wait to be sent.
    pub queue: usize,
}

/// Traces on their way. Ends when it is dropped, after the last messages.
pub struct Telemetry {
    queue: SyncSender<TraceOrder>,
    counts: Arc<TraceCounts>,
    thread: Option<Thread<()>>,
}

enum TraceOrder {
    Query(Box<QueryTrace>),
    End,
}

impl Telemetry {
    /// Looks whether traces could be sent there.
    ///
    /// # Errors
    /// The address is none of a collector.
    pub fn check(endpoint: &str) -> Result<(), String> {
        Collector::of(endpoint).map(drop)
    }
    /// Begins to take traces.
    ///
    /// # Errors
    /// The address is none; no thread is to be had.
    pub fn start(options: TelemetryOptions) -> Result<Telemetry, String> {
        let collector = Collector::of(&options.endpoint)?;
        let (queue, orders) = sync_channel(options.queue.max(1));
        let counts = Arc::new(TraceCounts::default());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let counted = counts.clone();
        let work = move || {
            let mut exporter = Exporter {
                collector,
                encoder: Encoder::new(&options.service),
                counts: counted,
                end_ns: None,
            };
            exporter.run(&runtime, &orders);
        };
        let thread = world::threads::try_spawn("traces", work).map_err(|error| error.to_string())?;
        Ok(Telemetry { queue, counts, thread: Some(thread) })
    }
    /// The listener for traces; never blocks.
    pub fn listener(&self) -> TraceListener {
        let (queue, counts) = (self.queue.clone(), self.counts.clone());
        Arc::new(move |trace| {
            if counts.enter() && queue.try_send(TraceOrder::Query(Box::new(trace))).is_err() {
                counts.leave(1, &counts.dropped);
            }
        })
    }
    /// The counters of traces so far.
    pub fn counts(&self) -> &Arc<TraceCounts> {
        &self.counts
    }
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        let until_ns = after_ns(END_TIMEOUT);
        // A queue that is full drains, or its collector is gone.
        while let Err(TrySendError::Full(_)) = self.queue.try_send(TraceOrder::End) {
            if monotonic_ns() > until_ns {
                break;
            }
            world::threads::sleep(Duration::from_millis(5));
        }
        while !thread.is_finished() && monotonic_ns() < until_ns {
            world::threads::sleep(Duration::from_millis(5));
        }
        match thread.is_finished() {
            true => thread.join(),
            // It waits for a collector, and ends with the process.
            false => std::mem::forget(thread),
        }
        self.counts.end();
    }
}

/// Where messages are posted.
#[derive(Debug, PartialEq)]
struct Collector {
    host: String,
    port: u16,
    path: String,
}

impl Collector {
    fn of(endpoint: &str) -> Result<Collector, String> {
        let wrong = |what: &str| {
            format!(
                "`{endpoint}` is no address of a collector: {what}\nhint: write it as http://127.0.0.1:4318"
            )
        };
        let uri: Uri = endpoint.parse().map_err(|_| wrong("it is no URL"))?;
        match uri.scheme_str() {
            Some("http") => {}
            Some("https") => {
                return Err(wrong(
                    "TLS is for a collector beside the server to speak, which passes traces on",
                ));
            }
            _ => return Err(wrong("it does not begin with http://")),
        }
        let host = uri.host().filter(|host| !host.is_empty()).ok_or_else(|| wrong("it names no host"))?;
        let path = match uri.path() {
            "" | "/" => USUAL_PATH,
            path => path,
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        Ok(Collector { host: host.to_string(), port: uri.port_u16().unwrap_or(4318), path: path.to_string() })
    }
}

/// The thread's own.
struct Exporter {
    collector: Collector,
    encoder: Encoder,
    counts: Arc<TraceCounts>,
    /// When it must have ended, once the shutdown has begun.
    end_ns: Option<u64>,
}

impl Exporter {
    fn run(&mut self, runtime: &tokio::runtime::Runtime, orders: &Receiver<TraceOrder>) {
        loop {
            let (batch, ends) = gather(orders);
            if ends {
                self.end_ns = Some(after_ns(END_TIMEOUT));
            }
            if !batch.is_empty() {
                let sent = runtime.block_on(self.post(&batch));
                let counter = if sent { &self.counts.sent } else { &self.counts.refused };
                self.counts.leave(batch.len() as u64, counter);
            }
            if ends {
                return;
            }
        }
    }
    /// Sends a message until the collector takes it or must be given up.
    async fn post(&mut self, batch: &[QueryTrace]) -> bool {
        let message = Bytes::from(self.encoder.message(batch).encode_to_vec());
        let mut wait = RETRY_AFTER;
        for _ in 0..TRIES_MAX {
            let outcome = tokio::time::timeout(POST_TIMEOUT, self.post_once(message.clone())).await;
            match outcome {
                Ok(Ok(PostEnd::Taken)) => return true,
                Ok(Ok(PostEnd::Refused(why))) => {
                    tracing::debug!(target: "tanglewood::server", why, "the collector refused traces");
                    return false;
                }
                Ok(Ok(PostEnd::Busy)) | Ok(Err(_)) | Err(_) => {}
            }
            if self.end_ns.is_some_and(|end_ns| monotonic_ns() >= end_ns) {
                break;
            }
            tokio::time::sleep(wait).await;
            wait *= 2;
        }
        tracing::debug!(target: "tanglewood::server", "the collector of traces cannot be reached");
        false
    }
    async fn post_once(&self, message: Bytes) -> Result<PostEnd, Box<dyn std::error::Error + Send + Sync>> {
        let Collector { host, port, path } = &self.collector;
        let socket = TcpStream::connect((host.as_str(), *port)).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(socket)).await?;
        let driven = tokio::spawn(connection);
        let request = Request::post(path)
            .header(HOST, format!("{host}:{port}"))
            .header(CONTENT_TYPE, "application/x-protobuf")
            .body(Full::new(message))?;
        let answer = sender.send_request(request).await?;
        let status = answer.status();
        let body = Limited::new(answer.into_body(), ANSWER_BYTES_MAX).collect().await?.to_bytes();
        drop(sender);
        driven.abort();
        Ok(PostEnd::of(status, &body))
    }
}

/// The collector's answer to a message.
#[derive(Debug, PartialEq)]
enum PostEnd {
    Taken,
    /// It may take it later.
    Busy,
    /// It never will.
    Refused(String),
}

impl PostEnd {
    fn of(status: StatusCode, body: &[u8]) -> PostEnd {
        if status.is_success() {
            let answer = ExportTraceServiceResponse::decode(body).unwrap_or_default();
            return match answer.partial_success.filter(|partial| partial.rejected_spans > 0) {
                Some(partial) => PostEnd::Refused(partial.error_message),
                None => PostEnd::Taken,
            };
        }
        match status.as_u16() {
            // As OTLP has it; all others are for good.
            429 | 502 | 503 | 504 => PostEnd::Busy,
            _ => PostEnd::Refused(status.to_string()),
        }
    }
}

/// The next traces, as many as wait or come in a moment; and whether it is over.
fn gather(orders: &Receiver<TraceOrder>) -> (Vec<QueryTrace>, bool) {
    let mut batch = Vec::new();
    let Ok(first) = orders.recv() else { return (batch, true) };
    let until_ns = after_ns(BATCH_WAIT);
    let mut next = Some(first);
    loop {
        match next.take() {
            Some(TraceOrder::Query(query)) => batch.push(*query),
            Some(TraceOrder::End) => return (batch, true),
            None => {}
        }
        if batch.len() == BATCH_QUERIES_MAX {
            return (batch, false);
        }
        let left = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
        match orders.recv_timeout(left) {
            Ok(order) => next = Some(order),
            Err(RecvTimeoutError::Timeout) => return (batch, false),
            Err(RecvTimeoutError::Disconnected) => return (batch, true),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_collectors() {
        let of = |text: &str| Collector::of(text).map(|target| (target.host, target.port, target.path));
        let target = |host: &str, port, path: &str| Ok((host.to_string(), port, path.to_string()));
        assert_eq!(of("http://127.0.0.1:4318"), target("127.0.0.1", 4318, "/v1/traces"));
        assert_eq!(of("http://collector/"), target("collector", 4318, "/v1/traces"));
        assert_eq!(of("http://[::1]:80/otlp/v1/traces"), target("::1", 80, "/otlp/v1/traces"));
        for wrong in ["", "collector:4318", "https://collector", "ftp://collector", "http://", "/v1/traces"] {
            assert!(of(wrong).is_err_and(|why| why.contains("hint: ")), "{wrong}");
        }
    }

    #[test]
    fn answers_of_collectors() {
        let of = |status: u16, body: &[u8]| PostEnd::of(StatusCode::from_u16(status).unwrap(), body);
        assert_eq!(of(200, b""), PostEnd::Taken);
        assert_eq!(of(200, b"no message"), PostEnd::Taken);
        assert_eq!(of(503, b""), PostEnd::Busy);
        assert!(matches!(of(400, b""), PostEnd::Refused(_)));
        let partial = opentelemetry_proto::tonic::collector::trace::v1::ExportTracePartialSuccess {
            rejected_spans: 1,
            error_message: "too old".into(),
        };
        let answer = ExportTraceServiceResponse { partial_success: Some(partial) };
        assert_eq!(of(200, &answer.encode_to_vec()), PostEnd::Refused("too old".into()));
    }
}
