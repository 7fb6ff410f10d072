//! Hash tables, all with one fast hasher.

use foldhash::fast::FixedState;

/// A hash map.
pub(crate) type HashMap<K, V> = hashbrown::HashMap<K, V, FixedState>;
/// A hash set.
pub(crate) type HashSet<K> = hashbrown::HashSet<K, FixedState>;
