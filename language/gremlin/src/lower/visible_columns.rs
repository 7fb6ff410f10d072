//! Modulators: the result of a traversal on one row, as an expression of it.

use super::condition::one_name;
use super::{At, Lowering, Shape, What, is_there, property};
use crate::object::Object;
use crate::token::Token;
use crate::traversal::{Argument, Instruction};
use plan::algebra::Limit;
use plan::expr::SubqueryKind;
use plan::{Expr, Function};

/// The visible columns of a row.
#[derive(Clone, Debug)]
pub(super) struct VisibleColumns {
    pub expr: Expr,
    pub shape: Shape,
    /// Is it a vertex?
    pub vertex: bool,
    /// May there be nothing, which is null?
    pub lacks: bool,
}

impl VisibleColumns {
    fn value(expr: Expr, shape: Shape, lacks: bool) -> VisibleColumns {
        VisibleColumns { expr, shape, vertex: false, lacks }
    }
}

impl<'t> Lowering<'t> {
    fn of(&self, at: &At) -> Option<VisibleColumns> {
        let (expr, shape) = self.packed(at)?;
        let lacks = self.may_lack(at);
        Some(VisibleColumns { expr, shape, vertex: matches!(at, At::Vertex(_)), lacks })
    }
    /// May there be nothing where something stands?
    pub(super) fn may_lack(&self, at: &At) -> bool {
        matches!(at, At::Value(column, _) if !self.sure.contains(column))
    }
    /// The result of a modulator's arguments on a row.
    pub(super) fn seen(&mut self, at: &At, arguments: &'t [Argument]) -> Option<VisibleColumns> {
        match arguments {
            [] => self.of(at),
            [Argument::Value(Object::String(key))] => self.keyed(at, key),
            [Argument::Value(Object::Token(Token::TId))] => self.id(at),
            [Argument::Value(Object::Token(Token::Keys))] => match at {
                At::Entry(key, _) => self.of(key),
                _ => None,
            },
            [Argument::Value(Object::Token(Token::Values))] => match at {
                At::Entry(_, value) => self.of(value),
                _ => None,
            },
            [Argument::Traversal(nested)] => {
                self.simple(at, &nested.steps).or_else(|| self.first(at, &nested.steps))
            }
            _ => None,
        }
    }
    fn keyed(&self, at: &At, key: &super::Name) -> Option<VisibleColumns> {
        match at {
            At::Vertex(subject) | At::Edge(subject, ..) => {
                Some(VisibleColumns::value(property(Expr::Variable(*subject), key), self.shape_of(key), true))
            }
            At::Record(parts) => {
                let (_, part) = parts.iter().find(|(name, _)| name == key)?;
                self.of(part)
            }
            _ => None,
        }
    }
    fn id(&self, at: &At) -> Option<VisibleColumns> {
        match at {
            At::Vertex(subject) | At::Edge(subject, ..) => {
                let id = Expr::Call(Function::Id, vec![Expr::Variable(*subject)]);
                Some(VisibleColumns::value(id, Shape::Long, false))
            }
            _ => None,
        }
    }

