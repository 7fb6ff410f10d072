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
