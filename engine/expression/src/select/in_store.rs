//! Conditions on one property of a vertex or an edge beside what is constant: a comparison, whether it is there, a list, a regular expression. They are tested where
//! the values lie; each text of a dictionary is tested once.

use crate::error::EvalError;
use crate::graph::NO_EDGE;
use crate::metered;
use crate::node::{ConstantSet, Key, Node};
use crate::operators;
use crate::scope::Scope;
use model::column::Texts;
use model::compare::order_int_float;
use model::{Batch, Column, EdgeId, NO_VERTEX, Value, VertexId};
use plan::expr::{BinaryOperator, UnaryOperator};
use regex::Regex;
use std::cmp::Ordering;
use std::sync::Arc;
use store::{Picked, PropertyRef, PropertyRun, PropertyValues};

/// What a property is tested for.
#[derive(Clone, Copy)]
enum Test<'a> {
    /// It stands so to the constant.
    Compared(BinaryOperator, &'a Value),
    /// It is absent (true), or there (false).
    Absent(bool),
    /// It is in the list (true), or known not to be in it (false).
    In(&'a ConstantSet, bool),
    /// It is a text that matches (true), or one that does not (false).
    Matches(&'a Regex, bool),
}

/// A condition on a property of the vertices or edges of a column.
pub(super) struct StoredCondition<'a> {
    /// The position of the column.
    column: usize,
    key: &'a Key,
    test: Test<'a>,
}

/// The condition that a predicate is, if it is one.
pub(super) fn condition<'a>(
    node: &'a Node,
    batch: &Batch,
    scope: &Scope<'a>,
) -> Result<Option<StoredCondition<'a>>, EvalError> {
    let (subject, test) = match node {
        Node::Binary(operator, subject, constant) if compares(*operator) => {
            if !matches!(**subject, Node::Property(..)) {
                return Ok(None);
            }
            let constant = match &**constant {
                Node::Constant(constant) => constant,
                Node::Parameter(name) => scope.parameter(name)?,
                _ => return Ok(None),
            };
            (&**subject, Test::Compared(*operator, constant))
        }
        Node::Unary(UnaryOperator::IsNull, subject) => (&**subject, Test::Absent(true)),
        Node::Unary(UnaryOperator::IsNotNull, subject) => (&**subject, Test::Absent(false)),
        Node::Unary(UnaryOperator::Not, inner) => match listed_or_matched(inner, false) {
            Some(found) => found,
            None => return Ok(None),
        },
        node => match listed_or_matched(node, true) {
            Some(found) => found,
            None => return Ok(None),
        },
    };
    let Node::Property(of, key) = subject else { return Ok(None) };
    Ok(column_of_entities(of, batch).map(|column| StoredCondition { column, key, test }))
}

fn listed_or_matched(node: &Node, wanted: bool) -> Option<(&Node, Test<'_>)> {
    match node {
        Node::InSet(subject, set) => Some((subject, Test::In(set, wanted))),
        Node::MatchesConstant(subject, regex) => Some((subject, Test::Matches(regex, wanted))),
        _ => None,
    }
}

fn compares(operator: BinaryOperator) -> bool {
    use BinaryOperator as B;
    matches!(
        operator,
        B::Equal | B::NotEqual | B::Less | B::LessEqual | B::Greater | B::GreaterEqual | B::StartsWith
    ) || matches!(operator, B::EndsWith | B::Contains)
}

/// The position of the column that the node reads, if it holds vertices or edges.
fn column_of_entities(node: &Node, batch: &Batch) -> Option<usize> {
    match node {
        Node::Column(position) => {
            let column = batch.column(*position).column();
            matches!(column, Column::Vertex(..) | Column::Edge(..)).then_some(*position)
        }
        _ => None,
    }
}

impl StoredCondition<'_> {
    /// Keeps those of `selected` for which it is true.
    pub(super) fn narrow(
        &self,
        batch: &Batch,
        scope: &Scope<'_>,
        selected: &mut Vec<u32>,
    ) -> Result<(), EvalError> {
        let column = batch.column(self.column);
        let is_of_edges = matches!(column.column(), Column::Edge(..));
        if is_of_edges && scope.request.may_delete {
            let edges = selected.iter().filter_map(|row| column.edge(*row as usize));
            edges.clone().try_for_each(|edge| scope.check_edge(edge))?;
        }
        if let Test::Compared(_, Value::Null) = self.test {
            selected.clear();
            return Ok(());
        }
        let Some(key) = self.key.id(scope.graph) else {
            if !self.test.holds(PropertyRef::Null, scope)? {
                selected.clear();
            }
            return Ok(());
        };
        let rows = selected.clone();
        let mut kept = Selecting { rows: &rows, selected, at: 0, kept: 0, known: None };
        let mut outcome = Ok(());
        let mut take = |values: PropertyValues<'_>| {
            if outcome.is_ok() {
                outcome = kept.take(values, self.test, scope);
            }
        };
        if is_of_edges {
            let edge = |row: &u32| column.edge(*row as usize).map_or(NO_EDGE, |edge| edge.id);
            let edges: Vec<EdgeId> = rows.iter().map(edge).collect();
            scope.graph.read_edge_property_runs(&edges, key, &mut take)?;
        } else {
            let vertex = |row: &u32| column.vertex(*row as usize).unwrap_or(NO_VERTEX);
            let vertices: Vec<VertexId> = rows.iter().map(vertex).collect();
            scope.graph.read_property_runs(&vertices, key, &mut take)?;
        }
        let count = kept.kept;
        selected.truncate(count);
        outcome
    }
}

