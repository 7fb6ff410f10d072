//! Traversal beside flat CSR: candidates interleaved round by round, least of many rounds, as ratios in one run.
//!
//! Every kernel's result is compared with the flat twin before it is timed. `chunked` is the layout the decision page promises,
//! alone: arrays over chunks without versions, errors, or lazy loading. What the view costs beyond it is the view's own.

use model::{Direction, EdgeTypeId};
use std::hint::black_box;
use std::time::Instant;
use store::{AdjacencyView, EdgeScratch, Snapshot};

const ROUNDS: usize = 9;

/// What a kernel asks for.
pub trait Lists {
    fn bound(&self) -> u32;
    fn list<'a>(&'a self, vertex: u32, scratch: &'a mut Vec<u32>) -> &'a [u32];
}

/// The flat twin.
pub struct Flat {
    offsets: Vec<u32>,
    neighbours: Vec<u32>,
    ids: Vec<u64>,
}

impl Flat {
    /// From the view itself, once it has been checked against the pairs it was made of.
    fn of(view: &AdjacencyView) -> Flat {
        let mut flat = Flat { offsets: vec![0], neighbours: Vec::new(), ids: Vec::new() };
        let mut scratch = EdgeScratch::new();
        for vertex in 0..view.vertex_bound() {
            let (neighbours, ids) = view.edges(vertex, &mut scratch).unwrap();
            flat.neighbours.extend_from_slice(neighbours);
            flat.ids.extend_from_slice(ids);
            flat.offsets.push(flat.neighbours.len() as u32);
        }
        flat.neighbours.shrink_to_fit();
        flat
    }
}

impl Lists for Flat {
    fn bound(&self) -> u32 {
        self.offsets.len() as u32 - 1
    }
    #[inline(always)]
    fn list<'a>(&'a self, vertex: u32, _: &'a mut Vec<u32>) -> &'a [u32] {
        &self.neighbours[self.offsets[vertex as usize] as usize..self.offsets[vertex as usize + 1] as usize]
    }
}

/// The bare layout: candidate (c) of the spike.
struct Chunked(Vec<Offsets>);

/// Offsets of a chunk's lists, and the lists.
type Offsets = (Box<[u32; 4097]>, Box<[u32]>);

impl Chunked {
    fn of(flat: &Flat) -> Chunked {
        let chunk = |offsets: &[u32]| {
            let mut own = Box::new([0; 4097]);
            own.iter_mut().zip(offsets).for_each(|(own, offset)| *own = offset - offsets[0]);
            (own, flat.neighbours[offsets[0] as usize..offsets[4096] as usize].into())
        };
        Chunked((0..flat.offsets.len() / 4096).map(|at| chunk(&flat.offsets[at * 4096..][..4097])).collect())
    }
}

impl Lists for Chunked {
    fn bound(&self) -> u32 {
        self.0.len() as u32 * 4096
    }
    #[inline(always)]
    fn list<'a>(&'a self, vertex: u32, _: &'a mut Vec<u32>) -> &'a [u32] {
        let (offsets, neighbours) = &self.0[vertex as usize >> 12];
        let slot = vertex as usize & 4095;
        &neighbours[offsets[slot] as usize..offsets[slot + 1] as usize]
    }
}

impl Lists for AdjacencyView {
    fn bound(&self) -> u32 {
        self.vertex_bound()
    }
    #[inline(always)]
    fn list<'a>(&'a self, vertex: u32, scratch: &'a mut Vec<u32>) -> &'a [u32] {
        self.neighbours(vertex, scratch).unwrap()
    }
}

/// Breadth first from `start`; a digest of all distances.
fn search(graph: &impl Lists, start: u32) -> u64 {
    let mut distances = vec![255u8; graph.bound() as usize];
    let (mut frontier, mut next, mut scratch) = (vec![start], Vec::new(), Vec::new());
    distances[start as usize] = 0;
    let mut depth = 0;
    while !frontier.is_empty() {
        depth += 1;
        for vertex in &frontier {
            for neighbour in graph.list(*vertex, &mut scratch) {
                if distances[*neighbour as usize] == 255 {
                    distances[*neighbour as usize] = depth;
                    next.push(*neighbour);
                }
            }
        }
        std::mem::swap(&mut frontier, &mut next);
        next.clear();
    }
    distances.iter().fold(0, |sum: u64, distance| sum.wrapping_mul(31).wrapping_add(*distance as u64))
}

fn sweep(graph: &impl Lists) -> u64 {
    let mut scratch = Vec::new();
    let list_sum = |list: &[u32]| list.iter().map(|neighbour| *neighbour as u64).sum::<u64>();
    (0..black_box(graph.bound())).map(|vertex| list_sum(graph.list(vertex, &mut scratch))).sum()
}

