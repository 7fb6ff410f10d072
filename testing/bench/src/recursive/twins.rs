//! The twins of the graph procedures: the same algorithms over plain arrays, as bare as they can be written, on any number of threads. They
//! know no quota, no snapshot, no labels; what they find is what the procedures must find.
//!
//! After the GAP benchmark suite (Beamer, Asanović and Patterson): breadth-first search from both sides, Afforest, pulled page rank,
//! Δ-stepping, triangles by order of degree; and labels counted in an array. Numbers have 64 bits where the procedures' have.

use std::ops::Range;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Mutex, RwLock};
use world::threads::in_parallel;

/// Positions drawn at once.
const PIECE: usize = 1024;
/// Thresholds of the search from both sides.
const ALPHA: usize = 15;
const BETA: usize = 18;
const FAR: u32 = u32::MAX;

/// Lists one after the other.
pub struct Lists {
    offsets: Vec<usize>,
    ends: Vec<u32>,
    weights: Vec<u32>,
}

impl Lists {
    fn new(vertices: usize, edges: impl Iterator<Item = (u32, u32, u32)> + Clone) -> Lists {
        let mut offsets = vec![0; vertices + 1];
        edges.clone().for_each(|(from, ..)| offsets[from as usize + 1] += 1);
        for vertex in 0..vertices {
            offsets[vertex + 1] += offsets[vertex];
        }
        let mut places = offsets.clone();
        let (mut ends, mut weights) = (vec![0; offsets[vertices]], vec![0; offsets[vertices]]);
        for (from, to, weight) in edges {
            (ends[places[from as usize]], weights[places[from as usize]]) = (to, weight);
            places[from as usize] += 1;
        }
        let mut lists = Lists { offsets, ends, weights };
        for vertex in 0..vertices as u32 {
            let range = lists.range(vertex);
            let mut row: Vec<(u32, u32)> = lists.ends[range.clone()]
                .iter()
                .copied()
                .zip(lists.weights[range.clone()].iter().copied())
                .collect();
            row.sort_unstable();
            for (at, (end, weight)) in range.zip(row) {
                (lists.ends[at], lists.weights[at]) = (end, weight);
            }
        }
        lists
    }
    fn range(&self, vertex: u32) -> Range<usize> {
        self.offsets[vertex as usize]..self.offsets[vertex as usize + 1]
    }
    fn of(&self, vertex: u32) -> &[u32] {
        &self.ends[self.range(vertex)]
    }
    fn weighted(&self, vertex: u32) -> impl Iterator<Item = (u32, u32)> + '_ {
        let range = self.range(vertex);
        self.ends[range.clone()].iter().copied().zip(self.weights[range].iter().copied())
    }
}

/// A directed graph with weights, both ways, and without direction.
pub struct Twins {
    vertices: usize,
    out: Lists,
    into: Lists,
    /// Each edge at both ends.
    both: Lists,
    /// Vertices that have an edge: the others are not in the database.
    present: Vec<u32>,
}

/// Draws pieces of `0..count` for as long as there are some.
fn draw(next: &AtomicUsize, count: usize) -> impl Iterator<Item = Range<usize>> + '_ {
    std::iter::from_fn(move || {
        let start = next.fetch_add(PIECE, Relaxed);
        (start < count).then(|| start..count.min(start + PIECE))
    })
}

/// Runs `work` on each position, on this many threads; the results of each thread.
fn each<T: Send>(
    threads: usize,
    count: usize,
    make: impl Fn() -> T + Sync,
    work: impl Fn(&mut T, usize) + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    in_parallel("twin", threads, |_| {
        let mut own = make();
        draw(&next, count).flatten().for_each(|at| work(&mut own, at));
        own
    })
}

fn words(count: usize, value: u32) -> Vec<AtomicU32> {
    (0..count).map(|_| AtomicU32::new(value)).collect()
}

fn numbers(count: usize, value: f64) -> Vec<AtomicU64> {
    (0..count).map(|_| AtomicU64::new(value.to_bits())).collect()
}

fn number(place: &AtomicU64) -> f64 {
    f64::from_bits(place.load(Relaxed))
}

