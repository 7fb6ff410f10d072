//! Costs and selectivities: the figures behind `order_match` and `estimate`.
//!
//! Units: 1 is the work of handing one row to the next operator. The constants are ratios, not times; the order of plans depends
//! on row counts far more than on them. Independence is assumed (a predicate's share times another's), but for
//! conditions on one vertex with many like it, of which a sample tells ([`ConditionShares`]).

use crate::algebra::Seek;
use crate::expr::{BinaryOperator, Expr, LabelExpr, Name, UnaryOperator, Var};
use crate::functions::Function;
use crate::pattern::Selector;
use crate::statistics::Planning;
use model::{Direction, Value};
use std::ops::Bound;

mod shares;
mod values;

pub(crate) use shares::ConditionShares;

/// Finding a vertex's adjacency before reading any of it.
pub(crate) const EXPAND_COST: f64 = 1.5;
/// Looking for edges between two bound vertices: two binary searches.
pub(crate) const INTO_COST: f64 = 3.0;
/// Descending an index.
pub(crate) const SEEK_COST: f64 = 4.0;
/// Vertices that a scan is reckoned to meet at least, for each row, where an index could be asked instead. A plan outlives its statistics: a load into an
/// empty graph that looks up what it made would scan all of it for each row. The index of a small graph costs little more than its scan.
pub(crate) const SCANNED_MIN: f64 = 10.0;
/// Vertices that look-ups find at most, over all rows, for them to count as asked for by name: who is asked for is more often a hub than a vertex picked
/// blindly, as often as it has edges. Of many that are looked up, the mean is right.
pub(crate) const NAMED_ROWS_MAX: f64 = 2.0;
/// No vertex is taken for a larger hub than this, compared with the mean.
pub(crate) const SPREAD_MAX: f64 = 1_000.0;
/// Testing one predicate, mostly the fetch of a property.
pub(crate) const FILTER_COST: f64 = 0.5;
/// A row into a hash table.
pub(crate) const BUILD_COST: f64 = 2.0;
/// A row looked up in a hash table.
pub(crate) const PROBE_COST: f64 = 1.2;
/// A row that a join yields: as much as one that an expand reads, yields and hands on, as the adjacency is a hash table already.
pub(crate) const JOINED_COST: f64 = 3.0;
/// Levels of a run that estimates follow; beyond, most graphs are exhausted.
pub(crate) const RUN_LEVELS_MAX: u32 = 6;
/// Share of rows an equality keeps where no index knows better.
pub(crate) const EQUAL_SHARE: f64 = 0.1;
/// Share of rows a comparison keeps.
pub(crate) const RANGE_SHARE: f64 = 0.3;
/// Share of rows a text prefix keeps.
pub(crate) const PREFIX_SHARE: f64 = 0.1;
/// Share of edges that lead to a label from which on all are assumed to lead there.
pub(crate) const ALWAYS_SHARE: f64 = 0.99;
/// Elements of a list whose length is unknown.
pub(crate) const LIST_LENGTH: f64 = 10.0;

/// Vertices with this label, never below one half so that quotients stay finite.
pub(crate) fn vertices(planning: &dyn Planning, label: Option<&str>) -> f64 {
    planning.vertices(label).max(0.5)
}

/// Edges met at one vertex of this label.
pub(crate) fn degree(
    planning: &dyn Planning,
    near: Option<&str>,
    types: &[Name],
    direction: Direction,
) -> f64 {
    let types: Vec<&str> = types.iter().map(|name| &**name).collect();
    planning.edges(near, &types, direction) / vertices(planning, near)
}

/// The rarest of the labels that an expression demands.
pub(crate) fn rarest(planning: &dyn Planning, labels: &LabelExpr) -> Option<Name> {
    let by_size = |a: &Name, b: &Name| planning.vertices(Some(a)).total_cmp(&planning.vertices(Some(b)));
    labels.required().into_iter().min_by(by_size)
}

/// Vertices that satisfy a label expression.
pub(crate) fn labelled(planning: &dyn Planning, labels: &LabelExpr) -> f64 {
    let all = vertices(planning, None);
    (share(planning, labels) * all).max(0.5)
}

/// Share of all vertices that satisfy a label expression.
pub(crate) fn share(planning: &dyn Planning, labels: &LabelExpr) -> f64 {
    let all = vertices(planning, None);
    match labels {
        LabelExpr::Any | LabelExpr::Some => 1.0,
        LabelExpr::Has(name) => (planning.vertices(Some(name)) / all).min(1.0),
        // Labels that stand together are usually nested (Person, Teacher): the rarer one decides. Labels that must all be missing
        // are counted like those of which one must be there.
        LabelExpr::And(..) => {
            let (demanded, excluded) = conjuncts(planning, labels);
            demanded.min(1.0 - excluded).max(0.0)
        }
        LabelExpr::Or(a, b) => (share(planning, a) + share(planning, b)).min(1.0),
        LabelExpr::Not(a) => 1.0 - share(planning, a),
    }
}

