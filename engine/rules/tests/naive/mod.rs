//! The obvious twin: every rule over every combination of facts, again and again until nothing new comes. Whole numbers only.
#![allow(dead_code, missing_docs)]

use datalog::{AggregateKind, Atom, Component, Expr, Literal, Operator, Order, Program, RelationNo, Term};
use model::Value;
use std::collections::{BTreeMap, BTreeSet};

pub type Facts = BTreeSet<Vec<i64>>;

fn constant(term: &Term) -> i64 {
    match term {
        Term::Constant(value) => value.as_int().expect("whole numbers only"),
        other => panic!("{other:?} is no constant"),
    }
}

fn value(expr: &Expr, slots: &[Option<i64>]) -> Option<i64> {
    match expr {
        Expr::Term(Term::Slot(slot)) => slots[*slot],
        Expr::Term(term) => Some(constant(term)),
        Expr::Negate(inner) => value(inner, slots)?.checked_neg(),
        Expr::Binary(operator, left, right) => {
            let (a, b) = (value(left, slots)?, value(right, slots)?);
            match operator {
                Operator::Add => a.checked_add(b),
                Operator::Subtract => a.checked_sub(b),
                Operator::Multiply => a.checked_mul(b),
                Operator::Divide => a.checked_div(b),
                Operator::Remainder => a.checked_rem(b),
            }
        }
    }
}

fn fits(atom: &Atom, fact: &[i64], slots: &mut [Option<i64>]) -> bool {
    atom.terms.iter().zip(fact).all(|(term, value)| match term {
        Term::Any => true,
        Term::Slot(slot) => *slots[*slot].get_or_insert(*value) == *value,
        other => constant(other) == *value,
    })
}

fn ground(atom: &Atom, slots: &[Option<i64>]) -> Vec<i64> {
    let word = |term: &Term| match term {
        Term::Slot(slot) => slots[*slot].expect("bound"),
        other => constant(other),
    };
    atom.terms.iter().map(word).collect()
}

fn bindings(body: &[Literal], facts: &[Facts], slots: &[Option<i64>], found: &mut dyn FnMut(&[Option<i64>])) {
    let Some((first, rest)) = body.split_first() else { return found(slots) };
    match first {
        Literal::Holds(atom) => {
            for fact in &facts[atom.relation] {
                let mut slots = slots.to_vec();
                if fits(atom, fact, &mut slots) {
                    bindings(rest, facts, &slots, found);
                }
            }
        }
        Literal::Absent(atom) => {
            if !facts[atom.relation].contains(&ground(atom, slots)) {
                bindings(rest, facts, slots, found);
            }
        }
        Literal::Compare(order, left, right) => {
            let (Some(a), Some(b)) = (value(left, slots), value(right, slots)) else { return };
            let holds = match order {
                Order::Equal => a == b,
                Order::Unequal => a != b,
                Order::Less => a < b,
                Order::LessOrEqual => a <= b,
                Order::Greater => a > b,
                Order::GreaterOrEqual => a >= b,
            };
            if holds {
                bindings(rest, facts, slots, found);
            }
        }
        Literal::Let(slot, expr) => {
            let Some(word) = value(expr, slots) else { return };
            let mut slots = slots.to_vec();
            slots[*slot] = Some(word);
            bindings(rest, facts, &slots, found);
        }
    }
}

/// All facts of all relations; `given` are those of relations without rules, those of the text not among them.
pub fn answer(program: &Program, given: &BTreeMap<RelationNo, Facts>) -> Vec<Facts> {
    let mut facts = vec![Facts::new(); program.relations.len()];
    for (relation, terms) in &program.facts {
        facts[*relation].insert(terms.iter().map(constant).collect());
    }
    for (relation, known) in given {
        facts[*relation].extend(known.iter().cloned());
    }
    for component in &program.components {
        match component {
            Component::Rules { rules, .. } => loop {
                let mut new = Vec::new();
                for rule in rules.iter().map(|rule| &program.rules[*rule]) {
                    bindings(&rule.body, &facts, &vec![None; rule.slots], &mut |slots| {
                        new.push((rule.head.relation, ground(&rule.head, slots)));
                    });
                }
                let before: usize = facts.iter().map(Facts::len).sum();
                new.into_iter().for_each(|(relation, fact)| {
                    facts[relation].insert(fact);
                });
                if facts.iter().map(Facts::len).sum::<usize>() == before {
                    break;
                }
            },
            Component::Aggregate(at) => {
                let aggregate = &program.aggregates[*at];
                let mut groups: BTreeMap<Vec<i64>, Vec<&Vec<i64>>> = BTreeMap::new();
                for fact in &facts[aggregate.input] {
                    groups.entry(fact[..aggregate.group].to_vec()).or_default().push(fact);
                }
                let mut output = Facts::new();
                for (mut group, members) in groups {
                    for (kind, column) in &aggregate.calls {
                        let values = members.iter().map(|fact| fact[*column]);
                        group.push(match kind {
                            AggregateKind::Count => members.len() as i64,
                            AggregateKind::Sum => values.sum(),
                            AggregateKind::Min => values.min().expect("a group has members"),
                            AggregateKind::Max => values.max().expect("a group has members"),
                            AggregateKind::Avg => panic!("no whole number"),
                        });
                    }
                    output.insert(group);
                }
                facts[aggregate.output] = output;
            }
        }
    }
    facts
}

pub fn whole(fact: &[Value]) -> Vec<i64> {
    fact.iter().map(|value| value.as_int().expect("whole numbers only")).collect()
}
