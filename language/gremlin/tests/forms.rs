//! Every form of gremlin-lang's arguments: what is read of it, or what is wrong and where. The expected lines are in `tests/forms.txt`;
//! `TANGLEWOOD_BLESS=1` writes them anew, and the difference is then read like code. What is read is printed as text that reads as the same.
#![allow(clippy::disallowed_methods)]

use std::fmt::Write;
use tanglewood_gremlin as gremlin;

use gremlin::limits::{DIGITS_MAX, ELEMENTS_MAX, INSTRUCTIONS_MAX, PREDICATE_DEPTH_MAX, TEXT_BYTES_MAX};
use gremlin::predicate::{PREDICATE_NAMES, TYPE_NAMES};
use gremlin::{Argument, Bindings, ErrorKind, GremlinError, Object, Predicate, Request, Token, parse};

/// What may stand in parentheses, right or wrong.
const ARGUMENTS: &[&str] = &[
    // whole numbers at the bounds of their widths
    "0",
    "-0",
    "+7",
    "127b",
    "128b",
    "-128b",
    "-129b",
    "32767s",
    "32768S",
    "-32768s",
    "-32769s",
    "2147483647",
    "2147483648",
    "-2147483648",
    "-2147483649",
    "2147483647i",
    "2147483648I",
    "-2147483648i",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "9223372036854775807l",
    "9223372036854775808L",
    "-9223372036854775808l",
    "5n",
    "-5N",
    "170141183460469231731687303715884105727",
    "170141183460469231731687303715884105728",
    "0x0",
    "0XfF",
    "-0x10",
    "0x",
    "0x80000000",
    "0x8000000000000000",
    // fractions
    "1.5",
    "-1.5",
    ".5",
    "1.",
    "1e3",
    "1E3",
    "1e+3",
    "1e-3",
    "1e",
    "1e+",
    "1.5e2f",
    "3f",
    "3F",
    "3d",
    "3m",
    "1.50m",
    "-0.05m",
    "1.5e2m",
    "15e-1M",
    "2e3m",
    "1e-70m",
    "1e400",
    "1.5l",
    "1.5n",
    "12345678901234567890123456789012345678m",
    "1.2345678901234567890123456789012345678m",
    "123456789012345678901234567890123456789m",
    "1x",
    "1_0",
    "NaN",
    "Infinity",
    "-Infinity",
    "+Infinity",
    "-NaN",
    "-'x'",
    "- 5",
    // texts
    "'a'",
    "\"a\"",
    "'it\\'s'",
    "\"it's \\\"x\\\"\"",
    "'\\n\\t\\r\\b\\f\\\\\\$'",
    "'\n\t'",
    "'\\u00e9\\u0041'",
    "'\\ud83d\\ude00'",
    "'\\ud83d'",
    "'\\ud83dx'",
    "'\\ud83d\\u0041'",
    "'\\ude00'",
    "'\\u12'",
    "'\\u12g4'",
    "'\\u+123'",
    "'\\q'",
    "'\\",
    "'é😀'",
    // words
    "null",
    "true",
    "false",
    "desc",
    "to",
    "from",
    "from_",
    "OUT",
    "IN",
    "BOTH",
    "any",
    "values",
    "dsec",
    "T.id",
    "T.nothing",
    "Order.Desc",
    "Direction.from",
    "Direction.to",
    "Direction.OUT",
    "VertexProperty.Cardinality.list",
    "VertexProperty.list",
    "Cardinality.single",
    "Cardinality.single('a')",
    "Cardinality.list(1)",
    "Cardinality.set([1, 2])",
    "VertexProperty.Cardinality.set(1)",
    "Cardinality.set(out())",
    "Cardinality.set(1",
    "SackFunctions.Barrier.normSack",
    "Barrier.normSack",
    "Operator.sum_",
    "GType.INT",
    "GType.int",
    "WithOptions.tokens",
    "WithOptions.none",
    "WithOptions.ids",
    "WithOptions.labels",
    "WithOptions.keys",
    "WithOptions.values",
    "WithOptions.all",
    "WithOptions.list",
    "WithOptions.map",
    "WithOptions.indexer",
    "WithOptions.some",
    "Nothing.here",
    "nothing.here",
    "T.",
    "T.1",
    // collections
    "[]",
    "[:]",
    "[:",
    "[1]",
    "[1, 'a', null]",
    "[1 2]",
    "[1,]",
    "[a: 1]",
    "[a: 1, 'b': 2, 3: 4]",
    "[a: 1, b: 2, a: 3]",
    "[(T.id): 1, T.label: 'x']",
    "[a: 1, b]",
    "[a: 1 b: 2]",
    "[out()]",
    "[a: out()]",
    "{}",
    "{1}",
    "{1, 2, 1}",
    "{1 2}",
    "{,}",
    "[[1], {2}, [a: [:]]]",
    "(1)",
    "((1))",
    "(1",
    "()",
    // functions
    "datetime('2023-08-02')",
    "datetime('2023-08-02T10:00:00')",
    "datetime('2023-08-02T10:00:00Z')",
    "DateTime('2023-08-02T10:00:00.123+02:00')",
    "datetime('yesterday')",
    "datetime()",
    "datetime(1)",
    "datetime('2023-08-02', 1)",
    "UUID('6100808b-62f9-42b7-957e-ed66c30f40d1')",
    "UUID('6100808B-62F9-42B7-957E-ED66C30F40D1')",
    "UUID('00000000-0000-0000-0000-000000000001')",
    "UUID('6100808b62f942b7957eed66c30f40d1')",
    "UUID('6100808b-62f9-42b7-957e-ed66c30f40g1')",
    "UUID('+100808b-62f9-42b7-957e-ed66c30f40d1')",
    "UUID()",
    "UUID(1)",
    // traversals
    "out()",
    "out('a').in_('b').as_('c')",
    "__.out()",
    "__.out().in('b')",
    "__",
    "__.",
    "__out()",
    "_()",
    "not(out())",
    "values().",
    // predicates
    "gt(1)",
    "P.gt(1)",
    "TextP.regex('a')",
    "P.nothing(1)",
    "P.gt",
    "P.gt()",
    "P.gt(1, 2)",
    "P.gt(out())",
    "between(1)",
    "between(1, 2, 3)",
    "within()",
    "within(1)",
    "within(1, 2)",
    "within([1, 2])",
    "within({1, 2})",
    "within([1], [2])",
    "not(gt(1))",
    "not(P.gt(1))",
    "P.not(gt(1))",
    "P.not(1)",
    "P.not(gt(1), gt(2))",
    "not(TextP.regex('a'))",
    "not(within(1))",
    "not(without(1))",
    "not(between(1, 2))",
    "not(not(between(1, 2)))",
    "not(inside(1, 2))",
    "not(outside(1, 2))",
    "not(startingWith('a'))",
    "not(notEndingWith('a'))",
    "not(gt(1).and(lt(2)))",
    "not(gt(1).or(lt(2)))",
    "eq(1).negate()",
    "neq(1).negate()",
    "lt(1).negate()",
    "lte(1).negate()",
    "gt(1).negate()",
    "gte(1).negate()",
    "gt(1).negate(2)",
    "gt(1).and(lt(5)).or(eq(7))",
    "gt(1).and(lt(5).or(eq(7)))",
    "gt(1).or(lt(5)).and(eq(7)).negate()",
    "gt(1).and()",
    "gt(1).and(1)",
    "gt(1).and(lt(1), lt(2))",
    "gt(1).xor(lt(2))",
    "typeOf(GType.INT)",
    "typeOf('String')",
    "typeOf('Nothing')",
    "typeOf(T.id)",
    "typeOf(1)",
    "typeOf(GType.INT, GType.LONG)",
    // strategies
    "ReadOnlyStrategy",
    "ReadOnlyStrategy()",
    "new ReadOnlyStrategy",
    "new ReadOnlyStrategy()",
    "SubgraphStrategy(vertices: hasLabel('a'))",
    "new SubgraphStrategy(vertices: hasLabel('a'), checkAdjacentVertices: false)",
    "new SubgraphStrategy(vertices: hasLabel('a') edges: hasLabel('b'))",
    "new SubgraphStrategy(vertices)",
    "new SubgraphStrategy(1)",
    "new PartitionStrategy(partitionKey: 'p', readPartitions: {'a'}",
    "readOnlyStrategy(a: 1)",
    "new",
    // what has no meaning
    "",
    "1, 2",
    "1 2",
    "1,, 2",
    ",1",
    "#",
    "a",
    "g.V()",
    "/* a comment */ 1",
    "/* none",
    "1 // to the line's end\n",
    "1 / 2",
    "it.x",
];

