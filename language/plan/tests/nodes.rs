//! Every node of the algebra and every form of an expression: what it makes and reads, how it is shown, how many rows are expected of it.
//! The expected text is `tests/plans/nodes.txt`; `TANGLEWOOD_BLESS=1` writes it anew, and the difference is then read like code.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::support;

use model::Direction::{Both, In, Out};
use model::Value;
use std::fmt::Write;
use support::build::*;
use support::figures::Figures;
use tanglewood_plan::algebra::*;
use tanglewood_plan::explain::text::Printer;
use tanglewood_plan::expr::*;
use tanglewood_plan::pattern::*;
use tanglewood_plan::physical::{Algorithm, OperatorDriver};
use tanglewood_plan::scope::*;
use tanglewood_plan::{AggregateFunction, Function, Plan, StatementKind, Wanted, estimates, explain};

const FIGURES: &str = "all 10000; Person 5000; City 100; edges 60000; KNOWS> 40000; KNOWS< 40000; KNOWS- 80000; LIVES> 5000; \
    LIVES< 5000; Person KNOWS> 40000; Person KNOWS< 40000; Person KNOWS- 80000; City KNOWS> 0; Person LIVES> 4000; City LIVES< 5000; \
    far KNOWS> Person 1; far KNOWS< Person 1; far KNOWS- Person 1; far LIVES> City 0.8; far LIVES< Person 0.6; spread KNOWS> 3; \
    index Person(name) 4000; index Person(first,last) 2500; index Person(age) 80; Person(age)>=20 900; Person(name)='Ada' 3";

/// Variables by number: those of the input are 0 to 3, what nodes make comes behind.
const NAMES: [&str; 16] =
    ["a", "b", "r", "list", "v", "w", "e", "x", "y", "n", "m", " hidden", "p", "q", "edges", "rounds"];

fn var(name: &str) -> Var {
    Var(NAMES.iter().position(|known| *known == name).unwrap() as u32)
}

fn value(name: &str) -> Expr {
    read(var(name))
}

fn names(vars: &[Var]) -> String {
    vars.iter().map(|var| NAMES[var.0 as usize].trim()).collect::<Vec<_>>().join(" ")
}

/// Rows with a person and a list.
fn people() -> Plan {
    let scan = ScanVertices { input: Plan::Unit, vertex: var("a"), labels: label("Person") };
    extend(Plan::ScanVertices(Box::new(scan)), vec![(var("list"), Expr::Parameter("list".into()))])
}

fn types(names: &[&str]) -> Vec<Name> {
    names.iter().map(|name| Name::from(*name)).collect()
}

fn int(number: i64) -> Expr {
    Expr::literal(number)
}

fn seek(key: &[&str], seek: Seek) -> Plan {
    Plan::SeekVertices(Box::new(SeekVertices {
        input: Plan::Unit,
        vertex: var("v"),
        label: "Person".into(),
        keys: types(key),
        seek,
    }))
}

fn seek_edges(direction: model::Direction, seek: Seek) -> Plan {
    Plan::SeekEdges(Box::new(SeekEdges {
        input: people(),
        edge: var("e"),
        from: var("v"),
        to: var("w"),
        edge_type: "KNOWS".into(),
        direction,
        keys: types(&["since"]),
        seek,
    }))
}

fn seeks() -> Vec<Seek> {
    let ada = || Expr::literal(Value::string("Ada"));
    vec![
        Seek::Equal(vec![ada()]),
        Seek::Equal(vec![Expr::Parameter("name".into())]),
        Seek::In(Expr::List(vec![ada(), Expr::literal(Value::string("Bea"))])),
        Seek::In(Expr::literal(Value::list((0..20).map(Value::from).collect()))),
        Seek::In(value("list")),
        Seek::Range(Some((int(20), true)), None),
        Seek::Range(None, Some((Expr::property(var("a"), "age"), false))),
        Seek::Range(Some((int(20), false)), Some((int(30), true))),
        Seek::Prefix(ada()),
        Seek::Prefix(Expr::Parameter("name".into())),
    ]
}

fn expand(types_of: &[&str], direction: model::Direction, labels: &str) -> Expand {
    Expand {
        input: people(),
        from: var("a"),
        edge: Some(var("e")),
        to: var("v"),
        types: types(types_of),
        direction,
        into: false,
        labels: label(labels),
        loops_twice: false,
        properties: Vec::new(),
    }
}

