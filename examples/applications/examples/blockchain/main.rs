//! A blockchain explorer: `cargo run --release -p tanglewood-applications-examples --example blockchain -- [DATA] [--postgres CONNECTION] [--out FOLDER] [--page PAGE.md]`.
//!
//! DATA is the folder of packed data sets, or one with blocks as files of JSON. Without it, a chain is drawn. Each block is added in one commit and shown;
//! with a server of PostgreSQL, the same is done there in turns with ours: with its indexes, prepared statements, ANALYZE, a warm-up, and the faster of two
//! ways to ask. Every answer must be the block that came. Taint and groups of addresses are held against searches. At the end, clients show blocks at
//! random, from a graph on disk that has all the memory that it wants, and half of that.
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

mod throughput;

use applications::Told;
use applications::block_rows::BlockRows;
use applications::blockchain::{Block, Explorer, TaintChange, Transaction, drawn};
use applications::command::{Arguments, since, timed, told};
use applications::findings::Findings;
use applications::search;
use applications::times::{Times, times_chart};
use chart::{Axis, Chart, Look, Series};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use world::clock::monotonic_ns;
use world::files;

/// Times that each block is shown, as in the paper, and before these, to warm up.
const SHOWN: usize = 20;
const WARMED_UP: usize = 3;
/// Transactions of a block that is large: over these the figure beside PostgreSQL is taken.
const LARGE: usize = 100;
/// Nothing more is to come of a block once nothing came for so long. What comes later is not among the times.
const PATIENCE: Duration = Duration::from_millis(20);
const SILENCE: Duration = Duration::from_secs(1);
/// Blocks that are drawn, with so many transactions.
const DRAWN: (usize, usize) = (30, 400);
const SEED: u64 = 3;
/// Addresses whose money is followed.
const FOLLOWED: usize = 3;
/// Weaver, Table 5.1: transactions of a block and milliseconds, of CoinGraph and of Blockchain.info, on their machines.
const PAPER: [(f64, f64, f64); 7] = [
    (1.0, 3.1, 265.1),
    (4.0, 5.3, 339.6),
    (10.0, 9.3, 415.5),
    (156.0, 98.5, 1_699.1),
    (237.0, 159.4, 1_614.5),
    (388.0, 316.1, 2_904.0),
    (1_795.0, 1_273.2, 10_331.0),
];

/// A block as it was shown here and there.
struct Shown<'b> {
    block: &'b Block,
    ours: Times,
    /// By two joins, and at once; none without a server.
    theirs: [Times; 2],
}

impl Shown<'_> {
    /// The faster of their ways.
    fn best(&self) -> Option<&Times> {
        let shown = self.theirs.iter().filter(|times| !times.is_empty());
        shown.min_by_key(|times| times.part(0.5))
    }
    fn count(&self) -> f64 {
        self.block.transactions.len() as f64
    }
}

/// As the server has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), String> {
    let arguments = Arguments::read()?;
    let (mut blocks, about) = match arguments.folder("bitcoin-blocks-json", "bitcoin")? {
        Some(folder) => (read(&folder)?, "twelve real blocks, some of the test network"),
        None => (drawn(DRAWN.0, DRAWN.1, SEED), "a chain that is drawn"),
    };
    blocks.sort_by_key(|block| block.height);
    let mut findings = Findings::begin("blockchain", about, SEED);
    findings.count("blocks", blocks.len());
    findings.count("transactions", blocks.iter().map(|block| block.transactions.len()).sum());
    let mut explorer = Explorer::open(None).map_err(|error| told(&error))?;
    let mut rows = arguments.postgres.as_deref().map(BlockRows::open).transpose()?;
    add(&mut explorer, rows.as_mut(), &blocks, &mut findings)?;
    if let Some(rows) = &mut rows {
        rows.analyze()?;
    }
    let shown = show(&mut explorer, rows.as_mut(), &blocks)?;
    judge(&shown, rows.as_mut(), &mut findings)?;
    follow(&mut explorer, rows.as_mut(), &blocks, &mut findings)?;
    let (clusters, took) = timed(|| explorer.clusters(i64::MAX))?;
    let sizes: Vec<usize> = clusters.iter().map(|(_, size)| *size as usize).collect();
    if sizes != search::clusters(&blocks) {
        return Err("the groups of addresses are not those of a search".into());
    }
    findings.count("groups of addresses that were spent together", sizes.len());
    findings.time("to find them", took);
    findings.check(format!("all {} groups of addresses, by their sizes", sizes.len()));
    throughput::measure(&blocks, &mut findings)?;
    findings.end(&arguments)
}

fn read(folder: &Path) -> Result<Vec<Block>, String> {
    let found = files::list_folder(folder).map_err(|error| error.to_string())?;
    let json = found.iter().filter(|path| path.extension().is_some_and(|end| end == "json"));
    let read = |path: &std::path::PathBuf| {
        let text = files::read_text(path).map_err(|error| error.to_string())?;
        Block::read(&text).map_err(|why| format!("{}: {why}", path.display()))
    };
    json.map(read).collect()
}

