//! New queries and arguments on a large graph, and how soon and how many changes are told.

use super::*;

/// A million vertices and ten million edges.
const LARGE: Shape =
    Shape { vertices: 1_000_000, edges: 10_000_000, exponent: 2.3, rank_shift: 10.0, seed: 42 };
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
/// Changes of a large commit, and how many such commits.
const GROUP_CHANGES: usize = 10_000;
const GROUPS: usize = 60;
/// Arguments of each class whose answers are compared with the queries asked anew after that.
const KEPT_CHECKED: usize = 50;
/// Who makes them: while the statement of one runs, the commit of the other is applied.
const WRITERS: usize = 2;
/// Such commits before the clock starts: they bring what was imported into memory.
const GROUPS_WARM: usize = 10;

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

pub fn run(path: &Path, is_new: bool, is_sustained: bool, report: &mut Report) -> Result<(), String> {
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
    let before = world::memory::resident_bytes();
    let mut standing: Vec<Vec<Subscription>> = Vec::new();
    for (class, (what, text)) in CLASSES.iter().enumerate() {
        if is_new {
            installed(&database, &graph, class, &pair, report)?;
        }
        let mut given = Samples::default();
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
        let reached = given.median_ms() < 0.5;
        report.figure(&format!("{what}, new argument"), &shown(&given), "p50 under 0.5 ms", reached);
    }
    judge_memory((before, world::memory::resident_bytes()), &graph, report);
    if is_new {
        told_in_time(&database, &graph, &standing, &ordinary, report)?;
    }
    if is_sustained {
        sustained(&database, &standing, &pair, report)?;
    }
    Ok(())
}

fn shown(samples: &Samples) -> String {
    format!("p50 {}, p99 {}", shown_ms(samples.median_ms()), shown_ms(samples.quantile_ms(0.99)))
}

/// From nothing to the first answer of a new query.
fn installed(
    database: &Database,
    graph: &Graph,
    class: usize,
    pair: &dyn Fn(usize) -> (u32, u32),
    report: &mut Report,
) -> Result<(), String> {
    let ((what, text), mut installs) = (CLASSES[class], Samples::default());
    for number in 0..INSTALLS {
        let (source, target) = pair(number);
        let name = format!("new {number}");
        let (subscription, time_ms) = timed(|| {
            database.create_standing(&name, text)?;
            database.subscribe(&name, &arguments(source, target), None, true)
        });
        let subscription = subscription.map_err(|error| told(&error))?;
        check(&subscription, &expected(graph, class, source, target), what)?;
        installs.push(time_ms);
        database.drop_standing(&name).map_err(|error| told(&error))?;
    }
    let reached = installs.median_ms() < 5.0;
    let named = format!("{what}, new query with its first answer");
    report.figure(&named, &shown(&installs), "p50 under 5 ms", reached);
    Ok(())
}

fn check(subscription: &Subscription, expected: &BTreeMap<i64, isize>, what: &str) -> Result<(), String> {
    let mut found = BTreeMap::new();
    read_to(subscription, 0, &mut found)?;
    if found == *expected { Ok(()) } else { Err(format!("{what}: told {found:?}, right is {expected:?}")) }
}

/// What resident memory grew by. Where it shrank, other memory was given back meanwhile, and nothing is known.
fn judge_memory((before, after): (Option<u64>, Option<u64>), graph: &Graph, report: &mut Report) {
    let what = "memory of four classes with 1,000 arguments each, for each edge and direction";
    let (Some(before), Some(after)) = (before, after) else {
        return report.skipped(what, "the system does not say how much memory is resident");
    };
    if after <= before {
        return report
            .skipped(what, "resident memory did not grow, since other memory was given back meanwhile");
    }
    let per_edge = (after - before) as f64 / (2.0 * graph.edge_count() as f64);
    report.figure(what, &format!("{per_edge:.2} bytes"), "under 5 bytes", per_edge < 5.0);
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
    standing: &[Vec<Subscription>],
    pair: &dyn Fn(usize) -> (u32, u32),
    report: &mut Report,
) -> Result<(), String> {
    let (mut session, mut chance) = (database.session(), Chance::seeded(SEED + 1));
    // Ids are looked up before the clock starts: what is measured is the writing and the keeping, not the finding.
    let rows = session.query("MATCH (a:N) RETURN id(a)", Params::new()).and_then(|found| found.rows());
    let ids: Vec<Value> =
        rows.map_err(|error| told(&error))?.into_iter().filter_map(|mut row| row.pop()).collect();
    let mut end = || ids[chance.below(ids.len() as u64) as usize].clone();
    let mut group = || Value::list((0..GROUP_CHANGES).map(|_| Value::list(vec![end(), end()])).collect());
    let groups: Vec<Value> = (0..GROUPS_WARM + GROUPS).map(|_| group()).collect();
    let (warm, timed_groups) = groups.split_at(GROUPS_WARM);
    warm.iter().try_for_each(|group| written(&mut session, group).map(drop))?;
    read_to(&standing[1][0], database.snapshot().commit_version(), &mut BTreeMap::new())?;
    let begin_ns = monotonic_ns();
    let since_begin_ms = || (monotonic_ns() - begin_ns) as f64 / 1e6;
    let outcomes = in_parallel("writer", WRITERS, |writer| {
        let mut session = database.session();
        let own = timed_groups.iter().skip(writer).step_by(WRITERS);
        own.map(|group| written(&mut session, group)).collect::<Result<Vec<u64>, String>>()
    });
    let committed_ms = since_begin_ms();
    let versions = outcomes.into_iter().collect::<Result<Vec<_>, String>>()?;
    let last = versions.into_iter().flatten().max().unwrap_or(0);
    for subscriptions in standing {
        read_to(&subscriptions[0], last, &mut BTreeMap::new())?;
    }
    let total_ms = since_begin_ms();
    kept_is_asked(database, pair)?;
    let rate = (GROUPS * GROUP_CHANGES) as f64 / total_ms * 1e3;
    report.note(format!(
        "{GROUPS} commits of {WRITERS} writers took {}, all was told after {}",
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

/// The answers that were kept are those of the same queries asked anew.
fn kept_is_asked(database: &Database, pair: &dyn Fn(usize) -> (u32, u32)) -> Result<(), String> {
    for (class, (what, text)) in CLASSES.iter().enumerate() {
        for number in 0..KEPT_CHECKED {
            let (source, target) = pair(number);
            let kept = database.subscribe(&format!("class {class}"), &arguments(source, target), None, true);
            let kept = kept.map_err(|error| told(&error))?;
            let asked = database.session().query(text, arguments(source, target));
            let asked = asked.and_then(|found| found.rows()).map_err(|error| told(&error))?;
            let mut expected = BTreeMap::new();
            for row in asked {
                *expected.entry(row[0].as_int().unwrap_or(-1)).or_insert(0) += 1;
            }
            check(&kept, &expected, what)?;
        }
    }
    Ok(())
}

/// Creates the edges of a group; the place of the commit.
fn written(session: &mut Session, group: &Value) -> Result<u64, String> {
    let text = "UNWIND $pairs AS p MATCH (a), (b) WHERE id(a) = p[0] AND id(b) = p[1] CREATE (a)-[:E]->(b)";
    write(session, text, params! { "pairs" => group.clone() })
}
