//! Embeddings of a pattern for each row of an input, kept up to date by delta joins without intermediate state.
//!
//! A pattern is a list of *atoms*, each a relation of the graph: the vertices of a label, the edges of a type, a property. Relation 0
//! is the input, relation i the i-th atom. When relation i changes at a tick, the new (or gone) bindings are completed by looking the
//! others up in an order of their own (a [`Route`]): those after i as they are at the tick, those before i as they were just before
//! it. So each change of the answer is found exactly once, whichever relations changed together, and nothing but the input is stored.
//! (The delta queries of K-Pg, section 6.2.) Loading the graph is the change of the input from nothing to its rows.
//!
//! `route` decides the orders, `run` follows them, `state` is what is kept from tick to tick.

mod block;
mod focus;
mod route;
mod run;
mod state;

pub(crate) use state::JoinState;

use crate::StandingError;
use crate::limits::ATOMS_MAX;
use crate::shape::{Attribute, StepNo};
use model::{Direction, Value};
use plan::expr::{BinaryOperator, LabelExpr, Name};
use plan::{Expr, Var};
use route::Route;
use store::Snapshot;

/// A relation of the graph, over variables.
#[derive(Clone, Debug)]
pub(crate) enum Atom<V = Var> {
    /// Vertices with these labels.
    Vertex { vertex: V, labels: LabelExpr },
    /// Edges of these types (none: all); in both directions an edge comes twice, a loop once.
    Edge { edge: V, from: V, to: V, types: Vec<Name>, direction: Direction },
    /// What an existing vertex or edge has for an attribute; every entity is there once.
    Attribute { of: V, is_vertex: bool, attribute: Attribute, column: V },
}

impl<V: Copy> Atom<V> {
    /// Its variables; the last of an attribute is what it computes.
    pub fn variables(&self) -> Vec<V> {
        match self {
            Atom::Vertex { vertex, .. } => vec![*vertex],
            Atom::Edge { edge, from, to, .. } => vec![*edge, *from, *to],
            Atom::Attribute { of, column, .. } => vec![*of, *column],
        }
    }
    fn map<W>(&self, mut slot: impl FnMut(V) -> W) -> Atom<W> {
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

/// Place of a variable in the rows that are worked on.
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
    /// Slots that a condition makes equal.
    pub links: Vec<(SlotNo, SlotNo)>,
    /// How each relation's changes are completed: the input's first.
    pub routes: Vec<Route>,
}

/// Collects atoms and conditions.
pub(crate) struct JoinBuilder {
    input: StepNo,
    input_width: usize,
    entities: Vec<usize>,
    layout: Vec<Var>,
    atoms: Vec<Atom<SlotNo>>,
    conditions: Vec<Expr>,
}

impl JoinBuilder {
    /// A join for each row of `input`.
    pub fn new(input: StepNo, layout: &[Var]) -> JoinBuilder {
        JoinBuilder {
            input,
            input_width: layout.len(),
            entities: Vec::new(),
            layout: layout.to_vec(),
            atoms: Vec::new(),
            conditions: Vec::new(),
        }
    }
    /// Variables so far.
    pub fn layout(&self) -> &[Var] {
        &self.layout
    }
    fn slot(layout: &mut Vec<Var>, var: Var) -> SlotNo {
        layout.iter().position(|other| *other == var).unwrap_or_else(|| {
            layout.push(var);
            layout.len() - 1
        })
    }
    /// Adds an atom; one that is there already, or that asks nothing of a variable that is bound, changes nothing.
    pub fn atom(&mut self, atom: Atom) -> Result<(), StandingError> {
        if self.atoms.len() == ATOMS_MAX {
            return Err(StandingError::TooLarge { what: "the parts of a pattern", limit: ATOMS_MAX });
        }
        if !matches!(atom, Atom::Attribute { .. }) {
            let given = &self.layout[..self.input_width];
            let columns =
                atom.variables().into_iter().filter_map(|var| given.iter().position(|at| *at == var));
            self.entities.extend(columns);
            self.entities.sort_unstable();
            self.entities.dedup();
        }
        match &atom {
            Atom::Vertex { vertex, labels } if labels.is_any() && self.layout.contains(vertex) => {
                return Ok(());
            }
            Atom::Attribute { column, .. } if self.layout.contains(column) => return Ok(()),
            _ => {}
        }
        let atom = atom.map(|var| JoinBuilder::slot(&mut self.layout, var));
        self.atoms.push(atom);
        Ok(())
    }
    /// Adds a condition over variables of the layout.
    pub fn require(&mut self, condition: Expr) -> Result<(), StandingError> {
        match condition.free_variables().iter().find(|var| !self.layout.contains(var)) {
            Some(_) => Err(StandingError::unsupported("a condition on what is not bound")),
            None => {
                self.conditions.push(condition);
                Ok(())
            }
        }
    }
    /// Chooses the orders in which atoms are looked up.
    pub fn finish(self, snapshot: &Snapshot) -> Result<Join, StandingError> {
        let JoinBuilder { input, input_width, entities, layout, atoms, conditions } = self;
        let (mut constants, mut links) = (Vec::new(), Vec::new());
        for condition in &conditions {
            let Expr::Binary(BinaryOperator::Equal, a, b) = condition else { continue };
            let mut slot = |expr: &Expr| match expr {
                Expr::Variable(var) => layout.iter().position(|other| other == var),
                Expr::Literal(constant) if !constant.0.is_null() => {
                    constants.push(constant.0.clone());
                    Some(layout.len() + constants.len() - 1)
                }
                _ => None,
            };
            if let (Some(a), Some(b)) = (slot(a), slot(b)) {
                links.push((a, b));
            }
        }
        let conditions: Vec<Condition> = conditions
            .into_iter()
            .map(|expr| {
                let free = expr.free_variables();
                let place = |var: &Var| layout.iter().position(|other| other == var);
                Condition { reads: free.iter().filter_map(place).collect(), expr }
            })
            .collect();
        let chooser = route::Chooser {
            snapshot,
            atoms: &atoms,
            conditions: &conditions,
            links: &links,
            input_width,
            constants: layout.len()..layout.len() + constants.len(),
        };
        let routes = (0..=atoms.len()).map(|relation| chooser.route(relation)).collect();
        Ok(Join { input, input_width, entities, layout, constants, atoms, conditions, links, routes })
    }
}
