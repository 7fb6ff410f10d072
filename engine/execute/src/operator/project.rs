//! Project: exactly these columns (WITH and RETURN). A column that is only renamed is shared, not copied.

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::fetch::looked_at;
use crate::stream::{Feed, Stream};
use crate::turn::{ExecutionContext, Step, Try};
use dataflow::watch::LoopBytes;
use expression::{Compiled, Layout};
use model::Batch;
use model::batch::Carried;
use plan::VarSet;
use std::sync::Arc;

#[derive(Clone)]
struct Project {
    items: Arc<Vec<Compiled>>,
    looks_at: Arc<[usize]>,
}

impl Step for Project {
    fn reads(&self) -> &[usize] {
        &self.looks_at
    }
    fn step(&mut self, _: usize, batch: Batch, execution: &mut ExecutionContext) -> Try<Batch> {
        let mut columns: Vec<Carried> = Vec::with_capacity(self.items.len());
        let mut hold = LoopBytes::default();
        for item in self.items.iter() {
            columns.push(item.evaluate_kept(&batch, &execution.scope(), &mut hold)?);
        }
        Ok(Batch::of_carried(columns, batch.len()))
    }
    fn is_fresh(&self) -> bool {
        true
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::Project,
    required: &VarSet,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let wanted: Vec<_> = node.items.iter().filter(|(variable, _)| required.contains(*variable)).collect();
    let layout = feed.layout();
    let mut kept = Layout::default();
    let mut items = Vec::new();
    if let Some(row) = compiler.row() {
        items.push(Compiled::column(Compiler::position(&layout, row)?));
        kept.push(row);
    }
    for (variable, expression) in &wanted {
        items.push(compiler.expression(expression, &layout)?);
        kept.push(*variable);
    }
    let looks_at = looked_at(&items).into();
    let project = Project { items: Arc::new(items), looks_at };
    Ok(compiler.attach_step("Project", &feed, kept, move || project.clone()))
}
