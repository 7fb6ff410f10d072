//! SeekIds: the vertices with these ids (an integer or a list of integers); ids of no vertex yield no row, an id given twice one row.

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::drawing::{Draw, Drawing};
use crate::stream::{Feed, Stream};
use crate::turn::{ExecutionContext, Progress, Try, Turn};
use expression::Compiled;
use model::batch::Carried;
use model::{Batch, Column, Nulls, Value, VertexId};
use plan::VarSet;
use std::sync::Arc;

struct SeekIds {
    ids: Arc<Compiled>,
    keep: bool,
    values: Option<Carried>,
    vertices: Vec<VertexId>,
}

impl SeekIds {
    fn look_up(&self, value: Value, execution: &mut ExecutionContext) -> Try<Vec<VertexId>> {
        let mut ids: Vec<i64> = match value {
            Value::List(list) => list.iter().filter_map(Value::as_int).collect(),
            single => single.as_int().into_iter().collect(),
        };
        ids.sort_unstable_by_key(|id| std::cmp::Reverse(*id));
        ids.dedup();
        let mut found = Vec::with_capacity(ids.len());
        for id in ids.into_iter().filter(|id| (0..=u32::MAX as i64).contains(id)) {
            let vertex = VertexId(id as u64);
            execution.environment.record(|reads| reads.existence(vertex));
            if execution.snapshot().exists(vertex)? {
                found.push(vertex);
            }
        }
        Ok(found)
    }
}

impl Draw for SeekIds {
    /// Vertices that are still to be handed on, last first.
    type Cursor = Vec<VertexId>;

    fn begin(&mut self, batch: &Batch, execution: &mut ExecutionContext) -> Try<()> {
        self.values = Some(self.ids.evaluate_carried(batch, &execution.scope())?);
        Ok(())
    }
    fn open(&mut self, _: &Batch, row: usize, turn: &mut Turn<'_, '_>) -> Try<Vec<VertexId>> {
        self.look_up(self.values.as_ref().expect("a batch was begun").get(row), turn.execution)
    }
    fn draw(
        &mut self,
        pending: &mut Vec<VertexId>,
        room: usize,
        _: &mut Turn<'_, '_>,
    ) -> Try<(usize, Progress)> {
        let take = pending.len().min(room);
        self.vertices.extend(pending.drain(pending.len() - take..).rev());
        Ok((take, if pending.is_empty() { Progress::Done } else { Progress::More }))
    }
    fn end_run(&mut self) -> bool {
        (self.values, self.vertices) = (None, Vec::new());
        true
    }
    fn columns(&mut self) -> Vec<Column> {
        let vertices = std::mem::take(&mut self.vertices);
        if self.keep { vec![Column::Vertex(vertices, Nulls::none())] } else { Vec::new() }
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::SeekIds,
    required: &VarSet,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let ids = Arc::new(compiler.expression(&node.ids, &feed.layout())?);
    let keep = required.contains(node.vertex);
    let make = move || Drawing::new(SeekIds { ids: ids.clone(), keep, values: None, vertices: Vec::new() });
    let new: Vec<_> = keep.then_some(node.vertex).into_iter().collect();
    Ok(compiler.attach_fan_out("SeekIds", &feed, required, &new, make))
}
