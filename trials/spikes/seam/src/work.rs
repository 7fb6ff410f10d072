//! The first two kinds of work, with their twins: operators over batches, and a traversal cut into morsels.

use crate::measure::{Random, monotonic_ns, thread_cpu_ns};
use dataflow::{Context, Flow, Graph, GraphBuilder, Message, Operator, Outcome, Route, VertexOptions};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed, Ordering::Release};

pub struct Batch(pub Vec<u64>);

impl Message for Batch {
    fn rows(&self) -> usize {
        self.0.len()
    }
    fn bytes(&self) -> usize {
        self.0.len() * 8
    }
}

const ROWS: u64 = 1_024;

fn batch(number: u64) -> Vec<u64> {
    let mut random = Random(number);
    (0..ROWS).map(|_| random.next()).collect()
}

/// What the batches query answers, row by row.
pub fn batches_twin(batches: u64) -> u64 {
    (0..batches).flat_map(batch).filter(|row| row % 3 == 0).fold(0, u64::wrapping_add)
}

/// When the executor let go of an operator: its CPU clock, then the wall's.
#[derive(Default)]
pub struct Fate {
    pub cpu_ns: AtomicU64,
    pub wall_ns: AtomicU64,
}

/// Writes its fate in its destructor.
pub struct Dropped(pub Arc<Fate>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.cpu_ns.store(thread_cpu_ns(), Relaxed);
        self.0.wall_ns.store(monotonic_ns(), Release);
    }
}

struct Source {
    next: u64,
    batches: u64,
    _dropped: Dropped,
}

impl Operator<Batch> for Source {
    fn receive(&mut self, _: usize, _: Batch, _: &mut Context<'_, Batch>) -> Outcome {
        unreachable!("a source has no ports")
    }
    fn resume(&mut self, context: &mut Context<'_, Batch>) -> Outcome {
        while self.next < self.batches {
            context.send(Batch(batch(self.next)));
            self.next += 1;
            if context.should_yield() {
                return Ok(Flow::Again);
            }
        }
        Ok(Flow::Ready)
    }
}

struct Filter;

impl Operator<Batch> for Filter {
    fn receive(&mut self, _: usize, mut batch: Batch, context: &mut Context<'_, Batch>) -> Outcome {
        batch.0.retain(|row| row % 3 == 0);
        context.send(batch);
        Ok(Flow::Ready)
    }
}

struct Sum(u64);

impl Operator<Batch> for Sum {
    fn receive(&mut self, _: usize, batch: Batch, _: &mut Context<'_, Batch>) -> Outcome {
        self.0 = batch.0.iter().fold(self.0, |sum, row| sum.wrapping_add(*row));
        Ok(Flow::Ready)
    }
    fn on_completion(&mut self, _: usize, context: &mut Context<'_, Batch>) -> Outcome {
        context.send(Batch(vec![self.0]));
        Ok(Flow::Ready)
    }
}

/// Source → Filter → Sum over this many batches; `dropped` hears when the source is let go.
pub fn batches(count: u64, dropped: &Arc<Fate>) -> Graph<Batch> {
    let mut graph = GraphBuilder::new();
    let dropped = dropped.clone();
    let source = graph.vertex("Source", VertexOptions::source(), move |_| {
        Box::new(Source { next: 0, batches: count, _dropped: Dropped(dropped.clone()) })
    });
    let filter = graph.vertex("Filter", VertexOptions::default(), |_| Box::new(Filter));
    let sum = graph.vertex("Sum", VertexOptions::default(), |_| Box::new(Sum(0)));
    graph.connect(source, 0, filter, 0, Route::Local);
    graph.connect(filter, 0, sum, 0, Route::Local);
    graph.output(sum);
    graph.finish().expect("the graph is sound")
}

/// Adjacency as offsets and neighbours.
pub struct Csr {
    offsets: Vec<u32>,
    neighbours: Vec<u32>,
}

impl Csr {
    /// Random edges, and vertex 1 a hub.
    pub fn random(vertices: u32, edges: u32, hub_edges: u32, seed: u64) -> Csr {
        let mut random = Random(seed);
        let mut list: Vec<(u32, u32)> = (0..edges)
            .map(|_| (random.below(vertices.into()) as u32, random.below(vertices.into()) as u32))
            .chain([(0, 1)])
            .collect();
        list.extend((0..hub_edges).map(|_| (1, random.below(vertices.into()) as u32)));
        list.sort_unstable();
        let mut offsets = vec![0_u32; vertices as usize + 1];
        list.iter().for_each(|(from, _)| offsets[*from as usize + 1] += 1);
        (0..vertices as usize).for_each(|vertex| offsets[vertex + 1] += offsets[vertex]);
        Csr { offsets, neighbours: list.into_iter().map(|(_, to)| to).collect() }
    }

