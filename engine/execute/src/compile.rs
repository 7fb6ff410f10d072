//! From plan to dataflow graph: one match that maps each node to the file of its operator.
//!
//! The algorithm of each node was chosen when the plan was lowered ([`Physical`]): only decisions that depend on the run are made here. The walk goes
//! down with the demand for each node's rows and comes back up with a [`Stream`]: the vertex that emits the rows, and their layout. Inside an `Apply`
//! every row carries the number of its outer row in a hidden column
//! (`row`), which is required throughout; operators that group, order or count treat it as a leading key.

use crate::ExecuteError;
use crate::access::{Environment, EnvironmentSlot};
use crate::demand::{Counters, DemandPort, NodeDemand, Stated};
use crate::limits::TOGETHER_CHUNKS_PER_EXECUTOR;
use crate::limits::{START_VALUE_BYTES_MAX, START_VALUE_TIME_MAX};
use crate::operator;
use crate::placement;
use crate::rows::Rows;
use crate::scope_rows::ScopeRows;
use crate::stream::{Feed, Stream};
use crate::turn::{ExecutionContext, FanOut, Fanning, Leaf, Step, Stepping};
use dataflow::watch::{self, Limited};
use dataflow::{Graph, GraphBuilder, Operator, PipelineGraph, Route, ScopeNo, VertexNo, VertexOptions};
use expression::{Binding, Compiled, Layout, Scope, compile_with};
use model::{Batch, Value};
use plan::expr::Name;
use plan::physical::{Algorithm, NodeId, Physical, PhysicalNode};
use plan::{Expr, Plan, Var, VarSet, Wanted};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use store::Snapshot;
use transact::Transaction;

/// A statement as a graph.
pub(crate) struct CompiledStatement {
    pub(crate) graph: Graph<Rows>,
    /// Plan node of each vertex.
    pub(crate) nodes: Vec<NodeId>,
    pub(crate) node_count: usize,
    /// Nodes that run within other nodes' vertices.
    pub(crate) staged: Vec<Staged>,
    /// Parameters whose values were compiled in; none if the graph is valid for this run only.
    pub(crate) fixed: Option<BTreeSet<Name>>,
}

/// Compiles a whole statement. `run` is the run it is compiled for, or the first one; its operators find their environment at `environment_slot`.
pub(crate) fn statement(
    (plan, columns): (&Plan, &[(Name, Var)]),
    (physical, variables): (&Arc<Physical>, usize),
    run: &Arc<Environment>,
    environment_slot: EnvironmentSlot,
    executors: usize,
    is_profiled: bool,
) -> Result<CompiledStatement, ExecuteError> {
    let mut compiler = Compiler {
        builder: GraphBuilder::new(),
        snapshot: Snapshot::clone(&run.view()),
        run: run.clone(),
        many_runs: environment_slot.is_kept(),
        environment: environment_slot,
        executors,
        fixed: RefCell::default(),
        this_run_only: Cell::new(false),
        inside: None,
        staged: Vec::new(),
        is_profiled,
        variables: variables as u32,
        physical: physical.clone(),
        demand: NodeDemand::default(),
        of_side: NodeDemand::default(),
        of_input: None,
        placed_by: None,
        shares_rows: false,
        wide: None,
        after: None,
        chunks_scanned: 0,
        current: 0,
        node_count: 0,
        nodes: Vec::new(),
    };
    let stream = compiler.plan(plan)?;
    let output = operator::produce::compile(&mut compiler, stream, columns)?;
    compiler.builder.output(output);
    let graph = compiler.builder.finish()?;
    let fixed = (!compiler.this_run_only.get()).then(|| compiler.fixed.take());
    let Compiler { nodes, node_count, staged, .. } = compiler;
    debug_assert_eq!(node_count, physical.len(), "the plan is the one that was lowered");
    Ok(CompiledStatement { graph, nodes, node_count, staged, fixed })
}