fn expands() -> Vec<Plan> {
    let two = Plan::Expand(Box::new(expand(&["KNOWS"], Out, "")));
    let known = |into: bool| Expand {
        input: two.clone(),
        from: var("v"),
        to: if into { var("a") } else { var("w") },
        into,
        edge: None,
        ..expand(&["KNOWS"], if into { Out } else { In }, "Person")
    };
    let mut twice = expand(&["KNOWS"], Both, "");
    twice.loops_twice = true;
    let nodes = [
        expand(&["KNOWS"], Out, ""),
        expand(&["KNOWS"], In, "Person"),
        expand(&["LIVES"], Out, "City"),
        expand(&["KNOWS", "LIVES"], Both, ""),
        expand(&[], Out, "City"),
        twice,
        known(true),
        known(false),
    ];
    nodes.map(|node| Plan::Expand(Box::new(node))).to_vec()
}

fn run(min: u32, max: Option<u32>) -> ExpandPath {
    ExpandPath {
        input: people(),
        from: var("a"),
        edges: Some(var("edges")),
        edges_reversed: false,
        length: None,
        to: var("v"),
        types: types(&["KNOWS"]),
        direction: Out,
        into: false,
        labels: LabelExpr::Any,
        min,
        max,
        mode: PathMode::Trail,
        selector: Selector::Every,
        distinct_ends: false,
        edge_predicate: None,
    }
}

fn runs() -> Vec<Plan> {
    let both = || Plan::Expand(Box::new(Expand { to: var("b"), ..expand(&["KNOWS"], Out, "Person") }));
    let test = (var("x"), equal(Expr::property(var("x"), "since"), 3_i64));
    let nodes = vec![
        run(1, Some(1)),
        run(1, Some(3)),
        run(0, Some(2)),
        run(2, None),
        run(0, Some(0)),
        ExpandPath { labels: label("Person"), edges_reversed: true, direction: In, ..run(1, Some(2)) },
        ExpandPath {
            mode: PathMode::Walk,
            edges: None,
            edges_reversed: true,
            types: vec![],
            ..run(1, Some(2))
        },
        ExpandPath {
            mode: PathMode::Acyclic,
            length: Some(var("n")),
            edges: None,
            direction: Both,
            ..run(1, Some(2))
        },
        ExpandPath { mode: PathMode::Simple, edge_predicate: Some(test), ..run(1, Some(2)) },
        ExpandPath { selector: Selector::AnyShortest, ..run(1, Some(9)) },
        ExpandPath {
            selector: Selector::AllShortest,
            types: types(&["LIVES"]),
            labels: label("City"),
            ..run(1, Some(9))
        },
        ExpandPath { distinct_ends: true, ..run(1, Some(9)) },
        ExpandPath { input: both(), to: var("b"), into: true, ..run(1, Some(2)) },
    ];
    nodes.into_iter().map(|node| Plan::ExpandPath(Box::new(node))).collect()
}

fn pattern_part(min: u32, max: Option<u32>, predicate: Option<Expr>) -> PatternPart {
    let vertex =
        |variable: &str, labels: &str| PatternVertex { variable: var(variable), labels: label(labels) };
    let edge = |variable: &str, names: &[&str], direction| PartEdge {
        variable: var(variable),
        types: types(names),
        direction,
    };
    PatternPart {
        vertices: vec![vertex("x", ""), vertex("y", "City"), vertex("n", "")],
        edges: vec![edge("e", &["KNOWS", "LIVES"], Out), edge("m", &[], In)],
        min,
        max,
        predicate,
    }
}

fn patterns() -> Vec<Plan> {
    let test = || equal(Expr::property(var("x"), "age"), 3_i64);
    let node = |parts: Vec<PatternPart>, mode: PathMode, choice: PathChoice, into: bool| {
        let (to, input) = match into {
            true => {
                (var("b"), Plan::Expand(Box::new(Expand { to: var("b"), ..expand(&["KNOWS"], Out, "") })))
            }
            false => (var("v"), people()),
        };
        Plan::ExpandPattern(Box::new(ExpandPattern {
            input,
            from: var("a"),
            to,
            into,
            parts,
            mode,
            choice,
            edges: var("edges"),
            rounds: var("rounds"),
            reversed: false,
            predicate: into.then(|| Expr::binary(BinaryOperator::Less, value("edges"), value("q"))),
        }))
    };
    let mut both = pattern_part(1, Some(1), None);
    both.edges[0].direction = Both;
    vec![
        node(vec![pattern_part(1, Some(1), None)], PathMode::Trail, PathChoice::Every, false),
        node(vec![pattern_part(1, Some(1), Some(test()))], PathMode::Walk, PathChoice::Paths(2), false),
        node(vec![pattern_part(0, Some(1), None)], PathMode::Acyclic, PathChoice::Groups(3), true),
        node(vec![pattern_part(1, None, Some(test())), both], PathMode::Simple, PathChoice::Every, true),
        node(vec![pattern_part(1, Some(2), None)], PathMode::Trail, PathChoice::Every, false),
    ]
}