    /// The result of steps that yield one object at most, without a walk; or of a count or a reduction at the end of one.
    pub(super) fn simple(&mut self, at: &At, steps: &'t [Instruction]) -> Option<VisibleColumns> {
        let mut place = at.clone();
        let mut rest = steps;
        loop {
            match rest {
                [] => return self.of(&place),
                [step, behind @ ..] if &*step.name == "identity" => rest = behind,
                [step, behind @ ..] if &*step.name == "select" => {
                    let modulated = behind.first().is_some_and(|next| &*next.name == "by");
                    if modulated {
                        return None;
                    }
                    (place, rest) = (self.selected(&place, step)?, behind);
                }
                _ => break,
            }
        }
        let [step, behind @ ..] = rest else { return None };
        let name = &*step.name;
        if let Some(seen) = self.value_of(&place, step, behind) {
            return Some(seen);
        }
        if matches!(name, "path") {
            return match behind {
                [count] if is_local(count, "count") => self.way_length(),
                _ => None,
            };
        }
        self.gathered(&place, rest)
    }
    /// A part of a map or the object of a label.
    fn selected(&self, at: &At, step: &Instruction) -> Option<At> {
        match (at, step.arguments.as_slice()) {
            (At::Entry(key, _), [Argument::Value(Object::Token(Token::Keys))]) => Some((**key).clone()),
            (At::Entry(_, value), [Argument::Value(Object::Token(Token::Values))]) => Some((**value).clone()),
            (At::Record(parts), _) => {
                let name = one_name(&step.arguments)?;
                let part = parts.iter().find(|(known, _)| *known == name).map(|(_, part)| part);
                match (part, self.stands_for(&name)) {
                    // where the entry is absent it is the label that counts
                    (Some(part), Some(_)) if self.may_lack(part) => None,
                    (part, label) => part.or(label).cloned(),
                }
            }
            _ => self.stands_for(&one_name(&step.arguments)?).cloned(),
        }
    }
    fn value_of(
        &mut self,
        place: &At,
        step: &'t Instruction,
        behind: &'t [Instruction],
    ) -> Option<VisibleColumns> {
        let seen = match (&*step.name, step.arguments.as_slice()) {
            ("values", [Argument::Value(Object::String(key))]) if !matches!(place, At::Record(_)) => {
                self.keyed(place, key)?
            }
            ("id", []) => self.id(place)?,
            ("constant", [Argument::Value(value)]) => {
                let shape = if matches!(value, Object::Long(_)) { Shape::Long } else { Shape::Plain };
                VisibleColumns::value(self.constant(value)?, shape, false)
            }
            ("math", [Argument::Value(Object::String(text))]) => {
                let bys = behind.iter().map(|by| (&*by.name == "by").then_some(by.arguments.as_slice()));
                return self.math(place, text, &bys.collect::<Option<Vec<_>>>()?);
            }
            ("coalesce", parts) if !parts.is_empty() => self.coalesced(place, parts)?,
            ("choose", [Argument::Traversal(test), Argument::Traversal(yes), Argument::Traversal(no)]) => {
                let test = self.asks(place, test)?;
                let (yes, no) = (self.simple(place, &yes.steps)?, self.simple(place, &no.steps)?);
                let plain = yes.shape == no.shape && !yes.vertex && !no.vertex;
                let lacks = yes.lacks || no.lacks;
                let arms = vec![(test, yes.expr)];
                let choice = Expr::Case { operand: None, arms, otherwise: Some(Box::new(no.expr)) };
                plain.then(|| VisibleColumns::value(choice, yes.shape, lacks))?
            }
            ("count", _) if is_local(step, "count") => match self.of(place)? {
                VisibleColumns { expr, shape: Shape::List(_), .. } => {
                    VisibleColumns::value(Expr::Call(Function::Size, vec![expr]), Shape::Long, false)
                }
                _ => return None,
            },
            _ => return None,
        };
        match behind {
            [] => Some(seen),
            [step] if &*step.name == "math" => {
                let text = one_name(&step.arguments)?;
                let lacks = seen.lacks;
                let value =
                    super::formula::formula(&text, &mut |name| (name == "_").then(|| seen.expr.clone()))?;
                Some(VisibleColumns::value(value, Shape::Plain, lacks))
            }
            [is] if &*is.name == "is" => {
                let test = self.holds(&seen.expr, is.arguments.first()?)?;
                let kept = Expr::Case { operand: None, arms: vec![(test, seen.expr)], otherwise: None };
                Some(VisibleColumns::value(kept, seen.shape, true))
            }
            _ => None,
        }
    }
    fn math(&mut self, place: &At, text: &str, bys: &[&'t [Argument]]) -> Option<VisibleColumns> {
        let (mut lacks, mut turn) = (false, Vec::<String>::new());
        let value = super::formula::formula(text, &mut |name| {
            let subject = match (name, place) {
                ("_", at) => at.clone(),
                (name, At::Record(parts)) if parts.iter().any(|(known, _)| &**known == name) => {
                    parts.iter().find(|(known, _)| &**known == name)?.1.clone()
                }
                (name, _) => self.stands_for(name)?.clone(),
            };
            // each name has its modulator, in the order of their first use
            let at = turn.iter().position(|known| known == name).unwrap_or_else(|| {
                turn.push(name.to_string());
                turn.len() - 1
            });
            let by = if bys.is_empty() { &[][..] } else { bys[at % bys.len()] };
            let seen = self.seen(&subject, by)?;
            lacks |= seen.lacks;
            (!seen.vertex).then_some(seen.expr)
        })?;
        Some(VisibleColumns::value(value, Shape::Plain, lacks))
    }
    fn coalesced(&mut self, place: &At, parts: &'t [Argument]) -> Option<VisibleColumns> {
        let parts: Vec<VisibleColumns> =
            parts.iter().map(|part| self.simple(place, &part.traversal()?.steps)).collect::<Option<_>>()?;
        let first = parts.first()?.clone();
        let alike = parts.iter().all(|part| part.shape == first.shape && !part.vertex);
        let lacks = parts.iter().all(|part| part.lacks);
        let exprs = parts.into_iter().map(|part| part.expr).collect();
        alike.then(|| VisibleColumns::value(Expr::Call(Function::Coalesce, exprs), first.shape, lacks))
    }
    /// How many objects the way has.
    fn way_length(&self) -> Option<VisibleColumns> {
        let way = self.way.as_ref()?;
        let ones = way.iter().filter(|met| matches!(met.what, What::One(_))).count();
        let mut length = super::integer(ones as i64);
        for met in way {
            if let What::Run(edges) = met.what {
                let run = Expr::Call(Function::Size, vec![Expr::Variable(edges)]);
                length = super::binary(plan::expr::BinaryOperator::Add, run, length);
            }
        }
        Some(VisibleColumns::value(length, Shape::Long, false))
    }

    /// The result of a walk that is counted or reduced at its end.
    fn gathered(&mut self, at: &At, steps: &'t [Instruction]) -> Option<VisibleColumns> {
        let [before @ .., last] = steps else { return None };
        match (&*last.name, last.arguments.as_slice()) {
            ("count", []) => {
                let (plan, imports, ()) =
                    self.inner(at, before, |inner, reader| inner.flow(at.clone(), reader).map(|_| ()))?;
                let count = self.subquery(SubqueryKind::Count, imports, plan);
                Some(VisibleColumns::value(count, Shape::Long, false))
            }
            ("fold", []) => {
                let (expr, shape) = self.listed(at, before, false)?;
                Some(VisibleColumns::value(expr, Shape::List(Box::new(shape)), false))
            }
            ("sum" | "min" | "max" | "mean", []) => {
                let (list, shape) = self.listed(at, steps, false)?;
                Some(VisibleColumns::value(Expr::Call(Function::Head, vec![list]), shape, true))
            }
            _ => None,
        }
    }
    /// The first object that steps yield.
    fn first(&mut self, at: &At, steps: &'t [Instruction]) -> Option<VisibleColumns> {
        // with a project at its end, one row makes one map
        let (list, shape) = self.listed(at, steps, true)?;
        Some(VisibleColumns::value(Expr::Call(Function::Head, vec![list]), shape, true))
    }
    /// All that steps yield, as a list.
    fn listed(&mut self, at: &At, steps: &'t [Instruction], first: bool) -> Option<(Expr, Shape)> {
        let (plan, imports, (column, shape)) = self.inner(at, steps, |inner, reader| {
            let end = inner.flow(at.clone(), reader)?;
            inner.settle();
            if first && !inner.single {
                let input = inner.take();
                inner.plan = plan::Plan::Limit(Box::new(Limit {
                    input,
                    count: super::integer(1),
                    scope: inner.scope(),
                }));
            }
            let (expr, shape) = inner.packed(&end)?;
            Some((inner.column("listed", expr), shape))
        })?;
        Some((self.subquery(SubqueryKind::Collect(column), imports, plan), shape))
    }

    /// Puts results into columns.
    pub(super) fn placed(&mut self, seen: Vec<VisibleColumns>) -> Vec<At> {
        let (mut items, mut places) = (Vec::new(), Vec::new());
        for VisibleColumns { expr, shape, vertex, lacks } in seen {
            let column = match expr {
                Expr::Variable(known) => known,
                expr => {
                    let column = self.fresh("seen");
                    items.push((column, expr));
                    column
                }
            };
            if self.single {
                self.fixed.push(column);
            }
            if !lacks {
                self.sure.push(column);
            }
            places.push(if vertex && !lacks { At::Vertex(column) } else { At::Value(column, shape) });
        }
        self.extend(items);
        places
    }
    /// A column of the result, of the rows where there is one.
    pub(super) fn present(&mut self, seen: VisibleColumns) -> At {
        let lacks = seen.lacks;
        let place = self.placed(vec![seen]).remove(0);
        if lacks {
            let column = place.columns()[0];
            self.filter(is_there(Expr::Variable(column)));
            self.sure.push(column);
        }
        place
    }
}

/// `name(Scope.local)`
pub(super) fn is_local(step: &Instruction, name: &str) -> bool {
    &*step.name == name && matches!(step.arguments.as_slice(), [Argument::Value(Object::Token(Token::Local))])
}
