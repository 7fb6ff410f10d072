//! Gremlin: what TinkerPop's drivers speak. WebSocket frames of GraphBinary 1.0, traversals as bytecode or as text.
//!
//! Reading order: [`reading`] and [`writing`] (values as bytes), [`message`] (requests and responses), [`connection`] (one client,
//! without its socket), [`door`] (sockets).

pub mod connection;
pub mod door;
pub mod message;
pub mod reading;
pub mod writing;

pub use connection::{Manner, Sources};
pub use door::{GremlinServeOptions, GremlinServer};
