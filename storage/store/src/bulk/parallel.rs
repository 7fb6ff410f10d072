//! A parallel for over threads of the caller.

use crate::StoreError;
use parking_lot::Mutex;

/// A parallel for: calls its second argument once with every number below its first, from any threads, and returns when all
/// calls are done.
pub type Parallel<'a> = &'a dyn Fn(usize, &(dyn Fn(usize) + Sync));

/// Runs `count` fallible tasks and collects their results, in order.
pub(super) fn run<T: Send>(
    parallel: Parallel<'_>,
    count: usize,
    task: &(dyn Fn(usize) -> Result<T, StoreError> + Sync),
) -> Result<Vec<T>, StoreError> {
    let results: Vec<Mutex<Option<Result<T, StoreError>>>> = (0..count).map(|_| Mutex::new(None)).collect();
    parallel(count, &|at| *results[at].lock() = Some(task(at)));
    let result =
        |cell: Mutex<Option<Result<T, StoreError>>>| cell.into_inner().expect("the caller ran every task");
    results.into_iter().map(result).collect()
}
