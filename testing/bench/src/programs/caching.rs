//! Figure 5.18: how much faster requests are whose results are cached at their start, while the graph changes.
//!
//! The paper has two workloads: two-hop traversals of a social graph from nodes that are drawn in proportion to their out-degree, and traversals of
//! the whole component of a node of a peer-to-peer network. A third is the local clustering coefficient of such a node. Between requests other
//! sessions write: one in a fixed number of requests adds a relationship between drawn nodes, or removes one that was added. Each request is run
//! cached and uncached, in alternating order, and both answers must agree. Before the measurement, cached requests run until the cache has its final
//! size.

use super::{agree, loaded, row};
use crate::data;
use crate::power_law::{Graph, Shape};
use crate::report::Report;
use crate::timing::timed;
use database::{Database, Session, params};
use std::path::Path;
use world::chance::Chance;

/// Times that caching gains at least, in the paper: 2 to 2.5.
const GAIN_MIN: f64 = 2.0;
/// Requests of a figure.
const REQUESTS: usize = 3_000;
/// Requests before them, cached, with writes between as later: the cache is then as full as it stays.
const WARM_UP: usize = 20_000;
/// Writes of a thousand requests: the share of writes in the mix of TAO, and far more.
const WRITES: [u64; 2] = [2, 20];

/// The graph of a workload: a real one where a folder of data is given, otherwise a smaller generated one.
#[derive(Clone, Copy)]
enum Network {
    /// Follows of persons: SNAP's ego-Twitter, 81,306 nodes and 1,768,135 edges.
    Social,
    /// Connections of peers: one of SNAP's snapshots of Gnutella.
    Peers,
}

impl Network {
    fn graph(self, data: Option<&Path>, report: &Report) -> Result<Graph, String> {
        let (found, shape) = match (self, data) {
            (Network::Social, Some(folder)) => (Some(data::text(folder, "ego-twitter.txt")?), SOCIAL),
            (Network::Peers, Some(folder)) => {
                let (unpacked, _) = data::unpacked(folder, "snap-small")?;
                let found = data::find_folder(&unpacked, "gnutella").ok_or("snap-small holds no gnutella")?;
                (Some(data::text(&found, "edges.csv")?), PEERS)
            }
            (Network::Social, None) => (None, SOCIAL),
            (Network::Peers, None) => (None, PEERS),
        };
        let Some(text) = found else {
            report.note("a graph that is drawn; --data gives a real one");
            return Ok(Graph::generate(&shape));
        };
        let number = |word: Option<&str>| word.and_then(|word| word.parse::<u32>().ok());
        let edge = |line: &str| {
            let mut words = line.split([' ', '\t', ',']);
            number(words.next()).zip(number(words.next()))
        };
        let mut edges: Vec<(u32, u32)> = text.lines().filter_map(edge).collect();
        edges.sort_unstable();
        edges.dedup();
        let highest = edges.iter().map(|(from, to)| *from.max(to)).max().ok_or("the graph has no edges")?;
        Ok(Graph::of_sorted(highest + 1, &edges))
    }
}

/// A social graph.
const SOCIAL: Shape = Shape { vertices: 8_000, edges: 170_000, exponent: 2.3, rank_shift: 10.0, seed: 5 };
/// A network of peers.
const PEERS: Shape = Shape { vertices: 6_301, edges: 20_777, exponent: 4.0, rank_shift: 50.0, seed: 8 };

/// A social graph, for the traversals as well.
pub(super) fn social(data: Option<&Path>, report: &Report) -> Result<Graph, String> {
    Network::Social.graph(data, report)
}

/// Name, the graph, the program's call with `#` where CACHED stands.
const WORKLOADS: [(&str, Network, &str); 3] = [
    (
        "two hops of a social graph",
        Network::Social,
        "MATCH (s:N {id: $s}) CALL program.reach(s, {depth: 2}) # YIELD value RETURN count(*), sum(value)",
    ),
    (
        "clustering coefficient",
        Network::Social,
        "MATCH (s:N {id: $s}) CALL program.clusteringCoefficient(s) # YIELD value RETURN value",
    ),
    (
        "component of a network of peers",
        Network::Peers,
        "MATCH (s:N {id: $s}) CALL program.reach(s) # YIELD value RETURN count(*), sum(value)",
    ),
];

