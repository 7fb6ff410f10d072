//! Text to tokens, in one pass, by hand.
//!
//! Keywords are contextual in Cypher, so the lexer knows none: it makes words, and the parser reads them as keywords where
//! the grammar wants one. Arrows are not tokens either (`a<-1` compares, `(a)<-[r]-(b)` points).
//! Bracket tokens know their partner and bars know whether another bar follows in the same brackets, which lets
//! the parser decide what a bracket opens without trying and rewinding. Cost: linear in the text.
//!
//! The first character that fits no token ends the tokens with [`TokenKind::Invalid`]; the error is told only if the parser
//! gets that far, because an earlier mistake is the better explanation.

pub(crate) mod literal;

use crate::error::CypherError;
use text::Span;

/// No partner: an unbalanced bracket, or a token that is none.
pub(crate) const NO_PARTNER: u32 = u32::MAX;

/// A token and its place.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    pub kind: TokenKind,
    pub span: Span,
    /// For an opening bracket: the index of the closing one. For a bar: the index of the next bar in the same brackets.
    pub partner: u32,
}

/// The kind of a token.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum TokenKind {
    /// A keyword or a name; its text is under the span.
    Word,
    /// A name in backticks, decoded.
    Quoted(String),
    /// A string, decoded.
    Text(String),
    /// The magnitude of an integer, at most 2^63.
    Integer(u64),
    /// A float.
    Float(f64),
    /// `$name`, without the dollar.
    Parameter(String),
    /// An operator, a bracket or other punctuation.
    Symbol(&'static str),
    /// Here the text stops being Cypher; the lexer's error says why.
    Invalid,
    /// After the last token.
    End,
}

/// All tokens of a text, the last one `End` or `Invalid`, and the error that belongs to `Invalid`.
pub(crate) fn tokens(text: &str) -> (Vec<Token>, Option<CypherError>) {
    let mut lexer = Lexer { text, at: 0 };
    let mut tokens = Vec::new();
    let error = loop {
        match lexer.next() {
            Ok(token) => {
                let done = token.kind == TokenKind::End;
                tokens.push(token);
                if done {
                    break None;
                }
            }
            Err(error) => {
                tokens.push(Token { kind: TokenKind::Invalid, span: error.span, partner: NO_PARTNER });
                break Some(error);
            }
        }
    };
    find_partners(&mut tokens);
    (tokens, error)
}

/// Symbols of several characters first, so that the longest one wins.
const SYMBOLS: [&str; 36] = [
    "..", "<>", "<=", ">=", "=~", "+=", "==", "!=", "||", "&&", "::", "(", ")", "[", "]", "{", "}", ",", ";",
    ".", ":", "|", "&", "!", "%", "=", "<", ">", "+", "-", "*", "/", "^", "?", "@", "#",
];

pub(crate) struct Lexer<'t> {
    text: &'t str,
    at: usize,
}

