//! Messages from one round to the next.
//!
//! Idea: the worker that finishes a batch splits its messages into parts by their targets; when the round is over, each part is sorted on its own.
//! Invariant: a part gets the messages of batch 0 first, then those of batch 1, and so on, and the sort by target is stable: the messages of a vertex
//! come in the order of their senders, whichever workers ran.
//! Cost: a message is moved twice, and counted once. A part with many messages has a table of its vertices meanwhile; one with few sorts them.

use crate::program::Combine;
use crate::vertex_values::{MessagesHere, TypedValues, VertexValues};
use model::Value;
use model::compare::total_order;
use std::cmp::Ordering;

/// Messages with their targets.
pub(crate) type Messages = VertexValues;

/// How targets are cut into parts.
#[derive(Clone, Copy)]
pub(crate) struct Cut {
    /// A part has this power of two of vertices.
    shift: u32,
    parts: u32,
}

impl Cut {
    pub(crate) fn new(bound: u32) -> Cut {
        let span = bound.div_ceil(crate::limits::PARTS_MAX).max(crate::limits::PART_VERTICES_MIN);
        let shift = span.next_power_of_two().trailing_zeros();
        Cut { shift, parts: bound.div_ceil(1 << shift).max(1) }
    }
    pub(crate) fn parts(self) -> usize {
        self.parts as usize
    }
    /// The vertices of a part: its first one, and how many.
    pub(crate) fn range(self, part: usize) -> PartRange {
        PartRange { first: (part as u32) << self.shift, count: 1 << self.shift }
    }
    /// The messages of a batch, by part; the batch is empty then.
    pub(crate) fn cut(self, messages: &mut Messages) -> Vec<Messages> {
        if self.parts == 1 {
            return vec![std::mem::take(messages)];
        }
        let targets = &messages.vertices;
        let parts = match &mut messages.values {
            TypedValues::Nulls(values) => self.deal(targets, values.drain(..), TypedValues::Nulls),
            TypedValues::Ints(values) => self.deal(targets, values.drain(..), TypedValues::Ints),
            TypedValues::Floats(values) => self.deal(targets, values.drain(..), TypedValues::Floats),
            TypedValues::Any(values) => self.deal(targets, values.drain(..), TypedValues::Any),
        };
        messages.vertices.clear();
        parts
    }
    fn deal<T>(
        self,
        targets: &[u32],
        values: impl Iterator<Item = T>,
        column: fn(Vec<T>) -> TypedValues,
    ) -> Vec<Messages> {
        let expected = targets.len() / self.parts as usize;
        let room = expected + expected / 4;
        let part = |_| (Vec::with_capacity(room), Vec::with_capacity(room));
        let mut parts: Vec<(Vec<u32>, Vec<T>)> = (0..self.parts).map(part).collect();
        for (to, value) in targets.iter().zip(values) {
            let part = &mut parts[(to >> self.shift).min(self.parts - 1) as usize];
            part.0.push(*to);
            part.1.push(value);
        }
        parts.into_iter().map(|(vertices, values)| Messages { vertices, values: column(values) }).collect()
    }
}

/// Vertices that are neighbours by number.
#[derive(Clone, Copy)]
pub(crate) struct PartRange {
    first: u32,
    count: u32,
}

/// Vertices that have messages, in order, and these.
#[derive(Default)]
pub(crate) struct Delivered {
    pub(crate) vertices: Vec<u32>,
    /// Where the messages of each end; empty where each has one.
    ends: Vec<u32>,
    messages: TypedValues,
}

/// The messages of some vertices that follow each other.
#[derive(Clone, Copy)]
pub(crate) struct MessageRange<'a> {
    /// Where those of each end; those of the first begin at `from`. Empty where each has one.
    ends: &'a [u32],
    from: usize,
    messages: &'a TypedValues,
}

static NO_MESSAGES: TypedValues = TypedValues::Nulls(Vec::new());

impl<'a> MessageRange<'a> {
    /// None at all.
    pub(crate) const NONE: MessageRange<'static> =
        MessageRange { ends: &[], from: 0, messages: &NO_MESSAGES };
    /// Those of the vertex at this place.
    #[inline]
    pub(crate) fn of(self, at: usize) -> MessagesHere<'a> {
        let count = self.messages.len();
        let (from, to) = match self.ends.get(at) {
            Some(end) if at > 0 => (self.ends[at - 1] as usize, *end as usize),
            Some(end) => (self.from, *end as usize),
            None if self.ends.is_empty() => (self.from + at, self.from + at + 1),
            None => (count, count),
        };
        MessagesHere { values: self.messages, from: from.min(count), to: to.min(count) }
    }
}

