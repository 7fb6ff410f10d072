//! Traversals lowered to the algebra: the plan of each, or that it has none and is walked step by step. The expected plans are in
//! `tests/lowered.txt`; `TANGLEWOOD_BLESS=1` writes them anew, and the difference is then read like code.
#![allow(clippy::disallowed_methods)]

mod texts;

use plan::explain::text::Printer;
use plan::{Expr, Plan, Statement, StatementKind};
use std::fmt::Write;
use tanglewood_gremlin::limits::{FORMULA_OPERATORS_MAX, PLANNED_INSTRUCTIONS_MAX};
use tanglewood_gremlin::shape::{constants, hash, is_same};
use tanglewood_gremlin::{
    Bindings, Footprint, Request, Traversal, check, footprint, lower, lower_with, parse,
};
use texts::TEXTS;

fn traversal(text: &str) -> Traversal {
    match parse(text, &Bindings::new()).unwrap_or_else(|error| panic!("{}", error.render(text))).remove(0) {
        Request::Traversal(traversal, _) => traversal,
        other => panic!("{text}: {other:?}"),
    }
}

/// A plan in lines, and behind it the edges and conditions of its patterns; then those of its sub-queries.
fn draw(statement: &Statement, plan: &Plan, indent: &str, told: &mut String) {
    let print = Printer { variables: &statement.variables };
    let kind = StatementKind::Query { plan: plan.clone(), columns: Vec::new() };
    let shown = plan::explain::render(&Statement { kind, ..statement.clone() }, &[], None);
    for line in shown.lines().skip(1) {
        let words: Vec<&str> =
            line.trim().split("  ").map(str::trim).filter(|part| !part.is_empty()).collect();
        let depth = line.len() - line.trim_start().len();
        let _ = writeln!(told, "{indent}{}{}", " ".repeat(depth), words.join("  "));
    }
    let mut inner = Vec::new();
    plan.any(&mut |node| {
        if let Plan::Match(found) = node {
            for edge in &found.pattern.edges {
                let [from, edge_var, to] = [edge.from, edge.variable, edge.to].map(|var| print.var(var));
                let run = edge
                    .run
                    .as_ref()
                    .map_or(String::new(), |run| format!(" {}..{:?} {:?}", run.min, run.max, run.mode));
                let types = edge.types.join("|");
                let way = format!("({from}) {:?} [{edge_var}:{types}{run}] ({to})", edge.direction);
                let _ = writeln!(told, "{indent}where {way}");
            }
            for predicate in &found.pattern.predicates {
                let _ = writeln!(told, "{indent}where {}", print.expr(predicate));
            }
        }
        node.expressions(&mut |expr| {
            expr.any(&mut |part| {
                if let Expr::Subquery(subquery) = part {
                    inner.push((**subquery).clone());
                }
                false
            });
        });
        false
    });
    for subquery in inner {
        let imports: Vec<String> = subquery.imports.iter().map(|import| print.var(*import)).collect();
        let hint = subquery.hint.map_or(String::new(), |hint| format!(" {hint:?}"));
        let _ = writeln!(told, "{indent}{:?} of {}{hint}", subquery.kind, imports.join(", "));
        draw(statement, &subquery.plan, &format!("{indent}  "), told);
    }
}