fn counts() -> Vec<Plan> {
    let tree = |optional: bool, trees: Vec<CountTree>| CountTree {
        types: types(&["KNOWS"]),
        direction: In,
        labels: if optional { label("City") } else { LabelExpr::Any },
        optional,
        is_loop: false,
        trees,
    };
    let arm = |other: &str, direction| CountArm {
        other: var(other),
        types: types(&["LIVES"]),
        direction,
        unlike: vec![],
    };
    let step = CountStep {
        vertex: var("w"),
        labels: label("Person"),
        arms: vec![arm("a", Out), arm("v", Both)],
        absent: vec![arm("a", In)],
        differs: vec![var("a")],
        trees: vec![tree(false, vec![])],
    };
    let node = |steps: Vec<CountStep>, times: i64| {
        Plan::CountMatches(Box::new(CountMatches {
            input: people(),
            start: var("a"),
            trees: vec![tree(true, vec![tree(false, vec![])])],
            steps,
            count: var("n"),
            times,
        }))
    };
    let first = Plan::Expand(Box::new(expand(&["KNOWS"], Out, "")));
    let arm = |from: &str, types_of: &[&str], once: bool| IntersectArm {
        from: var(from),
        types: types(types_of),
        direction: Out,
        once,
    };
    let meet = Intersect {
        input: first,
        arms: vec![arm("a", &["KNOWS"], false), arm("v", &["KNOWS"], true), arm("v", &[], false)],
        to: var("w"),
        labels: label("Person"),
    };
    let stored =
        |counted| Plan::CountStored(Box::new(CountStored { input: Plan::Unit, counted, count: var("v") }));
    vec![
        stored(Counted::Vertices(LabelExpr::Any)),
        stored(Counted::Vertices(label("Person"))),
        stored(Counted::Edges { types: types(&["KNOWS", "LIVES"]), labels: label("City"), direction: In }),
        stored(Counted::Edges { types: types(&[]), labels: LabelExpr::Any, direction: Out }),
        node(vec![], -1),
        node(vec![step], 1),
        Plan::Intersect(Box::new(meet)),
    ]
}

fn lines() -> Vec<Plan> {
    use AggregateFunction::*;
    let age = || Expr::property(var("a"), "age");
    let name_is = |name: &str| equal(Expr::property(var("a"), "name"), Value::string(name));
    let key = |descending, order| SortKey { expr: age(), descending, order };
    let sort = |limit: Option<Expr>| {
        let keys = vec![key(false, KeyOrder::Total), key(true, KeyOrder::Total), key(true, KeyOrder::Typed)];
        Plan::Sort(Box::new(Sort { input: people(), keys, limit }))
    };
    let limit =
        |count: Expr| Plan::Limit(Box::new(Limit { input: people(), count, scope: Scope::default() }));
    let skip = |count: Expr| Plan::Skip(Box::new(Skip { input: people(), count }));
    let calls = |keys: Vec<(Var, Expr)>| {
        let calls = vec![(var("n"), CountRows, None, false), (var("m"), Sum, Some(age()), true)];
        aggregate(people(), keys, calls)
    };
    let has = |labels: LabelExpr| filter(people(), Expr::HasLabels(Box::new(value("a")), labels));
    let mut all = vec![
        Plan::Unit,
        Plan::Argument(vec![var("a"), var("b")]),
        filter(people(), name_is("Ada")),
        filter(people(), Expr::binary(BinaryOperator::Equal, age(), Expr::Parameter("age".into()))),
        filter(
            people(),
            Expr::all([name_is("Ada"), Expr::binary(BinaryOperator::GreaterEqual, age(), int(20))]),
        ),
        filter(people(), Expr::binary(BinaryOperator::Or, name_is("Ada"), name_is("Bea"))),
        filter(people(), Expr::Unary(UnaryOperator::Not, Box::new(name_is("Ada")))),
        has(LabelExpr::Or(Box::new(label("City")), Box::new(label("Person")))),
        has(LabelExpr::And(Box::new(label("City")), Box::new(LabelExpr::Not(Box::new(label("Person")))))),
        filter(people(), Expr::literal(false)),
        extend(people(), vec![(var("n"), age()), (var("m"), value("n")), (var("a"), value("a"))]),
        project(people(), vec![(var("a"), value("a")), (var("v"), value("a")), (var("n"), age())]),
        calls(vec![]),
        calls(vec![(var("v"), value("a"))]),
        calls(vec![(var("p"), age()), (var("q"), Expr::property(var("a"), "first"))]),
        aggregate(people(), vec![(var("v"), value("a"))], vec![]),
        aggregate(people(), vec![(var("v"), int(3))], vec![]),
        distinct(people(), vec![var("a")]),
        distinct(extend(people(), vec![(var("n"), age())]), vec![var("n"), var("list")]),
        Plan::Distinct(Box::new(Distinct {
            input: people(),
            columns: vec![var("a")],
            carried: vec![var("list")],
        })),
        sort(None),
        sort(Some(int(7))),
        sort(Some(Expr::Parameter("k".into()))),
        limit(int(10)),
        limit(Expr::Parameter("k".into())),
        skip(int(4_990)),
        skip(int(9_999)),
        skip(Expr::Parameter("k".into())),
        Plan::CallProcedure(Box::new(CallProcedure {
            input: people(),
            name: "graph.bfs".into(),
            arguments: vec![value("list"), int(1)],
            yields: vec![("node".into(), var("v")), ("distance".into(), var("n"))],
            is_cached: false,
        })),
        Plan::SeekIds(Box::new(SeekIds { input: people(), vertex: var("v"), ids: int(7) })),
        Plan::SeekIds(Box::new(SeekIds {
            input: people(),
            vertex: var("v"),
            ids: Expr::List(vec![int(7), int(8)]),
        })),
        Plan::SeekIds(Box::new(SeekIds { input: people(), vertex: var("v"), ids: value("list") })),
    ];
    let range = |from: i64, to: i64| Expr::Call(Function::Range, vec![int(from), int(to)]);
    for list in [
        value("list"),
        Expr::List(vec![int(1); 3]),
        range(3, 9),
        range(9, 3),
        Expr::literal(Value::Null),
        int(3),
    ] {
        all.push(unwind(people(), list, var("x")))
    }
    for labels in [LabelExpr::Some, label("Person"), LabelExpr::Not(Box::new(label("Person")))] {
        all.push(Plan::ScanVertices(Box::new(ScanVertices { input: people(), vertex: var("v"), labels })))
    }
    all
}

