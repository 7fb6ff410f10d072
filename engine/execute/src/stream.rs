//! A piece of dataflow under construction: the vertex that emits its rows, and their layout.

use dataflow::VertexNo;
use expression::Layout;

/// The rows that come out of a vertex.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(crate) vertex: VertexNo,
    pub(crate) output: usize,
    pub(crate) layout: Layout,
    /// May rows come out on executors other than the home?
    pub(crate) parallel: bool,
    /// Do the rows stand in an order that the statement asked for?
    pub(crate) ordered: bool,
    /// Are there likely more rows than came in, so that it pays to share them out?
    pub(crate) fans_out: bool,
}

/// The input of an operator.
#[derive(Clone, Debug)]
pub(crate) enum Feed {
    /// One row without columns: the operator is a leaf.
    Unit,
    /// Rows.
    Rows(Stream),
}

impl Feed {
    pub(crate) fn layout(&self) -> Layout {
        match self {
            Feed::Unit => Layout::default(),
            Feed::Rows(stream) => stream.layout.clone(),
        }
    }
}
