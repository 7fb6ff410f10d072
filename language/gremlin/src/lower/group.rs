//! `group` and `groupCount`: rows as the entries of one map.

use super::{At, Lowering, Reader, Shape, binary, integer};
use crate::object::Object;
use crate::traversal::{Argument, Instruction};
use plan::algebra::{Aggregate, AggregateCall};
use plan::expr::BinaryOperator;
use plan::{AggregateFunction, Expr, Plan};

/// The reduction of a group's members.
struct Members {
    call: AggregateCall,
    shape: Shape,
    /// Does nothing come to nothing?
    lacks: bool,
}

impl<'t> Lowering<'t> {
    pub(super) fn group(&mut self, at: &At, step: &'t Instruction, reader: &mut Reader<'t>) -> Option<At> {
        let counts = &*step.name == "groupCount";
        let bys = reader.bys();
        if bys.len() > if counts { 1 } else { 2 } || matches!(at, At::Groups(..) | At::Way) {
            return None;
        }
        let seen = self.seen(at, bys.first().copied().unwrap_or(&[]))?;
        let key = self.key(seen)?;
        let members = match bys.get(1) {
            _ if counts => Members::rows(AggregateFunction::CountRows, Vec::new(), Shape::Long),
            by => self.members(at, by.copied().unwrap_or(&[]))?,
        };
        if members.call.function == AggregateFunction::Collect {
            self.settle();
        }
        let (column, value, some) = (self.fresh("key"), self.fresh("members"), self.fresh("some"));
        let mut aggregates = vec![(value, members.call.clone())];
        if members.lacks {
            let arguments = members.call.arguments.clone();
            aggregates.push((
                some,
                AggregateCall { function: AggregateFunction::Count, arguments, distinct: false },
            ));
        }
        let keys = vec![(column, Expr::Variable(key.columns()[0]))];
        // of no rows there is no side effect either: a group needs no more than its own
        self.sides.clear();
        let input = self.take();
        self.plan = Plan::Aggregate(Box::new(Aggregate { input, keys, aggregates }));
        self.forget();
        self.single = false;
        self.sure.extend([column, value]);
        if members.lacks {
            self.filter(binary(BinaryOperator::Greater, Expr::Variable(some), integer(0)));
        }
        let key = match key {
            At::Vertex(_) => At::Vertex(column),
            At::Value(_, shape) => At::Value(column, shape),
            _ => return None,
        };
        Some(At::Groups(Box::new(key), Box::new(At::Value(value, members.shape))))
    }

    /// The second modulator of `group`.
    fn members(&mut self, at: &At, by: &'t [Argument]) -> Option<Members> {
        let collected = |expr: Expr, shape: Shape| {
            Members::rows(AggregateFunction::Collect, vec![expr], Shape::List(Box::new(shape)))
        };
        match by {
            [] => self.packed(at).map(|(expr, shape)| collected(expr, shape)),
            [Argument::Value(Object::String(_))] => {
                self.seen(at, by).map(|seen| collected(seen.expr, seen.shape))
            }
            [Argument::Traversal(nested)] => {
                let [before @ .., last] = nested.steps.as_slice() else { return None };
                if !last.arguments.is_empty() {
                    return None;
                }
                self.reduced(at, before, &last.name)
            }
            _ => None,
        }
    }
    /// The reduction of a group's members after a modulator.
    fn reduced(&mut self, at: &At, before: &'t [Instruction], last: &str) -> Option<Members> {
        let (seen_as, distinct) = match before {
            [before @ .., dedup] if &*dedup.name == "dedup" && dedup.arguments.is_empty() => (before, true),
            before => (before, false),
        };
        let walks = seen_as.iter().any(|step| super::hop::direction(&step.name).is_some());
        if walks {
            // what is counted of each member, summed up
            let ("count", false) = (last, distinct) else { return None };
            let (plan, imports, ()) =
                self.inner(at, before, |inner, reader| inner.flow_plain(at.clone(), reader).map(|_| ()))?;
            let counted = self.subquery(plan::expr::SubqueryKind::Count, imports, plan);
            let count = self.column("count", counted);
            return Some(Members::rows(AggregateFunction::Sum, vec![Expr::Variable(count)], Shape::Long));
        }
        let seen = self.simple(at, seen_as)?;
        let (lacks, shape) = (seen.lacks, seen.shape.clone());
        let of = |function, shape, lacks| {
            let arguments = vec![seen.expr.clone()];
            Some(Members { call: AggregateCall { function, arguments, distinct }, shape, lacks })
        };
        match last {
            "count" if !lacks && !distinct => {
                Some(Members::rows(AggregateFunction::CountRows, Vec::new(), Shape::Long))
            }
            "count" => of(AggregateFunction::Count, Shape::Long, false),
            "fold" => of(AggregateFunction::Collect, Shape::List(Box::new(shape)), false),
            "sum" if !seen.vertex => of(AggregateFunction::Sum, shape, true),
            "mean" if !seen.vertex => of(AggregateFunction::Average, Shape::Plain, true),
            "min" if shape == Shape::Long || self.uniform.contains(&seen.expr) => {
                of(AggregateFunction::Min, shape, true)
            }
            "max" if shape == Shape::Long || self.uniform.contains(&seen.expr) => {
                of(AggregateFunction::Max, shape, true)
            }
            _ => None,
        }
    }
    /// Steps none of which gathers: each row is gone through by itself.
    fn flow_plain(&mut self, mut at: At, reader: &mut Reader<'t>) -> Option<At> {
        while let Some(step) = reader.next() {
            at = self.step(at, step, reader)?;
        }
        Some(at)
    }
}

impl Members {
    fn rows(function: AggregateFunction, arguments: Vec<Expr>, shape: Shape) -> Members {
        Members { call: AggregateCall { function, arguments, distinct: false }, shape, lacks: false }
    }
}
