//! Datalog through a session: `DATALOG { rules … ?- question. }` is a statement like any other, wherever statements are taken, and
//! `CREATE STANDING QUERY name AS DATALOG { … }` keeps its answer.
//!
//! This file knows such texts; `session::datalog` answers them.

use crate::Error;
use crate::error::in_text;
use ::datalog::{DatalogError, ErrorKind, GraphRelation, Program};
use ::rules::RulesError;
use cypher::{CypherError, Span};
use plan::standing::StandingCommand;
use store::Catalog;

/// A program inside a statement.
pub(crate) struct Wrapped<'a> {
    /// `AS OF …`, or nothing.
    pub as_of: &'a str,
    pub program: &'a str,
    /// Where it begins in the statement.
    pub offset: usize,
}

/// What is left of a text behind this word, in any case.
fn after_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let text = behind_blanks(text);
    let head = text.get(..word.len())?;
    let rest = &text[word.len()..];
    let ends = !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
    (head.eq_ignore_ascii_case(word) && ends).then_some(rest)
}

fn behind_blanks(mut text: &str) -> &str {
    loop {
        text = text.trim_start();
        let end = if text.starts_with("//") {
            text.find('\n')
        } else if let Some(inside) = text.strip_prefix("/*") {
            // Behind the opening: `/*/` closes nothing.
            inside.find("*/").map(|at| at + 4)
        } else {
            return text;
        };
        text = end.map_or("", |end| &text[end..]);
    }
}

/// The program of `[AS OF …] DATALOG { … }`, if the text is one.
pub(crate) fn statement(text: &str) -> Option<Wrapped<'_>> {
    let past = after_word(text, "AS").and_then(|rest| after_word(rest, "OF"));
    let begin = match past {
        Some(rest) => text.len() - rest.len() + rest.to_ascii_uppercase().find("DATALOG")?,
        None => 0,
    };
    let inside = behind_blanks(after_word(&text[begin..], "DATALOG")?).strip_prefix('{')?;
    let program = inside.trim_end().trim_end_matches(';').trim_end().strip_suffix('}')?;
    let offset = program.as_ptr() as usize - text.as_ptr() as usize;
    Some(Wrapped { as_of: &text[..begin], program, offset })
}

/// `CREATE STANDING QUERY name [IF NOT EXISTS] AS DATALOG { … }`, if the text is one.
pub(crate) fn standing_command(text: &str) -> Option<StandingCommand> {
    let rest = after_word(after_word(after_word(text, "CREATE")?, "STANDING")?, "QUERY")?;
    let (title, rest) = name(rest)?;
    let conditional = after_word(rest, "IF").and_then(|rest| after_word(after_word(rest, "NOT")?, "EXISTS"));
    let rest = conditional.unwrap_or(rest);
    let owned = after_word(rest, "FOR").and_then(|rest| name(after_word(rest, "TENANT")?));
    let (tenant, rest) = owned.map_or((None, rest), |(tenant, rest)| (Some(tenant), rest));
    let query = behind_blanks(after_word(rest, "AS")?);
    statement(query)?;
    let text = query.trim_end().trim_end_matches(';').trim_end();
    Some(StandingCommand::Create {
        name: title.as_str().into(),
        if_not_exists: conditional.is_some(),
        tenant: tenant.map(|tenant| tenant.as_str().into()),
        text: text.into(),
    })
}

/// A name, in backticks (a doubled one stands for itself) or plain, and what comes behind it.
fn name(text: &str) -> Option<(String, &str)> {
    let text = behind_blanks(text);
    let Some(mut rest) = text.strip_prefix('`') else {
        let (name, rest) = text.split_at(text.find(|c: char| !(c.is_alphanumeric() || c == '_'))?);
        return Some((name.to_string(), rest));
    };
    let mut name = String::new();
    loop {
        let (piece, behind) = rest.split_once('`')?;
        name.push_str(piece);
        let Some(more) = behind.strip_prefix('`') else { return Some((name, behind)) };
        name.push('`');
        rest = more;
    }
}

/// A program that can be kept: of the present, and written so that the file of definitions is read as it was written.
pub(crate) fn kept<'a>(text: &'a str, wrapped: Wrapped<'a>) -> Result<Wrapped<'a>, Error> {
    let refused = |message: &str, hint: &str| {
        Err(Error::new("Neo.ClientError.Statement.SyntaxError", message).hint(hint))
    };
    if !wrapped.as_of.is_empty() {
        return refused(
            "a standing query is kept as of now: AS OF has no meaning here",
            "leave AS OF out, or ask the program once, without CREATE STANDING QUERY",
        );
    }
    // A comment that is not ended would take in the statement behind it.
    let text = text.trim().trim_end_matches(';').trim_end();
    let behind = format!("{text};\nRETURN 1");
    if !matches!(&cypher::split_statements(&behind)[..], [first, _] if first.text == text) {
        return refused(
            "the statement does not end where its program ends",
            "end comments before the closing brace, and leave `;` out of the program",
        );
    }
    Ok(wrapped)
}

/// Reads a program that begins at `offset` of a text, over a graph with these names.
pub(crate) fn compile(
    program: &str,
    whole: &str,
    offset: usize,
    catalog: &Catalog,
) -> Result<Program, Error> {
    let graph_has = |relation: &GraphRelation| match relation {
        GraphRelation::Label(name) => catalog.label(name).is_some(),
        GraphRelation::EdgeType(name) => catalog.edge_type(name).is_some(),
        GraphRelation::VertexProperty(..) | GraphRelation::EdgeProperty(..) => true,
    };
    ::datalog::compile(program)
        .and_then(|program| program.check_names(graph_has).map(|()| program))
        .map_err(|error| located(error, whole, offset))
}

fn located(error: DatalogError, text: &str, offset: usize) -> Error {
    let span = Span { start: error.span.start + offset as u32, end: error.span.end + offset as u32 };
    let mut shown = CypherError::syntax(error.message, span);
    shown.hint = error.hint;
    let code = match error.kind {
        ErrorKind::Syntax | ErrorKind::Unbound | ErrorKind::Unknown => {
            "Neo.ClientError.Statement.SyntaxError"
        }
        ErrorKind::Strata => "Neo.ClientError.Statement.SemanticError",
        ErrorKind::Limit => "Neo.ClientError.General.LimitExceeded",
    };
    Error { code: code.into(), ..in_text(shown, text) }
}

impl From<RulesError> for Error {
    fn from(error: RulesError) -> Error {
        let message = error.to_string();
        match error {
            RulesError::TooLarge { .. } => {
                Error::new("Neo.TransientError.General.MemoryPoolOutOfMemoryError", message)
                    .hint("ask with a value in place of a variable, or raise the limit of memory")
            }
            RulesError::Cancelled(_) => Error::new("Neo.TransientError.Transaction.Terminated", message),
            RulesError::Source(_) => Error::new("Tanglewood.DatabaseError.General.Storage", message),
            RulesError::MissingParameter(_) => {
                Error::new("Neo.ClientError.Statement.ParameterMissing", message)
            }
            RulesError::BadInput(_) => Error::new("Neo.ClientError.Statement.ArgumentError", message),
        }
    }
}
