//! Datalog through a session: `DATALOG { rules … ?- question. }` is a statement wherever statements are taken; `CREATE STANDING QUERY name AS DATALOG
//! { … }`, a statement of Cypher's grammar, maintains its answer.
//!
//! This file recognises such texts; `session::datalog` answers them.

use crate::Error;
use crate::error::in_text;
use ::datalog::{DatalogError, GraphRelation, Program};
use ::rules::RulesError;
use store::Catalog;
use transact::TransactError;

/// A program inside a statement.
pub(crate) struct Wrapped<'a> {
    /// `AS OF …`, or nothing.
    pub as_of: &'a str,
    pub program: &'a str,
    /// Where it begins in the statement.
    pub offset: usize,
}

/// The rest of a text behind this word, in any case.
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

/// A program that can be maintained: without `AS OF`, and written so that the catalogue's entry is parsed back to the same program.
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
    let program = ::datalog::compile(program).map_err(|error| shifted(error, whole, offset))?;
    check_names(&program, whole, offset, catalog)?;
    Ok(program)
}

/// Refuses names that are likely slips: neither the program nor the graph has them.
pub(crate) fn check_names(
    program: &Program,
    whole: &str,
    offset: usize,
    catalog: &Catalog,
) -> Result<(), Error> {
    let graph_has = |relation: &GraphRelation| match relation {
        GraphRelation::Label(name) => catalog.label(name).is_some(),
        GraphRelation::EdgeType(name) => catalog.edge_type(name).is_some(),
        GraphRelation::VertexProperty(..) | GraphRelation::EdgeProperty(..) => true,
    };
    program.check_names(graph_has).map_err(|error| shifted(error, whole, offset))
}

/// An error of a program that begins at `offset` of a text.
fn shifted(error: DatalogError, whole: &str, offset: usize) -> Error {
    in_text(DatalogError { span: error.span.shifted(offset), ..error }, whole)
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
            RulesError::Source(error) => TransactError::Store(error).into(),
            RulesError::MissingParameter(_) => {
                Error::new("Neo.ClientError.Statement.ParameterMissing", message)
            }
            RulesError::BadInput(_) => Error::new("Neo.ClientError.Statement.ArgumentError", message),
        }
    }
}
