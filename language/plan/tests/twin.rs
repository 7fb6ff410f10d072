//! The optimised plan against the plan as written, on random small graphs, patterns, clauses and statistics.
//!
//! The slow twin tries everything and knows no order; the optimised plan is run by the same evaluator, which panics if a
//! variable is bound twice or read unbound. Replay one case with `TANGLEWOOD_SEED=n`.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use crate::support;

use model::{Direction, Value, compare};
use support::build::*;
use support::chance::Chance;
use support::evaluate::Row;
use support::graph::*;
use support::run::run;
use tanglewood_plan::expr::*;
use tanglewood_plan::pattern::*;
use tanglewood_plan::{AggregateFunction, Function, LabelExpr, Plan, Statement, StatementKind, optimize};

const CASES: u64 = 4_000;

fn rows(graph: &Graph, statement: &Statement) -> Vec<Vec<Value>> {
    let StatementKind::Query { plan, columns } = &statement.kind else {
        unreachable!("only queries are written here")
    };
    let rows = run(graph, plan, &Row::new());
    let mut answers: Vec<Vec<Value>> =
        rows.iter().map(|row| columns.iter().map(|(_, var)| row[var].clone()).collect()).collect();
    answers.sort_by(|a, b| {
        let each = a.iter().zip(b).map(|(a, b)| compare::total_order(a, b));
        each.into_iter().find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
    });
    answers
}

fn same(slow: &[Vec<Value>], fast: &[Vec<Value>]) -> bool {
    let row = |(a, b): (&Vec<Value>, &Vec<Value>)| a.iter().zip(b).all(|(a, b)| compare::equivalent(a, b));
    slow.len() == fast.len() && slow.iter().zip(fast).all(row)
}

fn plan_of(statement: &Statement) -> &Plan {
    let StatementKind::Query { plan, .. } = &statement.kind else {
        unreachable!("only queries are written here")
    };
    plan
}

struct Writer<'a> {
    chance: &'a mut Chance,
    table: Table,
    /// Vertex variables in scope.
    vertices: Vec<Var>,
    /// Edge variables in scope (single edges, and lists).
    edges: Vec<Var>,
    runs: Vec<Var>,
    /// Runs of which only the length may be looked at.
    vague: Vec<Var>,
    next: usize,
}

