//! Rewrite `lift_subqueries`: a sub-query in an expression becomes an `Apply` below the operator that computes the expression.
//!
//! A conjunct `EXISTS {…}` of a filter becomes a semi-join, `NOT EXISTS {…}` an anti-join; anywhere else the answer becomes a
//! column. A sub-query that reads a variable of a comprehension is run over the comprehension's list, unwound in an `Apply` of
//! its own that collects the results. Sound because a sub-query reads only its imports, which the row below already has; lazy
//! branches (CASE, OR) lose their laziness, which no result can show. Cost: none beyond the sub-queries themselves.

use crate::algebra::*;
use crate::error::PlanError;
use crate::expr::*;
use crate::names::Names;
use crate::pattern::Selector;
use crate::rewrite::gather::optional_match::optional_match;
use crate::rewrite::substitute::{has_subquery, substitute};
use crate::scope::{InstanceOrder, Scope};
use model::Value;

/// Lifts every sub-query of the plan, those within sub-queries included.
pub(crate) fn lift_subqueries(plan: &mut Plan, names: &mut Names<'_>) -> Result<(), PlanError> {
    plan.bottom_up(&mut |node| {
        let mut found = false;
        node.expressions(&mut |expr| found = found || has_subquery(expr));
        if found { lift_here(node, names) } else { Ok(()) }
    })
}

fn lift_here(plan: &mut Plan, names: &mut Names<'_>) -> Result<(), PlanError> {
    match plan {
        Plan::Match(_) => lift_match(plan, names),
        Plan::Filter(_) => lift_filter(plan, names),
        Plan::Extend(node) if node.items.len() > 1 => lift_extend(plan, names),
        Plan::ExpandPath(_) | Plan::ExpandPattern(_) => Err(inside_a_run()),
        Plan::Unit | Plan::Argument(_) | Plan::Union(_) | Plan::Join(_) => Ok(()),
        _ => lift_into_input(plan, names),
    }
}

fn inside_a_run() -> PlanError {
    PlanError::unsupported(
        "a sub-query cannot be tested on each relationship of a shortest path",
        "match the path first and test it with a WHERE after a WITH",
    )
}

/// Predicates with sub-queries are tested above the pattern.
fn lift_match(plan: &mut Plan, names: &mut Names<'_>) -> Result<(), PlanError> {
    let Plan::Match(node) = plan else { return Ok(()) };
    let predicates = std::mem::take(&mut node.pattern.predicates);
    let split = predicates.into_iter().flat_map(Expr::conjuncts).partition(has_subquery);
    let (mut above, within): (Vec<Expr>, Vec<Expr>) = split;
    node.pattern.predicates = within;
    for edge in &mut node.pattern.edges {
        let Some(run) = &mut edge.run else { continue };
        if !run.edge_predicate.as_ref().is_some_and(|(_, predicate)| has_subquery(predicate)) {
            continue;
        }
        if run.selector != Selector::Every {
            return Err(inside_a_run());
        }
        let (variable, predicate) = run.edge_predicate.take().expect("just tested");
        let list = Box::new(Expr::Variable(edge.variable));
        let predicate = Box::new(predicate);
        above.push(Expr::Quantified { quantifier: Quantifier::All, variable, list, predicate });
    }
    *plan = Plan::Filter(Box::new(Filter { input: plan.take(), predicate: Expr::all(above) }));
    lift_filter(plan, names)
}

fn lift_filter(plan: &mut Plan, names: &mut Names<'_>) -> Result<(), PlanError> {
    let Plan::Filter(node) = plan.take() else { return Ok(()) };
    let Filter { input, predicate } = *node;
    let (nested, plain): (Vec<Expr>, Vec<Expr>) = predicate.conjuncts().into_iter().partition(has_subquery);
    let mut below = input;
    if !plain.is_empty() {
        below = Plan::Filter(Box::new(Filter { input: below, predicate: Expr::all(plain) }));
    }
    for conjunct in nested {
        match as_semi_join(conjunct) {
            Ok((kind, subquery)) => below = apply(below, subquery, kind, names)?,
            Err(mut conjunct) => {
                lift_expression(&mut conjunct, &mut below, names)?;
                below = Plan::Filter(Box::new(Filter { input: below, predicate: conjunct }));
            }
        }
    }
    *plan = below;
    Ok(())
}

