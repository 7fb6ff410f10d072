//! Parsing of programs: errors and their reasons, programs specialised for a question, and no panic for any text.

use tanglewood_datalog::{ErrorKind, Literal, Program, Source, compile, focus};

fn refused(text: &str) -> (ErrorKind, String, String) {
    let error = compile(text).map(drop).expect_err(text);
    let place = text.get(error.span.start as usize..error.span.end as usize).unwrap_or("?");
    (error.kind, error.message, place.to_string())
}

#[test]
fn what_has_no_meaning_is_refused_with_its_place() {
    let cases = [
        (
            "p(x) :- q(x, y)",
            ErrorKind::Syntax,
            "expected `.` at the end of the rule, found the end of the program",
            "",
        ),
        ("p('a\\x').", ErrorKind::Syntax, "this escape is not known", "\\"),
        ("p(x) :- .", ErrorKind::Syntax, "expected a variable or a value, found `.`", "."),
        ("p(x, y) :- q(x, z).", ErrorKind::Unbound, "nothing binds `y`", "y"),
        ("p(x) :- q(x, z), !r(x, w).", ErrorKind::Unbound, "nothing binds `w`", "w"),
        ("p(x) :- q(x, z), w > z.", ErrorKind::Unbound, "nothing binds `w`", "w"),
        ("p(_) :- q(x, y).", ErrorKind::Unbound, "`_` cannot stand in a head", "_"),
        ("p(1). p(1, 2).", ErrorKind::Unknown, "`p` has 1 columns, here it has 2", "p(1, 2)"),
        (
            "p(x) :- q(x, y, z).",
            ErrorKind::Unknown,
            "`q` with 3 columns is defined by no rule and no fact",
            "q(x, y, z)",
        ),
        ("p(x, f(y)) :- q(x, y).", ErrorKind::Unknown, "there is no function `f`", "f"),
        ("p(x, count(y)) :- q(x, y).", ErrorKind::Syntax, "count() takes no argument", "count(y)"),
        (
            "p(x) :- q(x, y), sum(y) > 3.",
            ErrorKind::Syntax,
            "`sum` has no value: there are no functions in a body",
            "sum(y)",
        ),
        ("p(x) :- q(x, y); r(x).", ErrorKind::Syntax, "expected `,` or `.`, found `;`", ";"),
        ("q(1). ?- q(x). ?- q(y).", ErrorKind::Syntax, "a program asks one question", "q(y)"),
        ("p(x) :- 'q(x).", ErrorKind::Syntax, "the quotes are not closed", "'"),
        (
            "P.name(1, 2).",
            ErrorKind::Unknown,
            "`P.name` is a property of the graph, and cannot be defined",
            "P.name(1, 2)",
        ),
        (
            "p(99999999999999999999).",
            ErrorKind::Syntax,
            "99999999999999999999 is too large for a number",
            "99999999999999999999",
        ),
    ];
    for (text, kind, message, place) in cases {
        assert_eq!(refused(text), (kind, message.to_string(), place.to_string()), "{text}");
    }
}

/// Each form of a name with each number of columns is one relation of the graph, or none.
#[test]
fn names_and_columns_say_which_relation_of_the_graph_is_meant() {
    use tanglewood_datalog::GraphRelation as G;
    let meant = |name: &str, width: usize| {
        let terms: Vec<String> = (0..width).map(|at| format!("x{at}")).collect();
        let program = compile(&format!("p(x0) :- {name}({}). ?- p(x).", terms.join(", "))).ok()?;
        program.relations.into_iter().find_map(|relation| match relation.source {
            Source::Graph(graph) => Some(graph),
            _ => None,
        })
    };
    for width in 1..=5 {
        let expected = |at: usize, graph: G| (width == at).then_some(graph);
        let plain = expected(1, G::Label("A".into())).or(expected(2, G::EdgeType("A".into())));
        assert_eq!(meant("A", width), plain, "A with {width} columns");
        let of_label = expected(2, G::VertexProperty(Some("A".into()), "k".into()));
        let named = of_label.or(expected(3, G::EdgeProperty("A".into(), "k".into())));
        assert_eq!(meant("A.k", width), named, "A.k with {width} columns");
        let of_any = expected(2, G::VertexProperty(None, "k".into()));
        assert_eq!(meant("_.k", width), of_any, "_.k with {width} columns");
    }
}

