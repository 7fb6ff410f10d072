//! The meaning of a text beside its evaluation: random programs are carried out as they are written, over every combination of facts, and
//! so is what `compile` makes of their text, what `focus` leaves of that for a question, and what `share` makes of it for all arguments.
//! Whole numbers only. Replay one case with `TANGLEWOOD_SEED=n`.
#![allow(clippy::disallowed_methods)]

mod said;

use model::Value;
use said::{Dice, Facts, GIVEN, Given, Said};
use std::collections::BTreeMap;
use tanglewood_datalog::{
    AggregateKind, Atom, Component, Expr, GraphRelation, Literal, Operator, Order, Program, RelationNo,
    Source, Term, compile, focus, share,
};

const CASES: u64 = 1_500;

type Slots = Vec<Option<i64>>;

/// What a program is carried out with.
struct World<'a> {
    arguments: &'a BTreeMap<&'static str, i64>,
    given: &'a Given,
}

impl World<'_> {
    fn constant(&self, term: &Term) -> i64 {
        match term {
            Term::Constant(value) => value.as_int().unwrap(),
            Term::Parameter(name) => self.arguments[&**name],
            other => panic!("{other:?} is no constant"),
        }
    }
    fn value(&self, expr: &Expr, slots: &Slots) -> Option<i64> {
        match expr {
            Expr::Term(Term::Slot(slot)) => slots[*slot],
            Expr::Term(term) => Some(self.constant(term)),
            Expr::Negate(inner) => self.value(inner, slots)?.checked_neg(),
            Expr::Binary(operator, left, right) => {
                let (a, b) = (self.value(left, slots)?, self.value(right, slots)?);
                said::computed(
                    match operator {
                        Operator::Add => '+',
                        Operator::Subtract => '-',
                        Operator::Multiply => '*',
                        Operator::Divide => '/',
                        Operator::Remainder => '%',
                    },
                    a,
                    b,
                )
            }
        }
    }
    fn fits(&self, atom: &Atom, fact: &[i64], slots: &mut Slots) -> bool {
        assert_eq!(atom.terms.len(), fact.len());
        atom.terms.iter().zip(fact).all(|(term, value)| match term {
            Term::Any => true,
            Term::Slot(slot) => *slots[*slot].get_or_insert(*value) == *value,
            other => self.constant(other) == *value,
        })
    }
    /// The invariant of a program: what a head and a negated atom read is bound.
    fn ground(&self, atom: &Atom, slots: &Slots) -> Vec<i64> {
        let word = |term: &Term| match term {
            Term::Slot(slot) => slots[*slot].expect("bound"),
            other => self.constant(other),
        };
        atom.terms.iter().map(word).collect()
    }
    fn bindings(&self, body: &[Literal], facts: &[Facts], slots: &Slots, found: &mut dyn FnMut(&Slots)) {
        let Some((first, rest)) = body.split_first() else { return found(slots) };
        match first {
            Literal::Holds(atom) => {
                for fact in &facts[atom.relation] {
                    let mut slots = slots.clone();
                    if self.fits(atom, fact, &mut slots) {
                        self.bindings(rest, facts, &slots, found);
                    }
                }
            }
            Literal::Absent(atom) => {
                if !facts[atom.relation].contains(&self.ground(atom, slots)) {
                    self.bindings(rest, facts, slots, found);
                }
            }
            Literal::Compare(order, left, right) => {
                let sign = match order {
                    Order::Equal => "=",
                    Order::Unequal => "!=",
                    Order::Less => "<",
                    Order::LessOrEqual => "<=",
                    Order::Greater => ">",
                    Order::GreaterOrEqual => ">=",
                };
                let values = (self.value(left, slots), self.value(right, slots));
                if let (Some(a), Some(b)) = values
                    && said::holds(sign, a, b)
                {
                    self.bindings(rest, facts, slots, found);
                }
            }
            Literal::Let(slot, expr) => {
                let Some(value) = self.value(expr, slots) else { return };
                let mut slots = slots.clone();
                // A column of a head that somebody asks for is known before it is computed.
                if *slots[*slot].get_or_insert(value) == value {
                    self.bindings(rest, facts, &slots, found);
                }
            }
        }
    }
    fn given_of(&self, source: &Source) -> Facts {
        let name = match source {
            Source::Rules | Source::Aggregate | Source::Facts => return Facts::new(),
            Source::Parameter(name) => format!("${name}"),
            Source::File(path) => path.to_string(),
            Source::Graph(GraphRelation::Label(name)) => format!("{name}/1"),
            Source::Graph(GraphRelation::EdgeType(name)) => format!("{name}/2"),
            Source::Graph(GraphRelation::VertexProperty(label, key)) => {
                format!("{}.{key}/2", label.as_deref().unwrap_or("_"))
            }
            Source::Graph(GraphRelation::EdgeProperty(name, key)) => format!("{name}.{key}/3"),
        };
        self.given.get(&name).cloned().unwrap_or_else(|| panic!("nothing is given for {name}"))
    }

    /// All facts of all relations; besides, those of `more`.
    fn answer(&self, program: &Program, more: &[(RelationNo, Vec<i64>)]) -> Vec<Facts> {
        let source = |relation: RelationNo| &program.relations[relation].source;
        assert!(program.rules.iter().all(|rule| *source(rule.head.relation) == Source::Rules));
        assert!(program.facts.iter().all(|(relation, _)| *source(*relation) == Source::Facts));
        let mut facts: Vec<Facts> =
            program.relations.iter().map(|relation| self.given_of(&relation.source)).collect();
        for (relation, terms) in &program.facts {
            facts[*relation].insert(terms.iter().map(|term| self.constant(term)).collect());
        }
        for (relation, fact) in more {
            facts[*relation].insert(fact.clone());
        }
        for component in &program.components {
            match component {
                Component::Rules { rules, .. } => loop {
                    let mut new = Vec::new();
                    for rule in rules.iter().map(|rule| &program.rules[*rule]) {
                        self.bindings(&rule.body, &facts, &vec![None; rule.slots], &mut |slots| {
                            new.push((rule.head.relation, self.ground(&rule.head, slots)));
                        });
                    }
                    let fresh =
                        new.into_iter().filter(|(relation, fact)| facts[*relation].insert(fact.clone()));
                    if fresh.count() == 0 {
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
                            let values = || members.iter().map(|fact| fact[*column]);
                            group.push(match kind {
                                AggregateKind::Count => members.len() as i64,
                                AggregateKind::Sum => values().sum(),
                                AggregateKind::Min => values().min().unwrap(),
                                AggregateKind::Max => values().max().unwrap(),
                                AggregateKind::Avg => values().sum::<i64>() / members.len() as i64,
                            });
                        }
                        output.insert(group);
                    }
                    facts[aggregate.output] = output;
                }
            }
        }
        for (relation, facts) in program.relations.iter().zip(&facts) {
            assert!(facts.iter().all(|fact| fact.len() == relation.arity), "{}", relation.name);
        }
        facts
    }

    /// The facts of the question.
    fn asked(&self, program: &Program) -> Facts {
        self.answer(program, &[])[program.question.as_ref().unwrap().relation].clone()
    }
}

