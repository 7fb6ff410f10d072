//! Where in a text something stands.

use std::ops::Range;

/// A range of bytes of a text, end excluded; empty at 0 for parts that came without a text.
///
/// All spans compare equal: two syntax trees are equal when they mean the same, wherever they were written.
/// Compare [`Span::range`] to compare places.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// A span from byte `start` to byte `end` (excluded). Texts are shorter than 4 GiB, each language has its limit.
    pub fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }

    /// The same span in a text with `bytes` more bytes in front.
    #[must_use]
    pub fn shifted(self, bytes: usize) -> Span {
        Span { start: self.start + bytes as u32, end: self.end + bytes as u32 }
    }

    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }

    /// The span as a range of byte positions.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }

    /// The text under the span; empty when the span does not fit the text.
    pub fn text(self, text: &str) -> &str {
        text.get(self.range()).unwrap_or("")
    }
}

impl PartialEq for Span {
    fn eq(&self, _: &Span) -> bool {
        true
    }
}

impl Eq for Span {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_move_grow_and_name_their_text() {
        let (word, more) = (Span::new(2, 4), Span::new(7, 9));
        assert_eq!(word.shifted(5).range(), 7..9);
        assert_eq!((word.to(more).range(), more.to(word).range()), (2..9, 2..9));
        assert_eq!((word.text("abcdef"), word.text("abc"), more.text("")), ("cd", "", ""));
        // Wherever two stand, they are equal.
        assert_eq!(word, more);
    }
}
