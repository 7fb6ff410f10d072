//! What the log drives.

/// A deterministic machine: the same entries in the same order give the same answers and the same state on every replica.
pub trait StateMachine {
    /// Carries out one committed entry. The answer goes to whoever proposed it, if that was here. An error ends the replica: it does not know
    /// what the entry means, and must not pass over it.
    fn apply(&mut self, entry: &[u8]) -> Result<Vec<u8>, String>;
    /// The whole state as bytes.
    fn snapshot(&self) -> Vec<u8>;
    /// Takes over the state that another replica's [`StateMachine::snapshot`] wrote. An error leaves the state as it was.
    fn restore(&mut self, snapshot: &[u8]) -> Result<(), String>;
}
