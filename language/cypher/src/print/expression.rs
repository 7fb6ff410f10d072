//! Canonical text of expressions.

use super::{Printer, is_plain};
use crate::ast::{
    BinaryOperator, Case, ComparisonOperator, Expression, ExpressionKind, Literal, MapProjectionItem, Name,
    Quantity, Subquery, UnaryOperator,
};

impl Printer {
    /// The left side of an operator: a left-associative chain of one operator needs no parentheses within, and a long one would be nested too deeply
    /// with them.
    fn left_of(&mut self, operator: BinaryOperator, left: &Expression) {
        use BinaryOperator::{Add, Concatenate, Divide, Modulo, Multiply, Subtract};
        match &left.kind {
            ExpressionKind::Binary(inner, first, second)
                if *inner == operator
                    && matches!(operator, Add | Concatenate | Divide | Modulo | Multiply | Subtract) =>
            {
                self.left_of(operator, first);
                self.put(binary_text(operator));
                self.expression(second);
            }
            _ => self.expression(left),
        }
    }
    pub(super) fn expression(&mut self, expression: &Expression) {
        match &expression.kind {
            ExpressionKind::Literal(literal) => self.literal(literal),
            ExpressionKind::Parameter(name) => self.parameter(name),
            ExpressionKind::Variable(name) => self.variable(name),
            ExpressionKind::List(items) => {
                self.put("[");
                self.list(items, ", ", Self::expression);
                self.put("]");
            }
            ExpressionKind::Map(entries) => self.map(entries),
            ExpressionKind::Function(call) => {
                self.function_name(&call.name);
                self.put(if call.distinct { "(DISTINCT " } else { "(" });
                self.list(&call.arguments, ", ", Self::expression);
                self.put(")");
            }
            ExpressionKind::CountAll => self.put("count(*)"),
            ExpressionKind::Case(case) => self.case(case),
            ExpressionKind::MapProjection(target, items) => {
                self.variable(&target.text);
                self.put(" {");
                self.list(items, ", ", Self::map_projection_item);
                self.put("}");
            }
            ExpressionKind::Pattern(pattern) => {
                self.put("(");
                self.path_pattern(pattern);
                self.put(")");
            }
            _ => self.compound(expression),
        }
    }

    /// Expressions with operands.
    fn compound(&mut self, expression: &Expression) {
        match &expression.kind {
            ExpressionKind::Property(target, key) => {
                self.target(target);
                self.put(".");
                self.name(key);
            }
            ExpressionKind::Index(target, index) => {
                self.target(target);
                self.put("[");
                self.expression(index);
                self.put("]");
            }
            ExpressionKind::Slice(target, from, to) => {
                self.target(target);
                self.put("[");
                self.optional("", from.as_deref());
                self.put("..");
                self.optional("", to.as_deref());
                self.put("]");
            }
            ExpressionKind::Unary(operator, operand) => self.unary(*operator, operand),
            ExpressionKind::And(operands) => self.chain(operands, " AND "),
            ExpressionKind::Or(operands) => self.chain(operands, " OR "),
            ExpressionKind::Xor(operands) => self.chain(operands, " XOR "),
            ExpressionKind::Binary(operator, left, right) => {
                self.put("(");
                self.left_of(*operator, left);
                self.put(binary_text(*operator));
                self.expression(right);
                self.put(")");
            }
            ExpressionKind::Comparison(first, rest) => {
                self.put("(");
                self.expression(first);
                for (operator, operand) in rest {
                    self.put(comparison_text(*operator));
                    self.expression(operand);
                }
                self.put(")");
            }
            _ => self.predicate(expression),
        }
    }

