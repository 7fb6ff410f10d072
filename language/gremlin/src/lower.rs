//! What of Gremlin the algebra can say, said in it: such a traversal is planned, and runs, like a query of Cypher.
//!
//! A row is a traverser; its columns are where it stands and what its labels stand for. Steps along edges and the filters behind them
//! become patterns of one edge each (edges may repeat in Gremlin, so one pattern must not hold two), filters that walk become
//! sub-queries, `repeat` with a fixed number of rounds is written out. Whatever has no exact equal is not lowered: [`lower`] gives
//! none then, and the traverser machine runs the whole traversal. The machine is the slow, obvious twin: both give the same answers.

mod test;

use crate::object::Object;
use crate::predicate::Predicate;
use crate::token::Token;
use crate::traversal::{Argument, Instruction, Traversal};
use model::Direction;
use plan::algebra::{Aggregate, AggregateCall, Distinct, Extend, Filter, Limit, Match, Project, Skip};
use plan::expr::{BinaryOperator, Constant, Name, Subquery, SubqueryKind, UnaryOperator};
use plan::statement::Mode;
use plan::{
    AggregateFunction, Expr, LabelExpr, Pattern, PatternEdge, PatternVertex, Plan, Statement, StatementKind,
    Var,
};

/// Rounds of a `repeat` that are written out.
const ROUNDS_MAX: i64 = 8;
/// Patterns of one plan.
const HOPS_MAX: usize = 40;

/// A traversal in the algebra.
#[derive(Clone, Debug, PartialEq)]
pub struct Lowered {
    /// The query; its one column (two of a map of counts) is the answer.
    pub statement: Statement,
    /// How its rows are to be read.
    pub result: ResultKind,
}

/// How the rows of a lowered traversal are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultKind {
    /// Each row is one object.
    Objects,
    /// The one row is a number of 64 bits.
    Count,
    /// The rows are keys with their counts: one map.
    Counts,
}

/// Where a traverser stands.
#[derive(Clone, Copy, Debug)]
enum At {
    Vertex(Var),
    /// An edge, and its ends: where it starts, where it ends.
    Edge(Var, Var, Var),
    Value(Var),
}

impl At {
    fn variable(self) -> Var {
        match self {
            At::Vertex(variable) | At::Edge(variable, ..) | At::Value(variable) => variable,
        }
    }
}

/// The traversal in the algebra, if all of it can be said there exactly.
pub fn lower(traversal: &Traversal) -> Option<Lowered> {
    let only_options = traversal.source.iter().all(|instruction| &*instruction.name == "with");
    if !only_options {
        return None;
    }
    let mut lowering = Lowering { names: Vec::new(), plan: Plan::Unit, labels: Vec::new(), hops: 0 };
    let mut reader = Reader { steps: &traversal.steps, at: 0 };
    let at = lowering.start(&mut reader)?;
    let (columns, result) = lowering.rest(at, &mut reader)?;
    let kind = StatementKind::Query { plan: lowering.plan, columns };
    let statement = Statement {
        kind,
        variables: lowering.names,
        parameters: Vec::new(),
        mode: Mode::Run,
        hints: Vec::new(),
        as_of: None,
        in_transactions: None,
    };
    Some(Lowered { statement, result })
}

struct Reader<'t> {
    steps: &'t [Instruction],
    at: usize,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> Option<&'t Instruction> {
        self.steps.get(self.at)
    }
    fn next(&mut self) -> Option<&'t Instruction> {
        let next = self.peek();
        self.at += usize::from(next.is_some());
        next
    }
}

type Columns = Vec<(Name, Var)>;

struct Lowering {
    names: Vec<Name>,
    plan: Plan,
    labels: Vec<(Name, At)>,
    hops: usize,
}

impl Lowering {
    fn fresh(&mut self, name: &str) -> Var {
        self.names.push(format!(" {name}{}", self.names.len()).into());
        Var(self.names.len() as u32 - 1)
    }
    fn take(&mut self) -> Plan {
        std::mem::replace(&mut self.plan, Plan::Unit)
    }
    fn filter(&mut self, predicate: Expr) {
        let input = self.take();
        self.plan = Plan::Filter(Box::new(Filter { input, predicate }));
    }

