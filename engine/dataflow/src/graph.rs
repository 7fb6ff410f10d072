//! The graph of one query: vertices with ports, edges with routes, scopes around them.
//!
//! The builder collects, [`GraphBuilder::finish`] checks (acyclic, ports fed, scopes entered and left through one border) and works out
//! what the runtime needs at every step: the order from upstream to downstream, the edges into and out of each vertex, which ports hold
//! their feeders back, and what a `LIMIT` at a vertex may cancel.

use crate::limits::{IN_EDGES_MAX, PORTS_MAX, SCOPE_DEPTH_MAX, VERTICES_MAX};
use crate::{Message, Operator};
use std::fmt;
use std::sync::Arc;

/// A vertex of the graph under construction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VertexNo(pub(crate) usize);

impl VertexNo {
    /// Its number, from 0, in the order of creation; also its place in a profile.
    pub fn index(self) -> usize {
        self.0
    }
}

/// A scope of the graph under construction. `ScopeNo::ROOT` is outside all scopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScopeNo(pub(crate) usize);

impl ScopeNo {
    /// Outside all scopes.
    pub const ROOT: ScopeNo = ScopeNo(0);
}

impl Default for ScopeNo {
    fn default() -> ScopeNo {
        ScopeNo::ROOT
    }
}

/// How a vertex behaves.
#[derive(Clone, Debug)]
pub struct VertexOptions {
    /// Number of input ports; 0 for a source.
    pub ports: usize,
    /// If `k > 0`: ports below `k` must be at their end everywhere (inside a scope: at the instance's end) before a message or the end
    /// of port `k` or above is delivered. A hash join with its build side on port 0 says 1.
    pub port_order: usize,
    /// Make an instance (on the home executor; inside a scope where the instance lives) for the end of the input even if no message
    /// ever came: an aggregate without keys answers 0 for nothing.
    pub create_if_empty: bool,
    /// A limit downstream must not cancel it, nor what feeds it: it has effects (writes).
    pub must_finish: bool,
    /// It is asked to `resume` on the home executor at the start of the query.
    pub source: bool,
    /// The scope it lies in.
    pub scope: ScopeNo,
}

impl Default for VertexOptions {
    fn default() -> VertexOptions {
        VertexOptions {
            ports: 1,
            port_order: 0,
            create_if_empty: false,
            must_finish: false,
            source: false,
            scope: ScopeNo::ROOT,
        }
    }
}

impl VertexOptions {
    /// A source: no ports, resumed at the start.
    pub fn source() -> VertexOptions {
        VertexOptions { ports: 0, source: true, ..VertexOptions::default() }
    }
    /// A vertex with this many ports.
    pub fn ports(ports: usize) -> VertexOptions {
        VertexOptions { ports, ..VertexOptions::default() }
    }
    /// The same, inside a scope.
    pub fn in_scope(self, scope: ScopeNo) -> VertexOptions {
        VertexOptions { scope, ..self }
    }
}

/// Splits one message into parts, each for one of `parts` receivers. Empty parts should be left out.
pub type Partition<M> = Arc<dyn Fn(M, usize) -> Vec<(usize, M)> + Send + Sync>;

/// Where messages on an edge go. Edges inside, into, and within a scope must be `Local`; an edge that leaves to the root may be any.
pub enum Route<M> {
    /// To the twin on the same executor, in order.
    Local,
    /// To the local twin unless messages queue there, then to a less loaded one: dynamic parallelism.
    Spread,
    /// To the query's home executor.
    Gather,
    /// Split by a function; part `i` goes to executor `i`.
    Partition(Partition<M>),
}

impl<M> Clone for Route<M> {
    fn clone(&self) -> Route<M> {
        match self {
            Route::Local => Route::Local,
            Route::Spread => Route::Spread,
            Route::Gather => Route::Gather,
            Route::Partition(split) => Route::Partition(split.clone()),
        }
    }
}

impl<M> fmt::Debug for Route<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Route::Local => "Local",
            Route::Spread => "Spread",
            Route::Gather => "Gather",
            Route::Partition(_) => "Partition",
        })
    }
}