impl Twins {
    /// Of these edges; loops are listed once where there is no direction.
    pub fn new(vertices: u32, edges: &[(u32, u32)], weight: impl Fn(usize) -> u32 + Clone) -> Twins {
        let weighted = edges.iter().zip(0..).map(|((from, to), at)| (*from, *to, weight(at)));
        let back = weighted.clone().map(|(from, to, weight)| (to, from, weight));
        let vertices = vertices as usize;
        let both = weighted.clone().chain(back.clone().filter(|(from, to, _)| from != to));
        let (out, into) = (Lists::new(vertices, weighted.clone()), Lists::new(vertices, back.clone()));
        let both = Lists::new(vertices, both);
        let present = (0..vertices as u32).filter(|vertex| !both.of(*vertex).is_empty()).collect();
        Twins { vertices, out, into, both, present }
    }

    /// Vertices that are reached, and the sum of their distances in edges.
    pub fn bfs(&self, source: u32, threads: usize) -> (u64, u64) {
        let levels = words(self.vertices, FAR);
        levels[source as usize].store(0, Relaxed);
        let frontier = RwLock::new(vec![source]);
        let (found, next) = (Mutex::new(Vec::new()), AtomicUsize::new(0));
        let (from_below, is_over) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let edges_left = AtomicUsize::new(self.out.ends.len());
        let barrier = Barrier::new(threads);
        in_parallel("twin", threads, |_| {
            let mut depth = 0;
            while is_over.load(SeqCst) == 0 {
                depth += 1;
                let mut mine = Vec::new();
                if from_below.load(SeqCst) == 1 {
                    for vertex in draw(&next, self.vertices).flatten() {
                        let has = |near: &u32| levels[*near as usize].load(Relaxed) == depth - 1;
                        if levels[vertex].load(Relaxed) == FAR && self.into.of(vertex as u32).iter().any(has)
                        {
                            levels[vertex].store(depth, Relaxed);
                            mine.push(vertex as u32);
                        }
                    }
                } else {
                    let frontier = frontier.read().expect("no thread panics");
                    for far in draw(&next, frontier.len()).flatten().flat_map(|at| self.out.of(frontier[at]))
                    {
                        let level = &levels[*far as usize];
                        if level.load(Relaxed) == FAR
                            && level.compare_exchange(FAR, depth, Relaxed, Relaxed).is_ok()
                        {
                            mine.push(*far);
                        }
                    }
                }
                found.lock().expect("no thread panics").append(&mut mine);
                if barrier.wait().is_leader() {
                    let now = std::mem::take(&mut *found.lock().expect("no thread panics"));
                    let handled: usize = now.iter().map(|vertex| self.out.of(*vertex).len()).sum();
                    let left = edges_left.load(Relaxed);
                    edges_left.store(left - handled.min(left), Relaxed);
                    let below = match from_below.load(Relaxed) {
                        0 => handled > left / ALPHA,
                        _ => now.len() >= self.vertices / BETA,
                    };
                    from_below.store(usize::from(below), SeqCst);
                    is_over.store(usize::from(now.is_empty()), SeqCst);
                    next.store(0, SeqCst);
                    *frontier.write().expect("no thread panics") = now;
                }
                barrier.wait();
            }
        });
        let reached = levels.iter().map(|level| level.load(Relaxed)).filter(|level| *level != FAR);
        reached.fold((0, 0), |all, level| (all.0 + 1, all.1 + u64::from(level)))
    }

