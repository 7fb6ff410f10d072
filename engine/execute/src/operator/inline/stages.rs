//! A line of operators within one operator: batches go in at the front, rows come out behind the last. In a test, rows that have their answer
//! are skipped by every stage, and once all have, what is under way is dropped: the same as ending a scope instance.

use crate::ExecuteError;
use crate::compile::{Compiler, Inside, StageMaker};
use crate::demand::{NodeDemand, RowDemand};
use crate::liveness::VarSet;
use crate::operator::apply::ScopeRows;
use crate::stream::Stream;
use crate::turn::{Here, Progress, Stage, Try, Turn};
use dataflow::ScopeNo;
use expression::Layout;
use model::{Batch, Column, Nulls};
use plan::{Plan, Var};
use std::sync::Arc;

/// An inner plan as stages.
pub(crate) struct Line {
    makers: Vec<StageMaker>,
    /// Outer columns that the stages read.
    imports: Vec<usize>,
    /// What comes out behind the last.
    pub(crate) layout: Layout,
    /// Column of it that holds the number of the outer row.
    pub(crate) row: usize,
}

/// The stages at work. Work goes on in the last one that has some, so at most one batch waits in each.
#[derive(Default)]
pub(crate) struct Stages {
    stages: Vec<Box<dyn Stage>>,
    /// The one that works.
    at: usize,
    /// Of a test: of which outer rows an answer is wanted.
    demand: Option<Arc<RowDemand>>,
}

impl Line {
    /// Compiles an inner plan that is a line from its argument on; `outer` are the rows around it, `demand` is that for its rows.
    pub(crate) fn compile(
        compiler: &mut Compiler,
        (inner, demand): (&Plan, NodeDemand),
        imports: &[Var],
        outer: &Stream,
        required: VarSet,
    ) -> Result<Line, ExecuteError> {
        let number = compiler.fresh();
        let mut layout = Layout::new(&[number]);
        imports.iter().for_each(|variable| {
            layout.push(*variable);
        });
        let imports = imports.iter().map(|variable| Compiler::position(&outer.layout, *variable));
        let imports = imports.collect::<Result<Vec<_>, _>>()?;
        let inside = Inside {
            scope: ScopeNo::ROOT,
            row: number,
            argument: Stream { layout, fans_out: false, ..outer.clone() },
            rows: Arc::new(ScopeRows::new(0)),
            stated: None,
        };
        let outside = compiler.inside.replace(inside);
        let around = compiler.stages.replace(Vec::new());
        compiler.of_side = demand;
        let stream = compiler.plan(inner, &required.with([number]));
        let makers = std::mem::replace(&mut compiler.stages, around).unwrap_or_default();
        compiler.inside = outside;
        let layout = stream?.layout;
        Ok(Line { makers, imports, row: Compiler::position(&layout, number)?, layout })
    }
    /// Outer columns that the stages read.
    pub(super) fn imports(&self) -> &[usize] {
        &self.imports
    }
    /// Stages that have done nothing yet.
    pub(crate) fn stages(&self) -> Stages {
        Stages { stages: self.makers.iter().map(|make| make()).collect(), at: 0, demand: None }
    }
    /// These outer rows as the first stage reads them, numbered from `first` on.
    pub(crate) fn argument(&self, outer: &Batch, first: usize) -> Batch {
        let numbers = (first as i64..(first + outer.len()) as i64).collect();
        let numbers = Column::Int(numbers, Nulls::none());
        let mut argument = Batch::new(vec![numbers], outer.len());
        self.imports.iter().for_each(|at| argument.push_carried(outer.column(*at).clone()));
        argument
    }
}

impl Stages {
    /// A new batch, once the one before is exhausted; in a test, `demand` tells of which outer rows an answer is wanted.
    pub(crate) fn begin(
        &mut self,
        argument: Batch,
        demand: Option<Arc<RowDemand>>,
        here: &mut Here,
    ) -> Try<()> {
        (self.at, self.demand) = (0, demand);
        self.stages[0].begin(argument, self.demand.as_ref(), here)
    }
    /// Drops all that is under way; returns the bytes that were charged for it, which the caller gives back.
    pub(crate) fn drop_work(&mut self, line: &Line) -> usize {
        let before = self.charged();
        // Stages behind the one that works are at nothing.
        for (stage, make) in self.stages[..=self.at].iter_mut().zip(&line.makers) {
            if !stage.drop_work() {
                *stage = make();
            }
        }
        before - self.charged()
    }
    /// Drops what stages keep for later batches, also those that are at nothing: nested sub-queries keep answers.
    pub(crate) fn forget(&mut self, line: &Line) {
        for (stage, make) in self.stages.iter_mut().zip(&line.makers) {
            if stage.charged() > 0 && !(stage.drop_work() && stage.charged() == 0) {
                *stage = make();
            }
        }
    }
    /// Bytes that are charged for what the stages hold.
    pub(crate) fn charged(&self) -> usize {
        self.stages.iter().map(|stage| stage.charged()).sum()
    }
    /// A slice of work: rows that came out, and whether no more will of this batch.
    pub(crate) fn slice(&mut self, turn: &mut Turn<'_, '_>) -> Try<(Option<Batch>, Progress)> {
        let (rows, progress) = self.stages[self.at].slice(turn)?;
        let is_last = self.at + 1 == self.stages.len();
        if let Some(rows) = rows {
            if is_last {
                let over = progress == Progress::Done && self.at == 0;
                self.at -= usize::from(progress == Progress::Done && !over);
                return Ok((Some(rows), if over { Progress::Done } else { Progress::More }));
            }
            // A stage that is exhausted says so again when it is its turn.
            self.at += 1;
            self.stages[self.at].begin(rows, self.demand.as_ref(), turn.here)?;
            return Ok((None, Progress::More));
        }
        if progress == Progress::Done {
            if self.at == 0 {
                return Ok((None, Progress::Done));
            }
            self.at -= 1;
        }
        Ok((None, Progress::More))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps bytes for later batches; gives them up if `gives` when its work is dropped.
    struct Keeping {
        bytes: usize,
        gives: bool,
    }

    impl Stage for Keeping {
        fn begin(&mut self, _: Batch, _: Option<&Arc<RowDemand>>, _: &mut Here) -> Try<()> {
            Ok(())
        }
        fn slice(&mut self, _: &mut Turn<'_, '_>) -> Try<(Option<Batch>, Progress)> {
            Ok((None, Progress::Done))
        }
        fn drop_work(&mut self) -> bool {
            if self.gives {
                self.bytes = 0;
            }
            true
        }
        fn charged(&self) -> usize {
            self.bytes
        }
    }

    /// An instance is used again only where nothing is charged any more, so stages that are at nothing must forget what they keep, too.
    #[test]
    fn stages_behind_the_one_at_work_forget_what_they_keep() {
        let fresh = |gives| -> StageMaker {
            Arc::new(move || -> Box<dyn Stage> { Box::new(Keeping { bytes: 0, gives }) })
        };
        let makers = vec![fresh(true), fresh(true), fresh(false)];
        let line = Line { makers, imports: Vec::new(), layout: Layout::new(&[]), row: 0 };
        let full = |gives| -> Box<dyn Stage> { Box::new(Keeping { bytes: 100, gives }) };
        let mut stages = Stages { stages: vec![full(true), full(true), full(false)], at: 0, demand: None };
        assert_eq!(stages.drop_work(&line), 100, "what is under way is the first stage's");
        stages.forget(&line);
        assert_eq!(stages.charged(), 0);
    }
}