/// What is wrong with a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GraphError {
    /// The edges form a cycle through this vertex.
    Cycle(String),
    /// An input port of this vertex has no edge.
    PortUnfed(String, usize),
    /// An edge names a port the vertex does not have.
    NoSuchPort(String, usize),
    /// An output has two edges: a message goes to one place (a copying operator has two outputs).
    OutputTwice(String, usize),
    /// An edge skips a scope border, or a route inside a scope is not local.
    Border(String, String),
    /// Scopes nest too deeply.
    TooDeep(usize),
    /// Too many vertices, ports, or edges into one vertex.
    TooLarge(String),
    /// The graph has no vertex whose output goes to the client, or that vertex lies inside a scope or feeds another.
    Output(String),
    /// A vertex with neither ports nor the `source` option would never run.
    NeverRuns(String),
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GraphError::Cycle(name) => write!(f, "dataflow graph has a cycle through `{name}`"),
            GraphError::PortUnfed(name, port) => write!(f, "port {port} of `{name}` has no edge into it"),
            GraphError::NoSuchPort(name, port) => write!(f, "`{name}` has no port {port}"),
            GraphError::OutputTwice(name, output) => write!(f, "output {output} of `{name}` has two edges"),
            GraphError::Border(from, to) => {
                write!(
                    f,
                    "the edge from `{from}` to `{to}` crosses a scope border wrongly or is not local in a scope"
                )
            }
            GraphError::TooDeep(depth) => {
                write!(f, "scopes nest {depth} deep, at most {SCOPE_DEPTH_MAX} are allowed")
            }
            GraphError::TooLarge(what) => write!(f, "dataflow graph too large: {what}"),
            GraphError::Output(why) => write!(f, "dataflow graph output: {why}"),
            GraphError::NeverRuns(name) => {
                write!(f, "`{name}` has no ports and is no source: it would never run")
            }
        }
    }
}

impl std::error::Error for GraphError {}

pub(crate) type Factory<M> = Box<dyn Fn(usize) -> Box<dyn Operator<M>> + Send + Sync>;

pub(crate) struct Edge<M> {
    pub(crate) from: usize,
    pub(crate) output: usize,
    pub(crate) to: usize,
    pub(crate) port: usize,
    pub(crate) route: Route<M>,
    /// Which of the receiver's in-edges it is.
    pub(crate) in_place: usize,
}

pub(crate) struct Vertex<M> {
    pub(crate) name: String,
    pub(crate) options: VertexOptions,
    pub(crate) factory: Factory<M>,
    /// Number of scopes around it.
    pub(crate) depth: usize,
    /// Edge by output, `None` where unconnected.
    pub(crate) outputs: Vec<Option<usize>>,
    pub(crate) in_edges: Vec<usize>,
    /// Place in the order from upstream to downstream.
    pub(crate) rank: usize,
    /// By port: true if the port waits for others and holding its feeders back could hold back those others too. Messages that wait at
    /// such a port are charged to the query's bytes instead.
    pub(crate) elastic: Vec<bool>,
    /// The vertices a limit here cancels.
    pub(crate) closes: Vec<usize>,
}

/// A checked graph, ready to be submitted.
pub struct Graph<M: Message> {
    pub(crate) vertices: Vec<Vertex<M>>,
    pub(crate) edges: Vec<Edge<M>>,
    pub(crate) output: usize,
    /// Vertices from upstream to downstream.
    pub(crate) order: Vec<usize>,
}

/// Collects a graph.
pub struct GraphBuilder<M: Message> {
    vertices: Vec<Vertex<M>>,
    edges: Vec<Edge<M>>,
    /// Parent and depth by scope.
    scopes: Vec<(usize, usize)>,
    output: Option<usize>,
}

impl<M: Message> Default for GraphBuilder<M> {
    fn default() -> GraphBuilder<M> {
        GraphBuilder::new()
    }
}

impl<M: Message> GraphBuilder<M> {
    /// An empty graph.
    pub fn new() -> GraphBuilder<M> {
        GraphBuilder { vertices: Vec::new(), edges: Vec::new(), scopes: vec![(0, 0)], output: None }
    }

    /// A scope inside `parent`. Vertices are put into it by [`VertexOptions::scope`].
    ///
    /// A vertex of the parent that opens instances ([`Context::open_instance`](crate::Context::open_instance)) is the scope's ingress; a
    /// vertex of the scope whose edge goes to the parent is its egress, and its messages take the parent's tag on the way out.
    pub fn scope(&mut self, parent: ScopeNo) -> ScopeNo {
        let depth = self.scopes[parent.0].1 + 1;
        self.scopes.push((parent.0, depth));
        ScopeNo(self.scopes.len() - 1)
    }

