//! Index runs and deltas as bytes and back (docs/formats/chunk.md, "Index run").

use crate::StoreError;
use crate::bytes::{Reader, Writer, debug_read_back};
use crate::chunks::column_bytes::{decode_ints, decode_texts, encode_ints, encode_texts};
use crate::indexes::run::{Entry, IndexKey, IndexRun, RunKeys, RunKnown};
use crate::paging::page::Paged;
use model::Value;

const MAGIC: &[u8; 4] = b"TWIX";
const VERSION: u8 = 1;

pub(crate) fn encode_run(run: &IndexRun) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.raw(MAGIC);
    writer.byte(VERSION);
    match &run.keys {
        RunKeys::Int(keys) => {
            writer.byte(0);
            encode_ints(keys, &mut writer);
        }
        RunKeys::Text(keys) => {
            writer.byte(1);
            encode_texts(keys.parts(), &mut writer);
        }
        RunKeys::Any(keys) => {
            writer.byte(2);
            writer.size(keys.len());
            keys.iter().for_each(|key| encode_key(key, &mut writer));
        }
    }
    run.vertices.iter().for_each(|vertex| writer.uint(*vertex as u64));
    let bytes = writer.seal();
    debug_read_back(|| decode_run(&bytes));
    bytes
}

pub(crate) fn decode_run(bytes: &[u8]) -> Result<IndexRun, StoreError> {
    let reader = &mut Reader::checked(bytes, "index run")?;
    if reader.raw(4)? != MAGIC || reader.byte()? != VERSION {
        return Err(reader.fail("not an index run of a known version"));
    }
    let (keys, count) = match reader.byte()? {
        0 => {
            let keys = decode_ints(reader)?;
            let count = keys.len();
            (RunKeys::Int(keys.into()), count)
        }
        1 => {
            let keys = decode_texts(reader)?;
            let count = keys.ends.len();
            (RunKeys::Text(keys), count)
        }
        2 => {
            let count = reader.count()?;
            let keys: Box<[IndexKey]> = (0..count).map(|_| decode_key(reader)).collect::<Result<_, _>>()?;
            (RunKeys::Any(keys), count)
        }
        _ => return Err(reader.fail("unknown kind of keys")),
    };
    let vertices = reader.uint32s(count)?;
    reader.finish()?;
    let run = IndexRun::new(keys, vertices);
    if !run.is_sorted() {
        return Err(reader.fail("entries are not sorted"));
    }
    Ok(run)
}

fn encode_key(key: &IndexKey, writer: &mut Writer) {
    writer.size(key.values().len());
    key.values().iter().for_each(|value| writer.value(value));
}

fn decode_key(reader: &mut Reader<'_>) -> Result<IndexKey, StoreError> {
    let count = reader.count()?;
    if count == 0 {
        return Err(reader.fail("key without values"));
    }
    let values: Vec<Value> = (0..count).map(|_| reader.value()).collect::<Result<_, _>>()?;
    Ok(IndexKey::new(&values))
}

pub(crate) fn encode_entries<'a>(entries: impl ExactSizeIterator<Item = &'a Entry>, writer: &mut Writer) {
    writer.size(entries.len());
    for entry in entries {
        encode_key(&entry.key, writer);
        writer.uint(entry.vertex as u64);
    }
}

pub(crate) fn decode_entries(reader: &mut Reader<'_>) -> Result<Vec<Entry>, StoreError> {
    let count = reader.count()?;
    (0..count).map(|_| Ok(Entry { key: decode_key(reader)?, vertex: reader.uint32()? })).collect()
}

impl Paged for IndexRun {
    type Known = RunKnown;
    fn decode(bytes: &[u8], known: &RunKnown) -> Result<IndexRun, StoreError> {
        let run = decode_run(bytes)?;
        if run.len() as u64 != known.len {
            return Err(StoreError::corrupt("index run: length differs from the manifest"));
        }
        Ok(run)
    }
    fn heap_bytes(&self) -> usize {
        size_of::<IndexRun>() + IndexRun::heap_bytes(self)
    }
}
