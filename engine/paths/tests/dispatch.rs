//! Dispatched searches against one plain search a source: every policy, any number of workers, random quotas, and real threads.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_paths as paths;

#[allow(dead_code, reason = "shared with the other tests")]
mod twins;

use paths::csr::Csr;
use paths::{
    Adjacency, Answers, DispatchPolicy, Dispatcher, EdgeScratch, Hops, Keep, LANES_MAX, Orientation, Path,
    Progress, Reach, Sharing, Turn, Work, Worker,
};
use twins::{Case, Chance, NoSeventh, dense};

/// Enough that each rare branch occurs.
const CASES: u64 = 250;

/// Source, end, distance of every answer.
type Rows = Vec<(u32, u32, u32)>;

fn hops_of(chance: &mut Chance) -> Hops {
    let max = if chance.below(4) == 0 { Hops::UNBOUNDED } else { chance.below(6) as u32 };
    Hops::new(chance.below(2) as u32, max)
}

fn policy_of(chance: &mut Chance, workers: usize) -> DispatchPolicy {
    let open = 1 + chance.below(3) as usize;
    let policy = match chance.below(6) {
        0 => DispatchPolicy::one_thread_one_source(workers),
        1 => DispatchPolicy::all_threads_one_source(),
        2 => DispatchPolicy::all_threads_some_sources(open),
        3 => DispatchPolicy::all_threads_lanes(open),
        4 => DispatchPolicy { lanes: 3, ..DispatchPolicy::all_threads_some_sources(open) },
        _ => DispatchPolicy { sharing: Sharing::Always, ..DispatchPolicy::all_threads_lanes(open) },
    };
    let shared_min = if chance.below(2) == 0 { 2 + chance.below(9) as usize } else { policy.shared_min };
    DispatchPolicy { shared_min, ..policy }
}

/// Twin: one search a source.
fn one_by_one(graph: &impl Adjacency, sources: &[u32], hops: Hops, orientation: Orientation) -> Rows {
    let mut rows = Vec::new();
    for (number, source) in sources.iter().enumerate() {
        let mut reach = Reach::new(graph, &[*source], hops, orientation, Keep::Levels).unwrap();
        while reach.step(&mut Work::unlimited()).unwrap() == Progress::More {}
        let (mut ends, mut distances) = (Vec::new(), Vec::new());
        while reach.drain_ends(&mut ends, &mut distances, 1_000) > 0 {}
        rows.extend(ends.into_iter().zip(distances).map(|(end, distance)| (number as u32, end, distance)));
    }
    rows.sort_unstable();
    rows
}

/// Source number, path.
type Paths = Vec<(u32, Path)>;

/// The paths of some answers, each with its end.
fn take_paths(answers: &mut Answers, paths: &mut Paths) {
    let (mut ends, mut vertices, mut edges) =
        (answers.ends.iter(), answers.vertices.iter(), answers.edges.iter());
    for run in &answers.runs {
        for end in ends.by_ref().take(run.count as usize) {
            let inner = vertices.by_ref().take(run.distance as usize);
            let path = Path {
                vertices: inner.chain([end]).copied().collect(),
                edges: edges.by_ref().take(run.distance as usize).copied().collect(),
            };
            paths.push((run.source, path));
        }
    }
    assert!(ends.next().is_none() && vertices.next().is_none() && edges.next().is_none());
    answers.clear();
}

fn take(answers: &mut Answers, rows: &mut Rows) {
    let mut ends = answers.ends.iter();
    for run in &answers.runs {
        rows.extend(ends.by_ref().take(run.count as usize).map(|end| (run.source, *end, run.distance)));
    }
    assert!(
        ends.next().is_none() && answers.count() == answers.runs.iter().map(|run| run.count).sum::<u64>()
    );
    answers.clear();
}

/// Workers take turns by chance.
fn in_turns<A: Adjacency>(dispatcher: &Dispatcher<A>, workers: usize, chance: &mut Chance) -> Rows {
    taken_in_turns(dispatcher, workers, chance, take)
}

