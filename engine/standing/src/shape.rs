//! The shape of a standing query: a list of steps, each a collection of rows computed from earlier ones.
//!
//! `analysis` makes it of a plan, and `network` builds operators from it. Every property that an expression reads has become a column by then (an
//! [`Attribute`] of a vertex or edge), so a row depends on its columns alone.

use crate::join::pattern::Join;
use crate::operator::walk::Walk;
use plan::algebra::AggregateCall;
use plan::expr::Name;
use plan::{Expr, Var};

/// Number of a step.
pub(crate) type StepNo = usize;

/// An attribute of a vertex or an edge.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Attribute {
    /// One property; null where it is absent.
    Property(Name),
    /// Names of a vertex's labels, or that of an edge's type, as a list.
    Labels,
    /// A list of two: the names as in `Labels`, and the map of all properties.
    Content,
}

/// A collection of rows.
#[derive(Debug)]
pub(crate) struct Step {
    pub kind: StepKind,
    /// The variable in each column.
    pub layout: Vec<Var>,
}

/// How its rows come about.
#[derive(Debug)]
pub(crate) enum StepKind {
    /// One row for each set of arguments; columns are the parameters.
    Arguments,
    /// Embeddings of a pattern for each input row.
    Join(Box<Join>),
    /// Rows for which all of these are true; a row that one of them refuses is refused, also where another fails on it.
    Filter { input: StepNo, predicates: Vec<Expr> },
    /// Computed columns, one for each of the layout.
    Map { input: StepNo, items: Vec<Expr> },
    /// One row for each element of the list, which is the last column.
    Unwind { input: StepNo, list: Expr },
    /// Each row once. The first `grouped` columns are compared as DISTINCT does, except for the `exact` ones; all others exactly.
    Distinct { input: StepNo, grouped: usize, exact: Vec<usize> },
    /// The first `keys` columns of the input, then the aggregates; keys are compared as DISTINCT does, but for the `exact` ones. Each aggregate
    /// takes its arguments from the columns of the input that it names. The rows of `whole`, where it is given, are the groups that are there even without input.
    Aggregate { input: StepNo, keys: usize, exact: Vec<usize>, calls: Vec<Call>, whole: Option<StepNo> },
    /// Source, target and distance of a walk from each source, which is the only column of the input.
    Reach { input: StepNo, walk: Walk },
    /// The input's columns, and where walks end that begin at the vertex in the last of them: each step of a walk is a row of the body.
    Rounds { input: StepNo, body: Box<Body>, walk: Walk },
    /// First end, second end and distance of pairs, which are the columns of the input; at most so far apart.
    Pair { input: StepNo, walk: Walk, max: u32 },
    /// The first rows of each group, in order of the keys (column, largest first).
    Top { input: StepNo, group: Vec<usize>, keys: Vec<(usize, bool)>, skip: usize, limit: Option<usize> },
    /// Rows of both; same layout.
    Union { left: StepNo, right: StepNo },
    /// Rows of the left with those of the right that agree on `on` (left column, right column).
    Combine { left: StepNo, right: StepNo, on: Vec<(usize, usize)>, kind: Combining },
}

/// The inner query: its arguments are rows of the context and a vertex; its rows are these and the vertex that a step leads to.
#[derive(Debug)]
pub(crate) struct Body {
    pub steps: Vec<Step>,
    pub output: StepNo,
}

/// One aggregate of a group.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub call: AggregateCall,
    /// Where its arguments stand.
    pub arguments: Vec<usize>,
    /// The sort keys of collected values (column, largest first).
    pub order: Vec<(usize, bool)>,
    /// Nulls are collected too.
    pub with_nulls: bool,
}

impl Call {
    /// The columns that it reads: its arguments, then its sort keys.
    pub fn columns(&self) -> Vec<usize> {
        self.arguments.iter().copied().chain(self.order.iter().map(|(column, _)| *column)).collect()
    }
}

/// How two matching rows are combined, and a row without a match.
#[derive(Debug, Clone)]
pub(crate) enum Combining {
    /// The left row, then these columns of the right one.
    Inner(Vec<usize>),
    /// Likewise, and nulls where there is no right row.
    Optional(Vec<usize>),
    /// The left row, where there is a right one.
    Semi,
    /// The left row, where there is none.
    Anti,
    /// The left row, and whether there is a right one.
    Exists,
    /// The left row, then the one column of the right that holds a number or list, or this where there is no right row.
    OrElse(usize, model::Value),
}

/// A column of the answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OutputColumn {
    pub title: Name,
    /// Where it stands in the rows of the last step.
    pub column: usize,
    /// The column with the content of its entity, if it is one.
    pub content: Option<usize>,
}

/// All of it.
#[derive(Debug)]
pub(crate) struct Shape {
    pub steps: Vec<Step>,
    /// The step of which the rows are the answer.
    pub output: StepNo,
    pub columns: Vec<OutputColumn>,
    /// Parameters, and where each stands in the rows of the last step.
    pub arguments: Vec<(Name, usize)>,
}
