//! TinkerPop's features, in process. What does not pass stands in `tests/known/gremlin.txt`, each with its reason.

use std::collections::BTreeMap;
use tanglewood_conformance::gherkin::Scenario;
use tanglewood_conformance::gremlin::Graphs;
use tanglewood_conformance::scenario::Outcome;
use tanglewood_conformance::{ratchet, suite};

#[test]
fn tinkerpop() {
    let Some(folder) = suite::folder("tinkerpop") else { return };
    let only = std::env::var("GREMLIN_ONLY").ok();
    let mut scenarios = suite::scenarios_by_title(&folder.join("features"));
    if let Some(only) = &only {
        scenarios.retain(|scenario| scenario.id.contains(only));
    }
    let mut open = suite::in_memory;
    let mut graphs = Graphs::new(&folder.join("data"), &mut open);
    let outcomes: Vec<Outcome> = scenarios.iter().map(|scenario| graphs.run(scenario)).collect();
    report(&scenarios, &outcomes);
    if only.is_none()
        && let Err(report) =
            ratchet::check("tinkerpop", &scenarios, &outcomes, include_str!("known/gremlin.txt"))
    {
        panic!("{report}");
    }
}

/// Counts by folder of the suite.
fn report(scenarios: &[Scenario], outcomes: &[Outcome]) {
    let mut counts: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for (scenario, outcome) in scenarios.iter().zip(outcomes) {
        let count = counts.entry(scenario.id.split('/').next().unwrap_or("")).or_default();
        count[match outcome {
            Outcome::Passed => 0,
            Outcome::Failed(_) => 1,
            Outcome::Skipped(_) => 2,
        }] += 1;
        if let (Outcome::Failed(why), Ok(_)) = (outcome, std::env::var("GREMLIN_SHOW")) {
            println!("FAIL {}: {}", scenario.id, why.replace('\n', " | "));
        }
    }
    for (folder, [passed, failed, skipped]) in counts {
        println!("{folder:<12} {passed:>5} pass {failed:>5} fail {skipped:>5} skipped");
    }
}
