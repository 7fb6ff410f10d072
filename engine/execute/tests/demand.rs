//! Demand: rows are those of the obvious twins, and no operator makes more than is wanted of it.
//!
//! Random plans with LIMIT and tests at random places stand beside an interpreter without demand, and beside the same plan with all demand
//! switched off. Which rows a LIMIT leaves is free: inside a plan they are only counted, at the top they must be among the right ones, and as
//! many. Then every operator that makes rows of rows is put below every kind of demand, and what it made is counted. `EXECUTE_SEED` replays one
//! case; `EXECUTE_CASES` sets how many are run.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::support;

use model::{Direction, Value};
use plan::algebra::*;

use plan::expr::BinaryOperator;
use plan::pattern::{PathMode, PatternVertex, Selector};
use plan::scope::{Scope, ScopeReason};
use plan::statement::Mode;
use plan::{Expr, LabelExpr, Plan, Var};
use support::build::*;
use support::maker::Maker;
use support::twin::Row;
use support::{Graph, TwinVertex, drain, engine, random_graph, runtime, same, sorted, twin};
use tanglewood_execute::{Access, ExecuteOptions, Execution, Parameters, Ready};
use world::chance::Chance;

/// The same plan, in which nothing ends before its time.
fn without_demand(plan: &Plan) -> Plan {
    let mut plan = plan.clone();
    let off = &mut |node: &mut Plan| {
        match node {
            Plan::Limit(node) => node.scope = Scope::off(ScopeReason::Off),
            Plan::Apply(node) => node.scope.early = false,
            _ => {}
        }
        Ok::<(), ()>(())
    };
    plan.bottom_up(off).unwrap();
    plan
}

/// Rows of `found` that `all` does not have, each as often as it has it.
fn foreign(found: &[Vec<Value>], all: &[Vec<Value>]) -> usize {
    let mut left = all.to_vec();
    let is_foreign = |row: &&Vec<Value>| match left
        .iter()
        .position(|other| same(std::slice::from_ref(*row), std::slice::from_ref(other)))
    {
        Some(at) => {
            left.swap_remove(at);
            false
        }
        None => true,
    };
    found.iter().filter(is_foreign).count()
}

fn rows_of(graph: &Graph, plan: &Plan, vars: &[Var], executors: usize, batch_rows: usize) -> Vec<Vec<Value>> {
    let options = ExecuteOptions { batch_rows, ..ExecuteOptions::default() };
    let access = Access::Read(graph.engine.snapshot());
    support::start(executors, access, plan.clone(), vars, options)
        .and_then(|mut rows| drain(&mut rows))
        .unwrap()
}

/// What stands between a LIMIT at the top and the rows it takes: one row at least of each row.
fn pass_on(maker: &mut Maker<'_>, plan: Plan, vertex: Option<u32>) -> Plan {
    let (new, other) = (maker.fresh(), maker.fresh());
    let Some(vertex) = vertex else { return extend(plan, vec![(new, int(1))]) };
    let out = Plan::Expand(Box::new(expand(argument(&[vertex]), vertex, None, other, &[], Direction::Out)));
    match maker.chance.below(4) {
        0 => extend(plan, vec![(new, int(1))]),
        1 => apply(plan, out, &[vertex], ApplyKind::Exists(Var(new))),
        2 => apply(plan, limit(out, 2), &[vertex], ApplyKind::Count(Var(new))),
        _ => plan,
    }
}

