//! Guesses the user's intention from the token where parsing stopped.

use super::Parser;
use crate::error::CypherError;
use crate::lexer::TokenKind;
use text::nearest;

/// Words that can stand where a clause or the next part of one may begin.
const CLAUSE_WORDS: [&str; 31] = [
    "MATCH", "OPTIONAL", "RETURN", "WITH", "WHERE", "UNWIND", "CREATE", "MERGE", "SET", "REMOVE", "DELETE",
    "DETACH", "FOREACH", "CALL", "UNION", "ORDER", "SKIP", "LIMIT", "YIELD", "EXPLAIN", "PROFILE", "SHOW",
    "DROP", "AND", "OR", "XOR", "CONTAINS", "STARTS", "ENDS", "DISTINCT", "FINISH",
];

/// Words of other languages, with Cypher's words for them.
const FOREIGN_WORDS: [(&str, &str); 15] = [
    ("SELECT", "a query reads MATCH … WHERE … RETURN …"),
    ("FROM", "a query reads MATCH … WHERE … RETURN …"),
    ("GROUP", "grouping is implicit: the columns of RETURN or WITH that do not aggregate are the groups"),
    ("HAVING", "filter groups with WITH … WHERE …"),
    ("JOIN", "join with a pattern: MATCH (a)-[:TYPE]->(b)"),
    ("UPDATE", "use MATCH … SET …"),
    ("INSERT", "use CREATE or MERGE"),
    ("LIKE", "use CONTAINS, STARTS WITH, ENDS WITH or =~"),
    ("BETWEEN", "write 1 <= x <= 3"),
    ("TOP", "use LIMIT at the end of the query"),
    ("ELSEIF", "write another WHEN … THEN …"),
    ("IIF", "use CASE WHEN … THEN … ELSE … END"),
    ("LOAD", "import files with the command `tanglewood import`"),
    ("USE", "USE stands before a query, and names neo4j"),
    ("UPSERT", "use MERGE"),
];

impl Parser<'_> {
    /// Adds a hint to an error about the token here.
    pub(super) fn hint_at_token(&self, error: CypherError) -> CypherError {
        if let TokenKind::Symbol(symbol) = self.kind(0) {
            let after_equals = self.at > 0 && self.tokens[self.at - 1].kind == TokenKind::Symbol("=");
            if after_equals && matches!(*symbol, "<" | ">") {
                return error.with_hint(format!("use {symbol}= not ={symbol}"));
            }
            return match symbol_hint(symbol) {
                Some(hint) => error.with_hint(hint),
                None => error,
            };
        }
        let Some(word) = self.word(0) else { return error };
        if let Some((_, hint)) = FOREIGN_WORDS.iter().find(|(foreign, _)| foreign.eq_ignore_ascii_case(word))
        {
            return error.with_hint(*hint);
        }
        match nearest(word, CLAUSE_WORDS) {
            Some(keyword) if !keyword.eq_ignore_ascii_case(word) => error.with_suggestion(Some(keyword)),
            _ => self.hint_about_quotes(error),
        }
    }

    /// `WHERE n.name = John Smith`: two words in a row where the second can be no keyword.
    fn hint_about_quotes(&self, error: CypherError) -> CypherError {
        let between_clauses = error.message.ends_with("expected a clause or the end of the query");
        let two_words = between_clauses && self.tokens[self.at - 1].kind == TokenKind::Word;
        let known = self
            .word(0)
            .is_some_and(|word| CLAUSE_WORDS.iter().any(|known| known.eq_ignore_ascii_case(word)));
        if two_words && !known {
            error.with_hint("strings use quotes, names with blanks use backticks")
        } else {
            error
        }
    }

    /// Adds a hint to an error about the end of the text: the bracket that is still open.
    pub(super) fn hint_at_end(&self, error: CypherError) -> CypherError {
        let mut open = Vec::new();
        for token in &self.tokens {
            match token.kind {
                TokenKind::Symbol(symbol @ ("(" | "[" | "{")) => open.push((symbol, token.span)),
                TokenKind::Symbol(")" | "]" | "}") => {
                    open.pop();
                }
                _ => {}
            }
        }
        let Some((symbol, span)) = open.pop() else { return error };
        let (line, column) = text::line_and_column(self.text, span.start as usize);
        error.with_hint(format!("'{symbol}' at line {line}, column {column} is not closed"))
    }
}

fn symbol_hint(symbol: &str) -> Option<&'static str> {
    Some(match symbol {
        "==" => "use = not ==",
        "!=" => "use <> not !=",
        "&&" => "use AND not &&",
        "||" => "use OR not || (|| joins strings and lists)",
        "!" => "use NOT not !",
        "?" => "parameters are written $name",
        "@" => "parameters are written $name",
        "#" => "comments begin with //",
        _ => return None,
    })
}
