//! The bounded queue between a query and its client, and the end it comes to.
//!
//! Invariant: it ends once (`QueryShared::stop` sees to that), and after the end it takes nothing more. The length is mirrored in an atomic, so that
//! executors ask whether it is full without the lock.

use crate::{Fault, Message};
use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use world::panics::caught;

pub(crate) type ClientWaker = Arc<dyn Fn() + Send + Sync>;

/// The result of a client's poll.
pub(crate) enum Look<M> {
    /// Nothing yet.
    Nothing,
    /// A batch; true if the queue was full before.
    Batch(M, bool),
    /// The fault, once.
    Fault(Fault),
    /// The end.
    End,
}

/// Clients that were woken and have not run since. Where executors keep all cores busy, the kernel may let one wait for milliseconds;
/// executors that see this end their turns and offer their cores.
#[derive(Default)]
pub(crate) struct ClientsDue(AtomicUsize);

impl ClientsDue {
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }
}

/// Where the client is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Client {
    Elsewhere,
    Asleep,
    /// Woken, and counted as due.
    Due,
}

struct State<M> {
    queue: VecDeque<M>,
    ended: bool,
    fault: Option<Fault>,
    waker: Option<ClientWaker>,
    client: Client,
}

pub(crate) struct Output<M> {
    batches_max: usize,
    length: AtomicUsize,
    ended: AtomicBool,
    state: Mutex<State<M>>,
    changed: Condvar,
    due: Arc<ClientsDue>,
}

impl<M: Message> Output<M> {
    pub(crate) fn new(batches_max: usize, due: Arc<ClientsDue>) -> Output<M> {
        Output {
            batches_max: batches_max.max(1),
            length: AtomicUsize::new(0),
            ended: AtomicBool::new(false),
            state: Mutex::new(State {
                queue: VecDeque::new(),
                ended: false,
                fault: None,
                waker: None,
                client: Client::Elsewhere,
            }),
            changed: Condvar::new(),
            due,
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.length.load(Ordering::SeqCst) >= self.batches_max
    }

    /// True if a look would find something. Cheap, for spinning.
    pub(crate) fn has_news(&self) -> bool {
        self.length.load(Ordering::Acquire) > 0 || self.ended.load(Ordering::Acquire)
    }

    pub(crate) fn push(&self, message: M) {
        let mut state = self.state.lock();
        if state.ended {
            return;
        }
        state.queue.push_back(message);
        self.length.store(state.queue.len(), Ordering::SeqCst);
        self.tell(state);
    }

    /// Ends the stream; a fault also drops the waiting batches.
    pub(crate) fn end(&self, fault: Option<Fault>) {
        let mut state = self.state.lock();
        assert!(!state.ended, "a query ends once");
        state.ended = true;
        if fault.is_some() {
            state.queue.clear();
            self.length.store(0, Ordering::SeqCst);
        }
        state.fault = fault;
        self.ended.store(true, Ordering::Release);
        self.tell(state);
    }

    fn tell(&self, mut state: parking_lot::MutexGuard<'_, State<M>>) {
        if state.client == Client::Asleep {
            state.client = Client::Due;
            self.due.0.fetch_add(1, Ordering::Relaxed);
        }
        let waker = state.waker.clone();
        drop(state);
        self.changed.notify_one();
        if let Some(waker) = waker {
            // It is the client's code on an executor's thread: its panic is its own.
            let _ = caught(|| waker());
        }
    }

    pub(crate) fn look(&self) -> Look<M> {
        self.take(&mut self.state.lock())
    }

    /// Looks, and sleeps until there is something or the clock passes `until_ns`.
    pub(crate) fn wait(&self, until_ns: Option<u64>) -> Look<M> {
        let mut state = self.state.lock();
        loop {
            match self.take(&mut state) {
                Look::Nothing => {}
                found => return found,
            }
            let left_ns = until_ns.map(|until_ns| until_ns.saturating_sub(world::clock::monotonic_ns()));
            state.client = Client::Asleep;
            match left_ns {
                None => self.changed.wait(&mut state),
                Some(left_ns) if left_ns > 0 => {
                    self.changed.wait_for(&mut state, std::time::Duration::from_nanos(left_ns));
                }
                Some(_) => {}
            }
            if std::mem::replace(&mut state.client, Client::Elsewhere) == Client::Due {
                self.due.0.fetch_sub(1, Ordering::Relaxed);
            }
            if left_ns == Some(0) {
                return Look::Nothing;
            }
        }
    }

    fn take(&self, state: &mut State<M>) -> Look<M> {
        if let Some(message) = state.queue.pop_front() {
            let was_full = state.queue.len() + 1 >= self.batches_max;
            self.length.store(state.queue.len(), Ordering::SeqCst);
            return Look::Batch(message, was_full);
        }
        match (state.ended, state.fault.take()) {
            (_, Some(fault)) => Look::Fault(fault),
            (true, None) => Look::End,
            (false, None) => Look::Nothing,
        }
    }

    pub(crate) fn set_waker(&self, waker: ClientWaker) {
        let mut state = self.state.lock();
        state.waker = Some(waker.clone());
        let news = !state.queue.is_empty() || state.ended;
        drop(state);
        if news {
            waker();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::threads::{sleep, spawn};

    struct Row;

    impl Message for Row {
        fn rows(&self) -> usize {
            1
        }
        fn bytes(&self) -> usize {
            1
        }
    }

    #[test]
    fn a_client_is_due_from_its_wake_until_it_runs() {
        let due: Arc<ClientsDue> = Arc::default();
        let output = Arc::new(Output::<Row>::new(4, due.clone()));
        output.push(Row);
        assert!(!due.any(), "nobody sleeps, so nobody is woken");
        assert!(matches!(output.wait(None), Look::Batch(..)));
        for _ in 0..200 {
            let waits = output.clone();
            let client = spawn("client", move || matches!(waits.wait(None), Look::Batch(..)));
            while output.state.lock().client != Client::Asleep {
                sleep(std::time::Duration::from_micros(20));
            }
            output.push(Row);
            assert!(client.join(), "it gets what it was woken for");
            assert!(!due.any(), "it has run");
        }
    }

    /// The client that takes the first batch of a full queue has to unblock the executors that announced themselves before; later ones need not.
    #[test]
    fn a_full_queue_is_told_once() {
        for batches_max in 1..4 {
            let output = Output::<Row>::new(batches_max, Arc::default());
            for pushed in 0..=batches_max {
                (0..pushed).for_each(|_| output.push(Row));
                let mut taken = 0;
                while let Look::Batch(_, was_full) = output.wait(Some(0)) {
                    assert_eq!(was_full, pushed - taken >= batches_max, "{pushed} of {batches_max}");
                    taken += 1;
                }
                assert_eq!(taken, pushed);
            }
        }
    }
}
