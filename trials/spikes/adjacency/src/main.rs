//! Spike: what does chunked adjacency with dirty bits cost beside one flat CSR?
//! `cargo run --release` checks every candidate against the twin, then prints ratios of interleaved runs.

mod graph;
mod layout;
mod search;

use graph::{Chance, Csr};
use layout::{Changes, Directory, KeptView, Lists, RawView, SafeView, Snapshot};
use std::time::Instant;

const SEED: u64 = 20261120;
const ROUNDS: usize = 15;

/// Marks `share` of the vertices dirty: loses one edge in two cases of three, gains one to three.
fn change(csr: &Csr, share: f64, by_degree: bool, seed: u64) -> Changes {
    let mut chance = Chance(seed);
    let mut changes = Changes::new();
    let count = (csr.vertices() as f64 * share) as usize;
    while changes.len() < count {
        let v = if by_degree {
            csr.neighbours[chance.below(csr.neighbours.len() as u64) as usize]
        } else {
            chance.below(csr.vertices() as u64) as u32
        };
        let degree = csr.list(v).len() as u64;
        let removed =
            if degree > 0 && chance.below(3) > 0 { vec![chance.below(degree) as u32] } else { vec![] };
        let added = (0..1 + chance.below(3)).map(|_| chance.below(csr.vertices() as u64) as u32).collect();
        changes.insert(v, (removed, added));
    }
    changes
}

fn applied(csr: &Csr, changes: &Changes) -> Csr {
    let mut edges = Vec::new();
    for v in 0..csr.vertices() {
        let none = (vec![], vec![]);
        let (removed, added) = changes.get(&v).unwrap_or(&none);
        let kept = csr.list(v).iter().enumerate().filter(|(i, _)| !removed.contains(&(*i as u32)));
        edges.extend(kept.map(|(_, &w)| (v, w)).chain(added.iter().map(|&w| (v, w))));
    }
    Csr::build(csr.vertices(), &edges)
}

struct Task<'a> {
    name: &'static str,
    run: Box<dyn Fn() -> u64 + 'a>,
    millis: Vec<f64>,
}

fn digest(levels: Vec<u8>) -> u64 {
    levels.iter().fold(0, |a: u64, &l| a.wrapping_mul(0x100_0000_01b3).wrapping_add(l as u64 + 1))
}

fn tasks<'a, G: Lists>(names: [&'static str; 4], g: &'a G, source: u32, sources: &'a [u32]) -> [Task<'a>; 4] {
    let task = |name, run: Box<dyn Fn() -> u64 + 'a>| Task { name, run, millis: vec![] };
    [
        task(names[0], Box::new(move || digest(search::levels(g, source)))),
        task(names[1], Box::new(move || search::two_hops(g, sources))),
        task(names[2], Box::new(move || digest(search::levels_shared(g, source, 2)))),
        task(names[3], Box::new(move || search::two_hops_shared(g, sources, 2))),
    ]
}

const KERNELS: [&str; 4] = ["bfs 1 thread", "2-hop 1 thread", "bfs 2 threads", "2-hop 2 threads"];

