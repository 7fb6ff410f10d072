//! The questions: our wording, that of the peers, and the answer by plain arrays.

use super::graph::{Edge, Graph, city, name};
use super::same;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, HashSet};

/// The expected answer.
pub enum Right {
    /// These rows; engines may give them in another order unless the question orders them.
    Rows(Vec<Vec<Json>>),
    /// As many floats, in order, from the first to the last.
    Sorted(Vec<Vec<Json>>),
}

pub struct Question {
    pub name: &'static str,
    pub cypher: &'static str,
    /// For DuckDB; Kuzu gets the Cypher text.
    pub sql: &'static str,
    pub right: Right,
}

impl Right {
    /// Is this the answer?
    pub fn check(&self, found: &[Vec<Json>]) -> Result<(), String> {
        let (Right::Rows(right) | Right::Sorted(right)) = self;
        let by_text = |row: &Vec<Json>| row.first().map_or(String::new(), Json::to_string);
        let mut found = found.to_vec();
        let mut right = right.clone();
        found.sort_by_cached_key(by_text);
        right.sort_by_cached_key(by_text);
        if same(&found, &right) {
            return Ok(());
        }
        let first = |rows: &[Vec<Json>]| format!("{} rows, first {:?}", rows.len(), rows.first());
        Err(format!("wrong answer: {}; right is {}", first(&found), first(&right)))
    }
}

impl Question {
    /// For the scripts of the peers.
    pub fn to_json(&self, rounds: usize) -> Json {
        let sorted = matches!(self.right, Right::Sorted(_));
        json!({"name": self.name, "cypher": self.cypher, "sql": self.sql, "sorted": sorted, "rounds": rounds})
    }
}

/// Count and sum per key.
fn grouped<K: Ord>(rows: impl Iterator<Item = (K, f64)>) -> BTreeMap<K, (i64, f64)> {
    let mut groups = BTreeMap::new();
    for (key, value) in rows {
        let (count, sum) = groups.entry(key).or_insert((0, 0.0));
        *count += 1;
        *sum += value;
    }
    groups
}

fn counts(graph: &Graph) -> Vec<Question> {
    let (people, knows) = (graph.ages.len(), graph.knows.len());
    vec![
        Question {
            name: "count vertices",
            cypher: "MATCH (p) RETURN count(p)",
            sql: "SELECT count(*) FROM person",
            right: Right::Rows(vec![vec![json!(people)]]),
        },
        Question {
            name: "count edges",
            cypher: "MATCH ()-[r:KNOWS]->() RETURN count(r)",
            sql: "SELECT count(*) FROM knows",
            right: Right::Rows(vec![vec![json!(knows)]]),
        },
    ]
}

fn groups(graph: &Graph) -> Vec<Question> {
    let people = 0..graph.ages.len();
    let by_age = grouped(people.clone().map(|at| (graph.ages[at], graph.scores[at])));
    let young = people.clone().filter(|at| graph.ages[*at] > 30 && graph.scores[*at] < 0.5);
    let by_city = grouped(young.map(|at| (graph.cities[at], 0.0)));
    let income = grouped(people.clone().map(|at| (graph.cities[at], graph.incomes[at] as f64)));
    let extremes = people.map(|at| (graph.cities[at], graph.scores[at])).fold(
        BTreeMap::<u16, (f64, f64)>::new(),
        |mut held, (city, score)| {
            let (low, high) = held.entry(city).or_insert((score, score));
            (*low, *high) = (low.min(score), high.max(score));
            held
        },
    );
    vec![
        Question {
            name: "group by an integer",
            cypher: "MATCH (p:Person) RETURN p.age AS k, count(*) AS c, avg(p.score) AS a",
            sql: "SELECT age, count(*), avg(score) FROM person GROUP BY age",
            right: Right::Rows(
                by_age
                    .iter()
                    .map(|(age, (count, sum))| vec![json!(age), json!(count), json!(sum / *count as f64)])
                    .collect(),
            ),
        },
        Question {
            name: "filter and group by a string",
            cypher: "MATCH (p:Person) WHERE p.age > 30 AND p.score < 0.5 RETURN p.city AS k, count(*) AS c",
            sql: "SELECT city, count(*) FROM person WHERE age > 30 AND score < 0.5 GROUP BY city",
            right: Right::Rows(
                by_city.iter().map(|(at, (count, _))| vec![json!(city(*at)), json!(count)]).collect(),
            ),
        },
        Question {
            name: "sum by a string",
            cypher: "MATCH (p:Person) RETURN p.city AS k, sum(p.income) AS s",
            sql: "SELECT city, sum(income)::BIGINT FROM person GROUP BY city",
            right: Right::Rows(
                income.iter().map(|(at, (_, sum))| vec![json!(city(*at)), json!(*sum as i64)]).collect(),
            ),
        },
        Question {
            name: "min and max by a string",
            cypher: "MATCH (p:Person) RETURN p.city AS k, min(p.score) AS a, max(p.score) AS b",
            sql: "SELECT city, min(score), max(score) FROM person GROUP BY city",
            right: Right::Rows(
                extremes
                    .iter()
                    .map(|(at, (low, high))| vec![json!(city(*at)), json!(low), json!(high)])
                    .collect(),
            ),
        },
    ]
}

