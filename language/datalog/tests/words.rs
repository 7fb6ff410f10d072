//! Every word of the language is read as what it means; every limit holds below, at and above it; parameters become columns.

use model::Value;
use tanglewood_datalog::{
    ARITY_MAX, ErrorKind, Literal, Program, RULES_MAX, TEXT_BYTES_MAX, Term, VARIABLES_MAX, compile, share,
};

/// Parentheses in one another, operators of a rule, parts of a body: limits of the room alone.
const DEPTH_MAX: usize = 100;
const OPERATORS_MAX: usize = 1_000;
const LITERALS_MAX: usize = 256;

fn program(text: &str) -> Program {
    compile(text).unwrap_or_else(|error| panic!("{text}: {}", error.message))
}

/// The first literal of the first rule that is no atom.
fn test_of(text: &str) -> String {
    let found = program(text).rules.remove(0).body;
    let mut tests = found.iter().filter(|one| !matches!(one, Literal::Holds(_) | Literal::Absent(_)));
    tests.next().map(|one| format!("{one:?}")).unwrap_or_default()
}

#[test]
fn every_comparison_and_operator_is_its_own() {
    let orders = [
        ("=", "Equal"),
        ("!=", "Unequal"),
        ("<>", "Unequal"),
        ("<", "Less,"),
        ("<=", "LessOrEqual"),
        (">", "Greater,"),
        (">=", "GreaterOrEqual"),
    ];
    for (sign, order) in orders {
        let test = test_of(&format!("n(1). p(x) :- n(x), x {sign} x + 3."));
        assert!(test.starts_with("Compare(") && test.contains(order), "{sign}: {test}");
    }
    let operators = [("+", "Add"), ("-", "Subtract"), ("*", "Multiply"), ("/", "Divide"), ("%", "Remainder")];
    for (sign, operator) in operators {
        let test = test_of(&format!("n(1). p(x, y) :- n(x), y = x {sign} 3."));
        assert!(test.contains(operator), "{sign}: {test}");
    }
    // Products before sums, from the left.
    let nested = test_of("n(1). p(x, y) :- n(x), y = x - 2 - 3 * x.");
    let places = ["Subtract", "Subtract", "Multiply"].map(|word| nested.find(word));
    assert!(places.iter().all(Option::is_some), "{nested}");
}

#[test]
fn signs_are_counted() {
    for (text, value) in [("-3", -3), ("--3", 3), ("---3", -3), ("----3", 3)] {
        assert_eq!(constant(&format!("p({text}).")).as_int(), Some(value), "{text}");
    }
    for (signs, is_negated) in [("-", true), ("--", false), ("---", true), ("----", false)] {
        let test = test_of(&format!("n(1). p(x, y) :- n(x), y = 1 * {signs}x."));
        assert_eq!(test.contains("Negate"), is_negated, "{signs}: {test}");
    }
}

