//! # Tanglewood: a graph database in your process
//!
//! One multi-version graph. Open a [`Database`], take a [`Session`], ask it in Cypher:
//!
//! ```
//! use tanglewood::{Database, Options, params};
//!
//! # fn main() -> Result<(), tanglewood::Error> {
//! let database = Database::open(tanglewood::MEMORY, Options::default())?;
//! let mut session = database.session();
//! session.query("CREATE (:Person {name: $name})", params! { "name" => "Ada" })?;
//! for row in session.query("MATCH (p:Person) RETURN p.name AS name", params! {})?.records() {
//!     assert_eq!(row?.as_str("name")?, "Ada");
//! }
//! # Ok(())
//! # }
//! ```
//!
//! A folder in place of [`MEMORY`] keeps what is committed. The command `tanglewood` is built on this library and nothing else.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]
// They panic where nobody reads; see `world::files::say`.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub use database::*;

/// Rust of the pages compiles, and runs where it can; `tests/guide.rs` runs all else of them, and sees that none is missing here.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../docs/guide/gremlin.md")]
    struct Gremlin;
    #[doc = include_str!("../docs/guide/kronos.md")]
    struct Kronos;
    #[doc = include_str!("../docs/guide/kronos-graph-store.md")]
    struct KronosGraphStore;
    #[doc = include_str!("../docs/guide/rust.md")]
    struct Rust;
    #[doc = include_str!("../docs/guide/standing-queries.md")]
    struct StandingQueries;
}
