//! The calls from an operator into the runtime.

use crate::terms::fault::Failure;
use crate::terms::ids::TabletNo;
use crate::terms::message::{Message, Tag};
use crate::terms::waker::OperatorWaker;
use std::any::Any;
use std::sync::Arc;

/// The runtime, as seen by one operator during one call.
pub struct Context<'a, M: Message> {
    backend: &'a mut (dyn Backend<M> + 'a),
}

/// The driver that an operator runs in: an executor, or a pipeline. The methods are documented at [`Context`].
pub(crate) trait Backend<M: Message> {
    fn send_to(&mut self, output: usize, message: M);
    fn send_tagged(&mut self, output: usize, tag: Tag, message: M);
    fn open_instance(&mut self, rank: u64) -> Tag;
    fn end_instance(&mut self, output: usize, tag: Tag);
    fn finish_instance(&mut self);
    fn finish_scope(&mut self);
    fn tag(&self) -> Tag;
    fn shared(&self) -> Option<&Arc<dyn Any + Send + Sync>>;
    fn should_yield(&self) -> bool;
    fn is_crowded(&self) -> bool;
    fn executor(&self) -> usize;
    fn tablet(&self) -> Option<TabletNo>;
    fn tablets(&self) -> usize;
    fn worked_on(&mut self, tablet: TabletNo, amount: u64);
    fn executors(&self) -> usize;
    fn is_home(&self) -> bool;
    fn invite_peers(&mut self);
    fn close_inputs(&mut self);
    fn waker(&mut self) -> OperatorWaker;
    fn charge(&mut self, bytes: usize) -> Result<(), Failure>;
    fn release(&mut self, bytes: usize);
    fn room(&self) -> u64;
    fn charge_spilled(&mut self, bytes: u64) -> Result<(), Failure>;
}

