//! `tanglewood node`: one process of a cluster.

use super::Exit;
use super::cluster::layout::{Certificates, Layout};
use clap::Args;
use cluster::graph::CheckpointStore;
use cluster::node::{Credentials, NodeParts, NodeRole, RoleParts, RunningNode};
use cluster::{Connect, GateReplica, Sequence, UsageExchange, host};
use database::{Database, Error, Options, ReplicaHost};
use ingest::remote::blobs::NamedFiles;
use server::gremlin::{DEFAULT_SOURCE, Manner, Sources};
use server::users::Gate;
use server::{
    EndSignal, GremlinServeOptions, GremlinServer, HttpServeOptions, HttpServer, ServeOptions, Server, Tls,
};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use truth::{ConnectError, PostgresTruth};
use world::clock;

/// A process tells so often that it lives, and looks so often whether it has to end.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The database that is trusted is waited for so long.
const TRUTH_PATIENCE: Duration = Duration::from_secs(60);
/// A gate whose interfaces are closed answers other processes so long.
const DRAIN: Duration = Duration::from_secs(1);
/// What is told to whoever watches: it lives, and does not serve yet.
pub(super) const LIVES: u8 = b'.';
/// It lives and serves.
pub(super) const SERVES: u8 = b'o';

/// Run one process of a cluster
///
/// A cluster is gates, which clients talk to, shards, which hold the graph, and an oracle, a scribe and a keeper, which agree on the order of commits,
/// beside a PostgreSQL-compatible database that keeps what is committed. `tanglewood cluster up` starts all of them on one machine; this command
/// starts one. It ends with Ctrl-C or SIGTERM.
#[derive(Args)]
#[command(
    after_help = "Example: tanglewood node --truth 'postgres://me@db/tw' --layout cluster.json --roles gate --listen 127.0.0.1:7800 --bolt 127.0.0.1:7687"
)]
pub struct Node {
    /// The database that the cluster trusts: PostgreSQL, or what speaks like it
    #[arg(long, value_name = "URL")]
    truth: String,
    /// What it is: gate, shard, oracle, scribe, keeper, or several of them
    #[arg(long, value_name = "ROLES", value_delimiter = ',', required = true, value_parser = ["gate", "shard", "oracle", "scribe", "keeper"])]
    roles: Vec<String>,
    /// Its address for the other processes, as the layout names it for each of its roles
    #[arg(long, value_name = "ADDR")]
    listen: String,
    /// Where it really listens, if others reach it by another address: behind a proxy, in a container
    #[arg(long, value_name = "ADDR")]
    bind: Option<String>,
    /// The addresses of all processes, and the secret that they share (JSON)
    #[arg(long, value_name = "FILE")]
    layout: PathBuf,
    /// Folder of an oracle, in which it keeps what it decided; of a shard, for its checkpoints; of a gate, for its replica of the graph. With several
    /// roles each has its own below it, such as `shard-0`
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Where a shard stores copies of its checkpoints, and finds the last one if its folder has none: a folder, s3://bucket/prefix, gs://… or az://…
    #[arg(long, value_name = "URL", requires = "data")]
    blobs: Option<String>,
    /// Folder below which a gate makes backups and exports
    #[arg(long, value_name = "DIR")]
    backup_folder: Option<PathBuf>,
    /// Folder that a gate reads files from, in LOAD CSV and its kin
    #[arg(long, value_name = "DIR")]
    import_folder: Option<PathBuf>,
    /// Address of a gate for drivers of Neo4j
    #[arg(long, value_name = "ADDR")]
    bolt: Option<String>,
    /// Address of a gate for drivers of TinkerPop
    #[arg(long, value_name = "ADDR", requires = "bolt")]
    gremlin: Option<String>,
    /// Address of a gate for HTTP
    #[arg(long, value_name = "ADDR", requires = "bolt")]
    http: Option<String>,
    /// End when standard input does, and tell on standard output that it lives
    #[arg(long, hide = true)]
    watched: bool,
}

/// The interfaces of a gate.
struct Interfaces {
    _usage: UsageExchange,
    _http: Option<HttpServer>,
    _gremlin: Option<GremlinServer>,
    _bolt: Server,
}

/// Copies of checkpoints, as the import's reader of URLs has them.
struct StoredCheckpoints(NamedFiles);

impl CheckpointStore for StoredCheckpoints {
    fn put(&self, name: &str, file: &Path) -> Result<(), String> {
        self.0.put(name, file).map_err(|why| format!("{}: {why}", self.0.shown()))
    }
    fn get(&self, name: &str, file: &Path) -> Result<bool, String> {
        self.0.get(name, file).map_err(|why| format!("{}: {why}", self.0.shown()))
    }
}