fn hinted(order: InstanceOrder) -> Scope {
    let hint = ScopeHint {
        order: Some(order),
        within: Some(OperatorOrder::Bfs),
        instances_max: Some(4),
        ..ScopeHint::default()
    };
    Scope::hinted(Some(hint))
}

fn applies() -> Vec<Plan> {
    let inner =
        || Plan::Expand(Box::new(Expand { input: argument(&[var("a")]), ..expand(&["KNOWS"], Out, "") }));
    let apply = |kind: ApplyKind, scope: Scope| {
        let rank = matches!(scope.order, InstanceOrder::By(_)).then(|| value("b"));
        Plan::Apply(Box::new(Apply {
            input: people(),
            inner: inner(),
            imports: vec![var("a")],
            kind,
            scope,
            rank,
        }))
    };
    let repeat = |min, max, distinct| {
        ApplyKind::Repeat(Repeat { at: var("a"), next: var("v"), to: var("w"), min, max, distinct })
    };
    let reason = |reason| Scope { reason, rows: Some(64), ..Scope::default() };
    let usual = Scope::default;
    let column = vec![var("v")];
    let mut all = vec![
        apply(ApplyKind::Inner(column.clone()), usual()),
        apply(ApplyKind::Optional(column), reason(ScopeReason::SmallWork)),
        apply(ApplyKind::Semi, reason(ScopeReason::TinyWork)),
        apply(ApplyKind::Anti, reason(ScopeReason::EarlyExit)),
        apply(ApplyKind::Exists(var("n")), hinted(InstanceOrder::Bfs)),
        apply(ApplyKind::Count(var("n")), Scope::off(ScopeReason::Off)),
        apply(ApplyKind::Collect { list: var("n"), column: var("v") }, hinted(InstanceOrder::By(true))),
        apply(ApplyKind::Unit, hinted(InstanceOrder::Dfs)),
        apply(repeat(0, 3, false), reason(ScopeReason::AllWanted)),
        apply(repeat(2, 2, true), Scope { wide: true, ..reason(ScopeReason::FewWanted) }),
    ];
    let one = Scope { instances_max: Some(1), reason: ScopeReason::Hint, ..usual() };
    all.push(apply(ApplyKind::Semi, one));
    let side = |name: &str, labels: &str| {
        let scan = ScanVertices { input: Plan::Unit, vertex: var(name), labels: label(labels) };
        Plan::ScanVertices(Box::new(scan))
    };
    let join = |on: Vec<Var>, once: bool| {
        let (build, probe) = (side("a", "City"), side("a", "Person"));
        Plan::Join(Box::new(Join {
            build,
            probe: if on.is_empty() { side("v", "Person") } else { probe },
            on,
            once,
        }))
    };
    let union = |distinct| {
        let columns = vec![(var("v"), var("a"), var("b"))];
        Plan::Union(Box::new(Union {
            left: side("a", "City"),
            right: side("b", "Person"),
            columns,
            distinct,
        }))
    };
    all.extend([join(vec![var("a")], false), join(vec![], true), union(false), union(true)]);
    all
}

