//! `tanglewood kronos`: the event ordering service, a product of its own.

use super::Exit;
use clap::Args;
use database::Error;
use kronos::{KronosServerError, Options, Running, Tls, Tokens, serve};
use server::EndSignal;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// How often a server looks whether it has to end.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Order the events of distributed programs
///
/// Serves Kronos, an event ordering service, over gRPC until Ctrl-C or SIGTERM. It needs no database. Programs create events, say which happens
/// before which, and ask; an order that was answered holds for ever. Several replicas survive the loss of fewer than half of them. Addresses that
/// others can reach need a certificate and tokens.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  tanglewood kronos --data kronos.data\n  tanglewood kronos --listen 127.0.0.1:7701 --data k1 --peers 127.0.0.1:7701,127.0.0.1:7702,127.0.0.1:7703"
)]
pub struct Kronos {
    /// Address for clients and replicas; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7700")]
    listen: SocketAddr,
    /// Folder of the log and the snapshots
    #[arg(long, value_name = "DIR", required_unless_present = "status")]
    data: Option<PathBuf>,
    /// All replicas of a new group, this one among them, separated by commas; the same list for each
    #[arg(long, value_name = "ADDRS", value_delimiter = ',')]
    peers: Vec<String>,
    /// The address under which the others reach this replica, if it is not the one it listens on
    #[arg(long, value_name = "ADDR")]
    advertise: Option<String>,
    /// Wait for an existing group to add this replica (call ChangeMembers), instead of beginning a new one
    #[arg(long, conflicts_with = "peers")]
    join: bool,
    /// Certificate (PEM, the server's own first) for TLS, with clients and between replicas
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key (PEM) of the certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Certificates (PEM) that the other replicas' are checked against; if not said: --tls-cert. With --status: that the replica's is checked against
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// Tokens that clients show, one a line; any of them is good. With --status the first is shown
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Tokens that replicas show each other, one a line: the first is shown, any is good. Members are changed with them, too
    #[arg(long, value_name = "FILE")]
    peer_token_file: Option<PathBuf>,
    /// Listen on an address that others can reach without TLS and tokens
    #[arg(long)]
    insecure: bool,
    /// Address for Prometheus (HTTP, path /metrics), without TLS and passwords: only of this machine, or of a network of your own
    #[arg(long, value_name = "ADDR")]
    metrics: Option<SocketAddr>,
    /// Serve nothing; ask the replica at this address how it stands: leader, members, events, orders, searches, lag
    #[arg(long, value_name = "ADDR", conflicts_with_all = ["data", "peers", "join"])]
    status: Option<String>,
}

impl Kronos {
    pub fn run(self) -> Result<(), Exit> {
        let Some(data) = self.data else {
            return print_status(&self.status.unwrap_or_default(), self.tls_ca, self.token_file);
        };
        if self.tls_ca.is_some() && self.tls_cert.is_none() {
            let error = Error::new("Tanglewood.ClientError.Kronos.Tls", "--tls-ca needs --tls-cert");
            return Err(error.hint("name the server's own certificate and its key, too").into());
        }
        let tokens =
            |file: Option<&PathBuf>| file.map(|file| Tokens::from_file(file)).transpose().map_err(failed);
        let tls = self
            .tls_cert
            .iter()
            .zip(&self.tls_key)
            .next()
            .map(|(certificate, key)| Tls::from_files(certificate, key, self.tls_ca.as_deref()));
        let options = Options {
            advertise: self.advertise,
            peers: self.peers,
            join: self.join,
            tls: tls.transpose().map_err(failed)?,
            tokens: tokens(self.token_file.as_ref())?,
            peer_tokens: tokens(self.peer_token_file.as_ref())?,
            insecure: self.insecure,
            metrics: self.metrics,
            ..Options::new(self.listen, data)
        };
        let running = serve(&options).map_err(failed)?;
        let mut end = EndSignal::catch().map_err(|error| failed(KronosServerError::Listen(error)))?;
        greet(&running, &options);
        let mut notes_read = 0;
        while !end.came() && !running.has_failed() {
            world::threads::sleep(LOOK_EVERY);
            for note in running.notes_from(notes_read) {
                world::files::say(format_args!("note: {note}"));
                notes_read += 1;
            }
        }
        running.stop().map_err(failed)
    }
}

fn print_status(address: &str, tls_ca: Option<PathBuf>, token_file: Option<PathBuf>) -> Result<(), Exit> {
    let tls_ca = tls_ca.map(|file| world::files::read_text(&file)).transpose()?;
    let tokens = token_file.map(|file| Tokens::from_file(&file)).transpose().map_err(failed)?;
    let stats = kronos::status(address, tls_ca.as_deref(), tokens.as_ref().and_then(Tokens::first))
        .map_err(|what| Error::new("Tanglewood.ClientError.Kronos.Status", what))?;
    world::files::stdout().write_all(kronos::status_text(&stats).as_bytes())?;
    Ok(())
}

fn greet(running: &Running, options: &Options) {
    let replicas = match (options.join, options.peers.len()) {
        (true, _) => "waits to be added to a group".to_string(),
        (false, 0) => "one replica".to_string(),
        (false, count) => format!("{count} replicas"),
    };
    let scheme = if options.tls.is_some() { "https" } else { "http" };
    let whom = match (&options.tokens, running.address().ip().is_loopback()) {
        (Some(_), _) => "clients with a token",
        (None, true) => "everyone on this machine; no token is asked",
        (None, false) => "everyone; no token is asked",
    };
    let mut text = format!(
        "listening on {scheme}://{} (gRPC, package kronos.v1)\n  lets in    {whom}\n  data       {}\n  group      {replicas}\n",
        running.address(),
        options.data.display()
    );
    if let Some(address) = running.metrics_address() {
        text += &format!("  metrics    http://{address}/metrics\n");
    }
    let is_safe = options.tls.is_some() && options.tokens.is_some();
    if !running.address().ip().is_loopback() && !is_safe {
        text += "  warning    without TLS and tokens: whoever reaches this address may order events, or read along\n";
    }
    text += "  to end     Ctrl-C\n";
    let mut out = world::files::stdout();
    // A server serves whether or not somebody reads this.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn failed(error: KronosServerError) -> Exit {
    let code = match &error {
        KronosServerError::Listen(_) => "Tanglewood.ClientError.Kronos.Listen",
        KronosServerError::Options(_) => "Tanglewood.ClientError.Kronos.Options",
        KronosServerError::Exposed(_) => "Tanglewood.ClientError.Kronos.NotLoopback",
        KronosServerError::Tls(_) => "Tanglewood.ClientError.Kronos.Tls",
        KronosServerError::Tokens(_) => "Tanglewood.ClientError.Kronos.Tokens",
        KronosServerError::Folder(_) => "Tanglewood.ClientError.Kronos.Folder",
        KronosServerError::Replica(_) => "Tanglewood.DatabaseError.Kronos.Replica",
    };
    let text = error.to_string();
    let (message, hint) = text.split_once("\nhint: ").unwrap_or((&text, ""));
    let hint = (!hint.is_empty()).then(|| hint.to_string());
    Error { hint, ..Error::new(code, message) }.into()
}