    /// `V` or `E` with the filters behind it.
    fn start(&mut self, reader: &mut Reader<'_>) -> Option<At> {
        let first = reader.next()?;
        match &*first.name {
            "V" => {
                let vertex = self.fresh("vertex");
                let mut predicates = Vec::new();
                if !first.arguments.is_empty() {
                    predicates.push(test::ids(vertex, &first.arguments)?);
                }
                let labels = self.vertex_filters(vertex, reader, &mut predicates);
                let vertices = vec![PatternVertex { variable: vertex, labels }];
                self.find(Pattern { vertices, edges: Vec::new(), predicates });
                Some(At::Vertex(vertex))
            }
            "E" if first.arguments.is_empty() => {
                let (source, target) = (self.fresh("vertex"), self.fresh("vertex"));
                let edge = self.hop(source, target, Vec::new(), Direction::Out, LabelExpr::Any, reader, true);
                Some(At::Edge(edge, source, target))
            }
            _ => None,
        }
    }
    fn find(&mut self, pattern: Pattern) {
        let input = self.take();
        self.plan = Plan::Match(Box::new(Match { input, pattern, optional: false }));
    }

    /// The filters that follow, as far as they look at nothing but the vertex.
    fn vertex_filters(&self, vertex: Var, reader: &mut Reader<'_>, predicates: &mut Vec<Expr>) -> LabelExpr {
        let mut labels = LabelExpr::Any;
        while let Some(step) = reader.peek() {
            if let Some(more) = test::labels(step) {
                labels = match labels {
                    LabelExpr::Any => more,
                    known => LabelExpr::And(Box::new(known), Box::new(more)),
                };
                if let ("has", 3) = (&*step.name, step.arguments.len()) {
                    let Some(predicate) = test::property(vertex, &step.arguments[1..]) else { break };
                    predicates.push(predicate);
                }
            } else if let Some(predicate) = test::of_element(vertex, step) {
                predicates.push(predicate);
            } else {
                break;
            }
            reader.at += 1;
        }
        labels
    }

    /// One edge, with the filters behind it. `from` is bound but for a scan of all edges.
    #[allow(clippy::too_many_arguments, reason = "the parts of a pattern of one edge")]
    fn hop(
        &mut self,
        from: Var,
        to: Var,
        types: Vec<Name>,
        direction: Direction,
        labels: LabelExpr,
        reader: &mut Reader<'_>,
        to_edge: bool,
    ) -> Var {
        let edge = self.fresh("edge");
        let mut predicates = Vec::new();
        let mut labels = labels;
        if to_edge {
            while let Some(predicate) = reader.peek().and_then(|step| test::of_element(edge, step)) {
                predicates.push(predicate);
                reader.at += 1;
            }
        } else {
            labels = self.vertex_filters(to, reader, &mut predicates);
        }
        let vertices = vec![
            PatternVertex { variable: from, labels: LabelExpr::Any },
            PatternVertex { variable: to, labels },
        ];
        let edges = vec![PatternEdge { variable: edge, from, to, types, direction, run: None }];
        self.find(Pattern { vertices, edges, predicates });
        self.hops += 1;
        edge
    }

    /// A step along edges.
    fn walk(&mut self, at: At, step: &Instruction, reader: &mut Reader<'_>) -> Option<At> {
        let At::Vertex(from) = at else { return None };
        if self.hops >= HOPS_MAX {
            return None;
        }
        let types = test::names(&step.arguments)?;
        let to = self.fresh("vertex");
        let direction = match &*step.name {
            "out" | "outE" => Direction::Out,
            "in" | "inE" => Direction::In,
            // a loop is met twice by Gremlin and once by the algebra: where each end counts once, that is the same
            "both" if counts_once(&reader.steps[reader.at..]) => Direction::Both,
            _ => return None,
        };
        let to_edge = step.name.ends_with('E');
        let edge = self.hop(from, to, types, direction, LabelExpr::Any, reader, to_edge);
        Some(match (to_edge, direction) {
            (false, _) => At::Vertex(to),
            (true, Direction::Out) => At::Edge(edge, from, to),
            (true, _) => At::Edge(edge, to, from),
        })
    }

