//! Options of a query.

use crate::terms::ids::{QueryId, TenantNo, UserNo};
use crate::terms::limits::{OUTPUT_BATCHES_MAX_DEFAULT, QUERY_BYTES_MAX_DEFAULT};
use std::time::Duration;

/// How one query runs.
#[derive(Clone, Debug)]
pub struct QueryOptions {
    /// The tenant that is charged.
    pub tenant: TenantNo,
    /// The tenant's user who runs it.
    pub user: UserNo,
    /// Its name in lists.
    pub label: String,
    /// End it with `TimedOut` after this long.
    pub deadline: Option<Duration>,
    /// End it with `OverBudget` when it holds more.
    pub bytes_max: u64,
    /// Batches that may wait for the client; at least 1.
    pub output_batches_max: usize,
    /// The query of which it is a part: that one is listed and admitted in its stead, and ends it with itself.
    pub part_of: Option<QueryId>,
    /// It waits in the admission queue if its accounts have no room. A query that shows what occupies them should not.
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
