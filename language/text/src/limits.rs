//! Every limit of this crate, by name and with its reason.

/// Names further away than this many edits are not suggested: they would be guesses, not corrections.
pub const SUGGESTION_EDITS_MAX: usize = 2;

/// Longest word that is compared with others for a suggestion; the comparison costs the product of the lengths.
pub const SUGGESTION_CHARS_MAX: usize = 64;

/// Widest piece of a line shown in a rendered error, in characters; longer lines are cut around the span.
pub const RENDER_LINE_CHARS_MAX: usize = 120;
