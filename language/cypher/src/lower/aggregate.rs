//! Aggregates in expressions: `me.age + count(you.age)` reads one column of the group's key and one aggregate.
//!
//! While a column that aggregates is lowered, each aggregate call becomes a column of the `Aggregate` below, and the expression around it may only
//! use constants, parameters and simple keys: a variable or a property that is itself a column.

use plan::algebra::AggregateCall;
use plan::expr::{Expr, Var};
use plan::{AggregateFunction, Function};

use super::scope::Scope;
use super::types::Type;
use super::{Lowered, Lowerer, Typed, fail, fail_with_hint};
use crate::ast::{Expression, ExpressionKind, FunctionCall};
use crate::error::ErrorKind;
use text::Span;

/// The first aggregate in an expression, subqueries aside.
pub(super) fn find(expression: &Expression) -> Option<Span> {
    let here = match &expression.kind {
        ExpressionKind::CountAll => true,
        ExpressionKind::Function(call) => aggregate_of(call).is_some(),
        _ => false,
    };
    let mut found = here.then_some(expression.span);
    expression.children(&mut |child| found = found.or_else(|| find(child)));
    found
}

/// The aggregating function that a call names.
pub(super) fn aggregate_of(call: &FunctionCall) -> Option<AggregateFunction> {
    let function = AggregateFunction::by_name(&call.full_name())?;
    (function != AggregateFunction::CountRows).then_some(function)
}

impl Lowerer<'_> {
    pub(super) fn count_all(&mut self, span: Span) -> Lowered<Typed> {
        self.check_aggregate_place(span)?;
        self.note_call(AggregateCall {
            function: AggregateFunction::CountRows,
            arguments: Vec::new(),
            distinct: false,
        })
        .map(|var| Typed { expr: Expr::Variable(var), kind: Type::Integer })
    }

    pub(super) fn aggregate_call(
        &mut self,
        function: AggregateFunction,
        call: &FunctionCall,
        span: Span,
        scope: &mut Scope,
    ) -> Lowered<Typed> {
        super::function::check_arity(call, function.arity(), function.signature(), span)?;
        if self.sorting.is_some() {
            // An unknown variable explains more than the misplaced aggregate.
            for argument in &call.arguments {
                self.expression(argument, scope)?;
            }
        }
        self.check_aggregate_place(span)?;
        self.set_inside(true);
        let arguments = call
            .arguments
            .iter()
            .map(|argument| self.expression(argument, scope))
            .collect::<Lowered<Vec<_>>>();
        self.set_inside(false);
        let arguments = arguments?;
        let kind = aggregate_type(function, arguments.first().map(|argument| &argument.kind));
        let arguments: Vec<Expr> = arguments.into_iter().map(|argument| argument.expr).collect();
        let random = |part: &Expr| matches!(part, Expr::Call(Function::Rand | Function::RandomUuid, _));
        if arguments.iter().any(|argument| argument.any(&mut |part| random(part))) {
            let message = "random numbers cannot be aggregated directly";
            let hint = "compute them in a WITH before";
            return fail_with_hint(ErrorKind::NonConstantExpression, message, span, hint);
        }
        let var = self.note_call(AggregateCall { function, arguments, distinct: call.distinct })?;
        Ok(Typed { expr: Expr::Variable(var), kind })
    }

    fn set_inside(&mut self, inside: bool) {
        if let Some(aggregation) = &mut self.aggregation {
            aggregation.inside = inside;
        }
    }

    fn check_aggregate_place(&self, span: Span) -> Lowered<()> {
        match &self.aggregation {
            Some(aggregation) if aggregation.inside => {
                let hint = "aggregate in a WITH before, then aggregate its result";
                fail_with_hint(
                    ErrorKind::NestedAggregation,
                    "an aggregate cannot stand inside another",
                    span,
                    hint,
                )
            }
            Some(_) => Ok(()),
            None => {
                let hint = "aggregate as a column of WITH or RETURN, then use that column";
                fail_with_hint(ErrorKind::InvalidAggregation, "an aggregate cannot stand here", span, hint)
            }
        }
    }

    /// The column of an aggregate, which equal calls share.
    fn note_call(&mut self, call: AggregateCall) -> Lowered<Var> {
        let known = self.aggregation.as_ref().and_then(|aggregation| aggregation.calls.find(&call).copied());
        if let Some(var) = known {
            return Ok(var);
        }
        let var = self.unnamed("aggregate");
        let aggregation = self.aggregation.as_mut().expect("the place was checked before");
        aggregation.calls.push(call, var);
        Ok(var)
    }

    /// A column that an expression around an aggregate, or a sort key, may use as it is.
    pub(super) fn known_column(&mut self, expression: &Expression, scope: &Scope) -> Lowered<Option<Typed>> {
        if let Some(found) = self.sorted_column(expression, scope) {
            return Ok(Some(found));
        }
        let Some(aggregation) = self.aggregation.as_ref().filter(|aggregation| !aggregation.inside) else {
            return Ok(None);
        };
        if let Some(key) = aggregation.keys.find(expression) {
            return Ok(Some(Typed { expr: Expr::Variable(key.var), kind: key.kind.clone() }));
        }
        let ExpressionKind::Variable(name) = &expression.kind else { return Ok(None) };
        match scope.get(name) {
            Some(binding) if !binding.local => {
                let message = format!("`{name}` is neither aggregated nor a column of its own");
                fail_with_hint(
                    ErrorKind::AmbiguousAggregationExpression,
                    message,
                    expression.span,
                    "return it as a column of its own, or compute it in a WITH before",
                )
            }
            _ => Ok(None),
        }
    }

    /// After a subquery inside a column that aggregates: it runs on groups, so it may read keys only.
    pub(super) fn check_imports(&self, imports: &[Var], span: Span) -> Lowered<()> {
        let Some(aggregation) = self.aggregation.as_ref().filter(|aggregation| !aggregation.inside) else {
            return Ok(());
        };
        if imports.iter().all(|var| aggregation.key_columns.contains(var)) {
            return Ok(());
        }
        let message = "a subquery beside an aggregate may only use columns of the same projection";
        fail(ErrorKind::AmbiguousAggregationExpression, message, span)
    }
}

fn aggregate_type(function: AggregateFunction, argument: Option<&Type>) -> Type {
    match (function, argument) {
        (AggregateFunction::Count | AggregateFunction::CountRows, _) => Type::Integer,
        (AggregateFunction::Collect, Some(element)) => Type::list(element.clone()),
        (AggregateFunction::Min | AggregateFunction::Max, Some(kind)) => kind.clone(),
        (AggregateFunction::StDev | AggregateFunction::StDevP, _) => Type::Float,
        _ => Type::Any,
    }
}
