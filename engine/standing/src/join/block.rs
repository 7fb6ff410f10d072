//! Rows of a join that are processed together, in one array.

use super::pattern::SlotNo;
use crate::StandingError;
use model::Value;

/// Rows that are processed together; slots that are not bound yet hold null.
pub(crate) struct Block {
    pub width: usize,
    values: Vec<Value>,
    pub diffs: Vec<isize>,
}

impl Block {
    pub fn new(width: usize) -> Block {
        Block { width, values: Vec::new(), diffs: Vec::new() }
    }
    pub fn len(&self) -> usize {
        self.diffs.len()
    }
    pub fn row(&self, row: usize) -> &[Value] {
        &self.values[row * self.width..(row + 1) * self.width]
    }
    pub fn clear(&mut self) {
        self.values.clear();
        self.diffs.clear();
    }
    /// Lets `work` change each row in place, and drops those for which it returns false.
    pub fn retain(
        &mut self,
        mut work: impl FnMut(&mut [Value]) -> Result<bool, StandingError>,
    ) -> Result<(), StandingError> {
        let (width, mut kept) = (self.width, 0);
        for row in 0..self.len() {
            if !work(&mut self.values[row * width..(row + 1) * width])? {
                continue;
            }
            if kept != row {
                let (before, rest) = self.values.split_at_mut(row * width);
                before[kept * width..(kept + 1) * width].swap_with_slice(&mut rest[..width]);
                self.diffs[kept] = self.diffs[row];
            }
            kept += 1;
        }
        self.values.truncate(kept * width);
        self.diffs.truncate(kept);
        Ok(())
    }
    /// A copy of the row, of which these slots are changed.
    pub fn push(&mut self, row: &[Value], diff: isize, bound: impl IntoIterator<Item = (SlotNo, Value)>) {
        let start = self.values.len();
        self.values.extend_from_slice(row);
        for (slot, value) in bound {
            self.values[start + slot] = value;
        }
        self.diffs.push(diff);
    }
}
