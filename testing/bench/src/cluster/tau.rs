//! What coordination costs (Weaver, Figure 5.11): messages that announce clocks and questions to the oracle, for each operation, against the time between announcements.

use super::processes::Cluster;
use super::{NO_POSTGRES, Work, drive};
use crate::power_law::Graph;
use crate::report::Report;
use crate::store::tao::mix::Mix;
use std::path::Path;

/// The part's name in `--only`.
pub const NAME: &str = "tau";
const SIZE: (u16, u16) = (4, 3);
/// Times between announcements, in microseconds; the last one means that each gate adapts its own.
const TAUS_US: [Option<u64>; 6] =
    [Some(100), Some(1_000), Some(10_000), Some(100_000), Some(1_000_000), None];

/// Measures the mix with 25 % of writes with each.
pub fn run(network: &Graph, database: &Path, place: &Path, report: &mut Report) -> Result<(), String> {
    report.section(&format!("Figure 5.11: coordination, {} gates, {} shards, 25 % writes", SIZE.0, SIZE.1));
    for (run, tau_us) in TAUS_US.into_iter().enumerate() {
        let name = tau_us.map_or_else(|| "adaptive".to_string(), |us| us.to_string());
        let folder = place.join(format!("tau-{name}"));
        let more = if tau_us.is_some() { vec!["--tau-us", name.as_str()] } else { Vec::new() };
        let Some(cluster) = Cluster::up(folder, SIZE, database, &more)? else {
            report.skipped("all", NO_POSTGRES);
            return Ok(());
        };
        let before = cluster.figures()?;
        let outcome = drive(&cluster.gates(), network, Work::Mix(Mix::QUARTER), run as u64)?;
        let done = cluster.figures()?.since(&before);
        let operations = outcome.operations.max(1) as f64;
        let (announced, asked) = (done.announcements / operations, done.questions / operations);
        report.note(format!(
            "tau {name} us: {announced:.3} announcements and {asked:.4} questions an operation; {:.0} operations/s",
            outcome.rate()
        ));
    }
    report.note("paper: small tau, many announcements and few questions; large tau, the other way round; the best lies between. Here each group of commits and each read \
        announces a clock, whatever tau is (rule B), so that few questions are left for a large tau");
    Ok(())
}
