//! Bolt, the protocol of Neo4j's drivers: versions 4.4, 5.0 to 5.4 and 5.6 to 5.8, by proposals or by manifest.

pub(crate) mod answer;
pub(crate) mod bookmark;
pub mod chunks;
pub mod connection;
pub mod entities;
mod gql;
pub mod handshake;
pub mod message;
pub(crate) mod notices;
pub mod packstream;
pub mod structure;

/// A protocol version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// Changes break.
    pub major: u8,
    /// Changes add.
    pub minor: u8,
}

impl Version {
    /// Do nodes and relationships carry element ids (as text)?
    pub fn has_element_ids(self) -> bool {
        self.major >= 5
    }
    /// Is authentication a message of its own (LOGON)?
    pub fn has_logon(self) -> bool {
        self >= Version { major: 5, minor: 1 }
    }
    /// Does the end of a result carry statuses in place of notifications?
    pub fn has_statuses(self) -> bool {
        self >= Version { major: 5, minor: 6 }
    }
    /// Do failures carry GQL's status?
    pub fn has_status_of_failures(self) -> bool {
        self >= Version { major: 5, minor: 7 }
    }
    /// Is the client's home database named when it begins?
    pub fn tells_home(self) -> bool {
        self >= Version { major: 5, minor: 8 }
    }
    /// Are instants with a zone sent as UTC seconds?
    pub fn sends_utc(self) -> bool {
        self.major >= 5
    }
}