impl Writer<'_> {
    fn fresh(&mut self, what: &str) -> Var {
        self.next += 1;
        self.table.var(&format!("{what}{}", self.next))
    }

    fn labels(&mut self) -> LabelExpr {
        let name = |chance: &mut Chance| label(chance.pick(&LABELS));
        match self.chance.below(10) {
            0..5 => LabelExpr::Any,
            5..8 => name(self.chance),
            8 => LabelExpr::Or(Box::new(name(self.chance)), Box::new(name(self.chance))),
            _ => LabelExpr::And(
                Box::new(name(self.chance)),
                Box::new(LabelExpr::Not(Box::new(name(self.chance)))),
            ),
        }
    }

    fn property(&mut self, var: Var) -> Expr {
        Expr::property(var, self.chance.pick(&KEYS))
    }

    fn predicate(&mut self, vertices: &[Var], edges: &[Var]) -> Expr {
        use BinaryOperator::*;
        let a = self.chance.pick(vertices);
        let b = self.chance.pick(vertices);
        let number = Expr::literal(self.chance.below(3) as i64);
        let left = self.property(a);
        match self.chance.below(14) {
            0..3 => Expr::binary(Equal, left, number),
            3 => Expr::binary(Equal, number, left),
            4 => Expr::binary(self.chance.pick(&[Less, LessEqual, Greater, GreaterEqual]), left, number),
            5 => {
                let right = self.property(b);
                Expr::binary(self.chance.pick(&[Equal, Less, Greater]), left, right)
            }
            6 => Expr::binary(In, left, Expr::List(vec![number, Expr::literal(1_i64)])),
            7 => Expr::binary(Equal, Expr::Call(Function::Id, vec![read(a)]), number),
            8 => Expr::binary(NotEqual, read(a), read(b)),
            9 => Expr::HasLabels(Box::new(read(a)), self.labels()),
            // Arms that demand a value each, and more.
            12 | 13 => {
                let more = Expr::binary(GreaterEqual, self.property(b), Expr::literal(1_i64));
                let first = Expr::all([Expr::binary(Equal, left.clone(), number), more]);
                let other = Expr::binary(self.chance.pick(&[Equal, Equal, Less]), left, self.property(b));
                Expr::binary(Or, first, other)
            }
            10 | 11 if !edges.is_empty() => {
                let own = Expr::property(self.chance.pick(edges), "p");
                let operator = self.chance.pick(&[Equal, Equal, Less, LessEqual, Greater, GreaterEqual]);
                match self.chance.below(5) {
                    0 => Expr::binary(operator, number, own),
                    1 => Expr::binary(In, own, Expr::List(vec![number, Expr::literal(1_i64)])),
                    2 => Expr::binary(operator, own, left),
                    _ => Expr::binary(operator, own, number),
                }
            }
            _ => Expr::binary(Or, Expr::binary(Equal, left.clone(), number), equal(left, 2_i64)),
        }
    }

    fn run(&mut self) -> Option<Run> {
        if !self.chance.percent(35) {
            return None;
        }
        let min = self.chance.below(3) as u32;
        let max = self.chance.percent(60).then(|| min.max(1) + self.chance.below(2) as u32);
        let selector = match self.chance.below(10) {
            0 => Selector::AllShortest,
            1 => Selector::AnyShortest,
            _ => Selector::Every,
        };
        let mode = match self.chance.below(10) {
            0 if max.is_some() => PathMode::Walk,
            1 => PathMode::Acyclic,
            2 => PathMode::Simple,
            _ => PathMode::Trail,
        };
        let edge_predicate = self.chance.percent(20).then(|| {
            let var = self.fresh("x");
            let test = equal(Expr::property(var, "p"), self.chance.below(3) as i64);
            match self.vertices.last().filter(|_| self.chance.percent(50)) {
                Some(seen) => {
                    let other = Expr::property(*seen, "p");
                    let greater = Expr::binary(BinaryOperator::GreaterEqual, Expr::property(var, "p"), other);
                    (var, Expr::binary(BinaryOperator::Or, test, greater))
                }
                None => (var, test),
            }
        });
        Some(Run { min, max, selector, mode, edge_predicate })
    }

    /// A pattern over the variables in scope and new ones.
    fn pattern(&mut self) -> Pattern {
        let mut pattern = Pattern::default();
        let mut here: Vec<Var> = Vec::new();
        for _ in 0..1 + self.chance.below(3) {
            let bound = !self.vertices.is_empty() && self.chance.percent(40);
            let variable = if bound { self.chance.pick(&self.vertices) } else { self.fresh("v") };
            if !here.contains(&variable) {
                here.push(variable);
                let labels = self.labels();
                pattern.vertices.push(PatternVertex { variable, labels });
            }
        }
        let (mut edges, mut runs) = (Vec::new(), Vec::new());
        for _ in 0..self.chance.below(4) {
            let (from, to) = (self.chance.pick(&here), self.chance.pick(&here));
            let direction = self.chance.pick(&[Direction::Out, Direction::In, Direction::Both]);
            let types = TYPES.into_iter().filter(|_| self.chance.percent(40)).map(Name::from).collect();
            let run = self.run();
            let again = run.is_none() && !self.edges.is_empty() && self.chance.percent(5);
            let variable = if again { self.chance.pick(&self.edges) } else { self.fresh("e") };
            match &run {
                None => edges.push(variable),
                Some(run) if run.selector == Selector::AnyShortest || run.mode == PathMode::Walk => {
                    self.vague.push(variable)
                }
                Some(_) => runs.push(variable),
            }
            // Of walks there are few, since they have many rows; what is drawn behind does not depend on it.
            let distinct_among = match Chance(self.chance.0).below(20) {
                0 if run.is_none() => None,
                1 | 2 => Some(1),
                _ => Some(0),
            };
            pattern.edges.push(PatternEdge { variable, from, to, types, direction, run, distinct_among });
        }
        let mut seen = [here.clone(), self.vertices.clone()].concat();
        seen.dedup();
        for _ in 0..self.chance.below(4) {
            let predicate = self.predicate(&seen, &edges);
            pattern.predicates.push(predicate)
        }
        if let Some(run) = runs.first()
            && self.chance.percent(20)
        {
            let variable = self.fresh("y");
            let predicate = Box::new(equal(Expr::property(variable, "p"), 1_i64));
            let path = Expr::PathOf(vec![here[0], *run, here[0]]);
            let of_path = self.chance.percent(50);
            let list = if of_path { Expr::Call(Function::Relationships, vec![path]) } else { read(*run) };
            let list = Box::new(list);
            let quantifier = self.chance.pick(&[Quantifier::All, Quantifier::Any, Quantifier::None]);
            pattern.predicates.push(Expr::Quantified { quantifier, variable, list, predicate })
        }
        let fresh_of = |known: &[Var], more: Vec<Var>| -> Vec<Var> {
            more.into_iter().filter(|var| !known.contains(var)).collect()
        };
        let (vertices, edges) = (fresh_of(&self.vertices, here), fresh_of(&self.edges, edges));
        self.vertices.extend(vertices);
        self.edges.extend(edges);
        self.runs.extend(runs);
        pattern
    }

    fn subquery(&mut self, kind: &str) -> Expr {
        let (vertices, edges, runs, vague) =
            (self.vertices.clone(), self.edges.clone(), self.runs.clone(), self.vague.clone());
        let mut imports = self.vertices.clone();
        imports.extend(self.edges.iter().copied());
        let mut pattern = self.pattern();
        if !pattern.vertices.iter().any(|vertex| vertices.contains(&vertex.variable))
            && !vertices.is_empty()
            && self.chance.percent(70)
        {
            let (variable, to) = (self.fresh("e"), pattern.vertices[0].variable);
            let from = self.chance.pick(&vertices);
            pattern.vertices.push(PatternVertex { variable: from, labels: LabelExpr::Any });
            pattern.edges.push(PatternEdge {
                variable,
                from,
                to,
                types: Vec::new(),
                direction: Direction::Both,
                run: None,
                distinct_among: Some(0),
            });
        }
        let column = self.fresh("c");
        let value = pattern.vertices[0].variable;
        let mut plan = PatternText(pattern).over(argument(&imports));
        let kind = match kind {
            "exists" => SubqueryKind::Exists,
            "count" => SubqueryKind::Count,
            _ => {
                plan = extend(plan, vec![(column, Expr::property(value, "p"))]);
                SubqueryKind::Collect(column)
            }
        };
        (self.vertices, self.edges, self.runs, self.vague) = (vertices, edges, runs, vague);
        subquery(kind, &imports, plan)
    }

    /// A clause after the first MATCH.
    fn clause(&mut self, plan: Plan) -> Plan {
        match self.chance.below(10) {
            0 | 1 => {
                let pattern = self.pattern();
                PatternText(pattern).over(plan)
            }
            2 | 3 => {
                let pattern = self.pattern();
                PatternText(pattern).optionally(plan)
            }
            4 => {
                let test = self.subquery("exists");
                let test = if self.chance.percent(50) {
                    Expr::Unary(UnaryOperator::Not, Box::new(test))
                } else {
                    test
                };
                filter(plan, test)
            }
            5 => {
                let count = self.subquery("count");
                let number = Expr::literal(self.chance.below(2) as i64);
                let operator = self.chance.pick(&[
                    BinaryOperator::Greater,
                    BinaryOperator::Equal,
                    BinaryOperator::LessEqual,
                ]);
                filter(plan, Expr::binary(operator, count, number))
            }
            6 => {
                let vertices = self.vertices.clone();
                let test = self.predicate(&vertices, &[]);
                filter(plan, test)
            }
            7 => {
                let variable = self.fresh("n");
                let list = Expr::List(vec![Expr::literal(0_i64), Expr::literal(1_i64)]);
                let unwound = unwind(plan, list, variable);
                let vertex = self.chance.pick(&self.vertices);
                filter(
                    unwound,
                    Expr::binary(BinaryOperator::Equal, Expr::property(vertex, "p"), read(variable)),
                )
            }
            8 => {
                let element = self.fresh("l");
                self.vertices.push(element);
                let inner = self.subquery("exists");
                self.vertices.pop();
                let list = Expr::List(self.vertices.iter().map(|var| read(*var)).collect());
                let quantifier = self.chance.pick(&[Quantifier::All, Quantifier::Any, Quantifier::Single]);
                filter(
                    plan,
                    Expr::Quantified {
                        quantifier,
                        variable: element,
                        list: Box::new(list),
                        predicate: Box::new(inner),
                    },
                )
            }
            _ => {
                let kept: Vec<Var> =
                    self.vertices.iter().copied().filter(|_| self.chance.percent(70)).collect();
                let kept = if kept.is_empty() { vec![self.vertices[0]] } else { kept };
                (self.edges, self.runs, self.vague) = (Vec::new(), Vec::new(), Vec::new());
                self.vertices = kept.clone();
                distinct(plan, kept)
            }
        }
    }

    /// RETURN: some columns of everything in scope.
    fn finish(&mut self, plan: Plan) -> (Plan, Vec<Var>) {
        let column = self.fresh("r");
        let vertices: Vec<Var> = self.vertices.iter().copied().filter(|_| self.chance.percent(60)).collect();
        match self.chance.below(8) {
            0 => {
                let calls = vec![(column, AggregateFunction::CountRows, None, false)];
                let keys: Vec<(Var, Expr)> = vertices.iter().map(|var| (*var, read(*var))).collect();
                (aggregate(plan, keys, calls), [vertices, vec![column]].concat())
            }
            1 | 2 => {
                let value = read(self.chance.pick(&self.vertices));
                let calls = vec![(column, AggregateFunction::Count, Some(value), true)];
                (aggregate(plan, Vec::new(), calls), vec![column])
            }
            3 => (distinct(plan, vertices.clone()), vertices),
            4 => {
                let list = self.subquery("collect");
                let items = vertices.iter().map(|var| (*var, read(*var))).chain([(column, list)]).collect();
                (project(plan, items), [vertices, vec![column]].concat())
            }
            5 if !(self.runs.is_empty() && self.vague.is_empty()) => {
                let run = self.chance.pick(&[self.runs.clone(), self.vague.clone()].concat());
                let path = self.fresh("path");
                let start = self.vertices[0];
                let mut parts = vec![start, run, start];
                if !self.edges.is_empty() && self.chance.percent(50) {
                    parts.extend([self.chance.pick(&self.edges), start])
                }
                let plan = extend(plan, vec![(path, Expr::PathOf(parts))]);
                let length = Expr::Call(Function::Length, vec![read(path)]);
                let items = vertices.iter().map(|var| (*var, read(*var))).chain([(column, length)]).collect();
                (project(plan, items), [vertices, vec![column]].concat())
            }
            _ => {
                let more = [self.edges.clone(), self.runs.clone()].concat();
                let more = more.into_iter().filter(|_| self.chance.percent(50));
                let columns: Vec<Var> = vertices.into_iter().chain(more).collect();
                let items = columns.iter().map(|var| (*var, read(*var))).collect();
                (project(plan, items), columns)
            }
        }
    }
}