fn writes() -> Vec<Plan> {
    let map = || Some(Expr::Map(vec![("k".into(), Expr::property(var("a"), "age"))]));
    let vertices =
        || vec![CreateVertex { variable: var("v"), labels: types(&["City", "Big"]), properties: map() }];
    let edge = |dynamic: Option<Expr>| CreateEdge {
        variable: var("e"),
        edge_type: "LIVES".into(),
        dynamic_type: dynamic,
        source: var("b"),
        target: var("v"),
        properties: map(),
    };
    let property = |key: &str| SetItem::Property(value("p"), key.into(), value("q"));
    let items = || {
        vec![
            SetItem::Property(value("a"), "k".into(), value("b")),
            SetItem::DynamicProperty(value("a"), value("list"), value("q")),
            SetItem::Properties { variable: var("v"), value: value("p"), merge: true },
            SetItem::Properties { variable: var("v"), value: value("p"), merge: false },
            SetItem::AddLabels(var("x"), types(&["A", "B"])),
            SetItem::RemoveLabels(var("y"), types(&["C"])),
            SetItem::DynamicLabels { variable: var("w"), labels: value("m"), add: true },
            SetItem::DynamicLabels { variable: var("w"), labels: value("m"), add: false },
        ]
    };
    let inner =
        Plan::Expand(Box::new(Expand { input: argument(&[var("a")]), ..expand(&["LIVES"], Out, "City") }));
    let body =
        Plan::Set(Box::new(Set { input: argument(&[var("a"), var("x")]), items: vec![property("k")] }));
    let delete = |detach| Delete { input: people(), targets: vec![value("a"), value("r")], detach };
    vec![
        Plan::Create(Box::new(Create {
            input: people(),
            vertices: vertices(),
            edges: vec![edge(None), edge(Some(value("list")))],
        })),
        Plan::Merge(Box::new(Merge {
            input: people(),
            inner,
            imports: vec![var("a")],
            vertices: vertices(),
            edges: vec![edge(None)],
            on_create: items(),
            on_match: vec![property("m"), SetItem::AddLabels(var("n"), types(&["D"]))],
            paths: vec![(var("rounds"), vec![var("a"), var("e"), var("v")])],
        })),
        Plan::Set(Box::new(Set { input: people(), items: items() })),
        Plan::Delete(Box::new(delete(true))),
        Plan::Delete(Box::new(delete(false))),
        Plan::ForEach(Box::new(ForEach {
            input: people(),
            variable: var("x"),
            list: value("list"),
            body,
            imports: vec![var("a"), var("x")],
        })),
        PatternText::default()
            .vertex(var("a"), "Person")
            .vertex(var("v"), "")
            .run(
                var("e"),
                var("a"),
                var("v"),
                "KNOWS",
                Out,
                Some(Run {
                    edge_predicate: Some((var("x"), equal(Expr::property(var("x"), "since"), value_of("q")))),
                    ..trail(1, Some(2)).unwrap()
                }),
            )
            .so_that(Expr::binary(BinaryOperator::Equal, value("b"), value("v")))
            .over(people()),
    ]
}

fn value_of(_: &str) -> Value {
    Value::Int(3)
}

fn every_plan() -> Vec<Plan> {
    let mut all = lines();
    for one in seeks() {
        let keys: &[&str] = if matches!(one, Seek::Range(..)) { &["age"] } else { &["name"] };
        all.push(seek(keys, one.clone()));
        all.push(seek_edges([Out, In, Both][all.len() / 2 % 3], one))
    }
    all.push(seek(&["first", "last"], Seek::Equal(vec![int(1), value("b")])));
    all.extend([expands(), runs(), patterns(), counts(), applies(), writes()].concat());
    all
}

