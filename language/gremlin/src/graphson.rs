//! GraphSON, read and written: JSON of versions 1 (plain), 2 and 3 (with `@type` and `@value`).
//!
//! [`argument`] and [`object`] read clients' values, [`JsonWriter`] writes objects, [`file_vertex`] and [`file_edges`] read a line of TinkerPop's
//! files. The frame of a request or a response is the server's.

mod base64;
mod error;
mod file;
mod parts;
mod reading;
mod writing;

pub use crate::shown::BagTooLarge;
pub use error::GraphsonError;
pub use file::{FileEdge, FileProperty, FileVertex, file_edges, file_vertex};
pub use reading::{argument, named_arguments, object};
pub use writing::{Dialect, JsonWriter};
