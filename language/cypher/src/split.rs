//! Where one statement ends and the next begins, for scripts and the shell.
//!
//! Only quotes, backticks and comments matter here, so text that is not Cypher yet (half typed) can be split as well.
//! Cost: one pass.

use text::Span;

/// One statement of a longer text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatementText<'t> {
    /// The statement without surrounding blanks and without its semicolon.
    pub text: &'t str,
    /// Its place in the longer text.
    pub span: Span,
    /// A semicolon ends it. The last statement may lack one: a shell then asks for more input.
    pub terminated: bool,
}

/// The statements of a text, separated by semicolons; pieces with nothing but blanks and comments are left out.
pub fn split_statements(text: &str) -> Vec<StatementText<'_>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    let mut has_content = false;
    let mut at = 0;
    let bytes = text.as_bytes();
    while at < bytes.len() {
        match bytes[at] {
            b';' => {
                push_piece(&mut pieces, text, start..at, has_content, true);
                at += 1;
                (start, has_content) = (at, false);
            }
            b'\'' | b'"' => {
                at = skip_quoted(bytes, at, true);
                has_content = true;
            }
            b'`' => {
                at = skip_quoted(bytes, at, false);
                has_content = true;
            }
            b'/' if bytes.get(at + 1) == Some(&b'/') => at = find(text, at, "\n"),
            b'/' if bytes.get(at + 1) == Some(&b'*') => at = find(text, at + 2, "*/"),
            byte => {
                has_content |= !byte.is_ascii_whitespace();
                at += 1;
            }
        }
    }
    push_piece(&mut pieces, text, start..text.len(), has_content, false);
    pieces
}

fn push_piece<'t>(
    pieces: &mut Vec<StatementText<'t>>,
    text: &'t str,
    range: std::ops::Range<usize>,
    has_content: bool,
    terminated: bool,
) {
    if !has_content {
        return;
    }
    let piece = &text[range.clone()];
    let start = range.start + (piece.len() - piece.trim_start().len());
    let trimmed = piece.trim();
    pieces.push(StatementText { text: trimmed, span: Span::new(start, start + trimmed.len()), terminated });
}

/// The position after the closing quote, or the end of the text.
fn skip_quoted(bytes: &[u8], start: usize, escapes: bool) -> usize {
    let quote = bytes[start];
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if escapes => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The position after the next `needle`, or the end of the text.
fn find(text: &str, from: usize, needle: &str) -> usize {
    text[from..].find(needle).map_or(text.len(), |position| from + position + needle.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_at_semicolons_outside_quotes_and_comments() {
        let text = "RETURN ';' ; // a;b\n /* ; */ ;; MATCH (`a;`)\nRETURN \"\\\";\"; CREATE (";
        let found: Vec<_> =
            split_statements(text).iter().map(|piece| (piece.text, piece.terminated)).collect();
        assert_eq!(
            found,
            [("RETURN ';'", true), ("MATCH (`a;`)\nRETURN \"\\\";\"", true), ("CREATE (", false)]
        );
        for piece in split_statements(text) {
            assert_eq!(piece.span.text(text), piece.text);
        }
        assert!(split_statements(" // nothing\n").is_empty());
    }

    /// Random statements, put together of pieces of which it is known whether they are something, are found again.
    #[test]
    fn statements_that_were_put_together_are_found_again() {
        let (blanks, words) =
            ([" ", "\n", "// a;'\n", "/* ; \" */", "\t"], ["a", "bc", "';'", "\"\\\";\"", "`;`", "/", "1;"]);
        let mut state = 20_261_128_u64;
        let mut below = |count: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % count
        };
        for round in 0..3_000 {
            let (mut text, mut expected, mut own) = (String::new(), Vec::new(), String::new());
            for _ in 0..below(12) {
                if below(3) == 0 {
                    text.push_str(blanks[below(blanks.len())]);
                    continue;
                }
                let word = words[below(words.len())];
                text.push_str(word);
                own.push_str(word.trim_end_matches(";"));
                if word.ends_with(';') {
                    expected.push((std::mem::take(&mut own), true));
                }
                // A slash and a star that meet would begin a comment.
                text.push(' ');
            }
            if !own.is_empty() {
                expected.push((own, false));
            }
            let without_blanks = |piece: &StatementText<'_>| {
                let text = blanks
                    .iter()
                    .filter(|blank| blank.len() > 1)
                    .fold(piece.text.to_string(), |text, blank| text.replace(blank.trim_end(), " "));
                (text.split_whitespace().collect::<String>(), piece.terminated)
            };
            let pieces = split_statements(&text);
            assert_eq!(
                pieces.iter().map(without_blanks).collect::<Vec<_>>(),
                expected,
                "round {round}: {text:?}"
            );
            assert!(
                pieces.iter().all(|piece| piece.span.text(&text) == piece.text),
                "round {round}: {text:?}"
            );
        }
    }
}
