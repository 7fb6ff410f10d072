//! Messages on their way from one round to the next.
//!
//! Idea: whoever finishes a batch cuts its messages into parts by their targets; when the round is over, each part is put in order on its own.
//! Invariant: a part gets the messages of batch 0 first, then those of batch 1, and so on, and the order of targets keeps the order within
//! one target: the messages of a vertex come in the order of their senders, whoever worked.
//! Cost: a message is moved twice, and counted once.

use crate::program::Combine;
use model::Value;
use model::compare::total_order;
use std::cmp::Ordering;

/// Messages with their targets.
pub(crate) type Messages = Vec<(u32, Value)>;

/// Bytes of a message without its heap.
pub(crate) const MESSAGE_BYTES: usize = size_of::<(u32, Value)>();

/// How targets are cut into parts.
#[derive(Clone, Copy)]
pub(crate) struct Cut {
    span: u32,
    parts: u32,
}

impl Cut {
    pub(crate) fn new(bound: u32) -> Cut {
        let span = bound.div_ceil(crate::limits::PARTS_MAX).max(crate::limits::PART_VERTICES_MIN);
        Cut { span, parts: bound.div_ceil(span).max(1) }
    }
    pub(crate) fn parts(self) -> usize {
        self.parts as usize
    }
    /// The messages of a batch, by part.
    pub(crate) fn cut(self, messages: Messages) -> Vec<Messages> {
        if self.parts == 1 {
            return vec![messages];
        }
        let mut parts: Vec<Messages> = (0..self.parts).map(|_| Vec::new()).collect();
        for (to, message) in messages {
            parts[(to / self.span).min(self.parts - 1) as usize].push((to, message));
        }
        parts
    }
}

/// Vertices that have messages, in order, and these.
#[derive(Default)]
pub(crate) struct Delivered {
    pub(crate) vertices: Vec<u32>,
    /// Where the messages of each end.
    pub(crate) ends: Vec<u32>,
    pub(crate) messages: Vec<Value>,
}

impl Delivered {
    /// Vertices that begin, each with one message.
    pub(crate) fn starting(mut vertices: Vec<u32>) -> Delivered {
        vertices.sort_unstable();
        vertices.dedup();
        let ends = (1..=vertices.len() as u32).collect();
        let messages = vec![Value::Null; vertices.len()];
        Delivered { vertices, ends, messages }
    }
    /// Messages of all batches, in the order of the batches.
    pub(crate) fn deliver(batches: Vec<Messages>, combine: Combine) -> Delivered {
        let count = batches.iter().map(Vec::len).sum();
        let mut all = Messages::with_capacity(count);
        batches.into_iter().for_each(|batch| all.extend(batch));
        all.sort_by_key(|(to, _)| *to);
        let mut part = Delivered::default();
        if combine == Combine::Each {
            part.messages.reserve_exact(count);
        }
        for (to, message) in all {
            let is_new = part.vertices.last() != Some(&to);
            if is_new {
                part.vertices.push(to);
                part.ends.push(part.messages.len() as u32);
            }
            match (combine, part.messages.last_mut()) {
                (Combine::Least, Some(least)) if !is_new => {
                    if total_order(&message, least) == Ordering::Less {
                        *least = message;
                    }
                }
                _ => part.messages.push(message),
            }
            if let Some(end) = part.ends.last_mut() {
                *end = part.messages.len() as u32;
            }
        }
        part
    }
    /// Bytes held, without what is behind messages.
    pub(crate) fn bytes(&self) -> usize {
        (self.vertices.capacity() + self.ends.capacity()) * 4 + self.messages.capacity() * size_of::<Value>()
    }
}
