//! Create: new vertices and edges for each row; edges may join vertices of the same clause.

use crate::ExecuteError;
use crate::access::Counting;
use crate::compile::Compiler;
use crate::operator::set::names;
use crate::operator::write::{self, Dirty, RowWriter};
use crate::stream::{Feed, Stream};
use crate::turn::{ExecutionContext, Try};
use expression::{Compiled, Layout};
use model::{Batch, Column, EdgeTypeId, LabelId, Value, VertexId};
use plan::VarSet;
use plan::algebra::{CreateEdge, CreateVertex};
use plan::{Expr, Var};
use std::sync::Arc;

struct NewVertex {
    labels: Vec<LabelId>,
    properties: Option<Compiled>,
}

struct NewEdge {
    edge_type: TypeOf,
    source: End,
    target: End,
    properties: Option<Compiled>,
}

/// Where an edge's type comes from.
enum TypeOf {
    Known(EdgeTypeId),
    /// A value of the row.
    Row(Compiled),
}

/// Where an edge's end comes from.
#[derive(Clone, Copy)]
pub(crate) enum End {
    /// A column of the input.
    Column(usize),
    /// A vertex created by this clause.
    New(usize),
}

/// The entities to create for one row.
pub(crate) struct Creation {
    vertices: Vec<NewVertex>,
    edges: Vec<NewEdge>,
}

/// The values created for one row: vertices, then edges.
pub(crate) type Created = Vec<Value>;

/// Property maps, evaluated: in a Merge they decide whether two rows mean the same.
pub(crate) struct Shape {
    pub(crate) vertices: Vec<Value>,
    pub(crate) edges: Vec<Value>,
    types: Vec<EdgeTypeId>,
}

/// The type of this name.
fn named_type(name: Value, execution: &ExecutionContext) -> Try<EdgeTypeId> {
    match names(name, "the type of a Relationship")?.as_slice() {
        [single] => Ok(execution.environment.transaction()?.edge_type(single)?),
        several => {
            let message = format!("a Relationship has one type, not {}", several.len());
            Err(ExecuteError::WrongType(message).into())
        }
    }
}

impl Creation {
    /// Compiles the parts of a pattern over rows of this layout.
    pub(crate) fn new(
        compiler: &Compiler,
        vertices: &[CreateVertex],
        edges: &[CreateEdge],
        layout: &Layout,
    ) -> Result<Creation, ExecuteError> {
        let transaction = compiler.transaction()?;
        let map = |properties: &Option<Expr>| {
            properties.as_ref().map(|properties| compiler.expression(properties, layout)).transpose()
        };
        let new: Vec<Var> = vertices.iter().map(|vertex| vertex.variable).collect();
        let new = Layout::new(&new);
        let end = |variable: Var| match new.position(variable) {
            Some(at) => Ok(End::New(at)),
            None => Compiler::position(layout, variable).map(End::Column),
        };
        let mut creation = Creation { vertices: Vec::new(), edges: Vec::new() };
        for vertex in vertices {
            let labels =
                vertex.labels.iter().map(|label| transaction.label(label)).collect::<Result<_, _>>()?;
            creation.vertices.push(NewVertex { labels, properties: map(&vertex.properties)? });
        }
        for edge in edges {
            let edge_type = match &edge.dynamic_type {
                Some(value) => TypeOf::Row(compiler.expression(value, layout)?),
                None => TypeOf::Known(transaction.edge_type(&edge.edge_type)?),
            };
            creation.edges.push(NewEdge {
                edge_type,
                source: end(edge.source)?,
                target: end(edge.target)?,
                properties: map(&edge.properties)?,
            });
        }
        Ok(creation)
    }

    /// Evaluates the property maps and types for one row.
    pub(crate) fn shape(
        &self,
        batch: &Batch,
        row: usize,
        execution: &mut ExecutionContext,
        dirty: &mut Dirty,
    ) -> Try<Shape> {
        let mut shape = Shape { vertices: Vec::new(), edges: Vec::new(), types: Vec::new() };
        for vertex in &self.vertices {
            let map =
                dirty.evaluate(execution, |scope| write::evaluate(&vertex.properties, batch, row, scope))?;
            shape.vertices.push(map);
        }
        for edge in &self.edges {
            let map =
                dirty.evaluate(execution, |scope| write::evaluate(&edge.properties, batch, row, scope))?;
            shape.edges.push(map);
            shape.types.push(match &edge.edge_type {
                TypeOf::Known(edge_type) => *edge_type,
                TypeOf::Row(name) => {
                    let name = dirty.evaluate(execution, |scope| name.evaluate_row(batch, row, scope))?;
                    named_type(name, execution)?
                }
            });
        }
        Ok(shape)
    }

