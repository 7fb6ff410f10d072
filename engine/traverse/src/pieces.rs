//! A queue in pieces: it grows, moves and is dropped a piece at a time, so that none of this takes long however many it holds.

use crate::error::Outcome;
use execute::watch;
use std::collections::VecDeque;

/// Elements of one piece.
const PIECE: usize = 1_024;

/// A queue of any length. Invariant: all pieces behind the first are full but the last.
#[derive(Clone, Debug)]
pub struct PieceQueue<T> {
    first: VecDeque<T>,
    rest: VecDeque<VecDeque<T>>,
}

impl<T> Default for PieceQueue<T> {
    fn default() -> PieceQueue<T> {
        PieceQueue { first: VecDeque::new(), rest: VecDeque::new() }
    }
}

impl<T> PieceQueue<T> {
    /// One more at its end.
    pub fn push(&mut self, element: T) {
        match self.rest.back_mut() {
            None if self.first.len() < PIECE => self.first.push_back(element),
            Some(last) if last.len() < PIECE => last.push_back(element),
            _ => {
                let mut piece = VecDeque::with_capacity(PIECE);
                piece.push_back(element);
                self.rest.push_back(piece);
            }
        }
    }
    /// Takes the first.
    pub fn pop(&mut self) -> Option<T> {
        if self.first.is_empty() {
            self.first = self.rest.pop_front()?;
        }
        self.first.pop_front()
    }
    /// Takes a piece from its front; none of nothing.
    pub fn pop_piece(&mut self) -> Option<VecDeque<T>> {
        if self.first.is_empty() {
            return self.rest.pop_front();
        }
        let next = self.rest.pop_front().unwrap_or_default();
        Some(std::mem::replace(&mut self.first, next))
    }
    /// How many there are.
    pub fn len(&self) -> usize {
        let last = self.rest.back().map_or(0, VecDeque::len);
        self.first.len() + self.rest.len().saturating_sub(1) * PIECE + last
    }
    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.first.is_empty() && self.rest.is_empty()
    }
    /// The element at this place.
    ///
    /// # Panics
    /// There are fewer.
    pub fn at_mut(&mut self, at: usize) -> &mut T {
        let first = self.first.len();
        match at.checked_sub(first) {
            None => &mut self.first[at],
            Some(behind) => &mut self.rest[behind / PIECE][behind % PIECE],
        }
    }
    /// All, from the first on.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.first.iter().chain(self.rest.iter().flatten())
    }
    /// All behind its own.
    ///
    /// # Errors
    /// The query is over.
    pub fn append(&mut self, mut others: PieceQueue<T>) -> Outcome<()> {
        if self.is_empty() {
            *self = others;
            return Ok(());
        }
        while let Some(piece) = others.pop_piece() {
            watch::spend(piece.len() as u64)?;
            self.extend(piece);
        }
        Ok(())
    }
    /// The first.
    pub fn first_mut(&mut self) -> Option<&mut T> {
        self.first.front_mut().or_else(|| self.rest.front_mut()?.front_mut())
    }
    /// All, one behind the other.
    ///
    /// # Errors
    /// The query is over.
    pub fn into_vec(mut self) -> Outcome<Vec<T>> {
        let mut all = Vec::with_capacity(self.len());
        while let Some(piece) = self.pop_piece() {
            watch::spend(piece.len() as u64)?;
            all.extend(piece);
        }
        Ok(all)
    }
    /// Drops a piece; true if more are left.
    pub fn drop_some(&mut self) -> bool {
        self.pop_piece().is_some()
    }
}

impl<T> Drop for PieceQueue<T> {
    /// Between the pieces other queries run.
    fn drop(&mut self) {
        while let Some(piece) = self.rest.pop_back() {
            // Over or not: it gives way.
            let _ = watch::spend(piece.len() as u64);
        }
    }
}

impl<T> Extend<T> for PieceQueue<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, elements: I) {
        elements.into_iter().for_each(|element| self.push(element));
    }
}

impl<T> FromIterator<T> for PieceQueue<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> PieceQueue<T> {
        let mut all = PieceQueue::default();
        all.extend(elements);
        all
    }
}

impl<T> IntoIterator for PieceQueue<T> {
    type Item = T;
    type IntoIter = IntoIter<T>;

    fn into_iter(self) -> IntoIter<T> {
        IntoIter(self)
    }
}

/// Takes one after the other.
pub struct IntoIter<T>(PieceQueue<T>);

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.0.pop()
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.len(), Some(self.0.len()))
    }
}

/// The same elements, and each is counted as work: once the query is over there are none any more, and what was made of them is not used.
pub(crate) fn metered<I: IntoIterator>(elements: I) -> Metered<I::IntoIter> {
    Metered(elements.into_iter())
}

/// See [`metered`].
pub(crate) struct Metered<I>(I);

impl<I: Iterator> Iterator for Metered<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        watch::spend(1).ok()?;
        self.0.next()
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::chance::Chance;

    /// Its twin: the library's queue.
    #[test]
    fn it_is_a_queue() {
        let seed = Chance::system_seed();
        println!("seed {seed}");
        let mut chance = Chance::seeded(seed);
        for _ in 0..20 {
            let (mut pieces, mut twin) = (PieceQueue::default(), VecDeque::new());
            for step in 0..60 {
                let count = chance.index(3 * PIECE / 2);
                match chance.below(7) {
                    0..3 => (0..count).for_each(|at| {
                        pieces.push((step, at));
                        twin.push_back((step, at));
                    }),
                    3 => (0..count).for_each(|_| assert_eq!(pieces.pop(), twin.pop_front(), "seed {seed}")),
                    4 => {
                        let popped = pieces.pop_piece().map(Vec::from);
                        let count = popped.as_ref().map_or(0, Vec::len);
                        assert_eq!(popped.unwrap_or_default(), twin.drain(..count).collect::<Vec<_>>());
                    }
                    5 => {
                        pieces.append((0..count).map(|at| (step, at)).collect()).unwrap();
                        twin.extend((0..count).map(|at| (step, at)));
                    }
                    _ => assert_eq!(pieces.first_mut(), twin.front_mut(), "seed {seed}"),
                }
                assert_eq!((pieces.len(), pieces.is_empty()), (twin.len(), twin.is_empty()), "seed {seed}");
                if let Some(at) = (!twin.is_empty()).then(|| chance.index(twin.len())) {
                    assert_eq!(*pieces.at_mut(at), twin[at], "seed {seed}");
                }
            }
            assert!(pieces.iter().eq(twin.iter()), "seed {seed}");
            assert_eq!(pieces.into_vec().unwrap(), Vec::from(twin), "seed {seed}");
        }
    }
}
