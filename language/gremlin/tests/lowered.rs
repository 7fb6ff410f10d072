//! What the algebra makes of traversals: the plan of each, or that it has none and is walked step by step. The expected plans are in
//! `tests/lowered.txt`; `TANGLEWOOD_BLESS=1` writes them anew, and the difference is then read like code.
#![allow(clippy::unwrap_used, clippy::disallowed_methods)]

use plan::explain::text::Printer;
use plan::{Expr, Plan, StatementKind};
use std::fmt::Write;
use tanglewood_gremlin::{Bindings, Request, Traversal, check, lower, parse};

const TEXTS: &[&str] = &[
    "g.V()",
    "g.V(1)",
    "g.V(1, 2)",
    "g.E()",
    "g.V().hasLabel('a')",
    "g.V().hasLabel('a', 'b')",
    "g.V().hasNot('k')",
    "g.V().has('k')",
    "g.V().has('k', 1)",
    "g.V().has('a', 'k', 1)",
    "g.V().has('k', gt(1))",
    "g.V().has('k', neq(1))",
    "g.V().has('k', lte(1).and(gt(5)))",
    "g.V().has('k', lt(1).or(gte(5)))",
    "g.V().has('k', between(1, 5))",
    "g.V().has('k', inside(1, 5))",
    "g.V().has('k', outside(1, 5))",
    "g.V().has('k', within(1, 'x'))",
    "g.V().has('k', without(1, 'x'))",
    "g.V().has('k', within())",
    "g.V().has('k', startingWith('x'))",
    "g.V().has('k', notEndingWith('x'))",
    "g.V().has('k', containing('x'))",
    "g.V().has('k', TextP.regex('x'))",
    "g.V().hasId(1, 2)",
    "g.V().has(T.label, 'a')",
    "g.V().has(T.id, 3)",
    "g.V().out()",
    "g.V().out('r', 's')",
    "g.V().in('r')",
    "g.V().both('r')",
    "g.V().outE('r')",
    "g.V().inE().outV()",
    "g.V().bothE('r').otherV()",
    "g.V().outE('r').inV()",
    "g.V().outE('r').has('w', gt(1)).inV()",
    "g.E().bothV()",
    "g.E().hasLabel('r').has('w', 1)",
    "g.V().values('k')",
    "g.V().values('k', 'l')",
    "g.V().values()",
    "g.V().id()",
    "g.V().label()",
    "g.V().count()",
    "g.V().out().count()",
    "g.V().values('k').sum()",
    "g.V().values('k').min()",
    "g.V().values('k').max()",
    "g.V().values('k').mean()",
    "g.V().fold()",
    "g.V().dedup()",
    "g.V().out().dedup()",
    "g.V().dedup().by('k')",
    "g.V().limit(3)",
    "g.V().skip(2).limit(3)",
    "g.V().range(2, 5)",
    "g.V().tail(2)",
    "g.V().order().by('k')",
    "g.V().order().by('k', desc).limit(3)",
    "g.V().order().by(T.id)",
    "g.V().values('k').order()",
    "g.V().as('x').out().as('y').select('x', 'y')",
    "g.V().as('x').out().select('x')",
    "g.V().as('x').out().as('y').select('x', 'y').by('k')",
    "g.V().as('x').out().as('y').where('x', neq('y'))",
    "g.V().as('x').out().where(eq('x'))",
    "g.V().as('x').out().where(neq('x')).by('k')",
    "g.V().where(out('r'))",
    "g.V().where(out('r').count().is(gt(2)))",
    "g.V().not(out('r'))",
    "g.V().and(out('r'), in('s'))",
    "g.V().or(out('r'), has('k', 1))",
    "g.V().filter(out('r').has('k', 1))",
    "g.V().values('k').is(3)",
    "g.V().values('k').is(gt(3))",
    "g.V().repeat(out('r')).times(3)",
    "g.V().repeat(out('r')).times(3).emit()",
    "g.V().emit().repeat(out('r')).times(2)",
    "g.V().repeat(out('r')).until(has('k', 1))",
    "g.V().repeat(out('r').has('k', 2)).times(2).count()",
    "g.V().repeat(both('r')).times(2).dedup()",
    "g.V().group().by('k')",
    "g.V().group().by('k').by(count())",
    "g.V().groupCount().by('k')",
    "g.V().groupCount().by(label)",
    "g.V().groupCount()",
    "g.V().union(out('r'), in('s'))",
    "g.V().coalesce(out('r'), in('s'))",
    "g.V().optional(out('r'))",
    "g.V().choose(has('k', 1), out('r'), in('s'))",
    "g.V().local(out('r').limit(1))",
    "g.V().project('a', 'b').by('k').by(out().count())",
    "g.V().path()",
    "g.V().out().path().by('k')",
    "g.V().valueMap()",
    "g.V().elementMap()",
    "g.V().values('k').math('_ * 2 + 1')",
    "g.V().values('k').math('sqrt(_) - 2 ^ 3 / (4 % 3)')",
    "g.V().as('x').values('k').as('y').math('y + 1')",
    "g.V().constant(7)",
    "g.V().identity()",
    "g.V().none()",
    "g.V().unfold()",
    "g.inject(1, 2)",
    "g.V().sideEffect(out())",
    "g.V().aggregate('x')",
    "g.V().property('k', 1)",
    "g.addV('a')",
    "g.V().drop()",
    "g.V().properties('k')",
    "g.V().match(__.as('x').out('r').as('y'))",
    "g.V().simplePath()",
    "g.V().out().in().simplePath()",
    "g.V().cyclicPath()",
    "g.with('evaluationTimeout', 100).V().out()",
    "g.withStrategies(ReadOnlyStrategy).V()",
    "g.withoutStrategies(ReadOnlyStrategy).V()",
    "g.V().sample(2)",
    "g.V().coin(0.5)",
    "g.V().timeLimit(5)",
    "g.V().barrier()",
    "g.V().shortestPath()",
    "g.V().subgraph('x')",
    "g.V().values('k').concat('x')",
    "g.V().values('k').length()",
    "g.V().values('k').toUpper()",
    "g.V().values('k').asDate()",
    "g.V().values('k').filter(gt(1))",
    "g.V().filter(gt(1))",
    "g.V().is(gt(1))",
    "g.V().mean()",
    "g.V().sum()",
    "g.V().min()",
    "g.V().out().count().min()",
    "g.V().math('_ + 1')",
    "g.V().values('k').dedup().fold()",
    "g.V().values('k').dedup().sum()",
    "g.V().group().by('k').by(values('l').sum())",
    "g.V().group().by('k').by(values('l').mean())",
    "g.V().group().by('k').by(values('l').min())",
    "g.V().group().by('k').by(values('l').dedup().count())",
    "g.V().group().by('k').by(dedup().count())",
    "g.V().group().by('k').by(mean())",
    "g.V().repeat(outE('r').inV()).times(2)",
    "g.V().repeat(outE('r')).times(2)",
    "g.V().repeat(values('k')).times(2)",
    "g.V().repeat(in('r')).times(0)",
    "g.V().has('k', typeOf(GType.INT))",
    "g.withStrategies(new SubgraphStrategy(vertices: __.hasLabel('a'))).V()",
    "g.withStrategies(new SeedStrategy(seed: 3)).V()",
    "g.with('noSuchOption', 1).V()",
    "g.V().project('a').by(values('k').is(gt(1)))",
    "g.V().project('a').by(out().is(gt(1)))",
    "g.V().project('a').by(values('k').math('_ - 1'))",
];

