//! The runtime: starts the executors, takes queries, lists and cancels them.

use crate::limits::{OUTPUT_BATCHES_MAX_DEFAULT, QUERY_BYTES_MAX_DEFAULT, QUOTA_NS_DEFAULT};
use crate::{Graph, Message, QueryHandle, QueryId, QueryInfo, Root, RootHandle};
use std::marker::PhantomData;
use std::time::Duration;

/// A tenant: who pays for a query. Tenants need no declaration; an unknown one has a share of 100.
pub type TenantNo = u32;

/// How the runtime runs.
#[derive(Clone, Debug)]
pub struct RuntimeOptions {
    /// Executor threads; one a core.
    pub executors: usize,
    /// CPU time of one turn.
    pub quota: Duration,
    /// Pin executors to cores where the machine allows.
    pub pin: bool,
    /// Thread name prefix.
    pub name: String,
}

impl Default for RuntimeOptions {
    fn default() -> RuntimeOptions {
        RuntimeOptions {
            executors: world::workers::cores(),
            quota: Duration::from_nanos(QUOTA_NS_DEFAULT),
            pin: true,
            name: "executor".to_string(),
        }
    }
}

/// How one query runs.
#[derive(Clone, Debug)]
pub struct QueryOptions {
    /// Who pays.
    pub tenant: TenantNo,
    /// What to call it in lists.
    pub label: String,
    /// End it with `TimedOut` after this long.
    pub deadline: Option<Duration>,
    /// End it with `OverBudget` when it holds more.
    pub bytes_max: u64,
    /// Batches that may wait for the client; at least 1.
    pub output_batches_max: usize,
}

impl Default for QueryOptions {
    fn default() -> QueryOptions {
        QueryOptions {
            tenant: 0,
            label: String::new(),
            deadline: None,
            bytes_max: QUERY_BYTES_MAX_DEFAULT,
            output_batches_max: OUTPUT_BATCHES_MAX_DEFAULT,
        }
    }
}

/// The executors and the queries on them. Dropping it cancels what runs and joins the threads.
pub struct Runtime<M: Message> {
    marker: PhantomData<M>,
}

impl<M: Message> Runtime<M> {
    /// Starts the executors.
    ///
    /// # Errors
    /// When the system refuses threads.
    pub fn start(options: RuntimeOptions) -> std::io::Result<Runtime<M>> {
        let _ = options;
        unimplemented!()
    }
    /// Number of executors.
    pub fn executors(&self) -> usize {
        unimplemented!()
    }
    /// Starts a query. Its home executor is the one with the fewest queries at home.
    pub fn submit(&self, graph: Graph<M>, options: QueryOptions) -> QueryHandle<M> {
        let _ = (graph, options);
        unimplemented!()
    }
    /// The queries that run now, oldest first.
    pub fn queries(&self) -> Vec<QueryInfo> {
        unimplemented!()
    }
    /// Cancels a query; false if no such query runs.
    pub fn cancel(&self, id: QueryId, reason: &str) -> bool {
        let _ = (id, reason);
        unimplemented!()
    }
    /// Sets a tenant's share of each executor, relative to the shares of others that have work; default 100, at least 1.
    pub fn set_share(&self, tenant: TenantNo, share: u32) {
        let _ = (tenant, share);
        unimplemented!()
    }
    /// Hangs other work on every executor, with a share like a tenant's. `factory` is called on each executor's own thread.
    pub fn add_root<F>(&self, share: u32, factory: F) -> RootHandle
    where
        F: Fn(usize) -> Box<dyn Root> + Send + Sync + 'static,
    {
        let _ = (share, factory);
        unimplemented!()
    }
}
