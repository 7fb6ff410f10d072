//! Messages on their way from one round to the next.
//!
//! Idea: whoever finishes a batch cuts its messages into parts by their targets; when the round is over, each part is put in order on its own.
//! Invariant: a part gets the messages of batch 0 first, then those of batch 1, and so on, and the order of targets keeps the order within
//! one target: the messages of a vertex come in the order of their senders, whoever worked.
//! Cost: a message is moved twice, and counted once. A part with many messages has a table of its vertices meanwhile; one with few sorts them.

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
    /// The vertices of a part: its first one, and how many.
    pub(crate) fn range(self, part: usize) -> PartRange {
        PartRange { first: part as u32 * self.span, count: self.span }
    }
    /// The messages of a batch, by part; the batch is empty then.
    pub(crate) fn cut(self, messages: &mut Messages) -> Vec<Messages> {
        if self.parts == 1 {
            return vec![std::mem::take(messages)];
        }
        let expected = messages.len() / self.parts as usize;
        let part = |_| Vec::with_capacity(expected + expected / 4);
        let mut parts: Vec<Messages> = (0..self.parts).map(part).collect();
        for (to, message) in messages.drain(..) {
            parts[(to / self.span).min(self.parts - 1) as usize].push((to, message));
        }
        parts
    }
}

/// Vertices that are neighbours by number.
#[derive(Clone, Copy)]
pub(crate) struct PartRange {
    first: u32,
    count: u32,
}

/// What each vertex has with which a run begins.
static STARTED: [Value; 1] = [Value::Null];

/// Vertices that have messages, in order, and these.
#[derive(Default)]
pub(crate) struct Delivered {
    pub(crate) vertices: Vec<u32>,
    /// Where the messages of each end; empty where the run begins, where each has one, null.
    ends: Vec<u32>,
    messages: Vec<Value>,
}

/// The messages of some vertices that follow each other.
#[derive(Clone, Copy)]
pub(crate) struct MessageRange<'a> {
    /// Where those of each end; those of the first begin at `from`.
    ends: &'a [u32],
    from: usize,
    messages: &'a [Value],
    is_start: bool,
}

impl<'a> MessageRange<'a> {
    /// None at all.
    pub(crate) const NONE: MessageRange<'static> =
        MessageRange { ends: &[], from: 0, messages: &[], is_start: false };
    /// Those of the vertex at this place.
    #[inline]
    pub(crate) fn of(self, at: usize) -> &'a [Value] {
        if self.is_start {
            return &STARTED;
        }
        let from = if at == 0 { self.from } else { self.ends[at - 1] as usize };
        match self.ends.get(at) {
            Some(end) => &self.messages[from..*end as usize],
            None => &[],
        }
    }
}

/// Of a part that has a message for one of so many of its vertices, messages are put in order by a table of its vertices; of another one they are sorted.
const DENSE_SHARE: usize = 8;

