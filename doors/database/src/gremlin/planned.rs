//! Plans of traversals, by their shape: two that differ in constants alone share one (see [`gremlin::shape`]).
//!
//! Kept with each is the traversal it was made for, so that a hash that two shapes share misleads nobody; and that a shape has no plan
//! is kept too. Cost of a look-up: the traversal is read twice, and nothing is printed.

use super::texts::Texts;
use crate::cache::{PLANS_MAX, Planned};
use crate::{Database, Error, Params};
use gremlin::{ResultKind, Traversal, shape};
use hashbrown::HashMap;
use parking_lot::Mutex;
use std::sync::Arc;
use store::Snapshot;

/// A traversal with more instructions is not worth keeping.
const INSTRUCTIONS_MAX: usize = 1_000;
/// Nor one that holds more bytes.
const TRAVERSAL_BYTES_MAX: usize = 64 * 1024;

/// A traversal's plan.
#[derive(Clone)]
pub(crate) struct PlannedTraversal {
    pub planned: Arc<Planned>,
    pub result: Arc<ResultKind>,
}

struct Entry {
    made_for: Traversal,
    /// None where the algebra cannot say it.
    plan: Option<PlannedTraversal>,
}

/// Plans that were made; all are forgotten when there are too many.
#[derive(Default)]
pub(crate) struct Plans {
    texts: Texts,
    kept: Mutex<HashMap<u64, Arc<Entry>, foldhash::fast::RandomState>>,
}

impl Plans {
    /// The texts that were asked.
    pub fn texts(&self) -> &Texts {
        &self.texts
    }
    fn get(&self, hash: u64, traversal: &Traversal, snapshot: &Snapshot) -> Option<Arc<Entry>> {
        let entry = self.kept.lock().get(&hash).cloned()?;
        let fresh = entry.plan.as_ref().is_none_or(|plan| plan.planned.is_fresh(snapshot));
        (fresh && shape::is_same(&entry.made_for, traversal)).then_some(entry)
    }
    fn put(&self, hash: u64, entry: Entry) {
        let made_for = &entry.made_for;
        if made_for.instruction_count() > INSTRUCTIONS_MAX || made_for.weight() > TRAVERSAL_BYTES_MAX {
            return;
        }
        let mut kept = self.kept.lock();
        if kept.len() >= PLANS_MAX {
            kept.clear();
        }
        kept.insert(hash, Arc::new(entry));
    }
}

impl Database {
    /// The plan of a traversal, from the cache or made now; none where the algebra cannot say it.
    pub(crate) fn plan_gremlin(
        &self,
        traversal: &Traversal,
        snapshot: &Snapshot,
    ) -> Result<Option<PlannedTraversal>, Error> {
        let hash = shape::hash(traversal);
        if let Some(entry) = self.traversals().get(hash, traversal, snapshot) {
            return Ok(entry.plan.clone());
        }
        gremlin::check(traversal)?;
        let plan = match gremlin::lower(traversal) {
            Some(lowered) => {
                let planning = execute::planning::SnapshotPlanning::new(snapshot.clone());
                let statement = plan::optimize(lowered.statement, &planning)?;
                let planned = Arc::new(Planned::new(statement, false, snapshot));
                Some(PlannedTraversal { planned, result: Arc::new(lowered.result) })
            }
            None => None,
        };
        self.traversals().put(hash, Entry { made_for: traversal.clone(), plan: plan.clone() });
        Ok(plan)
    }
}

/// The constants of a traversal as the parameters of its plan.
pub(crate) fn params(traversal: &Traversal, planned: &Planned) -> Params {
    let names = planned.statement.parameters.iter().cloned();
    names.zip(shape::constants(traversal).iter().map(shape::Constant::value)).collect()
}
