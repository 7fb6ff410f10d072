//! The whole state as bytes, and back: for replicas that fell behind, and for truncating the log.
//!
//! ```text
//!   version | nonce limits counts | slots: generation references level successors … | free slots | sessions | stamps
//! ```
//!
//! Numbers are postcard's (variable length). Predecessors are counted anew while edges are read.
//! Invariant: a machine read back answers every later entry as the one that was written.

use super::event::SnapshotError;
use super::graph::{EventGraph, GraphImage, SlotImage};
use super::machine::Machine;
use postcard::{take_from_bytes, to_extend};

/// The first number of a snapshot.
const VERSION: u32 = 1;

impl Machine {
    /// The state as bytes.
    pub fn snapshot(&self) -> Vec<u8> {
        let mut put = SnapshotWriter(Vec::with_capacity(64 + self.graph.slots() * 6));
        put.value(&VERSION);
        put.value(&self.graph.image());
        (0..self.graph.slots() as u32).for_each(|slot| put.value(&self.graph.slot_image(slot)));
        put.value(&(&self.sessions, self.next_session, self.now_ms));
        put.value(&self.stamps);
        put.0
    }

    /// The machine that [`Machine::snapshot`] wrote.
    pub fn restore(bytes: &[u8]) -> Result<Machine, SnapshotError> {
        let (version, rest) = take_from_bytes::<u32>(bytes)?;
        if version != VERSION {
            return Err(SnapshotError(format!("version {version} is not {VERSION}")));
        }
        let (image, mut rest) = take_from_bytes::<GraphImage>(rest)?;
        let mut graph = EventGraph::from_image(image, rest.len())?;
        for slot in 0..graph.slots() as u32 {
            let (image, after) = take_from_bytes::<SlotImage>(rest)?;
            graph.set_slot(slot, &image)?;
            rest = after;
        }
        graph.finish_image()?;
        let ((sessions, next_session, now_ms), rest) = take_from_bytes(rest)?;
        let (stamps, rest) = take_from_bytes(rest)?;
        if !rest.is_empty() {
            return Err(SnapshotError(format!("{} bytes follow its end", rest.len())));
        }
        let machine = Machine { graph, sessions, next_session, now_ms, stamps };
        machine.verify().map_err(SnapshotError)?;
        Ok(machine)
    }
}

struct SnapshotWriter(Vec<u8>);

impl SnapshotWriter {
    fn value(&mut self, value: &impl serde::Serialize) {
        self.0 = to_extend(value, std::mem::take(&mut self.0)).expect("plain data goes into memory");
    }
}