/// Whole requests.
const REQUESTS: &[&str] = &[
    "",
    " ; ;",
    "g",
    "g.",
    "g.V",
    "g.V()",
    "g.V().",
    "g.V() out()",
    "g.V();g.E()",
    "g.V()\ng.E()",
    "g.V())",
    "g.V()1",
    "source.V()",
    "g.V().toList()",
    "g.V().toSet()",
    "g.V().toBulkSet()",
    "g.V().tryNext()",
    "g.V().hasNext()",
    "g.V().iterate()",
    "g.V().next()",
    "g.V().next(5)",
    "g.V().next(0)",
    "g.V().next(-1)",
    "g.V().next(5l)",
    "g.V().next('a')",
    "g.V().next(5.5)",
    "g.V().next",
    "g.V().toList(1)",
    "g.V().toList().out()",
    "g.toList()",
    "g.tx()",
    "g.tx().begin()",
    "g.tx().open()",
    "g.tx().close()",
    "g.tx().commit()",
    "g.tx().rollback()",
    "g.tx().rollback().V()",
    "g.tx().forget()",
    "g.tx().commit(1)",
    "g.tx.commit()",
    "g.V().tx()",
    "g.with('a')",
    "g.with('a').V()",
    "g.with('a', 1).V().with('b')",
    "g.withSack(1).withBulk(false).withPath().withComputer().V()",
    "g.withSideEffect('a', 1).withStrategies(ReadOnlyStrategy).withoutStrategies(CountStrategy).V()",
    "g.V().withBulk(true)",
    "g.V().withoutStrategies(CountStrategy)",
    "g.V().as_('a').from_('a').in_().is_(1).not_(out_())",
    "g._()",
    "1",
    "'x'",
    "[1, 2]",
    "T.id",
    "Order.desc; 5",
    "gt(1)",
    "out()",
    "1; 2",
    "null",
    "-5",
];