    /// Adds a vertex. `factory` makes its operator on an executor (given its number) on the first message there.
    pub fn vertex<F>(&mut self, name: impl Into<String>, options: VertexOptions, factory: F) -> VertexNo
    where
        F: Fn(usize) -> Box<dyn Operator<M>> + Send + Sync + 'static,
    {
        let depth = self.scopes[options.scope.0].1;
        self.vertices.push(Vertex {
            name: name.into(),
            elastic: vec![false; options.ports],
            options,
            factory: Box::new(factory),
            depth,
            outputs: Vec::new(),
            in_edges: Vec::new(),
            rank: 0,
            closes: Vec::new(),
        });
        VertexNo(self.vertices.len() - 1)
    }

    /// Adds an edge from an output of one vertex to a port of another. Several edges may enter one port; an output has one edge.
    /// Messages sent to an unconnected output are dropped.
    pub fn connect(&mut self, from: VertexNo, output: usize, to: VertexNo, port: usize, route: Route<M>) {
        self.edges.push(Edge { from: from.0, output, to: to.0, port, route, in_place: 0 });
    }

    /// Output 0 of this vertex goes to the client.
    pub fn output(&mut self, vertex: VertexNo) {
        self.output = Some(vertex.0);
    }

    /// Checks the graph.
    ///
    /// # Errors
    /// The first fault found: see [`GraphError`].
    pub fn finish(mut self) -> Result<Graph<M>, GraphError> {
        self.check_size()?;
        self.wire()?;
        self.check_borders()?;
        let output = self.check_output()?;
        let order = self.rank()?;
        self.mark_elastic();
        for vertex in 0..self.vertices.len() {
            self.vertices[vertex].closes = self.closes(vertex, &order);
        }
        Ok(Graph { vertices: self.vertices, edges: self.edges, output, order })
    }

    fn name(&self, vertex: usize) -> String {
        self.vertices[vertex].name.clone()
    }

    fn check_size(&self) -> Result<(), GraphError> {
        if self.vertices.len() > VERTICES_MAX {
            return Err(GraphError::TooLarge(format!(
                "{} vertices, at most {VERTICES_MAX}",
                self.vertices.len()
            )));
        }
        for vertex in &self.vertices {
            if vertex.options.ports > PORTS_MAX {
                return Err(GraphError::TooLarge(format!("ports of `{}`, at most {PORTS_MAX}", vertex.name)));
            }
            if vertex.options.ports == 0 && !vertex.options.source {
                return Err(GraphError::NeverRuns(vertex.name.clone()));
            }
            if vertex.depth > SCOPE_DEPTH_MAX {
                return Err(GraphError::TooDeep(vertex.depth));
            }
        }
        Ok(())
    }

    /// Fills `outputs`, `in_edges`, `in_place`.
    fn wire(&mut self) -> Result<(), GraphError> {
        for index in 0..self.edges.len() {
            let Edge { from, output, to, port, .. } = self.edges[index];
            if port >= self.vertices[to].options.ports {
                return Err(GraphError::NoSuchPort(self.name(to), port));
            }
            let outputs = &mut self.vertices[from].outputs;
            if outputs.len() <= output {
                outputs.resize(output + 1, None);
            }
            if outputs[output].replace(index).is_some() {
                return Err(GraphError::OutputTwice(self.name(from), output));
            }
            self.edges[index].in_place = self.vertices[to].in_edges.len();
            self.vertices[to].in_edges.push(index);
            if self.vertices[to].in_edges.len() > IN_EDGES_MAX {
                return Err(GraphError::TooLarge(format!(
                    "edges into `{}`, at most {IN_EDGES_MAX}",
                    self.name(to)
                )));
            }
        }
        for vertex in &self.vertices {
            let fed = |port: usize| vertex.in_edges.iter().any(|edge| self.edges[*edge].port == port);
            if let Some(port) = (0..vertex.options.ports).find(|port| !fed(*port)) {
                return Err(GraphError::PortUnfed(vertex.name.clone(), port));
            }
        }
        Ok(())
    }

