//! The fast paths: a compiled expression over many rows at once.
//!
//! Idea: operands are columns read through their row maps ([`Operand`]), and each pair of column types that matters has a loop of
//! its own; what has none goes through the interpreter, row by row. Invariant: for every row the answer is that of the
//! interpreter; which of several failing rows is reported may differ.
//!
//! Cost: one output column for each inner node; no allocation, dispatch or lock per row in the typed loops.

use super::error::EvalError;
use super::functions;
use super::graph::{NO_EDGE, edge_property_column, property_column};
use super::interpret::{self, Frame};
use super::metered;
use super::node::{ConstantSet, Key, LabelTest, Node};
use super::operators;
use super::scope::Scope;
use super::select;
use dataflow::watch::LoopBytes;
use model::batch::Carried;
use model::temporal::Component;
use model::{Batch, Column, ColumnBuilder, EdgeId, NO_VERTEX, Nulls, Value, VertexId};
use plan::Function;
use plan::expr::{BinaryOperator, LabelExpr, UnaryOperator};
use regex::Regex;

mod binary;
mod call;
mod case;
mod conversion;
mod instants;
mod labels;
mod logic;
mod operand;
mod text;

pub(crate) use operand::Rows;
use operand::{Operand, Truths, edges, integers, texts, vertices};

/// The values of `node` for every row of the batch.
pub(super) fn evaluate(node: &Node, batch: &Batch, scope: &Scope<'_>) -> Result<Column, EvalError> {
    column(node, batch, Rows::All(batch.len()), scope)
}

/// The values of `node` for these rows, to be read; a column of the batch is not copied.
pub(super) fn operand<'a>(
    node: &Node,
    batch: &'a Batch,
    rows: Rows<'a>,
    scope: &Scope<'_>,
) -> Result<Operand<'a>, EvalError> {
    match node {
        Node::Column(position) => Ok(Operand::Carried(batch.column(*position), rows)),
        node => {
            let (column, mut hold) = (column(node, batch, rows, scope)?, LoopBytes::default());
            metered::keep_column(&mut hold, &column)?;
            Ok(Operand::Computed(column, hold))
        }
    }
}

/// The values of `node` for these rows.
pub(super) fn column(
    node: &Node,
    batch: &Batch,
    rows: Rows<'_>,
    scope: &Scope<'_>,
) -> Result<Column, EvalError> {
    match node {
        Node::Constant(value) => Ok(Column::Constant(value.clone(), rows.len())),
        Node::Parameter(name) => Ok(Column::Constant(scope.parameter(name)?.clone(), rows.len())),
        Node::Late(..) if rows.len() == 0 => Ok(Column::Constant(Value::Null, 0)),
        Node::Late(_, inner) => late(inner, batch, rows, scope),
        Node::Column(position) => Ok(gather(batch.column(*position), rows)),
        Node::Property(subject, key) => {
            if let Some(column) = part_of_instant(subject, key, batch, rows, scope)? {
                return Ok(column);
            }
            let subject = operand(subject, batch, rows, scope)?;
            property(&subject, key, rows.len(), scope)
        }
        Node::HasLabels(subject, labels) => {
            let subject = operand(subject, batch, rows, scope)?;
            has_labels(&subject, labels, rows.len(), scope)
        }
        Node::Unary(operator, a) => {
            let a = operand(a, batch, rows, scope)?;
            unary(*operator, &a, rows.len())
        }
        Node::Binary(operator @ (BinaryOperator::And | BinaryOperator::Or), a, b) => {
            logic::joined(*operator, a, b, batch, rows, scope)
        }
        Node::Binary(operator, a, b) => {
            let (a, b) = (operand(a, batch, rows, scope)?, operand(b, batch, rows, scope)?);
            binary::binary(*operator, &a, &b, rows.len(), scope)
        }
        Node::InSet(a, set) => {
            let a = operand(a, batch, rows, scope)?;
            in_set(&a, set, rows.len())
        }
        Node::MatchesConstant(text, regex) => {
            let text = operand(text, batch, rows, scope)?;
            matching(&text, regex, rows.len()).unwrap_or_else(|| slowly(node, batch, rows, scope))
        }
        Node::EdgesDistinct(parts) => match edge_columns(parts, batch) {
            Some(columns) => Ok(edges_distinct(&columns, rows)),
            None => slowly(node, batch, rows, scope),
        },
        Node::Call(function, arguments) => called(node, *function, arguments, batch, rows, scope),
        Node::Case { operand: None, arms, otherwise } => {
            case_of(node, (arms, otherwise.as_deref()), batch, rows, scope)
        }
        node => slowly(node, batch, rows, scope),
    }
}