/// The one value of the one fact.
fn constant(text: &str) -> Value {
    match &program(text).facts[0].1[..] {
        [Term::Constant(value)] => value.clone(),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn texts_are_read_with_their_escapes() {
    let cases = [
        (r#"'a\n\t\\\'\"b'"#, "a\n\t\\'\"b"),
        (r#""a\n\t\\\'\"b""#, "a\n\t\\'\"b"),
        ("'\"'", "\""),
        ("\"'\"", "'"),
        ("''", ""),
        ("'ü'", "ü"),
    ];
    for (text, value) in cases {
        assert_eq!(constant(&format!("p({text}).")).as_str(), Some(value), "{text}");
    }
    assert_eq!(constant("/* a * b / c */ p(7). // the end").as_int(), Some(7));
    let open = compile("p(7). /* never").map(drop).expect_err("no end");
    assert_eq!((open.message.as_str(), open.span.start, open.span.end), ("the comment has no end", 6, 8));
}

#[test]
fn every_aggregate_is_its_own() {
    let calls =
        [("count()", "Count"), ("sum(y)", "Sum"), ("min(y)", "Min"), ("max(y)", "Max"), ("avg(y)", "Avg")];
    for (call, kind) in calls {
        let program = program(&format!("n(1, 2). p(x, {call}) :- n(x, y)."));
        let [aggregate] = &program.aggregates[..] else { panic!("{call}: one aggregate") };
        assert_eq!(format!("{:?}", aggregate.calls[0].0), kind);
        assert_eq!((aggregate.group, aggregate.calls.len()), (1, 1), "{call}");
    }
}

/// Is it refused because of a limit?
fn is_over(text: &str) -> bool {
    match compile(text) {
        Ok(_) => false,
        Err(error) => {
            assert_eq!(error.kind, ErrorKind::Limit, "{}", error.message);
            true
        }
    }
}

#[test]
fn limits_hold_at_and_above() {
    let nested =
        |depth: usize| format!("n(1). p(y) :- n(x), y = {}x + 1{}.", "(".repeat(depth), ")".repeat(depth));
    assert!(!is_over(&nested(DEPTH_MAX - 1)) && is_over(&nested(DEPTH_MAX)));
    // Those that stand beside one another are not in one another.
    let beside = vec!["(x)"; 3 * DEPTH_MAX].join(" + ");
    assert!(!is_over(&format!("n(1). p(y) :- n(x), y = {beside}.")));
    let long = |operators: usize| format!("n(1). p(y) :- n(x), y = {}x.", "x + ".repeat(operators));
    assert!(!is_over(&long(OPERATORS_MAX)) && is_over(&long(OPERATORS_MAX + 1)));
    let parts = |count: usize| format!("n(1). p(x) :- {}.", vec!["n(x)"; count].join(", "));
    assert!(!is_over(&parts(LITERALS_MAX)) && is_over(&parts(LITERALS_MAX + 1)));
    let columns = |count: usize| format!("p({}).", vec!["1"; count].join(", "));
    assert!(!is_over(&columns(ARITY_MAX)) && is_over(&columns(ARITY_MAX + 1)));
    let variables = |count: usize| {
        let atoms: Vec<String> = (0..count).map(|at| format!("n(x{at})")).collect();
        format!("n(1). p(x0) :- {}.", atoms.join(", "))
    };
    assert!(!is_over(&variables(VARIABLES_MAX)) && is_over(&variables(VARIABLES_MAX + 1)));
    let rules = |count: usize| format!("n(1). {}", "p(x) :- n(x).\n".repeat(count));
    assert!(!is_over(&rules(RULES_MAX)) && is_over(&rules(RULES_MAX + 1)));
    let text = |bytes: usize| format!("p(1).{}", " ".repeat(bytes - "p(1).".len()));
    assert!(!is_over(&text(TEXT_BYTES_MAX)) && is_over(&text(TEXT_BYTES_MAX + 1)));
}

/// What depends on a parameter has a column for each in front; what depends on none has none.
#[test]
fn parameters_become_columns_in_front() {
    let text = "n(1). free(x) :- n(x). near(x) :- n(x), x > $a, x < $b. far(x) :- near(x), free(x). \
                given($a). also(x) :- given(x). ?- far(x).";
    let program = program(text);
    let shared = share(&program).unwrap_or_else(|error| panic!("{}", error.message));
    let arity = |program: &Program, name: &str| {
        program.relation(name).map_or(usize::MAX, |relation| program.relations[relation].arity)
    };
    for (name, depends) in
        [("n", false), ("free", false), ("near", true), ("far", true), ("given", true), ("also", true)]
    {
        let columns = if depends { 2 } else { 0 };
        assert_eq!(arity(&shared.program, name), arity(&program, name) + columns, "{name}");
    }
    assert_eq!(shared.program.relations[shared.arguments].arity, 2);
    for rule in &shared.program.rules {
        let name = &shared.program.relations[rule.head.relation].name;
        let before = program.rules.iter().find(|old| program.relations[old.head.relation].name == *name);
        if let Some(before) = before {
            let is_wider = shared.program.relations[rule.head.relation].arity == before.head.terms.len() + 2;
            assert!(rule.slots >= before.slots + if is_wider { 2 } else { 0 }, "{name}");
            assert_eq!(rule.head.terms.len(), shared.program.relations[rule.head.relation].arity);
        }
    }
    assert!(shared.program.parameters.is_empty());
}
