//! From a pattern's atoms and conditions to a join: slots, constants, routes.

use super::pattern::{Atom, Condition, Join, SlotNo};
use super::route::Chooser;
use crate::StandingError;
use crate::limits::ATOMS_MAX;
use crate::shape::StepNo;
use plan::expr::BinaryOperator;
use plan::{Expr, Var};
use store::Snapshot;

/// Collects atoms and conditions.
pub(crate) struct JoinBuilder {
    input: StepNo,
    input_width: usize,
    entities: Vec<usize>,
    layout: Vec<Var>,
    atoms: Vec<Atom<SlotNo>>,
    conditions: Vec<Expr>,
    is_asked_later: bool,
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
            is_asked_later: false,
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
    /// Adds an atom; a duplicate, or one without a condition on a bound variable, changes nothing.
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
    /// Lets rows pass on which a condition fails: a later step evaluates it again.
    pub fn ask_later(&mut self) {
        self.is_asked_later = true;
    }
    /// Chooses the orders in which atoms are looked up.
    pub fn finish(self, snapshot: &Snapshot) -> Result<Join, StandingError> {
        let JoinBuilder { input, input_width, entities, layout, atoms, conditions, is_asked_later } = self;
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
        let chooser = Chooser {
            snapshot,
            atoms: &atoms,
            conditions: &conditions,
            links: &links,
            input_width,
            constants: layout.len()..layout.len() + constants.len(),
        };
        let routes = (0..=atoms.len()).map(|relation| chooser.route(relation)).collect();
        Ok(Join {
            input,
            input_width,
            entities,
            layout,
            constants,
            atoms,
            conditions,
            is_asked_later,
            links,
            routes,
        })
    }
}
