//! The slow, obvious twins, and random graphs to compare on.

use paths::csr::Csr;
use paths::{Adjacency, EdgeScratch, Filtered, Orientation, Path, PathMode};

/// SplitMix64, so that a printed seed replays everywhere.
pub struct Chance(pub u64);

impl Chance {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    pub fn below(&mut self, bound: u64) -> u64 {
        ((self.next() as u128 * bound as u128) >> 64) as u64
    }
}

/// Lists in another order, assembled in the scratch: as a store gives dirty or undirected vertices.
#[derive(Clone)]
pub struct Scrambled(pub Csr, pub u64);

impl Adjacency for Scrambled {
    fn vertex_bound(&self) -> u32 {
        self.0.vertex_bound()
    }
    fn edges_estimate(&self) -> Option<u64> {
        self.0.edges_estimate()
    }
    fn neighbours<'a>(&'a self, vertex: u32, scratch: &'a mut Vec<u32>) -> &'a [u32] {
        let mut both = EdgeScratch::default();
        self.edges(vertex, &mut both);
        *scratch = both.neighbours;
        scratch
    }
    fn edges<'a>(&'a self, vertex: u32, scratch: &'a mut EdgeScratch) -> (&'a [u32], &'a [u64]) {
        let mut other = EdgeScratch::default();
        let (neighbours, edges) = self.0.edges(vertex, &mut other);
        let mut rows: Vec<_> = neighbours.iter().copied().zip(edges.iter().copied()).collect();
        rows.sort_by_key(|&(_, edge)| Chance(edge ^ self.1).next());
        scratch.clear();
        rows.iter().for_each(|&(neighbour, edge)| scratch.push(neighbour, edge));
        scratch.as_slices()
    }
    fn degree(&self, vertex: u32) -> u32 {
        self.0.degree(vertex)
    }
}

/// Refuses every seventh vertex, and no edge.
#[derive(Clone)]
pub struct NoSeventh<'a>(pub &'a Csr);

impl Adjacency for NoSeventh<'_> {
    fn vertex_bound(&self) -> u32 {
        self.0.vertex_bound()
    }
    fn neighbours<'a>(&'a self, vertex: u32, scratch: &'a mut Vec<u32>) -> &'a [u32] {
        self.0.neighbours(vertex, scratch)
    }
    fn edges<'a>(&'a self, vertex: u32, scratch: &'a mut EdgeScratch) -> (&'a [u32], &'a [u64]) {
        self.0.edges(vertex, scratch)
    }
    fn degree(&self, vertex: u32) -> u32 {
        self.0.degree(vertex)
    }
    fn edges_estimate(&self) -> Option<u64> {
        self.0.edges_estimate()
    }
    fn admits_vertex(&self, vertex: u32) -> bool {
        vertex % 7 != 3
    }
}

/// A random graph of up to so many edges a vertex, half of the vertices without one that leads to them, with a line through all or
/// none: its orientation, and its lists along and against it.
pub fn dense(chance: &mut Chance, vertices: u32, share: u64, with_line: bool) -> (Orientation, Csr, Csr) {
    let edges: Vec<(u32, u32)> = (0..chance.below(share * u64::from(vertices)))
        .map(|_| (chance.below(vertices.into()) as u32, chance.below(u64::from(vertices / 2 + 1)) as u32))
        .chain((1..vertices).filter(|_| with_line).map(|vertex| (vertex - 1, vertex)))
        .collect();
    if chance.below(2) == 0 {
        (Orientation::Directed, Csr::outgoing(vertices, &edges), Csr::incoming(vertices, &edges))
    } else {
        let both = Csr::undirected(vertices, &edges);
        (Orientation::Undirected, both.clone(), both)
    }
}

/// Graphs dense enough that most of their levels are taken from below, some only until the tail.
/// One random case: a multigraph with self-loops and parallel edges, perhaps with predicates.
pub struct Case {
    pub seed: u64,
    pub vertices: u32,
    pub edges: Vec<(u32, u32)>,
    pub orientation: Orientation,
    pub vertex_refused: Option<u32>,
    pub edge_refused: Option<u64>,
    pub scramble: u64,
}