#[test]
fn circles_through_negation_and_aggregates_are_said() {
    let (kind, message, _) = refused("a(x) :- b(x). b(x) :- c(x), e(x, y). c(x) :- e(x, y), !a(y).");
    assert_eq!(
        (kind, message.as_str()),
        (ErrorKind::Strata, "`c` depends on its own absence: c → a → b → c")
    );
    let (_, message, place) = refused("d(x, 0) :- s(x). d(y, min(k)) :- d(x, n), e(x, y), k = n + 1.");
    assert_eq!(message, "`d` depends on an aggregate of itself: d → d");
    assert_eq!(place, "d(y, min(k))");
    assert!(compile("a(x) :- b(x). b(x) :- a(x). c(x) :- e(x, y), !a(y).").is_ok());
}

/// The rules of a program as text, relations by their names.
fn shown(program: &Program) -> Vec<String> {
    let name = |relation: usize| program.relations[relation].name.to_string();
    let literal = |literal: &Literal| match literal {
        Literal::Holds(atom) => name(atom.relation),
        Literal::Absent(atom) => format!("!{}", name(atom.relation)),
        Literal::Compare(..) => "test".to_string(),
        Literal::Let(..) => "let".to_string(),
    };
    let mut rules: Vec<String> = Vec::new();
    for rule in &program.rules {
        let body: Vec<String> = rule.body.iter().map(literal).collect();
        rules.push(format!("{} :- {}", name(rule.head.relation), body.join(", ")));
    }
    rules.sort();
    rules
}

#[test]
fn a_question_leaves_what_it_needs() {
    let rules = "tc(x, y) :- e(x, y). tc(x, z) :- tc(x, y), e(y, z). other(x) :- e(x, x).";
    let program = compile(&format!("{rules} ?- tc(5, y).")).expect("a program");
    let answer = program.relations[program.question.clone().expect("a question").relation].name.clone();
    assert_eq!(
        shown(&focus(&program)),
        [
            format!("{answer}@f :- tc@bf"),
            "tc@bf :- tc@bf@magic, e".to_string(),
            "tc@bf :- tc@bf@magic, tc@bf, e".to_string(),
            "tc@bf@magic :- ".to_string(),
        ]
    );
    // Asked whole, it stays as it is; what is not needed is left out.
    let program = compile(&format!("{rules} ?- tc(x, y).")).expect("a program");
    assert_eq!(shown(&focus(&program)), ["tc :- e", "tc :- tc, e"]);
    // A rule that looks its first value up binds what comes after it.
    let program =
        compile(&format!("{rules} from(y) :- V.id(x, 7), tc(x, y). ?- from(y).")).expect("a program");
    assert!(
        shown(&focus(&program)).contains(&"tc@bf@magic :- V.id".to_string()),
        "{:?}",
        shown(&focus(&program))
    );
    // What is negated is computed whole, and then nothing of it twice.
    let program =
        compile(&format!("{rules} far(y) :- e(x, y), !tc(y, x), tc(3, y). ?- far(y).")).expect("a program");
    assert!(shown(&focus(&program)).contains(&"tc :- tc, e".to_string()));
    assert!(!shown(&focus(&program)).iter().any(|rule| rule.contains("tc@bf")));
}

#[test]
fn facts_beside_rules_and_inputs_are_relations_of_their_own() {
    let program = compile(".input p(2, $rows) p(1, 2). p(x, y) :- p(y, x). ?- p(x, y).").expect("a program");
    let named = |name: &str| program.relation(name).map(|at| program.relations[at].source.clone());
    assert_eq!(named("p"), Some(Source::Rules));
    assert_eq!(named("p@facts"), Some(Source::Facts));
    assert_eq!(named("p@input"), Some(Source::Parameter("rows".into())));
    assert_eq!(program.parameters, ["rows".into()]);
}

#[test]
fn a_rule_has_not_too_many_parts() {
    let body = |parts: usize| vec!["q(x)"; parts].join(", ");
    assert!(compile(&format!("q(1). p(x) :- {}. ?- p(x).", body(256))).is_ok());
    let (kind, message, _) = refused(&format!("q(1). p(x) :- {}. ?- p(x).", body(257)));
    assert_eq!((kind, message.as_str()), (ErrorKind::Limit, "more than 256 parts in the body of one rule"));
    let nested = format!("p({}1{}).", "(".repeat(200_000), ")".repeat(200_000));
    assert_eq!(refused(&nested).0, ErrorKind::Limit);
    let signs = format!("q(1). p(y) :- q(x), y = {}x. ?- p(y).", "-".repeat(200_001));
    assert!(compile(&signs).is_ok());
}

