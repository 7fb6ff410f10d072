//! Look-ups in an index: for vertices and for edges alike.
//!
//! The results of an index are exact, so nothing is tested again.

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::turn::{ExecutionContext, Try};
use expression::{Compiled, Layout};
use model::compare::GroupKey;
use model::schema::IndexId;
use model::{Batch, EdgeRef, Value, VertexId};
use plan::Expr;
use plan::algebra::Seek;
use std::collections::HashSet;
use std::ops::Bound;
use store::{EdgeRange, IndexRange, Snapshot, StoreError};

/// An entity that indexes hold.
pub(crate) trait Indexed: Sized {
    /// Those between two bounds, one after the other.
    type Range: Iterator<Item = Result<Self, StoreError>>;

    /// Entities whose first keys equal these values.
    fn seek(snapshot: &Snapshot, index: IndexId, values: &[Value]) -> Result<Vec<Self>, StoreError>;
    /// Entities whose first key lies between the bounds.
    fn seek_range(
        snapshot: &Snapshot,
        index: IndexId,
        lower: Bound<&Value>,
        upper: Bound<&Value>,
    ) -> Result<Self::Range, StoreError>;
}

impl Indexed for VertexId {
    type Range = IndexRange;

    fn seek(snapshot: &Snapshot, index: IndexId, values: &[Value]) -> Result<Vec<VertexId>, StoreError> {
        snapshot.seek(index, values)
    }
    fn seek_range(
        snapshot: &Snapshot,
        index: IndexId,
        lower: Bound<&Value>,
        upper: Bound<&Value>,
    ) -> Result<IndexRange, StoreError> {
        snapshot.seek_range(index, lower, upper)
    }
}

impl Indexed for EdgeRef {
    type Range = EdgeRange;

    fn seek(snapshot: &Snapshot, index: IndexId, values: &[Value]) -> Result<Vec<EdgeRef>, StoreError> {
        snapshot.seek_edges(index, values)
    }
    fn seek_range(
        snapshot: &Snapshot,
        index: IndexId,
        lower: Bound<&Value>,
        upper: Bound<&Value>,
    ) -> Result<EdgeRange, StoreError> {
        snapshot.seek_edge_range(index, lower, upper)
    }
}

/// A compiled look-up.
pub(crate) enum Lookup {
    Equal(Vec<Compiled>),
    In(Compiled),
    Range(Option<(Compiled, bool)>, Option<(Compiled, bool)>),
    Prefix(Compiled),
}

/// The rest of a row's results.
pub(crate) enum Found<T: Indexed> {
    Nothing,
    /// Last first.
    List(Vec<T>),
    Range(Box<T::Range>),
}

impl Lookup {
    /// The results of `index` for a row; recorded as read.
    pub(crate) fn find<T: Indexed>(
        &self,
        index: IndexId,
        batch: &Batch,
        row: usize,
        execution: &mut ExecutionContext,
    ) -> Try<Found<T>> {
        let mut value = |expression: &Compiled| expression.evaluate_row(batch, row, &execution.scope());
        match self {
            Lookup::Equal(keys) => {
                let values = keys.iter().map(&mut value).collect::<Result<Vec<Value>, _>>()?;
                execution.environment.record(|reads| reads.index_equal(index, &values[0]));
                let mut list = T::seek(execution.snapshot(), index, &values)?;
                list.reverse();
                Ok(Found::List(list))
            }
            Lookup::In(list) => {
                let Value::List(values) = value(list)? else { return Ok(Found::Nothing) };
                each(index, &values, execution)
            }
            Lookup::Range(lower, upper) => {
                let mut bound = |end: &Option<(Compiled, bool)>| match end {
                    None => Ok(Bound::Unbounded),
                    Some((expression, true)) => value(expression).map(Bound::Included),
                    Some((expression, false)) => value(expression).map(Bound::Excluded),
                };
                let (lower, upper) = (bound(lower)?, bound(upper)?);
                range(index, lower, upper, execution)
            }
            Lookup::Prefix(prefix) => {
                let prefix = value(prefix)?;
                let Some(text) = prefix.as_str() else { return Ok(Found::Nothing) };
                let upper =
                    text_after(text).map_or(Bound::Unbounded, |text| Bound::Excluded(Value::string(text)));
                range(index, Bound::Included(prefix.clone()), upper, execution)
            }
        }
    }
}

fn each<T: Indexed>(index: IndexId, values: &[Value], execution: &mut ExecutionContext) -> Try<Found<T>> {
    let mut seen: HashSet<GroupKey, foldhash::fast::FixedState> = HashSet::default();
    let mut all = Vec::new();
    for value in values {
        if seen.insert(GroupKey(value.clone())) {
            execution.environment.record(|reads| reads.index_equal(index, value));
            all.extend(T::seek(execution.snapshot(), index, std::slice::from_ref(value))?);
        }
    }
    all.reverse();
    Ok(Found::List(all))
}

fn range<T: Indexed>(
    index: IndexId,
    lower: Bound<Value>,
    upper: Bound<Value>,
    execution: &mut ExecutionContext,
) -> Try<Found<T>> {
    let is_null =
        |bound: &Bound<Value>| matches!(bound, Bound::Included(Value::Null) | Bound::Excluded(Value::Null));
    if is_null(&lower) || is_null(&upper) {
        return Ok(Found::Nothing);
    }
    execution.environment.record(|reads| reads.index_range(index, lower.clone(), upper.clone()));
    Ok(Found::Range(Box::new(T::seek_range(execution.snapshot(), index, lower.as_ref(), upper.as_ref())?)))
}
/// The smallest text behind all that start with `prefix`, in the order of their bytes; none if there is none.
fn text_after(prefix: &str) -> Option<String> {
    let mut characters: Vec<char> = prefix.chars().collect();
    while let Some(last) = characters.pop() {
        let next = ((last as u32 + 1)..=char::MAX as u32).find_map(char::from_u32);
        if let Some(next) = next {
            characters.push(next);
            return Some(characters.into_iter().collect());
        }
    }
    None
}

pub(crate) fn lookup(compiler: &Compiler, seek: &Seek, layout: &Layout) -> Result<Lookup, ExecuteError> {
    let bound = |end: &Option<(Expr, bool)>| {
        end.as_ref()
            .map(|(value, included)| Ok::<_, ExecuteError>((compiler.expression(value, layout)?, *included)))
            .transpose()
    };
    Ok(match seek {
        Seek::Equal(values) => {
            let values = values.iter().map(|value| compiler.expression(value, layout));
            Lookup::Equal(values.collect::<Result<_, _>>()?)
        }
        Seek::In(list) => Lookup::In(compiler.expression(list, layout)?),
        Seek::Prefix(prefix) => Lookup::Prefix(compiler.expression(prefix, layout)?),
        Seek::Range(lower, upper) => Lookup::Range(bound(lower)?, bound(upper)?),
    })
}
