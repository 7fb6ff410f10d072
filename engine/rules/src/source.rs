//! Facts that are read on demand, in words: in the product those of a graph ([`crate::GraphFacts`]), in tests any.
//!
//! Facts that were read are not stored: rules read them again when they need them again. While a change is carried through, the source shows the
//! graph before it, and the evaluation knows the differences since.

use crate::error::RulesError;
use crate::words::{Word, Words};
use datalog::RelationNo;

/// A source of facts. Relations have their numbers in the program that is evaluated.
pub trait Source {
    /// Can facts be found by the value of this column alone, in time proportional to their number? Every relation of the graph serves its first one.
    fn serves(&self, relation: RelationNo, column: usize) -> bool;
    /// Number of facts of a relation, about.
    fn size(&self, relation: RelationNo) -> usize;
    /// Appends the values that facts of a relation have in their first column, each once; there may be some without facts. They come
    /// in parts of a bounded size: begins at `cursor` 0, and gives the cursor to go on with, none at the end.
    ///
    /// # Errors
    /// The graph could not be read.
    fn keys(
        &self,
        relation: RelationNo,
        cursor: u64,
        words: &mut Words,
        found: &mut Vec<Word>,
    ) -> Result<Option<u64>, RulesError>;
    /// Appends the facts that have this value in a column that is served: the words of each, each fact once.
    ///
    /// # Errors
    /// The graph could not be read.
    fn read(
        &self,
        relation: RelationNo,
        by: (usize, Word),
        words: &mut Words,
        found: &mut Vec<Word>,
    ) -> Result<(), RulesError>;
    /// Is this a fact?
    ///
    /// # Errors
    /// The graph could not be read.
    fn holds(&self, relation: RelationNo, fact: &[Word], words: &mut Words) -> Result<bool, RulesError> {
        let mut found = Vec::new();
        self.read(relation, (0, fact[0]), words, &mut found)?;
        Ok(found.chunks_exact(fact.len()).any(|known| known == fact))
    }
}

/// The source of the graph's relations, where they are not given as facts.
pub(crate) type Over<'s> = Option<&'s dyn Source>;
