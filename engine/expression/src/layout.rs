//! Which column holds which variable.

use hashbrown::HashMap;
use plan::Var;

/// So many columns are searched back to front; more are found by a hash.
const FEW_MAX: usize = 16;

/// The columns of an operator's rows, by variable.
///
/// Invariant: `places` holds the last place of each variable, or nothing while there are at most [`FEW_MAX`] columns.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    columns: Vec<Var>,
    places: HashMap<Var, usize, foldhash::fast::FixedState>,
}

impl Layout {
    /// These variables in this order.
    pub fn new(columns: &[Var]) -> Layout {
        let mut layout = Layout::default();
        columns.iter().for_each(|column| _ = layout.push(*column));
        layout
    }
    /// Position of the column that holds `variable`; of two, the later, as it shadows the earlier.
    pub fn position(&self, variable: Var) -> Option<usize> {
        if self.columns.len() <= FEW_MAX {
            return self.columns.iter().rposition(|column| *column == variable);
        }
        self.places.get(&variable).copied()
    }
    /// Adds a column at the end and returns its position.
    pub fn push(&mut self, variable: Var) -> usize {
        let at = self.columns.len();
        self.columns.push(variable);
        if at == FEW_MAX {
            self.places.extend(self.columns.iter().enumerate().map(|(at, column)| (*column, at)));
        } else if at > FEW_MAX {
            self.places.insert(variable, at);
        }
        debug_assert_eq!(self.places.is_empty(), self.columns.len() <= FEW_MAX, "few columns are searched");
        debug_assert_eq!(
            self.position(variable),
            Some(at),
            "the last column of a variable is the one that is found"
        );
        at
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

impl PartialEq for Layout {
    fn eq(&self, other: &Layout) -> bool {
        self.columns == other.columns
    }
}

impl Eq for Layout {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_columns_are_found_as_few_are_searched() {
        let mut layout = Layout::default();
        for count in 0..100_u32 {
            let variables = layout.variables().to_vec();
            for wanted in (0..50).map(Var) {
                let searched = variables.iter().rposition(|variable| *variable == wanted);
                assert_eq!(layout.position(wanted), searched, "{count} columns, {wanted:?}");
            }
            assert_eq!(layout.push(Var(count * 7 % 45)), count as usize);
        }
        assert_eq!(Layout::new(layout.variables()), layout);
    }
}
