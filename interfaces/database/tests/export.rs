//! A graph out into files and back: the same graph, whatever it holds.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_database as database;

use database::gremlin::GremlinOptions;
use database::{
    Database, ExistingPolicy, ExportFormat, ImportOptions, MEMORY, Options, Params, Session, Value,
};
use gremlin::{Bindings, Request};
use std::path::Path;
use world::chance::Chance;
use world::files::{self, TemporaryFolder};

const FORMATS: [ExportFormat; 4] =
    [ExportFormat::Csv, ExportFormat::Jsonl, ExportFormat::Parquet, ExportFormat::Graphson];

fn memory() -> Database {
    Database::open(MEMORY, Options::default()).unwrap()
}

fn ask(session: &mut Session, text: &str, params: &[(&str, Value)]) -> Vec<Vec<Value>> {
    let mut given = Params::new();
    params.iter().for_each(|(name, value)| drop(given.insert((*name).into(), value.clone())));
    session.query(text, given).unwrap_or_else(|error| panic!("{text}: {error:?}")).rows().unwrap()
}

/// Everything in a graph, one line each, in an order of their own; nodes are told apart by what they hold.
fn lines(database: &Database) -> Vec<String> {
    let mut session = database.session();
    let mut lines = Vec::new();
    for row in ask(&mut session, "MATCH (n) RETURN labels(n), properties(n)", &[]) {
        let Value::List(labels) = &row[0] else { panic!("labels") };
        let mut labels: Vec<String> = labels.iter().map(|label| format!("{label:?}")).collect();
        labels.sort();
        lines.push(format!("{labels:?} {:?}", row[1]));
    }
    let edges = "MATCH (a)-[r]->(b) RETURN properties(a), type(r), properties(r), properties(b)";
    lines.extend(ask(&mut session, edges, &[]).into_iter().map(|row| format!("{row:?}")));
    let schema = ["SHOW INDEXES YIELD createStatement", "SHOW CONSTRAINTS YIELD createStatement"];
    for text in schema {
        lines.extend(ask(&mut session, text, &[]).into_iter().map(|row| format!("{row:?}")));
    }
    lines.sort();
    lines
}

/// Runs the statements of a script; no text in it holds the end of a line.
fn run(from: &Path) -> Database {
    let database = memory();
    let script = files::read_text(&from.join("graph.cypher")).unwrap();
    let mut session = database.session();
    for statement in script.split_terminator(";\n") {
        ask(&mut session, statement, &[]);
    }
    drop(session);
    database
}

fn again(from: &Path) -> Database {
    let database = memory();
    let report =
        database.import(&ImportOptions { from: from.to_path_buf(), ..ImportOptions::default() }).unwrap();
    assert_eq!((report.rejected, report.skipped.len()), (0, 0), "{:?}", report.rejected_first);
    database
}

#[track_caller]
fn comes_back(database: &Database, formats: &[ExportFormat], seed: u64) {
    let expected = lines(database);
    for format in formats.iter().copied() {
        let folder = TemporaryFolder::new("export").unwrap();
        let to = folder.path().join("graph");
        let report = database.export(&to, format, None).unwrap();
        let found = lines(&if format == ExportFormat::Cypher { run(&to) } else { again(&to) });
        let differs = expected.iter().zip(&found).find(|(a, b)| a != b);
        assert!(differs.is_none(), "seed {seed}, {format:?}: {differs:#?}");
        assert_eq!(expected.len(), found.len(), "seed {seed}, {format:?}, {report:?}");
    }
}

const ODD: [&str; 14] = [
    "name",
    "a:b",
    "key;with,all|of \"them\"",
    " blanks ",
    "{x}",
    "(y)",
    "new\nline",
    "~id",
    "ümlaut 🌲",
    ":ID",
    "a%20b",
    "`tick`",
    "\\N",
    "header",
];

fn name(chance: &mut Chance) -> &'static str {
    ODD[chance.below(ODD.len() as u64) as usize]
}

