//! Policies beside a bare direction-optimising search over plain arrays: milliseconds for all sources together, one and two threads.
//!
//! `cargo run --profile quick -p tanglewood-paths --example dispatch -- SCALE [directed]`; `GRAPH=pl` for a power law, `COUNTS=1,8` for fewer cells.
#![allow(clippy::disallowed_methods)]
use tanglewood_paths::csr::Csr;
use tanglewood_paths::*;
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
/// Ends in proportion to weights that fall as a power of the rank, by separate permutations.
fn power_law(vertices: u32, count: usize) -> Vec<(u32, u32)> {
    let weights: Vec<f64> = (1..=vertices).map(|rank| (f64::from(rank) + 10.0).powf(-1.0 / 1.3)).collect();
    let all: f64 = weights.iter().sum();
    let mut sum = 0.0;
    let sums: Vec<f64> = weights
        .iter()
        .map(|weight| {
            sum += weight / all;
            sum
        })
        .collect();
    let mut seed = 3;
    let mut draw = |factor: u64| {
        let share = (next(&mut seed) >> 11) as f64 / (1_u64 << 53) as f64;
        let rank = sums.partition_point(|sum| *sum <= share).min(sums.len() - 1) as u64;
        (rank * factor % u64::from(vertices)) as u32
    };
    (0..count).map(|_| (draw(48_271), draw(69_621))).collect()
}

fn bare(graph: &Csr, against: &Csr, source: u32) -> (u64, u64) {
    let bound = graph.vertex_bound();
    let mut level = vec![u8::MAX; bound as usize];
    level[source as usize] = 0;
    let (mut frontier, mut depth, mut edges_left) =
        (vec![source], 0_u8, graph.edges_estimate().unwrap() as usize);
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
                    && against.list(vertex).iter().any(|near| level[*near as usize] == depth - 1)
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

fn ours(
    graph: &Csr,
    against: &Csr,
    sources: &[u32],
    policy: DispatchPolicy,
    threads: usize,
    keep: Keep,
    kind: Orientation,
) -> ((u64, u64), f64) {
    let hops = Hops::new(0, Hops::UNBOUNDED);
    // Executors are awake already.
    let (ready, start) = (std::sync::atomic::AtomicUsize::new(0), std::sync::OnceLock::new());
    let begin = || Dispatcher::new(graph, sources, hops, kind, keep, policy).unwrap().both_ways(against);
    let dispatcher = std::sync::OnceLock::new();
    let work = |number: usize| {
        ready.fetch_add(1, std::sync::atomic::Ordering::AcqRel);
        while ready.load(std::sync::atomic::Ordering::Acquire) < threads {
            std::hint::spin_loop();
        }
        start.get_or_init(monotonic_ns);
        let dispatcher = dispatcher.get_or_init(begin);
        let (mut worker, mut answers, mut total) = (Worker::new(number), Answers::default(), (0, 0));
        loop {
            let turn = dispatcher.work_on(&mut worker, &mut Work::new(200_000), &mut answers, 16384).unwrap();
            for run in &answers.runs {
                if run.distance > 0 {
                    total = (total.0 + run.count, total.1 + run.count * u64::from(run.distance));
                }
            }
            answers.clear();
            match turn {
                Turn::Done => return total,
                Turn::Idle => std::hint::spin_loop(),
                Turn::More => {}
            }
        }
    };
    let total = std::thread::scope(|scope| {
        let handles: Vec<_> = (1..threads).map(|number| scope.spawn(move || work(number))).collect();
        let mut total = work(0);
        for handle in handles {
            let other = handle.join().unwrap();
            total = (total.0 + other.0, total.1 + other.1);
        }
        total
    });
    drop(dispatcher);
    (total, (monotonic_ns() - start.get().unwrap()) as f64 / 1e6)
}

fn main() {
    let scale = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(18);
    let directed = std::env::args().nth(2).is_some();
    let power = std::env::var("GRAPH").is_ok();
    let edges = if power { power_law(1 << scale, 10 << scale) } else { rmat(scale) };
    let (graph, against, kind) = if directed {
        (Csr::outgoing(1 << scale, &edges), Csr::incoming(1 << scale, &edges), Orientation::Directed)
    } else {
        let both = Csr::undirected(1 << scale, &edges);
        (both.clone(), both, Orientation::Undirected)
    };
    let mut seed = 7;
    let all: Vec<u32> = std::iter::repeat_with(|| (next(&mut seed) % (1 << scale)) as u32)
        .filter(|source| graph.list(*source).len() >= 8)
        .take(256)
        .collect();
    let counts: Vec<usize> = std::env::var("COUNTS")
        .map_or(vec![1, 8, 64, 256], |text| text.split(',').map(|count| count.parse().unwrap()).collect());
    for count in counts {
        let sources = &all[..count];
        let start = monotonic_ns();
        let right = sources
            .iter()
            .map(|source| bare(&graph, &against, *source))
            .fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1));
        let bare_ms = (monotonic_ns() - start) as f64 / 1e6;
        println!("{count} sources: bare on one thread {bare_ms:.2} ms");
        for keep in [Keep::Count, Keep::Levels] {
            for policy in ["1T1S", "nT1S", "nTkS(2)", "nTkMS(1)", "nTkMS(2)"] {
                let mut line = format!("  {keep:?} {policy:10}");
                let mut base = 0.0;
                for threads in [1, 2] {
                    let mut best = f64::MAX;
                    for _ in 0..if count < 10 { 15 } else { 2 } {
                        let mut policy: DispatchPolicy = policy.parse().unwrap();
                        if policy.sharing == Sharing::Never {
                            policy.searches_max = threads
                        }
                        let (found, time_ms) = ours(&graph, &against, sources, policy, threads, keep, kind);
                        assert_eq!(found, right);
                        best = best.min(time_ms);
                    }
                    if threads == 1 {
                        base = best
                    }
                    line += &format!(
                        "  {threads}T {best:9.2} ms ({:.2} of bare, {:.2}x)",
                        best / bare_ms,
                        base / best
                    );
                }
                println!("{line}");
            }
        }
    }
}
