//! Gremlin: the protocols of TinkerPop's drivers. WebSocket and HTTP, GraphBinary 1.0 and GraphSON, traversals as bytecode or as text.
//!
//! Reading order: [`reading`] and [`writing`] (values as bytes), [`graphson`] (responses in JSON; values are for `gremlin`), [`message`] (requests
//! and responses), [`asking`] (how a request runs), [`connection`] (one client of WebSocket) and [`http`] with [`request_head`] (one of HTTP), both
//! without sockets, [`pace`] (time limits of reads), [`interface`] (sockets).

pub mod asking;
pub mod connection;
pub mod graphson;
pub mod http;
pub mod interface;
pub mod message;
pub mod pace;
pub mod reading;
pub mod request_head;
pub mod status;
pub mod writing;

pub use asking::DEFAULT_SOURCE;
pub use connection::{Manner, Sources};
pub use interface::{GremlinServeOptions, GremlinServer};