fn strings(graph: &Graph) -> Vec<Question> {
    let names: HashSet<u32> = graph.names.iter().copied().collect();
    vec![
        Question {
            name: "distinct strings",
            cypher: "MATCH (p:Person) RETURN count(DISTINCT p.name) AS c",
            sql: "SELECT count(DISTINCT name) FROM person",
            right: Right::Rows(vec![vec![json!(names.len())]]),
        },
        Question {
            name: "filter by a string",
            cypher: "MATCH (p:Person) WHERE p.name STARTS WITH 'name of number 12' AND p.city <> 'city 3' RETURN count(*) AS c",
            sql: "SELECT count(*) FROM person WHERE name LIKE 'name of number 12%' AND city <> 'city 3'",
            right: Right::Rows(vec![vec![json!(
                (0..graph.ages.len())
                    .filter(|at| name(graph.names[*at]).starts_with("name of number 12")
                        && graph.cities[*at] != 3)
                    .count()
            )]]),
        },
    ]
}

fn orders(graph: &Graph) -> Vec<Question> {
    let mut by_score: Vec<usize> = (0..graph.ages.len()).collect();
    by_score.sort_by(|a, b| graph.scores[*b].total_cmp(&graph.scores[*a]));
    let mut sorted = graph.scores.clone();
    sorted.sort_by(f64::total_cmp);
    vec![
        Question {
            name: "top 10",
            cypher: "MATCH (p:Person) RETURN p.id AS i, p.score AS s ORDER BY p.score DESC LIMIT 10",
            sql: "SELECT id, score FROM person ORDER BY score DESC LIMIT 10",
            right: Right::Rows(
                by_score[..10].iter().map(|at| vec![json!(at), json!(graph.scores[*at])]).collect(),
            ),
        },
        Question {
            name: "sort all",
            cypher: "MATCH (p:Person) RETURN p.score AS s ORDER BY p.score",
            sql: "SELECT score FROM person ORDER BY score",
            right: Right::Sorted(vec![vec![
                json!(sorted.len()),
                json!(true),
                json!(sorted.first()),
                json!(sorted.last()),
            ]]),
        },
    ]
}

fn edges(graph: &Graph) -> Vec<Question> {
    let by_year = grouped(graph.knows.iter().map(|edge| (edge.year, edge.weight)));
    let mut degrees: Vec<(i64, usize)> = (0..graph.ages.len()).map(|at| (0, at)).collect();
    graph.knows.iter().for_each(|edge| degrees[edge.source as usize].0 += 1);
    degrees.sort_by_key(|(degree, at)| (-degree, *at));
    vec![
        Question {
            name: "sum of an edge property",
            cypher: "MATCH ()-[k:KNOWS]->() RETURN k.year AS y, sum(k.weight) AS s",
            sql: "SELECT year, sum(weight) FROM knows GROUP BY year",
            right: Right::Rows(
                by_year.iter().map(|(year, (_, sum))| vec![json!(year), json!(sum)]).collect(),
            ),
        },
        Question {
            name: "degree top 5",
            cypher: "MATCH (p:Person)-[:KNOWS]->() RETURN p.id AS i, count(*) AS d ORDER BY d DESC, i LIMIT 5",
            sql: "SELECT from_id, count(*) AS d FROM knows GROUP BY from_id ORDER BY d DESC, from_id LIMIT 5",
            right: Right::Rows(
                degrees[..5].iter().map(|(degree, at)| vec![json!(at), json!(degree)]).collect(),
            ),
        },
    ]
}