/// A part that has a message for one of this many of its vertices is sorted by a table of its vertices; another one by comparison.
const DENSE_SHARE: usize = 8;

/// Targets and values of each batch.
type Batches<T> = Vec<(Vec<u32>, Vec<T>)>;

/// Vertices, where the messages of each end, and these.
type MessagesInOrder<T> = (Vec<u32>, Vec<u32>, Vec<T>);

impl Delivered {
    /// Vertices that begin, each with one message.
    pub(crate) fn starting(mut vertices: Vec<u32>) -> Delivered {
        vertices.sort_unstable();
        vertices.dedup();
        let messages = TypedValues::Nulls(vec![(); vertices.len()]);
        Delivered { vertices, ends: Vec::new(), messages }
    }
    /// The messages of the vertices at these places.
    pub(crate) fn range(&self, from: usize, to: usize) -> MessageRange<'_> {
        if self.ends.is_empty() {
            return MessageRange { ends: &[], from, messages: &self.messages };
        }
        let begin = if from == 0 { 0 } else { self.ends[from - 1] as usize };
        MessageRange { ends: &self.ends[from..to], from: begin, messages: &self.messages }
    }
    /// Messages of all batches to the vertices of a part, in the order of the batches.
    pub(crate) fn deliver(batches: Vec<Messages>, combine: Combine, part: PartRange) -> Delivered {
        let count: usize = batches.iter().map(Messages::len).sum();
        let is_sparse = count < part.count as usize / DENSE_SHARE;
        Delivered::ordered(batches, combine, (!is_sparse).then_some(part))
    }
    /// The same by a table of the part's vertices, or by sorting where there is none.
    fn ordered(batches: Vec<Messages>, combine: Combine, table: Option<PartRange>) -> Delivered {
        let batches: Vec<Messages> = batches.into_iter().filter(|batch| !batch.is_empty()).collect();
        macro_rules! typed {
            ($kind:ident, $is_less:expr) => {{
                let pick = |batch: Messages| match batch.values {
                    TypedValues::$kind(values) => (batch.vertices, values),
                    _ => (Vec::new(), Vec::new()),
                };
                let batches = batches.into_iter().map(pick).collect();
                let (vertices, ends, messages) = put_in_order(batches, combine, table, $is_less);
                Delivered { vertices, ends, messages: TypedValues::$kind(messages) }
            }};
        }
        let are = |is_kind: fn(&TypedValues) -> bool| batches.iter().all(|batch| is_kind(&batch.values));
        if are(|values| matches!(values, TypedValues::Nulls(_))) {
            typed!(Nulls, |(), ()| false)
        } else if are(|values| matches!(values, TypedValues::Ints(_))) {
            typed!(Ints, |one: &i64, other: &i64| one < other)
        } else if are(|values| matches!(values, TypedValues::Floats(_))) {
            typed!(Floats, |one: &f64, other: &f64| is_less(&Value::Float(*one), &Value::Float(*other)))
        } else {
            let any = |batch: Messages| (batch.vertices, batch.values.into_any());
            let batches = batches.into_iter().map(any).collect();
            let (vertices, ends, messages) = put_in_order(batches, combine, table, is_less);
            Delivered { vertices, ends, messages: TypedValues::Any(messages) }
        }
    }
    /// Bytes held, without the heap of messages.
    pub(crate) fn bytes(&self) -> usize {
        (self.vertices.capacity() + self.ends.capacity()) * 4
            + self.messages.len() * self.messages.bytes_each()
    }
}

fn is_less(one: &Value, other: &Value) -> bool {
    total_order(one, other) == Ordering::Less
}

