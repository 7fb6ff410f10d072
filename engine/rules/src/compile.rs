//! Rules to plans: for each start the order of the steps, and the indexes they need.
//!
//! The order is greedy: tests as soon as they can be made; then the atom with all columns bound; then, of those with a bound column, the one of the
//! smallest relation, where relations without facts so far count as the largest; a whole relation only where nothing is bound.

use crate::component::Members;
use crate::error::RulesError;
use crate::plan::{Formula, Operand, Plan, Role, Shape, Step};
use crate::relation::Relation;
use crate::source::Over;
use crate::words::Words;
use datalog::{Atom, Expr, Literal, RelationNo, Rule, Term};
use model::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Where a plan starts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Start {
    /// From nothing, or from the facts of the best atom.
    Whole,
    /// From a fact of the literal at this place of the body.
    Literal(usize),
    /// From a fact of the head.
    Head,
}

/// The inputs of compilation.
pub(crate) struct Surroundings<'a> {
    pub relations: &'a mut [Relation],
    pub words: &'a mut Words,
    pub parameters: &'a dyn Fn(&str) -> Option<Value>,
    /// Relations of the component.
    pub own: &'a Members,
    /// Is it derived by rules? Then it may be empty only until there is something to derive it from.
    pub is_derived: &'a dyn Fn(RelationNo) -> bool,
    /// Relations whose facts are read on demand, and their source.
    pub read: &'a dyn Fn(RelationNo) -> Over<'a>,
    /// Relations that need look-ups that the graph does not serve: by a value without an index, or a scan inside a rule.
    pub whole: &'a mut BTreeSet<RelationNo>,
}

/// A rule on its way.
struct Making<'a, 'b> {
    around: &'a mut Surroundings<'b>,
    known: Vec<bool>,
    start: Option<usize>,
    steps: Vec<Step>,
}

/// The plan of a rule from a start.
pub(crate) fn plan(rule: &Rule, start: Start, around: &mut Surroundings<'_>) -> Result<Plan, RulesError> {
    let mut making = Making { around, known: vec![false; rule.slots], start: None, steps: Vec::new() };
    let mut left: Vec<(usize, &Literal)> = rule.body.iter().enumerate().collect();
    let begin = match start {
        Start::Head => Some((rule.head.relation, making.shape(&rule.head)?)),
        Start::Literal(at) => {
            making.start = Some(at);
            left.retain(|(place, _)| *place != at);
            making.begin(&rule.body[at])?
        }
        Start::Whole => match making.first(&left) {
            Some(at) => {
                left.retain(|(place, _)| *place != at);
                making.begin(&rule.body[at])?
            }
            None => None,
        },
    };
    while !left.is_empty() {
        let next = making.next(&left);
        let (place, literal) = left.remove(next);
        let step = making.step(place, literal)?;
        making.steps.push(step);
    }
    let terms = rule.head.terms.iter().map(|term| making.operand(term)).collect::<Result<_, _>>()?;
    Ok(Plan { head: rule.head.relation, terms, start: begin, steps: making.steps })
}

