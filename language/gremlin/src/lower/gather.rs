//! Steps that gather: `order`, `dedup`, ranges, and reductions.

use super::condition::read_later;
use super::visible_columns::VisibleColumns;
use super::{At, Lowering, Reader, Shape, binary, integer, mentions, mentions_way, test};
use crate::object::Object;
use crate::token::Token;
use crate::traversal::{Argument, Instruction};
use plan::algebra::{Aggregate, AggregateCall, Distinct, KeyOrder, Limit, Skip, Sort, SortKey};
use plan::expr::BinaryOperator;
use plan::{AggregateFunction, Expr, Plan, Var};

impl<'t> Lowering<'t> {
    /// `count`, `fold`, `sum` and their kin of all rows.
    pub(super) fn reduce(&mut self, at: &At, step: &'t Instruction, reader: &Reader<'t>) -> Option<At> {
        let (expr, shape) = self.packed(at)?;
        let (function, arguments, shape) = match &*step.name {
            "count" => (AggregateFunction::CountRows, Vec::new(), Shape::Long),
            "fold" => (AggregateFunction::Collect, vec![expr], Shape::List(Box::new(shape))),
            "sum" => (AggregateFunction::Sum, vec![expr], shape),
            "mean" => (AggregateFunction::Average, vec![expr], Shape::Plain),
            // the order across types is another
            "min" if shape == Shape::Long || self.uniform.contains(&expr) => {
                (AggregateFunction::Min, vec![expr], shape)
            }
            "max" if shape == Shape::Long || self.uniform.contains(&expr) => {
                (AggregateFunction::Max, vec![expr], shape)
            }
            _ => return None,
        };
        let numbers = matches!(&*step.name, "sum" | "mean");
        if numbers && matches!(at, At::Vertex(_) | At::Edge(..) | At::Record(_)) {
            return None;
        }
        if function == AggregateFunction::Collect {
            self.settle();
        }
        let column = self.fresh(&step.name);
        let call = |function, arguments| AggregateCall { function, arguments, distinct: false };
        let mut aggregates = vec![(column, call(function, arguments))];
        let rows = self.fresh("rows");
        aggregates.push((rows, call(AggregateFunction::CountRows, Vec::new())));
        let sides = self.sides_through(reader, &mut aggregates);
        let input = self.take();
        self.plan = Plan::Aggregate(Box::new(Aggregate { input, keys: Vec::new(), aggregates }));
        self.forget();
        self.single = true;
        self.fixed = vec![column];
        self.sure.push(column);
        self.extend(sides);
        if !matches!(&*step.name, "count" | "fold") {
            // nothing comes to nothing
            self.filter(binary(BinaryOperator::Greater, Expr::Variable(rows), integer(0)));
        }
        Some(At::Value(column, shape))
    }
    /// After a reduction nothing is known of the path.
    pub(super) fn forget(&mut self) {
        self.labels.clear();
        self.sorted.clear();
        self.disturbed = false;
        self.way = None;
    }
    /// Aggregates that carry the side effects that are read later; how their columns are made of them again.
    pub(super) fn sides_through(
        &mut self,
        reader: &Reader<'t>,
        aggregates: &mut Vec<(Var, AggregateCall)>,
    ) -> Vec<(Var, Expr)> {
        let mut again = Vec::new();
        let mut sides = std::mem::take(&mut self.sides);
        sides.retain(|(name, ..)| mentions(reader.rest(), name));
        for (_, column, _) in &mut sides {
            let (all, next) = (self.fresh("sides"), self.fresh("side"));
            let arguments = vec![Expr::Variable(*column)];
            let function = AggregateFunction::Collect;
            aggregates.push((all, AggregateCall { function, arguments, distinct: false }));
            let first = Expr::Call(plan::Function::Head, vec![Expr::Variable(all)]);
            again.push((next, Expr::Call(plan::Function::Coalesce, vec![first, Expr::List(Vec::new())])));
            *column = next;
        }
        self.sides = sides;
        again
    }

    pub(super) fn order(&mut self, at: &At, step: &'t Instruction, reader: &mut Reader<'t>) -> Option<At> {
        let local = super::visible_columns::is_local(step, "order");
        let at_entry = match at {
            At::Groups(key, value) if local => At::Entry(key.clone(), value.clone()),
            At::Groups(..) | At::Way => return None,
            at if step.arguments.is_empty() => at.clone(),
            _ => return None,
        };
        let mut keys = Vec::new();
        let mut bys = reader.bys();
        if bys.is_empty() {
            bys.push(&[]);
        }
        for by in bys {
            let (arguments, descending) = match by {
                [rest @ .., Argument::Value(Object::Token(Token::Desc))] => (rest, true),
                [rest @ .., Argument::Value(Object::Token(Token::Asc))] => (rest, false),
                [.., Argument::Value(Object::Token(Token::Shuffle))] => return None,
                rest => (rest, false),
            };
            let seen = self.seen(&at_entry, arguments)?;
            if seen.vertex || matches!(seen.shape, Shape::List(_) | Shape::Record(_)) {
                return None;
            }
            let whole = seen.shape == Shape::Long && !seen.lacks;
            let order = if whole { KeyOrder::Total } else { KeyOrder::Typed };
            // what is read of the row again costs little, and of a row that is not among the first it need not be read at all
            let expr = match seen.expr {
                plain @ (Expr::Variable(_) | Expr::Property(..)) => plain,
                made => Expr::Variable(self.column("key", made)),
            };
            keys.push(SortKey { expr, descending, order });
        }
        // what was in order before stays so among equals
        self.sorted.retain(|known| !keys.iter().any(|key| key.expr == known.expr));
        keys.append(&mut self.sorted);
        let input = self.take();
        self.plan = Plan::Sort(Box::new(Sort { input, keys: keys.clone(), limit: None }));
        (self.sorted, self.disturbed) = (keys, false);
        Some(at.clone())
    }

