//! Bare edge lists.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_ingest as ingest;

use crate::common;

use common::{Files, edge_lines, import, index_lines, memory, options, rejected, vertex_lines};
use ingest::ImportOptions;
use std::collections::BTreeSet;
use world::chance::Chance;

#[test]
fn a_snap_file_is_imported() {
    let (engine, report) =
        import(&[("graph.txt", "# Nodes: 3\n# FromNodeId\tToNodeId\n30\t10\n10\t20\r\n10\t10\n")]);
    assert_eq!(rejected(&report), [""; 0]);
    assert_eq!(vertex_lines(&engine), [":Node {id: 10}", ":Node {id: 20}", ":Node {id: 30}"]);
    assert_eq!(edge_lines(&engine), ["10 -[:EDGE]-> 10", "10 -[:EDGE]-> 20", "30 -[:EDGE]-> 10"]);
    assert_eq!(index_lines(&engine), ["unique Node.id"]);
}

#[test]
fn weights_times_names_and_vertices() {
    let (engine, report) = import(&[
        ("edges.csv", "610,977,1,1307526243.273450\n610,937,-2,1307544707\n"),
        ("nodes.csv", "610\n1\n977\n"),
        ("named.tsv", "a\tb\tsince\n-5\t99999999999\t3\n"),
        ("README.md", "A graph.\n"),
    ]);
    assert_eq!(rejected(&report), [""; 0]);
    assert_eq!(report.skipped.len(), 1);
    assert_eq!(
        edge_lines(&engine),
        [
            "-5 -[:EDGE {since: 3}]-> 99999999999",
            "610 -[:EDGE {timestamp: 1307526243.27345, weight: 1}]-> 977",
            "610 -[:EDGE {timestamp: 1307544707.0, weight: -2}]-> 937",
        ]
    );
    assert_eq!((report.vertices, report.edges), (6, 3));
}

#[test]
fn names_are_chosen_by_options() {
    let (files, engine) = (Files::new(&[("g.txt", "1 2\n")]), memory());
    let options = ImportOptions {
        vertex_label: Some("User".into()),
        edge_type: Some("FOLLOWS".into()),
        ..options(&files.path("g.txt"))
    };
    ingest::import(&engine, &options).unwrap();
    assert_eq!(vertex_lines(&engine), [":User {id: 1}", ":User {id: 2}"]);
    assert_eq!(edge_lines(&engine), ["1 -[:FOLLOWS]-> 2"]);
}

#[test]
fn wrong_lines_are_left_out_and_reported() {
    let (_, report) =
        import(&[("g.txt", "1 2 0.5\n3\n4 x 1\n5 6 heavy\n7 8 1 2\n99999999999999999999 1 1\n\n9 1 1\n")]);
    assert_eq!(
        rejected(&report),
        [
            "g.txt:2: a second id is missing",
            "g.txt:3: `x` is no integer",
            "g.txt:4: `heavy` is no number",
            "g.txt:5: 4 fields where the first line has 3",
            "g.txt:6: `99999999999999999999` is no integer",
        ]
    );
    assert_eq!((report.vertices, report.edges, report.rejected), (3, 2, 5));
}

/// Random graphs, ids dense, sparse or huge, on any number of threads: the edges that a slow reader finds.
#[test]
fn random_graphs_come_in_whole() {
    let seed = Chance::system_seed();
    println!("seed {seed}");
    let mut chance = Chance::seeded(seed);
    for round in 0..12u64 {
        let spread = [1u64, 1, 1000, 1 << 40][chance.below(4) as usize];
        let count = if round == 0 { 120_000 } else { chance.below(3000) };
        let mut text = String::from("# seeded\n");
        let mut expected: Vec<String> = Vec::new();
        let mut ids = BTreeSet::new();
        for _ in 0..count.max(1) {
            let (from, to) = (chance.below(5000) * spread, chance.below(5000) * spread);
            ids.extend([from, to]);
            text.push_str(&format!("{from}\t{to}\n"));
            expected.push(format!("{from} -[:EDGE]-> {to}"));
        }
        expected.sort();
        let (files, engine) = (Files::new(&[("g.txt", &text)]), memory());
        let threads = Some(1 + chance.below(4) as usize);
        let report = ingest::import(&engine, &ImportOptions { threads, ..options(files.folder()) }).unwrap();
        assert_eq!(report.vertices, ids.len() as u64);
        assert!(edge_lines(&engine) == expected, "round {round}");
    }
}

/// Where memory is short, files are read twice and nothing is held: the graph is the same.
#[test]
fn little_memory_makes_no_other_graph() {
    let seed = 20_261_122;
    println!("seed {seed}");
    let mut chance = Chance::seeded(seed);
    let (mut plain, mut weighed) = (String::from("# a graph\n"), String::from("a,b,weight\n"));
    let mut ids = BTreeSet::from([1, 99_999]);
    for line in 0..40_000 {
        let (one, two) = (chance.below(9_000), chance.below(9_000));
        plain.push_str(&format!("{one}\t{two}\n"));
        // Ids that fit no 32 bits, lines that are no edges, and a fraction where the first block had none.
        let far = if line % 1000 == 7 { -5_000_000_000_i64 } else { one as i64 };
        ids.extend([one as i64, two as i64, far]);
        let weight = if line > 30_000 { format!("{two}.5") } else { two.to_string() };
        weighed.push_str(&format!("{far},{two},{weight}\n"));
        if line % 5000 == 3 {
            weighed.push_str("no edge\n");
        }
    }
    let files = Files::new(&[("plain.txt", &plain), ("weighed.csv", &weighed), ("nodes.txt", "1\n99999\n")]);
    let lines = |memory_bytes: Option<u64>| {
        let engine = memory();
        let options = ImportOptions { memory_bytes, ..options(files.folder()) };
        let report = ingest::import(&engine, &options).unwrap();
        let counts = (report.vertices, report.edges, report.rejected);
        (counts, rejected(&report), vertex_lines(&engine), edge_lines(&engine), index_lines(&engine))
    };
    let (held, twice) = (lines(None), lines(Some(1 << 16)));
    assert_eq!(held.0, (ids.len() as u64, 80_000, 8));
    assert!(held == twice);
}
