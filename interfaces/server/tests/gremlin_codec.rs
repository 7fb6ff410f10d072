//! The codecs of the Gremlin interface: what is written is read again, golden bytes stay as they are, and nothing that is read costs more than
//! its own size.

use gremlin::object::{Decimal, Instant, Path};
use gremlin::{Argument, Object, Token, graphson};
use std::collections::BTreeSet;
use std::sync::Arc;
use tanglewood_server::gremlin::asking::{Part, Refusal};
use tanglewood_server::gremlin::graphson::{Dialect, JsonWriter};
use tanglewood_server::gremlin::message::{self, Format, Frame, GRAPH_BINARY, Request, Status, Wrapping};
use tanglewood_server::gremlin::reading::{NESTING_DEPTH_MAX, Reader};
use tanglewood_server::gremlin::writing::Writer;
use world::chance::Chance;

/// Depth of random values.
const DEPTH: usize = 4;
/// Tokens that mean something else when read back: what is dropped to `any`, …
const ROUNDS: u64 = 4_000;

fn letters(chance: &mut Chance) -> String {
    let all = ['a', 'Z', '0', ' ', '"', '\\', '\n', 'ä', '漢', '😀', '\u{0}'];
    (0..chance.below(6)).map(|_| *chance.choose(&all).unwrap()).collect()
}

fn real(chance: &mut Chance) -> f64 {
    match chance.below(6) {
        0 => f64::NAN,
        1 => f64::INFINITY,
        2 => f64::NEG_INFINITY,
        3 => -0.0,
        4 => f64::from_bits(chance.next_u64()),
        _ => chance.float() * 1e6,
    }
}

/// A value that both codecs have a form for. Whole numbers beyond 64 bits are of GraphBinary alone: JSON's readers make floats of them.
fn value(chance: &mut Chance, depth: usize, is_json: bool) -> Object {
    let kinds = if depth == 0 { 17 } else { 20 };
    match chance.below(kinds) {
        0 => Object::Null,
        1 => Object::Bool(chance.happens(0.5)),
        2 => Object::Byte(chance.next_u64() as i8),
        3 => Object::Short(chance.next_u64() as i16),
        4 => Object::Int(chance.next_u64() as i32),
        5 => Object::Long(chance.next_u64() as i64),
        6 if is_json => Object::BigInt(Arc::new(i128::from(chance.next_u64() as i64))),
        6 => Object::BigInt(Arc::new((i128::from(chance.next_u64()) << 60) - i128::from(chance.next_u64()))),
        7 => Object::Float(real(chance) as f32),
        8 => Object::Double(real(chance)),
        9 => {
            let unscaled = i128::from(chance.below(2_000_000)) - 1_000_000;
            Object::BigDecimal(Arc::new(Decimal { unscaled, scale: if is_json { 0 } else { 7 } }))
        }
        10 => Object::Char(letters(chance).chars().next().unwrap_or('ß')),
        11 => Object::string(letters(chance)),
        12 => Object::Binary(chance.bytes(5).into()),
        13 => Object::Uuid(Arc::new(u128::from(chance.next_u64()) << 64 | u128::from(chance.next_u64()))),
        14 => Object::DateTime(Arc::new(Instant {
            seconds: chance.below(4_000_000_000) as i64 - 1_000_000_000,
            nanos: chance.below(1_000_000_000) as u32,
            offset_seconds: (chance.below(24) as i32 - 12) * 1_800,
        })),
        15 => {
            let nanos = [0, 1, 500_000_000, chance.below(1_000_000_000) as u32][chance.index(4)];
            let seconds =
                [i64::MIN + 1, i64::MAX, chance.next_u64() as i64, chance.below(200_000) as i64 - 100_000];
            Object::Duration(*chance.choose(&seconds).unwrap(), nanos)
        }
        16 => {
            let classes = ["T", "Order", "Scope", "Pop", "Column", "Direction", "Merge", "DT"];
            let token = Token::ALL.iter().filter(|token| classes.contains(&token.class()));
            Object::Token(*chance.choose(&token.collect::<Vec<_>>()).unwrap().to_owned())
        }
        17 => Object::list(values(chance, depth, is_json)),
        18 => {
            let mut each: Vec<Object> = Vec::new();
            for one in values(chance, depth, is_json) {
                if !each.iter().any(|known| format!("{known:?}") == format!("{one:?}")) {
                    each.push(one);
                }
            }
            Object::Set(Arc::new(each))
        }
        _ => {
            let keys = values(chance, depth, is_json);
            Object::map(keys.into_iter().map(|key| (key, value(chance, depth - 1, is_json))).collect())
        }
    }
}

