//! The columns of a projection as later clauses may use them: while columns that aggregate are lowered, and while sort keys are.

use plan::Vars;
use plan::algebra::AggregateCall;
use plan::expr::Var;

use super::entries::Entries;
use super::types::Type;
use crate::ast::Expression;

/// The state while columns that aggregate are lowered.
pub(crate) struct Aggregation {
    pub keys: Entries<Expression, Key>,
    /// The columns of those keys.
    pub key_columns: Vars,
    /// The aggregates found so far.
    pub calls: Entries<AggregateCall, Var>,
    /// Inside the arguments of an aggregate, where rows are seen, not groups.
    pub inside: bool,
}

/// A grouping column.
pub(crate) struct Key {
    pub var: Var,
    pub kind: Type,
}

/// The columns that a sort key, or the condition after them, may mean by their expressions.
pub(crate) struct Sorting {
    pub columns: SortColumns,
}

/// Columns by the expressions that compute them.
pub(crate) type SortColumns = Entries<Expression, SortColumn>;

/// A column that a sort key may mean.
pub(crate) struct SortColumn {
    pub var: Var,
    pub kind: Type,
}
