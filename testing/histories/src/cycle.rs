//! Precedence between transactions, and its cycles.
//!
//! Idea: a history is serializable exactly if the edges between its transactions have no cycle. Tarjan's strongly connected components
//! tell whether there is one; within a component breadth-first search finds the shortest, which is the one a person can read.
//! Searches go from the narrowest set of edges to the widest, so that a cycle gets the name of the worst thing it proves.
//! Cost: linear for a clean history; for a guilty one a search from each transaction of the component, up to [`STARTS_MAX`].

use crate::anomaly::{Anomaly, Class};
use crate::history::Object;
use std::collections::{HashSet, VecDeque};
use std::fmt;

/// Starts of the search for the shortest cycle of one component: enough for a readable one.
pub const STARTS_MAX: usize = 256;
/// Most cycles reported of one history.
pub const CYCLES_MAX: usize = 8;

/// Why one transaction comes before another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// It wrote, and the other wrote behind it.
    WriteWrite,
    /// The second read the write of the first.
    WriteRead,
    /// The first read without the write of the second.
    ReadWrite,
    /// The first had answered before the second began.
    RealTime,
}

/// One transaction comes before another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Edge {
    /// The earlier.
    pub from: usize,
    /// The later.
    pub to: usize,
    /// Why.
    pub kind: Kind,
    /// The object of both, and the value that proves the edge; nothing for real time.
    pub about: Option<(Object, i64)>,
}

/// Edges between `len` transactions.
#[derive(Clone, Debug)]
pub struct Graph {
    edges: Vec<Edge>,
    out: Vec<Vec<usize>>,
    known: HashSet<(usize, usize, Kind)>,
}

impl Graph {
    /// A graph without edges.
    pub fn new(len: usize) -> Graph {
        Graph { edges: Vec::new(), out: vec![Vec::new(); len], known: HashSet::new() }
    }
    /// Adds an edge, unless it leads nowhere or one of its kind is there; tells whether it did.
    pub fn add(&mut self, edge: Edge) -> bool {
        if edge.from == edge.to || !self.known.insert((edge.from, edge.to, edge.kind)) {
            return false;
        }
        self.out[edge.from].push(self.edges.len());
        self.edges.push(edge);
        true
    }
    /// How many transactions.
    pub fn len(&self) -> usize {
        self.out.len()
    }
    /// Has it no transactions?
    pub fn is_empty(&self) -> bool {
        self.out.is_empty()
    }
    /// All edges.
    pub fn edges(&self) -> &[Edge] {
        &self.edges
    }
    fn from<'a>(&'a self, node: usize, kinds: &'a [Kind]) -> impl Iterator<Item = Edge> + 'a {
        let edges = self.out[node].iter().map(|at| self.edges[*at]);
        edges.filter(|edge| kinds.contains(&edge.kind))
    }

    /// Components of more than one transaction under edges of these kinds (Tarjan 1972, without recursion).
    pub fn components(&self, kinds: &[Kind]) -> Vec<Vec<usize>> {
        let mut walk = Tarjan::new(self.len());
        for root in 0..self.len() {
            if walk.index[root] == UNSEEN {
                walk.enter_from(self, root, kinds);
            }
        }
        walk.found
    }

    /// The shortest way from one transaction to another inside a component, over edges of these kinds; at least one edge.
    fn shortest(&self, from: usize, to: usize, inside: &HashSet<usize>, kinds: &[Kind]) -> Option<Vec<Edge>> {
        let mut came: Vec<Option<Edge>> = vec![None; self.len()];
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            for edge in self.from(node, kinds) {
                if inside.contains(&edge.to) && came[edge.to].is_none() {
                    came[edge.to] = Some(edge);
                    if edge.to == to {
                        return Some(unwind(&came, from, to));
                    }
                    queue.push_back(edge.to);
                }
            }
        }
        None
    }

    /// The shortest cycle of a component; with `one_read_write`, among those with exactly one such edge.
    fn shortest_cycle(&self, component: &[usize], kinds: &[Kind], one_read_write: bool) -> Option<Vec<Edge>> {
        let inside: HashSet<usize> = component.iter().copied().collect();
        let starts = component.iter().copied().take(STARTS_MAX);
        let cycles: Vec<Vec<Edge>> = if one_read_write {
            let others: Vec<Kind> = kinds.iter().copied().filter(|kind| *kind != Kind::ReadWrite).collect();
            let first = starts.flat_map(|node| self.from(node, &[Kind::ReadWrite]).collect::<Vec<_>>());
            let closed = first.filter(|edge| inside.contains(&edge.to)).filter_map(|edge| {
                let mut cycle = vec![edge];
                cycle.extend(self.shortest(edge.to, edge.from, &inside, &others)?);
                Some(cycle)
            });
            closed.collect()
        } else {
            starts.filter_map(|node| self.shortest(node, node, &inside, kinds)).collect()
        };
        cycles.into_iter().min_by_key(Vec::len)
    }
}

/// The edges from `from` to `to`, by the edge that first reached each.
fn unwind(came: &[Option<Edge>], from: usize, to: usize) -> Vec<Edge> {
    let mut path = Vec::new();
    let mut at = to;
    while let Some(edge) = came[at] {
        path.push(edge);
        at = edge.from;
        if at == from {
            break;
        }
    }
    path.reverse();
    path
}

