//! Calls of functions: resolution, arity, argument types and result types.

use plan::expr::{Expr, UnaryOperator};
use plan::functions::PROPERTY_OF_ANY;
use plan::{AggregateFunction, Function};

use super::aggregate::aggregate_of;
use super::scope::Scope;
use super::types::Type;
use super::{Lowered, Lowerer, Typed, fail, fail_with_hint};
use crate::ast::{ExpressionKind, FunctionCall};
use crate::error::{CypherError, ErrorKind};
use text::Span;
use text::nearest;

impl Lowerer<'_> {
    pub(super) fn call(&mut self, call: &FunctionCall, span: Span, scope: &mut Scope) -> Lowered<Typed> {
        if let Some(function) = aggregate_of(call) {
            return self.aggregate_call(function, call, span, scope);
        }
        let name = call.full_name();
        if name.eq_ignore_ascii_case(PROPERTY_OF_ANY.0) {
            return self.property_of_any(call, span, scope);
        }
        let Some(function) = Function::by_name(&name) else { return Err(unknown(call)) };
        if call.distinct {
            let message = format!("DISTINCT has no meaning in {}, which does not aggregate", function.name());
            return fail(ErrorKind::UnexpectedSyntax, message, span);
        }
        check_arity(call, function.arity(), function.signature(), span)?;
        if function == Function::Exists {
            return self.exists_call(call, scope);
        }
        if matches!(function, Function::LineNumber | Function::File) {
            return Ok(self.of_load_csv(function, scope));
        }
        let mut arguments = Vec::with_capacity(call.arguments.len());
        for (place, argument) in call.arguments.iter().enumerate() {
            let form =
                if function == Function::Normalize && place == 1 { normal_form(argument) } else { None };
            arguments.push(match form {
                Some(form) => Typed { expr: Expr::literal(model::Value::string(form)), kind: Type::String },
                None => self.expression(argument, scope)?,
            });
        }
        if let (Some(first), Some(argument)) = (arguments.first(), call.arguments.first()) {
            check_argument(function, &first.kind, argument.span)?;
        }
        let kind = result_type(function, &arguments);
        let exprs = arguments.into_iter().map(|argument| argument.expr).collect();
        Ok(Typed { expr: Expr::Call(function, exprs), kind })
    }

    /// `linenumber()` and `file()`: columns of the LOAD CSV in sight; null where there is none.
    fn of_load_csv(&mut self, function: Function, scope: &Scope) -> Typed {
        let (index, kind) = match function {
            Function::LineNumber => (0, Type::Integer),
            _ => (1, Type::String),
        };
        let Some(columns) = scope.load_csv else {
            return Typed { expr: Expr::literal(model::Value::Null), kind: Type::Null };
        };
        self.used.push(columns[index]);
        Typed { expr: Expr::Variable(columns[index]), kind }
    }

    /// `apoc.any.property(value, key)`, as tools write `value[key]`.
    fn property_of_any(&mut self, call: &FunctionCall, span: Span, scope: &mut Scope) -> Lowered<Typed> {
        check_arity(call, (2, 2), PROPERTY_OF_ANY.1, span)?;
        let [value, key] = [&call.arguments[0], &call.arguments[1]].map(|part| self.expression(part, scope));
        let expr = Expr::Index(Box::new(value?.expr), Box::new(key?.expr));
        Ok(Typed { expr, kind: Type::Any })
    }

    /// `exists((a)-->(b))`, `exists(n.property)`.
    fn exists_call(&mut self, call: &FunctionCall, scope: &mut Scope) -> Lowered<Typed> {
        let argument = &call.arguments[0];
        match &argument.kind {
            ExpressionKind::Pattern(pattern) => self.pattern_exists(pattern, scope),
            ExpressionKind::Property(..) | ExpressionKind::Index(..) => {
                let value = Box::new(self.expression(argument, scope)?.expr);
                Ok(Typed { expr: Expr::Unary(UnaryOperator::IsNotNull, value), kind: Type::Boolean })
            }
            _ => fail_with_hint(
                ErrorKind::InvalidArgumentType,
                "exists takes a property or a pattern",
                argument.span,
                "use IS NOT NULL for other values",
            ),
        }
    }
}

/// The normal form that a word names.
fn normal_form(argument: &crate::ast::Expression) -> Option<&'static str> {
    let ExpressionKind::Variable(name) = &argument.kind else { return None };
    ["NFC", "NFD", "NFKC", "NFKD"].into_iter().find(|form| form.eq_ignore_ascii_case(name))
}

