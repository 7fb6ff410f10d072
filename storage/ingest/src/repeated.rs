//! Relationships that the database has already: a repeated import must not add them once more.
//!
//! A relationship of the files exists already if the database has one of the same type between the same two nodes, with the same properties and no
//! others. Each of the database matches one of the files: where a file has three equal ones and the database two, one is new.
//!
//! Cost: the relationships of every node of the database that a block's relationships leave from are read once a block.

use crate::ImportError;
use crate::existing::Existing;
use crate::options::{ExistingPolicy, ImportOptions};
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use model::{Column, Direction, EdgeId, EdgeTypeId, KeyId, Value, VertexId};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use store::{EdgeScratch, Snapshot, StoreError};

/// Edges of the files held against those of the database.
pub(crate) struct Repeated {
    policy: ExistingPolicy,
    snapshot: Snapshot,
    /// Edges of the database that stand for one of the files.
    used: Mutex<HashSet<u64, FixedState>>,
    found: AtomicU64,
}

/// Edges by target and properties.
type EdgesByTarget = HashMap<(u32, String), Vec<u64>, FixedState>;

/// The edges of one kind and their properties, row by row.
pub(crate) type Rows = (Vec<(u32, u32)>, Vec<(KeyId, Column)>);

impl Repeated {
    pub fn new(existing: &Existing, options: &ImportOptions) -> Repeated {
        Repeated {
            policy: options.existing,
            snapshot: existing.snapshot().clone(),
            used: Mutex::default(),
            found: AtomicU64::new(0),
        }
    }
    /// Edges that were left as they are.
    pub fn count(&self) -> u64 {
        self.found.load(Ordering::Relaxed)
    }
    /// Leaves out the edges that are there already.
    ///
    /// # Errors
    /// One is there already, and the import is to fail then.
    pub fn fresh(&self, edge_type: EdgeTypeId, (pairs, columns): Rows) -> Result<Rows, ImportError> {
        if self.snapshot.statistics().edges_of_type(edge_type) == 0 {
            return Ok((pairs, columns));
        }
        let there = self.there(edge_type, &pairs, &columns)?;
        let Some(first) = there.first() else { return Ok((pairs, columns)) };
        if self.policy == ExistingPolicy::Fail {
            return Err(self.refusal(edge_type, pairs[*first as usize]));
        }
        self.found.fetch_add(there.len() as u64, Ordering::Relaxed);
        let kept = crate::rows::all_but(pairs.len(), &there);
        let gather = |(key, column): (KeyId, Column)| (key, column.gather(&kept));
        Ok((kept.iter().map(|row| pairs[*row as usize]).collect(), columns.into_iter().map(gather).collect()))
    }

    /// The rows (sorted) whose edges are there.
    fn there(
        &self,
        edge_type: EdgeTypeId,
        pairs: &[(u32, u32)],
        columns: &[(KeyId, Column)],
    ) -> Result<Vec<u32>, StoreError> {
        let mut rows: Vec<u32> = (0..pairs.len() as u32).collect();
        rows.sort_by_key(|row| pairs[*row as usize].0);
        let mut there = Vec::new();
        let mut used = self.used.lock();
        for rows in rows.chunk_by(|a, b| pairs[*a as usize].0 == pairs[*b as usize].0) {
            let source = VertexId::from_dense(pairs[rows[0] as usize].0);
            if !self.snapshot.exists(source)? {
                continue;
            }
            let wanted: HashSet<u32, FixedState> = rows.iter().map(|row| pairs[*row as usize].1).collect();
            let mut held = self.held(source, edge_type, &wanted, &used)?;
            for row in rows {
                let key = (pairs[*row as usize].1, of_row(columns, *row as usize));
                if let Some(edge) = held.get_mut(&key).and_then(Vec::pop) {
                    used.insert(edge);
                    there.push(*row);
                }
            }
        }
        there.sort_unstable();
        Ok(there)
    }

    /// The edges from a vertex to some others that stand for none of the files, by target and properties.
    fn held(
        &self,
        source: VertexId,
        edge_type: EdgeTypeId,
        wanted: &HashSet<u32, FixedState>,
        used: &HashSet<u64, FixedState>,
    ) -> Result<EdgesByTarget, StoreError> {
        let view = self.snapshot.adjacency(&[edge_type], Direction::Out);
        let mut scratch = EdgeScratch::default();
        let (targets, edges) = view.edges(source.dense(), &mut scratch)?;
        let mut held = EdgesByTarget::default();
        for (target, edge) in targets.iter().zip(edges) {
            if wanted.contains(target) && !used.contains(edge) {
                let properties = self.snapshot.edge_properties(EdgeId(*edge))?;
                held.entry((*target, canonical(properties))).or_default().push(*edge);
            }
        }
        Ok(held)
    }

    fn refusal(&self, edge_type: EdgeTypeId, (source, target): (u32, u32)) -> ImportError {
        let catalog = self.snapshot.catalog();
        let name = catalog.edge_type_name(edge_type).map_or(String::new(), |name| name.to_string());
        let id = |vertex: u32| match catalog.key("id") {
            Some(key) => match self.snapshot.property(VertexId::from_dense(vertex), key) {
                Ok(Value::Int(int)) => format!("`{int}`"),
                Ok(Value::String(text)) => format!("`{text}`"),
                _ => "another".into(),
            },
            None => "another".into(),
        };
        let what = format!(
            "a relationship `{name}` from node {} to node {}, with the same properties,",
            id(source),
            id(target)
        );
        ImportError::Existing { what }
    }
}

fn of_row(columns: &[(KeyId, Column)], row: usize) -> String {
    canonical(columns.iter().map(|(key, column)| (*key, column.get(row))).collect())
}

/// Properties as one text: equal where names, types and values are.
fn canonical(mut properties: Vec<(KeyId, Value)>) -> String {
    properties.retain(|(_, value)| !value.is_null());
    properties.sort_by_key(|(key, _)| *key);
    properties.iter().map(|(key, value)| format!("{key:?}={value:?};")).collect()
}
