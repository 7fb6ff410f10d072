//! A vertex without a label, by a property that some labels have an index on.
//!
//! Idea: a vertex either carries one of those labels, and then its index finds it, or none of them, and then a scan of the others
//! finds it. So the start is the union of a seek for each such label, and of a scan for the vertices without any of them, which costs
//! nothing where there are none, since scans pass over vertices by their label sets. The union is distinct, as a vertex may
//! carry two such labels. Where the label expression leaves nothing outside of the indexed labels, the scan is left out.
//! Cost: a look-up for each label, and the vertices outside.

use super::problem::Problem;
use super::starts::{Kind, Test, range};
use super::ways::{AnyLabel, How, Start};
use crate::algebra::*;
use crate::cost;
use crate::expr::{Expr, LabelExpr, Name, Var};
use crate::vars::Vars;

/// Labels looked up in one start. Each is an operator of its own, some ten microseconds; schemas with more labels on one key are
/// few, and scanned.
const LABELS_MAX: usize = 64;

/// The starts of a vertex with these labels and tests. Where a label is demanded, its own indexes or its scan do better.
pub(super) fn any_label(problem: &Problem<'_>, labels: &LabelExpr, tests: &[Test]) -> Vec<Start> {
    if !labels.required().is_empty() {
        return Vec::new();
    }
    let mut ranges: Vec<&Name> = Vec::new();
    let mut starts = Vec::new();
    for test in tests {
        let (seek, used) = match test.kind {
            Kind::Equal => (Seek::Equal(vec![test.value.clone()]), vec![test]),
            Kind::In => (Seek::In(test.value.clone()), vec![test]),
            Kind::Prefix => (Seek::Prefix(test.value.clone()), vec![test]),
            Kind::Above(_) | Kind::Below(_) if ranges.contains(&&test.key) => continue,
            Kind::Above(_) | Kind::Below(_) => {
                ranges.push(&test.key);
                range(&test.key, tests)
            }
        };
        let indexed: Vec<Name> =
            problem.planning.labels_with_index(&test.key).into_iter().map(Name::from).collect();
        if !indexed.is_empty() && indexed.len() <= LABELS_MAX {
            let rest = outside(labels, &indexed);
            starts.push(start(
                problem,
                AnyLabel { labels: indexed, key: test.key.clone(), seek, rest },
                &used,
            ))
        }
    }
    starts
}

fn start(problem: &Problem<'_>, any: AnyLabel, used: &[&Test]) -> Start {
    let (planning, keys) = (problem.planning, [any.key.clone()]);
    let sought: f64 = any.labels.iter().map(|label| cost::seek_rows(planning, label, &keys, &any.seek)).sum();
    let scanned = any.rest.as_ref().map_or(0.0, |rest| cost::labelled(planning, rest));
    let kept: f64 = used.iter().map(|test| problem.predicates[test.number].share).product();
    let free: Vec<Var> = used.iter().flat_map(|test| test.value.free_variables()).collect();
    // The scan tests what it reads at once; a range is tested again above, like that of one label.
    let answered = match any.seek {
        Seek::Range(..) => Vec::new(),
        _ => used.iter().filter(|test| test.exact).map(|test| test.number).collect(),
    };
    let rows = sought + scanned * kept;
    let looked_up = any.labels.len() as f64 * cost::SEEK_COST + sought;
    let cost = looked_up + scanned * (1.0 + cost::FILTER_COST);
    Start { how: How::AnyLabel(any), answered, need: problem.need(&free), rows, cost }
}

/// The expression for vertices that carry none of these labels; none where no vertex is left.
fn outside(labels: &LabelExpr, given: &[Name]) -> Option<LabelExpr> {
    let mut left = without(labels, given)?;
    for name in given {
        left = left.and(LabelExpr::Not(Box::new(LabelExpr::Has(name.clone()))))
    }
    Some(left)
}

/// The expression where none of these labels is there; none where it cannot hold.
fn without(labels: &LabelExpr, given: &[Name]) -> Option<LabelExpr> {
    match labels {
        LabelExpr::Any | LabelExpr::Some => Some(labels.clone()),
        LabelExpr::Has(name) => (!given.contains(name)).then(|| labels.clone()),
        LabelExpr::And(a, b) => Some(without(a, given)?.and(without(b, given)?)),
        LabelExpr::Or(a, b) => match (without(a, given), without(b, given)) {
            (Some(a), Some(b)) => Some(LabelExpr::Or(Box::new(a), Box::new(b))),
            (one, other) => one.or(other),
        },
        LabelExpr::Not(inner) => match without(inner, given) {
            None => Some(LabelExpr::Any),
            Some(LabelExpr::Any) => None,
            Some(inner) => Some(LabelExpr::Not(Box::new(inner))),
        },
    }
}

impl AnyLabel {
    /// The operators, over rows that bind the inputs of the look-up; `tests` are those that the seeks answer.
    pub fn plan(self, input: Plan, vertex: Var, tests: Vec<Expr>) -> Plan {
        if input == Plan::Unit {
            return self.union(&Plan::Unit, vertex, tests);
        }
        let columns = input.columns();
        let mut imports = Vars::new();
        self.values(&mut |value| imports.extend(value.free_variables()));
        imports.retain(|var| columns.contains(var));
        let inner = self.union(&Plan::Argument(imports.to_vec()), vertex, tests);
        Plan::Apply(Box::new(Apply {
            input,
            inner,
            imports: imports.into_vec(),
            kind: ApplyKind::Inner(vec![vertex]),
            scope: Default::default(),
            rank: None,
        }))
    }

    fn values(&self, see: &mut dyn FnMut(&Expr)) {
        match &self.seek {
            Seek::Equal(values) => values.iter().for_each(see),
            Seek::In(value) | Seek::Prefix(value) => see(value),
            Seek::Range(low, high) => low.iter().chain(high).for_each(|(value, _)| see(value)),
        }
    }

    fn union(self, input: &Plan, vertex: Var, tests: Vec<Expr>) -> Plan {
        let AnyLabel { labels, key, seek, rest } = self;
        let several = labels.len() > 1;
        let mut parts: Vec<Plan> = Vec::new();
        for label in labels {
            let (input, keys, seek) = (input.clone(), vec![key.clone()], seek.clone());
            parts.push(Plan::SeekVertices(Box::new(SeekVertices { input, vertex, label, keys, seek })));
        }
        let mut plan = union_all(parts, vertex);
        if let Plan::Union(node) = &mut plan {
            node.distinct = several
        }
        let Some(labels) = rest else { return plan };
        let scan = Plan::ScanVertices(Box::new(ScanVertices { input: input.clone(), vertex, labels }));
        let right = if tests.is_empty() {
            scan
        } else {
            Plan::Filter(Box::new(Filter { input: scan, predicate: Expr::all(tests) }))
        };
        // No vertex outside of the labels was found by them.
        let columns = vec![(vertex, vertex, vertex)];
        Plan::Union(Box::new(Union { left: plan, right, columns, distinct: false }))
    }
}

/// A balanced tree of unions, so that many labels are not a deep plan.
fn union_all(mut parts: Vec<Plan>, vertex: Var) -> Plan {
    while parts.len() > 1 {
        let mut level = Vec::new();
        let mut each = parts.into_iter();
        while let Some(left) = each.next() {
            level.push(match each.next() {
                None => left,
                Some(right) => {
                    let columns = vec![(vertex, vertex, vertex)];
                    Plan::Union(Box::new(Union { left, right, columns, distinct: false }))
                }
            })
        }
        parts = level
    }
    parts.pop().unwrap_or(Plan::Unit)
}
