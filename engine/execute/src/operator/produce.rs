//! Produce: the last operator. It puts the columns into the order of the answer and makes them flat, so that a returned batch holds no more than its
//! own rows. A statement without columns yields no rows.

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::stream::{Feed, Stream};
use crate::turn::{ExecutionContext, Step, Try};
use dataflow::VertexNo;
use model::Batch;
use plan::Var;
use plan::expr::Name;
use std::sync::Arc;

#[derive(Clone)]
struct Produce {
    picks: Arc<[usize]>,
    silent: bool,
}

impl Step for Produce {
    fn step(&mut self, _: usize, batch: Batch, _: &mut ExecutionContext) -> Try<Batch> {
        if self.silent {
            return Ok(Batch::default());
        }
        let is_in_order =
            self.picks.len() == batch.width() && self.picks.iter().copied().eq(0..batch.width());
        Ok(match (is_in_order, batch.is_flat()) {
            (true, true) => batch,
            (true, false) => batch.flatten(),
            _ => batch.project(&self.picks).flatten(),
        })
    }
    fn is_fresh(&self) -> bool {
        true
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    input: Stream,
    columns: &[(Name, Var)],
) -> Result<VertexNo, ExecuteError> {
    let picks: Result<Vec<usize>, _> =
        columns.iter().map(|(_, variable)| Compiler::position(&input.layout, *variable)).collect();
    let produce = Produce { picks: picks?.into(), silent: columns.is_empty() };
    let layout = input.layout.clone();
    let feed = Feed::Rows(Stream { fans_out: false, ..input });
    Ok(compiler.attach_step("Produce", &feed, layout, move || produce.clone()).vertex)
}