/// Expressions of every type of value that a property may have.
const EXPRESSIONS: [&str; 30] = [
    "true",
    "-9223372036854775808",
    "9007199254740993",
    "0.1",
    "-0.0",
    "1.0e308",
    "0.0/0.0",
    "1.0/0.0",
    "''",
    "' a '",
    "'1'",
    "'a,b;c\"d\\r\\ne\\tf'",
    "'NULL'",
    "'\u{1f332} \\u0001'",
    "date('2024-02-29')",
    "date('-0044-03-15')",
    "localtime('23:59:59.999999999')",
    "time('12:00:00.5-11:30')",
    "localdatetime('0001-01-01T00:00:00')",
    "datetime('2024-10-27T02:30:00.000000001+01:00[Europe/Paris]')",
    "datetime('1970-01-01T00:00:00Z')",
    "duration({months: -14, days: 3, seconds: -1, nanoseconds: 500000000})",
    "duration('PT0S')",
    "point({x: 1.5, y: -0.0})",
    "point({longitude: 8.55, latitude: 47.37, height: 400})",
    "[]",
    "['', ';', 'a;b', 'null']",
    "[1, 2, 3]",
    "[date('2024-01-01'), date('0001-01-01')]",
    "[point({x: 1, y: 2, z: 3}), point({x: 0.1, y: 2, z: -3})]",
];

/// Any value that a property may have.
fn value(chance: &mut Chance, values: &[Value], with_bytes: bool) -> Value {
    match chance.below(12) {
        2 if !with_bytes => Value::Int(2),
        0 => Value::Int(chance.next_u64() as i64),
        1 => Value::Float(f64::from_bits(chance.next_u64())),
        2 => Value::Bytes((0..chance.below(5)).map(|byte| byte as u8 * 63).collect()),
        3 => Value::string(name(chance)),
        _ => values[chance.below(values.len() as u64) as usize].clone(),
    }
}

fn random(seed: u64, with_bytes: bool) -> Database {
    let mut chance = Chance::seeded(seed);
    let database = memory();
    let mut session = database.session();
    let listed: Vec<String> =
        EXPRESSIONS.iter().enumerate().map(|(at, text)| format!("{text} AS x{at}")).collect();
    let values = ask(&mut session, &format!("RETURN {}", listed.join(", ")), &[]).remove(0);
    let properties = |chance: &mut Chance, id: Option<i64>| {
        let mut held: Vec<(String, Value)> = (0..chance.below(6))
            .map(|_| (name(chance).to_string(), value(chance, &values, with_bytes)))
            .collect();
        held.extend(id.map(|id| ("uid".to_string(), Value::Int(id))));
        Value::map(held)
    };
    let quoted = |name: &str| format!("`{}`", name.replace('`', "``"));
    let mut nodes = Vec::new();
    for id in 0..30 {
        let labels: String =
            (0..chance.below(4)).map(|_| format!(":{}", quoted(name(&mut chance)))).collect();
        let held = properties(&mut chance, (id > 2).then_some(id));
        let text = format!("CREATE (n{labels}) SET n = $held RETURN id(n)");
        nodes.push(ask(&mut session, &text, &[("held", held)])[0][0].clone());
    }
    for _ in 0..60 {
        let end = |chance: &mut Chance| nodes[chance.below(nodes.len() as u64) as usize].clone();
        let (a, b) = (end(&mut chance), end(&mut chance));
        let text = format!(
            "MATCH (a), (b) WHERE id(a) = $a AND id(b) = $b CREATE (a)-[r:{}]->(b) SET r = $held",
            quoted(name(&mut chance))
        );
        let held = properties(&mut chance, None);
        ask(&mut session, &text, &[("a", a), ("b", b), ("held", held)]);
    }
    ask(&mut session, "CREATE INDEX odd FOR (n:` blanks `) ON (n.`a:b`)", &[]);
    ask(&mut session, "CREATE CONSTRAINT unique FOR (n:`a:b`) REQUIRE n.uid IS UNIQUE", &[]);
    database
}

