//! List properties whose elements lie in files of their own: read before the vertices, which get them as columns.

use crate::ImportError;
use crate::ids::{IdColumn, IdMap};
use crate::reject::Rejects;
use crate::rows::{self, ElementBatch};
use crate::table::{Rows, SpaceNo, Table, Tables};
use crate::vertices::id_text;
use crate::work::{Work, jobs};
use model::{Column, KeyId, Value};
use std::collections::BTreeMap;

/// Lists that the element files of one space make: by id, values of one key.
pub(crate) struct Lists {
    pub key: KeyId,
    map: IdMap,
    values: Vec<Vec<Value>>,
    /// Which element came from where: file, ids, lines.
    from: Vec<(usize, IdColumn, Vec<u64>)>,
}

impl Lists {
    /// The lists of these ids.
    pub fn column(&self, ids: &IdColumn) -> Column {
        let list = |row: usize| {
            self.map.get(ids.get(row)).map_or(Value::Null, |at| Value::list(self.values[at as usize].clone()))
        };
        Column::Any((0..ids.len()).map(list).collect())
    }
}

/// Reads the files of elements, by space.
pub(crate) fn read(work: &Work<'_>, plan: &Tables) -> Result<BTreeMap<SpaceNo, Vec<Lists>>, ImportError> {
    let of_elements = plan.tables.iter().filter_map(|table| match table.rows {
        Rows::Elements { space } => Some((table, space)),
        _ => None,
    });
    let tables: Vec<(&Table, SpaceNo)> = of_elements.collect();
    if tables.is_empty() {
        return Ok(BTreeMap::new());
    }
    let jobs = jobs(tables.iter().map(|(table, _)| *table));
    let parsed = work.sweep(&jobs, |job, block, rejects| rows::elements(tables[job].0, block, rejects))?;
    let mut by_key: BTreeMap<(SpaceNo, KeyId), Vec<(usize, ElementBatch)>> = BTreeMap::new();
    for ((table, space), batches) in tables.iter().zip(parsed) {
        let batches = batches.into_iter().map(|batch| (table.file, batch));
        by_key.entry((*space, table.properties[0].0)).or_default().extend(batches);
    }
    let mut lists: BTreeMap<SpaceNo, Vec<Lists>> = BTreeMap::new();
    for ((space, key), batches) in by_key {
        lists.entry(space).or_default().push(collect(key, batches));
    }
    Ok(lists)
}

fn collect(key: KeyId, batches: Vec<(usize, ElementBatch)>) -> Lists {
    let mut lists = Lists { key, map: IdMap::growing(), values: Vec::new(), from: Vec::new() };
    for (file, batch) in batches {
        for (row, value) in batch.values.into_iter().enumerate() {
            let id = batch.ids.get(row);
            if lists.map.insert(id, lists.values.len() as u32) {
                lists.values.push(Vec::new());
            }
            let at = lists.map.get(id).expect("it was just inserted");
            lists.values[at as usize].push(value);
        }
        lists.from.push((file, batch.ids, batch.lines));
    }
    lists
}

/// Rejects elements of vertices that are not there.
pub(crate) fn reject_left(work: &Work<'_>, lists: &[Lists], vertices: &IdMap) {
    for (file, ids, lines) in lists.iter().flat_map(|lists| &lists.from) {
        let mut rejects = Rejects::default();
        for (row, line) in lines.iter().enumerate() {
            if vertices.get(ids.get(row)).is_none() {
                rejects.add(*line, format!("no vertex has the id {}", id_text(ids, row as u32)));
            }
        }
        work.rejection.take(*file, rejects);
    }
}
