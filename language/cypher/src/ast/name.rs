//! Names of a text with their places.

use text::Span;

/// A name with its place: variable, label, type, property, function part, index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name itself, without backticks.
    pub text: String,
    /// Where it stands.
    pub span: Span,
}