impl<'a, M: Message> Context<'a, M> {
    pub(crate) fn new(backend: &'a mut (dyn Backend<M> + 'a)) -> Context<'a, M> {
        Context { backend }
    }

    /// Sends on output 0 with the current tag.
    pub fn send(&mut self, message: M) {
        self.send_to(0, message);
    }

    /// Sends on an output with the current tag; on an edge out of the scope, with the enclosing tag; on an edge into a loop, to its first
    /// iteration; on a backward edge, to the next one. Never blocks and never fails: an output that is full only turns
    /// [`should_yield`](Self::should_yield) true. A message to an unconnected output is dropped.
    ///
    /// # Panics
    /// When the output leads into a branch scope: that takes [`send_tagged`](Self::send_tagged).
    pub fn send_to(&mut self, output: usize, message: M) {
        self.backend.send_to(output, message);
    }

    /// Sends on an output that leads into a branch scope, to the instance `tag` made by [`open_instance`](Self::open_instance). A
    /// message to an instance that was cancelled is dropped.
    ///
    /// # Panics
    /// When the tag does not belong on that output.
    pub fn send_tagged(&mut self, output: usize, tag: Tag, message: M) {
        self.backend.send_tagged(output, tag, message);
    }

    /// Opens a new instance of the branch scope that this vertex is the ingress of. Every output that leads into the scope must later get
    /// [`end_instance`](Self::end_instance); outputs without it end with the ingress's input.
    ///
    /// # Panics
    /// When no output leads into a branch scope.
    pub fn open_instance(&mut self) -> Tag {
        self.open_ranked_instance(0)
    }

    /// A new instance with a rank, for scopes whose instances run [best first](crate::InterPolicy::BestFirst).
    ///
    /// # Panics
    /// When no output leads into a branch scope.
    pub fn open_ranked_instance(&mut self, rank: u64) -> Tag {
        self.backend.open_instance(rank)
    }

    /// Says that nothing more is sent to instance `tag` on `output`. Saying it again does nothing.
    ///
    /// # Panics
    /// When the tag does not belong on that output.
    pub fn end_instance(&mut self, output: usize, tag: Tag) {
        self.backend.end_instance(output, tag);
    }

    /// This scope instance has its answer: after this call all its operators are dropped with what they hold, this one too, and all
    /// instances within, also those that must finish; no `on_instance_end` comes. Messages that were sent out of the scope are delivered. In a loop
    /// it ends this iteration; the next one goes on with the messages that it was sent. Outside scopes it closes the inputs.
    ///
    /// This is the paper's `NotifyCompletion` in an egress (Banyan, section 3.3).
    pub fn finish_instance(&mut self) {
        self.backend.finish_instance();
    }

    /// Like [`finish_instance`](Self::finish_instance) for all instances of this scope within the enclosing instance: a loop ends, with
    /// all its iterations.
    pub fn finish_scope(&mut self) {
        self.backend.finish_scope();
    }

    /// The scope instance this operator belongs to.
    pub fn tag(&self) -> Tag {
        self.backend.tag()
    }

    /// The value that the host of a pipeline within an operator shares with the pipeline's operators, for the present input.
    pub fn shared(&self) -> Option<&Arc<dyn Any + Send + Sync>> {
        self.backend.shared()
    }

    /// True when the call should return soon: the quota is used up, another task wants the executor, an output is full, the scope it leads to has its
    /// maximum of live instances, or the query (or this part of it) is cancelled. Costs some 5 to 30 ns: call it once a row where a row is much work,
    /// else once per few hundred rows.
    pub fn should_yield(&self) -> bool {
        self.backend.should_yield()
    }

    /// True if the branch scope this vertex leads into has its maximum of live instances on this executor: open no more in this call.
    pub fn is_crowded(&self) -> bool {
        self.backend.is_crowded()
    }

    /// The number of this executor.
    pub fn executor(&self) -> usize {
        self.backend.executor()
    }

    /// The tablet that the message of this call, or the last message, was routed by; none if it did not come by [`Route::Tablet`], or from an
    /// operator in the same scope instance that was called for such a message. Meaningless outside of calls for messages.
    pub fn tablet(&self) -> Option<TabletNo> {
        self.backend.tablet()
    }

    /// How many tablets there are to say work was done for: none where nothing can be moved.
    pub fn tablets(&self) -> usize {
        self.backend.tablets()
    }

    /// Reports that `amount` of this call's work, in any measure, was for a tablet. The call's time is split over the reported tablets' loads in
    /// proportion.
    pub fn worked_on(&mut self, tablet: TabletNo, amount: u64) {
        self.backend.worked_on(tablet, amount);
    }

    /// How many executors there are.
    pub fn executors(&self) -> usize {
        self.backend.executors()
    }

    /// True on the query's home executor.
    pub fn is_home(&self) -> bool {
        self.backend.is_home()
    }

    /// Calls `resume` once on this vertex's operator on every other executor (made if need be). Inside a narrow scope it does nothing,
    /// for an instance lives on one executor.
    pub fn invite_peers(&mut self) {
        self.backend.invite_peers();
    }

    /// This vertex needs no more input (a limit was reached): cancels all upstream vertices whose paths all lead here, except those marked
    /// `must_finish` and their feeders; outside scopes on all executors, inside in this instance. The end still comes.
    pub fn close_inputs(&mut self) {
        self.backend.close_inputs();
    }

    /// A waker to be called when the event that this operator waits for has happened: see [`OperatorWaker`]. Return `Flow::Waiting` from this call,
    /// with the last waker asked for in it handed to the code that will call it.
    pub fn waker(&mut self) -> OperatorWaker {
        self.backend.waker()
    }

    /// Counts bytes this operator holds against the query's budget.
    ///
    /// # Errors
    /// When the budget is exceeded: hand the error on, it ends the query with `Fault::OverBudget`.
    pub fn charge(&mut self, bytes: usize) -> Result<(), Failure> {
        self.backend.charge(bytes)
    }

    /// Releases charged bytes. Bytes that an operator still holds when it is dropped are released for it.
    pub fn release(&mut self, bytes: usize) {
        self.backend.release(bytes);
    }

    /// Bytes that the query could charge at this moment; other queries draw from the same accounts.
    pub fn room(&self) -> u64 {
        self.backend.room()
    }

    /// Counts bytes that are put aside on disk, until the query ends.
    ///
    /// # Errors
    /// [`SpillExceeded`](crate::ledger::SpillExceeded) where the user, the tenant or the machine may put no more aside.
    pub fn charge_spilled(&mut self, bytes: u64) -> Result<(), Failure> {
        self.backend.charge_spilled(bytes)
    }
}
