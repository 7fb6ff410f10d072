//! Numbers of groups.

/// The number of no group.
pub const NO_GROUP: u32 = u32::MAX;
