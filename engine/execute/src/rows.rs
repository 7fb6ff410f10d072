//! What travels between operators: a batch, with what the runtime asks of a message.

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
}