fn statement(chance: &mut Chance) -> Statement {
    let table = Table::default();
    let mut writer =
        Writer { chance, table, vertices: vec![], edges: vec![], runs: vec![], vague: vec![], next: 0 };
    let pattern = writer.pattern();
    let mut plan = PatternText(pattern).over(Plan::Unit);
    for _ in 0..writer.chance.below(3) {
        plan = writer.clause(plan)
    }
    let (plan, columns) = writer.finish(plan);
    writer.table.query(plan, &columns)
}

fn check(seed: u64, reached: &mut Vec<&'static str>) {
    let mut chance = Chance(seed);
    let graph = Graph::random(&mut chance);
    let statement = statement(&mut chance);
    let figures = RandomFigures(chance.next());
    let tell = |planned: &Statement| {
        let estimates = tanglewood_plan::estimates(plan_of(planned), &figures);
        tanglewood_plan::explain::render(planned, &estimates, None)
    };
    let planned =
        optimize(statement.clone(), &figures).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
    assert!(
        !plan_of(&planned).any(&mut |node| matches!(node, Plan::Match(_))),
        "seed {seed}: a Match is left"
    );
    let told = tell(&planned);
    let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        (rows(&graph, &statement), rows(&graph, &planned))
    }));
    let Ok((slow, fast)) = run else {
        panic!("seed {seed}: the run failed\n{}\n{told}\n{statement:#?}", tell(&statement))
    };
    assert!(
        same(&slow, &fast),
        "seed {seed}\nwritten gives {slow:?}\nplanned gives {fast:?}\n{}\n{told}\n{graph:#?}\n{statement:#?}",
        tell(&statement)
    );
    note(plan_of(&planned), !slow.is_empty(), reached);
}

