//! CountMatches: for each row, in how many ways a pattern goes on from its vertex, without enumerating them.
//!
//! Idea: see `plan::counting`. A tree that hangs on a vertex is a number of that vertex, computed once (`trees`); the core is walked as a worst-case
//! optimal join that adds up products (`core`). Invariant: rows without matches are dropped; numbers saturate on the way and a row whose number does
//! not fit an integer is an error. Cost: for trees, one look at each edge in reach; for the core, at most the shortest of the intersected lists, for
//! each binding before it.

mod core;
pub(super) mod lists;
mod table;
mod trees;

use self::core::Core;
use self::trees::KnownWays;
use crate::ExecuteError;
use crate::compile::Compiler;
use crate::stream::{Feed, Stream};
use crate::turn::{ExecutionContext, FanOut, Progress, Try, Turn};
use model::{Batch, Column, Nulls};
use plan::VarSet;
use plan::algebra;
use std::sync::Arc;

/// Neighbours looked at in one slice of work: some hundred microseconds at most.
const LOOKS_PER_SLICE_MAX: i64 = 16_384;

struct CountMatches {
    node: Arc<algebra::CountMatches>,
    from: usize,
    core: Option<Core>,
    /// Tree counts shared with other counts of the same pattern.
    known: Option<Arc<KnownWays>>,
    row: usize,
    counts: Vec<i64>,
    charged: usize,
}

impl FanOut for CountMatches {
    fn begin(&mut self, _: &Batch, execution: &mut ExecutionContext) -> Try<()> {
        self.row = 0;
        if self.core.is_none() {
            let snapshot = execution.snapshot().clone();
            self.core = Some(Core::new(
                &self.node,
                &snapshot,
                &execution.environment,
                self.known.clone().unwrap_or_default(),
            ));
        }
        Ok(())
    }
    fn fill(
        &mut self,
        batch: &Batch,
        rows: &mut Vec<u32>,
        rows_max: usize,
        turn: &mut Turn<'_, '_>,
    ) -> Try<Progress> {
        let core = self.core.as_mut().expect("a batch was begun");
        let mut budget = LOOKS_PER_SLICE_MAX;
        let mut progress = Progress::Done;
        while self.row < batch.len() {
            if rows.len() >= rows_max || budget <= 0 {
                progress = Progress::More;
                break;
            }
            let start = batch.column(self.from).vertex(self.row);
            if let Some(start) = start.filter(|_| turn.wanted(batch, self.row) > 0) {
                let Some(ways) = core.ways(start.dense(), &mut budget)? else {
                    progress = Progress::More;
                    break;
                };
                if ways > 0 {
                    let number = i64::try_from(ways).ok();
                    let number = number.and_then(|number| number.checked_mul(self.node.times));
                    rows.push(self.row as u32);
                    self.counts.push(number.ok_or_else(too_many)?);
                }
                turn.made(batch, self.row, usize::from(ways > 0));
            }
            budget -= 1;
            self.row += 1;
        }
        let bytes = core.bytes();
        turn.context.charge(bytes.saturating_sub(self.charged))?;
        self.charged = self.charged.max(bytes);
        Ok(progress)
    }
    fn charged(&self) -> usize {
        self.charged
    }
    fn columns(&mut self) -> Vec<Column> {
        vec![Column::Int(std::mem::take(&mut self.counts), Nulls::none())]
    }
}

fn too_many() -> ExecuteError {
    ExecuteError::from(expression::EvalError::new(
        expression::error::ErrorClass::Arithmetic,
        "the number of matches does not fit an integer",
    ))
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &algebra::CountMatches,
    required: &VarSet,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let mut feed = feed;
    // A vertex may be a lot of work: rows are shared out.
    if let Feed::Rows(stream) = &mut feed {
        stream.fans_out = true;
    }
    let from = Compiler::position(&feed.layout(), node.start)?;
    let node = Arc::new(node.clone());
    // A pipeline that is kept for another run must not know what was true in this one.
    let known = compiler.is_for_this_run_only().then(Arc::<KnownWays>::default);
    let (count, make) = (node.count, move || CountMatches {
        node: node.clone(),
        from,
        core: None,
        known: known.clone(),
        row: 0,
        counts: Vec::new(),
        charged: 0,
    });
    let stream = compiler.attach_fan_out("CountMatches", &feed, required, &[count], make);
    Ok(Stream { fans_out: false, ..stream })
}