fn values(chance: &mut Chance, depth: usize, is_json: bool) -> Vec<Object> {
    (0..chance.below(4)).map(|_| value(chance, depth - 1, is_json)).collect()
}

/// Text, since numbers that are none differ from themselves.
fn shown(object: &Object) -> String {
    format!("{object:?}")
}

#[test]
fn what_graphbinary_writes_it_reads() {
    for seed in 0..ROUNDS {
        let object = value(&mut Chance::seeded(seed), DEPTH, false);
        let mut writer = Writer::new(None);
        writer.object(&object).unwrap();
        let mut reader = Reader::new(&writer.bytes);
        assert_eq!(shown(&reader.object().unwrap()), shown(&object), "seed {seed}");
        assert!(reader.is_empty(), "seed {seed}");
        // Cut anywhere, it is refused.
        let cut = Chance::seeded(seed).index(writer.bytes.len());
        assert!(Reader::new(&writer.bytes[..cut]).object().is_err(), "seed {seed} cut to {cut}");
    }
}

#[test]
fn what_graphson_3_writes_it_reads() {
    for seed in 0..ROUNDS {
        let object = value(&mut Chance::seeded(seed), DEPTH, true);
        let mut writer = JsonWriter::new(Dialect::DEFAULT, None);
        writer.object(&object).unwrap();
        let json = serde_json::from_str(&writer.text)
            .unwrap_or_else(|error| panic!("seed {seed}: {error}: {}", writer.text));
        assert_eq!(shown(&graphson::object(&json).unwrap()), shown(&object), "seed {seed}: {}", writer.text);
    }
}

/// Nanoseconds are those of the second below, whatever sign and size a client gives them.
#[test]
fn durations_of_graphbinary_have_nanoseconds_of_one_second() {
    let read = |seconds: i64, nanos: i32| {
        let bytes = [&[0x81, 0][..], &seconds.to_be_bytes(), &nanos.to_be_bytes()].concat();
        Reader::new(&bytes).object().map(|object| object.to_string()).map_err(drop)
    };
    assert_eq!(read(1, 500_000_000).unwrap(), "PT1.500000000S");
    assert_eq!(read(-2, 500_000_000).unwrap(), "PT-1.500000000S");
    assert_eq!(read(-1, -500_000_000).unwrap(), "PT-1.500000000S");
    assert_eq!(read(0, -1).unwrap(), "PT-0.000000001S");
    assert_eq!(read(1, 1_000_000_000).unwrap(), "PT2S");
    assert!(read(i64::MIN, -1).is_err() && read(i64::MAX, i32::MAX).is_err());
}

#[test]
fn every_dialect_writes_json() {
    for seed in 0..ROUNDS / 4 {
        let object = value(&mut Chance::seeded(seed), DEPTH, true);
        for dialect in Dialect::all() {
            let mut writer = JsonWriter::new(dialect, None);
            writer.object(&object).unwrap();
            let parsed: Result<serde_json::Value, _> = serde_json::from_str(&writer.text);
            assert!(parsed.is_ok(), "seed {seed} {}: {}", dialect.mime(), writer.text);
        }
    }
}

fn json(object: &Object, mime: &str) -> String {
    let mut writer = JsonWriter::new(Dialect::of(mime).unwrap(), None);
    writer.object(object).unwrap();
    writer.text
}

