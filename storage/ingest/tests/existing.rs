//! Import into a database that holds something, and import that is durable.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_ingest as ingest;

use crate::common;

use common::{Files, edge_lines, index_lines, memory, options, rejected, vertex_lines};
use ingest::{ExistingPolicy, ExportFormat, ExportOptions, ImportError, ImportOptions, ImportReport, Layout};
use model::schema::SchemaTarget;
use model::{Value, ValueType};
use std::path::Path;
use std::sync::Arc;
use transact::{ConstraintRequest, Engine, Mode, OpenOptions, Rule};
use world::disk::{Disk, SimDisk};

fn add(engine: &Engine, all: &[(&str, &str)]) -> ImportReport {
    add_with(engine, all, ExistingPolicy::Fail).unwrap()
}

fn add_with(
    engine: &Engine,
    all: &[(&str, &str)],
    existing: ExistingPolicy,
) -> Result<ImportReport, ImportError> {
    let files = Files::new(all);
    ingest::import(engine, &ImportOptions { existing, ..options(files.folder()) })
}

/// A vertex made by a transaction.
fn create(engine: &Engine, label: &str, id: i64) {
    let names = engine.store().names();
    let (label, key) = (names.intern_label(label).unwrap(), names.intern_key("id").unwrap());
    let transaction = engine.begin(Mode::Write);
    transaction.create_vertex(&[label], vec![(key, Value::Int(id))]).unwrap();
    transaction.commit().unwrap();
}

