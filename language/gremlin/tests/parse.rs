//! Text to traversals and back: round trips, errors with their places, and the depth a thread's stack must hold.

use tanglewood_gremlin::{
    Argument, Bindings, ErrorKind, Object, Predicate, Request, Terminal, Token, Traversal, check, parse,
};

fn traversal(text: &str) -> Traversal {
    match parse(text, &Bindings::new()) {
        Ok(mut requests) => match requests.remove(0) {
            Request::Traversal(traversal, _) => traversal,
            other => panic!("{text}: {other:?}"),
        },
        Err(error) => panic!("{}", error.render(text)),
    }
}

#[test]
fn what_is_printed_reads_back_as_the_same() {
    let texts = [
        "g.V()",
        "g.V(1, 2l).out('knows', \"created\").has('age', gt(30).and(lt(40))).values('name')",
        "g.V().has(T.label, P.within('a', 'b')).order().by('name', desc).by(Order.asc).limit(local, 2)",
        "g.withSack(1.5).withSideEffect('x', [1, 2b, 3s, 4n, 5.5f, 6m, -7]).V().sack(sum).by('weight').sack()",
        "g.withStrategies(new SubgraphStrategy(vertices: __.hasLabel('a'), checkAdjacentVertices: false), ReadOnlyStrategy).V()",
        "g.inject([a: 1, 'b': {1, 2}], [:], [], null, true, NaN, -Infinity, datetime('2023-08-02T10:00:00+02:00'))",
        "g.mergeV([(T.label): 'p', name: Cardinality.set('x')]).option(Merge.onCreate, [(T.id): 3]).option(onMatch, __.constant([:]))",
        "g.V().repeat(out().as_('a')).until(not(__.outE())).emit().times(3).path().by(id()).from_('a')",
        "g.V().where(not(is(1))).filter(__.not(P.gt(3).negate().or(eq(UUID('6100808b-62f9-42b7-957e-ed66c30f40d1')))))",
        "g.V().has('name', TextP.regex('a\\\\d+\\u00A9').or(notStartingWith(\"q\\\"\")))",
        "g.inject([(NaN): 1, (true): 2, (null): 3, (1.5): 4, 5: 6, true: 7])",
        "g.V().is(-128b).is(-32768s).is(-2147483648i).is(-9223372036854775808l).is(1e3).is(.5).is(0x1F)",
    ];
    for text in texts {
        let first = traversal(text);
        let printed = first.to_string();
        let again = traversal(&printed);
        assert_eq!(again.to_string(), printed, "{text}");
        // NaN is not equal to itself
        assert!(again == first || text.contains("NaN"), "{text} -> {printed}");
    }
}

#[test]
fn several_statements_terminals_and_transactions() {
    let requests =
        parse("g.V().toList(); g.V().next(3)\n g.tx().commit(); g.addV().iterate(); 1", &Bindings::new());
    let requests = requests.expect("this is gremlin-lang");
    let kinds: Vec<String> = requests
        .iter()
        .map(|request| match request {
            Request::Traversal(_, terminal) => format!("{terminal:?}"),
            Request::Transaction(word) => word.to_string(),
            Request::Value(value) => value.to_string(),
        })
        .collect();
    assert_eq!(kinds, ["ToList", "Next(3)", "commit", "Iterate", "1"]);
    assert_eq!(Terminal::ToList, Terminal::ToList);
}

#[test]
fn bindings_stand_for_their_names() {
    let bindings = Bindings::from([("xx1".to_string(), Argument::Value(Object::Int(7)))]);
    let Ok(requests) = parse("g.V(xx1).has('a', P.gt(xx1)).inject([xx1, desc])", &bindings) else {
        panic!("valid")
    };
    let expected = Traversal::new()
        .with_step("V", vec![Object::Int(7).into()])
        .with_step(
            "has",
            vec![
                Object::from("a").into(),
                Argument::Predicate(Predicate::of("gt", vec![7.into()]).expect("gt")),
            ],
        )
        .with_step("inject", vec![Object::list(vec![7.into(), Token::Desc.into()]).into()]);
    assert_eq!(requests, [Request::Traversal(expected, Terminal::ToList)]);
}

#[test]
fn mistakes_are_named_with_their_place() {
    let cases = [
        ("", ErrorKind::Syntax, "the text is empty", 0),
        ("g.V(", ErrorKind::Syntax, "an argument is expected, not the end of the text", 4),
        ("g.V().has('a', b)", ErrorKind::Binding, "b is neither a token nor bound to a value", 15),
        ("g.V().is(300b)", ErrorKind::Syntax, "300b is no number that can be kept", 9),
        ("g.V().is(128b)", ErrorKind::Syntax, "the number does not fit the width its suffix names", 9),
        ("g.V().is('a", ErrorKind::Syntax, "the string has no end", 9),
        ("g.V().is(T.nothing)", ErrorKind::Unknown, "there is no T.nothing", 9),
        ("g.V().withSack(1)", ErrorKind::Syntax, "withSack stands before the first step, here V", 6),
        ("g.V().map{it}", ErrorKind::Syntax, "'(' is expected, not '{'", 9),
        ("g.V().is(P.between(1))", ErrorKind::Arguments, "P.between does not take these arguments", 9),
    ];
    for (text, kind, message, place) in cases {
        let error = parse(text, &Bindings::new()).expect_err(text);
        assert_eq!((error.kind, error.message.as_str(), error.span.start), (kind, message, place), "{text}");
        assert!(error.render(text).contains("line 1"));
    }
}

#[test]
fn unknown_and_refused_steps_are_named() {
    let checked = |text: &str| check(&traversal(text)).expect_err(text).to_string();
    assert_eq!(checked("g.V().ouT_('x')"), "there is no step ouT (did you mean out?)");
    assert_eq!(
        checked("g.V().where(__.pageRank())"),
        "the step pageRank is not supported: it needs a graph computer"
    );
    assert_eq!(checked("g.V().times()"), "the step times takes 1 arguments, not 0");
}

#[test]
fn deepest_nesting_fits_the_stack() {
    let nest = |levels: usize| format!("g.V(){}{}", ".where(__.out()".repeat(levels), ")".repeat(levels));
    // A test has a thread of its own, with the small stack that a spawned thread has.
    let most = (1..200).take_while(|levels| parse(&nest(*levels), &Bindings::new()).is_ok()).count();
    let deepest = traversal(&nest(most));
    assert!(check(&deepest).is_ok() && !deepest.to_string().is_empty());
    assert!(most >= 20, "{most}");
    let lists = format!("g.inject({}{})", "[".repeat(10_000), "]".repeat(10_000));
    assert_eq!(parse(&lists, &Bindings::new()).expect_err("too deep").kind, ErrorKind::Limit);
}