    fn predicate(&mut self, expression: &Expression) {
        match &expression.kind {
            ExpressionKind::IsNull { operand, negated } => {
                self.put("(");
                self.expression(operand);
                self.put(if *negated { " IS NOT NULL)" } else { " IS NULL)" });
            }
            ExpressionKind::HasLabels(operand, labels) => {
                self.put("(");
                self.expression(operand);
                self.labels(labels);
                self.put(")");
            }
            ExpressionKind::IsTyped { operand, wanted, negated } => {
                self.put("(");
                self.expression(operand);
                self.put(if *negated { " IS NOT :: " } else { " IS :: " });
                self.put(&wanted.to_string());
                self.put(")");
            }
            ExpressionKind::IsNormalized { operand, form, negated } => {
                self.put("(");
                self.expression(operand);
                self.put(if *negated { " IS NOT " } else { " IS " });
                self.put(form);
                self.put(" NORMALIZED)");
            }
            ExpressionKind::CaseSubject => {}
            ExpressionKind::Exists(subquery) => self.subquery("EXISTS", subquery),
            ExpressionKind::Count(subquery) => self.subquery("COUNT", subquery),
            ExpressionKind::Collect(query) => {
                self.put("COLLECT { ");
                self.query(query);
                self.put(" }");
            }
            _ => self.binding(expression),
        }
    }

    /// Expressions that bind a variable.
    fn binding(&mut self, expression: &Expression) {
        match &expression.kind {
            ExpressionKind::ListComprehension { variable, list, condition, projection } => {
                self.put("[");
                self.element(variable, list);
                self.optional(" WHERE ", condition.as_deref());
                self.optional(" | ", projection.as_deref());
                self.put("]");
            }
            ExpressionKind::PatternComprehension { pattern, condition, projection } => {
                self.put("[");
                self.path_pattern(pattern);
                self.optional(" WHERE ", condition.as_deref());
                self.optional(" | ", Some(projection));
                self.put("]");
            }
            ExpressionKind::Reduce { accumulator, initial, variable, list, step } => {
                self.put("reduce(");
                self.variable(&accumulator.text);
                self.optional(" = ", Some(initial));
                self.put(", ");
                self.element(variable, list);
                self.optional(" | ", Some(step));
                self.put(")");
            }
            ExpressionKind::Quantified { quantity, variable, list, condition } => {
                self.put(quantity_text(*quantity));
                self.element(variable, list);
                self.optional(" WHERE ", condition.as_deref());
                self.put(")");
            }
            _ => unreachable!("every other kind is printed before"),
        }
    }

    fn element(&mut self, variable: &Name, list: &Expression) {
        self.variable(&variable.text);
        self.put(" IN ");
        self.expression(list);
    }

    pub(super) fn optional(&mut self, before: &str, expression: Option<&Expression>) {
        if let Some(expression) = expression {
            self.put(before);
            self.expression(expression);
        }
    }

    fn chain(&mut self, operands: &[Expression], operator: &str) {
        self.put("(");
        self.list(operands, operator, Self::expression);
        self.put(")");
    }

    /// The subject of a property or an index: signed numbers need brackets there.
    fn target(&mut self, target: &Expression) {
        let number = matches!(target.kind, ExpressionKind::Literal(Literal::Integer(_) | Literal::Float(_)));
        self.in_brackets_if(number, target);
    }

    fn in_brackets_if(&mut self, brackets: bool, expression: &Expression) {
        self.put(if brackets { "(" } else { "" });
        self.expression(expression);
        self.put(if brackets { ")" } else { "" });
    }

    fn unary(&mut self, operator: UnaryOperator, operand: &Expression) {
        self.put(match operator {
            UnaryOperator::Not => "(NOT ",
            UnaryOperator::Plus => "(+",
            UnaryOperator::Minus => "(-",
        });
        let number = matches!(operand.kind, ExpressionKind::Literal(_)) && operator != UnaryOperator::Not;
        self.in_brackets_if(number, operand);
        self.put(")");
    }

    fn literal(&mut self, literal: &Literal) {
        match literal {
            Literal::Null => self.put("null"),
            Literal::Boolean(value) => self.put(&value.to_string()),
            Literal::Integer(value) => self.put(&value.to_string()),
            Literal::Float(value) => self.put(&format!("{value:?}")),
            Literal::String(value) => self.string(value),
        }
    }

