//! Memory usage of a snapshot.

use crate::Snapshot;
use crate::chunks::chunk::{Base, ChunkRead};
use crate::paging::pager::PagingReport;

/// Bytes of a snapshot in memory, by structure; shared parts are counted once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryReport {
    /// Chunks loaded as a whole.
    pub chunks_loaded: usize,
    /// Chunks in all.
    pub chunks: usize,
    /// Bases: adjacency.
    pub adjacency_bytes: usize,
    /// Bases: vertex properties.
    pub vertex_property_bytes: usize,
    /// Bases: edge properties.
    pub edge_property_bytes: usize,
    /// Deltas.
    pub delta_bytes: usize,
    /// Indexes.
    pub index_bytes: usize,
    /// The budget, and the usage of all snapshots of the store.
    pub paging: PagingReport,
}

impl MemoryReport {
    /// All bytes.
    pub fn total_bytes(&self) -> usize {
        self.adjacency_bytes
            + self.vertex_property_bytes
            + self.edge_property_bytes
            + self.delta_bytes
            + self.index_bytes
    }
}

impl MemoryReport {
    fn add_base(&mut self, base: &Base) {
        self.adjacency_bytes += base.tables.iter().map(|(_, table)| table.heap_bytes()).sum::<usize>();
        self.vertex_property_bytes +=
            base.columns.iter().map(|(_, column)| column.heap_bytes()).sum::<usize>();
        self.edge_property_bytes +=
            base.edge_columns.iter().map(|(_, column)| column.heap_bytes()).sum::<usize>();
    }
}

impl Snapshot {
    /// Bytes in memory, by structure.
    pub fn memory(&self) -> MemoryReport {
        let mut report = MemoryReport { paging: self.root.pager.report(), ..MemoryReport::default() };
        for (_, cell) in self.root.directory.iter() {
            report.chunks += 1;
            for part in cell.loaded_parts() {
                report.add_base(&part);
            }
            let Some(chunk) = cell.loaded() else { continue };
            report.chunks_loaded += 1;
            report.add_base(chunk.base());
            report.delta_bytes += chunk.delta().map_or(0, |delta| delta.heap_bytes());
        }
        report.index_bytes = self.root.indexes.iter().map(|(_, index)| index.heap_bytes()).sum();
        report
    }
}
