//! CSV with Neo4j-style headers.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_ingest as ingest;

use crate::common;

use common::{Files, edge_lines, import, index_lines, memory, options, rejected, vertex_lines};
use ingest::{ImportOptions, Layout};

#[test]
fn labels_types_and_typed_columns() {
    let (engine, report) = import(&[
        (
            "movies.csv",
            "id:ID(Movie),title,year:int,rating:double,seen:boolean,tags:string[],out:date,:LABEL,junk:IGNORE\n\
             tt1,\"The \"\"Matrix\"\", again\",1999,8.5,true,a;b,1999-03-31,Movie;Sequel,x\n\
             tt2,\"Two\nlines\",,,,,,Movie,\n",
        ),
        ("people.csv", "personId:ID(Person),name\nkeanu,Keanu\nlaurence,\"\"\n"),
        (
            "roles.csv",
            ":START_ID(Person),role,:END_ID(Movie),:TYPE\nkeanu,Neo,tt1,ACTED_IN\nlaurence,,tt2,SAW\n",
        ),
        ("LIKES.csv", ":START_ID(Person);:END_ID(Person);weight:float\nkeanu;laurence;0.5\n"),
    ]);
    assert_eq!(rejected(&report), [""; 0]);
    assert_eq!(
        vertex_lines(&engine),
        [
            r#":Movie {id: "tt2", title: "Two\nlines"}"#,
            r#":Movie:Sequel {id: "tt1", out: 1999-03-31, rating: 8.5, seen: true, tags: ["a", "b"], title: "The \"Matrix\", again", year: 1999}"#,
            r#":people {name: "", personId: "laurence"}"#,
            r#":people {name: "Keanu", personId: "keanu"}"#,
        ]
    );
    assert_eq!(
        edge_lines(&engine),
        [
            r#":people {name: "", personId: "laurence"} -[:SAW]-> "tt2""#,
            r#":people {name: "Keanu", personId: "keanu"} -[:ACTED_IN {role: "Neo"}]-> "tt1""#,
            r#":people {name: "Keanu", personId: "keanu"} -[:LIKES {weight: 0.5}]-> :people {name: "", personId: "laurence"}"#,
        ]
    );
    assert_eq!(index_lines(&engine), ["unique Movie.id", "unique Sequel.id", "unique people.personId"]);
    assert_eq!(report.by_label, [("Movie".into(), 1), ("Movie:Sequel".into(), 1), ("people".into(), 2)]);
    assert_eq!(report.by_type, [("ACTED_IN".into(), 1), ("LIKES".into(), 1), ("SAW".into(), 1)]);
}

#[test]
fn ids_are_integers_where_all_are_and_text_otherwise() {
    let (engine, _) = import(&[("A.csv", "id:ID(A)\n1\n2\n"), ("B.csv", "id:ID(B)\n1\n02\n")]);
    assert_eq!(vertex_lines(&engine), [":A {id: 1}", ":A {id: 2}", r#":B {id: "02"}"#, r#":B {id: "1"}"#]);
    let (engine, _) = import(&[("A.csv", "id:ID(A){id-type:string}\n1\n")]);
    assert_eq!(vertex_lines(&engine), [r#":A {id: "1"}"#]);
    let (_, report) = import(&[("A.csv", "id:ID(A){id-type:long}\n1\nx\n")]);
    assert_eq!(rejected(&report), ["A.csv:3: column `id`: id `x` is no integer"]);
}

#[test]
fn headers_may_lie_in_files_of_their_own() {
    let (engine, report) = import(&[
        ("Person_header.csv", "id:ID|name\n"),
        ("Person_1.csv", "1|Ada\n"),
        ("Person_2.csv", "2|Bob\n"),
        ("KNOWS-header.csv", ":START_ID|:END_ID\n"),
        ("KNOWS-part-1.csv", "1|2\n2|1\n"),
        ("notes.txt", "nothing of interest\n"),
    ]);
    assert_eq!(rejected(&report), [""; 0]);
    assert_eq!(vertex_lines(&engine), [r#":Person {id: 1, name: "Ada"}"#, r#":Person {id: 2, name: "Bob"}"#]);
    assert_eq!(edge_lines(&engine), ["1 -[:KNOWS]-> 2", "2 -[:KNOWS]-> 1"]);
    assert_eq!(report.skipped.len(), 1);
}

#[test]
fn neptune_files_are_read() {
    let (engine, report) = import(&[
        ("nodes.csv", "~id,~label,code:string,runways:int\n1,airport,ATL,5\n2,country,,\n"),
        ("edges.csv", "~id,~from,~to,~label,dist:int\n9,2,1,contains,7\n"),
    ]);
    assert_eq!(rejected(&report), [""; 0]);
    assert_eq!(vertex_lines(&engine), [r#":airport {code: "ATL", id: 1, runways: 5}"#, ":country {id: 2}"]);
    assert_eq!(edge_lines(&engine), ["2 -[:contains {dist: 7}]-> 1"]);
}

#[test]
fn one_file_and_vertices_without_ids() {
    let files = Files::new(&[("Thing.csv", "name,:LABEL\na,X\nb,\n")]);
    let engine = memory();
    ingest::import(&engine, &options(&files.path("Thing.csv"))).unwrap();
    assert_eq!(vertex_lines(&engine), [r#": {name: "b"}"#, r#":X {name: "a"}"#]);
    let files = Files::new(&[("Thing.csv", "id:ID^name\n1^a\n")]);
    let engine = memory();
    let options = ImportOptions { delimiter: Some(b'^'), layout: Layout::Headers, ..options(files.folder()) };
    ingest::import(&engine, &options).unwrap();
    assert_eq!(vertex_lines(&engine), [r#":Thing {id: 1, name: "a"}"#]);
}

#[test]
fn wrong_lines_are_left_out_and_reported() {
    let (engine, report) = import(&[
        (
            "P.csv",
            "id:ID,age:int,name\n1,30,a\n2,old,b\n3,4\n4,5,\"x\"y\n1,7,again\n,8,none\n5,9,\"open\n6,1,z\n",
        ),
        ("K.csv", ":START_ID,:END_ID,:TYPE\n1,6,K\n1,2,K\n6,1,\n"),
    ]);
    assert_eq!(
        rejected(&report),
        [
            "K.csv:3: no vertex has the id `2`",
            "P.csv:3: column `age`: `old` is no integer",
            "P.csv:4: 2 fields where the header has 3",
            "P.csv:5: text follows a closing quote",
            "P.csv:6: id `1` is there before",
            "P.csv:7: column `id`: the id is missing",
            "P.csv:8: a quoted field is never closed",
        ]
    );
    assert_eq!(
        vertex_lines(&engine),
        [r#":P {age: 1, id: 6, name: "z"}"#, r#":P {age: 30, id: 1, name: "a"}"#]
    );
    assert_eq!(edge_lines(&engine), ["1 -[:K]-> 6", "6 -[:K]-> 1"]);
}

#[test]
fn a_label_of_two_id_groups_is_not_unique() {
    let (engine, report) =
        import(&[("a.csv", "id:ID(A),:LABEL\n1,Thing\n"), ("b.csv", "id:ID(B),:LABEL\n1,Thing\n2,Other\n")]);
    assert_eq!((report.vertices, report.rejected), (3, 0));
    assert_eq!(index_lines(&engine), ["Thing.id", "unique Other.id"]);
}
