//! Indexes: a tree of leaves, each a sorted run and a small delta; how entries are collected from chunks, sorted and stored.

pub(crate) mod changes;
pub(crate) mod collect;
pub(crate) mod edges;
pub(crate) mod estimate;
pub(crate) mod gather;
pub(crate) mod leaf;
pub(crate) mod manifest;
pub(crate) mod merge;
pub(crate) mod prepared;
pub(crate) mod range;
pub(crate) mod run;
pub(crate) mod run_bytes;
pub(crate) mod tree;