    /// Steps that a filter's body and a round of a `repeat` may have too; none if it is not one of them.
    fn step(&mut self, at: At, step: &Instruction, reader: &mut Reader<'_>) -> Option<At> {
        match (&*step.name, at) {
            ("out" | "in" | "both" | "outE" | "inE", _) => self.walk(at, step, reader),
            ("outV", At::Edge(_, source, _)) => self.arrive(source, reader),
            ("inV", At::Edge(_, _, target)) => self.arrive(target, reader),
            ("identity", _) => Some(at),
            ("where" | "filter", _) => {
                let condition = self.condition(at, step)?;
                self.filter(condition);
                Some(at)
            }
            // a comparison across types is neither true nor false: the machine knows
            ("not", _) if step.arguments.iter().any(is_comparison) => None,
            ("not", _) => {
                let condition = self.condition(at, step)?;
                self.filter(not(condition));
                Some(at)
            }
            ("and" | "or", _) if !step.arguments.is_empty() => {
                let parts = step.arguments.iter().map(|part| self.body(at, part.traversal()?));
                let parts = parts.collect::<Option<Vec<_>>>()?;
                let operator = if &*step.name == "and" { BinaryOperator::And } else { BinaryOperator::Or };
                let whole = parts.into_iter().reduce(|left, right| binary(operator, left, right))?;
                self.filter(whole);
                Some(at)
            }
            ("is", At::Value(value)) => {
                let predicate = test::holds(Expr::Variable(value), step.arguments.first()?)?;
                self.filter(predicate);
                Some(at)
            }
            ("values", At::Vertex(subject) | At::Edge(subject, ..)) => {
                let [Argument::Value(Object::String(key))] = step.arguments.as_slice() else { return None };
                let value = self.fresh("value");
                let input = self.take();
                let items = vec![(value, property(subject, key))];
                self.plan = Plan::Extend(Box::new(Extend { input, items }));
                self.filter(is_there(Expr::Variable(value)));
                Some(At::Value(value))
            }
            ("has" | "hasNot" | "hasLabel" | "hasId", At::Vertex(vertex)) => {
                let mut predicates = Vec::new();
                reader.at -= 1;
                let before = reader.at;
                let labels = self.vertex_filters(vertex, reader, &mut predicates);
                if reader.at == before {
                    return None;
                }
                if labels != LabelExpr::Any {
                    predicates.push(Expr::HasLabels(Box::new(Expr::Variable(vertex)), labels));
                }
                predicates.into_iter().for_each(|predicate| self.filter(predicate));
                Some(at)
            }
            ("has" | "hasNot" | "hasLabel", At::Edge(edge, ..)) => {
                let predicate = test::of_element(edge, step)?;
                self.filter(predicate);
                Some(at)
            }
            _ => None,
        }
    }
    /// At an end of an edge: a vertex that is bound.
    fn arrive(&mut self, vertex: Var, _: &mut Reader<'_>) -> Option<At> {
        Some(At::Vertex(vertex))
    }

    fn condition(&mut self, at: At, step: &Instruction) -> Option<Expr> {
        match step.arguments.as_slice() {
            [Argument::Traversal(nested)] => self.body(at, nested),
            [argument @ Argument::Predicate(_)] if &*step.name == "filter" => match at {
                At::Value(value) => test::holds(Expr::Variable(value), argument),
                _ => None,
            },
            _ => None,
        }
    }

    /// Does a traversal yield anything from here? `…count().is(…)` asks how much.
    fn body(&mut self, at: At, nested: &Traversal) -> Option<Expr> {
        let variable = at.variable();
        let mut imports = vec![variable];
        if let At::Edge(_, source, target) = at {
            imports.extend([source, target]);
        }
        let mut steps = nested.steps.as_slice();
        let mut counted = None;
        if let [before @ .., count, is] = steps
            && (&*count.name, count.arguments.len(), &*is.name) == ("count", 0, "is")
        {
            (steps, counted) = (before, Some(is.arguments.first()?));
        }
        if steps.is_empty() || (steps.len() == 1 && &*steps[0].name == "identity") {
            return None;
        }
        let names = std::mem::take(&mut self.names);
        let plan = Plan::Argument(imports.clone());
        let mut inner = Lowering { names, plan, labels: Vec::new(), hops: self.hops };
        let mut reader = Reader { steps, at: 0 };
        let mut place = Some(at);
        while let (Some(here), Some(step)) = (place, reader.next()) {
            place = inner.step(here, step, &mut reader);
        }
        (self.names, self.hops) = (inner.names, inner.hops);
        place?;
        let kind = if counted.is_some() { SubqueryKind::Count } else { SubqueryKind::Exists };
        let subquery = Expr::Subquery(Box::new(Subquery { kind, imports, plan: inner.plan, hint: None }));
        match counted {
            Some(argument) => test::holds(subquery, argument),
            None => Some(subquery),
        }
    }

