//! Plans of traversals, by their shape: two that differ in constants alone share one (see [`gremlin::shape`]).
//!
//! Each entry keeps the traversal it was made for, so that a hash collision of two shapes does no harm; a shape without a plan is cached too. Cost of
//! a look-up: the traversal is read twice, and nothing is printed.

use super::outcome::{AnswerError, Params};
use super::stored_value;
use super::texts::{Known, TextOutcome, Texts};
use execute::{PLANS_MAX, Prepared};
use gremlin::{Bindings, Request, ResultKind, Traversal, shape};
use hashbrown::HashMap;
use parking_lot::Mutex;
use plan::StatementKind;
use std::sync::Arc;
use store::Snapshot;

/// A traversal with more instructions is not worth keeping.
const INSTRUCTIONS_MAX: usize = 1_000;
/// Nor one that holds more bytes.
const TRAVERSAL_BYTES_MAX: usize = 64 * 1024;

/// A traversal's plan.
#[derive(Clone)]
pub struct PlannedTraversal {
    /// The plan.
    pub planned: Arc<Prepared>,
    /// The kind of objects that its rows become.
    pub result: Arc<ResultKind>,
    /// Does the machine do less, since it puts equal traversers together?
    bulks: bool,
    /// Keys the catalogue knew: a new one may say that a value is no longer plain (see [`stored_value`]).
    keys: usize,
}

impl PlannedTraversal {
    /// Of a plan that was made for this snapshot.
    pub fn new(planned: Prepared, result: Arc<ResultKind>, snapshot: &Snapshot) -> PlannedTraversal {
        PlannedTraversal { planned: Arc::new(planned), result, bulks: false, keys: keys_known(snapshot) }
    }
    /// Is it still valid for the graph, and for the values of its properties?
    pub fn is_fresh(&self, snapshot: &Snapshot) -> bool {
        self.keys == keys_known(snapshot) && self.planned.is_fresh(snapshot)
    }
}

fn keys_known(snapshot: &Snapshot) -> usize {
    snapshot.catalog().names().keys().len()
}

/// Fewer rows are not worth a thought.
const ROWS_MIN: f64 = 100_000.0;
/// The machine is used if a plan has this many times more rows than there are traversers: a plan has many executors, and a row costs less.
const BULK_GAIN_MIN: f64 = 32.0;

struct PlannedEntry {
    made_for: Traversal,
    /// None where the algebra cannot say it.
    plan: Option<PlannedTraversal>,
}

/// Plans that were made; all are forgotten when there are too many.
#[derive(Default)]
pub struct Plans {
    texts: Texts,
    kept: Mutex<HashMap<u64, Arc<PlannedEntry>, foldhash::fast::RandomState>>,
}

impl Plans {
    fn get(&self, hash: u64, traversal: &Traversal, snapshot: &Snapshot) -> Option<Arc<PlannedEntry>> {
        let entry = self.kept.lock().get(&hash).cloned()?;
        let fresh = entry.plan.as_ref().is_none_or(|plan| plan.is_fresh(snapshot));
        (fresh && shape::is_same(&entry.made_for, traversal)).then_some(entry)
    }
    fn put(&self, hash: u64, entry: PlannedEntry) {
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

/// The result of a text.
pub enum Script {
    /// A repeated text: its plan, with these parameters.
    Planned(Arc<Known>, Params),
    /// It was read.
    Requests(Vec<Request>),
}

impl Plans {
    /// The plan of a traversal, cached or made now; none where the algebra cannot express it.
    ///
    /// # Errors
    /// The traversal is wrong, or cannot be planned.
    pub fn plan(
        &self,
        traversal: &Traversal,
        snapshot: &Snapshot,
    ) -> Result<Option<PlannedTraversal>, AnswerError> {
        let Some(facts) = stored_value::facts(snapshot, traversal) else { return Ok(None) };
        let hash = shape::hash(traversal);
        if let Some(entry) = self.get(hash, traversal, snapshot) {
            return Ok(entry.plan.clone().filter(|plan| !plan.bulks));
        }
        gremlin::check(traversal)?;
        let plan = match gremlin::lower_with(traversal, &facts.wide) {
            Some(lowered) => {
                let planning = execute::planning::SnapshotPlanning::new(snapshot.clone());
                let statement = plan::optimize(lowered.statement, &planning)?;
                let planned = Prepared::new(statement, false, snapshot);
                let bulks = bulks(traversal, &planned, snapshot);
                let result = Arc::new(lowered.result);
                Some(PlannedTraversal { bulks, ..PlannedTraversal::new(planned, result, snapshot) })
            }
            None => None,
        };
        self.put(hash, PlannedEntry { made_for: traversal.clone(), plan: plan.clone() });
        Ok(plan.filter(|plan| !plan.bulks))
    }
    /// Parses a text, or, if it was planned before with bindings of the same kinds, finds its plan.
    ///
    /// # Errors
    /// The text cannot be parsed.
    pub fn read(&self, text: &str, bindings: &Bindings, snapshot: &Snapshot) -> Result<Script, AnswerError> {
        match self.texts.get(text, bindings, snapshot) {
            TextOutcome::Planned(known, params) => Ok(Script::Planned(known, params)),
            TextOutcome::Parsed => Ok(Script::Requests(gremlin::parse(text, bindings)?)),
            TextOutcome::New => {
                let requests = gremlin::parse(text, bindings)?;
                let known = match requests.as_slice() {
                    [Request::Traversal(traversal, terminal)] => {
                        // what is wrong with it is told when it runs
                        let plan = self.plan(traversal, snapshot).ok().flatten();
                        plan.and_then(|plan| Known::of(text, bindings, (traversal, *terminal), plan))
                    }
                    _ => None,
                };
                self.texts.put(text, known);
                Ok(Script::Requests(requests))
            }
        }
    }
}

/// Does the machine do much less than a plan would? A plan goes through every path; equal traversers are merged, so at each step there are at most as
/// many as positions, times the objects that each of their labels may stand for.
fn bulks(traversal: &Traversal, planned: &Prepared, snapshot: &Snapshot) -> bool {
    let StatementKind::Query { plan, .. } = &planned.statement.kind else { return false };
    let planning = execute::planning::SnapshotPlanning::new(snapshot.clone());
    let rows: f64 = plan::estimate::estimates(plan, &planning).iter().sum();
    if rows < ROWS_MIN {
        return false;
    }
    let Ok(compiled) = crate::compile(traversal) else { return false };
    if !compiled.bulks() {
        return false;
    }
    let statistics = snapshot.statistics();
    let places = (statistics.vertices() as f64).powi(compiled.labels_max as i32);
    let traversers = places * (statistics.vertices() + statistics.edges()) as f64;
    rows > BULK_GAIN_MIN * traversers * compiled.program.steps.len() as f64
}

/// The constants of a traversal as the parameters of its plan.
pub fn params(traversal: &Traversal, planned: &Prepared) -> Params {
    let names = planned.statement.parameters.iter().cloned();
    names.zip(shape::constants(traversal).iter().map(shape::Constant::value)).collect()
}
