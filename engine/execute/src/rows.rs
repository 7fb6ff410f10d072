//! Messages between operators: a batch, with the sizes that the runtime needs.

use dataflow::Message;
use model::Batch;

/// A batch as a dataflow message.
#[derive(Clone, Debug)]
pub struct Rows(pub Batch);

impl Message for Rows {
    fn rows(&self) -> usize {
        self.0.len()
    }
    fn bytes(&self) -> usize {
        self.0.bytes()
    }
    fn split(self, parts: usize) -> Vec<Rows> {
        let rows = self.0.len();
        let size = rows.div_ceil(parts.max(1)).max(1);
        if size >= rows {
            return vec![self];
        }
        // Each with columns of its own: shared ones would be charged as a whole wherever a part of them waits.
        let part = |from| Rows(crate::columns::piece(&self.0, from, size).flatten());
        (0..rows).step_by(size).map(part).collect()
    }
}