#[test]
fn new_vertices_are_added_and_edges_lead_to_old_ones() {
    let engine = memory();
    add(&engine, &[("Person.csv", "id:ID(Person),name\n1,a\n2,b\n")]);
    let more = [
        ("Person.csv", "id:ID(Person),name\n3,c\n1,again\n"),
        ("KNOWS.csv", ":START_ID(Person),:END_ID(Person)\n3,2\n2,1\n3,9\n"),
    ];
    let error = add_with(&engine, &more, ExistingPolicy::Fail).unwrap_err();
    assert_eq!(error.code(), "Neo.ClientError.Import.Exists");
    assert!(error.to_string().contains("Person.csv:3: the node with id `1`"), "{error}");
    assert_eq!((vertex_lines(&engine).len(), edge_lines(&engine).len()), (2, 0), "nothing was changed");
    let report = add_with(&engine, &more, ExistingPolicy::Skip).unwrap();
    assert_eq!(rejected(&report), ["KNOWS.csv:4: no vertex has the id `9`"]);
    assert_eq!((report.vertices, report.edges, report.existing), (1, 2, 1));
    assert_eq!(
        vertex_lines(&engine),
        [r#":Person {id: 1, name: "a"}"#, r#":Person {id: 2, name: "b"}"#, r#":Person {id: 3, name: "c"}"#]
    );
    assert_eq!(edge_lines(&engine), ["2 -[:KNOWS]-> 1", "3 -[:KNOWS]-> 2"]);
    assert_eq!(index_lines(&engine), ["unique Person.id"]);
    // Edges alone find their vertices by the label that the group names.
    let report = add(&engine, &[("LIKES.csv", ":START_ID(Person),:END_ID(Person)\n1,3\n")]);
    assert_eq!((report.edges, report.rejected), (1, 0));
}

#[test]
fn vertices_of_transactions_are_found_without_an_index() {
    let engine = memory();
    create(&engine, "Node", 5);
    let report = add(&engine, &[("g.txt", "5 6\n6 7\n")]);
    assert_eq!((report.vertices, report.edges, report.rejected), (2, 2, 0));
    assert_eq!(vertex_lines(&engine), [":Node {id: 5}", ":Node {id: 6}", ":Node {id: 7}"]);
    let report = add(&engine, &[("g.txt", "7 5\n")]);
    assert_eq!((report.vertices, report.edges), (0, 1));
    assert_eq!(edge_lines(&engine), ["5 -[:EDGE]-> 6", "6 -[:EDGE]-> 7", "7 -[:EDGE]-> 5"]);
    create(&engine, "Node", 8);
    assert_eq!(vertex_lines(&engine).len(), 4);
}

#[test]
fn repeated_values_that_are_there_make_an_index_that_is_not_unique() {
    let engine = memory();
    create(&engine, "Node", 5);
    create(&engine, "Node", 5);
    add(&engine, &[("g.txt", "1 2\n")]);
    assert_eq!(index_lines(&engine), ["Node.id"]);
}

#[test]
fn rules_about_presence_and_type_hold() {
    let engine = memory();
    let names = engine.store().names();
    let target = SchemaTarget::Vertices(names.intern_label("P").unwrap());
    for (key, rule) in [("name", Rule::Exists), ("age", Rule::Typed(ValueType::Int))] {
        let keys = vec![names.intern_key(key).unwrap()];
        let request = ConstraintRequest { name: Some(key.into()), target, keys, rule, if_not_exists: false };
        engine.create_constraint(&request).unwrap();
    }
    let report = add(&engine, &[("P.csv", "id:ID,name,age\n1,a,\n2,,\n3,c,old\n")]);
    assert_eq!(
        rejected(&report),
        [
            "P.csv:3: property `name` breaks constraint `name`",
            "P.csv:4: property `age` breaks constraint `age`"
        ]
    );
    assert_eq!(vertex_lines(&engine), [r#":P {id: 1, name: "a"}"#]);
}

#[test]
fn a_broken_unique_index_of_another_property_changes_nothing() {
    let engine = memory();
    let names = engine.store().names();
    let target = SchemaTarget::Vertices(names.intern_label("P").unwrap());
    let keys = vec![names.intern_key("mail").unwrap()];
    let request = ConstraintRequest { name: None, target, keys, rule: Rule::Unique, if_not_exists: false };
    engine.create_constraint(&request).unwrap();
    let place = engine.snapshot().commit_version();
    let files = Files::new(&[("P.csv", "id:ID,mail\n1,a\n2,a\n")]);
    let error = ingest::import(&engine, &options(files.folder())).unwrap_err();
    assert_eq!(error.code(), "Neo.ClientError.Schema.ConstraintValidationFailed", "{error}");
    assert_eq!((engine.snapshot().commit_version(), vertex_lines(&engine).len()), (place, 0));
    assert_eq!(index_lines(&engine), ["unique P.mail"]);
}

#[test]
fn the_same_files_make_the_same_graph_with_any_number_of_threads() {
    let people: String = (0..40_000).map(|id| format!("{},name {}\n", id * 7 % 40_000, id % 100)).collect();
    let people = format!("id:ID,name\n{people}");
    let knows: String = (0..90_000u64).map(|at| format!("{},{}\n", at % 40_000, at * at % 40_000)).collect();
    let knows = format!(":START_ID,:END_ID\n{knows}");
    let files = Files::new(&[("P1.csv", &people[..]), ("KNOWS.csv", &knows[..])]);
    let graphs: Vec<Vec<String>> = [1, 2, 5]
        .into_iter()
        .map(|threads| {
            let engine = memory();
            let options = ImportOptions { threads: Some(threads), ..options(files.folder()) };
            ingest::import(&engine, &options).unwrap();
            let snapshot = engine.snapshot();
            let key = snapshot.catalog().key("id").unwrap();
            let ids = (0..snapshot.vertex_bound()).map(model::VertexId::from_dense);
            ids.map(|id| common::show(&snapshot.property(id, key).unwrap())).collect()
        })
        .collect();
    assert!(graphs[0] == graphs[1] && graphs[0] == graphs[2]);
}

/// A thread that waited for a file's reader once opened the file anew after another had read its last block, and its lines came twice.
#[test]
fn small_files_are_read_once_however_many_threads_there_are() {
    for _ in 0..40 {
        let all: Vec<(String, String)> =
            (0..30).map(|file| (format!("A_{file}.csv"), format!("id:ID\n{file}\n"))).collect();
        let all: Vec<(&str, &str)> = all.iter().map(|(name, text)| (&name[..], &text[..])).collect();
        let (files, engine) = (Files::new(&all), memory());
        let options = ImportOptions { threads: Some(8), strict: true, ..options(files.folder()) };
        assert_eq!(ingest::import(&engine, &options).unwrap().vertices, 30);
    }
}

/// A repeated import once doubled all relationships and said that all was well.
#[test]
fn a_repeated_import_adds_nothing_whatever_it_is_told() {
    let people = ("Person.csv", "id:ID(Person),name,age:int\n1,a,1\n2,b,2\n");
    let knows = ("KNOWS.csv", ":START_ID(Person),:END_ID(Person),since:int\n1,2,5\n1,2,6\n1,2,6\n2,1,\n");
    let list = ("g.txt", "1 2\n1 2\n2 3\n");
    for files in [vec![people, knows], vec![knows], vec![list]] {
        let engine = memory();
        if !files.contains(&people) {
            add(&engine, &[people]);
        }
        add(&engine, &files);
        let before = (vertex_lines(&engine), edge_lines(&engine));
        let error = add_with(&engine, &files, ExistingPolicy::Fail).unwrap_err();
        assert!(matches!(error, ImportError::Existing { .. }) && error.hint().is_some(), "{error}");
        for policy in [ExistingPolicy::Skip, ExistingPolicy::Merge, ExistingPolicy::Skip] {
            let report = add_with(&engine, &files, policy).unwrap();
            assert_eq!((report.vertices, report.edges, report.rejected), (0, 0, 0));
            assert!(report.existing >= 3, "{report:?}");
            assert_eq!((vertex_lines(&engine), edge_lines(&engine)), before, "{policy:?}");
        }
    }
}

#[test]
fn like_relationships_are_counted_and_others_are_new() {
    let engine = memory();
    add(
        &engine,
        &[("P.csv", "id:ID(P)\n1\n2\n"), ("R.csv", ":START_ID(P),:END_ID(P),w:int\n1,2,7\n1,2,7\n")],
    );
    let more = [("R.csv", ":START_ID(P),:END_ID(P),w:int\n1,2,7\n1,2,8\n1,2,7\n1,2,7\n2,1,7\n1,2,\n")];
    let report = add_with(&engine, &more, ExistingPolicy::Skip).unwrap();
    assert_eq!((report.edges, report.existing), (4, 2), "a third like one, another value, another way, none");
    let report = add_with(&engine, &more, ExistingPolicy::Skip).unwrap();
    assert_eq!((report.edges, report.existing), (0, 6));
}

#[test]
fn merging_sets_the_properties_that_a_row_gives() {
    let engine = memory();
    add(&engine, &[("P.csv", "id:ID(P),name,age:int\n1,a,1\n2,b,2\n")]);
    let more = [("P.csv", "id:ID(P),name,mail\n2,,b@x\n1,z,\n3,c,c@x\n")];
    let report = add_with(&engine, &more, ExistingPolicy::Merge).unwrap();
    assert_eq!((report.vertices, report.existing), (1, 2));
    assert_eq!(
        vertex_lines(&engine),
        [
            r#":P {age: 1, id: 1, name: "z"}"#,
            r#":P {age: 2, id: 2, mail: "b@x", name: "b"}"#,
            r#":P {id: 3, mail: "c@x", name: "c"}"#
        ]
    );
    // What a constraint forbids changes nothing at all.
    let names = engine.store().names();
    let target = SchemaTarget::Vertices(names.intern_label("P").unwrap());
    let keys = vec![names.intern_key("mail").unwrap()];
    let request = ConstraintRequest { name: None, target, keys, rule: Rule::Unique, if_not_exists: false };
    engine.create_constraint(&request).unwrap();
    let before = vertex_lines(&engine);
    let taken = [("P.csv", "id:ID(P),mail\n1,c@x\n4,d@x\n")];
    assert!(add_with(&engine, &taken, ExistingPolicy::Merge).is_err());
    assert_eq!(vertex_lines(&engine), before);
}

fn open(disk: &SimDisk) -> Engine {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    transact::open(Some((disk, Path::new("/db"))), &OpenOptions::default()).unwrap().0
}

#[test]
fn an_import_survives_a_crash_right_after_it() {
    let disk = SimDisk::new();
    let engine = open(&disk);
    create(&engine, "Old", 1);
    add(&engine, &[("A.csv", "id:ID\n1\n2\n"), ("E.csv", ":START_ID,:END_ID\n1,2\n")]);
    create(&engine, "New", 1);
    let expected = (vertex_lines(&engine), edge_lines(&engine), index_lines(&engine));
    let engine_gone = engine;
    let disk = disk.crash(1);
    drop(engine_gone);
    let engine = open(&disk);
    assert_eq!((vertex_lines(&engine), edge_lines(&engine), index_lines(&engine)), expected);
    let report = add_with(&engine, &[("A.csv", "id:ID\n2\n3\n")], ExistingPolicy::Skip).unwrap();
    assert_eq!((report.vertices, report.existing), (1, 1));
}

#[test]
fn layouts_may_be_named() {
    let files = Files::new(&[("Person.csv", "id:ID(Person)\n1\n")]);
    for (layout, expected) in [(Layout::Ldbc, ":Person {id: 1}"), (Layout::Headers, ":Person {id: 1}")] {
        let engine = memory();
        ingest::import(&engine, &ImportOptions { layout, ..options(files.folder()) }).unwrap();
        assert_eq!(vertex_lines(&engine), [expected]);
    }
}

/// Ids of an export are numbers of its files: nodes are found again by what is unique among them.
#[test]
fn what_an_export_wrote_is_found_again_by_what_is_unique() {
    let formats: &[ExportFormat] = &[
        ExportFormat::Csv,
        ExportFormat::Jsonl,
        #[cfg(feature = "columnar")]
        ExportFormat::Parquet,
    ];
    for format in formats {
        let engine = memory();
        add(
            &engine,
            &[("P.csv", "id:ID(P),name\n1,a\n2,b\n"), ("R.csv", ":START_ID(P),:END_ID(P),w:int\n1,2,7\n")],
        );
        let to = Files::new(&[]);
        let options = ExportOptions {
            to: to.folder().to_path_buf(),
            format: *format,
            schema: Vec::new(),
            stopped: None,
        };
        ingest::export(&engine.snapshot(), &options).unwrap();
        let before = (vertex_lines(&engine), edge_lines(&engine));
        let again =
            |existing| ingest::import(&engine, &ImportOptions { existing, ..self::options(to.folder()) });
        let error = again(ExistingPolicy::Fail).unwrap_err();
        assert_eq!(error.code(), "Neo.ClientError.Import.Exists", "{format:?} {error}");
        for policy in [ExistingPolicy::Skip, ExistingPolicy::Merge] {
            let report = again(policy).unwrap();
            let counts = (report.vertices, report.edges, report.existing, report.rejected);
            assert_eq!(counts, (0, 0, 3, 0), "{format:?} {policy:?}");
        }
        assert_eq!((vertex_lines(&engine), edge_lines(&engine)), before, "{format:?}");
        // What was deleted comes back, and what was changed is set by a merge alone.
        let names = engine.store().names();
        let name = names.intern_key("name").unwrap();
        let transaction = engine.begin(Mode::Write);
        transaction.set_property(model::VertexId::from_dense(0), name, Value::string("other")).unwrap();
        transaction.delete_vertex(model::VertexId::from_dense(1), true).unwrap();
        transaction.commit().unwrap();
        let report = again(ExistingPolicy::Skip).unwrap();
        assert_eq!((report.vertices, report.edges, report.existing), (1, 1, 1), "{format:?}");
        again(ExistingPolicy::Merge).unwrap();
        assert_eq!((vertex_lines(&engine), edge_lines(&engine)), before, "{format:?}");
    }
}