    pub(super) fn range(&mut self, at: At, step: &'t Instruction) -> Option<At> {
        let arguments = step.arguments.as_slice();
        let global = match arguments {
            [Argument::Value(Object::Token(Token::Local)), rest @ ..] if matches!(at, At::Groups(..)) => rest,
            rest if !matches!(at, At::Groups(..)) => rest,
            _ => return None,
        };
        let numbers = global.iter().map(|argument| argument.value().and_then(Object::as_long));
        let numbers = numbers.collect::<Option<Vec<_>>>()?;
        let (low, high) = match (&*step.name, numbers.as_slice()) {
            ("limit", [high]) => (0, Some(*high)),
            ("skip", [low]) => (*low, None),
            ("range", [low, high]) => (*low, (*high >= 0).then_some(*high)),
            _ => return None,
        };
        if low < 0 || high.is_some_and(|high| high < low) {
            return None;
        }
        self.settle();
        if low > 0 {
            let input = self.take();
            self.plan = Plan::Skip(Box::new(Skip { input, count: integer(low) }));
        }
        if let Some(high) = high {
            let input = self.take();
            let count = integer(high - low);
            self.plan = Plan::Limit(Box::new(Limit { input, count, scope: self.scope() }));
            self.single |= high - low <= 1;
        }
        // what is read later of rows in order is read of these alone
        if self.single {
            self.fixed.extend(at.columns());
        }
        Some(at)
    }

    /// Each object once, or each combination of the labels' objects.
    pub(super) fn dedup(&mut self, at: At, step: &'t Instruction, reader: &mut Reader<'t>) -> Option<At> {
        if matches!(at, At::Entry(..) | At::Groups(..) | At::Way) {
            return None;
        }
        let subjects: Vec<At> = match step.arguments.as_slice() {
            [] => vec![at.clone()],
            labels => {
                let names = test::names(labels)?;
                names.iter().map(|name| self.stands_for(name).cloned()).collect::<Option<_>>()?
            }
        };
        let bys = reader.bys();
        let mut keys = Vec::new();
        for (place, subject) in subjects.iter().enumerate() {
            match bys.as_slice() {
                [] => keys.extend(subject.columns()),
                bys => {
                    let seen = self.seen(subject, bys[place % bys.len()])?;
                    keys.extend(self.present(seen).columns());
                }
            }
        }
        self.once(&at, keys, reader)?;
        Some(at)
    }
    /// Keeps the first row of each combination of these columns.
    fn once(&mut self, at: &At, keys: Vec<Var>, reader: &Reader<'t>) -> Option<()> {
        self.labels = read_later(self, reader);
        self.sides.retain(|(name, ..)| mentions(reader.rest(), name));
        let mut live = at.columns();
        live.extend(self.labels.iter().flat_map(|(_, at)| at.columns()));
        live.extend(self.sides.iter().map(|(_, column, _)| *column));
        live.extend(self.sorted.iter().flat_map(|key| key.expr.free_variables()));
        match &self.way {
            Some(way) if mentions_way(reader.rest()) => {
                for met in way {
                    match &met.what {
                        super::What::One(at) => live.extend(at.columns()),
                        super::What::Run(edges) => live.push(*edges),
                    }
                }
            }
            _ => self.way = None,
        }
        live.sort_unstable();
        live.dedup();
        let fixed = |column: &Var| {
            self.fixed.contains(column) || self.sides.iter().any(|(_, side, _)| side == column)
        };
        let carried: Vec<Var> = live.into_iter().filter(|column| !keys.contains(column)).collect();
        if !carried.iter().all(fixed) {
            // which row is the first is the machine's matter where nobody asked for an order
            if self.sorted.is_empty() {
                return None;
            }
            self.settle();
        }
        let input = self.take();
        self.plan = Plan::Distinct(Box::new(Distinct { input, columns: keys, carried }));
        // those that are shared out among executors come back in any order
        self.disturbed = true;
        Some(())
    }
    /// A modulator's result, ready to be a key of groups.
    pub(super) fn key(&mut self, seen: VisibleColumns) -> Option<At> {
        matches!(seen.shape, Shape::Plain | Shape::Long | Shape::Wide).then(|| self.present(seen))
    }
}
