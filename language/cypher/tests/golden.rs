//! Golden tests: query text in, canonical text or rendered error out.
//!
//! Each file in `tests/golden` holds cases of the form
//! ```text
//! >>> query, possibly over several lines
//! ---
//! what is expected
//! ```
//! Set `TANGLEWOOD_BLESS=1` to write what is found into the files, and read the difference as code.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod texts;

use std::path::Path;

use tanglewood_cypher as cypher;
use texts::{FORMS, REFUSED, TAKEN, WITH_A_HINT};

/// How far a query is taken.
#[derive(Clone, Copy)]
enum Stage {
    Tree,
    Plan,
}

/// The one check of this crate's border: what a query is understood as, or what is said against it.
fn check(query: &str, stage: Stage) -> String {
    let shown = match stage {
        Stage::Tree => cypher::parse(query).map(|statement| tree(query, &statement)),
        Stage::Plan => cypher::compile(query).map(|statement| plan_of(&statement)),
    };
    shown.unwrap_or_else(|error| error.render(query))
}

/// The canonical text, which must mean the same.
fn tree(query: &str, statement: &cypher::ast::Statement) -> String {
    let canonical = cypher::print(statement);
    let again = cypher::parse(&canonical);
    assert_eq!(again.as_ref(), Ok(statement), "{query}\nprints as\n{canonical}\nwhich is another statement");
    canonical
}

/// The operators of a query, its columns and parameters; other statements as they are.
fn plan_of(statement: &plan::Statement) -> String {
    let plan::StatementKind::Query { plan, columns } = &statement.kind else {
        return format!("{:?}", statement.kind);
    };
    let mut lines = Vec::new();
    operators(plan, &statement.variables, 0, &mut lines);
    let titles: Vec<&str> = columns.iter().map(|(name, _)| name.as_ref()).collect();
    lines.push(format!("columns: {}", titles.join(" | ")));
    if !statement.parameters.is_empty() {
        lines.push(format!("parameters: {}", statement.parameters.join(", ")));
    }
    if let Some(version) = &statement.as_of {
        let printer = plan::explain::text::Printer { variables: &statement.variables };
        lines.push(format!("as of: {}", printer.expr(version)));
    }
    lines.extend(statement.hints.iter().map(|hint| format!("hint: {hint}")));
    if let Some(batches) = &statement.in_transactions {
        let (size, on_error) = (&batches.size, &batches.on_error);
        let (reports, continues) = (batches.reports, batches.continues);
        lines.push(format!(
            "in transactions: size {size:?}, {on_error:?}, reports {reports}, continues {continues}"
        ));
        for part in [&batches.input, &batches.batch] {
            let plan::StatementKind::Query { plan, .. } = &part.kind else { continue };
            operators(plan, &part.variables, 1, &mut lines);
        }
    }
    if statement.mode != plan::statement::Mode::Run {
        lines.push(format!("mode: {:?}", statement.mode));
    }
    lines.join("\n")
}

/// The operators of a plan, with the edges and conditions of unordered patterns and the plans of sub-queries.
fn operators(plan: &plan::Plan, variables: &[plan::expr::Name], depth: usize, lines: &mut Vec<String>) {
    let printer = plan::explain::text::Printer { variables };
    let node = &plan::explain::nodes(plan, variables)[0];
    lines.push(format!("{}{} {}", "  ".repeat(depth), node.name, node.detail));
    let margin = "  ".repeat(depth + 3);
    if let plan::Plan::Match(found) = plan {
        for edge in &found.pattern.edges {
            let [var, from, to] = [edge.variable, edge.from, edge.to].map(|var| printer.var(var));
            let among = match edge.distinct_among {
                Some(0) => String::new(),
                Some(among) => format!(" distinct among {among}"),
                None => " repeats".to_string(),
            };
            let (direction, types) = (edge.direction, &edge.types);
            lines.push(format!("{margin}edge {var}: {from} {direction:?} {to} {types:?}{among}"));
            let Some(run) = &edge.run else { continue };
            let (min, max) = (run.min, run.max.map_or(String::new(), |max| max.to_string()));
            lines.push(format!("{margin}  run {min}..{max} {:?} {:?}", run.selector, run.mode));
            if let Some((each, predicate)) = &run.edge_predicate {
                lines.push(format!("{margin}  each {}: {}", printer.var(*each), printer.expr(predicate)));
            }
        }
        for predicate in &found.pattern.predicates {
            lines.push(format!("{margin}where {}", printer.expr(predicate)));
        }
        lines.extend(found.optional.then(|| format!("{margin}optional")));
    }
    plan.expressions(&mut |expr| {
        subqueries(expr, &mut |subquery| {
            lines.push(format!("{margin}{:?}", subquery.kind));
            operators(&subquery.plan, variables, depth + 4, lines);
        });
    });
    for child in plan.children() {
        operators(child, variables, depth + 1, lines);
    }
}

