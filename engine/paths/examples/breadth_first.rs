//! One source to all vertices: the search from above, the search from both sides, and a bare direction-optimising one over plain arrays;
//! then 64 sources, one after the other and in as many lanes of one search.
//!
//! Graph: RMAT (0.57, 0.19, 0.19, 0.05) of a scale given as argument (18 if none), 16 edges a vertex, fixed seed, searched undirected.
//! Every answer is checked by the number of vertices found and the sum of their distances.
//!
//! `cargo run --release -p tanglewood-paths --example breadth_first -- 20`
#![allow(clippy::unwrap_used)]

use tanglewood_paths::csr::Csr;
use tanglewood_paths::{
    Adjacency, Hops, Keep, LANES_MAX, LaneEnds, LanesReach, Orientation, Progress, Reach, Work,
};
use world::clock::monotonic_ns;

fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn rmat(scale: u32) -> Vec<(u32, u32)> {
    let mut seed = 20;
    let edge = |_| {
        let (mut from, mut to) = (0, 0);
        for _ in 0..scale {
            let draw = next(&mut seed) % 100;
            let (right, down) = (draw >= 57, draw >= 95 || (76..95).contains(&draw));
            let (down, right) = (down, right && !(76..95).contains(&draw));
            from = from << 1 | u32::from(down);
            to = to << 1 | u32::from(right);
        }
        (from, to)
    };
    (0..16_u64 << scale).map(edge).collect()
}

/// Entries of all lists.
fn edges(graph: &Csr) -> usize {
    graph.edges_estimate().unwrap() as usize
}

/// Beamer's search over plain arrays: found vertices, sum of distances.
fn bare(graph: &Csr, source: u32) -> (u64, u64) {
    let bound = graph.vertex_bound();
    let mut level = vec![u8::MAX; bound as usize];
    level[source as usize] = 0;
    let (mut frontier, mut depth, mut edges_left) = (vec![source], 0_u8, edges(graph));
    let (mut found, mut sum, mut below) = (0, 0, false);
    while !frontier.is_empty() {
        depth += 1;
        let handled: usize = frontier.iter().map(|vertex| graph.list(*vertex).len()).sum();
        below = if below { frontier.len() * 18 >= bound as usize } else { handled > edges_left / 14 };
        edges_left -= handled.min(edges_left);
        let mut reached = Vec::new();
        if below {
            for vertex in 0..bound {
                if level[vertex as usize] == u8::MAX
                    && graph.list(vertex).iter().any(|near| level[*near as usize] == depth - 1)
                {
                    level[vertex as usize] = depth;
                    reached.push(vertex);
                }
            }
        } else {
            for vertex in frontier {
                for far in graph.list(vertex) {
                    if level[*far as usize] == u8::MAX {
                        level[*far as usize] = depth;
                        reached.push(*far);
                    }
                }
            }
        }
        found += reached.len() as u64;
        sum += reached.len() as u64 * u64::from(depth);
        frontier = reached;
    }
    (found, sum)
}

fn reach(graph: &Csr, source: u32, both_ways: bool) -> (u64, u64) {
    let hops = Hops::new(0, Hops::UNBOUNDED);
    let mut reach = Reach::new(graph, &[source], hops, Orientation::Undirected, Keep::Levels).unwrap();
    if both_ways {
        reach = reach.both_ways(graph);
    }
    let (mut ends, mut distances, mut sum) = (Vec::new(), Vec::new(), 0);
    while reach.step(&mut Work::new(50_000)).unwrap() == Progress::More {}
    while reach.drain_ends(&mut ends, &mut distances, 4096) > 0 {
        sum += distances.iter().map(|distance| u64::from(*distance)).sum::<u64>();
        ends.clear();
        distances.clear();
    }
    (reach.ends_count() - 1, sum)
}

fn main() {
    let scale = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(18);
    let graph = Csr::undirected(1 << scale, &rmat(scale));
    let mut seed = 7;
    let sources: Vec<u32> = std::iter::repeat_with(|| (next(&mut seed) % (1 << scale)) as u32)
        .filter(|source| graph.list(*source).len() >= 8)
        .take(15)
        .collect();
    type Search<'a> = (&'a str, fn(&Csr, u32) -> (u64, u64));
    let searches: [Search<'_>; 3] = [
        ("bare, both sides", bare),
        ("Reach, from above", |graph, source| reach(graph, source, false)),
        ("Reach, both sides", |graph, source| reach(graph, source, true)),
    ];
    let mut times = vec![Vec::new(); searches.len()];
    for source in &sources {
        let right = bare(&graph, *source);
        for (at, (name, search)) in searches.iter().enumerate() {
            let start_ns = monotonic_ns();
            assert_eq!(search(&graph, *source), right, "{name} from {source}");
            times[at].push(monotonic_ns() - start_ns);
        }
    }
    println!(
        "RMAT {scale}: {} vertices, {} edges, median of {} sources",
        1 << scale,
        edges(&graph) / 2,
        sources.len()
    );
    let median = |times: &mut Vec<u64>| {
        times.sort_unstable();
        times[times.len() / 2] as f64 / 1e6
    };
    let base = median(&mut times[0]);
    for (at, (name, _)) in searches.iter().enumerate() {
        let time = median(&mut times[at]);
        println!("{name:<18} {time:8.2} ms  {:.2} of bare", time / base);
    }
    many(&graph, scale);
}

/// 64 sources: found vertices and sum of distances, over all.
fn lanes(graph: &Csr, sources: &[u32]) -> (u64, u64) {
    let hops = Hops::new(0, Hops::UNBOUNDED);
    let mut lanes = LanesReach::new(graph, sources, hops, Orientation::Undirected).unwrap().both_ways(graph);
    let (mut found, mut count, mut sum) = (LaneEnds::default(), 0, 0);
    loop {
        let progress = lanes.step(&mut Work::new(50_000), &mut found, 4096).unwrap();
        count += found.len() as u64;
        sum += found.distances.iter().map(|distance| u64::from(*distance)).sum::<u64>();
        found.clear();
        if progress == Progress::Done {
            return (count - sources.len() as u64, sum);
        }
    }
}

fn many(graph: &Csr, scale: u32) {
    let mut seed = 11;
    let sources: Vec<u32> = std::iter::repeat_with(|| (next(&mut seed) % (1 << scale)) as u32)
        .filter(|source| graph.list(*source).len() >= 8)
        .take(LANES_MAX)
        .collect();
    let start_ns = monotonic_ns();
    let one_by_one = sources.iter().map(|source| reach(graph, *source, true));
    let wanted = one_by_one.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1));
    let single_ns = monotonic_ns() - start_ns;
    let start_ns = monotonic_ns();
    assert_eq!(lanes(graph, &sources), wanted);
    let lanes_ns = monotonic_ns() - start_ns;
    println!(
        "{LANES_MAX} sources: one by one {:.1} ms, in lanes {:.1} ms, {:.1} times as fast",
        single_ns as f64 / 1e6,
        lanes_ns as f64 / 1e6,
        single_ns as f64 / lanes_ns as f64
    );
}
