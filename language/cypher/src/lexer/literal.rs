//! Literals and names whose text is not their value: strings, numbers, backticked names, parameters.

use super::{Lexer, TokenKind, continues_word};
use crate::error::{CypherError, ErrorKind};
use text::Span;

/// The magnitude of the least integer.
const MAGNITUDE_MAX: u64 = 1 << 63;

impl Lexer<'_> {
    /// A string in single or double quotes.
    pub(super) fn string(&mut self) -> Result<TokenKind, CypherError> {
        let start = self.at;
        let quote = self.bump().expect("the caller saw a quote");
        let mut value = String::new();
        loop {
            match self.bump() {
                None => {
                    let error = CypherError::syntax("string is not closed", Span::new(start, start + 1));
                    return Err(error.with_hint(format!("strings use quotes: end this one with {quote}")));
                }
                Some('\\') => value.push(self.escape()?),
                Some(letter) if letter == quote => return Ok(TokenKind::Text(value)),
                Some(letter) => value.push(letter),
            }
        }
    }

    /// The character of an escape in a string; the backslash is already consumed.
    fn escape(&mut self) -> Result<char, CypherError> {
        let start = self.at - 1;
        match self.bump() {
            Some('n') => Ok('\n'),
            Some('r') => Ok('\r'),
            Some('t') => Ok('\t'),
            Some('b') => Ok('\u{8}'),
            Some('f') => Ok('\u{c}'),
            Some(letter @ ('\\' | '\'' | '"' | '`')) => Ok(letter),
            Some('u') => self.unicode_escape(start, 4),
            Some('U') => self.unicode_escape(start, 8),
            Some(letter) => {
                let message = format!("unknown escape \\{letter} in a string");
                let error = CypherError::syntax(message, Span::new(start, self.at));
                Err(error.with_hint("write \\\\ for a backslash"))
            }
            None => Err(CypherError::syntax("string is not closed", Span::new(start, self.at))
                .with_hint("strings use quotes; a backslash before the quote makes it part of the string")),
        }
    }

    /// `\uXXXX` (two of them for a surrogate pair) or `\UXXXXXXXX`.
    fn unicode_escape(&mut self, start: usize, digits: usize) -> Result<char, CypherError> {
        let mut code = self.hexadecimal(start, digits)?;
        if (0xd800..0xdc00).contains(&code) && self.rest().starts_with("\\u") {
            self.at += 2;
            let low = self.hexadecimal(start, 4)?;
            if (0xdc00..0xe000).contains(&low) {
                code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            }
        }
        char::from_u32(code).ok_or_else(|| self.invalid_unicode(start))
    }

    fn hexadecimal(&mut self, start: usize, digits: usize) -> Result<u32, CypherError> {
        let mut code: u32 = 0;
        for _ in 0..digits {
            let Some(digit) = self.peek().and_then(|letter| letter.to_digit(16)) else {
                return Err(self.invalid_unicode(start));
            };
            self.bump();
            code =
                code.checked_mul(16).map(|code| code + digit).ok_or_else(|| self.invalid_unicode(start))?;
        }
        Ok(code)
    }

    fn invalid_unicode(&self, start: usize) -> CypherError {
        let span = Span::new(start, self.at);
        CypherError::new(ErrorKind::InvalidUnicodeLiteral, "invalid unicode escape", span)
            .with_hint("\\u takes four hexadecimal digits and \\U eight, naming a character")
    }

    /// A name in backticks; a backtick inside is doubled.
    pub(super) fn backticked(&mut self) -> Result<String, CypherError> {
        let start = self.at;
        self.bump();
        let mut name = String::new();
        loop {
            match self.bump() {
                Some('`') if self.peek() == Some('`') => {
                    self.bump();
                    name.push('`');
                }
                Some('`') if name.is_empty() => {
                    return Err(CypherError::syntax("a name cannot be empty", Span::new(start, self.at)));
                }
                Some('`') => return Ok(name),
                Some(letter) => name.push(letter),
                None => {
                    let error =
                        CypherError::syntax("name in backticks is not closed", Span::new(start, start + 1));
                    return Err(
                        error.with_hint("strings use quotes ' or \", names with blanks use backticks")
                    );
                }
            }
        }
    }

    /// `$name`, `$0`, `` $`x y` ``, or the dollar of `$(…)`.
    pub(super) fn parameter(&mut self) -> Result<TokenKind, CypherError> {
        let start = self.at;
        self.bump();
        if self.peek() == Some('(') {
            return Ok(TokenKind::Symbol("$"));
        }
        if self.peek() == Some('`') {
            return Ok(TokenKind::Parameter(self.backticked()?));
        }
        let name_start = self.at;
        self.skip_while(continues_word);
        if self.at == name_start {
            return Err(CypherError::syntax("a parameter needs a name after $", Span::new(start, self.at)));
        }
        Ok(TokenKind::Parameter(self.text[name_start..self.at].to_string()))
    }

    /// A number without sign: `12`, `1_000`, `0xff`, `0o17`, `1.5`, `.5`, `1e-3`.
    pub(super) fn number(&mut self) -> Result<TokenKind, CypherError> {
        let start = self.at;
        let lower = self.rest().get(..2).unwrap_or("").to_ascii_lowercase();
        let kind = match lower.as_str() {
            "0x" => self.radix_integer(16)?,
            "0o" => self.radix_integer(8)?,
            _ => self.decimal()?,
        };
        match self.peek() {
            Some(letter) if continues_word(letter) => Err(self.invalid_number(start)),
            _ => Ok(kind),
        }
    }

    fn radix_integer(&mut self, radix: u32) -> Result<TokenKind, CypherError> {
        let start = self.at;
        self.at += 2;
        let digits_start = self.at;
        self.skip_while(|letter| letter.is_digit(radix) || letter == '_');
        self.integer(start, digits_start, radix)
    }

    fn decimal(&mut self) -> Result<TokenKind, CypherError> {
        let start = self.at;
        let digit = |letter: char| letter.is_ascii_digit() || letter == '_';
        self.skip_while(digit);
        let whole_end = self.at;
        if self.at_bare_fraction() {
            self.bump();
            self.skip_while(digit);
        }
        self.exponent();
        if self.at == whole_end {
            return self.integer(start, start, 10);
        }
        let digits = self.text[start..self.at].replace('_', "");
        match digits.parse::<f64>() {
            Ok(value) if value.is_finite() => Ok(TokenKind::Float(value)),
            Ok(_) => Err(CypherError::new(
                ErrorKind::FloatingPointOverflow,
                "floating point number is too large",
                Span::new(start, self.at),
            )),
            Err(_) => Err(self.invalid_number(start)),
        }
    }

    /// Takes `e10`, `E-3`; leaves an `e` without digits, which then spoils the number.
    fn exponent(&mut self) {
        let bytes = self.rest().as_bytes();
        if !matches!(bytes.first(), Some(b'e' | b'E')) {
            return;
        }
        let signed = usize::from(matches!(bytes.get(1), Some(b'+' | b'-')));
        if bytes.get(1 + signed).is_some_and(u8::is_ascii_digit) {
            self.at += 1 + signed;
            self.skip_while(|letter| letter.is_ascii_digit());
        }
    }

    fn integer(&mut self, start: usize, digits_start: usize, radix: u32) -> Result<TokenKind, CypherError> {
        let digits = self.text[digits_start..self.at].replace('_', "");
        if digits.is_empty() || self.text[..self.at].ends_with('_') {
            return Err(self.invalid_number(start));
        }
        let value = u64::from_str_radix(&digits, radix).ok().filter(|value| *value <= MAGNITUDE_MAX);
        value.map(TokenKind::Integer).ok_or_else(|| integer_overflow(Span::new(start, self.at)))
    }

    fn invalid_number(&mut self, start: usize) -> CypherError {
        self.skip_while(continues_word);
        let span = Span::new(start, self.at);
        let message = format!("'{}' is not a number", span.text(self.text));
        let error = CypherError::new(ErrorKind::InvalidNumberLiteral, message, span);
        error.with_hint("a name that begins with a digit stands in backticks: `2nd`")
    }
}

/// The error for an integer beyond 64 bits.
pub(crate) fn integer_overflow(span: Span) -> CypherError {
    CypherError::new(ErrorKind::IntegerOverflow, "integer is too large", span).with_hint(
        "integers range from -9223372036854775808 to 9223372036854775807; a float holds larger numbers: 1e30",
    )
}