/// An address that the block pays.
fn payee(block: &Block) -> Option<String> {
    block.transactions.iter().flat_map(|one| &one.outputs).find_map(|(_, to)| to.clone())
}

/// Adds all blocks, here and there. An address of each of the first blocks is flagged, and taint is told from then on.
fn add(
    explorer: &mut Explorer,
    mut rows: Option<&mut BlockRows>,
    blocks: &[Block],
    findings: &mut Findings,
) -> Result<(), String> {
    let mut alerts = explorer.watch(false).map_err(|error| told(&error))?;
    let [mut added, mut there, mut warned] = [(); 3].map(|()| Times::default());
    let (mut known, mut flagged) = (BTreeMap::<String, i64>::new(), Vec::new());
    let mut meet = |found: Vec<TaintChange>| {
        found.into_iter().for_each(|change| *known.entry(change.txid).or_default() += change.difference);
    };
    for (at, block) in blocks.iter().enumerate() {
        let ((), took) = timed(|| explorer.add(block))?;
        added.push(took);
        let begin_ns = monotonic_ns();
        let found = alerts.next(PATIENCE).map_err(|error| told(&error))?;
        if !found.is_empty() {
            warned.push(since(begin_ns));
        }
        meet(found);
        if let Some(rows) = &mut rows {
            let begin_ns = monotonic_ns();
            rows.add(block)?;
            there.push(since(begin_ns));
        }
        if let Some(to) = payee(block).filter(|_| at < blocks.len() / 2) {
            explorer.flag(&to).map_err(|error| told(&error))?;
            flagged.push(to);
        }
        // The rest of a large change, what came late, and what a flag alone tells.
        meet(rest(&mut alerts, PATIENCE)?);
    }
    meet(rest(&mut alerts, SILENCE)?);
    let mut wanted = BTreeMap::new();
    flagged.iter().for_each(|address| wanted.extend(search::taint(blocks, address)));
    known.retain(|_, count| *count != 0);
    if !known.keys().eq(wanted.keys()) || known.values().any(|count| *count != 1) {
        return Err(format!(
            "taint of {} transactions was told, a search finds {}",
            known.len(),
            wanted.len()
        ));
    }
    findings.times("a block is added, in one commit", &added);
    if !there.is_empty() {
        findings.times("the same in PostgreSQL", &there);
    }
    if !warned.is_empty() {
        findings.times(&format!("from that commit until its taint is told, within {PATIENCE:?}"), &warned);
    }
    findings.check(format!(
        "taint of {} flagged addresses: {} transactions were told, as a search finds",
        flagged.len(),
        known.len()
    ));
    Ok(())
}

/// All that comes until nothing came for so long.
fn rest(alerts: &mut Told<TaintChange>, silence: Duration) -> Result<Vec<TaintChange>, String> {
    let mut all = Vec::new();
    loop {
        let found = alerts.next(silence).map_err(|error| told(&error))?;
        if found.is_empty() {
            return Ok(all);
        }
        all.extend(found);
    }
}

/// Shows each block again and again, here and there in turns.
fn show<'b>(
    explorer: &mut Explorer,
    mut rows: Option<&mut BlockRows>,
    blocks: &'b [Block],
) -> Result<Vec<Shown<'b>>, String> {
    let mut all = Vec::new();
    for block in blocks {
        let mut shown = Shown { block, ours: Times::default(), theirs: Default::default() };
        for time in 0..WARMED_UP + SHOWN {
            let mut ways: Vec<(&mut Times, Vec<Transaction>, Duration)> = Vec::new();
            let (found, took) = timed(|| explorer.render(&block.hash))?;
            ways.push((&mut shown.ours, found, took));
            if let Some(rows) = &mut rows {
                let [joined, at_once] = &mut shown.theirs;
                let begin_ns = monotonic_ns();
                let found = rows.render(&block.hash)?;
                ways.push((joined, found, since(begin_ns)));
                let begin_ns = monotonic_ns();
                let found = rows.render_at_once(&block.hash)?;
                ways.push((at_once, found, since(begin_ns)));
            }
            for (at, (times, found, took)) in ways.into_iter().enumerate() {
                if found != block.transactions {
                    return Err(format!(
                        "block {} is shown otherwise than it came, by way {at}",
                        block.height
                    ));
                }
                if time >= WARMED_UP {
                    times.push(took);
                }
            }
        }
        all.push(shown);
    }
    Ok(all)
}

/// The middle time, in milliseconds: a busy machine moves it less than the mean.
fn median_ms(times: &Times) -> f64 {
    times.part(0.5).as_secs_f64() * 1e3
}

