//! Paths from many rows at once, which share one search, against the same question for one row at a time.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use tanglewood_database::{Database, MEMORY, Options, Params, Value, params};
use world::chance::Chance;

fn rows(database: &Database, text: &str, keys: &[u64]) -> Vec<String> {
    let keys = Value::list(keys.iter().map(|key| Value::Int(*key as i64)).collect());
    let result = database.session().query(text, params! { "keys" => keys }).unwrap();
    let mut rows: Vec<String> = result.rows().unwrap().iter().map(|row| format!("{row:?}")).collect();
    rows.sort_unstable();
    rows
}

#[test]
fn many_rows_find_what_each_finds_alone() {
    let seed = 20_261_122;
    let mut random = Chance::seeded(seed);
    let database = Database::open(MEMORY, Options::default()).unwrap();
    let vertices = 300;
    let mut session = database.session();
    let text = format!("UNWIND range(0, {}) AS k CREATE (:N {{k: k, even: k % 2 = 0}})", vertices - 1);
    session.query(&text, Params::new()).unwrap().rows().unwrap();
    session.query("MATCH (n:N) WHERE n.k % 5 = 1 SET n:Fifth", Params::new()).unwrap().rows().unwrap();
    let pair = |random: &mut Chance| format!("[{}, {}]", random.below(vertices), random.below(vertices / 2));
    let pairs: Vec<String> = (0..700).map(|_| pair(&mut random)).collect();
    let text = format!(
        "UNWIND [{}] AS e MATCH (a:N {{k: e[0]}}), (b:N {{k: e[1]}}) CREATE (a)-[:E]->(b)",
        pairs.join(", ")
    );
    session.query(&text, Params::new()).unwrap().rows().unwrap();
    let questions = [
        "UNWIND $keys AS key MATCH (a:N {k: key}) MATCH (a)-[:E*1..4]->(b) RETURN key, count(DISTINCT b)",
        "UNWIND $keys AS key MATCH (a:N {k: key}) MATCH (a)-[:E*0..]->(b:Fifth) WITH DISTINCT key, b RETURN key, b.k",
        "UNWIND $keys AS key MATCH (a:N {k: key}) MATCH p = ANY SHORTEST (a)-[:E]->+(b) RETURN key, b.k, length(p)",
        "UNWIND $keys AS key MATCH (a:N {k: key}) MATCH p = ANY SHORTEST (a)-[:E]-+(b:Fifth) RETURN key, b.k, length(p)",
        "UNWIND $keys AS key MATCH (a:N {k: key}) MATCH p = ANY SHORTEST (a)<-[:E]-{0,5}(b) RETURN key, b.k, length(p)",
        "UNWIND $keys AS key MATCH (a:N {k: key}) MATCH p = ANY SHORTEST (a)-[:E]->+(b) RETURN key, [n IN nodes(p) | n.k] AS ks",
        "UNWIND $keys AS key MATCH (a:N {k: key}) MATCH p = ANY SHORTEST (a)-[:E]-+(b:Fifth) RETURN key, [n IN nodes(p) | n.k] AS ks, b.k",
        "UNWIND $keys AS key MATCH (a:N {k: key}) MATCH p = ANY SHORTEST (a)<-[:E]-{0,4}(b) RETURN key, p",
    ];
    for round in 0..3 {
        let keys: Vec<u64> = (0..1 + random.below(80)).map(|_| random.below(vertices)).collect();
        let mut distinct = keys.clone();
        distinct.sort_unstable();
        distinct.dedup();
        for question in questions {
            let mut one_by_one: Vec<String> =
                distinct.iter().flat_map(|key| rows(&database, question, &[*key])).collect();
            one_by_one.sort_unstable();
            let together = rows(&database, question, &distinct);
            assert_eq!(together, one_by_one, "seed {seed} round {round}: {question}");
            for policy in ["1T1S", "nT1S", "nTkS(2)", "nTkMS(1)", "nTkMS(3)"] {
                let hinted = format!("CYPHER recursive = `{policy}` {question}");
                let together = rows(&database, &hinted, &distinct);
                assert_eq!(together, one_by_one, "seed {seed} round {round}: {hinted}");
            }
        }
    }
}

