//! What a vertex did so far, summed over all its instances on all executors.

/// The profile of one vertex of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VertexProfile {
    /// The name given to the vertex.
    pub name: String,
    /// Instances made, over all executors and scope instances.
    pub instances: u64,
    /// Rows received.
    pub rows_in: u64,
    /// Rows sent.
    pub rows_out: u64,
    /// Messages sent.
    pub batches: u64,
    /// Time spent in its calls, in nanoseconds. Calls do not block, so on an undisturbed core this is CPU time.
    pub cpu_ns: u64,
    /// Calls that ran past twice their quota.
    pub overruns: u64,
    /// Most bytes held at once.
    pub bytes_peak: u64,
}
