//! Every bound of the crate, by name.

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
/// Literals of one rule's body: an evaluation goes down one step of its stack for each.
pub const LITERALS_MAX: usize = 256;
/// Copies of one relation that a question may make, one for each set of bound columns; one that needs more is computed whole.
pub const COPIES_MAX: usize = 64;
/// Rules that a question may make of a program's; past it the program is evaluated as it is.
pub const FOCUSED_RULES_MAX: usize = 10 * RULES_MAX;
/// Literals and their columns in the rules that a question makes; past it the program is evaluated as it is.
pub const FOCUSED_TERMS_MAX: usize = 4 << 20;
/// Rounds until it is known what a question needs whole; past it the program is evaluated as it is.
pub const FOCUS_ROUNDS_MAX: usize = 16;

/// Relations of a program up to which a name that is not known is compared with all of them: one of them may be meant.
pub const COMPARED_NAMES_MAX: usize = 1_000;