/// The scope that is being filled.
pub(crate) struct Inside {
    pub(crate) scope: ScopeNo,
    /// The hidden column: number of the outer row.
    pub(crate) row: Var,
    /// Where the rows of the enclosing `Apply` come from, and the next free output of it.
    pub(crate) argument: Stream,
    /// How many outer rows each live instance has.
    pub(crate) rows: Arc<ScopeRows>,
    /// The demands that are stated in it by outer row, if any may be: their number.
    pub(crate) stated: Option<usize>,
}

/// A plan node whose operator runs in a pipeline within another node's operator.
pub(crate) struct Staged {
    pub(crate) node: NodeId,
    pub(crate) name: String,
    /// Rows that came out of it, in all pipelines.
    pub(crate) rows: Arc<AtomicU64>,
}

/// A node on the way down the plan, with the properties of its rows known above it.
struct Descent<'p> {
    plan: &'p Plan,
    demand: NodeDemand,
}

impl Descent<'_> {
    /// The demand for the operator itself: one with effects makes all its rows.
    fn own_demand(&self) -> NodeDemand {
        if self.plan.has_effects() { NodeDemand::default() } else { self.demand }
    }
}

/// The walk's state.
pub(crate) struct Compiler {
    pub(crate) builder: GraphBuilder<Rows>,
    /// Where operators will find their environment.
    pub(crate) environment: EnvironmentSlot,
    pub(crate) snapshot: Snapshot,
    pub(crate) executors: usize,
    /// The run that is compiled for, or the first of many.
    run: Arc<Environment>,
    many_runs: bool,
    fixed: RefCell<BTreeSet<Name>>,
    this_run_only: Cell<bool>,
    pub(crate) inside: Option<Inside>,
    staged: Vec<Staged>,
    /// Pipelines within operators count their rows, which executors share, only for PROFILE.
    is_profiled: bool,
    variables: u32,
    /// The physical choices for each node.
    physical: Arc<Physical>,
    /// The demand for the rows of the node that is compiled.
    pub(crate) demand: NodeDemand,
    /// Set by an operator for the next plan that it compiles beside its main input.
    pub(crate) of_side: NodeDemand,
    /// The demand for the rows of its main input.
    pub(crate) of_input: Option<NodeDemand>,
    /// For the operator that is attached next: column of the vertices whose edges it reads, by which its rows are placed.
    pub(crate) placed_by: Option<usize>,
    /// Much work follows from each row that comes by the next edge.
    pub(crate) shares_rows: bool,
    /// The scope whose instances span executors, if one is being filled.
    pub(crate) wide: Option<ScopeNo>,
    /// Outside of scopes: the stream whose end the leaves wait for, instead of the start of the query.
    pub(crate) after: Option<Stream>,
    /// Chunks that the last leaf reads, where rows of its vertices are to stay together.
    pub(crate) chunks_scanned: usize,
    /// The node that is compiled.
    pub(crate) current: NodeId,
    node_count: usize,
    nodes: Vec<NodeId>,
}

impl Compiler {
    /// Compiles one node and all below it.
    ///
    /// The nodes from main input to main input may be many and the stack is small, so they are not walked by recursion: the properties of each node's
    /// rows are computed on the way down, and each operator gets its input on the way up.
    pub(crate) fn plan(&mut self, plan: &Plan) -> Result<Stream, ExecuteError> {
        let outer = (self.current, self.demand, self.of_input);
        let first = self.node_count;
        let demand = std::mem::take(&mut self.of_side);
        let mut steps = vec![Descent { plan, demand }];
        while let Some(step) = steps.last()
            && let Some(input) = step.plan.input()
        {
            let below = self.below(step, input)?;
            steps.push(below);
        }
        self.node_count += steps.len();
        let (mut feed, mut below) = (Feed::Unit, None);
        for (place, step) in steps.into_iter().enumerate().rev() {
            self.of_input = below.replace(step.demand);
            if *step.plan == Plan::Unit && self.inside.is_none() && self.after.is_none() {
                continue;
            }
            (self.current, self.demand) = (first + place, step.own_demand());
            let chosen = self.chosen()?;
            let (required, ordered) = (chosen.columns.to_set(), chosen.ordered);
            let stream = self.node(step.plan, &required, feed)?;
            debug_assert_eq!(stream.ordered, ordered, "the order of rows is known when a plan is lowered");
            feed = Feed::Rows(stream);
        }
        let stream = self.rows(feed);
        // Whose sub-query this was goes on with what is said of itself.
        (self.current, self.demand, self.of_input) = outer;
        stream
    }