    /// All steps from here on, to the columns of the answer.
    fn rest(&mut self, mut at: At, reader: &mut Reader<'_>) -> Option<(Columns, ResultKind)> {
        while let Some(step) = reader.next() {
            at = match &*step.name {
                "count" if step.arguments.is_empty() && reader.peek().is_none() => return Some(self.count()),
                "groupCount" if step.arguments.is_empty() => return self.group_count(at, reader),
                "dedup" if step.arguments.is_empty() && self.labels.is_empty() => self.dedup(at, reader)?,
                "limit" => self.range(at, 0, Some(test::whole(step, 0)?))?,
                "skip" => self.range(at, test::whole(step, 0)?, None)?,
                "range" => {
                    let high = test::whole(step, 1)?;
                    self.range(at, test::whole(step, 0)?, (high >= 0).then_some(high))?
                }
                "as" => {
                    let names = test::names(&step.arguments)?;
                    self.labels.extend(names.into_iter().map(|name| (name, at)));
                    at
                }
                "select" => self.select(step, reader)?,
                "repeat" => self.repeat(at, step, reader)?,
                _ => self.step(at, step, reader)?,
            };
        }
        Some((vec![("value".into(), at.variable())], ResultKind::Objects))
    }

    fn count(&mut self) -> (Columns, ResultKind) {
        let (input, count) = (self.take(), self.fresh("count"));
        let call =
            AggregateCall { function: AggregateFunction::CountRows, arguments: Vec::new(), distinct: false };
        self.plan =
            Plan::Aggregate(Box::new(Aggregate { input, keys: Vec::new(), aggregates: vec![(count, call)] }));
        (vec![("count".into(), count)], ResultKind::Count)
    }

    fn group_count(&mut self, at: At, reader: &mut Reader<'_>) -> Option<(Columns, ResultKind)> {
        let key = match reader.next() {
            None => Expr::Variable(at.variable()),
            Some(by) if &*by.name == "by" && reader.peek().is_none() => match (by.arguments.as_slice(), at) {
                ([], _) => Expr::Variable(at.variable()),
                ([Argument::Value(Object::String(key))], At::Vertex(subject) | At::Edge(subject, ..)) => {
                    let key = property(subject, key);
                    self.filter(is_there(key.clone()));
                    key
                }
                _ => return None,
            },
            Some(_) => return None,
        };
        let (column, count) = (self.fresh("key"), self.fresh("count"));
        let input = self.take();
        let call =
            AggregateCall { function: AggregateFunction::CountRows, arguments: Vec::new(), distinct: false };
        let (keys, aggregates) = (vec![(column, key)], vec![(count, call)]);
        self.plan = Plan::Aggregate(Box::new(Aggregate { input, keys, aggregates }));
        Some((vec![("key".into(), column), ("count".into(), count)], ResultKind::Counts))
    }

    fn dedup(&mut self, at: At, reader: &Reader<'_>) -> Option<At> {
        // a modulator behind it is another matter
        if reader.peek().is_some_and(|next| &*next.name == "by") {
            return None;
        }
        let columns = match at {
            At::Edge(edge, source, target) => vec![edge, source, target],
            other => vec![other.variable()],
        };
        let input = self.take();
        self.plan = Plan::Distinct(Box::new(Distinct { input, columns }));
        Some(at)
    }

    fn range(&mut self, at: At, low: i64, high: Option<i64>) -> Option<At> {
        if low < 0 || high.is_some_and(|high| high < low) {
            return None;
        }
        if low > 0 {
            let input = self.take();
            self.plan = Plan::Skip(Box::new(Skip { input, count: integer(low) }));
        }
        if let Some(high) = high {
            let input = self.take();
            self.plan =
                Plan::Limit(Box::new(Limit { input, count: integer(high - low), scope: Default::default() }));
        }
        Some(at)
    }

