//! Versions of chunks: a base in a page with a delta, and the caches of each version for its readers; the directory of them all.

pub(crate) mod cell;
pub(crate) mod directory;
pub(crate) mod joined_view;
pub(crate) mod ranked;
pub(crate) mod shown;
pub(crate) mod views;
