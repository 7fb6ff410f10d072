//! Names, and conditions on the labels of a vertex.

use std::sync::Arc;

/// A name of a label, edge type or property key.
pub type Name = Arc<str>;

/// A label expression: `A|B`, `A&!B`, `%`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LabelExpr {
    /// No condition.
    Any,
    /// Carries this label.
    Has(Name),
    /// Carries any label at all: `%`.
    Some,
    /// Both hold.
    And(Box<LabelExpr>, Box<LabelExpr>),
    /// One holds.
    Or(Box<LabelExpr>, Box<LabelExpr>),
    /// Does not hold.
    Not(Box<LabelExpr>),
}

impl LabelExpr {
    /// Both conditions; `Any` vanishes.
    pub fn and(self, other: LabelExpr) -> LabelExpr {
        match (self, other) {
            (LabelExpr::Any, other) | (other, LabelExpr::Any) => other,
            (a, b) if a == b => a,
            (a, b) => LabelExpr::And(Box::new(a), Box::new(b)),
        }
    }
    /// Labels that every vertex satisfying this must carry.
    pub fn required(&self) -> Vec<Name> {
        match self {
            LabelExpr::Has(name) => vec![name.clone()],
            LabelExpr::And(a, b) => [a.required(), b.required()].concat(),
            _ => Vec::new(),
        }
    }
    /// No condition at all?
    pub fn is_any(&self) -> bool {
        *self == LabelExpr::Any
    }
}
