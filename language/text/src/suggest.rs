//! "Did you mean …?": the nearest known word to a misspelt one.
//!
//! Distance is the number of insertions, deletions, substitutions and swaps of neighbours, letter case aside.
//! Cost: the product of the two lengths, both bounded by [`SUGGESTION_CHARS_MAX`].

use crate::limits::{SUGGESTION_CHARS_MAX, SUGGESTION_EDITS_MAX};

/// The candidate nearest to `word`, if any is near enough to be a plausible slip of the fingers. Ties go to the first.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = match word.chars().count() {
        0 | 1 => 0,
        length => (length / 3).clamp(1, SUGGESTION_EDITS_MAX),
    };
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let Some(distance) = edits(word, candidate) else { continue };
        if distance <= allowed && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Edits between two words (optimal string alignment); `None` if one is too long to compare.
fn edits(left: &str, right: &str) -> Option<usize> {
    let left: Vec<char> = left.chars().flat_map(char::to_lowercase).collect();
    let right: Vec<char> = right.chars().flat_map(char::to_lowercase).collect();
    if left.len() > SUGGESTION_CHARS_MAX || right.len() > SUGGESTION_CHARS_MAX {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut above: Vec<usize> = (0..=right.len()).collect();
    for i in 1..=left.len() {
        let mut row = vec![i; right.len() + 1];
        for j in 1..=right.len() {
            let differs = usize::from(left[i - 1] != right[j - 1]);
            row[j] = (above[j] + 1).min(row[j - 1] + 1).min(above[j - 1] + differs);
            let swapped = i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1];
            if swapped {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut above, row);
    }
    above.last().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        let words = ["MATCH", "RETURN", "MERGE", "WITH", "toUpper"];
        let cases = [
            ("RETRUN", Some("RETURN")),
            ("mach", Some("MATCH")),
            ("WIHT", Some("WITH")),
            ("touper", Some("toUpper")),
            ("SELECT", None),
            ("x", None),
        ];
        for (word, expected) in cases {
            assert_eq!(nearest(word, words), expected, "{word}");
        }
    }
}
