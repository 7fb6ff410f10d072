//! How a replica stands, for people: one `Stats` call, and its answer as lines.

use crate::wire::v1::kronos_client::KronosClient;
use crate::wire::v1::{StatsRequest, StatsResponse};
use std::fmt::Write;
use std::time::Duration;
use tonic::Request;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint};

/// How long a replica may take to answer.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Asks the replica at this address, over TLS if a certificate authority (PEM) is given, and with a token if one is given.
///
/// # Errors
/// The address or another argument cannot be used, there is no answer within five seconds, or the replica refuses.
pub fn status(address: &str, tls_ca: Option<&str>, token: Option<&str>) -> Result<StatsResponse, String> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    runtime.block_on(ask(address, tls_ca, token))
}

async fn ask(address: &str, tls_ca: Option<&str>, token: Option<&str>) -> Result<StatsResponse, String> {
    let scheme = if tls_ca.is_some() { "https" } else { "http" };
    let mut endpoint = Endpoint::from_shared(format!("{scheme}://{address}"))
        .map_err(|_| format!("`{address}` is no address"))?
        .connect_timeout(TIMEOUT)
        .timeout(TIMEOUT);
    if let Some(pem) = tls_ca {
        let tls = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(pem));
        endpoint =
            endpoint.tls_config(tls).map_err(|error| format!("the certificates cannot be used: {error}"))?;
    }
    let channel = endpoint.connect().await.map_err(|error| match std::error::Error::source(&error) {
        Some(cause) => format!("{address} does not answer: {cause}"),
        None => format!("{address} does not answer: {error}"),
    })?;
    let mut call = Request::new(StatsRequest {});
    if let Some(token) = token {
        let shown =
            format!("Bearer {token}").parse().map_err(|_| "the token has characters that cannot be sent")?;
        call.metadata_mut().insert("authorization", shown);
    }
    let stats = KronosClient::new(channel).stats(call).await;
    Ok(stats.map_err(|status| format!("{address}: {}", status.message()))?.into_inner())
}

/// The answer of a replica, a line a fact.
pub fn status_text(stats: &StatsResponse) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        // A String takes what is written.
        let _ = writeln!(text, "{name:<11} {value}");
    };
    let role = if stats.leads { "leads" } else { "follows" };
    let leader = if stats.leader.is_empty() { "none is known" } else { &stats.leader };
    line("role", format!("{role}, in term {}", stats.term));
    line("leader", leader.to_string());
    line("members", stats.members.join(", "));
    line(
        "events",
        format!("{} live, {} created, {} collected", stats.events, stats.created, stats.collected),
    );
    line("orders", stats.edges.to_string());
    line("references", format!("{}, in {} sessions and outside of them", stats.references, stats.sessions));
    line("memory", format!("{} bytes", stats.bytes));
    line("questions", format!("{} pairs; {} calls waited for the leader", stats.questions, stats.confirmed));
    let visited = stats.visited.checked_div(stats.searches).unwrap_or(0);
    line("searches", format!("{}, {visited} events visited by each", stats.searches));
    line(
        "log",
        format!(
            "{} entries committed, {} applied, {} bytes",
            stats.committed, stats.applied, stats.log_bytes
        ),
    );
    let slowest = if stats.leads {
        format!("; the slowest replica lacks {}", stats.slowest_lag)
    } else {
        String::new()
    };
    line("lag", format!("{} entries{slowest}", stats.lag));
    text
}
