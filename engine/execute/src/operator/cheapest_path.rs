//! CheapestPath: the rows of `graph.cheapestPath`, a search a row, drawn as they are found.

use super::graph_procedure::recharge;
use crate::ExecuteError;
use crate::adjacency::Walk;
use crate::compile::Compiler;
use crate::drawing::{Draw, Drawing};
use crate::stream::{Feed, Stream};
use crate::turn::{ExecutionContext, Progress, Try, Turn};
use expression::Compiled;
use model::{Batch, Column};
use plan::VarSet;
use procedures::cheapest_path::{self as search, Ends};
use std::sync::Arc;

struct CheapestPath {
    arguments: Arc<[Compiled]>,
    /// Of node, path and cost, those that are read, in the order of the columns.
    picks: Arc<[usize]>,
    ends: Ends,
    charged: usize,
}

impl Draw for CheapestPath {
    type Cursor = search::CheapestPath<Walk>;

    fn begin(&mut self, _: &Batch, execution: &mut ExecutionContext) -> Try<()> {
        execution.environment.record(|reads| {
            reads.catalogue();
            reads.scan(None);
        });
        Ok(())
    }
    fn open(&mut self, batch: &Batch, row: usize, turn: &mut Turn<'_, '_>) -> Try<Self::Cursor> {
        let arguments = turn.execution.values(&self.arguments, batch, row)?;
        let snapshot = turn.execution.snapshot().clone();
        search::CheapestPath::new(arguments.first(), &snapshot, |types, direction| {
            Walk::new(&snapshot, types, direction, None, &turn.execution.environment)
        })
    }
    fn draw(
        &mut self,
        cursor: &mut Self::Cursor,
        room: usize,
        turn: &mut Turn<'_, '_>,
    ) -> Try<(usize, Progress)> {
        let (taken, is_done) = cursor.step(room, &mut self.ends)?;
        let search_bytes = if is_done { 0 } else { cursor.bytes() };
        recharge(&mut self.charged, search_bytes + self.ends.bytes(), turn.context)?;
        Ok((taken, if is_done { Progress::Done } else { Progress::More }))
    }
    fn columns(&mut self) -> Vec<Column> {
        let mut columns = self.ends.take().map(Some);
        self.picks.iter().filter_map(|at| columns[*at].take()).collect()
    }
    fn charged(&self) -> usize {
        self.charged
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::CallProcedure,
    required: &VarSet,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let layout = feed.layout();
    let arguments = node.arguments.iter().map(|argument| compiler.expression(argument, &layout));
    let arguments: Arc<[Compiled]> = arguments.collect::<Result<Vec<_>, _>>()?.into();
    let (mut picks, mut columns) = (Vec::new(), Vec::new());
    for (field, variable) in &node.yields {
        let at = match &**field {
            "node" => 0,
            "path" => 1,
            _ => 2,
        };
        if required.contains(*variable) && !picks.contains(&at) {
            picks.push(at);
            columns.push(*variable);
        }
    }
    let picks: Arc<[usize]> = picks.into();
    let make = move || {
        let (arguments, picks) = (arguments.clone(), picks.clone());
        let ends = Ends::new(picks.contains(&1));
        Drawing::new(CheapestPath { arguments, picks, ends, charged: 0 })
    };
    Ok(compiler.attach_fan_out("CheapestPath", &feed, required, &columns, make))
}
