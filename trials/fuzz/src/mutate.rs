//! How an input is changed: bits, bytes, pieces cut, doubled, swapped in from another input. All from one seed.

use world::chance::Chance;

/// Changes to one input, at most.
const CHANGES_MAX: u64 = 6;
/// Bytes that sit at the borders of something.
const BORDERS: [u8; 9] = [0, 1, 0x7f, 0x80, 0xc0, 0xef, 0xf0, 0xfe, 0xff];

/// One to some changes of any kind; `other` lends pieces.
pub fn bytes(input: &[u8], other: &[u8], chance: &mut Chance) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..1 + chance.below(CHANGES_MAX) {
        change(&mut bytes, other, chance);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, other: &[u8], chance: &mut Chance) {
    let at = chance.index(bytes.len() + 1);
    let end = at + chance.index((bytes.len() - at).min(16) + 1);
    match (chance.below(8), bytes.get_mut(at)) {
        (0 | 1, Some(byte)) => *byte ^= 1 << chance.below(8),
        (2, Some(byte)) => *byte = BORDERS[chance.index(BORDERS.len())],
        (3, Some(byte)) => *byte = chance.next_u64() as u8,
        (4, _) => bytes.truncate(at),
        (5, _) => drop(bytes.drain(at..end)),
        (6, _) => {
            let piece = bytes[at..end].to_vec();
            drop(bytes.splice(at..at, piece));
        }
        _ if !other.is_empty() => {
            let from = chance.index(other.len());
            let piece = other[from..from + chance.index((other.len() - from).min(24) + 1)].to_vec();
            drop(bytes.splice(at..end, piece));
        }
        _ => bytes.push(chance.next_u64() as u8),
    }
}

/// Words of a text exchanged, cut, doubled, or taken from another text; it stays close to what a person might write.
pub fn words(input: &str, other: &str, chance: &mut Chance) -> String {
    let (mut own, lent) = (tokens(input), tokens(other));
    for _ in 0..1 + chance.below(CHANGES_MAX) {
        let at = chance.index(own.len() + 1);
        let end = (at + chance.index(6)).min(own.len());
        match chance.below(5) {
            0 => drop(own.drain(at..end)),
            1 => {
                let piece = own[at..end].to_vec();
                drop(own.splice(at..at, piece));
            }
            2 if own.len() > 1 => {
                let (one, other) = (chance.index(own.len()), chance.index(own.len()));
                own.swap(one, other);
            }
            _ if !lent.is_empty() => {
                let from = chance.index(lent.len());
                let to = (from + 1 + chance.index(8)).min(lent.len());
                drop(own.splice(at..end, lent[from..to].to_vec()));
            }
            _ => {}
        }
    }
    own.concat()
}

/// Words, numbers, spaces, and single signs.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let is_word = |sign: char| sign.is_alphanumeric() || sign == '_';
        let end = match is_word(first) {
            true => rest.find(|sign: char| !is_word(sign)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (token, behind) = rest.split_at(end);
        tokens.push(token);
        rest = behind;
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_changes_the_same_way() {
        let text = "MATCH (n:Person {id: 1})-[:KNOWS*1..3]->(m) RETURN m.name AS name";
        assert_eq!(tokens(text).concat(), text);
        let once = |seed| words(text, "UNWIND [1, 2] AS x RETURN x", &mut Chance::seeded(seed));
        let bits = |seed| bytes(text.as_bytes(), b"other", &mut Chance::seeded(seed));
        for seed in 0..100 {
            assert_eq!((once(seed), bits(seed)), (once(seed), bits(seed)));
        }
        assert!(
            (0..100).any(|seed| once(seed) != text) && (0..100).any(|seed| bits(seed) != text.as_bytes())
        );
    }
}