pub(super) fn run(data: Option<&Path>, report: &mut Report) -> Result<(), String> {
    for (name, network, call) in WORKLOADS {
        report.section(&format!("caching, {name} (Figure 5.18)"));
        let graph = network.graph(data, report)?;
        for writes in WRITES {
            let database = loaded(&graph, report)?;
            workload(&database, &graph, (name, call, writes), report)?;
        }
    }
    Ok(())
}

/// A node, drawn in proportion to its out-degree.
fn drawn(ends: &[u32], chance: &mut Chance) -> u32 {
    ends[chance.index(ends.len())]
}

fn workload(
    database: &Database,
    graph: &Graph,
    (name, call, writes): (&str, &str, u64),
    report: &mut Report,
) -> Result<(), String> {
    let mut chance = Chance::seeded(518);
    let ends: Vec<u32> = graph.edges().map(|(source, _)| source).collect();
    let (cached, plain) = (call.replace('#', "CACHED"), call.replace('#', ""));
    let (mut session, mut writer) = (database.session(), database.session());
    let (mut cached_ms, mut plain_ms, mut added) = (0.0, 0.0, Vec::new());
    for _ in 0..WARM_UP {
        if chance.below(1_000) < writes {
            write(&mut writer, &ends, &mut added, &mut chance)?;
        }
        row(&mut session, &cached, drawn(&ends, &mut chance))?;
    }
    for request in 0..REQUESTS {
        if chance.below(1_000) < writes {
            write(&mut writer, &ends, &mut added, &mut chance)?;
        }
        let vertex = drawn(&ends, &mut chance);
        let mut ask = |text: &str, sum_ms: &mut f64| {
            let (answer, time_ms) = timed(|| row(&mut session, text, vertex));
            *sum_ms += time_ms;
            answer
        };
        let (one, other) = match request % 2 {
            0 => (ask(&cached, &mut cached_ms)?, ask(&plain, &mut plain_ms)?),
            _ => {
                let plain = ask(&plain, &mut plain_ms)?;
                (ask(&cached, &mut cached_ms)?, plain)
            }
        };
        if !agree(&one, &other) {
            return Err(format!("{name}: {one:?} cached, {other:?} not, from {vertex}"));
        }
    }
    let counts = "SHOW CACHES YIELD hits, misses, invalidations, evictions RETURN sum(hits), sum(misses), sum(invalidations), sum(evictions)";
    let counts = row(&mut session, counts, 0)?;
    report.note(format!("hits, misses, invalidations, evictions: {counts:?}"));
    let gain = plain_ms / cached_ms;
    let mean_us = |sum_ms: f64| sum_ms * 1e3 / REQUESTS as f64;
    let measured = format!("{gain:.2}x, {:.0} us against {:.0} us", mean_us(cached_ms), mean_us(plain_ms));
    let part = writes as f64 / 10.0;
    report.figure(
        &format!("{name}, {part}% writes"),
        &measured,
        "2x (the paper: 2x to 2.5x)",
        gain >= GAIN_MIN,
    );
    Ok(())
}

/// One change: a relationship comes, or one that came goes.
fn write(
    session: &mut Session,
    ends: &[u32],
    added: &mut Vec<(u32, u32)>,
    chance: &mut Chance,
) -> Result<(), String> {
    let goes = !added.is_empty() && chance.below(2) == 0;
    let (from, to) = match goes {
        true => added.swap_remove(chance.index(added.len())),
        false => (drawn(ends, chance), drawn(ends, chance)),
    };
    let text = match goes {
        true => "MATCH (:N {id: $a})-[e:E {new: true}]->(:N {id: $b}) WITH e LIMIT 1 DELETE e",
        false => "MATCH (a:N {id: $a}), (b:N {id: $b}) CREATE (a)-[:E {new: true}]->(b)",
    };
    let ends = params! { "a" => i64::from(from), "b" => i64::from(to) };
    session
        .query(text, ends)
        .and_then(|result| result.finish())
        .map_err(|error| crate::first::told(&error))?;
    if !goes {
        added.push((from, to));
    }
    Ok(())
}
