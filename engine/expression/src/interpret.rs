//! The interpreter: the value of a compiled expression for one row, in the most obvious way. Slow paths and the twin of the fast.

use super::error::EvalError;
use super::functions;
use super::metered::{self, Growing};
use super::node::{Key, LabelTest, Node, ProjectionItem};
use super::operators::{self, truth};
use super::pattern;
use super::scope::Scope;
use dataflow::watch::LoopBytes;
use model::{Batch, Map, MapValue, Value, VertexId, temporal};
use plan::Function;
use plan::expr::{BinaryOperator, LabelExpr, Quantifier};

/// A row, and the variables of the comprehensions that are being walked.
pub struct Frame<'a> {
    batch: &'a Batch,
    row: usize,
    locals: Vec<Value>,
    /// Constants computed already, by their number within the expression.
    late: Vec<Option<Value>>,
    hold: LoopBytes,
}

impl<'a> Frame<'a> {
    /// Row `row` of the batch.
    pub fn new(batch: &'a Batch, row: usize) -> Frame<'a> {
        Frame { batch, row, locals: Vec::new(), late: Vec::new(), hold: LoopBytes::default() }
    }
    /// Another row of the same batch.
    pub fn at(&mut self, row: usize) -> &mut Self {
        self.row = row;
        self
    }
    fn set(&mut self, local: usize, value: Value) {
        self.locals.truncate(local);
        self.locals.resize(local, Value::Null);
        self.locals.push(value);
    }
}

type Evaluated = Result<Value, EvalError>;

/// The value of `node` for the frame's row.
///
/// # Errors
/// The operation is not defined for this row's values.
pub fn value(node: &Node, frame: &mut Frame<'_>, scope: &Scope<'_>) -> Evaluated {
    match node {
        Node::Constant(value) => Ok(value.clone()),
        Node::Late(number, inner) => late(*number, inner, frame, scope),
        Node::Parameter(name) => scope.parameter(name).cloned(),
        Node::Column(position) => Ok(frame.batch.get(frame.row, *position)),
        Node::Local(local) => Ok(frame.locals[*local].clone()),
        Node::Property(subject, key) => property(&value(subject, frame, scope)?, key, scope),
        Node::HasLabels(subject, labels) => has_labels(&value(subject, frame, scope)?, labels, scope),
        Node::Unary(operator, a) => operators::unary(*operator, &value(a, frame, scope)?),
        Node::Binary(operator, a, b) => binary(*operator, a, b, frame, scope),
        Node::InSet(a, set) => {
            let a = value(a, frame, scope)?;
            set.spend(&a)?;
            Ok(set.contains(&a).into())
        }
        Node::MatchesConstant(text, regex) => Ok(match value(text, frame, scope)? {
            Value::String(text) => Value::Bool(operators::is_match(regex, &text)?),
            _ => Value::Null,
        }),
        Node::Call(Function::Coalesce, arguments) => coalesce(arguments, frame, scope),
        Node::Call(function, arguments) => {
            functions::call(*function, all(arguments, frame, scope)?.as_slice(), scope)
        }
        Node::List(elements) => all(elements, frame, scope)?.finish(),
        Node::Map(entries) => {
            let (mut map, mut hold) = (Map::new(), LoopBytes::default());
            for (name, node) in entries {
                let value = value(node, frame, scope)?;
                metered::keep(&mut hold, &value)?;
                map.insert(name.clone(), value);
            }
            Ok(Value::Map(MapValue::new(map)?))
        }
        Node::Index(subject, index) => {
            let (subject, index) = (value(subject, frame, scope)?, value(index, frame, scope)?);
            element(&subject, &index, scope)
        }
        Node::Slice(subject, from, to) => slice(subject, from.as_deref(), to.as_deref(), frame, scope),
        Node::Case { operand, arms, otherwise } => {
            case(operand.as_deref(), arms, otherwise.as_deref(), frame, scope)
        }
        Node::Comprehension { local, list, predicate, map } => {
            comprehension(*local, list, predicate.as_deref(), map.as_deref(), frame, scope)
        }
        Node::Quantified { quantifier, local, list, predicate } => {
            quantified(*quantifier, *local, list, predicate, frame, scope)
        }
        Node::Reduce { accumulator, initial, local, list, body } => {
            let Some(elements) = operators::list_of("reduce()", value(list, frame, scope)?)? else {
                return Ok(Value::Null);
            };
            let mut result = value(initial, frame, scope)?;
            let mut hold = LoopBytes::default();
            for element in elements.iter() {
                metered::elements(1)?;
                hold.set(result.heap_bytes() as u64)?;
                frame.set(*accumulator, result);
                frame.set(*local, element.clone());
                result = value(body, frame, scope)?;
            }
            frame.locals.truncate(*accumulator);
            Ok(result)
        }
        Node::MapProjection(subject, items) => {
            let subject = value(subject, frame, scope)?;
            map_projection(&subject, items, frame, scope)
        }
        Node::PathOf(parts) => pattern::path_of(all(parts, frame, scope)?.as_slice()),
        Node::EdgesDistinct(parts) => pattern::edges_distinct(all(parts, frame, scope)?.as_slice()),
    }
}

/// A constant: computed once for all rows of the frame.
fn late(number: usize, node: &Node, frame: &mut Frame<'_>, scope: &Scope<'_>) -> Evaluated {
    if let Some(Some(value)) = frame.late.get(number) {
        return Ok(value.clone());
    }
    let value = value(node, frame, scope)?;
    metered::keep(&mut frame.hold, &value)?;
    if frame.late.len() <= number {
        frame.late.resize(number + 1, None);
    }
    debug_assert!(frame.late[number].is_none(), "a constant is computed once for a frame");
    frame.late[number] = Some(value.clone());
    Ok(value)
}

fn all(nodes: &[Node], frame: &mut Frame<'_>, scope: &Scope<'_>) -> Result<Growing, EvalError> {
    let mut values = Growing::with_capacity(nodes.len())?;
    nodes.iter().try_for_each(|node| values.push(value(node, frame, scope)?))?;
    Ok(values)
}

/// AND and OR do not evaluate their right side where the left decides.
fn binary(
    operator: BinaryOperator,
    a: &Node,
    b: &Node,
    frame: &mut Frame<'_>,
    scope: &Scope<'_>,
) -> Evaluated {
    let left = value(a, frame, scope)?;
    match (operator, &left) {
        (BinaryOperator::And, Value::Bool(false)) | (BinaryOperator::Or, Value::Bool(true)) => Ok(left),
        _ => {
            let mut hold = LoopBytes::default();
            metered::keep(&mut hold, &left)?;
            operators::binary(operator, &left, &value(b, frame, scope)?, scope)
        }
    }
}

fn coalesce(arguments: &[Node], frame: &mut Frame<'_>, scope: &Scope<'_>) -> Evaluated {
    for argument in arguments {
        let value = value(argument, frame, scope)?;
        if !value.is_null() {
            return Ok(value);
        }
    }
    Ok(Value::Null)
}

/// `subject.key`
///
/// # Errors
/// A subject without properties.
pub fn property(subject: &Value, key: &Key, scope: &Scope<'_>) -> Evaluated {
    match subject {
        Value::Null => Ok(Value::Null),
        Value::Vertex(vertex) => match key.id(scope.graph) {
            Some(key) => scope.graph.property(*vertex, key),
            None => Ok(Value::Null),
        },
        Value::Edge(edge) => {
            scope.check_edge(**edge)?;
            match key.id(scope.graph) {
                Some(key) => scope.graph.edge_property(edge.id, key),
                None => Ok(Value::Null),
            }
        }
        Value::Map(map) => Ok(map.get(&*key.name).cloned().unwrap_or_default()),
        Value::Point(point) => Ok(model::point::component(point, &key.name)?),
        other if temporal::is_temporal(other) => Ok(temporal::component(other, &key.name)?),
        other => Err(EvalError::wrong_type(
            &format!("property access .{}", key.name),
            "a Node, Relationship, Map, Point or temporal value",
            other,
        )),
    }
}

/// Do the labels of a vertex (or the type of an edge) satisfy the expression?
///
/// # Errors
/// A subject without labels.
pub fn has_labels(subject: &Value, labels: &LabelExpr, scope: &Scope<'_>) -> Evaluated {
    match subject {
        Value::Null => Ok(Value::Null),
        Value::Vertex(vertex) => {
            Ok(Value::Bool(vertex_satisfies(&LabelTest::bind(labels, scope.graph), *vertex, scope)?))
        }
        Value::Edge(edge) => {
            let name = scope.graph.edge_type_name(edge.id.edge_type());
            Ok(Value::Bool(type_satisfies(labels, &name)))
        }
        other => Err(EvalError::wrong_type("a label test", "a Node or Relationship", other)),
    }
}

/// Does the vertex satisfy the test?
///
/// # Errors
/// A vertex that does not exist.
pub fn vertex_satisfies(test: &LabelTest, vertex: VertexId, scope: &Scope<'_>) -> Result<bool, EvalError> {
    Ok(match test {
        LabelTest::Constant(answer) => *answer,
        LabelTest::Has(label) => scope.graph.has_label(vertex, *label)?,
        LabelTest::Some => !scope.graph.labels(vertex)?.is_empty(),
        LabelTest::And(a, b) => vertex_satisfies(a, vertex, scope)? && vertex_satisfies(b, vertex, scope)?,
        LabelTest::Or(a, b) => vertex_satisfies(a, vertex, scope)? || vertex_satisfies(b, vertex, scope)?,
        LabelTest::Not(a) => !vertex_satisfies(a, vertex, scope)?,
    })
}

fn type_satisfies(labels: &LabelExpr, name: &str) -> bool {
    match labels {
        LabelExpr::Any | LabelExpr::Some => true,
        LabelExpr::Has(wanted) => **wanted == *name,
        LabelExpr::And(a, b) => type_satisfies(a, name) && type_satisfies(b, name),
        LabelExpr::Or(a, b) => type_satisfies(a, name) || type_satisfies(b, name),
        LabelExpr::Not(a) => !type_satisfies(a, name),
    }
}

/// `subject[index]`
fn element(subject: &Value, index: &Value, scope: &Scope<'_>) -> Evaluated {
    match (subject, index) {
        (Value::Null, _) | (_, Value::Null) => Ok(Value::Null),
        (Value::List(elements), Value::Int(index)) => {
            let at = if *index < 0 { index + elements.len() as i64 } else { *index };
            Ok(usize::try_from(at).ok().and_then(|at| elements.get(at).cloned()).unwrap_or_default())
        }
        (Value::List(_), other) => Err(EvalError::wrong_type("a List index", "an Integer", other)),
        (Value::Map(_) | Value::Vertex(_) | Value::Edge(_), Value::String(name)) => {
            property(subject, &Key::new(name.clone(), None), scope)
        }
        (Value::Map(_) | Value::Vertex(_) | Value::Edge(_), other) => {
            Err(EvalError::wrong_type("a dynamic property key", "a String", other))
        }
        (other, _) => Err(EvalError::wrong_type("[index]", "a List, Map, Node or Relationship", other)),
    }
}

fn slice(
    subject: &Node,
    from: Option<&Node>,
    to: Option<&Node>,
    frame: &mut Frame<'_>,
    scope: &Scope<'_>,
) -> Evaluated {
    let list = operators::list_of("[from..to]", value(subject, frame, scope)?)?;
    let mut bound = |node: Option<&Node>, absent: Value| match node {
        Some(node) => value(node, frame, scope),
        None => Ok(absent),
    };
    let (from, to) = (bound(from, Value::Int(0))?, bound(to, Value::Int(i64::MAX))?);
    let Some(list) = list else { return Ok(Value::Null) };
    let place = |bound: &Value| match bound {
        Value::Null => Ok(None),
        Value::Int(at) if *at < 0 => Ok(Some((at + list.len() as i64).max(0) as usize)),
        Value::Int(at) => Ok(Some((*at).min(list.len() as i64) as usize)),
        other => Err(EvalError::wrong_type("[from..to]", "Integer bounds", other)),
    };
    let (Some(from), Some(to)) = (place(&from)?, place(&to)?) else { return Ok(Value::Null) };
    let part = list.get(from..to).unwrap_or(&[]);
    metered::list(part.len(), part.iter().cloned())
}

fn case(
    operand: Option<&Node>,
    arms: &[(Node, Node)],
    otherwise: Option<&Node>,
    frame: &mut Frame<'_>,
    scope: &Scope<'_>,
) -> Evaluated {
    let operand = operand.map(|operand| value(operand, frame, scope)).transpose()?;
    for (when, then) in arms {
        let when = value(when, frame, scope)?;
        let hit = match &operand {
            Some(operand) => operators::equal(operand, &when)?,
            None => truth("CASE WHEN", &when)?,
        };
        if hit == Some(true) {
            return value(then, frame, scope);
        }
    }
    otherwise.map_or(Ok(Value::Null), |otherwise| value(otherwise, frame, scope))
}

fn comprehension(
    local: usize,
    list: &Node,
    predicate: Option<&Node>,
    map: Option<&Node>,
    frame: &mut Frame<'_>,
    scope: &Scope<'_>,
) -> Evaluated {
    let Some(elements) = operators::list_of("a list comprehension", value(list, frame, scope)?)? else {
        return Ok(Value::Null);
    };
    let capacity = if predicate.is_none() { elements.len() } else { 0 };
    let mut kept = Growing::with_capacity(capacity)?;
    for element in elements.iter() {
        metered::elements(1)?;
        frame.set(local, element.clone());
        if let Some(predicate) = predicate
            && truth("WHERE", &value(predicate, frame, scope)?)? != Some(true)
        {
            continue;
        }
        kept.push(match map {
            Some(map) => value(map, frame, scope)?,
            None => element.clone(),
        })?;
    }
    frame.locals.truncate(local);
    kept.finish()
}

fn quantified(
    quantifier: Quantifier,
    local: usize,
    list: &Node,
    predicate: &Node,
    frame: &mut Frame<'_>,
    scope: &Scope<'_>,
) -> Evaluated {
    let Some(elements) = operators::list_of("a quantified predicate", value(list, frame, scope)?)? else {
        return Ok(Value::Null);
    };
    let (mut hits, mut misses, mut unknown) = (0usize, 0usize, 0usize);
    for element in elements.iter() {
        metered::elements(1)?;
        frame.set(local, element.clone());
        match truth("WHERE", &value(predicate, frame, scope)?)? {
            Some(true) => hits += 1,
            Some(false) => misses += 1,
            None => unknown += 1,
        }
    }
    frame.locals.truncate(local);
    Ok(Value::from(match quantifier {
        Quantifier::Any if hits > 0 => Some(true),
        Quantifier::None if hits > 0 => Some(false),
        Quantifier::All if misses > 0 => Some(false),
        Quantifier::Single if hits > 1 => Some(false),
        _ if unknown > 0 => None,
        Quantifier::Any => Some(false),
        Quantifier::None | Quantifier::All => Some(true),
        Quantifier::Single => Some(hits == 1),
    }))
}

fn map_projection(
    subject: &Value,
    items: &[ProjectionItem],
    frame: &mut Frame<'_>,
    scope: &Scope<'_>,
) -> Evaluated {
    if subject.is_null() {
        return Ok(Value::Null);
    }
    let (mut map, mut hold) = (Map::new(), LoopBytes::default());
    for item in items {
        match item {
            ProjectionItem::AllProperties => {
                metered::walk(subject)?;
                map.extend(functions::graph::properties(subject, scope)?);
            }
            ProjectionItem::Property(key) => {
                map.insert(key.name.clone(), property(subject, key, scope)?);
            }
            ProjectionItem::Entry(name, node) => {
                let value = value(node, frame, scope)?;
                metered::keep(&mut hold, &value)?;
                map.insert(name.clone(), value);
            }
        }
    }
    Ok(Value::Map(MapValue::new(map)?))
}
