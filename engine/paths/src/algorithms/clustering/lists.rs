//! Lists of neighbours by rank, many to a block: those in the core first, then the rest.

/// A neighbour while lists are made: its number, and which ways edges lead to it, a bit each.
#[inline(always)]
pub(super) fn entry(number: u32, ways: u64) -> u64 {
    u64::from(number) << 2 | ways
}
#[inline(always)]
pub(super) fn rank_of(entry: u64) -> u32 {
    (entry >> 2) as u32
}
/// One where edges lead both ways, in a list that is made: such entries are twice the rank, and one more for that.
#[inline(always)]
pub(super) fn is_double(one: u32) -> u64 {
    u64::from(one & 1)
}

/// The lists of a range of ranks.
#[derive(Debug, Default)]
pub(super) struct Block {
    entries: Vec<u32>,
    /// Of each list, where its part in the core ends, and where all of it does.
    ends: Vec<(u32, u32)>,
}

impl Block {
    /// Ranks are less than half of all numbers: vertices of a graph that large do not fit into memory beside their edges.
    pub(super) fn packed(&self, rank: u32, entry: u64) -> u32 {
        debug_assert!(rank <= u32::MAX >> 1, "a rank has 31 bits");
        rank << 1 | u32::from(entry & 3 == 3)
    }
    /// One more of the list, in the core.
    pub(super) fn push(&mut self, rank: u32, entry: u64) {
        self.entries.push(self.packed(rank, entry));
    }
    /// The list is whole with these.
    pub(super) fn end_list(&mut self, rest: &[u32]) {
        let in_core = self.entries.len() as u32;
        self.entries.extend_from_slice(rest);
        self.ends.push((in_core, self.entries.len() as u32));
    }
    /// All lists are here.
    pub(super) fn whole(mut self) -> Block {
        self.entries.shrink_to_fit();
        self.ends.shrink_to_fit();
        self
    }
    /// The two parts of a list.
    #[inline(always)]
    pub(super) fn list(&self, at: usize) -> (&[u32], &[u32]) {
        let start = if at == 0 { 0 } else { self.ends[at - 1].1 };
        let (in_core, end) = self.ends[at];
        self.entries[start as usize..end as usize].split_at((in_core - start) as usize)
    }
    pub(super) fn bytes(&self) -> usize {
        self.entries.capacity() * 4 + self.ends.capacity() * 8
    }
}