fn taken_in_turns<A: Adjacency, R: Ord>(
    dispatcher: &Dispatcher<A>,
    workers: usize,
    chance: &mut Chance,
    take: impl Fn(&mut Answers, &mut Vec<R>),
) -> Vec<R> {
    let mut worker_pool: Vec<Worker> = (0..workers).map(Worker::new).collect();
    let (mut answers, mut rows) = (Answers::default(), Vec::new());
    loop {
        let worker = &mut worker_pool[chance.below(workers as u64) as usize];
        let mut work = match chance.below(4) {
            0 => Work::unlimited(),
            _ => Work::new(1 + chance.below(40)),
        };
        let turn = dispatcher.work_on(worker, &mut work, &mut answers, 1 + chance.below(20)).unwrap();
        take(&mut answers, &mut rows);
        if turn == Turn::Done {
            rows.sort_unstable();
            return rows;
        }
    }
}

fn count<A: Adjacency>(dispatcher: &Dispatcher<A>) -> Vec<(u32, u32, u64)> {
    let (mut worker, mut answers) = (Worker::new(0), Answers::default());
    while dispatcher.work_on(&mut worker, &mut Work::new(100), &mut answers, u64::MAX).unwrap() != Turn::Done
    {
    }
    assert!(answers.ends.is_empty());
    let mut runs: Vec<_> = answers.runs.iter().map(|run| (run.source, run.distance, run.count)).collect();
    runs.sort_unstable();
    runs
}

/// The same from rows.
fn counted(rows: &Rows) -> Vec<(u32, u32, u64)> {
    let mut runs: Vec<(u32, u32, u64)> = Vec::new();
    let mut sorted: Vec<_> = rows.iter().map(|(source, _, distance)| (*source, *distance)).collect();
    sorted.sort_unstable();
    for (source, distance) in sorted {
        match runs.last_mut() {
            Some(run) if (run.0, run.1) == (source, distance) => run.2 += 1,
            _ => runs.push((source, distance, 1)),
        }
    }
    runs
}

/// Runs of one source and distance joined.
fn joined(runs: Vec<(u32, u32, u64)>) -> Vec<(u32, u32, u64)> {
    let mut all: Vec<(u32, u32, u64)> = Vec::new();
    for run in runs {
        match all.last_mut() {
            Some(last) if (last.0, last.1) == (run.0, run.1) => last.2 += run.2,
            _ => all.push(run),
        }
    }
    all
}

#[test]
fn every_policy_finds_what_one_search_a_source_finds() {
    for seed in 0..CASES {
        let chance = &mut Chance(seed ^ 0xD15);
        let vertices = 2 + chance.below(if seed.is_multiple_of(8) { 2_000 } else { 200 }) as u32;
        let (orientation, along, against) = dense(chance, vertices, 8, seed.is_multiple_of(3));
        let sources_max = if chance.below(3) == 0 { 9 } else { LANES_MAX as u64 * 2 + 10 };
        let sources: Vec<u32> =
            (0..chance.below(sources_max)).map(|_| chance.below(vertices.into()) as u32).collect();
        let (hops, workers) = (hops_of(chance), 1 + chance.below(3) as usize);
        let policy = policy_of(chance, workers);
        let wanted = one_by_one(&NoSeventh(&along), &sources, hops, orientation);
        let story = format!("seed {seed} {policy:?} {hops:?} {orientation:?} {workers} workers");
        for both_ways in [false, true] {
            let begin = |keep| {
                let dispatcher =
                    Dispatcher::new(NoSeventh(&along), &sources, hops, orientation, keep, policy).unwrap();
                if both_ways { dispatcher.both_ways(NoSeventh(&against)) } else { dispatcher }
            };
            assert_eq!(in_turns(&begin(Keep::Levels), workers, chance), wanted, "{story} {both_ways}");
            assert_eq!(joined(count(&begin(Keep::Count))), counted(&wanted), "{story} {both_ways}");
        }
    }
}

