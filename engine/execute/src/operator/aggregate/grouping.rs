//! The definition of an aggregation, and the keys and arguments of rows, shared by all its parts.

use crate::scope_rows::ScopeRows;
use crate::spill::{PARTS, part_of};
use crate::turn::{ExecutionContext, Try};
use expression::{Compiled, hash_columns};
use model::Batch;
use model::batch::Carried;
use plan::AggregateFunction;
use std::sync::Arc;

pub(super) struct Call {
    pub(super) function: AggregateFunction,
    pub(super) distinct: bool,
    pub(super) arguments: Vec<Compiled>,
}

pub(super) struct Grouping {
    pub(super) keys: Vec<Compiled>,
    pub(super) calls: Vec<Call>,
    /// One group that is there without any row.
    pub(super) single: bool,
    /// Inside a sub-query, without keys of its own: the outer rows of each instance.
    pub(super) every: Option<Arc<ScopeRows>>,
    /// Columns whose vertices and edges the keys and arguments read.
    pub(super) looks_at: Vec<usize>,
}

/// The keys and the arguments of the calls, of the rows of a batch.
pub(super) struct Evaluated {
    pub(super) keys: Vec<Carried>,
    /// By call.
    pub(super) arguments: Vec<Vec<Carried>>,
    pub(super) len: usize,
}

impl Evaluated {
    pub(super) fn new(plan: &Grouping, batch: &Batch, execution: &mut ExecutionContext) -> Try<Evaluated> {
        let scope = execution.scope();
        let all = |expressions: &[Compiled]| {
            let values = expressions.iter().map(|expression| expression.evaluate_carried(batch, &scope));
            values.collect::<Result<Vec<Carried>, _>>()
        };
        let arguments = plan.calls.iter().map(|call| all(&call.arguments)).collect::<Result<_, _>>()?;
        Ok(Evaluated { keys: all(&plan.keys)?, arguments, len: batch.len() })
    }
    /// As columns of a batch, keys first.
    pub(super) fn batch(&self) -> Batch {
        let mut batch = Batch::new(Vec::new(), self.len);
        let columns = self.keys.iter().chain(self.arguments.iter().flatten());
        columns.for_each(|column| batch.push_carried(column.clone()));
        batch
    }
    /// The rows of each part.
    pub(super) fn rows_of_parts(&self) -> [Vec<u32>; PARTS] {
        let mut hashes = Vec::new();
        hash_columns(&self.keys, self.len, &mut hashes);
        let mut of_part: [Vec<u32>; PARTS] = Default::default();
        hashes.iter().zip(0..).for_each(|(hash, row)| of_part[part_of(*hash)].push(row));
        of_part
    }
    /// Evaluates the keys and arguments of a batch.
    pub(super) fn of(plan: &Grouping, batch: &Batch) -> Evaluated {
        let mut columns = (0..batch.width()).map(|at| batch.column(at).clone());
        let keys = columns.by_ref().take(plan.keys.len()).collect();
        let of_call = |call: &Call| columns.by_ref().take(call.arguments.len()).collect();
        Evaluated { keys, arguments: plan.calls.iter().map(of_call).collect(), len: batch.len() }
    }
    pub(super) fn width(plan: &Grouping) -> usize {
        plan.keys.len() + plan.calls.iter().map(|call| call.arguments.len()).sum::<usize>()
    }
}
