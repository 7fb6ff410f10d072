//! Standing queries: how soon a new one answers, how soon a commit is told, and what they cost those who commit.
//!
//! Every answer is checked against plain search over the same edges. Graph, arguments and changes come from seeds.

use crate::power_law::{FIRST, Graph, Shape};
use crate::report::Report;
use crate::store::{scratch, told};
use crate::timing::{Samples, shown_ms, timed};
use database::{Database, Event, ImportOptions, Options, Params, Session, Subscription, Value, params};
use std::collections::{BTreeMap, VecDeque};
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;
use world::chance::Chance;
use world::clock::monotonic_ns;
use world::files;

/// A million vertices and ten million edges.
const LARGE: Shape =
    Shape { vertices: 1_000_000, edges: 10_000_000, exponent: 2.3, rank_shift: 10.0, seed: 42 };
const SEED: u64 = 23;
/// The classes of queries: name, text, what is bound.
const CLASSES: [(&str, &str); 4] = [
    ("look-up", "MATCH (a:N {id: $s}) RETURN a.id AS a, a.touched AS t"),
    ("one hop", "MATCH (a:N {id: $s})-[:E]->(b) RETURN b.id AS b"),
    ("two hops", "MATCH (a:N {id: $s})-[:E]->()-[:E]->(b) RETURN b.id AS b"),
    (
        "path of at most four",
        "MATCH (a:N {id: $s}), (b:N {id: $t}) MATCH p = shortestPath((a)-[:E*..4]->(b)) RETURN length(p) AS l",
    ),
];
/// New queries and new arguments that are timed, for each class.
const INSTALLS: usize = 100;
/// Arguments of each class that stand while commits are timed.
const ARGUMENTS: usize = 1_000;
/// Commits that are timed.
const COMMITS: usize = 300;
/// Changes of a large commit, and how many such commits.
const GROUP_CHANGES: usize = 10_000;
const GROUPS: usize = 20;
/// Queries that a commit does not touch.
const IDLE: usize = 100;
/// Sources of the recursive query.
const SOURCES: usize = 10;
/// How long anybody waits for news before the bench gives up.
const PATIENCE: Duration = Duration::from_secs(60);

/// Measures all of it.
pub fn run(_: Option<&Path>, report: &mut Report) -> Result<(), String> {
    let place = scratch("standing")?;
    large(&place.path().join("large"), report)?;
    recursive(&place.path().join("recursive"), report)?;
    beside(&place.path().join("beside"), report)
}

fn loaded(graph: &Graph, path: &Path) -> Result<Database, String> {
    files::create_folder(path).map_err(|error| error.to_string())?;
    let file = path.join("edges.txt");
    let mut writer = files::create_writer(&file).map_err(|error| error.to_string())?;
    for (source, target) in graph.edges() {
        writeln!(writer, "{source} {target}").map_err(|error| error.to_string())?;
    }
    writer.flush().map_err(|error| error.to_string())?;
    drop(writer);
    let database = Database::open(path.join("db"), Options::default()).map_err(|error| told(&error))?;
    let options = ImportOptions {
        from: file,
        vertex_label: Some("N".into()),
        edge_type: Some("E".into()),
        ..ImportOptions::default()
    };
    database.import(&options).map_err(|error| told(&error))?;
    Ok(database)
}

fn described(graph: &Graph, shape: &Shape, report: &Report) {
    let (vertices, edges) = (graph.vertex_count(), graph.edge_count());
    report.note(format!(
        "Chung-Lu, {vertices} vertices, {edges} edges, seed {}; arguments by seed {SEED}",
        shape.seed
    ));
}

/// Rows of an answer: values of the first column, and how often.
fn rows(event: &Event, subscription: &Subscription, found: &mut BTreeMap<i64, isize>) {
    let at = subscription.columns()[0].at;
    if let Event::Snapshot { rows, .. } | Event::Changes { rows, .. } = event {
        for (row, count) in rows.iter() {
            *found.entry(row.values()[at].as_int().unwrap_or(-1)).or_insert(0) += count;
        }
        found.retain(|_, count| *count != 0);
    }
}

