//! GraphSON in every dialect: what is written of every kind of object, what is read of every form, and that values come back as they were.
//! The expected lines are in `tests/graphson.txt`; `TANGLEWOOD_BLESS=1` writes them anew, and the difference is then read like code.
#![allow(clippy::disallowed_methods)]

use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::Arc;
use tanglewood_gremlin as gremlin;

use gremlin::graphson::{
    BagTooLarge, Dialect, JsonWriter, argument, file_edges, file_vertex, named_arguments, object,
};
use gremlin::object::{Graph, Path};
use gremlin::{
    Argument, Cardinality, Decimal, Elements, Instant, Metrics, Object, Property, Reference, ReferenceKind,
    ShownEdge, ShownVertex, Token, TraversalMetrics, VertexProperty,
};
use model::{EdgeId, EdgeRef, VertexId};
use serde_json::{Value as Json, json};

/// Two vertices and an edge between them.
struct Known;

#[derive(Debug, PartialEq)]
enum Fault {
    Bag(u64),
    NoVertex,
}

impl From<BagTooLarge> for Fault {
    fn from(bag: BagTooLarge) -> Fault {
        Fault::Bag(bag.count)
    }
}

impl Elements for Known {
    type Error = Fault;
    fn vertex(&self, vertex: VertexId) -> Result<ShownVertex, Fault> {
        let (id, label) = self.vertex_name(vertex)?;
        let properties = match vertex.0 {
            1 => vec![
                owned("age", 0, 29.into()),
                owned("name", 0, "marko".into()),
                owned("name", 1, "m".into()),
            ],
            _ => Vec::new(),
        };
        Ok(ShownVertex { id, label, properties })
    }
    fn vertex_name(&self, vertex: VertexId) -> Result<(Object, Arc<str>), Fault> {
        match vertex.0 {
            1 => Ok((Object::Long(1), "person".into())),
            2 => Ok(("two".into(), "a::b".into())),
            _ => Err(Fault::NoVertex),
        }
    }
    fn edge(&self, edge: &EdgeRef) -> Result<ShownEdge, Fault> {
        let properties = match edge.id.0 {
            7 => vec![("since".into(), 2009.into()), ("weight".into(), 0.5.into())],
            _ => Vec::new(),
        };
        Ok(ShownEdge {
            id: Object::Long(edge.id.0 as i64),
            label: "knows".into(),
            out_vertex: self.vertex_name(edge.source)?,
            in_vertex: self.vertex_name(edge.target)?,
            properties,
        })
    }
    fn property_id(&self, property: &VertexProperty) -> Object {
        Object::Long(100 + i64::from(property.place))
    }
}

fn owned(key: &str, place: u32, value: Object) -> VertexProperty {
    let meta = match place {
        1 => vec![("from".into(), 1.into()), ("to".into(), 2.into())],
        _ => Vec::new(),
    };
    VertexProperty { vertex: VertexId(1), key: key.into(), place, value, meta }
}

fn edge(number: u64) -> Object {
    Object::Edge(Arc::new(EdgeRef { id: EdgeId(number), source: VertexId(1), target: VertexId(2) }))
}

fn vertex(number: u64) -> Object {
    Object::Vertex(VertexId(number))
}

fn decimal(unscaled: i128, scale: i32) -> Object {
    Object::BigDecimal(Arc::new(Decimal { unscaled, scale }))
}

fn moment(seconds: i64, nanos: u32, offset_seconds: i32) -> Object {
    Object::DateTime(Arc::new(Instant { seconds, nanos, offset_seconds }))
}

fn set(elements: Vec<Object>) -> Object {
    Object::Set(Arc::new(elements))
}