fn joins(graph: &Graph) -> Vec<Question> {
    let mut sums = vec![(0i64, 0.0); graph.ages.len()];
    for edge in &graph.knows {
        let (count, sum) = &mut sums[edge.source as usize];
        *count += 1;
        *sum += graph.scores[edge.target as usize];
    }
    let met: Vec<f64> =
        sums.iter().filter(|(count, _)| *count > 0).map(|(count, sum)| sum / *count as f64).collect();
    let is_met =
        |edge: &&Edge| graph.ages[edge.source as usize] < 20 && graph.ages[edge.target as usize] > 70;
    let by_city =
        grouped(graph.knows.iter().filter(is_met).map(|edge| (graph.cities[edge.source as usize], 0.0)));
    vec![
        Question {
            name: "join with filter and group",
            cypher: "MATCH (a:Person)-[:KNOWS]->(b:Person) WHERE a.age < 20 AND b.age > 70 RETURN a.city AS k, count(*) AS c",
            sql: "SELECT a.city, count(*) FROM person a JOIN knows ON a.id = from_id JOIN person b ON b.id = to_id \
                  WHERE a.age < 20 AND b.age > 70 GROUP BY a.city",
            right: Right::Rows(
                by_city.iter().map(|(at, (count, _))| vec![json!(city(*at)), json!(count)]).collect(),
            ),
        },
        Question {
            name: "average of averages",
            cypher: "MATCH (p:Person)-[:KNOWS]->(q:Person) WITH p, avg(q.score) AS a RETURN avg(a) AS b",
            sql: "SELECT avg(a) FROM (SELECT from_id, avg(score) AS a FROM knows JOIN person ON id = to_id GROUP BY from_id)",
            right: Right::Rows(vec![vec![json!(met.iter().sum::<f64>() / met.len() as f64)]]),
        },
    ]
}

/// Walks of two and three edges that are not the same edge twice.
fn hops(graph: &Graph) -> Vec<Question> {
    let degrees = |edges: &mut dyn Iterator<Item = (u32, u32)>| {
        let mut degrees = vec![(0i64, 0i64); graph.ages.len()];
        for (source, target) in edges {
            degrees[source as usize].0 += 1;
            degrees[target as usize].1 += 1;
        }
        degrees
    };
    let knows = degrees(&mut graph.knows.iter().map(|edge| (edge.source, edge.target)));
    let loops = graph.knows.iter().filter(|edge| edge.source == edge.target).count() as i64;
    let two = knows.iter().map(|(out, into)| out * into).sum::<i64>() - loops;
    let likes = degrees(&mut graph.likes.iter().copied());
    // Of walks a, b, c: those with a = b or b = c or a = c are taken out; all three are one loop.
    let walks: i64 = graph
        .likes
        .iter()
        .map(|(source, target)| likes[*source as usize].1 * likes[*target as usize].0)
        .sum();
    let is_loop = |edge: &&(u32, u32)| edge.0 == edge.1;
    let loops: Vec<&(u32, u32)> = graph.likes.iter().filter(is_loop).collect();
    let a_b: i64 = loops.iter().map(|edge| likes[edge.1 as usize].0).sum();
    let b_c: i64 = loops.iter().map(|edge| likes[edge.0 as usize].1).sum();
    let mut pairs = std::collections::HashMap::<(u32, u32), i64>::new();
    graph.likes.iter().for_each(|edge| *pairs.entry(*edge).or_default() += 1);
    let a_c: i64 =
        graph.likes.iter().map(|(source, target)| pairs.get(&(*target, *source)).copied().unwrap_or(0)).sum();
    let three = walks - a_b - b_c - a_c + 2 * loops.len() as i64;
    vec![
        Question {
            name: "two hops",
            cypher: "MATCH ()-[:KNOWS]->()-[:KNOWS]->() RETURN count(*) AS c",
            sql: "SELECT count(*) FROM knows a JOIN knows b ON a.to_id = b.from_id WHERE a.rowid <> b.rowid",
            right: Right::Rows(vec![vec![json!(two)]]),
        },
        Question {
            name: "three hops",
            cypher: "MATCH ()-[:LIKES]->()-[:LIKES]->()-[:LIKES]->() RETURN count(*) AS c",
            sql: "SELECT count(*) FROM likes a JOIN likes b ON a.to_id = b.from_id JOIN likes c ON b.to_id = c.from_id \
                  WHERE a.rowid <> b.rowid AND b.rowid <> c.rowid AND a.rowid <> c.rowid",
            right: Right::Rows(vec![vec![json!(three)]]),
        },
    ]
}

/// All of them.
pub fn all(graph: &Graph) -> Vec<Question> {
    [counts(graph), groups(graph), strings(graph), orders(graph), edges(graph), joins(graph), hops(graph)]
        .into_iter()
        .flatten()
        .collect()
}
