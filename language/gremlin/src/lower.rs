//! Lowers traversals to the algebra, where it can express them: such a traversal is planned, and runs, like a query of Cypher.
//!
//! A row is a traverser; its columns are its object, the objects of its labels and its side effects. Steps along edges and the filters behind them
//! become patterns of one edge each (edges may repeat in Gremlin, so one pattern must not hold two), filters that walk become sub-queries, modulators
//! become expressions, `repeat` becomes a walk, a loop or is written out. Constants become parameters (see [`crate::shape`]). A traversal without an
//! exact equivalent is not lowered: [`lower`] gives none then, and the traverser machine runs it as a whole. The machine is the slow, obvious twin:
//! both give the same answers.

mod branch;
mod condition;
mod formula;
mod gather;
mod group;
mod hop;
mod repeat;
mod select;
mod sides;
mod source;
mod test;
mod visible_columns;

pub(crate) use source::check_hints;

use crate::shape::{Constant, constants};
use crate::traversal::{Argument, Instruction, Traversal};
use plan::algebra::{Extend, Filter, Sort, SortKey};
use plan::expr::{BinaryOperator, Constant as Literal, Name, Subquery, SubqueryKind, UnaryOperator};
use plan::scope::{Scope, ScopeHint};
use plan::statement::Mode;
use plan::{Expr, Plan, Statement, StatementKind, Var};
use std::collections::HashSet;
use std::rc::Rc;

/// A traversal in the algebra.
#[derive(Clone, Debug, PartialEq)]
pub struct Lowered {
    /// The query; its columns are read as `result` says, its parameters are the traversal's constants.
    pub statement: Statement,
    /// How its rows are to be read.
    pub result: ResultKind,
}

/// How the rows of a lowered traversal are read.
#[derive(Clone, Debug, PartialEq)]
pub enum ResultKind {
    /// Each row is one object.
    Rows(Shape),
    /// Each row is a map with these keys, a column each; null where a key is absent.
    Records(Vec<(Name, Shape)>),
    /// The rows are the entries of one map.
    Map(Shape, Shape),
    /// Each row is an entry of a map.
    Entries(Shape, Shape),
    /// Each row is a path, a column for each of its objects, with these labels.
    Paths(Vec<(Vec<Name>, Shape)>),
}

/// How a value is read.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// As it is.
    Plain,
    /// A number of 64 bits.
    Long,
    /// As it is, but whole numbers have 64 bits.
    Wide,
    /// A list of such.
    List(Box<Shape>),
    /// A list of the values of these keys; null where a key is absent.
    Record(Vec<(Name, Shape)>),
}

/// Where a traverser stands.
#[derive(Clone, Debug, PartialEq)]
enum At {
    Vertex(Var),
    /// An edge, and its ends: where it starts, where it ends.
    Edge(Var, Var, Var),
    Value(Var, Shape),
    /// A map of known keys; the column of an absent key is null.
    Record(Vec<(Name, At)>),
    /// An entry of a map.
    Entry(Box<At>, Box<At>),
    /// A map whose entries are the rows.
    Groups(Box<At>, Box<At>),
    /// The way so far.
    Way,
}

impl At {
    fn columns(&self) -> Vec<Var> {
        match self {
            At::Vertex(variable) | At::Value(variable, _) => vec![*variable],
            At::Edge(edge, source, target) => vec![*edge, *source, *target],
            At::Record(parts) => parts.iter().flat_map(|(_, at)| at.columns()).collect(),
            At::Entry(key, value) | At::Groups(key, value) => [key.columns(), value.columns()].concat(),
            At::Way => Vec::new(),
        }
    }
}

/// The traversal in the algebra, if all of it can be said there exactly.
pub fn lower(traversal: &Traversal) -> Option<Lowered> {
    lower_with(traversal, &[])
}

