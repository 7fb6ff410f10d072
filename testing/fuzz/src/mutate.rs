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

/// Words that clauses begin with: a text cut there and continued with another's clauses often still makes sense.
const CLAUSES: [&str; 12] = [
    "MATCH", "OPTIONAL", "WHERE", "WITH", "RETURN", "UNWIND", "ORDER", "SKIP", "LIMIT", "CREATE", "MERGE",
    "SET",
];

/// Exchanges words for others of their kind, takes clauses from another text, and now and then cuts, doubles or swaps pieces: the result stays close
/// to text that a person might write.
pub fn words(input: &str, other: &str, chance: &mut Chance) -> String {
    let (mut own, lent) = (tokens(input), tokens(other));
    // Most often one change, so that much of what comes of it still is a query.
    let changes = if chance.happens(0.6) { 1 } else { 1 + chance.below(CHANGES_MAX) };
    for _ in 0..changes {
        match chance.below(8) {
            0..5 => exchange(&mut own, &lent, chance),
            5 | 6 => continue_as(&mut own, &lent, chance),
            _ => rearrange(&mut own, chance),
        }
    }
    own.concat()
}

/// One word, number or sign for another of the same kind, from either text.
fn exchange<'a>(own: &mut [&'a str], lent: &[&'a str], chance: &mut Chance) {
    let kind = |token: &str| match token.chars().next() {
        Some(first) if first.is_numeric() => 0,
        Some(first) if first.is_alphabetic() && CLAUSES.contains(&token) => 1,
        Some(first) if first.is_alphabetic() => 2,
        _ => 3,
    };
    if own.is_empty() {
        return;
    }
    let at = chance.index(own.len());
    let alike: Vec<&str> = own
        .iter()
        .chain(lent)
        .copied()
        .filter(|token| kind(token) == kind(own[at]) && *token != " ")
        .collect();
    if let Some(token) = chance.choose(&alike) {
        own[at] = token;
    }
}

/// Goes on with the clauses of the other text from somewhere.
fn continue_as<'a>(own: &mut Vec<&'a str>, lent: &[&'a str], chance: &mut Chance) {
    let starts = |tokens: &[&str]| -> Vec<usize> {
        (0..tokens.len()).filter(|at| CLAUSES.contains(&tokens[*at])).collect()
    };
    let (cuts, heads) = (starts(own), starts(lent));
    if let (Some(cut), Some(head)) = (chance.choose(&cuts), chance.choose(&heads)) {
        own.truncate(*cut);
        own.extend_from_slice(&lent[*head..]);
    }
}

fn rearrange(own: &mut Vec<&str>, chance: &mut Chance) {
    let at = chance.index(own.len() + 1);
    let end = (at + chance.index(6)).min(own.len());
    match chance.below(3) {
        0 => drop(own.drain(at..end)),
        1 => {
            let piece = own[at..end].to_vec();
            drop(own.splice(at..at, piece));
        }
        _ if own.len() > 1 => {
            let (one, other) = (chance.index(own.len()), chance.index(own.len()));
            own.swap(one, other);
        }
        _ => {}
    }
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
