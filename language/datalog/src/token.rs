//! Text to tokens.

use crate::error::{self, DatalogError, ErrorKind};
use text::Span;

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    Name(String),
    Int(i64),
    Float(f64),
    Text(String),
    /// `$name`
    Parameter(String),
    /// Anything else, as it is written.
    Sign(&'static str),
    End,
}

#[derive(Clone, Debug)]
pub(crate) struct Spanned {
    pub token: Token,
    pub span: Span,
}

/// Longer signs before their beginnings.
const SIGNS: [&str; 23] = [
    ":-", "<-", "?-", "!=", "<>", "<=", ">=", "(", ")", ",", ".", "=", "<", ">", "+", "-", "*", "/", "%",
    "!", "_", "?", ";",
];

pub(crate) fn tokens(text: &str) -> Result<Vec<Spanned>, DatalogError> {
    let mut found = Vec::new();
    let mut at = 0;
    loop {
        error::spend(1)?;
        at = skip(text, at)?;
        let Some(first) = text[at..].chars().next() else {
            found.push(Spanned { token: Token::End, span: Span::new(at, at) });
            return Ok(found);
        };
        let (token, end) = match first {
            '0'..='9' => number(text, at)?,
            '\'' | '"' => quoted(text, at, first).map(|(text, end)| (Token::Text(text), end))?,
            '`' => quoted(text, at, first).map(|(text, end)| (Token::Name(text), end))?,
            '$' => {
                let end = word_end(text, at + 1);
                if end == at + 1 {
                    return Err(syntax("a parameter has a name", at, end).with_hint("write it like $rows"));
                }
                (Token::Parameter(text[at + 1..end].to_string()), end)
            }
            _ if word_end(text, at) > at && !(first == '_' && word_end(text, at) == at + 1) => {
                let end = word_end(text, at);
                (Token::Name(text[at..end].to_string()), end)
            }
            _ => match SIGNS.iter().find(|sign| text[at..].starts_with(**sign)) {
                Some(sign) => (Token::Sign(sign), at + sign.len()),
                None => {
                    let end = at + first.len_utf8();
                    return Err(syntax(format!("`{first}` has no meaning here"), at, end));
                }
            },
        };
        found.push(Spanned { token, span: Span::new(at, end) });
        at = end;
    }
}

fn syntax(message: impl Into<String>, start: usize, end: usize) -> DatalogError {
    DatalogError::new(ErrorKind::Syntax, message, Span::new(start, end))
}

/// Behind blanks and comments.
fn skip(text: &str, mut at: usize) -> Result<usize, DatalogError> {
    loop {
        let rest = &text[at..];
        let blank = rest.len() - rest.trim_start().len();
        if blank > 0 {
            at += blank;
        } else if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if let Some(inside) = rest.strip_prefix("/*") {
            // Behind the opening: `/*/` closes nothing.
            match inside.find("*/") {
                Some(end) => at += end + 4,
                None => {
                    return Err(syntax("the comment has no end", at, at + 2).with_hint("close it with */"));
                }
            }
        } else {
            return Ok(at);
        }
    }
}

fn word_end(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    let is_inside = |(place, c): (usize, char)| {
        if place == 0 { c.is_alphabetic() || c == '_' } else { c.is_alphanumeric() || c == '_' }
    };
    at + rest.char_indices().find(|found| !is_inside(*found)).map_or(rest.len(), |(place, _)| place)
}

fn number(text: &str, at: usize) -> Result<(Token, usize), DatalogError> {
    let digits = |from: usize| from + text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(at);
    let mut is_float = false;
    if text[end..].starts_with('.') && digits(end + 1) > end + 1 {
        end = digits(end + 1);
        is_float = true;
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        if digits(end + 1 + sign) > end + 1 + sign {
            end = digits(end + 1 + sign);
            is_float = true;
        }
    }
    let written = &text[at..end];
    let token = match is_float {
        true => written.parse().ok().map(Token::Float),
        false => written.parse().ok().map(Token::Int),
    };
    token
        .map(|token| (token, end))
        .ok_or_else(|| syntax(format!("{written} is too large for a number"), at, end))
}

fn quoted(text: &str, at: usize, quote: char) -> Result<(String, usize), DatalogError> {
    let mut content = String::new();
    let mut chars = text[at + 1..].char_indices();
    while let Some((place, c)) = chars.next() {
        match c {
            _ if c == quote => return Ok((content, at + 1 + place + quote.len_utf8())),
            '\\' if quote != '`' => match chars.next() {
                Some((_, 'n')) => content.push('\n'),
                Some((_, 't')) => content.push('\t'),
                Some((_, c @ ('\\' | '\'' | '"'))) => content.push(c),
                _ => {
                    return Err(syntax("this escape is not known", at + 1 + place, at + 2 + place)
                        .with_hint("known are \\n \\t \\\\ \\' \\\""));
                }
            },
            _ => content.push(c),
        }
    }
    Err(syntax("the quotes are not closed", at, at + 1))
}
