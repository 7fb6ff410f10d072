//! Set: changes properties and labels for each row (SET and REMOVE), item by item; a row sees what earlier rows changed.

use crate::ExecuteError;
use crate::access::Counting;
use crate::compile::Compiler;
use crate::operator::write::{self, Dirty, RowWriter, storable};
use crate::stream::{Feed, Stream};
use crate::turn::{ExecutionContext, Try};
use expression::{Compiled, Layout};
use model::{Batch, EdgeRef, KeyId, LabelId, Value, VertexId};
use plan::Expr;
use plan::algebra::SetItem;
use plan::expr::Name;
use plan::hidden::is_hidden;
use std::sync::Arc;

enum Change {
    Property { subject: Compiled, key: Name, value: Compiled },
    Dynamic { subject: Compiled, key: Compiled, value: Compiled },
    Properties { subject: usize, value: Compiled, merge: bool },
    Labels { subject: usize, add: Vec<LabelId>, remove: Vec<LabelId> },
    DynamicLabels { subject: usize, labels: Compiled, add: bool },
}

/// A list of changes, compiled.
pub(crate) struct Changes {
    items: Vec<Change>,
}

/// A vertex or an edge.
#[derive(Clone, Copy)]
enum Entity {
    Vertex(VertexId),
    Edge(EdgeRef),
}

impl Changes {
    pub(crate) fn new(
        compiler: &Compiler,
        items: &[SetItem],
        layout: &Layout,
    ) -> Result<Changes, ExecuteError> {
        let compiled =
            items.iter().map(|item| Changes::item(compiler, item, layout)).collect::<Result<_, _>>()?;
        Ok(Changes { items: compiled })
    }
    fn item(compiler: &Compiler, item: &SetItem, layout: &Layout) -> Result<Change, ExecuteError> {
        let transaction = compiler.transaction()?;
        let compile = |expression: &Expr| compiler.expression(expression, layout);
        let labels =
            |names: &[Name]| names.iter().map(|name| transaction.label(name)).collect::<Result<Vec<_>, _>>();
        Ok(match item {
            SetItem::Property(subject, key, value) => {
                Change::Property { subject: compile(subject)?, key: key.clone(), value: compile(value)? }
            }
            SetItem::DynamicProperty(subject, key, value) => {
                Change::Dynamic { subject: compile(subject)?, key: compile(key)?, value: compile(value)? }
            }
            SetItem::Properties { variable, value, merge } => Change::Properties {
                subject: Compiler::position(layout, *variable)?,
                value: compile(value)?,
                merge: *merge,
            },
            SetItem::DynamicLabels { variable, labels, add } => {
                let subject = Compiler::position(layout, *variable)?;
                Change::DynamicLabels { subject, labels: compile(labels)?, add: *add }
            }
            SetItem::AddLabels(variable, names) => {
                let subject = Compiler::position(layout, *variable)?;
                Change::Labels { subject, add: labels(names)?, remove: Vec::new() }
            }
            SetItem::RemoveLabels(variable, names) => {
                let subject = Compiler::position(layout, *variable)?;
                Change::Labels { subject, add: Vec::new(), remove: labels(names)? }
            }
        })
    }
    /// Applies all changes to one row.
    pub(crate) fn apply(
        &self,
        batch: &Batch,
        row: usize,
        execution: &mut ExecutionContext,
        dirty: &mut Dirty,
    ) -> Try<()> {
        self.items.iter().try_for_each(|change| apply(change, batch, row, execution, dirty))
    }
}

fn apply(
    change: &Change,
    batch: &Batch,
    row: usize,
    execution: &mut ExecutionContext,
    dirty: &mut Dirty,
) -> Try<()> {
    match change {
        Change::Property { subject, key, value } => {
            let (subject, value) = dirty.evaluate(execution, |scope| {
                Ok((subject.evaluate_row(batch, row, scope)?, value.evaluate_row(batch, row, scope)?))
            })?;
            match entity(&subject)? {
                Some(entity) => set(entity, key, value, execution, dirty),
                None => Ok(()),
            }
        }
        Change::Dynamic { subject, key, value } => {
            let (subject, key, value) = dirty.evaluate(execution, |scope| {
                let (subject, key) =
                    (subject.evaluate_row(batch, row, scope)?, key.evaluate_row(batch, row, scope)?);
                Ok((subject, key, value.evaluate_row(batch, row, scope)?))
            })?;
            let Some(key) = key.as_str() else {
                let message = format!("a property key must be a String, not a {}", key.value_type().name());
                return Err(ExecuteError::WrongType(message).into());
            };
            match entity(&subject)? {
                Some(entity) => set(entity, key, value, execution, dirty),
                None => Ok(()),
            }
        }
        Change::Properties { subject, value, merge } => {
            let Some(entity) = entity(&batch.get(row, *subject))? else { return Ok(()) };
            let value = dirty.evaluate(execution, |scope| value.evaluate_row(batch, row, scope))?;
            set_all(entity, value, *merge, execution, dirty)
        }
        Change::Labels { subject, add, remove } => {
            change_labels(&batch.get(row, *subject), add, remove, execution, dirty)
        }
        Change::DynamicLabels { subject, labels, add } => {
            let labels = dirty.evaluate(execution, |scope| labels.evaluate_row(batch, row, scope))?;
            let labels = names(labels, "a label")?;
            let transaction = execution.environment.transaction()?;
            let labels =
                labels.iter().map(|label| transaction.label(label)).collect::<Result<Vec<_>, _>>()?;
            let (add, remove) = if *add { (labels, Vec::new()) } else { (Vec::new(), labels) };
            change_labels(&batch.get(row, *subject), &add, &remove, execution, dirty)
        }
    }
}