fn unknown(call: &FunctionCall) -> Box<CypherError> {
    let full_name = call.full_name();
    let span = call.name.iter().fold(call.name[0].span, |span, part| span.to(part.span));
    let error =
        CypherError::new(ErrorKind::UnknownFunction, format!("there is no function {full_name}"), span);
    let aggregates = AggregateFunction::ALL.iter().map(|function| function.name());
    let names = Function::ALL.iter().map(|function| function.name()).chain(aggregates);
    let names = names.filter(|name| !name.starts_with(' '));
    let hint = match full_name.to_ascii_lowercase().as_str() {
        "len" => Some("size"),
        "tostr" | "str" => Some("toString"),
        "int" => Some("toInteger"),
        "concat" => Some("+"),
        "average" | "mean" => Some("avg"),
        "now" => Some("datetime"),
        "ifnull" | "nvl" => Some("coalesce"),
        "distance" => Some("point.distance"),
        _ => nearest(&full_name, names),
    };
    Box::new(error.with_suggestion(hint))
}

/// Whether a call has as many arguments as its function takes.
pub(super) fn check_arity(
    call: &FunctionCall,
    (least, most): (usize, usize),
    signature: &str,
    span: Span,
) -> Lowered<()> {
    let count = call.arguments.len();
    if (least..=most).contains(&count) {
        return Ok(());
    }
    let wanted = match (least, most) {
        (1, 1) => "one argument".to_string(),
        (least, most) if least == most => format!("{least} arguments"),
        (1, usize::MAX) => "at least one argument".to_string(),
        (least, usize::MAX) => format!("at least {least} arguments"),
        (least, most) => format!("{least} to {most} arguments"),
    };
    let message = format!("{} takes {wanted}, not {count}", call.full_name());
    fail_with_hint(ErrorKind::InvalidNumberOfArguments, message, span, signature)
}

/// Refuses first arguments that the function can never take.
fn check_argument(function: Function, kind: &Type, span: Span) -> Lowered<()> {
    let list = Type::list(Type::Any);
    let accepted: &[Type] = match function {
        Function::Labels => &[Type::Node],
        Function::Type | Function::StartNode | Function::EndNode => &[Type::Relationship],
        Function::Id | Function::ElementId => &[Type::Node, Type::Relationship],
        Function::Properties | Function::Keys => &[Type::Node, Type::Relationship, Type::Map],
        Function::Length | Function::Nodes | Function::Relationships => &[Type::Path],
        Function::Size => &[list, Type::String],
        Function::Head | Function::Last | Function::Tail => &[list],
        Function::ToIntegerList | Function::ToFloatList | Function::ToBooleanList => &[list],
        Function::ToStringList => &[list],
        _ => return Ok(()),
    };
    if kind.may_be(accepted) {
        return Ok(());
    }
    let message = format!("{} does not take a value of type {}", function.name(), kind.name());
    fail_with_hint(ErrorKind::InvalidArgumentType, message, span, function.signature())
}

/// The type of a call's value.
fn result_type(function: Function, arguments: &[Typed]) -> Type {
    let first = || arguments.first().map_or(Type::Any, |argument| argument.kind.clone());
    match function {
        Function::Id | Function::Length | Function::Size | Function::ToInteger | Function::Sign => {
            Type::Integer
        }
        Function::TypeOrder | Function::ToIntegerOrNull | Function::Timestamp | Function::CharLength => {
            Type::Integer
        }
        Function::CharacterLength | Function::LineNumber => Type::Integer,
        Function::BTrim | Function::Normalize | Function::File => Type::String,
        Function::VectorCosine | Function::VectorEuclidean => Type::Float,
        Function::ToIntegerList => Type::list(Type::Integer),
        Function::ToFloatList => Type::list(Type::Float),
        Function::ToBooleanList => Type::list(Type::Boolean),
        Function::ToStringList => Type::list(Type::String),
        Function::ElementId | Function::Type | Function::ToString | Function::ToStringOrNull => Type::String,
        Function::ToUpper | Function::ToLower | Function::Upper | Function::Lower | Function::Trim => {
            Type::String
        }
        Function::LTrim | Function::RTrim | Function::Replace | Function::Substring | Function::Left => {
            Type::String
        }
        Function::Right | Function::RandomUuid | Function::ValueType => Type::String,
        Function::Labels | Function::Keys | Function::Split => Type::list(Type::String),
        Function::Properties => Type::Map,
        Function::StartNode | Function::EndNode => Type::Node,
        Function::Nodes => Type::list(Type::Node),
        Function::Relationships => Type::list(Type::Relationship),
        Function::Head | Function::Last => first().element(),
        Function::Tail | Function::Reverse => first(),
        Function::Range => Type::list(Type::Integer),
        Function::ToFloat | Function::ToFloatOrNull | Function::Sqrt | Function::Rand | Function::Pi => {
            Type::Float
        }
        Function::ToBoolean | Function::ToBooleanOrNull | Function::IsEmpty | Function::IsNaN => {
            Type::Boolean
        }
        Function::Date | Function::Time | Function::LocalTime | Function::DateTime => Type::Composed,
        Function::LocalDateTime | Function::Duration | Function::Point => Type::Composed,
        Function::Coalesce => {
            let kinds = arguments.iter().map(|argument| argument.kind.clone());
            kinds.reduce(Type::join).unwrap_or(Type::Any)
        }
        _ => Type::Any,
    }
}
