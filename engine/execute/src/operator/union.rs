//! Union: the rows of both inputs under common columns; with `distinct`, a [`Distinct`](super::distinct) follows.

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::expression::Layout;
use crate::liveness::VarSet;
use crate::operator::distinct;
use crate::stream::Stream;
use crate::turn::{Here, Step, Stepping, Try};
use model::Batch;
use std::sync::Arc;

#[derive(Clone)]
struct Union {
    /// By port, the columns of the output.
    picks: [Arc<[usize]>; 2],
}

impl Step for Union {
    fn step(&mut self, port: usize, batch: Batch, _: &mut Here) -> Try<Batch> {
        Ok(batch.project(&self.picks[port]))
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::Union,
    required: &VarSet,
) -> Result<Stream, ExecuteError> {
    // Distinct compares every column; without it only those that are read above are carried.
    let wanted: Vec<_> =
        node.columns.iter().filter(|(to, _, _)| node.distinct || required.contains(*to)).collect();
    let left_needs = compiler.with_row(wanted.iter().map(|(_, left, _)| *left).collect());
    let right_needs = compiler.with_row(wanted.iter().map(|(_, _, right)| *right).collect());
    let left = compiler.plan(&node.left, &left_needs)?;
    let right = compiler.plan(&node.right, &right_needs)?;
    let mut layout = Layout::default();
    let (mut from_left, mut from_right) = (Vec::new(), Vec::new());
    let row = compiler.row();
    for (to, a, b) in row.map(|row| (row, row, row)).iter().chain(wanted) {
        layout.push(*to);
        from_left.push(Compiler::position(&left.layout, *a)?);
        from_right.push(Compiler::position(&right.layout, *b)?);
    }
    let union = Union { picks: [from_left.into(), from_right.into()] };
    let environment = compiler.environment.clone();
    let vertex = compiler.vertex("Union", compiler.options(2), move || Stepping {
        step: union.clone(),
        here: Here::new(&environment),
    });
    let mut parallel = compiler.connect(&Stream { fans_out: false, ..left }, vertex, 0);
    parallel |= compiler.connect(&Stream { fans_out: false, ..right }, vertex, 1);
    let stream = Stream { vertex, output: 0, layout, parallel, ordered: false, fans_out: false };
    Ok(if node.distinct { distinct::attach(compiler, stream) } else { stream })
}