/// As the reference server writes them.
#[test]
fn golden_graphson() {
    let list = Object::list(vec![Object::Int(1), Object::from("a"), Object::Token(Token::TId)]);
    let map =
        Object::map(vec![(Object::from("n"), Object::Long(2)), (Object::Token(Token::TLabel), Object::Null)]);
    let path = Object::Path(Arc::new(Path {
        labels: vec![BTreeSet::from(["a".into(), "b".into()]), BTreeSet::new()],
        objects: vec![Object::Double(1.0), Object::Double(f64::NAN)],
    }));
    let bag = Object::Bulk(Arc::new(vec![(Object::from("x"), 2)]));
    let three = "application/vnd.gremlin-v3.0+json";
    let two = "application/vnd.gremlin-v2.0+json";
    let plain = "application/vnd.gremlin-v3.0+json;types=false";
    let expected = [
        (
            &list,
            three,
            r#"{"@type":"g:List","@value":[{"@type":"g:Int32","@value":1},"a",{"@type":"g:T","@value":"id"}]}"#,
        ),
        (&list, two, r#"[{"@type":"g:Int32","@value":1},"a",{"@type":"g:T","@value":"id"}]"#),
        (&list, plain, r#"[1,"a","id"]"#),
        (
            &map,
            three,
            r#"{"@type":"g:Map","@value":["n",{"@type":"g:Int64","@value":2},{"@type":"g:T","@value":"label"},null]}"#,
        ),
        (&map, two, r#"{"n":{"@type":"g:Int64","@value":2},"label":null}"#),
        (&map, plain, r#"{"n":2,"label":null}"#),
        (
            &path,
            three,
            r#"{"@type":"g:Path","@value":{"labels":{"@type":"g:List","@value":[{"@type":"g:Set","@value":["a","b"]},{"@type":"g:Set","@value":[]}]},"objects":{"@type":"g:List","@value":[{"@type":"g:Double","@value":1.0},{"@type":"g:Double","@value":"NaN"}]}}}"#,
        ),
        (&path, plain, r#"{"labels":[["a","b"],[]],"objects":[1.0,"NaN"]}"#),
        (&bag, three, r#"{"@type":"g:BulkSet","@value":["x",{"@type":"g:Int64","@value":2}]}"#),
        (&bag, two, r#"["x","x"]"#),
        (&Object::Duration(-2, 500_000_000), three, r#"{"@type":"gx:Duration","@value":"PT-1.500000000S"}"#),
    ];
    for (object, mime, text) in expected {
        assert_eq!(json(object, mime), text, "{mime}");
    }
    let large = Object::Bulk(Arc::new(vec![(Object::from("x"), u64::MAX)]));
    assert!(JsonWriter::new(Dialect::of(two).unwrap(), None).object(&large).is_err(), "written one by one");
}

fn hex(text: &str) -> Vec<u8> {
    data_encoding::HEXLOWER_PERMISSIVE.decode(text.replace([' ', '\n'], "").as_bytes()).unwrap()
}

/// A request of gremlinpython: g.V().has("name", P.gt(1)).
const BYTECODE: &str =
    "81 00112233445566778899aabbccddeeff 00000008 62797465636f6465 00000009 74726176657273616c 00000002
    0300 00000007 6772656d6c696e 1500 00000002 00000001 56 00000000 00000003 686173 00000002
        0300 00000004 6e616d65 1e00 00000002 6774 00000001 0100 00000001 00000000
    0300 00000007 616c6961736573 0a00 00000001 0300 00000001 67 0300 00000001 67";

#[test]
fn golden_graphbinary() {
    let mut frame = vec![GRAPH_BINARY.len() as u8];
    frame.extend(GRAPH_BINARY.as_bytes());
    frame.extend(hex(BYTECODE));
    let request = Request::read(&frame).unwrap();
    assert_eq!((request.operation.as_str(), request.processor.as_str()), ("bytecode", "traversal"));
    assert_eq!(request.id, 0x00112233445566778899aabbccddeeff);
    let Some(Argument::Traversal(traversal)) = request.argument("gremlin") else { panic!("{request:?}") };
    assert_eq!(traversal.to_string(), "g.V().has(\"name\", P.gt(1))");

    let objects = [(Object::Int(7), 3)];
    let answer = |wrapping| {
        let part = Part { status: Status::Success, objects: &objects, wrapping, answer: None };
        message::response(Format::Binary, 1, &part).unwrap()
    };
    let head = "81 00 00000000000000000000000000000001 000000c8 00 00000000 00000000 00000000 0900";
    let traversers = hex(&format!("{head} 00000001 2100 0000000000000003 0100 00000007"));
    assert_eq!(answer(Wrapping::Traversers), Frame::Binary(traversers));
    let plain = hex(&format!("{head} 00000003 0100 00000007 0100 00000007 0100 00000007"));
    assert_eq!(answer(Wrapping::Plain), Frame::Binary(plain));
}

/// The same request in both versions of GraphSON, as JavaScript and Python write it.
#[test]
fn golden_requests_in_graphson() {
    let three = r#"{"requestId":{"@type":"g:UUID","@value":"00112233-4455-6677-8899-aabbccddeeff"},"op":"bytecode","processor":"traversal",
        "args":{"@type":"g:Map","@value":["gremlin",{"@type":"g:Bytecode","@value":{"source":[["withStrategies",{"@type":"g:SubgraphStrategy",
        "@value":{"fqcn":"org.x.SubgraphStrategy","conf":{"vertices":{"@type":"g:Bytecode","@value":{"step":[["hasLabel","a"]]}}}}}]],"step":[["V"],["has","n",
        {"@type":"g:P","@value":{"predicate":"within","value":{"@type":"g:List","@value":[{"@type":"g:Int32","@value":1},2]}}}],["order"],
        ["by","n",{"@type":"g:Order","@value":"desc"}]]}},"aliases",{"@type":"g:Map","@value":["g","h"]}]}}"#;
    let two = r#"{"requestId":"00112233-4455-6677-8899-aabbccddeeff","op":"bytecode","processor":"traversal","args":{"gremlin":{"@type":"g:Bytecode",
        "@value":{"source":[["withStrategies",{"@type":"g:SubgraphStrategy","@value":{"vertices":{"@type":"g:Bytecode","@value":{"step":[["hasLabel","a"]]}}}}]],
        "step":[["V"],["has","n",{"@type":"g:P","@value":{"predicate":"within","value":[{"@type":"g:Int32","@value":1},2]}}],["order"],
        ["by","n",{"@type":"g:Order","@value":"desc"}]]}},"aliases":{"g":"h"}}}"#;
    for (mime, text) in
        [("application/vnd.gremlin-v3.0+json", three), ("application/vnd.gremlin-v2.0+json", two)]
    {
        let mut frame = vec![mime.len() as u8];
        frame.extend([mime, text].concat().as_bytes());
        let request = Request::read(&frame).unwrap();
        assert_eq!(request.format.mime(), mime);
        let Some(Argument::Traversal(traversal)) = request.argument("gremlin") else { panic!("{request:?}") };
        let steps = "V().has(\"n\", P.within([1, 2])).order().by(\"n\", Order.desc)";
        let wanted = format!("g.withStrategies(new SubgraphStrategy(vertices: __.hasLabel(\"a\"))).{steps}");
        assert_eq!(traversal.to_string().replace("(1, 2)", "([1, 2])"), wanted, "{mime}");
    }
}

#[test]
fn an_error_tells_what_is_wrong_in_each_format() {
    let refusal = Refusal { status: Status::ScriptError, message: "no \"such\" step".into() };
    for dialect in Dialect::all() {
        let Frame::Text(text) = message::failure(Format::Json(dialect), Some(1), &refusal, "Some.Exception")
        else {
            panic!("not text")
        };
        let json: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["status"]["code"], 597);
        assert_eq!(json["status"]["message"], "no \"such\" step");
        assert!(text.contains("Some.Exception"), "{text}");
    }
}

/// Lengths that promise more than is there, and values nested without end, are refused before anything is made room for.
#[test]
fn promises_are_not_believed() {
    for bytes in [
        "0300 7fffffff",
        "0900 7fffffff",
        "0a00 7fffffff",
        "2500 7fffffff 00",
        "1500 7fffffff",
        "0300 ffffffff",
        "2300 7fffffff 01",
    ] {
        assert!(Reader::new(&hex(bytes)).argument().is_err(), "{bytes}");
    }
    let mut deep = Vec::new();
    (0..100_000).for_each(|_| deep.extend([0x09, 0, 0, 0, 0, 1]));
    assert!(Reader::new(&deep).argument().unwrap_err().to_string().contains(&NESTING_DEPTH_MAX.to_string()));
    // Within the limit of the parser of JSON, beyond ours.
    let nested = format!("{}1{}", "[".repeat(100), "]".repeat(100));
    let json = serde_json::from_str(&nested).unwrap();
    assert!(graphson::argument(&json).unwrap_err().0.contains("nested"));
    for text in [
        r#"{"@type":"g:Int32","@value":4294967296}"#,
        r#"{"@type":"g:UUID","@value":"x"}"#,
        r#"{"@type":"g:Lambda","@value":{"script":"1"}}"#,
        r#"{"@type":"g:Map","@value":[1]}"#,
        r#"{"@type":"g:P","@value":{"predicate":"between","value":1}}"#,
        r#"{"@type":"g:Bytecode","@value":{"step":[[]]}}"#,
        r#"{"@type":"g:Bytecode","@value":{"step":[[1]]}}"#,
        r#"{"@type":"g:Nothing","@value":1}"#,
        r#"{"@type":"gx:ByteBuffer","@value":"?"}"#,
    ] {
        assert!(graphson::argument(&serde_json::from_str(text).unwrap()).is_err(), "{text}");
    }
}