/// A conjunct that only tests whether there is a row.
fn as_semi_join(conjunct: Expr) -> Result<(ApplyKind, Subquery), Expr> {
    use BinaryOperator::*;
    let is_exists =
        |expr: &Expr| matches!(expr, Expr::Subquery(subquery) if subquery.kind == SubqueryKind::Exists);
    let is_count =
        |expr: &Expr| matches!(expr, Expr::Subquery(subquery) if subquery.kind == SubqueryKind::Count);
    let kind = match &conjunct {
        whole if is_exists(whole) => ApplyKind::Semi,
        Expr::Unary(UnaryOperator::Not, inner) if is_exists(inner) => ApplyKind::Anti,
        Expr::Binary(operator, left, right) if is_count(left) => match (operator, right.as_int_literal()) {
            (Greater, Some(0)) | (GreaterEqual, Some(1)) | (NotEqual, Some(0)) => ApplyKind::Semi,
            (Equal, Some(0)) | (Less, Some(1)) | (LessEqual, Some(0)) => ApplyKind::Anti,
            _ => return Err(conjunct),
        },
        _ => return Err(conjunct),
    };
    match conjunct {
        Expr::Subquery(subquery) => Ok((kind, *subquery)),
        Expr::Unary(_, inner) | Expr::Binary(_, inner, _) => match *inner {
            Expr::Subquery(subquery) => Ok((kind, *subquery)),
            _ => unreachable!("tested above"),
        },
        _ => unreachable!("tested above"),
    }
}

/// One item at a time, so that an item's sub-query may read the items before it.
fn lift_extend(plan: &mut Plan, names: &mut Names<'_>) -> Result<(), PlanError> {
    let Plan::Extend(node) = plan.take() else { return Ok(()) };
    let mut below = node.input;
    for (var, mut expr) in node.items {
        if has_subquery(&expr) {
            lift_expression(&mut expr, &mut below, names)?
        }
        below = match below {
            Plan::Extend(mut node) => {
                node.items.push((var, expr));
                Plan::Extend(node)
            }
            input => Plan::Extend(Box::new(Extend { input, items: vec![(var, expr)] })),
        }
    }
    *plan = below;
    Ok(())
}

fn lift_into_input(plan: &mut Plan, names: &mut Names<'_>) -> Result<(), PlanError> {
    let mut below = plan.input_mut().expect("operators without input hold no expressions").take();
    let columns = below.columns();
    let mut outcome = Ok(());
    plan.expressions_mut(&mut |expr| {
        if outcome.is_err() || !has_subquery(expr) {
            return;
        }
        if expr.free_variables().iter().all(|var| columns.contains(var)) {
            outcome = lift_expression(expr, &mut below, names)
        } else {
            outcome = Err(PlanError::unsupported(
                "a sub-query here reads a variable that this same clause binds",
                "bind the variable in a clause of its own, before a WITH",
            ))
        }
    });
    *plan.input_mut().expect("as above") = below;
    outcome
}

/// Replaces the sub-queries of an expression by columns that applies add to `below`.
fn lift_expression(expr: &mut Expr, below: &mut Plan, names: &mut Names<'_>) -> Result<(), PlanError> {
    if !has_subquery(expr) {
        return Ok(());
    }
    if let Expr::Subquery(_) = expr {
        let Expr::Subquery(subquery) = std::mem::replace(expr, Expr::literal(Value::Null)) else {
            unreachable!("just tested")
        };
        let column = names.fresh("subquery");
        let kind = match subquery.kind {
            SubqueryKind::Exists => ApplyKind::Exists(column),
            SubqueryKind::Count => ApplyKind::Count(column),
            SubqueryKind::Collect(inner) => ApplyKind::Collect { list: column, column: inner },
        };
        *below = apply(below.take(), *subquery, kind, names)?;
        *expr = Expr::Variable(column);
        return Ok(());
    }
    let local = expr.binds();
    let mut reads_local = false;
    expr.children(&mut |child| reads_local = reads_local || reads(child, &local));
    if reads_local {
        return unwind_local(expr, below, names);
    }
    let mut outcome = Ok(());
    expr.children_mut(&mut |child| {
        if outcome.is_ok() {
            outcome = lift_expression(child, below, names)
        }
    });
    outcome
}

/// Is there a sub-query in this expression that reads one of these variables?
fn reads(expr: &Expr, vars: &[Var]) -> bool {
    expr.any(&mut |part| match part {
        Expr::Subquery(subquery) => subquery.imports.iter().any(|var| vars.contains(var)),
        _ => false,
    })
}

/// A comprehension, quantifier or reduction whose sub-queries read the element.
fn unwind_local(expr: &mut Expr, below: &mut Plan, names: &mut Names<'_>) -> Result<(), PlanError> {
    match std::mem::replace(expr, Expr::literal(Value::Null)) {
        Expr::Comprehension { variable, mut list, predicate, map } => {
            lift_expression(&mut list, below, names)?;
            let map = map.map_or(Expr::Variable(variable), |map| *map);
            *expr = over_elements(below, variable, &list, predicate.map(|p| *p), map, names)?;
        }
        Expr::Quantified { quantifier, variable, mut list, predicate } => {
            lift_expression(&mut list, below, names)?;
            let answers = over_elements(below, variable, &list, None, *predicate, names)?;
            let answer = names.fresh("answer");
            let predicate = Box::new(Expr::Variable(answer));
            *expr = Expr::Quantified { quantifier, variable: answer, list: Box::new(answers), predicate };
        }
        Expr::Reduce { accumulator, mut initial, variable, mut list, mut body } => {
            lift_expression(&mut initial, below, names)?;
            lift_expression(&mut list, below, names)?;
            if reads(&body, &[accumulator]) {
                return Err(PlanError::unsupported(
                    "a sub-query within reduce() cannot read the accumulator",
                    "collect the sub-query's results in a list first, and reduce over that list",
                ));
            }
            let tuple = tuple_of(&mut body, variable, names);
            let rows = over_elements(below, variable, &list, None, Expr::List(tuple.parts), names)?;
            *expr =
                Expr::Reduce { accumulator, initial, variable: tuple.variable, list: Box::new(rows), body };
        }
        other => *expr = other,
    }
    Ok(())
}

