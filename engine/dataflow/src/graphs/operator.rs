//! The interface of an operator: five methods that the runtime calls, none of which blocks.
//!
//! An *operator* is one instance of a graph's vertex: one per executor that got a message for it, and inside a scope one per scope
//! instance. Its state is its own; twins share state only through what their factory captured.

use crate::terms::fault::Failure;
use crate::{Context, Message, Tag};

/// Where an operator stands after a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Done with all its input so far.
    Ready,
    /// Has more work: call `resume`. Nothing else is delivered to it before it says `Ready`.
    Again,
    /// Cannot go on until another operator of this query ran: `resume` is called then, or after
    /// [`WAITING_REPOLL_NS`](crate::terms::limits::WAITING_REPOLL_NS). If it asked for a [waker](crate::Context::waker) in this call, `resume` is
    /// called only when the waker was called.
    Waiting,
}

/// The result of a call: the operator's status, or why the query must end.
pub type Outcome = Result<Flow, Failure>;

/// One operator. A call should return soon after [`Context::should_yield`] turns true, with `Again` if there is more to do.
pub trait Operator<M: Message>: Send {
    /// A message on an input port.
    ///
    /// # Errors
    /// Any error ends the query with it.
    fn receive(&mut self, port: usize, message: M, context: &mut Context<'_, M>) -> Outcome;

    /// The next piece of unfinished work: after `Again` or `Waiting`; for a source until it says `Ready`; and once on each executor
    /// that was invited by [`Context::invite_peers`].
    ///
    /// # Errors
    /// Any error ends the query with it.
    fn resume(&mut self, context: &mut Context<'_, M>) -> Outcome {
        let _ = context;
        Ok(Flow::Ready)
    }

    /// Inside a scope: this operator's scope instance, `tag`, gets no more input on any port. The operator is dropped once it is `Ready`.
    ///
    /// # Errors
    /// Any error ends the query with it.
    fn on_instance_end(&mut self, tag: Tag, context: &mut Context<'_, M>) -> Outcome {
        let _ = (tag, context);
        Ok(Flow::Ready)
    }

    /// Inside a scope: the instance is over, or was cancelled. An operator that clears itself, keeping costly allocations, and returns true may serve
    /// another instance; one that returns false is dropped.
    fn recycle(&mut self) -> bool {
        false
    }

    /// The run of a [pipeline](crate::Pipeline) is over: an operator that forgets all of it and returns true serves the next run too; one that
    /// returns false is dropped, and made anew then.
    fn end_run(&mut self) -> bool {
        false
    }

    /// The next run begins, for one that has ended a run. Nothing has come to it yet.
    fn begin_run(&mut self) {}

    /// Its query is over: drops a part of what it holds, in little time; true if more is left. Then it is dropped itself.
    fn drop_some(&mut self) -> bool {
        false
    }

    /// Outside scopes: no more input on `port`, on any executor, ever. Called once a port on every existing instance.
    ///
    /// # Errors
    /// Any error ends the query with it.
    fn on_completion(&mut self, port: usize, context: &mut Context<'_, M>) -> Outcome {
        let _ = (port, context);
        Ok(Flow::Ready)
    }
}