/// Rare branches that the random cases must have reached.
fn note(plan: &Plan, rows: bool, reached: &mut Vec<&'static str>) {
    let mut mark = |said: bool, word: &'static str| {
        if said && rows && !reached.contains(&word) {
            reached.push(word)
        }
    };
    mark(matches!(plan, Plan::SeekVertices(_)), "seek");
    mark(matches!(plan, Plan::SeekIds(_)), "ids");
    mark(matches!(plan, Plan::SeekEdges(_)), "edges");
    mark(matches!(plan, Plan::Join(node) if !node.on.is_empty()), "join");
    mark(matches!(plan, Plan::Join(node) if node.on.is_empty()), "product");
    mark(matches!(plan, Plan::Expand(node) if node.into), "into");
    mark(matches!(plan, Plan::ExpandPath(node) if node.into), "run into");
    mark(matches!(plan, Plan::ExpandPath(node) if node.edges_reversed), "reversed");
    mark(matches!(plan, Plan::ExpandPath(node) if node.distinct_ends), "distinct ends");
    mark(matches!(plan, Plan::ExpandPath(node) if node.length.is_some()), "length");
    mark(matches!(plan, Plan::Apply(_)), "apply");
    mark(matches!(plan, Plan::CountStored(_)), "count of all");
    mark(matches!(plan, Plan::CountMatches(_)), "count");
    mark(matches!(plan, Plan::CountMatches(node) if node.times < 0), "count less");
    mark(matches!(plan, Plan::CountMatches(node) if !node.steps.is_empty()), "count core");
    mark(matches!(plan, Plan::Union(_)), "any label");
    mark(is_long_shortest(plan), "long shortest");
    mark(matches!(plan, Plan::Expand(node) if matches!(&node.input, Plan::Distinct(_))), "frontier");
    plan.children().into_iter().for_each(|child| note(child, rows, reached))
}

