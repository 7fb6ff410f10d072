//! The states of one run, by vertex, in pages: a run that touches few vertices holds few pages. Pages of truth values and of integers are made and
//! dropped as such: a run over two hops of a hub touches a few vertices of each of hundreds of pages.
//!
//! Invariant: a state is out while a worker has it, and null here; each vertex is in one batch of a round, so no other worker takes it.

use crate::program::heap_bytes;
use model::Value;

/// Vertices of one page.
pub(crate) const PAGE_VERTICES: usize = 256;

const _: () = assert!(PAGE_VERTICES.is_multiple_of(64));

/// The states of a page.
enum StatePage {
    /// Truth values: whether a vertex was met.
    Bools {
        held: PageBits,
        truths: PageBits,
    },
    /// Integers, as distances and counts are.
    Ints {
        held: PageBits,
        values: Box<[i64; PAGE_VERTICES]>,
    },
    Any(Box<[Value]>),
}

/// A bit for each vertex of a page.
#[derive(Clone, Copy, Default)]
struct PageBits([u64; PAGE_VERTICES / 64]);

impl PageBits {
    fn get(self, at: usize) -> bool {
        self.0[at / 64] >> (at % 64) & 1 == 1
    }
    fn set(&mut self, at: usize, to: bool) {
        let bit = 1 << (at % 64);
        self.0[at / 64] = if to { self.0[at / 64] | bit } else { self.0[at / 64] & !bit };
    }
}

impl StatePage {
    /// For a first state.
    fn of(state: &Value) -> StatePage {
        let (held, truths) = (PageBits::default(), PageBits::default());
        match state {
            Value::Bool(_) => StatePage::Bools { held, truths },
            Value::Int(_) => StatePage::Ints { held, values: Box::new([0; PAGE_VERTICES]) },
            _ => StatePage::Any(vec![Value::Null; PAGE_VERTICES].into_boxed_slice()),
        }
    }
    /// Bytes behind it, without those behind its values.
    fn bytes(&self) -> usize {
        match self {
            StatePage::Bools { .. } => 0,
            StatePage::Ints { .. } => PAGE_VERTICES * size_of::<i64>(),
            StatePage::Any(_) => PAGE_VERTICES * size_of::<Value>(),
        }
    }
    fn holds(&self, at: usize) -> bool {
        match self {
            StatePage::Bools { held, .. } | StatePage::Ints { held, .. } => held.get(at),
            StatePage::Any(values) => !values[at].is_null(),
        }
    }
    fn take(&mut self, at: usize) -> Value {
        if !self.holds(at) {
            return Value::Null;
        }
        match self {
            StatePage::Bools { held, truths } => {
                held.set(at, false);
                Value::Bool(truths.get(at))
            }
            StatePage::Ints { held, values } => {
                held.set(at, false);
                Value::Int(values[at])
            }
            StatePage::Any(values) => std::mem::take(&mut values[at]),
        }
    }
    fn put(&mut self, at: usize, state: Value) {
        match (&mut *self, state) {
            (StatePage::Bools { held, truths }, Value::Bool(truth)) => {
                held.set(at, true);
                truths.set(at, truth);
            }
            (StatePage::Ints { held, values }, Value::Int(int)) => {
                held.set(at, true);
                values[at] = int;
            }
            (StatePage::Any(values), state) => values[at] = state,
            (_, state) => {
                let mut values: Vec<Value> = (0..PAGE_VERTICES).map(|at| self.take(at)).collect();
                values[at] = state;
                *self = StatePage::Any(values.into_boxed_slice());
            }
        }
    }
}

#[derive(Default)]
pub(crate) struct States {
    pages: Vec<Option<StatePage>>,
    /// Of pages, and on the heap behind values.
    bytes: usize,
}