fn check(seed: u64) -> bool {
    let mut dice = Dice(seed);
    let said = Said::random(&mut dice);
    let text = said.text(&mut dice);
    let program = compile(&text).unwrap_or_else(|error| panic!("seed {seed}: {error:?}\n{text}"));
    let given = said::given(&mut dice);
    let mut wanted_of = Vec::new();
    for arguments in [(1, 2), (0, 0), (3, 1)] {
        let arguments = BTreeMap::from([("a", arguments.0), ("b", arguments.1)]);
        let world = World { arguments: &arguments, given: &given };
        let (derived, wanted) = said.meaning(&given, &arguments);
        let all = world.answer(&program, &[]);
        for (name, facts) in &derived {
            let relation = program.relation(name).unwrap();
            assert_eq!(&all[relation], facts, "seed {seed}: {name}\n{text}\n{program:#?}");
        }
        let names: Vec<String> =
            program.question.as_ref().unwrap().names.iter().map(|name| name.to_string()).collect();
        assert_eq!(names, said.asked_names(), "seed {seed}\n{text}");
        assert_eq!(world.asked(&program), wanted, "seed {seed}: the question\n{text}\n{program:#?}");
        let focused = focus(&program);
        assert_eq!(world.asked(&focused), wanted, "seed {seed}: focused\n{text}\n{focused:#?}");
        wanted_of.push((arguments, wanted));
    }
    let shared = share(&program).unwrap_or_else(|error| panic!("seed {seed}: {error:?}\n{text}"));
    let nothing = BTreeMap::new();
    let world = World { arguments: &nothing, given: &given };
    assert!(shared.program.parameters.is_empty());
    let row = |arguments: &BTreeMap<&'static str, i64>| -> Vec<i64> {
        // The list of an input is an argument like any other; here it is given beside them.
        program.parameters.iter().map(|name| arguments.get(&**name).copied().unwrap_or(0)).collect()
    };
    let more: Vec<_> = wanted_of.iter().map(|(arguments, _)| (shared.arguments, row(arguments))).collect();
    let question = shared.program.question.as_ref().unwrap();
    let all = world.answer(&shared.program, &more);
    for (arguments, wanted) in &wanted_of {
        let row = row(arguments);
        let here = all[question.relation].iter().filter(|fact| fact.starts_with(&row));
        let here: Facts = here.map(|fact| fact[row.len()..].to_vec()).collect();
        assert_eq!(&here, wanted, "seed {seed}: for {row:?}\n{text}\n{:#?}", shared.program);
    }
    !wanted_of[0].1.is_empty()
}

