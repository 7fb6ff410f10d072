//! Patterns that close a cycle: the plan with intersections against the pattern tried out, on random graphs; and one such plan as text.
//! `TANGLEWOOD_SEED` replays one case, `TANGLEWOOD_BLESS=1` writes the plan anew.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::support;

use model::Direction::{Both, In, Out};
use support::build::*;
use support::chance::Chance;
use support::evaluate::Row;
use support::figures::Figures;
use support::graph::*;
use support::run::{run, same};
use tanglewood_plan::expr::*;
use tanglewood_plan::{Plan, Statement, StatementKind, estimates, explain, optimize};

const CASES: u64 = 3_000;

fn plan_of(statement: &Statement) -> &Plan {
    let StatementKind::Query { plan, .. } = &statement.kind else { unreachable!("only queries are written") };
    plan
}

/// A vertex that two or three given ones are joined with, and a test of it; edges are seldom asked for.
fn statement(chance: &mut Chance) -> Statement {
    let mut table = Table::default();
    let ends: Vec<Var> = (0..2 + chance.below(2)).map(|at| table.var(&format!("v{at}"))).collect();
    let middle = table.var("x");
    let mut before = PatternText::default();
    let mut pattern = PatternText::default().vertex(middle, chance.pick(&["", LABELS[0]]));
    for end in &ends {
        before = before.vertex(*end, chance.pick(&["", LABELS[0], LABELS[1]]));
        pattern = pattern.vertex(*end, "");
    }
    // What stands between keeps the clauses from being ordered as one.
    let given = distinct(before.over(Plan::Unit), ends.clone());
    let mut kept = ends.clone();
    for (at, end) in ends.iter().enumerate() {
        let edge = table.var(&format!("e{at}"));
        // Different types can be no one edge, so that no test reads them.
        let edge_type = if chance.percent(80) { TYPES[at % TYPES.len()] } else { chance.pick(&TYPES) };
        pattern = match chance.percent(50) {
            true => pattern.edge(edge, *end, middle, edge_type, chance.pick(&[Out, In, Both])),
            false => pattern.edge(edge, middle, *end, edge_type, chance.pick(&[Out, In, Both])),
        };
        if chance.percent(10) {
            kept.push(edge);
        }
    }
    if chance.percent(40) {
        pattern = pattern.so_that(equal(Expr::property(middle, KEYS[0]), 1_i64));
    }
    if chance.percent(70) {
        kept.push(middle);
    }
    let items = kept.iter().map(|var| (*var, read(*var))).collect();
    let plan = project(pattern.over(given), items);
    table.query(plan, &kept)
}

#[test]
fn intersections_meet_what_the_pattern_means() {
    let replay = std::env::var("TANGLEWOOD_SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    let (mut met, seeds) = (0, replay.map_or(0..CASES, |seed| seed..seed + 1));
    let cases = seeds.end - seeds.start;
    for seed in seeds {
        let mut chance = Chance(seed);
        let graph = Graph::random(&mut chance);
        let statement = statement(&mut chance);
        let planned = optimize(statement.clone(), &RandomFigures(chance.next())).unwrap();
        let mut slow = run(&graph, plan_of(&statement), &Row::new());
        let fast = run(&graph, plan_of(&planned), &Row::new());
        let has_all = slow.len() == fast.len()
            && fast.iter().all(|row| {
                let at = slow.iter().position(|other| same(row, other));
                at.map(|at| slow.swap_remove(at)).is_some()
            });
        assert!(has_all, "TANGLEWOOD_SEED={seed}: {slow:?}\n{fast:?}\n{statement:#?}\n{planned:#?}");
        met += u64::from(plan_of(&planned).any(&mut |node| matches!(node, Plan::Intersect(_))));
    }
    assert!(replay.is_some() || met > cases / 4, "only {met} of {cases} plans intersect");
}

/// A post of a friend that carries a tag that the person is interested in: the interests are met from two sides.
#[test]
fn a_cycle_of_three_types_as_text() {
    const FIGURES: &str = "all 60000; Person 5000; Post 50000; Tag 1000; edges 300000; MADE> 50000; MADE< 50000; HAS> 100000; \
        HAS< 100000; LIKES> 50000; LIKES< 50000; Person MADE> 50000; Post MADE< 50000; Post HAS> 100000; Tag HAS< 100000; \
        Person LIKES> 50000; Tag LIKES< 50000; far MADE> Post 1; far HAS> Tag 1; far LIKES> Tag 1; far MADE< Person 1; \
        far HAS< Post 1; far LIKES< Person 1; index Person(name) 5000";
    let mut t = Table::default();
    let (p, post, tag) = (t.var("p"), t.var("post"), t.var("tag"));
    let (made, has, likes) = (t.var("made"), t.var("has"), t.var("likes"));
    let pattern = PatternText::default()
        .vertex(p, "Person")
        .vertex(post, "Post")
        .vertex(tag, "Tag")
        .edge(made, p, post, "MADE", Out)
        .edge(has, post, tag, "HAS", Out)
        .edge(likes, p, tag, "LIKES", Out)
        .so_that(equal(Expr::property(p, "name"), model::Value::string("Ada")));
    let kept = [post, tag];
    let plan = project(pattern.over(Plan::Unit), kept.iter().map(|var| (*var, read(*var))).collect());
    let figures = Figures::new(FIGURES);
    let planned = optimize(t.query(plan, &kept), &figures).unwrap();
    let told = explain::render(&planned, &estimates(plan_of(&planned), &figures), None);
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/plans/intersect.txt");
    if std::env::var("TANGLEWOOD_BLESS").is_ok() {
        return std::fs::write(file, told).unwrap();
    }
    let expected = std::fs::read_to_string(file).unwrap_or_default();
    assert!(told == expected, "expected\n{expected}\ngot\n{told}");
}
