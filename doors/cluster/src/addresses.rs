//! Where the processes of a cluster are reached.

use protocol::Node;

/// The address of each process, on the network that they share.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Addresses {
    /// Gates, by number.
    pub gates: Vec<String>,
    /// Shards, by number.
    pub shards: Vec<String>,
    /// The oracle.
    pub oracle: String,
    /// The scribe.
    pub scribe: String,
    /// The keeper of the epoch.
    pub keeper: String,
}

impl Addresses {
    /// The address of a process; nothing where the cluster has none of this number.
    pub fn of(&self, node: Node) -> Option<&str> {
        match node {
            Node::Gate(number) => self.gates.get(usize::from(number)).map(String::as_str),
            Node::Shard(number) => self.shards.get(usize::from(number)).map(String::as_str),
            Node::Oracle => Some(&self.oracle),
            Node::Scribe => Some(&self.scribe),
            Node::Keeper => Some(&self.keeper),
        }
    }
}