#[test]
fn every_node_is_walked_estimated_and_shown() {
    let figures = Figures::new(FIGURES);
    let mut told = String::new();
    for plan in every_plan() {
        let mut table = Table(NAMES.iter().map(|name| Name::from(*name)).collect());
        table.var("a");
        let mut statement = table.query(plan.clone(), &[]);
        statement.lower();
        let rendered = explain::render(&statement, &estimates(&plan, &figures), None);
        let lines: Vec<&str> = rendered.lines().collect();
        // What lies below is the same for most: the node itself, and how many there are.
        let _ = writeln!(told, "{} over {}", lines[1], lines.len() - 2);
        let mut expressions = 0;
        plan.expressions(&mut |_| expressions += 1);
        let mut copy = plan.clone();
        let mut changed = 0;
        copy.expressions_mut(&mut |_| changed += 1);
        assert_eq!(expressions, changed);
        assert_eq!(plan.children().len(), copy.children_mut().len());
        assert_eq!(plan.input().is_some(), copy.input_mut().is_some());
        let algorithm = match statement.physical.node(0).unwrap().algorithm {
            Algorithm::Usual => String::new(),
            algorithm => format!("  {algorithm:?}"),
        };
        let _ = writeln!(
            told,
            "    makes {}; reads {}; yields {}; {expressions} expressions{}{algorithm}",
            names(&plan.makes()),
            names(&plan.reads()),
            names(&plan.columns()),
            if plan.writes_here() { ", writes" } else { "" },
        );
        let described = explain::describe(&statement, &estimates(&plan, &figures)).unwrap();
        assert_eq!(described.children.len(), plan.children().len());
        assert_eq!(described.name, explain::name(&plan));
        let shown: Vec<String> = plan
            .columns()
            .iter()
            .map(|var| NAMES[var.0 as usize].to_string())
            .filter(|name| !name.starts_with(' '))
            .collect();
        assert_eq!(described.identifiers, shown);
    }
    check("nodes", told)
}

/// A node does something for each row, or what it runs for each row does; reading never does.
#[test]
fn what_writes_for_each_row_must_see_all_rows() {
    for reading in [lines(), expands(), runs(), patterns(), counts(), applies()].concat() {
        assert!(!reading.has_effects() && !reading.writes(), "{reading:?}");
    }
    let applied = |inner: &Plan| match applies().swap_remove(0) {
        Plan::Apply(mut node) => {
            node.inner = inner.clone();
            Plan::Apply(node)
        }
        other => other,
    };
    let few = Wanted::Most(1);
    for writing in writes().into_iter().filter(Plan::writes_here) {
        assert!(writing.has_effects(), "{writing:?}");
        assert_eq!(writing.wanted_of_input(few), Wanted::All, "{writing:?}");
        let within = applied(&writing);
        assert!(within.has_effects() && !within.writes_here(), "{within:?}");
        assert_eq!(within.wanted_of_input(few), Wanted::All, "{within:?}");
    }
    let reading = applied(&expands()[0]);
    assert!(!reading.has_effects() && reading.wanted_of_input(few) != Wanted::All);
}

/// What is asked of those who run is answered on the spot, also where no executor is free; other procedures are not.
#[test]
fn listings_of_what_runs_need_no_executor() {
    let driver = |name: &str| {
        let yields = vec![("name".into(), var("v"))];
        let call = CallProcedure {
            input: Plan::Unit,
            name: name.into(),
            arguments: Vec::new(),
            yields,
            is_cached: false,
        };
        let mut table = Table(NAMES.iter().map(|name| Name::from(*name)).collect());
        table.var("a");
        let mut statement = table.query(Plan::CallProcedure(Box::new(call)), &[]);
        statement.lower();
        statement.physical.driver()
    };
    for name in ["queries", "standing queries", "tenants", "transactions", "users", "current user"] {
        assert_eq!(driver(&format!("show {name}")), OperatorDriver::Pipeline, "{name}");
    }
    for name in ["graph.bfs", "db.labels", "show", "show query"] {
        assert_eq!(driver(name), OperatorDriver::Exchange, "{name}");
    }
}

