//! One process of a cluster by its role, on a real network.

use crate::graph::{self, CheckpointStore, ShardGraph};
use crate::{Addresses, Driver, GateHandle, PeerTls};
use protocol::{Timing, Truth};
use std::path::Path;
use std::sync::Arc;
use world::disk::RealDisk;
use world::net::{Cover, NetError, TcpNet};

/// How soon a process that is lost is noticed. A process of a busy machine may be silent for a second.
const TIMING: Timing = Timing { heartbeat_us: 100_000, lease_us: 3_000_000, resend_us: 10_000, tau_us: None };

/// The role of a process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NodeRole {
    /// Serves clients; by number.
    Gate(u16),
    /// Holds a share of the graph; by number.
    Shard(u16),
    /// Decides about concurrent records; a replica, by number.
    Oracle(u16),
    /// Gives all commits one sequence.
    Scribe,
    /// Begins and ends epochs.
    Keeper,
}

impl NodeRole {
    /// Its name, without its number.
    pub fn name(self) -> &'static str {
        match self {
            NodeRole::Gate(_) => "gate",
            NodeRole::Shard(_) => "shard",
            NodeRole::Oracle(_) => "oracle",
            NodeRole::Scribe => "scribe",
            NodeRole::Keeper => "keeper",
        }
    }
    /// Its number among those of its role.
    pub fn number(self) -> u16 {
        match self {
            NodeRole::Gate(number) | NodeRole::Shard(number) | NodeRole::Oracle(number) => number,
            NodeRole::Scribe | NodeRole::Keeper => 0,
        }
    }
    /// All processes of a cluster, those first that others need.
    pub fn all(addresses: &Addresses) -> Vec<NodeRole> {
        let gates = (0..addresses.gates.len() as u16).map(NodeRole::Gate);
        let shards = (0..addresses.shards.len() as u16).map(NodeRole::Shard);
        let oracles = (0..addresses.oracles.len() as u16).map(NodeRole::Oracle);
        oracles.chain([NodeRole::Scribe, NodeRole::Keeper]).chain(shards).chain(gates).collect()
    }
    /// The address that it listens on.
    pub fn address(self, addresses: &Addresses) -> Option<&str> {
        match self {
            NodeRole::Gate(number) => addresses.gates.get(usize::from(number)).map(String::as_str),
            NodeRole::Shard(number) => addresses.shards.get(usize::from(number)).map(String::as_str),
            NodeRole::Oracle(number) => addresses.oracles.get(usize::from(number)).map(String::as_str),
            NodeRole::Scribe => Some(&addresses.scribe),
            NodeRole::Keeper => Some(&addresses.keeper),
        }
    }
}

/// How the processes of a cluster know each other.
#[derive(Default)]
pub struct Credentials {
    /// The shared secret.
    pub secret: Vec<u8>,
    /// Certificates; without them traffic is not encrypted.
    pub tls: Option<PeerTls>,
}

/// A process that runs until this is dropped.
pub struct RunningNode {
    gate: Option<(GateHandle, u16)>,
    addresses: Addresses,
    driver: Driver,
}

impl RunningNode {
    /// Starts a process, which listens at its published address, or at another that leads there. An oracle needs no truth, and a folder; a shard
    /// makes checkpoints in its folder, if it has one.
    ///
    /// # Errors
    /// Its address is taken, the system gives no thread, or the folder of an oracle cannot be read or written.
    pub fn start(
        (role, bind): (NodeRole, Option<&str>),
        addresses: &Addresses,
        (credentials, tau_us): (Credentials, Option<u64>),
        truth: Box<dyn Truth + Send>,
        (folder, store): (&Path, Option<Arc<dyn CheckpointStore>>),
    ) -> Result<RunningNode, NetError> {
        let address = role.address(addresses).unwrap_or_default();
        let failed = |error| NetError::Listen(address.to_string(), error);
        let cover = credentials.tls.map(|tls| Arc::new(tls) as Arc<dyn Cover>);
        let net = Box::new(TcpNet::covered(bind.unwrap_or(address), &credentials.secret, cover)?);
        let (all, timing) = (addresses.clone(), Timing { tau_us, ..TIMING });
        let mut gate = None;
        let driver = match role {
            NodeRole::Gate(number) => {
                Driver::gate(number, net, all, timing, truth).map(|(driver, handle)| {
                    gate = Some((handle, number));
                    driver
                })
            }
            NodeRole::Shard(number) => {
                let content = match folder.as_os_str().is_empty() {
                    true => ShardGraph::new(number),
                    false => ShardGraph::open_with(number, Arc::new(RealDisk), folder, store),
                };
                Driver::shard(number, net, all, TIMING, truth, Box::new(content))
            }
            NodeRole::Oracle(_) => Driver::oracle(address, net, all, Arc::new(RealDisk), folder),
            NodeRole::Scribe => Driver::scribe(net, all, TIMING, truth, |_, _| {}),
            NodeRole::Keeper => Driver::keeper(net, all, TIMING, truth),
        };
        let driver = driver.map_err(failed)?;
        Ok(RunningNode { gate, addresses: addresses.clone(), driver })
    }
    /// The parts with which the database of a gate is opened; none where this is no gate. Its chunks may take `memory_bytes` of memory.
    pub fn gate(&self, memory_bytes: Option<u64>) -> Option<transact::GateParts> {
        let (handle, number) = self.gate.as_ref()?;
        Some(graph::gate(handle, *number, &self.addresses, memory_bytes))
    }
    /// Why it does nothing any more, if so.
    pub fn failure(&self) -> Option<String> {
        self.driver.failure()
    }
    /// Why it does not hear another process of the cluster, if that is so.
    pub fn deaf(&self) -> Option<String> {
        let (other, own) = (self.driver.other_version()?, protocol::wire::WIRE_VERSION);
        Some(format!(
            "another process of this cluster is of another build: it speaks version {other} of the protocol, this one version {own}, so neither hears the other; start all of them with one program"
        ))
    }
    /// Does it serve? A gate serves while an epoch is open, any other process from its beginning.
    pub fn serves(&self) -> bool {
        self.gate.as_ref().is_none_or(|(handle, _)| handle.is_open())
    }
}

/// Free addresses of this machine.
///
/// # Errors
/// The system gives none.
pub fn free_addresses(count: usize) -> Result<Vec<String>, NetError> {
    let open = |_| TcpNet::open("127.0.0.1:0", b"");
    let held: Vec<TcpNet> = (0..count).map(open).collect::<Result<_, _>>()?;
    Ok(held.iter().map(|net| world::net::Net::address(net).to_string()).collect())
}
