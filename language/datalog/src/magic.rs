//! Reduction to a question: the magic-set rewrite (Bancilhon, Maier, Sagiv and Ullman 1986; Beeri and Ramakrishnan 1991).
//!
//! A relation read with some columns bound becomes a copy of itself whose rules each begin with its *magic* relation: the bound values that are
//! needed. The bindings that a rule's body passes to other relations, once its literals before are known, are a rule for their magic relations.
//! Negated and aggregated relations, and their inputs, are computed whole, so that the strata stay the same.

use crate::limits::{COPIES_MAX, FOCUS_ROUNDS_MAX, FOCUSED_RULES_MAX, FOCUSED_TERMS_MAX};
use crate::program::{Atom, Component, Literal, Program, Question, Relation, RelationNo, Rule, Source, Term};
use crate::strata;
use model::compare::hash_value;
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};

/// Bit of each bound column.
type BoundColumns = u32;

/// The program that answers the question and computes nothing that it does not need. Without a question, the program itself.
pub fn focus(program: &Program) -> Program {
    let never = || Ok::<(), std::convert::Infallible>(());
    focus_while(program, &never).unwrap_or_else(|never| match never {})
}

/// As [`focus`]; `look` is called now and then, and its error ends it.
///
/// # Errors
/// That of `look`.
pub fn focus_while<E>(program: &Program, look: &dyn Fn() -> Result<(), E>) -> Result<Program, E> {
    let Some(question) = &program.question else { return Ok(program.clone()) };
    let rules = by_head(program);
    let mut whole = BTreeSet::new();
    let mut rounds = 0;
    loop {
        let mut rewrite = Rewrite::new(program, whole.clone());
        let asked = if rewrite.is_ruled(question.relation) {
            rewrite.relation(question.relation, 0)
        } else {
            question.relation
        };
        while let Some((relation, bound)) = rewrite.queue.pop_front() {
            look()?;
            for rule in rules.get(&relation).into_iter().flatten() {
                rewrite.rule(rule, bound);
            }
            if rewrite.is_full() {
                break;
            }
        }
        rounds += 1;
        if rewrite.is_full() || rounds == FOCUS_ROUNDS_MAX {
            whole = (0..program.relations.len()).collect();
            continue;
        }
        let mut focused = rewrite.program;
        let needed = add_whole(program, &rules, &mut focused, asked);
        // What is computed whole anyway needs no copies.
        let known = whole.len();
        whole.extend(rewrite.whole);
        whole.extend(
            rewrite.adorned.keys().map(|(relation, _)| *relation).filter(|copied| needed.contains(copied)),
        );
        if whole.len() > known {
            continue;
        }
        focused.question = Some(Question { relation: asked, names: question.names.clone() });
        // Strata cannot be broken: what is negated or aggregated is computed whole.
        focused.components = strata::components(&focused, &[]).unwrap_or_default();
        return Ok(focused);
    }
}

type ByHead<'a> = HashMap<RelationNo, Vec<&'a Rule>>;

fn by_head(program: &Program) -> ByHead<'_> {
    let mut found = ByHead::new();
    for rule in &program.rules {
        found.entry(rule.head.relation).or_default().push(rule);
    }
    found
}

/// Relations that need themselves.
fn recursive(program: &Program) -> BTreeSet<RelationNo> {
    let mut found = BTreeSet::new();
    for component in &program.components {
        let Component::Rules { relations, rules } = component else { continue };
        let mut bodies = rules.iter().flat_map(|rule| &program.rules[*rule].body);
        if bodies.any(|literal| literal.relation().is_some_and(|read| relations.contains(&read))) {
            found.extend(relations);
        }
    }
    found
}

#[derive(Clone, Copy)]
struct Copy {
    own: RelationNo,
    magic: RelationNo,
}

struct Rewrite {
    program: Program,
    /// Relations that need themselves: a copy of one that nothing is known of would be the relation once more.
    recursive: BTreeSet<RelationNo>,
    /// Relations that are computed whole.
    whole: BTreeSet<RelationNo>,
    adorned: HashMap<(RelationNo, BoundColumns), Copy>,
    /// Number of copies of each relation that has some.
    copies: HashMap<RelationNo, usize>,
    /// Rules for magic relations, by [`mark`].
    magic: HashMap<u64, Vec<usize>>,
    /// Literals and columns of the rules.
    terms: usize,
    queue: VecDeque<(RelationNo, BoundColumns)>,
}

