//! Which names mean what at one place of the text.

use plan::expr::{Expr, Var};

use super::types::Type;

/// What a name means.
#[derive(Clone, Debug)]
pub(crate) struct Binding {
    pub name: String,
    pub var: Var,
    pub kind: Type,
    /// What stands for the name where it is no column: a path of the `MATCH` that is being read, from its parts.
    pub instead: Option<Expr>,
    /// Bound by a comprehension or the like, not a column of the rows.
    pub local: bool,
    /// Seen from inside a subquery; such names stay in sight across `WITH`.
    pub outer: bool,
}

/// Names in sight, in order of their making. A later one hides an earlier one of the same name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    bindings: Vec<Binding>,
}

impl Scope {
    pub fn get(&self, name: &str) -> Option<&Binding> {
        self.bindings.iter().rev().find(|binding| binding.name == name)
    }

    pub fn get_mut(&mut self, name: &str) -> Option<&mut Binding> {
        self.bindings.iter_mut().rev().find(|binding| binding.name == name)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.bindings.iter().map(|binding| binding.name.as_str())
    }

    /// Columns of the rows, without what is seen from outside.
    pub fn columns(&self) -> impl Iterator<Item = &Binding> {
        self.bindings.iter().filter(|binding| !binding.local && !binding.outer)
    }

    pub fn declare(&mut self, name: &str, var: Var, kind: Type) {
        self.push(Binding { name: name.to_string(), var, kind, instead: None, local: false, outer: false });
    }

    pub fn declare_local(&mut self, name: &str, var: Var, kind: Type) {
        self.push(Binding { name: name.to_string(), var, kind, instead: None, local: true, outer: false });
    }

    /// A name for a value that is no column.
    pub fn declare_instead(&mut self, name: &str, var: Var, kind: Type, instead: Expr) {
        let instead = Some(instead);
        self.push(Binding { name: name.to_string(), var, kind, instead, local: false, outer: false });
    }

    fn push(&mut self, binding: Binding) {
        self.bindings.push(binding);
    }

    /// How many names there are now; `forget_since` takes away those that came later.
    pub fn mark(&self) -> usize {
        self.bindings.len()
    }

    pub fn forget_since(&mut self, mark: usize) {
        self.bindings.truncate(mark);
    }

    /// The same names, as a subquery sees them.
    pub fn as_outer(&self) -> Scope {
        let seen = |binding: &Binding| Binding { outer: true, ..binding.clone() };
        Scope { bindings: self.bindings.iter().map(seen).collect() }
    }

    /// What stays in sight after a projection.
    pub fn outer_only(&self) -> Scope {
        Scope { bindings: self.bindings.iter().filter(|binding| binding.outer).cloned().collect() }
    }
}