/// For an AND: the share of its rarest condition, and of those it excludes together.
fn conjuncts(planning: &dyn Planning, labels: &LabelExpr) -> (f64, f64) {
    match labels {
        LabelExpr::And(a, b) => {
            let (a, b) = (conjuncts(planning, a), conjuncts(planning, b));
            (a.0.min(b.0), a.1 + b.1)
        }
        LabelExpr::Not(excluded) => (1.0, share(planning, excluded)),
        other => (share(planning, other), 0.0),
    }
}

/// Share of the far ends of edges that satisfy a label expression.
pub(crate) fn far_share(
    planning: &dyn Planning,
    near: Option<&str>,
    types: &[Name],
    direction: Direction,
    far: &LabelExpr,
) -> f64 {
    let names: Vec<&str> = types.iter().map(|name| &**name).collect();
    let part = |labels: &LabelExpr| far_share(planning, near, types, direction, labels);
    match far {
        LabelExpr::Any | LabelExpr::Some => 1.0,
        LabelExpr::Has(name) => planning.far_share(near, &names, direction, name).clamp(0.0, 1.0),
        LabelExpr::And(a, b) => part(a).min(part(b)),
        LabelExpr::Or(a, b) => (part(a) + part(b)).min(1.0),
        LabelExpr::Not(a) => 1.0 - part(a),
    }
}

/// Runs that leave one vertex, if each step meets `degree` edges; `reach` bounds the shortest ones to one for each vertex.
pub(crate) fn run_fan(degree: f64, min: u32, max: Option<u32>, selector: Selector, reach: f64) -> f64 {
    let last = max.unwrap_or(RUN_LEVELS_MAX).min(min.saturating_add(RUN_LEVELS_MAX));
    let levels = min..=last.max(min);
    let runs: f64 = levels.map(|level| degree.powi(level.min(64) as i32)).sum();
    let runs = runs.min(1e18);
    if selector == Selector::Every { runs } else { runs.min(reach) }
}

/// Vertices that runs of these edges can end in: where the edges always lead to one label, those that carry it.
pub(crate) fn reach(
    planning: &dyn Planning,
    near: Option<&Name>,
    types: &[Name],
    direction: Direction,
    far: &LabelExpr,
) -> f64 {
    let names: Vec<&str> = types.iter().map(|name| &**name).collect();
    let all = vertices(planning, None).min(planning.edges(None, &names, direction).max(1.0));
    let mut labels = far.required();
    labels.extend(near.cloned());
    let always = |label: &Name| {
        far_share(planning, None, types, direction, &LabelExpr::Has(label.clone())) >= ALWAYS_SHARE
    };
    let ends = labels.iter().filter(|label| always(label)).map(|label| vertices(planning, Some(label)));
    ends.fold(all, f64::min)
}

/// Work of one search between two given vertices, met in the middle.
pub(crate) fn pair_search(open: f64) -> f64 {
    4.0 * open.sqrt() + INTO_COST
}

/// Elements of a list expression.
pub(crate) fn list_length(list: &Expr) -> f64 {
    match list {
        Expr::List(items) => items.len() as f64,
        Expr::Literal(constant) => match &constant.0 {
            Value::List(items) => items.len() as f64,
            Value::Null => 0.0,
            _ => 1.0,
        },
        Expr::Call(Function::Range, arguments) => match &arguments[..] {
            [Expr::Literal(from), Expr::Literal(to)] => match (from.0.as_int(), to.0.as_int()) {
                (Some(from), Some(to)) => (to.saturating_sub(from).saturating_add(1)).max(0) as f64,
                _ => LIST_LENGTH,
            },
            _ => LIST_LENGTH,
        },
        _ => LIST_LENGTH,
    }
}

/// A row count written as an expression; a parameter is taken for `otherwise`.
pub(crate) fn count(expr: &Expr, otherwise: f64) -> f64 {
    match expr {
        Expr::Literal(constant) => constant.0.as_int().map_or(otherwise, |count| count.max(0) as f64),
        _ => otherwise,
    }
}

/// Edges that one look-up in the index on (`edge_type`, `keys`) finds.
pub(crate) fn seek_edges_rows(planning: &dyn Planning, edge_type: &str, keys: &[Name], seek: &Seek) -> f64 {
    let all = planning.edges(None, &[edge_type], Direction::Out);
    let literal = |expr: &Expr| match expr {
        Expr::Literal(constant) => Some(constant.0.clone()),
        _ => None,
    };
    let between = |low: Bound<&Value>, high: Bound<&Value>| {
        let [key] = keys else { return None };
        planning.edges_between(edge_type, key, low, high)
    };
    // Values are not counted: between one edge for each and one for all.
    let each = all.sqrt();
    let known = match seek {
        Seek::Equal(values) => values
            .first()
            .and_then(literal)
            .and_then(|value| between(Bound::Included(&value), Bound::Included(&value))),
        Seek::Range(low, high) => {
            let bound = |end: &Option<(Expr, bool)>| match end {
                None => Some(None),
                Some((value, _)) => literal(value).map(Some),
            };
            let as_bound = |value: &Option<Value>| value.clone().map_or(Bound::Unbounded, Bound::Included);
            bound(low)
                .zip(bound(high))
                .and_then(|(low, high)| between(as_bound(&low).as_ref(), as_bound(&high).as_ref()))
        }
        _ => None,
    };
    known.unwrap_or(match seek {
        Seek::Equal(_) => each,
        Seek::In(list) => (each * list_length(list)).min(all),
        Seek::Range(Some(_), Some(_)) => all * RANGE_SHARE * RANGE_SHARE,
        Seek::Range(..) => all * RANGE_SHARE,
        Seek::Prefix(_) => all * PREFIX_SHARE,
    })
}