fn change_labels(
    subject: &Value,
    add: &[LabelId],
    remove: &[LabelId],
    execution: &ExecutionContext,
    dirty: &mut Dirty,
) -> Try<()> {
    match entity(subject)? {
        Some(Entity::Vertex(vertex)) => {
            let (added, removed) = execution.environment.transaction()?.change_labels(vertex, add, remove)?;
            Counting::add(&execution.environment.counting.labels_added, added as u64);
            Counting::add(&execution.environment.counting.labels_removed, removed as u64);
            dirty.vertex(vertex);
            Ok(())
        }
        Some(Entity::Edge(_)) => Err(ExecuteError::WrongType("a Relationship has no labels".into()).into()),
        None => Ok(()),
    }
}

/// The names that a value gives for labels or a type: a text, or a list of texts.
pub(crate) fn names(value: Value, what: &str) -> Try<Vec<Name>> {
    let refuse = |value: &Value| {
        let kind = value.value_type().name();
        ExecuteError::WrongType(format!("{what} is named by a String, not by a {kind}"))
    };
    let name = |value: &Value| match value {
        Value::String(text) => Ok(text.clone()),
        other => Err(refuse(other)),
    };
    match &value {
        Value::List(list) => Ok(list.iter().map(name).collect::<Result<_, _>>()?),
        single => Ok(vec![name(single)?]),
    }
}

fn entity(value: &Value) -> Try<Option<Entity>> {
    match value {
        Value::Null => Ok(None),
        Value::Vertex(vertex) => Ok(Some(Entity::Vertex(*vertex))),
        Value::Edge(edge) => Ok(Some(Entity::Edge(**edge))),
        other => {
            let message = format!(
                "properties can be set on a Node or a Relationship, not on a {}",
                other.value_type().name()
            );
            Err(ExecuteError::WrongType(message).into())
        }
    }
}

fn set(entity: Entity, key: &str, value: Value, execution: &ExecutionContext, dirty: &mut Dirty) -> Try<()> {
    let transaction = execution.environment.transaction()?;
    let value = storable(value, key)?;
    set_key(entity, transaction.key(key)?, value, execution, dirty)
}

fn set_key(
    entity: Entity,
    key: KeyId,
    value: Value,
    execution: &ExecutionContext,
    dirty: &mut Dirty,
) -> Try<()> {
    let transaction = execution.environment.transaction()?;
    match entity {
        Entity::Vertex(vertex) => {
            transaction.set_property(vertex, key, value)?;
            dirty.vertex(vertex);
        }
        Entity::Edge(edge) => {
            transaction.set_edge_property(edge, key, value)?;
            dirty.edge(edge.id);
        }
    }
    Counting::add(&execution.environment.counting.properties_set, 1);
    Ok(())
}

/// Present properties of a vertex or an edge, without those that no interface shows: they are neither copied nor replaced.
fn current(entity: Entity, execution: &mut ExecutionContext, dirty: &mut Dirty) -> Try<Vec<(KeyId, Value)>> {
    let mut properties = match entity {
        Entity::Vertex(vertex) => {
            dirty.before_vertex(vertex, execution)?;
            execution.environment.record(|reads| reads.vertex(vertex));
            execution.snapshot().properties(vertex)?
        }
        Entity::Edge(edge) => {
            dirty.before_edge(edge.id, execution)?;
            execution.environment.record(|reads| reads.edge(edge.id));
            execution.snapshot().edge_properties(edge.id)?
        }
    };
    let catalog = execution.snapshot().catalog();
    properties.retain(|(key, _)| catalog.key_name(*key).is_none_or(|name| !is_hidden(name)));
    Ok(properties)
}

fn set_all(
    subject: Entity,
    value: Value,
    merge: bool,
    execution: &mut ExecutionContext,
    dirty: &mut Dirty,
) -> Try<()> {
    let new = match value {
        Value::Map(_) | Value::Null => write::properties(value, execution.environment.transaction()?)?,
        Value::Vertex(_) | Value::Edge(_) => match entity(&value)? {
            Some(source) => current(source, execution, dirty)?,
            None => Vec::new(),
        },
        other => {
            let message = format!(
                "properties are set from a Map, Node or Relationship, not from a {}",
                other.value_type().name()
            );
            return Err(ExecuteError::WrongType(message).into());
        }
    };
    if !merge {
        for (key, _) in current(subject, execution, dirty)? {
            if !new.iter().any(|(other, _)| *other == key) {
                set_key(subject, key, Value::Null, execution, dirty)?;
            }
        }
    }
    new.into_iter().try_for_each(|(key, value)| set_key(subject, key, value, execution, dirty))
}

struct Set {
    changes: Arc<Changes>,
    dirty: Dirty,
}

impl RowWriter for Set {
    fn write(&mut self, batch: &Batch, row: usize, execution: &mut ExecutionContext) -> Try<()> {
        self.changes.apply(batch, row, execution, &mut self.dirty)
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::Set,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let layout = feed.layout();
    let changes = Arc::new(Changes::new(compiler, &node.items, &layout)?);
    write::attach(compiler, "Set", feed, layout, move || Set {
        changes: changes.clone(),
        dirty: Dirty::default(),
    })
}