#[test]
fn random_graphs_come_back() {
    let start = Chance::system_seed();
    for seed in [1, 2, 3, start] {
        println!("seed {seed}");
        let database = random(seed, true);
        comes_back(&database, &FORMATS, seed);
        let folder = TemporaryFolder::new("export").unwrap();
        let error = database.export(folder.path().join("graph"), ExportFormat::Cypher, None).unwrap_err();
        assert!(error.message.contains("Cypher has no form for bytes"), "{error:?}");
        comes_back(&random(seed, false), &[ExportFormat::Cypher], seed);
    }
}

#[test]
fn empty_graphs_and_schemas_come_back() {
    let database = memory();
    ask(&mut database.session(), "CREATE CONSTRAINT c FOR (n:A) REQUIRE n.x IS NOT NULL", &[]);
    ask(&mut database.session(), "CREATE (:A {x: 1})", &[]);
    comes_back(&database, &FORMATS, 0);
    comes_back(&database, &[ExportFormat::Cypher], 0);
}

#[test]
fn what_cannot_be_written_is_refused_and_leaves_nothing() {
    let database = memory();
    let long = Value::string("a".repeat(17 << 20));
    ask(&mut database.session(), "CREATE (n:A {ok: 1}) SET n.long = $long", &[("long", long)]);
    let limited = [
        (ExportFormat::Csv, 16 << 20),
        (ExportFormat::Jsonl, 16 << 20),
        (ExportFormat::Parquet, 16 << 20),
        (ExportFormat::Cypher, 4 << 20),
    ];
    for (format, bytes) in limited {
        let folder = TemporaryFolder::new("export").unwrap();
        let to = folder.path().join("graph");
        let error = database.export(&to, format, None).unwrap_err();
        assert!(error.message.contains(&format!("would have more than {bytes} bytes")), "{error:?}");
        assert!(error.message.contains("nothing was exported") && !files::exists(&to), "{error:?}");
        files::create_folder(&to).unwrap();
        files::write_bytes(&to.join("other"), b"x").unwrap();
        let error = database.export(&to, format, None).unwrap_err();
        assert!(error.message.contains("holds something already"), "{error:?}");
        assert_eq!(files::list_folder(&to).unwrap().len(), 1);
    }
}

#[test]
fn an_import_that_fails_leaves_no_schema() {
    let folder = TemporaryFolder::new("export").unwrap();
    let write =
        |name: &str, text: &str| files::write_bytes(&folder.path().join(name), text.as_bytes()).unwrap();
    write("schema.cypher", "CREATE CONSTRAINT `c` FOR (n:`A`) REQUIRE (n.`x`) IS UNIQUE;\n");
    write("a.csv", ":ID(graph),:LABEL,x:int\n0,A,1\n1,A,1\n");
    let database = memory();
    let import = |strict: bool| {
        database.import(&ImportOptions { from: folder.path().into(), strict, ..ImportOptions::default() })
    };
    let error = import(true).unwrap_err();
    assert!(error.message.contains("nothing was imported"), "{error:?}");
    assert!(lines(&database).is_empty(), "{:?}", lines(&database));
    write("schema.cypher", "MATCH (n) DETACH DELETE n;\n");
    assert_eq!(import(false).unwrap_err().code, "Neo.ClientError.Import.WrongSchema");
    assert!(lines(&database).is_empty());
}

