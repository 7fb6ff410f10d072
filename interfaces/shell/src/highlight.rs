//! A query's text in colours: keywords, text in quotes, comments. A scan without a grammar, so half a query is coloured as well.

use crate::{Ink, Style};

/// Words of Cypher that are coloured and completed.
pub const KEYWORDS: &[&str] = &[
    "ALL",
    "AND",
    "ANY",
    "AS",
    "ASC",
    "BY",
    "CALL",
    "CASE",
    "CONSTRAINT",
    "CONTAINS",
    "COUNT",
    "CREATE",
    "DELETE",
    "DESC",
    "DETACH",
    "DISTINCT",
    "DROP",
    "ELSE",
    "END",
    "ENDS",
    "EXISTS",
    "EXPLAIN",
    "FALSE",
    "FOR",
    "FOREACH",
    "IF",
    "IN",
    "INDEX",
    "IS",
    "KILL",
    "LIMIT",
    "MATCH",
    "MERGE",
    "NONE",
    "NOT",
    "NULL",
    "ON",
    "OPTIONAL",
    "OR",
    "ORDER",
    "PROFILE",
    "QUERY",
    "REMOVE",
    "REQUIRE",
    "RETURN",
    "SET",
    "SHORTEST",
    "SHOW",
    "SINGLE",
    "SKIP",
    "STARTS",
    "THEN",
    "TRUE",
    "UNION",
    "UNIQUE",
    "UNWIND",
    "WHEN",
    "WHERE",
    "WITH",
    "XOR",
    "YIELD",
];

/// The text with colours, where they are allowed.
pub fn highlight(text: &str, style: &Style) -> String {
    if !style.colour {
        return text.to_string();
    }
    let mut out = String::with_capacity(text.len() * 2);
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (length, ink) = token(rest, first);
        let (piece, after) = rest.split_at(length);
        out.push_str(&ink.map_or_else(|| piece.to_string(), |ink| style.paint(ink, piece)));
        rest = after;
    }
    out
}

/// Length in bytes of the token at the head of `rest`, and its kind.
fn token(rest: &str, first: char) -> (usize, Option<Ink>) {
    match first {
        '\'' | '"' => (quoted_length(rest, first), Some(Ink::Quoted)),
        '`' => (quoted_length(rest, first), Some(Ink::Name)),
        '/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), Some(Ink::Quiet)),
        '/' if rest.starts_with("/*") => {
            (rest[2..].find("*/").map_or(rest.len(), |end| end + 4), Some(Ink::Quiet))
        }
        ':' => {
            let length = 1 + word_length(&rest[1..]);
            (length, (length > 1).then_some(Ink::Name))
        }
        // What follows a dot is a property, even if it is called like a keyword.
        '.' => (1 + word_length(&rest[1..]), None),
        _ if first.is_alphabetic() || first == '_' => {
            let length = word_length(rest);
            (length, is_keyword(&rest[..length]).then_some(Ink::Keyword))
        }
        _ => (first.len_utf8(), None),
    }
}

fn is_keyword(word: &str) -> bool {
    KEYWORDS.iter().any(|keyword| keyword.eq_ignore_ascii_case(word))
}

fn word_length(text: &str) -> usize {
    text.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(text.len())
}

fn quoted_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        match letter {
            _ if escaped => escaped = false,
            '\\' if quote != '`' => escaped = true,
            letter if letter == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_colours_are_added() {
        let style = Style { colour: true, ..Style::plain() };
        for text in
            ["MATCH (n:Person {name: 'A\\'da'}) // x\nRETURN n.set", "'open", "/* open", "`open", "é:ü", ":"]
        {
            let coloured = highlight(text, &style);
            let mut plain = String::new();
            let mut pieces = coloured.split('\x1b');
            plain.push_str(pieces.next().unwrap_or_default());
            pieces.for_each(|piece| plain.push_str(piece.split_once('m').map_or("", |(_, rest)| rest)));
            assert_eq!(plain, text);
        }
        assert_eq!(highlight("MATCH", &Style::plain()), "MATCH");
    }
}