/// The element of a reduction together with the answers of the sub-queries on it.
struct Tuple {
    variable: Var,
    parts: Vec<Expr>,
}

/// Makes the body read the element and its sub-queries' answers from a list.
fn tuple_of(body: &mut Expr, element: Var, names: &mut Names<'_>) -> Tuple {
    let variable = names.fresh("tuple");
    let part = |number: usize| {
        let index = Box::new(Expr::literal(number as i64));
        Expr::Index(Box::new(Expr::Variable(variable)), index)
    };
    let mut parts = vec![Expr::Variable(element)];
    take_subqueries(body, &mut parts, &part);
    let value_of = |var: Var| (var == element).then(|| part(0));
    let changed = substitute(body.clone(), &value_of);
    *body = changed.expect("an element is no part of a path or of a uniqueness test");
    Tuple { variable, parts }
}

fn take_subqueries(expr: &mut Expr, parts: &mut Vec<Expr>, part: &dyn Fn(usize) -> Expr) {
    if let Expr::Subquery(_) = expr {
        let number = parts.len();
        parts.push(std::mem::replace(expr, part(number)));
        return;
    }
    expr.children_mut(&mut |child| take_subqueries(child, parts, part))
}

/// `[variable IN list WHERE predicate | map]` by an `Apply`; null for a null list.
fn over_elements(
    below: &mut Plan,
    variable: Var,
    list: &Expr,
    predicate: Option<Expr>,
    map: Expr,
    names: &mut Names<'_>,
) -> Result<Expr, PlanError> {
    let mut imports = list.free_variables();
    let inner = map.free_variables().into_iter().chain(predicate.iter().flat_map(Expr::free_variables));
    imports.extend(inner.filter(|var| *var != variable));
    let (element, column, collected) = (names.fresh("element"), names.fresh("value"), names.fresh("list"));
    let mut plan = Plan::Unwind(Box::new(Unwind {
        input: Plan::Argument(imports.to_vec()),
        list: list.clone(),
        variable: element,
    }));
    // The element gets the comprehension's own variable, so that nothing inside has to change.
    let items = vec![(variable, Expr::Variable(element))];
    plan = Plan::Extend(Box::new(Extend { input: plan, items }));
    if let Some(predicate) = predicate {
        plan = Plan::Filter(Box::new(Filter { input: plan, predicate }));
        lift_subqueries(&mut plan, names)?;
    }
    let mut map = map;
    lift_expression(&mut map, &mut plan, names)?;
    plan = Plan::Extend(Box::new(Extend { input: plan, items: vec![(column, map)] }));
    let kind = ApplyKind::Collect { list: collected, column };
    *below = Plan::Apply(Box::new(Apply {
        input: below.take(),
        inner: plan,
        imports: imports.into_vec(),
        kind,
        scope: Scope::default(),
        rank: None,
    }));
    let missing = Expr::Unary(UnaryOperator::IsNull, Box::new(list.clone()));
    Ok(Expr::Case {
        operand: None,
        arms: vec![(missing, Expr::literal(Value::Null))],
        otherwise: Some(Box::new(Expr::Variable(collected))),
    })
}

/// The sub-query's own plan, planned as far as its outside is.
fn apply(input: Plan, subquery: Subquery, kind: ApplyKind, names: &mut Names<'_>) -> Result<Plan, PlanError> {
    let Subquery { imports, plan: mut inner, hint, rank, .. } = subquery;
    optional_match(&mut inner);
    lift_subqueries(&mut inner, names)?;
    let scope = Scope::hinted(hint);
    debug_assert_eq!(
        matches!(scope.order, InstanceOrder::By(_)),
        rank.is_some(),
        "ranked instances have a rank"
    );
    Ok(Plan::Apply(Box::new(Apply { input, inner, imports, kind, scope, rank })))
}

impl Expr {
    /// The integer, if this is a constant one.
    pub(crate) fn as_int_literal(&self) -> Option<i64> {
        match self {
            Expr::Literal(constant) => constant.0.as_int(),
            _ => None,
        }
    }
}