#[test]
fn a_wrong_line_is_told_and_nothing_is_imported() {
    let folder = TemporaryFolder::new("export").unwrap();
    let path = folder.path().join("graph.jsonl");
    let import = |text: &str, strict: bool| {
        files::write_bytes(&path, text.as_bytes()).unwrap();
        let database = memory();
        let options = ImportOptions { from: path.clone(), strict, ..ImportOptions::default() };
        let outcome = database.import(&options);
        if outcome.is_err() {
            assert!(lines(&database).is_empty());
        }
        outcome
    };
    let node = "{\"type\":\"node\",\"id\":1,\"labels\":[\"A\"],\"properties\":{}}\n";
    let wrong = |line: &str, says: &str| {
        let error = import(&format!("{node}\n{line}\n"), true).unwrap_err();
        assert!(error.message.contains("graph.jsonl:3: ") && error.message.contains(says), "{error:?}");
    };
    wrong("{\"type\":\"node\"", "column 14: EOF");
    wrong("[]", "is no object");
    wrong("{\"type\":\"node\",\"labels\":[]}", "`id` is missing");
    wrong("{\"type\":\"relationship\",\"label\":\"R\",\"start\":{\"id\":1}}", "`end.id` is missing");
    wrong(
        "{\"type\":\"relationship\",\"label\":\"R\",\"start\":{\"id\":1},\"end\":{\"id\":9}}",
        "no vertex has the id `9`",
    );
    wrong(
        "{\"type\":\"node\",\"id\":2,\"properties\":{\"a\":{\"b\":1}}}",
        "an object with the name `b` is no property",
    );
    wrong("{\"type\":\"node\",\"id\":2,\"properties\":{\"a\":18446744073709551615}}", "more than 64 bits");
    assert_eq!(import(node, true).unwrap().vertices, 1);
}

/// Graphs of Gremlin keep the ids that clients gave, several values of a key, widths of numbers; a second import finds what is there.
#[test]
fn a_graph_of_gremlin_comes_back_by_graphson_once_or_merged() {
    let folder = TemporaryFolder::new("export").unwrap();
    let line = |id: u32, next: u32, name: &str| {
        format!(
            concat!(
                "{{\"id\":{{\"@type\":\"g:Int32\",\"@value\":{id}}},\"label\":\"a::b\",\"outE\":{{\"next\":[",
                "{{\"id\":\"e{id}\",\"inV\":{next},\"properties\":{{\"w\":{{\"@type\":\"g:Int64\",\"@value\":7}}}}}}]}},",
                "\"properties\":{{\"name\":[{{\"id\":0,\"value\":\"{name}\"}},{{\"id\":1,\"value\":\"x\",\"properties\":{{\"since\":1}}}}],",
                "\"uuid\":[{{\"id\":2,\"value\":{{\"@type\":\"g:UUID\",\"@value\":\"00000000-0000-0000-0000-00000000000{id}\"}}}}]}}}}\n"
            ),
            id = id,
            next = next,
            name = name
        )
    };
    let from = folder.path().join("from.json");
    files::write_bytes(&from, (line(1, 2, "one") + &line(2, 1, "two")).as_bytes()).unwrap();
    let database = again(&from);
    let seen = |database: &Database| {
        let mut session = database.session();
        ["g.V().valueMap(true)", "g.E().valueMap(true)", "g.V(1).out().id()"].map(
            |text| match gremlin::parse(text, &Bindings::new()).unwrap().remove(0) {
                Request::Traversal(traversal, _) => {
                    let answer = session.gremlin(&traversal, &GremlinOptions::default()).unwrap();
                    format!("{:?}", answer.all().unwrap())
                }
                other => panic!("{other:?}"),
            },
        )
    };
    let expected = seen(&database);
    let to = folder.path().join("graph");
    database.export(&to, ExportFormat::Graphson, None).unwrap();
    assert_eq!(seen(&again(&to)), expected);
    let import = |existing, dry_run| {
        let options = ImportOptions { from: to.clone(), existing, dry_run, ..ImportOptions::default() };
        database.import(&options).map(|report| (report.vertices, report.edges, report.existing))
    };
    assert_eq!(import(ExistingPolicy::Fail, false).unwrap_err().code, "Neo.ClientError.Import.NotEmpty");
    assert_eq!(import(ExistingPolicy::Skip, false).unwrap(), (0, 0, 4));
    files::write_bytes(&to.join("graph.json"), (line(1, 3, "uno") + &line(3, 1, "three")).as_bytes())
        .unwrap();
    assert_eq!(import(ExistingPolicy::Merge, true).unwrap(), (1, 2, 1));
    assert_eq!(seen(&database), expected, "a dry run changes nothing");
    assert_eq!(import(ExistingPolicy::Merge, false).unwrap(), (1, 2, 1));
    let changed = seen(&database);
    assert!(
        changed[0].contains("uno") && changed[0].contains("three") && !changed[0].contains("one\""),
        "{changed:?}"
    );
}
