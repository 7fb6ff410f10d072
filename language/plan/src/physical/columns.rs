//! Which columns are still read: sets of variables, passed down the plan so that no operator carries a dead column.

use crate::algebra::{Apply, ApplyKind, Merge, Union};
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
    /// The same and the variables of these expressions.
    #[must_use]
    pub fn reading<'a>(self, expressions: impl IntoIterator<Item = &'a Expr>) -> VarSet {
        expressions.into_iter().fold(self, |set, expression| set.with(expression.free_variables()))
    }
    fn iter(&self) -> impl Iterator<Item = Var> {
        self.words.iter().enumerate().flat_map(|(at, word)| {
            let bits = (0..64).filter(move |bit| word >> bit & 1 == 1);
            bits.map(move |bit| Var((at * 64) as u32 + bit))
        })
    }
}

/// A set of variables as it is kept with a plan: a list of few, or bits of many, whichever is smaller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Columns(ColumnChoice);

#[derive(Clone, Debug, PartialEq, Eq)]
enum ColumnChoice {
    Few(Box<[Var]>),
    Many(VarSet),
}

impl Columns {
    /// As a set.
    pub fn to_set(&self) -> VarSet {
        match &self.0 {
            ColumnChoice::Few(list) => list.iter().copied().collect(),
            ColumnChoice::Many(set) => set.clone(),
        }
    }
}

impl From<&VarSet> for Columns {
    fn from(set: &VarSet) -> Columns {
        let count = set.words.iter().map(|word| word.count_ones() as usize).sum::<usize>();
        let is_few = count * size_of::<Var>() <= size_of_val(&set.words[..]);
        Columns(if is_few {
            ColumnChoice::Few(set.iter().collect())
        } else {
            ColumnChoice::Many(set.clone())
        })
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

/// The columns that the inputs of a `Union` carry: distinct compares every column, without it only those are carried that are read above.
pub fn carried<'u>(node: &'u Union, read: &'u VarSet) -> impl Iterator<Item = &'u (Var, Var, Var)> {
    node.columns.iter().filter(|(to, _, _)| node.distinct || read.contains(*to))
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
            node.scope.end.into_iter().collect()
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
        assert!(!set.without([Var(130)]).contains(Var(130)));
    }

    #[test]
    fn columns_are_kept_as_what_is_smaller() {
        let sets = [VarSet::new(), VarSet::new().with([Var(900)]), (0..200).step_by(3).map(Var).collect()];
        for (set, is_few) in sets.iter().zip([true, true, false]) {
            let columns = Columns::from(set);
            assert_eq!(matches!(columns.0, ColumnChoice::Few(_)), is_few);
            assert_eq!(columns.to_set(), *set);
        }
    }
}
