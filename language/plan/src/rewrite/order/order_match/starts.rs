//! Ways to find a vertex without walking to it: by id, or through a property index.
//!
//! Each start names the predicates it answers. A range is answered only in part: an index orders values of all types in one
//! line, and a comparison is true within one type, so its predicates are tested again. An element id is only relied on to end in
//! `:number`, and tested again too. A disjunction of which every arm demands a value of one property is looked up by these values
//! ([`disjunction`]), and tested again, since an arm may demand more.

use super::any_label::any_label;
use super::disjunction::demanded;
use super::problem::Problem;
use super::ways::{How, INPUT, Start};
use crate::algebra::Seek;
use crate::cost;
use crate::expr::{BinaryOperator, Expr, Name, Var};
use crate::functions::Function;
use crate::names::Names;

/// Keys of one vertex that are tried in combination for a composite index: 2^4 look-ups in the catalogue.
const COMPOSITE_KEYS_MAX: usize = 4;

/// A predicate on one property of the vertex, read as a look-up.
pub(super) struct Test {
    pub number: usize,
    pub key: Name,
    pub kind: Kind,
    pub value: Expr,
    /// Does the look-up alone imply the predicate?
    pub exact: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Equal,
    In,
    Above(bool),
    Below(bool),
    Prefix,
}

/// Finds the starts of every vertex.
pub(super) fn find(problem: &mut Problem<'_>, names: &mut Names<'_>) {
    for number in 0..problem.vertices.len() {
        let starts = starts_of(problem, number, names);
        problem.vertices[number].seeks = starts;
    }
}

fn starts_of(problem: &Problem<'_>, number: usize, names: &mut Names<'_>) -> Vec<Start> {
    let vertex = &problem.vertices[number];
    let var = vertex.variable;
    let mut starts = Vec::new();
    let mut tests = Vec::new();
    for (number, predicate) in problem.predicates.iter().enumerate() {
        if let Some(ids) = by_ids(&predicate.expr, var, names).filter(|ids| usable(problem, &ids.wanted, var))
        {
            let need = problem.need(&ids.wanted.free_variables());
            let answered = if ids.exact { vec![number] } else { Vec::new() };
            let cost = cost::SEEK_COST + ids.rows;
            starts.push(Start { how: How::Ids(ids.wanted), answered, need, rows: ids.rows, cost })
        }
        let one_of = |(key, value)| Test { number, key, kind: Kind::In, value, exact: false };
        // Of several vertices, it implies a condition that is tested by itself.
        let is_alone = (predicate.need & !INPUT).count_ones() == 1;
        let implied = if is_alone { demanded(&predicate.expr, var) } else { Vec::new() };
        let implied = implied.into_iter().map(one_of);
        let found = test_of(&predicate.expr, var, number).into_iter().chain(implied);
        tests.extend(found.filter(|test| usable(problem, &test.value, var)));
    }
    for label in vertex.labels.required() {
        by_single_key(problem, &label, &tests, &mut starts);
        by_equal_keys(problem, &label, &tests, &mut starts);
        by_range(problem, &label, &tests, &mut starts);
    }
    starts.extend(any_label(problem, &vertex.labels, &tests));
    starts
}

/// Can this value be computed before the vertex is bound, always to the same result?
fn usable(problem: &Problem<'_>, value: &Expr, var: Var) -> bool {
    let free = value.free_variables();
    let own_edge = |read: &Var| {
        let edge = problem.edges.iter().find(|edge| edge.pattern.variable == *read);
        edge.is_some_and(|edge| edge.pattern.from == var || edge.pattern.to == var)
    };
    !free.contains(&var) && !free.iter().any(own_edge) && !crate::rewrite::substitute::is_volatile(value)
}

/// Ids that a predicate admits.
struct Ids {
    wanted: Expr,
    /// Does the look-up alone imply the predicate?
    exact: bool,
    rows: f64,
}

/// `id(v) = x`, `id(v) IN list`, and the same of `elementId`, whose last part is the number.
fn by_ids(predicate: &Expr, var: Var, names: &mut Names<'_>) -> Option<Ids> {
    let Expr::Binary(operator, left, right) = predicate else { return None };
    let asks = |side: &Expr| match side {
        Expr::Call(function @ (Function::Id | Function::ElementId), arguments) => {
            (arguments[..] == [Expr::Variable(var)]).then_some(*function)
        }
        _ => None,
    };
    let (function, value, many) = match (operator, asks(left), asks(right)) {
        (BinaryOperator::Equal, Some(function), _) => (function, (**right).clone(), false),
        (BinaryOperator::Equal, None, Some(function)) => (function, (**left).clone(), false),
        (BinaryOperator::In, Some(function), _) => (function, (**right).clone(), true),
        _ => return None,
    };
    let rows = if many { cost::list_length(&value) } else { 1.0 };
    if function == Function::Id {
        // A list is no id, but would be looked up as ids: only what is plainly one number needs no test.
        let exact = many || value.as_int_literal().is_some();
        return Some(Ids { wanted: value, exact, rows });
    }
    let wanted = if many {
        let variable = names.fresh("id");
        let map = Some(Box::new(number_of(Expr::Variable(variable))));
        Expr::Comprehension { variable, list: Box::new(value), predicate: None, map }
    } else {
        number_of(value)
    };
    Some(Ids { wanted, exact: false, rows })
}

