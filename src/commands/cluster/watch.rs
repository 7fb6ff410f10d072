//! Whoever watches a cluster: starts its processes, and starts one again that has ended or does not tell any more that it lives.
//!
//! Invariant: a process is started again only after the one before it has ended, and been waited for; one that hangs is killed first. So no two of one
//! role ever run at once on this machine. A process has one role or several.

use super::super::{Exit, node};
use super::layout::{self, Interfaces, Layout};
use super::load;
use super::postgres::Postgres;
use super::status;
use cluster::host;
use cluster::node::NodeRole;
use database::Error;
use serde_json::{Value, json};
use server::EndSignal;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use world::clock;
use world::disk::{Disk, RealDisk};

/// How often processes are looked at.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// A process that says nothing for so long is killed: longer than a busy machine lets one wait.
const SILENCE_MAX: Duration = Duration::from_secs(5);
/// A process that has just started may take longer: it waits for the database.
const START_MAX: Duration = Duration::from_secs(90);
/// A process that ends is waited for so long before it is killed.
const END_MAX: Duration = Duration::from_secs(5);
/// A process that ended soon after its start is started again after this.
const AGAIN_AFTER: Duration = Duration::from_millis(500);

/// What a process said last.
#[derive(Default)]
struct Heard {
    at_ns: AtomicU64,
    serves: AtomicBool,
}

struct Process {
    roles: Vec<NodeRole>,
    child: Child,
    heard: Arc<Heard>,
    began_ns: u64,
}

struct Watched {
    folder: PathBuf,
    layout: Layout,
    truth: String,
    postgres: Option<Postgres>,
    processes: Vec<Process>,
    told: String,
}

/// The roles of a process, for people.
fn names(roles: &[NodeRole]) -> String {
    let names: Vec<String> = roles.iter().map(|role| format!("{} {}", role.name(), role.number())).collect();
    names.join(", ")
}

pub fn watch(folder: &Path) -> Result<(), Exit> {
    let mut end = EndSignal::catch()?;
    let layout = Layout::read(&layout::file(folder))?;
    let mut watched = Watched {
        folder: folder.to_path_buf(),
        truth: layout.truth.clone().unwrap_or_default(),
        layout,
        postgres: None,
        processes: Vec::new(),
        told: String::new(),
    };
    watched.tell("starting")?;
    let outcome = watched.serve(&mut end);
    watched.end();
    let _ = world::files::remove_file(&status::file(folder));
    outcome.map_err(Exit::from)
}