/// The same over a graph whose whole numbers have 64 bits under these keys.
pub fn lower_with(traversal: &Traversal, wide: &[Name]) -> Option<Lowered> {
    if traversal.instruction_count() > crate::limits::PLANNED_INSTRUCTIONS_MAX {
        return None;
    }
    let hints = source::hints(&traversal.source)?;
    let kept: Rc<[Constant<'_>]> = constants(traversal).into();
    let count = kept.len();
    let mut lowering = Lowering::new(kept, Vec::new(), Plan::Unit);
    let mut reader = Reader { steps: &traversal.steps, at: 0 };
    (lowering.hint, lowering.wide) = (hints.scope, wide.into());
    let at = lowering.start(&mut reader)?;
    let at = lowering.flow(at, &mut reader)?;
    let (columns, result) = lowering.finish(&at)?;
    let kind = StatementKind::Query { plan: lowering.plan, columns };
    let statement = Statement {
        kind,
        variables: lowering.names,
        parameters: (0..count).map(|place| crate::shape::parameter(place).into()).collect(),
        mode: Mode::Run,
        hints: hints.statement,
        as_of: None,
        no_older_than: None,
        in_transactions: None,
        physical: Default::default(),
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
    /// The next step, if it has this name.
    fn take(&mut self, name: &str) -> Option<&'t Instruction> {
        let next = self.peek().filter(|next| &*next.name == name);
        self.at += usize::from(next.is_some());
        next
    }
    /// The modulators that follow.
    fn bys(&mut self) -> Vec<&'t [Argument]> {
        std::iter::from_fn(|| self.take("by")).map(|by| by.arguments.as_slice()).collect()
    }
    fn rest(&self) -> &'t [Instruction] {
        &self.steps[self.at.min(self.steps.len())..]
    }
}

type Columns = Vec<(Name, Var)>;

/// An object of the way.
#[derive(Clone, Debug)]
struct Met {
    labels: Vec<Name>,
    what: What,
}

#[derive(Clone, Debug)]
enum What {
    One(At),
    /// As many as a run of edges has.
    Run(Var),
}

struct Lowering<'t> {
    constants: Rc<[Constant<'t>]>,
    names: Vec<Name>,
    plan: Plan,
    labels: Vec<(Name, At)>,
    /// Names that `labels` has or had: one that is not among them is new.
    label_names: HashSet<Name>,
    /// Side effects: a column that is the same in every row.
    sides: Vec<(Name, Var, Shape)>,
    /// The way so far; none where it is no longer known.
    way: Option<Vec<Met>>,
    hops: usize,
    /// Plans around this one.
    depth: usize,
    /// Is there one row at most?
    single: bool,
    /// Columns that are the same in every row.
    fixed: Vec<Var>,
    /// Does it go unnoticed how often a row is there?
    set: bool,
    /// The keys by which the rows are in order.
    sorted: Vec<SortKey>,
    /// Has something been done since that keeps no order?
    disturbed: bool,
    /// Values known to be of one type, so that all ways to order them are one.
    uniform: Vec<Expr>,
    /// Columns of values that are never absent.
    sure: Vec<Var>,
    /// The hint for every scope.
    hint: Option<ScopeHint>,
    /// Keys whose whole numbers have 64 bits.
    wide: Rc<[Name]>,
}

