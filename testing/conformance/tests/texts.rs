//! The openCypher kit's queries as texts: each that is meant to be understood is, and none, however mangled, makes the parser, the
//! lowering or the planner panic.

use tanglewood_conformance::gherkin::Scenario;
use tanglewood_conformance::suite;

/// The query under test and those around it.
fn queries(scenario: &Scenario) -> (Vec<&str>, Option<&str>) {
    let (mut around, mut tested) = (Vec::new(), None);
    for step in &scenario.steps {
        let Some(document) = step.document.as_deref() else { continue };
        match step.text.as_str() {
            "executing query" => tested = Some(document),
            _ => around.push(document),
        }
    }
    (around, tested)
}

/// `(type, phase, detail)` of the error that is expected.
fn expected_error(scenario: &Scenario) -> Option<(&str, &str, &str)> {
    scenario.steps.iter().find_map(|step| {
        let (kind, rest) = step.text.split_once(" should be raised at ")?;
        let (phase, detail) = rest.split_once(": ")?;
        Some((kind.split(' ').next_back()?, phase, detail))
    })
}

fn all() -> Option<Vec<Scenario>> {
    suite::folder("opencypher/tck/features").map(|folder| suite::scenarios(&folder))
}

#[test]
fn queries_parse_and_print() {
    let Some(scenarios) = all() else { return };
    let (mut failures, mut count) = (Vec::new(), 0);
    for scenario in &scenarios {
        let (around, tested) = queries(scenario);
        let syntax_error = expected_error(scenario).is_some_and(|(kind, ..)| kind == "SyntaxError");
        for query in around.into_iter().chain(tested.filter(|_| !syntax_error)) {
            count += 1;
            match cypher::parse(query) {
                Err(error) => failures.push(format!("{}\n{}", scenario.id, error.render(query))),
                Ok(statement) => {
                    let canonical = cypher::print(&statement);
                    if cypher::parse(&canonical).as_ref() != Ok(&statement) {
                        failures.push(format!("{}\n{query}\nprints as\n{canonical}", scenario.id));
                    }
                }
            }
        }
    }
    println!("{count} queries of {} scenarios", scenarios.len());
    assert!(failures.is_empty(), "{} of {count} queries fail:\n\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn wrong_queries_are_refused_before_they_run() {
    let Some(scenarios) = all() else { return };
    let (mut failures, mut count, mut kinds) = (Vec::new(), 0, 0);
    for scenario in &scenarios {
        let Some((kind, "compile time", detail)) = expected_error(scenario) else { continue };
        let (_, Some(query)) = queries(scenario) else { continue };
        // What is wrong with these is known with the parameters or the procedures at hand.
        if kind == "ParameterMissing" || query.contains("test.") {
            continue;
        }
        count += 1;
        match cypher::compile(query) {
            Ok(_) => failures.push(format!("{}\n{query}\nexpected {kind} {detail}", scenario.id)),
            Err(error) => kinds += usize::from(*detail == format!("{:?}", error.kind)),
        }
    }
    println!("{count} queries; {kinds} errors of just the kind that the kit names");
    assert!(failures.is_empty(), "{} of {count} queries fail:\n\n{}", failures.len(), failures.join("\n\n"));
}

/// Mangled queries for each seed.
const MANGLED: usize = 30_000;

#[test]
fn mangled_queries_never_panic() {
    let Some(scenarios) = all() else { return };
    let texts: Vec<&str> = scenarios.iter().flat_map(|scenario| queries(scenario).1).collect();
    let seed = std::env::var("TANGLEWOOD_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0x7c4e_u64);
    println!("TANGLEWOOD_SEED={seed}");
    let mut chance = world::chance::Chance::seeded(seed);
    let (mut refused, mut planned, mut unplanned) = (0, 0, 0);
    for _ in 0..MANGLED {
        let query = mangled(&texts, &mut chance);
        let Ok(statement) = cypher::compile(&query) else {
            refused += 1;
            continue;
        };
        match plan::optimize(statement, &plan::statistics::NothingKnown) {
            Ok(_) => planned += 1,
            Err(_) => unplanned += 1,
        }
    }
    println!("{refused} refused, {planned} planned, {unplanned} without a plan");
    assert!(refused > MANGLED / 4 && planned > MANGLED / 20, "the mix is off");
}

/// A query with a few words dropped, doubled, swapped, or taken from another.
fn mangled(texts: &[&str], chance: &mut world::chance::Chance) -> String {
    let mut pick = |bound: usize| chance.below(bound.max(1) as u64) as usize;
    let mut words = pieces(texts[pick(texts.len())]);
    let other = pieces(texts[pick(texts.len())]);
    for _ in 0..1 + pick(3) {
        let (at, from) = (pick(words.len()), pick(words.len()));
        match pick(4) {
            _ if words.is_empty() => break,
            0 => drop(words.remove(at)),
            1 => words.insert(at, words[from]),
            2 => words.swap(at, from),
            _ if other.is_empty() => break,
            _ => {
                let from = pick(other.len());
                let piece = &other[from..(from + 1 + pick(6)).min(other.len())];
                words.splice(at..at, piece.iter().copied());
            }
        }
    }
    words.concat()
}

/// Words, numbers, and every other letter for itself.
fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = |letter: char| letter.is_alphanumeric() || letter == '_';
        let end = if word(first) { rest.find(|letter| !word(letter)) } else { Some(first.len_utf8()) };
        let (piece, behind) = rest.split_at(end.unwrap_or(rest.len()));
        pieces.push(piece);
        rest = behind;
    }
    pieces
}
