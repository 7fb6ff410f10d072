//! Replicas as processes of their own.
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a port that is free now, and the contract of the process: it is ready when its port accepts"
)]

use super::fault;
use crate::timing::processor_seconds;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use world::clock::monotonic_ns;
use world::files::TemporaryFolder;

/// Names the binary, where this program is not it.
const BINARY_VARIABLE: &str = "TANGLEWOOD_BENCH_KRONOS";
/// Files in it are in memory, and a sync costs nothing.
const MEMORY_FOLDER: &str = "/dev/shm";
/// Until all ports accept.
const START_NS_MAX: u64 = 20_000_000_000;

pub(super) struct Group {
    binary: PathBuf,
    addresses: Vec<String>,
    children: Vec<Child>,
    folder: TemporaryFolder,
}

impl Group {
    /// Starts `count` replicas, with their data on disk, and waits until their ports accept.
    pub(super) fn start(count: usize) -> Result<Group, String> {
        Group::start_in(count, TemporaryFolder::new("bench-kronos").map_err(fault)?)
    }

    /// The same with their data in memory, where the system has a folder for that.
    pub(super) fn start_in_memory(count: usize) -> Result<Group, String> {
        let folder = TemporaryFolder::inside(Path::new(MEMORY_FOLDER), "bench-kronos").map_err(fault)?;
        Group::start_in(count, folder)
    }

    fn start_in(count: usize, folder: TemporaryFolder) -> Result<Group, String> {
        let own = std::env::current_exe().map_err(fault)?;
        let binary = std::env::var_os(BINARY_VARIABLE).map_or(own, PathBuf::from);
        if binary.file_name().is_none_or(|name| name != "tanglewood") {
            return Err(format!("{BINARY_VARIABLE} names no `tanglewood` binary"));
        }
        let addresses = free_addresses(count)?;
        let mut group = Group { binary, addresses, children: Vec::new(), folder };
        for at in 0..count {
            let child = group.spawn(at)?;
            group.children.push(child);
        }
        let begun = monotonic_ns();
        while !group.addresses.iter().all(|address| accepts(address)) {
            if monotonic_ns() - begun > START_NS_MAX {
                return Err("the replicas do not accept connections".into());
            }
            world::threads::sleep(Duration::from_millis(20));
        }
        Ok(group)
    }

    fn spawn(&self, at: usize) -> Result<Child, String> {
        let mut command = Command::new(&self.binary);
        command.args(["kronos", "--listen", &self.addresses[at], "--data"]).arg(self.data(at));
        if self.addresses.len() > 1 {
            command.args(["--peers", &self.addresses.join(",")]);
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().map_err(fault)
    }

    pub(super) fn addresses(&self) -> &[String] {
        &self.addresses
    }
    /// The folder of all of them.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }
    /// The folder of one replica.
    pub(super) fn data(&self, at: usize) -> PathBuf {
        self.folder.path().join(at.to_string())
    }
    /// SIGKILL.
    pub(super) fn kill(&mut self, at: usize) -> Result<(), String> {
        self.children[at].kill().and_then(|()| self.children[at].wait()).map_err(fault).map(drop)
    }
    pub(super) fn restart(&mut self, at: usize) -> Result<(), String> {
        self.children[at] = self.spawn(at)?;
        Ok(())
    }
    /// Processor time that each replica has taken, in seconds.
    pub(super) fn cpu_seconds(&self) -> Vec<f64> {
        self.children.iter().map(|child| processor_seconds(child.id()).unwrap_or(f64::NAN)).collect()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for child in &mut self.children {
            // One that was killed before has nothing more to say.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// All are bound before the first is given back, so that none is drawn twice.
fn free_addresses(count: usize) -> Result<Vec<String>, String> {
    let bound = (0..count).map(|_| std::net::TcpListener::bind("127.0.0.1:0"));
    let bound = bound.collect::<Result<Vec<_>, _>>().map_err(fault)?;
    let address = |one: &std::net::TcpListener| one.local_addr().map(|address| address.to_string());
    bound.iter().map(address).collect::<Result<_, _>>().map_err(fault)
}

fn accepts(address: &str) -> bool {
    let Ok(address) = address.parse::<SocketAddr>() else { return false };
    std::net::TcpStream::connect_timeout(&address, Duration::from_millis(200)).is_ok()
}
