//! Parts of a traversal by themselves: options of its source, what strategies forbid, how much it holds, kinds of objects, and what a profile says.

use std::collections::BTreeSet;
use std::sync::Arc;
use tanglewood_gremlin as gremlin;

use gremlin::object::{Graph, Path, parse_uuid, uuid_text};
use gremlin::steps::{STEPS, UNSUPPORTED};
use gremlin::strategies::{Effect, STRATEGIES, effect, given, is_taken_away};
use gremlin::{
    Argument, Bindings, Cardinality, Decimal, Instant, Metrics, Object, Property, Reference, ReferenceKind,
    Request, Token, Traversal, TraversalMetrics, VertexProperty, check, parse,
};
use model::{EdgeId, EdgeRef, VertexId};

fn traversal(text: &str) -> Traversal {
    match parse(text, &Bindings::new()).unwrap_or_else(|error| panic!("{}", error.render(text))).remove(0) {
        Request::Traversal(traversal, _) => traversal,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn the_last_option_of_a_key_counts() {
    let cases = [
        ("g.V()", None),
        ("g.with('a', 1).V()", Some(1)),
        ("g.with('b', 1).V()", None),
        ("g.with('a').V()", None),
        ("g.with('a', 1).with('a', 2).V()", Some(2)),
        ("g.withStrategies(new OptionsStrategy(a: 3)).V()", Some(3)),
        ("g.withStrategies(new SeedStrategy(a: 3)).V()", None),
        ("g.withStrategies(new OptionsStrategy(b: 3)).V()", None),
        ("g.withStrategies(new OptionsStrategy(a: 3)).with('a', 1).V()", Some(1)),
        ("g.with('a', 1).withStrategies(ReadOnlyStrategy, new OptionsStrategy(b: 2, a: 3)).V()", Some(3)),
        ("g.withSideEffect('a', 1).V()", None),
        ("g.V().with('a', 1)", None),
    ];
    for (text, expected) in cases {
        assert_eq!(traversal(text).option("a").and_then(Object::as_long), expected, "{text}");
    }
}

#[test]
fn instructions_are_counted_wherever_they_stand() {
    let cases = [
        ("g.V()", 1),
        ("g.V().out().in()", 3),
        ("g.withSack(1).V().where(out().out())", 5),
        ("g.V().where(and(out(), in().is(gt(1))))", 6),
        ("g.withStrategies(new SubgraphStrategy(vertices: hasLabel('a').out(), edges: has('b'))).V()", 5),
    ];
    for (text, count) in cases {
        assert_eq!(traversal(text).instruction_count(), count, "{text}");
    }
}

/// Each step with one argument less than it takes, the fewest, the most, and one more.
#[test]
fn steps_take_as_many_arguments_as_they_say() {
    for (name, least, most) in STEPS {
        let refused = UNSUPPORTED.iter().find(|(other, _)| other == name);
        let asked = |count: usize| {
            let arguments = vec![Argument::Value(Object::Int(1)); count];
            check(&Traversal::new().with_step(*name, arguments)).err().map(|error| error.to_string())
        };
        if let Some((_, why)) = refused {
            assert_eq!(asked(*least).unwrap(), format!("the step {name} is not supported: {why}"));
            continue;
        }
        let takes = match (*least, *most) {
            (least, most) if least == most => least.to_string(),
            (least, usize::MAX) => format!("at least {least}"),
            (least, most) => format!("{least} to {most}"),
        };
        let wrong = |count: usize| Some(format!("the step {name} takes {takes} arguments, not {count}"));
        assert_eq!(asked(*least), None, "{name}");
        if *least > 0 {
            assert_eq!(asked(least - 1), wrong(least - 1));
        }
        if *most == usize::MAX {
            assert_eq!(asked(least + 20), None, "{name}");
        } else {
            assert_eq!((asked(*most), asked(most + 1)), (None, wrong(most + 1)));
        }
    }
    // Nested ones are looked at too, in strategies as well.
    for text in
        ["g.V().where(out().nothing())", "g.withStrategies(new SubgraphStrategy(vertices: nothing())).V()"]
    {
        assert!(
            check(&traversal(text)).unwrap_err().to_string().starts_with("there is no step nothing"),
            "{text}"
        );
    }
    let deep = |levels: usize| {
        (0..levels).fold(Traversal::new().with_step("out", Vec::new()), |inner, _| {
            Traversal::new().with_step("where", vec![Argument::Traversal(inner)])
        })
    };
    let most = gremlin::limits::NESTING_DEPTH_MAX;
    assert!(check(&deep(most)).is_ok());
    assert_eq!(check(&deep(most + 1)).unwrap_err().to_string(), format!("nesting is deeper than {most}"));
    let long = |count: usize| (0..count).fold(Traversal::new(), |all, _| all.with_step("out", Vec::new()));
    let most = gremlin::limits::INSTRUCTIONS_MAX;
    assert!(check(&long(most)).is_ok());
    assert_eq!(
        check(&long(most + 1)).unwrap_err().to_string(),
        format!("the traversal has more than {most} steps")
    );
}

#[test]
fn strategies_are_taken_or_refused_by_name() {
    for (name, what, _) in STRATEGIES {
        assert_eq!(effect(name), Some(*what));
        let told = |text: String| check(&traversal(&text)).err().map(|error| error.to_string());
        let refused = match what {
            Effect::Refused(why) => Some(why.to_string()),
            _ => None,
        };
        assert_eq!(told(format!("g.withStrategies({name}).V()")), refused, "{name}");
        // Taking away what is not there is no mistake.
        assert_eq!(told(format!("g.withoutStrategies({name}).V()")), None, "{name}");
    }
    assert_eq!(effect("NoStrategy"), None);
    for (text, expected) in [
        ("g.withStrategies(NoStrategy).V()", Some("the strategy NoStrategy is not supported")),
        ("g.withoutStrategies(NoStrategy).V()", Some("the strategy NoStrategy is not supported")),
        ("g.withStrategies(1).V()", Some("strategies are wanted")),
        ("g.withoutStrategies('a.b.ReadOnlyStrategy').V()", None),
        ("g.withoutStrategies('a.b$ReadOnlyStrategy').V()", None),
        ("g.withoutStrategies('a.b.NoStrategy').V()", Some("the strategy NoStrategy is not supported")),
    ] {
        assert_eq!(
            check(&traversal(text)).err().map(|error| error.to_string()).as_deref(),
            expected,
            "{text}"
        );
    }
    let names = |text: &str| {
        let source = traversal(text).source;
        given(&source)
            .iter()
            .map(|one| Argument::Strategy((*one).clone()).to_string())
            .collect::<Vec<_>>()
            .join(" ")
    };
    let twice = "g.withStrategies(new SeedStrategy(seed: 1), ReadOnlyStrategy).withStrategies(new SeedStrategy(seed: 2)).V()";
    assert_eq!(names(twice), "new ReadOnlyStrategy() new SeedStrategy(seed: 2)");
    let taken = "g.withStrategies(ReadOnlyStrategy, SeedStrategy).withoutStrategies(ReadOnlyStrategy).V()";
    assert_eq!(names(taken), "new SeedStrategy()");
    assert!(is_taken_away(&traversal(taken).source, "ReadOnlyStrategy"));
    assert!(!is_taken_away(&traversal(taken).source, "SeedStrategy"));
}

#[test]
fn what_strategies_forbid_is_found_wherever_it_stands() {
    let told = |text: &str| check(&traversal(text)).err().map(|error| error.to_string());
    for step in ["addV()", "addE('a')", "property('a', 1)", "drop()", "mergeV()", "mergeE()"] {
        let message = "The provided traversal has a mutating step and thus is not read only";
        for text in [
            format!("g.withStrategies(ReadOnlyStrategy).V().{step}"),
            format!("g.withStrategies(ReadOnlyStrategy).V().sideEffect(__.{step})"),
        ] {
            assert_eq!(told(&text).as_deref(), Some(message), "{text}");
        }
        assert_eq!(told(&format!("g.V().{step}")), None);
    }
    assert_eq!(told("g.withStrategies(ReadOnlyStrategy).V().out().values()"), None);
    let labels = |step: &str, throws: &str| {
        told(&format!(
            "g.withStrategies(new EdgeLabelVerificationStrategy(throwException: {throws})).V().{step}"
        ))
    };
    for step in [
        "out()",
        "in()",
        "both()",
        "outE()",
        "inE()",
        "bothE()",
        "to(Direction.OUT)",
        "toE(Direction.IN)",
        "where(__.out())",
    ] {
        let message = labels(step, "true").unwrap();
        let begins = "The provided traversal contains a vertex step without any specified edge label: ";
        assert!(message.starts_with(begins), "{step}: {message}");
        assert_eq!(labels(step, "false"), None, "{step}");
    }
    for step in ["out('a')", "to('a')", "toE(Direction.IN, 'a')", "values()"] {
        assert_eq!(labels(step, "true"), None, "{step}");
    }
    let keys = |step: &str, more: &str| {
        told(&format!(
            "g.withStrategies(new ReservedKeysVerificationStrategy(throwException: true{more})).V().{step}"
        ))
        .map(|message| message.rsplit(' ').next().unwrap().to_string())
    };
    let plain = [
        ("property('id', 1)", Some("id")),
        ("property('label', 1)", Some("label")),
        ("property('name', 1)", None),
        ("property('name', 'id')", None),
        ("property(single, 'id', 1)", Some("id")),
        ("property([name: 1, id: 2])", Some("id")),
        ("property([name: 1])", None),
        ("has('id', 1)", None),
        ("where(__.property('id', 1))", Some("id")),
    ];
    for (step, expected) in plain {
        assert_eq!(keys(step, "").as_deref(), expected, "{step}");
    }
    for list in ["['name']", "{'name'}"] {
        assert_eq!(keys("property('name', 1)", &format!(", keys: {list}")).as_deref(), Some("name"));
        assert_eq!(keys("property('id', 1)", &format!(", keys: {list}")), None);
    }
    let quiet = "g.withStrategies(new ReservedKeysVerificationStrategy(keys: ['a'])).V().property('a', 1)";
    assert_eq!(told(quiet), None);
}

fn text(bytes: usize) -> Object {
    Object::string("x".repeat(bytes))
}

fn objects(inner: &Object) -> Vec<(&'static str, Object)> {
    let edge = || Arc::new(EdgeRef { id: EdgeId(1), source: VertexId(1), target: VertexId(2) });
    let key: Arc<str> = "key".into();
    let owned = VertexProperty {
        vertex: VertexId(1),
        key: key.clone(),
        place: 0,
        value: inner.clone(),
        meta: Vec::new(),
    };
    let labels = vec![BTreeSet::from([Arc::from("a")])];
    let pair = || vec![(Object::Int(1), inner.clone())];
    vec![
        ("null", Object::Null),
        ("Boolean", true.into()),
        ("Byte", Object::Byte(-1)),
        ("Short", Object::Short(-2)),
        ("Integer", (-3).into()),
        ("Long", (-4_i64).into()),
        ("BigInteger", Object::BigInt(Arc::new(-5))),
        ("Float", Object::Float(1.5)),
        ("Double", 1.5.into()),
        ("BigDecimal", Object::BigDecimal(Arc::new(Decimal { unscaled: 15, scale: 1 }))),
        ("Character", Object::Char('c')),
        ("String", inner.clone()),
        ("ByteBuffer", Object::Binary(vec![7; 3].into())),
        ("UUID", Object::Uuid(Arc::new(7))),
        ("OffsetDateTime", Object::DateTime(Arc::new(Instant { seconds: 0, nanos: 0, offset_seconds: 0 }))),
        ("Duration", Object::Duration(1, 0)),
        ("List", Object::list(vec![inner.clone()])),
        ("Set", Object::Set(Arc::new(vec![inner.clone()]))),
        ("BulkSet", Object::Bulk(Arc::new(vec![(inner.clone(), 3)]))),
        ("Map", Object::map(pair())),
        ("Map.Entry", Object::Entry(Arc::new((Object::Int(1), inner.clone())))),
        ("Vertex", Object::Vertex(VertexId(1))),
        ("Edge", Object::Edge(edge())),
        ("VertexProperty", Object::VertexProperty(Arc::new(owned))),
        ("Property", Object::Property(Arc::new(Property { owner: 1.into(), key, value: inner.clone() }))),
        ("Path", Object::Path(Arc::new(Path { labels, objects: vec![inner.clone()] }))),
        ("Tree", Object::Tree(Arc::new(pair()))),
        ("Graph", Object::Graph(Arc::new(Graph { vertices: vec![VertexId(1)], edges: vec![edge()] }))),
        ("TraversalMetrics", Object::Metrics(Arc::new(TraversalMetrics::default()))),
        ("Order", Token::Desc.into()),
        ("CardinalityValue", Object::Kept(Arc::new((Cardinality::Set, inner.clone())))),
        (
            "Element",
            Object::Reference(Arc::new(Reference {
                kind: ReferenceKind::Vertex,
                id: inner.clone(),
                label: "x".into(),
            })),
        ),
    ]
}

#[test]
fn objects_are_named_numbered_and_weighed() {
    let unit = size_of::<Object>();
    let (small, large) = (objects(&text(10)), objects(&text(100_010)));
    for ((name, object), (_, heavy)) in small.iter().zip(&large) {
        assert_eq!(object.type_name(), *name);
        let expected = match *name {
            "Byte" => Some(-1),
            "Short" => Some(-2),
            "Integer" => Some(-3),
            "Long" => Some(-4),
            "BigInteger" => Some(-5),
            _ => None,
        };
        assert_eq!(object.as_long(), expected, "{name}");
        assert_eq!(object.as_str().is_some(), *name == "String");
        // What is within counts as it is, and itself once.
        let (light, weight) = (object.weight(), heavy.weight());
        let holds = object != heavy;
        assert_eq!(weight - light, if holds { 100_000 } else { 0 }, "{name}");
        assert!(light >= unit && light <= 4 * unit + 20, "{name}: {light}");
    }
    assert_eq!(Object::BigInt(Arc::new(i128::MAX)).as_long(), None);
    assert_eq!(Object::Binary(vec![0; 1_000].into()).weight(), unit + 1_000);
    let graph = |vertices: usize, edges: usize| {
        let edge = Arc::new(EdgeRef { id: EdgeId(1), source: VertexId(1), target: VertexId(2) });
        Object::Graph(Arc::new(Graph { vertices: vec![VertexId(1); vertices], edges: vec![edge; edges] }))
            .weight()
    };
    assert_eq!((graph(100, 0) - graph(0, 0), graph(0, 100) - graph(0, 0)), (100 * unit, 200 * unit));
    // A traversal weighs what its arguments weigh, wherever they stand.
    let long = "y".repeat(50_000);
    let weights: Vec<usize> = [
        format!("g.V().is('{long}')"),
        format!("g.V().is(eq('{long}'))"),
        format!("g.V().where(is('{long}'))"),
        format!("g.withSideEffect('a', '{long}').V()"),
        format!("g.withStrategies(new OptionsStrategy(a: '{long}')).V()"),
        format!("g.{long}()"),
        format!("g.withStrategies(new {long}Strategy()).V()"),
        format!("g.withStrategies(new OptionsStrategy({long}: 1)).V()"),
    ]
    .iter()
    .map(|text| traversal(text).weight())
    .collect();
    assert!(weights.iter().all(|weight| (50_000..51_000).contains(weight)), "{weights:?}");
}

#[test]
fn uuids_and_instants_are_read_as_they_are_written() {
    for uuid in [0, 1, u128::MAX, 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef] {
        assert_eq!(parse_uuid(&uuid_text(uuid)), Some(uuid));
    }
    assert_eq!(uuid_text(1), "00000000-0000-0000-0000-000000000001");
    for wrong in ["", "1", "0000000-00000-0000-0000-000000000001", "00000000-0000-0000-0000-00000000000g"] {
        assert_eq!(parse_uuid(wrong), None, "{wrong}");
    }
    let instant = Instant::parse("2023-08-02").unwrap();
    assert_eq!((instant.seconds, instant.nanos, instant.offset_seconds), (1_690_934_400, 0, 0));
    let instant = Instant::parse("2023-08-02T01:00:00.5+01:00").unwrap();
    assert_eq!((instant.seconds, instant.nanos, instant.offset_seconds), (1_690_934_400, 500_000_000, 3_600));
    assert!(Instant::parse("noon").is_none() && Instant::parse("").is_none());
}

#[test]
fn a_part_has_its_share_of_the_time_of_all() {
    let part = |duration_ns: u64| Metrics {
        id: "1".into(),
        name: "out".into(),
        duration_ns,
        elements: 1,
        traversers: 1,
    };
    let whole = TraversalMetrics { duration_ns: 9, parts: vec![part(300), part(100)], text: String::new() };
    assert_eq!((whole.percent(&whole.parts[0]), whole.percent(&whole.parts[1])), (75.0, 25.0));
    let still = TraversalMetrics { duration_ns: 9, parts: vec![part(0)], text: String::new() };
    assert_eq!(still.percent(&still.parts[0]), 0.0);
}
