//! Every bound of the room, by name.

/// Bytes of one program's text.
pub const TEXT_BYTES_MAX: usize = 16 << 20;
/// Columns of a relation.
pub const ARITY_MAX: usize = 16;
/// Variables of one rule: the engine keeps them in a row of this many words.
pub const VARIABLES_MAX: usize = 64;
/// Rules of one program.
pub const RULES_MAX: usize = 10_000;
/// Parentheses in one another.
pub const DEPTH_MAX: usize = 100;
/// Operators of one rule.
pub const OPERATORS_MAX: usize = 1_000;
