//! Cached pipelines of a repeated statement: compiled once; each run brings its own view, transaction and parameters.
//!
//! Idea: most of the cost of a small query is compiling its graph, not running it. A cached pipeline is bound to names and indexes, so it holds the
//! catalogue it was compiled by; a snapshot with another catalogue compiles anew. Parameters are read at run time, except the few that were compiled
//! in (a LIMIT, the list of an IN): a pipeline serves only runs with the same values of these.
//!
//! Each core has its own: what the operators keep is in its caches, and it takes no memory from the others.
//!
//! Invariant: a pipeline is run by one thread at a time and holds nothing of a run between runs. Cost: at most [`PIPELINES_KEPT_MAX`] pipelines a
//! statement, one lock to take one and one to put it back.

use super::{Effects, ExecuteOptions, environment};
use crate::ExecuteError;
use crate::access::{Access, Environment, EnvironmentSlot};
use crate::compile;
use crate::result::ResultStream;
use crate::rows::Rows;
use dataflow::{Pipeline, Tried};
use expression::Parameters;
use model::Value;
use parking_lot::Mutex;
use plan::expr::Name;
use plan::{Plan, Statement, StatementKind};
use std::sync::Arc;
use store::{Catalog, Snapshot};
use world::workers::current_core;

/// Cached pipelines of one statement, for the threads that run it at once and the values that are compiled in; what is more is compiled anew.
pub const PIPELINES_KEPT_MAX: usize = 64;
/// Lists of them: cores with the same remainder share one.
const CORE_LISTS: usize = 8;

/// Facts about a statement before it starts.
pub struct Ready {
    pub(super) titles: Arc<[Name]>,
    pub(super) effects: Effects,
    /// The dispatch policy of searched paths, where the text sets one; or its text, if it is no policy.
    dispatch: Result<Option<paths::DispatchPolicy>, String>,
    pipelines: [CorePipelines; CORE_LISTS],
}

/// Pipelines that ran on one core last; on cache lines of its own.
#[derive(Default)]
#[repr(align(64))]
struct CorePipelines(Mutex<Vec<CachedPipeline>>);

/// A compiled pipeline, and the state it is valid for.
struct CachedPipeline {
    pipeline: Pipeline<Rows>,
    environment_slot: EnvironmentSlot,
    catalog: Catalog,
    /// Parameters that were compiled in.
    fixed: Vec<(Name, Value)>,
    /// Is it right for another run?
    is_kept: bool,
}

impl CachedPipeline {
    fn serves(&self, snapshot: &Snapshot, parameters: &Parameters) -> bool {
        is_same_catalog(&self.catalog, snapshot.catalog())
            && self
                .fixed
                .iter()
                .all(|(name, value)| parameters.get(name).is_some_and(|now| identical(now, value)))
    }
}

/// Do both mean the same by every name, and know the same indexes? Both are alive, so equal addresses mean equal catalogues.
fn is_same_catalog(a: &Catalog, b: &Catalog) -> bool {
    Arc::ptr_eq(a.names(), b.names()) && std::ptr::eq(a.indexes(), b.indexes())
}

/// Are the values the same to the bit? False where that is not plain to see.
fn identical(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Float(a), Value::Float(b)) => a.to_bits() == b.to_bits(),
        (Value::String(a), Value::String(b)) => a == b,
        (Value::List(a), Value::List(b)) => {
            a.is_same(b) || (a.len() == b.len() && a.iter().zip(b.iter()).all(|(a, b)| identical(a, b)))
        }
        _ => false,
    }
}

impl Ready {
    /// Of an optimised statement.
    pub fn new(statement: &Statement) -> Ready {
        let (titles, deletes) = match &statement.kind {
            StatementKind::Query { plan, columns } => (
                columns.iter().map(|(title, _)| title.clone()).collect(),
                plan.any(&mut |plan| matches!(plan, Plan::Delete(_))),
            ),
            _ => (Arc::default(), false),
        };
        let hint = statement.hints.iter().find_map(|hint| hint.strip_prefix(plan::statement::RECURSIVE));
        let dispatch = hint.map(|policy| policy.parse().map_err(|()| policy.to_string())).transpose();
        let effects = Effects { writes: statement.writes(), deletes };
        Ready { titles, effects, dispatch, pipelines: Default::default() }
    }