impl Delivered {
    /// Vertices that begin, each with one message.
    pub(crate) fn starting(mut vertices: Vec<u32>) -> Delivered {
        vertices.sort_unstable();
        vertices.dedup();
        Delivered { vertices, ends: Vec::new(), messages: Vec::new() }
    }
    /// The messages of the vertices at these places.
    pub(crate) fn range(&self, from: usize, to: usize) -> MessageRange<'_> {
        if self.ends.is_empty() {
            return MessageRange { is_start: true, ..MessageRange::NONE };
        }
        let begin = if from == 0 { 0 } else { self.ends[from - 1] as usize };
        MessageRange { ends: &self.ends[from..to], from: begin, messages: &self.messages, is_start: false }
    }
    /// Messages of all batches to the vertices of a part, in the order of the batches.
    pub(crate) fn deliver(batches: Vec<Messages>, combine: Combine, part: PartRange) -> Delivered {
        let count: usize = batches.iter().map(Vec::len).sum();
        match combine {
            _ if count < part.count as usize / DENSE_SHARE => Delivered::sorted(batches, combine),
            Combine::Least => Delivered::least(batches, part),
            Combine::Each => Delivered::counted(batches, part),
        }
    }
    /// The least message of each vertex, by a table of where it is.
    fn least(batches: Vec<Messages>, PartRange { first, count }: PartRange) -> Delivered {
        const NOWHERE: u32 = u32::MAX;
        let (mut places, mut found) = (vec![NOWHERE; count as usize], Vec::<Value>::new());
        for (to, message) in batches.into_iter().flatten() {
            let Some(place) = places.get_mut((to - first) as usize) else {
                debug_assert!(false, "a message goes to a vertex of its part");
                continue;
            };
            if *place == NOWHERE {
                *place = found.len() as u32;
                found.push(message);
            } else {
                let least = &mut found[*place as usize];
                let is_less = !least.is_null() || !message.is_null();
                if is_less && total_order(&message, least) == Ordering::Less {
                    *least = message;
                }
            }
        }
        let vertices = found.len();
        let mut part = Delivered {
            vertices: Vec::with_capacity(vertices),
            ends: (1..=vertices as u32).collect(),
            messages: Vec::with_capacity(vertices),
        };
        for (at, place) in places.into_iter().enumerate().filter(|(_, place)| *place != NOWHERE) {
            part.vertices.push(first + at as u32);
            part.messages.push(std::mem::take(&mut found[place as usize]));
        }
        part
    }
    /// Each message, by counts of those of each vertex.
    fn counted(batches: Vec<Messages>, PartRange { first, count }: PartRange) -> Delivered {
        let mut next = vec![0_u32; count as usize];
        let mut total = 0;
        for (to, _) in batches.iter().flatten() {
            debug_assert!(*to - first < count, "a message goes to a vertex of its part");
            next[(*to - first) as usize] += 1;
            total += 1;
        }
        let mut part = Delivered { messages: vec![Value::Null; total], ..Delivered::default() };
        let mut end = 0;
        for (at, next) in next.iter_mut().enumerate().filter(|(_, next)| **next > 0) {
            let begin = end;
            end += *next;
            part.vertices.push(first + at as u32);
            part.ends.push(end);
            *next = begin;
        }
        for (to, message) in batches.into_iter().flatten() {
            let next = &mut next[(to - first) as usize];
            part.messages[*next as usize] = message;
            *next += 1;
        }
        part
    }
    /// The obvious way: all messages sorted by their targets.
    fn sorted(batches: Vec<Messages>, combine: Combine) -> Delivered {
        let mut all: Messages = batches.into_iter().flatten().collect();
        all.sort_by_key(|(to, _)| *to);
        let mut part = Delivered::default();
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

#[cfg(test)]
mod tests {
    use super::*;

    /// By table and by counts comes what comes by sorting.
    #[test]
    fn messages_come_in_the_same_order_however_they_are_put_in_it() {
        let mut chance = world::chance::Chance::seeded(11);
        for (first, count, messages) in
            [(0, 1, 0), (0, 1, 9), (64, 64, 5), (1_000, 300, 40), (500, 100, 3_000)]
        {
            for _ in 0..20 {
                let mut message = || {
                    let value = match chance.below(4) {
                        0 => Value::Null,
                        1 => Value::Float(chance.float()),
                        2 => Value::string(format!("{}", chance.below(9))),
                        _ => Value::Int(chance.below(5) as i64),
                    };
                    (first + chance.below(u64::from(count)) as u32, value)
                };
                let batches: Vec<Messages> =
                    (0..3).map(|_| (0..messages).map(|_| message()).collect()).collect();
                let part = PartRange { first, count };
                let told = |part: &Delivered| {
                    let range = part.range(0, part.vertices.len());
                    let each = |(at, vertex)| (vertex, range.of(at).to_vec());
                    let told = part.vertices.iter().copied().enumerate().map(each);
                    format!("{:?}", told.collect::<Vec<(u32, Vec<Value>)>>())
                };
                if messages == 0 {
                    assert!(Delivered::counted(batches, part).vertices.is_empty());
                    continue;
                }
                let sorted = |combine| told(&Delivered::sorted(batches.clone(), combine));
                assert_eq!(told(&Delivered::least(batches.clone(), part)), sorted(Combine::Least));
                assert_eq!(told(&Delivered::counted(batches.clone(), part)), sorted(Combine::Each));
            }
        }
    }

    #[test]
    fn each_vertex_begins_with_null() {
        let part = Delivered::starting(vec![9, 3, 9]);
        let range = part.range(1, 2);
        assert!(part.vertices == [3, 9] && matches!(range.of(0), [Value::Null]));
        assert!(MessageRange::NONE.of(0).is_empty());
    }
}