fn put_in_order<T: Clone + Default>(
    batches: Batches<T>,
    combine: Combine,
    table: Option<PartRange>,
    is_less: impl Fn(&T, &T) -> bool,
) -> MessagesInOrder<T> {
    match (table, combine) {
        // Values of no size are all the same: it is enough to know who has one.
        (Some(part), Combine::Least) if size_of::<T>() == 0 => marked(&batches, part),
        (Some(part), Combine::Least) => least(batches, part, is_less),
        (Some(part), Combine::Each) => counted(batches, part),
        (None, combine) => sorted(batches, combine, is_less),
    }
}

/// One message for each vertex that has any, by a bit for each.
fn marked<T: Clone + Default>(
    batches: &Batches<T>,
    PartRange { first, count }: PartRange,
) -> MessagesInOrder<T> {
    let mut words = vec![0_u64; (count as usize).div_ceil(64)];
    for to in batches.iter().flat_map(|(targets, _)| targets) {
        let at = to - first;
        debug_assert!(at < count, "a message goes to a vertex of its part");
        words[at as usize / 64] |= 1 << (at % 64);
    }
    let marks = words.iter().map(|word| word.count_ones() as usize).sum();
    let mut vertices = Vec::with_capacity(marks);
    for (at, mut word) in words.into_iter().enumerate() {
        while word != 0 {
            vertices.push(first + at as u32 * 64 + word.trailing_zeros());
            word &= word - 1;
        }
    }
    let messages = vec![T::default(); vertices.len()];
    (vertices, Vec::new(), messages)
}

/// The least message of each vertex, by a table of where it is.
fn least<T: Default>(
    batches: Batches<T>,
    PartRange { first, count }: PartRange,
    is_less: impl Fn(&T, &T) -> bool,
) -> MessagesInOrder<T> {
    const NOWHERE: u32 = u32::MAX;
    let (mut places, mut found) = (vec![NOWHERE; count as usize], Vec::<T>::new());
    for (targets, values) in batches {
        for (to, message) in targets.into_iter().zip(values) {
            let Some(place) = places.get_mut((to - first) as usize) else {
                debug_assert!(false, "a message goes to a vertex of its part");
                continue;
            };
            if *place == NOWHERE {
                *place = found.len() as u32;
                found.push(message);
            } else if is_less(&message, &found[*place as usize]) {
                found[*place as usize] = message;
            }
        }
    }
    let (mut vertices, mut messages) = (Vec::with_capacity(found.len()), Vec::with_capacity(found.len()));
    for (at, place) in places.into_iter().enumerate().filter(|(_, place)| *place != NOWHERE) {
        vertices.push(first + at as u32);
        messages.push(std::mem::take(&mut found[place as usize]));
    }
    (vertices, Vec::new(), messages)
}

/// Each message, by counts of those of each vertex.
fn counted<T: Clone + Default>(
    batches: Batches<T>,
    PartRange { first, count }: PartRange,
) -> MessagesInOrder<T> {
    let mut next = vec![0_u32; count as usize];
    for to in batches.iter().flat_map(|(targets, _)| targets) {
        debug_assert!(*to - first < count, "a message goes to a vertex of its part");
        next[(*to - first) as usize] += 1;
    }
    let (mut vertices, mut ends, mut end) = (Vec::new(), Vec::new(), 0);
    for (at, next) in next.iter_mut().enumerate().filter(|(_, next)| **next > 0) {
        let begin = end;
        end += *next;
        vertices.push(first + at as u32);
        ends.push(end);
        *next = begin;
    }
    let mut messages = vec![T::default(); end as usize];
    for (targets, values) in batches {
        for (to, message) in targets.into_iter().zip(values) {
            let next = &mut next[(to - first) as usize];
            messages[*next as usize] = message;
            *next += 1;
        }
    }
    (vertices, ends, messages)
}