/// A listing of what runs stays one below what only chooses, orders and cuts its rows; whatever may take longer takes the place of an executor.
#[test]
fn what_only_lists_work_does_nothing_else_that_may_take_long() {
    let listing = |name: &str| {
        let yields = vec![("name".into(), var("v"))];
        let call = CallProcedure {
            input: Plan::Unit,
            name: name.into(),
            arguments: Vec::new(),
            yields,
            is_cached: false,
        };
        Plan::CallProcedure(Box::new(call))
    };
    let (mut lists, mut others) = (0, 0);
    for mut plan in every_plan() {
        let Some(input) = plan.input_mut() else { continue };
        *input = listing("show queries");
        let mut takes_long = false;
        plan.expressions(&mut |whole| {
            takes_long |= whole.any(&mut |part| {
                matches!(part, Expr::Comprehension { .. } | Expr::Quantified { .. } | Expr::Reduce { .. })
                    || matches!(part, Expr::Subquery(_) | Expr::Call(Function::Range, _))
            });
        });
        let name = explain::name(&plan);
        let is_light =
            matches!(plan, Plan::Filter(_) | Plan::Extend(_) | Plan::Project(_) | Plan::Aggregate(_))
                || matches!(plan, Plan::Distinct(_) | Plan::Sort(_) | Plan::Skip(_) | Plan::Limit(_));
        assert_eq!(plan.only_lists_work(), is_light && !takes_long, "{name}");
        (lists, others) = (lists + usize::from(is_light), others + usize::from(!is_light));
        // Of other procedures, of none, and of two it is not true whatever stands above.
        for below in [listing("db.labels"), Plan::Unit] {
            *plan.input_mut().unwrap() = below;
            assert!(!plan.only_lists_work(), "{name}");
        }
        let mut two = listing("show transactions");
        assert!(two.only_lists_work());
        *two.input_mut().unwrap() = listing("show queries");
        *plan.input_mut().unwrap() = two;
        assert!(!plan.only_lists_work(), "{name}");
    }
    assert!(lists > 20 && others > 20, "{lists} and {others}");
}