fn told(outcome: Result<Vec<Request>, GremlinError>) -> String {
    let shown = |request: &Request| match request {
        Request::Traversal(traversal, terminal) => format!("{traversal} {terminal:?}"),
        Request::Transaction(word) => format!("transaction {word}"),
        Request::Value(value) => format!("{value} of {}", value.type_name()),
    };
    match outcome {
        Ok(requests) => requests.iter().map(shown).collect::<Vec<_>>().join(" ; "),
        Err(error) => {
            let hint = error.hint.as_ref().map_or(String::new(), |hint| format!(" ({hint})"));
            format!(
                "{:?} {} at {}..{}: {}{hint}",
                error.kind,
                error.code(),
                error.span.start,
                error.span.end,
                error.message
            )
        }
    }
}

#[test]
fn each_form_is_read_or_refused() {
    let mut all = String::new();
    let arguments = ARGUMENTS.iter().map(|argument| format!("g.is({argument})"));
    for text in arguments.chain(REQUESTS.iter().map(|text| text.to_string())) {
        let outcome = parse(&text, &Bindings::new());
        if let Err(error) = &outcome {
            assert!(
                error.span.start <= error.span.end && error.span.end as usize <= text.len().max(1),
                "{text}"
            );
        }
        let _ = writeln!(all, "{text:?}\n    {}", told(outcome));
    }
    let file = format!("{}/tests/forms.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var("TANGLEWOOD_BLESS").is_ok() {
        return std::fs::write(file, all).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    for (expected, line) in expected.lines().zip(all.lines()) {
        assert_eq!(line, expected);
    }
    assert_eq!(all.lines().count(), expected.lines().count());
}

fn only(text: &str) -> Request {
    let mut requests = parse(text, &Bindings::new()).unwrap_or_else(|error| panic!("{}", error.render(text)));
    assert_eq!(requests.len(), 1, "{text}");
    requests.remove(0)
}

/// The one argument of a step.
fn argument(text: &str) -> Argument {
    let Request::Traversal(traversal, _) = only(&format!("g.is({text})")) else { panic!("{text}") };
    traversal.steps[0].arguments[0].clone()
}

#[test]
fn what_is_read_is_printed_so_that_it_reads_as_the_same() {
    for text in ARGUMENTS {
        let whole = format!("g.is({text})");
        let Ok(requests) = parse(&whole, &Bindings::new()) else { continue };
        let [Request::Traversal(traversal, _)] = requests.as_slice() else { continue };
        let printed = traversal.to_string();
        let Request::Traversal(again, _) = only(&printed) else { panic!("{printed}") };
        assert_eq!(again.to_string(), printed, "{text}");
        // NaN is not equal to itself.
        assert!(again == *traversal || printed.contains("NaN"), "{text} -> {printed}");
    }
}

#[test]
fn each_token_reads_by_its_class_and_alone() {
    for token in Token::ALL {
        let (class, name) = (token.class(), token.name());
        assert_eq!(argument(&format!("{class}.{name}")), Object::Token(*token).into(), "{class}.{name}");
        assert_eq!(Token::of(class, name), Some(*token));
        let alone = argument(name);
        let Argument::Value(Object::Token(first)) = alone else { panic!("{name} is {alone:?}") };
        assert_eq!(first.name(), name);
    }
    assert_eq!(Token::of("T", "nothing"), None);
}

#[test]
fn each_predicate_takes_as_many_values_as_it_says() {
    for name in PREDICATE_NAMES {
        assert!(Predicate::is_name(name));
        let takes: Vec<usize> = (0..4)
            .filter(|count| {
                let values = vec![Object::Token(Token::GInt); *count];
                Predicate::of(name, values).is_some()
            })
            .collect();
        let expected: &[usize] = match name {
            "within" | "without" => &[0, 1, 2, 3],
            "between" | "inside" | "outside" => &[2],
            _ => &[1],
        };
        assert_eq!(takes, expected, "{name}");
    }
    assert!(!Predicate::is_name("not") && Predicate::of("not", Vec::new()).is_none());
    for name in TYPE_NAMES {
        assert_eq!(argument(&format!("typeOf('{name}')")).to_string(), format!("P.typeOf(\"{name}\")"));
    }
    let bag = Object::Bulk(vec![(Object::Int(1), 3), (Object::Int(2), 1)].into());
    assert_eq!(Predicate::of("within", vec![bag]).unwrap().to_string(), "P.within([1, 2])");
}

#[test]
fn predicates_know_their_values_and_depth() {
    let cases = [
        ("gt(1)", "1", 0),
        ("within(1, 2, 3)", "1 2 3", 0),
        ("without(1, 2)", "1 2", 0),
        ("between(1, 2)", "1 2", 0),
        ("inside(3, 4)", "3 4", 0),
        ("outside(5, 6)", "5 6", 0),
        ("regex('a')", "\"a\"", 0),
        ("typeOf(GType.INT)", "GType.INT", 0),
        ("not(between(1, 2))", "1 2", 1),
        ("gt(1).and(lt(2))", "1 2", 1),
        ("gt(1).or(lt(2).and(eq(3)))", "1 2 3", 2),
        ("gt(1).or(lt(2)).and(eq(3)).and(neq(4))", "1 2 3 4", 3),
    ];
    for (text, values, depth) in cases {
        let Argument::Predicate(predicate) = argument(text) else { panic!("{text}") };
        let known: Vec<String> = predicate.values().iter().map(ToString::to_string).collect();
        assert_eq!((known.join(" ").as_str(), predicate.depth()), (values, depth), "{text}");
        let kind = predicate.type_token();
        assert_eq!(kind, (text == "typeOf(GType.INT)").then_some(Token::GInt), "{text}");
        // What is negated twice says the same again.
        assert_eq!(predicate.clone().negate().negate(), predicate, "{text}");
        assert_ne!(predicate.clone().negate(), predicate, "{text}");
    }
    assert_eq!(Predicate::eq(Object::Int(1)).to_string(), "P.eq(1)");
}

/// A text of so many.
type Make<'m> = &'m dyn Fn(usize) -> String;

/// As many as a limit allows are read, one more is refused with the limit's name for it.
#[test]
fn limits_hold_at_their_bounds() {
    let elements = |count: usize| vec!["1"; count].join(",");
    let pairs = |count: usize| (0..count).map(|key| format!("{key}:1")).collect::<Vec<_>>().join(",");
    let chain = |word: &str, count: usize| format!("eq(1){}", format!(".{word}(eq(1))").repeat(count));
    let options = |count: usize| format!("new XStrategy({})", vec!["a:1"; count].join(","));
    // Maps and sets are searched for what they have: their bound is not tried with so many that differ.
    let cases: [(&str, usize, Make<'_>); 7] = [
        ("more than 100000 elements in one place", ELEMENTS_MAX, &|count| {
            format!("g.is({})", elements(count))
        }),
        ("more than 100000 elements in one place", ELEMENTS_MAX, &|count| {
            format!("g.is([{}])", elements(count))
        }),
        ("more than 100000 elements in one place", ELEMENTS_MAX, &|count| {
            format!("g.is({})", options(count))
        }),
        ("predicates are joined more than 128 deep", PREDICATE_DEPTH_MAX, &|count| {
            format!("g.is({})", chain("and", count))
        }),
        ("predicates are joined more than 128 deep", PREDICATE_DEPTH_MAX, &|count| {
            format!("g.is({})", chain("or", count))
        }),
        ("the text has more than 20000 steps", INSTRUCTIONS_MAX, &|count| {
            format!("g{}", ".out()".repeat(count))
        }),
        ("123", DIGITS_MAX, &|count| format!("g.is({}m)", &"1234567890".repeat(4)[..count])),
    ];
    for (message, most, text) in cases {
        let fault = |count: usize| parse(&text(count), &Bindings::new()).err();
        assert_eq!(fault(most).map(|fault| fault.message), None, "{message}");
        let error = fault(most + 1).unwrap();
        assert!(error.message.starts_with(message), "{}", error.message);
        assert!(matches!(error.kind, ErrorKind::Limit) || message == "123");
    }
    let padded = |bytes: usize| format!("g.V(){}", " ".repeat(bytes - 5));
    assert!(parse(&padded(TEXT_BYTES_MAX), &Bindings::new()).is_ok());
    let error = parse(&padded(TEXT_BYTES_MAX + 1), &Bindings::new()).unwrap_err();
    assert_eq!(
        error.message,
        format!("the text has {} bytes; at most {TEXT_BYTES_MAX} are read", TEXT_BYTES_MAX + 1)
    );
    assert!(parse(&format!("g.is([{}])", pairs(1_000)), &Bindings::new()).is_ok());
}

#[test]
fn a_word_is_nearest_to_what_is_bound_or_known() {
    let bindings = Bindings::from([("count1".to_string(), Argument::Value(Object::Int(7)))]);
    let error = parse("g.is(cuont1)", &bindings).unwrap_err();
    assert!(told(Err(error)).ends_with("(did you mean count1?)"));
    let error = parse("g.is(shufle)", &bindings).unwrap_err();
    assert!(told(Err(error)).ends_with("(did you mean shuffle?)"));
    // A binding hides a token.
    let bindings = Bindings::from([("desc".to_string(), Argument::Value(Object::Int(7)))]);
    let requests = parse("g.is(desc)", &bindings).unwrap();
    assert_eq!(told(Ok(requests)), "g.is(7) ToList");
}