fn check(seed: u64) {
    let mut chance = Chance::seeded(seed);
    let (vertices, edges) = (1 + chance.index(14), chance.index(30));
    let graph = random_graph(&mut chance, vertices, edges);
    let mut maker = Maker { limits: true, ..Maker::new(&mut chance) };
    let mut draft = maker.leaf();
    for _ in 0..1 + maker.chance.below(5) {
        let grown = maker.grow(draft.clone(), 2);
        if twin::rows(&graph, &grown.plan, &Row::new()).len() < 2_000 {
            draft = grown;
        }
    }
    let columns: Vec<u32> = Maker::columns(&draft);
    let bags: Vec<u32> = draft.bags.clone();
    // Lists without an order differ from run to run.
    let vars: Vec<Var> = columns.iter().filter(|at| !bags.contains(at)).map(|at| Var(*at)).collect();
    if vars.is_empty() {
        return;
    }
    let row = |row: &Row| vars.iter().map(|var| row.get(var).cloned().unwrap_or_default()).collect();
    let all: Vec<Vec<Value>> = twin::rows(&graph, &draft.plan, &Row::new()).iter().map(row).collect();
    let (drop, take) = (maker.chance.below(3) as i64, maker.chance.below(8) as i64);
    let vertex = draft.vertices.first().copied();
    let whole = pass_on(&mut maker, draft.plan.clone(), vertex);
    let plan = if drop > 0 { limit(skip(whole, drop), take) } else { limit(whole, take) };
    let right = all.len().saturating_sub(drop as usize).min(take as usize);
    let shown = || plan::explain::render(&statement(plan.clone(), &[]), &[], None);
    let hold = |found: &[Vec<Value>], how: &str| {
        assert_eq!(found.len(), right, "EXECUTE_SEED={seed}, {how}: rows\n{}", shown());
        assert_eq!(foreign(found, &all), 0, "EXECUTE_SEED={seed}, {how}: {found:?}\n{}", shown());
    };
    let off = without_demand(&plan);
    for (executors, batch_rows) in [(1, 7), (2, 1_000), (4, 2)] {
        hold(&rows_of(&graph, &plan, &vars, executors, batch_rows), &format!("{executors} executors"));
        hold(&rows_of(&graph, &off, &vars, executors, batch_rows), "without demand");
        let found = sorted(rows_of(&graph, &draft.plan, &vars, executors, batch_rows));
        assert!(same(&found, &sorted(all.clone())), "EXECUTE_SEED={seed}: all rows\n{}", shown());
    }
    let (whole, options) = (statement(plan.clone(), &vars), ExecuteOptions::default());
    let ready = Ready::new(&whole);
    // Of a plan that is a line, two runs of what is compiled once.
    for _ in 0..2 {
        let access = Access::Read(graph.engine.snapshot());
        if let Some(mut stream) = ready.try_here(&whole, access, &Default::default(), &options).unwrap() {
            hold(&drain(&mut stream).unwrap(), "here");
        }
    }
}

#[test]
fn a_limit_leaves_as_many_of_the_right_rows() {
    if let Ok(seed) = std::env::var("EXECUTE_SEED") {
        return check(seed.parse().unwrap());
    }
    let cases = std::env::var("EXECUTE_CASES").map_or(300_u64, |cases| cases.parse().unwrap());
    (0..cases).for_each(check);
}

/// Everybody knows everybody, by an edge whose `w` is 1; the `x` of all is 1, and both have an index.
fn clique() -> Graph {
    let engine = engine();
    let transaction = engine.begin(transact::Mode::Write);
    let (label, knows) = (transaction.label("A").unwrap(), transaction.edge_type("R").unwrap());
    let (x, w) = (transaction.key("x").unwrap(), transaction.key("w").unwrap());
    let ids: Vec<_> = (0..VERTICES)
        .map(|_| transaction.create_vertex(&[label], vec![(x, Value::Int(1))]).unwrap())
        .collect();
    for source in &ids {
        for target in &ids {
            transaction.create_edge(*source, *target, knows, vec![(w, Value::Int(1))]).unwrap();
        }
    }
    transaction.commit().unwrap();
    use model::schema::SchemaTarget;
    for (target, key) in [(SchemaTarget::Vertices(label), x), (SchemaTarget::Edges(knows), w)] {
        index(&engine, target, key);
    }
    let vertices = ids.into_iter().map(|id| TwinVertex { id, labels: vec!["A"], x: Some(1) }).collect();
    Graph { engine, vertices, edges: Vec::new() }
}

const VERTICES: i64 = 60;
/// The column that each operator's new rows have; before it stand the vertex and whatever else it needs.
const NEW: u32 = 7;

/// Does the operator make rows of rows, so that there is something to leave undone? A new operator says so here.
fn makes_rows(plan: &Plan) -> Option<&'static str> {
    match plan {
        Plan::ScanVertices(_) => Some("ScanVertices"),
        Plan::SeekVertices(_) => Some("SeekVertices"),
        Plan::SeekEdges(_) => Some("SeekEdges"),
        Plan::SeekIds(_) => Some("SeekIds"),
        Plan::Expand(_) => Some("Expand"),
        Plan::ExpandPath(_) => Some("ExpandPath"),
        Plan::ExpandPattern(_) => Some("ExpandPattern"),
        Plan::Intersect(_) => Some("Intersect"),
        Plan::Unwind(_) => Some("Unwind"),
        Plan::Join(_) => Some("Join"),
        Plan::CallProcedure(_) => Some("CallProcedure"),
        Plan::Apply(node) => match node.kind {
            ApplyKind::Inner(_) => Some("Apply"),
            ApplyKind::Optional(_) => Some("Optional"),
            ApplyKind::Repeat(_) => Some("Repeat"),
            ApplyKind::Semi
            | ApplyKind::Anti
            | ApplyKind::Exists(_)
            | ApplyKind::Count(_)
            | ApplyKind::Collect { .. }
            | ApplyKind::Unit => None,
        },
        // At most one row of each row.
        Plan::Unit
        | Plan::Argument(_)
        | Plan::Match(_)
        | Plan::CountMatches(_)
        | Plan::CountStored(_)
        | Plan::Filter(_)
        | Plan::Extend(_)
        | Plan::Project(_)
        | Plan::Distinct(_)
        | Plan::Skip(_)
        | Plan::Union(_)
        | Plan::Limit(_) => None,
        // All rows before the first.
        Plan::Aggregate(_) | Plan::Sort(_) => None,
        // Each row has its effects.
        Plan::Create(_) | Plan::Merge(_) | Plan::Set(_) | Plan::Delete(_) | Plan::ForEach(_) => None,
    }
}