fn check(name: &str, told: String) {
    let file = format!("{}/tests/plans/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var("TANGLEWOOD_BLESS").is_ok() {
        return std::fs::write(file, told).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    for (expected, told) in expected.lines().zip(told.lines()) {
        assert_eq!(told, expected);
    }
    assert_eq!(told.lines().count(), expected.lines().count());
}

fn every_expression() -> Vec<Expr> {
    use BinaryOperator::*;
    let b = |name: &str| Box::new(value(name));
    let operators = [
        Or,
        Xor,
        And,
        Equal,
        NotEqual,
        Less,
        LessEqual,
        Greater,
        GreaterEqual,
        In,
        StartsWith,
        EndsWith,
        Contains,
        Matches,
        Add,
        Subtract,
        Multiply,
        Divide,
        Modulo,
        Power,
    ];
    let mut all = Vec::new();
    for (at, operator) in operators.into_iter().enumerate() {
        let other = operators[(at + 13) % operators.len()];
        let inner = |operator| Expr::binary(operator, value("a"), value("b"));
        all.push(Expr::binary(operator, inner(other), inner(operator)));
        all.push(Expr::binary(operator, inner(operator), inner(other)));
        all.push(Expr::Unary(UnaryOperator::Not, Box::new(inner(operator))));
        all.push(Expr::Unary(UnaryOperator::IsNull, Box::new(inner(operator))));
        all.push(Expr::binary(
            operator,
            Expr::Unary(UnaryOperator::Negate, b("a")),
            Expr::Unary(UnaryOperator::Not, b("b")),
        ));
    }
    for operator in [UnaryOperator::Plus, UnaryOperator::IsNotNull, UnaryOperator::Negate] {
        all.push(Expr::Unary(operator, Box::new(Expr::Unary(operator, b("a")))));
        all.push(Expr::Property(Box::new(Expr::Unary(operator, b("a"))), "k".into()));
    }
    let values = [
        Value::Null,
        true.into(),
        (-3i64).into(),
        2.0.into(),
        "it's \\ \n".into(),
        Value::list(vec![1.into(), "x".into()]),
        Value::map([("k", Value::Int(1))]),
        model::VertexId(3).into(),
    ];
    all.extend(values.map(Expr::literal));
    let test = || Some(Box::new(Expr::binary(Less, value("x"), value("b"))));
    let plan = Plan::Argument(vec![var("a")]);
    all.extend([
        Expr::Parameter("name".into()),
        Expr::Variable(Var(99)),
        value(" hidden"),
        Expr::HasLabels(b("a"), LabelExpr::Has("A".into())),
        Expr::Call(Function::Size, vec![value("list")]),
        Expr::Map(vec![("k".into(), value("a")), ("l".into(), value("b"))]),
        Expr::Index(b("list"), b("n")),
        Expr::Slice(b("list"), Some(b("n")), None),
        Expr::Slice(b("list"), None, Some(b("m"))),
        Expr::Slice(Box::new(Expr::binary(Add, value("a"), value("b"))), Some(b("n")), Some(b("m"))),
        Expr::Case { operand: Some(b("a")), arms: vec![(value("b"), value("n"))], otherwise: None },
        Expr::Case {
            operand: None,
            arms: vec![(value("b"), value("n")), (value("m"), value("p"))],
            otherwise: Some(b("q")),
        },
        Expr::Comprehension { variable: var("x"), list: b("list"), predicate: test(), map: Some(b("x")) },
        Expr::Comprehension { variable: var("x"), list: b("x"), predicate: None, map: None },
        Expr::Reduce {
            accumulator: var("y"),
            initial: b("y"),
            variable: var("x"),
            list: b("list"),
            body: Box::new(Expr::binary(Add, value("y"), value("x"))),
        },
        Expr::MapProjection(
            b("a"),
            vec![
                MapProjectionItem::AllProperties,
                MapProjectionItem::Property("k".into()),
                MapProjectionItem::Entry("n".into(), value("b")),
            ],
        ),
        Expr::PathOf(vec![var("a"), var("edges"), var("b")]),
        Expr::EdgesDistinct(vec![var("e"), var("edges")]),
        subquery(SubqueryKind::Exists, &[var("a")], plan.clone()),
        subquery(SubqueryKind::Count, &[var("a"), var("b")], plan.clone()),
        subquery(SubqueryKind::Collect(var("a")), &[], plan),
    ]);
    for quantifier in [Quantifier::All, Quantifier::Any, Quantifier::None, Quantifier::Single] {
        all.push(Expr::Quantified {
            quantifier,
            variable: var("x"),
            list: b("list"),
            predicate: test().unwrap(),
        })
    }
    all
}

#[test]
fn every_expression_is_walked_and_shown() {
    let names_table: Vec<Name> = NAMES.iter().map(|name| Name::from(*name)).collect();
    let print = Printer { variables: &names_table };
    let mut told = String::new();
    for expr in every_expression() {
        let mut parts = 0;
        expr.children(&mut |_| parts += 1);
        let mut copy = expr.clone();
        let mut changed = 0;
        copy.children_mut(&mut |_| changed += 1);
        assert_eq!(parts, changed);
        let free = expr.free_variables();
        let free = free.iter().filter(|var| var.0 < 16).copied().collect::<Vec<_>>();
        let _ = writeln!(
            told,
            "{}    {parts} parts, free {}, binds {}",
            print.expr(&expr),
            names(&free),
            names(&expr.binds())
        );
        assert_eq!(Expr::all(expr.clone().conjuncts()).conjuncts().len(), expr.conjuncts().len());
    }
    let has = |name: &str| LabelExpr::Has(name.into());
    let or = |a: LabelExpr, b: LabelExpr| LabelExpr::Or(Box::new(a), Box::new(b));
    for labels in [
        LabelExpr::Any,
        LabelExpr::Some,
        has("A").and(has("B")),
        has("A").and(has("A")),
        has("A").and(LabelExpr::Any),
        LabelExpr::Any.and(has("B")),
        or(has("A"), has("B")).and(LabelExpr::Not(Box::new(or(has("C"), LabelExpr::Some)))),
        or(has("A").and(has("B")), LabelExpr::Not(Box::new(has("C")))),
    ] {
        let text = explain::text::labels(&labels);
        let _ =
            writeln!(told, ":{text}    requires {}, any {}", labels.required().join(" "), labels.is_any());
    }
    check("expressions", told)
}

#[test]
fn a_profile_is_a_table() {
    use tanglewood_plan::explain::NodeProfile;
    let plan = filter(people(), equal(Expr::property(var("a"), "name"), Value::string("Ada")));
    let table = Table(NAMES.iter().map(|name| Name::from(*name)).collect());
    let statement = table.query(plan, &[]);
    let StatementKind::Query { plan, .. } = &statement.kind else { unreachable!("a query was written") };
    let node = |rows, time_nanos| NodeProfile { rows, time_nanos };
    let profile = [node(1, 999), node(10, 9_999), node(5_000, 10_000), node(1, 10_000_000)];
    let estimates = [9.94, 9.95, 9.99e14, 1e15];
    assert_eq!(explain::nodes(plan, &statement.variables).len(), 4);
    check("profile", explain::render(&statement, &estimates, Some(&profile)));
    let empty = explain::render(&statement, &[], Some(&[]));
    assert!(empty.contains("0 %") && !empty.contains("NaN"), "{empty}");
}

#[test]
fn a_long_detail_ends_in_dots() {
    for length in [390, 398, 399, 1_000] {
        let text = "x".repeat(length);
        let plan = filter(Plan::Unit, Expr::literal(Value::string(text.as_str())));
        let detail = &explain::nodes(&plan, &[])[0].detail;
        // Two quotes stand around it.
        let cut = length + 2 > explain::DETAIL_LENGTH_MAX;
        assert_eq!(detail.ends_with('…'), cut, "{length}");
        assert_eq!(detail.chars().count(), (length + 2).min(explain::DETAIL_LENGTH_MAX + 1));
    }
}