    pub(super) fn string(&mut self, value: &str) {
        self.put("'");
        for letter in value.chars() {
            match letter {
                '\'' => self.put("\\'"),
                '\\' => self.put("\\\\"),
                '\n' => self.put("\\n"),
                '\r' => self.put("\\r"),
                '\t' => self.put("\\t"),
                letter if letter.is_control() => self.put(&format!("\\u{:04x}", letter as u32)),
                letter => self.out.push(letter),
            }
        }
        self.put("'");
    }

    fn parameter(&mut self, name: &str) {
        self.put("$");
        let digits = name.chars().all(|letter| letter.is_ascii_digit());
        self.quoted_if(name, !digits && !is_plain(name));
    }

    pub(super) fn map(&mut self, entries: &[(Name, Expression)]) {
        self.put("{");
        self.list(entries, ", ", |printer, (key, value)| {
            printer.name(key);
            printer.put(": ");
            printer.expression(value);
        });
        self.put("}");
    }

    fn map_projection_item(&mut self, item: &MapProjectionItem) {
        match item {
            MapProjectionItem::AllProperties => self.put(".*"),
            MapProjectionItem::Property(key) => {
                self.put(".");
                self.name(key);
            }
            MapProjectionItem::Variable(name) => self.name(name),
            MapProjectionItem::Entry(key, value) => {
                self.name(key);
                self.put(": ");
                self.expression(value);
            }
        }
    }

    fn case(&mut self, case: &Case) {
        self.put("CASE");
        self.optional(" ", case.subject.as_deref());
        for (when, then) in &case.branches {
            self.put(" WHEN ");
            self.list(when, ", ", Self::alternative);
            self.optional(" THEN ", Some(then));
        }
        self.optional(" ELSE ", case.otherwise.as_deref());
        self.put(" END");
    }

    /// A test of the subject stands without its brackets, as the subject itself is not written.
    fn alternative(&mut self, when: &Expression) {
        let start = self.out.len();
        self.expression(when);
        if when.is_about_subject() {
            let test = self.out.split_off(start);
            self.put(test.trim_start_matches('(').trim_start());
            self.out.pop();
        }
    }

    fn subquery(&mut self, keyword: &str, subquery: &Subquery) {
        self.put(keyword);
        self.put(" { ");
        match subquery {
            Subquery::Query(query) => self.query(query),
            Subquery::Pattern(patterns, condition) => {
                self.list(patterns, ", ", Self::path_pattern);
                self.optional(" WHERE ", condition.as_deref());
            }
        }
        self.put(" }");
    }
}

fn quantity_text(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::All => "all(",
        Quantity::Any => "any(",
        Quantity::None => "none(",
        Quantity::Single => "single(",
    }
}

fn binary_text(operator: BinaryOperator) -> &'static str {
    match operator {
        BinaryOperator::Add => " + ",
        BinaryOperator::Subtract => " - ",
        BinaryOperator::Concatenate => " || ",
        BinaryOperator::Multiply => " * ",
        BinaryOperator::Divide => " / ",
        BinaryOperator::Modulo => " % ",
        BinaryOperator::Power => " ^ ",
        BinaryOperator::In => " IN ",
        BinaryOperator::StartsWith => " STARTS WITH ",
        BinaryOperator::EndsWith => " ENDS WITH ",
        BinaryOperator::Contains => " CONTAINS ",
        BinaryOperator::Matches => " =~ ",
    }
}

fn comparison_text(operator: ComparisonOperator) -> &'static str {
    match operator {
        ComparisonOperator::Equal => " = ",
        ComparisonOperator::NotEqual => " <> ",
        ComparisonOperator::Less => " < ",
        ComparisonOperator::LessOrEqual => " <= ",
        ComparisonOperator::Greater => " > ",
        ComparisonOperator::GreaterOrEqual => " >= ",
    }
}
