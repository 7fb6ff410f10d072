//! Ordinary JSON as nodes and relationships: a list, an object a line, an object around a list.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_ingest as ingest;

use crate::common;

use common::{Files, edge_lines, import, mapped, memory, options, rejected, vertex_lines};
use ingest::{ExistingPolicy, ImportError, ImportOptions, Understood};
use std::sync::{Arc, Mutex};
use world::chance::Chance;

const PEOPLE: &str = "[\n  {\"id\": 1, \"name\": \"Ada\", \"born\": \"1815-12-10\", \"address\": {\"city\": \"London\", \"at\": {\"lat\": 51.5}},\n   \"tags\": [\"a\", \"b\"], \"scores\": [1, 2.5]},\n  {\"id\": 2, \"name\": \"Bob\", \"born\": null, \"tags\": [], \"odd\": [1, \"x\", {\"y\": null}]}\n]\n";
const FRIENDS: &str = "{\"from\":1,\"to\":2,\"since\":1833}\n\n{\"from\":2,\"to\":2}\n";

#[track_caller]
fn holds_people(all: &[(&str, &str)], nodes: &[&str], edges: &[&str]) {
    let files = Files::new(all);
    let engine = memory();
    let report = ingest::import(&engine, &mapped(files.folder(), nodes, edges)).unwrap();
    assert_eq!(rejected(&report), [""; 0]);
    assert_eq!(
        vertex_lines(&engine),
        [
            r#":Person {address.at.lat: 51.5, address.city: "London", born: 1815-12-10, id: 1, name: "Ada", scores: [1.0, 2.5], tags: ["a", "b"]}"#,
            r#":Person {id: 2, name: "Bob", odd: "[1,\"x\",{\"y\":null}]", tags: []}"#,
        ]
    );
    assert_eq!(edge_lines(&engine), ["1 -[:KNOWS {since: 1833}]-> 2", "2 -[:KNOWS]-> 2"]);
}

/// A file of settings in a folder of tables was taken for a node, in silence.
#[test]
fn one_object_among_other_files_is_refused_until_it_is_said_what_it_is() {
    let (config, people) = ("{\"port\": 7687}\n", "id,name\n1,Ada\n");
    let files = Files::new(&[("config.json", config), ("people.csv", people)]);
    let error = ingest::import(&memory(), &options(files.folder())).unwrap_err();
    assert!(error.to_string().contains("config.json is one object of JSON"), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("--nodes")), "{error}");
    for (name, text) in [
        ("config.jsonl", config),
        ("config.json", "[{\"port\": 7687}]"),
        ("config.json", "{\"a\":1}{\"a\":2}"),
    ] {
        let files = Files::new(&[(name, text), ("people.csv", people)]);
        assert!(ingest::import(&memory(), &options(files.folder())).unwrap().vertices > 1, "{name} {text}");
    }
    let alone = Files::new(&[("config.json", config)]);
    assert_eq!(ingest::import(&memory(), &options(alone.folder())).unwrap().vertices, 1);
}

#[test]
fn rows_are_objects_in_a_list_in_lines_or_around_a_list() {
    let nodes = ["Person=people.json:id"];
    let edges = ["KNOWS=friends.ndjson:from:Person,to:Person"];
    holds_people(&[("people.json", PEOPLE), ("friends.ndjson", FRIENDS)], &nodes, &edges);
    let around = format!("{{\"people\": {PEOPLE}}}");
    let list = "[{\"from\":1,\"to\":2,\"since\":1833},{\"from\":2,\"to\":2}]";
    holds_people(&[("people.json", &around), ("friends.ndjson", list)], &nodes, &edges);
    let marked = format!("\u{feff}{PEOPLE}");
    holds_people(&[("people.json", &marked), ("friends.ndjson", FRIENDS)], &nodes, &edges);
}

#[test]
fn types_are_those_of_all_rows_and_lose_nothing() {
    let rows = [
        r#"{"id":"007","n":1,"big":1,"mixed":1,"when":"2024-01-01T10:00:00Z","text":"2024-01-01","f":NaN,"d":{"$date":"2024-02-29"}}"#,
        r#"{"id":"7","n":2.5,"big":18446744073709551616,"mixed":"x","when":"2024-01-01T10:00:00+02:00","text":"soon","f":-Infinity,"e":9007199254740993}"#,
        r#"{"id":"8","e":0.5,"text":""}"#,
    ];
    let files = Files::new(&[("p.jsonl", &rows.join("\n"))]);
    let engine = memory();
    let understood: Arc<Mutex<Vec<String>>> = Arc::default();
    let told = understood.clone();
    let options = ImportOptions {
        understood: Some(Arc::new(move |file: &Understood| told.lock().unwrap().push(file.to_string()))),
        ..mapped(files.folder(), &["P=p.jsonl:id"], &[])
    };
    ingest::import(&engine, &options).unwrap();
    assert_eq!(
        vertex_lines(&engine),
        [
            r#":P {big: "1", d: 2024-02-29, f: NaN, id: "007", mixed: 1, n: 1.0, text: "2024-01-01", when: 2024-01-01T10:00Z}"#,
            r#":P {big: "18446744073709551616", e: 9007199254740993, f: -inf, id: "7", mixed: "x", n: 2.5, text: "soon", when: 2024-01-01T10:00+02:00}"#,
            r#":P {e: 0.5, id: "8", text: ""}"#,
        ]
    );
    let shown = understood.lock().unwrap()[0].clone();
    assert!(shown.contains("p.jsonl: nodes :P, 3 rows, JSON\n  id     string, the id\n  n      float, 1 of 3 null\n  big    string, 1 of 3 null"), "{shown}");
}

