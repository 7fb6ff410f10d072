//! # tanglewood-kronos: a client of the event ordering service
//!
//! Kronos answers which of two events happened first, as far as clients have declared it. Start a server with `tanglewood kronos --data DIR`, then:
//!
//! ```
//! use tanglewood_kronos::{Constraint, Order, blocking::Kronos};
//!
//! # fn main() -> Result<(), tanglewood_kronos::KronosError> {
//! # let (_server, address) = server();
//! # let ask_at = |_: &str| Kronos::connect(&address);
//! # /*
//! let kronos = Kronos::connect("127.0.0.1:7700")?;
//! # */
//! # let kronos = ask_at("127.0.0.1:7700")?;
//! let events = kronos.create_events(3)?;
//! let (question, answer, other) = (events[0], events[1], events[2]);
//! kronos.assign_order(&[Constraint::must(question, Order::Before, answer)])?;
//! assert_eq!(kronos.query_order(&[(answer, question)])?, [Order::After]);
//! assert_eq!(kronos.query_order(&[(answer, other)])?, [Order::Concurrent]);
//! kronos.close()
//! # }
//! # fn server() -> (kronos::Running, String) {
//! #     let folder = world::files::TemporaryFolder::new("kronos-doc").expect("a folder");
//! #     let options = kronos::Options::new(([127, 0, 0, 1], 0).into(), folder.path().join("data"));
//! #     let running = kronos::serve(&options).expect("a server");
//! #     let address = running.address().to_string();
//! #     std::mem::forget(folder);
//! #     (running, address)
//! # }
//! ```
//!
//! [`Kronos`] is the same for async programs (tokio). Both share their work: sessions with leases renewed in the background, failover to
//! other replicas, retries that are carried out once, and a cache of ordered pairs, which can never change.
//!
//! Reading order: [`Options`], [`Kronos`], [`KronosError`], `replicas` (failover), `window` (request numbers), `cache`, `gather` (batches of
//! several callers).

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod cache;
mod client;
mod error;
mod gather;
mod options;
mod replicas;
mod types;
mod window;
mod wire;

pub mod blocking;

pub use cache::CACHED_PAIRS_MAX;
pub use client::Kronos;
pub use error::KronosError;
pub use options::{LEASE, Options, PATIENCE};
pub use replicas::REPLICAS_MAX;
pub use types::{Assigned, BATCH_MAX, Constraint, Event, Order, Stats, Strength};
