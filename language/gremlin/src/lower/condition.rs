//! Filters: conditions on a traverser, as a truth value of its row.

use super::{At, Lowering, Reader, binary, mentions, not, test};
use crate::object::Object;
use crate::predicate::{Compare, Predicate};
use crate::traversal::{Argument, Instruction, Traversal};
use plan::expr::{BinaryOperator, Quantifier, SubqueryKind};
use plan::{Expr, Var};

impl<'t> Lowering<'t> {
    /// A filter as an expression; none if the step is none of them or has no exact equal.
    pub(super) fn filtering(
        &mut self,
        at: &At,
        step: &'t Instruction,
        reader: &mut Reader<'t>,
    ) -> Option<Expr> {
        match &*step.name {
            "where" | "filter" => match step.arguments.as_slice() {
                [Argument::Traversal(nested)] => self.asks(at, nested),
                [argument @ Argument::Predicate(_)] if &*step.name == "filter" => self.is(at, argument),
                [Argument::Predicate(predicate)] => self.where_is(at.clone(), predicate, reader),
                [Argument::Value(Object::String(left)), Argument::Predicate(predicate)] => {
                    let left = self.stands_for(left)?.clone();
                    self.where_is(left, predicate, reader)
                }
                _ => None,
            },
            // a comparison across types is neither true nor false: the machine knows
            "not" if step.arguments.iter().any(is_comparison) => None,
            "not" => Some(not(self.exists(at, step.arguments.first()?.traversal()?)?)),
            "and" | "or" if !step.arguments.is_empty() => {
                let parts = step.arguments.iter().map(|part| self.asks(at, part.traversal()?));
                let parts = parts.collect::<Option<Vec<_>>>()?;
                let operator = if &*step.name == "and" { BinaryOperator::And } else { BinaryOperator::Or };
                parts.into_iter().reduce(|left, right| binary(operator, left, right))
            }
            "is" => self.is(at, step.arguments.first()?),
            "all" | "any" => {
                let At::Value(list, super::Shape::List(_)) = at else { return None };
                let variable = self.fresh("element");
                let predicate = self.holds(&Expr::Variable(variable), step.arguments.first()?)?;
                let quantifier = if &*step.name == "all" { Quantifier::All } else { Quantifier::Any };
                Some(quantified(quantifier, variable, Expr::Variable(*list), predicate))
            }
            _ => None,
        }
    }
    fn is(&mut self, at: &At, argument: &'t Argument) -> Option<Expr> {
        match at {
            At::Value(value, super::Shape::Plain | super::Shape::Long | super::Shape::Wide) => {
                self.holds(&Expr::Variable(*value), argument)
            }
            _ => None,
        }
    }

    /// Does a traversal yield anything from here? Null means no.
    pub(super) fn asks(&mut self, at: &At, nested: &'t Traversal) -> Option<Expr> {
        match nested.steps.as_slice() {
            [before @ .., is] if &*is.name == "is" && !before.is_empty() => {
                if let Some(seen) = self.simple(at, before) {
                    return self.holds(&seen.expr, is.arguments.first()?);
                }
            }
            [before @ .., all] if matches!(&*all.name, "all" | "any") && !before.is_empty() => {
                if let Some(seen) = self.simple(at, before) {
                    let variable = self.fresh("element");
                    let predicate = self.holds(&Expr::Variable(variable), all.arguments.first()?)?;
                    let quantifier = if &*all.name == "all" { Quantifier::All } else { Quantifier::Any };
                    return matches!(seen.shape, super::Shape::List(_))
                        .then(|| quantified(quantifier, variable, seen.expr, predicate));
                }
            }
            _ => {}
        }
        self.exists(at, nested)
    }
    /// Likewise, as a sub-query: true or false.
    pub(super) fn exists(&mut self, at: &At, nested: &'t Traversal) -> Option<Expr> {
        let steps = nested.steps.as_slice();
        let first = steps.first()?;
        // a label in front is where the body begins; nothing but a comparison is for the machine
        if &*first.name == "as" || steps.iter().all(|step| matches!(&*step.name, "identity" | "is")) {
            return None;
        }
        if let [before @ .., last] = steps
            && &*last.name == "is"
            && before.last().is_some_and(|count| &*count.name == "count" && count.arguments.is_empty())
        {
            let counted = self.simple(at, before)?;
            return self.holds(&counted.expr, last.arguments.first()?);
        }
        let (plan, imports, ()) = self.inner(at, steps, |inner, reader| {
            inner.set = true;
            inner.flow(at.clone(), reader).map(|_| ())
        })?;
        Some(self.subquery(SubqueryKind::Exists, imports, plan))
    }