/// Paths of many sources are paths of the graph, as short as their lengths say, whoever looked for them.
#[test]
fn paths_of_many_sources_are_paths() {
    let seed = 20_261_123;
    let mut random = Chance::seeded(seed);
    let database = Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap();
    let mut session = database.session();
    let (vertices, edges) = (200_u64, 420);
    let text = format!("UNWIND range(0, {}) AS k CREATE (:N {{k: k}})", vertices - 1);
    session.query(&text, Params::new()).unwrap().rows().unwrap();
    let pairs: Vec<(i64, i64)> =
        (0..edges).map(|_| (random.below(vertices) as i64, random.below(vertices) as i64)).collect();
    let list: Vec<String> = pairs.iter().map(|(from, to)| format!("[{from}, {to}]")).collect();
    let text = format!(
        "UNWIND [{}] AS e MATCH (a:N {{k: e[0]}}), (b:N {{k: e[1]}}) CREATE (a)-[:E]->(b)",
        list.join(", ")
    );
    session.query(&text, Params::new()).unwrap().rows().unwrap();
    let keys: Vec<u64> = (0..90).collect();
    for (arrow, is_directed) in [("-[:E]->", true), ("-[:E]-", false)] {
        let question = |what: &str| {
            format!(
                "UNWIND $keys AS key MATCH (a:N {{k: key}}) MATCH p = ANY SHORTEST (a){arrow}+(b) RETURN {what}"
            )
        };
        let mut wanted: Option<Vec<[i64; 3]>> = None;
        for what in ["[n IN nodes(p) | n.k]", "[]"] {
            for policy in ["nTkMS(2)", "nTkS(2)", "1T1S"] {
                let text = question(&format!("key, b.k, length(p), {what} AS ks"));
                let keys = Value::list(keys.iter().map(|key| Value::Int(*key as i64)).collect());
                let text = format!("CYPHER recursive = `{policy}` {text}");
                let result = database.session().query(&text, params! { "keys" => keys }).unwrap();
                let mut ends = Vec::new();
                for row in result.rows().unwrap() {
                    let [key, end, length] = [0, 1, 2].map(|at: usize| row[at].as_int().unwrap());
                    ends.push([key, end, length]);
                    let Value::List(ks) = &row[3] else { panic!("{:?}", row[3]) };
                    let ks: Vec<i64> = ks.iter().map(|k| k.as_int().unwrap()).collect();
                    if ks.is_empty() {
                        continue;
                    }
                    assert_eq!((ks[0], ks[ks.len() - 1], ks.len() as i64 - 1), (key, end, length));
                    for step in ks.windows(2) {
                        let there = pairs.contains(&(step[0], step[1]));
                        let back = !is_directed && pairs.contains(&(step[1], step[0]));
                        assert!(there || back, "seed {seed}, {policy}: {ks:?}");
                    }
                }
                ends.sort_unstable();
                assert!(wanted.as_ref().is_none_or(|wanted| *wanted == ends), "seed {seed}, {text}");
                wanted = Some(ends);
            }
        }
    }
}

/// `graph.cheapestPath` against distances relaxed until nothing changes.
#[test]
fn cheapest_paths_are_paths_and_cheapest() {
    let seed = 20_261_124;
    let mut random = Chance::seeded(seed);
    let database = Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap();
    let mut session = database.session();
    let vertices = 60_u64;
    let text = format!("UNWIND range(0, {}) AS k CREATE (:N {{k: k}})", vertices - 1);
    session.query(&text, Params::new()).unwrap().rows().unwrap();
    let mut below = |bound: u64| random.below(bound) as i64;
    let edges: Vec<(i64, i64, i64)> =
        (0..150).map(|_| (below(vertices), below(vertices), below(9))).collect();
    let list: Vec<String> = edges.iter().map(|(from, to, w)| format!("[{from}, {to}, {w}]")).collect();
    let text = format!(
        "UNWIND [{}] AS e MATCH (a:N {{k: e[0]}}), (b:N {{k: e[1]}}) CREATE (a)-[:E {{w: e[2]}}]->(b)",
        list.join(", ")
    );
    session.query(&text, Params::new()).unwrap().rows().unwrap();
    let mut costs = vec![i64::MAX; vertices as usize];
    costs[3] = 0;
    for _ in 0..vertices {
        for &(from, to, weight) in
            edges.iter().filter(|edge| costs[edge.0 as usize] < i64::MAX).collect::<Vec<_>>()
        {
            costs[to as usize] = costs[to as usize].min(costs[from as usize] + weight);
        }
    }
    let call = |settings: &str, rest: &str| {
        format!(
            "MATCH (a:N {{k: 3}}) CALL graph.cheapestPath({{source: a, weight: 'w'{settings}}}) YIELD node, path, cost {rest}"
        )
    };
    let told = "RETURN node.k, cost, reduce(s = 0.0, r IN relationships(path) | s + r.w), [n IN nodes(path) | n.k][0]";
    let rows = session.query(&call("", told), Params::new()).unwrap().rows().unwrap();
    assert_eq!(rows.len(), costs.iter().filter(|cost| **cost < i64::MAX).count(), "seed {seed}");
    let float = |value: &Value| match value {
        Value::Float(float) => *float,
        other => panic!("{other:?} is no float"),
    };
    for row in &rows {
        let cost = costs[row[0].as_int().unwrap() as usize] as f64;
        assert_eq!((float(&row[1]), float(&row[2]), row[3].as_int()), (cost, cost, Some(3)), "seed {seed}");
    }
    let found: Vec<f64> = rows.iter().map(|row| float(&row[1])).collect();
    assert!(found.is_sorted(), "the cheapest come first");
    // With a target, in the other direction, with a limit.
    let text = "MATCH (a:N {k: 3}), (b:N) CALL graph.cheapestPath({source: b, target: a, weight: 'w', \
                direction: 'in'}) YIELD cost RETURN b.k, cost";
    let back = session.query(text, Params::new()).unwrap().rows().unwrap();
    assert_eq!(back.len(), rows.len());
    for row in &back {
        assert_eq!(float(&row[1]), costs[row[0].as_int().unwrap() as usize] as f64, "seed {seed}");
    }
    let few = session.query(&call("", "RETURN cost LIMIT 2"), Params::new()).unwrap().rows().unwrap();
    assert_eq!(few.iter().map(|row| float(&row[0])).collect::<Vec<_>>(), found[..2]);
    let failed = |text: &str| {
        let result = database.session().query(text, Params::new());
        result.and_then(|result| result.rows()).unwrap_err().to_string()
    };
    assert!(failed(&call(", wight: 1", "RETURN cost")).contains("there is no setting `wight`"));
    assert!(failed(&call(", target: 7", "RETURN cost")).contains("`target` is the node"));
}