/// Vertices that one look-up in the index on (`label`, `keys`) finds.
pub(crate) fn seek_rows(planning: &dyn Planning, label: &str, keys: &[Name], seek: &Seek) -> f64 {
    let names: Vec<&str> = keys.iter().map(|name| &**name).collect();
    let all = planning.vertices(Some(label));
    let unknown = 1.0 / EQUAL_SHARE.powi(keys.len() as i32);
    let each = all / planning.distinct(label, &names).unwrap_or(unknown).max(1.0);
    if let [key] = keys
        && let Some(found) = values::sought(planning, label, key, seek)
    {
        return found;
    }
    match seek {
        Seek::Equal(_) => each,
        Seek::In(list) => (each * list_length(list)).min(all),
        Seek::Range(Some(_), Some(_)) => all * RANGE_SHARE * RANGE_SHARE,
        Seek::Range(..) => all * RANGE_SHARE,
        Seek::Prefix(_) => all * PREFIX_SHARE,
    }
}

/// Share of rows for which a predicate is true; `label_of` gives the known label of a vertex.
pub(crate) fn selectivity(
    planning: &dyn Planning,
    predicate: &Expr,
    label_of: &dyn Fn(Var) -> Option<Name>,
) -> f64 {
    use BinaryOperator::*;
    let part = |expr: &Expr| selectivity(planning, expr, label_of);
    match predicate {
        Expr::Literal(constant) => f64::from(constant.0.as_bool() == Some(true)),
        Expr::Binary(And, a, b) => part(a) * part(b),
        Expr::Binary(Or, a, b) => 1.0 - (1.0 - part(a)) * (1.0 - part(b)),
        Expr::Unary(UnaryOperator::Not, a) => 1.0 - part(a),
        Expr::Unary(UnaryOperator::IsNull, _) => 0.1,
        Expr::Unary(UnaryOperator::IsNotNull, _) => 0.9,
        Expr::Binary(operator, a, b)
            if let Some(share) = values::compared(planning, *operator, a, b, label_of) =>
        {
            share
        }
        Expr::Binary(Equal, a, b) => {
            equal_share(planning, a, label_of).min(equal_share(planning, b, label_of))
        }
        Expr::Binary(In, a, list) => (equal_share(planning, a, label_of) * list_length(list)).min(1.0),
        Expr::Binary(NotEqual, ..) => 0.9,
        Expr::Binary(Less | LessEqual | Greater | GreaterEqual, ..) => RANGE_SHARE,
        Expr::Binary(StartsWith, ..) => PREFIX_SHARE,
        Expr::Binary(EndsWith | Contains | Matches, ..) => 0.1,
        Expr::HasLabels(_, labels) => share(planning, labels),
        Expr::EdgesDistinct(_) => 1.0,
        _ => 0.5,
    }
}

/// Share of rows for which this side of an equality has a given value.
fn equal_share(planning: &dyn Planning, side: &Expr, label_of: &dyn Fn(Var) -> Option<Name>) -> f64 {
    match side {
        Expr::Property(subject, key) => {
            let Expr::Variable(var) = **subject else { return EQUAL_SHARE };
            let Some(label) = label_of(var) else { return equal_share_unlabelled(planning, key) };
            let distinct = planning.distinct(&label, &[key]);
            distinct.map_or(EQUAL_SHARE, |distinct| 1.0 / distinct.max(1.0))
        }
        Expr::Call(Function::Id | Function::ElementId, _) => 1.0 / vertices(planning, None),
        _ => EQUAL_SHARE,
    }
}

/// Likewise for a vertex of which no label is known: each label with an index on the key knows its own part.
fn equal_share_unlabelled(planning: &dyn Planning, key: &Name) -> f64 {
    let all = vertices(planning, None);
    let (mut found, mut others) = (0.0, all);
    for label in planning.labels_with_index(key) {
        let own = planning.vertices(Some(&label));
        others -= own;
        found += own / planning.distinct(&label, &[key]).unwrap_or(1.0 / EQUAL_SHARE).max(1.0);
    }
    ((found + others.max(0.0) * EQUAL_SHARE) / all).min(EQUAL_SHARE)
}
