//! Files in and out by the command line: the commands of a newcomer, and their effects.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod support;

use support::Place;

const FLAGS: [&str; 4] =
    ["--nodes", "Person=people.csv:id", "--edges", "KNOWS=friends.csv:from:Person,to:Person"];

fn ordinary() -> Place {
    let place = Place::new();
    place.file("people.csv", "id,name,age\n1,Ada,36\nx2,Bob,NA\n");
    place.file("friends.csv", "from,to,since\n1,x2,1833\nx2,x2,1900\n");
    place
}

fn run(place: &Place, database: &str, more: &[&str]) -> support::Ran {
    place.run(&[&["import", database], more].concat())
}

#[test]
fn ordinary_csv_is_shown_and_imported_by_flags() {
    let place = ordinary();
    let dry = run(&place, "p.db", &[&FLAGS[..], &["--dry-run"]].concat()).ok();
    assert!(dry.starts_with("people.csv: nodes :Person, 2 rows, separated by `,`, UTF-8\n"), "{dry}");
    assert!(
        dry.contains("  age   int, 1 of 2 null (`NA`)\n") && dry.contains("nothing was changed"),
        "{dry}"
    );
    assert!(!place.path().join("p.db").exists());
    let ran = run(&place, "p.db", &FLAGS);
    assert!(ran.err.starts_with("people.csv: nodes :Person"), "{}", ran.err);
    assert!(ran.ok().starts_with("vertices  2\nedges     2\n"));
    let text = "MATCH (a:Person)-[k:KNOWS]->(b) RETURN a.id AS a, a.age AS age, k.since AS since, b.id AS b ORDER BY since";
    let rows = place.run(&["query", "p.db", text, "--format", "csv"]).ok();
    assert_eq!(rows, "a,age,since,b\n1,36,1833,x2\nx2,,1900,x2\n");
}

#[test]
fn wrong_words_and_files_leave_no_database() {
    let place = ordinary();
    let wrong = |more: &[&str], code: i32, says: &[&str]| {
        let err = run(&place, "p.db", more).failed(code);
        says.iter().for_each(|part| assert!(err.contains(part), "`{part}` is missing in:\n{err}"));
        assert!(!place.path().join("p.db").exists());
    };
    wrong(&["--nodes", "Person=people.csv"], 2, &["LABEL=FILE:ID_COLUMN"]);
    wrong(&["--nodes", "Person=nowhere.csv:id"], 1, &["nowhere.csv does not exist", "hint: "]);
    wrong(&["--nodes", "Person=people.csv:ID"], 1, &["no column `ID`", "do you mean `id`?"]);
    wrong(&FLAGS[2..], 1, &["lead to nodes :Person", "hint: say it: --nodes"]);
    place.file("m.toml", "[[nodes]]\nfile = 'people.csv'\nlabel = 'P'\nid = 'id'\ncolumns = { age = { type = 'int' } }\nx = 1\n");
    wrong(&["--mapping", "m.toml"], 1, &["m.toml:6:1: unknown field `x`"]);
    place.file("people.csv", "id,name,age\n1,Ada,36\n2,Bob\n");
    wrong(&["--strict", "--nodes", "P=people.csv:id"], 1, &["people.csv:3: 2 fields where the header has 3"]);
}

#[test]
fn what_is_exported_is_imported_again() {
    let place = ordinary();
    run(&place, "p.db", &FLAGS).ok();
    let text = "MATCH (a:Person)-[k:KNOWS]->(b) RETURN labels(a), properties(a), properties(k), properties(b) ORDER BY k.since";
    let ask = |database: &str| {
        let rows = place.run(&["query", database, text, "--format", "csv"]).ok();
        assert_eq!(rows.lines().count(), 3, "{rows}");
        rows
    };
    for format in ["csv", "jsonl"] {
        let said = place.run(&["export", "p.db", "--to", format, "--format", format]).ok();
        assert!(said.starts_with("2 nodes, 2 relationships; "), "{said}");
        run(&place, &format!("{format}.db"), &["--from", format]).ok();
        assert_eq!(ask(&format!("{format}.db")), ask("p.db"));
        let err = place.run(&["export", "p.db", "--to", format]).failed(1);
        assert!(err.contains("holds something already"), "{err}");
    }
    let err = place.run(&["export", "nowhere.db", "--to", "x"]).failed(1);
    assert!(err.contains("there is no database at nowhere.db") && !place.path().join("x").exists(), "{err}");
}

/// Standard input has no name, so nothing is called after it.
#[test]
fn every_form_of_text_comes_by_standard_input() {
    let place = Place::new();
    for (number, (text, more, nodes)) in [
        ("id,name\n1,Ada\n", &[][..], ":Node {id: 1, name: Ada}"),
        ("id;name\n1;Ada\n", &["--label", "P"], ":P {id: 1, name: Ada}"),
        ("id:ID(P),name\n1,Ada\n", &[], ":P {id: 1, name: Ada}"),
        ("id:ID,name\n1,Ada\n", &[], ":Node {id: 1, name: Ada}"),
        ("1 2\n", &["--label", "P"], ":P {id: 1} :P {id: 2}"),
        ("a\tb\n", &["--type", "T"], ":Node {id: a} :Node {id: b}"),
        ("[{\"id\": 1}]", &[], ":Node {id: 1}"),
        ("{\"id\": 1}\n{\"id\": 2}\n", &[], ":Node {id: 1} :Node {id: 2}"),
        ("{\"id\": {\"0\": 1}}", &[], ":Node {id: 1}"),
        ("{\"nodes\": [{\"id\": 1}], \"links\": []}", &[], ":Node {id: 1}"),
        ("{\"type\":\"node\",\"id\":\"7\",\"labels\":[\"P\"],\"properties\":{\"x\":1}}\n", &[], ":P {x: 1}"),
        ("<graphml><graph><node id='1'/></graph></graphml>", &[], ":Node {id: 1}"),
        ("<urn:a> <urn:x> \"1\" .\n", &[], ":Resource {uri: urn:a, x: 1}"),
    ]
    .into_iter()
    .enumerate()
    {
        let database = format!("{number}.db");
        place.run_with_input(&[&["import", &database, "--from", "-"], more].concat(), text).ok();
        let query = "MATCH (n) UNWIND keys(n) AS key WITH n, key ORDER BY key WITH n, collect(key + ': ' + toString(n[key])) AS all \
             RETURN ':' + labels(n)[0] + ' {' + reduce(s = head(all), x IN tail(all) | s + ', ' + x) + '}' AS node ORDER BY node";
        let rows = place.run(&["query", &database, query, "--format", "jsonl"]).ok();
        let held: Vec<String> =
            rows.lines().map(|line| line.replace("{\"node\":\"", "").replace("\"}", "")).collect();
        assert_eq!(held.join(" "), nodes, "{text}");
    }
}
