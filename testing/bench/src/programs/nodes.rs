//! The cost of a node: a program over the whole graph beside its twin, and a deployed module that does nothing.
//!
//! A node's time is that of the processors, of all executors together: it does not depend on what else the machine does.

use super::{agree, loaded, row};
use crate::power_law::{Graph, Shape};
use crate::report::Report;
use crate::timing::{Samples, shown_ms, timed};
use database::{Database, Value, params};
use world::clock::process_cpu_ns;

/// Rounds that count, behind one that does not.
const ROUNDS: usize = 7;
/// A program may take so long a node beside its own work.
const NODE_NS_MAX: f64 = 150.0;
/// Answers each node with one; its text stands beside it.
const MODULE: &[u8] = include_bytes!("../../queries/programs/each.wasm");

/// Name, the program, its twin, and whether the time a node is judged: where the program does next to nothing at a node.
const FIGURES: [(&str, &str, &str, bool); 6] = [
    (
        "countEdges, all nodes",
        "CALL program.countEdges() YIELD value RETURN count(*), sum(value)",
        "MATCH (n) RETURN count(*), sum(COUNT { (n)-->() })",
        true,
    ),
    (
        "reach, from the hub",
        "MATCH (s:N {id: $s}) CALL program.reach(s) YIELD value RETURN count(*), sum(value)",
        "MATCH (s:N {id: $s}) CALL graph.bfs({source: s}) YIELD distance RETURN count(*), sum(distance)",
        false,
    ),
    (
        "shortestDistance, from the hub",
        "MATCH (s:N {id: $s}) CALL program.shortestDistance(s) YIELD value RETURN count(*), sum(value)",
        "MATCH (s:N {id: $s}) CALL graph.bfs({source: s}) YIELD distance RETURN count(*), sum(distance)",
        false,
    ),
    (
        "clusteringCoefficient, all nodes",
        "CALL program.clusteringCoefficient() YIELD value RETURN count(*), sum(value)",
        "CALL graph.lcc({direction: 'both'}) YIELD coefficient RETURN count(*), sum(coefficient)",
        false,
    ),
    (
        "labelPropagation, 2 iterations",
        "CALL program.labelPropagation(null, {iterations: 2}) YIELD value RETURN count(*), count(DISTINCT value)",
        "CALL graph.cdlp({direction: 'both', iterations: 2}) YIELD community RETURN count(*), count(DISTINCT community)",
        false,
    ),
    (
        "blockRender, 1,000 nodes",
        "MATCH (s:N) WHERE s.id < 1000 WITH collect(s) AS all CALL program.blockRender(all, {depth: 0}) YIELD value \
         RETURN count(*), sum(size(value.relationships))",
        "MATCH (s:N) WHERE s.id < 1000 WITH {labels: labels(s), properties: properties(s), \
         relationships: COLLECT { MATCH (s)-[r]->(n) RETURN {type: type(r), properties: properties(r), node: n} }} AS value \
         RETURN count(*), sum(size(value.relationships))",
        false,
    ),
];

pub(super) fn run(shape: &Shape, report: &mut Report) -> Result<(), String> {
    report.section("programs beside their twins, by node");
    let graph = Graph::generate(shape);
    let database = loaded(&graph, report)?;
    let hub = graph.largest_hub();
    for (name, program, twin, is_judged) in FIGURES {
        let nodes = if name.starts_with("blockRender") { 1_000 } else { graph.vertex_count() };
        figure(&database, (name, program, twin), (hub, nodes, is_judged), report)?;
    }
    let module = Value::Bytes(MODULE.into());
    let deployed =
        database.session().query("CREATE PROGRAM each FROM $module", params! { "module" => module });
    match deployed.and_then(|result| result.finish()) {
        Ok(_) => figure(
            &database,
            (
                "a deployed module, all nodes",
                "CALL program.each() YIELD value RETURN count(*), sum(value)",
                "MATCH (n) RETURN count(*), sum(1)",
            ),
            (hub, graph.vertex_count(), true),
            report,
        ),
        Err(error) => {
            report.skipped("a deployed module", &error.message);
            Ok(())
        }
    }
}

fn figure(
    database: &Database,
    (name, program, twin): (&str, &str, &str),
    (hub, nodes, is_judged): (u32, u32, bool),
    report: &mut Report,
) -> Result<(), String> {
    let [mut ours, mut ours_cpu, mut theirs] = [(); 3].map(|()| Samples::default());
    let mut session = database.session();
    for round in 0..=ROUNDS {
        let begin_cpu_ns = process_cpu_ns();
        let (answer, time_ms) = timed(|| row(&mut session, program, hub));
        let cpu_ms = (process_cpu_ns() - begin_cpu_ns) as f64 / 1e6;
        let (wanted, twin_ms) = timed(|| row(&mut session, twin, hub));
        let (answer, wanted) = (answer?, wanted?);
        if !agree(&answer, &wanted) {
            return Err(format!("{name}: {answer:?}, right is {wanted:?}"));
        }
        if round > 0 {
            ours.push(time_ms);
            ours_cpu.push(cpu_ms);
            theirs.push(twin_ms);
        }
    }
    let node_ns = ours_cpu.median_ms() * 1e6 / f64::from(nodes);
    let twin_ns = theirs.median_ms() * 1e6 / f64::from(nodes);
    let measured = format!("{node_ns:.0} ns a node, {} in all", shown_ms(ours.median_ms()));
    match is_judged {
        true => {
            let target = format!("{NODE_NS_MAX} ns a node; its twin {twin_ns:.0}");
            report.figure(name, &measured, &target, node_ns <= NODE_NS_MAX);
        }
        false => report.note(format!(
            "{name:<36} {measured}; its twin {twin_ns:.0} ns a node, {}",
            shown_ms(theirs.median_ms())
        )),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_module_is_its_text() {
        let text = include_str!("../../queries/programs/each.wat");
        assert!(wat::parse_str(text).unwrap() == MODULE, "assemble each.wat anew");
    }

    /// On a small graph, each program gives the answer of its twin.
    #[test]
    fn programs_and_twins_agree() {
        let mut report = Report::default();
        run(&Shape { vertices: 1_000, edges: 4_000, ..super::super::WHOLE }, &mut report).unwrap();
    }
}