#[test]
fn a_folder_is_told_by_its_columns() {
    let (engine, report) = import(&[
        ("people.json", "[{\"id\":1,\"name\":\"Ada\"},{\"id\":2}]"),
        ("knows.jsonl", "{\"from\":1,\"to\":2}\n"),
        ("cities.csv", "id,name\n71,Lyon\n"),
        ("lives_in.json", "[{\"people_id\":2,\"cities_id\":71}]"),
    ]);
    assert_eq!((rejected(&report).len(), report.skipped.len()), (0, 0));
    assert_eq!(report.by_label, [("Cities".into(), 1), ("People".into(), 2)]);
    assert_eq!(report.by_type.len(), 2, "{:?}", report.by_type);
    assert_eq!(edge_lines(&engine).len(), 2);
}

/// Rows of JSON beside typed headers were taken for nodes without anything.
#[test]
fn other_layouts_leave_json_alone_and_graphson_is_named() {
    let (engine, report) =
        import(&[("p.csv", "id:ID\n1\n"), ("note.json", "{\"id\":7}"), ("q.json", "[{\"a\":1}]")]);
    assert_eq!((vertex_lines(&engine), report.skipped.len()), (vec![":p {id: 1}".to_string()], 2));
    let files =
        Files::new(&[("g.json", "{\"id\":{\"@type\":\"g:Int64\",\"@value\":1},\"label\":\"person\"}")]);
    let error = ingest::import(&memory(), &options(files.folder())).unwrap_err();
    assert!(
        error.to_string().contains("g.json cannot be read: it is GraphSON; import it with --layout graphson"),
        "{error}"
    );
}

#[test]
fn what_is_there_is_left_or_set() {
    let files = Files::new(&[("p.json", "[{\"id\":1,\"x\":1}]")]);
    let (engine, options) = (memory(), mapped(files.folder(), &["P=p.json:id"], &[]));
    ingest::import(&engine, &options).unwrap();
    files.add("p.json", b"[{\"id\":1,\"x\":2},{\"id\":2}]");
    let error = ingest::import(&engine, &options).unwrap_err();
    assert!(
        error.to_string().contains("p.json:1: the node with id `1` is in the database already"),
        "{error}"
    );
    ingest::import(&engine, &ImportOptions { existing: ExistingPolicy::Skip, ..options.clone() }).unwrap();
    assert_eq!(vertex_lines(&engine), [":P {id: 1, x: 1}", ":P {id: 2}"]);
    ingest::import(&engine, &ImportOptions { existing: ExistingPolicy::Merge, ..options }).unwrap();
    assert_eq!(vertex_lines(&engine), [":P {id: 1, x: 2}", ":P {id: 2}"]);
}

#[test]
fn what_is_wrong_is_told_by_line_and_column_and_nothing_is_imported() {
    let deep = format!("[{{\"id\":1,\"a\":{}{}}}]", "[".repeat(5000), "]".repeat(5000));
    for (text, expected) in [
        ("[{\"id\":1},\n{\"id\":2,}]", "p.json:2: column 9: a name in double quotes is expected"),
        ("[{\"id\":1}", "p.json:1: column 10: `,` or `]` is expected"),
        ("[{\"id\":1},\n 7]", "p.json:2: a row is an object, such as {\"id\": 1}; this is none"),
        ("{\"id\":1}\n{\"id\":2", "p.json:2: column 8: `,` or `}` is expected"),
        ("{\"id\":1,\"id\":2}", "p.json:1: the name `id` stands twice in a row"),
        ("{\"id\":1,\"p\":{\"$date\":\"never\"}}", "p.json:1: column `p`: `\"never\"` is no $date"),
        ("[{\"no\":1}]", "p.json: there is no column `id` among `no`"),
        ("{}", "p.json: there is no column `id` among "),
        (deep.as_str(), "p.json:1: column 140: lists and objects are nested deeper than 127; flatten them"),
    ] {
        let files = Files::new(&[("p.json", text)]);
        let engine = memory();
        let error = ingest::import(&engine, &mapped(files.folder(), &["P=p.json:id"], &[])).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}\n{text:.100}");
        assert!(error.to_string().contains("nothing was imported"), "{error}");
        assert_eq!(engine.snapshot().commit_version(), 0);
    }
    let files = Files::new(&[("p.json", "[{\"id\":1},\n{\"x\":1},\n{\"id\":1}]")]);
    let report = ingest::import(&memory(), &mapped(files.folder(), &["P=p.json:id"], &[])).unwrap();
    assert_eq!(
        rejected(&report),
        ["p.json:2: column `id`: the id is missing", "p.json:3: id `1` is there before"]
    );
}

