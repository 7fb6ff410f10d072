//! Options of the shell.

use crate::Format;

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

/// Options of the shell.
#[derive(Clone, Copy)]
pub struct ShellOptions {
    /// Cuts a text into statements: the grammar's own way, which this crate does not know.
    pub split: fn(&str) -> Vec<Piece>,
    /// Format of results, until `:format` changes it.
    pub format: Format,
}
