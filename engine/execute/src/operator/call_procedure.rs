//! CallProcedure: the rows of a procedure, for each row.

use super::graph_procedure::ProcedureKind;
use crate::ExecuteError;
use crate::compile::Compiler;
use crate::drawing::{Draw, Drawing};
use crate::stream::{Feed, Stream};
use crate::turn::{ExecutionContext, Progress, Try, Turn};
use expression::Compiled;
use model::{Batch, Column, ColumnBuilder, Value};
use plan::VarSet;
use procedures::{Question, Run, by_name, cheapest_path};
use std::sync::Arc;

struct CallProcedure {
    run: Run,
    arguments: Arc<Vec<Compiled>>,
    fields: Arc<[usize]>,
    columns: Vec<ColumnBuilder>,
}

impl Draw for CallProcedure {
    type Cursor = std::vec::IntoIter<Vec<Value>>;

    fn begin(&mut self, _: &Batch, execution: &mut ExecutionContext) -> Try<()> {
        execution.environment.record(|reads| reads.catalogue());
        Ok(())
    }
    fn open(&mut self, batch: &Batch, row: usize, turn: &mut Turn<'_, '_>) -> Try<Self::Cursor> {
        let arguments = turn.execution.values(&self.arguments, batch, row)?;
        Ok((self.run)(turn.execution.snapshot(), &arguments)?.into_iter())
    }
    fn draw(
        &mut self,
        pending: &mut Self::Cursor,
        room: usize,
        _: &mut Turn<'_, '_>,
    ) -> Try<(usize, Progress)> {
        let before = pending.len();
        for result in pending.take(room) {
            let columns = self.columns.iter_mut().zip(self.fields.iter());
            columns.for_each(|(column, field)| column.push(result.get(*field).cloned().unwrap_or_default()));
        }
        let more = pending.len() > 0;
        Ok((before - pending.len(), if more { Progress::More } else { Progress::Done }))
    }
    fn columns(&mut self) -> Vec<Column> {
        self.columns.iter_mut().map(|column| std::mem::take(column).finish()).collect()
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::CallProcedure,
    required: &VarSet,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    if plan::procedures::LOADS.contains(&&*node.name) {
        return super::load_csv::compile(compiler, node, required, feed);
    }
    if let Some(question) = Question::of(&node.name) {
        return super::graph_procedure::compile(
            compiler,
            node,
            ProcedureKind::Graph(question),
            required,
            feed,
        );
    }
    if let Some(program) = plan::procedures::program_name(&node.name) {
        let program = ProcedureKind::Program { name: program.into(), is_cached: node.is_cached };
        return super::graph_procedure::compile(compiler, node, program, required, feed);
    }
    if &*node.name == cheapest_path::NAME {
        return super::cheapest_path::compile(compiler, node, required, feed);
    }
    let unknown = || ExecuteError::NoProcedure(node.name.to_string());
    let (procedure, run) = by_name(&node.name).ok_or_else(unknown)?;
    if node.arguments.len() != procedure.planned_arguments() {
        let message = format!(
            "{} takes {} arguments, not {}",
            procedure.signature(),
            procedure.arguments.len(),
            node.arguments.len()
        );
        return Err(ExecuteError::ProcedureCall(message));
    }
    let layout = feed.layout();
    let arguments = node.arguments.iter().map(|argument| compiler.expression(argument, &layout));
    let arguments = Arc::new(arguments.collect::<Result<Vec<_>, _>>()?);
    let (mut fields, mut columns) = (Vec::new(), Vec::new());
    for (field, variable) in &node.yields {
        let unknown =
            || ExecuteError::ProcedureCall(format!("{} yields no `{field}`", procedure.signature()));
        let at = procedure.fields.iter().position(|(name, _)| **name == **field).ok_or_else(unknown)?;
        if required.contains(*variable) {
            fields.push(at);
            columns.push(*variable);
        }
    }
    let fields: Arc<[usize]> = fields.into();
    let make = move || {
        Drawing::new(CallProcedure {
            run,
            arguments: arguments.clone(),
            fields: fields.clone(),
            columns: fields.iter().map(|_| ColumnBuilder::new()).collect(),
        })
    };
    let stream = compiler.attach_fan_out("CallProcedure", &feed, required, &columns, make);
    Ok(Stream { fans_out: false, ..stream })
}
