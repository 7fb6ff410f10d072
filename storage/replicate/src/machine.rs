//! The state machine that the log drives.

/// A deterministic machine: the same entries in the same order give the same answers and the same state on every replica.
pub trait StateMachine {
    /// Applies one committed entry. The answer goes to the proposer, if that was on this replica. An error ends the replica: the entry is unknown to
    /// it, and must not be skipped.
    fn apply(&mut self, entry: &[u8]) -> Result<Vec<u8>, String>;
    /// The whole state as bytes.
    fn snapshot(&self) -> Vec<u8>;
    /// Takes over the state that another replica's [`StateMachine::snapshot`] wrote. An error leaves the state as it was.
    fn restore(&mut self, snapshot: &[u8]) -> Result<(), String>;
}