    /// The bound ends of the edges, in their order; those that are new are null.
    pub(crate) fn ends(&self, batch: &Batch, row: usize) -> Vec<(Value, Value)> {
        let value = |end: End| match end {
            End::Column(at) => batch.get(row, at),
            End::New(_) => Value::Null,
        };
        self.edges.iter().map(|edge| (value(edge.source), value(edge.target))).collect()
    }

    /// Is it one vertex, or one edge between bound vertices?
    pub(crate) fn is_simple(&self) -> bool {
        let bound = |edge: &NewEdge| matches!((edge.source, edge.target), (End::Column(_), End::Column(_)));
        match (self.vertices.len(), self.edges.as_slice()) {
            (1, []) => true,
            (0, [edge]) => bound(edge),
            _ => false,
        }
    }

    /// Creates it.
    pub(crate) fn create(
        &self,
        shape: Shape,
        batch: &Batch,
        row: usize,
        execution: &ExecutionContext,
        dirty: &mut Dirty,
    ) -> Try<Created> {
        let transaction = execution.environment.transaction()?;
        let counting = &execution.environment.counting;
        let mut created = Vec::with_capacity(self.vertices.len() + self.edges.len());
        for (vertex, properties) in self.vertices.iter().zip(shape.vertices) {
            let properties = write::properties(properties, transaction)?;
            Counting::add(&counting.properties_set, present(&properties));
            Counting::add(&counting.labels_added, vertex.labels.len() as u64);
            Counting::add(&counting.nodes_created, 1);
            let id = transaction.create_vertex(&vertex.labels, properties)?;
            dirty.vertex(id);
            created.push(Value::Vertex(id));
        }
        for ((edge, properties), edge_type) in self.edges.iter().zip(shape.edges).zip(shape.types) {
            let properties = write::properties(properties, transaction)?;
            Counting::add(&counting.properties_set, present(&properties));
            Counting::add(&counting.relationships_created, 1);
            let (source, target) =
                (end(edge.source, &created, batch, row)?, end(edge.target, &created, batch, row)?);
            let edge = transaction.create_edge(source, target, edge_type, properties)?;
            dirty.edge(edge.id);
            created.push(Value::edge(edge));
        }
        Ok(created)
    }
}

fn present(properties: &[(model::KeyId, Value)]) -> u64 {
    properties.iter().filter(|(_, value)| !value.is_null()).count() as u64
}

fn end(end: End, created: &[Value], batch: &Batch, row: usize) -> Try<VertexId> {
    let value = match end {
        End::Column(at) => batch.get(row, at),
        End::New(at) => created[at].clone(),
    };
    match value {
        Value::Vertex(vertex) => Ok(vertex),
        Value::Null => Err(ExecuteError::Deleted(
            "a Relationship cannot be created because one of its Nodes is missing; it".into(),
        )
        .into()),
        other => {
            let message = format!("a Relationship joins Nodes, not a {}", other.value_type().name());
            Err(ExecuteError::WrongType(message).into())
        }
    }
}

struct Create {
    creation: Arc<Creation>,
    dirty: Dirty,
    columns: Vec<Vec<Value>>,
    keep: Arc<[usize]>,
}

impl RowWriter for Create {
    fn write(&mut self, batch: &Batch, row: usize, execution: &mut ExecutionContext) -> Try<()> {
        let shape = self.creation.shape(batch, row, execution, &mut self.dirty)?;
        let created = self.creation.create(shape, batch, row, execution, &mut self.dirty)?;
        for (column, at) in self.columns.iter_mut().zip(self.keep.iter()) {
            column.push(created[*at].clone());
        }
        Ok(())
    }
    fn columns(&mut self) -> Vec<Column> {
        self.columns.iter_mut().map(|values| std::mem::take(values).into_iter().collect()).collect()
    }
}

pub(crate) fn compile(
    compiler: &mut Compiler,
    node: &plan::algebra::Create,
    required: &VarSet,
    feed: Feed,
) -> Result<Stream, ExecuteError> {
    let vertices = node.vertices.iter().map(|vertex| vertex.variable);
    let new: Vec<Var> = vertices.chain(node.edges.iter().map(|edge| edge.variable)).collect();
    let mut layout = feed.layout();
    let creation = Arc::new(Creation::new(compiler, &node.vertices, &node.edges, &layout)?);
    let keep: Arc<[usize]> = (0..new.len()).filter(|at| required.contains(new[*at])).collect();
    keep.iter().for_each(|at| {
        layout.push(new[*at]);
    });
    write::attach(compiler, "Create", feed, layout, move || Create {
        creation: creation.clone(),
        dirty: Dirty::default(),
        columns: vec![Vec::new(); keep.len()],
        keep: keep.clone(),
    })
}