/// The obvious way: all messages sorted by their targets.
fn sorted<T>(batches: Batches<T>, combine: Combine, is_less: impl Fn(&T, &T) -> bool) -> MessagesInOrder<T> {
    let pairs = batches.into_iter().flat_map(|(targets, values)| targets.into_iter().zip(values));
    let mut all: Vec<(u32, T)> = pairs.collect();
    all.sort_by_key(|(to, _)| *to);
    let (mut vertices, mut ends, mut messages) = (Vec::new(), Vec::new(), Vec::<T>::new());
    for (to, message) in all {
        let is_new = vertices.last() != Some(&to);
        if is_new {
            vertices.push(to);
            ends.push(messages.len() as u32);
        }
        match (combine, messages.last_mut()) {
            (Combine::Least, Some(least)) if !is_new => {
                if is_less(&message, least) {
                    *least = message;
                }
            }
            _ => messages.push(message),
        }
        if let Some(end) = ends.last_mut() {
            *end = messages.len() as u32;
        }
    }
    (vertices, ends, messages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::chance::Chance;

    /// A message of one of `kinds` types.
    fn message(chance: &mut Chance, kinds: u64) -> Value {
        match chance.below(kinds) {
            0 => Value::Int(chance.below(5) as i64),
            1 => Value::Null,
            2 => Value::Float(chance.float()),
            _ => Value::string(format!("{}", chance.below(9))),
        }
    }

    fn told(part: &Delivered) -> String {
        let range = part.range(0, part.vertices.len());
        let each = |(at, vertex)| {
            let mut here = Vec::new();
            let kept = range.of(at).each(|value| {
                here.push(value.clone());
                Ok::<(), ()>(())
            });
            assert!(kept.is_ok() && here.len() == range.of(at).len());
            (vertex, here)
        };
        let told = part.vertices.iter().copied().enumerate().map(each);
        format!("{:?}", told.collect::<Vec<(u32, Vec<Value>)>>())
    }

    /// By table and by counts, as columns, the result equals sorting values of any type.
    #[test]
    fn messages_come_in_the_same_order_however_they_are_put_in_it() {
        let mut chance = Chance::seeded(11);
        for (first, count, messages) in
            [(0, 1, 0), (0, 1, 9), (64, 64, 5), (1_000, 300, 40), (500, 100, 3_000)]
        {
            for round in 0..60 {
                let kinds = 1 + round % 4;
                let mut batches: Vec<Messages> = vec![Messages::default(); 3];
                for batch in &mut batches {
                    // All null in some, and all floats.
                    let only = chance.below(3);
                    for _ in 0..messages {
                        let to = first + chance.below(u64::from(count)) as u32;
                        batch.push(
                            to,
                            match (kinds, only) {
                                (2, _) => Value::Null,
                                (3, 0) => Value::Float(chance.float() - 0.5),
                                _ => message(&mut chance, kinds),
                            },
                        );
                    }
                }
                let part = PartRange { first, count };
                for combine in [Combine::Least, Combine::Each] {
                    let any =
                        batches.clone().into_iter().map(|batch| (batch.vertices, batch.values.into_any()));
                    let (vertices, ends, values) = sorted(any.collect(), combine, is_less);
                    let twin = told(&Delivered { vertices, ends, messages: TypedValues::Any(values) });
                    assert_eq!(told(&Delivered::ordered(batches.clone(), combine, Some(part))), twin);
                    assert_eq!(told(&Delivered::ordered(batches.clone(), combine, None)), twin);
                }
            }
        }
    }

    /// Each message is in the part of its target, in the order in which it came.
    #[test]
    fn messages_are_cut_by_their_targets() {
        let mut chance = Chance::seeded(12);
        for bound in [1, 20_000, 3_000_000_u32] {
            let cut = Cut::new(bound);
            for kinds in 1..=4 {
                let mut messages = Messages::default();
                (0..500).for_each(|_| {
                    messages.push(chance.below(u64::from(bound)) as u32, message(&mut chance, kinds));
                });
                let all: Vec<_> = (0..messages.len()).map(|at| messages.get(at)).collect();
                let parts = cut.cut(&mut messages);
                assert!(messages.is_empty() && parts.len() == cut.parts());
                for (at, part) in parts.iter().enumerate() {
                    let PartRange { first, count } = cut.range(at);
                    let own = |vertex: u32| (first..first + count).contains(&vertex);
                    let wanted: Vec<_> = all.iter().filter(|(to, _)| own(to.dense())).collect();
                    let found: Vec<_> = (0..part.len()).map(|at| part.get(at)).collect();
                    assert_eq!(format!("{found:?}"), format!("{wanted:?}"));
                }
            }
        }
    }

    #[test]
    fn each_vertex_begins_with_null() {
        let part = Delivered::starting(vec![9, 3, 9]);
        assert_eq!(told(&part), "[(3, [Null]), (9, [Null])]");
        assert!(part.range(1, 2).of(0).len() == 1 && MessageRange::NONE.of(0).is_empty());
    }
}
