//! One process of a cluster by its roles, on a real network.

use crate::graph::{self, CheckpointStore, ShardGraph};
use crate::{Addresses, Driver, GateHandle, PeerTls, host};
use protocol::{Timing, Truth};
use std::path::PathBuf;
use std::sync::Arc;
use world::disk::RealDisk;
use world::net::{Cover, NetError, TcpNet, split_address};

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
    /// The name of its folder.
    pub fn folder(self) -> String {
        format!("{}-{}", self.name(), self.number())
    }
    /// All roles of a cluster, those first that others need.
    pub fn all(addresses: &Addresses) -> Vec<NodeRole> {
        let gates = (0..addresses.gates.len() as u16).map(NodeRole::Gate);
        let shards = (0..addresses.shards.len() as u16).map(NodeRole::Shard);
        let oracles = (0..addresses.oracles.len() as u16).map(NodeRole::Oracle);
        oracles.chain([NodeRole::Scribe, NodeRole::Keeper]).chain(shards).chain(gates).collect()
    }
    /// All processes of a cluster, each with its roles: those that share an address.
    pub fn processes(addresses: &Addresses) -> Vec<Vec<NodeRole>> {
        let mut processes: Vec<(&str, Vec<NodeRole>)> = Vec::new();
        for role in NodeRole::all(addresses) {
            let at = host(role.address(addresses).unwrap_or_default());
            match processes.iter_mut().find(|(host, _)| *host == at) {
                Some((_, roles)) => roles.push(role),
                None => processes.push((at, vec![role])),
            }
        }
        processes.into_iter().map(|(_, roles)| roles).collect()
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

/// A role of a process.
pub struct RoleParts {
    /// Which.
    pub role: NodeRole,
    /// Its way to truth; an oracle does not use it.
    pub truth: Box<dyn Truth + Send>,
    /// Its folder: an oracle needs one; a shard makes checkpoints there, if it has one.
    pub folder: Option<PathBuf>,
}

/// What a process has for all its roles.
pub struct NodeParts<'p> {
    /// Where it really listens, if others reach it by another address.
    pub bind: Option<&'p str>,
    /// Who it is to others.
    pub credentials: Credentials,
    /// The time between announcements of a gate, if it does not adapt it.
    pub tau_us: Option<u64>,
    /// Where shards store copies of their checkpoints.
    pub store: Option<Arc<dyn CheckpointStore>>,
}

/// A process that runs until this is dropped.
pub struct RunningNode {
    gate: Option<(GateHandle, u16)>,
    addresses: Addresses,
    drivers: Vec<(NodeRole, Driver)>,
}

impl RunningNode {
    /// Starts a process with one role or several, of which one may be a gate, behind one address: it listens at their published address, or at another that leads there.
    ///
    /// # Errors
    /// Its address is taken, the system gives no thread, or the folder of an oracle cannot be read or written.
    pub fn start(
        roles: Vec<RoleParts>,
        addresses: &Addresses,
        NodeParts { bind, credentials, tau_us, store }: NodeParts<'_>,
    ) -> Result<RunningNode, NetError> {
        let cover = credentials.tls.map(|tls| Arc::new(tls) as Arc<dyn Cover>);
        let mut node = RunningNode { gate: None, addresses: addresses.clone(), drivers: Vec::new() };
        // All ends first: a machine that runs sends frames to the others at once.
        let mut ends: Vec<TcpNet> = Vec::new();
        for RoleParts { role, .. } in &roles {
            let address = role.address(addresses).unwrap_or_default();
            let end = match ends.first() {
                Some(first) => first.beside(split_address(address).1)?,
                None => {
                    let bind = bind.unwrap_or(address);
                    TcpNet::published(bind, Some(address), &credentials.secret, cover.clone())?
                }
            };
            ends.push(end);
        }
        for (role, net) in roles.into_iter().zip(ends) {
            let at = role.role.address(addresses).unwrap_or_default().to_string();
            let started = node.start_role(role, Box::new(net), (tau_us, store.clone()));
            started.map_err(|error| NetError::Listen(at, error))?;
        }
        Ok(node)
    }
    fn start_role(
        &mut self,
        RoleParts { role, truth, folder }: RoleParts,
        net: Box<TcpNet>,
        (tau_us, store): (Option<u64>, Option<Arc<dyn CheckpointStore>>),
    ) -> std::io::Result<()> {
        let all = self.addresses.clone();
        let driver = match role {
            NodeRole::Gate(number) => {
                let (driver, handle) = Driver::gate(number, net, all, Timing { tau_us, ..TIMING }, truth)?;
                self.gate = Some((handle, number));
                driver
            }
            NodeRole::Shard(number) => {
                let content = match folder {
                    None => ShardGraph::new(number),
                    Some(folder) => ShardGraph::open_with(number, Arc::new(RealDisk), &folder, store),
                };
                Driver::shard(number, net, all, TIMING, truth, Box::new(content))?
            }
            NodeRole::Oracle(_) => {
                let address = role.address(&self.addresses).unwrap_or_default();
                Driver::oracle(address, net, all, Arc::new(RealDisk), &folder.unwrap_or_default())?
            }
            NodeRole::Scribe => Driver::scribe(net, all, TIMING, truth, |_, _| {})?,
            NodeRole::Keeper => Driver::keeper(net, all, TIMING, truth)?,
        };
        self.drivers.push((role, driver));
        Ok(())
    }
    /// The parts with which the database of its gate is opened, and the gate's number; none where it has none. Its chunks may take `memory_bytes` of
    /// memory.
    pub fn gate(&self, memory_bytes: Option<u64>) -> Option<(u16, transact::GateParts)> {
        let (handle, number) = self.gate.as_ref()?;
        Some((*number, graph::gate(handle, *number, &self.addresses, memory_bytes)))
    }
    /// Why one of its roles does nothing any more, if so.
    pub fn failure(&self) -> Option<String> {
        self.drivers
            .iter()
            .find_map(|(role, driver)| Some(format!("{}: {}", role.folder(), driver.failure()?)))
    }
    /// Why it does not hear another process of the cluster, if that is so.
    pub fn deaf(&self) -> Option<String> {
        let (other, own) = (
            self.drivers.iter().find_map(|(_, driver)| driver.other_version())?,
            protocol::wire::WIRE_VERSION,
        );
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