#[test]
fn a_program_means_what_is_written() {
    if let Ok(seed) = std::env::var("TANGLEWOOD_SEED") {
        check(seed.parse().unwrap());
        return;
    }
    let answered = (0..CASES).filter(|seed| check(*seed)).count();
    assert!(answered > CASES as usize / 3, "{answered} of {CASES} have an answer");
}

/// Each value as it is written.
#[test]
fn values_are_read_as_they_are_written() {
    let cases: [(&str, Value); 21] = [
        ("0", 0i64.into()),
        ("9223372036854775807", i64::MAX.into()),
        ("-5", (-5i64).into()),
        ("--5", 5i64.into()),
        ("---5", (-5i64).into()),
        ("2.5", 2.5.into()),
        ("-2.5", (-2.5).into()),
        ("(7)", 7i64.into()),
        ("15e1", 150.0.into()),
        ("15E-1", 1.5.into()),
        ("1.25e+12", 1.25e12.into()),
        ("1e12", 1e12.into()),
        ("'a'", "a".into()),
        ("\"it's\"", "it's".into()),
        ("'a\\n\\t\\\\\\'\\\"'", "a\n\t\\'\"".into()),
        ("''", "".into()),
        ("'日本é'", "日本é".into()),
        ("true", true.into()),
        ("false", false.into()),
        ("/* one */ 1 // and no more\n", 1i64.into()),
        ("/**/1", 1i64.into()),
    ];
    for (text, value) in cases {
        let program =
            compile(&format!("p({text}, {text}).")).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        let term = Term::Constant(value);
        assert_eq!(program.facts, [(0, vec![term.clone(), term])], "{text}");
    }
    for wrong in ["1e", "1e+", "1.", ".5", "1x", "$", "'a", "1 2", "é̀", "#", "''''"] {
        assert!(compile(&format!("p({wrong}).")).is_err(), "{wrong}");
    }
    let program = compile("`a b`(1). `not`(2). _x(3). ?- `a b`(`ä`).").unwrap();
    assert!(["a b", "not", "_x"].into_iter().all(|name| program.relation(name).is_some()));
    assert_eq!(program.question.unwrap().names, ["ä".into()]);
}

