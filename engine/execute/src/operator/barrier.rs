//! Barrier: buffers all rows until the input has ended, then makes the writes below visible to everything above and emits the rows.

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::stream::Stream;
use crate::turn::{Breaker, Breaking, ExecutionContext, Progress, Try, Turn};
use dataflow::VertexOptions;
use model::Batch;
use std::collections::VecDeque;

/// The port whose rows are only waited for.
const DROPPED: usize = 1;

#[derive(Default)]
struct Barrier {
    rows: VecDeque<Batch>,
    shown: bool,
}

impl Breaker for Barrier {
    fn take(&mut self, port: usize, batch: Batch, turn: &mut Turn<'_, '_>) -> Try<()> {
        if port == DROPPED {
            return Ok(());
        }
        let batch = batch.flatten();
        turn.context.charge(batch.bytes())?;
        self.rows.push_back(batch);
        Ok(())
    }
    fn drain(&mut self, turn: &mut Turn<'_, '_>) -> Try<Progress> {
        if !std::mem::replace(&mut self.shown, true) {
            turn.execution.refresh()?;
        }
        match self.rows.pop_front() {
            Some(batch) => {
                turn.emit(batch);
                Ok(Progress::More)
            }
            None => Ok(Progress::Done),
        }
    }
}

/// Holds the rows of one stream.
pub(crate) fn attach(compiler: &mut Compiler, input: Stream) -> Result<Stream, ExecuteError> {
    Ok(attach_both(compiler, input, None))
}

/// Holds the rows of one stream until another has ended too.
pub(crate) fn attach_both(compiler: &mut Compiler, input: Stream, awaited: Option<Stream>) -> Stream {
    let environment = compiler.environment.clone();
    let ports = 1 + usize::from(awaited.is_some());
    let options = VertexOptions { must_finish: true, create_if_empty: true, ..compiler.options(ports) };
    let vertex = compiler.vertex("Hold", options, move || {
        Breaking::new(Barrier::default(), ExecutionContext::new(&environment), ports)
    });
    compiler.gather(&input, vertex, 0);
    if let Some(awaited) = awaited {
        compiler.gather(&awaited, vertex, DROPPED);
    }
    Stream { vertex, output: 0, parallel: false, fans_out: false, ..input }
}
