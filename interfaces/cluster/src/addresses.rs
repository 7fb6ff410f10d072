//! Addresses of the processes of a cluster.

use protocol::Node;
use std::collections::BTreeMap;
use std::slice;
use world::net::split_address;

/// The address of each role, on the network that they share: `host:port`, or `host:port/name` where one process has several.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Addresses {
    /// Gates, by number.
    pub gates: Vec<String>,
    /// Shards, by number.
    pub shards: Vec<String>,
    /// The oracle's replicas.
    pub oracles: Vec<String>,
    /// The scribe.
    pub scribe: String,
    /// The keeper of the epoch.
    pub keeper: String,
}

impl Addresses {
    /// The addresses of a process; none where the cluster has none of this number. The oracle has one for each of its replicas: the leader answers,
    /// and the others ignore the message.
    pub fn of<'a>(&'a self, node: Node) -> &'a [String] {
        let one =
            |all: &'a [String], number: u16| all.get(usize::from(number)).map_or(&[][..], slice::from_ref);
        match node {
            Node::Gate(number) => one(&self.gates, number),
            Node::Shard(number) => one(&self.shards, number),
            Node::Oracle => &self.oracles,
            Node::Scribe => slice::from_ref(&self.scribe),
            Node::Keeper => slice::from_ref(&self.keeper),
        }
    }
    /// With a name behind each address that several roles share, so that each has its own.
    pub fn named(mut self) -> Addresses {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        self.each(|address, _, _| *counts.entry(host(address).to_string()).or_default() += 1);
        self.each(|address, role, number| {
            let host = host(address).to_string();
            *address = if counts[&host] > 1 { format!("{host}/{role}-{number}") } else { host };
        });
        self
    }
    fn each(&mut self, mut change: impl FnMut(&mut String, &str, usize)) {
        let Addresses { gates, shards, oracles, scribe, keeper } = self;
        for (role, all) in [("gate", gates), ("shard", shards), ("oracle", oracles)] {
            all.iter_mut().enumerate().for_each(|(number, address)| change(address, role, number));
        }
        change(scribe, "scribe", 0);
        change(keeper, "keeper", 0);
    }
}

/// An address without the name of a role.
pub fn host(address: &str) -> &str {
    split_address(address).0
}
