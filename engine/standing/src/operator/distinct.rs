//! Each row once, as long as it is there at all.

use crate::network::Changes;
use crate::row::Row;
use crate::table::HashMap;

/// How often each row is there.
#[derive(Default)]
pub(crate) struct Distinct {
    counts: HashMap<Row, isize>,
}

impl Distinct {
    /// Rows that come for the first time, and go for the last.
    pub fn advance(&mut self, input: &Changes) -> Changes {
        let mut found = Changes::new();
        for (row, diff) in input {
            let count = self.counts.entry(row.clone()).or_insert(0);
            let before = *count > 0;
            *count += diff;
            let after = *count > 0;
            if *count == 0 {
                self.counts.remove(row);
            }
            if before != after {
                found.push((row.clone(), if after { 1 } else { -1 }));
            }
        }
        found
    }
}
