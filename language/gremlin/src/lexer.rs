//! Text to tokens: names, numbers, strings and marks, each with its span.
//!
//! Cost: one pass, one token of 40 bytes for each word of the text.

use crate::error::{ErrorKind, GremlinError};
use crate::limits::DIGITS_MAX;
use crate::object::{Decimal, Object};
use std::sync::Arc;
use text::Span;

/// One token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Lexeme {
    Name(Arc<str>),
    /// Its value, and its value behind a minus; the first is absent for the least number of a width (`128b`).
    Number(Option<Object>, Object),
    Text(Arc<str>),
    Mark(char),
    End,
}

/// All tokens of a text; the last is [`Lexeme::End`].
pub(crate) fn tokens(text: &str) -> Result<Vec<(Lexeme, Span)>, GremlinError> {
    let mut lexer = Lexer { text, at: 0 };
    let mut found = Vec::new();
    loop {
        lexer.skip_blanks()?;
        let start = lexer.at;
        let lexeme = lexer.next()?;
        let end = lexeme == Lexeme::End;
        found.push((lexeme, Span::new(start, lexer.at)));
        if end {
            return Ok(found);
        }
    }
}

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl Lexer<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }
    fn second(&self) -> Option<char> {
        self.text[self.at..].chars().nth(1)
    }
    fn take_while(&mut self, wanted: impl Fn(char) -> bool) -> &str {
        let start = self.at;
        while let Some(letter) = self.peek().filter(|letter| wanted(*letter)) {
            self.at += letter.len_utf8();
        }
        &self.text[start..self.at]
    }

    fn skip_blanks(&mut self) -> Result<(), GremlinError> {
        loop {
            self.take_while(char::is_whitespace);
            let rest = &self.text[self.at..];
            if rest.starts_with("//") {
                self.take_while(|letter| letter != '\n');
            } else if rest.starts_with("/*") {
                let Some(end) = rest.find("*/") else {
                    return Err(GremlinError::syntax(
                        "the comment has no end",
                        Span::new(self.at, self.at + 2),
                    ));
                };
                self.at += end + 2;
            } else {
                return Ok(());
            }
        }
    }

    fn next(&mut self) -> Result<Lexeme, GremlinError> {
        let Some(letter) = self.peek() else { return Ok(Lexeme::End) };
        if letter.is_ascii_digit()
            || (letter == '.' && self.second().is_some_and(|next| next.is_ascii_digit()))
        {
            return self.number();
        }
        if letter.is_alphabetic() || letter == '_' || letter == '$' {
            let name = self.take_while(|letter| letter.is_alphanumeric() || letter == '_' || letter == '$');
            return Ok(Lexeme::Name(name.into()));
        }
        if letter == '"' || letter == '\'' {
            return self.string(letter);
        }
        let start = self.at;
        self.at += letter.len_utf8();
        match letter {
            '(' | ')' | '[' | ']' | '{' | '}' | ',' | '.' | ':' | ';' | '-' | '+' => Ok(Lexeme::Mark(letter)),
            _ => Err(GremlinError::syntax(
                format!("{letter:?} has no meaning here"),
                Span::new(start, self.at),
            )),
        }
    }

    fn string(&mut self, quote: char) -> Result<Lexeme, GremlinError> {
        let start = self.at;
        self.at += 1;
        let mut text = String::new();
        loop {
            let Some(letter) = self.peek() else {
                return Err(GremlinError::syntax("the string has no end", Span::new(start, start + 1)));
            };
            self.at += letter.len_utf8();
            match letter {
                _ if letter == quote => return Ok(Lexeme::Text(text.into())),
                '\\' => text.push(self.escape()?),
                _ => text.push(letter),
            }
        }
    }

    fn escape(&mut self) -> Result<char, GremlinError> {
        let start = self.at - 1;
        let Some(letter) = self.peek() else {
            return Err(GremlinError::syntax("the string has no end", Span::new(start, self.at)));
        };
        self.at += letter.len_utf8();
        Ok(match letter {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            '\\' | '\'' | '"' | '$' => letter,
            'u' => return self.unicode(start),
            _ => {
                let message = format!("\\{letter} is no escape of gremlin-lang");
                return Err(GremlinError::syntax(message, Span::new(start, self.at)));
            }
        })
    }

    /// `XXXX` behind `\u`; two surrogates in a row make one character.
    fn unicode(&mut self, start: usize) -> Result<char, GremlinError> {
        let wrong = |at: usize| {
            GremlinError::syntax("\\u wants four hexadecimal digits of a character", Span::new(start, at))
        };
        let first = self.hex4().ok_or_else(|| wrong(self.at))?;
        if (0xD800..0xDC00).contains(&first) && self.text[self.at..].starts_with("\\u") {
            self.at += 2;
            let second = self.hex4().filter(|second| (0xDC00..0xE000).contains(second));
            let second = second.ok_or_else(|| wrong(self.at))?;
            let joined = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
            return char::from_u32(joined).ok_or_else(|| wrong(self.at));
        }
        char::from_u32(first).ok_or_else(|| wrong(self.at))
    }
    fn hex4(&mut self) -> Option<u32> {
        let digits = self.text.get(self.at..self.at + 4)?;
        let code = digits
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit())
            .then(|| u32::from_str_radix(digits, 16).ok())??;
        self.at += 4;
        Some(code)
    }

    /// Digits, point, exponent and suffix; the sign is not part of it.
    fn number(&mut self) -> Result<Lexeme, GremlinError> {
        let start = self.at;
        if self.peek() == Some('0') && matches!(self.second(), Some('x' | 'X')) {
            self.at += 2;
            let digits = self.take_while(|letter| letter.is_ascii_hexdigit()).to_string();
            let number = i128::from_str_radix(&digits, 16).ok();
            let both = number.map(|number| Lexeme::Number(Some(whole(number)), whole(-number)));
            return both.ok_or_else(|| self.wrong_number(start));
        }
        self.take_while(|letter| letter.is_ascii_digit());
        let mut fractional = false;
        if self.peek() == Some('.') && self.second().is_some_and(|next| next.is_ascii_digit()) {
            fractional = true;
            self.at += 1;
            self.take_while(|letter| letter.is_ascii_digit());
        }
        if matches!(self.peek(), Some('e' | 'E')) {
            let mark = self.at;
            self.at += 1;
            if matches!(self.peek(), Some('+' | '-')) {
                self.at += 1;
            }
            match self.take_while(|letter| letter.is_ascii_digit()).is_empty() {
                true => self.at = mark,
                false => fractional = true,
            }
        }
        let digits = self.text[start..self.at].to_string();
        let suffix = self.take_while(|letter| letter.is_alphanumeric() || letter == '_').to_lowercase();
        let valued = |sign: &str| match fractional {
            true => fraction(&format!("{sign}{digits}"), &suffix),
            false => suffixed(&format!("{sign}{digits}"), &suffix),
        };
        match valued("-") {
            Some(negative) => Ok(Lexeme::Number(valued(""), negative)),
            None => Err(self.wrong_number(start)),
        }
    }

    fn wrong_number(&self, start: usize) -> GremlinError {
        let message = format!("{} is no number that can be kept", &self.text[start..self.at]);
        let hint = format!("suffixes are b, s, i, l, n, f, d and m; n and m keep up to {DIGITS_MAX} digits");
        GremlinError::new(ErrorKind::Syntax, message, Span::new(start, self.at)).with_hint(hint)
    }
}

