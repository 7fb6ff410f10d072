//! What an operator may ask of the runtime during a call.

use crate::{Failure, Message, Tag};
use std::marker::PhantomData;

/// The runtime, as seen by one operator during one call.
pub struct Context<'a, M: Message> {
    marker: PhantomData<&'a mut M>,
}

impl<M: Message> Context<'_, M> {
    /// Sends on output 0 with the current tag.
    pub fn send(&mut self, message: M) {
        self.send_to(0, message);
    }
    /// Sends on an output with the current tag. Never blocks and never fails: an output that is full only turns [`should_yield`](Self::should_yield) true.
    pub fn send_to(&mut self, output: usize, message: M) {
        let _ = (output, message);
        unimplemented!()
    }
    /// Sends on an output that leads into a scope, to the instance `tag` made by [`open_instance`](Self::open_instance).
    pub fn send_tagged(&mut self, output: usize, tag: Tag, message: M) {
        let _ = (output, tag, message);
        unimplemented!()
    }
    /// A new scope instance, a child of the current tag. Every output that leads into the scope must later get
    /// [`end_instance`](Self::end_instance).
    pub fn open_instance(&mut self) -> Tag {
        unimplemented!()
    }
    /// Says that nothing more is sent to instance `tag` on `output`.
    pub fn end_instance(&mut self, output: usize, tag: Tag) {
        let _ = (output, tag);
        unimplemented!()
    }
    /// The scope instance this operator belongs to.
    pub fn tag(&self) -> Tag {
        unimplemented!()
    }
    /// True when the call should return soon: the quota is used up, an output is full, or the query (or this part of it) is cancelled.
    /// Costs a clock reading, some 20 to 50 ns: ask once per few hundred rows, not per row.
    pub fn should_yield(&self) -> bool {
        unimplemented!()
    }
    /// The number of this executor.
    pub fn executor(&self) -> usize {
        unimplemented!()
    }
    /// How many executors there are.
    pub fn executors(&self) -> usize {
        unimplemented!()
    }
    /// True on the query's home executor.
    pub fn is_home(&self) -> bool {
        unimplemented!()
    }
    /// Calls `resume` once on this vertex's instance on every other executor (made if need be). Inside a scope it does nothing, for a
    /// scope instance lives on one executor.
    pub fn invite_peers(&mut self) {
        unimplemented!()
    }
    /// This vertex needs no more input, on any executor (a limit was reached): cancels all work upstream all of whose paths lead here,
    /// except vertices marked `must_finish` and what feeds them. `on_completion` still comes. Inside a scope it does nothing yet.
    pub fn close_inputs(&mut self) {
        unimplemented!()
    }
    /// Counts bytes this operator holds against the query's budget.
    ///
    /// # Errors
    /// When the budget is exceeded: hand the error on, it ends the query with `Fault::OverBudget`.
    pub fn charge(&mut self, bytes: usize) -> Result<(), Failure> {
        let _ = bytes;
        unimplemented!()
    }
    /// Gives back what was charged. What an operator still holds when it is dropped is given back for it.
    pub fn release(&mut self, bytes: usize) {
        let _ = bytes;
        unimplemented!()
    }
}
