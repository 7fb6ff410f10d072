//! Side effects: `aggregate('x')`, and `sideEffect(… .store('x'))`, as a list that every row has.
//!
//! A side effect is filled by all rows before any goes on: where one row comes, it is a column of it; where more may come, they are
//! gathered, and made rows again. Where a step lies behind that writes to the same side effect once more, the machine knows.

use super::condition::read_later;
use super::{At, Lowering, Reader, Shape, integer, mentions, mentions_way, test};
use crate::traversal::{Argument, Instruction};
use plan::algebra::{Aggregate, AggregateCall, Unwind};
use plan::expr::{BinaryOperator, Name};
use plan::{AggregateFunction, Expr, Plan, Var};

impl<'t> Lowering<'t> {
    /// `aggregate('x')`: where all rows stand.
    pub(super) fn aggregate(&mut self, at: At, step: &'t Instruction, reader: &mut Reader<'t>) -> Option<At> {
        let name = self.new_side(&step.arguments, reader)?;
        let (expr, shape) = self.packed(&at)?;
        let own = self.column("own", Expr::List(vec![expr]));
        self.fill(at, name, (own, shape), reader)
    }

    /// `sideEffect(…)` of a walk that ends with `aggregate` or `store`.
    pub(super) fn side_effect(
        &mut self,
        at: At,
        step: &'t Instruction,
        reader: &mut Reader<'t>,
    ) -> Option<At> {
        let [Argument::Traversal(nested)] = step.arguments.as_slice() else { return None };
        let [walk @ .., last] = nested.steps.as_slice() else { return None };
        if !matches!(&*last.name, "aggregate" | "store") {
            return None;
        }
        let name = self.new_side(&last.arguments, reader)?;
        let (list, shape) = match walk {
            [] => {
                let (expr, shape) = self.packed(&at)?;
                (Expr::List(vec![expr]), shape)
            }
            walk => {
                let (plan, imports, (column, shape)) = self.inner(&at, walk, |inner, reader| {
                    let end = inner.flow(at.clone(), reader)?;
                    let (expr, shape) = inner.packed(&end)?;
                    Some((inner.column("listed", expr), shape))
                })?;
                (self.subquery(plan::expr::SubqueryKind::Collect(column), imports, plan), shape)
            }
        };
        let own = self.column("own", list);
        self.fill(at, name, (own, shape), reader)
    }

    fn new_side(&self, arguments: &[Argument], reader: &Reader<'t>) -> Option<Name> {
        let [name] = test::names(arguments)?.try_into().ok()?;
        let known = self.sides.iter().any(|(known, ..)| *known == name)
            || self.labels.iter().any(|(known, _)| *known == name);
        let modulated = reader.peek().is_some_and(|next| &*next.name == "by");
        (!known && !modulated && !writes(reader.rest(), &name)).then_some(name)
    }

    /// Each row brings a list: all together are the side effect.
    fn fill(&mut self, at: At, name: Name, (own, shape): (Var, Shape), reader: &Reader<'t>) -> Option<At> {
        if self.single {
            self.sides.push((name, own, shape));
            return Some(at);
        }
        if !self.sorted.is_empty() || mentions_way(reader.rest()) {
            return None;
        }
        self.labels = read_later(self, reader);
        let mut live = at.columns();
        live.extend(self.labels.iter().flat_map(|(_, at)| at.columns()));
        live.sort_unstable();
        live.dedup();
        let (lists, rows, side, row) =
            (self.fresh("lists"), self.fresh("rows"), self.fresh("side"), self.fresh("row"));
        let collect = |expr| AggregateCall {
            function: AggregateFunction::Collect,
            arguments: vec![expr],
            distinct: false,
        };
        let listed = Expr::List(live.iter().map(|column| Expr::Variable(*column)).collect());
        let mut aggregates = vec![(lists, collect(Expr::Variable(own))), (rows, collect(listed))];
        let others = self.sides_through(reader, &mut aggregates);
        let input = self.take();
        self.plan = Plan::Aggregate(Box::new(Aggregate { input, keys: Vec::new(), aggregates }));
        let (so_far, next) = (self.fresh("far"), self.fresh("next"));
        let joined = Expr::Reduce {
            accumulator: so_far,
            initial: Box::new(Expr::List(Vec::new())),
            variable: next,
            list: Box::new(Expr::Variable(lists)),
            body: Box::new(super::binary(BinaryOperator::Add, Expr::Variable(so_far), Expr::Variable(next))),
        };
        self.extend(others);
        self.extend(vec![(side, joined)]);
        // what is gathered next needs no rows
        if reader.peek().is_some_and(|next| &*next.name == "fold" && next.arguments.is_empty()) {
            self.labels.clear();
        }
        let input = self.take();
        self.plan = Plan::Unwind(Box::new(Unwind { input, list: Expr::Variable(rows), variable: row }));
        let part = |(place, column): (usize, &Var)| {
            (*column, Expr::Index(Box::new(Expr::Variable(row)), Box::new(integer(place as i64))))
        };
        self.extend(live.iter().enumerate().map(part).collect());
        self.fixed.clear();
        self.sides.push((name, side, shape));
        self.way = None;
        self.disturbed = true;
        Some(at)
    }
}

/// Is this side effect written to in these steps?
fn writes(steps: &[Instruction], name: &str) -> bool {
    steps.iter().any(|step| {
        let own = matches!(&*step.name, "aggregate" | "store" | "group" | "groupCount" | "tree" | "subgraph");
        let nested =
            step.arguments.iter().filter_map(Argument::traversal).any(|nested| writes(&nested.steps, name));
        nested || own && mentions(std::slice::from_ref(step), name)
    })
}