/// Waits until the subscriber knows of this commit.
fn read_to(subscription: &Subscription, place: u64, found: &mut BTreeMap<i64, isize>) -> Result<(), String> {
    loop {
        let event = subscription.next(PATIENCE).map_err(|end| format!("a subscription ended: {end:?}"))?;
        let event = event.ok_or("a subscriber was told nothing for a minute")?;
        rows(&event, subscription, found);
        if event.place() >= place {
            return Ok(());
        }
    }
}

/// What a class answers for these arguments, by plain search.
fn expected(graph: &Graph, class: usize, source: u32, target: u32) -> BTreeMap<i64, isize> {
    let mut found = BTreeMap::new();
    let mut add = |value: i64| *found.entry(value).or_insert(0) += 1;
    match class {
        0 => add(i64::from(source)),
        1 => graph.neighbours(source).iter().for_each(|end| add(i64::from(*end))),
        2 => {
            let ends = graph.neighbours(source).iter().flat_map(|middle| graph.neighbours(*middle));
            ends.for_each(|end| add(i64::from(*end)));
        }
        _ => distance(graph, source, target, 4).into_iter().for_each(|length| add(i64::from(length))),
    }
    found
}

fn distance(graph: &Graph, source: u32, target: u32, most: u32) -> Option<u32> {
    let (mut seen, mut frontier) = (std::collections::HashSet::from([source]), vec![source]);
    for length in 1..=most {
        let mut next = Vec::new();
        for vertex in frontier.iter().flat_map(|vertex| graph.neighbours(*vertex)) {
            if *vertex == target {
                return Some(length);
            }
            if seen.insert(*vertex) {
                next.push(*vertex);
            }
        }
        frontier = next;
    }
    None
}

fn arguments(source: u32, target: u32) -> Params {
    params! { "s" => i64::from(source), "t" => i64::from(target) }
}

fn large(path: &Path, report: &mut Report) -> Result<(), String> {
    report.section("new queries and new arguments on a million vertices and ten million edges");
    let graph = Graph::generate(&LARGE);
    described(&graph, &LARGE, report);
    let database = loaded(&graph, path)?;
    let ordinary = graph.ordinary(2 * ARGUMENTS, SEED);
    let pair = |number: usize| (ordinary[number % ARGUMENTS], ordinary[ARGUMENTS + number % ARGUMENTS]);
    // Warm: the first reader of a graph brings its pages into memory.
    database
        .create_standing("warm", "MATCH (a:N)-[:E]->(b) RETURN count(*) AS n")
        .map_err(|error| told(&error))?;
    database.drop_standing("warm").map_err(|error| told(&error))?;
    let before = world::memory::resident_bytes().unwrap_or(0);
    let mut standing: Vec<Vec<Subscription>> = Vec::new();
    for (class, (what, text)) in CLASSES.iter().enumerate() {
        let (mut installs, mut given) = (Samples::default(), Samples::default());
        for number in 0..INSTALLS {
            let (source, target) = pair(number);
            let name = format!("new {number}");
            let (subscription, time_ms) = timed(|| {
                database.create_standing(&name, text)?;
                database.subscribe(&name, &arguments(source, target), None, true)
            });
            let subscription = subscription.map_err(|error| told(&error))?;
            check(&subscription, &expected(&graph, class, source, target), what)?;
            installs.push(time_ms);
            database.drop_standing(&name).map_err(|error| told(&error))?;
        }
        let name = format!("class {class}");
        database.create_standing(&name, text).map_err(|error| told(&error))?;
        let mut subscriptions = Vec::new();
        for number in 0..ARGUMENTS {
            let (source, target) = pair(number);
            let (subscription, time_ms) =
                timed(|| database.subscribe(&name, &arguments(source, target), None, true));
            let subscription = subscription.map_err(|error| told(&error))?;
            if number < INSTALLS {
                check(&subscription, &expected(&graph, class, source, target), what)?;
            } else {
                read_to(&subscription, 0, &mut BTreeMap::new())?;
            }
            given.push(time_ms);
            subscriptions.push(subscription);
        }
        standing.push(subscriptions);
        let shown = |samples: &Samples| {
            format!("p50 {}, p99 {}", shown_ms(samples.median_ms()), shown_ms(samples.quantile_ms(0.99)))
        };
        let reached = installs.median_ms() < 5.0;
        report.figure(
            &format!("{what}, new query with its first answer"),
            &shown(&installs),
            "p50 under 5 ms",
            reached,
        );
        let reached = given.median_ms() < 0.5;
        report.figure(&format!("{what}, new argument"), &shown(&given), "p50 under 0.5 ms", reached);
    }
    let grown = world::memory::resident_bytes().unwrap_or(0).saturating_sub(before) as f64;
    let per_edge = grown / (2.0 * graph.edge_count() as f64);
    report.figure(
        "memory of four classes with 1,000 arguments each, for each edge and direction",
        &format!("{per_edge:.2} bytes"),
        "under 5 bytes",
        per_edge < 5.0,
    );
    told_in_time(&database, &graph, &standing, &ordinary, report)?;
    sustained(&database, &graph, &standing, report)
}