/// What would hold more than the budget is refused, and told what to ask instead.
#[test]
fn paths_over_the_budget_are_refused_with_what_to_ask_instead() {
    let options = Options { executors: Some(2), query_bytes_max: 24 << 20, ..Options::default() };
    let database = Database::open(MEMORY, options).unwrap();
    let mut session = database.session();
    let text = "UNWIND range(0, 1999) AS k CREATE (:N {k: k})";
    session.query(text, Params::new()).unwrap().rows().unwrap();
    let text = "MATCH (a:N), (b:N) WHERE b.k = (a.k + 1) % 2000 CREATE (a)-[:E]->(b)";
    session.query(text, Params::new()).unwrap().rows().unwrap();
    let mut told = |text: &str| match session.query(text, Params::new()).and_then(|result| result.rows()) {
        Ok(rows) => format!("{rows:?}"),
        Err(error) => format!("{error}"),
    };
    let paths = "MATCH (a:N) WHERE a.k < 40 MATCH p = ANY SHORTEST (a)-[:E]->+(b)";
    let refused = told(&format!("{paths} RETURN size(collect(p))"));
    assert!(refused.contains("ask for length(p), count(*) or the DISTINCT ends instead"), "{refused}");
    assert!(told(&format!("{paths} RETURN sum(length(p))")).contains("80040000"), "it answers what it says");
    assert!(told(&format!("{paths} RETURN count(DISTINCT b)")).contains("2000"), "it answers what it says");
    let refused = told("MATCH p = (a:N)-[:E*]->(b) RETURN size(collect(p))");
    assert!(refused.contains("it lists every path: ask for DISTINCT ends"), "{refused}");
    let rows = told("MATCH p = (a:N)-[:E*]->(b) RETURN length(p) LIMIT 1");
    assert!(rows.contains("Int"), "{rows}");
}

#[test]
fn what_is_no_policy_is_told() {
    let database = Database::open(MEMORY, Options::default()).unwrap();
    let text = "CYPHER recursive = often MATCH (a)-[*]->(b) RETURN count(DISTINCT b)";
    let told = database.session().query(text, Params::new()).and_then(|result| result.rows()).unwrap_err();
    assert!(told.to_string().contains("`recursive` is 1T1S, nT1S"), "{told}");
}

/// EXPLAIN says which policy is expected, PROFILE which one it was, who worked and from which sides.
#[test]
fn explain_and_profile_say_how_sources_were_shared_out() {
    let database = Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap();
    let mut session = database.session();
    let text = "UNWIND range(0, 99) AS k CREATE (:N {k: k})";
    session.query(text, Params::new()).unwrap().rows().unwrap();
    let text = "MATCH (a:N), (b:N) WHERE b.k = a.k * 7 % 100 OR b.k = a.k + 1 CREATE (a)-[:E]->(b)";
    session.query(text, Params::new()).unwrap().rows().unwrap();
    let question = "MATCH (a:N) MATCH p = ANY SHORTEST (a)-[:E]->+(b) RETURN sum(length(p))";
    let mut told = |text: &str| {
        let mut result = session.query(text, Params::new()).unwrap();
        while result.next_batch().unwrap().is_some() {}
        result.summary().plan_text.clone().unwrap()
    };
    let expected = told(&format!("EXPLAIN {question}"));
    assert!(expected.contains(": nTkMS(2) for about 100 sources on 2 executors"), "{expected}");
    let expected = told(&format!("EXPLAIN CYPHER recursive = nT1S {question}"));
    assert!(expected.contains(": nT1S (as asked for) for about 100 sources"), "{expected}");
    let profiled = told(&format!("PROFILE {question}"));
    assert!(profiled.contains(": nTkMS(2), sources 100, workers "), "{profiled}");
    assert!(profiled.contains("levels from above ") && !profiled.contains("from above 0"), "{profiled}");
}
