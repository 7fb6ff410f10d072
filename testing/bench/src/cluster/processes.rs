//! A cluster, or a server of one process, that this program starts, queries for its state, and ends.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "a port that is free now")]

use super::told;
use database::entity::Hydrated;
use database::{Params, Value};
use serde_json::Value as Json;
use server::client::{Address, Client, ClientOptions};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use world::clock::monotonic_ns;

/// A server that does not answer by then does not come up.
const ANSWERS_WITHIN_NS: u64 = 20_000_000_000;

/// A cluster; it is ended when this goes.
pub struct Cluster {
    program: PathBuf,
    folder: PathBuf,
    status: Json,
    /// How long it took until it served.
    pub up_seconds: f64,
}

/// Counters of the gates and shards.
#[derive(Clone, Copy, Default)]
pub struct Figures {
    pub commits: f64,
    pub groups: f64,
    pub announcements: f64,
    pub nops: f64,
    pub questions: f64,
    pub reads: f64,
    pub read_stamps: f64,
    pub wants: f64,
    pub late: f64,
    /// Of the last gate.
    pub tau_us: f64,
}

impl Figures {
    /// The difference to earlier counters.
    pub fn since(self, before: &Figures) -> Figures {
        Figures {
            commits: self.commits - before.commits,
            groups: self.groups - before.groups,
            announcements: self.announcements - before.announcements,
            nops: self.nops - before.nops,
            questions: self.questions - before.questions,
            reads: self.reads - before.reads,
            read_stamps: self.read_stamps - before.read_stamps,
            wants: self.wants - before.wants,
            late: self.late - before.late,
            tau_us: self.tau_us,
        }
    }
}

impl Cluster {
    /// Starts one with the content of a database; none where there is no PostgreSQL.
    pub fn up(
        folder: PathBuf,
        (gates, shards): (u16, u16),
        from: &Path,
        more: &[&str],
    ) -> Result<Option<Cluster>, String> {
        let program = std::env::current_exe().map_err(|error| error.to_string())?;
        let mut cluster = Cluster { program, folder, status: Json::Null, up_seconds: 0.0 };
        let began_ns = monotonic_ns();
        let (gates, shards) = (gates.to_string(), shards.to_string());
        let folder = cluster.folder.display().to_string();
        let from = from.display().to_string();
        let usual = ["up", &folder, "--gates", &gates, "--shards", &shards, "--from", &from];
        let up = cluster.command(&[&usual, more].concat())?;
        if !up.status.success() {
            let why = String::from_utf8_lossy(&up.stderr).into_owned();
            return if why.contains("Cluster.NoPostgres") { Ok(None) } else { Err(why) };
        }
        cluster.up_seconds = (monotonic_ns() - began_ns) as f64 / 1e9;
        let status = cluster.command(&["status", &folder, "--json"])?;
        cluster.status = serde_json::from_slice(&status.stdout).map_err(|error| error.to_string())?;
        Ok(Some(cluster))
    }
    fn command(&self, arguments: &[&str]) -> Result<Output, String> {
        Command::new(&self.program).arg("cluster").args(arguments).output().map_err(|error| error.to_string())
    }
    fn processes(&self) -> impl Iterator<Item = &Json> {
        self.status["processes"].as_array().into_iter().flatten()
    }
    /// Processor time that all processes of a role have taken.
    pub fn processor_seconds(&self, role: &str) -> f64 {
        let of_role = self.processes().filter(|process| process["role"] == role);
        of_role.filter_map(|process| crate::timing::processor_seconds(process["pid"].as_u64()? as u32)).sum()
    }
    /// Where the gates listen.
    pub fn gates(&self) -> Vec<String> {
        self.processes().filter_map(|process| Some(format!("bolt://{}", process["bolt"].as_str()?))).collect()
    }
    /// How PostgreSQL is reached.
    pub fn truth(&self) -> Result<String, String> {
        let truth = self.processes().find(|process| process["role"] == "truth");
        let listen = truth.and_then(|process| process["listen"].as_str());
        listen.map(str::to_string).ok_or_else(|| "the cluster's own PostgreSQL is not listed".to_string())
    }
    /// Bytes of a record of the log, of those that were made last.
    pub fn record_bytes(&self) -> Result<usize, String> {
        super::bare::record_bytes(&self.truth()?)
    }
    /// Sums `SHOW ORDER` over the gates; the counters of shards are the same at every gate.
    pub fn figures(&self) -> Result<Figures, String> {
        let mut figures = Figures::default();
        for url in self.gates() {
            let address = Address::parse(&url).map_err(|error| told(&error))?;
            let mut client =
                Client::connect(&address, ClientOptions::default()).map_err(|error| told(&error))?;
            let mut rows =
                client.run("SHOW ORDER YIELD name, value", &Params::new()).map_err(|error| told(&error))?;
            while let Some(some) = rows.next_rows().map_err(|error| told(&error))? {
                for row in some {
                    let [Hydrated::Plain(Value::String(name)), Hydrated::Plain(Value::Int(value))] = &row[..]
                    else {
                        continue;
                    };
                    let value = *value as f64;
                    match &**name {
                        "commits" => figures.commits += value,
                        "groups" => figures.groups += value,
                        "announcements" => figures.announcements += value,
                        "nops" => figures.nops += value,
                        "reads" => figures.reads += value,
                        "readStamps" => figures.read_stamps += value,
                        "wants" => figures.wants = value,
                        "late" => figures.late += value,
                        "questions" => figures.questions = value,
                        "tauMicros" => figures.tau_us = value,
                        _ => {}
                    }
                }
            }
        }
        Ok(figures)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let folder = self.folder.display().to_string();
        if let Err(error) = self.command(&["down", &folder]) {
            eprintln!("the cluster in {folder} could not be ended: {error}");
        }
    }
}

/// A server of one process; it is ended when this goes.
pub struct Server {
    child: Child,
    pub url: String,
}

impl Server {
    /// Starts one over a database, and returns when it answers.
    pub fn start(database: &Path) -> Result<Server, String> {
        let told = |error: std::io::Error| error.to_string();
        let free = std::net::TcpListener::bind("127.0.0.1:0").and_then(|bound| bound.local_addr());
        let address = free.map_err(told)?.to_string();
        let program = std::env::current_exe().map_err(told)?;
        let mut command = Command::new(program);
        command.arg("serve").arg(database).args(["--bolt", &address]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(told)?;
        let server = Server { child, url: format!("bolt://{address}") };
        let until_ns = monotonic_ns() + ANSWERS_WITHIN_NS;
        while let Err(error) = super::client::connect(&server.url) {
            if monotonic_ns() > until_ns {
                return Err(error);
            }
            world::threads::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that has ended already has nothing more to say.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
