//! The client for programs without tokio: the same calls, which block. It brings one thread of its own, for the connections and the lease.

use crate::{Assigned, Constraint, Event, KronosError, Options, Order, Stats};
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};

/// A client of the service. Cheap to clone; clones share one session and may call from several threads at once. Not for use inside of
/// async code, which it would block: there take [`crate::Kronos`].
#[derive(Clone)]
pub struct Kronos {
    // Dropped before the runtime that its connections run on.
    client: crate::Kronos,
    runtime: Arc<Runtime>,
}

impl Kronos {
    /// See [`crate::Kronos::connect`].
    ///
    /// # Errors
    /// As there.
    pub fn connect(address: impl Into<String>) -> Result<Kronos, KronosError> {
        Kronos::connect_with(Options::new([address]))
    }
    /// See [`crate::Kronos::connect_with`].
    ///
    /// # Errors
    /// As there; or no thread can be had.
    pub fn connect_with(options: Options) -> Result<Kronos, KronosError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("kronos-client")
            .enable_all()
            .build()
            .map_err(|error| KronosError::Options(format!("no thread can be started: {error}")))?;
        let client = runtime.block_on(crate::Kronos::connect_with(options))?;
        Ok(Kronos { client, runtime: Arc::new(runtime) })
    }
    /// See [`crate::Kronos::create_events`].
    ///
    /// # Errors
    /// As there.
    pub fn create_events(&self, count: u32) -> Result<Vec<Event>, KronosError> {
        self.runtime.block_on(self.client.create_events(count))
    }
    /// See [`crate::Kronos::create_event`].
    ///
    /// # Errors
    /// As there.
    pub fn create_event(&self) -> Result<Event, KronosError> {
        self.runtime.block_on(self.client.create_event())
    }
    /// See [`crate::Kronos::acquire_refs`].
    ///
    /// # Errors
    /// As there.
    pub fn acquire_refs(&self, events: &[Event]) -> Result<(), KronosError> {
        self.runtime.block_on(self.client.acquire_refs(events))
    }
    /// See [`crate::Kronos::release_refs`].
    ///
    /// # Errors
    /// As there.
    pub fn release_refs(&self, events: &[Event]) -> Result<u64, KronosError> {
        self.runtime.block_on(self.client.release_refs(events))
    }
    /// See [`crate::Kronos::query_order`].
    ///
    /// # Errors
    /// As there.
    pub fn query_order(&self, pairs: &[(Event, Event)]) -> Result<Vec<Order>, KronosError> {
        self.runtime.block_on(self.client.query_order(pairs))
    }
    /// See [`crate::Kronos::assign_order`].
    ///
    /// # Errors
    /// As there.
    pub fn assign_order(&self, constraints: &[Constraint]) -> Result<Vec<Assigned>, KronosError> {
        self.runtime.block_on(self.client.assign_order(constraints))
    }
    /// See [`crate::Kronos::stats`].
    ///
    /// # Errors
    /// As there.
    pub fn stats(&self) -> Result<Stats, KronosError> {
        self.runtime.block_on(self.client.stats())
    }
    /// See [`crate::Kronos::change_members`].
    ///
    /// # Errors
    /// As there.
    pub fn change_members(&self, address: &str, remove: bool) -> Result<(), KronosError> {
        self.runtime.block_on(self.client.change_members(address, remove))
    }
    /// Ordered pairs that are remembered.
    pub fn cached_pairs(&self) -> usize {
        self.client.cached_pairs()
    }
    /// See [`crate::Kronos::is_over`].
    pub fn is_over(&self) -> bool {
        self.client.is_over()
    }
    /// See [`crate::Kronos::close`].
    ///
    /// # Errors
    /// As there.
    pub fn close(self) -> Result<(), KronosError> {
        self.runtime.block_on(self.client.close())
    }
}
