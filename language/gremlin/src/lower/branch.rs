//! Branches: `union`, `coalesce`, `optional`, `choose`, as sub-queries whose rows are joined back.

use super::{At, Lowering, Reader, Shape, counts_once, not};
use crate::traversal::{Argument, Instruction, Traversal};
use plan::algebra::{Apply, ApplyKind, Filter, Union};
use plan::{Expr, Plan, Var};

/// A branch: a condition, and the result of its rows.
struct Arm<'t> {
    condition: Option<Expr>,
    /// None stays where it is.
    steps: Option<&'t Traversal>,
}

/// Where a branch ends: a column, whether it is a vertex, and how it is read.
type End = (Var, bool, Shape);

impl<'t> Lowering<'t> {
    pub(super) fn branch(&mut self, at: At, step: &'t Instruction, reader: &mut Reader<'t>) -> Option<At> {
        let traversals = step.arguments.iter().map(Argument::traversal).collect::<Option<Vec<_>>>()?;
        let optioned = reader.peek().is_some_and(|next| &*next.name == "option");
        if optioned || traversals.is_empty() || !matches!(at, At::Vertex(_) | At::Value(..)) {
            return None;
        }
        if let ("union", [one, other], At::Vertex(from)) = (&*step.name, traversals.as_slice(), &at)
            && let Some(at) = self.stay_or_step(*from, [one, other], reader)
        {
            return Some(at);
        }
        let always = |steps| Arm { condition: None, steps: Some(steps) };
        let arms = match (&*step.name, traversals.as_slice()) {
            ("union", all) => all.iter().map(|one| always(*one)).collect(),
            ("optional", [only]) => {
                let is = self.asks(&at, only)?;
                vec![always(only), Arm { condition: Some(no(is)), steps: None }]
            }
            ("coalesce", all) => {
                let mut arms = Vec::new();
                let mut none_before: Option<Expr> = None;
                for (place, one) in all.iter().enumerate() {
                    arms.push(Arm { condition: none_before.clone(), steps: Some(*one) });
                    if place + 1 < all.len() {
                        let none = no(self.asks(&at, one)?);
                        none_before = Some(match none_before {
                            Some(before) => Expr::all([before, none]),
                            None => none,
                        });
                    }
                }
                arms
            }
            ("choose", [test, yes, rest @ ..]) if rest.len() <= 1 => {
                let is = self.asks(&at, test)?;
                let yes = Arm { condition: Some(is.clone()), steps: Some(*yes) };
                vec![yes, Arm { condition: Some(no(is)), steps: rest.first().copied() }]
            }
            _ => return None,
        };
        self.joined(&at, arms)
    }

    /// `union(identity(), out(…))`, either way round: a walk of no step and of one.
    fn stay_or_step(&mut self, from: Var, arms: [&'t Traversal; 2], reader: &Reader<'t>) -> Option<At> {
        let stays = |arm: &Traversal| matches!(arm.steps.as_slice(), [only] if &*only.name == "identity");
        let steps = match arms {
            [one, other] if stays(one) && !stays(other) => other,
            [one, other] if stays(other) && !stays(one) => one,
            _ => return None,
        };
        let once = self.set || counts_once(reader.rest());
        match steps.steps.as_slice() {
            [step] => self.stay_or_walk(from, step, once),
            _ => None,
        }
    }
    /// The rows of all branches.
    fn joined(&mut self, at: &At, arms: Vec<Arm<'t>>) -> Option<At> {
        let mut whole: Option<(Plan, Var)> = None;
        let (mut imports, mut kind) = (at.columns(), None);
        for arm in arms {
            let (mut plan, own, (column, vertex, shape)) = self.arm(at, &arm)?;
            if let Some(condition) = arm.condition {
                imports.extend(condition.free_variables());
                plan = guarded(plan, condition);
            }
            imports.extend(own);
            if *kind.get_or_insert((vertex, shape.clone())) != (vertex, shape) {
                return None;
            }
            whole = Some(match whole {
                None => (plan, column),
                Some((left, known)) => {
                    let both = self.fresh("branch");
                    let columns = vec![(both, known, column)];
                    let union = Union { left, right: plan, columns, distinct: false };
                    (Plan::Union(Box::new(union)), both)
                }
            });
        }
        let ((inner, column), (vertex, shape)) = (whole?, kind?);
        imports.sort_unstable();
        imports.dedup();
        let inner = with_imports(inner, &imports);
        let input = self.take();
        let kind = ApplyKind::Inner(vec![column]);
        self.plan =
            Plan::Apply(Box::new(Apply { input, inner, imports, kind, scope: self.scope(), rank: None }));
        (self.single, self.disturbed, self.way) = (false, true, None);
        if !vertex {
            self.sure.push(column);
        }
        Some(if vertex { At::Vertex(column) } else { At::Value(column, shape) })
    }
    /// One branch, to a new column of its own.
    fn arm(&mut self, at: &At, arm: &Arm<'t>) -> Option<(Plan, Vec<Var>, End)> {
        let steps = arm.steps.map_or(&[][..], |nested| nested.steps.as_slice());
        let set = self.set;
        self.inner(at, steps, |inner, reader| {
            inner.set = set;
            let mut place = at.clone();
            while let Some(step) = reader.next() {
                place = inner.step(place, step, reader)?;
            }
            let (expr, shape) = inner.packed(&place)?;
            if matches!(place, At::Edge(..)) {
                return None;
            }
            let column = inner.fresh("arm");
            inner.extend(vec![(column, expr)]);
            Some((column, matches!(place, At::Vertex(_)), shape))
        })
    }
}

/// It does not hold, nor is it unknown.
pub(super) fn no(condition: Expr) -> Expr {
    not(Expr::Call(plan::Function::Coalesce, vec![condition, Expr::literal(false)]))
}

/// The plan over those of its arguments that satisfy a condition.
fn guarded(plan: Plan, condition: Expr) -> Plan {
    at_argument(plan, &mut |argument| {
        Plan::Filter(Box::new(Filter { input: argument, predicate: condition.clone() }))
    })
}

/// The plan with these imports in place of its own.
fn with_imports(plan: Plan, imports: &[Var]) -> Plan {
    at_argument(plan, &mut |_| Plan::Argument(imports.to_vec()))
}

/// Puts something in place of the argument that a line of plans begins with; of a union, both lines.
fn at_argument(mut plan: Plan, put: &mut dyn FnMut(Plan) -> Plan) -> Plan {
    if matches!(plan, Plan::Argument(_)) {
        return put(plan);
    }
    if let Plan::Union(union) = plan {
        let union = *union;
        let (left, right) = (at_argument(union.left, put), at_argument(union.right, put));
        return Plan::Union(Box::new(Union { left, right, ..union }));
    }
    if let Some(input) = plan.input_mut() {
        let inner = std::mem::replace(input, Plan::Unit);
        *input = at_argument(inner, put);
    }
    plan
}
