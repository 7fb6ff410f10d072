//! Ordinary CSV: by flags, by a mapping, by its columns alone.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_ingest as ingest;

use crate::common;

use common::{
    Files, edge_lines, import, index_lines, mapped, memory, options, refused, rejected, vertex_lines,
};
use ingest::{ExistingPolicy, ImportError, ImportOptions, Layout, Mapping};
use transact::Engine;

const PEOPLE: &str = "id,name,age\n1,Ada,36\n2,\"Bob, the first\",NA\n";
const FRIENDS: &str = "from,to,since\n1,2,1833\n2,2,1900\n1,2,1833\n";

fn people() -> (Files, ImportOptions) {
    let files = Files::new(&[("people.csv", PEOPLE), ("friends.csv", FRIENDS)]);
    let edges = ["KNOWS=friends.csv:from:Person,to:Person"];
    let options = mapped(files.folder(), &["Person=people.csv:id"], &edges);
    (files, options)
}

#[track_caller]
fn holds_people(engine: &Engine, times: usize) {
    let vertices = [r#":Person {age: 36, id: 1, name: "Ada"}"#, r#":Person {id: 2, name: "Bob, the first"}"#];
    assert_eq!(vertex_lines(engine), vertices);
    let mut edges = vec!["1 -[:KNOWS {since: 1833}]-> 2"; 2 * times];
    edges.extend(vec!["2 -[:KNOWS {since: 1900}]-> 2"; times]);
    assert_eq!(edge_lines(engine), edges);
}

#[test]
fn flags_say_what_files_are_and_fields_what_types_are() {
    let ((_files, options), engine) = (people(), memory());
    let report = ingest::import(&engine, &options).unwrap();
    assert_eq!(rejected(&report), [""; 0]);
    holds_people(&engine, 1);
    assert_eq!(index_lines(&engine), ["unique Person.id"]);
}

#[test]
fn what_is_there_is_refused_left_or_set() {
    let ((files, options), engine) = (people(), memory());
    ingest::import(&engine, &options).unwrap();
    let error = ingest::import(&engine, &options).unwrap_err().to_string();
    assert!(error.contains("people.csv:2: the node with id `1` is in the database already"), "{error}");
    let skip = ImportOptions { existing: ExistingPolicy::Skip, ..options.clone() };
    assert_eq!(ingest::import(&engine, &skip).unwrap().existing, 5);
    holds_people(&engine, 1);
    files.add("people.csv", b"id,name,age\n1,Ada,37\n3,Cyd,\n");
    let merge = ImportOptions { existing: ExistingPolicy::Merge, ..options };
    assert_eq!(ingest::import(&engine, &merge).unwrap().vertices, 1);
    let vertices = vertex_lines(&engine);
    assert_eq!(vertices[0], r#":Person {age: 37, id: 1, name: "Ada"}"#);
    assert_eq!(vertices[2], r#":Person {id: 3, name: "Cyd"}"#);
}

#[test]
fn relationships_lead_to_nodes_of_the_database_if_their_ids_are_unique() {
    let ((files, options), engine) = (people(), memory());
    ingest::import(&engine, &options).unwrap();
    let more = mapped(files.folder(), &[], &["LIKES=friends.csv:from:Person,to:Person"]);
    assert_eq!(ingest::import(&engine, &more).unwrap().edges, 3);
    let typo = mapped(files.folder(), &[], &["LIKES=friends.csv:from:Person,to:Persn"]);
    let error = ingest::import(&engine, &typo).unwrap_err();
    assert!(error.to_string().contains("lead to nodes :Persn"), "{error}");
    assert_eq!(error.code(), "Neo.ClientError.Import.WrongMapping");
}

#[test]
fn ids_are_numbers_or_texts_and_several_files_share_a_label() {
    let files = Files::new(&[
        ("parts/a.csv", "key;name\na;Ada\n7;Bob\n"),
        ("parts/b.csv", "key;name\n007;Cyd\n"),
        ("links.tsv", "x\ty\na\t007\n7\ta\n"),
    ]);
    let engine = memory();
    let edges = ["OF=links.tsv:x:Part,y:Thing"];
    ingest::import(&engine, &mapped(files.folder(), &["Thing:Part=parts:key"], &edges)).unwrap();
    assert_eq!(
        vertex_lines(&engine),
        [
            r#":Part:Thing {key: "007", name: "Cyd"}"#,
            r#":Part:Thing {key: "7", name: "Bob"}"#,
            r#":Part:Thing {key: "a", name: "Ada"}"#,
        ]
    );
    assert_eq!(edge_lines(&engine).len(), 2);
}

#[test]
fn a_dry_run_reads_all_and_changes_nothing() {
    let ((files, options), engine) = (people(), memory());
    files.add("friends.csv", b"from,to\n1,2\n1,9\n");
    let report = ingest::import(&engine, &ImportOptions { dry_run: true, ..options }).unwrap();
    assert_eq!((report.vertices, report.edges, report.rejected), (2, 1, 1));
    assert_eq!(rejected(&report), ["friends.csv:3: column `to`: no vertex has the id `9`"]);
    let snapshot = engine.snapshot();
    assert_eq!((snapshot.commit_version(), snapshot.statistics().vertices()), (0, 0));
}

#[test]
fn wrong_fields_are_told_by_file_line_and_column() {
    let files = Files::new(&[("people.csv", "id,born\n1,2024-01-01\n2,soon\n,2024-01-01\n3\n1,\n")]);
    files.add(
        "m.toml",
        b"[[nodes]]\nfile = 'people.csv'\nlabel = 'Person'\nid = 'id'\ncolumns = { born = { type = 'date' } }\n",
    );
    let options =
        ImportOptions { mapping: Mapping::read(&files.path("m.toml"), None).unwrap(), ..Default::default() };
    let engine = memory();
    let report = ingest::import(&engine, &ImportOptions { threads: Some(1), ..options.clone() }).unwrap();
    assert_eq!(
        rejected(&report),
        [
            "people.csv:3: column `born`: `soon` is no date",
            "people.csv:4: column `id`: the id is missing",
            "people.csv:5: 1 fields where the header has 2",
            "people.csv:6: id `1` is there before",
        ]
    );
    let engine = memory();
    let error = ingest::import(&engine, &ImportOptions { strict: true, ..options }).unwrap_err();
    assert!(matches!(error, ImportError::Rejected(_)), "{error}");
    assert_eq!(engine.snapshot().commit_version(), 0);
}

#[test]
fn a_mapping_names_types_and_leaves_out() {
    let files = Files::new(&[("p.txt", "1|x;y|secret|3\n2||a|4\n")]);
    files.add(
        "m.toml",
        b"[[nodes]]\nfile = 'p.txt'\nlabels = ['A', 'B']\nid = 'column1'\nread = { header = false, delimiter = '|' }\n\
          [nodes.columns]\ncolumn2 = { property = 'tags', type = 'string[]' }\ncolumn3 = false\ncolumn4 = 'size'\n",
    );
    let engine = memory();
    let mapping = Mapping::read(&files.path("m.toml"), None).unwrap();
    ingest::import(&engine, &ImportOptions { mapping, ..Default::default() }).unwrap();
    assert_eq!(
        vertex_lines(&engine),
        [r#":A:B {column1: 1, size: 3, tags: ["x", "y"]}"#, ":A:B {column1: 2, size: 4}"]
    );
}

#[test]
fn other_encodings_are_read() {
    let files = Files::new(&[]);
    let text = "id,name\n1,Zoë\n";
    let utf16: Vec<u8> =
        std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    files.add("a.csv", &utf16);
    files.add("b.csv", b"id,name\n2,Zo\xeb\n");
    files.add("c.csv", "\u{feff}id,name\n3,Zoë\n".as_bytes());
    let engine = memory();
    let nodes = ["P=a.csv:id", "P=b.csv:id", "P=c.csv:id"];
    ingest::import(&engine, &mapped(files.folder(), &nodes, &[])).unwrap();
    let expected = [1, 2, 3].map(|id| format!(r#":P {{id: {id}, name: "Zoë"}}"#));
    assert_eq!(vertex_lines(&engine), expected);
}

#[test]
fn columns_tell_nodes_from_relationships() {
    let (engine, report) = import(&[
        ("people.csv", "person_id,name\n1,Ada\n2,Bob\n"),
        ("cities.csv", "id,name\n1,Lyon\n2,Bern\n"),
        ("lives_in.csv", "person_id,city_id,since\n1,2,2001\n"),
        ("notes.txt", "nothing of interest\n"),
    ]);
    assert_eq!(rejected(&report), [""; 0]);
    assert_eq!(report.by_label, [("Cities".into(), 2), ("People".into(), 2)]);
    assert_eq!(report.by_type, [("LIVES_IN".into(), 1)]);
    assert_eq!(
        edge_lines(&engine),
        [r#":People {name: "Ada", person_id: 1} -[:LIVES_IN {since: 2001}]-> 2"#]
    );
    assert_eq!(report.skipped.len(), 1);
}

#[test]
fn what_is_not_clear_is_refused() {
    let error = refused(
        &[
            ("people.csv", "id,name\n1,Ada\n"),
            ("cities.csv", "id,name\n1,Lyon\n"),
            ("links.csv", "from,to\n1,1\n"),
        ],
        Layout::Auto,
        false,
    );
    assert!(error.to_string().contains("it is not clear which nodes the column `from` means"), "{error}");
    assert!(error.hint().unwrap().contains("--edges KNOWS=friends.csv:from:Person,to:Person"));
}

#[test]
fn lists_of_relationships_have_texts_for_ends() {
    let files = Files::new(&[("e.txt", "# who knows whom\nann\tbob\t3\nbob\tcyd\t4\nann\tann\t5\n")]);
    let engine = memory();
    let report = ingest::import(&engine, &options(&files.path("e.txt"))).unwrap();
    assert_eq!((report.vertices, report.edges, report.rejected), (3, 3, 0));
    assert_eq!(edge_lines(&engine)[0], r#""ann" -[:EDGE {weight: 3}]-> "bob""#);
    // A loop on the first line is no header, and what blanks separate is a list only where that is said.
    let loops = Files::new(&[("e.txt", "ann ann\nann bob\n")]);
    let asked = ImportOptions { layout: Layout::Edges, ..options(&loops.path("e.txt")) };
    assert_eq!(ingest::import(&memory(), &asked).unwrap().edges, 2);
    assert!(ingest::import(&memory(), &options(&loops.path("e.txt"))).is_err());
    // Nodes of such lists are no rows of their own: they may be there.
    let more = Files::new(&[("e.csv", "from,to\ndan,ann\n")]);
    let report = ingest::import(&engine, &options(&more.path("e.csv"))).unwrap();
    assert_eq!((report.vertices, report.edges), (1, 1));
}

/// Pairs of names that say that a file holds relationships, in any case; and the column of ids, by its own name or by that of the file.
#[test]
fn names_of_columns_are_known() {
    let pairs = [
        ("from", "to"),
        ("source", "target"),
        ("src", "dst"),
        ("src", "dest"),
        ("start", "end"),
        ("head", "tail"),
        ("from_id", "to_id"),
        ("fromid", "toid"),
        ("source_id", "target_id"),
        ("sourceid", "targetid"),
        ("src_id", "dst_id"),
        ("start_id", "end_id"),
        ("startid", "endid"),
        ("from_node", "to_node"),
        ("fromnodeid", "tonodeid"),
        ("follower", "followee"),
        ("From", "TO"),
    ];
    let ids = [
        "id",
        "_id",
        "uid",
        "uuid",
        "key",
        "nodeid",
        "thing_id",
        "thingid",
        "thing_key",
        "things_uuid",
        "ID",
    ];
    for (at, (from, to)) in pairs.into_iter().enumerate() {
        let (id, links) = (ids[at % ids.len()], format!("weight,{to},{from}\n5,b,a\n6,c,a\n"));
        let things = format!("name,{id}\nAda,a\nBob,b\nCyd,c\n");
        let (engine, report) = import(&[("things.csv", &things), ("links.csv", &links)]);
        assert_eq!((report.vertices, report.edges, report.rejected), (3, 2, 0), "{id}, {from}, {to}");
        assert_eq!(report.by_label, [("Things".into(), 3)]);
        let first = &edge_lines(&engine)[0];
        assert!(first.contains("LINKS {weight: 5}"), "{first}");
        assert!(first.find("\"a\"").unwrap() < first.find("\"b\"").unwrap(), "{first}");
    }
}

/// All ids are the same, so only the name of a column says which nodes it means: the file's, in the singular or with a number behind it.
#[test]
fn columns_are_named_after_files() {
    let cases = [
        ("cities", "city", "Cities"),
        ("boxes", "box", "Boxes"),
        ("people", "person", "People"),
        ("people", "people", "People"),
        ("dogs", "dog", "Dogs"),
        ("houses", "house", "Houses"),
        ("sheep", "sheep", "Sheep"),
        ("red-hats", "red-hat", "RedHats"),
    ];
    for (file, named, label) in cases {
        for (first, second) in [
            (format!("{named}_id"), "other_id".to_string()),
            (format!("{named}id"), "otherid".into()),
            (format!("{named}_key"), "other_key".into()),
            (format!("{named}1_id"), "other_2_id".into()),
        ] {
            let others: [(&str, &str); 2] =
                [("others.csv", "id,name\n1,One\n"), ("third.csv", "id,name\n1,Three\n")];
            let (file, links) = (format!("{file}.csv"), format!("{first},{second}\n1,1\n"));
            let nodes = (&*file, "id,name\n1,Named\n");
            let (engine, report) = import(&[others[0], others[1], nodes, ("links.csv", &links)]);
            assert_eq!((report.vertices, report.edges, report.rejected), (3, 1, 0), "{first},{second}");
            let snapshot = engine.snapshot();
            let catalog = snapshot.catalog();
            assert!(catalog.label(label).is_some(), "{label} in {:?}", report.by_label);
            let mut ends = Vec::new();
            for chunk in snapshot.scan_chunks(&store::LabelFilter::Any) {
                snapshot.scan_chunk(chunk, &store::LabelFilter::Any, &mut ends).unwrap();
            }
            let kind = catalog.edge_type("LINKS").unwrap();
            let name = catalog.key("name").unwrap();
            let (view, mut scratch) =
                (snapshot.adjacency(&[kind], model::Direction::Out), store::EdgeScratch::default());
            let mut found = Vec::new();
            for end in &ends {
                let (targets, _) = view.edges(end.dense(), &mut scratch).unwrap();
                let target = |at: &u32| snapshot.property(model::VertexId::from_dense(*at), name).unwrap();
                found.extend(targets.iter().map(|at| {
                    (common::show(&snapshot.property(*end, name).unwrap()), common::show(&target(at)))
                }));
            }
            assert_eq!(found, [("\"Named\"".to_string(), "\"One\"".to_string())], "{first},{second}");
        }
    }
}

/// An end whose column says nothing leads to the nodes that hold most of its ids; where two hold as many, or none any, it is refused.
#[test]
fn ends_lead_to_the_nodes_that_hold_their_ids() {
    let mut chance = world::chance::Chance::seeded(28);
    let mut refusals = 0;
    for round in 0..60 {
        let ids = |first: u64, count: u64| -> Vec<u64> { (first..first + count).collect() };
        let held = [ids(chance.below(6), 4), ids(chance.below(6), 4)];
        let wanted = ids(chance.below(8), 1 + chance.below(4));
        let count = |of: usize| wanted.iter().filter(|id| held[of].contains(id)).count();
        let rows = |ids: &[u64]| ids.iter().map(|id| format!("{id},n\n")).collect::<String>();
        let (reds, blues) = (format!("id,name\n{}", rows(&held[0])), format!("id,name\n{}", rows(&held[1])));
        let ends: String = wanted.iter().map(|id| format!("{id},{id}\n")).collect();
        let links = format!("from,to\n{ends}");
        let all = [("reds.csv", &*reds), ("blues.csv", &*blues), ("links.csv", &*links)];
        let most = count(0).max(count(1));
        if count(0) == count(1) {
            refusals += 1;
            let error = refused(&all, Layout::Auto, false).to_string();
            let what = "it is not clear which nodes the column `from` means: :Blues or :Reds";
            assert!(error.contains(what), "round {round}: {error}");
        } else {
            let (_, report) = import(&all);
            assert_eq!(report.edges, most as u64, "round {round}");
            assert_eq!(report.rejected as usize, wanted.len() - most, "round {round}");
        }
    }
    assert!(refusals > 5 && refusals < 55, "{refusals}");
}