    /// Components of vertices that have an edge.
    pub fn wcc(&self, threads: usize) -> u64 {
        let above: Vec<AtomicU32> = (0..self.vertices as u32).map(AtomicU32::new).collect();
        let up = |vertex: u32| above[vertex as usize].load(Relaxed);
        let join = |one: u32, other: u32| {
            let (mut one, mut other) = (up(one), up(other));
            while one != other {
                let (low, high) = (one.min(other), one.max(other));
                let (place, parent) = (&above[high as usize], up(high));
                let is_root = parent == high;
                if parent == low || is_root && place.compare_exchange(high, low, Relaxed, Relaxed).is_ok() {
                    return;
                }
                (one, other) = (up(up(high)), up(low));
            }
        };
        let raise = || {
            each(
                threads,
                self.vertices,
                || (),
                |(), vertex| {
                    while up(vertex as u32) != up(up(vertex as u32)) {
                        above[vertex].store(up(up(vertex as u32)), Relaxed);
                    }
                },
            );
        };
        for round in 0..2 {
            each(
                threads,
                self.vertices,
                || (),
                |(), vertex| {
                    self.out.of(vertex as u32).get(round).iter().for_each(|far| join(vertex as u32, **far));
                },
            );
            raise();
        }
        let mut roots: Vec<u32> = (0..1024).map(|at| up((at * self.vertices / 1024) as u32)).collect();
        roots.sort_unstable();
        let largest = roots.chunk_by(|a, b| a == b).max_by_key(|run| run.len()).map_or(0, |run| run[0]);
        each(
            threads,
            self.vertices,
            || (),
            |(), vertex| {
                let vertex = vertex as u32;
                if up(vertex) != largest {
                    self.out.of(vertex).iter().skip(2).for_each(|far| join(vertex, *far));
                    self.into.of(vertex).iter().for_each(|far| join(vertex, *far));
                }
            },
        );
        raise();
        self.present.iter().filter(|vertex| up(**vertex) == **vertex).count() as u64
    }

    /// The sum of the squares of all ranks.
    pub fn page_rank(&self, rounds: u32, damping: f64, threads: usize) -> f64 {
        let count = self.present.len() as f64;
        let (ranks, shares) = (numbers(self.vertices, 1.0 / count), numbers(self.vertices, 0.0));
        for _ in 0..rounds {
            let lost = each(
                threads,
                self.present.len(),
                || 0.0,
                |lost: &mut f64, at| {
                    let vertex = self.present[at];
                    let (rank, edges) = (number(&ranks[vertex as usize]), self.out.of(vertex).len());
                    *lost += if edges == 0 { rank } else { 0.0 };
                    shares[vertex as usize].store((rank / edges.max(1) as f64).to_bits(), Relaxed);
                },
            );
            let base = (1.0 - damping + damping * lost.iter().sum::<f64>()) / count;
            each(
                threads,
                self.present.len(),
                || (),
                |(), at| {
                    let vertex = self.present[at];
                    let sum: f64 =
                        self.into.of(vertex).iter().map(|near| number(&shares[*near as usize])).sum();
                    ranks[vertex as usize].store((base + damping * sum).to_bits(), Relaxed);
                },
            );
        }
        self.present.iter().map(|vertex| number(&ranks[*vertex as usize]).powi(2)).sum()
    }

    /// Different labels, and the sum of all vertices' labels; each begins with its number.
    pub fn cdlp(&self, rounds: u32, threads: usize) -> (u64, u64) {
        let mut labels: Vec<u32> = (0..self.vertices as u32).collect();
        let next = words(self.vertices, 0);
        for _ in 0..rounds {
            let make = || (vec![0_u32; self.vertices], Vec::<u32>::new());
            each(threads, self.vertices, make, |(counts, met), vertex| {
                for near in self.both.of(vertex as u32) {
                    let label = labels[*near as usize];
                    if counts[label as usize] == 0 {
                        met.push(label);
                    }
                    counts[label as usize] += 1;
                }
                let mut best = (0, labels[vertex]);
                for label in met.drain(..) {
                    let count = std::mem::take(&mut counts[label as usize]);
                    if count > best.0 || (count == best.0 && label < best.1) {
                        best = (count, label);
                    }
                }
                next[vertex].store(best.1, Relaxed);
            });
            labels.iter_mut().zip(&next).for_each(|(label, next)| *label = next.load(Relaxed));
        }
        let mut all: Vec<u32> = self.present.iter().map(|vertex| labels[*vertex as usize]).collect();
        let sum = all.iter().map(|label| u64::from(*label)).sum();
        all.sort_unstable();
        all.dedup();
        (all.len() as u64, sum)
    }