/// The number at the end of an element id; null if there is none.
fn number_of(element_id: Expr) -> Expr {
    let text = Expr::Call(Function::ToStringOrNull, vec![element_id]);
    let parts = Expr::Call(Function::Split, vec![text, Expr::literal(model::Value::string(":"))]);
    Expr::Call(Function::ToIntegerOrNull, vec![Expr::Call(Function::Last, vec![parts])])
}

pub(super) fn test_of(predicate: &Expr, var: Var, number: usize) -> Option<Test> {
    use BinaryOperator::*;
    let Expr::Binary(operator, left, right) = predicate else { return None };
    let key = |side: &Expr| match side {
        Expr::Property(subject, key) if **subject == Expr::Variable(var) => Some(key.clone()),
        _ => None,
    };
    let kind = |operator: BinaryOperator| match operator {
        Equal => Some(Kind::Equal),
        Greater => Some(Kind::Above(false)),
        GreaterEqual => Some(Kind::Above(true)),
        Less => Some(Kind::Below(false)),
        LessEqual => Some(Kind::Below(true)),
        _ => None,
    };
    if let Some(key) = key(left) {
        let kind = match operator {
            In => Kind::In,
            StartsWith => Kind::Prefix,
            other => kind(*other)?,
        };
        return Some(Test { number, key, kind, value: (**right).clone(), exact: true });
    }
    let mirrored = match kind(*operator)? {
        Kind::Above(included) => Kind::Below(included),
        Kind::Below(included) => Kind::Above(included),
        other => other,
    };
    Some(Test { number, key: key(right)?, kind: mirrored, value: (**left).clone(), exact: true })
}

fn push(
    problem: &Problem<'_>,
    label: &Name,
    keys: Vec<Name>,
    seek: Seek,
    tests: &[&Test],
    starts: &mut Vec<Start>,
) {
    let rows = cost::seek_rows(problem.planning, label, &keys, &seek);
    let free: Vec<Var> = tests.iter().flat_map(|test| test.value.free_variables()).collect();
    let answered = match seek {
        Seek::Range(..) => Vec::new(),
        _ => tests.iter().filter(|test| test.exact).map(|test| test.number).collect(),
    };
    let how = How::Index { label: label.clone(), keys, seek };
    starts.push(Start { how, answered, need: problem.need(&free), rows, cost: cost::SEEK_COST + rows })
}

fn by_single_key(problem: &Problem<'_>, label: &Name, tests: &[Test], starts: &mut Vec<Start>) {
    for test in tests {
        let seek = match test.kind {
            Kind::In => Seek::In(test.value.clone()),
            Kind::Prefix => Seek::Prefix(test.value.clone()),
            _ => continue,
        };
        if problem.planning.index(label, &[&test.key]).is_some() {
            push(problem, label, vec![test.key.clone()], seek, &[test], starts)
        }
    }
}

fn by_equal_keys(problem: &Problem<'_>, label: &Name, tests: &[Test], starts: &mut Vec<Start>) {
    let mut equal: Vec<&Test> = Vec::new();
    for test in tests.iter().filter(|test| test.kind == Kind::Equal) {
        // Two values for one key: one is looked up, the other tested.
        if equal.len() < COMPOSITE_KEYS_MAX && !equal.iter().any(|other| other.key == test.key) {
            equal.push(test)
        }
    }
    for chosen in 1_usize..1 << equal.len() {
        let part: Vec<&Test> =
            equal.iter().enumerate().filter(|(n, _)| chosen >> n & 1 == 1).map(|(_, test)| *test).collect();
        let keys: Vec<&str> = part.iter().map(|test| &*test.key).collect();
        let Some(ordered) = problem.planning.index(label, &keys) else { continue };
        let find = |key: &String| part.iter().copied().find(|test| *test.key == **key);
        let Some(part) = ordered.iter().map(find).collect::<Option<Vec<&Test>>>() else { continue };
        let keys = part.iter().map(|test| test.key.clone()).collect();
        let seek = Seek::Equal(part.iter().map(|test| test.value.clone()).collect());
        push(problem, label, keys, seek, &part, starts)
    }
}

fn by_range(problem: &Problem<'_>, label: &Name, tests: &[Test], starts: &mut Vec<Start>) {
    let mut tried: Vec<&Name> = Vec::new();
    for test in tests.iter().filter(|test| matches!(test.kind, Kind::Above(_) | Kind::Below(_))) {
        if tried.contains(&&test.key) || problem.planning.index(label, &[&test.key]).is_none() {
            continue;
        }
        tried.push(&test.key);
        let (seek, used) = range(&test.key, tests);
        push(problem, label, vec![test.key.clone()], seek, &used, starts)
    }
}

/// The bounds that tests set to a key, and the tests that set them.
pub(super) fn range<'a>(key: &Name, tests: &'a [Test]) -> (Seek, Vec<&'a Test>) {
    let same = |test: &&Test| test.key == *key;
    let low = tests.iter().filter(same).find(|test| matches!(test.kind, Kind::Above(_)));
    let high = tests.iter().filter(same).find(|test| matches!(test.kind, Kind::Below(_)));
    let bound = |test: Option<&Test>| {
        test.map(|test| (test.value.clone(), matches!(test.kind, Kind::Above(true) | Kind::Below(true))))
    };
    (Seek::Range(bound(low), bound(high)), low.into_iter().chain(high).collect())
}