/// Is there such an edge, and may it be used?
fn holds(graph: &impl Adjacency, from: u32, edge: u64, to: u32) -> bool {
    let mut scratch = EdgeScratch::default();
    let (neighbours, edges) = graph.edges(from, &mut scratch);
    let is_there = neighbours.iter().zip(edges).any(|(far, other)| (*far, *other) == (to, edge));
    is_there && graph.admits_vertex(to) && (!graph.has_edge_predicate() || graph.admits_edge(edge, from, to))
}

/// Every path is one of the graph, repeats no edge where that is asked for, and is as long as the twin says.
fn check_paths(graph: &impl Adjacency, sources: &[u32], paths: &Paths, wanted: &Rows, story: &str) {
    let mut rows: Rows = Vec::new();
    for (number, path) in paths {
        let (first, end) = (path.vertices[0], path.vertices[path.edges.len()]);
        assert_eq!(
            (first, path.vertices.len()),
            (sources[*number as usize], path.edges.len() + 1),
            "{story}"
        );
        for (at, edge) in path.edges.iter().enumerate() {
            let (from, to) = (path.vertices[at], path.vertices[at + 1]);
            assert!(holds(graph, from, *edge, to), "{story}: {path:?} at {at}");
            assert!(!path.edges[..at].contains(edge), "{story}: {path:?} repeats {edge}");
        }
        rows.push((*number, end, path.length()));
    }
    rows.sort_unstable();
    assert_eq!(&rows, wanted, "{story}");
}

#[test]
fn every_policy_rebuilds_one_shortest_path_to_each_end() {
    for seed in 0..CASES / 2 {
        let chance = &mut Chance(seed ^ 0xBAC);
        let vertices = 2 + chance.below(if seed.is_multiple_of(8) { 900 } else { 120 }) as u32;
        let (orientation, along, against) = dense(chance, vertices, 6, seed.is_multiple_of(3));
        let sources: Vec<u32> =
            (0..chance.below(LANES_MAX as u64 + 10)).map(|_| chance.below(vertices.into()) as u32).collect();
        let hops = hops_of(chance);
        let graph = NoSeventh(&along);
        let wanted = one_by_one(&graph, &sources, hops, orientation);
        let mut before: Option<Paths> = None;
        for both_ways in [false, true] {
            let workers = 1 + chance.below(3) as usize;
            let policy = policy_of(chance, workers);
            let story = format!("seed {seed} {policy:?} {hops:?} {orientation:?} {both_ways}");
            let back = NoSeventh(&against);
            let dispatcher =
                Dispatcher::new(graph.clone(), &sources, hops, orientation, Keep::Levels, policy).unwrap();
            let dispatcher = dispatcher.with_paths(back.clone());
            let dispatcher = if both_ways { dispatcher.both_ways(back) } else { dispatcher };
            let paths = taken_in_turns(&dispatcher, workers, chance, take_paths);
            check_paths(&graph, &sources, &paths, &wanted, &story);
            assert!(before.is_none_or(|before| before == paths), "{story}: who works changes a path");
            before = Some(paths);
        }
    }
}

#[test]
fn rebuilt_paths_keep_conditions_on_edges() {
    for seed in 0..CASES {
        let case = Case::random(seed, 7, 10);
        let chance = &mut Chance(seed ^ 0xC0B);
        let sources: Vec<u32> =
            (0..1 + chance.below(6)).map(|_| chance.below(case.vertices as u64) as u32).collect();
        let (hops, workers) = (hops_of(chance), 1 + chance.below(3) as usize);
        let policy = policy_of(chance, workers);
        let wanted = one_by_one(&case.forward(), &sources, hops, case.orientation);
        let (along, back): (Box<dyn Adjacency>, Box<dyn Adjacency>) =
            (Box::new(case.forward()), Box::new(case.backward()));
        let dispatcher =
            Dispatcher::new(along, &sources, hops, case.orientation, Keep::Levels, policy).unwrap();
        let paths = taken_in_turns(&dispatcher.with_paths(back), workers, chance, take_paths);
        check_paths(&case.forward(), &sources, &paths, &wanted, &format!("{case:?} {policy:?} {hops:?}"));
    }
}

