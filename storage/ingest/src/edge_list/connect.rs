//! Edges between the vertices that were found for their ids.

use super::file::EdgeLists;
use super::lines::{Ends, Numbers, Parsed};
use crate::ImportError;
use crate::ids::{Id, IdMap};
use crate::work::Work;
use model::{Column, KeyId};
use store::Names;

pub(super) type Columns = Vec<(KeyId, Column)>;
/// Edges of one block between dense vertices, with their properties.
pub(super) type Connected = (Vec<(u32, u32)>, Columns);

/// The edges between dense vertices, batch by batch in file order.
pub(super) fn connect(
    work: &Work<'_>,
    names: &Names,
    lists: &EdgeLists,
    parsed: Vec<Vec<Parsed>>,
    map: &IdMap,
) -> Result<Vec<Connected>, ImportError> {
    let mut batches = Vec::new();
    for (file, mut blocks) in lists.files.iter().zip(parsed) {
        let mut keys = Vec::new();
        for (column, name) in file.property_names.iter().enumerate() {
            keys.push(names.intern_key(name)?);
            let is_float = |block: &Parsed| matches!(block.numbers[column], Numbers::Floats(_));
            if blocks.iter().any(is_float) {
                blocks.iter_mut().for_each(|block| block.numbers[column].make_floats());
            }
        }
        for block in blocks {
            let numbers = block.numbers.into_iter().map(Numbers::into_column);
            let columns: Columns = keys.iter().copied().zip(numbers).collect();
            batches.push((parking_lot::Mutex::new(block.ends), columns));
        }
    }
    work.parallel(batches.len(), &|at| {
        let ends = &mut *batches[at].0.lock();
        *ends = Ends::Narrow(pairs(std::mem::replace(ends, Ends::Narrow(Vec::new())), map));
    });
    let narrow = |ends: Ends| match ends {
        Ends::Narrow(pairs) => pairs,
        Ends::Wide(_) => unreachable!("all were made narrow"),
    };
    let batches = batches.into_iter().map(|(ends, columns)| (narrow(ends.into_inner()), columns));
    Ok(batches.filter(|(pairs, _)| !pairs.is_empty()).collect())
}

/// The edges of one block, which is not kept.
pub(super) fn connect_block(mut block: Parsed, keys: &[KeyId], floats: &[bool], map: &IdMap) -> Connected {
    for (numbers, float) in block.numbers.iter_mut().zip(floats) {
        if *float {
            numbers.make_floats();
        }
    }
    let columns = block.numbers.into_iter().map(Numbers::into_column);
    (pairs(block.ends, map), keys.iter().copied().zip(columns).collect())
}

/// Ids turned into vertices, in place where they have as many bits.
fn pairs(ends: Ends, map: &IdMap) -> Vec<(u32, u32)> {
    let vertex = |id: i64| map.get(Id::Int(id)).expect("every id was given a vertex");
    match ends {
        Ends::Narrow(mut pairs) => {
            pairs.iter_mut().for_each(|(source, target)| {
                (*source, *target) = (vertex(i64::from(*source)), vertex(i64::from(*target)));
            });
            pairs
        }
        Ends::Wide(pairs) => {
            pairs.into_iter().map(|(source, target)| (vertex(source), vertex(target))).collect()
        }
    }
}
