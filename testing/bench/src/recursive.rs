//! `recursive`: lengths of paths from one source and from many, between pairs, and walks that explode where they are listed one by one.
//!
//! Every answer is compared with that of a bare search over plain arrays. Parts: the names of graphs (`rmat20`, `power-law`, `random-2`,
//! `random-8`, `random-32`, `ego-twitter`, `knows`) and `algorithms`, `pairs`, `paths`, `walks`. `rmat18` and its like are
//! smaller matrices.

mod algorithms;
mod bare;
mod lengths;
mod ours;
mod pairs;
mod paths;
mod policies;
mod subject;
mod twins;
mod walks;

use crate::report::Report;
use std::path::Path;
use subject::Subject;

/// Scale of the recursive matrix unless another is named.
const RMAT_SCALE: u32 = 20;

/// Runs the bench.
pub fn run(data: Option<&Path>, report: &mut Report) -> Result<(), String> {
    let names = report.choice.only.clone();
    let is_chosen = |name: &str| names.is_empty() || names.iter().any(|only| only.eq_ignore_ascii_case(name));
    let scale = names.iter().find_map(|name| name.strip_prefix("rmat")?.parse().ok()).unwrap_or(RMAT_SCALE);
    if is_chosen("power-law") {
        let subject = subject::power_law();
        let ours = graph(&subject, report)?;
        policies::run(&subject, &ours, report)?;
    }
    for subject in subject::random().filter(|subject| is_chosen(&subject.name)) {
        graph(&subject, report)?;
    }
    type Make = fn(&Path) -> Result<Subject, String>;
    let real: [(&str, Make); 2] = [("ego-twitter", subject::twitter), ("knows", subject::knows)];
    for (name, make) in real.into_iter().filter(|(name, _)| is_chosen(name)) {
        match data.ok_or("it needs --data".to_string()).and_then(make) {
            Ok(subject) => drop(graph(&subject, report)?),
            Err(why) => report.skipped(name, &why),
        }
    }
    if is_chosen("algorithms") {
        algorithms::run(&subject::rmat(scale), report)?;
    }
    if is_chosen(&format!("rmat{scale}")) || is_chosen("pairs") {
        let subject = subject::rmat(scale);
        let ours = match is_chosen(&format!("rmat{scale}")) {
            true => graph(&subject, report)?,
            false => ours::Ours::load(&subject)?,
        };
        pairs::run(&subject, &ours, report)?;
    }
    if is_chosen("paths") {
        // A matrix that is named is meant alone.
        let with_power_law = !names.iter().any(|name| name.starts_with("rmat"));
        for subject in with_power_law.then(subject::power_law).into_iter().chain([subject::rmat(scale)]) {
            paths::run(&subject, ours::Ours::load(&subject)?, report)?;
        }
    }
    if is_chosen("walks") {
        walks::run(report)?;
    }
    Ok(())
}

fn graph(subject: &Subject, report: &mut Report) -> Result<ours::Ours, String> {
    let (vertices, edges) = (subject.vertices, subject.edges.len());
    report.section(&format!("{}: {vertices} vertices, {edges} edges", subject.name));
    lengths::run(subject, report)
}