fn two_hops(graph: &impl Lists, starts: &[u32]) -> u64 {
    let (mut near, mut far) = (Vec::new(), Vec::new());
    let mut sum = 0;
    for start in starts {
        for middle in graph.list(*start, &mut near) {
            sum += graph.list(*middle, &mut far).iter().filter(|end| *end != start).count() as u64;
        }
    }
    sum
}

/// Sums of ids and neighbours; vertices drawn as the search meets them: scattered.
fn edges_flat(graph: &Flat, order: &[u32]) -> u64 {
    let one = |vertex: &u32| {
        let range = graph.offsets[*vertex as usize] as usize..graph.offsets[*vertex as usize + 1] as usize;
        graph.neighbours[range.clone()]
            .iter()
            .zip(&graph.ids[range])
            .map(|(n, id)| *n as u64 ^ *id)
            .sum::<u64>()
    };
    order.iter().map(one).fold(0, u64::wrapping_add)
}

fn edges_view(view: &AdjacencyView, order: &[u32]) -> u64 {
    let mut scratch = EdgeScratch::new();
    let mut one = |vertex: &u32| {
        let (neighbours, ids) = view.edges(*vertex, &mut scratch).unwrap();
        neighbours.iter().zip(ids).map(|(n, id)| *n as u64 ^ *id).sum::<u64>()
    };
    order.iter().map(&mut one).fold(0, u64::wrapping_add)
}

type Task<'a> = (&'a str, Box<dyn FnMut() -> u64 + 'a>);

/// Runs the candidates in turns; prints the least time of the first, and ratios of the others to it.
pub fn race(what: &str, mut tasks: Vec<Task<'_>>) {
    let expected = tasks[0].1();
    tasks.iter_mut().for_each(|(name, run)| assert_eq!(run(), expected, "{what}: {name} differs"));
    let mut times = vec![Vec::new(); tasks.len()];
    for _ in 0..ROUNDS {
        for ((_, run), times) in tasks.iter_mut().zip(&mut times) {
            let start = Instant::now();
            black_box(run());
            times.push(start.elapsed().as_secs_f64() * 1e3);
        }
    }
    times.iter_mut().for_each(|times| times.sort_by(f64::total_cmp));
    print!("{what}: {} {:.2} ms", tasks[0].0, times[0][0]);
    for ((name, _), mine) in tasks.iter().zip(&times).skip(1) {
        print!(", {name} {:.3} ({:.3})", mine[0] / times[0][0], mine[ROUNDS / 2] / times[0][ROUNDS / 2]);
    }
    println!();
}

/// Races all kernels over one snapshot. `pairs` are its edges.
pub fn compare(what: &str, snapshot: &Snapshot, edge_type: EdgeTypeId, pairs: &[(u32, u32)]) {
    let starts: Vec<u32> = pairs.iter().step_by(pairs.len() / 3).map(|pair| pair.0).collect();
    let scattered: Vec<u32> = pairs.iter().step_by(5).map(|pair| pair.0).collect();
    let views = [
        ("out", snapshot.adjacency(&[edge_type], Direction::Out)),
        ("all types out", snapshot.adjacency(&[], Direction::Out)),
        ("both", snapshot.adjacency(&[edge_type], Direction::Both)),
    ];
    for (way, view) in &views {
        let flat = Flat::of(view);
        assert_eq!(
            flat.neighbours.len(),
            pairs.len() * if *way == "both" { 2 } else { 1 } - loops(pairs, way)
        );
        let chunked = Chunked::of(&flat);
        let what = |kernel: &str| format!("{kernel:<8} {what:<9} {way:<13}");
        fn all<'a>(graph: &'a impl Lists, starts: &'a [u32]) -> Box<dyn FnMut() -> u64 + 'a> {
            Box::new(move || starts.iter().fold(0, |sum, start| sum ^ search(graph, *start)))
        }
        race(
            &what("search"),
            vec![
                ("flat", all(&flat, &starts)),
                ("chunked", all(&chunked, &starts)),
                ("view", all(view, &starts)),
            ],
        );
        race(
            &what("sweep"),
            vec![
                ("flat", Box::new(|| sweep(&flat))),
                ("chunked", Box::new(|| sweep(&chunked))),
                ("view", Box::new(|| sweep(view))),
            ],
        );
        race(
            &what("two hops"),
            vec![
                ("flat", Box::new(|| two_hops(&flat, &scattered))),
                ("chunked", Box::new(|| two_hops(&chunked, &scattered))),
                ("view", Box::new(|| two_hops(view, &scattered))),
            ],
        );
        race(
            &what("edges"),
            vec![
                ("flat", Box::new(|| edges_flat(&flat, &scattered))),
                ("view", Box::new(|| edges_view(view, &scattered))),
            ],
        );
    }
}

fn loops(pairs: &[(u32, u32)], way: &str) -> usize {
    if way == "both" { pairs.iter().filter(|pair| pair.0 == pair.1).count() } else { 0 }
}