/// The places that errors tell are those of the text, whatever stands before.
#[test]
fn errors_tell_their_places() {
    for before in ["", "q(1, 2).\n", "q('é', 2). // é\n/* é */ "] {
        for (wrong, place) in [
            ("p(x) :- q(y, z).", "x"),
            ("p(x) :- q(x, y), z < y.", "z"),
            ("p(x) :- q(x, _), !s(x, w).", "w"),
            ("p(1). p(x, y) :- q(x, y).", "p(x, y)"),
            ("p(x) :- q(x, 1 + y).", "1 + y"),
            ("p(_) :- q(1, x).", "_"),
            ("p(x) :- q(x, _), x = _.", "_"),
            ("p(x) :- q(x, y), y = sum(x).", "sum(x)"),
            ("p(f(1)).", "f"),
            ("p(sum()) :- q(1, 2).", "sum()"),
            ("p(1) :- q(1, 2)", ""),
            (".input p(0, $rows)", "0"),
            (".input p(17, $rows)", "17"),
            (".input p(2, 3)", "3"),
            (".input p(2, $rows) .input p(2, $more)", ".input p(2, $more)"),
            ("?- q(x, 1 + 1).", "1 + 1"),
            ("?- q(x, y). ?- q(x, z).", "q(x, z)"),
        ] {
            let text = format!("{before}q(0, 0). {wrong}");
            let error = compile(&text).expect_err(&text);
            let found = &text[error.span.start as usize..error.span.end as usize];
            assert_eq!(found, place, "{text}: {}", error.message);
        }
    }
}

/// A name that is much like one of the program's is a suspect, unless the graph has it.
#[test]
fn slips_are_told() {
    let slip = |defined: &str, used: &str| {
        let program = compile(&format!("{defined}(1). p(x) :- {used}(x). ?- p(x).")).unwrap();
        assert!(program.check_names(|_| true).is_ok());
        program.check_names(|_| false).err().and_then(|error| error.hint)
    };
    for (defined, used, is_slip) in [
        ("Person", "person", true),
        ("Person", "Persons", true),
        ("Person", "erson", true),
        ("Person", "Pxrson", true),
        ("Person", "Pxxson", false),
        ("Person", "Personss", false),
        ("ab", "AB", true),
        ("ab", "ac", false),
        ("abc", "ab", false),
        ("abc", "abd", true),
        ("abcd", "abc", true),
        ("Person", "Animal", false),
    ] {
        let hint = slip(defined, used);
        assert_eq!(hint.is_some(), is_slip, "{used} for {defined}: {hint:?}");
        assert!(hint.is_none_or(|hint| hint.contains(defined)));
    }
    let many = |names: usize| {
        let facts: String = (0..names).map(|at| format!("name{at}(1). ")).collect();
        let program = compile(&format!("{facts} p(x) :- nameX(x). ?- p(x).")).unwrap();
        program.check_names(|_| false).is_err()
    };
    assert!(many(999) && !many(1_000), "the names, and p");
}

