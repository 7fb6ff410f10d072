//! Every bound of the crate, by name.

/// Facts of one relation: rows, and positions in lists of twice as many, are numbers of 32 bits.
pub const FACTS_MAX: usize = 1 << 30;
/// Values that are no small number and no vertex: their words have 31 bits.
pub const VALUES_MAX: usize = 1 << 30;
/// A fact's rank; the evaluation begins anew before one passes it.
pub(crate) const RANK_MAX: u32 = 1 << 30;
/// Derivations of one fact that are counted.
pub(crate) const SUPPORT_MAX: u32 = 1 << 28;
/// Facts whose consequences are found before any is written.
pub(crate) const BLOCK_FACTS: usize = 64;
/// Facts that are looked up together: as many as a processor waits for at once.
pub(crate) const WARM_FACTS: usize = 16;
/// Words of consequences that wait to be written down before a block is cut short.
pub(crate) const BLOCK_WORDS: usize = 1 << 14;
/// Facts read, or cache lines of text made, between two checks from inside a rule.
pub(crate) const LOOK_EVERY_TURNS: u64 = 1 << 11;
/// Bytes of a value of the table beside its content: itself and its slot.
pub(crate) const VALUE_BYTES: usize = 40;
/// Literals of a reduced program that is kept for the next question: a longer one is reduced anew each time.
pub(crate) const FOCUSED_KEPT_LITERALS_MAX: usize = 1 << 10;
/// Facts between two checks for cancellation, at most.
pub(crate) const LOOK_EVERY: usize = 4_096;
/// Facts before the first check; each later one comes after twice as many. A program that is only tried for a short time is ended soon, and a long one
/// counts its bytes seldom.
pub(crate) const FIRST_LOOK: usize = 256;
