//! The graph procedures on the example graphs of LDBC Graphalytics, where they lie beside this project or where
//! `TANGLEWOOD_GRAPHALYTICS` says; left out with a notice elsewhere.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use tanglewood_database::{Database, MEMORY, Options, Session, Value, params};

const BESIDE: &str = "../../../shared/conformance/graphalytics";
const INSIDE: &str = "graphalytics-validation/src/main/resources/validation-graphs";

fn folder() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join(BESIDE);
    let given = std::env::var_os("TANGLEWOOD_GRAPHALYTICS").map(PathBuf::from);
    let folder = given.unwrap_or_else(beside).join(INSIDE);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("left out: the example graphs are not at {}", folder.display());
    None
}

/// Vertices and weighted edges: `NAME.v` and `NAME.e`, or one line a vertex with its neighbours.
fn graph(folder: &Path, name: &str, directed: bool) -> (Vec<i64>, Vec<(i64, i64, f64)>) {
    let read = |suffix: &str| std::fs::read_to_string(folder.join(format!("{name}{suffix}")));
    let numbers =
        |line: &str| line.split_whitespace().map(|word| word.parse::<f64>().unwrap()).collect::<Vec<_>>();
    if let (Ok(vertices), Ok(edges)) = (read(".v"), read(".e")) {
        let edge = |line: &str| {
            let words = numbers(line);
            (words[0] as i64, words[1] as i64, words.get(2).copied().unwrap_or(1.0))
        };
        return (
            vertices.lines().map(|line| numbers(line)[0] as i64).collect(),
            edges.lines().map(edge).collect(),
        );
    }
    let (mut vertices, mut edges) = (Vec::new(), Vec::new());
    for line in read("").unwrap().lines() {
        let words = numbers(line);
        vertices.push(words[0] as i64);
        // An undirected edge is listed at both of its ends.
        let ends = words[1..].iter().filter(|end| directed || words[0] <= **end);
        edges.extend(ends.map(|end| (words[0] as i64, *end as i64, 1.0)));
    }
    (vertices, edges)
}

fn loaded(vertices: &[i64], edges: &[(i64, i64, f64)]) -> Session {
    let mut session = Database::open(MEMORY, Options::default()).unwrap().session();
    let list = Value::list(vertices.iter().map(|vertex| Value::Int(*vertex)).collect());
    let mut run =
        |text: &str, list: Value| session.query(text, params! { "list" => list }).unwrap().rows().unwrap();
    run("UNWIND $list AS id CREATE (:V {id: id})", list);
    let edge = |edge: &(i64, i64, f64)| {
        Value::list(vec![Value::Int(edge.0), Value::Int(edge.1), Value::Float(edge.2)])
    };
    let list = Value::list(edges.iter().map(edge).collect());
    run("UNWIND $list AS e MATCH (a:V {id: e[0]}), (b:V {id: e[1]}) CREATE (a)-[:E {w: e[2]}]->(b)", list);
    session
}

/// Values by vertex.
fn expected(file: &Path) -> BTreeMap<i64, f64> {
    let text = std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
    let row = |line: &str| {
        let (vertex, value) = line.split_once(' ').unwrap();
        (vertex.parse().unwrap(), value.trim().parse::<f64>().unwrap())
    };
    text.lines().map(row).collect()
}

fn asked(session: &mut Session, text: &str) -> BTreeMap<i64, f64> {
    let rows =
        session.query(text, params! {}).unwrap_or_else(|error| panic!("{text}: {error}")).rows().unwrap();
    let number = |value: &Value| match value {
        Value::Int(int) => *int as f64,
        Value::Float(float) => *float,
        other => panic!("{other:?}"),
    };
    rows.iter().map(|row| (row[0].as_int().unwrap(), number(&row[1]))).collect()
}

/// Names of components are free, so each is named by its smallest vertex.
fn by_smallest(values: BTreeMap<i64, f64>) -> BTreeMap<i64, f64> {
    let mut smallest: BTreeMap<u64, i64> = BTreeMap::new();
    values.iter().for_each(|(vertex, name)| {
        smallest.entry(name.to_bits()).or_insert(*vertex);
    });
    values.into_iter().map(|(vertex, name)| (vertex, smallest[&name.to_bits()] as f64)).collect()
}

struct Case {
    input: &'static str,
    output: &'static str,
    directed: bool,
    call: &'static str,
}

const fn case(input: &'static str, output: &'static str, directed: bool, call: &'static str) -> Case {
    Case { input, output, directed, call }
}

const BFS_1: &str = "MATCH (s:V {id: 1}) CALL graph.bfs({source: s, direction: $d}) YIELD node, distance RETURN node.id, distance";
const BFS_2: &str = "MATCH (s:V {id: 2}) CALL graph.bfs({source: s, direction: $d}) YIELD node, distance RETURN node.id, distance";
const SSSP_1: &str = "MATCH (s:V {id: 1}) CALL graph.sssp({source: s, weight: 'w', direction: $d}) YIELD node, distance RETURN node.id, distance";
const SSSP_2: &str = "MATCH (s:V {id: 2}) CALL graph.sssp({source: s, weight: 'w', direction: $d}) YIELD node, distance RETURN node.id, distance";
const CDLP_2: &str = "CALL graph.cdlp({direction: $d, iterations: 2, seed: 'id'}) YIELD node, community RETURN node.id, community";
const CDLP_5: &str = "CALL graph.cdlp({direction: $d, iterations: 5, seed: 'id'}) YIELD node, community RETURN node.id, community";
const LCC: &str = "CALL graph.lcc({direction: $d}) YIELD node, coefficient RETURN node.id, coefficient";
const PAGE_RANK_2: &str =
    "CALL graph.pagerank({direction: $d, iterations: 2}) YIELD node, score RETURN node.id, score";
