//! The targets: each takes any bytes, and panics if we answered wrongly.

use crate::damage;
use crate::mutate;
use world::chance::Chance;

mod bolt;
mod change;
mod chunk;
mod cypher;
mod datalog;
mod graphbinary;
mod graphson;
mod gremlin;
mod gremlin_interface;
mod kronos;
pub(crate) mod log;
mod packstream;
mod plan;

pub use self::bolt::bolt;
pub use self::change::change;
pub use self::chunk::chunk;
pub use self::cypher::cypher;
pub use self::datalog::datalog;
pub use self::graphbinary::graphbinary;
pub use self::graphson::graphson;
pub use self::gremlin::gremlin;
pub use self::gremlin_interface::gremlin_interface;
pub use self::kronos::{kronos_calls, kronos_files, kronos_peers};
pub use self::log::log;
pub use self::packstream::packstream;
pub use self::plan::plan;
pub use crate::damage::files;

/// One target with inputs that are sound.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name on the command line and in `fuzz/fuzz_targets`.
    pub name: &'static str,
    /// Tries one input.
    pub run: fn(&[u8]),
    /// Inputs to start from.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Are inputs texts, whose words are changed as well as their bytes?
    pub is_text: bool,
}

/// All targets.
pub const TARGETS: [Target; 16] = [
    Target { name: "files", run: files, seeds: damage::seeds, is_text: false },
    Target { name: "log", run: log, seeds: log::seeds, is_text: false },
    Target { name: "change", run: change, seeds: change::seeds, is_text: false },
    Target { name: "chunk", run: chunk, seeds: chunk::seeds, is_text: false },
    Target { name: "packstream", run: packstream, seeds: packstream::seeds, is_text: false },
    Target { name: "bolt", run: bolt, seeds: bolt::seeds, is_text: false },
    Target { name: "cypher", run: cypher, seeds: cypher::seeds, is_text: true },
    Target { name: "datalog", run: datalog, seeds: datalog::seeds, is_text: true },
    Target { name: "gremlin", run: gremlin, seeds: gremlin::seeds, is_text: true },
    Target { name: "graphbinary", run: graphbinary, seeds: graphbinary::seeds, is_text: false },
    Target { name: "graphson", run: graphson, seeds: graphson::seeds, is_text: false },
    Target {
        name: "gremlin_interface",
        run: gremlin_interface,
        seeds: gremlin_interface::seeds,
        is_text: false,
    },
    Target { name: "kronos_calls", run: kronos_calls, seeds: kronos::call_seeds, is_text: false },
    Target { name: "kronos_peers", run: kronos_peers, seeds: kronos::peer_seeds, is_text: false },
    Target { name: "kronos_files", run: kronos_files, seeds: kronos::file_seeds, is_text: false },
    Target { name: "plan", run: plan, seeds: cypher::seeds, is_text: true },
];

impl Target {
    /// The target of that name.
    pub fn named(name: &str) -> Option<&'static Target> {
        TARGETS.iter().find(|target| target.name == name)
    }
    /// The input that a seed stands for.
    pub fn input(&self, seeds: &[Vec<u8>], seed: u64) -> Vec<u8> {
        let mut chance = Chance::seeded(seed);
        let (one, other) = (&seeds[chance.index(seeds.len())], &seeds[chance.index(seeds.len())]);
        match (self.is_text && chance.happens(0.9), std::str::from_utf8(one), std::str::from_utf8(other)) {
            (true, Ok(one), Ok(other)) => mutate::words(one, other, &mut chance).into_bytes(),
            _ => mutate::bytes(one, other, &mut chance),
        }
    }
}