#[test]
fn each_traversal_has_its_plan() {
    let mut told = String::new();
    for text in TEXTS {
        let _ = writeln!(told, "{text}");
        let traversal = match parse(text, &Bindings::new()) {
            Ok(_) => traversal(text),
            Err(error) => {
                let _ = writeln!(told, "    {error}");
                continue;
            }
        };
        let read = footprint(&traversal);
        let _ = writeln!(told, "    reads {}", said_of(&read));
        let kept: Vec<String> =
            constants(&traversal).iter().map(|one| format!("{:?}", one.value())).collect();
        if !kept.is_empty() {
            let _ = writeln!(told, "    asks {}", kept.join(", "));
        }
        if let Err(error) = check(&traversal) {
            let _ = writeln!(told, "    {error}");
        }
        match lower(&traversal) {
            None => told.push_str("    walked step by step\n"),
            Some(lowered) => {
                let StatementKind::Query { plan, columns } = &lowered.statement.kind else {
                    panic!("{text} is a query")
                };
                draw(&lowered.statement, plan, "    ", &mut told);
                let print = Printer { variables: &lowered.statement.variables };
                lowered.statement.hints.iter().for_each(|hint| told.push_str(&format!("    hint {hint}\n")));
                let columns: Vec<String> = columns.iter().map(|(_, var)| print.var(*var)).collect();
                let _ = writeln!(told, "    {} as {:?}", columns.join(", "), lowered.result);
            }
        }
    }
    let file = format!("{}/tests/lowered.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var("TANGLEWOOD_BLESS").is_ok() {
        return std::fs::write(file, told).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    for (expected, told) in expected.lines().zip(told.lines()) {
        assert_eq!(told, expected);
    }
    assert_eq!(told.lines().count(), expected.lines().count());
}

/// What is read of the graph, as a line.
fn said_of(read: &Footprint<'_>) -> String {
    let mut told = read.names.clone();
    told.extend(read.every_key.then_some("every key"));
    told.extend(read.ids.then_some("ids"));
    if told.is_empty() { "nothing by name".into() } else { told.join(", ") }
}

/// All texts that are gremlin-lang, as traversals.
fn traversals() -> Vec<Traversal> {
    let parsed = |text: &&str| match parse(text, &Bindings::new()).ok()?.remove(0) {
        Request::Traversal(traversal, _) => Some(traversal),
        _ => None,
    };
    TEXTS.iter().filter_map(parsed).collect()
}

/// What is printed of a traversal is read as the same.
#[test]
fn each_traversal_reads_back() {
    for first in traversals() {
        let printed = first.to_string();
        let is_same = traversal(&printed) == first || printed.contains("NaN");
        assert!(is_same && traversal(&printed).to_string() == printed, "{printed}");
    }
    for float in ["Infinity", "-Infinity", "NaN", "0.0", "-0.0", "1.5"] {
        let printed = traversal(&format!("g.inject({float})")).to_string();
        assert_eq!(traversal(&printed).to_string(), printed, "{float}");
        assert!(printed.contains(float), "{printed}");
    }
}

/// The same traversal asked of other constants: the shape that plans are kept by.
#[test]
fn traversals_of_one_shape_have_one_plan() {
    let others = |text: &str| {
        text.replace("1)", "31)")
            .replace("(1,", "(31,")
            .replace("'x'", "'other'")
            .replace("5)", "35)")
            .replace("1.5", "2.5")
    };
    let mut all = traversals();
    all.extend(TEXTS.iter().filter(|text| parse(text, &Bindings::new()).is_ok()).map(|text| {
        let other = others(text);
        traversal(&other)
    }));
    let plans: Vec<_> = all.iter().map(lower).collect();
    let hashes: Vec<u64> = all.iter().map(hash).collect();
    let mut shared = 0;
    for (at, one) in all.iter().enumerate() {
        for (behind, other) in all.iter().enumerate().skip(at + 1) {
            let is_one = is_same(one, other);
            assert_eq!(is_one, is_same(other, one), "{one} and {other}");
            if is_one {
                shared += 1;
                assert_eq!(plans[at], plans[behind], "{one} and {other}");
                assert_eq!(hashes[at], hashes[behind], "{one} and {other}");
                assert_eq!(constants(one).len(), constants(other).len(), "{one} and {other}");
            }
        }
    }
    assert!(shared > TEXTS.len() / 2, "{shared}");
}

/// Whole numbers of a key that is wide are shown so, whatever is made of them.
#[test]
fn wide_keys_are_shown_as_wide() {
    let cases = [
        ("g.V().values('k')", "Rows(Wide)"),
        ("g.V().values('l')", "Rows(Plain)"),
        ("g.E().values('k')", "Rows(Wide)"),
        ("g.V().values('k').sum()", "Rows(Wide)"),
        ("g.V().values('k').mean()", "Rows(Plain)"),
        ("g.V().values('k').is(3)", "Rows(Wide)"),
        ("g.V().values('k').fold()", "Rows(List(Wide))"),
        ("g.V().values('k').fold().unfold()", "Rows(Wide)"),
        ("g.V().has('k', gt(1)).values('k').max()", "Rows(Wide)"),
        ("g.V().project('a', 'b').by('k').by('l')", r#"Records([("a", Wide), ("b", Plain)])"#),
        ("g.V().project('a').by(values('k').math('_ + 1'))", r#"Records([("a", Plain)])"#),
        ("g.V().project('a').by(out().values('k'))", r#"Records([("a", Wide)])"#),
        ("g.V().groupCount().by('k')", "Map(Wide, Long)"),
        ("g.V().group().by('l').by('k')", "Map(Plain, List(Wide))"),
        ("g.V().groupCount().by('k').unfold()", "Entries(Wide, Long)"),
        ("g.V().union(values('k'), out().values('k'))", "Rows(Wide)"),
        ("g.V().as('x').out().select('x').by('k')", "Rows(Wide)"),
        ("g.V().out().values('k').path()", "Paths([([], Plain), ([], Plain), ([], Wide)])"),
    ];
    for (text, expected) in cases {
        let lowered = lower_with(&traversal(text), &["k".into()]).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(format!("{:?}", lowered.result), expected, "{text}");
    }
    // What is wide in one branch and not in the other is for the machine.
    assert!(lower_with(&traversal("g.V().union(values('k'), values('l'))"), &["k".into()]).is_none());
    assert!(lower(&traversal("g.V().union(values('k'), values('l'))")).is_some());
}

/// A text of so many.
type Make<'m> = &'m dyn Fn(usize) -> String;

/// As much as a limit allows is planned, one more is walked.
#[test]
fn plans_are_made_up_to_their_limits() {
    let steps = |step: &str, count: usize| format!("g.V(){}", step.repeat(count));
    let formula = |operators: usize| format!("g.V().values('k').math('_{}')", " + 1".repeat(operators));
    let deep =
        |levels: usize| format!("g.V().values('k').math('{}_{}')", "(".repeat(levels), ")".repeat(levels));
    let beside = format!("g.V().values('k').math('{}')", vec!["(_)"; 40].join("*"));
    assert!(lower(&traversal(&beside)).is_some(), "parentheses that are closed are not deep");
    let cases: [(&str, usize, Make<'_>); 5] = [
        ("instructions", PLANNED_INSTRUCTIONS_MAX - 1, &|count| steps(".identity()", count)),
        ("hops", 40, &|count| steps(".out('r')", count)),
        ("rounds", 8, &|count| format!("g.V().repeat(outE('r').inV()).times({count})")),
        ("operators", FORMULA_OPERATORS_MAX, &formula),
        ("parentheses", 16, &deep),
    ];
    for (name, most, text) in cases {
        assert!(lower(&traversal(&text(most))).is_some(), "{name}");
        assert!(lower(&traversal(&text(most + 1))).is_none(), "{name}");
    }
    let written = |signs: &str| lower(&traversal(&format!("g.V().values('k').math('{signs}')"))).is_some();
    for right in ["_", " _ ", "1", "1.5", "_*_", "_ - 1 / _", "( _ + 1 ) * 2", "((_))"] {
        assert!(written(right), "{right}");
    }
    for wrong in [
        "", " ", "_ _", "_ +", "+ _", "(_", "_)", "()", "sin(_)", "sin (_)", "_ % 2", "_ ^ 2", "x", "1.5.5",
        ".5",
    ] {
        assert!(!written(wrong), "{wrong}");
    }
}
