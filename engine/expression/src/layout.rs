//! Which column holds which variable.

use plan::Var;

/// The columns of an operator's rows, by variable. Small, so it is searched front to back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    columns: Vec<Var>,
}

impl Layout {
    /// These variables in this order.
    pub fn new(columns: &[Var]) -> Layout {
        Layout { columns: columns.to_vec() }
    }
    /// Position of the column that holds `variable`; of two, the later, as it shadows the earlier.
    pub fn position(&self, variable: Var) -> Option<usize> {
        self.columns.iter().rposition(|column| *column == variable)
    }
    /// Adds a column at the end and returns its position.
    pub fn push(&mut self, variable: Var) -> usize {
        self.columns.push(variable);
        self.columns.len() - 1
    }
    /// The variables in column order.
    pub fn variables(&self) -> &[Var] {
        &self.columns
    }
    /// Columns.
    pub fn len(&self) -> usize {
        self.columns.len()
    }
    /// No column?
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }
}