/// Interleaves the candidates round by round, so that a loaded machine slows all alike.
fn race(title: &str, mut candidates: Vec<(&str, [Task<'_>; 4])>) {
    for kernel in 0..4 {
        let expected = (candidates[0].1[kernel].run)();
        for (name, tasks) in &candidates {
            assert_eq!((tasks[kernel].run)(), expected, "{title}: {name} differs in {}", tasks[kernel].name);
        }
        for _ in 0..ROUNDS {
            for (_, tasks) in &mut candidates {
                let start = Instant::now();
                std::hint::black_box((tasks[kernel].run)());
                tasks[kernel].millis.push(start.elapsed().as_secs_f64() * 1e3);
            }
        }
        let mut line = format!("  {:<16}", KERNELS[kernel]);
        let mut base = (0.0, 0.0);
        for (at, (name, tasks)) in candidates.iter_mut().enumerate() {
            let millis = &mut tasks[kernel].millis;
            millis.sort_by(f64::total_cmp);
            let (least, median) = (millis[0], millis[ROUNDS / 2]);
            if at == 0 {
                base = (least, median);
                line += &format!(" {name} {least:.2} ms");
            } else {
                line += &format!(" | {name} {:.3} ({:.3})", least / base.0, median / base.1);
            }
        }
        println!("{line}");
    }
}

fn measure(title: &str, vertices: u32, edges: Vec<(u32, u32)>, samples: usize) {
    let csr = Csr::build(vertices, &edges);
    drop(edges);
    let source = csr.hub();
    let mut chance = Chance(SEED + 1);
    let sources: Vec<u32> = (0..samples).map(|_| chance.below(vertices as u64) as u32).collect();
    println!(
        "{title}: {vertices} vertices, {} edges, hub degree {}",
        csr.neighbours.len(),
        csr.list(source).len()
    );
    let clean = Snapshot::build(&csr, &Changes::new());
    let (a, b, c) = views(&clean, vertices);
    let names = KERNELS;
    println!(" clean: ratio to flat CSR, least of {ROUNDS} (median)");
    race(
        title,
        vec![
            ("csr", tasks(names, &csr, source, &sources)),
            ("(a) directory", tasks(names, &a, source, &sources)),
            ("(b) raw view", tasks(names, &b, source, &sources)),
            ("(c) safe view", tasks(names, &c, source, &sources)),
        ],
    );
    let edges = csr.neighbours.len() as f64;
    println!(
        "  bytes an edge and direction: csr {:.2}, chunks {:.2}; view {} us",
        4.0 * (edges + vertices as f64 + 1.0) / edges,
        clean.bytes().0 as f64 / edges,
        {
            let start = Instant::now();
            std::hint::black_box(RawView::build(&clean, vertices));
            start.elapsed().as_micros()
        }
    );
    for by_degree in [false, true] {
        let changes = change(&csr, 0.01, by_degree, SEED + 2);
        let dirty = Snapshot::build(&csr, &changes);
        let twin = applied(&csr, &changes);
        let rebuilt = Snapshot::build(&twin, &Changes::new());
        let (_, clean_view, clean_safe) = views(&rebuilt, vertices);
        let (a, b, c) = views(&dirty, vertices);
        let drawn = if by_degree { "drawn by degree" } else { "drawn evenly" };
        let d = KeptView(SafeView::build(&dirty, vertices));
        let touched: usize = changes.keys().map(|&v| csr.list(v).len()).sum();
        println!(
            " 1 % dirty, {drawn} ({:.1} % of edges sit on dirty vertices), {:.0} delta bytes a dirty vertex: ratio to the clean raw view of the same graph",
            100.0 * touched as f64 / edges,
            dirty.bytes().1 as f64 / changes.len() as f64
        );
        race(
            title,
            vec![
                ("clean (b)", tasks(names, &clean_view, source, &sources)),
                ("csr", tasks(names, &twin, source, &sources)),
                ("clean (c)", tasks(names, &clean_safe, source, &sources)),
                ("(a) directory", tasks(names, &a, source, &sources)),
                ("(b) raw view", tasks(names, &b, source, &sources)),
                ("(c) safe view", tasks(names, &c, source, &sources)),
                ("(d) kept lists", tasks(names, &d, source, &sources)),
            ],
        );
    }
}

fn views(snapshot: &Snapshot, vertices: u32) -> (Directory<'_>, RawView<'_>, SafeView<'_>) {
    (Directory(snapshot, vertices), RawView::build(snapshot, vertices), SafeView::build(snapshot, vertices))
}

fn main() {
    measure("chung-lu", 100_000, graph::chung_lu(100_000, 1_000_000, 2.5, SEED), 20_000);
    for (scale, samples) in [(18, 3_000), (20, 2_000)] {
        measure(&format!("rmat {scale}"), 1 << scale, graph::rmat(scale, 16, SEED), samples);
    }
}