/// Values that have a form of their own in versions 2 and 3 alike.
fn scalars() -> Vec<Object> {
    vec![
        Object::Null,
        true.into(),
        false.into(),
        Object::Byte(-128),
        Object::Short(32_767),
        i32::MIN.into(),
        i64::MAX.into(),
        // The JSON that is read has whole numbers of 64 bits; longer ones come as texts.
        Object::BigInt(Arc::new(i128::from(u64::MAX))),
        Object::BigInt(Arc::new(i128::from(i64::MIN))),
        Object::Float(1.5),
        Object::Float(0.1),
        Object::Float(f32::INFINITY),
        0.1.into(),
        (-0.0).into(),
        1e300.into(),
        f64::INFINITY.into(),
        f64::NEG_INFINITY.into(),
        decimal(0, 0),
        decimal(-5, 2),
        decimal(12_345, 2),
        decimal(-12_345, 5),
        decimal(7, 40),
        Object::Char('é'),
        "".into(),
        "a\"b\\c\nd😀".into(),
        Object::Binary(vec![0, 1, 254, 255].into()),
        Object::Uuid(Arc::new(0x41d2_e28a_20a4_4ab0_b379_d810_dede_3786)),
        Object::Uuid(Arc::new(1)),
        moment(0, 0, 0),
        moment(1_690_970_400, 123_000_000, 7_200),
        moment(-1, 1, -16_200),
        Object::Duration(0, 0),
        Object::Duration(5, 0),
        Object::Duration(5, 7),
        Object::Duration(-5, 0),
        Object::Duration(-1, 500_000_000),
        Object::Duration(-5, 1),
        Token::TId.into(),
        Token::Desc.into(),
        Token::GInt.into(),
    ]
}

/// Values that come back from version 3 as they were.
fn collections() -> Vec<Object> {
    let bag =
        |pairs: &[(i32, u64)]| pairs.iter().map(|(one, bulk)| (Object::Int(*one), *bulk)).collect::<Vec<_>>();
    vec![
        Object::list(Vec::new()),
        Object::list(vec![1.into(), "a".into(), Object::Null]),
        Object::list(vec![Object::list(vec![2.into()]), Object::map(Vec::new())]),
        set(Vec::new()),
        set(vec![1.into(), 2.into()]),
        Object::map(vec![("a".into(), 1.into()), (2.into(), "b".into()), (Object::Long(3), Object::Null)]),
        Object::map(vec![(Token::TId.into(), 1.into()), (0.5.into(), 2.into()), (true.into(), 3.into())]),
        Object::Bulk(Arc::new(Vec::new())),
        Object::Bulk(Arc::new(bag(&[(1, 2), (5, 1)]))),
    ]
}

/// What only a graph, or a traversal of one, gives.
fn elements() -> Vec<Object> {
    let labels =
        |labels: &[&str]| labels.iter().map(|label| Arc::from(*label)).collect::<BTreeSet<Arc<str>>>();
    let path = Path {
        labels: vec![labels(&["a"]), labels(&[]), labels(&["b", "c"])],
        objects: vec![vertex(1), edge(7), "x".into()],
    };
    let part = |id: &str, duration_ns: u64| Metrics {
        id: id.into(),
        name: format!("step {id}").into(),
        duration_ns,
        elements: 6,
        traversers: 3,
    };
    let metrics =
        |parts: Vec<Metrics>| TraversalMetrics { duration_ns: 2_500_000, parts, text: "the plan".into() };
    let graph = |vertices: &[u64], edges: &[u64]| Graph {
        vertices: vertices.iter().map(|number| VertexId(*number)).collect(),
        edges: edges
            .iter()
            .map(|number| match edge(*number) {
                Object::Edge(edge) => edge,
                _ => unreachable!(),
            })
            .collect(),
    };
    vec![
        // The JSON that is read has floats: these come back with the same worth in another form.
        decimal(7, 41),
        decimal(7, -3),
        vertex(1),
        vertex(2),
        edge(7),
        edge(8),
        Object::VertexProperty(Arc::new(owned("name", 0, "marko".into()))),
        Object::VertexProperty(Arc::new(owned("name", 1, 5.into()))),
        Object::Property(Arc::new(Property { owner: edge(7), key: "since".into(), value: 2009.into() })),
        Object::Path(Arc::new(Path::default())),
        Object::Path(Arc::new(path)),
        Object::Tree(Arc::new(Vec::new())),
        Object::Tree(Arc::new(vec![
            (vertex(1), Object::Tree(Arc::new(vec![(vertex(2), Object::Tree(Arc::new(Vec::new())))]))),
            ("x".into(), Object::Null),
        ])),
        Object::Graph(Arc::new(graph(&[], &[]))),
        Object::Graph(Arc::new(graph(&[1, 2], &[7, 8]))),
        Object::Metrics(Arc::new(metrics(Vec::new()))),
        Object::Metrics(Arc::new(metrics(vec![part("1.0", 1_500_000), part("2.0", 500_000)]))),
        Object::Entry(Arc::new(("k".into(), 1.into()))),
        Object::Kept(Arc::new((Cardinality::Set, 5.into()))),
        Object::Reference(Arc::new(Reference {
            kind: ReferenceKind::Vertex,
            id: 9.into(),
            label: "x".into(),
        })),
        Object::map(vec![
            (vertex(2), 1.into()),
            (edge(7), 2.into()),
            (Token::TLabel.into(), 3.into()),
            (Object::Long(4), 5.into()),
            (1.5.into(), 6.into()),
            (Object::Float(0.1), 8.into()),
            (Object::Char('c'), 9.into()),
            (Object::BigInt(Arc::new(5)), 10.into()),
            (decimal(15, 1), 11.into()),
            (Object::Uuid(Arc::new(1)), 12.into()),
            (moment(0, 0, 0), 13.into()),
            (Object::Duration(-1, 500_000_000), 14.into()),
            (Object::list(vec![1.into()]), 7.into()),
        ]),
    ]
}

