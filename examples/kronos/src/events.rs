//! Events for an application that needs one for each of its operations: taken from a pool, given back when nobody names them any more.
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
        Events { kronos, fresh: Mutex::default(), spent: Arc::default() }
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
        let mut fresh = self.fresh.lock();
        if fresh.is_empty() {
            fresh.extend(self.kronos.create_events(BATCH as u32)?);
        }
        let event = fresh.pop().ok_or_else(|| KronosError::Exhausted("no event was made".into()))?;
        drop(fresh);
        self.release(BATCH)?;
        Ok(Held { event, spent: self.spent.clone() })
    }

    /// Gives back what nobody uses any more, if there is so much of it.
    fn release(&self, at_least: usize) -> Result<(), KronosError> {
        let mut spent = self.spent.lock();
        if spent.len() < at_least {
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
