//! Transitive closure and same generation on a tree, a grid and a random graph (K-Pg's table 11): the full answer, and single edges that go.

use super::{answered, digest, moved, pair, relation, twin};
use crate::graphs::{CLOSURE, Edges, GENERATION, grid, random, tree};
use crate::report::Report;
use crate::timing::{Samples, shown_ms, timed};
use std::process::Command;

/// Edges that are taken out and put back.
const TRIALS: usize = 100;
/// Edges that stay out at the end, when the answer is compared once more.
const TAKEN: usize = 10;

pub fn run(report: &mut Report) -> Result<(), String> {
    report.section("full answers, and single edges that go (Table 11)");
    let graphs = [
        ("tc tree-11", "tc", tree(11)),
        ("tc grid-50", "tc", grid(50)),
        ("tc random 1,000/10,000", "tc", random(1_000, 10_000)),
        ("sg tree-7", "sg", tree(7)),
        ("sg grid-150", "sg", grid(150)),
        ("sg random 1,000/3,000", "sg", random(1_000, 3_000)),
    ];
    for (title, answer, edges) in graphs {
        cell(title, answer, &edges, report)?;
    }
    twins(report)
}

/// The whole closure of the largest grid: 131,675,775 facts. Its edges are not taken out: that takes indexes of as many.
pub fn large(report: &mut Report) -> Result<(), String> {
    report.section("the closure of a large grid (Table 11)");
    let edges = grid(150);
    let facts = [("e", edges.iter().map(|edge| pair(*edge)).collect())];
    let (evaluation, full_ms) = answered(CLOSURE, &facts)?;
    let found = digest(&evaluation, relation(&evaluation, "tc")?);
    let bytes = evaluation.bytes() / found.0.max(1);
    let measured = format!("{} for {} facts, {bytes} bytes each", shown_ms(full_ms), found.0);
    drop(evaluation);
    let (expected, plain_ms) = timed(|| twin::closure(&edges));
    let target = format!("as plain search ({})", shown_ms(plain_ms));
    report.figure("tc grid-150", &measured, &target, found == expected);
    Ok(())
}

fn expected(answer: &str, edges: &Edges) -> (usize, u64) {
    if answer == "tc" { twin::closure(edges) } else { twin::summed(&twin::generation(edges)) }
}

fn cell(title: &str, answer: &str, edges: &Edges, report: &mut Report) -> Result<(), String> {
    let text = if answer == "tc" { CLOSURE } else { GENERATION };
    let facts = [("e", edges.iter().map(|edge| pair(*edge)).collect())];
    let (mut evaluation, full_ms) = answered(text, &facts)?;
    let (number, edge) = (relation(&evaluation, answer)?, relation(&evaluation, "e")?);
    let (expected_first, plain_ms) = timed(|| expected(answer, edges));
    let right = digest(&evaluation, number) == expected_first;
    let measured = format!("{} for {} facts", shown_ms(full_ms), expected_first.0);
    report.figure(title, &measured, &format!("as plain search ({})", shown_ms(plain_ms)), right);
    let (prepared, ready_ms) = timed(|| evaluation.prepare());
    prepared.map_err(super::fault)?;
    let trial = |at: usize| edges[(at * 7_919 + 13) % edges.len()];
    let (mut goes, mut comes) = (Samples::default(), Samples::default());
    for fact in (0..TRIALS).map(|at| pair(trial(at))) {
        goes.push(moved(&mut evaluation, edge, &fact, false)?);
        comes.push(moved(&mut evaluation, edge, &fact, true)?);
    }
    let same = digest(&evaluation, number) == expected_first;
    let mut left = edges.clone();
    for gone in (0..TAKEN).map(trial) {
        moved(&mut evaluation, edge, &pair(gone), false)?;
        left.retain(|edge| *edge != gone);
    }
    let right = same && digest(&evaluation, number) == expected(answer, &left);
    let quantiles = |samples: &Samples| {
        format!("{}, max {}", shown_ms(samples.median_ms()), shown_ms(samples.quantile_ms(1.0)))
    };
    report.figure("  an edge goes, p50", &quantiles(&goes), "as plain search over what is left", right);
    report.note(format!(
        "an edge comes, p50 {}; made ready for changes in {}; {} bytes a fact",
        quantiles(&comes),
        shown_ms(ready_ms),
        evaluation.bytes() / evaluation.len(number).max(1)
    ));
    Ok(())
}

/// The programs written by hand, where they are built: beside this program, or beside its examples.
fn twins(report: &mut Report) -> Result<(), String> {
    const TITLE: &str = "beside programs on differential-dataflow";
    let here = std::env::current_exe().map_err(super::fault)?;
    let beside = here.parent().map(|folder| folder.join("examples").join("datalog_twins"));
    let Some(program) = beside.filter(|program| world::files::exists(program)) else {
        let how = "cargo build --release -p tanglewood-bench --example datalog_twins";
        report.skipped(TITLE, how);
        return Ok(());
    };
    let output = Command::new(program).output().map_err(super::fault)?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().for_each(|line| report.note(line));
    report.figure(TITLE, "see above", "equal answers, at most 1.5x their time", output.status.success());
    Ok(())
}
