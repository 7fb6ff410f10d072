//! The states of one run, by vertex, in pages: a run that touches few vertices holds few pages.
//!
//! Invariant: a state is out while a worker has it, and null here; each vertex is in one batch of a round, so no other worker takes it.

use crate::program::heap_bytes;
use model::Value;

/// Vertices of one page.
pub(crate) const PAGE_VERTICES: usize = 256;

type StatePage = Box<[Value]>;

#[derive(Default)]
pub(crate) struct States {
    pages: Vec<Option<StatePage>>,
    /// Of pages, and on the heap behind values.
    bytes: usize,
}

impl States {
    fn slot(&mut self, vertex: u32) -> Option<&mut Value> {
        let page = self.pages.get_mut(vertex as usize / PAGE_VERTICES)?.as_mut()?;
        page.get_mut(vertex as usize % PAGE_VERTICES)
    }
    /// Takes the states of these vertices out.
    pub(crate) fn take(&mut self, vertices: &[u32], into: &mut Vec<Value>) {
        into.clear();
        if self.pages.is_empty() {
            return into.resize(vertices.len(), Value::Null);
        }
        for vertex in vertices {
            let state = self.slot(*vertex).map_or(Value::Null, std::mem::take);
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
            let page = self.pages[number].get_or_insert_with(|| {
                self.bytes += PAGE_VERTICES * size_of::<Value>();
                vec![Value::Null; PAGE_VERTICES].into_boxed_slice()
            });
            page[*vertex as usize % PAGE_VERTICES] = state;
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
        let held = page.iter().enumerate().filter(|(_, state)| !state.is_null());
        held.map(|(at, _)| (first + at) as u32).collect()
    }
    /// Bytes held.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}
