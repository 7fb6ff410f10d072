//! Repeated groups with a sub-query in their condition: `WALK (a) ((x)-[:R]-(y) WHERE EXISTS { … }){1,5} (b)`.
//!
//! A search cannot run a sub-query on the way. So the group becomes a plan of its own, from its first node to its last, which is run again
//! from where it ended ([`plan::algebra::Repeat`]). Only walks are said so, and names inside the group are not seen outside.

use plan::Plan;
use plan::algebra::{Apply, ApplyKind, Extend, Repeat};
use plan::expr::{BinaryOperator, Expr, Var};
use plan::scope::Scope as PlanScope;

use super::argument::set_argument;
use super::pattern::{Building, Names};
use super::query::Rows;
use super::scope::Scope;
use super::types::Type;
use super::{Lowered, Lowerer, fail, fail_with_hint};
use crate::ast::{
    Expression, ExpressionKind, GroupPattern, Name, NodePattern, PathMode, PathPattern, PatternElement,
    Selector,
};
use crate::error::ErrorKind;
use text::Span;

/// A group being lowered: its plan is yet to be put on top of the one that binds its first vertex.
pub(crate) struct Rounds {
    from: Var,
    inner: Plan,
    imports: Vec<Var>,
    repeat: Repeat,
    scope: PlanScope,
}

impl Rounds {
    /// The new column.
    pub fn makes(&self) -> Var {
        self.repeat.to
    }
    /// Puts the rounds behind a plan that binds where they begin.
    pub fn behind(self, input: Plan) -> Plan {
        let items = vec![(self.repeat.at, Expr::Variable(self.from))];
        let input = Plan::Extend(Box::new(Extend { input, items }));
        let kind = ApplyKind::Repeat(self.repeat);
        Plan::Apply(Box::new(Apply {
            input,
            inner: self.inner,
            imports: self.imports,
            kind,
            scope: self.scope,
            rank: None,
        }))
    }
}

/// A path of a node, a repeated group whose condition holds a sub-query, and a node.
pub(super) fn parts(path: &PathPattern) -> Option<(&NodePattern, &GroupPattern, &NodePattern)> {
    let [PatternElement::Node(first), PatternElement::Group(group), PatternElement::Node(last)] =
        &path.elements[..]
    else {
        return None;
    };
    let inside = group.path.elements.iter().filter_map(|element| match element {
        PatternElement::Node(node) => node.condition.as_ref(),
        PatternElement::Relationship(edge) => edge.condition.as_ref(),
        PatternElement::Group(_) => None,
    });
    let asks = inside.chain(&group.condition).any(has_subquery);
    (group.quantifier.is_some() && asks).then_some((first, group, last))
}

fn has_subquery(expression: &Expression) -> bool {
    let own = matches!(
        expression.kind,
        ExpressionKind::Exists(_)
            | ExpressionKind::Count(_)
            | ExpressionKind::Collect(_)
            | ExpressionKind::Pattern(_)
            | ExpressionKind::PatternComprehension { .. }
    );
    let mut found = own;
    expression.children(&mut |child| found = found || has_subquery(child));
    found
}

impl Lowerer<'_> {
    /// Lowers such a path; its ends are nodes of the pattern.
    pub(super) fn rounds<'a>(
        &mut self,
        path: &'a PathPattern,
        (first, group, last): (&'a NodePattern, &'a GroupPattern, &'a NodePattern),
        scope: &mut Scope,
        names: Names,
        building: &mut Building<'a>,
    ) -> Lowered<()> {
        let (min, max) = bounds(path, group)?;
        let from = self.search_start(Some(first), scope, names, building)?;
        let (end, into) = self.search_end(Some(last), scope, names, building)?;
        let to = if into { self.unnamed("end") } else { end };
        if into {
            let same = Expr::binary(BinaryOperator::Equal, Expr::Variable(to), Expr::Variable(end));
            building.pattern.predicates.push(same);
        }
        if let Some(wanted) = &last.labels {
            let label = self.label_condition(&Expr::Variable(to), &Type::Node, wanted, scope)?;
            building.pattern.predicates.push(label);
        }
        let at = self.unnamed("at");
        let (inner, imports, next) = self.round(group, path.mode, at, scope)?;
        let repeat = Repeat { at, next, to, min, max, distinct: false };
        let scope = PlanScope::hinted(self.scope_hint.clone());
        building.rounds.push(Rounds { from, inner, imports, repeat, scope });
        Ok(())
    }

    /// One round of a path of this mode: its plan, the outer variables it reads, and where it ends.
    fn round(
        &mut self,
        group: &GroupPattern,
        mode: Option<PathMode>,
        at: Var,
        scope: &Scope,
    ) -> Lowered<(Plan, Vec<Var>, Var)> {
        let (first_own, first_used) = (self.variables.len(), self.used.len());
        // Of the modes, that of a walk alone is about the edges of one round.
        let mode = mode.filter(|mode| *mode == PathMode::Walk);
        let mut path = PathPattern { mode, ..(*group.path).clone() };
        let begin = end_name(path.elements.first_mut(), " round begins", group.span)?;
        let end = end_name(path.elements.last_mut(), " round ends", group.span)?;
        let mut rows = Rows { plan: Plan::Argument(Vec::new()), scope: scope.as_outer() };
        for name in [&begin, &end] {
            if scope.get(name).is_some() {
                let message = format!("variable `{name}` is already declared outside of the repeated group");
                return fail_with_hint(
                    ErrorKind::VariableAlreadyBound,
                    message,
                    group.span,
                    "use another name",
                );
            }
        }
        rows.scope.declare(&begin, at, Type::Node);
        self.find_inner(std::slice::from_ref(&path), group.condition.as_ref(), Names::New, &mut rows)?;
        let next = rows.scope.get(&end).map_or(at, |binding| binding.var);
        let mut imports = self.imports_since(first_own, first_used);
        if !imports.contains(&at) {
            imports.push(at);
        }
        set_argument(&mut rows.plan, &imports);
        Ok((rows.plan, imports, next))
    }
}

fn bounds(path: &PathPattern, group: &GroupPattern) -> Lowered<(u32, u32)> {
    let span = group.span;
    let quantifier = group.quantifier.expect("`parts` says so");
    let plain = path.selector == Selector::Every && path.variable.is_none() && group.path.variable.is_none();
    if !plain || group.path.mode.is_some() || group.path.selector != Selector::Every {
        let message = "a sub-query inside a repeated group of a named or selective path is not supported";
        return fail(ErrorKind::NotSupported, message, span);
    }
    let Some(max) = quantifier.max.and_then(|max| u32::try_from(max).ok()) else {
        let message = "a repeated group with a sub-query needs an upper bound";
        return fail_with_hint(ErrorKind::NotSupported, message, span, "write {1,10} instead of + or *");
    };
    if path.mode != Some(PathMode::Walk) && max > 1 {
        let message = "a sub-query inside a repeated group is supported in walks only";
        return fail_with_hint(ErrorKind::NotSupported, message, span, "write MATCH WALK …");
    }
    Ok((quantifier.min.min(u64::from(max)) as u32, max))
}

/// The name of an end of a group; one that no text can write, if it has none.
fn end_name(element: Option<&mut PatternElement>, unnamed: &str, span: Span) -> Lowered<String> {
    let Some(PatternElement::Node(node)) = element else {
        return fail(ErrorKind::UnexpectedSyntax, "a repeated group begins and ends with a node", span);
    };
    Ok(node.variable.get_or_insert_with(|| Name { text: unnamed.to_string(), span }).text.clone())
}
