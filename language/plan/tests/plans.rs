//! Each rewrite's effect on a plan, as text. The expected plans are in `tests/plans/`; `TANGLEWOOD_BLESS=1` writes them anew,
//! and the difference is then read like code.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::support;

use model::Direction::{Both, In, Out};
use model::Value;
use support::build::*;
use support::figures::Figures;
use tanglewood_plan::algebra::*;
use tanglewood_plan::expr::*;
use tanglewood_plan::pattern::*;
use tanglewood_plan::{
    AggregateFunction, Function, Plan, Statement, StatementKind, estimates, explain, optimize,
};

const FIGURES: &str = "all 10000; Person 5000; City 100; Tag 2000; edges 60000; KNOWS> 40000; KNOWS< 40000; KNOWS- 80000; \
    LIVES> 5000; LIVES< 5000; Person KNOWS> 40000; Person KNOWS< 40000; Person LIVES> 5000; City LIVES< 5000; far KNOWS> Person 1; \
    far KNOWS< Person 1; far KNOWS- Person 1; far LIVES> City 1; far LIVES< Person 1; \
    index Person(name) 4500; index Person(first,last) 5000; index Person(age) 80; index City(name) 100";

/// Plans the statement and compares it with the text of this name.
fn check(name: &str, statement: Statement) {
    check_with(name, FIGURES, statement)
}