/// Integers up to this are floats exactly.
const EXACT_MAX: u64 = 1 << f64::MANTISSA_DIGITS;

/// Rows of which those are kept whose values pass, as values come.
struct Selecting<'a> {
    rows: &'a [u32],
    selected: &'a mut [u32],
    /// Rows whose values came, and of these those that passed.
    at: usize,
    kept: usize,
    /// Of the dictionary met last, which texts pass: each is looked at once.
    known: Option<(Arc<Texts>, Vec<Option<bool>>)>,
}

impl Selecting<'_> {
    /// Takes the values of the next rows.
    fn take(
        &mut self,
        values: PropertyValues<'_>,
        test: Test<'_>,
        scope: &Scope<'_>,
    ) -> Result<(), EvalError> {
        let run = match values {
            PropertyValues::One(value) => {
                let passes = test.holds(value, scope)?;
                self.keep_if(passes);
                return Ok(());
            }
            PropertyValues::Run(run) => run,
        };
        match test {
            Test::Compared(operator, constant) if self.keep_compared(run, operator, constant) => Ok(()),
            _ => self.keep_held(run, test, scope),
        }
    }
    /// Keeps the next rows by a loop for their type and that of the constant; false if there is no such loop.
    fn keep_compared(&mut self, run: PropertyRun<'_>, operator: BinaryOperator, constant: &Value) -> bool {
        match (run, constant) {
            (PropertyRun::Integers(values), Value::Int(constant)) => {
                return self.keep_alike(values, operator, *constant);
            }
            (PropertyRun::Floats(values), Value::Float(constant)) => {
                return self.keep_alike(values, operator, *constant);
            }
            (PropertyRun::Integers(values), Value::Float(constant)) => {
                let order = |value: &i64| (!constant.is_nan()).then(|| order_int_float(*value, *constant));
                self.keep_ordered(values.iter(), operator, order);
            }
            (PropertyRun::Floats(values), Value::Int(constant)) if constant.unsigned_abs() <= EXACT_MAX => {
                return self.keep_alike(values, operator, *constant as f64);
            }
            (PropertyRun::Floats(values), Value::Int(constant)) => {
                let order =
                    |value: &f64| (!value.is_nan()).then(|| order_int_float(*constant, *value).reverse());
                self.keep_ordered(values.iter(), operator, order);
            }
            (PropertyRun::Dates(values), Value::Date(constant)) => {
                return self.keep_alike(values, operator, *constant);
            }
            _ => return false,
        }
        true
    }
    /// Keeps the next rows by a loop for their type, which is that of the constant, and the operator; false for other operators. What has no order is
    /// unequal.
    fn keep_alike<T: Copy + PartialOrd>(
        &mut self,
        values: Picked<'_, T>,
        operator: BinaryOperator,
        constant: T,
    ) -> bool {
        match operator {
            BinaryOperator::Equal => self.keep_where(values, |value| value == constant),
            BinaryOperator::NotEqual => self.keep_where(values, |value| value != constant),
            BinaryOperator::Less => self.keep_where(values, |value| value < constant),
            BinaryOperator::LessEqual => self.keep_where(values, |value| value <= constant),
            BinaryOperator::Greater => self.keep_where(values, |value| value > constant),
            BinaryOperator::GreaterEqual => self.keep_where(values, |value| value >= constant),
            _ => return false,
        }
        true
    }
    /// Keeps the next rows for whose values `passes` is true.
    #[inline]
    fn keep_where<T: Copy>(&mut self, values: Picked<'_, T>, passes: impl Fn(T) -> bool) {
        match values.as_slice() {
            Some(slice) => self.keep_by(slice.iter().map(|value| passes(*value))),
            None => self.keep_by(values.iter().map(passes)),
        }
    }
    #[inline(always)]
    fn keep_by(&mut self, passing: impl ExactSizeIterator<Item = bool>) {
        let (from, to) = (self.at, self.at + passing.len());
        let mut kept = self.kept;
        for (row, passes) in self.rows[from..to].iter().zip(passing) {
            // Written in any case, and written over where it does not pass: no branch that depends on a value.
            self.selected[kept] = *row;
            kept += usize::from(passes);
        }
        (self.at, self.kept) = (to, kept);
    }
    /// Keeps those of the next rows for whose values the test holds.
    fn keep_held(
        &mut self,
        run: PropertyRun<'_>,
        test: Test<'_>,
        scope: &Scope<'_>,
    ) -> Result<(), EvalError> {
        match run {
            PropertyRun::Integers(values) => self.keep_each(values.iter().map(PropertyRef::Int), test, scope),
            PropertyRun::Floats(values) => self.keep_each(values.iter().map(PropertyRef::Float), test, scope),
            PropertyRun::Dates(values) => self.keep_each(values.iter().map(PropertyRef::Date), test, scope),
            PropertyRun::Codes(codes, dictionary) => {
                let known = self.known.take().filter(|(of, _)| Arc::ptr_eq(of, dictionary));
                let (of, mut passing) =
                    known.unwrap_or_else(|| (dictionary.clone(), vec![None; dictionary.len()]));
                for code in codes.iter() {
                    let code = code as usize;
                    let passes = match passing[code] {
                        Some(passes) => passes,
                        None => test.holds(PropertyRef::Text(dictionary.get(code)), scope)?,
                    };
                    passing[code] = Some(passes);
                    self.keep_if(passes);
                }
                self.known = Some((of, passing));
                Ok(())
            }
        }
    }
    fn keep_each<'v>(
        &mut self,
        values: impl Iterator<Item = PropertyRef<'v>>,
        test: Test<'_>,
        scope: &Scope<'_>,
    ) -> Result<(), EvalError> {
        for value in values {
            self.keep_if(test.holds(value, scope)?);
        }
        Ok(())
    }
    /// Keeps the next rows whose value stands to the constant as the operator says; where there is no order, unequal is all they are.
    fn keep_ordered<T>(
        &mut self,
        values: impl Iterator<Item = T>,
        operator: BinaryOperator,
        order: impl Fn(&T) -> Option<Ordering>,
    ) {
        for value in values {
            let passes = match order(&value) {
                Some(order) => operators::admits(operator, order),
                None => operator == BinaryOperator::NotEqual,
            };
            self.keep_if(passes);
        }
    }
    #[inline]
    fn keep_if(&mut self, passes: bool) {
        self.selected[self.kept] = self.rows[self.at];
        self.kept += usize::from(passes);
        self.at += 1;
    }
}

