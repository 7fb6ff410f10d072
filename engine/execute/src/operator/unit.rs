//! Unit: one row without columns, where every query begins.
//!
//! Inside a sub-query it is the enclosing row itself, with nothing imported; in the second branch of a union that writes, a row that
//! comes once the first branch is done.

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::rows::Rows;
use crate::stream::Stream;
use dataflow::{Context, Flow, Operator, Outcome, VertexOptions};
use expression::Layout;
use model::Batch;

struct Unit;

impl Operator<Rows> for Unit {
    fn receive(&mut self, _: usize, _: Rows, _: &mut Context<'_, Rows>) -> Outcome {
        Ok(Flow::Ready)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        context.send(Rows(Batch::unit()));
        Ok(Flow::Ready)
    }
}

pub(crate) fn compile(compiler: &mut Compiler) -> Result<Stream, ExecuteError> {
    if compiler.inside.is_some() {
        return super::argument::compile(compiler, &[]);
    }
    if let Some(after) = &mut compiler.after {
        let stream = after.clone();
        after.output += 1;
        return Ok(stream);
    }
    let vertex = compiler.vertex("Unit", VertexOptions::source(), || Unit);
    Ok(Stream {
        vertex,
        output: 0,
        layout: Layout::default(),
        parallel: false,
        ordered: false,
        fans_out: false,
    })
}
