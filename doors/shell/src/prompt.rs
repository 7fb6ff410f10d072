//! The shell: reads statements and commands, answers them, remembers parameters and the open transaction.
//!
//! The same conversation runs at a terminal ([`interactive`]) and from a pipe ([`piped`]), where the first failure ends it.

mod command;
mod complete;
mod conversation;
mod files;
mod history;
mod interactive;
mod piped;
mod schema;

use crate::talk::Talk;
use crate::{Format, Style};
use conversation::Conversation;
use std::io::IsTerminal;

/// One statement of a longer text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The statement without its semicolon.
    pub text: String,
    /// Where it begins in the longer text, in bytes.
    pub start: usize,
    /// Did a semicolon end it?
    pub terminated: bool,
}

/// What the shell is told by whoever starts it.
#[derive(Clone, Copy)]
pub struct ShellOptions {
    /// Cuts a text into statements: the grammar's own way, which this room does not know.
    pub split: fn(&str) -> Vec<Piece>,
    /// Format of results, until `:format` changes it.
    pub format: Format,
}

/// Talks until the input ends; false if a statement from a pipe failed.
///
/// # Errors
/// The terminal or the output fails.
pub fn run(talk: Box<dyn Talk>, options: ShellOptions) -> std::io::Result<bool> {
    let is_interactive = std::io::stdin().is_terminal();
    let conversation = Conversation::new(talk, options, Style::of_stdout());
    if is_interactive { interactive::run(conversation) } else { piped::run(conversation) }
}