    /// The physical choice for the present node.
    fn chosen(&self) -> Result<&PhysicalNode, ExecuteError> {
        let missing = || ExecuteError::Plan("the plan was not lowered".to_string());
        self.physical.node(self.current).ok_or_else(missing)
    }
    /// Which way the operator of the node that is compiled works.
    pub(crate) fn algorithm(&self) -> Algorithm {
        self.physical.node(self.current).map_or(Algorithm::Usual, |node| node.algorithm)
    }

    /// Do all rows of one scanned vertex come to the node that is compiled one after the other? Not of a scan of so few chunks that executors
    /// would be left without work.
    pub(crate) fn stays_together(&self) -> bool {
        let is_meant = self.physical.node(self.current).is_some_and(|node| node.together);
        is_meant
            && (self.executors == 1 || self.chunks_scanned >= self.executors * TOGETHER_CHUNKS_PER_EXECUTOR)
    }

    /// A leaf reads the chunks that may hold matches; their number decides whether rows are placed by vertex.
    pub(crate) fn scans(&mut self, labels: &plan::LabelExpr) {
        if self.executors > 1 && self.physical.nodes_together() {
            let filter = crate::labels::filter(labels, self.snapshot.catalog());
            self.chunks_scanned = self.snapshot.scan_chunks(&filter).len();
        }
    }

    /// The properties of the rows of a node's main input.
    fn below<'p>(&mut self, step: &Descent<'p>, input: &'p Plan) -> Result<Descent<'p>, ExecuteError> {
        let demand = match step.plan {
            Plan::Limit(node) => operator::limit::demand(self, node, step.own_demand())?,
            plan => step.demand.of_input(plan),
        };
        Ok(Descent { plan: input, demand })
    }

    /// The rows of a feed; of a `Unit`, its one row.
    pub(crate) fn rows(&mut self, feed: Feed) -> Result<Stream, ExecuteError> {
        match feed {
            Feed::Rows(stream) => Ok(stream),
            Feed::Unit => operator::unit::compile(self),
        }
    }

    fn node(&mut self, plan: &Plan, required: &VarSet, feed: Feed) -> Result<Stream, ExecuteError> {
        match plan {
            Plan::Unit => operator::unit::compile(self),
            Plan::Argument(variables) => operator::argument::compile(self, variables),
            Plan::Match(_) => {
                Err(ExecuteError::Plan("a pattern reached execution without having been ordered".to_string()))
            }
            Plan::ScanVertices(node) => operator::scan_vertices::compile(self, node, required, feed),
            Plan::SeekVertices(node) => operator::seek_vertices::compile(self, node, required, feed),
            Plan::SeekEdges(node) => operator::seek_edges::compile(self, node, required, feed),
            Plan::SeekIds(node) => operator::seek_ids::compile(self, node, required, feed),
            Plan::Expand(node) => operator::expand::compile(self, node, required, feed),
            Plan::ExpandPath(node) => operator::expand_path::compile(self, node, required, feed),
            Plan::ExpandPattern(node) => operator::expand_pattern::compile(self, node, required, feed),
            Plan::CountMatches(node) => operator::count_matches::compile(self, node, required, feed),
            Plan::CountStored(node) => operator::count_stored::compile(self, node, required, feed),
            Plan::Intersect(node) => operator::intersect::compile(self, node, required, feed),
            Plan::Filter(node) => operator::filter::compile(self, node, required, feed),
            Plan::Extend(node) => operator::extend::compile(self, node, required, feed),
            Plan::Project(node) => operator::project::compile(self, node, required, feed),
            Plan::Aggregate(node) => operator::aggregate::compile(self, node, feed),
            Plan::Distinct(node) => operator::distinct::compile(self, node, feed),
            Plan::Sort(node) => operator::sort::compile(self, node, required, feed),
            Plan::Skip(node) => operator::skip::compile(self, node, feed),
            Plan::Limit(node) => operator::limit::compile(self, node, feed),
            Plan::Unwind(node) => operator::unwind::compile(self, node, required, feed),
            Plan::Join(node) => operator::join::compile(self, node, required),
            Plan::Apply(node) if matches!(self.algorithm(), Algorithm::Inline { .. }) => {
                operator::inline::compile(self, node, required, feed)
            }
            Plan::Apply(node) => operator::apply::compile(self, node, required, feed),
            Plan::Union(node) => operator::union::compile(self, node, required),
            Plan::CallProcedure(node) => operator::call_procedure::compile(self, node, required, feed),
            Plan::Create(node) => operator::create::compile(self, node, required, feed),
            Plan::Merge(node) => operator::merge::compile(self, node, required, feed),
            Plan::Set(node) => operator::set::compile(self, node, feed),
            Plan::Delete(node) => operator::delete::compile(self, node, feed),
            Plan::ForEach(node) => operator::for_each::compile(self, node, feed),
        }
    }

