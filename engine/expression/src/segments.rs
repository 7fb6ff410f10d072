//! A list that grows without ever being copied as a whole.
//!
//! A full `Vec` moves all its entries into one twice as large: of a list of a hundred megabytes that takes tens of milliseconds, in which its
//! executor does no other work. So the entries lie in segments: a first one that grows as a `Vec` does, then others of the same fixed size.
//!
//! Invariant: a segment is only followed by another once it holds [`SEGMENT`] entries. Cost: a comparison and, behind the first segment,
//! two more steps for an access.

use std::ops::{Index, IndexMut};

/// Entries of a segment: a hundred kilobytes or some, of which a copy takes microseconds.
pub const SEGMENT: usize = 1 << 13;

/// A list in segments.
#[derive(Clone, Debug)]
pub struct Segments<T> {
    first: Vec<T>,
    /// Behind the first; a box, since most lists are short and many.
    more: Option<Box<More<T>>>,
}

#[derive(Clone, Debug)]
struct More<T>(Vec<Vec<T>>);

impl<T> Default for Segments<T> {
    fn default() -> Segments<T> {
        Segments { first: Vec::new(), more: None }
    }
}

impl<T> Segments<T> {
    /// Entries held.
    pub fn len(&self) -> usize {
        match &self.more {
            None => self.first.len(),
            Some(more) => more.0.len() * SEGMENT + more.0.last().map_or(0, Vec::len),
        }
    }

    /// Holds it no entry?
    pub fn is_empty(&self) -> bool {
        self.first.is_empty()
    }

    /// One more at the end.
    #[inline]
    pub fn push(&mut self, entry: T) {
        if self.first.len() < SEGMENT {
            return self.first.push(entry);
        }
        self.push_behind(entry);
    }

    fn push_behind(&mut self, entry: T) {
        let more = &mut self.more.get_or_insert_with(|| Box::new(More(Vec::new()))).0;
        match more.last_mut() {
            Some(last) if last.len() < SEGMENT => last.push(entry),
            last => {
                debug_assert_eq!(self.first.len(), SEGMENT, "a segment is full before the next begins");
                debug_assert!(
                    last.is_none_or(|last| last.len() == SEGMENT),
                    "a segment is full before the next begins"
                );
                let mut next = Vec::with_capacity(SEGMENT);
                next.push(entry);
                more.push(next);
            }
        }
    }

    /// Adds entries, up to `len` in all.
    pub fn grow_to(&mut self, len: usize, mut make: impl FnMut() -> T) {
        (self.len()..len).for_each(|_| self.push(make()));
    }

    /// The last entry, taken out.
    pub fn pop(&mut self) -> Option<T> {
        let Some(more) = &mut self.more else { return self.first.pop() };
        let entry = more.0.last_mut().and_then(Vec::pop);
        if more.0.last().is_some_and(Vec::is_empty) {
            more.0.pop();
        }
        if more.0.is_empty() {
            self.more = None;
        }
        entry.or_else(|| self.first.pop())
    }

    /// The entries in their order.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(self.more.iter().flat_map(|more| more.0.iter().flatten()))
    }

    /// Bytes of the entries themselves and of the room for more.
    pub fn bytes(&self) -> usize {
        let more = self.more.as_ref().map_or(0, |more| more.0.len() * (SEGMENT * size_of::<T>() + 24));
        self.first.capacity() * size_of::<T>() + more
    }
}

impl<T> Index<usize> for Segments<T> {
    type Output = T;

    #[inline]
    fn index(&self, at: usize) -> &T {
        if at < SEGMENT {
            return &self.first[at];
        }
        let more = &self.more.as_ref().expect("the first segment holds no such entry").0;
        &more[at / SEGMENT - 1][at % SEGMENT]
    }
}

impl<T> IndexMut<usize> for Segments<T> {
    #[inline]
    fn index_mut(&mut self, at: usize) -> &mut T {
        if at < SEGMENT {
            return &mut self.first[at];
        }
        let more = &mut self.more.as_mut().expect("the first segment holds no such entry").0;
        &mut more[at / SEGMENT - 1][at % SEGMENT]
    }
}

impl<T> FromIterator<T> for Segments<T> {
    fn from_iter<I: IntoIterator<Item = T>>(entries: I) -> Segments<T> {
        let mut segments = Segments::default();
        entries.into_iter().for_each(|entry| segments.push(entry));
        segments
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::chance::Chance;

    #[test]
    fn a_list_in_segments_is_a_list() {
        let seed = Chance::system_seed();
        println!("seed {seed}");
        let mut chance = Chance::seeded(seed);
        for _ in 0..20 {
            let (mut segments, mut list) = (Segments::default(), Vec::new());
            for _ in 0..chance.below(12) {
                match chance.below(3) {
                    0 => (0..chance.below(2 * SEGMENT as u64))
                        .for_each(|_| assert_eq!(segments.pop(), list.pop(), "seed {seed}")),
                    1 => {
                        let len = list.len() + chance.index(SEGMENT);
                        list.resize(len, 7);
                        segments.grow_to(len, || 7);
                    }
                    _ => (0..chance.below(3 * SEGMENT as u64)).for_each(|entry| {
                        segments.push(entry);
                        list.push(entry);
                    }),
                }
                assert_eq!(segments.len(), list.len(), "seed {seed}");
                for _ in 0..100.min(list.len()) {
                    let at = chance.index(list.len());
                    assert_eq!(segments[at], list[at], "seed {seed}");
                    segments[at] += 1;
                    list[at] += 1;
                }
            }
            assert!(segments.iter().eq(&list), "seed {seed}");
        }
    }
}
