//! Filters of vertices by their labels alone.

use model::LabelId;

/// A truth over the label set of a vertex.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LabelFilter {
    /// Every vertex.
    Any,
    /// Vertices that carry this label.
    Has(LabelId),
    /// All of these hold.
    And(Vec<LabelFilter>),
    /// One of these holds.
    Or(Vec<LabelFilter>),
    /// This does not hold.
    Not(Box<LabelFilter>),
}

impl LabelFilter {
    /// Vertices that carry all of `labels`.
    pub fn all_of(labels: &[LabelId]) -> LabelFilter {
        match labels {
            [] => LabelFilter::Any,
            [label] => LabelFilter::Has(*label),
            _ => LabelFilter::And(labels.iter().map(|label| LabelFilter::Has(*label)).collect()),
        }
    }
    /// Does a vertex with these labels (sorted) pass?
    pub fn accepts(&self, labels: &[LabelId]) -> bool {
        match self {
            LabelFilter::Any => true,
            LabelFilter::Has(label) => labels.binary_search(label).is_ok(),
            LabelFilter::And(filters) => filters.iter().all(|filter| filter.accepts(labels)),
            LabelFilter::Or(filters) => filters.iter().any(|filter| filter.accepts(labels)),
            LabelFilter::Not(filter) => !filter.accepts(labels),
        }
    }
}
