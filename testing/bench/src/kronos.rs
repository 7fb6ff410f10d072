//! The event ordering service: the figures of Weaver's section 5.1 (5.1 to 5.8) and what the graph costs in process. Every answer is verified.
//!
//! Service figures start `tanglewood kronos` processes: this program's own binary, or the one that `TANGLEWOOD_BENCH_KRONOS` names.

mod applications;
mod create;
mod embedded;
mod failure;
mod group;
mod preloaded;
mod random;
mod replicas;

use crate::report::Report;
use std::path::Path;

/// Parts by name.
const PARTS: [&str; 8] =
    ["embedded", "memory", "release", "random", "create", "replicas", "failure", "applications"];
const SEED: u64 = 7_700;

/// Measures all of it, or the parts that were named.
pub fn run(folder: Option<&Path>, report: &mut Report) -> Result<(), String> {
    let parts = report.choice.among(&PARTS);
    report.note(format!("seed {SEED}; load {}", load()));
    for part in parts {
        match part {
            "embedded" => embedded::run(report)?,
            "memory" => embedded::memory(report)?,
            "release" => embedded::release(report)?,
            "random" => random::run(report)?,
            "create" => create::run(report)?,
            "replicas" => replicas::run(report)?,
            "failure" => failure::run(report)?,
            _ => applications::run(folder, report)?,
        }
    }
    Ok(())
}

/// The system's load averages of 1, 5 and 15 minutes.
fn load() -> String {
    let text = world::files::read_text(Path::new("/proc/loadavg")).unwrap_or_else(|_| "unknown".into());
    text.split_whitespace().take(3).collect::<Vec<_>>().join(" ")
}

fn fault(error: impl std::fmt::Display) -> String {
    error.to_string()
}