    /// An edge stays in its scope, enters a child scope, or leaves to the parent; it is local unless it runs or leaves to the root.
    fn check_borders(&self) -> Result<(), GraphError> {
        for edge in &self.edges {
            let (from, to) =
                (self.vertices[edge.from].options.scope.0, self.vertices[edge.to].options.scope.0);
            let enters = to != 0 && self.scopes[to].0 == from;
            let leaves = from != 0 && self.scopes[from].0 == to;
            let local = to == 0 || matches!(edge.route, Route::Local);
            if !(from == to || enters || leaves) || !local {
                return Err(GraphError::Border(self.name(edge.from), self.name(edge.to)));
            }
        }
        Ok(())
    }

    fn check_output(&self) -> Result<usize, GraphError> {
        let output = self.output.ok_or_else(|| GraphError::Output("no vertex was named".to_string()))?;
        let vertex = &self.vertices[output];
        if vertex.options.scope != ScopeNo::ROOT {
            return Err(GraphError::Output(format!("`{}` lies inside a scope", vertex.name)));
        }
        if vertex.outputs.first().is_some_and(Option::is_some) {
            return Err(GraphError::Output(format!("output 0 of `{}` also has an edge", vertex.name)));
        }
        Ok(output)
    }

    /// Orders the vertices from upstream to downstream (Kahn).
    fn rank(&mut self) -> Result<Vec<usize>, GraphError> {
        let mut missing: Vec<usize> = self.vertices.iter().map(|vertex| vertex.in_edges.len()).collect();
        let mut order: Vec<usize> = (0..self.vertices.len()).filter(|vertex| missing[*vertex] == 0).collect();
        let mut next = 0;
        while next < order.len() {
            let vertex = order[next];
            self.vertices[vertex].rank = next;
            next += 1;
            for edge in self.vertices[vertex].outputs.iter().flatten() {
                let to = self.edges[*edge].to;
                missing[to] -= 1;
                if missing[to] == 0 {
                    order.push(to);
                }
            }
        }
        match missing.iter().position(|missing| *missing > 0) {
            Some(vertex) => Err(GraphError::Cycle(self.name(vertex))),
            None => Ok(order),
        }
    }

    /// A port that waits for lower ports may hold its feeders back only if all that feeds it is a tree leading nowhere else: then those
    /// it holds back are nobody else's source. Otherwise (a diamond, a self join) holding back could stop the very build side it waits
    /// for, so it takes what comes and the bytes are charged. Inside a scope all feeders lead back to the one ingress.
    fn mark_elastic(&mut self) {
        for vertex in 0..self.vertices.len() {
            let first = self.vertices[vertex].options.port_order;
            for port in first..self.vertices[vertex].options.ports {
                let elastic =
                    first > 0 && (self.vertices[vertex].depth > 0 || !self.fed_by_trees(vertex, port));
                self.vertices[vertex].elastic[port] = elastic;
            }
        }
    }

    fn fed_by_trees(&self, vertex: usize, port: usize) -> bool {
        let into_port = |edge: &&usize| self.edges[**edge].port == port;
        let mut stack: Vec<usize> = self.vertices[vertex]
            .in_edges
            .iter()
            .filter(into_port)
            .map(|edge| self.edges[*edge].from)
            .collect();
        while let Some(feeder) = stack.pop() {
            let feeder = &self.vertices[feeder];
            if feeder.outputs.iter().flatten().count() != 1 {
                return false;
            }
            stack.extend(feeder.in_edges.iter().map(|edge| self.edges[*edge].from));
        }
        true
    }

    /// The vertices all of whose paths lead to `vertex`, and that need not finish for their own sake.
    fn closes(&self, vertex: usize, order: &[usize]) -> Vec<usize> {
        let mut closed = vec![false; self.vertices.len()];
        closed[vertex] = true;
        let mut list = Vec::new();
        for upstream in order[..self.vertices[vertex].rank].iter().rev() {
            let candidate = &self.vertices[*upstream];
            let mut outputs = candidate.outputs.iter().flatten().peekable();
            let leads_only_here =
                outputs.peek().is_some() && outputs.all(|edge| closed[self.edges[*edge].to]);
            if leads_only_here && !candidate.options.must_finish && self.output != Some(*upstream) {
                closed[*upstream] = true;
                list.push(*upstream);
            }
        }
        list
    }
}
