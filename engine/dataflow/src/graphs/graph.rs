//! The graph of one query: vertices with ports, edges with routes, scopes around them.
//!
//! The builder collects, [`GraphBuilder::finish`] checks (acyclic but for the backward edges of loops, ports fed, scopes entered and left
//! through one border) and computes what the runtime needs at every step; see `wiring`.

use crate::graphs::policy::{InterPolicy, IntraPolicy};
use crate::terms::ids::{ScopeNo, VertexNo};
use crate::terms::limits::SCOPE_DEPTH_MAX;
use crate::{Message, Operator};
use std::fmt;
use std::sync::Arc;

/// How messages that enter a scope find their instance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScopeKind {
    /// The ingress opens instances at will: for a row, or a batch.
    #[default]
    Branch,
    /// Messages that enter go to the first iteration, messages along a backward edge to the next one.
    Loop,
}

/// How a scope behaves.
#[derive(Clone, Debug, Default)]
pub struct ScopeOptions {
    /// Branch or loop.
    pub kind: ScopeKind,
    /// Which of its instances runs first.
    pub inter: InterPolicy,
    /// Which member of an instance runs first.
    pub intra: IntraPolicy,
    /// Instances that may live at once within one enclosing instance (the paper's `MAX_SI`; of a narrow scope on one executor): an
    /// ingress that holds none open is not run while there are as many; of a loop only the earliest so many iterations run. None for no
    /// limit.
    pub instances_max: Option<u32>,
    /// Each instance spans all executors: its edges may have any route, its vertices an operator on each executor that a message reaches.
    /// That is for a few instances with much work in each. An instance of a narrow scope, the default, lives where it was opened, and
    /// costs so little that there may be one for each row. A wide scope does not lie in a narrow one.
    pub wide: bool,
    /// While a member of an instance is held back by a full output, no member upstream of it runs: its output may no longer be wanted. Takes effect
    /// under [`IntraPolicy::Dfs`] only; under other policies it could also hold back the member that makes room.
    pub waits: bool,
    /// Its name in profiles.
    pub name: String,
}

impl ScopeOptions {
    /// A branch scope with the default policies.
    pub fn branch() -> ScopeOptions {
        ScopeOptions::default()
    }
    /// A loop scope with the default policies.
    pub fn iteration() -> ScopeOptions {
        ScopeOptions { kind: ScopeKind::Loop, ..ScopeOptions::default() }
    }
    /// The same, with instances that span executors.
    pub fn wide(self) -> ScopeOptions {
        ScopeOptions { wide: true, ..self }
    }
    /// The same, with a name for profiles.
    pub fn named(self, name: impl Into<String>) -> ScopeOptions {
        ScopeOptions { name: name.into(), ..self }
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
    /// A limit downstream must not cancel it, nor its feeders: it has effects (writes).
    pub must_finish: bool,
    /// Its `resume` is called on the home executor at the start of the query.
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

/// Splits one message by the tablets of its rows: given the host of each [tablet](crate::tablets), returns a part for each host that has rows.
pub type Placing<M> = Arc<dyn Fn(M, &[u32]) -> Vec<(usize, M)> + Send + Sync>;

/// The route of messages on an edge. An edge whose receiver lies in a narrow scope must be `Local`.
pub enum Route<M> {
    /// To the twin on the same executor, in order.
    Local,
    /// To the local twin unless messages queue there, then to a less loaded one; where executors have nothing to do, a large message is
    /// [split](Message::split) between them: dynamic parallelism.
    Spread,
    /// As [`Route::Spread`], but much work follows from each row: messages of few rows are split as well.
    Share,
    /// To the query's home executor.
    Gather,
    /// As [`Route::Spread`], but a large message of an operator that works on one executor is split by its rows' tablets: each executor gets the rows
    /// of the tablets it hosts. A preference: rows whose host is busy go to a less busy one.
    Placed(Placing<M>),
    /// Split by a function; part `i` goes to executor `i`.
    Partition(Partition<M>),
    /// Split by a function; part `i` belongs to [tablet](crate::tablets) `i` and goes to the executor that hosts it.
    Tablet(Partition<M>),
}

impl<M> Clone for Route<M> {
    fn clone(&self) -> Route<M> {
        match self {
            Route::Local => Route::Local,
            Route::Spread => Route::Spread,
            Route::Share => Route::Share,
            Route::Gather => Route::Gather,
            Route::Placed(placing) => Route::Placed(placing.clone()),
            Route::Partition(split) => Route::Partition(split.clone()),
            Route::Tablet(split) => Route::Tablet(split.clone()),
        }
    }
}

impl<M> fmt::Debug for Route<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Route::Local => "Local",
            Route::Spread => "Spread",
            Route::Share => "Share",
            Route::Gather => "Gather",
            Route::Placed(_) => "Placed",
            Route::Partition(_) => "Partition",
            Route::Tablet(_) => "Tablet",
        })
    }
}

