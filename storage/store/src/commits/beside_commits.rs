//! Compaction beside commits: a chunk is compacted in an old snapshot without holding up commits, and the result is taken over by a later one.
//!
//! Idea: a chunk that no commit touched meanwhile has the same cell in both snapshots, so its compacted base fits both. Cost of taking it over: one
//! pointer, however large the chunk.

use crate::commits::draft::Draft;
use crate::snapshots::root::Snapshot;
use model::ChunkNo;
use std::sync::Arc;

impl Snapshot {
    /// The same graph with one chunk as in `compacted`, which was made of `before`; none if the chunk is not as it was in `before` any more.
    pub fn with_compacted(
        &self,
        chunk: ChunkNo,
        before: &Snapshot,
        compacted: &Snapshot,
    ) -> Option<Snapshot> {
        let cell = |snapshot: &Snapshot| snapshot.root.directory.get(chunk).cloned();
        let (here, was, now) = (cell(self)?, cell(before)?, cell(compacted)?);
        if !Arc::ptr_eq(&here, &was) {
            return None;
        }
        let mut draft = Draft::new(self);
        draft.directory.set(chunk, now);
        draft.finish(self.commit_version()).ok()
    }
}

#[cfg(test)]
mod tests {
    use crate::{Change, Names, Snapshot, StoreOptions};
    use model::{KeyId, LabelSetId, Value, VertexId};
    use std::sync::Arc;

    #[test]
    fn a_fold_is_taken_over_unless_the_chunk_was_touched() {
        let names = Arc::new(Names::new());
        let key = names.intern_key("n").unwrap();
        let set = |commit_version: u64, from: &Snapshot, vertex: u64, value: i64| {
            let change = Change::SetProperty { id: VertexId(vertex), key, value: Value::Int(value) };
            from.apply(commit_version, &[&[change]]).unwrap()
        };
        let vertex = |id: u64| {
            let properties: Vec<(KeyId, Value)> = vec![(key, Value::Int(0))];
            Change::CreateVertex { id: VertexId(id), labels: LabelSetId(0), properties }
        };
        let other = model::id::CHUNK_SLOTS as u64;
        let empty = Snapshot::empty(names.clone(), StoreOptions::default());
        let before = empty.apply(1, &[&[vertex(0), vertex(other)]]).unwrap();
        let chunk = VertexId(0).chunk();
        let compacted = before.compact(chunk).unwrap();
        let elsewhere = set(2, &before, other, 7);
        let taken = elsewhere.with_compacted(chunk, &before, &compacted).unwrap();
        assert_eq!(
            taken.chunks_to_compact(1),
            [VertexId(other).chunk()],
            "only the other chunk has changes left"
        );
        assert_eq!(taken.commit_version(), 2);
        assert_eq!(taken.property(VertexId(other), key).unwrap().as_int(), Some(7));
        let touched = set(3, &taken, 0, 8);
        assert!(touched.with_compacted(chunk, &before, &compacted).is_none());
    }
}
