//! Incoming frames of one end, and the ends of a process.

use crate::clock;
use crate::net::frames::{Arrived, INBOX_FRAMES_MAX, QUEUED_BYTES_MAX};
use parking_lot::{Condvar, Mutex, RwLock};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Frames that came, up to a number and a size.
#[derive(Default)]
pub(super) struct FrameInbox {
    state: Mutex<FrameInboxState>,
    came: Condvar,
    /// Called after frames came, instead of waking a waiting thread.
    pub(super) arrived: OnceLock<Arrived>,
}

#[derive(Default)]
struct FrameInboxState {
    frames: VecDeque<Vec<u8>>,
    bytes: usize,
    is_woken: bool,
}

impl FrameInbox {
    /// False where it is full.
    pub(super) fn push(&self, frame: Vec<u8>) -> bool {
        let mut state = self.state.lock();
        if state.frames.len() >= INBOX_FRAMES_MAX || state.bytes >= QUEUED_BYTES_MAX {
            return false;
        }
        state.bytes += frame.len();
        state.frames.push_back(frame);
        true
    }
    /// Announces pushed frames.
    pub(super) fn tell(&self) {
        match self.arrived.get() {
            Some(arrived) => arrived(),
            None => _ = self.came.notify_one(),
        }
    }
    pub(super) fn pop(&self, longest: Duration) -> Option<Vec<u8>> {
        let mut state = self.state.lock();
        if state.frames.is_empty() && !longest.is_zero() {
            let idle = |state: &mut FrameInboxState| state.frames.is_empty() && !state.is_woken;
            self.came.wait_while_for(&mut state, idle, longest);
            state.is_woken = false;
        }
        let frame = state.frames.pop_front()?;
        state.bytes -= frame.len();
        Some(frame)
    }
    pub(super) fn wake(&self) {
        self.state.lock().is_woken = true;
        self.came.notify_all();
    }
    pub(super) fn is_empty(&self) -> bool {
        self.state.lock().frames.is_empty()
    }
}

/// The ends of a process by name.
#[derive(Default)]
pub(super) struct NetEnds {
    by_name: RwLock<BTreeMap<Box<str>, Arc<FrameInbox>>>,
}

impl NetEnds {
    /// A new end; none where the process has one of this name.
    pub(super) fn open(&self, name: &str) -> Option<Arc<FrameInbox>> {
        let mut by_name = self.by_name.write();
        if by_name.contains_key(name) {
            return None;
        }
        let inbox = Arc::new(FrameInbox::default());
        by_name.insert(name.into(), inbox.clone());
        Some(inbox)
    }
    pub(super) fn close(&self, name: &str) {
        self.by_name.write().remove(name);
    }
    pub(super) fn of(&self, name: &str) -> Option<Arc<FrameInbox>> {
        self.by_name.read().get(name).cloned()
    }
}

thread_local! {
    /// Inboxes that this thread is going to announce.
    static NEXT: RefCell<VecDeque<Arc<FrameInbox>>> = const { RefCell::new(VecDeque::new()) };
    /// When the call of [`announce`] began that is under way on this thread; 0 where none is.
    static SINCE_NS: Cell<u64> = const { Cell::new(0) };
}

/// Since when this thread announces frames, if it does: whoever works for others by them has this time in common with others.
pub fn announcing_since_ns() -> Option<u64> {
    Some(SINCE_NS.get()).filter(|since_ns| *since_ns > 0)
}

/// Announces the frames of these inboxes, on this thread. If an announcement leads to further ones, they come after it, not within it.
pub(super) fn announce(inboxes: Vec<Arc<FrameInbox>>) {
    NEXT.with_borrow_mut(|next| next.extend(inboxes));
    if SINCE_NS.get() > 0 {
        return;
    }
    SINCE_NS.set(clock::monotonic_ns().max(1));
    let _announcing = Announcing;
    while let Some(inbox) = NEXT.with_borrow_mut(VecDeque::pop_front) {
        inbox.tell();
    }
}

struct Announcing;

impl Drop for Announcing {
    fn drop(&mut self) {
        SINCE_NS.set(0);
    }
}
