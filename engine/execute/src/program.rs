//! Program: a source whose work is not a plan's. A caller with a machine of its own (the traversers of Gremlin) runs it here, on the executors: in
//! turns that end with the quota, within the query's bytes, until it is cancelled or its time is up. It puts its results aside where its client reads
//! them; the rows of the stream only count them, so a client that does not read holds it up.

use crate::ExecuteError;
use crate::access::Access;
use crate::execution::{Effects, ExecuteOptions, Execution};
use crate::result::ResultStream;
use crate::rows::Rows;
use dataflow::{Context, Flow, Operator, Outcome, Runtime};
use model::{Batch, Column, Nulls};
use std::sync::Arc;

/// The result of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turned {
    /// This many results were put aside.
    Found(usize),
    /// None yet.
    Working,
    /// There will be no more.
    Done,
}

/// Work in turns, each far shorter than a quota, or counted on the way (see [`dataflow::watch`]).
pub trait Program: Send {
    /// The next turn.
    ///
    /// # Errors
    /// Any error ends the query with it.
    fn turn(&mut self) -> Result<Turned, dataflow::Failure>;
    /// Bytes it holds, roughly.
    fn bytes(&self) -> usize;
    /// The query is over: drops a part of what it holds; true if more is left.
    fn drop_some(&mut self) -> bool {
        false
    }
}

/// Turns after which the bytes held are charged.
const TURNS_BETWEEN_CHARGES: u32 = 64;

struct Running {
    program: Option<Box<dyn Program>>,
    charged: usize,
    turns: u32,
}

impl Running {
    fn charge(&mut self, bytes: usize, context: &mut Context<'_, Rows>) -> Result<(), dataflow::Failure> {
        if bytes > self.charged {
            context.charge(bytes - self.charged)?;
        } else {
            context.release(self.charged - bytes);
        }
        self.charged = bytes;
        Ok(())
    }
}

impl Operator<Rows> for Running {
    fn receive(&mut self, _: usize, _: Rows, _: &mut Context<'_, Rows>) -> Outcome {
        Ok(Flow::Ready)
    }
    fn resume(&mut self, context: &mut Context<'_, Rows>) -> Outcome {
        while let Some(program) = &mut self.program {
            match program.turn()? {
                Turned::Found(count) => {
                    let counts = Column::Int(vec![count as i64], Nulls::none());
                    context.send(Rows(Batch::new(vec![counts], 1)));
                }
                Turned::Working => {}
                Turned::Done => self.program = None,
            }
            self.turns = (self.turns + 1) % TURNS_BETWEEN_CHARGES;
            if self.turns == 0 || self.program.is_none() {
                let bytes = self.program.as_ref().map_or(0, |program| program.bytes());
                self.charge(bytes, context)?;
            }
            if self.program.is_some() && (context.should_yield() || context.is_crowded()) {
                return Ok(Flow::Again);
            }
        }
        Ok(Flow::Ready)
    }
    fn drop_some(&mut self) -> bool {
        self.program.as_mut().is_some_and(|program| program.drop_some())
    }
}

impl Execution {
    /// Starts a program. The rows of the stream have one column: how many results were put aside since the last.
    ///
    /// # Errors
    /// None today; a runtime that is closing ends the stream with one.
    pub fn start_program(
        runtime: &Runtime<Rows>,
        program: Box<dyn Program>,
        access: Access,
        options: ExecuteOptions,
    ) -> Result<ResultStream, ExecuteError> {
        let effects = Effects { writes: true, deletes: true };
        let make = |program| Running { program, charged: 0, turns: 0 };
        let (handle, run) =
            Execution::start_source(runtime, ("Program", effects), (program, make), access, options)?;
        Ok(ResultStream::new(handle, Arc::from(vec!["count".into()]), vec![0], 1, run))
    }
}
