//! Statements from a pipe or file: run as they come, until the first failure.

use super::conversation::{Conversation, Outcome};
use crate::ScriptPlace;
use std::io::{BufRead, BufReader};

/// Longest statement that is waited for; more than this without a semicolon is a mistake, not a query.
const STATEMENT_BYTES_MAX: usize = 64 << 20;

pub(crate) fn run(mut conversation: Conversation) -> std::io::Result<bool> {
    let mut pending = String::new();
    for (number, line) in (1..).zip(BufReader::new(world::files::stdin()).lines()) {
        let line = line?;
        if pending.trim().is_empty() {
            pending.clear();
            conversation.script = Some(ScriptPlace { line: number, column: 1 });
        }
        if pending.trim().is_empty() && line.trim_start().starts_with(':') {
            pending.clear();
            match conversation.command(line.trim())? {
                Outcome::Go => continue,
                Outcome::Quit => return Ok(true),
                Outcome::Failed => return Ok(false),
            }
        }
        pending.push_str(&line);
        pending.push('\n');
        if pending.len() > STATEMENT_BYTES_MAX {
            return Err(std::io::Error::other("a statement without end: no semicolon in 64 MiB"));
        }
        if line.contains(';') && !conversation.run_terminated(&mut pending)? {
            return Ok(false);
        }
    }
    conversation.run_rest(&pending)
}