/// Below, at and above what a text of JSON may be nested, and far beyond it, wherever an import reads one: answered or refused, never met on the
/// stack.
#[test]
fn json_of_any_nesting_is_imported_or_refused() {
    let list = |depth: usize| format!("{}7{}", "[".repeat(depth), "]".repeat(depth));
    let map = |depth: usize| format!("{}7{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    let typed = |depth: usize| format!("{}7{}", "{\"$map\":{\"a\":".repeat(depth), "}}".repeat(depth));
    // Each place, and what lies around the value there.
    let rows = |value: &str| ("p.json", format!("{{\"id\":1,\"a\":{value}}}\n"));
    let lines = |value: &str| {
        let node = "{\"type\":\"node\",\"id\":\"1\",\"labels\":[],\"properties\":";
        ("graph.jsonl", format!("{node}{{\"a\":{value}}}}}\n"))
    };
    let cells = |value: &str| ("p.csv", format!("id:ID,a:any\n1,\"{}\"\n", value.replace('"', "\"\"")));
    for depth in [0, 1, 62, 63, 64, 124, 125, 126, 127, 128, 129, 5_000, 100_000] {
        for (form, value, brackets) in
            [("list", list(depth), depth), ("map", map(depth), depth), ("typed", typed(depth), 2 * depth)]
        {
            for ((name, text), around) in [(rows(&value), 1), (lines(&value), 2), (cells(&value), 0)] {
                let what = format!("{name}: {form}, {depth} deep");
                let files = Files::new(&[(name, &text)]);
                let engine = memory();
                let options = match name {
                    "p.json" => mapped(files.folder(), &["P=p.json:id"], &[]),
                    _ => options(files.folder()),
                };
                let outcome = ingest::import(&engine, &options);
                let too_deep = brackets + around > model::json::JSON_DEPTH_MAX;
                let told = match &outcome {
                    Ok(report) => rejected(report).join(" "),
                    Err(error) => error.to_string(),
                };
                let says = told.contains("nested deeper than 127; flatten them");
                assert_eq!(says, too_deep, "{what}: {told}");
                assert!(
                    too_deep || name == "p.csv" || engine.snapshot().commit_version() > 0 || form == "map",
                    "{what}: {told}"
                );
            }
        }
    }
}

#[test]
fn many_columns_and_empty_files() {
    let columns: Vec<String> = (0..10_000).map(|at| format!("\"c{at}\":{at}")).collect();
    let text = format!("{{\"id\":1,{}}}\n", columns.join(","));
    let files = Files::new(&[("p.json", &text), ("empty.json", "")]);
    let engine = memory();
    ingest::import(&engine, &mapped(files.folder(), &["P=p.json:id"], &[])).unwrap();
    assert!(vertex_lines(&engine)[0].contains("c9999: 9999"));
    let error = ingest::import(&memory(), &mapped(files.folder(), &["P=empty.json:id"], &[])).unwrap_err();
    assert!(error.to_string().contains("empty.json: the file is empty"), "{error}");
    let none = Files::new(&[("p.json", "[]")]);
    let error = ingest::import(&memory(), &options(none.folder())).map(|report| report.vertices);
    assert!(matches!(error, Ok(0) | Err(ImportError::Nothing { .. })), "{error:?}");
}

/// Whatever the bytes are, there is an answer, and nothing is imported where it is an error.
#[test]
fn random_damage_is_told() {
    let seed = Chance::system_seed();
    println!("seed {seed}");
    let mut chance = Chance::seeded(seed);
    for _ in 0..200 {
        let mut bytes = PEOPLE.as_bytes().to_vec();
        for _ in 0..=chance.below(3) {
            let at = chance.below(bytes.len().max(1) as u64) as usize;
            match chance.below(3) {
                _ if bytes.len() < 2 => break,
                0 => bytes[at] = chance.below(256) as u8,
                1 => drop(bytes.remove(at)),
                _ => bytes.truncate(at.max(1)),
            }
        }
        let files = Files::new(&[]);
        files.add("p.json", &bytes);
        let engine = memory();
        if let Err(error) = ingest::import(&engine, &mapped(files.folder(), &["P=p.json:id"], &[])) {
            assert!(error.to_string().contains("p.json"), "{error}");
            assert_eq!(engine.snapshot().commit_version(), 0);
        }
    }
}