fn written(dialect: Dialect, value: &Object) -> Result<String, Fault> {
    let mut writer = JsonWriter::new(dialect, Some(&Known));
    writer.object(value)?;
    Ok(writer.text)
}

/// What clients may send, right or wrong.
fn readings() -> Vec<Json> {
    let of = |kind: &str, value: Json| json!({ "@type": kind, "@value": value });
    let one = of("g:P", json!({"predicate": "gt", "value": 1}));
    let two = of("g:P", json!({"predicate": "between", "value": [1, 2]}));
    let mut all = vec![
        json!(null),
        json!(true),
        json!(5),
        json!(-2_147_483_648_i64),
        json!(2_147_483_648_i64),
        json!(9_223_372_036_854_775_808_u64),
        json!(0.5),
        json!("x"),
        json!([1, "a", []]),
        json!({"a": 1, "b": {"c": []}}),
        json!({"@type": "g:Int32"}),
        json!({"@type": 5}),
        of("g:P", json!({"predicate": "gt", "value": {"@type": "g:Int32", "@value": 5}})),
        of("g:P", json!({"predicate": "gt", "value": [1, 2]})),
        of("g:P", json!({"predicate": "within", "value": [1, 2]})),
        of("g:P", json!({"predicate": "within", "value": of("g:List", json!([1, 2]))})),
        of("g:P", json!({"predicate": "between", "value": [1, 2]})),
        of("g:P", json!({"predicate": "between", "value": of("g:List", json!([1, 2]))})),
        of("g:P", json!({"predicate": "inside", "value": of("g:List", json!([1, 2]))})),
        of("g:P", json!({"predicate": "outside", "value": of("g:List", json!([1, 2]))})),
        of("g:P", json!({"predicate": "nothing", "value": 1})),
        of("g:P", json!({"predicate": 5, "value": 1})),
        of("g:P", json!({"predicate": "gt", "value": of("g:Bytecode", json!({"step": [["out"]]}))})),
        of("g:P", json!({"predicate": "and", "value": 1})),
        of("g:P", json!({"predicate": "and", "value": [one.clone(), two.clone(), one.clone()]})),
        of("g:P", json!({"predicate": "or", "value": [one.clone(), two.clone(), one.clone()]})),
        of("g:P", json!({"predicate": "not", "value": one.clone()})),
        of("g:P", json!({"predicate": "not", "value": [two.clone()]})),
        of("g:P", json!({"predicate": "negate", "value": two.clone()})),
        of("g:P", json!({"predicate": "and", "value": []})),
        of("g:P", json!({"predicate": "not", "value": []})),
        of("g:TextP", json!({"predicate": "startingWith", "value": "a"})),
        of("g:Bytecode", json!({})),
        of("g:Bytecode", json!({"source": null, "step": null})),
        of(
            "g:Bytecode",
            json!({"source": [["withSack", 1]], "step": [["V", 1, "a"], ["in_", "x"], ["as", "y"]]}),
        ),
        of("g:Bytecode", json!({"step": [["where", of("g:Bytecode", json!({"step": [["out"]]}))]]})),
        of("g:Bytecode", json!({"step": [[]]})),
        of("g:Bytecode", json!({"step": ["V"]})),
        of("g:Bytecode", json!({"step": [[5]]})),
        of("g:Bytecode", json!({"step": 5})),
        of(
            "g:Bytecode",
            json!({"source": [["CardinalityValueTraversal", of("g:Cardinality", json!("set")), 5]]}),
        ),
        of("g:Bytecode", json!({"source": [["CardinalityValueTraversal", of("g:T", json!("id")), 5]]})),
        of("g:Binding", json!({"key": "x", "value": 5})),
        of("g:Traverser", json!({"bulk": 1, "value": "x"})),
        of("g:Lambda", json!({"script": "x"})),
        of("g:ReadOnlyStrategy", json!(null)),
        of("g:ReadOnlyStrategy", json!({})),
        of(
            "SubgraphStrategy",
            json!({"vertices": of("g:Bytecode", json!({"step": [["out"]]})), "fqcn": "x"}),
        ),
        of("g:PartitionStrategy", json!({"fqcn": "org.x", "conf": {"partitionKey": "p"}})),
        of("g:PartitionStrategy", json!({"conf": of("g:Map", json!(["partitionKey", "p"]))})),
        of("g:PartitionStrategy", json!({"conf": of("g:Map", json!([5, "p"]))})),
        of("g:PartitionStrategy", json!({"conf": of("g:Map", json!(["p"]))})),
        of("g:PartitionStrategy", json!({"conf": of("g:Map", json!({}))})),
        of("g:PartitionStrategy", json!({"conf": of("g:List", json!([]))})),
        of("g:PartitionStrategy", json!({"conf": []})),
        of("g:Map", json!(["a", 1, 2, "b"])),
        of("g:Map", json!(["a"])),
        of("g:Map", json!({"a": 1})),
        of("g:Map", json!([of("g:P", json!({"predicate": "gt", "value": 1})), 1])),
        of("g:Set", json!([1, 2, 1, 1.0])),
        of("g:BulkSet", json!(["a", of("g:Int64", json!(2)), "b"])),
        of("g:BulkSet", json!(["a", -1])),
        of("g:BulkSet", json!(["a", "b"])),
        of("g:Vertex", json!({"id": 5, "label": "person"})),
        of("g:Edge", json!({"id": "x"})),
        of("g:VertexProperty", json!({"value": 5})),
        of("g:T", json!("id")),
        of("g:Direction", json!("OUT")),
        of("g:T", json!("nothing")),
        of("g:T", json!(5)),
        of("x:Unknown", json!(5)),
        of("Int32", json!(5)),
    ];
    let texts = ["NaN", "Infinity", "-Infinity", "1.5", "x", ""];
    all.extend(texts.iter().flat_map(|text| [of("g:Double", json!(text)), of("g:Float", json!(text))]));
    let numbers = [-129_i64, -128, 127, 128, -32_769, 32_767, 32_768, 2_147_483_647, 2_147_483_648, i64::MAX];
    for kind in ["gx:Byte", "gx:Int16", "g:Int32", "g:Int64"] {
        all.extend(numbers.iter().map(|number| of(kind, json!(number))));
    }
    let bigs =
        [json!(5), json!("5"), json!("-170141183460469231731687303715884105728"), json!("1e3"), json!("x")];
    all.extend(bigs.iter().map(|big| of("gx:BigInteger", big.clone())));
    let decimals = ["5", "-1.50", "1.5e3", "15E-3", "1e", "1e99999999999", "", ".5", "x", "1.5.5"];
    all.extend(decimals.iter().map(|digits| of("gx:BigDecimal", json!(digits))));
    all.push(of("gx:BigDecimal", json!(1.25)));
    let times = ["2023-08-02", "2023-08-02T10:00:00Z", "2023-08-02T10:00:00.5+02:00", "noon"];
    for kind in ["OffsetDateTime", "Instant", "ZonedDateTime", "LocalDateTime", "LocalDate"] {
        all.extend(times.iter().map(|time| of(&format!("gx:{kind}"), json!(time))));
    }
    let durations = ["PT5S", "PT1H2M3.5S", "P1DT1S", "P1M", "PT-0.5S", "PT-5.000000001S", "x"];
    all.extend(durations.iter().map(|duration| of("gx:Duration", json!(duration))));
    let millis = [0_i64, 1_500, -1, -1_500];
    all.extend(["g:Date", "g:Timestamp"].iter().flat_map(|kind| millis.map(|one| of(kind, json!(one)))));
    let worded = [
        ("gx:Char", "xy"),
        ("gx:Char", ""),
        ("g:UUID", "x"),
        ("gx:ByteBuffer", "AAE="),
        ("gx:ByteBuffer", "?"),
        ("g:Class", "a.B"),
    ];
    all.extend(worded.iter().map(|(kind, text)| of(kind, json!(text))));
    let untyped = [
        "gx:Char",
        "g:UUID",
        "gx:ByteBuffer",
        "g:Class",
        "g:Date",
        "gx:Instant",
        "gx:Duration",
        "g:List",
        "g:Set",
        "g:BulkSet",
        "g:Double",
        "gx:BigInteger",
    ];
    all.extend(untyped.iter().map(|kind| of(kind, json!({}))));
    all
}