#[test]
fn who_takes_few_paths_waits_for_few_levels() {
    let line: Vec<(u32, u32)> = (0..100_000).map(|vertex| (vertex, vertex + 1)).collect();
    let (along, against) = (Csr::outgoing(100_001, &line), Csr::incoming(100_001, &line));
    for sources in [&[0][..], &[0, 7, 11, 12]] {
        let policy = DispatchPolicy::all_threads_lanes(1);
        let dispatcher =
            Dispatcher::new(&along, sources, Hops::any(), Orientation::Directed, Keep::Levels, policy)
                .unwrap()
                .with_paths(&against);
        let (mut worker, mut answers) = (Worker::new(0), Answers::default());
        let turn = dispatcher.work_on(&mut worker, &mut Work::unlimited(), &mut answers, 20).unwrap();
        assert_eq!((turn, answers.count()), (Turn::More, 20), "one path a lane and level");
        assert!(dispatcher.edges_visited() < 1_000, "{} edges", dispatcher.edges_visited());
    }
}

#[test]
fn conditions_on_edges_hold() {
    for seed in 0..CASES {
        let case = Case::random(seed, 7, 8);
        let chance = &mut Chance(seed ^ 0xC0DE);
        let sources: Vec<u32> =
            (0..1 + chance.below(6)).map(|_| chance.below(case.vertices as u64) as u32).collect();
        let (hops, workers) = (hops_of(chance), 1 + chance.below(3) as usize);
        let policy = policy_of(chance, workers);
        let wanted = one_by_one(&case.forward(), &sources, hops, case.orientation);
        let dispatcher =
            Dispatcher::new(case.forward(), &sources, hops, case.orientation, Keep::Levels, policy).unwrap();
        assert_eq!(in_turns(&dispatcher, workers, chance), wanted, "{case:?} {policy:?} {hops:?}");
    }
}

#[test]
fn threads_find_what_one_search_a_source_finds() {
    let chance = &mut Chance(77);
    let mut end = |bound: u64| (chance.below(bound) * chance.below(bound) / bound) as u32;
    let edges: Vec<(u32, u32)> = (0..200_000).map(|_| (end(20_000), end(20_000))).collect();
    let graph = Csr::undirected(20_000, &edges);
    let sources: Vec<u32> = (0..150).map(|number| number * 17).collect();
    let wanted = one_by_one(&graph, &sources, Hops::any(), Orientation::Undirected);
    for policy in ["1T1S", "nT1S", "nTkS(3)", "nTkMS(1)", "nTkMS(2)"] {
        let policy: DispatchPolicy = policy.parse().unwrap();
        let dispatcher =
            Dispatcher::new(&graph, &sources, Hops::any(), Orientation::Undirected, Keep::Levels, policy)
                .unwrap()
                .both_ways(&graph);
        let work = |number| {
            let (mut worker, mut answers, mut rows) = (Worker::new(number), Answers::default(), Vec::new());
            loop {
                let turn =
                    dispatcher.work_on(&mut worker, &mut Work::new(3_000), &mut answers, 1_000).unwrap();
                take(&mut answers, &mut rows);
                match turn {
                    Turn::Done => return rows,
                    Turn::Idle => std::thread::yield_now(),
                    Turn::More => {}
                }
            }
        };
        let mut rows: Rows = std::thread::scope(|scope| {
            let worker_pool: Vec<_> = (0..4).map(|number| scope.spawn(move || work(number))).collect();
            worker_pool.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
        });
        rows.sort_unstable();
        assert!(rows == wanted, "{policy}");
        assert_eq!(dispatcher.policy().to_string(), policy.to_string());
        assert!(dispatcher.edges_visited() > 0);
    }
}
