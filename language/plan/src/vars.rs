//! Variables in insertion order, each once.
//!
//! Idea: for nearly every node rewrites ask which columns it makes and reads, and for each of those whether it is among others. A few are compared
//! one by one; many have a hash set beside their list, so that a statement with 200,000 columns is planned in linear time. Invariant: no variable is
//! in the list twice; the set holds all of the list, or nothing while there are at most [`FEW_MAX`]. Cost: a look-up takes one hash, or up to
//! [`FEW_MAX`] comparisons.

use hashbrown::HashSet;
use std::ops::Deref;

/// A variable of a statement: an index into [`crate::Statement::variables`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Var(pub u32);

/// Up to this many are compared one by one.
pub(crate) const FEW_MAX: usize = 16;

/// A list of variables without repetition.
#[derive(Clone, Debug, Default)]
pub struct Vars {
    list: Vec<Var>,
    set: HashSet<Var, foldhash::fast::FixedState>,
}

impl Vars {
    /// None.
    pub fn new() -> Vars {
        Vars::default()
    }
    /// Is it among them?
    pub fn contains(&self, var: &Var) -> bool {
        if self.list.len() <= FEW_MAX { self.list.contains(var) } else { self.set.contains(var) }
    }
    /// Appends it, unless it is there.
    pub fn add(&mut self, var: Var) {
        if self.contains(&var) {
            return;
        }
        self.list.push(var);
        match self.list.len() {
            0..=FEW_MAX => {}
            len if len == FEW_MAX + 1 => self.set.extend(self.list.iter().copied()),
            _ => _ = self.set.insert(var),
        }
        debug_assert!(self.list.len() <= FEW_MAX || self.set.len() == self.list.len(), "each once");
    }
    /// Keeps those that satisfy `test`.
    pub fn retain(&mut self, test: impl FnMut(&Var) -> bool) {
        self.list.retain(test);
        self.set.clear();
        if self.list.len() > FEW_MAX {
            self.set.extend(self.list.iter().copied())
        }
    }
    /// As a list.
    pub fn into_vec(self) -> Vec<Var> {
        self.list
    }
}

impl Deref for Vars {
    type Target = [Var];
    fn deref(&self) -> &[Var] {
        &self.list
    }
}

impl PartialEq for Vars {
    fn eq(&self, other: &Vars) -> bool {
        self.list == other.list
    }
}

impl Extend<Var> for Vars {
    fn extend<I: IntoIterator<Item = Var>>(&mut self, more: I) {
        more.into_iter().for_each(|var| self.add(var))
    }
}

impl FromIterator<Var> for Vars {
    fn from_iter<I: IntoIterator<Item = Var>>(vars: I) -> Vars {
        let mut all = Vars::new();
        all.extend(vars);
        all
    }
}

impl From<Vars> for Vec<Var> {
    fn from(vars: Vars) -> Vec<Var> {
        vars.list
    }
}

impl IntoIterator for Vars {
    type Item = Var;
    type IntoIter = std::vec::IntoIter<Var>;
    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

impl<'a> IntoIterator for &'a Vars {
    type Item = &'a Var;
    type IntoIter = std::slice::Iter<'a, Var>;
    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The obvious twin: a list that is searched.
    fn add(list: &mut Vec<Var>, var: Var) {
        if !list.contains(&var) {
            list.push(var)
        }
    }

    #[test]
    fn they_hold_what_a_searched_list_holds() {
        let mut seed = 7_u32;
        let mut draw = |below: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) % below
        };
        for round in 0..300 {
            let (mut vars, mut list) = (Vars::new(), Vec::new());
            for _ in 0..draw(60) {
                let var = Var(draw(40));
                vars.add(var);
                add(&mut list, var);
                if draw(20) == 0 {
                    let odd = draw(3);
                    vars.retain(|var| var.0 % 3 != odd);
                    list.retain(|var| var.0 % 3 != odd);
                }
                assert_eq!(vars[..], list[..], "round {round}");
                let (same, mut more) = (Vars::from_iter(list.clone()), vars.clone());
                assert_eq!(same, vars, "round {round}");
                more.add(Var(99));
                assert_ne!(more, vars, "round {round}");
                let among = |var: &Var| (vars.contains(var), list.contains(var));
                assert!((0..40).map(Var).all(|var| among(&var).0 == among(&var).1), "round {round}");
            }
        }
    }
}
