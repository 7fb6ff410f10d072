//! Who the replicas are: their ids and addresses. Part of the replicated state, so that all know the same members at the same entry.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The id of a replica; never 0.
pub type ReplicaId = u64;

/// The id of the replica that others reach at this address: the same on every machine and in every version (FNV-1a).
pub fn replica_id(address: &str) -> ReplicaId {
    let hash = address.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    hash.max(1)
}

/// Addresses by id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Members(pub BTreeMap<ReplicaId, String>);

impl Members {
    /// The members with these addresses.
    pub fn of<'a>(addresses: impl IntoIterator<Item = &'a str>) -> Members {
        Members(addresses.into_iter().map(|address| (replica_id(address), address.into())).collect())
    }
    /// Where a member is reached.
    pub fn address(&self, id: ReplicaId) -> Option<&str> {
        self.0.get(&id).map(String::as_str)
    }
}

/// A change of the members. One at a time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum MemberChange {
    /// A new replica, without a vote until it has caught up; then the leader gives it one.
    Add {
        /// Where it is reached.
        address: String,
    },
    /// A replica leaves.
    Remove {
        /// Its address.
        address: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Replicas of other versions and machines must come to the same numbers: these are those of the published function.
    #[test]
    fn a_replica_is_known_by_its_address() {
        for (address, id) in
            [("", 0xcbf2_9ce4_8422_2325), ("a", 0xaf63_dc4c_8601_ec8c), ("foobar", 0x8594_4171_f739_67e8)]
        {
            assert_eq!(replica_id(address), id, "{address}");
        }
        let members = Members::of(["a:1", "b:2"]);
        assert_eq!(members.address(replica_id("a:1")), Some("a:1"));
        assert_eq!((members.address(replica_id("c:3")), members.0.len()), (None, 2));
    }
}