/// A hash of a rule: equal rules have the same.
fn mark(rule: &Rule) -> u64 {
    let mut state = DefaultHasher::new();
    let mut note = |term: &Term| match term {
        Term::Any => 0.hash(&mut state),
        Term::Slot(slot) => (1, slot).hash(&mut state),
        Term::Constant(value) => hash_value(value, &mut state),
        Term::Parameter(name) => name.hash(&mut state),
    };
    rule.head.terms.iter().for_each(&mut note);
    rule.body.iter().for_each(|literal| literal.each_term(&mut note));
    rule.head.relation.hash(&mut state);
    rule.body.iter().for_each(|literal| literal.relation().hash(&mut state));
    state.finish()
}

/// Columns that hold a value, or a variable of these.
fn bound_of(terms: &[Term], known: &BTreeSet<usize>) -> BoundColumns {
    let is_bound = |term: &Term| match term {
        Term::Any => false,
        Term::Slot(slot) => known.contains(slot),
        Term::Constant(_) | Term::Parameter(_) => true,
    };
    terms.iter().enumerate().filter(|(_, term)| is_bound(term)).map(|(column, _)| 1 << column).sum()
}

fn picked(terms: &[Term], bound: BoundColumns) -> Vec<Term> {
    terms
        .iter()
        .enumerate()
        .filter(|(column, _)| bound >> column & 1 == 1)
        .map(|(_, term)| term.clone())
        .collect()
}

fn slots_of(literal: &Literal) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    literal.each_term(&mut |term| {
        if let Term::Slot(slot) = term {
            found.insert(*slot);
        }
    });
    found
}