    /// `where` with a predicate over the objects of labels and side effects.
    fn where_is(&mut self, left: At, predicate: &'t Predicate, reader: &mut Reader<'t>) -> Option<Expr> {
        if matches!(left, At::Record(_) | At::Entry(..) | At::Groups(..) | At::Way) {
            return None;
        }
        if let Predicate::Within(labels) | Predicate::Without(labels) = predicate {
            let [Object::String(label)] = labels.as_slice() else { return None };
            let list = self.list_of(label)?;
            if reader.peek().is_some_and(|next| &*next.name == "by") {
                return None;
            }
            let inside = binary(BinaryOperator::In, self.packed(&left)?.0, list);
            return Some(if matches!(predicate, Predicate::Within(_)) { inside } else { not(inside) });
        }
        let bys = reader.bys();
        let Predicate::Compare(how, Object::String(label)) = predicate else { return None };
        let right = self.stands_for(label)?.clone();
        let by = |at: usize| if bys.is_empty() { &[][..] } else { bys[at % bys.len()] };
        let (left, right) = (self.seen(&left, by(0))?, self.seen(&right, by(1))?);
        if (left.vertex != right.vertex) || (left.vertex && !matches!(how, Compare::Eq | Compare::Neq)) {
            return None;
        }
        let right = right.expr;
        self.says(&left.expr, &Predicate::Compare(*how, Object::Null), &|_| Some(right.clone()), &|_| None)
    }
    /// The list of a `within(label)`.
    fn list_of(&self, label: &str) -> Option<Expr> {
        if let Some((_, column, _)) = self.sides.iter().find(|(name, ..)| &**name == label) {
            return Some(Expr::Variable(*column));
        }
        match self.stands_for(label)? {
            At::Value(column, super::Shape::List(_)) => Some(Expr::Variable(*column)),
            _ => None,
        }
    }
    /// The object of a label; a side effect of the same name would come first.
    pub(super) fn stands_for(&self, label: &str) -> Option<&At> {
        if self.sides.iter().any(|(name, ..)| &**name == label) {
            return None;
        }
        self.labels.iter().rev().find(|(known, _)| &**known == label).map(|(_, at)| at)
    }
    /// Steps that neither gather nor forget: what a branch and a round of a `repeat` may have too.
    pub(super) fn step(&mut self, at: At, step: &'t Instruction, reader: &mut Reader<'t>) -> Option<At> {
        match (&*step.name, &at) {
            ("out" | "in" | "both" | "outE" | "inE", _) => self.walk(at, step, reader),
            ("outV", At::Edge(_, source, _)) => {
                let vertex = At::Vertex(*source);
                self.moved(vertex)
            }
            ("inV", At::Edge(_, _, target)) => {
                let vertex = At::Vertex(*target);
                self.moved(vertex)
            }
            ("identity", _) => Some(at),
            ("barrier", _) if step.arguments.is_empty() => Some(at),
            ("emit" | "repeat" | "times" | "until", _) => self.repeat(at, step, reader),
            ("union" | "coalesce" | "optional" | "choose", _) => self.branch(at, step, reader),
            ("has" | "hasNot" | "hasLabel" | "hasId", At::Vertex(vertex)) => {
                let (mut predicates, vertex) = (Vec::new(), *vertex);
                reader.at -= 1;
                let before = reader.at;
                let labels = self.vertex_filters(vertex, reader, &mut predicates);
                if reader.at == before {
                    return None;
                }
                if !labels.is_any() {
                    predicates.push(Expr::HasLabels(Box::new(Expr::Variable(vertex)), labels));
                }
                predicates.into_iter().for_each(|predicate| self.filter(predicate));
                Some(at)
            }
            ("has" | "hasNot" | "hasLabel", At::Edge(edge, ..)) => {
                let predicate = self.of_element(*edge, step)?;
                self.filter(predicate);
                Some(at)
            }
            ("simplePath", _) if step.arguments.is_empty() => {
                let predicate = self.is_simple()?;
                self.filter(predicate);
                Some(at)
            }
            ("path", _) if step.arguments.is_empty() => {
                let plain = reader.peek().is_none_or(|next| !matches!(&*next.name, "by" | "from" | "to"));
                plain.then_some(At::Way)
            }
            ("where" | "filter" | "not" | "and" | "or" | "is" | "all" | "any", _) => {
                let condition = self.filtering(&at, step, reader)?;
                self.filter(condition);
                Some(at)
            }
            _ => self.shown(at, step, reader),
        }
    }
    /// No two vertices of the way are one.
    fn is_simple(&self) -> Option<Expr> {
        let mut vertices: Vec<Var> = Vec::new();
        for met in self.way.as_ref()? {
            match met.what {
                super::What::One(At::Vertex(vertex)) => vertices.push(vertex),
                _ => return None,
            }
        }
        let (last, before) = vertices.split_last()?;
        // a vertex twice in one row is no variable twice: `outV` after `outE` gives the same one
        let pairs = before.iter().enumerate().flat_map(|(at, one)| {
            before[at + 1..]
                .iter()
                .chain([last])
                .map(|other| binary(BinaryOperator::NotEqual, Expr::Variable(*one), Expr::Variable(*other)))
        });
        Some(Expr::all(pairs))
    }
}

fn quantified(quantifier: Quantifier, variable: Var, list: Expr, predicate: Expr) -> Expr {
    Expr::Quantified { quantifier, variable, list: Box::new(list), predicate: Box::new(predicate) }
}

/// `is(…)` alone.
fn is_comparison(argument: &Argument) -> bool {
    argument
        .traversal()
        .is_some_and(|nested| matches!(nested.steps.as_slice(), [only] if &*only.name == "is"))
}

/// Labels that are read further on.
pub(super) fn read_later<'t>(lowering: &Lowering<'t>, reader: &Reader<'t>) -> Vec<(super::Name, At)> {
    let rest = reader.rest();
    lowering.labels.iter().filter(|(name, _)| mentions(rest, name)).cloned().collect()
}

/// The keys of `values` and `select`, one each.
pub(super) fn one_name(arguments: &[Argument]) -> Option<super::Name> {
    match test::names(arguments)?.as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    }
}
