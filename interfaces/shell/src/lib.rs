//! # shell: the interactive prompt and the printing of results
//!
//! Reading order: [`style`] (colours and width of the terminal), [`text`] and [`json`] (one value), [`talk`] (the shell's view of a database),
//! [`print`] (a whole result, in five formats), [`failure`] (an error), [`script`] (where it happened), [`pager`], [`highlight`] (a query's text),
//! [`params`] (parameters from JSON), [`prompt`] (the shell).
//!
//! Results are printed as they arrive, so a million rows need no more memory than a thousand.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]
// They panic where nobody reads; see `world::files::say`.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod style;

pub mod json;
pub mod text;

pub mod talk;

pub mod print;

pub mod failure;
pub mod highlight;
pub mod pager;
pub mod params;
pub mod script;

pub mod prompt;

pub use failure::{failure, notice};
pub use print::{Format, Look, PrintError, print_objects, print_result};
pub use prompt::{Piece, ShellOptions, run};
pub use script::ScriptPlace;
pub use style::{Ink, Style};
pub use talk::{Interrupt, Local, NameCounts, Names, StatementAnswer, Talk};
