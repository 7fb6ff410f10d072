//! The keys of a group, as bytes: vector, keys read, keys written, chunks moved, for each of its commits in order.
//!
//! ```text
//!   commit: gates u16 · vector u64 × gates · reads u32 · key u64 × reads · writes u32 · key u64 × writes · moves u32 · (chunk u32, shard u16) × moves
//! ```
//! All numbers are little endian; a group is its commits one after another.

use order::Stamp;
use protocol::{Proposed, Record};

/// The bytes of a group's commits.
pub(crate) fn encode<'a>(committed: impl IntoIterator<Item = &'a Proposed>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for one in committed {
        let vector = one.record.stamp.vector();
        bytes.extend((vector.len() as u16).to_le_bytes());
        vector.iter().for_each(|counter| bytes.extend(counter.to_le_bytes()));
        for keys in [&one.reads, &one.writes] {
            bytes.extend((keys.len() as u32).to_le_bytes());
            keys.iter().for_each(|key| bytes.extend(key.to_le_bytes()));
        }
        bytes.extend((one.moves.len() as u32).to_le_bytes());
        for (chunk, to) in &one.moves {
            bytes.extend(chunk.to_le_bytes());
            bytes.extend(to.to_le_bytes());
        }
    }
    bytes
}

/// The commits of a group of this epoch and seat; none where the bytes are not those of [`encode`].
pub(crate) fn decode(epoch: u64, seat: usize, bytes: &[u8]) -> Option<Vec<Proposed>> {
    let mut left = Left(bytes);
    let mut group = Vec::new();
    while !left.0.is_empty() {
        let gates = u16::from_le_bytes(left.take()?);
        let vector = left.words(usize::from(gates))?;
        let (reads, writes) = (left.keys()?, left.keys()?);
        let count = u32::from_le_bytes(left.take()?);
        let moves = (0..count)
            .map(|_| Some((u32::from_le_bytes(left.take()?), u16::from_le_bytes(left.take()?))))
            .collect::<Option<Vec<_>>>()?;
        let record = Record { stamp: Stamp::from_parts(epoch, seat, vector)?, parts: Vec::new() };
        group.push(Proposed { base: None, reads, writes, routes: Vec::new(), moves, record });
    }
    Some(group)
}

/// Bytes that are not read yet.
struct Left<'a>(&'a [u8]);

impl Left<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }
    fn words(&mut self, count: usize) -> Option<Vec<u64>> {
        // What the bytes do not hold is not reserved.
        if count > self.0.len() / 8 {
            return None;
        }
        (0..count).map(|_| Some(u64::from_le_bytes(self.take()?))).collect()
    }
    fn keys(&mut self) -> Option<Vec<u64>> {
        let count = u32::from_le_bytes(self.take()?);
        self.words(usize::try_from(count).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use world::chance::Chance;

    #[test]
    fn groups_come_back_and_other_bytes_are_refused() {
        for seed in 0..200 {
            let mut chance = Chance::seeded(seed);
            let mut keys =
                |most: u64| (0..chance.below(most)).map(|key| key << 40 | seed).collect::<Vec<u64>>();
            let (reads, writes) = (keys(5), keys(5));
            let gates = 1 + chance.index(4);
            let vector: Vec<u64> = (0..gates).map(|_| 1 + chance.below(1 << 50)).collect();
            let seat = chance.index(gates);
            let stamp = Stamp::from_parts(9, seat, vector).expect("a seat of these gates");
            let moves = (0..chance.below(3)).map(|chunk| (chunk as u32, 2)).collect();
            let record = Record { stamp, parts: Vec::new() };
            let one = Proposed { base: None, reads, writes, routes: Vec::new(), moves, record };
            let group = vec![one; 1 + chance.index(3)];
            let bytes = encode(&group);
            assert_eq!(decode(9, seat, &bytes).as_ref(), Some(&group), "seed {seed}");
            let short = &bytes[..bytes.len() - 1 - chance.index(4)];
            assert_ne!(decode(9, seat, short).as_ref(), Some(&group), "seed {seed}");
            let mut changed = bytes.clone();
            let at = chance.index(changed.len());
            changed[at] ^= 0xFF;
            let _ = decode(9, seat, &changed);
        }
    }
}
