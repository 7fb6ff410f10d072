//! Merge of a pattern that is matched by a pipeline: within one operator, so that a small statement with it is a pipeline, too.
//!
//! The same as in a scope: all rows come first, many are matched at once, then written row by row; the next ones are matched against a view that has
//! those writes. Created entities are buffered until the last row, and made visible before any row is emitted.

use super::{MergeClose, merging};
use crate::ExecuteError;
use crate::compile::Compiler;
use crate::demand::NodeDemand;
use crate::operator::inline::SubQuery;
use crate::rows::Rows;
use crate::scope_rows::ScopeRows;
use crate::stream::Stream;
use crate::turn::{ExecutionContext, Intake, TakingIn, Try, charged};
use dataflow::{Context, Flow, Outcome, Pipeline, VertexOptions};
use model::Batch;
use plan::VarSet;
use std::collections::VecDeque;
use std::sync::Arc;

struct MergeInline {
    close: MergeClose,
    inner: Arc<SubQuery>,
    pipeline: Pipeline<Rows>,
    /// With the bytes charged for each.
    waiting: VecDeque<(Batch, usize)>,
    /// Rows of the first waiting batch that are done.
    place: usize,
    /// The rows at hand are being matched.
    is_matching: bool,
    /// Likewise.
    output: VecDeque<(Batch, usize)>,
    /// Something was written that the view does not have.
    wrote: bool,
    /// Nothing stands above that could look.
    is_topmost: bool,
}

impl MergeInline {
    /// The next rows, against a view of all that was written.
    fn begin(&mut self) -> Try<()> {
        let (batch, _) = self.waiting.front().expect("the caller looked");
        let rows = crate::columns::piece(batch, self.place, self.close.plan.rows_max);
        if std::mem::replace(&mut self.wrote, false) {
            self.close.execution.refresh()?;
        }
        self.close.matches = vec![Vec::new(); rows.len()];
        self.close.made.clear();
        (self.close.dirty, self.close.next) = Default::default();
        self.pipeline.feed(self.inner.argument(&rows, 0));
        (self.is_matching, self.close.outer) = (true, Some(rows));
        Ok(())
    }
    fn match_on(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        let (rows, flow) = self.pipeline.work(context)?;
        if let Some(Rows(rows)) = rows {
            self.close.matched(&rows);
        }
        if flow == Flow::Ready {
            // Operators keep the view that they first met: the next rows are for others.
            context.release(self.pipeline.reset());
            self.is_matching = false;
        }
        Ok(flow)
    }
    /// Ends the present rows with their matches; those that must be matched anew come next.
    fn end(&mut self, context: &mut Context<'_, Rows>) -> Try<()> {
        self.wrote = true;
        self.place += self.close.next.max(1);
        if let Some((_, charged)) = self.waiting.pop_front_if(|(batch, _)| self.place >= batch.len()) {
            context.release(charged);
            self.place = 0;
        }
        let rows = std::mem::take(&mut self.close.output);
        let batch = Batch::from_rows(self.close.plan.carry.len(), &rows);
        let bytes = batch.bytes();
        context.charge(bytes)?;
        self.output.push_back((batch, bytes));
        Ok(())
    }
    fn show(&mut self) -> Try<()> {
        let commits_next =
            || Ok::<_, ExecuteError>(self.close.execution.environment.transaction()?.commits_next());
        // A commit that comes next applies and checks the changes once more.
        if std::mem::replace(&mut self.wrote, false) && !(self.is_topmost && commits_next()?) {
            self.close.execution.refresh()?;
        }
        Ok(())
    }
}

impl Intake for MergeInline {
    fn take(&mut self, batch: Batch, context: &mut Context<'_, Rows>) -> Try<()> {
        if !batch.is_empty() {
            self.waiting.push_back(charged(batch, context)?);
        }
        Ok(())
    }
    fn run(&mut self, complete: bool, context: &mut Context<'_, Rows>) -> Outcome {
        if !complete {
            return Ok(Flow::Ready);
        }
        loop {
            if self.is_matching {
                if self.match_on(context)? == Flow::Waiting {
                    return Ok(Flow::Waiting);
                }
            } else if self.close.outer.is_some() {
                if self.close.rows(context)? {
                    self.end(context)?;
                }
            } else if !self.waiting.is_empty() {
                self.begin()?;
            } else {
                self.show()?;
                let Some((rows, charged)) = self.output.pop_front() else { return Ok(Flow::Ready) };
                context.release(charged);
                if !rows.is_empty() {
                    context.send(Rows(rows));
                }
            }
            if context.should_yield() {
                return Ok(Flow::Again);
            }
        }
    }
}

pub(super) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::Merge,
    required: &VarSet,
    input: &Stream,
) -> Result<Stream, ExecuteError> {
    let is_topmost = compiler.current == 0;
    let inner = (&node.inner, NodeDemand::default());
    let inner = Arc::new(SubQuery::compile(compiler, inner, &node.imports, input)?);
    let rows = Arc::new(ScopeRows::new(compiler.executors));
    let (plan, layout) = merging(compiler, node, required, &input.layout, (&inner.layout, inner.row), rows)?;
    let (plan, environment) = (Arc::new(plan), compiler.environment.clone());
    let options = VertexOptions { must_finish: true, create_if_empty: true, ..compiler.options(1) };
    let make = move || MergeInline {
        close: MergeClose::new(plan.clone(), ExecutionContext::new(&environment)),
        pipeline: inner.pipeline(),
        inner: inner.clone(),
        waiting: VecDeque::new(),
        place: 0,
        is_matching: false,
        output: VecDeque::new(),
        wrote: false,
        is_topmost,
    };
    let vertex = compiler.vertex("Merge", options, move || TakingIn::new(make()));
    compiler.gather(input, vertex, 0);
    Ok(Stream { vertex, layout, parallel: false, fans_out: false, ..input.clone() })
}