const MAKERS: [&str; 14] = [
    "ScanVertices",
    "SeekVertices",
    "SeekEdges",
    "SeekIds",
    "Expand",
    "ExpandPath",
    "ExpandPattern",
    "Intersect",
    "Unwind",
    "Join",
    "CallProcedure",
    "Apply",
    "Optional",
    "Repeat",
];

fn out(input: Plan, from: u32, to: u32) -> Plan {
    Plan::Expand(Box::new(expand(input, from, None, to, &["R"], Direction::Out)))
}

fn run(input: Plan, change: impl FnOnce(&mut ExpandPath)) -> Plan {
    let mut node = path(input, 0, NEW, Direction::Out, 1, Some(3));
    change(&mut node);
    Plan::ExpandPath(Box::new(node))
}

fn pattern(input: Plan) -> Plan {
    let vertex = |variable| PatternVertex { variable: Var(variable), labels: LabelExpr::Any };
    let part = PatternPart {
        vertices: vec![vertex(30), vertex(31)],
        edges: vec![PartEdge { variable: Var(32), types: vec!["R".into()], direction: Direction::Out }],
        min: 1,
        max: Some(3),
        predicate: None,
    };
    Plan::ExpandPattern(Box::new(ExpandPattern {
        input,
        from: Var(0),
        to: Var(NEW),
        into: false,
        parts: vec![part],
        mode: PathMode::Trail,
        choice: PathChoice::Every,
        edges: Var(33),
        rounds: Var(34),
        reversed: false,
        predicate: None,
    }))
}

fn intersect(input: Plan) -> Plan {
    let arm = |direction| IntersectArm { from: Var(0), types: vec!["R".into()], direction, once: false };
    let arms = vec![arm(Direction::Out), arm(Direction::In)];
    Plan::Intersect(Box::new(Intersect { input, arms, to: Var(NEW), labels: LabelExpr::Any }))
}

fn repeat(input: Plan, own: u32) -> Plan {
    let kind = ApplyKind::Repeat(Repeat {
        at: Var(own),
        next: Var(own + 1),
        to: Var(NEW),
        min: 1,
        max: 2,
        distinct: false,
    });
    let mut plan = apply(input, out(argument(&[own]), own, own + 1), &[own], kind);
    if let Plan::Apply(node) = &mut plan {
        node.scope.order = plan::scope::InstanceOrder::Dfs;
    }
    plan
}