impl Node {
    fn checkpoint_store(&self) -> Result<Option<Arc<dyn CheckpointStore>>, Error> {
        let Some(url) = &self.blobs else { return Ok(None) };
        let blobs =
            NamedFiles::open(url).map_err(|why| Error::new("Tanglewood.ClientError.Cluster.Blobs", why))?;
        Ok(Some(Arc::new(StoredCheckpoints(blobs))))
    }
    pub fn run(self) -> Result<(), Exit> {
        let layout = Layout::read(&self.layout)?;
        let roles = self.roles(&layout)?;
        let mut parts = Vec::new();
        for role in &roles {
            let truth = Box::new(trusted(&self.truth, || Ok(()))?);
            parts.push(RoleParts { role: *role, truth, folder: self.folder(*role, roles.len()) });
        }
        let mut end = EndSignal::catch()?;
        let tls = layout.peer_tls.as_ref().map(Certificates::of_peers).transpose()?;
        let credentials = Credentials { secret: layout.secret.clone().into_bytes(), tls };
        let interface_tls = layout.interface_tls.as_ref().map(Certificates::of_interfaces).transpose()?;
        let (bind, tau_us) = (self.bind.as_deref(), layout.tau_us);
        let beside = NodeParts { bind, credentials, tau_us, store: self.checkpoint_store()? };
        let node = RunningNode::start(parts, &layout.addresses, beside)
            .map_err(|error| Error::new("Tanglewood.ClientError.Cluster.Address", error.to_string()))?;
        let gate = node.gate(Options::default().memory_bytes);
        let of_gate = |number: &u16| {
            let folder = self.folder(NodeRole::Gate(*number), roles.len())?;
            Some(self.replica(&layout, *number, &folder))
        };
        let replica = gate.as_ref().and_then(|(number, _)| of_gate(number));
        let open = |(_, gate)| {
            let replica = replica.clone().map(|replica| replica as Arc<dyn ReplicaHost>);
            let (backup_folder, import_folder) = (self.backup_folder.clone(), self.import_folder.clone());
            Database::of_gate(gate, replica, Options { backup_folder, import_folder, ..Options::default() })
        };
        let database = gate.map(open).transpose()?;
        let _beginning = replica.filter(|replica| replica.is_there()).map(begin);
        let peers = layout.interfaces.iter().map(|interfaces| interfaces.bolt.clone()).collect();
        let open = |database| self.interfaces(database, peers, interface_tls);
        let interfaces = database.as_ref().map(open).transpose()?.flatten();
        let orphaned = Arc::new(AtomicBool::new(false));
        let _watching = self.watched.then(|| notice_orphaned(orphaned.clone())).transpose()?;
        let (mut out, mut deaf) = (world::files::stdout(), None);
        while !end.came() && !orphaned.load(Ordering::Relaxed) {
            if self.watched {
                let sign = if node.serves() { SERVES } else { LIVES };
                // Who does not listen any more is gone.
                if out.write_all(&[sign]).and_then(|()| out.flush()).is_err() {
                    break;
                }
            }
            if let Some(why) = node.failure() {
                world::files::say(why);
                std::process::exit(1);
            }
            if deaf.is_none() {
                deaf = node.deaf();
                deaf.iter().for_each(world::files::say);
            }
            world::threads::sleep(LOOK_EVERY);
        }
        // Nothing new begins; what was committed gets its version while the gate still answers the others.
        let was_gate = interfaces.is_some();
        drop((interfaces, database));
        if was_gate {
            world::threads::sleep(DRAIN);
        }
        drop(node);
        // The thread that reads standard input may wait there for ever.
        std::process::exit(0)
    }

