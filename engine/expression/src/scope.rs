//! The environment of an evaluation: the graph as of one snapshot, and the request's data (parameters, its two times, randomness).

use super::error::EvalError;
use super::graph::{Graph, deleted_edge};
use super::metered;
use super::node::ConstantSet;
use super::operators::full_match;
use model::{EdgeRef, ListValue, Value};
use parking_lot::Mutex;
use plan::expr::Name;
use regex::Regex;
use std::collections::HashMap;
use std::sync::Arc;
use world::chance::Chance;

/// The parameters of a request by name.
pub type Parameters = HashMap<Name, Value>;

/// Constant for a whole request, shared by every executor that works on it.
#[derive(Debug)]
pub struct Request {
    /// The parameters that were given.
    pub parameters: Arc<Parameters>,
    /// Wall time at which the transaction began, microseconds since 1970 UTC.
    pub transaction_us: i64,
    /// Wall time at which the statement began, microseconds since 1970 UTC.
    pub statement_us: i64,
    /// May entities in rows be gone from the graph? Only where the statement deletes: then reading an edge first tests whether it exists. (Vertices
    /// need no such test: the store knows a deleted one.)
    pub may_delete: bool,
    /// The generator of `rand()` and `randomUUID()`, once one of them was called.
    chance: Mutex<Option<Chance>>,
    regexes: Mutex<HashMap<Arc<str>, Arc<Regex>>>,
    /// Sets of lists that are searched batch after batch, the latest last.
    sets: Mutex<Vec<Arc<ConstantSet>>>,
}

/// Compiled regular expressions a request keeps, where patterns come from rows; when there are more, it forgets them all.
const REGEXES_KEPT_MAX: usize = 64;
/// Sets of lists a request keeps, and elements of a list whose set it keeps: some four megabytes each.
const SETS_KEPT_MAX: usize = 4;
const SET_ELEMENTS_MAX: usize = 1 << 16;

impl Request {
    /// The same for a statement that deletes nothing.
    pub fn without_deletes(self) -> Request {
        Request { may_delete: false, ..self }
    }
    /// A request that begins now, in a transaction that began at `transaction_us`, or now.
    pub fn begin(parameters: impl Into<Arc<Parameters>>, transaction_us: Option<i64>) -> Request {
        let statement_us = i64::try_from(world::clock::wall_us()).unwrap_or(i64::MAX);
        let chance = Mutex::new(None);
        Request {
            parameters: parameters.into(),
            transaction_us: transaction_us.unwrap_or(statement_us),
            statement_us,
            may_delete: true,
            chance,
            regexes: Mutex::default(),
            sets: Mutex::default(),
        }
    }
    /// A request whose clock stands still and whose chance is seeded: for tests and simulations.
    pub fn fixed(parameters: impl Into<Arc<Parameters>>, wall_us: i64, seed: u64) -> Request {
        let chance = Mutex::new(Some(Chance::seeded(seed)));
        let regexes = Mutex::default();
        Request {
            parameters: parameters.into(),
            transaction_us: wall_us,
            statement_us: wall_us,
            may_delete: true,
            chance,
            regexes,
            sets: Mutex::default(),
        }
    }
    /// A draw by chance; locked for it.
    pub(super) fn draw<T>(&self, draw: impl FnOnce(&mut Chance) -> T) -> T {
        draw(self.chance.lock().get_or_insert_with(Chance::from_system))
    }
    /// The set of a list that rows hold, if it is known.
    pub(super) fn known_set(&self, list: &ListValue) -> Option<Arc<ConstantSet>> {
        let is_of = |set: &&Arc<ConstantSet>| matches!(&set.list, Value::List(known) if known.is_same(list));
        self.sets.lock().iter().find(is_of).cloned()
    }
    /// The set of a list that rows hold, made once for all batches of them.
    pub(super) fn set(&self, list: ListValue) -> Result<Arc<ConstantSet>, EvalError> {
        if let Some(set) = self.known_set(&list) {
            return Ok(set);
        }
        metered::elements(list.len())?;
        let is_kept = list.len() <= SET_ELEMENTS_MAX;
        let set = Arc::new(ConstantSet::new(list));
        if is_kept {
            let mut sets = self.sets.lock();
            if sets.len() >= SETS_KEPT_MAX {
                sets.remove(0);
            }
            sets.push(set.clone());
        }
        Ok(set)
    }
    /// A full-match regular expression, compiled once for all rows that bring the same pattern.
    pub(super) fn regex(&self, pattern: &Arc<str>) -> Result<Arc<Regex>, EvalError> {
        let mut kept = self.regexes.lock();
        if let Some(regex) = kept.get(pattern) {
            return Ok(regex.clone());
        }
        let regex = Arc::new(full_match(pattern)?);
        if kept.len() >= REGEXES_KEPT_MAX {
            kept.clear();
        }
        kept.insert(pattern.clone(), regex.clone());
        Ok(regex)
    }
}

/// The inputs of an evaluation besides its rows. Two words to build, so operators build one for each batch.
#[derive(Clone, Copy)]
pub struct Scope<'a> {
    /// The graph as of the statement's view (a `store::Snapshot`).
    pub graph: &'a dyn Graph,
    /// The request it belongs to.
    pub request: &'a Request,
}

impl<'a> Scope<'a> {
    /// Must be called before a property of an edge is read.
    pub(super) fn check_edge(&self, edge: EdgeRef) -> Result<(), EvalError> {
        if !self.request.may_delete || self.graph.edge_exists(edge)? {
            Ok(())
        } else {
            Err(deleted_edge(edge.id))
        }
    }
    /// The value of a parameter.
    pub(super) fn parameter(&self, name: &Name) -> Result<&'a Value, EvalError> {
        self.request.parameters.get(name).ok_or_else(|| EvalError::parameter_missing(name))
    }
    /// A scope over this graph.
    pub fn new(graph: &'a dyn Graph, request: &'a Request) -> Scope<'a> {
        Scope { graph, request }
    }
}
