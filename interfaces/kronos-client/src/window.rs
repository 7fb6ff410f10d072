//! Numbers of requests, so that a retry is carried out once.
//!
//! A session of the server keeps the answers to its latest requests, as many as these limits say; an older request is refused, since it is unknown
//! whether it was carried out. So a new number is given out only while all requests from the oldest open one on fit into the server's memory.
//! Invariant: the numbers from the oldest open request to the newest are at most [`OPEN_MAX`], with at most [`OPEN_ITEMS_MAX`] items.

use crate::types::BATCH_MAX;
use parking_lot::Mutex;
use std::collections::VecDeque;
use tokio::sync::Notify;

/// Requests whose answers the server keeps for a session.
const OPEN_MAX: usize = 64;
/// Events and orders in those answers.
const OPEN_ITEMS_MAX: usize = BATCH_MAX;

#[derive(Default)]
pub(crate) struct Window {
    open: Mutex<OpenRequest>,
    changed: Notify,
}

#[derive(Default)]
struct OpenRequest {
    /// The number of the first in the queue.
    first: u64,
    /// Items of each, and whether it is over.
    requests: VecDeque<(usize, bool)>,
    items: usize,
}

/// A request's number, until it is dropped.
pub(crate) struct Numbered<'a> {
    window: &'a Window,
    pub(crate) number: u64,
}

impl Window {
    pub(crate) fn new() -> Window {
        let window = Window::default();
        window.open.lock().first = 1;
        window
    }

    /// The next number, when there is room for a request whose answer has `items` items.
    pub(crate) async fn number(&self, items: usize) -> Numbered<'_> {
        let items = items.clamp(1, OPEN_ITEMS_MAX);
        loop {
            let changed = self.changed.notified();
            if let Some(number) = self.open.lock().take(items) {
                return Numbered { window: self, number };
            }
            changed.await;
        }
    }
}

impl OpenRequest {
    fn take(&mut self, items: usize) -> Option<u64> {
        let fits = self.requests.len() < OPEN_MAX && self.items + items <= OPEN_ITEMS_MAX;
        if !fits {
            return None;
        }
        self.requests.push_back((items, false));
        self.items += items;
        debug_assert!(
            self.requests.len() <= OPEN_MAX && self.items <= OPEN_ITEMS_MAX,
            "the window is bounded"
        );
        Some(self.first + self.requests.len() as u64 - 1)
    }
    fn end(&mut self, number: u64) {
        debug_assert!(number >= self.first, "a request ends once");
        self.requests[(number - self.first) as usize].1 = true;
        while let Some((items, true)) = self.requests.front().copied() {
            self.requests.pop_front();
            self.items -= items;
            self.first += 1;
        }
    }
}

impl Drop for Numbered<'_> {
    fn drop(&mut self) {
        self.window.open.lock().end(self.number);
        self.window.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_wait_for_the_oldest_open_one() {
        let mut open = OpenRequest { first: 1, ..OpenRequest::default() };
        let numbers: Vec<u64> = (0..OPEN_MAX).map(|_| open.take(1).unwrap()).collect();
        assert_eq!((numbers[0], numbers[OPEN_MAX - 1]), (1, OPEN_MAX as u64));
        assert_eq!(open.take(1), None);
        open.end(2);
        assert_eq!(open.take(1), None, "the first is still open");
        open.end(1);
        assert_eq!((open.take(1), open.take(1), open.take(1)), (Some(65), Some(66), None));
    }

    #[test]
    fn large_answers_wait_for_each_other() {
        let mut open = OpenRequest { first: 1, ..OpenRequest::default() };
        assert_eq!(open.take(OPEN_ITEMS_MAX - 1), Some(1));
        assert_eq!((open.take(1), open.take(1)), (Some(2), None));
        open.end(1);
        assert_eq!(open.take(OPEN_ITEMS_MAX - 1), Some(3));
    }
}
