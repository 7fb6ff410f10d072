//! Apply: a correlated sub-query, run for whole batches of outer rows in one scope instance each.
//!
//! ```text
//!            ┌─ argument ─► inner plan ─► port 1
//!   ApplyOpen┤                                   ApplyClose ─► outer rows with what the inner rows add
//!            └─ outer batch ────────────► port 0
//! ```
//!
//! ApplyOpen numbers the rows of a batch in a hidden column. Every inner operator carries that number, so that inner rows find their
//! outer row again, and grouping, ordering and limits count for each outer row. ApplyClose joins back. An inner plan that writes is run for one row
//! at a time, after all outer rows have come, and its rows are buffered until the last of them: so each row sees the writes of earlier rows, and
//! everything above sees all of them.

use crate::ExecuteError;
use crate::compile::{Compiler, Inside};
use crate::demand::{Counters, DemandPort, NodeDemand, Stated};
use crate::limits::APPLY_INSTANCES_MAX;
use crate::operator::barrier;
use crate::rows::Rows;
use crate::scope_rows::ScopeRows;
use crate::stream::{Feed, Stream};
use crate::turn::{ExecutionContext, Intake, TakingIn, Try, charged};
use dataflow::{Context, Flow, InterPolicy, IntraPolicy, Outcome, ScopeOptions, VertexOptions};
use expression::{Compiled, Layout};
use model::{Batch, Column, Nulls};
use plan::VarSet;
use plan::algebra::ApplyKind;
use plan::physical::Algorithm;
use plan::scope::{InstanceOrder, OperatorOrder, Scope};
use plan::{Plan, Wanted};
use std::collections::VecDeque;
use std::sync::Arc;

mod close;

pub(crate) use close::compile as close;

/// How many outputs lead from an ApplyOpen into the scope: one for each argument, and one for the outer rows.
pub(crate) struct OpenPlan {
    /// Columns of the outer row that are imported.
    pub(crate) imports: Vec<usize>,
    pub(crate) arguments: usize,
    pub(crate) rows: Arc<ScopeRows>,
    pub(crate) instances_max: usize,
    /// Rows of one instance; none for as many as come in one batch.
    pub(crate) instance_rows: Option<usize>,
    /// The value of the first row by which instances are ordered; descending with `true`.
    pub(crate) rank: Option<(Compiled, bool)>,
    /// All outer rows must have come before the first instance opens.
    pub(crate) eager: bool,
}

/// Opens an instance for each batch.
struct ApplyOpen {
    plan: Arc<OpenPlan>,
    /// With the bytes charged for each.
    waiting: VecDeque<(Batch, usize)>,
    /// Rows of the first waiting batch that have been opened.
    place: usize,
    execution: ExecutionContext,
    /// The demand for the rows that come of those it opens.
    demand: DemandPort,
    /// Distinguishes its instances from those of its twins.
    opener: u64,
}

impl Drop for ApplyOpen {
    fn drop(&mut self) {
        self.plan.rows.abandon(self.opener);
    }
}

impl ApplyOpen {
    /// Integers in the order of the rank's values; values that are no numbers come last.
    fn rank(&mut self, batch: &Batch) -> Try<u64> {
        let Some((value, descending)) = &self.plan.rank else { return Ok(0) };
        let found = value.evaluate_row(batch, 0, &self.execution.scope())?;
        let number = match found {
            model::Value::Int(number) => number as f64,
            model::Value::Float(number) if !number.is_nan() => number,
            _ => return Ok(u64::MAX),
        };
        let bits = number.to_bits();
        // The bits of floats stand in the order of their values once the negative ones are turned over.
        let ordered = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
        Ok(if *descending { !ordered } else { ordered })
    }
    fn open(&mut self, batch: &Batch, context: &mut Context<'_, Rows>) -> Try<()> {
        let rank = self.rank(batch)?;
        let tag = context.open_ranked_instance(rank);
        self.plan.rows.open(context.executor(), tag, batch.len(), self.opener);
        let mut argument =
            Batch::new(vec![Column::Int((0..batch.len() as i64).collect(), Nulls::none())], batch.len());
        self.plan.imports.iter().for_each(|at| argument.push_carried(batch.column(*at).clone()));
        for output in 0..self.plan.arguments {
            context.send_tagged(output, tag, Rows(argument.clone()));
        }
        context.send_tagged(self.plan.arguments, tag, Rows(batch.clone()));
        (0..=self.plan.arguments).for_each(|output| context.end_instance(output, tag));
        Ok(())
    }
}

