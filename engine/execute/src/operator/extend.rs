//! Extend: adds computed columns; a later item may read an earlier one.

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::fetch::looked_at;
use crate::stream::{Feed, Stream};
use crate::turn::{ExecutionContext, Step, Try};
use expression::Compiled;
use model::Batch;
use plan::VarSet;
use std::sync::Arc;

#[derive(Clone)]
struct Extend {
    items: Arc<Vec<Compiled>>,
    looks_at: Arc<[usize]>,
    carry: Arc<[usize]>,
}

impl Step for Extend {
    fn reads(&self) -> &[usize] {
        &self.looks_at
    }
    fn step(&mut self, _: usize, mut batch: Batch, execution: &mut ExecutionContext) -> Try<Batch> {
        for item in self.items.iter() {
            let column = item.evaluate_carried(&batch, &execution.scope())?;
            batch.push_carried(column);
        }
        Ok(batch.project(&self.carry))
    }
    fn is_fresh(&self) -> bool {
        true
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::Extend,
    required: &VarSet,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let mut layout = feed.layout();
    let input_columns = layout.len();
    let mut items = Vec::new();
    for (variable, expression) in &node.items {
        items.push(compiler.expression(expression, &layout)?);
        layout.push(*variable);
    }
    let (carry, kept) = compiler.carry(&layout, required);
    // Columns of items before are none of the input.
    let mut looks_at = looked_at(&items);
    looks_at.retain(|column| *column < input_columns);
    let extend = Extend { items: Arc::new(items), looks_at: looks_at.into(), carry };
    Ok(compiler.attach_step("Extend", &feed, kept, move || extend.clone()))
}
