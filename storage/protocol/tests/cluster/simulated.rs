//! A whole cluster in one thread: the protocol's own machines over a network, a truth and clocks that are drawn from one seed.
//!
//! ```text
//!   clients ──> gates ─┐  messages late, lost, doubled, out of order; links cut, one way too; processes killed and begun anew;
//!   shards + toy store ├─ clocks that drift; calls of truth whose outcome is unknown, some carried out long after
//!   oracle, scribe,    │
//!   keeper, truth    ──┘──> history ──> the checker, strict; and what the simulator asserts by itself
//! ```
//!
//! [`simulate`] runs one history; the same [`Setup`] and seed give the same one, event by event. Reading order: [`Setup`], `net` (time and
//! faults), `toy` (the store), `client`, `verify`.

mod client;
mod net;
mod toy;
mod verify;

use histories::history::History;
use std::collections::BTreeMap;
use tanglewood_protocol::Rules;

pub use net::simulate;

/// What is simulated.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Setup {
    /// Gates.
    pub gates: u16,
    /// Shards.
    pub shards: u16,
    /// Clients; each goes to any gate.
    pub clients: usize,
    /// Transactions of each client.
    pub transactions: usize,
    /// Chunks that are there from the beginning.
    pub chunks: u32,
    /// Share of transactions that move a chunk.
    pub moves: f64,
    /// What may go wrong.
    pub faults: Faults,
    /// The protocol's rules, one of them off perhaps.
    pub rules: Rules,
}

/// What may go wrong, as probabilities or mean counts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Faults {
    /// A message is lost.
    pub loss: f64,
    /// A message comes twice.
    pub doubled: f64,
    /// A message is very late.
    pub late: f64,
    /// The outcome of a call is unknown.
    pub unknown: f64,
    /// Processes killed in a history, at most.
    pub kills: u64,
    /// Times that links are cut in a history, at most.
    pub cuts: u64,
    /// A shard makes a checkpoint of its content at a tick; it begins its next life with the last.
    pub checkpoints: f64,
    /// The log is cut when a call reaches truth: what has commit versions is merged into fewer records.
    pub log_cuts: f64,
}

impl Faults {
    /// Messages are late and out of order; nothing else.
    pub fn none() -> Faults {
        Faults {
            loss: 0.0,
            doubled: 0.0,
            late: 0.05,
            unknown: 0.0,
            kills: 0,
            cuts: 0,
            checkpoints: 0.0,
            log_cuts: 0.0,
        }
    }
    /// Everything.
    pub fn all() -> Faults {
        Faults {
            loss: 0.02,
            doubled: 0.02,
            late: 0.05,
            unknown: 0.05,
            kills: 2,
            cuts: 2,
            checkpoints: 0.0,
            log_cuts: 0.02,
        }
    }
}

impl Setup {
    /// A small history, with shape and faults drawn from the seed: half of all seeds have faults.
    pub fn drawn(seed: u64) -> Setup {
        let mut chance = world::chance::Chance::seeded(seed ^ 0x5EED_5E70);
        let shards = 1 + chance.below(3) as u16;
        let faults = if chance.happens(0.5) { Faults::all() } else { Faults::none() };
        Setup {
            gates: 2 + chance.below(3) as u16,
            shards,
            clients: 3 + chance.index(3),
            transactions: 3 + chance.index(4),
            chunks: u32::from(shards) + chance.below(2) as u32,
            moves: if chance.happens(0.5) { 0.08 } else { 0.0 },
            faults,
            rules: Rules::default(),
        }
    }
    /// Many clients at once, slow messages, no other fault: most commits are concurrent.
    pub fn crowded() -> Setup {
        Setup {
            gates: 3,
            shards: 3,
            clients: 8,
            transactions: 6,
            chunks: 3,
            moves: 0.0,
            faults: Faults { late: 0.2, ..Faults::none() },
            rules: Rules::default(),
        }
    }
    /// The same with other rules.
    pub fn with(self, rules: Rules) -> Setup {
        Setup { rules, ..self }
    }
}

/// One history, and what the simulator saw beside it.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// What clients saw, and readers of the scribe's sequence.
    pub history: History,
    /// Assertions that failed, in words.
    pub broken: Vec<String>,
    /// It did not come to an end.
    pub stuck: bool,
    /// A number that depends on every event.
    pub trace: u64,
    /// How often each thing happened.
    pub counts: BTreeMap<&'static str, u64>,
}

impl Run {
    /// Is something wrong? In words.
    pub fn faults(&self) -> Option<String> {
        let findings = histories::check::check(&self.history);
        let mut all = self.broken.join("\n");
        if self.stuck {
            all.push_str("\nit did not come to an end");
        }
        if !findings.is_clean() {
            all.push_str(&format!("\n{findings}"));
        }
        (!all.is_empty()).then_some(all)
    }
    /// Is something wrong that a client could see?
    pub fn is_strict(&self) -> bool {
        histories::check::check(&self.history).is_clean()
    }
}
