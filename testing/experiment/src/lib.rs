//! # experiment: what makes figures comparable
//!
//! [`data`] finds packed data sets and unpacks them once. [`Setup`] says where and with what a figure was measured: machine, commit, load, optimised
//! or not. Benches and the commands of the examples write it beside each figure.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod data;

use serde_json::{Value as Json, json};
use std::path::Path;
use std::process::Command;
use world::files;
use world::machine::Machine;

/// Where and with what figures were measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setup {
    /// The machine.
    pub machine: Machine,
    /// The commit of the source.
    pub commit: String,
    /// Was it built with optimisation?
    pub is_optimised: bool,
    /// What the system says of its load when the experiment began.
    pub load: String,
}

impl Setup {
    /// Looks at the machine, the source and the load.
    pub fn here() -> Setup {
        Setup {
            machine: Machine::here(),
            commit: commit(),
            is_optimised: !cfg!(debug_assertions),
            load: load(),
        }
    }
    /// As an object.
    pub fn json(&self) -> Json {
        json!({
            "machine": self.machine.model,
            "cores": self.machine.cores,
            "memory_bytes": self.machine.memory_bytes,
            "system": self.machine.system,
            "commit": self.commit,
            "is_optimised": self.is_optimised,
            "load": self.load,
        })
    }
}

/// The load averages of 1, 5 and 15 minutes, and what runs now; empty where the system does not say.
pub fn load() -> String {
    files::read_text(Path::new("/proc/loadavg")).map(|text| text.trim().to_string()).unwrap_or_default()
}

/// The commit of the folder we run in, if it is a repository.
pub fn commit() -> String {
    let asked = Command::new("git").args(["describe", "--always", "--dirty", "--abbrev=12"]).output();
    match asked {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).trim().to_string(),
        _ => "unknown".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setup_is_an_object() {
        let setup = Setup::here().json();
        assert!(setup["cores"].as_u64().is_some_and(|cores| cores > 0), "{setup}");
        assert!(setup["commit"].as_str().is_some_and(|commit| !commit.is_empty()), "{setup}");
    }
}