fn told(argument: &Argument) -> String {
    match argument {
        Argument::Value(value) => format!("{value} of {}", value.type_name()),
        Argument::Traversal(traversal) => format!("traversal {traversal}"),
        Argument::Predicate(predicate) => format!("predicate {predicate}"),
        Argument::Strategy(strategy) => format!("strategy {}", Argument::Strategy(strategy.clone())),
    }
}

#[test]
fn each_object_has_its_form_in_each_dialect() {
    let mut all = String::new();
    for value in scalars().into_iter().chain(collections()).chain(elements()) {
        let _ = writeln!(all, "{value} of {}", value.type_name());
        let mut known = Vec::new();
        for dialect in Dialect::all() {
            let text = written(dialect, &value).unwrap();
            let parsed: Json = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            drop(parsed);
            if !known.contains(&text) {
                let _ = writeln!(all, "    {}: {text}", dialect.mime().trim_start_matches("application/"));
                known.push(text);
            }
        }
    }
    for reading in readings() {
        let outcome = argument(&reading);
        let outcome = outcome.map_or_else(|error| format!("wrong: {error}"), |read| told(&read));
        let _ = writeln!(all, "{reading}\n    {outcome}");
        // What is no value is none within a value, either.
        let within = object(&json!([reading]));
        assert_eq!(within.is_ok(), object(&reading).is_ok(), "{reading}");
    }
    let file = format!("{}/tests/graphson.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var("TANGLEWOOD_BLESS").is_ok() {
        return std::fs::write(file, all).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    for (expected, line) in expected.lines().zip(all.lines()) {
        assert_eq!(line, expected);
    }
    assert_eq!(all.lines().count(), expected.lines().count());
}

#[test]
fn values_come_back_as_they_were() {
    let dialect = |name: &str| Dialect::of(name).unwrap();
    let (three, two) = (Dialect::DEFAULT, dialect("application/vnd.gremlin-v2.0+json"));
    for value in scalars() {
        for dialect in [three, two] {
            let text = written(dialect, &value).unwrap();
            let read = object(&serde_json::from_str(&text).unwrap()).unwrap();
            assert_eq!(format!("{read:?}"), format!("{value:?}"), "{text}");
        }
    }
    for value in collections() {
        let text = written(three, &value).unwrap();
        let read = object(&serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!(format!("{read:?}"), format!("{value:?}"), "{text}");
    }
    for token in Token::ALL {
        let text = written(three, &Object::Token(*token)).unwrap();
        let read = object(&serde_json::from_str(&text).unwrap()).unwrap();
        assert_eq!(read, Object::Token(*token), "{text}");
    }
    let nan = written(three, &f64::NAN.into()).unwrap();
    assert_eq!(nan, r#"{"@type":"g:Double","@value":"NaN"}"#);
    assert!(matches!(object(&serde_json::from_str(&nan).unwrap()), Ok(Object::Double(it)) if it.is_nan()));
}

#[test]
fn dialects_have_names() {
    for (at, dialect) in Dialect::all().enumerate() {
        assert_eq!(Dialect::of(dialect.mime()), Some(dialect), "{at}");
        let spaced = dialect.mime().to_uppercase().replace(';', " ; ");
        assert_eq!(Dialect::of(&spaced), Some(dialect), "{at}");
    }
    assert_eq!(Dialect::of("application/json"), Some(Dialect::DEFAULT));
    assert_eq!(Dialect::DEFAULT.mime(), "application/vnd.gremlin-v3.0+json");
    assert_eq!(Dialect::of("text/plain"), None);
    let wrapped: Vec<bool> =
        Dialect::all().map(|dialect| JsonWriter::new(dialect, Some(&Known)).is_wrapped()).collect();
    assert_eq!(wrapped, [false, false, false, false, false, true, true]);
    let empty = |dialect| {
        let mut writer = JsonWriter::new(dialect, Some(&Known));
        writer.empty_map();
        writer.text
    };
    assert_eq!(empty(Dialect::DEFAULT), written(Dialect::DEFAULT, &Object::map(Vec::new())).unwrap());
    let plain = Dialect::of("application/vnd.gremlin-v1.0+json").unwrap();
    assert_eq!(empty(plain), written(plain, &Object::map(Vec::new())).unwrap());
}

/// Where each element is written out, a bag has a limit; where its bulk is written, it has none.
#[test]
fn large_bags_are_refused_where_they_are_written_out() {
    let bag = |bulk: u64| Object::Bulk(Arc::new(vec![(1.into(), bulk), (2.into(), 1)]));
    let plain = Dialect::of("application/vnd.gremlin-v1.0+json").unwrap();
    let most = written(plain, &bag(99_999)).unwrap();
    assert_eq!(most.matches(',').count(), 99_999);
    assert_eq!(written(plain, &bag(100_000)), Err(Fault::Bag(100_001)));
    assert_eq!(written(plain, &bag(u64::MAX)), Err(Fault::Bag(u64::MAX)));
    assert!(written(Dialect::DEFAULT, &bag(u64::MAX)).is_ok());
    let told = BagTooLarge { count: 7 }.to_string();
    assert_eq!(told, "a bag of 7 elements is too large to be written one by one");
}

#[test]
fn without_an_answer_elements_are_null_and_what_cannot_be_read_is_told() {
    let mut writer = JsonWriter::<Known>::new(Dialect::DEFAULT, None);
    writer.object(&Object::list(vec![vertex(1), edge(7)])).unwrap();
    assert_eq!(writer.text, r#"{"@type":"g:List","@value":[null,null]}"#);
    let mut writer =
        JsonWriter::<Known>::new(Dialect::of("application/vnd.gremlin-v1.0+json").unwrap(), None);
    writer.object(&Object::VertexProperty(Arc::new(owned("name", 0, 1.into())))).unwrap();
    assert_eq!(writer.text, r#"{"id":null,"value":1,"label":"name"}"#);
    assert_eq!(written(Dialect::DEFAULT, &vertex(5)), Err(Fault::NoVertex));
    let plain = Dialect::of("application/vnd.gremlin-v1.0+json").unwrap();
    assert_eq!(written(plain, &Object::map(vec![(vertex(5), 1.into())])), Err(Fault::NoVertex));
}

/// What makes a value one level deeper.
type Wrap<'w> = &'w dyn Fn(Json) -> Json;

/// As deep as the limit is read; one level more is refused, whatever makes it deep.
#[test]
fn nesting_is_read_up_to_its_limit() {
    let most = gremlin::limits::NESTING_DEPTH_MAX;
    let nest =
        |levels: usize, wrap: &dyn Fn(Json) -> Json| (0..levels).fold(json!(1), |inner, _| wrap(inner));
    let cases: [(&str, usize, Wrap<'_>); 6] = [
        ("arrays", 1, &|inner| json!([inner])),
        ("objects", 1, &|inner| json!({"a": inner})),
        ("lists", 1, &|inner| json!({"@type": "g:List", "@value": [inner]})),
        ("maps", 1, &|inner| json!({"@type": "g:Map", "@value": ["a", inner]})),
        ("vertices", 1, &|inner| json!({"@type": "g:Vertex", "@value": {"id": inner}})),
        ("bindings", 1, &|inner| json!({"@type": "g:Binding", "@value": {"value": inner}})),
    ];
    for (name, each, wrap) in cases {
        assert!(argument(&nest(most / each, wrap)).is_ok(), "{name}");
        let error = argument(&nest(most / each + 1, wrap)).unwrap_err();
        assert_eq!(error.to_string(), format!("values are nested deeper than {most}"), "{name}");
    }
}

#[test]
fn maps_of_arguments_are_read() {
    let shown = |json: Json| {
        let read = named_arguments(&json)?;
        Ok(read.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" "))
    };
    let told =
        |json: Json| shown(json).unwrap_or_else(|error: gremlin::graphson::GraphsonError| error.to_string());
    let predicate = json!({"@type": "g:P", "@value": {"predicate": "gt", "value": 1}});
    assert_eq!(told(json!({"a": 1, "b": predicate})), "a=1 b=P.gt(1)");
    assert_eq!(told(json!({"@type": "g:Map", "@value": ["a", 1, "b", predicate]})), "a=1 b=P.gt(1)");
    assert_eq!(
        told(json!({"@type": "g:Map", "@value": [1, 1]})),
        "a map of arguments has a key that is no text"
    );
    assert_eq!(told(json!({"@type": "g:List", "@value": []})), "a map of arguments is needed");
    assert_eq!(told(json!([])), "a map of arguments is needed");
}

#[test]
fn lines_of_files_are_read() {
    let of = |kind: &str, value: Json| json!({ "@type": kind, "@value": value });
    let long = |number: i64| of("g:Int64", json!(number));
    let name = of("g:VertexProperty", json!({"id": long(0), "value": "marko", "properties": {"since": 1}}));
    let knows = of(
        "g:Edge",
        json!({"id": long(7), "inV": long(2), "properties": {"weight": of("g:Double", json!(0.5))}}),
    );
    let held = of("g:Property", json!({"key": "w", "value": 3}));
    let line = json!({
        "id": long(1), "label": "person",
        "outE": {"knows": [knows, {"inV": 3}], "likes": [{"id": 9, "inV": 4, "properties": {"w": held}}]},
        "properties": {"name": [name, "m", {"value": 5}], "age": 29}
    });
    for line in [line.clone(), of("g:Vertex", line)] {
        let vertex = file_vertex(&line).unwrap();
        assert_eq!((vertex.id.to_string(), vertex.label.as_str()), ("1l".into(), "person"));
        let mut told = Vec::new();
        for (key, values) in &vertex.properties {
            told.extend(values.iter().map(|(value, meta)| format!("{key} {value} {meta:?}")));
        }
        told.sort_unstable();
        let expected = ["age 29 []", "name \"m\" []", "name \"marko\" [(\"since\", Int(1))]", "name 5 []"];
        assert_eq!(told, expected);
        let edges = file_edges(&line).unwrap();
        let told: Vec<String> = edges
            .iter()
            .map(|edge| {
                let id = edge.id.as_ref().map_or("no id".into(), ToString::to_string);
                format!("{} {id} {} {} {:?}", edge.label, edge.source, edge.target, edge.properties)
            })
            .collect();
        let expected = [
            "knows 7l 1l 2l [(\"weight\", Double(0.5))]",
            "knows no id 1l 3 []",
            "likes 9 1l 4 [(\"w\", Int(3))]",
        ];
        assert_eq!(told, expected);
    }
    assert_eq!(file_vertex(&json!({"id": 1})).unwrap().label, "vertex");
    assert_eq!(file_vertex(&json!({"label": "a"})).unwrap_err().to_string(), "a vertex has no id");
    assert!(file_vertex(&json!({"id": 1, "properties": {"a": of("g:Nothing", json!(1))}})).is_err());
    assert!(file_edges(&json!({"id": 1, "outE": {"a": [{"inV": of("g:Nothing", json!(1))}]}})).is_err());
    assert!(file_edges(&json!({"id": 1})).unwrap().is_empty());
}