const PAGE_RANK_14: &str =
    "CALL graph.pagerank({direction: $d, iterations: 14}) YIELD node, score RETURN node.id, score";
const PAGE_RANK_26: &str =
    "CALL graph.pagerank({direction: $d, iterations: 26}) YIELD node, score RETURN node.id, score";
const WCC: &str = "CALL graph.wcc({direction: $d}) YIELD node, component RETURN node.id, component";

const CASES: [Case; 24] = [
    case("example/example-directed", "example/example-directed-BFS", true, BFS_1),
    case("example/example-undirected", "example/example-undirected-BFS", false, BFS_2),
    case("bfs/dir-input", "bfs/dir-output", true, BFS_1),
    case("bfs/undir-input", "bfs/undir-output", false, BFS_1),
    case("example/example-directed", "example/example-directed-SSSP", true, SSSP_1),
    case("example/example-undirected", "example/example-undirected-SSSP", false, SSSP_2),
    case("sssp/dir-input", "sssp/dir-output", true, SSSP_1),
    case("sssp/undir-input", "sssp/undir-output", false, SSSP_1),
    case("example/example-directed", "example/example-directed-CDLP", true, CDLP_2),
    case("example/example-undirected", "example/example-undirected-CDLP", false, CDLP_2),
    case("cdlp/dir-input", "cdlp/dir-output", true, CDLP_5),
    case("cdlp/undir-input", "cdlp/undir-output", false, CDLP_5),
    case("example/example-directed", "example/example-directed-LCC", true, LCC),
    case("example/example-undirected", "example/example-undirected-LCC", false, LCC),
    case("lcc/dir-input", "lcc/dir-output", true, LCC),
    case("lcc/undir-input", "lcc/undir-output", false, LCC),
    case("example/example-directed", "example/example-directed-PR", true, PAGE_RANK_2),
    case("example/example-undirected", "example/example-undirected-PR", false, PAGE_RANK_2),
    case("pr/dir-input", "pr/dir-output", true, PAGE_RANK_14),
    case("pr/undir-input", "pr/undir-output", false, PAGE_RANK_26),
    case("example/example-directed", "example/example-directed-WCC", true, WCC),
    case("example/example-undirected", "example/example-undirected-WCC", false, WCC),
    case("wcc/dir-input", "wcc/dir-output", true, WCC),
    case("wcc/undir-input", "wcc/undir-output", false, WCC),
];

#[test]
fn the_example_graphs_give_the_expected_values() {
    let Some(folder) = folder() else { return };
    let mut wrong = Vec::new();
    for Case { input, output, directed, call } in CASES {
        let (vertices, edges) = graph(&folder, input, directed);
        let mut session = loaded(&vertices, &edges);
        let text = call.replace("$d", if directed { "'out'" } else { "'both'" });
        let (mut values, mut right) = (asked(&mut session, &text), expected(&folder.join(output)));
        if call == WCC {
            (values, right) = (by_smallest(values), by_smallest(right));
        }
        // What cannot be reached has no row; the suite says infinity, or the largest whole number.
        right.retain(|_, value| *value < 9e18);
        let near = |a: &f64, b: &f64| (a - b).abs() <= 1e-4 * b.abs().max(1e-9);
        let same = values.len() == right.len()
            && values.iter().zip(&right).all(|(a, b)| a.0 == b.0 && near(a.1, b.1));
        if !same {
            wrong.push(format!("{input} {call}\n  gives {values:?}\n  for   {right:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn wrong_calls_say_what_is_right() {
    let mut session = loaded(&[1, 2], &[(1, 2, 1.0)]);
    let mut message = |text: &str| {
        session.query(text, params! {}).and_then(|result| result.rows()).unwrap_err().to_string()
    };
    assert!(
        message("CALL graph.wcc({speed: 3}) YIELD node RETURN node")
            .contains("known: types, direction, label")
    );
    assert!(message("CALL graph.bfs({}) YIELD node RETURN node").contains("`source` is the node"));
    assert!(
        message("CALL graph.wcc({types: 'X'}) YIELD node RETURN node").contains("no relationship type `X`")
    );
    assert!(message("CALL graph.pagerank({damping: 2}) YIELD node RETURN node").contains("from 0 to 1"));
    let negative = "MATCH ()-[e:E]->() SET e.w = -1 WITH count(*) AS c MATCH (s:V {id: 1}) \
                    CALL graph.sssp({source: s, weight: 'w'}) YIELD node RETURN node";
    assert!(message(negative).contains("has the weight -1"));
}

#[test]
fn a_label_narrows_the_graph() {
    let mut session = loaded(&[1, 2, 3, 4], &[(1, 2, 1.0), (2, 3, 1.0), (3, 4, 1.0)]);
    session.query("MATCH (v:V) WHERE v.id <> 2 SET v:Part", params! {}).unwrap().rows().unwrap();
    let text = "CALL graph.wcc({label: 'Part'}) YIELD node, component RETURN node.id, component";
    let parts = by_smallest(asked(&mut session, text));
    assert_eq!(parts.into_iter().collect::<Vec<_>>(), [(1, 1.0), (3, 3.0), (4, 3.0)]);
}
