//! Random programs as they are said: their text, and their meaning by trying every combination of facts.

use std::collections::{BTreeMap, BTreeSet};

pub type Facts = BTreeSet<Vec<i64>>;
/// Facts that come from outside, by where they come from.
pub type Given = BTreeMap<String, Facts>;
type Names<'a> = BTreeMap<&'a str, i64>;

/// A small generator of its own, so that a seed means the same for ever.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }
}

/// Relations of the graph and of an input, with their columns.
pub const GIVEN: [(&str, usize); 7] =
    [("G", 1), ("K", 2), ("V.k", 2), ("_.k", 2), ("K.k", 3), ("e", 2), ("g", 1)];
/// Relations that rules define: those of a level may need each other, and negate or count what is below.
const LEVELS: [&[(&str, usize)]; 3] = [&[("a", 2), ("b", 2)], &[("c", 1)], &[("d", 2), ("h", 3)]];
const VARIABLES: [&str; 5] = ["x", "y", "z", "v", "w"];
const VALUES: usize = 4;

#[derive(Clone, Debug)]
enum Column {
    Any,
    Variable(&'static str),
    Value(Expr),
}

#[derive(Clone, Debug)]
enum Expr {
    Int(i64),
    Argument(&'static str),
    Variable(&'static str),
    Binary(char, Box<Expr>, Box<Expr>),
    Negate(Box<Expr>),
}

#[derive(Clone, Debug)]
enum Part {
    Holds(&'static str, Vec<Column>),
    Absent(&'static str, Vec<Column>),
    Compare(&'static str, Expr, Expr),
}

#[derive(Clone, Debug)]
enum Head {
    Value(Expr),
    Aggregate(&'static str, Option<Expr>),
}

#[derive(Clone, Debug)]
struct Rule {
    name: &'static str,
    head: Vec<Head>,
    body: Vec<Part>,
}

/// A program.
#[derive(Debug)]
pub struct Said {
    /// By level.
    rules: Vec<Vec<Rule>>,
    facts: Vec<(&'static str, Vec<Expr>)>,
    question: (&'static str, Vec<Column>),
}

pub fn computed(operator: char, a: i64, b: i64) -> Option<i64> {
    match operator {
        '+' => a.checked_add(b),
        '-' => a.checked_sub(b),
        '*' => a.checked_mul(b),
        '/' => a.checked_div(b),
        _ => a.checked_rem(b),
    }
}

pub fn holds(sign: &str, a: i64, b: i64) -> bool {
    match sign {
        "=" => a == b,
        "!=" | "<>" => a != b,
        "<" => a < b,
        "<=" => a <= b,
        ">" => a > b,
        _ => a >= b,
    }
}

/// Facts of each of the sources.
pub fn given(dice: &mut Dice) -> Given {
    let sources =
        [("G/1", 1), ("K/2", 2), ("V.k/2", 2), ("_.k/2", 2), ("K.k/3", 3), ("$rows", 2), ("g.csv", 1)];
    let mut facts = |columns: usize| -> Facts {
        (0..dice.below(2 + 2 * columns))
            .map(|_| (0..columns).map(|_| dice.below(VALUES) as i64).collect())
            .collect()
    };
    sources.into_iter().map(|(name, columns)| (name.to_string(), facts(columns))).collect()
}

impl Expr {
    fn random(dice: &mut Dice, bound: &[&'static str], depth: usize) -> Expr {
        match dice.below(if depth == 0 { 5 } else { 9 }) {
            0 => Expr::Int(dice.below(VALUES) as i64),
            1 => Expr::Argument(dice.pick(&["a", "b"])),
            2..5 if !bound.is_empty() => Expr::Variable(dice.pick(bound)),
            2..5 => Expr::Int(1),
            5 => Expr::Negate(Expr::random(dice, bound, depth - 1).into()),
            _ => {
                let operator = dice.pick(&['+', '-', '*', '/', '%']);
                let (left, right) =
                    (Expr::random(dice, bound, depth - 1), Expr::random(dice, bound, depth - 1));
                Expr::Binary(operator, left.into(), right.into())
            }
        }
    }
    fn value(&self, names: &Names<'_>, arguments: &BTreeMap<&'static str, i64>) -> Option<i64> {
        match self {
            Expr::Int(value) => Some(*value),
            Expr::Argument(name) => Some(arguments[name]),
            Expr::Variable(name) => names.get(name).copied(),
            Expr::Negate(inner) => inner.value(names, arguments)?.checked_neg(),
            Expr::Binary(operator, left, right) => {
                computed(*operator, left.value(names, arguments)?, right.value(names, arguments)?)
            }
        }
    }
    fn each_name(&self, found: &mut dyn FnMut(&'static str)) {
        match self {
            Expr::Variable(name) => found(name),
            Expr::Negate(inner) => inner.each_name(found),
            Expr::Binary(_, left, right) => {
                left.each_name(found);
                right.each_name(found);
            }
            Expr::Int(_) | Expr::Argument(_) => {}
        }
    }
    /// With brackets where it needs them, and some where it does not.
    fn text(&self, dice: &mut Dice, around: u8) -> String {
        let (text, own) = match self {
            Expr::Int(value) => (value.to_string(), 4),
            Expr::Argument(name) => (format!("${name}"), 4),
            Expr::Variable(name) => (name.to_string(), 4),
            Expr::Negate(inner) => {
                let inner = match **inner {
                    Expr::Negate(_) => inner.text(dice, 3),
                    _ => inner.text(dice, 4),
                };
                (format!("-{inner}"), 3)
            }
            Expr::Binary(operator, left, right) => {
                let own = if matches!(operator, '+' | '-') { 1 } else { 2 };
                let blank = dice.pick(&["", " ", "\n"]);
                (format!("{}{blank}{operator} {}", left.text(dice, own), right.text(dice, own + 1)), own)
            }
        };
        if own < around || dice.one_in(8) { format!("({text})") } else { text }
    }
}

fn column_text(dice: &mut Dice, column: &Column) -> String {
    match column {
        Column::Any => "_".into(),
        Column::Variable(name) => name.to_string(),
        Column::Value(value) => value.text(dice, 4),
    }
}

fn atom_text(dice: &mut Dice, name: &str, columns: &[Column]) -> String {
    let columns: Vec<String> = columns.iter().map(|column| column_text(dice, column)).collect();
    format!("{name}({})", columns.join(dice.pick(&[", ", ",", " , "])))
}

impl Part {
    fn text(&self, dice: &mut Dice) -> String {
        match self {
            Part::Holds(name, columns) => atom_text(dice, name, columns),
            Part::Absent(name, columns) => {
                format!("{}{}", dice.pick(&["!", "! ", "not ", "NOT "]), atom_text(dice, name, columns))
            }
            Part::Compare(sign, left, right) => {
                format!("{} {sign} {}", left.text(dice, 0), right.text(dice, 0))
            }
        }
    }
}

impl Rule {
    fn random(dice: &mut Dice, level: usize, (name, columns): (&'static str, usize)) -> Rule {
        let below: Vec<(&'static str, usize)> =
            GIVEN.into_iter().chain(LEVELS[..level].iter().flat_map(|level| level.iter().copied())).collect();
        // What is computed must not feed itself: it would never end.
        let is_plain = dice.one_in(2);
        let here: Vec<_> = LEVELS[level].iter().copied().filter(|_| is_plain).collect();
        let all = [below.clone(), here].concat();
        let (mut bound, mut body) = (Vec::new(), Vec::new());
        for _ in 0..1 + dice.below(3) {
            let (name, columns) = dice.pick(&all);
            body.push(Part::Holds(name, Rule::columns(dice, columns, &mut bound)));
        }
        let from_atoms = bound.clone();
        if !is_plain && dice.one_in(3) {
            let value = Expr::random(dice, &bound, 2);
            let (left, right) = (Expr::Variable("n"), value);
            body.push(if dice.one_in(2) {
                Part::Compare("=", left, right)
            } else {
                Part::Compare("=", right, left)
            });
            bound.push("n");
            if dice.one_in(2) {
                let value = Expr::random(dice, &["n"], 1);
                // Before the one that it needs.
                body.insert(0, Part::Compare("=", Expr::Variable("m"), value));
                bound.push("m");
            }
        }
        if dice.one_in(3) {
            let (name, columns) = dice.pick(&below);
            let columns = (0..columns).map(|_| match dice.below(4) {
                0 => Column::Any,
                1 if !bound.is_empty() => Column::Variable(dice.pick(&bound)),
                2 if !bound.is_empty() => Column::Variable(dice.pick(&bound)),
                _ => Column::Value(Expr::random(dice, &[], 0)),
            });
            body.push(Part::Absent(name, columns.collect()));
        }
        if dice.one_in(3) {
            let sign = dice.pick(&["=", "!=", "<>", "<", "<=", ">", ">="]);
            let (left, right) = (Expr::random(dice, &bound, 1), Expr::random(dice, &bound, 1));
            body.push(Part::Compare(sign, left, right));
        }
        // The order of the parts says nothing.
        for at in (1..body.len()).rev() {
            let other = dice.below(at + 1);
            body.swap(at, other);
        }
        let calls = !is_plain && dice.one_in(3) && !from_atoms.is_empty();
        let head = (0..columns).map(|at| {
            if calls && (at + 1 == columns || dice.one_in(3)) {
                let kind = dice.pick(&["count", "sum", "min", "max", "avg"]);
                return Head::Aggregate(kind, (kind != "count").then(|| Expr::random(dice, &bound, 1)));
            }
            Head::Value(Expr::random(dice, &bound, usize::from(!is_plain)))
        });
        Rule { name, head: head.collect(), body }
    }
    fn columns(dice: &mut Dice, columns: usize, bound: &mut Vec<&'static str>) -> Vec<Column> {
        let column = |_| match dice.below(10) {
            0 => Column::Any,
            1 => Column::Value(Expr::random(dice, &[], 0)),
            _ => {
                let name = dice.pick(&VARIABLES);
                if !bound.contains(&name) {
                    bound.push(name);
                }
                Column::Variable(name)
            }
        };
        (0..columns).map(column).collect()
    }
    fn text(&self, dice: &mut Dice) -> String {
        let head: Vec<String> = self
            .head
            .iter()
            .map(|column| match column {
                Head::Value(value) => value.text(dice, 0),
                Head::Aggregate(kind, value) => {
                    let inner = value.as_ref().map_or(String::new(), |value| value.text(dice, 0));
                    format!(
                        "{}({inner})",
                        if dice.one_in(3) { kind.to_uppercase() } else { kind.to_string() }
                    )
                }
            })
            .collect();
        let body: Vec<String> = self.body.iter().map(|part| part.text(dice)).collect();
        let joined = body.join(dice.pick(&[", ", ",\n  ", " /* and */ , "]));
        format!("{}({}) {} {joined}.", self.name, head.join(", "), dice.pick(&[":-", "<-"]))
    }

    /// Every binding of its variables under which the body holds.
    fn bindings(
        &self,
        facts: &BTreeMap<&str, Facts>,
        arguments: &BTreeMap<&'static str, i64>,
    ) -> Vec<Names<'static>> {
        let mut found = vec![Names::new()];
        for part in &self.body {
            let Part::Holds(name, columns) = part else { continue };
            found = found
                .iter()
                .flat_map(|names| {
                    facts[name].iter().filter_map(|fact| fitted(columns, fact, names, arguments))
                })
                .collect();
        }
        // Equations bind what is left, in whatever order they can; then all the others are tests.
        let mut left: Vec<&Part> = self.body.iter().filter(|part| !matches!(part, Part::Holds(..))).collect();
        let atoms = self.body.iter().filter_map(|part| match part {
            Part::Holds(_, columns) => Some(columns),
            _ => None,
        });
        let mut known: BTreeSet<&'static str> = atoms
            .flatten()
            .filter_map(|column| match column {
                Column::Variable(name) => Some(*name),
                _ => None,
            })
            .collect();
        while let Some((at, name, value)) = left.iter().enumerate().find_map(|(at, part)| {
            let Part::Compare("=", a, b) = part else { return None };
            let binds = |variable: &Expr, value: &Expr| {
                let Expr::Variable(name) = variable else { return None };
                let mut is_known = !known.contains(name);
                value.each_name(&mut |other| is_known &= known.contains(other));
                is_known.then_some(*name)
            };
            binds(a, b).map(|name| (at, name, b)).or_else(|| binds(b, a).map(|name| (at, name, a)))
        }) {
            let value = value.clone();
            left.remove(at);
            known.insert(name);
            found = found
                .into_iter()
                .filter_map(|mut names| {
                    let value = value.value(&names, arguments)?;
                    names.insert(name, value);
                    Some(names)
                })
                .collect();
        }
        found.retain(|names| {
            left.iter().all(|part| match part {
                Part::Compare(sign, left, right) => {
                    let values = (left.value(names, arguments), right.value(names, arguments));
                    matches!(values, (Some(a), Some(b)) if holds(sign, a, b))
                }
                Part::Absent(name, columns) => {
                    !facts[name].iter().any(|fact| fitted(columns, fact, names, arguments).is_some())
                }
                Part::Holds(..) => true,
            })
        });
        found.sort();
        found.dedup();
        found
    }
    fn derived(&self, facts: &BTreeMap<&str, Facts>, arguments: &BTreeMap<&'static str, i64>) -> Facts {
        let found = self.bindings(facts, arguments);
        let mut groups: BTreeMap<Vec<Option<i64>>, Vec<Vec<i64>>> = BTreeMap::new();
        for names in &found {
            let value = |value: &Expr| value.value(names, arguments);
            let columns: Option<Vec<(Option<i64>, i64)>> = self
                .head
                .iter()
                .map(|column| match column {
                    Head::Value(expr) => value(expr).map(|value| (Some(value), value)),
                    Head::Aggregate(_, None) => Some((None, 0)),
                    Head::Aggregate(_, Some(expr)) => value(expr).map(|value| (None, value)),
                })
                .collect();
            let Some(columns) = columns else { continue };
            let key = columns.iter().map(|(key, _)| *key).collect();
            groups.entry(key).or_default().push(columns.into_iter().map(|(_, value)| value).collect());
        }
        let fact = |(key, members): (Vec<Option<i64>>, Vec<Vec<i64>>)| {
            let column = |(at, key): (usize, Option<i64>)| {
                key.unwrap_or_else(|| {
                    let values = || members.iter().map(|member| member[at]);
                    let Head::Aggregate(kind, _) = &self.head[at] else { unreachable!("it has no key") };
                    match *kind {
                        "count" => members.len() as i64,
                        "sum" => values().sum(),
                        "min" => values().min().expect("a group has members"),
                        "max" => values().max().expect("a group has members"),
                        _ => values().sum::<i64>() / members.len() as i64,
                    }
                })
            };
            key.into_iter().enumerate().map(column).collect()
        };
        groups.into_iter().map(fact).collect()
    }
}

/// The names with those that the fact binds; none where it does not fit.
fn fitted(
    columns: &[Column],
    fact: &[i64],
    names: &Names<'static>,
    arguments: &BTreeMap<&'static str, i64>,
) -> Option<Names<'static>> {
    let mut names = names.clone();
    let fits = columns.iter().zip(fact).all(|(column, value)| match column {
        Column::Any => true,
        Column::Variable(name) => *names.entry(name).or_insert(*value) == *value,
        Column::Value(expr) => expr.value(&Names::new(), arguments) == Some(*value),
    });
    fits.then_some(names)
}

impl Said {
    pub fn random(dice: &mut Dice) -> Said {
        let mut rules = Vec::new();
        for (at, level) in LEVELS.iter().enumerate() {
            // Each is defined; by more rules, some.
            let mut here: Vec<Rule> = level.iter().map(|name| Rule::random(dice, at, *name)).collect();
            for _ in 0..dice.below(3) {
                let name = dice.pick(level);
                here.push(Rule::random(dice, at, name));
            }
            rules.push(here);
        }
        let mut facts = Vec::new();
        for _ in 0..dice.below(4) {
            let (name, columns) = dice.pick(&[("e", 2), ("a", 2), ("c", 1), ("d", 2)]);
            facts.push((name, (0..columns).map(|_| Expr::random(dice, &[], 0)).collect()));
        }
        let mut bound = Vec::new();
        let (name, columns) =
            dice.pick(&[("a", 2), ("b", 2), ("c", 1), ("d", 2), ("h", 3), ("h", 3), ("K", 2)]);
        let question = (name, Rule::columns(dice, columns, &mut bound));
        Said { rules, facts, question }
    }
    /// Names of the question's variables, as they come.
    pub fn asked_names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for column in &self.question.1 {
            if let Column::Variable(name) = column
                && !names.contains(&name.to_string())
            {
                names.push(name.to_string());
            }
        }
        names
    }
    pub fn text(&self, dice: &mut Dice) -> String {
        let mut lines: Vec<String> = self.rules.iter().flatten().map(|rule| rule.text(dice)).collect();
        for (name, columns) in &self.facts {
            let columns: Vec<String> = columns.iter().map(|value| value.text(dice, 0)).collect();
            lines.push(format!("{name}({}).", columns.join(", ")));
        }
        lines.push(format!(".input e(2, $rows){}", dice.pick(&["", ".", " // more"])));
        lines.push(format!(".input g(1, 'g.csv'){}", dice.pick(&["", " ."])));
        lines.push(format!("?- {}.", atom_text(dice, self.question.0, &self.question.1)));
        for at in (1..lines.len()).rev() {
            let other = dice.below(at + 1);
            lines.swap(at, other);
        }
        lines.join("\n")
    }
    /// The facts of each relation that is defined, and those of the question.
    pub fn meaning(
        &self,
        given: &Given,
        arguments: &BTreeMap<&'static str, i64>,
    ) -> (BTreeMap<&'static str, Facts>, Facts) {
        let sources = ["G/1", "K/2", "V.k/2", "_.k/2", "K.k/3", "$rows", "g.csv"];
        let mut facts: BTreeMap<&'static str, Facts> =
            GIVEN.iter().zip(sources).map(|((name, _), source)| (*name, given[source].clone())).collect();
        LEVELS.iter().copied().flatten().for_each(|(name, _)| drop(facts.insert(name, Facts::new())));
        for (name, columns) in &self.facts {
            let fact: Option<Vec<i64>> =
                columns.iter().map(|value| value.value(&Names::new(), arguments)).collect();
            facts.entry(name).or_default().extend(fact);
        }
        for level in &self.rules {
            loop {
                let before: usize = facts.values().map(Facts::len).sum();
                for rule in level {
                    let more = rule.derived(&facts, arguments);
                    facts.entry(rule.name).or_default().extend(more);
                }
                if facts.values().map(Facts::len).sum::<usize>() == before {
                    break;
                }
            }
        }
        let (name, columns) = &self.question;
        let names = self.asked_names();
        let fits = |fact: &Vec<i64>| fitted(columns, fact, &Names::new(), arguments);
        let shown = |found: Names<'static>| names.iter().map(|name| found[&**name]).collect();
        let asked = facts[name].iter().filter_map(fits).map(shown).collect();
        let derived =
            LEVELS.iter().copied().flatten().map(|(name, _)| (*name, facts[name].clone())).collect();
        (derived, asked)
    }
}
