//! How one query runs.

use crate::terms::ids::{QueryId, TenantNo, UserNo};
use crate::terms::limits::{OUTPUT_BATCHES_MAX_DEFAULT, QUERY_BYTES_MAX_DEFAULT};
use std::time::Duration;

/// How one query runs.
#[derive(Clone, Debug)]
pub struct QueryOptions {
    /// Who pays.
    pub tenant: TenantNo,
    /// Which of the tenant's users asks.
    pub user: UserNo,
    /// What to call it in lists.
    pub label: String,
    /// End it with `TimedOut` after this long.
    pub deadline: Option<Duration>,
    /// End it with `OverBudget` when it holds more.
    pub bytes_max: u64,
    /// Batches that may wait for the client; at least 1.
    pub output_batches_max: usize,
    /// It is a part of this query, which stands for it in lists and has a place for it, and with which it ends.
    pub part_of: Option<QueryId>,
    /// It waits in line where its accounts have no room for it now. One that says what keeps others waiting does not.
    pub waits: bool,
}

impl Default for QueryOptions {
    fn default() -> QueryOptions {
        QueryOptions {
            tenant: 0,
            user: 0,
            label: String::new(),
            deadline: None,
            bytes_max: QUERY_BYTES_MAX_DEFAULT,
            output_batches_max: OUTPUT_BATCHES_MAX_DEFAULT,
            part_of: None,
            waits: true,
        }
    }
}
