//! A blockchain explorer: `cargo run --release -p tanglewood-applications-examples --example blockchain -- [FOLDER] [--postgres URL] [--picture FILE.svg]`.
//!
//! The folder holds blocks as files of JSON. Without one, a chain is drawn. Each block is added in one commit and shown; with a server of PostgreSQL, the
//! same is done there, with its indexes, and both answers must be the block that came.
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use applications::block_rows::BlockRows;
use applications::blockchain::{Block, Explorer, drawn};
use applications::command::{Arguments, Times, below, timed, told};
use chart::{Axis, Chart, Look, Series};
use std::time::Duration;
use world::clock::monotonic_ns;
use world::files;

/// Times that each block is shown; the middle one counts.
const SHOWN: usize = 20;
/// A block counts as done when nothing was delivered for this long. Later changes are not among the times.
const PATIENCE: Duration = Duration::from_millis(5);
/// Number of generated blocks, and transactions of the largest.
const DRAWN: (usize, usize) = (30, 400);

fn main() -> Result<(), String> {
    let arguments = Arguments::read()?;
    let mut blocks = match &arguments.data {
        Some(folder) => {
            let found = files::list_folder(&below(folder, "bitcoin")).map_err(|error| error.to_string())?;
            let json = found.iter().filter(|path| path.extension().is_some_and(|end| end == "json"));
            let read = |path: &std::path::PathBuf| {
                let text = files::read_text(path).map_err(|error| error.to_string())?;
                Block::read(&text).map_err(|why| format!("{}: {why}", path.display()))
            };
            json.map(read).collect::<Result<Vec<Block>, String>>()?
        }
        None => drawn(DRAWN.0, DRAWN.1, 3),
    };
    blocks.sort_by_key(|block| block.height);
    let mut explorer = Explorer::open(None).map_err(|error| told(&error))?;
    let mut rows = arguments.postgres.as_deref().map(BlockRows::open).transpose()?;
    let mut alerts = explorer.watch(false).map_err(|error| told(&error))?;
    let (mut added, mut warned) = (Times::default(), Times::default());
    for block in &blocks {
        let ((), took) = timed(|| explorer.add(block))?;
        added.push(took);
        let begin_ns = monotonic_ns();
        if !alerts.next(PATIENCE).map_err(|error| told(&error))?.is_empty() {
            warned.push(Duration::from_nanos(monotonic_ns() - begin_ns));
        }
        if let Some(rows) = &mut rows {
            rows.add(block)?;
        }
        // Whom the first block with an address paid is watched from then on.
        if block.transactions.len() > 1 && added.len() < blocks.len() / 2 {
            let to = block.transactions.iter().flat_map(|one| &one.outputs).find_map(|(_, to)| to.clone());
            to.map(|to| explorer.flag(&to)).transpose().map_err(|error| told(&error))?;
        }
        // The rest of a large change, what came late, and what a flag alone tells.
        while !alerts.next(PATIENCE).map_err(|error| told(&error))?.is_empty() {}
    }
    println!("{} blocks, each one commit: {}", blocks.len(), added.told());
    println!("until the taint in a block is told, where it is within {PATIENCE:?}: {}", warned.told());
    if let Some(rows) = &mut rows {
        rows.analyze()?;
    }
    show(&mut explorer, rows.as_mut(), &blocks, &arguments)?;
    let (clusters, took) = timed(|| explorer.clusters(3))?;
    println!("the largest groups of addresses that were spent together: {clusters:?} ({took:.1?})");
    Ok(())
}

/// Follows the money of an address of each of the last blocks, in the graph and in PostgreSQL.
fn follow(explorer: &mut Explorer, mut rows: Option<&mut BlockRows>, blocks: &[Block]) -> Result<(), String> {
    for block in blocks.iter().rev().take(3) {
        let to = block.transactions.iter().flat_map(|one| &one.outputs).find_map(|(_, to)| to.clone());
        let Some(to) = to else { continue };
        let (taint, took) = timed(|| explorer.taint(&to))?;
        println!("money of {to} reached {} transactions ({took:.1?})", taint.len());
        if let Some(rows) = &mut rows {
            let begin_ns = monotonic_ns();
            let there = rows.taint(&to)?;
            let took = Duration::from_nanos(monotonic_ns() - begin_ns);
            println!("  PostgreSQL says {there} ({took:.1?})");
            if there != taint.len() as i64 {
                return Err("both must say the same".into());
            }
        }
    }
    Ok(())
}

/// Renders each block, in the graph and in PostgreSQL.
fn show(
    explorer: &mut Explorer,
    mut rows: Option<&mut BlockRows>,
    blocks: &[Block],
    arguments: &Arguments,
) -> Result<(), String> {
    let [mut ours, mut theirs] = [Vec::new(), Vec::new()];
    for block in blocks {
        let [mut here, mut there] = [Times::default(), Times::default()];
        for _ in 0..SHOWN {
            let (shown, took) = timed(|| explorer.render(&block.hash))?;
            here.push(took);
            if shown != block.transactions {
                return Err(format!("block {} is shown otherwise than it came", block.height));
            }
            let Some(rows) = &mut rows else { continue };
            let begin_ns = monotonic_ns();
            let shown = rows.render(&block.hash)?;
            there.push(Duration::from_nanos(monotonic_ns() - begin_ns));
            if shown != block.transactions {
                return Err(format!("PostgreSQL shows block {} otherwise than it came", block.height));
            }
        }
        let count = block.transactions.len();
        let beside =
            if there.is_empty() { String::new() } else { format!("; PostgreSQL {:.1?}", there.part(0.5)) };
        println!(
            "block {:>9} with {count:>5} transactions: shown in {:.1?}{beside}",
            block.height,
            here.part(0.5)
        );
        ours.push((count as f64, here.part(0.5).as_secs_f64() * 1e3));
        theirs.extend((!there.is_empty()).then(|| (count as f64, there.part(0.5).as_secs_f64() * 1e3)));
    }
    follow(explorer, rows, blocks)?;
    let series = |name: &str, mut points: Vec<(f64, f64)>, look| {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Series { name: name.into(), look, points }
    };
    // Weaver, Table 5.1: CoinGraph on its authors' cluster.
    let paper = vec![
        (1.0, 3.1),
        (4.0, 5.3),
        (10.0, 9.3),
        (156.0, 98.5),
        (237.0, 159.4),
        (388.0, 316.1),
        (1_795.0, 1_273.2),
    ];
    let mut all = vec![series("Tanglewood", ours, Look::Line)];
    if !theirs.is_empty() {
        all.push(series("PostgreSQL, with indexes", theirs, Look::Line));
    }
    all.push(series("CoinGraph (Weaver, Table 5.1)", paper, Look::Dashed));
    arguments.draw(&Chart {
        title: "To show a block, by how many transactions it has".into(),
        x: Axis::log("transactions"),
        y: Axis::log("milliseconds"),
        categories: Vec::new(),
        series: all,
    })
}