/// Each operator over rows with the vertex 0, of which it makes a column [`NEW`]: many rows of each. `is_inside`: its leaves are arguments.
fn makers(input: &dyn Fn() -> Plan) -> Vec<Plan> {
    let seek = || Seek::Equal(vec![int(1)]);
    let all_ids = Expr::literal(Value::list((0..VERTICES).map(Value::Int).collect()));
    let list = Expr::literal(Value::list((0..5_000).map(Value::Int).collect()));
    let (label, keys) = ("A".into(), vec!["x".into()]);
    let mut edges = expand(input(), 0, Some(35), NEW, &["R"], Direction::Out);
    edges.labels = build_label("A");
    let mut labelled = expand(input(), 0, None, NEW, &["R"], Direction::Both);
    labelled.labels = build_label("A");
    let yields = vec![("label".into(), Var(NEW))];
    vec![
        scan(input(), NEW, "A"),
        Plan::SeekVertices(Box::new(SeekVertices {
            input: input(),
            vertex: Var(NEW),
            label,
            keys,
            seek: seek(),
        })),
        Plan::SeekEdges(Box::new(SeekEdges {
            input: input(),
            edge: Var(35),
            from: Var(36),
            to: Var(NEW),
            edge_type: "R".into(),
            direction: Direction::Out,
            keys: vec!["w".into()],
            seek: seek(),
        })),
        ids(input(), NEW, all_ids),
        out(input(), 0, NEW),
        Plan::Expand(Box::new(edges)),
        Plan::Expand(Box::new(labelled)),
        run(input(), |_| {}),
        run(input(), |node| node.labels = build_label("A")),
        run(input(), |node| node.edges = Some(Var(35))),
        run(input(), |node| node.distinct_ends = true),
        run(input(), |node| {
            node.selector = Selector::AnyShortest;
            node.length = Some(Var(35));
        }),
        run(input(), |node| node.selector = Selector::AllShortest),
        pattern(input()),
        intersect(input()),
        unwind(input(), list, NEW),
        unwind(input(), range(1, 100_000), NEW),
        Plan::CallProcedure(Box::new(CallProcedure {
            input: input(),
            name: "db.labels".into(),
            arguments: Vec::new(),
            yields,
            is_cached: false,
        })),
        apply(input(), out(argument(&[0]), 0, NEW), &[0], ApplyKind::Inner(vec![Var(NEW)])),
        apply(input(), distinct(out(argument(&[0]), 0, NEW), &[NEW]), &[0], ApplyKind::Inner(vec![Var(NEW)])),
        apply(input(), out(argument(&[0]), 0, NEW), &[0], ApplyKind::Optional(vec![Var(NEW)])),
        repeat(input(), 0),
        join(scan(Plan::Unit, NEW, "A"), input(), &[]),
    ]
}

fn build_label(name: &str) -> LabelExpr {
    LabelExpr::Has(name.into())
}

/// Rows that the node that makes column [`NEW`] handed on, and the answer's rows.
fn made(graph: &Graph, plan: Plan, column: u32, executors: usize) -> (u64, usize) {
    let is_maker = |plan: &Plan| makes_rows(plan).is_some() && plan.makes().contains(&Var(NEW));
    fn place(plan: &Plan, test: &dyn Fn(&Plan) -> bool, next: &mut usize) -> Option<usize> {
        let own = *next;
        *next += 1;
        let joins_new = matches!(plan, Plan::Join(node) if node.build.columns().contains(&Var(NEW)));
        if test(plan) || joins_new {
            return Some(own);
        }
        plan.children().into_iter().find_map(|child| place(child, test, next))
    }
    let at = place(&plan, &is_maker, &mut 0).expect("a maker");
    let mut whole = statement(plan, &[Var(column)]);
    whole.mode = Mode::Profile;
    let access = Access::Read(graph.engine.snapshot());
    let options = ExecuteOptions::default();
    let mut stream =
        Execution::start(runtime(executors), &whole, access, Parameters::new(), options).unwrap();
    let rows = drain(&mut stream).unwrap().len();
    (stream.profile()[at].rows_out, rows)
}

/// Rows of a piece that is handed on where it is not known how many are enough.
const PIECE: u64 = 16;

#[test]
fn every_maker_is_in_the_table() {
    let input = || scan(Plan::Unit, 0, "A");
    let found: std::collections::BTreeSet<&str> = makers(&input)
        .iter()
        .map(|plan| if matches!(plan, Plan::Join(_)) { "Join" } else { makes_rows(plan).unwrap() })
        .collect();
    assert_eq!(found, MAKERS.into_iter().collect());
}

#[test]
fn below_a_limit_no_more_is_made_than_is_wanted() {
    let graph = clique();
    let true_of_all = || compare(BinaryOperator::Less, int(0), int(1));
    for executors in [1, 2] {
        let twins = executors as u64;
        for input in [&(|| scan(Plan::Unit, 0, "A")) as &dyn Fn() -> Plan, &|| {
            sort(scan(Plan::Unit, 0, "A"), vec![(property(0, "x"), false)], None)
        }] {
            for plan in makers(input) {
                let name = format!("{plan:?}");
                let most = match makes_rows(&plan) {
                    // One of two rows of an edge is counted; a procedure makes what it makes.
                    Some("CallProcedure") => 1,
                    _ => 3,
                };
                let is_ordered = plan.any(&mut |plan| matches!(plan, Plan::Sort(_)));
                let has_distinct = plan.any(&mut |plan| matches!(plan, Plan::Distinct(_)));
                let slack = |wanted: u64| match makes_rows(&plan) {
                    // Rounds, and what is behind OPTIONAL, come in pieces.
                    Some("Repeat" | "Optional") => 2 * wanted.max(PIECE),
                    // How many of the inner rows are the same is not known; where order counts, those of an outer row come together.
                    Some("Apply") if has_distinct && is_ordered => VERTICES as u64,
                    Some("Apply") if has_distinct => wanted.max(PIECE),
                    _ => wanted,
                };
                let check = |above: Plan, column: u32, wanted: u64| {
                    let (count, rows) = made(&graph, limit(above, most), column, executors);
                    assert_eq!(rows, most as usize, "{name}");
                    assert!(count <= twins * slack(wanted), "{count} rows made for {most}: {name}");
                };
                check(plan.clone(), NEW, most as u64);
                // One row of each row, or one of either.
                check(extend(plan.clone(), vec![(50, int(1))]), NEW, most as u64);
                check(union(plan.clone(), input(), &[(51, NEW, 0)], false), 51, most as u64);
                check(project(plan.clone(), vec![(52, int(1))]), 52, most as u64);
                // Rows may fall away.
                check(filter(plan.clone(), true_of_all()), NEW, PIECE);
                check(skip(plan.clone(), 0), NEW, PIECE);
            }
        }
    }
}