impl Watched {
    fn serve(&mut self, end: &mut EndSignal) -> Result<(), Error> {
        if self.layout.truth.is_none() {
            let postgres = Postgres::start(&self.folder)?;
            self.truth = postgres.address();
            self.postgres = Some(postgres);
        }
        // One that was killed leaves processes and locks behind, and its next life may have to be begun more than once.
        let mut truth = node::trusted(&self.truth, || self.postgres.as_mut().map_or(Ok(()), Postgres::keep))?;
        if let Some(from) = self.layout.from.clone() {
            self.tell("loading")?;
            let folder = self.folder.display().to_string();
            let source = (Path::new(&from), folder.as_str());
            load::load(source, self.layout.addresses.shards.len() as u16, &mut truth)?;
        }
        drop(truth);
        for roles in NodeRole::processes(&self.layout.addresses) {
            let process = self.start(roles)?;
            self.processes.push(process);
        }
        while !end.came() {
            self.look()?;
            let serves = |process: &Process| process.heard.serves.load(Ordering::Relaxed);
            let state = if self.processes.iter().all(serves) { "serving" } else { "recovering" };
            self.tell(state)?;
            world::threads::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    fn start(&self, roles: Vec<NodeRole>) -> Result<Process, Error> {
        let failed = |error: std::io::Error| {
            let message = format!("{} cannot be started: {error}", names(&roles));
            Error::new("Tanglewood.DatabaseError.Cluster.Start", message)
        };
        let mut kinds: Vec<&str> = roles.iter().map(|role| role.name()).collect();
        kinds.dedup();
        let listen = roles.first().and_then(|role| role.address(&self.layout.addresses)).map_or("", host);
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.args(["node", "--watched", "--truth", &self.truth, "--roles", &kinds.join(","), "--layout"]);
        command.arg(layout::file(&self.folder));
        command.args(["--listen", listen]);
        if let Some(bind) = self.layout.binds.get(listen) {
            command.args(["--bind", bind]);
        }
        for role in &roles {
            if let NodeRole::Gate(number) = role {
                let interfaces = &self.layout.interfaces[usize::from(*number)];
                let Interfaces { bolt, gremlin, http } = interfaces;
                command.args(["--bolt", bolt, "--gremlin", gremlin, "--http", http]);
                command.arg("--backup-folder").arg(self.folder.join("backups"));
                command.arg("--import-folder").arg(self.folder.join("import"));
            }
        }
        match &roles[..] {
            [NodeRole::Scribe | NodeRole::Keeper] => {}
            [role] => _ = command.arg("--data").arg(self.folder.join(role.folder())),
            _ => _ = command.arg("--data").arg(&self.folder),
        }
        let is_shard = |role: &NodeRole| matches!(role, NodeRole::Shard(_));
        if let Some(blobs) = self.layout.blobs.as_ref().filter(|_| roles.iter().any(is_shard)) {
            command.args(["--blobs", blobs]);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(failed)?;
        let heard = Arc::new(Heard::default());
        if let Some(mut out) = child.stdout.take() {
            let heard = heard.clone();
            let listen = move || {
                let mut bytes = [0; 64];
                while let Ok(count @ 1..) = out.read(&mut bytes) {
                    heard.at_ns.store(clock::monotonic_ns(), Ordering::Relaxed);
                    heard.serves.store(bytes[count - 1] == node::SERVES, Ordering::Relaxed);
                }
                heard.serves.store(false, Ordering::Relaxed);
            };
            // It ends with the process that it listens to.
            std::mem::forget(world::threads::try_spawn("watch", listen).map_err(failed)?);
        }
        Ok(Process { roles, child, heard, began_ns: clock::monotonic_ns() })
    }

    /// Starts again what has ended or hangs.
    fn look(&mut self) -> Result<(), Error> {
        if let Some(postgres) = &mut self.postgres {
            postgres.keep()?;
        }
        for at in 0..self.processes.len() {
            let process = &mut self.processes[at];
            let names = names(&process.roles);
            if process.hangs() {
                world::files::say(format_args!("{names} says nothing any more: it is killed"));
                process.stop();
            }
            if let Ok(Some(ended)) = process.child.try_wait() {
                process.heard.serves.store(false, Ordering::Relaxed);
                world::files::say(format_args!("{names} has ended ({ended}): it is started again"));
                if clock::monotonic_ns() < process.began_ns + clock::span_ns(AGAIN_AFTER) {
                    world::threads::sleep(AGAIN_AFTER);
                }
                self.processes[at] = self.start(self.processes[at].roles.clone())?;
            }
        }
        Ok(())
    }

    /// Writes down how it stands, where that has changed.
    fn tell(&mut self, state: &str) -> Result<(), Error> {
        let role = |process: &Process, role: &NodeRole| {
            let mut value = json!({
                "role": role.name(),
                "number": role.number(),
                "pid": process.child.id(),
                "listen": role.address(&self.layout.addresses).map(host),
            });
            if let NodeRole::Gate(number) = role {
                let interfaces = &self.layout.interfaces[usize::from(*number)];
                value["bolt"] = json!(interfaces.bolt);
                value["gremlin"] = json!(interfaces.gremlin);
                value["http"] = json!(interfaces.http);
            }
            value
        };
        let roles = |process: &Process| process.roles.iter().map(|of| role(process, of)).collect::<Vec<_>>();
        let mut processes: Vec<Value> = self.processes.iter().flat_map(roles).collect();
        if let Some(postgres) = &self.postgres {
            let listen = postgres.address();
            processes.push(json!({ "role": "truth", "number": 0, "pid": postgres.pid(), "listen": listen }));
        }
        let value = json!({ "state": state, "watcher": std::process::id(), "processes": processes });
        let text = format!("{value:#}\n");
        if text == self.told {
            return Ok(());
        }
        let failed = |error: world::disk::DiskError| {
            Error::new("Tanglewood.DatabaseError.General.Io", format!("the state cannot be written: {error}"))
        };
        let (file, new) = (status::file(&self.folder), self.folder.join("status.json.new"));
        world::files::write_bytes(&new, text.as_bytes()).map_err(failed)?;
        RealDisk.rename(&new, &file).map_err(failed)?;
        self.told = text;
        Ok(())
    }

    /// Gates first: while they end, the others give a version to everything that was committed, so that the next start has nothing to order.
    fn end(&mut self) {
        let is_gate = |process: &Process| process.roles.iter().any(|role| matches!(role, NodeRole::Gate(_)));
        let (mut gates, mut others): (Vec<Process>, Vec<Process>) =
            self.processes.drain(..).partition(is_gate);
        for all in [&mut gates, &mut others] {
            all.iter_mut().for_each(|process| drop(process.child.stdin.take()));
            let until_ns = clock::after_ns(END_MAX);
            for process in all {
                while matches!(process.child.try_wait(), Ok(None)) && clock::monotonic_ns() < until_ns {
                    world::threads::sleep(LOOK_EVERY);
                }
                process.stop();
            }
        }
        self.postgres.take();
    }
}

impl Process {
    /// Has it said nothing for too long?
    fn hangs(&self) -> bool {
        let at_ns = self.heard.at_ns.load(Ordering::Relaxed);
        let (since_ns, max) = match at_ns {
            0 => (self.began_ns, START_MAX),
            _ => (at_ns, SILENCE_MAX),
        };
        clock::monotonic_ns().saturating_sub(since_ns) > clock::span_ns(max)
    }
    fn stop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