impl Rewrite {
    fn new(program: &Program, whole: BTreeSet<RelationNo>) -> Rewrite {
        Rewrite {
            program: Program { rules: Vec::new(), ..program.clone() },
            recursive: recursive(program),
            whole,
            adorned: HashMap::new(),
            copies: HashMap::new(),
            magic: HashMap::new(),
            terms: 0,
            queue: VecDeque::new(),
        }
    }
    /// Did the program grow too large?
    fn is_full(&self) -> bool {
        self.program.rules.len() > FOCUSED_RULES_MAX || self.terms > FOCUSED_TERMS_MAX
    }
    fn push(&mut self, rule: Rule) {
        for literal in &rule.body {
            self.terms += 1;
            literal.each_term(&mut |_| self.terms += 1);
        }
        self.program.rules.push(rule);
    }
    fn is_ruled(&self, relation: RelationNo) -> bool {
        self.program.relations[relation].source == Source::Rules
    }
    fn invent(&mut self, name: String, arity: usize, source: Source) -> RelationNo {
        self.program.relations.push(Relation { name: name.into(), arity, source });
        self.program.relations.len() - 1
    }
    fn adorned(&mut self, relation: RelationNo, bound: BoundColumns) -> Copy {
        if let Some(copy) = self.adorned.get(&(relation, bound)) {
            return *copy;
        }
        let Relation { name, arity, .. } = self.program.relations[relation].clone();
        let letters: String =
            (0..arity).map(|column| if bound >> column & 1 == 1 { 'b' } else { 'f' }).collect();
        let own = self.invent(format!("{name}@{letters}"), arity, Source::Rules);
        let magic =
            self.invent(format!("{name}@{letters}@magic"), bound.count_ones() as usize, Source::Rules);
        self.adorned.insert((relation, bound), Copy { own, magic });
        *self.copies.entry(relation).or_insert(0) += 1;
        self.queue.push_back((relation, bound));
        Copy { own, magic }
    }
    /// A rule of a copy, and the rules for the bindings that its body passes on.
    fn rule(&mut self, rule: &Rule, bound: BoundColumns) {
        let copy = self.adorned(rule.head.relation, bound);
        let mut body = Vec::new();
        if bound != 0 {
            body.push(Literal::Holds(Atom { relation: copy.magic, terms: picked(&rule.head.terms, bound) }));
        }
        let mut known: BTreeSet<usize> = body.iter().flat_map(slots_of).collect();
        let mut left: Vec<&Literal> = rule.body.iter().collect();
        while !left.is_empty() {
            let at = self.next(&left, &known);
            let literal = left.remove(at).clone();
            let placed = match &literal {
                Literal::Holds(atom) if self.is_ruled(atom.relation) => self.ask(atom, &known, &body, rule),
                _ => literal.clone(),
            };
            known.extend(slots_of(&literal));
            if let Literal::Let(slot, _) = &literal {
                known.insert(*slot);
            }
            body.push(placed);
        }
        let head = Atom { relation: copy.own, terms: rule.head.terms.clone() };
        self.push(Rule { head, body, slots: rule.slots });
    }
    /// Chooses the next literal: a pure test first; then the atom with most columns bound, given relations before derived ones.
    fn next(&self, left: &[&Literal], known: &BTreeSet<usize>) -> usize {
        let tests = |literal: &&Literal| match literal {
            Literal::Holds(_) => false,
            other => {
                let mut is_known = true;
                other.each_term(&mut |term| {
                    if let Term::Slot(slot) = term {
                        is_known &= known.contains(slot);
                    }
                });
                is_known
            }
        };
        if let Some(at) = left.iter().position(tests) {
            return at;
        }
        let rank = |literal: &Literal| match literal {
            Literal::Holds(atom) => {
                let bound = bound_of(&atom.terms, known).count_ones();
                (bound.min(1), u32::from(!self.is_ruled(atom.relation)), bound)
            }
            _ => (0, 0, 0),
        };
        let holds = left.iter().enumerate().filter(|(_, literal)| matches!(literal, Literal::Holds(_)));
        // The first of the best: the order of the text decides.
        let best = holds.rev().max_by_key(|(_, literal)| rank(literal));
        best.map_or(0, |(at, _)| at)
    }
    /// The relation to read with these columns bound: a copy, or the whole.
    fn relation(&mut self, relation: RelationNo, bound: BoundColumns) -> RelationNo {
        let is_full = !self.adorned.contains_key(&(relation, bound))
            && self.copies.get(&relation).is_some_and(|copies| *copies >= COPIES_MAX);
        if is_full || (bound == 0 && self.recursive.contains(&relation)) {
            self.whole.insert(relation);
        }
        if self.whole.contains(&relation) { relation } else { self.adorned(relation, bound).own }
    }
    /// The atom as it is read here, with the rule that adds its bindings to its magic relation.
    fn ask(&mut self, atom: &Atom, known: &BTreeSet<usize>, before: &[Literal], rule: &Rule) -> Literal {
        let bound = bound_of(&atom.terms, known);
        let relation = self.relation(atom.relation, bound);
        if bound != 0 && relation != atom.relation {
            let magic = self.adorned(atom.relation, bound).magic;
            let head = Atom { relation: magic, terms: picked(&atom.terms, bound) };
            let says_itself = matches!(before, [Literal::Holds(only)] if *only == head);
            let magic = Rule { head, body: before.to_vec(), slots: rule.slots };
            let (mark, next) = (mark(&magic), self.program.rules.len());
            let alike = self.magic.entry(mark).or_default();
            if !says_itself && !alike.iter().any(|at| self.program.rules[*at] == magic) {
                alike.push(next);
                self.push(magic);
            }
        }
        Literal::Holds(Atom { relation, terms: atom.terms.clone() })
    }
}

/// Adds the original rules of relations needed whole, and drops unneeded facts and aggregates; returns all that is needed.
fn add_whole(
    original: &Program,
    rules: &ByHead<'_>,
    focused: &mut Program,
    asked: RelationNo,
) -> BTreeSet<RelationNo> {
    let inputs: HashMap<RelationNo, RelationNo> =
        original.aggregates.iter().map(|aggregate| (aggregate.output, aggregate.input)).collect();
    let mut ruled: HashSet<RelationNo> = focused.rules.iter().map(|rule| rule.head.relation).collect();
    let read = focused.rules.iter().flat_map(|rule| rule.body.iter().filter_map(Literal::relation));
    let mut queue: VecDeque<RelationNo> = read.chain([asked]).collect();
    let mut needed: BTreeSet<RelationNo> = queue.iter().copied().collect();
    while let Some(relation) = queue.pop_front() {
        // Once for each: a relation may be read in several places.
        if !ruled.insert(relation) {
            continue;
        }
        for rule in rules.get(&relation).into_iter().flatten().copied() {
            focused.rules.push(rule.clone());
            queue.extend(rule.body.iter().filter_map(Literal::relation).filter(|read| needed.insert(*read)));
        }
        queue.extend(inputs.get(&relation).copied().filter(|input| needed.insert(*input)));
    }
    focused.aggregates.retain(|aggregate| needed.contains(&aggregate.output));
    focused.facts.retain(|(relation, _)| needed.contains(relation));
    needed
}
