//! Which relation a name means: one of the program's, or one of the graph's.

use crate::clause::{Clause, Said, SaidAtom, SaidLiteral, SaidName};
use crate::error::{DatalogError, ErrorKind};
use crate::limits::COMPARED_NAMES_MAX;
use crate::program::{
    Atom, GraphRelation, Literal, Program, Relation, RelationNo, Rule, Source, Suspect, Term,
};
use model::Value;
use std::cell::RefCell;
use std::collections::HashMap;
use text::Span;

/// Facts about a relation from the clauses.
struct Known {
    arity: usize,
    /// Where it was said.
    span: Span,
    has_rules: bool,
    has_facts: bool,
    input: Option<Source>,
    /// Itself, and the relation of its facts where it has rules besides.
    numbers: Option<(RelationNo, RelationNo)>,
}

/// Relations of the graph by name and width: their numbers, and the defined names that are probably meant.
type GraphRelations = HashMap<(SaidName, usize), (RelationNo, Option<String>)>;

pub(super) struct Names {
    known: HashMap<SaidName, Known>,
    /// In order of the text.
    order: Vec<SaidName>,
    /// Relations of the graph used so far, by name and width, and what each is probably meant to be.
    graph: RefCell<GraphRelations>,
}

impl Names {
    /// Relations that the clauses define.
    pub fn of(clauses: &[Clause]) -> Result<Names, DatalogError> {
        let mut names = Names { known: HashMap::new(), order: Vec::new(), graph: RefCell::default() };
        for clause in clauses {
            match clause {
                Clause::Rule { head, body } => {
                    let is_fact = body.is_empty() && head.terms.iter().all(super::is_value);
                    let known = names.note(&head.name, head.terms.len(), head.span)?;
                    known.has_rules |= !is_fact;
                    known.has_facts |= is_fact;
                }
                Clause::Input { name, from, columns, span } => {
                    let known = names.note(name, *columns, *span)?;
                    let source = match &from.said {
                        Said::Parameter(name) => Source::Parameter(name.clone()),
                        Said::Constant(Value::String(path)) => Source::File(path.clone()),
                        _ => Source::Facts,
                    };
                    if known.input.replace(source).is_some() {
                        let message = format!("`{name}` has two inputs");
                        return Err(DatalogError::new(ErrorKind::Syntax, message, *span)
                            .with_hint("give them two names, and a rule for each"));
                    }
                }
                Clause::Question(_) => {}
            }
        }
        // Once all are known: those that are only used are of one width as well.
        for clause in clauses {
            let Clause::Rule { body, .. } = clause else { continue };
            for literal in body {
                if let SaidLiteral::Holds(atom) | SaidLiteral::Absent(atom) = literal
                    && names.known.contains_key(&atom.name)
                {
                    names.note(&atom.name, atom.terms.len(), atom.span)?;
                }
            }
        }
        Ok(names)
    }
    fn note(&mut self, name: &SaidName, arity: usize, span: Span) -> Result<&mut Known, DatalogError> {
        if !self.known.contains_key(name) {
            self.order.push(name.clone());
        }
        let known = self.known.entry(name.clone()).or_insert(Known {
            arity,
            span,
            has_rules: false,
            has_facts: false,
            input: None,
            numbers: None,
        });
        if known.arity != arity {
            let message = format!("`{name}` has {} columns, here it has {arity}", known.arity);
            return Err(DatalogError::new(ErrorKind::Unknown, message, span));
        }
        if name.second.is_some() {
            let message = format!("`{name}` is a property of the graph, and cannot be defined");
            return Err(DatalogError::new(ErrorKind::Unknown, message, known.span)
                .with_hint("use a name without a dot"));
        }
        Ok(known)
    }
    /// Gives each a number; where facts and rules meet, the facts are a relation of their own.
    pub fn declare(&mut self, program: &mut Program) {
        for name in &self.order {
            let Some(known) = self.known.get_mut(name) else { continue };
            let mut add = |name: String, source: Source| {
                program.relations.push(Relation { name: name.into(), arity: known.arity, source });
                program.relations.len() - 1
            };
            // A parameter or a file is one source, facts of the text are another.
            let sources = usize::from(known.has_rules)
                + usize::from(known.has_facts)
                + usize::from(known.input.is_some());
            if sources == 1 {
                let source = match (&known.input, known.has_rules) {
                    (Some(input), _) => input.clone(),
                    (None, true) => Source::Rules,
                    (None, false) => Source::Facts,
                };
                let number = add(name.to_string(), source);
                known.numbers = Some((number, number));
                continue;
            }
            let own = add(name.to_string(), Source::Rules);
            let mut givens = Vec::new();
            if known.has_facts {
                givens.push(add(format!("{name}@facts"), Source::Facts));
            }
            if let Some(input) = &known.input {
                givens.push(add(format!("{name}@input"), input.clone()));
            }
            known.numbers = Some((own, givens.first().copied().unwrap_or(own)));
            for given in givens {
                let terms: Vec<Term> = (0..known.arity).map(Term::Slot).collect();
                let body = vec![Literal::Holds(Atom { relation: given, terms: terms.clone() })];
                program.rules.push(Rule { head: Atom { relation: own, terms }, body, slots: known.arity });
            }
        }
    }
    /// Where the facts of this name go.
    pub fn given(&self, head: &SaidAtom, program: &Program) -> Result<RelationNo, DatalogError> {
        self.numbers(head, program).map(|(_, given)| given)
    }
    /// The relation that a rule with this head defines.
    pub fn derived(&self, head: &SaidAtom, program: &Program) -> Result<RelationNo, DatalogError> {
        self.numbers(head, program).map(|(own, _)| own)
    }
    fn numbers(&self, head: &SaidAtom, _program: &Program) -> Result<(RelationNo, RelationNo), DatalogError> {
        let known = self.known.get(&head.name).and_then(|known| known.numbers);
        known.ok_or_else(|| {
            DatalogError::new(ErrorKind::Unknown, format!("`{}` is not known", head.name), head.span)
        })
    }
    /// The relation that an atom of a body or a question reads.
    pub fn asked(&self, atom: &SaidAtom, program: &mut Program) -> Result<RelationNo, DatalogError> {
        if let Some(known) = self.known.get(&atom.name) {
            if known.arity != atom.terms.len() {
                let message =
                    format!("`{}` has {} columns, here it has {}", atom.name, known.arity, atom.terms.len());
                return Err(DatalogError::new(ErrorKind::Unknown, message, atom.span));
            }
            return self.derived(atom, program);
        }
        let graph = self.graph(atom)?;
        let mut known = self.graph.borrow_mut();
        let (number, similar) = known.entry((atom.name.clone(), atom.terms.len())).or_insert_with(|| {
            let similar = self.similar(&atom.name.first).filter(|_| atom.name.second.is_none());
            (self.add(atom, &graph, program), similar)
        });
        if let Some(similar) = similar.clone() {
            program.suspects.push(Suspect { relation: graph, similar, span: atom.span });
        }
        Ok(*number)
    }
    /// Gives a relation of the graph its number.
    fn add(&self, atom: &SaidAtom, graph: &GraphRelation, program: &mut Program) -> RelationNo {
        let (plain, source) = (atom.name.to_string(), Source::Graph(graph.clone()));
        let is_taken = program.relations.iter().any(|relation| *relation.name == *plain);
        let name = if is_taken { format!("{plain}@{}", atom.terms.len()) } else { plain };
        program.relations.push(Relation { name: name.into(), arity: atom.terms.len(), source });
        program.relations.len() - 1
    }
    /// The graph's relation of this name and width.
    fn graph(&self, atom: &SaidAtom) -> Result<GraphRelation, DatalogError> {
        let SaidName { first, second } = &atom.name;
        let label = || (**first != *"_").then(|| first.clone());
        Ok(match (second, atom.terms.len()) {
            (Some(key), 2) => GraphRelation::VertexProperty(label(), key.clone()),
            (Some(key), 3) if label().is_some() => GraphRelation::EdgeProperty(first.clone(), key.clone()),
            (None, 1) => GraphRelation::Label(first.clone()),
            (None, 2) => GraphRelation::EdgeType(first.clone()),
            (_, width) => {
                let message =
                    format!("`{}` with {width} columns is defined by no rule and no fact", atom.name);
                return Err(DatalogError::new(ErrorKind::Unknown, message, atom.span).with_hint(
                    "of the graph there are Label(v), TYPE(a, b), Label.key(v, value) and TYPE.key(a, b, value)",
                ));
            }
        })
    }
    /// A defined name that this one is probably meant to be: it differs in case alone, or by one letter.
    fn similar(&self, name: &str) -> Option<String> {
        if self.order.len() > COMPARED_NAMES_MAX {
            return None;
        }
        let near = |other: &&SaidName| {
            let (a, b) = (name.to_lowercase(), other.first.to_lowercase());
            a == b || (a.len() > 2 && b.len() > 2 && one_letter(&a, &b))
        };
        self.order.iter().find(near).map(|name| name.to_string())
    }
}

/// Do the two differ by one letter put in, left out or changed?
fn one_letter(a: &str, b: &str) -> bool {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let (short, long) = if a.len() <= b.len() { (&a, &b) } else { (&b, &a) };
    let front = short.iter().zip(long).take_while(|(x, y)| x == y).count();
    match long.len() - short.len() {
        0 => short.get(front + 1..) == long.get(front + 1..),
        1 => short[front..] == long[front + 1..],
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::one_letter;

    #[test]
    fn names_that_differ_by_one_letter() {
        for (a, b) in
            [("reach", "reech"), ("reach", "reac"), ("reach", "rreach"), ("each", "reach"), ("é", "e")]
        {
            assert!(one_letter(a, b) && one_letter(b, a), "{a} {b}");
        }
        for (a, b) in
            [("reach", "raech"), ("reach", "rea"), ("reach", "bleach"), ("road", "city"), ("ab", "ba")]
        {
            assert!(!one_letter(a, b) && !one_letter(b, a), "{a} {b}");
        }
    }
}
