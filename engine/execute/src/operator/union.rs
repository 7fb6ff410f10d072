//! Union: the rows of both inputs under common columns; with `distinct`, a [`Distinct`](super::distinct) follows.
//!
//! Where an input writes, the second begins when the first has ended: it sees the writes of the first, and never the other way round. The same holds
//! where a text says UNION, whose branches answer in their order. Inside a sub-query both begin with their row, and the rows of the second wait for
//! the end of the first.

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::demand::NodeDemand;
use crate::operator::distinct;
use crate::rows::Rows;
use crate::stream::Stream;
use crate::turn::{ExecutionContext, Step, Stepping, Try};
use dataflow::{Context, Flow, Operator, Outcome, VertexOptions};
use expression::Layout;
use model::Batch;
use plan::Plan;
use plan::VarSet;
use plan::physical::{Algorithm, carried};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Clone)]
struct Union {
    /// By port, the columns of the output.
    picks: [Arc<[usize]>; 2],
}

impl Step for Union {
    fn step(&mut self, port: usize, batch: Batch, _: &mut ExecutionContext) -> Try<Batch> {
        Ok(batch.project(&self.picks[port]))
    }
}

/// Hands the rows of the first input on; at their end lets the leaves of the second begin.
struct Then {
    leaves: Arc<AtomicUsize>,
}

impl Operator<Rows> for Then {
    fn receive(&mut self, _: usize, rows: Rows, context: &mut Context<'_, Rows>) -> Outcome {
        context.send_to(0, rows);
        Ok(Flow::Ready)
    }
    fn on_completion(&mut self, _: usize, context: &mut Context<'_, Rows>) -> Outcome {
        for leaf in 1..=self.leaves.load(Ordering::Relaxed) {
            context.send_to(leaf, Rows(Batch::unit()));
        }
        Ok(Flow::Ready)
    }
}

/// Compiles the second input behind the first; returns both.
fn second_after(
    compiler: &mut Compiler,
    first: Stream,
    (second, writes, of_second): (&Plan, bool, NodeDemand),
) -> Result<(Stream, Stream), ExecuteError> {
    let leaves = Arc::new(AtomicUsize::new(0));
    let counted = leaves.clone();
    let options = VertexOptions { must_finish: writes, create_if_empty: true, ..compiler.options(1) };
    let vertex = compiler.vertex("Then", options, move || Then { leaves: leaves.clone() });
    compiler.gather(&first, vertex, 0);
    let first = Stream { vertex, output: 0, parallel: false, ..first };
    let leaf = Stream { output: 1, layout: Layout::default(), ordered: false, fans_out: false, ..first };
    let outside = compiler.after.replace(leaf);
    compiler.of_side = of_second;
    let second = compiler.plan(second);
    let after = std::mem::replace(&mut compiler.after, outside);
    counted.store(after.map_or(0, |after| after.output - 1), Ordering::Relaxed);
    Ok((first, second?))
}

/// The demand for the rows of each branch. If it is counted by outer row, rows of both branches share the count: neither may count its rows as sure
/// to be wanted, or the second could take the place of the first.
fn of_branch(demand: NodeDemand, distinct: bool) -> NodeDemand {
    match demand.by_row {
        Some(_) => demand.thinned(),
        None if distinct => NodeDemand::of_all(demand.wanted.of_distinct()),
        None => demand,
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::Union,
    required: &VarSet,
) -> Result<Stream, ExecuteError> {
    let algorithm = compiler.algorithm();
    let of_side = of_branch(compiler.demand, node.distinct);
    compiler.of_side = of_side;
    let mut left = compiler.plan(&node.left)?;
    let right = match algorithm {
        Algorithm::SecondAfter { writes } => {
            let (first, right) = second_after(compiler, left, (&node.right, writes, of_side))?;
            left = first;
            right
        }
        _ => {
            compiler.of_side = of_side;
            compiler.plan(&node.right)?
        }
    };
    let mut layout = Layout::default();
    let (mut from_left, mut from_right) = (Vec::new(), Vec::new());
    let row = compiler.row();
    for (to, a, b) in row.map(|row| (row, row, row)).iter().chain(carried(node, required)) {
        layout.push(*to);
        from_left.push(Compiler::position(&left.layout, *a)?);
        from_right.push(Compiler::position(&right.layout, *b)?);
    }
    let union = Union { picks: [from_left.into(), from_right.into()] };
    let environment = compiler.environment.clone();
    let port_order = usize::from(algorithm == Algorithm::SecondWaits);
    let options = VertexOptions { port_order, ..compiler.options(2) };
    let vertex = compiler
        .vertex("Union", options, move || Stepping::new(union.clone(), ExecutionContext::new(&environment)));
    let mut parallel = compiler.connect(&Stream { fans_out: false, ..left }, vertex, 0);
    parallel |= compiler.connect(&Stream { fans_out: false, ..right }, vertex, 1);
    let stream = Stream { vertex, output: 0, layout, parallel, ordered: false, fans_out: false };
    Ok(if node.distinct { distinct::attach(compiler, stream) } else { stream })
}
