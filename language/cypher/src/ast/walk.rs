//! Walking expressions: the direct parts of each kind, taught once.

use super::expression::{Expression, ExpressionKind, MapProjectionItem};

impl Expression {
    /// Calls `visit` on each direct part. Patterns and subqueries are worlds of their own and are not entered.
    pub fn children<'a>(&'a self, visit: &mut dyn FnMut(&'a Expression)) {
        match &self.kind {
            ExpressionKind::Literal(_) | ExpressionKind::Parameter(_) | ExpressionKind::Variable(_) => {}
            ExpressionKind::CaseSubject => {}
            ExpressionKind::CountAll | ExpressionKind::Exists(_) | ExpressionKind::Count(_) => {}
            ExpressionKind::Collect(_)
            | ExpressionKind::Pattern(_)
            | ExpressionKind::PatternComprehension { .. } => {}
            ExpressionKind::List(items) => items.iter().for_each(visit),
            ExpressionKind::And(items) | ExpressionKind::Or(items) | ExpressionKind::Xor(items) => {
                items.iter().for_each(visit);
            }
            ExpressionKind::Map(entries) => entries.iter().for_each(|(_, value)| visit(value)),
            ExpressionKind::Property(operand, _) | ExpressionKind::Unary(_, operand) => visit(operand),
            ExpressionKind::HasLabels(operand, _) | ExpressionKind::IsNull { operand, .. } => visit(operand),
            ExpressionKind::IsTyped { operand, .. } | ExpressionKind::IsNormalized { operand, .. } => {
                visit(operand)
            }
            ExpressionKind::Index(left, right) | ExpressionKind::Binary(_, left, right) => {
                visit(left);
                visit(right);
            }
            ExpressionKind::Slice(target, from, to) => {
                visit(target);
                from.iter().chain(to).for_each(|bound| visit(bound));
            }
            ExpressionKind::Comparison(first, rest) => {
                visit(first);
                rest.iter().for_each(|(_, operand)| visit(operand));
            }
            ExpressionKind::Function(call) => call.arguments.iter().for_each(visit),
            _ => self.scattered_children(visit),
        }
    }

    /// The same, for kinds whose parts are spread over several fields.
    fn scattered_children<'a>(&'a self, visit: &mut dyn FnMut(&'a Expression)) {
        match &self.kind {
            ExpressionKind::Case(case) => {
                case.subject.iter().for_each(|subject| visit(subject));
                for (when, then) in &case.branches {
                    when.iter().for_each(&mut *visit);
                    visit(then);
                }
                case.otherwise.iter().for_each(|otherwise| visit(otherwise));
            }
            ExpressionKind::ListComprehension { list, condition, projection, .. } => {
                visit(list);
                condition.iter().chain(projection).for_each(|part| visit(part));
            }
            ExpressionKind::Quantified { list, condition, .. } => {
                visit(list);
                condition.iter().for_each(|part| visit(part));
            }
            ExpressionKind::Reduce { initial, list, step, .. } => {
                [initial, list, step].into_iter().for_each(|part| visit(part));
            }
            ExpressionKind::MapProjection(_, items) => {
                for item in items {
                    if let MapProjectionItem::Entry(_, value) = item {
                        visit(value);
                    }
                }
            }
            _ => {}
        }
    }
}