#[test]
fn limits_hold_where_they_are() {
    let wide = |columns: usize| compile(&format!("p({}).", vec!["1"; columns].join(", ")));
    let of_rule = |variables: usize| {
        let body: Vec<String> = (0..variables).map(|at| format!("g(x{at})")).collect();
        compile(&format!("g(1). p(x0) :- {}.", body.join(", ")))
    };
    let deep = |parentheses: usize| {
        compile(&format!("g(1). p(y) :- g(x), y = {}x{}.", "(".repeat(parentheses), ")".repeat(parentheses)))
    };
    let long = |operators: usize| compile(&format!("g(1). p(y) :- g(x), y = x{}.", " + 1".repeat(operators)));
    let rules = |rules: usize| compile(&format!("g(1). {}", "p(x) :- g(x). ".repeat(rules)));
    type Reading<'a> = &'a dyn Fn(usize) -> Result<Program, tanglewood_datalog::DatalogError>;
    let limits: [(&str, usize, Reading<'_>); 5] = [
        ("columns", 16, &wide),
        ("variables", 64, &of_rule),
        ("parentheses", 99, &deep),
        ("operators", 1_000, &long),
        ("rules", 10_000, &rules),
    ];
    for (what, most, read) in limits {
        assert!(read(most).is_ok(), "{most} {what}");
        assert_eq!(
            read(most + 1).unwrap_err().kind,
            tanglewood_datalog::ErrorKind::Limit,
            "{} {what}",
            most + 1
        );
    }
    // A clause begins its own count.
    assert!(
        compile(&format!("g(1). {0} {0}", format_args!("p(y) :- g(x), y = x{}.", " + 1".repeat(1_000))))
            .is_ok()
    );
    // Variables that a count must tell apart are columns.
    let counted = |variables: usize| {
        let body: Vec<String> = (0..variables).map(|at| format!("g(x{at})")).collect();
        compile(&format!("g(1). p(count()) :- {}.", body.join(", "))).is_ok()
    };
    assert!(counted(16) && !counted(17));
    // With its parameters, a relation has so many columns more, and a rule so many variables.
    let shared = |columns: usize, variables: usize| {
        let names: Vec<String> = (0..columns).map(|at| format!("x{at}")).collect();
        let more: Vec<String> = (0..variables).map(|at| format!("g(x{at})")).collect();
        let text = format!("g(1). p({}) :- {}, g($a), g($b). ?- p({0}).", names.join(", "), more.join(", "));
        share(&compile(&text).unwrap()).is_ok()
    };
    assert!(shared(14, 14) && !shared(15, 15) && shared(3, 62) && !shared(3, 63));
    assert_eq!(GIVEN.len(), 7);
}

#[test]
fn what_is_no_program_is_told() {
    for (text, message) in [
        ("5(x).", "expected the name of a relation, found 5"),
        ("'a'(x).", "expected the name of a relation, found 'a'"),
        ("_(1).", "expected the name of a relation, found `_`"),
        ("_.k(1, 2).", "`_.k` is a property of the graph, and cannot be defined"),
        ("?- $n(x).", "expected the name of a relation, found $n"),
        ("q(1). p(x) :- q(x), V. k(x, 1).", "expected a comparison, found `.`"),
        ("q(1). p(x) :- q(x), V .k(x, 1).", "expected a comparison, found `.`"),
        ("q(1). p(x) :- q(x), V.k = 1.", "expected a comparison, found `.`"),
        ("q(1). p(x) :- q(x), V.5(x, 1).", "expected a comparison, found `.`"),
        ("q(1). p(x) :- q(x), _ (x).", "expected a comparison, found `(`"),
        ("p(1e).", "expected `,` or `)` after a column, found `e`"),
        ("p(1e+).", "expected `,` or `)` after a column, found `e`"),
        ("p(2.5).q(1)", "expected `.` at the end of the rule, found the end of the program"),
        ("p(1) q(2).", "expected `.` at the end of the rule, found `q`"),
        (".input 5(2, $n)", "expected the name of a relation, found 5"),
        (".input p($n)", "expected the number of columns, 1 to 16, found $n"),
        (".input p(2 $n)", "expected `,` after the number of columns, found $n"),
    ] {
        let error = compile(text).expect_err(text);
        assert_eq!(error.message, message, "{text}");
    }
}

/// More copies than a relation may have: it is computed whole.
#[test]
fn a_relation_is_copied_so_often() {
    let copies = |columns: usize| {
        let names: Vec<String> = (0..columns).map(|at| format!("x{at}")).collect();
        let mut text = format!("p({0}) :- e({0}).\n", names.join(", "));
        // The last column stays what it is.
        for at in 0..columns - 1 {
            let mut other = names.clone();
            other[at] = "y".to_string();
            text.push_str(&format!("p({}) :- p({}), f(x{at}).\n", names.join(", "), other.join(", ")));
        }
        let ones = vec!["1"; columns].join(", ");
        text.push_str(&format!("e({ones}). f(1). r(y) :- f(y), p({ones}). ?- r(1)."));
        let focused = focus(&compile(&text).unwrap());
        let heads: std::collections::BTreeSet<RelationNo> =
            focused.rules.iter().map(|rule| rule.head.relation).collect();
        let name = |head: &RelationNo| focused.relations[*head].name.to_string();
        let is_copy = |name: String| name.starts_with("p@") && !name.ends_with("@magic");
        heads.iter().filter(|head| is_copy(name(head))).count()
    };
    assert_eq!(copies(3), 4, "each set of two columns, beside the last");
    assert_eq!(copies(9), 0, "they would be 256");
}

/// What is given is looked up before what is derived: so more is known of that.
#[test]
fn a_question_goes_by_what_is_given() {
    let rules = "tc(x, y) :- e(x, y). tc(x, z) :- tc(x, y), e(y, z). p(x, y) :- tc(x, y), e(x, y).";
    let focused = focus(&compile(&format!("{rules} ?- p(5, y).")).unwrap());
    let names: Vec<&str> = focused.relations.iter().map(|relation| &*relation.name).collect();
    assert!(names.contains(&"tc@bb"), "{names:?}");
}