/// A whole number without suffix: the narrowest of Int, Long and BigInt that holds it.
fn whole(number: i128) -> Object {
    if let Ok(number) = i32::try_from(number) {
        return Object::Int(number);
    }
    match i64::try_from(number) {
        Ok(number) => Object::Long(number),
        Err(_) => Object::BigInt(Arc::new(number)),
    }
}

/// A whole number of the width its suffix names; none where it does not fit.
fn suffixed(digits: &str, suffix: &str) -> Option<Object> {
    let number: i128 = digits.parse().ok()?;
    Some(match suffix {
        "" => whole(number),
        "b" => Object::Byte(i8::try_from(number).ok()?),
        "s" => Object::Short(i16::try_from(number).ok()?),
        "i" => Object::Int(i32::try_from(number).ok()?),
        "l" => Object::Long(i64::try_from(number).ok()?),
        "n" => Object::BigInt(Arc::new(number)),
        "f" | "d" | "m" => return fraction(digits, suffix),
        _ => return None,
    })
}

fn fraction(digits: &str, suffix: &str) -> Option<Object> {
    Some(match suffix {
        "" | "d" => Object::Double(digits.parse().ok()?),
        "f" => Object::Float(digits.parse().ok()?),
        "m" => Object::BigDecimal(Arc::new(decimal(digits)?)),
        _ => return None,
    })
}

/// Reads a decimal such as `1.50` or `2e3`; none where it has more digits than are kept.
pub fn decimal(text: &str) -> Option<Decimal> {
    let (mantissa, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], text[at + 1..].parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (front, behind) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if behind.starts_with(['+', '-']) || (front.is_empty() && behind.is_empty()) {
        return None;
    }
    let digits = format!("{front}{behind}");
    if digits.trim_start_matches(['-', '+']).len() > DIGITS_MAX {
        return None;
    }
    let scale = i32::try_from(behind.len()).ok()?.checked_sub(exponent)?;
    Some(Decimal { unscaled: digits.parse().ok()?, scale })
}
