//! Fibers: work on a stack of its own, which can pause in the middle of any call and go on later on the same thread.
//!
//! A scheduler that shares a thread between many pieces of work needs each of them to return now and then. Some cannot: an expression
//! that loops, a rule program, a graph algorithm hold their state on the stack. On a fiber such work calls [`pause`] from wherever it is;
//! the scheduler gets the thread back, with the fiber in its hands, and resumes it when its turn comes.
//!
//! Invariants: a fiber never leaves its thread (it is not `Send`). No lock that others take may be held across a pause: whoever calls
//! work that may pause while it holds one says so with [`Still`], and then nothing pauses.
//! Cost: some 10 ns to start, pause or resume; a stack is mapped once, reused by [`Stacks`], and takes memory only where it was touched.

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};
use parking_lot::Mutex;
use std::cell::Cell;
use std::ptr;
use std::rc::Rc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

/// Bytes of one stack: as many as a program's first thread has. Memory is taken only where it was touched.
pub const STACK_BYTES: usize = 8 << 20;

/// Stacks that one thread keeps for later use, and those of [`roomy`] that all threads keep: more are given back to the system.
pub const STACKS_SPARE_MAX: usize = 16;

/// Threads that keep a stack of [`roomy`] for themselves.
pub const OWNERS_MAX: usize = 32;

/// Fibers that one thread may have at a time: each takes two of the mappings that the system allows a process.
pub const FIBERS_MAX: usize = 1_024;

type Resumption = Yielder<(), ()>;

thread_local! {
    /// Of the fiber that runs on this thread: how to pause it. Null where none does.
    static RUNNING: Cell<*const Resumption> = const { Cell::new(ptr::null()) };
    /// When the fiber that runs should pause, by `clock::monotonic_ns`.
    static UNTIL_NS: Cell<u64> = const { Cell::new(u64::MAX) };
    /// The thread is on a stack of `roomy`.
    static IS_ROOMY: Cell<bool> = const { Cell::new(false) };
    /// Callers that want no pause now.
    static STILL: Cell<u32> = const { Cell::new(0) };
}

/// The stacks of one thread's fibers.
#[derive(Default)]
pub struct Stacks {
    spare: Vec<DefaultStack>,
    lent: Rc<Cell<usize>>,
}

/// One of the fibers that live.
struct Lent(Rc<Cell<usize>>);