#[test]
fn a_comment_is_not_closed_by_its_own_opening() {
    assert!(compile("q(1). /*/ ?- p(x). */ ?- q(x). /**/").is_ok());
    assert_eq!(refused("q(1). ?- q(x). /*/").1, "the comment has no end");
}

/// All of the 65 536 sets of bound columns are asked, but for a limit.
#[test]
fn a_question_does_not_copy_a_program_without_end() {
    let columns: Vec<String> = (0..16).map(|at| format!("x{at}")).collect();
    let mut text = format!("p({0}) :- e({0}).\n", columns.join(", "));
    for at in 0..15 {
        // A column is set free, or two are exchanged: every set is asked sooner or later.
        let mut other = columns.clone();
        other.swap(at, at + 1);
        text.push_str(&format!("p({}) :- p({}).\n", columns.join(", "), other.join(", ")));
        other[at] = "y".to_string();
        text.push_str(&format!("p({}) :- p({}), f(x{}).\n", columns.join(", "), other.join(", "), at + 1));
    }
    let ones = vec!["1"; 16].join(", ");
    text.push_str(&format!("e({ones}). f(1). r(x) :- p({}, x). ?- r(x).", vec!["1"; 15].join(", ")));
    let program = compile(&text).expect("a program");
    let focused = focus(&program);
    assert!(focused.rules.len() <= program.rules.len() + 2, "{} rules", focused.rules.len());
    assert!(!focused.components.is_empty());
}

/// Pieces of programs put together at random: an answer or an error, never a panic.
#[test]
fn garbage_is_refused() {
    let pieces = [
        "p", "q", "(", ")", ",", ".", ":-", "?-", "!", "_", "x", "y", "1", "2.5", "'a'", "$v", "=", "<", "+",
        "-", "*", "count()", "sum(", ".input ", "//", "/*", "*/", "\n", " ", "`", "é", "not ", "P.k", "?",
        "\\", "%", "e9", "p(x)", "q(x, y)",
    ];
    let mut state = 1_u64;
    let mut accepted = 0;
    for _ in 0..60_000 {
        let mut text = String::new();
        for _ in 0..1 + (state >> 60) {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            text.push_str(pieces[(state >> 33) as usize % pieces.len()]);
        }
        if let Ok(program) = compile(&text) {
            focus(&program);
            accepted += 1;
        }
    }
    assert!(accepted > 100, "some are programs: {accepted}");
}

#[test]
fn each_kind_has_the_code_that_drivers_know() {
    use text::Coded;
    for (kind, code) in [
        (ErrorKind::Syntax, "Neo.ClientError.Statement.SyntaxError"),
        (ErrorKind::Unknown, "Neo.ClientError.Statement.SyntaxError"),
        (ErrorKind::Unbound, "Neo.ClientError.Statement.SyntaxError"),
        (ErrorKind::Strata, "Neo.ClientError.Statement.SemanticError"),
        (ErrorKind::Limit, "Neo.ClientError.General.LimitExceeded"),
        (ErrorKind::Stopped, "Neo.ClientError.Transaction.Terminated"),
    ] {
        assert_eq!(kind.code(), code);
    }
}

/// The rule that negates is underlined by its head, or the one that aggregates, wherever it stands among the rules of its relation.
#[test]
fn what_depends_on_itself_is_underlined_where_it_does() {
    let negating =
        ["a(u) :- q(u).", "a(v) :- b(v), q(v).", "a(w) :- q(w), !b(w).", "b(x) :- a(x).", "b(y) :- q(y)."];
    let aggregating = ["a(u) :- q(u).", "s(sum(v)) :- a(v).", "a(w) :- s(w), q(w).", "a(x) :- q(x), s(x)."];
    for (rules, head) in [(&negating[..], "a(w)"), (&aggregating[..], "s(sum(v))")] {
        for first in 0..rules.len() {
            let mut order = rules.to_vec();
            order.rotate_left(first);
            // Facts are rules, too, which have no place; they may stand anywhere.
            for facts in [1, 4] {
                let facts: String = (0..facts).map(|fact| format!("q({fact}). ")).collect();
                let rules = order.join(" ");
                for text in [format!("{facts}{rules} ?- a(x)."), format!("{rules} {facts} ?- a(x).")] {
                    let (kind, _, place) = refused(&text);
                    assert_eq!((kind, &*place), (ErrorKind::Strata, head), "{text}");
                }
            }
        }
    }
}