    /// The hidden column of the enclosing scope.
    pub(crate) fn row(&self) -> Option<Var> {
        self.inside.as_ref().map(|inside| inside.row)
    }
    /// A demand for rows of a node's main input, for each outer row if in a sub-query.
    pub(crate) fn stated(&mut self, wanted: Wanted) -> NodeDemand {
        match (&mut self.inside, wanted) {
            (None, _) | (_, Wanted::All) => NodeDemand::of_all(wanted),
            (Some(Inside { stated: Some(count), .. }), _) => {
                let number = *count;
                *count += 1;
                let most = if let Wanted::Most(most) = wanted { most } else { u64::MAX };
                NodeDemand { wanted, by_row: Some(Stated { number, most }) }
            }
            (Some(_), _) => NodeDemand::of_all(Wanted::Some),
        }
    }
    /// The counters of a demand of each outer row, where the scope has instances.
    pub(crate) fn counters(&self, demand: NodeDemand) -> Option<Counters> {
        let (inside, stated) = self.inside.as_ref().zip(demand.by_row)?;
        inside.rows.has_instances().then(|| Counters::new(&inside.rows, stated))
    }
    /// The demand for the rows of the present node's operator, whose input has this layout.
    pub(crate) fn demand_port(&self, layout: &Layout) -> DemandPort {
        let NodeDemand { wanted, by_row } = self.demand;
        let column = self.row().filter(|_| by_row.is_some()).and_then(|row| layout.position(row));
        // Rows that were counted when they were made must not be passed over.
        let are_counted =
            |below: NodeDemand| below.by_row == by_row && matches!(below.wanted, Wanted::Most(_));
        match (by_row, column) {
            (Some(_), _) if self.of_input.is_some_and(are_counted) => DemandPort::new(Wanted::All, None),
            (Some(_), Some(column)) => DemandPort::new(wanted, Some((column, self.counters(self.demand)))),
            // Rows that belong to no outer row cannot be counted.
            (Some(_), None) => DemandPort::new(wanted.thinned(), None),
            (None, _) => DemandPort::new(wanted, None),
        }
    }
    /// A variable that the statement does not have.
    pub(crate) fn fresh(&mut self) -> Var {
        self.variables += 1;
        Var(self.variables - 1)
    }
    /// Compiles an expression over rows of this layout.
    pub(crate) fn expression(&self, expression: &Expr, layout: &Layout) -> Result<Compiled, ExecuteError> {
        let parameters = &*self.run.request.parameters;
        let binding = match self.many_runs {
            true => Binding::Later(parameters, &self.fixed),
            false => Binding::Now(parameters),
        };
        Ok(compile_with(expression, layout, &self.snapshot, &binding)?)
    }
    /// The value of an expression that reads no row, needed now.
    pub(crate) fn value(&self, expression: &Expr) -> Result<Value, ExecuteError> {
        let binding = Binding::Now(&self.run.request.parameters);
        let compiled = compile_with(expression, &Layout::default(), &self.snapshot, &binding)?;
        self.this_run_only.set(self.this_run_only.get() || compiled.constant().is_none());
        expression.any(&mut |part| {
            if let Expr::Parameter(name) = part {
                self.fixed.borrow_mut().insert(name.clone());
            }
            false
        });
        let scope = Scope::new(&self.snapshot, &self.run.request);
        let _watched = watch::enter(Limited::new(START_VALUE_TIME_MAX, START_VALUE_BYTES_MAX));
        Ok(compiled.evaluate_row(&Batch::unit(), 0, &scope)?)
    }
    /// Marks the graph as valid for one run: its operators share state that a second run would find used up.
    pub(crate) fn for_this_run_only(&self) {
        self.this_run_only.set(true);
    }
    /// Will this be run once?
    pub(crate) fn is_for_this_run_only(&self) -> bool {
        self.this_run_only.get()
    }
    /// The transaction, for writing operators.
    pub(crate) fn transaction(&self) -> Result<&Transaction, ExecuteError> {
        self.run.transaction()
    }
    /// Position of a variable that the plan promises.
    pub(crate) fn position(layout: &Layout, variable: Var) -> Result<usize, ExecuteError> {
        let missing = || ExecuteError::Plan(format!("variable {} has no column here", variable.0));
        layout.position(variable).ok_or_else(missing)
    }
    /// The columns of `layout` that are still read, and their layout; each variable once.
    pub(crate) fn carry(&self, layout: &Layout, required: &VarSet) -> (Arc<[usize]>, Layout) {
        let mut kept = Layout::default();
        let mut picks = Vec::new();
        for variable in layout.variables() {
            let wanted = required.contains(*variable) || self.row() == Some(*variable);
            if wanted && kept.position(*variable).is_none() {
                kept.push(*variable);
                picks.extend(layout.position(*variable));
            }
        }
        (picks.into(), kept)
    }
    /// Options of a vertex with `ports` ports in the current scope.
    pub(crate) fn options(&self, ports: usize) -> VertexOptions {
        let scope = self.inside.as_ref().map_or(ScopeNo::ROOT, |inside| inside.scope);
        VertexOptions::ports(ports).in_scope(scope)
    }
    /// Adds a vertex that belongs to the current plan node.
    pub(crate) fn vertex<O, F>(&mut self, name: &str, options: VertexOptions, make: F) -> VertexNo
    where
        O: Operator<Rows> + 'static,
        F: Fn() -> O + Send + Sync + 'static,
    {
        self.nodes.push(self.current);
        self.builder.vertex(name, options, move |_| Box::new(make()))
    }
    /// Connects a stream to a port; returns whether rows may now be on several executors.
    pub(crate) fn connect(&mut self, stream: &Stream, to: VertexNo, port: usize) -> bool {
        let spans = self.inside.as_ref().is_none_or(|inside| self.wide == Some(inside.scope));
        let shared_out = !stream.ordered && !self.stays_together();
        // Rows that come from one executor may stand in an order that people expect, though none was asked for.
        let shares = std::mem::take(&mut self.shares_rows) && stream.parallel;
        let spread = (stream.fans_out || shares) && shared_out && spans && self.executors > 1;
        let route = match self.placed_by.take() {
            Some(column) if spread => Route::Placed(placement::placing(column)),
            _ if spread && shares => Route::Share,
            _ if spread => Route::Spread,
            _ => Route::Local,
        };
        if spread && !self.demand.wanted.is_few() && self.inside.is_none() {
            self.builder.run_ahead(stream.vertex);
        }
        self.builder.connect(stream.vertex, stream.output, to, port, route);
        spread || stream.parallel
    }
    /// Connects a stream to a port so that all its rows come to one executor.
    pub(crate) fn gather(&mut self, stream: &Stream, to: VertexNo, port: usize) {
        let route = if stream.parallel && self.inside.is_none() { Route::Gather } else { Route::Local };
        self.builder.connect(stream.vertex, stream.output, to, port, route);
    }
    /// Puts an operator of one port behind its feed. A leaf becomes a source.
    pub(crate) fn attach<O, F>(&mut self, name: &str, feed: &Feed, layout: Layout, make: F) -> Stream
    where
        O: Operator<Rows> + 'static,
        F: Fn() -> O + Send + Sync + 'static,
    {
        let (vertex, parallel, ordered) = match feed {
            Feed::Unit => {
                let leaf = move || Leaf { inner: make(), started: false };
                (self.vertex(name, VertexOptions::source(), leaf), false, false)
            }
            Feed::Rows(stream) => {
                let vertex = self.vertex(name, self.options(1), make);
                (vertex, self.connect(stream, vertex, 0), stream.ordered)
            }
        };
        Stream { vertex, output: 0, layout, parallel, ordered, fans_out: false }
    }
    /// Compiles an inner plan, from its argument on, into a graph of its own: for a pipeline within the operator of the node that is compiled.
    pub(crate) fn inner_pipeline(
        &mut self,
        (inner, demand): (&Plan, NodeDemand),
        (row, argument, ordered): (Var, Layout, bool),
    ) -> Result<(PipelineGraph<Rows>, Layout), ExecuteError> {
        let around = (std::mem::take(&mut self.builder), std::mem::take(&mut self.nodes));
        let vertex = self.builder.entry();
        self.nodes.push(self.current);
        let argument =
            Stream { vertex, output: 0, layout: argument, parallel: false, ordered, fans_out: false };
        let rows = Arc::new(ScopeRows::new(0));
        let inside = Inside { scope: ScopeNo::ROOT, row, argument, rows, stated: None };
        let outside = self.inside.replace(inside);
        self.of_side = demand;
        let stream = self.plan(inner);
        self.inside = outside;
        let mut builder = std::mem::replace(&mut self.builder, around.0);
        let nodes = std::mem::replace(&mut self.nodes, around.1);
        let stream = stream?;
        builder.output(stream.vertex);
        let graph = builder.finish()?;
        let scoped = || ExecuteError::Plan("a scope stands in a pipeline".to_string());
        let graph = graph.into_pipeline(self.is_profiled).ok_or_else(scoped)?;
        let staged = graph.counts().zip(nodes).skip(1);
        let staged = staged.map(|((name, rows), node)| Staged { node, name: name.to_string(), rows });
        self.staged.extend(staged);
        Ok((graph, stream.layout))
    }
    /// Puts a [`Step`] behind its feed.
    pub(crate) fn attach_step<S, F>(&mut self, name: &str, feed: &Feed, layout: Layout, make: F) -> Stream
    where
        S: Step + 'static,
        F: Fn() -> S + Send + Sync + 'static,
    {
        let environment = self.environment.clone();
        self.attach(name, feed, layout, move || Stepping::new(make(), ExecutionContext::new(&environment)))
    }
    /// Puts a [`FanOut`] behind its feed; `new` are the columns it adds.
    pub(crate) fn attach_fan_out<F, M>(
        &mut self,
        name: &str,
        feed: &Feed,
        required: &VarSet,
        new: &[Var],
        make: M,
    ) -> Stream
    where
        F: FanOut + 'static,
        M: Fn() -> F + Send + Sync + 'static,
    {
        let (carry, mut layout) = self.carry(&feed.layout(), required);
        new.iter().for_each(|variable| {
            layout.push(*variable);
        });
        let demand = self.demand_port(&feed.layout());
        let environment = self.environment.clone();
        let make =
            move || Fanning::new(make(), ExecutionContext::new(&environment), carry.clone(), demand.clone());
        Stream { fans_out: true, ..self.attach(name, feed, layout, make) }
    }
}
