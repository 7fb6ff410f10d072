//! Algorithms over every vertex of a graph: those of LDBC Graphalytics beside breadth-first search.
//!
//! | question | algorithm |
//! |---|---|
//! | which vertices are connected? | [`Components`] |
//! | which are important? | [`PageRank`] |
//! | which communities form by themselves? | [`Propagation`] |
//! | how densely are a vertex's neighbours joined? | [`Clustering`] |
//! | how far is each from a source, by weight? | [`Cheapest`] |
//!
//! Each is a sequence of stages that any number of workers share ([`WorkerPool`]): it works by quota, can be left and dropped, reports its memory,
//! and its answer does not depend on scheduling. Each works on a [`Field`]: the graph in both directions, restricted to some vertices.
//!
//! ```
//! use tanglewood_paths::algorithms::{Components, WorkerPool, Field, Hand};
//! use tanglewood_paths::{Orientation, Turn, Work, csr::Csr};
//!
//! let edges = [(0, 1), (2, 1), (3, 4)];
//! let (along, against) = (Csr::outgoing(5, &edges), Csr::incoming(5, &edges));
//! let field = Field::new(&along, &against, Orientation::Directed, (0..5).collect(), true);
//! let pool = WorkerPool::new(Components::new(field));
//! let mut hand = Hand::default();
//! while pool.work_on(&mut hand, &mut Work::new(1000))? != Turn::Done {}
//!
//! let components: Vec<u32> = (0..5).map(|position| pool.job().value(position)).collect();
//! assert_eq!(components, [0, 0, 0, 3, 3]);
//! # Ok::<(), tanglewood_paths::PathError>(())
//! ```

mod cheapest;
mod clustering;
mod components;
mod field;
mod page_rank;
mod propagation;
mod worker_pool;

pub use cheapest::{Cheapest, ReadWeight, Weights};
pub use clustering::Clustering;
pub use components::Components;
pub use field::Field;
pub use page_rank::PageRank;
pub use propagation::Propagation;
pub use worker_pool::{Hand, Staged, Stretch, WorkerPool};
