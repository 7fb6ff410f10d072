//! Statements from a pipe or file: run as they come, until the first failure.

use super::conversation::{Conversation, Outcome};
use crate::ScriptPlace;
use std::io::{self, BufRead, BufReader};

/// Longest statement that is waited for; more than this without a semicolon is a mistake, not a query.
const STATEMENT_BYTES_MAX: usize = 64 << 20;

pub(crate) fn run(mut conversation: Conversation) -> io::Result<bool> {
    let outcome = run_from(&mut conversation, BufReader::new(world::files::stdin()))?;
    Ok(outcome != Outcome::Failed)
}

/// Runs the input of a reader, to its end, a failure, or `:quit`.
pub(crate) fn run_from(conversation: &mut Conversation, reader: impl BufRead) -> io::Result<Outcome> {
    let mut pending = String::new();
    for (number, line) in (1..).zip(reader.lines()) {
        let line = line?;
        if pending.trim().is_empty() {
            pending.clear();
            conversation.script = Some(ScriptPlace { line: number, column: 1 });
        }
        if pending.trim().is_empty() && line.trim_start().starts_with(':') {
            pending.clear();
            match conversation.command(line.trim())? {
                Outcome::Go => continue,
                ended => return Ok(ended),
            }
        }
        pending.push_str(&line);
        pending.push('\n');
        if pending.len() > STATEMENT_BYTES_MAX {
            return Err(io::Error::other("a statement without end: no semicolon in 64 MiB"));
        }
        if line.contains(';') && !conversation.run_terminated(&mut pending)? {
            return Ok(Outcome::Failed);
        }
    }
    Ok(if conversation.run_rest(&pending)? { Outcome::Go } else { Outcome::Failed })
}
