//! The shell: reads statements and commands, answers them, remembers parameters and the open transaction.
//!
//! The same conversation runs at a terminal ([`interactive`]) and from a pipe ([`piped`]), where the first failure ends it.

mod command;
mod complete;
mod conversation;
mod files;
mod history;
mod interactive;
mod live;
mod options;
mod piped;
mod schema;

pub use options::{Piece, ShellOptions};

use crate::Style;
use crate::talk::Talk;
use conversation::Conversation;
use std::io::IsTerminal;

/// Talks until the input ends; false if a statement from a pipe failed.
///
/// # Errors
/// The terminal or the output fails.
pub fn run(talk: Box<dyn Talk>, options: ShellOptions) -> std::io::Result<bool> {
    let is_interactive = std::io::stdin().is_terminal();
    let conversation = Conversation::new(talk, options, Style::of_stdout());
    if is_interactive { interactive::run(conversation) } else { piped::run(conversation) }
}