/// Errors in a graph.
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
    /// An edge skips a scope border, or a route into a narrow scope is not local.
    Border(String, String),
    /// A backward edge does not stay in one loop scope.
    Backward(String, String),
    /// A source lies inside a scope, where nothing could start it.
    SourceInScope(String),
    /// This scope is wide and lies in one that is not.
    WideInNarrow(usize),
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
            GraphError::Backward(from, to) => {
                write!(f, "the backward edge from `{from}` to `{to}` does not stay in one loop scope")
            }
            GraphError::SourceInScope(name) => {
                write!(f, "the source `{name}` lies inside a scope, where nothing could start it")
            }
            GraphError::WideInNarrow(scope) => {
                write!(f, "scope {scope} spans executors and the scope around it does not")
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

/// How an edge lies to the scopes of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Crossing {
    /// Both ends are in the same scope.
    Inside,
    /// From the parent into this scope.
    Enter(usize),
    /// Out of a scope to its parent.
    Leave,
    /// Backward in a loop scope.
    Back,
}

pub(crate) struct Edge<M> {
    pub(crate) from: usize,
    pub(crate) output: usize,
    pub(crate) to: usize,
    pub(crate) port: usize,
    pub(crate) route: Route<M>,
    pub(crate) crossing: Crossing,
    /// Index among the receiver's in-edges; of an edge that enters a scope, also its index among the scope's entries ...
    pub(crate) in_place: usize,
    /// ... in this field.
    pub(crate) entry_place: usize,
}

pub(crate) struct Vertex<M> {
    pub(crate) name: String,
    pub(crate) options: VertexOptions,
    pub(crate) factory: Factory<M>,
    /// Its instances span executors: it lies outside scopes or in a wide one.
    pub(crate) wide: bool,
    /// The scope it lies in, and its index among that scope's members.
    pub(crate) scope: usize,
    pub(crate) place: usize,
    /// Number of scopes around it.
    pub(crate) depth: usize,
    /// Edge by output, `None` where unconnected.
    pub(crate) outputs: Vec<Option<usize>>,
    pub(crate) in_edges: Vec<usize>,
    /// Branch scopes that its outputs lead into.
    pub(crate) opens: Vec<usize>,
    /// Runs before the vertices it feeds; see [`GraphBuilder::run_ahead`].
    pub(crate) ahead: bool,
    /// Ports of the vertices before it.
    pub(crate) ports_before: usize,
    /// By port: true if holding its feeders back could deadlock, because the port itself waits for them, or in a loop. Messages that wait at such a
    /// port are charged to the query's bytes instead.
    pub(crate) elastic: Vec<bool>,
    /// Indexes of the members of its scope that a limit at this vertex cancels, from upstream to downstream.
    pub(crate) closes: Vec<usize>,
}

/// A member of a scope, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inner {
    Vertex(usize),
    Scope(usize),
}

/// A scope; number 0 is the whole graph.
pub(crate) struct Scope {
    pub(crate) options: ScopeOptions,
    /// Its instances span executors.
    pub(crate) wide: bool,
    pub(crate) parent: usize,
    /// Its index among the parent's members.
    pub(crate) place: usize,
    /// Number of scopes around its members: 1 for a scope directly inside the graph.
    pub(crate) depth: usize,
    /// Its direct members, from upstream to downstream.
    pub(crate) members: Vec<Inner>,
    /// Indexes of members by precedence, the first first, and the precedence of each; empty for first in, first out.
    pub(crate) by_precedence: Vec<u16>,
    pub(crate) precedence: Vec<u16>,
    /// Edges from the parent, in the order of their `entry_place`.
    pub(crate) entries: Vec<usize>,
    /// Edges to the parent.
    pub(crate) exits: Vec<usize>,
    /// Backward edges.
    pub(crate) backs: Vec<usize>,
}

/// A checked graph, ready to be submitted.
pub struct Graph<M: Message> {
    pub(crate) vertices: Vec<Vertex<M>>,
    pub(crate) edges: Vec<Edge<M>>,
    pub(crate) scopes: Vec<Scope>,
    pub(crate) output: usize,
    /// Some vertex runs ahead.
    pub(crate) has_ahead: bool,
    /// Messages that may wait at one port on one executor before its feeders are no longer scheduled.
    pub(crate) mailbox_messages_max: usize,
}

impl<M: Message> Graph<M> {
    /// Ports of all vertices.
    pub(crate) fn ports(&self) -> usize {
        self.vertices.last().map_or(0, |vertex| vertex.ports_before + vertex.options.ports)
    }
}

/// Collects a graph.
pub struct GraphBuilder<M: Message> {
    pub(crate) vertices: Vec<Vertex<M>>,
    pub(crate) edges: Vec<Edge<M>>,
    pub(crate) scopes: Vec<Scope>,
    pub(crate) output: Option<usize>,
}