    fn of(&self, vertex: u32) -> &[u32] {
        &self.neighbours[self.offsets[vertex as usize] as usize..self.offsets[vertex as usize + 1] as usize]
    }

    /// The twin: the sum of the distances of all reached from 0, with a queue.
    pub fn distances_twin(&self) -> u64 {
        let mut distance = vec![u32::MAX; self.offsets.len() - 1];
        let mut queue = std::collections::VecDeque::from([0_u32]);
        distance[0] = 0;
        while let Some(vertex) = queue.pop_front() {
            for next in self.of(vertex) {
                if distance[*next as usize] == u32::MAX {
                    distance[*next as usize] = distance[vertex as usize] + 1;
                    queue.push_back(*next);
                }
            }
        }
        distance.into_iter().filter(|distance| *distance != u32::MAX).map(u64::from).sum()
    }
}

/// Breadth-first search with a cursor into the adjacency list of the vertex under expansion, so that it can stop anywhere in a hub.
struct Search {
    csr: Arc<Csr>,
    rounds: u64,
    answer: u64,
    /// Edges between two questions whether to yield.
    edges_between_checks: usize,
    longest_ns: Arc<AtomicU64>,
    reached: Vec<u64>,
    frontier: Vec<u32>,
    next: Vec<u32>,
    vertex: usize,
    edge: usize,
    level: u64,
    sum: u64,
    unchecked: usize,
    _dropped: Dropped,
}

impl Search {
    fn begin(&mut self) {
        self.reached = vec![0; self.csr.offsets.len() / 64 + 1];
        self.reached[0] = 1;
        self.frontier = vec![0];
        (self.vertex, self.edge, self.level, self.sum) = (0, 0, 0, 0);
    }

    /// Expands at most the edges between two checks; false when the search is over.
    fn morsel(&mut self) -> bool {
        self.unchecked = 0;
        while self.unchecked < self.edges_between_checks {
            let Some(vertex) = self.frontier.get(self.vertex).copied() else {
                self.level += 1;
                self.sum += self.level * self.next.len() as u64;
                self.frontier = std::mem::take(&mut self.next);
                self.vertex = 0;
                if self.frontier.is_empty() {
                    return false;
                }
                continue;
            };
            let list = self.csr.of(vertex);
            let end = list.len().min(self.edge + self.edges_between_checks - self.unchecked);
            for to in &list[self.edge..end] {
                let (word, bit) = (*to as usize / 64, 1 << (to % 64));
                if self.reached[word] & bit == 0 {
                    self.reached[word] |= bit;
                    self.next.push(*to);
                }
            }
            self.unchecked += (end - self.edge).max(1);
            self.edge = end;
            if end == list.len() {
                self.vertex += 1;
                self.edge = 0;
            }
        }
        true
    }

    fn work(&mut self, context: &mut Context<'_, Batch>) -> Outcome {
        while self.rounds > 0 {
            if self.frontier.is_empty() {
                self.begin();
            }
            while self.morsel() {
                if context.should_yield() {
                    return Ok(Flow::Again);
                }
            }
            assert_eq!(self.sum, self.answer, "the search equals its twin");
            self.rounds -= 1;
        }
        context.send(Batch(vec![self.sum]));
        Ok(Flow::Ready)
    }
}

impl Operator<Batch> for Search {
    fn receive(&mut self, _: usize, _: Batch, _: &mut Context<'_, Batch>) -> Outcome {
        unreachable!("a source has no ports")
    }
    fn resume(&mut self, context: &mut Context<'_, Batch>) -> Outcome {
        let start_ns = thread_cpu_ns();
        let outcome = self.work(context);
        self.longest_ns.fetch_max(thread_cpu_ns() - start_ns, Relaxed);
        outcome
    }
}

/// Searches `rounds` times; every round is checked against `answer`. `longest_ns` hears of the longest call.
pub fn search(
    csr: &Arc<Csr>,
    rounds: u64,
    answer: u64,
    edges_between_checks: usize,
    longest_ns: &Arc<AtomicU64>,
) -> Graph<Batch> {
    let mut graph = GraphBuilder::new();
    let (csr, longest_ns) = (csr.clone(), longest_ns.clone());
    let search = graph.vertex("Search", VertexOptions::source(), move |_| {
        Box::new(Search {
            csr: csr.clone(),
            rounds,
            answer,
            edges_between_checks,
            longest_ns: longest_ns.clone(),
            reached: Vec::new(),
            frontier: Vec::new(),
            next: Vec::new(),
            vertex: 0,
            edge: 0,
            level: 0,
            sum: 0,
            unchecked: 0,
            _dropped: Dropped(Arc::default()),
        })
    });
    graph.output(search);
    graph.finish().expect("the graph is sound")
}
