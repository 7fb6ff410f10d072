//! Procedures over all vertices: `graph.bfs`, `graph.cdlp`, `graph.lcc`, `graph.pagerank`, `graph.sssp`, `graph.wcc`; and node programs,
//! `program.NAME`.
//!
//! Each takes one map, lists the participating vertices, runs an algorithm of `paths` in slices, so that a quota is kept and a kill is noticed, and
//! emits a row a vertex. All executors share the work (`shared`), but for calls within sub-queries. The algorithms and their arguments are in the
//! crates `procedures` and `programs` (`work`).

mod shared;
mod work;

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::drawing::{Draw, Drawing};
use crate::rows::Rows;
use crate::stream::{Feed, Stream};
use crate::turn::{ExecutionContext, Progress, Try, Turn};
use dataflow::Context;
use expression::Compiled;
use model::{Batch, Column};
use plan::VarSet;
use plan::physical::Algorithm;
use shared::{Jobs, Shared};
use std::sync::Arc;
pub(super) use work::ProcedureKind;
use work::{ProcedureRows, ProcedureRun, ProcedureWorker, Turn as Drawn};

/// A call: its procedure, and the columns of the answer that are read.
struct ProcedureCall {
    kind: ProcedureKind,
    arguments: Vec<Compiled>,
    /// Of node and value, those that are read, in the order of the columns.
    picks: Vec<usize>,
}

impl ProcedureCall {
    fn output(&self) -> ProcedureRows {
        ProcedureRows::new(&self.kind, self.picks.contains(&0), self.picks.contains(&1))
    }
    fn record(&self, execution: &ExecutionContext) {
        // Of a program, what it reads is recorded where it does.
        if let ProcedureKind::Graph(_) = self.kind {
            execution.environment.record(|reads| {
                reads.catalogue();
                reads.scan(None);
            });
        }
    }
}

/// The columns that are read.
fn picked(asked: &ProcedureCall, columns: [Column; 2]) -> Vec<Column> {
    let mut columns = columns.map(Some);
    asked.picks.iter().filter_map(|at| columns[*at].take()).collect()
}

/// One executor alone: within scopes, and where there is one only.
struct Alone {
    asked: Arc<ProcedureCall>,
    output: ProcedureRows,
    charged: usize,
}

impl Draw for Alone {
    type Cursor = (ProcedureRun, ProcedureWorker);

    fn begin(&mut self, _: &Batch, execution: &mut ExecutionContext) -> Try<()> {
        self.asked.record(execution);
        Ok(())
    }
    fn open(&mut self, batch: &Batch, row: usize, turn: &mut Turn<'_, '_>) -> Try<Self::Cursor> {
        let arguments = turn.execution.values(&self.asked.arguments, batch, row)?;
        let snapshot = turn.execution.snapshot().clone();
        let running =
            ProcedureRun::new(&self.asked.kind, &arguments, &snapshot, &turn.execution.environment)?;
        recharge(&mut self.charged, running.bytes_min(), turn.context)?;
        let helper = running.helper(0);
        Ok((running, helper))
    }
    fn draw(
        &mut self,
        (running, helper): &mut Self::Cursor,
        room: usize,
        turn: &mut Turn<'_, '_>,
    ) -> Try<(usize, Progress)> {
        let before = self.output.count();
        let outcome = running.step(helper, room, &mut self.output)?;
        let is_done = outcome == Drawn::Done;
        let bytes = if is_done { 0 } else { running.bytes().max(running.bytes_min()) };
        recharge(&mut self.charged, bytes, turn.context)?;
        let progress = if is_done { Progress::Done } else { Progress::More };
        Ok((self.output.count() - before, progress))
    }
    fn columns(&mut self) -> Vec<Column> {
        picked(&self.asked, self.output.take())
    }
    fn charged(&self) -> usize {
        self.charged
    }
}

/// Sets the charge to these bytes.
pub(crate) fn recharge(charged: &mut usize, bytes: usize, context: &mut Context<'_, Rows>) -> Try<()> {
    if bytes > *charged {
        context.charge(bytes - *charged)?;
    } else {
        context.release(*charged - bytes);
    }
    *charged = bytes;
    Ok(())
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::CallProcedure,
    kind: ProcedureKind,
    required: &VarSet,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let mut feed = feed;
    // The asking thread is one executor, and so has a scope's instance; and who wants rows in order gets those of one row after those of another.
    let is_alone =
        compiler.executors == 1 || compiler.environment.is_kept() || compiler.algorithm() == Algorithm::Alone;
    if let (Feed::Unit, false) = (&feed, is_alone) {
        // Twins that are called for help must not begin by themselves, as leaves do. The row is that of the node below.
        let node = compiler.current;
        compiler.current = node + 1;
        feed = Feed::Rows(crate::operator::unit::compile(compiler)?);
        compiler.current = node;
    }
    let layout = feed.layout();
    let arguments = node.arguments.iter().map(|argument| compiler.expression(argument, &layout));
    let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
    let (mut picks, mut columns) = (Vec::new(), Vec::new());
    for (field, variable) in &node.yields {
        let at = usize::from(&**field != "node");
        if required.contains(*variable) && !picks.contains(&at) {
            picks.push(at);
            columns.push(*variable);
        }
    }
    let asked = Arc::new(ProcedureCall { kind, arguments, picks });
    if is_alone {
        let make = move || Drawing::new(Alone { output: asked.output(), asked: asked.clone(), charged: 0 });
        return Ok(compiler.attach_fan_out("GraphProcedure", &feed, required, &columns, make));
    }
    let (carry, mut layout) = compiler.carry(&layout, required);
    columns.iter().for_each(|variable| {
        layout.push(*variable);
    });
    let (environment, jobs) = (compiler.environment.clone(), Arc::new(Jobs::default()));
    let (number, demand) = (compiler.current, compiler.demand_port(&feed.layout()));
    let make = move || {
        let execution = ExecutionContext::new(&environment);
        Shared::new(asked.clone(), carry.clone(), execution, jobs.clone(), (number, demand.clone()))
    };
    let stream = compiler.attach("GraphProcedure", &feed, layout, make);
    // Rows come from whoever draws them, in no order.
    Ok(Stream { fans_out: false, parallel: true, ordered: false, ..stream })
}