/// Tells of the times: Table 5.1 and Figure 5.12.
fn judge(shown: &[Shown<'_>], rows: Option<&mut BlockRows>, findings: &mut Findings) -> Result<(), String> {
    let version = rows.map(BlockRows::version).transpose()?;
    let row = |one: &Shown<'_>| {
        let cells = |times: &Times| {
            let (mean, error) = times.mean_ms();
            [format!("{:.3}", median_ms(times)), format!("{mean:.3} ± {error:.3}")]
        };
        let mut row = vec![one.block.height.to_string(), one.count().to_string()];
        row.extend(cells(&one.ours));
        if let Some(best) = one.best() {
            row.extend(cells(best));
            row.push(format!("{:.1}", median_ms(best) / median_ms(&one.ours)));
        }
        row
    };
    let beside =
        version.iter().flat_map(|_| ["PostgreSQL: median, ms", "mean, ms", "times ours, by medians"]);
    let columns: Vec<&str> =
        ["block", "transactions", "median, ms", "mean, ms"].into_iter().chain(beside).collect();
    let title = format!(
        "A block, shown in one transaction: {SHOWN} times, the mean with its standard error (Weaver, Table 5.1)"
    );
    findings.table(&title, &columns, &shown.iter().map(row).collect::<Vec<_>>());
    findings.check(format!(
        "each of the {} times that a block was shown, beside the block that came",
        shown.len() * SHOWN
    ));
    if let Some(version) = version {
        let large = shown.iter().filter(|one| one.block.transactions.len() >= LARGE);
        let gains: Vec<f64> =
            large.filter_map(|one| Some(median_ms(one.best()?) / median_ms(&one.ours))).collect();
        let mean = (gains.iter().map(|gain| gain.ln()).sum::<f64>() / gains.len().max(1) as f64).exp();
        let name = format!(
            "PostgreSQL {version} takes, of blocks of {LARGE} transactions and more: geometric mean of the medians"
        );
        findings.ratio(&name, mean);
    }
    let points = |of: fn(&Shown<'_>) -> Option<f64>| {
        let mut points: Vec<(f64, f64)> =
            shown.iter().filter_map(|one| Some((one.count(), of(one)?))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points
    };
    let series = |name: &str, points, look| Series { name: name.into(), look, points };
    let mut all = vec![series("Tanglewood", points(|one| Some(median_ms(&one.ours))), Look::Line)];
    let theirs = points(|one| Some(median_ms(one.best()?)));
    if !theirs.is_empty() {
        all.push(series("PostgreSQL, with indexes", theirs, Look::Line));
    }
    all.push(series(
        "CoinGraph (Weaver, Table 5.1)",
        PAPER.map(|(count, ms, _)| (count, ms)).to_vec(),
        Look::Dashed,
    ));
    all.push(series(
        "Blockchain.info (same table)",
        PAPER.map(|(count, _, ms)| (count, ms)).to_vec(),
        Look::Dashed,
    ));
    findings.chart(Chart {
        title: "To show a block, by how many transactions it has (Weaver, Figure 5.12)".into(),
        x: Axis::log("transactions"),
        y: Axis::log("milliseconds"),
        categories: Vec::new(),
        series: all,
    });
    Ok(())
}

/// Follows the money of an address of each of the last blocks, here and there.
fn follow(
    explorer: &mut Explorer,
    mut rows: Option<&mut BlockRows>,
    blocks: &[Block],
    findings: &mut Findings,
) -> Result<(), String> {
    let [mut ours, mut theirs] = [(); 2].map(|()| Times::default());
    let followed: Vec<String> =
        blocks.iter().rev().take(FOLLOWED).chain(blocks.iter().take(FOLLOWED)).filter_map(payee).collect();
    for address in &followed {
        let wanted = search::taint(blocks, address);
        for time in 0..WARMED_UP + SHOWN {
            let (taint, took) = timed(|| explorer.taint(address))?;
            if time >= WARMED_UP {
                ours.push(took);
            }
            if taint.into_iter().collect::<BTreeMap<String, i64>>() != wanted {
                return Err(format!("the taint of {address} is not that of a search"));
            }
            let Some(rows) = &mut rows else { continue };
            let begin_ns = monotonic_ns();
            let there = rows.taint(address)?;
            if time >= WARMED_UP {
                theirs.push(since(begin_ns));
            }
            if there != wanted.len() as i64 {
                return Err(format!("PostgreSQL says {there} of {address}"));
            }
        }
    }
    findings.times("what money of an address reached", &ours);
    if !theirs.is_empty() {
        findings.times("the same in PostgreSQL, counted", &theirs);
    }
    findings.check(format!(
        "taint of {} addresses, and over how many spendings each transaction was reached",
        followed.len()
    ));
    findings.chart(times_chart(
        "Where money went: the taint of an address",
        &[("Tanglewood", &ours), ("PostgreSQL", &theirs)],
    ));
    Ok(())
}