/// The plan around a maker whose input is the argument, for each of the vertices that are not filtered away.
fn around(inner: Plan, kind: ApplyKind, is_scope: bool) -> Plan {
    let mut plan = apply(scan(Plan::Unit, 0, "A"), inner, &[0], kind);
    if let (Plan::Apply(node), true) = (&mut plan, is_scope) {
        node.scope.reason = ScopeReason::Hint;
    }
    plan
}

#[test]
fn in_a_sub_query_no_more_is_made_than_is_wanted_of_each_row() {
    let graph = clique();
    let outer = VERTICES as u64;
    let true_of_all = || compare(BinaryOperator::Less, int(0), int(1));
    let input = || argument(&[0]);
    for plan in makers(&input) {
        // What begins outside, and rounds, have no outer row to ask for.
        if matches!(plan, Plan::Join(_)) || matches!(makes_rows(&plan), Some("Repeat")) {
            continue;
        }
        let is_single = matches!(makes_rows(&plan), Some("CallProcedure"));
        let is_nested = matches!(plan, Plan::Apply(_));
        for is_scope in [false, true] {
            let check = |inner: Plan, kind: ApplyKind, column: u32, wanted: u64, right: usize| {
                let plan = around(inner, kind, is_scope);
                let how = || plan::explain::render(&statement(plan.clone(), &[]), &[], None);
                let (count, rows) = made(&graph, plan.clone(), column, 1);
                assert_eq!(rows, right, "{}", how());
                assert!(count <= outer * wanted, "{count} rows made for {wanted} of {outer}:\n{}", how());
            };
            let piece = |wanted: u64| if is_nested { wanted.max(outer) } else { wanted };
            check(plan.clone(), ApplyKind::Semi, 0, piece(1), VERTICES as usize);
            check(plan.clone(), ApplyKind::Anti, 0, piece(1), 0);
            check(plan.clone(), ApplyKind::Exists(Var(60)), 60, piece(1), VERTICES as usize);
            check(project(plan.clone(), vec![(61, int(1))]), ApplyKind::Semi, 0, piece(1), VERTICES as usize);
            check(filter(plan.clone(), true_of_all()), ApplyKind::Semi, 0, piece(PIECE), VERTICES as usize);
            if !is_single {
                let kind = ApplyKind::Inner(vec![Var(NEW)]);
                check(limit(plan.clone(), 3), kind.clone(), NEW, piece(3), 3 * VERTICES as usize);
                let thinned = limit(filter(plan.clone(), true_of_all()), 3);
                check(thinned, kind, NEW, piece(PIECE), 3 * VERTICES as usize);
            }
        }
    }
}

#[test]
fn who_asks_of_a_slow_client_is_asked_first() {
    // Of each outer row the first inner row is enough, and the client takes none of the answer for a while.
    let graph = clique();
    let numbers = unwind(argument(&[0]), range(1, 100_000), NEW);
    let inner = filter(numbers, compare(BinaryOperator::Less, int(0), var(NEW)));
    let plan = around(inner, ApplyKind::Semi, true);
    let options = ExecuteOptions { output_batches_max: 1, batch_rows: 1, ..ExecuteOptions::default() };
    let access = Access::Read(graph.engine.snapshot());
    let mut stream =
        Execution::start(runtime(1), &statement(plan, &[Var(0)]), access, Parameters::new(), options)
            .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    let made = stream.profile()[4].rows_out;
    assert!(made <= VERTICES as u64 * PIECE, "{made} rows made while nobody took the answer");
    assert_eq!(drain(&mut stream).unwrap().len(), VERTICES as usize);
}
