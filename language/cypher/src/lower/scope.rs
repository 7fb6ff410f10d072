//! The meaning of names at one position of the text.
//!
//! Looking a name up costs one hash, whatever the number of names: dumps create tens of thousands in one statement.

use std::collections::HashMap;

use plan::expr::{Expr, Var};

use super::types::Type;

/// The one name that no text can write: for variables of the lowering itself. At most one is in scope.
pub(super) const UNWRITABLE: &str = "";

/// The meaning of a name.
#[derive(Clone, Debug)]
pub(crate) struct Binding {
    pub name: String,
    pub var: Var,
    pub kind: Type,
    /// The expression of the name where it is no column: a path of the `MATCH` that is being read, from its parts.
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
    /// Columns of the LOAD CSV before, for `linenumber()` and `file()`.
    pub load_csv: Option<[Var; 2]>,
    /// The places of each name in `bindings`, the one in sight last.
    places: HashMap<String, Vec<usize>>,
}

impl Scope {
    fn of(bindings: impl Iterator<Item = Binding>) -> Scope {
        let mut scope = Scope::default();
        bindings.for_each(|binding| scope.push(binding));
        scope
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.places.get(name)?.last().copied()
    }

    pub fn get(&self, name: &str) -> Option<&Binding> {
        self.place(name).map(|place| &self.bindings[place])
    }

    pub fn get_mut(&mut self, name: &str) -> Option<&mut Binding> {
        self.place(name).map(|place| &mut self.bindings[place])
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.bindings.iter().map(|binding| binding.name.as_str())
    }

    /// Columns of the rows, without outer names.
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
        self.places.entry(binding.name.clone()).or_default().push(self.bindings.len());
        self.bindings.push(binding);
    }

    /// How many names there are now; `forget_since` takes away those that came later.
    pub fn mark(&self) -> usize {
        self.bindings.len()
    }

    pub fn forget_since(&mut self, mark: usize) {
        for binding in self.bindings.drain(mark..) {
            let places = self.places.get_mut(&binding.name);
            places.expect("every binding is entered by its name").pop();
        }
    }

    /// The same names, as a subquery sees them.
    pub fn as_outer(&self) -> Scope {
        let outer = Scope::of(self.bindings.iter().map(|binding| Binding { outer: true, ..binding.clone() }));
        Scope { load_csv: self.load_csv, ..outer }
    }

    /// Likewise, but the unwritable name is free there.
    pub fn as_outer_written(&self) -> Scope {
        let mut outer = self.as_outer();
        if outer.place(UNWRITABLE).is_some() {
            let written = outer.bindings.into_iter().filter(|binding| binding.name != UNWRITABLE);
            outer = Scope { load_csv: self.load_csv, ..Scope::of(written) };
        }
        outer
    }

    /// The names that stay in scope after a projection.
    pub fn outer_only(&self) -> Scope {
        Scope::of(self.bindings.iter().filter(|binding| binding.outer).cloned())
    }
}
