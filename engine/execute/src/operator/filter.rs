//! Filter: rows for which the predicate is true. Writes one row map a batch, whatever the number of columns.

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::stream::{Feed, Stream};
use crate::turn::{ExecutionContext, Step, Try};
use expression::Compiled;
use model::Batch;
use plan::VarSet;
use std::sync::Arc;

#[derive(Clone)]
struct Filter {
    predicate: Arc<Compiled>,
    looks_at: Arc<[usize]>,
    carry: Arc<[usize]>,
    selected: Vec<u32>,
}

impl Step for Filter {
    fn reads(&self) -> &[usize] {
        &self.looks_at
    }
    fn step(&mut self, _: usize, batch: Batch, execution: &mut ExecutionContext) -> Try<Batch> {
        self.predicate.select(&batch, &execution.scope(), &mut self.selected)?;
        let kept = batch.project(&self.carry);
        if self.selected.len() == batch.len() {
            return Ok(kept);
        }
        Ok(kept.select(std::mem::take(&mut self.selected)))
    }
    fn is_fresh(&self) -> bool {
        true
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::Filter,
    required: &VarSet,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let layout = feed.layout();
    let (carry, kept) = compiler.carry(&layout, required);
    let predicate = Arc::new(compiler.expression(&node.predicate, &layout)?);
    let looks_at = predicate.looks_at().into();
    let filter = Filter { predicate, looks_at, carry, selected: Vec::new() };
    Ok(compiler.attach_step("Filter", &feed, kept, move || filter.clone()))
}
