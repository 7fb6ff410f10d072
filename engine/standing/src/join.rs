//! Embeddings of a pattern for each row of an input, maintained by delta joins without intermediate state.
//!
//! A pattern is a list of *atoms*, each a relation of the graph: the vertices of a label, the edges of a type, a property. Relation 0
//! is the input, relation i the i-th atom. When relation i changes at a timestamp, the new (or gone) bindings are completed by looking the
//! others up in an order of their own (a [`Route`]): those after i as they are at the timestamp, those before i as they were just before
//! it. So each change of the answer is found exactly once, whichever relations changed together, and nothing but the input is stored.
//! (The delta queries of K-Pg, section 6.2.) Loading the graph is the change of the input from nothing to its rows.
//!
//! `pattern` defines a join, `builder` makes one, `route` decides the orders, `run` follows them, `state` is kept from timestamp to timestamp.

mod block;
mod builder;
mod focus;
pub(crate) mod pattern;
mod route;
mod run;
mod state;

pub(crate) use builder::JoinBuilder;
pub(crate) use pattern::Atom;
pub(crate) use state::JoinState;