fn is_long_shortest(plan: &Plan) -> bool {
    let Plan::Apply(node) = plan else { return false };
    let lists = |inner: &Plan| matches!(inner, Plan::ExpandPath(_));
    match &node.inner {
        Plan::Aggregate(inner) => lists(&inner.input),
        Plan::Unwind(inner) => matches!(&inner.input, Plan::Aggregate(inner) if lists(&inner.input)),
        Plan::Extend(inner) => matches!(&inner.input, Plan::Aggregate(inner) if lists(&inner.input)),
        _ => false,
    }
}

/// One run, of which only the set of ends is asked.
fn ends_statement(chance: &mut Chance) -> Statement {
    let mut t = Table::default();
    let (a, b, e, n) = (t.var("a"), t.var("b"), t.var("e"), t.var("n"));
    let direction = chance.pick(&[Direction::Out, Direction::In, Direction::Both]);
    let max = chance.percent(50).then(|| 1 + chance.below(3) as u32);
    let mode = chance.pick(&[PathMode::Trail, PathMode::Trail, PathMode::Acyclic, PathMode::Simple]);
    let min = chance.below(3) as u32;
    let max = max.map(|max| max.max(min));
    let run = Run { min, max, mode, selector: Selector::Every, edge_predicate: None };
    let plan = PatternText::default()
        .vertex(a, "")
        .vertex(b, "")
        .run(e, a, b, "", direction, Some(run))
        .over(Plan::Unit);
    let unequal = Expr::binary(BinaryOperator::NotEqual, read(a), read(b));
    let equal = Expr::binary(BinaryOperator::Equal, read(a), read(b));
    let plan = match chance.below(4) {
        0 => filter(plan, unequal),
        1 => filter(plan, Expr::Unary(UnaryOperator::Not, Box::new(equal))),
        _ => plan,
    };
    if chance.percent(50) {
        return t.query(distinct(plan, vec![a, b]), &[a, b]);
    }
    let calls = vec![(n, AggregateFunction::Count, Some(read(b)), true)];
    t.query(aggregate(plan, vec![(a, read(a))], calls), &[a, n])
}

#[test]
fn sets_of_ends_are_those_of_trails() {
    for seed in 0..CASES {
        let mut chance = Chance(seed);
        let graph = Graph::random(&mut chance);
        let statement = ends_statement(&mut chance);
        let planned = optimize(statement.clone(), &RandomFigures(chance.next())).unwrap();
        let (slow, fast) = (rows(&graph, &statement), rows(&graph, &planned));
        assert!(same(&slow, &fast), "seed {seed}: {slow:?} {fast:?} {graph:#?} {statement:#?}");
    }
}

#[test]
fn optimised_plans_answer_like_written_ones() {
    if let Ok(seed) = std::env::var("TANGLEWOOD_SEED") {
        return check(seed.parse().unwrap(), &mut Vec::new());
    }
    let mut reached = Vec::new();
    for seed in 0..CASES {
        check(seed, &mut reached)
    }
    let wanted = [
        "seek",
        "ids",
        "edges",
        "join",
        "product",
        "into",
        "run into",
        "reversed",
        "distinct ends",
        "length",
        "apply",
        "frontier",
        "any label",
        "long shortest",
    ];
    for word in wanted {
        assert!(reached.contains(&word), "no random case reached {word:?}")
    }
}