impl Lexer<'_> {
    fn next(&mut self) -> Result<Token, CypherError> {
        crate::error::spend(1).map_err(|stopped| *stopped)?;
        self.skip_blanks()?;
        let start = self.at;
        let kind = match self.peek() {
            None => TokenKind::End,
            Some('\'' | '"') => self.string()?,
            Some('`') => TokenKind::Quoted(self.backticked()?),
            Some('$') => self.parameter()?,
            Some(letter) if letter.is_ascii_digit() || self.at_bare_fraction() => self.number()?,
            Some(letter) if starts_word(letter) => self.word(),
            Some(letter) => self.symbol(letter)?,
        };
        Ok(Token { kind, span: Span::new(start, self.at), partner: NO_PARTNER })
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn bump(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += letter.len_utf8();
        Some(letter)
    }

    fn skip_while(&mut self, accepts: impl Fn(char) -> bool) {
        while self.peek().is_some_and(&accepts) {
            self.bump();
        }
    }

    /// `.5`, but not the dots of `1..5`.
    fn at_bare_fraction(&self) -> bool {
        let bytes = self.rest().as_bytes();
        bytes.len() > 1 && bytes[0] == b'.' && bytes[1].is_ascii_digit()
    }

    fn skip_blanks(&mut self) -> Result<(), CypherError> {
        loop {
            self.skip_while(is_blank);
            if self.rest().starts_with("//") {
                self.skip_while(|letter| letter != '\n' && letter != '\r');
            } else if self.rest().starts_with("/*") {
                let start = self.at;
                let Some(length) = self.text[start + 2..].find("*/") else {
                    let error = CypherError::syntax("comment is not closed", Span::new(start, start + 2));
                    return Err(error.with_hint("a comment that begins with /* ends with */"));
                };
                self.at = start + 2 + length + 2;
            } else {
                return Ok(());
            }
        }
    }

    fn word(&mut self) -> TokenKind {
        self.skip_while(continues_word);
        TokenKind::Word
    }

    fn symbol(&mut self, letter: char) -> Result<TokenKind, CypherError> {
        if let Some(symbol) = SYMBOLS.iter().find(|symbol| self.rest().starts_with(**symbol)) {
            self.at += symbol.len();
            return Ok(TokenKind::Symbol(symbol));
        }
        let span = Span::new(self.at, self.at + letter.len_utf8());
        let error = CypherError::syntax(format!("unexpected character {letter:?}"), span);
        Err(match letter {
            '‘' | '’' | '“' | '”' | '«' | '»' => {
                error.with_hint("strings use straight quotes: 'text' or \"text\"")
            }
            '–' | '—' | '−' => error.with_hint("use the plain minus sign -"),
            '≤' => error.with_hint("use <="),
            '≥' => error.with_hint("use >="),
            '≠' => error.with_hint("use <>"),
            '→' => error.with_hint("use -->"),
            '←' => error.with_hint("use <--"),
            _ => error.with_hint("names with such characters stand in backticks: `name`"),
        })
    }
}

/// White space as Cypher defines it: that of Unicode, the separators of ASCII, and the byte order mark.
pub(crate) fn is_blank(letter: char) -> bool {
    letter.is_whitespace() || matches!(letter, '\u{1c}'..='\u{1f}' | '\u{180e}' | '\u{feff}')
}

/// Whether a name may begin so without backticks.
pub(crate) fn starts_word(letter: char) -> bool {
    letter.is_alphabetic() || letter == '_'
}

/// Whether a name may go on so without backticks.
pub(crate) fn continues_word(letter: char) -> bool {
    letter.is_alphanumeric()
        || letter == '_'
        || matches!(letter, '\u{300}'..='\u{36f}' | '\u{203f}' | '\u{2040}')
}

/// Joins brackets and bars with their partners. Unbalanced brackets stay without.
fn find_partners(tokens: &mut [Token]) {
    /// An open bracket and the last bar seen directly inside it.
    struct Open {
        bracket: Option<usize>,
        last_bar: Option<usize>,
    }
    let mut open = vec![Open { bracket: None, last_bar: None }];
    for index in 0..tokens.len() {
        let TokenKind::Symbol(symbol) = tokens[index].kind else { continue };
        match symbol {
            "(" | "[" | "{" => open.push(Open { bracket: Some(index), last_bar: None }),
            ")" | "]" | "}" => {
                let Some(bracket) = open.last().and_then(|inner| inner.bracket) else { continue };
                if tokens[bracket].kind == TokenKind::Symbol(opening(symbol)) {
                    tokens[bracket].partner = index as u32;
                    open.pop();
                }
            }
            "|" => {
                let inner = open.last_mut().expect("the outermost level is never closed");
                if let Some(bar) = inner.last_bar.replace(index) {
                    tokens[bar].partner = index as u32;
                }
            }
            _ => {}
        }
    }
}

fn opening(closing: &str) -> &'static str {
    match closing {
        ")" => "(",
        "]" => "[",
        _ => "{",
    }
}