fn check(subscription: &Subscription, expected: &BTreeMap<i64, isize>, what: &str) -> Result<(), String> {
    let mut found = BTreeMap::new();
    read_to(subscription, 0, &mut found)?;
    if found == *expected { Ok(()) } else { Err(format!("{what}: told {found:?}, right is {expected:?}")) }
}

fn write(session: &mut Session, text: &str, params: Params) -> Result<u64, String> {
    let summary =
        session.query(text, params).and_then(|result| result.finish()).map_err(|error| told(&error))?;
    Ok(summary.place)
}

/// From the end of a commit of one change to its delivery.
fn told_in_time(
    database: &Database,
    graph: &Graph,
    standing: &[Vec<Subscription>],
    ordinary: &[u32],
    report: &mut Report,
) -> Result<(), String> {
    report.section("a commit of one change, with four classes of a thousand arguments each");
    let (mut session, mut chance, mut samples) =
        (database.session(), Chance::seeded(SEED), Samples::default());
    for _ in 0..COMMITS {
        let number = chance.below(ARGUMENTS as u64) as usize;
        let (source, target) = (ordinary[number], chance.below(u64::from(graph.vertex_count())) as u32);
        let text = "MATCH (a:N {id: $s}), (b:N {id: $t}) CREATE (a)-[:E]->(b)";
        let place = write(&mut session, text, arguments(source, target))?;
        let (told, time_ms) = timed(|| {
            let mut found = BTreeMap::new();
            read_to(&standing[1][number], place, &mut found)?;
            Ok::<_, String>(found)
        });
        let told = told?;
        if told.get(&i64::from(target)) != Some(&1) {
            return Err(format!(
                "the reader of {source} was told {told:?}, not that an edge to {target} came"
            ));
        }
        samples.push(time_ms);
        let text = "MATCH (a:N {id: $s})-[r:E]->(b:N {id: $t}) WITH r ORDER BY id(r) DESC LIMIT 1 DELETE r";
        let place = write(&mut session, text, arguments(source, target))?;
        read_to(&standing[1][number], place, &mut BTreeMap::new())?;
    }
    let (median, p99) = (samples.median_ms(), samples.quantile_ms(0.99));
    report.figure("from a commit to its delivery, p50", &shown_ms(median), "under 1 ms", median < 1.0);
    report.figure("from a commit to its delivery, p99", &shown_ms(p99), "under 5 ms", p99 < 5.0);
    Ok(())
}

