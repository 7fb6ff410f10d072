//! Expressions over rows: batches are made of what an expression reads, and of nothing else.

use crate::StandingError;
use expression::error::ErrorClass;
use expression::graph::Visit;
use expression::{Compiled, EvalError, Graph, Layout, Names, Parameters, Request, Scope, compile};
use model::{Batch, Column, ColumnBuilder, EdgeId, EdgeRef, EdgeTypeId, KeyId, LabelId, Value, VertexId};
use plan::{Expr, Var};
use std::sync::Arc;
use store::Snapshot;

/// An expression ready to run.
pub(crate) struct Evaluator {
    compiled: Compiled,
    /// Columns of the rows that it reads, in the order of its layout.
    reads: Vec<usize>,
    names: NamesOnly,
    request: Arc<Request>,
}

/// What all expressions of a query share.
#[derive(Clone)]
pub(crate) struct Surroundings {
    pub names: Snapshot,
    pub request: Arc<Request>,
}

impl Surroundings {
    /// For expressions that are compiled now.
    pub fn new(names: Snapshot) -> Surroundings {
        Surroundings { names, request: Arc::new(Request::fixed(Parameters::new(), 0, 0).without_deletes()) }
    }
    /// Compiles an expression over rows with these variables.
    pub fn compile(&self, expr: &Expr, layout: &[Var]) -> Result<Evaluator, StandingError> {
        let free = expr.free_variables();
        let reads = free.iter().map(|var| {
            let place = layout.iter().position(|other| other == var);
            place.ok_or_else(|| StandingError::unsupported("an expression over what is not bound"))
        });
        let reads = reads.collect::<Result<Vec<usize>, _>>()?;
        let compiled = compile(expr, &Layout::new(&free), &self.names, &self.request.parameters)?;
        Ok(Evaluator {
            compiled,
            reads,
            names: NamesOnly(self.names.names().clone()),
            request: self.request.clone(),
        })
    }
}

impl Evaluator {
    fn batch<'r>(
        &self,
        reads: &[usize],
        rows: impl Iterator<Item = &'r [Value]> + Clone,
        len: usize,
    ) -> Batch {
        let columns: Vec<Column> = reads
            .iter()
            .map(|column| {
                let mut builder = ColumnBuilder::new();
                rows.clone().for_each(|row| builder.push(row[*column].clone()));
                builder.finish()
            })
            .collect();
        Batch::new(columns, len)
    }
    /// Its value for each row.
    pub fn values<'r>(
        &self,
        rows: impl ExactSizeIterator<Item = &'r [Value]> + Clone,
    ) -> Result<Vec<Value>, StandingError> {
        let len = rows.len();
        let batch = self.batch(&self.reads, rows, len);
        let column = self.compiled.evaluate(&batch, &Scope::new(&self.names, &self.request))?;
        Ok((0..len).map(|row| column.get(row)).collect())
    }
    /// Rows for which it is true; `reads` says where its variables stand in these rows.
    pub fn select<'r>(
        &self,
        reads: &[usize],
        rows: impl ExactSizeIterator<Item = &'r [Value]> + Clone,
    ) -> Result<Vec<u32>, StandingError> {
        let len = rows.len();
        let batch = self.batch(reads, rows, len);
        let mut selected = Vec::new();
        self.compiled.select(&batch, &Scope::new(&self.names, &self.request), &mut selected)?;
        Ok(selected)
    }
    /// As [`Evaluator::select`], over rows of the layout that it was compiled for.
    pub fn passing<'r>(
        &self,
        rows: impl ExactSizeIterator<Item = &'r [Value]> + Clone,
    ) -> Result<Vec<u32>, StandingError> {
        self.select(&self.reads.clone(), rows)
    }
}

/// A graph of which only the names can be asked: all else that expressions read has become columns.
struct NamesOnly(Arc<store::Names>);

fn refused<T>() -> Result<T, EvalError> {
    let why = "a standing query cannot read the properties of a node or relationship that was put into a list, map or path; \
               read them in the clause that matches it";
    Err(EvalError::new(ErrorClass::Argument, why))
}

impl Names for NamesOnly {
    fn label(&self, name: &str) -> Option<LabelId> {
        self.0.table().label(name)
    }
    fn edge_type(&self, name: &str) -> Option<EdgeTypeId> {
        self.0.table().edge_type(name)
    }
    fn key(&self, name: &str) -> Option<KeyId> {
        self.0.table().key(name)
    }
}

impl Graph for NamesOnly {
    fn label_name(&self, label: LabelId) -> Arc<str> {
        self.0.table().label_name(label).cloned().unwrap_or_else(|| "".into())
    }
    fn edge_type_name(&self, edge_type: EdgeTypeId) -> Arc<str> {
        self.0.table().edge_type_name(edge_type).cloned().unwrap_or_else(|| "".into())
    }
    fn key_name(&self, key: KeyId) -> Arc<str> {
        self.0.table().key_name(key).cloned().unwrap_or_else(|| "".into())
    }
    fn labels(&self, _: VertexId) -> Result<Vec<LabelId>, EvalError> {
        refused()
    }
    fn has_label(&self, _: VertexId, _: LabelId) -> Result<bool, EvalError> {
        refused()
    }
    fn property(&self, _: VertexId, _: KeyId) -> Result<Value, EvalError> {
        refused()
    }
    fn properties(&self, _: VertexId) -> Result<Vec<(KeyId, Value)>, EvalError> {
        refused()
    }
    fn edge_property(&self, _: EdgeId, _: KeyId) -> Result<Value, EvalError> {
        refused()
    }
    fn edge_exists(&self, _: EdgeRef) -> Result<bool, EvalError> {
        refused()
    }
    fn edge_properties(&self, _: EdgeId) -> Result<Vec<(KeyId, Value)>, EvalError> {
        refused()
    }
    fn read_property(
        &self,
        _: &mut dyn Iterator<Item = VertexId>,
        _: KeyId,
        _: &mut Visit<'_>,
    ) -> Result<(), EvalError> {
        refused()
    }
    fn read_edge_property(
        &self,
        _: &mut dyn Iterator<Item = Option<EdgeId>>,
        _: KeyId,
        _: &mut Visit<'_>,
    ) -> Result<(), EvalError> {
        refused()
    }
}