impl Test<'_> {
    /// Is it true of this value?
    #[inline]
    fn holds(self, value: PropertyRef<'_>, scope: &Scope<'_>) -> Result<bool, EvalError> {
        match self {
            Test::Compared(operator, constant) => compared(operator, value, constant, scope),
            Test::Absent(wanted) => Ok(value.is_null() == wanted),
            Test::In(set, wanted) => Ok(is_in(value, set)? == Some(wanted)),
            Test::Matches(regex, wanted) => match value {
                PropertyRef::Text(text) => Ok(operators::is_match(regex, text)? == wanted),
                _ => Ok(false),
            },
        }
    }
}

/// `value IN list`.
#[inline]
fn is_in(value: PropertyRef<'_>, set: &ConstantSet) -> Result<Option<bool>, EvalError> {
    if let PropertyRef::Text(text) = value {
        metered::text(text.len())?;
    }
    match (value, &set.integers, &set.texts) {
        (PropertyRef::Int(int), Some(members), _) => Ok(Some(members.binary_search(&int).is_ok())),
        (PropertyRef::Text(text), _, Some(members)) => Ok(Some(members.contains(text))),
        _ => {
            let value = value.to_value();
            set.spend(&value)?;
            Ok(set.contains(&value))
        }
    }
}

/// Is `value operator constant` true?
#[inline]
fn compared(
    operator: BinaryOperator,
    value: PropertyRef<'_>,
    constant: &Value,
    scope: &Scope<'_>,
) -> Result<bool, EvalError> {
    if let PropertyRef::Text(text) = value {
        metered::text(text.len())?;
    }
    Ok(match (value, constant) {
        (PropertyRef::Null, _) => false,
        (PropertyRef::Int(a), Value::Int(b)) => operators::admits(operator, a.cmp(b)),
        (PropertyRef::Date(a), Value::Date(b)) => operators::admits(operator, a.cmp(b)),
        (PropertyRef::Text(a), Value::String(b)) => match operator {
            BinaryOperator::Equal => *a == **b,
            BinaryOperator::StartsWith => a.starts_with(&**b),
            BinaryOperator::EndsWith => a.ends_with(&**b),
            BinaryOperator::Contains => a.contains(&**b),
            _ => operators::admits(operator, a.cmp(b)),
        },
        (PropertyRef::Text(_), _) if operator == BinaryOperator::Equal => false,
        (value, constant) => {
            operators::binary(operator, &value.to_value(), constant, scope)?.as_bool() == Some(true)
        }
    })
}
