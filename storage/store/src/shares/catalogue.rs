//! Indexes, constraints and the interfaces' entries in a share. They are the same on every shard, so a reader takes them from any.

use crate::StoreError;
use crate::bytes::{Reader, Writer};
use crate::schema::catalog::Catalog;
use crate::schema::definitions::{decode_constraint, decode_index, encode_constraint, encode_index};
use crate::schema::entries::Entries;
use std::sync::Arc;

/// Writes the catalogue where it is `wanted`, without its names.
pub(super) fn write(catalog: &Catalog, wanted: bool, writer: &mut Writer) {
    writer.byte(u8::from(wanted));
    if !wanted {
        return;
    }
    writer.size(catalog.constraints.len());
    catalog.constraints.iter().for_each(|definition| encode_constraint(definition, writer));
    writer.size(catalog.indexes.len());
    catalog.indexes.iter().for_each(|definition| encode_index(definition, writer));
    catalog.entries.encode(writer);
}

/// Reads the output of [`write`] into a catalogue, which keeps its names.
pub(super) fn read(reader: &mut Reader<'_>, catalog: &mut Catalog) -> Result<(), StoreError> {
    if reader.byte()? == 0 {
        return Ok(());
    }
    let mut told = Catalog { names: catalog.names.clone(), ..Catalog::default() };
    for _ in 0..reader.count()? {
        told.add_constraint(&decode_constraint(reader)?)?;
    }
    for _ in 0..reader.count()? {
        told.add_index(&decode_index(reader)?)?;
    }
    told.entries = Entries::decode(reader)?;
    // Who holds a table of entries sees by its address that it has not changed.
    if !told.entries.iter().eq(catalog.entries.iter()) {
        catalog.entries = told.entries;
    }
    (catalog.constraints, catalog.indexes) = (Arc::clone(&told.constraints), Arc::clone(&told.indexes));
    Ok(())
}
