//! Cypher: text to syntax tree to plan, and what is wrong with the text.
//!
//! In reading order: a text is cut into statements by [`split_statements`]; one statement becomes a tree
//! ([`ast`]) through [`parse`], and the tree becomes a plan through [`lower`]; [`compile`] does both. What is wrong is a
//! [`CypherError`] with the place in the text.
#![warn(missing_docs)]

pub mod limits;

mod error;
mod span;
mod suggest;

mod lexer;
mod split;

pub mod ast;
mod parser;
mod print;

mod lower;

pub use error::{CypherError, ErrorKind};
pub use lower::{PROCEDURES, Procedure, compile, lower};
pub use parser::parse;
pub use print::print;
pub use span::Span;
pub use split::{StatementText, split_statements};
