//! Cypher: text to syntax tree to plan, and errors in the text.
//!
//! In reading order: a text is cut into statements by [`split_statements`]; one statement becomes a tree
//! ([`ast`]) through [`parse`], and the tree becomes a plan through [`lower`]; [`compile`] does both. What is wrong is a
//! [`CypherError`] with the place in the text.
//!
//! ```
//! use tanglewood_cypher as cypher;
//!
//! let statement = cypher::compile("MATCH (p:Person {id: $id})-[:KNOWS]->(f) RETURN f.name").unwrap();
//! assert_eq!(statement.parameters[0].as_ref(), "id");
//!
//! let query = "MATCH (person) RETRUN person.name";
//! let error = cypher::compile(query).unwrap_err();
//! assert_eq!(error.code(), "Neo.ClientError.Statement.SyntaxError");
//! assert!(error.render(query).ends_with("hint: did you mean RETURN?"));
//! ```
//!
//! Invariants of absence: nothing here knows a store, an executor or a wire; nothing reads a clock, a file or a socket. No text
//! makes this crate panic or overflow the stack ([`limits`]).
#![cfg_attr(not(test), deny(clippy::unwrap_used))]
#![warn(missing_docs)]

pub mod limits;

mod error;

mod lexer;
mod split;

pub mod ast;
mod parser;
mod print;

mod lower;

/// The age that a text allows for its snapshot, if it sets one.
pub fn no_older_than(text: &str) -> Option<std::time::Duration> {
    parse(text).ok()?.no_older_than_ms.map(std::time::Duration::from_millis)
}

pub use error::{CypherError, ErrorKind};
pub use lower::{compile, lower};
pub use parser::parse;
pub use print::print;
pub use split::{StatementText, split_statements};
pub use text::Span;
