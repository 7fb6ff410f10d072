//! What standing queries cost commits that do not touch them.

use super::*;

/// Queries that a commit does not touch.
const IDLE: usize = 100;

/// What standing queries that a commit does not touch cost it.
pub fn run(path: &Path, report: &mut Report) -> Result<(), String> {
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
            read_to(&subscription, database.snapshot().commit_version(), &mut BTreeMap::new())?;
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
