//! Every bound of the room, by name.

/// Facts of one relation: rows, and places in lists of twice as many, are numbers of 32 bits.
pub const FACTS_MAX: usize = 1 << 30;
/// Values that are no small number and no vertex: their words have 31 bits.
pub const VALUES_MAX: usize = 1 << 30;
/// A fact's rank; the evaluation begins anew before one passes it.
pub(crate) const RANK_MAX: u32 = 1 << 30;
/// Derivations of one fact that are counted.
pub(crate) const SUPPORT_MAX: u32 = 1 << 28;
/// Facts whose consequences are found before any is written down.
pub(crate) const BLOCK_FACTS: usize = 64;
/// Words of consequences that wait to be written down before a block is cut short.
pub(crate) const BLOCK_WORDS: usize = 1 << 14;
/// Facts between two looks whether somebody wants the evaluation to end.
pub(crate) const LOOK_EVERY: usize = 4_096;