    /// The roles that the layout has at this address.
    fn roles(&self, layout: &Layout) -> Result<Vec<NodeRole>, Error> {
        let wrong = |message: String| Error::new("Tanglewood.ClientError.Cluster.Layout", message);
        let is_here =
            |role: &NodeRole| role.address(&layout.addresses).map(host) == Some(self.listen.as_str());
        let here: Vec<NodeRole> = NodeRole::all(&layout.addresses).into_iter().filter(is_here).collect();
        for name in &self.roles {
            if !here.iter().any(|role| role.name() == name) {
                return Err(wrong(format!("the layout has no {name} at {}", self.listen)));
            }
        }
        if let Some(role) = here.iter().find(|role| !self.roles.iter().any(|name| role.name() == name)) {
            let message =
                format!("the layout has {} {} at {} as well", role.name(), role.number(), self.listen);
            return Err(
                wrong(message).hint("all roles of an address belong to one process: name them in --roles")
            );
        }
        let count = |name: &str| here.iter().filter(|role| role.name() == name).count();
        if count("gate") > 1 || count("oracle") > 1 {
            let message = format!("the layout has several gates or oracles at {}", self.listen);
            return Err(wrong(message).hint("a process has one gate and one oracle at most"));
        }
        let is_oracle_alone = |data: &PathBuf| world::files::is_folder(&data.join("log"));
        if here.len() > 1 && count("oracle") > 0 && self.data.as_ref().is_some_and(is_oracle_alone) {
            let message = "--data is the folder of an oracle that had a process of its own";
            return Err(wrong(message.into()).hint(
                "with several roles each has its own folder below --data: move it there, as oracle-0 and so on",
            ));
        }
        if self.data.is_none() && count("oracle") > 0 {
            let message = "an oracle needs a folder, in which it keeps what it decided";
            return Err(wrong(message.into()).hint("--data DIR"));
        }
        Ok(here)
    }
    /// The folder of one of so many roles.
    fn folder(&self, role: NodeRole, roles: usize) -> Option<PathBuf> {
        let base = self.data.as_ref()?;
        Some(if roles > 1 { base.join(role.folder()) } else { base.clone() })
    }
    /// The replica of a gate below its folder; nothing is opened yet.
    fn replica(&self, layout: &Layout, gate: u16, folder: &Path) -> Arc<GateReplica> {
        let seat = (gate, layout.addresses.shards.len() as u16);
        Arc::new(GateReplica::new(seat, folder.join("replica"), Options::default(), self.connect()))
    }
    /// Further ways to the database that is trusted.
    fn connect(&self) -> Connect {
        let truth = self.truth.clone();
        Box::new(move || match PostgresTruth::connect(&truth) {
            Ok(truth) => Ok(Box::new(truth) as Box<dyn Sequence + Send>),
            Err(error) => Err(format!("the database that the cluster trusts does not answer: {error}")),
        })
    }
    /// The interfaces of a gate, whose peers are reached at these addresses.
    fn interfaces(
        &self,
        database: &Database,
        peers: Vec<String>,
        tls: Option<Tls>,
    ) -> Result<Option<Interfaces>, Exit> {
        let Some(bolt) = &self.bolt else { return Ok(None) };
        let gate = Gate::of_any(database.users());
        let options = ServeOptions { gate, peers, tls: tls.clone(), ..ServeOptions::at(bolt) };
        let bolt = Server::start(database.clone(), &options).map_err(super::serve::failed)?;
        let gremlin = self.gremlin.as_ref().map(|address| {
            let sources = Sources::from([(DEFAULT_SOURCE.to_string(), database.clone())]);
            let gremlin = GremlinServeOptions {
                address: address.clone(),
                manner: Manner { sources: sources.into(), gate: options.gate.clone(), timeout: None },
                tls: tls.clone(),
                limits: options.limits.clone(),
                cors: Vec::new(),
            };
            GremlinServer::start_beside(&bolt, gremlin)
        });
        let http = self.http.as_ref().map(|address| {
            let http = HttpServeOptions {
                address: address.clone(),
                gate: options.gate.clone(),
                tls: tls.clone(),
                limits: options.limits.clone(),
                cors: Vec::new(),
                metrics_for_everyone: false,
                traces: None,
            };
            HttpServer::start_beside(&bolt, database.clone(), http)
        });
        let (gremlin, http) = (gremlin.transpose(), http.transpose());
        let (gremlin, http) = (gremlin.map_err(super::serve::failed)?, http.map_err(super::serve::failed)?);
        let usage =
            UsageExchange::start(&self.listen, database.clone(), self.connect()).map_err(|error| {
                Error::new(
                    "Tanglewood.DatabaseError.Cluster.Thread",
                    format!("the system gives no thread: {error}"),
                )
            })?;
        Ok(Some(Interfaces { _usage: usage, _http: http, _gremlin: gremlin, _bolt: bolt }))
    }
}

/// Connects, and waits for a database that does not answer yet; meanwhile something is kept going.
pub(super) fn trusted(
    address: &str,
    mut keep: impl FnMut() -> Result<(), Error>,
) -> Result<PostgresTruth, Error> {
    let until_ns = clock::after_ns(TRUTH_PATIENCE);
    loop {
        keep()?;
        match PostgresTruth::connect(address) {
            Ok(truth) => return Ok(truth),
            Err(ConnectError::Address(what)) => {
                return Err(Error::new("Tanglewood.ClientError.Cluster.Truth", what).hint(
                    "--truth 'host=… user=… dbname=… sslmode=verify-full sslrootcert=/…/ca.pem', or a URL",
                ));
            }
            Err(error) if clock::monotonic_ns() > until_ns => {
                let message = format!("the database that the cluster trusts does not answer: {error}");
                return Err(Error::new("Tanglewood.DatabaseError.Cluster.Truth", message));
            }
            Err(_) => world::threads::sleep(LOOK_EVERY),
        }
    }
}

/// Lets a replica go on that was there before; the gate serves meanwhile.
fn begin(replica: Arc<GateReplica>) -> std::io::Result<world::threads::Thread<()>> {
    world::threads::try_spawn("node-replica", move || {
        if let Err(error) = replica.begin() {
            world::files::say(error);
        }
    })
}

/// Whoever started this process has ended when its standard input has.
fn notice_orphaned(orphaned: Arc<AtomicBool>) -> std::io::Result<world::threads::Thread<()>> {
    world::threads::try_spawn("node-parent", move || {
        while world::files::stdin().read(&mut [0]).is_ok_and(|count| count > 0) {}
        orphaned.store(true, Ordering::Relaxed);
    })
}