fn subqueries(expr: &plan::Expr, visit: &mut dyn FnMut(&plan::expr::Subquery)) {
    if let plan::Expr::Subquery(subquery) = expr {
        visit(subquery);
    }
    expr.children(&mut |child| subqueries(child, visit));
}

struct Case {
    query: String,
    expected: String,
}

fn cases(text: &str) -> Vec<Case> {
    let blocks = text.split(">>> ").skip(1);
    let case = |block: &str| {
        let (query, expected) =
            block.split_once("\n---\n").expect("a case has a query, --- and what is expected");
        Case { query: query.to_string(), expected: expected.trim_end().to_string() }
    };
    blocks.map(case).collect()
}

fn run(name: &str, stage: Stage) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    let text = std::fs::read_to_string(&path).unwrap();
    let header = text.split(">>> ").next().unwrap().to_string();
    let bless = std::env::var_os("TANGLEWOOD_BLESS").is_some();
    let mut blessed = header;
    let mut failures = Vec::new();
    for case in cases(&text) {
        let found = check(&case.query, stage);
        let trimmed: Vec<&str> = found.lines().map(str::trim_end).collect();
        let found = trimmed.join("\n");
        blessed.push_str(&format!(">>> {}\n---\n{found}\n\n", case.query));
        if found != case.expected {
            failures.push(format!("{}\nexpected:\n{}\nfound:\n{found}\n", case.query, case.expected));
        }
    }
    if bless {
        let blessed = blessed.trim_end().to_string() + "\n";
        // Another test reads these files meanwhile.
        if blessed != text {
            std::fs::write(&path, blessed).unwrap();
        }
    } else {
        assert!(failures.is_empty(), "{} cases of {name} differ:\n\n{}", failures.len(), failures.join("\n"));
    }
}

/// Every text of all files and tables, taken as far as a plan. What each is there for is its tree, or that it is refused; here is what becomes
/// of it, or its error with code and place.
#[test]
fn every_text_has_its_plan_or_its_error() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let files = ["expressions.txt", "patterns.txt", "clauses.txt", "schema.txt", "errors.txt"];
    let mut queries: Vec<String> =
        files.iter().flat_map(|name| cases(&read(name))).map(|case| case.query).collect();
    let tables = [FORMS, REFUSED, TAKEN, WITH_A_HINT];
    queries.extend(tables.iter().flat_map(|table| table.iter()).map(|query| query.to_string()));
    let mut told = String::new();
    for query in queries {
        // What is printed of it is the same statement.
        if let Ok(statement) = cypher::parse(&query) {
            tree(&query, &statement);
        }
        let shown = cypher::compile(&query).map(|statement| plan_of(&statement)).unwrap_or_else(|error| {
            format!("{} at {}..{}\n{}", error.code(), error.span.start, error.span.end, error.render(&query))
        });
        let trimmed: Vec<&str> = shown.lines().map(str::trim_end).collect();
        told.push_str(&format!(">>> {query}\n---\n{}\n\n", trimmed.join("\n")));
    }
    if std::env::var_os("TANGLEWOOD_BLESS").is_some() {
        return std::fs::write(folder.join("every.txt"), told).unwrap();
    }
    for (found, expected) in cases(&told).iter().zip(cases(&read("every.txt"))) {
        assert_eq!((&found.query, &found.expected), (&expected.query, &expected.expected));
    }
    assert_eq!(told.len(), read("every.txt").len());
}

#[test]
fn expressions() {
    run("expressions.txt", Stage::Tree);
}

#[test]
fn patterns() {
    run("patterns.txt", Stage::Tree);
}

#[test]
fn clauses() {
    run("clauses.txt", Stage::Tree);
}

#[test]
fn schema() {
    run("schema.txt", Stage::Tree);
}

#[test]
fn errors() {
    run("errors.txt", Stage::Tree);
}

#[test]
fn plans() {
    run("plans.txt", Stage::Plan);
}

#[test]
fn semantics() {
    run("semantics.txt", Stage::Plan);
}