/// From the narrowest to the widest; each also as it is with real time.
const LEVELS: [(&[Kind], Class); 6] = [
    (&[Kind::WriteWrite], Class::DirtyWrite),
    (&[Kind::WriteWrite, Kind::WriteRead], Class::CircularFlow),
    (&[Kind::WriteWrite, Kind::WriteRead, Kind::ReadWrite], Class::WriteSkew),
    (&[Kind::WriteWrite, Kind::RealTime], Class::DirtyWrite),
    (&[Kind::WriteWrite, Kind::WriteRead, Kind::RealTime], Class::CircularFlow),
    (&[Kind::WriteWrite, Kind::WriteRead, Kind::ReadWrite, Kind::RealTime], Class::WriteSkew),
];

/// The shortest cycle of each component, under the worst name that fits; at most [`CYCLES_MAX`].
pub fn cycles(graph: &Graph, wrote: impl Fn(usize, Object) -> bool) -> Vec<Anomaly> {
    let widest = LEVELS[LEVELS.len() - 1].0;
    if graph.components(widest).is_empty() {
        return Vec::new();
    }
    let (mut found, mut reported) = (Vec::new(), HashSet::new());
    for (kinds, class) in LEVELS {
        for component in graph.components(kinds) {
            if found.len() == CYCLES_MAX || component.iter().any(|node| reported.contains(node)) {
                continue;
            }
            let single =
                kinds.contains(&Kind::ReadWrite).then(|| graph.shortest_cycle(&component, kinds, true));
            let edges = single.flatten().or_else(|| graph.shortest_cycle(&component, kinds, false));
            let Some(edges) = edges else { continue };
            reported.extend(component);
            let class = classify(&edges, class, &wrote);
            let real_time = edges.iter().any(|edge| edge.kind == Kind::RealTime);
            found.push(Anomaly::Cycle { class, real_time, edges });
        }
    }
    found
}

fn classify(edges: &[Edge], class: Class, wrote: impl Fn(usize, Object) -> bool) -> Class {
    let reads = edges.iter().filter(|edge| edge.kind == Kind::ReadWrite).count();
    if reads == 0 {
        return class;
    }
    let objects: HashSet<Option<Object>> =
        edges.iter().map(|edge| edge.about.map(|(object, _)| object)).collect();
    if let (2, 1, Some(Some(object))) = (edges.len(), objects.len(), objects.iter().next())
        && edges.iter().all(|edge| wrote(edge.from, *object))
    {
        return Class::LostUpdate;
    }
    if reads == 1 { Class::ReadSkew } else { Class::WriteSkew }
}

const UNSEEN: usize = usize::MAX;

struct Tarjan {
    index: Vec<usize>,
    low: Vec<usize>,
    on_stack: Vec<bool>,
    stack: Vec<usize>,
    next: usize,
    found: Vec<Vec<usize>>,
}

impl Tarjan {
    fn new(len: usize) -> Tarjan {
        let (index, low) = (vec![UNSEEN; len], vec![0; len]);
        Tarjan { index, low, on_stack: vec![false; len], stack: Vec::new(), next: 0, found: Vec::new() }
    }
    fn enter(&mut self, node: usize) {
        (self.index[node], self.low[node]) = (self.next, self.next);
        self.next += 1;
        self.stack.push(node);
        self.on_stack[node] = true;
    }
    fn enter_from(&mut self, graph: &Graph, root: usize, kinds: &[Kind]) {
        let mut calls = vec![(root, 0)];
        self.enter(root);
        while let Some((node, at)) = calls.pop() {
            let Some(edge) = graph.out[node].get(at).map(|edge| graph.edges[*edge]) else {
                self.leave(node, calls.last().map(|(parent, _)| *parent));
                continue;
            };
            calls.push((node, at + 1));
            if !kinds.contains(&edge.kind) {
                continue;
            }
            if self.index[edge.to] == UNSEEN {
                self.enter(edge.to);
                calls.push((edge.to, 0));
            } else if self.on_stack[edge.to] {
                self.low[node] = self.low[node].min(self.index[edge.to]);
            }
        }
    }
    fn leave(&mut self, node: usize, parent: Option<usize>) {
        if let Some(parent) = parent {
            self.low[parent] = self.low[parent].min(self.low[node]);
        }
        if self.low[node] != self.index[node] {
            return;
        }
        let begin = self.stack.iter().rposition(|other| *other == node).expect("it was entered");
        let component = self.stack.split_off(begin);
        component.iter().for_each(|other| self.on_stack[*other] = false);
        if component.len() > 1 {
            self.found.push(component);
        }
    }
}

impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Edge { from, to, .. } = self;
        match (self.kind, self.about) {
            (Kind::WriteWrite, Some((object, value))) => {
                write!(f, "T{from} wrote {object}, and T{to} wrote {value} behind it")
            }
            (Kind::WriteRead, Some((object, value))) => {
                write!(f, "T{from} wrote {value} to {object}, which T{to} read")
            }
            (Kind::ReadWrite, Some((object, value))) => {
                write!(f, "T{from} read {object} without the {value} that T{to} wrote")
            }
            _ => write!(f, "T{from} had answered before T{to} began"),
        }
    }
}