fn traversal(text: &str) -> Traversal {
    match parse(text, &Bindings::new()).unwrap_or_else(|error| panic!("{}", error.render(text))).remove(0) {
        Request::Traversal(traversal, _) => traversal,
        other => panic!("{text}: {other:?}"),
    }
}

/// Edges and conditions of every pattern, those of sub-queries too.
fn patterns(plan: &Plan, print: &Printer<'_>, told: &mut Vec<String>) {
    let mut inner: Vec<Plan> = Vec::new();
    plan.any(&mut |node| {
        if let Plan::Match(found) = node {
            for edge in &found.pattern.edges {
                let [from, edge_var, to] = [edge.from, edge.variable, edge.to].map(|var| print.var(var));
                let run = edge
                    .run
                    .as_ref()
                    .map_or(String::new(), |run| format!(" {}..{:?} {:?}", run.min, run.max, run.mode));
                let types = edge.types.join("|");
                told.push(format!("({from}) {:?} [{edge_var}:{types}{run}] ({to})", edge.direction));
            }
            told.extend(found.pattern.predicates.iter().map(|predicate| print.expr(predicate)));
        }
        node.expressions(&mut |expr| {
            expr.any(&mut |part| {
                if let Expr::Subquery(subquery) = part {
                    inner.push(subquery.plan.clone());
                }
                false
            });
        });
        false
    });
    inner.iter().for_each(|plan| patterns(plan, print, told));
}

#[test]
fn each_traversal_has_its_plan() {
    let mut told = String::new();
    for text in TEXTS {
        let traversal = traversal(text);
        let _ = writeln!(told, "{text}");
        match lower(&traversal) {
            None => {
                let refused = check(&traversal).err().map_or(String::new(), |error| format!(": {error}"));
                let _ = writeln!(told, "    walked step by step{refused}");
            }
            Some(lowered) => {
                let plan = plan::explain::render(&lowered.statement, &[], None);
                let shown = plan.lines().skip(1).map(|line| {
                    let words: Vec<&str> =
                        line.trim().split("  ").map(str::trim).filter(|part| !part.is_empty()).collect();
                    let indent = line.len() - line.trim_start().len();
                    format!("    {}{}\n", " ".repeat(indent), words.join("  "))
                });
                told.extend(shown);
                let StatementKind::Query { plan, columns } = &lowered.statement.kind else {
                    panic!("{text} is a query")
                };
                let print = Printer { variables: &lowered.statement.variables };
                let mut parts = Vec::new();
                patterns(plan, &print, &mut parts);
                told.extend(parts.iter().map(|part| format!("    where {part}\n")));
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

/// What is printed of a traversal is read as the same.
#[test]
fn each_traversal_reads_back() {
    for text in TEXTS {
        let first = traversal(text);
        let printed = first.to_string();
        assert_eq!(traversal(&printed), first, "{text} -> {printed}");
    }
    for float in ["Infinity", "-Infinity", "NaN", "0.0", "-0.0", "1.5"] {
        let printed = traversal(&format!("g.inject({float})")).to_string();
        assert_eq!(traversal(&printed).to_string(), printed, "{float}");
        assert!(printed.contains(float), "{printed}");
    }
}