impl<'t> Lowering<'t> {
    fn new(constants: Rc<[Constant<'t>]>, names: Vec<Name>, plan: Plan) -> Lowering<'t> {
        Lowering {
            constants,
            names,
            plan,
            labels: Vec::new(),
            label_names: HashSet::default(),
            sides: Vec::new(),
            way: Some(Vec::new()),
            hops: 0,
            depth: 0,
            single: true,
            fixed: Vec::new(),
            set: false,
            sorted: Vec::new(),
            disturbed: false,
            uniform: Vec::new(),
            sure: Vec::new(),
            hint: None,
            wide: Rc::new([]),
        }
    }
    /// How values of a property are shown.
    fn shape_of(&self, key: &Name) -> Shape {
        if self.wide.contains(key) { Shape::Wide } else { Shape::Plain }
    }
    fn fresh(&mut self, name: &str) -> Var {
        self.names.push(format!(" {name}{}", self.names.len()).into());
        Var(self.names.len() as u32 - 1)
    }
    fn take(&mut self) -> Plan {
        std::mem::replace(&mut self.plan, Plan::Unit)
    }
    fn filter(&mut self, predicate: Expr) {
        self.disturbed |= predicate.any(&mut |part| matches!(part, Expr::Subquery(_)));
        let input = self.take();
        self.plan = Plan::Filter(Box::new(Filter { input, predicate }));
    }
    fn extend(&mut self, items: Vec<(Var, Expr)>) {
        let nested = |(_, expr): &(Var, Expr)| expr.any(&mut |part| matches!(part, Expr::Subquery(_)));
        self.disturbed |= items.iter().any(nested);
        if !items.is_empty() {
            let input = self.take();
            self.plan = Plan::Extend(Box::new(Extend { input, items }));
        }
    }
    /// A new column.
    fn column(&mut self, name: &str, expr: Expr) -> Var {
        if let Expr::Variable(known) = expr {
            return known;
        }
        let column = self.fresh(name);
        if self.single {
            self.fixed.push(column);
        }
        self.extend(vec![(column, expr)]);
        column
    }
    /// The path goes on here.
    fn meets(&mut self, at: &At) {
        if let Some(way) = &mut self.way {
            way.push(Met { labels: Vec::new(), what: What::One(at.clone()) });
        }
        if self.single {
            self.fixed.extend(at.columns());
        }
    }
    fn moved(&mut self, at: At) -> Option<At> {
        self.meets(&at);
        Some(at)
    }
    /// Puts the rows in order again, where that was lost.
    fn settle(&mut self) {
        if std::mem::take(&mut self.disturbed) && !self.sorted.is_empty() {
            let (input, keys) = (self.take(), self.sorted.clone());
            self.plan = Plan::Sort(Box::new(Sort { input, keys, limit: None }));
        }
    }

    /// All steps from here on, including those that gather.
    fn flow(&mut self, mut at: At, reader: &mut Reader<'t>) -> Option<At> {
        while let Some(step) = reader.next() {
            at = match &*step.name {
                "count" | "fold" | "sum" | "min" | "max" | "mean" if step.arguments.is_empty() => {
                    self.reduce(&at, step, reader)?
                }
                "group" | "groupCount" if step.arguments.is_empty() => self.group(&at, step, reader)?,
                "order" => self.order(&at, step, reader)?,
                "dedup" => self.dedup(at, step, reader)?,
                "limit" | "skip" | "range" => self.range(at, step)?,
                "aggregate" => self.aggregate(at, step, reader)?,
                "sideEffect" => self.side_effect(at, step, reader)?,
                "as" => self.label(at, step)?,
                "V" => self.vertices(step, reader)?,
                _ => self.step(at, step, reader)?,
            };
        }
        Some(at)
    }

    /// A sub-query, run as the hint says.
    fn subquery(&self, kind: SubqueryKind, imports: Vec<Var>, plan: Plan) -> Expr {
        Expr::Subquery(Box::new(Subquery { kind, imports, plan, hint: self.hint.clone(), rank: None }))
    }
    fn scope(&self) -> Scope {
        Scope::hinted(self.hint.clone())
    }

    /// The columns of the answer.
    fn finish(&mut self, at: &At) -> Option<(Columns, ResultKind)> {
        self.settle();
        let mut columns = Columns::new();
        let mut shown = |lowering: &mut Lowering<'t>, at: &At| {
            let (expr, shape) = lowering.packed(at)?;
            let column = lowering.column("shown", expr);
            columns.push((format!("column{}", columns.len()).into(), column));
            Some(shape)
        };
        let result = match at {
            At::Record(parts) => {
                let parts = parts.iter().map(|(name, at)| Some((name.clone(), shown(self, at)?)));
                ResultKind::Records(parts.collect::<Option<_>>()?)
            }
            At::Groups(key, value) => ResultKind::Map(shown(self, key)?, shown(self, value)?),
            At::Entry(key, value) => ResultKind::Entries(shown(self, key)?, shown(self, value)?),
            At::Way => {
                let mut parts = Vec::new();
                for met in self.way.clone()? {
                    let What::One(at) = &met.what else { return None };
                    parts.push((met.labels, shown(self, at)?));
                }
                ResultKind::Paths(parts)
            }
            at => ResultKind::Rows(shown(self, at)?),
        };
        Some((columns, result))
    }

    /// Where it stands, in one expression.
    fn packed(&self, at: &At) -> Option<(Expr, Shape)> {
        Some(match at {
            At::Vertex(variable) | At::Edge(variable, ..) => (Expr::Variable(*variable), Shape::Plain),
            At::Value(variable, shape) => (Expr::Variable(*variable), shape.clone()),
            At::Record(parts) => {
                let (mut exprs, mut shapes) = (Vec::new(), Vec::new());
                for (name, at) in parts {
                    let (expr, shape) = self.packed(at)?;
                    exprs.push(expr);
                    shapes.push((name.clone(), shape));
                }
                (Expr::List(exprs), Shape::Record(shapes))
            }
            At::Entry(..) | At::Groups(..) | At::Way => return None,
        })
    }

    /// A plan of its own over a row of this one, with its imports and the result of `run`.
    fn inner<R>(
        &mut self,
        at: &At,
        steps: &'t [Instruction],
        run: impl FnOnce(&mut Lowering<'t>, &mut Reader<'t>) -> Option<R>,
    ) -> Option<(Plan, Vec<Var>, R)> {
        if self.depth >= crate::limits::PLANNED_NESTING_MAX {
            return None;
        }
        let mut inner = Lowering::new(self.constants.clone(), std::mem::take(&mut self.names), Plan::Unit);
        (inner.hops, inner.depth) = (self.hops, self.depth + 1);
        (inner.hint, inner.wide) = (self.hint.clone(), self.wide.clone());
        inner.labels = self.labels.iter().filter(|(name, _)| mentions(steps, name)).cloned().collect();
        inner.label_names = inner.labels.iter().map(|(name, _)| name.clone()).collect();
        inner.sides = self.sides.iter().filter(|(name, ..)| mentions(steps, name)).cloned().collect();
        (inner.uniform, inner.sure) = (self.uniform.clone(), self.sure.clone());
        inner.way = None;
        let mut imports = at.columns();
        imports.extend(inner.labels.iter().flat_map(|(_, at)| at.columns()));
        imports.extend(inner.sides.iter().map(|(_, column, _)| *column));
        imports.sort_unstable();
        imports.dedup();
        inner.fixed = imports.clone();
        inner.plan = Plan::Argument(imports.clone());
        let mut reader = Reader { steps, at: 0 };
        let outcome = run(&mut inner, &mut reader);
        (self.names, self.hops) = (inner.names, inner.hops);
        Some((inner.plan, imports, outcome?))
    }
}

/// Is a name written anywhere in these steps?
fn mentions(steps: &[Instruction], name: &str) -> bool {
    steps.iter().any(|step| {
        // a formula or form has names in its midst
        let within = matches!(&*step.name, "math" | "format");
        step.arguments.iter().any(|argument| match argument {
            Argument::Value(value) => {
                value.as_str().is_some_and(|text| text == name || within && text.contains(name))
            }
            Argument::Traversal(nested) => mentions(&nested.steps, name),
            Argument::Predicate(predicate) => {
                predicate.values().iter().any(|value| value.as_str() == Some(name))
            }
            Argument::Strategy(_) => true,
        })
    })
}

/// Is the way read anywhere in these steps?
fn mentions_way(steps: &[Instruction]) -> bool {
    let nested = |step: &Instruction| {
        step.arguments.iter().filter_map(Argument::traversal).any(|nested| mentions_way(&nested.steps))
    };
    steps.iter().any(|step| {
        matches!(&*step.name, "path" | "simplePath" | "cyclicPath" | "tree" | "otherV") || nested(step)
    })
}

/// Does the number of arriving traversers not matter? Only hops, filters and labels may come before a `dedup`, whatever its key.
fn counts_once(steps: &[Instruction]) -> bool {
    const PASSING: [&str; 14] = [
        "out", "in", "both", "has", "hasLabel", "hasNot", "hasId", "where", "filter", "not", "repeat",
        "emit", "times", "until",
    ];
    let passing =
        |step: &&Instruction| PASSING.contains(&&*step.name) || &*step.name == "as" || &*step.name == "by";
    steps.iter().find(|step| !passing(step)).is_some_and(|dedup| &*dedup.name == "dedup")
}

fn property(subject: Expr, key: &Name) -> Expr {
    Expr::Property(Box::new(subject), key.clone())
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
    Expr::Literal(Literal(model::Value::Int(number)))
}
