//! # gremlin: the second language, as text and as bytecode
//!
//! A request is a [`Traversal`]: instructions with arguments, whichever way it came. [`parse`] reads gremlin-lang text; an interface that
//! decodes bytecode builds the same form through [`Traversal::with_step`] and its kin. [`check`] then says, before anything runs,
//! whether every step is known and has valid arguments; unsupported steps are refused by name.
//!
//! Reading order: [`object`] (inputs and outputs of steps), [`token`] (the words `T.id`, `Order.desc`, …), [`traversal`] (the one form), [`lower()`]
//! (to the algebra, where it can express it), [`shape`] (the part of a traversal that decides that), [`mod@footprint`] (its possible reads),
//! [`predicate`] (`P` and `TextP`), `lexer` and [`mod@parser`] (text to the form), [`print`] (and back), [`steps`] and [`strategies`] (tables of
//! these), [`graphson`] and [`bytecode`] (drivers' formats, to values and to the form, and back), `shown` (elements as clients see them), [`error`].

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod bytecode;
pub mod error;
pub mod footprint;
pub mod graphson;
mod lexer;
pub mod limits;
mod lower;
pub mod metrics;
pub mod object;
pub mod parser;
pub mod predicate;
pub mod print;
pub mod shape;
mod shown;
pub mod steps;
pub mod strategies;
pub mod token;
pub mod traversal;
mod weight;

pub use error::{ErrorKind, GremlinError};
pub use footprint::{Footprint, footprint};
pub use lower::{Lowered, ResultKind, Shape, lower, lower_with};
pub use metrics::{Metrics, TraversalMetrics};
pub use object::{Decimal, Instant, Object, Property, Reference, ReferenceKind, VertexProperty};
pub use parser::{Bindings, Request, parse};
pub use predicate::{Compare, Predicate, TextTest};
pub use shown::{Elements, ShownEdge, ShownVertex};
pub use steps::check;
pub use text::Span;
pub use token::{Cardinality, Token};
pub use traversal::{Argument, Instruction, Strategy, Terminal, Traversal};
