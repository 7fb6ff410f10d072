//! Distances kept while single edges come and go.

use super::*;

/// Sources of the recursive query.
const SOURCES: usize = 10;

/// Reachability from some sources while single edges come and go.
pub fn run(path: &Path, report: &mut Report) -> Result<(), String> {
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
    let place = database.snapshot().commit_version();
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

/// Vertices by distance from a source; itself by its shortest cycle, as `shortestPath` has it.
fn levels(edges: &[VecDeque<u32>], source: u32) -> BTreeMap<i64, isize> {
    let (mut seen, mut frontier, mut found) = (vec![false; edges.len()], vec![source], BTreeMap::new());
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
