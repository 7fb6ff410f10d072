//! Random programs.
#![allow(dead_code, missing_docs)]

use datalog::{ErrorKind, Program, RelationNo, Source};

/// A small generator of its own, so that a seed means the same for ever.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % bound
    }
    pub fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }
}

pub const VARIABLES: [&str; 5] = ["x", "y", "z", "v", "w"];
pub const GIVEN: [(&str, usize); 3] = [("e", 2), ("f", 2), ("g", 1)];
pub const DERIVED: [(&str, usize); 5] = [("a", 2), ("b", 2), ("c", 1), ("d", 2), ("h", 3)];
pub const VALUES: usize = 7;

pub fn atom(dice: &mut Dice, (name, arity): (&str, usize), bound: &mut Vec<&'static str>) -> String {
    let mut columns = Vec::new();
    for _ in 0..arity {
        columns.push(match dice.below(12) {
            0 => dice.below(VALUES).to_string(),
            1 => "_".to_string(),
            _ => {
                let variable = VARIABLES[dice.below(VARIABLES.len())];
                if !bound.contains(&variable) {
                    bound.push(variable);
                }
                variable.to_string()
            }
        });
    }
    format!("{name}({})", columns.join(", "))
}

pub fn rule(dice: &mut Dice, head: (&str, usize)) -> String {
    let all: Vec<(&str, usize)> = GIVEN.iter().chain(&DERIVED).copied().collect();
    let (mut bound, mut body) = (Vec::new(), Vec::new());
    for _ in 0..1 + dice.below(3) {
        let relation = all[dice.below(all.len())];
        body.push(atom(dice, relation, &mut bound));
    }
    if bound.is_empty() {
        bound.push("x");
        body.push("g(x)".to_string());
    }
    let pick = |dice: &mut Dice, bound: &[&str]| bound[dice.below(bound.len())].to_string();
    if dice.one_in(4) {
        let (name, arity) = all[dice.below(all.len())];
        let columns: Vec<String> =
            (0..arity).map(|_| if dice.one_in(4) { "_".to_string() } else { pick(dice, &bound) }).collect();
        body.push(format!("!{name}({})", columns.join(", ")));
    }
    if dice.one_in(4) {
        let sign = ["<", "!=", ">=", "="][dice.below(4)];
        body.push(format!("{} {sign} {}", pick(dice, &bound), pick(dice, &bound)));
    }
    if dice.one_in(5) {
        let from = pick(dice, &bound);
        body.push(format!("n = {from} + 1, n < {VALUES}"));
        bound.push("n");
    }
    let columns: Vec<String> = (0..head.1).map(|_| pick(dice, &bound)).collect();
    if dice.one_in(6) && head.1 > 1 {
        let call = ["count()", "sum(", "min(", "max("][dice.below(4)];
        let call =
            if call.ends_with(')') { call.to_string() } else { format!("{call}{})", pick(dice, &bound)) };
        // Kept small, so that what is computed from it stays finite.
        return format!(
            "big_{}({}, {call}) :- {}.\n{}({}) :- big_{}({}, k), k < {VALUES}.",
            head.0,
            columns[1..].join(", "),
            body.join(", "),
            head.0,
            (0..head.1)
                .map(|at| if at + 1 == head.1 { "k".to_string() } else { format!("p{at}") })
                .collect::<Vec<_>>()
                .join(", "),
            head.0,
            (0..head.1 - 1).map(|at| format!("p{at}")).collect::<Vec<_>>().join(", ")
        );
    }
    format!("{}({}) :- {}.", head.0, columns.join(", "), body.join(", "))
}

/// A program that makes sense, and its text.
pub fn program(dice: &mut Dice) -> (String, Program) {
    loop {
        let mut text: Vec<String> = DERIVED
            .iter()
            .map(|(name, arity)| {
                format!("{name}({}) :- e(x, y), f(y, z).", ["x", "z", "y"][..*arity].join(", "))
            })
            .collect();
        let kept = dice.below(text.len());
        text.rotate_left(kept);
        for (name, arity) in GIVEN {
            text.push(format!("{name}({}).", vec!["0"; arity].join(", ")));
        }
        for _ in 0..2 + dice.below(7) {
            let head = DERIVED[dice.below(DERIVED.len())];
            text.push(rule(dice, head));
        }
        let text = text.join("\n");
        match datalog::compile(&text) {
            Ok(program) => return (text, program),
            Err(error) if error.kind == ErrorKind::Strata => {}
            Err(error) if error.message.contains("columns") => {}
            Err(error) => panic!("{text}\n{error:?}"),
        }
    }
}

pub fn given_of(program: &Program) -> Vec<(RelationNo, usize)> {
    let relations = program.relations.iter().enumerate();
    relations
        .filter(|(_, relation)| matches!(relation.source, Source::Facts | Source::Graph(_)))
        .map(|(at, found)| (at, found.arity))
        .collect()
}