impl Case {
    pub fn random(seed: u64, vertices_max: u64, edges_max: u64) -> Case {
        let mut chance = Chance(seed);
        let vertices = 1 + chance.below(vertices_max) as u32;
        let count = chance.below(edges_max + 1);
        let mut draw = || chance.below(vertices as u64) as u32;
        let edges = (0..count).map(|_| (draw(), draw())).collect();
        let is_directed = chance.below(2) == 0;
        Case {
            seed,
            vertices,
            edges,
            orientation: if is_directed { Orientation::Directed } else { Orientation::Undirected },
            vertex_refused: (chance.below(3) == 0).then(|| chance.below(vertices as u64) as u32),
            edge_refused: (count > 0 && chance.below(3) == 0).then(|| chance.below(count)),
            scramble: chance.next(),
        }
    }

    fn narrowed(&self, csr: Csr) -> impl Adjacency + Clone + use<> {
        let (vertex_refused, edge_refused) = (self.vertex_refused, self.edge_refused);
        let vertex = move |vertex| Some(vertex) != vertex_refused;
        let edge = move |edge, _, _| Some(edge) != edge_refused;
        std::sync::Arc::new(Filtered { graph: Scrambled(csr, self.scramble), vertex, edge })
    }

    /// With predicates, along the direction.
    pub fn forward(&self) -> impl Adjacency + Clone + use<> {
        self.narrowed(self.plain())
    }

    /// With predicates, against the direction.
    pub fn backward(&self) -> impl Adjacency + Clone + use<> {
        self.narrowed(match self.orientation {
            Orientation::Directed => Csr::incoming(self.vertices, &self.edges),
            Orientation::Undirected => self.plain(),
        })
    }

    fn plain(&self) -> Csr {
        match self.orientation {
            Orientation::Directed => Csr::outgoing(self.vertices, &self.edges),
            Orientation::Undirected => Csr::undirected(self.vertices, &self.edges),
        }
    }

    /// Twin: every path of the mode from `source` with at most `hops_max` edges, by plain recursion over the edge list.
    pub fn paths(&self, source: u32, hops_max: u32, mode: PathMode) -> Vec<Path> {
        let mut all = Vec::new();
        let mut path = Path { vertices: vec![source], edges: vec![] };
        self.extend(&mut path, hops_max, mode, &mut all);
        all
    }

    fn extend(&self, path: &mut Path, hops_left: u32, mode: PathMode, all: &mut Vec<Path>) {
        all.push(path.clone());
        let near = path.vertices[path.vertices.len() - 1];
        let is_closed = path.length() > 0 && near == path.vertices[0];
        if hops_left == 0 || (mode == PathMode::Simple && is_closed) {
            return;
        }
        for (edge, &(from, to)) in self.edges.iter().enumerate() {
            let edge = edge as u64;
            let back = self.orientation == Orientation::Undirected && to == near && from != to;
            let ends = [(from == near).then_some(to), back.then_some(from)];
            for far in ends.into_iter().flatten() {
                let is_free = match mode {
                    PathMode::Walk => true,
                    PathMode::Trail => !path.edges.contains(&edge),
                    PathMode::Acyclic => !path.vertices.contains(&far),
                    PathMode::Simple => !path.vertices[1..].contains(&far) && !path.edges.contains(&edge),
                };
                if is_free && Some(far) != self.vertex_refused && Some(edge) != self.edge_refused {
                    path.vertices.push(far);
                    path.edges.push(edge);
                    self.extend(path, hops_left - 1, mode, all);
                    path.vertices.pop();
                    path.edges.pop();
                }
            }
        }
    }
}

impl std::fmt::Debug for Case {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "seed {} {:?} vertices {} edges {:?} refused vertex {:?} edge {:?}",
            self.seed, self.orientation, self.vertices, self.edges, self.vertex_refused, self.edge_refused
        )
    }
}

/// Twin: plain queue breadth-first search.
pub fn levels(graph: &impl Adjacency, source: u32) -> Vec<Option<u32>> {
    let mut levels = vec![None; graph.vertex_bound() as usize];
    levels[source as usize] = Some(0);
    let mut queue = std::collections::VecDeque::from([source]);
    let mut scratch = Vec::new();
    while let Some(vertex) = queue.pop_front() {
        for &far in graph.neighbours(vertex, &mut scratch) {
            if levels[far as usize].is_none() {
                levels[far as usize] = levels[vertex as usize].map(|level: u32| level + 1);
                queue.push_back(far);
            }
        }
    }
    levels
}