    /// How sources of searched paths are shared out, where the text says so.
    pub(super) fn dispatch(&self) -> Result<Option<paths::DispatchPolicy>, ExecuteError> {
        let wrong = |text: &String| {
            ExecuteError::WrongType(format!("`recursive` is 1T1S, nT1S, nTkS(k) or nTkMS(k), not {text}"))
        };
        self.dispatch.as_ref().map(|policy| *policy).map_err(wrong)
    }

    /// Column titles.
    pub fn titles(&self) -> &Arc<[Name]> {
        &self.titles
    }

    /// Tries the statement on this thread: for one that is likely to be very short. None if it is not for this thread: too long, too large, or with
    /// scopes. If the statement writes, the caller then rolls back the transaction.
    ///
    /// # Errors
    /// As [`Execution::start`](super::Execution::start).
    pub fn try_here(
        &self,
        statement: &Statement,
        access: Access,
        parameters: &Arc<Parameters>,
        options: &ExecuteOptions,
    ) -> Result<Option<ResultStream>, ExecuteError> {
        let run = environment(access, parameters.clone(), options, (self.effects, self.dispatch()?));
        let Some(mut kept) = self.take(statement, &run)? else { return Ok(None) };
        kept.environment_slot.set(Some(run.clone()));
        let tried = kept.pipeline.run(options.bytes_max);
        kept.environment_slot.set(None);
        self.put_back(kept);
        let outcome = match tried {
            Tried::Done(batches) => Ok(batches),
            Tried::Failed(fault) => Err(fault),
            Tried::Unfinished => return Ok(None),
        };
        Ok(Some(ResultStream::of_done(outcome, self.titles.clone(), run)))
    }

    /// A pipeline for this run, cached or compiled now.
    fn take(
        &self,
        statement: &Statement,
        run: &Arc<Environment>,
    ) -> Result<Option<CachedPipeline>, ExecuteError> {
        let (snapshot, parameters) = (run.view(), &run.request.parameters);
        let here = current_core();
        for list in 0..CORE_LISTS {
            let mut pipelines = self.pipelines[(here + list) % CORE_LISTS].0.lock();
            if let Some(at) = pipelines.iter().rposition(|kept| kept.serves(&snapshot, parameters)) {
                return Ok(Some(pipelines.swap_remove(at)));
            }
        }
        let StatementKind::Query { plan, columns } = &statement.kind else { return Ok(None) };
        let environment_slot = EnvironmentSlot::kept(run.batch_rows);
        if statement.physical.has_scopes() {
            return Ok(None);
        }
        let physical = (&statement.physical, statement.variables.len());
        let compiled =
            compile::statement((plan, columns), physical, run, environment_slot.clone(), 1, false)?;
        let fixed = compiled.fixed.map(|names| {
            let values = names.into_iter().map(|name| (name.clone(), parameters.get(&name).cloned()));
            values.filter_map(|(name, value)| Some((name, value?))).collect()
        });
        let catalog = snapshot.catalog().clone();
        let scoped = || ExecuteError::Plan("a scope stands in a pipeline".to_string());
        let graph = compiled.graph.into_pipeline(false).ok_or_else(scoped)?;
        let pipeline = Pipeline::new(&Arc::new(graph));
        // Names that a transaction of a cluster's gate gives are its own until it commits, and its numbers for them mean something else to others.
        let holds_own_names = snapshot.names().has_own_beyond(catalog.names());
        let (is_kept, fixed) = (fixed.is_some() && !holds_own_names, fixed.unwrap_or_default());
        Ok(Some(CachedPipeline { pipeline, environment_slot, catalog, fixed, is_kept }))
    }

    fn put_back(&self, kept: CachedPipeline) {
        if !kept.is_kept {
            return;
        }
        let (here, most) = (current_core(), PIPELINES_KEPT_MAX / CORE_LISTS);
        // Where one core runs many, others have room.
        for number in 0..CORE_LISTS {
            let mut pipelines = self.pipelines[(here + number) % CORE_LISTS].0.lock();
            if pipelines.len() < most {
                return pipelines.push(kept);
            }
        }
        let mut pipelines = self.pipelines[here % CORE_LISTS].0.lock();
        if pipelines.len() >= most {
            pipelines.remove(0);
        }
        pipelines.push(kept);
    }
}
