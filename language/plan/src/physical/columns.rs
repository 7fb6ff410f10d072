//! Which columns are still read: sets of variables, passed down the plan so that no operator carries a dead column.

use crate::algebra::{Apply, ApplyKind, Merge};
use crate::{Expr, Plan, Var};

/// A set of variables; a bit each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VarSet {
    words: Vec<u64>,
}

impl VarSet {
    /// None.
    pub fn new() -> VarSet {
        VarSet::default()
    }
    /// Is it among them?
    pub fn contains(&self, variable: Var) -> bool {
        let at = variable.0 as usize;
        self.words.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }
    /// Adds it.
    pub fn insert(&mut self, variable: Var) {
        let at = variable.0 as usize;
        if self.words.len() <= at / 64 {
            self.words.resize(at / 64 + 1, 0);
        }
        self.words[at / 64] |= 1 << (at % 64);
    }
    /// Takes it out.
    pub fn remove(&mut self, variable: Var) {
        let at = variable.0 as usize;
        if let Some(word) = self.words.get_mut(at / 64) {
            *word &= !(1 << (at % 64));
        }
    }
    /// The same and these.
    #[must_use]
    pub fn with(mut self, variables: impl IntoIterator<Item = Var>) -> VarSet {
        variables.into_iter().for_each(|variable| self.insert(variable));
        self
    }
    /// The same without these.
    #[must_use]
    pub fn without(mut self, variables: impl IntoIterator<Item = Var>) -> VarSet {
        variables.into_iter().for_each(|variable| self.remove(variable));
        self
    }
    /// The same and what these expressions read.
    #[must_use]
    pub fn reading<'a>(self, expressions: impl IntoIterator<Item = &'a Expr>) -> VarSet {
        expressions.into_iter().fold(self, |set, expression| set.with(expression.free_variables()))
    }
    /// As a list, in order of the variables' numbers.
    pub(crate) fn list(&self) -> Box<[Var]> {
        let mut list = Vec::new();
        for (at, word) in self.words.iter().enumerate() {
            let mut left = *word;
            while left != 0 {
                list.push(Var((at * 64) as u32 + left.trailing_zeros()));
                left &= left - 1;
            }
        }
        list.into()
    }
}

impl FromIterator<Var> for VarSet {
    fn from_iter<I: IntoIterator<Item = Var>>(variables: I) -> VarSet {
        VarSet::new().with(variables)
    }
}

/// The columns of a node's main input that are read by the node or above it, where `required` are read above it.
pub(crate) fn of_input(plan: &Plan, required: &VarSet) -> VarSet {
    match plan {
        // What nobody reads is not made.
        Plan::Project(node) => {
            let wanted = node.items.iter().filter(|(variable, _)| required.contains(*variable));
            VarSet::new().reading(wanted.map(|(_, expression)| expression))
        }
        Plan::Aggregate(_) | Plan::Distinct(_) => plan.reads().into_vec().into_iter().collect(),
        // These read what they make themselves.
        Plan::Extend(_) | Plan::Create(_) => {
            required.clone().with(plan.reads().into_vec()).without(plan.makes().into_vec())
        }
        Plan::Merge(node) => {
            let outer = required.clone().with(plan.reads().into_vec()).without(plan.makes().into_vec());
            outer.with(node.imports.iter().copied())
        }
        _ => required.clone().without(plan.makes().into_vec()).with(plan.reads().into_vec()),
    }
}

/// The columns that the inner plan of an `Apply` must yield.
pub(crate) fn of_inner(node: &Apply, required: &VarSet) -> VarSet {
    match &node.kind {
        ApplyKind::Inner(columns) | ApplyKind::Optional(columns) => {
            columns.iter().copied().filter(|column| required.contains(*column)).collect()
        }
        ApplyKind::Collect { column, .. } => [*column].into_iter().collect(),
        ApplyKind::Repeat(repeat) => [repeat.next].into_iter().collect(),
        ApplyKind::Exists(_) | ApplyKind::Count(_) | ApplyKind::Semi | ApplyKind::Anti | ApplyKind::Unit => {
            VarSet::new()
        }
    }
}

/// The variables of the pattern that a `Merge` matches or creates.
pub(crate) fn of_pattern(node: &Merge) -> VarSet {
    let vertices = node.vertices.iter().map(|vertex| vertex.variable);
    vertices.chain(node.edges.iter().map(|edge| edge.variable)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_variables() {
        let set: VarSet = [Var(130), Var(3)].into_iter().collect();
        assert!(
            set.contains(Var(3))
                && set.contains(Var(130))
                && !set.contains(Var(4))
                && !set.contains(Var(999))
        );
        assert_eq!(*set.list(), [Var(3), Var(130)]);
        assert!(!set.without([Var(130)]).contains(Var(130)));
    }
}
