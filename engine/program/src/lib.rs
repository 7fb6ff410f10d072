//! # program: node programs for Tanglewood, written in Rust
//!
//! A node program is built for `wasm32-unknown-unknown` and deployed by `CREATE PROGRAM`. It is a type that implements [`NodeProgram`], and one
//! line, [`export!`]. The database calls it with many nodes at once, so a call costs each of them little. [`trial`] runs it without a database.
//!
//! ```
//! use tanglewood_program::{Needs, VisitedNode, NodeOutbox, NodeProgram, Value};
//!
//! /// How many relationships a node has, and its neighbours together.
//! struct Around;
//!
//! impl NodeProgram for Around {
//!     fn needs(_: &Value) -> Result<Needs, String> {
//!         Ok(Needs::both())
//!     }
//!     fn visit(_: &Value, round: u32, node: &mut VisitedNode, out: &mut NodeOutbox) -> Result<(), String> {
//!         let own = node.edges.len() as i64;
//!         match round {
//!             0 => node.edges.iter().for_each(|edge| out.send(edge.other, Value::Int(own))),
//!             _ => out.emit(node.id, Value::Int(node.messages.iter().filter_map(Value::as_int).sum())),
//!         }
//!         Ok(())
//!     }
//! }
//! ```
//!
//! The database itself reads and writes the same messages with this crate ([`wire`]): there is one format, written and read by one module.
//!
//! Reading order: [`value`], [`visit`] (inputs and outputs of a program), [`wire`], [`trial`].

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod trial;
pub mod value;
pub mod visit;
pub mod wire;

pub use value::Value;
pub use visit::{EdgeDirection, Needs, NodeCall, NodeEdge, NodeOutbox, Properties, Reply, VisitedNode};

/// The version of the protocol between a module and the database.
pub const VERSION: u32 = 1;

/// A node program.
pub trait NodeProgram {
    /// The parts of nodes that it reads, and where it begins; `parameters` are those of the call.
    ///
    /// # Errors
    /// The parameters are not those it takes: shown to the caller.
    fn needs(parameters: &Value) -> Result<Needs, String>;
    /// Called with a node that has messages. A start node has one, null, in round 0.
    ///
    /// # Errors
    /// Any error ends the query, and is shown to the caller.
    fn visit(
        parameters: &Value,
        round: u32,
        node: &mut VisitedNode,
        out: &mut NodeOutbox,
    ) -> Result<(), String>;
    /// Called behind the last round with each node that has a state, where [`Needs::ends`] says so.
    ///
    /// # Errors
    /// As for [`visit`](NodeProgram::visit).
    fn end(parameters: &Value, node: &mut VisitedNode, out: &mut NodeOutbox) -> Result<(), String> {
        let _ = (parameters, node, out);
        Ok(())
    }
}

/// The answer to one call, in bytes. [`export!`] calls it.
pub fn answer<P: NodeProgram>(given: &[u8]) -> Vec<u8> {
    let reply =
        NodeCall::read(given).map_err(|error| error.to_string()).and_then(|mut call| run::<P>(&mut call));
    wire::write_reply(&reply)
}

/// The needs, read before the first call, in bytes. [`export!`] calls it.
pub fn needs<P: NodeProgram>(given: &[u8]) -> Vec<u8> {
    let parameters = wire::read_value(given).map_err(|error| error.to_string());
    wire::write_needs(&parameters.and_then(|parameters| P::needs(&parameters)))
}

/// Calls the program with each node of a call.
///
/// # Errors
/// The first error of the program.
pub fn run<P: NodeProgram>(call: &mut NodeCall) -> Result<Reply, String> {
    let mut out = NodeOutbox::default();
    for node in &mut call.nodes {
        match call.is_end {
            false => P::visit(&call.parameters, call.round, node, &mut out)?,
            true => P::end(&call.parameters, node, &mut out)?,
        }
    }
    let states = call.nodes.iter_mut().map(|node| std::mem::take(&mut node.state)).collect();
    Ok(Reply { states, out })
}

/// Makes a type that implements [`NodeProgram`] the program of a module.
#[macro_export]
macro_rules! export {
    ($program:ident) => {
        mod tanglewood_exports {
            use std::cell::RefCell;

            thread_local! {
                static GIVEN: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
                static TOLD: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
            }

            fn told(make: fn(&[u8]) -> Vec<u8>) -> u64 {
                let bytes = GIVEN.with_borrow(|given| make(given));
                TOLD.with_borrow_mut(|told| {
                    *told = bytes;
                    ((told.as_ptr() as usize as u64) << 32) | told.len() as u64
                })
            }
            #[unsafe(no_mangle)]
            extern "C" fn tanglewood_version() -> u32 {
                $crate::VERSION
            }
            #[unsafe(no_mangle)]
            extern "C" fn tanglewood_reserve(bytes: u32) -> u32 {
                GIVEN.with_borrow_mut(|given| {
                    given.clear();
                    given.resize(bytes as usize, 0);
                    given.as_mut_ptr() as usize as u32
                })
            }
            #[unsafe(no_mangle)]
            extern "C" fn tanglewood_needs() -> u64 {
                told($crate::needs::<super::$program>)
            }
            #[unsafe(no_mangle)]
            extern "C" fn tanglewood_visit() -> u64 {
                told($crate::answer::<super::$program>)
            }
        }
    };
}
