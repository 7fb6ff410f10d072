//! Where in the request text something stands.

use std::ops::Range;

/// A range of bytes of the request text, end excluded; empty at 0 for what came as bytecode.
///
/// All spans compare equal: two traversals are equal when they mean the same, wherever they were written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// A span from byte `start` to byte `end` (excluded). Texts are shorter than 4 GiB, see `TEXT_BYTES_MAX`.
    pub fn new(start: usize, end: usize) -> Span {
        Span { start: start as u32, end: end as u32 }
    }
    /// The smallest span that covers both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
    /// The span as a range of byte positions.
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl PartialEq for Span {
    fn eq(&self, _: &Span) -> bool {
        true
    }
}

impl Eq for Span {}
