//! Addresses of the processes of a cluster.

use protocol::Node;
use std::slice;

/// The address of each process, on the network that they share.
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
}
