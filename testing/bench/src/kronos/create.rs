//! Figure 5.4: `create_events` through Python over loopback, one event a call, one call after the other; beside it what an empty call costs and
//! what a sync of the disk costs, which every created event waits for.

use super::fault;
use super::group::Group;
use crate::peers::KRONOS_CREATE;
use crate::report::Report;
use crate::timing::{Samples, timed};
use serde_json::Value as Json;
use std::path::Path;
use world::disk::{Disk, OpenHow, RealDisk};

const CALLS: usize = 10_000;
const SYNCS: usize = 1_000;
const MEDIAN_TARGET_US: f64 = 44.0;
const SLOWEST_TARGET_US: f64 = 57.0;

pub(super) fn run(report: &mut Report) -> Result<(), String> {
    report.section("figure 5.4: create_events through Python over loopback, one replica");
    // The paper's service holds its state in memory; ours syncs its log before it answers.
    one(report, "log in memory", Group::start_in_memory(1))?;
    one(report, "log on disk", Group::start(1))
}

fn one(report: &mut Report, place: &str, group: Result<Group, String>) -> Result<(), String> {
    let figures = group.and_then(|group| {
        let sync_us = sync(&group.data(0))?;
        let figures = KRONOS_CREATE.run(&group.data(0), &[&group.addresses()[0], &CALLS.to_string()])?;
        Ok((sync_us, figures))
    });
    let (sync_us, figures) = match figures {
        Ok(figures) => figures,
        Err(why) => {
            report.skipped(&format!("create_events, {place}"), &why);
            return Ok(());
        }
    };
    if figures["right"] != true || figures["distinct"] != CALLS {
        return Err(format!("the created events are not {CALLS} different ones: {figures}"));
    }
    let us = |what: &str, part: &str| figures[what][part].as_f64().unwrap_or(f64::NAN);
    let both = |what: &str| (us(what, "0.5"), us(what, "0.99"));
    let ((empty, slowest), version) = (both("empty"), figures["grpcio"].as_str().unwrap_or("?"));
    report.note(format!(
        "{place}: floors: an empty call by grpcio {version} {empty:.0} us, 99 % under {slowest:.0} us; a sync {sync_us:.0} us"
    ));
    verdict(report, &format!("grpcio alone, {place}"), both("create"));
    if figures["package"] != Json::Null {
        if figures["package_distinct"] != CALLS {
            return Err("the package's events are not all different".into());
        }
        verdict(report, &format!("Python package, {place}"), both("package"));
    }
    Ok(())
}

fn verdict(report: &mut Report, name: &str, (median, slowest): (f64, f64)) {
    let shown = format!("{median:.0} us, 99 % under {slowest:.0} us");
    let reached = median <= MEDIAN_TARGET_US && slowest <= SLOWEST_TARGET_US;
    report.figure(name, &shown, "44 us, 99 % under 57 us (paper)", reached);
}

/// The median time of a small append that is synced, in microseconds.
fn sync(folder: &Path) -> Result<f64, String> {
    let path = folder.join("sync-probe");
    let file = RealDisk.open(&path, OpenHow::CreateNew).map_err(fault)?;
    let mut times = Samples::default();
    for _ in 0..SYNCS {
        let (outcome, time_ms) = timed(|| file.append(&[7; 64]).and_then(|_| file.sync()));
        outcome.map_err(fault)?;
        times.push(time_ms);
    }
    RealDisk.remove(&path).map_err(fault)?;
    Ok(times.median_ms() * 1e3)
}
