//! Which columns are still read: sets of variables, passed down the plan so that no operator carries a dead column.

use plan::{Expr, Plan, Var};

/// A set of variables; a bit each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct VarSet {
    words: Vec<u64>,
}

impl VarSet {
    pub(crate) fn new() -> VarSet {
        VarSet::default()
    }
    pub(crate) fn contains(&self, variable: Var) -> bool {
        let at = variable.0 as usize;
        self.words.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }
    pub(crate) fn insert(&mut self, variable: Var) {
        let at = variable.0 as usize;
        if self.words.len() <= at / 64 {
            self.words.resize(at / 64 + 1, 0);
        }
        self.words[at / 64] |= 1 << (at % 64);
    }
    pub(crate) fn remove(&mut self, variable: Var) {
        let at = variable.0 as usize;
        if let Some(word) = self.words.get_mut(at / 64) {
            *word &= !(1 << (at % 64));
        }
    }
    /// The same and these.
    pub(crate) fn with(mut self, variables: impl IntoIterator<Item = Var>) -> VarSet {
        variables.into_iter().for_each(|variable| self.insert(variable));
        self
    }
    /// The same without these.
    pub(crate) fn without(mut self, variables: impl IntoIterator<Item = Var>) -> VarSet {
        variables.into_iter().for_each(|variable| self.remove(variable));
        self
    }
    /// The same and what these expressions read.
    pub(crate) fn reading<'a>(self, expressions: impl IntoIterator<Item = &'a Expr>) -> VarSet {
        expressions.into_iter().fold(self, |set, expression| set.with(expression.free_variables()))
    }
}

/// The columns of a node's main input that are read by the node or above it; `row` is the hidden column of a sub-query, which is read throughout.
pub(crate) fn of_input(plan: &Plan, required: &VarSet, row: Option<Var>) -> VarSet {
    match plan {
        // What nobody reads is not made.
        Plan::Project(node) => {
            let wanted = node.items.iter().filter(|(variable, _)| required.contains(*variable));
            VarSet::new().reading(wanted.map(|(_, expression)| expression)).with(row)
        }
        Plan::Aggregate(_) | Plan::Distinct(_) => VarSet::new().with(plan.reads().into_vec()).with(row),
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

impl FromIterator<Var> for VarSet {
    fn from_iter<I: IntoIterator<Item = Var>>(variables: I) -> VarSet {
        VarSet::new().with(variables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_variables() {
        let set: VarSet = [Var(3), Var(130)].into_iter().collect();
        assert!(
            set.contains(Var(3))
                && set.contains(Var(130))
                && !set.contains(Var(4))
                && !set.contains(Var(999))
        );
        assert!(!set.without([Var(130)]).contains(Var(130)));
    }
}
