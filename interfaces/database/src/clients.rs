//! Open transactions and their clients, as SHOW TRANSACTIONS lists and TERMINATE ends them.
//!
//! An explicit transaction is listed from its beginning to its end, whether a statement of it runs or not; an auto-commit statement while it runs on
//! executors. Invariant: a transaction is in the list exactly as long as its [`Listed`] lives.

use model::Value;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};

/// Bytes of the metadata that a client may attach to a transaction.
pub(crate) const METADATA_BYTES_MAX: usize = 64 << 10;

/// How a client is connected, as the interface names it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Client {
    /// Such as `bolt-7`.
    pub connection_id: Arc<str>,
    /// Its address and port.
    pub address: Arc<str>,
}

/// All transactions that are open.
#[derive(Debug, Default)]
pub(crate) struct Transactions {
    last: AtomicU64,
    open: Mutex<BTreeMap<u64, Weak<Listed>>>,
}

/// An open transaction; it leaves the list when it is dropped.
#[derive(Debug)]
pub(crate) struct Listed {
    /// Counted from 1.
    pub number: u64,
    pub began_us: u64,
    pub client: Client,
    pub user: Option<String>,
    /// Metadata from the client: a map.
    pub metadata: Value,
    queries: Mutex<BTreeSet<u64>>,
    terminated: AtomicBool,
    list: Arc<Transactions>,
}

/// A query of a transaction that runs on executors.
pub(crate) struct RunningPart {
    of: Arc<Listed>,
    query: u64,
}

impl Transactions {
    /// Lists a transaction from now on.
    pub fn begin(self: &Arc<Self>, client: Client, user: Option<String>, metadata: Value) -> Arc<Listed> {
        let number = self.last.fetch_add(1, Ordering::AcqRel) + 1;
        let listed = Arc::new(Listed {
            number,
            began_us: world::clock::wall_us(),
            client,
            user,
            metadata,
            queries: Mutex::default(),
            terminated: AtomicBool::new(false),
            list: self.clone(),
        });
        self.open.lock().insert(number, Arc::downgrade(&listed));
        listed
    }
    /// Those that are open, in the order in which they began.
    pub fn all(&self) -> Vec<Arc<Listed>> {
        // The last holder of one may be here, and dropping it takes the lock.
        let open: Vec<Weak<Listed>> = self.open.lock().values().cloned().collect();
        open.iter().filter_map(Weak::upgrade).collect()
    }
    /// The one of this number.
    pub fn find(&self, number: u64) -> Option<Arc<Listed>> {
        let found = self.open.lock().get(&number).cloned();
        found?.upgrade()
    }
}

impl Listed {
    /// A query of it starts.
    pub fn runs(self: &Arc<Self>, query: u64) -> RunningPart {
        self.queries.lock().insert(query);
        RunningPart { of: self.clone(), query }
    }
    /// The numbers of its queries that run.
    pub fn queries(&self) -> Vec<u64> {
        self.queries.lock().iter().copied().collect()
    }
    /// From now on it can only be rolled back.
    pub fn terminate(&self) {
        self.terminated.store(true, Ordering::Release);
    }
    /// Was it ended by another session?
    pub fn is_terminated(&self) -> bool {
        self.terminated.load(Ordering::Acquire)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.list.open.lock().remove(&self.number);
    }
}

impl Drop for RunningPart {
    fn drop(&mut self) {
        self.of.queries.lock().remove(&self.query);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transactions_are_listed_while_somebody_holds_them() {
        let list = Arc::new(Transactions::default());
        let begin = || list.begin(Client::default(), None, Value::Null);
        let (first, second) = (begin(), begin());
        let part = second.runs(7);
        assert_eq!(second.queries(), [7]);
        drop(second);
        assert_eq!(list.all().iter().map(|one| one.number).collect::<Vec<_>>(), [1, 2]);
        drop(part);
        first.terminate();
        assert!(list.find(1).unwrap().is_terminated() && list.find(2).is_none());
        drop(first);
        assert!(list.all().is_empty() && list.open.lock().is_empty());
    }
}
