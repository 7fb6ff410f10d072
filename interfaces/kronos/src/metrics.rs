//! Counters of a replica, for Prometheus: `GET /metrics` over HTTP, in its text format.
//!
//! Limits: connections at once, bytes and time of a request. A connection serves one request.

use crate::admission::ACCEPT_PAUSE;
use crate::service::Service;
use crate::wire::v1::StatsResponse;
use std::fmt::Write;
use std::io::ErrorKind;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Connections at once; others wait to be accepted.
const CONNECTIONS_MAX: usize = 16;
/// Bytes of a request with its headers.
const REQUEST_BYTES_MAX: usize = 8 << 10;
/// Time for a request and its answer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(5);

/// Serves until it is dropped.
pub(crate) async fn serve(listener: TcpListener, service: Arc<Service>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        let Ok(place) = places.clone().acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let service = service.clone();
                tokio::spawn(async move {
                    // A client that is slow, gone, or says something else, is none of our concern.
                    let _ = timeout(REQUEST_TIMEOUT, answer(&stream, &service)).await;
                    drop(place);
                });
            }
            Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
        }
    }
}

async fn answer(stream: &TcpStream, service: &Service) -> std::io::Result<()> {
    let request = read_head(stream).await?;
    let (status, body) = match request.split_whitespace().take(2).collect::<Vec<_>>().as_slice() {
        ["GET", "/metrics"] => match service.stats_now().await {
            Ok(stats) => ("200 OK", text(&stats)),
            Err(status) => ("503 Service Unavailable", status.message().to_string()),
        },
        ["GET", _] => ("404 Not Found", "ask for /metrics\n".into()),
        _ => ("405 Method Not Allowed", "only GET /metrics is served\n".into()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    write_all(stream, (head + &body).as_bytes()).await
}

async fn read_head(stream: &TcpStream) -> std::io::Result<String> {
    let mut head = Vec::new();
    let mut buffer = [0; 1_024];
    while !head.windows(4).any(|four| four == b"\r\n\r\n") && head.len() < REQUEST_BYTES_MAX {
        stream.readable().await?;
        match stream.try_read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => head.extend_from_slice(&buffer[..read]),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

async fn write_all(stream: &TcpStream, mut bytes: &[u8]) -> std::io::Result<()> {
    while !bytes.is_empty() {
        stream.writable().await?;
        match stream.try_write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// One metric a line, with its help and kind before it.
fn text(stats: &StatsResponse) -> String {
    let mut text = String::new();
    let mut put = |name: &str, kind: &str, help: &str, value: u64| {
        // A String takes what is written.
        let _ =
            writeln!(text, "# HELP kronos_{name} {help}\n# TYPE kronos_{name} {kind}\nkronos_{name} {value}");
    };
    put("events", "gauge", "Events that live.", stats.events);
    put("references", "gauge", "References held to them.", stats.references);
    put("edges", "gauge", "Orders between them.", stats.edges);
    put("sessions", "gauge", "Sessions that live.", stats.sessions);
    put("bytes", "gauge", "Bytes of events, orders and searches.", stats.bytes);
    put("created_total", "counter", "Events created since the group began.", stats.created);
    put("collected_total", "counter", "Events collected since the group began.", stats.collected);
    put("searches_total", "counter", "Searches made by this process.", stats.searches);
    put("visited_total", "counter", "Events visited by these searches.", stats.visited);
    put("questions_total", "counter", "Pairs whose order was asked of this process.", stats.questions);
    put("confirmed_total", "counter", "Calls that waited for the leader to confirm.", stats.confirmed);
    put("leads", "gauge", "1 where this replica leads.", u64::from(stats.leads));
    put("has_leader", "gauge", "1 where this replica knows who leads.", u64::from(!stats.leader.is_empty()));
    put("term", "gauge", "The election that the group is in.", stats.term);
    put("members", "gauge", "Replicas of the group.", stats.members.len() as u64);
    put("committed", "counter", "The last entry known to be committed.", stats.committed);
    put("applied", "counter", "The last entry applied.", stats.applied);
    put("lag", "gauge", "Entries that are committed and not applied here.", stats.lag);
    put("slowest_lag", "gauge", "At the leader: entries that the slowest replica lacks.", stats.slowest_lag);
    put("log_bytes", "gauge", "Bytes of the log on disk.", stats.log_bytes);
    text
}