impl Making<'_, '_> {
    fn parameter(&self, name: &Arc<str>) -> Result<Value, RulesError> {
        (self.around.parameters)(name).ok_or_else(|| RulesError::MissingParameter(name.to_string()))
    }
    fn operand(&mut self, term: &Term) -> Result<Operand, RulesError> {
        let value = match term {
            Term::Slot(slot) => return Ok(Operand::Slot(*slot)),
            Term::Constant(value) => value.clone(),
            Term::Parameter(name) => self.parameter(name)?,
            // Nowhere where a word is wanted: `check` sees to it.
            Term::Any => Value::Null,
        };
        Ok(Operand::Word(self.around.words.word(&value)?))
    }
    fn formula(&mut self, expr: &Expr) -> Result<Formula, RulesError> {
        Ok(match expr {
            Expr::Term(term) => Formula::Operand(self.operand(term)?),
            Expr::Binary(operator, left, right) => {
                Formula::Binary(*operator, Box::new(self.formula(left)?), Box::new(self.formula(right)?))
            }
            Expr::Negate(inner) => Formula::Negate(Box::new(self.formula(inner)?)),
        })
    }
    fn is_known(&self, term: &Term) -> bool {
        match term {
            Term::Any => false,
            Term::Slot(slot) => self.known[*slot],
            Term::Constant(_) | Term::Parameter(_) => true,
        }
    }
    fn bound(&self, atom: &Atom) -> Vec<usize> {
        (0..atom.terms.len()).filter(|column| self.is_known(&atom.terms[*column])).collect()
    }
    /// Columns to look facts up by.
    fn key(&self, atom: &Atom) -> Vec<usize> {
        let bound = self.bound(atom);
        match self.served(atom) {
            Some(column) => vec![column],
            None => bound,
        }
    }
    /// For a relation that is read on demand, the bound column of the look-up.
    fn served(&self, atom: &Atom) -> Option<usize> {
        let source = (self.around.read)(atom.relation)?;
        self.bound(atom).into_iter().find(|column| source.serves(atom.relation, *column))
    }
    /// Would all its facts have to be taken out of the graph?
    fn would_copy(&self, atom: &Atom) -> bool {
        (self.around.read)(atom.relation).is_some()
            && self.served(atom).is_none()
            && !self.around.whole.contains(&atom.relation)
    }
    /// The columns to take of a fact and those that must equal known values; its variables are known from now on.
    fn shape(&mut self, atom: &Atom) -> Result<Shape, RulesError> {
        let mut shape = Shape::default();
        for (column, term) in atom.terms.iter().enumerate() {
            match term {
                Term::Any => {}
                Term::Slot(slot) if !self.known[*slot] => {
                    self.known[*slot] = true;
                    shape.take.push((column, *slot));
                }
                known => shape.same.push((column, self.operand(known)?)),
            }
        }
        Ok(shape)
    }
    fn begin(&mut self, literal: &Literal) -> Result<Option<(RelationNo, Shape)>, RulesError> {
        match literal {
            Literal::Holds(atom) | Literal::Absent(atom) => Ok(Some((atom.relation, self.shape(atom)?))),
            Literal::Compare(..) | Literal::Let(..) => Ok(None),
        }
    }
    /// The atom to begin with, unless one has a constant to look it up by.
    fn first(&mut self, left: &[(usize, &Literal)]) -> Option<usize> {
        let atoms = left.iter().filter_map(|(place, literal)| match literal {
            Literal::Holds(atom) => Some((*place, atom)),
            _ => None,
        });
        let atoms: Vec<(usize, &Atom)> = atoms.collect();
        if atoms.iter().any(|(_, atom)| !self.would_copy(atom) && !self.key(atom).is_empty()) {
            return None;
        }
        // One with a value that it cannot be asked by: all of it is read, and not kept.
        let size = |atom: &Atom| (self.bound(atom).is_empty(), self.size(atom.relation));
        atoms.iter().min_by_key(|(_, atom)| size(atom)).map(|(place, _)| *place)
    }
    fn need_whole(&mut self, relation: RelationNo) {
        if (self.around.read)(relation).is_some() {
            self.around.whole.insert(relation);
        }
    }
    fn size(&self, relation: RelationNo) -> usize {
        match (self.around.read)(relation) {
            Some(source) => source.size(relation),
            None => match self.around.relations[relation].len() {
                0 if self.around.own.contains(relation) => usize::MAX,
                facts => facts,
            },
        }
    }
    fn next(&self, left: &[(usize, &Literal)]) -> usize {
        let is_ready = |expr: &Expr| {
            let mut ready = true;
            expr.each_term(&mut |term| ready &= self.is_known(term));
            ready
        };
        let test = left.iter().position(|(_, literal)| match literal {
            Literal::Compare(_, left, right) => is_ready(left) && is_ready(right),
            Literal::Let(_, value) => is_ready(value),
            Literal::Absent(atom) => atom.terms.iter().all(|term| self.is_known(term)),
            Literal::Holds(atom) => atom.terms.iter().all(|term| self.is_known(term)),
        });
        let cost = |literal: &Literal| match literal {
            Literal::Holds(atom) => {
                let key = self.key(atom).len();
                let size = match self.size(atom.relation) {
                    0 if (self.around.is_derived)(atom.relation) => usize::MAX,
                    size => size,
                };
                (key == 0, self.would_copy(atom), size, atom.terms.len() - key)
            }
            _ => (true, true, usize::MAX, usize::MAX),
        };
        test.or_else(|| (0..left.len()).min_by_key(|at| cost(left[*at].1))).unwrap_or(0)
    }
    fn role(&self, place: usize, relation: RelationNo) -> Role {
        let is_before = self.start.is_some_and(|start| place < start);
        match (self.around.own.contains(relation), is_before) {
            (false, true) => Role::LowerBefore,
            (false, false) => Role::LowerAfter,
            (true, true) => Role::OwnBefore,
            (true, false) => Role::OwnAfter,
        }
    }
    fn step(&mut self, place: usize, literal: &Literal) -> Result<Step, RulesError> {
        Ok(match literal {
            Literal::Compare(order, left, right) => {
                Step::Compare(*order, self.formula(left)?, self.formula(right)?)
            }
            // What a start from the head knows already is compared.
            Literal::Let(slot, value) if self.known[*slot] => Step::Is(*slot, self.formula(value)?),
            Literal::Let(slot, value) => {
                self.known[*slot] = true;
                Step::Let(*slot, self.formula(value)?)
            }
            Literal::Absent(atom) => {
                let words = atom.terms.iter().map(|term| self.operand(term)).collect::<Result<_, _>>()?;
                Step::Absent { relation: atom.relation, words, role: self.role(place, atom.relation) }
            }
            Literal::Holds(atom) => self.lookup(place, atom)?,
        })
    }
    fn lookup(&mut self, place: usize, atom: &Atom) -> Result<Step, RulesError> {
        let (relation, role) = (atom.relation, self.role(place, atom.relation));
        if atom.terms.iter().all(|term| self.is_known(term)) {
            let words = atom.terms.iter().map(|term| self.operand(term)).collect::<Result<_, _>>()?;
            return Ok(Step::Check { relation, words, role });
        }
        let columns = self.key(atom);
        if self.would_copy(atom) {
            self.need_whole(relation);
        }
        if columns.is_empty() {
            return Ok(Step::Scan { relation, shape: self.shape(atom)?, role });
        }
        let key =
            columns.iter().map(|column| self.operand(&atom.terms[*column])).collect::<Result<_, _>>()?;
        let index = self.around.relations[relation].index_of(&columns);
        let mut shape = self.shape(atom)?;
        shape.same.retain(|(column, _)| !columns.contains(column));
        Ok(Step::Seek { relation, index, key, shape, role })
    }
}