/// A call: by a loop of its own, else row by row over columns of its arguments, else through the interpreter.
fn called(
    node: &Node,
    function: Function,
    arguments: &[Node],
    batch: &Batch,
    rows: Rows<'_>,
    scope: &Scope<'_>,
) -> Result<Column, EvalError> {
    let of_first = || operand(&arguments[0], batch, rows, scope);
    match function {
        Function::TypeOrder => {
            type_places(&of_first()?, rows.len()).map_or_else(|| slowly(node, batch, rows, scope), Ok)
        }
        Function::ToString | Function::ToStringOrNull => {
            let subject = of_first()?;
            let called = |row| functions::call(function, &[subject.get(row)], scope);
            conversion::to_string(&subject, rows.len()).map_or_else(|| row_by_row(rows.len(), called), Ok)
        }
        Function::Labels => labels::column(&of_first()?, rows.len(), scope),
        _ if is_part_of_text(function, arguments) => part_of_text(function, arguments, batch, rows, scope),
        _ => {
            let Some(arguments) = call::by_columns(function, arguments) else {
                return slowly(node, batch, rows, scope);
            };
            let operands = operands(arguments.nodes(), batch, rows, scope)?;
            each_call(&operands, rows.len(), |values| arguments.call(function, values, scope))
        }
    }
}

/// A value that is the same for all rows, of which there are some.
fn late(node: &Node, batch: &Batch, rows: Rows<'_>, scope: &Scope<'_>) -> Result<Column, EvalError> {
    let value = interpret::value(node, &mut Frame::new(batch, rows.get(0)), scope)?;
    Ok(Column::Constant(value, rows.len()))
}

/// A CASE without an operand; errors are those of the interpreter.
fn case_of(
    node: &Node,
    arms: (&[(Node, Node)], Option<&Node>),
    batch: &Batch,
    rows: Rows<'_>,
    scope: &Scope<'_>,
) -> Result<Column, EvalError> {
    let narrow = |when: &Node, hits: &mut Vec<u32>| select::narrow(when, batch, scope, hits);
    let values = |node: &Node, rows: Rows<'_>| column(node, batch, rows, scope);
    let found = case::column(arms, batch, rows, narrow, values);
    found.or_else(|_| slowly(node, batch, rows, scope))
}

/// Which texts a regular expression matches; none for other values.
fn matching(text: &Operand<'_>, regex: &Regex, rows: usize) -> Option<Result<Column, EvalError>> {
    let source = texts(text)?;
    let mut truths = Truths::with_capacity(rows);
    for row in 0..rows {
        match source.get(row).map(|text| operators::is_match(regex, text)).transpose() {
            Ok(truth) => truths.push(truth),
            Err(error) => return Some(Err(error)),
        }
    }
    Some(Ok(truths.finish()))
}

/// A part or the length of what lies in a column: lists that are made for it are made one by one.
fn is_part_of_text(function: Function, arguments: &[Node]) -> bool {
    use Function::{CharLength, CharacterLength, Left, Size, Substring};
    let is_of_text = matches!(function, Size | CharLength | CharacterLength | Left | Substring);
    is_of_text && matches!(arguments.first(), Some(Node::Column(_) | Node::Property(..)))
}

/// A part or the length of a text; other values are left to the function itself.
fn part_of_text(
    function: Function,
    arguments: &[Node],
    batch: &Batch,
    rows: Rows<'_>,
    scope: &Scope<'_>,
) -> Result<Column, EvalError> {
    let operands = operands(arguments, batch, rows, scope)?;
    let typed = text::column(function, &operands[0], &operands[1..], rows.len());
    let called = |values: &[Value]| functions::call(function, values, scope);
    typed.unwrap_or_else(|| each_call(&operands, rows.len(), called))
}

/// The values of each of these nodes.
fn operands<'a, 'n>(
    nodes: impl IntoIterator<Item = &'n Node>,
    batch: &'a Batch,
    rows: Rows<'a>,
    scope: &Scope<'_>,
) -> Result<Vec<Operand<'a>>, EvalError> {
    nodes.into_iter().map(|node| operand(node, batch, rows, scope)).collect()
}

