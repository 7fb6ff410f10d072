//! # text: positions in a text, and its errors
//!
//! Shared by the three languages: a [`Span`] of the text, an error with a kind, a position and a hint, its line with the position underlined, and the
//! known word that is probably meant.
//!
//! Reading order: [`span`], [`error`], [`line_span`], [`suggest`], [`limits`].

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

pub mod error;
pub mod limits;
pub mod line_span;
pub mod span;
pub mod suggest;

pub use error::{Coded, TextError};
pub use line_span::line_and_column;
pub use span::Span;
pub use suggest::nearest;