impl Intake for ApplyOpen {
    fn take(&mut self, batch: Batch, context: &mut Context<'_, Rows>) -> Try<()> {
        if !self.plan.eager {
            self.demand.enter(context, batch.len());
            let batch = match self.demand.wanted_rows(&batch) {
                Some(wanted) if batch.width() > 0 => batch.select(wanted),
                _ => batch,
            };
            if !batch.is_empty() {
                self.waiting.push_back((batch, 0));
            }
            return Ok(());
        }
        self.waiting.push_back(charged(batch, context)?);
        Ok(())
    }
    fn run(&mut self, complete: bool, context: &mut Context<'_, Rows>) -> Outcome {
        if self.plan.eager && !complete {
            return Ok(Flow::Ready);
        }
        while let Some((batch, charged)) = self.waiting.front() {
            if self.plan.rows.live(context.executor()) >= self.plan.instances_max {
                return Ok(Flow::Waiting);
            }
            let rows_max =
                self.plan.instance_rows.unwrap_or(usize::MAX).min(self.demand.input_piece()).max(1);
            let piece = crate::columns::piece(batch, self.place, rows_max.min(batch.len() - self.place));
            self.place += piece.len();
            if self.place == batch.len() {
                context.release(*charged);
                self.waiting.pop_front();
                self.place = 0;
            }
            self.open(&piece, context)?;
            let asks = self.demand.handed_on(self.execution.environment.batch_rows);
            if (asks || context.should_yield()) && !self.waiting.is_empty() {
                return Ok(Flow::Again);
            }
        }
        Ok(Flow::Ready)
    }
}

/// A branch scope's options.
pub(crate) fn options(how: &Scope) -> ScopeOptions {
    let inter = match how.order {
        InstanceOrder::Fifo => InterPolicy::Fifo,
        InstanceOrder::Bfs => InterPolicy::Bfs,
        InstanceOrder::Dfs => InterPolicy::Dfs,
        InstanceOrder::By(_) => InterPolicy::BestFirst,
    };
    let intra = match how.within {
        OperatorOrder::Fifo => IntraPolicy::Fifo,
        OperatorOrder::Bfs => IntraPolicy::Bfs,
        OperatorOrder::Dfs => IntraPolicy::Dfs,
    };
    ScopeOptions { inter, intra, waits: how.early, ..ScopeOptions::branch() }
}

/// Number of operators in a plan that read the enclosing argument.
pub(crate) fn arguments(plan: &Plan) -> usize {
    match plan {
        Plan::Unit | Plan::Argument(_) => 1,
        _ => inputs(plan).into_iter().map(arguments).sum(),
    }
}

/// The inputs of a node that run in its own scope.
pub(crate) fn inputs(plan: &Plan) -> Vec<&Plan> {
    match plan {
        // What is made once starts outside.
        Plan::Join(node) if node.once => vec![&node.probe],
        Plan::Join(node) => vec![&node.build, &node.probe],
        Plan::Union(node) => vec![&node.left, &node.right],
        other => other.input().into_iter().collect(),
    }
}

/// A scope that was opened behind a stream, for its closing operator.
pub(crate) struct Opened {
    /// The outer rows, as they enter the scope.
    pub(crate) outer: Stream,
    pub(crate) inner: Stream,
    pub(crate) row: plan::Var,
    pub(crate) rows: Arc<ScopeRows>,
    /// Where the closing operator says which outer rows have enough.
    pub(crate) answers: Option<Counters>,
    /// Options of a closing operator with two ports: outer rows, then inner rows.
    pub(crate) options: VertexOptions,
}

/// How a scope is opened.
pub(crate) struct How<'a> {
    /// As the plan says.
    pub(crate) scope: &'a Scope,
    /// The rank of its instances, if they are ordered.
    pub(crate) rank: Option<&'a plan::Expr>,
    /// The demand for the inner rows.
    pub(crate) inner: NodeDemand,
    /// The inner plan writes.
    pub(crate) writes: bool,
    /// Rows of one instance, of which the first opens once all outer rows have come.
    pub(crate) instance_rows: Option<usize>,
}