impl<M: Message> Default for GraphBuilder<M> {
    fn default() -> GraphBuilder<M> {
        GraphBuilder::new()
    }
}

impl<M: Message> GraphBuilder<M> {
    /// An empty graph.
    pub fn new() -> GraphBuilder<M> {
        let root = Scope::new(ScopeOptions::default(), 0, 0);
        GraphBuilder { vertices: Vec::new(), edges: Vec::new(), scopes: vec![root], output: None }
    }

    /// Which of the vertices and scopes outside all scopes runs first.
    pub fn policy(&mut self, intra: IntraPolicy) {
        self.scopes[0].options.intra = intra;
    }

    /// A branch scope inside `parent`, with the default policies. Vertices are put into it by [`VertexOptions::scope`].
    ///
    /// A vertex of the parent that opens instances ([`Context::open_instance`](crate::Context::open_instance)) is the scope's ingress; a
    /// vertex of the scope whose edge goes to the parent is its egress, and its messages take the parent's tag on the way out.
    pub fn scope(&mut self, parent: ScopeNo) -> ScopeNo {
        self.scope_with(parent, ScopeOptions::branch())
    }

    /// A scope inside `parent`.
    ///
    /// Into a branch scope an ingress sends with the tag of an instance it opened; a message sent into a loop scope goes to the first iteration, and
    /// one along [`connect_back`](Self::connect_back) to the next. The loop ends when an iteration ends and nothing was sent to the one after it.
    pub fn scope_with(&mut self, parent: ScopeNo, options: ScopeOptions) -> ScopeNo {
        let number = self.scopes.len();
        let around = &self.scopes[parent.0];
        self.scopes.push(Scope::new(options, parent.0, around.depth + 1));
        ScopeNo(number)
    }

    /// Adds a vertex. `factory` makes its operator on an executor (given its number) on the first message there.
    pub fn vertex<F>(&mut self, name: impl Into<String>, options: VertexOptions, factory: F) -> VertexNo
    where
        F: Fn(usize) -> Box<dyn Operator<M>> + Send + Sync + 'static,
    {
        let scope = options.scope.0;
        self.vertices.push(Vertex {
            name: name.into(),
            elastic: vec![false; options.ports],
            scope,
            place: 0,
            wide: self.scopes[scope].wide,
            depth: self.scopes[scope].depth,
            options,
            factory: Box::new(factory),
            outputs: Vec::new(),
            in_edges: Vec::new(),
            opens: Vec::new(),
            ahead: false,
            ports_before: 0,
            closes: Vec::new(),
        });
        VertexNo(self.vertices.len() - 1)
    }

    /// Adds an edge from an output of one vertex to a port of another. Several edges may enter one port; an output has one edge.
    /// Messages sent to an unconnected output are dropped.
    pub fn connect(&mut self, from: VertexNo, output: usize, to: VertexNo, port: usize, route: Route<M>) {
        self.add_edge(from, output, to, port, route, Crossing::Inside);
    }

    /// Adds a backward edge between two vertices of one loop scope: its messages go to the next iteration.
    pub fn connect_back(&mut self, from: VertexNo, output: usize, to: VertexNo, port: usize) {
        self.connect_back_by(from, output, to, port, Route::Local);
    }

    /// As [`connect_back`](Self::connect_back), by a route: in a wide loop an iteration's work may be shared out anew.
    pub fn connect_back_by(
        &mut self,
        from: VertexNo,
        output: usize,
        to: VertexNo,
        port: usize,
        route: Route<M>,
    ) {
        self.add_edge(from, output, to, port, route, Crossing::Back);
    }

    fn add_edge(
        &mut self,
        from: VertexNo,
        output: usize,
        to: VertexNo,
        port: usize,
        route: Route<M>,
        crossing: Crossing,
    ) {
        let (from, to) = (from.0, to.0);
        self.edges.push(Edge { from, output, to, port, route, crossing, in_place: 0, entry_place: 0 });
    }

    /// The output of this vertex, which lies outside scopes, is distributed: where it works on one executor only and other executors wait for it, it
    /// runs before all other vertices while its outputs have room.
    pub fn run_ahead(&mut self, vertex: VertexNo) {
        self.vertices[vertex.0].ahead = true;
    }

    /// Output 0 of this vertex goes to the client.
    pub fn output(&mut self, vertex: VertexNo) {
        self.output = Some(vertex.0);
    }
}

impl Scope {
    fn new(options: ScopeOptions, parent: usize, depth: usize) -> Scope {
        Scope {
            wide: options.wide || depth == 0,
            options,
            parent,
            place: 0,
            depth,
            members: Vec::new(),
            by_precedence: Vec::new(),
            precedence: Vec::new(),
            entries: Vec::new(),
            exits: Vec::new(),
            backs: Vec::new(),
        }
    }
    pub(crate) fn is_loop(&self) -> bool {
        self.options.kind == ScopeKind::Loop
    }
}
