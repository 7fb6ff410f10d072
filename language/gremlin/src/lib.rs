//! # gremlin: the second language, as text and as bytecode
//!
//! A request is a [`Traversal`]: instructions with arguments, whichever way it came. [`parse`] reads gremlin-lang text; an interface that
//! decodes bytecode builds the same form through [`Traversal::with_step`] and its kin. [`check`] then says, before anything runs,
//! whether every step is known and has arguments it can take; what is not supported is refused by name.
//!
//! Reading order: [`object`] (what steps are given and yield), [`token`] (the words `T.id`, `Order.desc`, …), [`traversal`] (the one
//! form), [`lower()`] (to the algebra, what it can say), [`shape`] (what of a traversal decides that), [`mod@footprint`] (what it may read), [`predicate`] (`P` and `TextP`), `lexer` and [`mod@parser`] (text to the form), [`print`] (and back), [`steps`] and [`strategies`] (which there
//! are), [`graphson`] and [`bytecode`] (what drivers write, to values and to the form, and back), `shown` (elements as clients see them), [`error`].

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
