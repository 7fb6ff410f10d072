//! A hash table of 32-bit numbers: open addressing, linear probing, eight bytes a slot.
//!
//! A slot holds the upper part of the hash and a number; the caller compares the entry of the number. Deletion shifts displaced entries back, so that
//! there are no tombstones.

/// A slot: the hash in the upper half, the number in the lower.
const EMPTY: u64 = u64::MAX;

/// Mixes two words to a hash of 32 bits, of which the upper ones choose the slot.
#[inline]
pub(crate) fn mix(state: u64, word: u32) -> u64 {
    let folded = u128::from(state ^ u64::from(word)) * 0x9E37_79B9_7F4A_7C15;
    (folded as u64) ^ ((folded >> 64) as u64)
}

/// Where every hash begins.
pub(crate) const SEED: u64 = 0x243F_6A88_85A3_08D3;

/// The part of a hash that is stored; never all ones, so that no slot looks empty.
#[inline]
pub(crate) fn kept(state: u64) -> u32 {
    ((state >> 32) as u32) & 0xFFFF_FFFE
}

pub(crate) struct Table {
    slots: Box<[u64]>,
    /// 32 less the number of bits of a slot's index.
    shift: u32,
    len: usize,
}

impl Default for Table {
    fn default() -> Table {
        Table { slots: vec![EMPTY; 8].into(), shift: 29, len: 0 }
    }
}

impl Table {
    pub fn bytes(&self) -> usize {
        self.slots.len() * 8
    }
    #[inline]
    fn home(&self, hash: u32) -> usize {
        (hash >> self.shift) as usize
    }
    /// The number under this hash that satisfies `is_it`.
    #[inline]
    pub fn find(&self, hash: u32, mut is_it: impl FnMut(u32) -> bool) -> Option<u32> {
        let mask = self.slots.len() - 1;
        let mut at = self.home(hash);
        loop {
            let slot = self.slots[at & mask];
            if slot == EMPTY {
                return None;
            }
            if (slot >> 32) as u32 == hash && is_it(slot as u32) {
                return Some(slot as u32);
            }
            at += 1;
        }
    }
    /// The number in the first slot of this hash, if it has this hash; any other one otherwise.
    #[inline]
    pub fn peek(&self, hash: u32) -> u32 {
        let slot = self.slots[self.home(hash) & (self.slots.len() - 1)];
        if (slot >> 32) as u32 == hash { slot as u32 } else { 0 }
    }
    /// Adds a number that is not there.
    pub fn insert(&mut self, hash: u32, number: u32) {
        if (self.len + 1) * 8 > self.slots.len() * 5 && self.shift > 1 {
            self.grow();
        }
        self.len += 1;
        Table::put(&mut self.slots, self.shift, u64::from(hash) << 32 | u64::from(number));
    }
    fn put(slots: &mut [u64], shift: u32, slot: u64) {
        let mask = slots.len() - 1;
        let mut at = ((slot >> 32) as u32 >> shift) as usize;
        while slots[at & mask] != EMPTY {
            at += 1;
        }
        slots[at & mask] = slot;
    }
    fn grow(&mut self) {
        let (shift, mut slots) = (self.shift - 1, vec![EMPTY; self.slots.len() * 2].into_boxed_slice());
        for slot in self.slots.iter().filter(|slot| **slot != EMPTY) {
            Table::put(&mut slots, shift, *slot);
        }
        (self.slots, self.shift) = (slots, shift);
    }
    /// Takes a number out.
    pub fn remove(&mut self, hash: u32, number: u32) {
        let mask = self.slots.len() - 1;
        let wanted = u64::from(hash) << 32 | u64::from(number);
        let mut at = self.home(hash) & mask;
        while self.slots[at] != wanted {
            if self.slots[at] == EMPTY {
                return;
            }
            at = (at + 1) & mask;
        }
        self.len -= 1;
        let mut hole = at;
        loop {
            at = (at + 1) & mask;
            let slot = self.slots[at];
            if slot == EMPTY {
                break;
            }
            // It may move into the hole unless its home lies behind the hole.
            let home = self.home((slot >> 32) as u32) & mask;
            if (at.wrapping_sub(home) & mask) >= (at.wrapping_sub(hole) & mask) {
                self.slots[hole] = slot;
                hole = at;
            }
        }
        self.slots[hole] = EMPTY;
    }
}
