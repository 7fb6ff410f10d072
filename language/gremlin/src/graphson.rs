//! GraphSON, read and written: JSON of versions 1 (plain), 2 and 3 (with `@type` and `@value`).
//!
//! [`argument`] and [`object`] read what clients send, [`JsonWriter`] writes what a traversal gives, [`file_vertex`] and [`file_edges`] read
//! a line of TinkerPop's files. What stands around the values in a request or a response is the server's.

mod file;
mod parts;
mod reading;
mod writing;

pub use file::{FileEdge, FileProperty, FileVertex, file_edges, file_vertex};
pub use reading::{argument, named_arguments, object};
pub use writing::{BagTooLarge, Dialect, JsonWriter};

use std::fmt;

/// JSON that is no GraphSON, or holds what is not supported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphsonError(pub String);

impl fmt::Display for GraphsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for GraphsonError {}

type Outcome<T> = Result<T, GraphsonError>;

fn wrong<T>(why: impl Into<String>) -> Outcome<T> {
    Err(GraphsonError(why.into()))
}
