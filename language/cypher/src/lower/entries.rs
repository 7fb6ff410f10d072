//! Entries that are looked up by an expression: grouping keys, aggregates, columns that a sort key may mean.
//!
//! Idea: each entry has a fingerprint, equal for equal expressions; only entries of one fingerprint are compared. So 100,000 keys and as many
//! expressions that may mean one of them take linear time. Cost: one fingerprint a look-up, which looks at [`PARTS_MAX`] parts at most, since
//! a look-up is made for each part of an expression.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::mem::discriminant;

use plan::algebra::AggregateCall;
use plan::expr::Expr;

use crate::ast::{Expression, ExpressionKind, Literal};

/// Parts that a fingerprint looks at.
const PARTS_MAX: usize = 32;

/// Has a fingerprint: equal things have equal ones.
pub(crate) trait Fingerprint: PartialEq {
    fn fingerprint(&self) -> u64;
}

/// Entries in insertion order, each found by its key.
pub(crate) struct Entries<K, T> {
    entries: Vec<(K, T)>,
    /// The entries of each fingerprint, in their order.
    places: HashMap<u64, Vec<usize>>,
}

impl<K: Fingerprint, T> Entries<K, T> {
    pub fn push(&mut self, key: K, entry: T) {
        self.places.entry(key.fingerprint()).or_default().push(self.entries.len());
        self.entries.push((key, entry));
    }
    /// The first entry about something equal.
    pub fn find(&self, key: &K) -> Option<&T> {
        if self.entries.is_empty() {
            return None;
        }
        let places = self.places.get(&key.fingerprint())?;
        let entries = places.iter().map(|place| &self.entries[*place]);
        entries.into_iter().find(|(known, _)| known == key).map(|(_, entry)| entry)
    }
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter().map(|(_, entry)| entry)
    }
    pub fn into_entries(self) -> Vec<(K, T)> {
        self.entries
    }
}

impl<K, T> Default for Entries<K, T> {
    fn default() -> Entries<K, T> {
        Entries { entries: Vec::new(), places: HashMap::new() }
    }
}

impl<K: Fingerprint, T> FromIterator<(K, T)> for Entries<K, T> {
    fn from_iter<I: IntoIterator<Item = (K, T)>>(entries: I) -> Entries<K, T> {
        let mut all = Entries::default();
        entries.into_iter().for_each(|(key, entry)| all.push(key, entry));
        all
    }
}

impl Fingerprint for Expression {
    fn fingerprint(&self) -> u64 {
        let (mut hasher, mut left) = (DefaultHasher::new(), PARTS_MAX);
        hash_expression(self, &mut left, &mut hasher);
        hasher.finish()
    }
}

fn hash_expression(expression: &Expression, left: &mut usize, hasher: &mut DefaultHasher) {
    if *left == 0 {
        return;
    }
    *left -= 1;
    discriminant(&expression.kind).hash(hasher);
    match &expression.kind {
        ExpressionKind::Parameter(name) | ExpressionKind::Variable(name) => name.hash(hasher),
        ExpressionKind::Property(_, key) => key.text.hash(hasher),
        ExpressionKind::MapProjection(name, _) => name.text.hash(hasher),
        ExpressionKind::Map(entries) => {
            entries.iter().take(PARTS_MAX).for_each(|(key, _)| key.text.hash(hasher))
        }
        ExpressionKind::Function(call) => call.name.iter().for_each(|part| part.text.hash(hasher)),
        ExpressionKind::Literal(Literal::Integer(value)) => value.hash(hasher),
        ExpressionKind::Literal(Literal::String(value)) => value.hash(hasher),
        // The two zeros are equal.
        ExpressionKind::Literal(Literal::Float(value)) => (value + 0.0).to_bits().hash(hasher),
        _ => {}
    }
    expression.children(&mut |child| hash_expression(child, left, hasher));
}

impl Fingerprint for AggregateCall {
    fn fingerprint(&self) -> u64 {
        let (mut hasher, mut left) = (DefaultHasher::new(), PARTS_MAX);
        (self.function, self.distinct, self.arguments.len()).hash(&mut hasher);
        self.arguments.iter().for_each(|argument| hash_plan(argument, &mut left, &mut hasher));
        hasher.finish()
    }
}

fn hash_plan(expr: &Expr, left: &mut usize, hasher: &mut DefaultHasher) {
    if *left == 0 {
        return;
    }
    *left -= 1;
    discriminant(expr).hash(hasher);
    match expr {
        Expr::Variable(var) => var.hash(hasher),
        Expr::Parameter(name) | Expr::Property(_, name) => name.hash(hasher),
        Expr::Literal(constant) => model::compare::hash_value(&constant.0, hasher),
        Expr::Call(function, _) => function.hash(hasher),
        _ => {}
    }
    expr.children(&mut |child| hash_plan(child, left, hasher));
}

#[cfg(test)]
mod tests {
    use super::*;
    use text::Span;

    fn sum(depth: usize, seed: usize) -> Expression {
        let kind = match (depth, seed % 4) {
            (0, 0) => {
                ExpressionKind::Literal(Literal::Float(if seed.is_multiple_of(8) { 0.0 } else { -0.0 }))
            }
            (0, 1) => ExpressionKind::Literal(Literal::Integer((seed % 3) as i64)),
            (0, _) => ExpressionKind::Variable(format!("x{}", seed % 5)),
            _ => ExpressionKind::List(vec![sum(depth - 1, seed / 3), sum(depth - 1, seed / 7)]),
        };
        Expression { kind, span: Span { start: seed as u32, end: seed as u32 + 1 } }
    }

    #[test]
    fn entries_are_found_as_if_all_were_compared() {
        let expressions: Vec<Expression> = (0..600).map(|seed| sum(seed % 7, seed)).collect();
        let mut entries = Entries::default();
        for (number, expression) in expressions.iter().enumerate() {
            let compared = expressions[..number].iter().position(|known| known == expression);
            assert_eq!(entries.find(expression).copied(), compared, "{expression:?}");
            entries.push(expression.clone(), number);
        }
    }
}