/// Calls a function with the arguments of each row.
fn each_call(
    operands: &[Operand<'_>],
    rows: usize,
    call: impl Fn(&[Value]) -> Result<Value, EvalError>,
) -> Result<Column, EvalError> {
    let mut values = Vec::with_capacity(operands.len());
    row_by_row(rows, |row| {
        values.clear();
        values.extend(operands.iter().map(|operand| operand.get(row)));
        call(&values)
    })
}

/// Row by row through the interpreter.
fn slowly(node: &Node, batch: &Batch, rows: Rows<'_>, scope: &Scope<'_>) -> Result<Column, EvalError> {
    let mut frame = Frame::new(batch, 0);
    row_by_row(rows.len(), |row| interpret::value(node, frame.at(rows.get(row)), scope))
}

/// A column whose values are computed one after the other, metered and charged while it is built.
fn row_by_row(
    rows: usize,
    mut value: impl FnMut(usize) -> Result<Value, EvalError>,
) -> Result<Column, EvalError> {
    let (mut column, mut hold) = (ColumnBuilder::new(), LoopBytes::default());
    for row in 0..rows {
        metered::elements(1)?;
        let value = value(row)?;
        metered::keep(&mut hold, &value)?;
        column.push(value);
    }
    Ok(column.finish())
}

/// Where values stand in Gremlin's order, if all have one type that is known to be the same.
fn type_places(subject: &Operand<'_>, rows: usize) -> Option<Column> {
    let place = match subject.column() {
        Column::Int(..) => 0,
        Column::Text(..) => 2,
        _ => return None,
    };
    let is_known = (0..rows).all(|row| !subject.is_null(row));
    is_known.then(|| Column::Int(vec![place; rows], Nulls::none()))
}

fn gather(carried: &Carried, rows: Rows<'_>) -> Column {
    match (carried.rows(), rows) {
        (None, Rows::All(_)) => carried.column().clone(),
        (Some(map), Rows::All(_)) => carried.column().gather(map),
        (None, Rows::Some(rows)) => carried.column().gather(rows),
        (Some(map), Rows::Some(rows)) => {
            let composed: Vec<u32> = rows.iter().map(|row| map[*row as usize]).collect();
            carried.column().gather(&composed)
        }
    }
}

/// A component of instants that are numbers; none where it must be computed in another way.
fn part_of_instant(
    subject: &Node,
    key: &Key,
    batch: &Batch,
    rows: Rows<'_>,
    scope: &Scope<'_>,
) -> Result<Option<Column>, EvalError> {
    let Some(epoch) = instants::epoch(subject) else { return Ok(None) };
    let Some(component) = Component::of_name(&key.name) else { return Ok(None) };
    let units = operand(epoch.units, batch, rows, scope)?;
    if !matches!(units.column(), Column::Int(..)) {
        return Ok(None);
    }
    metered::elements(rows.len())?;
    Ok(epoch.components(&units, component, rows.len()))
}

fn property(subject: &Operand<'_>, key: &Key, rows: usize, scope: &Scope<'_>) -> Result<Column, EvalError> {
    let null = || Column::Constant(Value::Null, rows);
    if let Some(source) = vertices(subject) {
        let Some(key) = key.id(scope.graph) else { return Ok(null()) };
        if let Some(vertices) = source.as_rows(rows) {
            return property_column(scope.graph, vertices, key);
        }
        let vertices: Vec<VertexId> = (0..rows).map(|row| source.get(row).unwrap_or(NO_VERTEX)).collect();
        return property_column(scope.graph, &vertices, key);
    }
    if let Some(source) = edges(subject) {
        if scope.request.may_delete {
            (0..rows).filter_map(|row| source.get(row)).try_for_each(|edge| scope.check_edge(edge))?;
        }
        let Some(key) = key.id(scope.graph) else { return Ok(null()) };
        let edge = |row| source.get(row).map_or(NO_EDGE, |edge| edge.id);
        let edges: Vec<EdgeId> = match source.as_rows(rows) {
            Some(edges) => edges.iter().map(|edge| edge.id).collect(),
            None => (0..rows).map(edge).collect(),
        };
        return edge_property_column(scope.graph, &edges, key);
    }
    if let Some(column) =
        Component::of_name(&key.name).and_then(|component| instants::of_dates(subject, component, rows))
    {
        return Ok(column);
    }
    let mut column = ColumnBuilder::new();
    for row in 0..rows {
        column.push(interpret::property(&subject.get(row), key, scope)?);
    }
    Ok(column.finish())
}

fn has_labels(
    subject: &Operand<'_>,
    labels: &LabelExpr,
    rows: usize,
    scope: &Scope<'_>,
) -> Result<Column, EvalError> {
    let mut truths = Truths::with_capacity(rows);
    if let Some(source) = vertices(subject) {
        let test = LabelTest::bind(labels, scope.graph);
        if let LabelTest::Constant(answer) = test {
            (0..rows).for_each(|row| truths.push(source.get(row).map(|_| answer)));
            return Ok(truths.finish());
        }
        let vertices: Vec<VertexId> = (0..rows).map(|row| source.get(row).unwrap_or(NO_VERTEX)).collect();
        let (mut sets, mut answers) = (Vec::new(), labels::BySet::new());
        scope.graph.label_sets(&vertices, &mut sets)?;
        for (row, set) in sets.into_iter().enumerate() {
            let answer = |vertex| answers.get(set, || interpret::vertex_satisfies(&test, vertex, scope));
            truths.push(source.get(row).map(answer).transpose()?);
        }
        return Ok(truths.finish());
    }
    for row in 0..rows {
        truths.push(interpret::has_labels(&subject.get(row), labels, scope)?.as_bool());
    }
    Ok(truths.finish())
}

fn unary(operator: UnaryOperator, a: &Operand<'_>, rows: usize) -> Result<Column, EvalError> {
    if matches!(operator, UnaryOperator::IsNull | UnaryOperator::IsNotNull) {
        let wanted = operator == UnaryOperator::IsNull;
        return Ok(Column::Bool((0..rows).map(|row| a.is_null(row) == wanted).collect(), Nulls::none()));
    }
    if let (UnaryOperator::Not, Column::Bool(values, nulls)) = (operator, a.column()) {
        let mut truths = Truths::with_capacity(rows);
        for row in 0..rows {
            let at = a.at(row);
            truths.push(if nulls.contains(at) { None } else { Some(!values[at]) });
        }
        return Ok(truths.finish());
    }
    let mut column = ColumnBuilder::new();
    for row in 0..rows {
        column.push(operators::unary(operator, &a.get(row))?);
    }
    Ok(column.finish())
}

fn in_set(a: &Operand<'_>, set: &ConstantSet, rows: usize) -> Result<Column, EvalError> {
    let mut truths = Truths::with_capacity(rows);
    match (integers(a), &set.integers, texts(a), &set.texts) {
        (Some(source), Some(members), ..) => {
            (0..rows)
                .for_each(|row| truths.push(source.get(row).map(|int| members.binary_search(&int).is_ok())));
        }
        (.., Some(source), Some(members)) => {
            (0..rows).for_each(|row| truths.push(source.get(row).map(|text| members.contains(text))));
        }
        _ => {
            for row in 0..rows {
                let value = a.get(row);
                set.spend(&value)?;
                truths.push(set.contains(&value));
            }
        }
    }
    Ok(truths.finish())
}

/// The columns of these parts, if each is a column of single edges.
fn edge_columns<'a>(parts: &[Node], batch: &'a Batch) -> Option<Vec<&'a Carried>> {
    let column = |part: &Node| match part {
        Node::Column(position) => Some(batch.column(*position)),
        _ => None,
    };
    let is_edge = |carried: &&Carried| matches!(carried.column(), Column::Edge(..));
    parts.iter().map(|part| column(part).filter(is_edge)).collect()
}

fn edges_distinct(columns: &[&Carried], rows: Rows<'_>) -> Column {
    let distinct = |row: usize| {
        let id = |carried: &&Carried| carried.edge(row).map(|edge| edge.id);
        columns.iter().enumerate().all(|(at, carried)| match id(carried) {
            None => true,
            edge => columns[..at].iter().all(|earlier| id(earlier) != edge),
        })
    };
    Column::Bool((0..rows.len()).map(|row| distinct(rows.get(row))).collect(), Nulls::none())
}
