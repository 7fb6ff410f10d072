//! Expressions as text, close to what the user wrote, with brackets only where they are needed.

use crate::expr::*;
use model::Value;
use std::fmt::Write;

/// Prints with the names of a statement's variables.
#[derive(Clone, Copy, Debug)]
pub struct Printer<'a> {
    /// The statement's table.
    pub variables: &'a [Name],
}

/// How tightly the loosest and the tightest operators bind.
const LOOSEST: u8 = 0;
const TIGHTEST: u8 = 20;

impl Printer<'_> {
    /// A variable; those without a user's name begin with an underscore.
    pub fn var(&self, var: Var) -> String {
        match self.variables.get(var.0 as usize) {
            Some(name) if name.is_empty() => format!("_{}", var.0),
            Some(name) if !name.starts_with(' ') => name.to_string(),
            Some(name) => format!("_{}", name.trim_start()),
            None => format!("_{}", var.0),
        }
    }
    /// Variables, with commas.
    pub fn vars(&self, vars: &[Var]) -> String {
        list(vars.iter().map(|var| self.var(*var)))
    }
    /// An expression.
    pub fn expr(&self, expr: &Expr) -> String {
        self.within(expr, LOOSEST)
    }
    /// Expressions, with commas.
    pub fn exprs<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>) -> String {
        list(exprs.into_iter().map(|expr| self.expr(expr)))
    }

    /// In brackets where an operator around it binds more tightly.
    fn within(&self, expr: &Expr, outer: u8) -> String {
        let (text, own) = match expr {
            Expr::Binary(operator, ..) => (self.chain(*operator, expr), binary(*operator).1),
            Expr::Unary(operator, part) => self.unary(*operator, part),
            other => (self.plain(other), TIGHTEST),
        };
        if own < outer { format!("({text})") } else { text }
    }

    /// `a OR b OR c`: chains that lean to the left are followed without recursion, and AND and OR need no brackets to the right.
    fn chain(&self, operator: BinaryOperator, expr: &Expr) -> String {
        let (word, own) = binary(operator);
        let associative = matches!(operator, BinaryOperator::And | BinaryOperator::Or);
        let right_own = if associative { own } else { own + 1 };
        let (mut parts, mut left) = (Vec::new(), expr);
        while let Expr::Binary(same, next, right) = left
            && *same == operator
        {
            parts.push(self.within(right, right_own));
            left = next
        }
        parts.push(self.within(left, own));
        parts.reverse();
        parts.join(&format!(" {word} "))
    }

    fn unary(&self, operator: UnaryOperator, part: &Expr) -> (String, u8) {
        match operator {
            UnaryOperator::Not => (format!("NOT {}", self.within(part, 4)), 4),
            UnaryOperator::Negate => (format!("-{}", self.within(part, 11)), 10),
            UnaryOperator::Plus => (format!("+{}", self.within(part, 11)), 10),
            UnaryOperator::IsNull => (format!("{} IS NULL", self.within(part, 6)), 5),
            UnaryOperator::IsNotNull => (format!("{} IS NOT NULL", self.within(part, 6)), 5),
        }
    }

    fn plain(&self, expr: &Expr) -> String {
        let tight = |part: &Expr| self.within(part, TIGHTEST);
        match expr {
            Expr::Literal(constant) => value(&constant.0),
            Expr::Parameter(name) => format!("${name}"),
            Expr::Variable(var) => self.var(*var),
            Expr::Property(subject, key) => format!("{}.{key}", tight(subject)),
            Expr::HasLabels(subject, expr) => format!("{}:{}", tight(subject), labels(expr)),
            Expr::Call(function, arguments) => format!("{}({})", function.name(), self.exprs(arguments)),
            Expr::List(items) => format!("[{}]", self.exprs(items)),
            Expr::Map(entries) => {
                format!(
                    "{{{}}}",
                    list(entries.iter().map(|(key, part)| format!("{key}: {}", self.expr(part))))
                )
            }
            Expr::Index(subject, index) => format!("{}[{}]", tight(subject), self.expr(index)),
            Expr::Slice(subject, from, to) => {
                let end =
                    |part: &Option<Box<Expr>>| part.as_ref().map_or(String::new(), |part| self.expr(part));
                format!("{}[{}..{}]", tight(subject), end(from), end(to))
            }
            Expr::MapProjection(subject, items) => {
                format!("{}{{{}}}", tight(subject), list(items.iter().map(|item| self.projected(item))))
            }
            Expr::PathOf(parts) => format!("path({})", self.vars(parts)),
            Expr::EdgesDistinct(edges) => format!("distinct edges({})", self.vars(edges)),
            Expr::Subquery(subquery) => match subquery.kind {
                SubqueryKind::Exists => "EXISTS {…}".into(),
                SubqueryKind::Count => "COUNT {…}".into(),
                SubqueryKind::Collect(_) => "COLLECT {…}".into(),
            },
            other => self.with_locals(other),
        }
    }

    fn projected(&self, item: &MapProjectionItem) -> String {
        match item {
            MapProjectionItem::AllProperties => ".*".into(),
            MapProjectionItem::Property(key) => format!(".{key}"),
            MapProjectionItem::Entry(name, part) => format!("{name}: {}", self.expr(part)),
        }
    }

    /// CASE and what binds variables of its own.
    fn with_locals(&self, expr: &Expr) -> String {
        match expr {
            Expr::Case { operand, arms, otherwise } => {
                let mut text = String::from("CASE");
                let part = |word: &str, part: &Expr| format!(" {word}{}", self.expr(part));
                operand.iter().for_each(|operand| text += &part("", operand));
                for (when, then) in arms {
                    text += &part("WHEN ", when);
                    text += &part("THEN ", then);
                }
                otherwise.iter().for_each(|otherwise| text += &part("ELSE ", otherwise));
                text + " END"
            }
            Expr::Comprehension { variable, list, predicate, map } => {
                let mut text = format!("[{} IN {}", self.var(*variable), self.expr(list));
                predicate.iter().for_each(|part| text += &format!(" WHERE {}", self.expr(part)));
                map.iter().for_each(|part| text += &format!(" | {}", self.expr(part)));
                text + "]"
            }
            Expr::Quantified { quantifier, variable, list, predicate } => {
                let word = match quantifier {
                    Quantifier::All => "all",
                    Quantifier::Any => "any",
                    Quantifier::None => "none",
                    Quantifier::Single => "single",
                };
                let (variable, list) = (self.var(*variable), self.expr(list));
                format!("{word}({variable} IN {list} WHERE {})", self.expr(predicate))
            }
            Expr::Reduce { accumulator, initial, variable, list, body } => {
                let (accumulator, variable) = (self.var(*accumulator), self.var(*variable));
                let (initial, list, body) = (self.expr(initial), self.expr(list), self.expr(body));
                format!("reduce({accumulator} = {initial}, {variable} IN {list} | {body})")
            }
            _ => String::new(),
        }
    }
}

