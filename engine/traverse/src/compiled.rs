//! A compiled traversal: its program and settings. [`mod@crate::compile`] makes it, [`crate::machine`] runs it.

use crate::step::{Body, Name};
use gremlin::{Object, Token};
use std::ops::Range;

/// A compiled traversal: a program, its settings, and whether its traversers keep their paths.
#[derive(Debug)]
pub struct Compiled {
    /// The steps.
    pub program: Body,
    /// The instructions that each step was made of.
    pub origins: Vec<Range<usize>>,
    /// Settings of the source.
    pub setting: Setting,
    /// Does any step read the whole path? Otherwise traversers keep only objects with labels that are read later.
    pub keeps_path: bool,
    /// Most labels that a traverser has at a time.
    pub labels_max: usize,
    /// Does any step change the graph?
    pub writes: bool,
}

impl Compiled {
    /// Are traversers that differ in nothing put together on the way?
    pub fn bulks(&self) -> bool {
        !self.keeps_path && self.setting.sack.is_none() && !self.setting.no_bulk && !self.program.is_watched()
    }
}

/// How a traversal is set.
#[derive(Debug, Default)]
pub struct Setting {
    /// The initial sack of every traverser, and how two sacks are merged.
    pub sack: Option<(Object, Option<Token>)>,
    /// Side effects with their first value and how values are put to them.
    pub sides: Vec<(Name, Object, Option<Token>)>,
    /// `SubgraphStrategy`.
    pub subgraph: Option<Subgraph>,
    /// `PartitionStrategy`.
    pub partition: Option<Partition>,
    /// `SeedStrategy`.
    pub seed: Option<i64>,
    /// `ProductiveByStrategy`, with the keys it is not applied to.
    pub productive_by: Option<Vec<Name>>,
    /// `withBulk(false)`.
    pub no_bulk: bool,
    /// Are trees given as maps of maps, for clients that know no trees: `with("trees", "maps")`?
    pub trees_are_maps: bool,
    /// `evaluationTimeout` in milliseconds, where `with` gives it.
    pub timeout_ms: Option<u64>,
}

/// The part of the graph that is seen.
#[derive(Debug, Default)]
pub struct Subgraph {
    /// Which vertices.
    pub vertices: Option<Body>,
    /// Which edges.
    pub edges: Option<Body>,
    /// Which properties of vertices.
    pub properties: Option<Body>,
    /// Does an edge need both its ends?
    pub checks_ends: bool,
}

/// A part of the graph, selected by a property.
#[derive(Clone, Debug)]
pub struct Partition {
    /// The key.
    pub key: Name,
    /// The value that is written.
    pub write: Option<Object>,
    /// The values that are read.
    pub read: Vec<Object>,
    /// Does it apply to properties of vertices too?
    pub properties: bool,
}
