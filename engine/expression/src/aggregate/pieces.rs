//! The values of one group in order of arrival, concatenated only on demand, a piece at a time.
//!
//! A list of a hundred million values that doubled its room whenever it is full, or took over another's at once, would hold its executor for
//! tenths of a second each time.

use crate::segments::SEGMENT;
use std::collections::VecDeque;

/// Values, each piece behind the one before.
#[derive(Clone, Debug)]
pub(super) struct Pieces<T> {
    /// The values concatenated so far.
    gathered: Vec<T>,
    full: VecDeque<Vec<T>>,
    last: Vec<T>,
}

impl<T> Default for Pieces<T> {
    fn default() -> Pieces<T> {
        Pieces { gathered: Vec::new(), full: VecDeque::new(), last: Vec::new() }
    }
}

impl<T> Pieces<T> {
    #[inline]
    pub(super) fn push(&mut self, value: T) {
        if self.last.len() == SEGMENT {
            self.full.push_back(std::mem::replace(&mut self.last, Vec::with_capacity(SEGMENT)));
        }
        self.last.push(value);
    }

    /// All of another behind these.
    pub(super) fn append(&mut self, mut other: Pieces<T>) {
        if other.full.is_empty() && other.gathered.is_empty() {
            return other.last.into_iter().for_each(|value| self.push(value));
        }
        let last = std::mem::replace(&mut self.last, other.last);
        self.full.extend([last, other.gathered].into_iter().filter(|piece| !piece.is_empty()));
        self.full.append(&mut other.full);
    }

    /// Puts one more piece together; true once all are.
    pub(super) fn gather(&mut self) -> bool {
        if self.full.is_empty() && self.gathered.is_empty() {
            self.gathered = std::mem::take(&mut self.last);
            return true;
        }
        if self.gathered.is_empty() {
            self.gathered.reserve_exact(self.full.iter().map(Vec::len).sum::<usize>() + self.last.len());
        }
        match self.full.pop_front() {
            Some(piece) => self.gathered.extend(piece),
            None => self.gathered.append(&mut self.last),
        }
        self.full.is_empty() && self.last.is_empty()
    }

    /// The whole list.
    pub(super) fn into_list(mut self) -> Vec<T> {
        while !self.gather() {}
        self.gathered
    }

    /// Bytes of the values themselves and of the room for more.
    pub(super) fn bytes(&self) -> usize {
        size_of::<Pieces<T>>()
            + (self.gathered.capacity() + self.full.len() * SEGMENT + self.last.capacity()) * size_of::<T>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::chance::Chance;

    #[test]
    fn pieces_are_a_list() {
        let seed = Chance::system_seed();
        println!("seed {seed}");
        let mut chance = Chance::seeded(seed);
        let mut longest = 0;
        for _ in 0..60 {
            let (mut pieces, mut list) = (Pieces::default(), Vec::new());
            for _ in 0..chance.below(4) {
                let (mut more, len) = (Pieces::default(), chance.below(2) * chance.below(3 * SEGMENT as u64));
                for value in 0..len {
                    let to = if len % 2 == 0 { &mut more } else { &mut pieces };
                    to.push(value);
                    list.push(value);
                }
                if chance.happens(0.2) {
                    more.gather();
                }
                pieces.append(more);
            }
            longest = longest.max(list.len());
            assert_eq!(pieces.into_list(), list, "seed {seed}");
        }
        assert!(longest > SEGMENT, "seed {seed}");
    }
}
