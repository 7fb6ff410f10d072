//! `tanglewood kronos`: the event ordering service, a product of its own.

use super::Exit;
use clap::Args;
use database::Error;
use kronos::{KronosServerError, Options, Running, serve};
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
/// before which, and ask; an order that was answered holds for ever. Several replicas survive the loss of fewer than half of them.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  tanglewood kronos --data kronos.data\n  tanglewood kronos --listen 127.0.0.1:7701 --data k1 --peers 127.0.0.1:7701,127.0.0.1:7702,127.0.0.1:7703"
)]
pub struct Kronos {
    /// Address for clients and replicas; port 0 takes a free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:7700")]
    listen: SocketAddr,
    /// Folder of the log and the snapshots
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
    /// All replicas of a new group, this one among them, separated by commas; the same list for each
    #[arg(long, value_name = "ADDRS", value_delimiter = ',')]
    peers: Vec<String>,
    /// The address under which the others reach this replica, if it is not the one it listens on
    #[arg(long, value_name = "ADDR")]
    advertise: Option<String>,
    /// Wait for an existing group to add this replica (call ChangeMembers), instead of beginning a new one
    #[arg(long, conflicts_with = "peers")]
    join: bool,
}

impl Kronos {
    pub fn run(self) -> Result<(), Exit> {
        let options = Options {
            advertise: self.advertise,
            peers: self.peers,
            join: self.join,
            ..Options::new(self.listen, self.data)
        };
        if !options.peers.is_empty() && !options.peers.contains(&options.address()) {
            let message = format!("--peers does not name this replica, {}", options.address());
            let error = Error::new("Tanglewood.ClientError.Kronos.Peers", message);
            return Err(error.hint("list all replicas, or name this one with --advertise").into());
        }
        let running = serve(&options).map_err(failed)?;
        let mut end = EndSignal::catch().map_err(|error| failed(KronosServerError::Listen(error)))?;
        greet(&running, &options);
        while !end.came() && !running.has_failed() {
            world::threads::sleep(LOOK_EVERY);
        }
        running.stop().map_err(failed)
    }
}

fn greet(running: &Running, options: &Options) {
    let replicas = match (options.join, options.peers.len()) {
        (true, _) => "waits to be added to a group".to_string(),
        (false, 0) => "one replica".to_string(),
        (false, count) => format!("{count} replicas"),
    };
    let mut text = format!(
        "listening on http://{} (gRPC, package kronos.v1)\n  data       {}\n  group      {replicas}\n",
        running.address(),
        options.data.display()
    );
    if !running.address().ip().is_loopback() {
        text += "  warning    without TLS and passwords: whoever reaches this address may order events\n";
    }
    text += "  to end     Ctrl-C\n";
    let mut out = world::files::stdout();
    // A server serves whether or not somebody reads this.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn failed(error: KronosServerError) -> Exit {
    let code = match &error {
        KronosServerError::Listen(_) => "Tanglewood.ClientError.Kronos.Listen",
        KronosServerError::Folder(_) => "Tanglewood.ClientError.Kronos.Folder",
        KronosServerError::Replica(_) => "Tanglewood.DatabaseError.Kronos.Replica",
    };
    Error::new(code, error.to_string()).into()
}
