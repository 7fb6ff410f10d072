//! Blocks a second, of a graph on disk with all the memory that it wants, and with less (Weaver, Figure 5.13: there the data is larger than the
//! memory of the cluster, too). Clients show blocks at random, in a closed loop, and compare each with the block that came.

use applications::blockchain::{Block, Explorer};
use applications::command::{since, timed, told};
use applications::findings::Findings;
use applications::times::Times;
use chart::{Axis, Chart, Look, Series};
use std::path::Path;
use std::time::Duration;
use world::chance::Chance;
use world::clock::monotonic_ns;
use world::files::TemporaryFolder;
use world::threads::in_parallel;

const CLIENTS: usize = 2;
/// Time that they show blocks, for each size of memory.
const SHOWN: Duration = Duration::from_secs(10);
/// Parts of the memory that the graph wants.
const PARTS: [f64; 2] = [0.75, 0.5];
const SEED: u64 = 5;

/// What the clients did with one size of memory.
struct Throughput {
    took: Duration,
    /// Times by block.
    times: Vec<Times>,
}

impl Throughput {
    fn shown(&self) -> usize {
        self.times.iter().map(Times::len).sum()
    }
    fn blocks_per_second(&self) -> f64 {
        self.shown() as f64 / self.took.as_secs_f64()
    }
    fn nodes_per_second(&self, blocks: &[Block]) -> f64 {
        let nodes: usize =
            self.times.iter().zip(blocks).map(|(times, block)| times.len() * nodes(block)).sum();
        nodes as f64 / self.took.as_secs_f64()
    }
}

/// A transaction is a node, and so is each that it spends and each address that it pays.
fn nodes(block: &Block) -> usize {
    block.transactions.iter().map(|one| 1 + one.inputs.len() + one.outputs.len()).sum()
}

pub fn measure(blocks: &[Block], findings: &mut Findings) -> Result<(), String> {
    let folder = TemporaryFolder::new("blockchain").map_err(|error| error.to_string())?;
    let mut explorer = opened(folder.path(), None)?;
    for block in blocks {
        explorer.add(block).map_err(|error| told(&error))?;
    }
    explorer.close().map_err(|error| told(&error))?;
    let explorer = opened(folder.path(), None)?;
    let whole = clients(&explorer, blocks)?;
    let wanted = explorer.memory_bytes();
    explorer.close().map_err(|error| told(&error))?;
    let mut all = vec![("all that it wants".to_string(), wanted, whole)];
    for part in PARTS {
        let explorer = opened(folder.path(), Some((wanted as f64 * part) as u64))?;
        let tight = clients(&explorer, blocks)?;
        all.push((format!("{part} of it"), explorer.memory_bytes(), tight));
        explorer.close().map_err(|error| told(&error))?;
    }
    let row = |(name, bytes, one): &(String, u64, Throughput)| {
        let slower = all[0].2.blocks_per_second() / one.blocks_per_second();
        vec![
            name.clone(),
            format!("{:.1}", *bytes as f64 / 1e6),
            format!("{:.1}", one.blocks_per_second()),
            format!("{:.0}", one.nodes_per_second(blocks)),
            format!("{slower:.1}"),
        ]
    };
    let rows: Vec<Vec<String>> = all.iter().map(row).collect();
    let title = format!(
        "Blocks at random, {CLIENTS} clients, from disk, by the memory of the graph (Weaver, Figure 5.13)"
    );
    findings.table(&title, &["memory", "MB held", "blocks/s", "nodes/s", "times slower"], &rows);
    let shown = all.iter().map(|(.., one)| one.shown()).sum::<usize>();
    findings.check(format!("each of {shown} blocks that were shown at random"));
    findings.chart(chart(blocks, &all));
    Ok(())
}

fn opened(folder: &Path, memory_bytes: Option<u64>) -> Result<Explorer, String> {
    Explorer::open_within(Some(folder), memory_bytes).map_err(|error| told(&error))
}

/// All clients, until the time is up.
fn clients(explorer: &Explorer, blocks: &[Block]) -> Result<Throughput, String> {
    let begin_ns = monotonic_ns();
    let done = in_parallel("client", CLIENTS, |number| {
        let (mut own, mut chance) = (explorer.share(), Chance::seeded(SEED + number as u64));
        let mut times = vec![Times::default(); blocks.len()];
        while since(begin_ns) < SHOWN {
            let at = chance.index(blocks.len());
            let (shown, took) = timed(|| own.render(&blocks[at].hash))?;
            times[at].push(took);
            if shown != blocks[at].transactions {
                return Err(format!("block {} is shown otherwise than it came", blocks[at].height));
            }
        }
        Ok(times)
    });
    let mut times = vec![Times::default(); blocks.len()];
    for one in done.into_iter().collect::<Result<Vec<_>, String>>()? {
        times.iter_mut().zip(one).for_each(|(all, one)| all.extend(one));
    }
    Ok(Throughput { took: since(begin_ns), times })
}

/// By the nodes of a block, how many nodes a second.
fn chart(blocks: &[Block], all: &[(String, u64, Throughput)]) -> Chart {
    let series = |(name, _, of): &(String, u64, Throughput)| {
        let point = |(block, times): (&Block, &Times)| {
            let seconds = times.mean_ms().0 / 1e3;
            (!times.is_empty()).then(|| (nodes(block) as f64, nodes(block) as f64 / seconds))
        };
        let mut points: Vec<(f64, f64)> = blocks.iter().zip(&of.times).filter_map(point).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        Series { name: format!("memory: {name}"), look: Look::Line, points }
    };
    Chart {
        title: "Nodes a second for one client, by the nodes of a block (Weaver, Figure 5.13)".into(),
        x: Axis::log("nodes of the block"),
        y: Axis::log("nodes a second"),
        categories: Vec::new(),
        series: all.iter().map(series).collect(),
    }
}
