//! The definition of a join: atoms over slots, conditions, and the order in which each relation's changes are completed.

use super::route::Route;
use crate::shape::{Attribute, StepNo};
use model::{Direction, Value};
use plan::expr::{LabelExpr, Name};
use plan::{Expr, Var};

/// A relation of the graph, over variables.
#[derive(Clone, Debug)]
pub(crate) enum Atom<V = Var> {
    /// Vertices with these labels.
    Vertex { vertex: V, labels: LabelExpr },
    /// Edges of these types (none: all); in both directions an edge comes twice, a loop once.
    Edge { edge: V, from: V, to: V, types: Vec<Name>, direction: Direction },
    /// The attribute of an existing vertex or edge; every entity has one row.
    Attribute { of: V, is_vertex: bool, attribute: Attribute, column: V },
}

impl<V: Copy> Atom<V> {
    /// Its variables; the last of an attribute is its value.
    pub fn variables(&self) -> Vec<V> {
        match self {
            Atom::Vertex { vertex, .. } => vec![*vertex],
            Atom::Edge { edge, from, to, .. } => vec![*edge, *from, *to],
            Atom::Attribute { of, column, .. } => vec![*of, *column],
        }
    }
    pub(super) fn map<W>(&self, mut slot: impl FnMut(V) -> W) -> Atom<W> {
        match self {
            Atom::Vertex { vertex, labels } => Atom::Vertex { vertex: slot(*vertex), labels: labels.clone() },
            Atom::Edge { edge, from, to, types, direction } => Atom::Edge {
                edge: slot(*edge),
                from: slot(*from),
                to: slot(*to),
                types: types.clone(),
                direction: *direction,
            },
            Atom::Attribute { of, is_vertex, attribute, column } => Atom::Attribute {
                of: slot(*of),
                is_vertex: *is_vertex,
                attribute: attribute.clone(),
                column: slot(*column),
            },
        }
    }
}

/// Position of a variable in the rows that are processed.
pub(crate) type SlotNo = usize;

/// A condition, and the slots it reads in the order of its layout.
#[derive(Debug)]
pub(crate) struct Condition {
    pub expr: Expr,
    pub reads: Vec<SlotNo>,
}

/// A join, ready to be built.
#[derive(Debug)]
pub(crate) struct Join {
    pub input: StepNo,
    /// The first slots are the columns of the input.
    pub input_width: usize,
    /// Columns of the input that a pattern speaks of: where one is null, nothing matches.
    pub entities: Vec<usize>,
    /// Variables by slot.
    pub layout: Vec<Var>,
    /// Slots behind the layout that hold constants.
    pub constants: Vec<Value>,
    pub atoms: Vec<Atom<SlotNo>>,
    pub conditions: Vec<Condition>,
    /// A later step evaluates conditions that can fail again: rows on which they fail pass here.
    pub is_asked_later: bool,
    /// Slots that a condition makes equal.
    pub links: Vec<(SlotNo, SlotNo)>,
    /// How each relation's changes are completed: the input's first.
    pub routes: Vec<Route>,
}