    /// `select(labels)` with keys for modulators: one label is what it stands for, several are a map.
    fn select(&mut self, step: &Instruction, reader: &mut Reader<'_>) -> Option<At> {
        let labels = test::names(&step.arguments)?;
        let mut by = Vec::new();
        while let Some(next) = reader.peek().filter(|next| &*next.name == "by") {
            reader.at += 1;
            by.push(match next.arguments.as_slice() {
                [] => None,
                [Argument::Value(Object::String(key))] => Some(key.clone()),
                _ => return None,
            });
        }
        let mut items = Vec::new();
        for (place, label) in labels.iter().enumerate() {
            if labels[..place].contains(label) {
                return None;
            }
            let (_, at) = *self.labels.iter().rev().find(|(known, _)| known == label)?;
            let key = if by.is_empty() { None } else { by[place % by.len()].clone() };
            let shown = match (key, at) {
                (None, at) if labels.len() == 1 => return Some(at),
                (None, at) => Expr::Variable(at.variable()),
                (Some(key), At::Vertex(subject) | At::Edge(subject, ..)) => {
                    let value = property(subject, &key);
                    self.filter(is_there(value.clone()));
                    value
                }
                (Some(_), At::Value(_)) => return None,
            };
            items.push((label.clone(), shown));
        }
        let value = self.fresh("selected");
        let shown = match items.len() {
            0 => return None,
            1 => items.pop()?.1,
            _ => Expr::Map(items),
        };
        let input = self.take();
        self.plan = match self.labels.is_empty() {
            true => Plan::Project(Box::new(Project { input, items: vec![(value, shown)] })),
            false => Plan::Extend(Box::new(Extend { input, items: vec![(value, shown)] })),
        };
        Some(At::Value(value))
    }

    /// `repeat(…).times(n)`, written out.
    fn repeat(&mut self, at: At, step: &Instruction, reader: &mut Reader<'_>) -> Option<At> {
        let [Argument::Traversal(body)] = step.arguments.as_slice() else { return None };
        let times = reader.next().filter(|next| &*next.name == "times")?;
        let rounds = test::whole(times, 0)?;
        let modulated = reader.peek().is_some_and(|next| matches!(&*next.name, "emit" | "until" | "times"));
        // a dedup in the body would count over all rounds
        let hops = |step: &Instruction| {
            matches!(&*step.name, "out" | "in" | "has" | "hasLabel" | "outE" | "inE" | "inV" | "outV")
        };
        if modulated || !(1..=ROUNDS_MAX).contains(&rounds) || !body.steps.iter().all(hops) {
            return None;
        }
        let mut at = at;
        for _ in 0..rounds {
            let mut inner = Reader { steps: &body.steps, at: 0 };
            while let Some(step) = inner.next() {
                at = self.step(at, step, &mut inner)?;
            }
        }
        Some(at)
    }
}

/// Does each place where traversers arrive count once, whatever way they came? Only hops and filters may come before the `dedup`.
fn counts_once(steps: &[Instruction]) -> bool {
    let passing = |step: &&Instruction| {
        matches!(
            &*step.name,
            "out" | "in" | "both" | "has" | "hasLabel" | "hasNot" | "hasId" | "where" | "filter" | "not"
        )
    };
    let behind = steps.iter().skip_while(passing).collect::<Vec<_>>();
    match behind.as_slice() {
        [dedup, rest @ ..] => {
            let plain = &*dedup.name == "dedup" && dedup.arguments.is_empty();
            plain && rest.first().is_none_or(|next| &*next.name != "by")
        }
        [] => false,
    }
}

/// `is(…)` alone.
fn is_comparison(argument: &Argument) -> bool {
    argument
        .traversal()
        .is_some_and(|nested| matches!(nested.steps.as_slice(), [only] if &*only.name == "is"))
}

fn property(subject: Var, key: &Name) -> Expr {
    Expr::Property(Box::new(Expr::Variable(subject)), key.clone())
}

fn is_there(expr: Expr) -> Expr {
    Expr::Unary(UnaryOperator::IsNotNull, Box::new(expr))
}

fn not(expr: Expr) -> Expr {
    Expr::Unary(UnaryOperator::Not, Box::new(expr))
}

fn binary(operator: BinaryOperator, left: Expr, right: Expr) -> Expr {
    Expr::Binary(operator, Box::new(left), Box::new(right))
}

fn integer(number: i64) -> Expr {
    Expr::Literal(Constant(model::Value::Int(number)))
}

/// Only for the sub-module: words that several of its functions know.
fn label_token(argument: &Argument) -> bool {
    *argument == Argument::Value(Object::Token(Token::TLabel))
}

/// A predicate given, or the one that a value equals.
fn asked(argument: &Argument) -> Option<Predicate> {
    match argument {
        Argument::Predicate(predicate) => Some(predicate.clone()),
        Argument::Value(value) => Some(Predicate::eq(value.clone())),
        _ => None,
    }
}