/// Opens a scope behind `input` and compiles `inner` into it.
pub(crate) fn open(
    compiler: &mut Compiler,
    input: Stream,
    inner: &Plan,
    imports: &[plan::Var],
    how: &How<'_>,
) -> Result<Opened, ExecuteError> {
    let How { instance_rows, writes, inner: of_inner, scope: how, rank } = *how;
    let eager = writes || instance_rows.is_some();
    let row = compiler.fresh();
    let rows = Arc::new(ScopeRows::new(compiler.executors));
    let mut layout = Layout::new(&[row]);
    let mut columns = Vec::new();
    for variable in imports {
        columns.push(Compiler::position(&input.layout, *variable)?);
        layout.push(*variable);
    }
    let plan = Arc::new(OpenPlan {
        imports: columns,
        arguments: arguments(inner),
        rows: rows.clone(),
        instances_max: match how.instances_max {
            _ if eager || input.ordered => 1,
            None => APPLY_INSTANCES_MAX,
            Some(most) => most as usize,
        },
        instance_rows: instance_rows.or(writes.then_some(1)).or(how.rows.map(|rows| (rows as usize).max(1))),
        rank: match (how.order, rank) {
            (InstanceOrder::By(descending), Some(rank)) => {
                Some((compiler.expression(rank, &input.layout)?, descending))
            }
            _ => None,
        },
        eager,
    });
    let environment = compiler.environment.clone();
    let (argument_count, demand) = (plan.arguments, compiler.demand_port(&input.layout));
    let demand = if input.ordered { demand.one_row_first() } else { demand };
    let vertex = compiler.vertex("ApplyOpen", compiler.options(1), move || {
        let (plan, execution, opener) =
            (plan.clone(), ExecutionContext::new(&environment), plan.rows.opener());
        let demand = demand.clone();
        TakingIn::new(ApplyOpen { plan, waiting: VecDeque::new(), place: 0, execution, demand, opener })
    });
    let parallel = if eager {
        compiler.gather(&input, vertex, 0);
        false
    } else {
        compiler.shares_rows = how.wide;
        compiler.connect(&input, vertex, 0)
    };
    let scope = compiler.builder.scope_with(compiler.options(1).scope, options(how));
    let stream = Stream { vertex, output: 0, layout, parallel, ordered: input.ordered, fans_out: false };
    let stated = (how.early && !writes).then_some(1);
    let inside = Inside { scope, row, argument: stream.clone(), rows: rows.clone(), stated };
    let outside = compiler.inside.replace(inside);
    let answers = compiler.counters(of_inner);
    compiler.of_side = of_inner;
    let inner = compiler.plan(inner);
    let options = VertexOptions { port_order: 1, ..compiler.options(2) };
    compiler.inside = outside;
    let outer = Stream { output: argument_count, layout: input.layout, ..stream };
    Ok(Opened { outer, inner: inner?, row, rows, answers, options })
}

/// The demand for the inner rows of an Apply that is no test, if that for its own is `demand`: all outer rows together, since each inner row
/// is a row of the Apply. In an OPTIONAL they come in pieces, but none is left out, or its outer row would be one without.
pub(crate) fn inner_demand(kind: &ApplyKind, demand: NodeDemand) -> NodeDemand {
    NodeDemand::of_all(match kind {
        ApplyKind::Inner(_) if demand.by_row.is_none() => demand.wanted,
        ApplyKind::Inner(_) | ApplyKind::Optional(_) | ApplyKind::Repeat(_) => demand.wanted.thinned(),
        _ => Wanted::All,
    })
}

/// The columns that an Apply adds, as far as operators above read them.
pub(crate) fn added(kind: &ApplyKind, required: &VarSet) -> Vec<plan::Var> {
    match kind {
        ApplyKind::Inner(columns) | ApplyKind::Optional(columns) => {
            columns.iter().copied().filter(|column| required.contains(*column)).collect()
        }
        ApplyKind::Exists(new) | ApplyKind::Count(new) => vec![*new],
        ApplyKind::Collect { list, .. } => vec![*list],
        ApplyKind::Semi | ApplyKind::Anti | ApplyKind::Unit | ApplyKind::Repeat(_) => Vec::new(),
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::Apply,
    required: &VarSet,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let writes = match (compiler.algorithm(), &node.kind) {
        (_, ApplyKind::Repeat(repeat)) => {
            return super::repeat::compile(compiler, node, repeat, required, feed);
        }
        (algorithm, _) => algorithm == (Algorithm::Scope { writes: true }),
    };
    let new = added(&node.kind, required);
    let input = compiler.rows(feed)?;
    let ordered = input.ordered;
    let is_test = matches!(node.kind, ApplyKind::Semi | ApplyKind::Anti | ApplyKind::Exists(_));
    let inner = match is_test && node.scope.early && !writes {
        true => NodeDemand::of_each(Stated { number: 0, most: 1 }),
        false => inner_demand(&node.kind, compiler.demand),
    };
    let rank = node.rank.as_ref();
    let how = How { scope: &node.scope, rank, inner, writes, instance_rows: None };
    let opened = open(compiler, input, &node.inner, &node.imports, &how)?;
    let stream = close(compiler, &node.kind, opened, required, &new)?;
    let stream = Stream { ordered, ..stream };
    if writes { barrier::attach(compiler, stream) } else { Ok(stream) }
}
