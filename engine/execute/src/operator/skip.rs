//! Skip: drops the first rows; inside a sub-query, the first rows of each outer row.

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::operator::limit::{Counted, row_count};
use crate::stream::{Feed, Stream};
use crate::turn::{ExecutionContext, Step, Stepping, Try};
use model::Batch;

struct Skip {
    count: u64,
    seen: Counted,
}

impl Step for Skip {
    fn step(&mut self, _: usize, batch: Batch, _: &mut ExecutionContext) -> Try<Batch> {
        let count = self.count;
        Ok(self.seen.keep(batch, |number| number >= count))
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::Skip,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let count = row_count(compiler, &node.count, "SKIP")?;
    let input = compiler.rows(feed)?;
    let row = compiler.row().map(|row| Compiler::position(&input.layout, row)).transpose()?;
    let environment = compiler.environment.clone();
    let vertex = compiler.vertex("Skip", compiler.options(1), move || {
        Stepping::new(Skip { count, seen: Counted::new(row) }, ExecutionContext::new(&environment))
    });
    compiler.gather(&input, vertex, 0);
    Ok(Stream { vertex, output: 0, parallel: false, fans_out: false, ..input })
}