impl States {
    fn page(&mut self, vertex: u32) -> Option<&mut StatePage> {
        self.pages.get_mut(vertex as usize / PAGE_VERTICES)?.as_mut()
    }
    /// Takes the states of these vertices out.
    pub(crate) fn take(&mut self, vertices: &[u32], into: &mut Vec<Value>) {
        into.clear();
        if self.pages.is_empty() {
            return into.resize(vertices.len(), Value::Null);
        }
        for vertex in vertices {
            let at = *vertex as usize % PAGE_VERTICES;
            let state = self.page(*vertex).map_or(Value::Null, |page| page.take(at));
            self.bytes -= heap_bytes(&state);
            into.push(state);
        }
    }
    /// Puts them back.
    pub(crate) fn put(&mut self, vertices: &[u32], states: &mut Vec<Value>) {
        for (vertex, state) in vertices.iter().zip(states.drain(..)) {
            if state.is_null() {
                continue;
            }
            self.bytes += heap_bytes(&state);
            let number = *vertex as usize / PAGE_VERTICES;
            if number >= self.pages.len() {
                let before = self.pages.capacity();
                self.pages.resize_with(number + 1, || None);
                self.bytes += (self.pages.capacity() - before) * size_of::<Option<StatePage>>();
            }
            let page = &mut self.pages[number];
            let before = page.as_ref().map_or(0, StatePage::bytes);
            let page = page.get_or_insert_with(|| StatePage::of(&state));
            page.put(*vertex as usize % PAGE_VERTICES, state);
            self.bytes = self.bytes + page.bytes() - before;
        }
    }
    /// Pages that hold something, by number.
    pub(crate) fn pages(&self) -> Vec<u32> {
        let held = self.pages.iter().enumerate().filter(|(_, page)| page.is_some());
        held.map(|(number, _)| number as u32).collect()
    }
    /// The vertices of a page that have a state.
    pub(crate) fn vertices(&self, page: u32) -> Vec<u32> {
        let first = page as usize * PAGE_VERTICES;
        let Some(Some(page)) = self.pages.get(page as usize) else { return Vec::new() };
        (0..PAGE_VERTICES).filter(|at| page.holds(*at)).map(|at| (first + at) as u32).collect()
    }
    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use world::chance::Chance;

    /// States of all kinds, put and taken, beside a map.
    #[test]
    fn states_are_those_of_a_map() {
        let seed = Chance::system_seed();
        let mut chance = Chance::seeded(seed);
        for _ in 0..50 {
            let (mut states, mut twin) = (States::default(), BTreeMap::new());
            let kinds = 2 + chance.below(4);
            for _ in 0..40 {
                let mut vertices: Vec<u32> =
                    (0..chance.below(20)).map(|_| chance.below(4 * PAGE_VERTICES as u64) as u32).collect();
                vertices.sort_unstable();
                vertices.dedup();
                let mut taken = Vec::new();
                states.take(&vertices, &mut taken);
                let right: Vec<Value> =
                    vertices.iter().map(|vertex| twin.remove(vertex).unwrap_or(Value::Null)).collect();
                assert_eq!(format!("{taken:?}"), format!("{right:?}"), "seed {seed}");
                for (vertex, state) in vertices.iter().zip(&mut taken) {
                    *state = match chance.below(kinds) {
                        0 => Value::Null,
                        1 => Value::Bool(chance.happens(0.5)),
                        2 => Value::Int(chance.next_u64() as i64),
                        3 => Value::Float(0.5),
                        _ => Value::string("a text on the heap"),
                    };
                    if !state.is_null() {
                        twin.insert(*vertex, state.clone());
                    }
                }
                states.put(&vertices, &mut taken);
                let held: Vec<u32> =
                    states.pages().into_iter().flat_map(|page| states.vertices(page)).collect();
                assert!(held.iter().eq(twin.keys()), "seed {seed}");
                let on_heap: usize = twin.values().map(heap_bytes).sum();
                let of_pages: usize = states.pages.iter().flatten().map(StatePage::bytes).sum();
                let all = states.pages.capacity() * size_of::<Option<StatePage>>() + of_pages + on_heap;
                assert_eq!(states.bytes(), all, "seed {seed}");
            }
        }
    }
}