/// Changes a second in large commits, until all is told.
fn sustained(
    database: &Database,
    graph: &Graph,
    standing: &[Vec<Subscription>],
    report: &mut Report,
) -> Result<(), String> {
    let (mut session, mut chance) = (database.session(), Chance::seeded(SEED + 1));
    let vertices = u64::from(graph.vertex_count());
    // Ids are looked up before the clock starts: what is measured is the keeping, not the finding.
    let groups: Vec<Value> = (0..GROUPS)
        .map(|_| {
            let pair = |_| {
                Value::list(vec![
                    (chance.below(vertices) as i64).into(),
                    (chance.below(vertices) as i64).into(),
                ])
            };
            Value::list((0..GROUP_CHANGES).map(pair).collect())
        })
        .collect();
    let text = "UNWIND $pairs AS p MATCH (a:N {id: p[0]}), (b:N {id: p[1]}) CREATE (a)-[:E]->(b)";
    let (mut committed_ms, begin_ns) = (0.0, monotonic_ns());
    let mut place = 0;
    for group in groups {
        let (outcome, time_ms) = timed(|| write(&mut session, text, params! { "pairs" => group }));
        place = outcome?;
        committed_ms += time_ms;
    }
    read_to(&standing[1][0], place, &mut BTreeMap::new())?;
    let total_ms = (monotonic_ns() - begin_ns) as f64 / 1e6;
    let rate = (GROUPS * GROUP_CHANGES) as f64 / total_ms * 1e3;
    report.note(format!(
        "{GROUPS} commits took {}, all was told after {}",
        shown_ms(committed_ms),
        shown_ms(total_ms)
    ));
    report.figure(
        "changes a second in commits of 10,000, committed and told",
        &format!("{:.0} k/s", rate / 1e3),
        "300 k/s",
        rate >= 300e3,
    );
    Ok(())
}

/// Reachability from some sources while single edges come and go.
fn recursive(path: &Path, report: &mut Report) -> Result<(), String> {
    report.section("reachability and distances while single edges come and go");
    let graph = Graph::generate(&FIRST);
    described(&graph, &FIRST, report);
    let database = loaded(&graph, path)?;
    let sources = graph.ordinary(SOURCES, SEED);
    let text =
        "MATCH (a:N {id: $s}) MATCH p = shortestPath((a)-[:E*]->(b:N)) RETURN length(p) AS l, b.id AS b";
    let (created, time_ms) = timed(|| database.create_standing("distances", text));
    created.map_err(|error| told(&error))?;
    report.note(format!("made in {}", shown_ms(time_ms)));
    let (mut subscriptions, mut first) = (Vec::new(), Samples::default());
    for source in &sources {
        let (subscription, time_ms) =
            timed(|| database.subscribe("distances", &params! { "s" => i64::from(*source) }, None, true));
        subscriptions.push(subscription.map_err(|error| told(&error))?);
        first.push(time_ms);
    }
    report.note(format!("first answer of a source, median {}", shown_ms(first.median_ms())));
    let mut edges: Vec<VecDeque<u32>> =
        (0..graph.vertex_count()).map(|vertex| graph.neighbours(vertex).iter().copied().collect()).collect();
    let mut found: Vec<BTreeMap<i64, isize>> = vec![BTreeMap::new(); SOURCES];
    let place = database.snapshot().place();
    for (subscription, found) in subscriptions.iter().zip(&mut found) {
        read_to(subscription, place, found)?;
    }
    let (mut session, mut chance, mut samples) =
        (database.session(), Chance::seeded(SEED), Samples::default());
    for number in 0..COMMITS {
        let source = chance.below(u64::from(graph.vertex_count())) as u32;
        let removes = number % 2 == 0 && !edges[source as usize].is_empty();
        let (text, target) = match removes {
            true => (
                "MATCH (a:N {id: $s})-[r:E]->(b:N {id: $t}) DELETE r",
                edges[source as usize].pop_front().unwrap_or(0),
            ),
            false => {
                let target = chance.below(u64::from(graph.vertex_count())) as u32;
                if edges[source as usize].contains(&target) {
                    continue;
                }
                edges[source as usize].push_back(target);
                ("MATCH (a:N {id: $s}), (b:N {id: $t}) CREATE (a)-[:E]->(b)", target)
            }
        };
        let place = write(&mut session, text, arguments(source, target))?;
        let (outcome, time_ms) = timed(|| {
            let mut all = subscriptions.iter().zip(&mut found);
            all.try_for_each(|(subscription, found)| read_to(subscription, place, found))
        });
        outcome?;
        samples.push(time_ms);
    }
    for (source, found) in sources.iter().zip(&found) {
        let expected = levels(&edges, *source);
        if *found != expected {
            return Err(format!("from {source}: told {found:?} vertices by distance, right is {expected:?}"));
        }
    }
    let median = samples.median_ms();
    report.note(format!("p99 {}", shown_ms(samples.quantile_ms(0.99))));
    report.figure(
        "an edge comes or goes, ten sources, median",
        &shown_ms(median),
        "under 2 ms",
        median < 2.0,
    );
    Ok(())
}

