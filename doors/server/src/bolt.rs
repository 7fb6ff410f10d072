//! Bolt, the protocol of Neo4j's drivers: versions 4.4 and 5.0 to 5.4.

pub mod chunks;
pub mod connection;
pub mod handshake;
pub mod message;
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
    /// Are instants with a zone sent as UTC seconds?
    pub fn sends_utc(self) -> bool {
        self.major >= 5
    }
}
