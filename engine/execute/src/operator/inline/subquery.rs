//! A sub-query, or the pattern of a MERGE, as a pipeline within one operator: which outer columns go in, and where the number of the outer row stands
//! in the output.

use crate::ExecuteError;
use crate::compile::Compiler;
use crate::demand::NodeDemand;
use crate::rows::Rows;
use crate::stream::Stream;
use dataflow::{Pipeline, PipelineGraph};
use expression::Layout;
use model::{Batch, Column, Nulls};
use plan::{Plan, Var};
use std::sync::Arc;

pub(crate) struct SubQuery {
    graph: Arc<PipelineGraph<Rows>>,
    /// Outer columns that the inner operators read.
    imports: Vec<usize>,
    /// The layout of the output.
    pub(crate) layout: Layout,
    /// Column of it that holds the number of the outer row.
    pub(crate) row: usize,
}

impl SubQuery {
    /// Compiles an inner plan that is a pipeline from its argument on; `outer` are the rows around it, `demand` is that for its rows.
    pub(crate) fn compile(
        compiler: &mut Compiler,
        inner: (&Plan, NodeDemand),
        imports: &[Var],
        outer: &Stream,
    ) -> Result<SubQuery, ExecuteError> {
        let number = compiler.fresh();
        let mut argument = Layout::new(&[number]);
        imports.iter().for_each(|variable| {
            argument.push(*variable);
        });
        let imports = imports.iter().map(|variable| Compiler::position(&outer.layout, *variable));
        let imports = imports.collect::<Result<Vec<_>, _>>()?;
        let argument = (number, argument, outer.ordered);
        let (graph, layout) = compiler.inner_pipeline(inner, argument)?;
        Ok(SubQuery { graph: Arc::new(graph), imports, row: Compiler::position(&layout, number)?, layout })
    }
    /// Outer columns that the inner operators read.
    pub(crate) fn imports(&self) -> &[usize] {
        &self.imports
    }
    /// A pipeline of its own for each operator that runs it.
    pub(crate) fn pipeline(&self) -> Pipeline<Rows> {
        Pipeline::new(&self.graph)
    }
    /// These outer rows as the pipeline is fed with them, numbered from `first` on.
    pub(crate) fn argument(&self, outer: &Batch, first: usize) -> Rows {
        let numbers = (first as i64..(first + outer.len()) as i64).collect();
        let numbers = Column::Int(numbers, Nulls::none());
        let mut argument = Batch::new(vec![numbers], outer.len());
        self.imports.iter().for_each(|at| argument.push_carried(outer.column(*at).clone()));
        Rows(argument)
    }
}
