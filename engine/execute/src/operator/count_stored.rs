//! CountStored: how many vertices or edges there are, as every commit keeps count of them. No chunk is read.

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::drawing::{Draw, Drawing};
use crate::labels;
use crate::stream::{Feed, Stream};
use crate::turn::{ExecutionContext, Progress, Try, Turn};
use model::{Batch, Column, Nulls};
use plan::VarSet;
use plan::algebra::{CountStored, Counted};
use std::sync::Arc;

struct Counting {
    counted: Arc<Counted>,
    keep: bool,
    counts: Vec<i64>,
}

impl Counting {
    fn count(&self, execution: &mut ExecutionContext) -> u64 {
        let snapshot = execution.snapshot().clone();
        let (catalog, statistics) = (snapshot.catalog(), snapshot.statistics());
        match &*self.counted {
            Counted::Vertices(carried) => {
                let filter = labels::filter(carried, catalog);
                execution
                    .environment
                    .record(|reads| labels::scanned(&filter).into_iter().for_each(|label| reads.scan(label)));
                statistics.vertices_matching(&filter)
            }
            Counted::Edges { types, labels: carried, direction } => {
                let filter = labels::filter(carried, catalog);
                execution.environment.record(transact::ReadSet::everything);
                let wanted = match &types[..] {
                    [] => statistics.edge_types(),
                    types => types.iter().filter_map(|name| catalog.edge_type(name)).collect(),
                };
                wanted.into_iter().map(|one| statistics.edges_matching(one, *direction, &filter)).sum()
            }
        }
    }
}

impl Draw for Counting {
    type Cursor = ();

    fn begin(&mut self, _: &Batch, _: &mut ExecutionContext) -> Try<()> {
        Ok(())
    }
    fn open(&mut self, _: &Batch, _: usize, _: &mut Turn<'_, '_>) -> Try<()> {
        Ok(())
    }
    fn draw(&mut self, (): &mut (), _: usize, turn: &mut Turn<'_, '_>) -> Try<(usize, Progress)> {
        let count = self.count(turn.execution);
        self.counts.push(i64::try_from(count).unwrap_or(i64::MAX));
        Ok((1, Progress::Done))
    }
    fn columns(&mut self) -> Vec<Column> {
        let counts = std::mem::take(&mut self.counts);
        if self.keep { vec![Column::Int(counts, Nulls::none())] } else { Vec::new() }
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &CountStored,
    required: &VarSet,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let (counted, keep) = (Arc::new(node.counted.clone()), required.contains(node.count));
    let make = move || Drawing::new(Counting { counted: counted.clone(), keep, counts: Vec::new() });
    let new: Vec<_> = keep.then_some(node.count).into_iter().collect();
    Ok(compiler.attach_fan_out("CountStored", &feed, required, &new, make))
}
