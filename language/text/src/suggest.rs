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

    /// The same distance by its definition, from the ends of both words.
    fn twin(left: &[char], right: &[char]) -> usize {
        let (Some((a, left_rest)), Some((b, right_rest))) = (left.split_last(), right.split_last()) else {
            return left.len().max(right.len());
        };
        let mut least = twin(left_rest, right_rest) + usize::from(a != b);
        least = least.min(twin(left_rest, right) + 1).min(twin(left, right_rest) + 1);
        if let ([left @ .., c, d], [right @ .., e, f]) = (left, right)
            && (c, d) == (f, e)
        {
            least = least.min(twin(left, right) + 1);
        }
        least
    }

    /// All words of up to four letters out of three, and a few with capitals.
    fn words() -> Vec<String> {
        let mut all = vec![String::new()];
        for length in 0..4 {
            let longest: Vec<String> = all.iter().filter(|word| word.len() == length).cloned().collect();
            all.extend(
                longest.iter().flat_map(|word| ["a", "b", "C"].map(|letter| format!("{word}{letter}"))),
            );
        }
        all
    }

    #[test]
    fn distances_are_those_of_the_definition() {
        let all = words();
        let letters = |word: &str| word.to_lowercase().chars().collect::<Vec<char>>();
        for left in &all {
            for right in &all {
                assert_eq!(edits(left, right), Some(twin(&letters(left), &letters(right))), "{left} {right}");
            }
        }
        let long = "x".repeat(SUGGESTION_CHARS_MAX);
        let longer = format!("{long}x");
        assert_eq!((edits(&long, &long), edits(&long, ""), edits("", &long)), (Some(0), Some(64), Some(64)));
        assert_eq!((edits(&longer, &long), edits(&long, &longer)), (None, None));
    }

    /// The nearest of many, and how far it may be: a third of the word, at most two edits.
    #[test]
    fn the_first_of_the_nearest_is_suggested_if_it_is_near_enough() {
        let all = words();
        for (at, word) in all.iter().enumerate() {
            let candidates: Vec<&str> =
                (1..8).map(|step| all[(at * 5 + step * 17) % all.len()].as_str()).collect();
            let allowed = [0, 0, 1, 1, 1][word.len()];
            let near: Vec<(usize, &str)> = candidates
                .iter()
                .map(|one| (edits(word, one).unwrap(), *one))
                .filter(|(far, _)| *far <= allowed)
                .collect();
            let least = near.iter().map(|(far, _)| *far).min();
            let expected = near.iter().find(|(far, _)| Some(*far) == least).map(|(_, one)| *one);
            assert_eq!(nearest(word, candidates.iter().copied()), expected, "{word} of {candidates:?}");
        }
        for (word, other, is_near) in
            [("abcdef", "abcdxy", true), ("abcdefghi", "abcdefxyz", false), ("abcde", "abcxy", false)]
        {
            assert_eq!(nearest(word, [other]).is_some(), is_near, "{word} {other}");
        }
    }
}