/// Vertices by distance from a source, without itself.
fn levels(edges: &[VecDeque<u32>], source: u32) -> BTreeMap<i64, isize> {
    let (mut seen, mut frontier, mut found) = (vec![false; edges.len()], vec![source], BTreeMap::new());
    seen[source as usize] = true;
    for level in 1.. {
        let mut next = Vec::new();
        for target in frontier.iter().flat_map(|vertex| &edges[*vertex as usize]) {
            if !std::mem::replace(&mut seen[*target as usize], true) {
                next.push(*target);
            }
        }
        if next.is_empty() {
            break;
        }
        found.insert(level, next.len() as isize);
        frontier = next;
    }
    found
}

/// What standing queries that a commit does not touch cost it.
fn beside(path: &Path, report: &mut Report) -> Result<(), String> {
    report.section("commits beside standing queries that they do not touch");
    let graph = Graph::generate(&Shape { vertices: 10_000, edges: 100_000, ..FIRST });
    let database = loaded(&graph, path)?;
    let mut session = database.session();
    write(&mut session, "CREATE (:Other {id: 1}), (:Other {id: 2})", Params::new())?;
    let mut commits = |samples: &mut Samples| {
        for _ in 0..COMMITS {
            let text = "MATCH (o:Other {id: 1}) SET o.count = coalesce(o.count, 0) + 1";
            let (outcome, time_ms) = timed(|| write(&mut session, text, Params::new()));
            outcome?;
            samples.push(time_ms);
        }
        Ok::<_, String>(())
    };
    commits(&mut Samples::default())?;
    let figures = [(10, "ten"), (IDLE, "a hundred")];
    for (count, named) in figures {
        let (mut without, mut with) = (Samples::default(), Samples::default());
        // In turns, so that a slow moment of the machine meets both.
        for _ in 0..4 {
            commits(&mut without)?;
            for number in 0..count {
                let text = format!("MATCH (a:N)-[:E]->(b:N) WHERE a.id = {number} RETURN b.id AS b");
                database.create_standing(&format!("idle {number}"), &text).map_err(|error| told(&error))?;
            }
            let subscription =
                database.subscribe("idle 0", &Params::new(), None, true).map_err(|error| told(&error))?;
            commits(&mut with)?;
            read_to(&subscription, database.snapshot().place(), &mut BTreeMap::new())?;
            for number in 0..count {
                database.drop_standing(&format!("idle {number}")).map_err(|error| told(&error))?;
            }
        }
        let (without, with) = (without.median_ms(), with.median_ms());
        let shown = format!("{} to {}", shown_ms(without), shown_ms(with));
        if count == IDLE {
            report.figure(
                &format!("a commit beside {named}, p50"),
                &shown,
                "0.3 ms more at most",
                with - without <= 0.3,
            );
        } else {
            report.figure(
                &format!("a commit beside {named}, p50"),
                &shown,
                "1.05x at most",
                with <= 1.05 * without,
            );
        }
    }
    Ok(())
}