    /// The sum of all coefficients, without direction: lists of lower ranks, one marked and others looked up.
    pub fn lcc(&self, threads: usize) -> f64 {
        let mut order: Vec<u32> = (0..self.vertices as u32).collect();
        order.sort_unstable_by_key(|vertex| std::cmp::Reverse(self.both.of(*vertex).len()));
        let mut ranks = vec![0; self.vertices];
        order.iter().zip(0..).for_each(|(vertex, rank)| ranks[*vertex as usize] = rank);
        let lists: Vec<RwLock<(Vec<u32>, u32)>> = order.iter().map(|_| RwLock::default()).collect();
        each(
            threads,
            self.vertices,
            || (),
            |(), rank| {
                let vertex = order[rank];
                let mut near = self.both.of(vertex).to_vec();
                near.dedup();
                near.retain(|far| *far != vertex);
                let around = near.len() as u32;
                let mut lower: Vec<u32> = near.iter().map(|far| ranks[*far as usize]).collect();
                lower.retain(|lower| *lower < rank as u32);
                lower.sort_unstable();
                *lists[rank].write().expect("no thread panics") = (lower, around);
            },
        );
        let lists: Vec<(Vec<u32>, u32)> =
            lists.into_iter().map(|list| list.into_inner().expect("no thread panics")).collect();
        let make = || (vec![0_u64; self.vertices], vec![false; self.vertices]);
        let counts = each(threads, self.vertices, make, |(counts, marks), rank| {
            let (list, _) = &lists[rank];
            list.iter().for_each(|one| marks[*one as usize] = true);
            for second in list {
                for third in lists[*second as usize].0.iter().filter(|third| marks[**third as usize]) {
                    counts[rank] += 1;
                    counts[*second as usize] += 1;
                    counts[*third as usize] += 1;
                }
            }
            list.iter().for_each(|one| marks[*one as usize] = false);
        });
        let value = |rank: usize| {
            let (around, triangles) =
                (f64::from(lists[rank].1), counts.iter().map(|(counts, _)| counts[rank]).sum::<u64>());
            if around < 2.0 { 0.0 } else { 2.0 * triangles as f64 / (around * (around - 1.0)) }
        };
        (0..self.vertices).map(value).sum()
    }

    /// Vertices that are reached, and the sum of their distances by weight.
    pub fn sssp(&self, source: u32, width: f64, threads: usize) -> (u64, f64) {
        let far = numbers(self.vertices, f64::INFINITY);
        far[source as usize].store(0, Relaxed);
        let (frontier, next) = (RwLock::new(vec![source]), AtomicUsize::new(0));
        let bins: Mutex<Vec<Vec<u32>>> = Mutex::default();
        let (now, barrier) = (AtomicUsize::new(0), Barrier::new(threads));
        in_parallel("twin", threads, |_| {
            while now.load(SeqCst) != usize::MAX {
                let bin = now.load(SeqCst);
                let mut mine: Vec<Vec<u32>> = Vec::new();
                let vertices = frontier.read().expect("no thread panics");
                for vertex in draw(&next, vertices.len()).flatten().map(|at| vertices[at]) {
                    let near = number(&far[vertex as usize]);
                    if (near / width) as usize != bin {
                        continue;
                    }
                    for (end, weight) in self.out.weighted(vertex) {
                        let (sum, place) = (near + f64::from(weight), &far[end as usize]);
                        let mut before = place.load(Relaxed);
                        while sum < f64::from_bits(before) {
                            match place.compare_exchange_weak(before, sum.to_bits(), Relaxed, Relaxed) {
                                Err(other) => before = other,
                                Ok(_) => {
                                    let to = (sum / width) as usize;
                                    mine.resize_with(mine.len().max(to + 1), Vec::new);
                                    mine[to].push(end);
                                    break;
                                }
                            }
                        }
                    }
                }
                drop(vertices);
                let mut all = bins.lock().expect("no thread panics");
                let longer = all.len().max(mine.len());
                all.resize_with(longer, Vec::new);
                all.iter_mut().zip(&mut mine).for_each(|(all, mine)| all.append(mine));
                drop(all);
                if barrier.wait().is_leader() {
                    let mut all = bins.lock().expect("no thread panics");
                    let first = (bin..all.len()).find(|bin| !all[*bin].is_empty());
                    let vertices = first.map(|bin| std::mem::take(&mut all[bin]));
                    *frontier.write().expect("no thread panics") = vertices.unwrap_or_default();
                    next.store(0, SeqCst);
                    now.store(first.unwrap_or(usize::MAX), SeqCst);
                }
                barrier.wait();
            }
        });
        let reached = far.iter().map(number).filter(|far| far.is_finite());
        reached.fold((0, 0.0), |all, far| (all.0 + 1, all.1 + far))
    }
}