/// Words and binding strength of operators.
fn binary(operator: BinaryOperator) -> (&'static str, u8) {
    use BinaryOperator::*;
    match operator {
        Or => ("OR", 1),
        Xor => ("XOR", 2),
        And => ("AND", 3),
        Equal => ("=", 5),
        NotEqual => ("<>", 5),
        Less => ("<", 5),
        LessEqual => ("<=", 5),
        Greater => (">", 5),
        GreaterEqual => (">=", 5),
        In => ("IN", 6),
        StartsWith => ("STARTS WITH", 6),
        EndsWith => ("ENDS WITH", 6),
        Contains => ("CONTAINS", 6),
        Matches => ("=~", 6),
        Add => ("+", 7),
        Subtract => ("-", 7),
        Multiply => ("*", 8),
        Divide => ("/", 8),
        Modulo => ("%", 8),
        Power => ("^", 9),
    }
}

/// A label expression.
pub fn labels(expr: &LabelExpr) -> String {
    let part = |expr: &LabelExpr| match expr {
        LabelExpr::Or(..) | LabelExpr::And(..) => format!("({})", labels(expr)),
        plain => labels(plain),
    };
    match expr {
        LabelExpr::Any => String::new(),
        LabelExpr::Has(name) => name.to_string(),
        LabelExpr::Some => "%".into(),
        LabelExpr::And(a, b) => format!("{}&{}", part(a), part(b)),
        LabelExpr::Or(a, b) => format!("{}|{}", part(a), part(b)),
        LabelExpr::Not(a) => format!("!{}", part(a)),
    }
}

/// A constant.
pub fn value(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number) => number.to_string(),
        Value::Float(number) => format!("{number:?}"),
        Value::String(text) => quoted(text),
        Value::List(items) => format!("[{}]", list(items.iter().map(self::value))),
        Value::Map(map) => {
            format!("{{{}}}", list(map.iter().map(|(key, part)| format!("{key}: {}", self::value(part)))))
        }
        other => format!("<{}>", other.value_type().name()),
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::from("'");
    for letter in text.chars() {
        match letter {
            '\'' | '\\' => {
                out.push('\\');
                out.push(letter)
            }
            control if control.is_control() => {
                let _ = write!(out, "\\u{:04X}", control as u32);
            }
            plain => out.push(plain),
        }
    }
    out + "'"
}

fn list(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}
