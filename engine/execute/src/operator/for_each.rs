//! ForEach: updates for each element of a list; adds no column.
//!
//! ```text
//!         ┌─ rows ─────────────────────────────────────────► Hold
//!   input ┤                                                   │ until the body has ended
//!         └─ Unwind ─► ApplyOpen ─► body ─► ApplyClose ───────┘
//! ```
//!
//! A body of one clause takes all elements in one instance, as a clause sees its own earlier writes; a longer body is run element by element, so that
//! each sees the writes of the whole body for those before.

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::demand::NodeDemand;
use crate::operator::{apply, barrier, unwind};
use crate::rows::Rows;
use crate::stream::{Feed, Stream};
use dataflow::{Context, Flow, Operator, Outcome};
use plan::VarSet;
use plan::algebra::ApplyKind;
use plan::physical::Algorithm;

/// Hands every batch on twice.
struct Tee;

impl Operator<Rows> for Tee {
    fn receive(&mut self, _: usize, Rows(batch): Rows, context: &mut Context<'_, Rows>) -> Outcome {
        context.send_to(0, Rows(batch.clone()));
        context.send_to(1, Rows(batch));
        Ok(Flow::Ready)
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::ForEach,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    compiler.transaction()?;
    let input = compiler.rows(feed)?;
    let tee = compiler.vertex("ForEach", compiler.options(1), || Tee);
    compiler.gather(&input, tee, 0);
    let rows = Stream { vertex: tee, output: 0, parallel: false, fans_out: false, ..input };
    let elements = Stream { output: 1, ..rows.clone() };

    let imports: Vec<_> =
        node.imports.iter().copied().filter(|variable| *variable != node.variable).collect();
    let needed: VarSet = imports.iter().copied().chain([node.variable]).collect();
    let elements = unwind::attach(compiler, &Feed::Rows(elements), &node.list, node.variable, &needed)?;
    let imports: Vec<_> = imports.into_iter().chain([node.variable]).collect();
    let instance_rows = if compiler.algorithm() == Algorithm::AllElements { usize::MAX } else { 1 };
    let scope = plan::scope::Scope::default();
    let (inner, instance_rows) = (NodeDemand::default(), Some(instance_rows));
    let how = apply::How { scope: &scope, rank: None, inner, writes: true, instance_rows };
    let opened = apply::open(compiler, elements, &node.body, &imports, &how)?;
    let done = apply::close(compiler, &ApplyKind::Unit, opened, &VarSet::new(), &[])?;
    Ok(barrier::attach_both(compiler, rows, Some(done)))
}