impl Drop for Lent {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl Stacks {
    /// A fiber that will run `body`; none where there are [`FIBERS_MAX`] already or the system has no memory for a stack. Then `body` is returned, to
    /// be called directly.
    pub fn fiber<R: 'static, F: FnOnce() -> R + 'static>(&mut self, body: F) -> Result<Fiber<R>, F> {
        let stack = match self.spare.pop() {
            _ if self.lent.get() >= FIBERS_MAX => return Err(body),
            Some(stack) => stack,
            None => match DefaultStack::new(STACK_BYTES) {
                Ok(stack) => stack,
                Err(_) => return Err(body),
            },
        };
        self.lent.set(self.lent.get() + 1);
        let lent = Lent(self.lent.clone());
        let coroutine = Coroutine::with_stack(stack, move |resumption: &Resumption, ()| {
            RUNNING.set(resumption);
            body()
        });
        Ok(Fiber { coroutine, _lent: lent })
    }
    /// Takes back the stack of a fiber that is done.
    fn take_back(&mut self, stack: DefaultStack) {
        if self.spare.len() < STACKS_SPARE_MAX {
            self.spare.push(stack);
        }
    }
}

/// Work that has not ended.
pub struct Fiber<R> {
    coroutine: Coroutine<(), (), R>,
    _lent: Lent,
}

/// Where a fiber stands.
pub enum Resumed<R> {
    /// It paused.
    Paused(Fiber<R>),
    /// It ended with this.
    Done(R),
}

impl<R> Fiber<R> {
    /// Runs until it pauses or ends; it is to pause at `until_ns` of `clock::monotonic_ns`. `stacks` are those that it came from.
    ///
    /// # Panics
    /// With the panic of the work.
    pub fn resume(mut self, until_ns: u64, stacks: &mut Stacks) -> Resumed<R> {
        let before =
            Before { running: RUNNING.get(), until_ns: UNTIL_NS.replace(until_ns), still: STILL.replace(0) };
        let resumed = self.coroutine.resume(());
        drop(before);
        match resumed {
            CoroutineResult::Yield(()) => Resumed::Paused(self),
            CoroutineResult::Return(outcome) => {
                stacks.take_back(self.coroutine.into_stack());
                Resumed::Done(outcome)
            }
        }
    }
}

/// The thread's state before it resumed a fiber; restored afterwards, also after a panic.
struct Before {
    running: *const Resumption,
    until_ns: u64,
    still: u32,
}

impl Drop for Before {
    fn drop(&mut self) {
        RUNNING.set(self.running);
        UNTIL_NS.set(self.until_ns);
        STILL.set(self.still);
    }
}

/// True if this is a fiber whose time is over at `now_ns`, and which may pause.
#[inline]
pub fn is_due(now_ns: u64) -> bool {
    now_ns >= UNTIL_NS.get() && !RUNNING.get().is_null() && STILL.get() == 0
}

/// True if this is a fiber that may pause.
pub fn is_running() -> bool {
    !RUNNING.get().is_null() && STILL.get() == 0
}

/// Pauses the fiber that runs; returns when it is resumed. Without a fiber, or while it has to be still, it returns at once.
pub fn pause() {
    let running = RUNNING.get();
    if !is_running() {
        return;
    }
    // SAFETY: `running` is what the body of the fiber that runs was called with, so it lives as long as that body does; and the body is
    // on this very stack, below us. `Fiber::resume` puts back what was there before whenever this fiber is left.
    unsafe { (*running).suspend(()) };
    RUNNING.set(running);
}

/// Unused stacks for [`roomy`].
static ROOMY: Mutex<Vec<DefaultStack>> = Mutex::new(Vec::new());

/// Threads that have a stack for [`roomy`] of their own.
static OWNERS: AtomicUsize = AtomicUsize::new(0);

/// A thread's own stack for [`roomy`]: the first [`OWNERS_MAX`] threads take no lock.
struct Own(Cell<Option<DefaultStack>>);

impl Own {
    /// None where enough threads have one.
    fn new() -> Option<Own> {
        let more = |owners: usize| (owners < OWNERS_MAX).then_some(owners + 1);
        OWNERS.fetch_update(Relaxed, Relaxed, more).ok().map(|_| Own(Cell::new(None)))
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        OWNERS.fetch_sub(1, Relaxed);
    }
}

thread_local! {
    static OWN: Option<Own> = Own::new();
}

/// A stack for `roomy`: the thread's own, or a common one.
fn take_roomy() -> Option<DefaultStack> {
    // A thread that ends has none any more.
    let own = OWN.try_with(|own| own.as_ref().and_then(|own| own.0.take())).ok().flatten();
    own.or_else(|| ROOMY.lock().pop()).or_else(|| DefaultStack::new(STACK_BYTES).ok())
}

fn give_roomy_back(stack: DefaultStack) {
    let mut stack = Some(stack);
    let _ = OWN.try_with(|own| {
        if let Some(own) = own {
            stack = own.0.replace(stack.take());
        }
    });
    if let Some(stack) = stack {
        let mut spare = ROOMY.lock();
        if spare.len() < STACKS_SPARE_MAX {
            spare.push(stack);
        }
    }
}

/// Runs `work` on a stack of [`STACK_BYTES`]: its possible depth does not depend on the calling thread. On a fiber, within another such call, and
/// where the system has no memory for a stack, it runs on the present stack.
///
/// # Panics
/// With the panic of the work.
pub fn roomy<R>(work: impl FnOnce() -> R) -> R {
    if !RUNNING.get().is_null() || IS_ROOMY.get() {
        return work();
    }
    let Some(mut stack) = take_roomy() else { return work() };
    let inside = Inside::begin();
    let outcome = corosensei::on_stack(&mut stack, work);
    drop(inside);
    give_roomy_back(stack);
    outcome
}

/// The thread works on a stack of [`roomy`].
struct Inside;

impl Inside {
    fn begin() -> Inside {
        IS_ROOMY.set(true);
        Inside
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        IS_ROOMY.set(false);
    }
}

/// For as long as it lives, nothing pauses: for callers that hold a lock.
#[must_use]
pub struct Still(());

impl Still {
    /// From now on.
    pub fn begin() -> Still {
        STILL.set(STILL.get() + 1);
        Still(())
    }
}

impl Drop for Still {
    fn drop(&mut self) {
        STILL.set(STILL.get() - 1);
    }
}

#[cfg(test)]
mod tests;
