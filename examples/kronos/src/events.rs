//! Events for an application that needs one for each of its operations: taken from a pool, given back when they are not used any more.
//!
//! Idea: events are created and released by the batch, so that most operations pay for neither.
//! Invariant: an event's reference is kept as long as a [`Held`] of it lives.

use parking_lot::Mutex;
use std::sync::Arc;
use tanglewood_kronos::blocking::Kronos;
use tanglewood_kronos::{Event, KronosError};

/// Events that are created, and released, with one call.
const BATCH: usize = 512;

/// A pool of events of one client.
pub struct Events {
    kronos: Kronos,
    fresh: Mutex<Vec<Event>>,
    /// One fetches a batch.
    fetching: Mutex<()>,
    spent: Arc<Mutex<Vec<Event>>>,
}

/// An event in use. Given back when it is dropped.
pub struct Held {
    event: Event,
    spent: Arc<Mutex<Vec<Event>>>,
}

impl Events {
    /// A pool over a client.
    pub fn new(kronos: Kronos) -> Events {
        Events { kronos, fresh: Mutex::default(), fetching: Mutex::default(), spent: Arc::default() }
    }
    /// The client.
    pub fn kronos(&self) -> &Kronos {
        &self.kronos
    }

    /// A new event.
    ///
    /// # Errors
    /// The service is full, or away.
    pub fn take(&self) -> Result<Held, KronosError> {
        loop {
            let (event, left) = {
                let mut fresh = self.fresh.lock();
                (fresh.pop(), fresh.len())
            };
            // The next batch is fetched while there are some left, so that one caller waits for it and not all.
            if left < BATCH / 2 {
                let turn = match event {
                    None => Some(self.fetching.lock()),
                    Some(_) => self.fetching.try_lock(),
                };
                // While this one waited, somebody else may have fetched.
                if turn.is_some() && self.fresh.lock().len() < BATCH / 2 {
                    let made = self.kronos.create_events(BATCH as u32)?;
                    self.fresh.lock().extend(made);
                }
            }
            if let Some(event) = event {
                self.release()?;
                return Ok(Held { event, spent: self.spent.clone() });
            }
        }
    }

    /// Gives back unused events, once there is a batch of them.
    fn release(&self) -> Result<(), KronosError> {
        let mut spent = self.spent.lock();
        if spent.len() < BATCH {
            return Ok(());
        }
        let batch = std::mem::take(&mut *spent);
        drop(spent);
        for part in batch.chunks(tanglewood_kronos::BATCH_MAX) {
            self.kronos.release_refs(part)?;
        }
        Ok(())
    }
}

impl Held {
    /// Its name.
    pub fn event(&self) -> Event {
        self.event
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.spent.lock().push(self.event);
    }
}
