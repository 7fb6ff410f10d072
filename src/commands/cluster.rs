//! `tanglewood cluster`: a whole cluster on one machine.

pub(super) mod layout;
mod load;
mod postgres;
mod status;
mod up;
mod watch;

use super::Exit;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Run a whole cluster on one machine
///
/// `up` starts gates, shards, oracles, scribe and keeper as processes of their own, and PostgreSQL where no --truth is given, and returns when drivers are
/// served. A process that is killed or hangs is started again, and recovers from the database that is trusted. `down` ends them all; what was
/// committed stays.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  tanglewood cluster up c1 --gates 2 --shards 3\n  tanglewood cluster up c2 --from people.db\n  tanglewood cluster status c1 --json\n  tanglewood cluster down c1"
)]
pub struct Cluster {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Start a cluster, and return when it serves
    Up(Box<Up>),
    /// Tell which processes there are, and where gates listen
    Status(Status),
    /// End a cluster
    Down(Down),
    /// Start the processes and watch them
    #[command(hide = true)]
    Watch(Watch),
}

/// Start a cluster, and return when it serves
#[derive(Args)]
struct Up {
    /// Folder of the cluster
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Gates, which drivers talk to
    #[arg(long, value_name = "COUNT", default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..=16))]
    gates: u16,
    /// Shards, which hold the graph
    #[arg(long, value_name = "COUNT", default_value_t = 3, value_parser = clap::value_parser!(u16).range(1..=64))]
    shards: u16,
    /// Replicas of the oracle, of which a majority must live; three let one be lost
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = odd)]
    oracles: u16,
    /// Processes that share these roles among them, at least as many as gates and as oracles; if not said, each role has its own
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=128))]
    processes: Option<u16>,
    /// The database that the cluster trusts; if not said, PostgreSQL is started in the folder
    #[arg(long, value_name = "URL")]
    truth: Option<String>,
    /// Begin with the content of this database or backup of one machine; for a cluster that is made now
    #[arg(long, value_name = "DB")]
    from: Option<PathBuf>,
    /// Microseconds between the announcements of a gate's clock; if not said, each gate adapts them to what they save
    #[arg(long, value_name = "MICROSECONDS", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    tau_us: Option<u64>,
    /// Where shards store copies of their checkpoints, so that a machine that is lost costs little: a folder that outlives it, s3://bucket/prefix,
    /// gs://… or az://…
    #[arg(long, value_name = "URL")]
    blobs: Option<String>,
    /// Certificates (PEM) that gates show to drivers, who then speak TLS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key (PEM) of --tls-cert
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Certificates (PEM) that processes show to each other, for all addresses at which they are reached
    #[arg(long, value_name = "FILE", requires_all = ["peer_key", "peer_ca"])]
    peer_cert: Option<PathBuf>,
    /// The private key (PEM) of --peer-cert
    #[arg(long, value_name = "FILE", requires = "peer_cert")]
    peer_key: Option<PathBuf>,
    /// Certificates (PEM) of who signs those of all processes; others are not taken
    #[arg(long, value_name = "FILE", requires = "peer_cert")]
    peer_ca: Option<PathBuf>,
}

/// Tell which processes there are
#[derive(Args)]
struct Status {
    /// Folder of the cluster
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// As JSON: state, and each process with role, number, pid and addresses
    #[arg(long)]
    json: bool,
}

/// End a cluster
#[derive(Args)]
struct Down {
    /// Folder of the cluster
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Start the processes and watch them
#[derive(Args)]
struct Watch {
    /// Folder of the cluster
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// A number of replicas that has a majority of its own.
fn odd(text: &str) -> Result<u16, String> {
    match text {
        "1" => Ok(1),
        "3" => Ok(3),
        "5" => Ok(5),
        _ => Err("1, 3 or 5: with an even number no more of them may be lost".into()),
    }
}

impl Cluster {
    pub fn run(self) -> Result<(), Exit> {
        match self.command {
            Command::Up(up) => up::up(&up),
            Command::Status(status) => status::print(&status.folder, status.json),
            Command::Down(down) => up::down(&down.folder),
            Command::Watch(watch) => watch::watch(&watch.folder),
        }
    }
}