fn check_with(name: &str, figures: &str, statement: Statement) {
    let own = Figures::new(figures);
    let (planned, known) = planned(statement.clone(), &own);
    let mut told = explain::render(&planned, &known, None);
    told.push_str(&sweep(statement, figures, &line(&planned)));
    let file = format!("{}/tests/plans/{name}.txt", env!("CARGO_MANIFEST_DIR"));
    if std::env::var("TANGLEWOOD_BLESS").is_ok() {
        return std::fs::write(file, told).unwrap();
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(told == expected, "{name}: expected\n{expected}\ngot\n{told}");
}

fn planned(statement: Statement, figures: &Figures) -> (Statement, Vec<f64>) {
    let planned = optimize(statement, figures).unwrap();
    let StatementKind::Query { plan, .. } = &planned.kind else {
        unreachable!("only queries are written here")
    };
    let known = estimates(plan, figures);
    (planned, known)
}

/// A plan in one line, from its end to its start.
fn line(planned: &Statement) -> String {
    let told = explain::render(planned, &[], None);
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    told.lines().skip(1).map(words).filter(|line| line != "Unit").collect::<Vec<_>>().join(" < ")
}

/// What each figure is made.
const TIMES: [f64; 4] = [0.001, 0.1, 10.0, 1_000.0];

/// Where the plan becomes another one: each figure by itself smaller and larger. Behind it all rows that were estimated, on a scale on which small
/// ones count too: whatever changes in an estimate shows there.
fn sweep(statement: Statement, figures: &str, usual: &str) -> String {
    let mut told = String::from("with other figures\n");
    let (mut rows, mut count) = (0.0, 0);
    let all: Vec<(&str, f64)> = figures
        .split(';')
        .map(|figure| figure.trim().rsplit_once(' ').unwrap())
        .map(|(name, figure)| (name, figure.parse().unwrap()))
        .collect();
    for (at, (name, figure)) in all.iter().enumerate() {
        let mut others = Vec::new();
        for times in TIMES {
            let changed = all.iter().enumerate().map(|(other, (name, figure))| {
                format!("{name} {}", if other == at { figure * times } else { *figure })
            });
            let changed = Figures::new(&changed.collect::<Vec<_>>().join("; "));
            let (planned, known) = planned(statement.clone(), &changed);
            rows += known.iter().map(|rows| rows.max(0.0).ln_1p()).sum::<f64>();
            count += known.len();
            let line = line(&planned);
            if line != usual && others.last() != Some(&line) {
                told.push_str(&format!("  {name} {}: {line}\n", figure * times));
            }
            others.push(line);
        }
    }
    told.push_str(&format!("  estimates {count}: {rows:.4}\n"));
    told
}

fn named(var: Var, name: &str) -> Expr {
    equal(Expr::property(var, "name"), Value::string(name))
}

fn columns(plan: Plan, columns: &[Var]) -> Plan {
    project(plan, columns.iter().map(|var| (*var, read(*var))).collect())
}

/// `MATCH …` over nothing, all of these columns returned.
fn matched(name: &str, table: Table, pattern: PatternText, kept: &[Var]) {
    check(name, table.query(columns(pattern.over(Plan::Unit), kept), kept))
}

#[test]
fn starts() {
    let mut t = Table::default();
    let (p, k, f) = (t.var("p"), t.var("k"), t.var("f"));
    let pattern = PatternText::default().vertex(p, "Person").vertex(f, "Person").edge(k, p, f, "KNOWS", Out);
    let with = |predicate: Expr| pattern.clone().so_that(predicate);
    let table = || Table(t.0.clone());
    matched("start_index_equal", table(), with(named(p, "Ada")), &[f]);
    matched("start_index_from_far_end", table(), with(named(f, "Ada")), &[p]);
    let or = Expr::binary(BinaryOperator::Or, named(p, "Ada"), named(p, "Bea"));
    matched("start_index_or_as_in", table(), with(or), &[f]);
    let arm = |one: &str, other: &str| Expr::all([named(p, one), named(f, other)]);
    let either_way = Expr::binary(BinaryOperator::Or, arm("Ada", "Bea"), arm("Bea", "Ada"));
    matched("start_index_of_disjunction", table(), with(either_way), &[p, f]);
    let one_free = Expr::binary(BinaryOperator::Or, arm("Ada", "Bea"), named(f, "Ada"));
    matched("start_index_of_disjunction_of_one_end", table(), with(one_free), &[p, f]);
    let prefix = Expr::binary(
        BinaryOperator::StartsWith,
        Expr::property(p, "name"),
        Expr::literal(Value::string("A")),
    );
    matched("start_index_prefix", table(), with(prefix), &[f]);
    let age = |operator, age: i64| Expr::binary(operator, Expr::property(p, "age"), Expr::literal(age));
    let within = [age(BinaryOperator::GreaterEqual, 20), age(BinaryOperator::Less, 30)];
    matched("start_index_range", table(), with(Expr::all(within)), &[f]);
    let id =
        Expr::binary(BinaryOperator::Equal, Expr::Call(Function::Id, vec![read(p)]), Expr::literal(7_i64));
    matched("start_id", table(), with(id), &[f]);
    let id = Expr::binary(
        BinaryOperator::Equal,
        Expr::Call(Function::ElementId, vec![read(p)]),
        Expr::Parameter("id".into()),
    );
    matched("start_element_id", table(), with(id), &[f]);
    let first = equal(Expr::property(p, "first"), Value::string("Ada"));
    let last = equal(Expr::property(p, "last"), Value::string("Byron"));
    matched("start_index_composite", table(), with(last).so_that(first), &[f]);
}

/// Figures of edges that an index finds, too.
const FIGURES_OF_EDGES: &str = "all 10000; Person 5000; City 100; KNOWS> 40000; KNOWS< 40000; LIVES> 5000; \
    edge index KNOWS(since) 1; edge index KNOWS(from,to) 1; KNOWS(since)=7 20; KNOWS(since)>=90 60; index Person(name) 4500";

/// Patterns with an edge that a property index finds, and such where it may not.
#[test]
fn edges_by_index() {
    use BinaryOperator::{Equal, Greater, GreaterEqual, In as Within, Less, LessEqual, StartsWith};
    let mut t = Table::default();
    let (a, b, c, k, l, d) = (t.var("a"), t.var("b"), t.var("c"), t.var("k"), t.var("l"), t.var("d"));
    let over = |name: &str, pattern: PatternText, input: Plan, kept: &[Var]| {
        let statement = Table(t.0.clone()).query(columns(pattern.over(input), kept), kept);
        check_with(&format!("edge_index_{name}"), FIGURES_OF_EDGES, statement);
    };
    let is = |operator, key: &str, value: Value| {
        Expr::binary(operator, Expr::property(k, key), Expr::literal(value))
    };
    let knows = || PatternText::default().vertex(a, "Person").vertex(b, "Person").edge(k, a, b, "KNOWS", Out);
    let seven = || is(Equal, "since", 7_i64.into());
    let with = |name: &str, predicates: Vec<Expr>| {
        over(name, knows().so_that(Expr::all(predicates)), Plan::Unit, &[a, b]);
    };
    with("equal", vec![seven()]);
    with("in", vec![is(Within, "since", Value::list(vec![7_i64.into(), 8_i64.into()]))]);
    with("prefix", vec![is(StartsWith, "since", Value::string("x"))]);
    with("from", vec![is(GreaterEqual, "since", 90_i64.into())]);
    with("beyond", vec![is(Greater, "since", 90_i64.into())]);
    with("below", vec![is(Less, "since", 7_i64.into())]);
    with("between", vec![is(Greater, "since", 5_i64.into()), is(LessEqual, "since", 7_i64.into())]);
    let mirrored = |operator| Expr::binary(operator, Expr::literal(90_i64), Expr::property(k, "since"));
    with("mirrored_from", vec![mirrored(LessEqual)]);
    with("mirrored_below", vec![mirrored(Greater)]);
    with("two_keys", vec![is(Equal, "from", 1_i64.into()), is(Equal, "to", 2_i64.into())]);
    with("not_one_key_of_two", vec![is(Equal, "from", 1_i64.into())]);
    with("not_another_key", vec![is(Equal, "until", 7_i64.into())]);
    with("not_where_a_vertex_is_indexed", vec![seven(), named(a, "Ada")]);
    let further = |edge_type: &str| {
        let more = knows().vertex(c, "Person").edge(l, b, c, edge_type, Out);
        more.so_that(seven())
    };
    over("told_apart", further("KNOWS"), Plan::Unit, &[a, c]);
    over("of_another_type", further("LIVES"), Plan::Unit, &[a, c]);
    let around = PatternText::default().vertex(a, "Person").edge(k, a, a, "KNOWS", Out);
    over("not_a_loop", around.so_that(seven()), Plan::Unit, &[a]);
    let both = PatternText::default().vertex(a, "Person").vertex(b, "City").edge(k, a, b, "KNOWS", Both);
    over("either_way_to_few", both.so_that(seven()), Plan::Unit, &[a, b]);
    let rows = || unwind(Plan::Unit, Expr::Parameter("years".into()), d);
    let by_row = Expr::binary(Equal, Expr::property(k, "since"), read(d));
    over("for_each_row", knows().so_that(by_row), rows(), &[a, d]);
    let people = PatternText::default().vertex(a, "Person").over(Plan::Unit);
    over("not_where_a_vertex_is_bound", knows().so_that(seven()), columns(people, &[a]), &[a, b]);
    let runs = knows().vertex(c, "Person").run(l, b, c, "KNOWS", Out, trail(1, Some(3)));
    over("not_beside_a_run_of_its_type", runs.so_that(seven()), Plan::Unit, &[a, c]);
}

#[test]
fn orders() {
    let mut t = Table::default();
    let (a, b, c, d) = (t.var("a"), t.var("b"), t.var("c"), t.var("d"));
    let (r, s, u) = (t.var("r"), t.var("s"), t.var("u"));
    let table = || Table(t.0.clone());
    let lives = PatternText::default().vertex(a, "Person").vertex(b, "City").edge(r, a, b, "LIVES", Out);
    matched("order_rare_label_first", table(), lives.clone(), &[a]);
    let triangle = PatternText::default().vertex(a, "Person").vertex(b, "Person").vertex(c, "Person");
    let triangle =
        triangle.edge(r, a, b, "KNOWS", Out).edge(s, b, c, "KNOWS", Out).edge(u, c, a, "KNOWS", Out);
    matched("order_triangle", table(), triangle.clone(), &[a, b, c]);
    matched("order_triangle_from_name", table(), triangle.so_that(named(b, "Ada")), &[a, c]);
    let apart = PatternText::default().vertex(a, "City").vertex(b, "City");
    matched("order_disconnected", table(), apart, &[a, b]);
    let both = PatternText::default().vertex(a, "Person").vertex(b, "Person").edge(r, a, b, "KNOWS", Out);
    matched(
        "order_both_ends_by_index",
        table(),
        both.so_that(named(a, "Ada")).so_that(named(b, "Bea")),
        &[r],
    );
    let far = PatternText::default().vertex(a, "Person").vertex(b, "").vertex(c, "Person");
    let far = far.edge(r, a, b, "LIVES", Out).edge(s, c, b, "LIVES", Out);
    matched("order_meet_in_city", table(), far.so_that(named(a, "Ada")), &[c]);
    let mixed = PatternText::default().vertex(a, "Person").vertex(b, "Person").vertex(c, "City");
    let mixed = mixed.edge(r, a, b, "KNOWS", Out).edge(s, b, c, "LIVES", Out);
    matched("order_types_differ_no_uniqueness", table(), mixed, &[a, c]);
    let people = PatternText::default().vertex(a, "Person").over(Plan::Unit);
    let second = lives.clone().so_that(named(b, "Rome")).over(people);
    check("order_two_clauses_as_one", table().query(columns(second, &[a]), &[a]));
    let rows = unwind(Plan::Unit, Expr::Parameter("names".into()), d);
    let by_row = Expr::binary(BinaryOperator::Equal, Expr::property(a, "name"), read(d));
    let pattern = lives.so_that(by_row).over(rows);
    check("order_index_for_each_row", table().query(columns(pattern, &[a, b]), &[a, b]));
    // A load into an empty graph looks up what it makes, and the graph grows under its plan.
    let one = PatternText::default().vertex(a, "Person").so_that(named(a, "Ada")).over(Plan::Unit);
    let empty = "all 0; Person 0; index Person(name) 0";
    check_with("order_index_of_an_empty_graph", empty, table().query(columns(one, &[a]), &[a]));
}

#[test]
fn runs() {
    let mut t = Table::default();
    let (a, b, r, p, n) = (t.var("a"), t.var("b"), t.var("r"), t.var("p"), t.var("n"));
    let table = || Table(t.0.clone());
    let ends = PatternText::default().vertex(a, "Person").vertex(b, "Person");
    let pattern = ends.clone().run(r, a, b, "KNOWS", Out, trail(1, Some(3)));
    matched("run_kept", table(), pattern.clone().so_that(named(a, "Ada")), &[b, r]);
    matched("run_from_right_end", table(), pattern.clone().so_that(named(b, "Ada")), &[a, r]);
    let shortest = Run {
        min: 1,
        max: None,
        selector: Selector::AnyShortest,
        mode: PathMode::Trail,
        edge_predicate: None,
    };
    let shortest = ends.clone().run(r, a, b, "KNOWS", Both, Some(shortest));
    let between = shortest.so_that(named(a, "Ada")).so_that(named(b, "Bea"));
    matched("run_shortest_between", table(), between.clone(), &[r]);
    let length = Expr::Call(Function::Length, vec![read(p)]);
    let path = extend(between.over(Plan::Unit), vec![(p, Expr::PathOf(vec![a, r, b]))]);
    check("length_only", table().query(project(path, vec![(n, length)]), &[n]));
    let x = Table(t.0.clone()).var("x");
    let each = Expr::binary(BinaryOperator::Greater, Expr::property(x, "since"), Expr::literal(2000_i64));
    let all = Expr::Quantified {
        quantifier: Quantifier::All,
        variable: x,
        list: Box::new(read(r)),
        predicate: Box::new(each),
    };
    let mut more = table();
    more.var("x");
    let path = Expr::Call(Function::Relationships, vec![Expr::PathOf(vec![a, r, b])]);
    let on_path = match all.clone() {
        Expr::Quantified { quantifier, variable, predicate, .. } => {
            Expr::Quantified { quantifier, variable, list: Box::new(path), predicate }
        }
        other => other,
    };
    let mut more_path = table();
    more_path.var("x");
    matched("simplify_paths", more_path, pattern.clone().so_that(named(a, "Ada")).so_that(on_path), &[b]);
    matched("run_condition_on_every_edge", more, pattern.so_that(named(a, "Ada")).so_that(all), &[b]);
}

#[test]
fn starts_without_a_label() {
    let mut t = Table::default();
    let (a, b, r, n) = (t.var("a"), t.var("b"), t.var("r"), t.var("n"));
    let table = || Table(t.0.clone());
    let one = || PatternText::default().vertex(a, "");
    matched("start_any_label_equal", table(), one().so_that(named(a, "Ada")), &[a]);
    let either = LabelExpr::Or(Box::new(label("Person")), Box::new(label("City")));
    let mut two = one();
    two.0.vertices[0].labels = either;
    matched("start_any_label_of_two", table(), two.so_that(named(a, "Ada")), &[a]);
    let list = Expr::binary(BinaryOperator::In, Expr::property(a, "name"), Expr::Parameter("names".into()));
    matched("start_any_label_in", table(), one().so_that(list), &[a]);
    let old = Expr::binary(BinaryOperator::Greater, Expr::property(a, "age"), Expr::literal(90_i64));
    matched("start_any_label_range", table(), one().so_that(old), &[a]);
    // One name only: for several rows a join reads the graph once.
    let rows = unwind(Plan::Unit, Expr::List(vec![Expr::Parameter("name".into())]), n);
    let by_row = Expr::binary(BinaryOperator::Equal, Expr::property(a, "name"), read(n));
    let plan = one().vertex(b, "").run(r, a, b, "", Out, trail(1, Some(3))).so_that(by_row).over(rows);
    check("start_any_label_for_each_row", table().query(columns(plan, &[a, b]), &[a, b]));
    let unknown = equal(Expr::property(a, "height"), 3_i64);
    matched("start_any_label_not_without_an_index", table(), one().so_that(unknown), &[a]);
}

#[test]
fn shortest_runs() {
    let mut t = Table::default();
    let (a, b, r) = (t.var("a"), t.var("b"), t.var("r"));
    let table = || Table(t.0.clone());
    let shortest =
        |min, max, selector| Some(Run { min, max, selector, mode: PathMode::Trail, edge_predicate: None });
    let ends = || PatternText::default().vertex(a, "Person").vertex(b, "Person").so_that(named(a, "Ada"));
    let any = |min, max| ends().run(r, a, b, "KNOWS", Both, shortest(min, max, Selector::AnyShortest));
    let other = Expr::binary(BinaryOperator::NotEqual, read(a), read(b));
    matched("run_shortest_to_all", table(), any(1, Some(30)).so_that(other), &[b, r]);
    let first = |of: Var| equal(Expr::property(of, "first"), Value::string("Bea"));
    let few = "all 10000; Person 5000; KNOWS> 40000; KNOWS< 40000; KNOWS- 80000; Person KNOWS- 80000; \
        index Person(name) 4500; index Person(first) 2500";
    let plan = any(1, Some(3)).so_that(first(b)).over(Plan::Unit);
    check_with("run_shortest_to_few", few, table().query(columns(plan, &[b, r]), &[b, r]));
    let many = few.replace("index Person(first) 2500", "index Person(first) 5");
    let plan = any(1, Some(3)).so_that(first(b)).over(Plan::Unit);
    check_with("run_shortest_to_many_by_index", &many, table().query(columns(plan, &[b, r]), &[b, r]));
    let all = |min, max| ends().run(r, a, b, "KNOWS", Both, shortest(min, max, Selector::AllShortest));
    matched("long_shortest_all", table(), all(2, Some(4)), &[b, r]);
    matched("long_shortest_all_ends_only", table(), all(2, Some(4)), &[b]);
    matched("long_shortest_all_of_one_length", table(), all(2, Some(2)), &[b, r]);
    matched("long_shortest_any", table(), any(2, Some(4)).so_that(named(b, "Bea")), &[r]);
    matched("long_shortest_any_ends_only", table(), any(2, Some(4)), &[b]);
    let walk = Run { mode: PathMode::Walk, ..shortest(2, None, Selector::AnyShortest).unwrap() };
    let endless = ends().run(r, a, b, "KNOWS", Both, Some(walk)).over(Plan::Unit);
    let refused = optimize(table().query(columns(endless, &[b]), &[b]), &Figures::new(FIGURES)).unwrap_err();
    assert_eq!((refused.code, refused.hint.is_empty()), ("UnsupportedQuery", false));
}

#[test]
fn sets() {
    let mut t = Table::default();
    let (a, b, r, c, s, n) = (t.var("a"), t.var("b"), t.var("r"), t.var("c"), t.var("s"), t.var("n"));
    let table = || Table(t.0.clone());
    let ends = PatternText::default().vertex(a, "Person").vertex(b, "Person").so_that(named(a, "Ada"));
    let reach =
        |min, direction| ends.clone().run(r, a, b, "KNOWS", direction, trail(min, Some(3))).over(Plan::Unit);
    let count = |plan| aggregate(plan, Vec::new(), vec![(n, AggregateFunction::Count, Some(read(b)), true)]);
    check("distinct_ends", table().query(count(reach(1, Out)), &[n]));
    check("distinct_ends_not_from_two", table().query(count(reach(2, Out)), &[n]));
    check("distinct_ends_not_undirected", table().query(count(reach(1, Both)), &[n]));
    let other = Expr::binary(BinaryOperator::NotEqual, read(a), read(b));
    check(
        "distinct_ends_undirected_but_the_start",
        table().query(distinct(filter(reach(1, Both), other), vec![b]), &[b]),
    );
    let rows = |plan| aggregate(plan, Vec::new(), vec![(n, AggregateFunction::CountRows, None, false)]);
    check("distinct_ends_not_if_rows_count", table().query(rows(reach(1, Out)), &[n]));
    let hops = PatternText::default().vertex(a, "City").vertex(b, "Person").vertex(c, "Person");
    let hops = hops.edge(r, b, a, "LIVES", Out).edge(s, b, c, "KNOWS", Out);
    let hops = hops.over(Plan::Unit);
    check("dedup_frontier", table().query(distinct(hops, vec![c]), &[c]));
    let first = PatternText::default()
        .vertex(a, "Person")
        .vertex(b, "Person")
        .edge(r, a, b, "KNOWS", Out)
        .over(Plan::Unit);
    let second = PatternText::default()
        .vertex(b, "")
        .vertex(c, "Person")
        .edge(s, b, c, "KNOWS", Out)
        .over(first.clone());
    check("dedup_frontier_between_clauses", table().query(distinct(second, vec![c]), &[c]));
    let chain = PatternText::default().vertex(a, "Person").vertex(b, "Person").vertex(c, "Person");
    let chain = chain.edge(r, a, b, "KNOWS", Out).edge(s, b, c, "KNOWS", Out).over(Plan::Unit);
    check("dedup_frontier_not_over_uniqueness", table().query(distinct(chain, vec![c]), &[c]));
}

#[test]
fn subqueries() {
    let mut t = Table::default();
    let (a, b, r, n, x) = (t.var("a"), t.var("b"), t.var("r"), t.var("n"), t.var("x"));
    let table = || Table(t.0.clone());
    let people = || PatternText::default().vertex(a, "Person");
    let friends = |from: Var| {
        let pattern =
            PatternText::default().vertex(from, "").vertex(b, "City").edge(r, from, b, "LIVES", Out);
        pattern.over(argument(&[from]))
    };
    let exists = || subquery(SubqueryKind::Exists, &[a], friends(a));
    let count = || subquery(SubqueryKind::Count, &[a], friends(a));
    matched("lift_exists", table(), people().so_that(exists()), &[a]);
    matched(
        "lift_not_exists",
        table(),
        people().so_that(Expr::Unary(UnaryOperator::Not, Box::new(exists()))),
        &[a],
    );
    let none = Expr::binary(BinaryOperator::Equal, count(), Expr::literal(0_i64));
    matched("lift_count_zero", table(), people().so_that(none), &[a]);
    let either = Expr::binary(BinaryOperator::Or, exists(), named(a, "Ada"));
    matched("lift_exists_or", table(), people().so_that(either), &[a]);
    let plan = project(people().over(Plan::Unit), vec![(a, read(a)), (n, count())]);
    check("lift_count", table().query(plan, &[a, n]));
    // The second column is computed from the first; and a column beside others that are there already.
    let more = Expr::binary(BinaryOperator::Add, count(), read(x));
    let plan = extend(people().over(Plan::Unit), vec![(x, count()), (n, more)]);
    check("lift_from_added_columns", table().query(columns(plan, &[a, x, n]), &[a, x, n]));
    let plan = extend(people().over(Plan::Unit), vec![(x, Expr::property(a, "name"))]);
    let plan = extend(plan, vec![(n, count())]);
    check("lift_over_added_columns", table().query(columns(plan, &[a, x, n]), &[a, x, n]));
    let cities = || PatternText::default().vertex(b, "City").over(argument(&[]));
    let exists = subquery(SubqueryKind::Exists, &[], cities());
    matched("once_exists", table(), people().so_that(exists), &[a]);
    let count = subquery(SubqueryKind::Count, &[], cities());
    let plan = project(people().over(Plan::Unit), vec![(a, read(a)), (n, count.clone())]);
    check("once_count", table().query(plan, &[a, n]));
    let plan = project(Plan::Unit, vec![(n, count)]);
    check("once_not_for_one_row", table().query(plan, &[n]));
    let collect = extend(friends(a), vec![(x, Expr::property(b, "name"))]);
    let plan =
        project(people().over(Plan::Unit), vec![(n, subquery(SubqueryKind::Collect(x), &[a], collect))]);
    check("lift_collect", table().query(plan, &[n]));
    let gathered = aggregate(
        people().over(Plan::Unit),
        Vec::new(),
        vec![(n, AggregateFunction::Collect, Some(read(a)), false)],
    );
    let predicate = Box::new(subquery(SubqueryKind::Exists, &[x], friends(x)));
    let any =
        Expr::Quantified { quantifier: Quantifier::Any, variable: x, list: Box::new(read(n)), predicate };
    check("lift_from_quantifier", table().query(filter(gathered, any), &[n]));
    let plan = PatternText::default().vertex(a, "").vertex(b, "City").edge(r, a, b, "LIVES", Out);
    let plan = plan.so_that(named(b, "Rome")).optionally(people().over(Plan::Unit));
    check("optional_match", table().query(columns(plan, &[a, b]), &[a, b]));
}

/// Replies between two persons taken from a list: no label is known of them, but that they create things.
#[test]
fn bound_without_a_label() {
    const REPLIES: &str = "all 200000; Person 1500; Comment 150000; Post 40000; HAS_CREATOR> 190000; HAS_CREATOR< 190000; \
        Comment HAS_CREATOR> 150000; Post HAS_CREATOR> 40000; Person HAS_CREATOR> 0; Person HAS_CREATOR< 190000; \
        Comment HAS_CREATOR< 0; Post HAS_CREATOR< 0; far HAS_CREATOR< Comment 0.79; far HAS_CREATOR< Post 0.21; \
        REPLY_OF> 150000; REPLY_OF< 150000; Comment REPLY_OF> 150000; Post REPLY_OF> 0; Person REPLY_OF> 0; \
        Person REPLY_OF< 0; Post REPLY_OF< 75000; Comment REPLY_OF< 75000; far REPLY_OF> Post 0.5; far REPLY_OF< Comment 1; \
        far HAS_CREATOR> Person 1";
    let mut t = Table::default();
    let (list, a, b, n) = (t.var("persons"), t.var("a"), t.var("b"), t.var("n"));
    let (c, m, r, s, u) = (t.var("comment"), t.var("post"), t.var("r"), t.var("s"), t.var("u"));
    let names = t.0.clone();
    let table = || Table(names.clone());
    let element = |number: i64| Expr::Index(Box::new(Expr::Variable(list)), Box::new(Expr::literal(number)));
    let rows = unwind(Plan::Unit, Expr::Parameter("paths".into()), list);
    let rows = project(rows, vec![(a, element(0)), (b, element(1))]);
    let replies = PatternText::default().vertex(a, "").vertex(b, "").vertex(c, "Comment").vertex(m, "Post");
    let replies = replies.edge(r, c, a, "HAS_CREATOR", Out).edge(s, c, m, "REPLY_OF", Out);
    let replies = replies.edge(u, m, b, "HAS_CREATOR", Out).over(argument(&[a, b]));
    let count = subquery(SubqueryKind::Count, &[a, b], replies);
    let plan = |rows: Plan| project(rows, vec![(n, count.clone())]);
    check_with("bound_without_a_label", REPLIES, table().query(plan(rows.clone()), &[n]));
    // Labels that the statistics do not list are learnt from the statement.
    let people = PatternText::default().vertex(t.var("p"), "Person").over(rows);
    let unlisted = format!("{REPLIES}; labels 0");
    check_with("bound_without_a_label_but_named", &unlisted, Table(t.0.clone()).query(plan(people), &[n]));
}

#[test]
fn shapes() {
    let mut t = Table::default();
    let (a, b, n, m) = (t.var("a"), t.var("b"), t.var("n"), t.var("m"));
    let table = || Table(t.0.clone());
    let people = || PatternText::default().vertex(a, "Person").over(Plan::Unit);
    let name = Expr::property(a, "name");
    let plan = project(people(), vec![(n, name.clone()), (a, read(a))]);
    check(
        "push_filter_through_with",
        table().query(filter(plan, equal(read(n), Value::string("Ada"))), &[n]),
    );
    let first = Plan::Limit(Box::new(Limit {
        input: people(),
        count: Expr::literal(10_i64),
        scope: Default::default(),
    }));
    check("push_filter_not_through_limit", table().query(filter(first, named(a, "Ada")), &[a]));
    let towns = PatternText::default().vertex(b, "City").over(Plan::Unit);
    let both = vec![(m, a, b)];
    let union = Plan::Union(Box::new(Union { left: people(), right: towns, columns: both, distinct: true }));
    check("push_filter_into_union", table().query(filter(union, named(m, "Rome")), &[m]));
    let count =
        aggregate(people(), vec![(n, name.clone())], vec![(m, AggregateFunction::CountRows, None, false)]);
    let kept = Expr::all([equal(read(n), Value::string("Ada")), equal(read(m), 2_i64)]);
    check("push_filter_into_keys", table().query(filter(count, kept), &[n]));
    let sum = Expr::binary(BinaryOperator::Add, Expr::literal(1_i64), Expr::literal(2_i64));
    let zero = Expr::binary(BinaryOperator::Divide, Expr::literal(1_i64), Expr::literal(0_i64));
    let plan = filter(project(people(), vec![(n, sum), (m, zero)]), Expr::literal(true));
    check("fold_constants", table().query(plan, &[n, m]));
    let keys = vec![SortKey { expr: name.clone(), descending: true, order: Default::default() }];
    let sorted = Plan::Sort(Box::new(Sort { input: people(), keys, limit: None }));
    let skipped = Plan::Skip(Box::new(Skip { input: sorted, count: Expr::literal(5_i64) }));
    let plan = Plan::Limit(Box::new(Limit {
        input: columns(skipped, &[a]),
        count: Expr::literal(10_i64),
        scope: Default::default(),
    }));
    check("split_top_k", table().query(plan, &[a]));
    let top = |input: Plan, expr: Expr| {
        let keys = vec![SortKey { expr, descending: true, order: Default::default() }];
        let sorted = Plan::Sort(Box::new(Sort { input, keys, limit: None }));
        Plan::Limit(Box::new(Limit {
            input: sorted,
            count: Expr::literal(10_i64),
            scope: Default::default(),
        }))
    };
    let age = || Expr::property(a, "age");
    let chance = Expr::Call(Function::Rand, Vec::new());
    let wide = || vec![(n, name.clone()), (m, age()), (a, read(a)), (b, chance.clone())];
    let plan = top(project(people(), wide()), read(m));
    check("late_projection", table().query(plan, &[n, m, b]));
    let plan = top(extend(people(), vec![(n, name.clone()), (m, read(n)), (b, age())]), age());
    check("late_projection_of_added_columns", table().query(columns(plan, &[b, n]), &[b, n]));
    let plan = top(extend(people(), vec![(n, name.clone()), (b, age())]), age());
    check("late_projection_of_all_added_columns", table().query(columns(plan, &[b, n]), &[b, n]));
    let wide = extend(people(), vec![(n, name.clone()), (m, read(n))]);
    let plan = project(
        project(wide, vec![(a, read(a)), (n, read(n)), (b, Expr::property(a, "age"))]),
        vec![(m, read(b))],
    );
    check("prune_columns", table().query(plan, &[m]));
}

#[test]
fn a_long_chain_is_ordered_greedily() {
    let mut t = Table::default();
    let vertices: Vec<Var> = (0..40).map(|number| t.var(&format!("v{number}"))).collect();
    let mut pattern = PatternText::default();
    for var in &vertices {
        pattern = pattern.vertex(*var, "Person")
    }
    for pair in vertices.windows(2) {
        let edge = t.var(&format!("e{}", pair[0].0));
        pattern = pattern.edge(edge, pair[0], pair[1], if pair[0].0 % 2 == 0 { "KNOWS" } else { "LIVES" }, In)
    }
    let plan = columns(pattern.so_that(named(vertices[20], "Ada")).over(Plan::Unit), &vertices[..1]);
    let statement = optimize(t.query(plan, &vertices[..1]), &Figures::new(FIGURES)).unwrap();
    let StatementKind::Query { plan, .. } = &statement.kind else { unreachable!("a query was written") };
    let listed = explain::nodes(plan, &statement.variables);
    assert_eq!(listed.iter().filter(|node| node.name == "Expand").count(), 39);
    let seek = listed.iter().find(|node| node.name == "SeekVertices").unwrap();
    assert!(seek.detail.starts_with("(v20:Person)"), "starts at {}", seek.detail);
}

#[test]
fn what_is_too_large_or_impossible_is_refused() {
    let refuse = |statement: Statement| optimize(statement, &Figures::new(FIGURES)).unwrap_err();
    let mut t = Table::default();
    let a = t.var("a");
    let deep = (0..1_100).fold(Plan::Unit, |plan, _| distinct(plan, Vec::new()));
    assert_eq!(refuse(Table(t.0.clone()).query(deep, &[])).code, "PlanTooLarge");
    let nested = (0..1_100).fold(Expr::literal(1_i64), |expr, _| Expr::List(vec![expr]));
    assert_eq!(
        refuse(Table(t.0.clone()).query(project(Plan::Unit, vec![(a, nested)]), &[a])).code,
        "PlanTooLarge"
    );
    let wide = (0..200).fold(PatternText::default(), |pattern, number| pattern.vertex(Var(number), ""));
    assert_eq!(refuse(Table(t.0.clone()).query(wide.over(Plan::Unit), &[])).code, "PlanTooLarge");
    let (b, r, x) = (t.var("b"), t.var("r"), t.var("x"));
    let inner = PatternText::default().vertex(x, "").over(argument(&[x]));
    let test = Some((x, subquery(SubqueryKind::Exists, &[x], inner)));
    let run = Run {
        min: 1,
        max: None,
        selector: Selector::AnyShortest,
        mode: PathMode::Trail,
        edge_predicate: test,
    };
    let pattern = PatternText::default().vertex(a, "").vertex(b, "").run(r, a, b, "", Out, Some(run));
    let refused = refuse(t.query(pattern.over(Plan::Unit), &[a]));
    assert_eq!((refused.code, refused.hint.is_empty()), ("UnsupportedQuery", false));
}

/// The deepest plans and expressions that the limits admit are planned on three quarters of a thread's ordinary stack
/// (2 MiB), in a build without optimisation.
#[test]
fn the_deepest_admitted_queries_are_planned() {
    const STACK_BYTES: usize = 3 << 19;
    let within = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(plan_deepest).unwrap();
    within.join().unwrap()
}

fn plan_deepest() {
    let mut t = Table::default();
    let (a, n) = (t.var("a"), t.var("n"));
    let start = || PatternText::default().vertex(a, "Person").over(Plan::Unit);
    let each = |input: Plan| unwind(filter_not_null(input, a), Expr::Parameter("list".into()), n);
    let line = |length: usize| (0..length).fold(start(), |plan, _| each(plan));
    let calls = |length: usize| {
        let inner = || unwind(argument(&[a]), Expr::Parameter("list".into()), n);
        let call = |input: Plan| Apply {
            input,
            inner: inner(),
            imports: vec![a],
            kind: ApplyKind::Inner(vec![n]),
            scope: Default::default(),
            rank: None,
        };
        (0..length).fold(start(), |plan, _| Plan::Apply(Box::new(call(plan))))
    };
    let plan = |plan: Plan| optimize(Table(t.0.clone()).query(plan, &[a]), &Figures::new(FIGURES));
    assert!(plan(line(900)).is_err_and(|error| error.code == "PlanTooLarge"), "1,800 operators are too many");
    let long = (0..500).map(|number| equal(Expr::property(a, format!("key{number}")), 1_i64));
    let long = long.reduce(|a, b| Expr::binary(BinaryOperator::Or, a, b)).unwrap();
    for deepest in [filter(line(490), long), calls(330)] {
        let planned = plan(deepest).unwrap();
        let StatementKind::Query { plan, .. } = &planned.kind else { unreachable!("a query was written") };
        assert!(explain::nodes(plan, &planned.variables).len() > 490);
        assert!(explain::describe(&planned, &estimates(plan, &Figures::new(FIGURES))).is_some());
    }
}

fn filter_not_null(plan: Plan, var: Var) -> Plan {
    filter(plan, Expr::Unary(UnaryOperator::IsNotNull, Box::new(read(var))))
}

#[test]
fn hints() {
    let mut t = Table::default();
    let (p, q, f) = (t.var("p"), t.var("q"), t.var("f"));
    let (k, l) = (t.var("k"), t.var("l"));
    let pattern = PatternText::default()
        .vertex(p, "Person")
        .vertex(f, "Person")
        .vertex(q, "Person")
        .edge(k, p, f, "KNOWS", Out)
        .edge(l, f, q, "KNOWS", Out)
        .so_that(Expr::binary(BinaryOperator::Less, Expr::property(p, "age"), Expr::literal(30_i64)))
        .so_that(named(q, "Bea"));
    let told = |name: &str, hints: Vec<OrderHint>| {
        let plan = columns(pattern.clone().hinted(hints), &[f]);
        check(name, Table(t.0.clone()).query(plan, &[f]));
    };
    let index = |var: Var, key: &str| OrderHint::Index(var, "Person".into(), vec![key.into()]);
    told("hint_none", Vec::new());
    told("hint_index", vec![index(p, "age")]);
    told("hint_index_that_answers_nothing", vec![index(q, "age")]);
    told("hint_scan", vec![OrderHint::Scan(f, "Person".into())]);
    told("hint_scan_of_another_label", vec![OrderHint::Scan(f, "City".into())]);
    told("hint_join", vec![OrderHint::Join(f)]);
}

/// What Gremlin says in steps is found as Cypher's patterns are.
#[test]
fn steps_and_tests() {
    let mut t = Table::default();
    let (a, b, c, r, s, edges, x) =
        (t.var("a"), t.var("b"), t.var("c"), t.var("r"), t.var("s"), t.var("edges"), t.var("x"));
    let table = || Table(t.0.clone());
    let knows = PatternText::default().vertex(a, "Person").vertex(b, "Person").edge(r, a, b, "KNOWS", Out);
    let known = PatternText::default().vertex(b, "").vertex(c, "Person").edge(s, b, c, "KNOWS", Out);
    let passes = known.so_that(named(c, "Ada")).over(argument(&[b]));
    let passes = || subquery(SubqueryKind::Exists, &[b], passes.clone());
    matched("afar_by_index", table(), knows.clone().so_that(passes()), &[a, b]);
    matched("afar_not_for_few", table(), knows.clone().so_that(named(a, "Bea")).so_that(passes()), &[a, b]);
    // Few rows meet what comes from afar: they are held for it to be looked up, but where they stand in order they look it up themselves.
    let lives = PatternText::default().vertex(a, "").vertex(b, "Person").edge(r, a, b, "LIVES", In);
    let lives = lives.so_that(passes());
    let cities = PatternText::default().vertex(a, "City").over(Plan::Unit);
    let keys = vec![SortKey { expr: Expr::property(a, "age"), descending: false, order: KeyOrder::Total }];
    let sorted = Plan::Sort(Box::new(Sort { input: cities.clone(), keys, limit: None }));
    for (name, input) in [("afar_to_few", cities), ("afar_to_sorted", sorted)] {
        let query = table().query(columns(lives.clone().over(input), &[a, b]), &[a, b]);
        check_with(name, &FIGURES.replace("City 100", "City 10"), query);
    }
    let walk = |input: Plan, from: Var, min: u32, max: u32| {
        Plan::ExpandPath(Box::new(ExpandPath {
            input,
            from,
            edges: Some(edges),
            edges_reversed: false,
            length: None,
            to: c,
            types: vec!["KNOWS".into()],
            direction: Out,
            into: false,
            labels: LabelExpr::Any,
            min,
            max: Some(max),
            mode: PathMode::Walk,
            selector: Selector::Every,
            distinct_ends: false,
            edge_predicate: None,
        }))
    };
    let ada = || PatternText::default().vertex(a, "Person").so_that(named(a, "Ada")).over(Plan::Unit);
    let step = PatternText::default().vertex(a, "").vertex(b, "").edge(r, a, b, "KNOWS", Out).over(ada());
    let joined = walk(step, b, 0, 1);
    check("run_joined", table().query(distinct(joined.clone(), vec![c]), &[c]));
    check("run_not_joined_over_what_is_read", table().query(distinct(joined, vec![b, c]), &[b, c]));
    let lives = PatternText::default().vertex(c, "").vertex(b, "City").edge(s, c, b, "LIVES", Out);
    let lives = subquery(SubqueryKind::Exists, &[c], lives.over(argument(&[c])));
    let ends = distinct(walk(ada(), a, 1, 3), vec![c]);
    check("distinct_late", table().query(filter(ends, lives), &[c]));
    let friends = PatternText::default().vertex(a, "").vertex(b, "").edge(r, a, b, "KNOWS", Both);
    let zeroes = |count| Expr::List(vec![Expr::literal(0_i64); count]);
    let times = Expr::Case {
        operand: None,
        arms: vec![(Expr::binary(BinaryOperator::Equal, read(a), read(b)), zeroes(2))],
        otherwise: Some(Box::new(zeroes(1))),
    };
    let twice = unwind(friends.over(ada()), times, x);
    check("loops_twice", table().query(columns(twice.clone(), &[b]), &[b]));
    check("loops_told_apart", table().query(columns(twice, &[b, x]), &[b, x]));
    let closed = PatternText::default().vertex(a, "").vertex(b, "").edge(s, b, a, "KNOWS", Out);
    let closed = subquery(SubqueryKind::Exists, &[a, b], closed.over(argument(&[a, b])));
    matched("intersect_once", table(), knows.so_that(closed), &[a, b]);
}
