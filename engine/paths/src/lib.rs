//! Recursive traversals: which vertices can be reached, and by which paths.
//!
//! The crate knows a graph only through the trait [`Adjacency`], which it owns and others implement; it knows no
//! store, no transaction and no query language. Every search is a state machine: `step(&mut self, &mut Work)`
//! visits at most a quota of edges and says whether there is [`Progress::More`] to do, so a scheduler can
//! interleave, pause and drop searches at will, and a hub with millions of edges is left and re-entered in the
//! middle of its list. Every search tells its memory by `bytes()`.
//!
//! | question | search |
//! |---|---|
//! | which distinct vertices lie within a number of hops of these sources? | [`Reach`] |
//! | the same for each of many sources, by several workers? | [`Dispatcher`], by a [`DispatchPolicy`] |
//! | and a shortest path to each of them? | [`Dispatcher::with_paths`]; see `examples/paths.rs` |
//! | one shortest path, or all, between two vertices? | [`ShortestPair`], [`AllShortestPair`] |
//! | shortest paths from one source to all or some? | [`ShortestFrom`] |
//! | every trail, walk, acyclic or simple path? | [`Trails`] |
//! | every path, or the shortest few, of a pattern of several parts? | [`PatternSearch`] |
//! | the cheapest path by weight? | [`WeightedShortest`] |
//! | something about every vertex: components, ranks, communities, clustering? | [`algorithms`] |
//!
//! ```
//! use tanglewood_paths::{Hops, Keep, Orientation, Progress, Reach, Work, csr::Csr};
//!
//! let graph = Csr::outgoing(4, &[(0, 1), (1, 2), (2, 0), (2, 3)]);
//! let mut reach = Reach::new(&graph, &[0], Hops::new(1, 3), Orientation::Directed, Keep::Levels)?;
//! while reach.step(&mut Work::new(1000))? == Progress::More {}
//!
//! let (mut ends, mut distances) = (Vec::new(), Vec::new());
//! reach.drain_ends(&mut ends, &mut distances, 1024);
//! assert_eq!((ends, distances), (vec![1, 2, 0, 3], vec![1, 2, 3, 3]));
//! # Ok::<(), tanglewood_paths::PathError>(())
//! ```
//!
//! A search owns its graph as a type parameter `A: Adjacency`; `&A`, `Arc<A>` and `Box<A>` implement the trait too.

#![cfg_attr(not(test), deny(clippy::unwrap_used))]

mod adjacency;
mod error;
mod filtered;
mod hops;
mod path;
mod work;

pub mod csr;

mod spare;

mod distances;
mod frontier;
mod morsel;

mod direction;

mod bottom_up;
mod reach;
mod returns;

mod answers;
mod dispatch;

mod lister;
mod shortest_from;
mod shortest_pair;
mod wave;

mod trail_ends;
mod trails;
mod weighted;

pub mod algorithms;

mod pattern;

pub use adjacency::{Adjacency, EdgeScratch};
pub use answers::{Answers, Run};
pub use dispatch::{
    DispatchPolicy, Dispatcher, LANE_HOPS_MIN, LANE_SOURCES_MIN, LANES_MAX, Occasion, SEARCHES_OPEN_MAX,
    Sharing, Turn, Worker,
};
pub use distances::Distances;
pub use error::PathError;
pub use filtered::Filtered;
pub use frontier::Bitmap;
pub use hops::{Hops, Orientation};
pub use lister::Listing;
pub use path::Path;
pub use pattern::{
    Choice, Conditions, PATTERN_STATES_MAX, Part, PathPattern, PatternGraph, PatternPath, PatternSearch,
};
pub use reach::{Keep, Reach};
pub use shortest_from::{PathList, ShortestFrom, Targets};
pub use shortest_pair::{AllShortestPair, ShortestPair};
pub use trail_ends::{TRAIL_ENDS_HOPS_MAX, TrailEnds};
pub use trails::{Guide, PathMode, TRAIL_HOPS_MAX, Toward, TrailBatch, Trails};
pub use weighted::WeightedShortest;
pub use work::{Progress, Work};
