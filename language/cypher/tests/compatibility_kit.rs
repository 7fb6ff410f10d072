//! Every query of the openCypher compatibility kit that is meant to be understood is understood. Reads the folder named by the
//! environment variable `TANGLEWOOD_TCK`; without it the tests say so and pass.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, clippy::disallowed_types)]

use tanglewood_cypher as cypher;

mod kit;

#[test]
fn queries_parse_and_print() {
    let Some(scenarios) = kit::scenarios() else {
        println!("skipped: TANGLEWOOD_TCK names no folder");
        return;
    };
    let mut failures = Vec::new();
    let mut count = 0;
    for scenario in &scenarios {
        let syntax_error = scenario.error.as_ref().is_some_and(|(kind, ..)| kind == "SyntaxError");
        let queries = scenario.auxiliary.iter().chain((!syntax_error).then_some(&scenario.query));
        for query in queries.filter(|query| !query.is_empty()) {
            count += 1;
            match cypher::parse(query) {
                Err(error) => failures.push(format!("{}\n{}", scenario.name, error.render(query))),
                Ok(statement) => {
                    let canonical = cypher::print(&statement);
                    if cypher::parse(&canonical).as_ref() != Ok(&statement) {
                        failures.push(format!("{}\n{query}\nprints as\n{canonical}", scenario.name));
                    }
                }
            }
        }
    }
    println!("{count} queries of {} scenarios", scenarios.len());
    assert!(failures.is_empty(), "{} of {count} queries fail:\n\n{}", failures.len(), failures.join("\n\n"));
}

/// Errors that can only be known with the parameters or the procedures of a scenario at hand.
fn needs_more_than_text(scenario: &kit::Scenario) -> bool {
    scenario.query.contains("test.")
        || scenario
            .error
            .as_ref()
            .is_some_and(|(kind, phase, _)| kind == "ParameterMissing" || phase == "runtime")
}

#[test]
fn queries_compile_to_their_columns_or_to_an_error() {
    let Some(scenarios) = kit::scenarios() else {
        println!("skipped: TANGLEWOOD_TCK names no folder");
        return;
    };
    let mut failures = Vec::new();
    let mut count = 0;
    let mut kinds = 0;
    for scenario in scenarios.iter().filter(|scenario| !needs_more_than_text(scenario)) {
        let query = &scenario.query;
        count += 1;
        let compile_error = scenario.error.as_ref().filter(|(_, phase, _)| phase == "compile time");
        match (cypher::compile(query), compile_error) {
            (Ok(_), Some((kind, _, detail))) => {
                failures.push(format!("{}\n{query}\nexpected {kind} {detail}", scenario.name));
            }
            (Err(error), Some((_, _, detail))) => {
                kinds += usize::from(*detail == format!("{:?}", error.kind))
            }
            (Err(error), None) if scenario.error.is_none() => {
                failures.push(format!("{}\n{}", scenario.name, error.render(query)));
            }
            (Ok(statement), None) => {
                failures.extend(wrong_columns(scenario, &statement));
                if let Err(error) = plan::optimize(statement, &plan::statistics::NothingKnown) {
                    failures.push(format!("{}\n{query}\ncannot be planned: {error}", scenario.name));
                }
            }
            _ => {}
        }
    }
    println!("{count} queries; {kinds} errors of just the kind that the kit names");
    assert!(failures.is_empty(), "{} of {count} queries fail:\n\n{}", failures.len(), failures.join("\n\n"));
}

fn wrong_columns(scenario: &kit::Scenario, statement: &plan::Statement) -> Option<String> {
    let expected = scenario.columns.as_ref()?;
    let plan::StatementKind::Query { columns, .. } = &statement.kind else { return None };
    let found: Vec<&str> = columns.iter().map(|(name, _)| name.as_ref()).collect();
    (found != *expected)
        .then(|| format!("{}\n{}\nexpected {expected:?}\nfound {found:?}", scenario.name, scenario.query))
}
