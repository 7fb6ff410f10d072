//! Figures 5.12 and 5.13 and Table 5.1: blocks of a chain are rendered, each answer being the block that came; beside PostgreSQL with its indexes where
//! `TANGLEWOOD_BENCH_POSTGRES` names a server.

use crate::data;
use crate::report::Report;
use crate::timing::{Samples, shown_ms, timed};
use applications::block_rows::BlockRows;
use applications::blockchain::{Block, Explorer, drawn};
use chart::{Axis, Chart, Look, Series};
use std::path::Path;
use world::files;

/// Times that each block is rendered, as in the paper.
const RENDERED: usize = 20;
/// PostgreSQL must take at least this many times as long as ours, over blocks of that many transactions.
const GAIN_MIN: f64 = 5.0;
const LARGE: usize = 100;
/// The variable that names a server of PostgreSQL.
const SERVER: &str = "TANGLEWOOD_BENCH_POSTGRES";
/// The chain that is drawn where there is no data.
const DRAWN: (usize, usize) = (10, 1_000);
/// Transactions of a block and milliseconds, of Table 5.1.
const PAPER: [(f64, f64); 7] =
    [(1.0, 3.1), (4.0, 5.3), (10.0, 9.3), (156.0, 98.5), (237.0, 159.4), (388.0, 316.1), (1_795.0, 1_273.2)];

pub(super) fn run(data: Option<&Path>, report: &mut Report) -> Result<(), String> {
    report.section("blocks of a chain, rendered (Figures 5.12 and 5.13, Table 5.1)");
    let blocks = match data {
        Some(folder) => read(folder)?,
        None => drawn(DRAWN.0, DRAWN.1, 3),
    };
    report.note(match data {
        Some(_) => format!("{} real blocks of the data folder", blocks.len()),
        None => format!("{} blocks that are drawn; --data gives real ones", blocks.len()),
    });
    let server = match report.choice.takes("PostgreSQL", "postgres") {
        true => std::env::var(SERVER).map_err(|_| format!("{SERVER} names no server")),
        false => Err("other engines were not asked".to_string()),
    };
    measure(blocks, server.as_deref().map_err(String::as_str), report)
}

/// Renders the blocks, beside a server of PostgreSQL or why there is none.
fn measure(mut blocks: Vec<Block>, server: Result<&str, &str>, report: &mut Report) -> Result<(), String> {
    blocks.sort_by_key(|block| block.height);
    let mut rows = server.ok().map(BlockRows::open).transpose()?;
    let mut explorer = Explorer::open(None).map_err(|error| crate::first::told(&error))?;
    for block in &blocks {
        explorer.add(block).map_err(|error| crate::first::told(&error))?;
        rows.as_mut().map_or(Ok(()), |rows| rows.add(block))?;
    }
    rows.as_mut().map_or(Ok(()), BlockRows::analyze)?;
    let [mut ours, mut theirs] = [Vec::new(), Vec::new()];
    for block in &blocks {
        let count = block.transactions.len() as f64;
        let render = || explorer.render(&block.hash).map_err(|error| crate::first::told(&error));
        ours.push((count, rendered(block, render)?));
        if let Some(rows) = &mut rows {
            theirs.push((count, rendered(block, || rows.render(&block.hash))?));
        }
    }
    judge(&blocks, &ours, server.map(|_| theirs.as_slice()), report);
    Ok(())
}

fn read(folder: &Path) -> Result<Vec<Block>, String> {
    let (unpacked, _) = data::unpacked(folder, "bitcoin-blocks-json")?;
    let found = data::find_folder(&unpacked, "bitcoin").ok_or("the archive holds no folder `bitcoin`")?;
    let files = files::list_folder(&found).map_err(|error| error.to_string())?;
    let read = |path: &std::path::PathBuf| {
        let text = files::read_text(path).map_err(|error| error.to_string())?;
        Block::read(&text).map_err(|why| format!("{}: {why}", path.display()))
    };
    files.iter().map(read).collect()
}

/// The middle time in milliseconds; every answer must be the block.
fn rendered(
    block: &Block,
    mut render: impl FnMut() -> Result<Vec<applications::blockchain::Transaction>, String>,
) -> Result<f64, String> {
    let mut samples = Samples::default();
    for _ in 0..RENDERED {
        let (shown, time_ms) = timed(&mut render);
        if shown? != block.transactions {
            return Err(format!("block {} is rendered otherwise than it came", block.height));
        }
        samples.push(time_ms);
    }
    Ok(samples.median_ms())
}

fn judge(blocks: &[Block], ours: &[(f64, f64)], theirs: Result<&[(f64, f64)], &str>, report: &mut Report) {
    // A transaction is a node, and so is each that it spends and each address that it pays.
    let nodes = |block: &Block| {
        let around = |one: &applications::blockchain::Transaction| 1 + one.inputs.len() + one.outputs.len();
        block.transactions.iter().map(around).sum::<usize>() as f64
    };
    for (block, (count, time_ms)) in blocks.iter().zip(ours) {
        report.note(format!(
            "block {:>9}: {count:>5} transactions in {}, {:.0} nodes a second",
            block.height,
            shown_ms(*time_ms),
            nodes(block) / (time_ms / 1e3)
        ));
    }
    let is_large = |block: &Block| block.transactions.len() >= LARGE;
    let large: Vec<usize> = (0..blocks.len()).filter(|at| is_large(&blocks[*at])).collect();
    let rate = large.iter().map(|at| nodes(&blocks[*at]) / (ours[*at].1 / 1e3)).fold(f64::INFINITY, f64::min);
    if rate.is_finite() {
        let target = "20000 nodes a second (the paper's most)";
        report.figure(
            "nodes read for large blocks",
            &format!("{rate:.0} nodes a second at least"),
            target,
            rate >= 20_000.0,
        );
    }
    match theirs {
        Err(why) => report.skipped("beside PostgreSQL", why),
        Ok(_) if large.is_empty() => report.skipped("beside PostgreSQL", "no block is large"),
        Ok(theirs) => {
            let gains: Vec<f64> = large.iter().map(|at| theirs[*at].1 / ours[*at].1).collect();
            let mean = (gains.iter().map(|gain| gain.ln()).sum::<f64>() / gains.len() as f64).exp();
            report.figure("large blocks beside PostgreSQL", &format!("{mean:.1}x"), "5x", mean >= GAIN_MIN);
        }
    }
    let series = |name: &str, points: &[(f64, f64)], look| {
        let mut points = points.to_vec();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Series { name: name.into(), look, points }
    };
    let mut all =
        vec![series("Tanglewood", ours, Look::Line), series("CoinGraph (Table 5.1)", &PAPER, Look::Dashed)];
    if let Ok(theirs) = theirs {
        all.push(series("PostgreSQL, with indexes", theirs, Look::Line));
    }
    report.chart(Chart {
        title: "To render a block, by how many transactions it has".into(),
        x: Axis::log("transactions"),
        y: Axis::log("milliseconds"),
        categories: Vec::new(),
        series: all,
    });
}

#[cfg(test)]
mod tests {
    use super::{DRAWN, drawn, measure};

    #[test]
    fn a_drawn_chain_is_rendered_and_judged() {
        let mut report = crate::report::Report::default();
        measure(drawn(DRAWN.0, DRAWN.1 / 10, 3), Err("not asked"), &mut report).unwrap();
        assert!(report.lines().iter().any(|line| matches!(line, crate::report::Line::Chart(_))));
    }
}
