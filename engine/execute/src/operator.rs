//! The operators, one file each, named after their plan nodes: sources, and operators that extend rows, drop rows, aggregate, join, write.

pub(crate) mod argument;
pub(crate) mod unit;

mod index_lookup;
pub(crate) mod scan_vertices;
pub(crate) mod seek_edges;
pub(crate) mod seek_ids;
pub(crate) mod seek_vertices;

pub(crate) mod call_procedure;
pub(crate) mod cheapest_path;
pub(crate) mod count_matches;
pub(crate) mod count_stored;
pub(crate) mod expand;
pub(crate) mod expand_path;
pub(crate) mod expand_pattern;
pub(crate) mod graph_procedure;
pub(crate) mod intersect;
pub(crate) mod unwind;

pub(crate) mod extend;
pub(crate) mod filter;
pub(crate) mod limit;
pub(crate) mod load_csv;
pub(crate) mod produce;
pub(crate) mod project;
pub(crate) mod skip;

pub(crate) mod aggregate;
pub(crate) mod distinct;
pub(crate) mod sort;

pub(crate) mod apply;
pub(crate) mod inline;
pub(crate) mod join;
pub(crate) mod repeat;
pub(crate) mod union;

pub(crate) mod barrier;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod for_each;
pub(crate) mod merge;
pub(crate) mod set;
pub(crate) mod write;
