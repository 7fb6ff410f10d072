//! Parquet and Arrow as nodes and relationships: every type, other programs' files, damaged ones.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_ingest as ingest;

use crate::common;

use arrow_array::builder::*;
use arrow_array::types::*;
use arrow_array::*;
use arrow_schema::{DataType, Field};
use common::{Files, edge_lines, mapped, memory, rejected, vertex_lines};
use formats::tables::MeteredFile;
use ingest::{ImportOptions, Mapping};
use model::Value;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use world::chance::Chance;

fn batch(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)))
        .unwrap()
}

fn parquet(batch: &RecordBatch, compression: Compression) -> Vec<u8> {
    let properties = WriterProperties::builder().set_compression(compression).build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(batch).unwrap();
    writer.into_inner().unwrap()
}

fn stream(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

fn file(batch: &RecordBatch) -> Vec<u8> {
    let mut writer = arrow_ipc::writer::FileWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
    writer.into_inner().unwrap()
}

fn every_type() -> RecordBatch {
    let mut list = ListBuilder::new(Int32Builder::new());
    list.append_value([Some(1), Some(2)]);
    list.append_value([Some(3), None]);
    let mut bytes = BinaryBuilder::new();
    bytes.append_value(b"\x00\xff");
    bytes.append_null();
    let dictionary: DictionaryArray<Int8Type> = vec![Some("red"), None].into_iter().collect();
    let inner = StructArray::from(vec![(
        Arc::new(Field::new("city", DataType::Utf8, true)),
        Arc::new(StringArray::from(vec![Some("Lyon"), None])) as ArrayRef,
    )]);
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int64Builder::new());
    map.keys().append_value("a");
    map.values().append_value(1);
    map.append(true).unwrap();
    map.append(false).unwrap();
    batch(vec![
        ("id", Arc::new(Int64Array::from(vec![1, 2]))),
        ("bool", Arc::new(BooleanArray::from(vec![Some(true), None]))),
        ("u8", Arc::new(UInt8Array::from(vec![Some(255), None]))),
        ("f32", Arc::new(Float32Array::from(vec![Some(0.5), Some(f32::NAN)]))),
        ("text", Arc::new(LargeStringArray::from(vec![Some("a,\"b\"\n"), Some("")]))),
        ("bytes", Arc::new(bytes.finish())),
        ("date", Arc::new(Date32Array::from(vec![Some(19782), None]))),
        ("time", Arc::new(Time64NanosecondArray::from(vec![Some(1), None]))),
        ("local", Arc::new(TimestampMicrosecondArray::from(vec![Some(-1), None]))),
        (
            "zoned",
            Arc::new(
                TimestampMillisecondArray::from(vec![Some(1_700_000_000_123), None])
                    .with_timezone("Europe/Paris"),
            ),
        ),
        ("offset", Arc::new(TimestampNanosecondArray::from(vec![Some(1), None]).with_timezone("+02:00"))),
        ("utc", Arc::new(TimestampSecondArray::from(vec![Some(0), None]).with_timezone("UTC"))),
        ("color", Arc::new(dictionary)),
        ("list", Arc::new(list.finish())),
        ("address", Arc::new(inner)),
        ("map", Arc::new(map.finish())),
        ("nothing", Arc::new(NullArray::new(2))),
    ])
}

const EVERY: [&str; 2] = [
    r#":P {address.city: "Lyon", bool: true, bytes: Bytes([0, 255]), color: "red", date: 2024-02-29, f32: 0.5, id: 1, list: [1, 2], local: 1969-12-31T23:59:59.999999, map: "{\"a\":1}", offset: 1970-01-01T02:00:00.000000001+02:00, text: "a,\"b\"\n", time: 00:00:00.000000001, u8: 255, utc: 1970-01-01T00:00Z, zoned: 2023-11-14T23:13:20.123+01:00[Europe/Paris]}"#,
    r#":P {f32: NaN, id: 2, list: "[3,null]", text: ""}"#,
];

#[test]
fn every_type_is_mapped_in_each_format() {
    let rows = every_type();
    let zstd = Compression::ZSTD(ZstdLevel::try_new(3).unwrap());
    for (name, bytes) in [
        ("p.parquet", parquet(&rows, Compression::UNCOMPRESSED)),
        ("p.parquet", parquet(&rows, Compression::SNAPPY)),
        ("p.parquet", parquet(&rows, zstd)),
        ("p.parquet", parquet(&rows, Compression::GZIP(Default::default()))),
        ("p.parquet", parquet(&rows, Compression::LZ4_RAW)),
        ("p.arrow", file(&rows)),
        ("p.arrows", stream(&rows)),
    ] {
        let files = Files::new(&[]);
        files.add(name, &bytes);
        let engine = memory();
        let report =
            ingest::import(&engine, &mapped(files.folder(), &[&format!("P={name}:id")], &[])).unwrap();
        assert_eq!(rejected(&report), [""; 0]);
        assert_eq!(vertex_lines(&engine), EVERY, "{name}");
    }
}

#[test]
fn relationships_find_ids_that_became_floats_and_texts_stay_texts() {
    let files = Files::new(&[]);
    let nodes = batch(vec![("id", Arc::new(Int64Array::from(vec![1, 2])))]);
    let ends = Float64Array::from(vec![Some(1.0), Some(2.0), None]);
    let edges = batch(vec![
        ("from", Arc::new(ends.clone())),
        ("to", Arc::new(ends)),
        ("w", Arc::new(Float64Array::from(vec![1.0, 2.0, 3.0]))),
    ]);
    files.add("n.parquet", &parquet(&nodes, Compression::SNAPPY));
    files.add("e.arrow", &file(&edges));
    let engine = memory();
    let report =
        ingest::import(&engine, &mapped(files.folder(), &["N=n.parquet:id"], &["E=e.arrow:from:N,to:N"]))
            .unwrap();
    assert_eq!(edge_lines(&engine), ["1 -[:E {w: 1.0}]-> 1", "2 -[:E {w: 2.0}]-> 2"]);
    assert_eq!(rejected(&report), ["e.arrow:3: column `from`: the id is missing"]);
    let texts = batch(vec![("id", Arc::new(StringArray::from(vec!["1", "2"])))]);
    files.add("t.parquet", &parquet(&texts, Compression::SNAPPY));
    let engine = memory();
    ingest::import(&engine, &mapped(files.folder(), &["N=t.parquet:id"], &["E=e.arrow:from:N,to:N"]))
        .unwrap();
    assert_eq!(vertex_lines(&engine), [r#":N {id: "1"}"#, r#":N {id: "2"}"#]);
    assert_eq!(edge_lines(&engine).len(), 2);
}

#[test]
fn long_numbers_become_texts_and_decimals_ask_for_a_type() {
    let files = Files::new(&[]);
    let decimal = Decimal128Array::from(vec![12345, -5]).with_precision_and_scale(10, 2).unwrap();
    let rows = batch(vec![
        ("id", Arc::new(UInt64Array::from(vec![u64::MAX, 7]))),
        ("small", Arc::new(UInt64Array::from(vec![1, 2]))),
        ("price", Arc::new(decimal)),
    ]);
    files.add("p.parquet", &parquet(&rows, Compression::SNAPPY));
    let error = ingest::import(&memory(), &mapped(files.folder(), &["P=p.parquet:id"], &[])).unwrap_err();
    assert!(
        error.to_string().contains("p.parquet: column `price`: decimals have no type of their own"),
        "{error}"
    );
    for (kind, shown) in [("string", [r#""123.45""#, r#""-0.05""#]), ("float", ["123.45", "-0.05"])] {
        let text = format!(
            "[[nodes]]\nfile = 'p.parquet'\nlabel = 'P'\nid = 'id'\ncolumns = {{ price = {{ type = '{kind}' }} }}\n"
        );
        files.add("m.toml", text.as_bytes());
        let engine = memory();
        let mapping = Mapping::read(&files.path("m.toml"), None).unwrap();
        ingest::import(&engine, &ImportOptions { mapping, ..ImportOptions::default() }).unwrap();
        let expected = [
            format!(r#":P {{id: "18446744073709551615", price: {}, small: 1}}"#, shown[0]),
            format!(r#":P {{id: "7", price: {}, small: 2}}"#, shown[1]),
        ];
        assert_eq!(vertex_lines(&engine), expected);
    }
}

#[test]
fn empty_files_wide_ones_and_others_are_told() {
    let files = Files::new(&[
        ("not.parquet", "id\n1\n"),
        ("old.feather", "FEA1...."),
        ("cut.arrow", "ARROW1\0\0...."),
    ]);
    let import =
        |name: &str| ingest::import(&memory(), &mapped(files.folder(), &[&format!("P={name}:id")], &[]));
    assert!(import("not.parquet").unwrap_err().to_string().contains("does not begin as Parquet does"));
    assert!(import("old.feather").unwrap_err().to_string().contains("Feather of the first version"));
    let error = import("cut.arrow").unwrap_err().to_string();
    assert!(error.contains("cut.arrow cannot be read: it is damaged"), "{error}");
    let none = batch(vec![("id", Arc::new(Int64Array::from(Vec::<i64>::new())))]);
    files.add("none.parquet", &parquet(&none, Compression::SNAPPY));
    files.add("none.arrow", &file(&none));
    assert_eq!((import("none.parquet").unwrap().vertices, import("none.arrow").unwrap().vertices), (0, 0));
    let names: Vec<String> = (0..10_000).map(|at| format!("c{at}")).collect();
    let mut columns: Vec<(&str, ArrayRef)> =
        names.iter().map(|name| (name.as_str(), Arc::new(Int8Array::from(vec![1])) as ArrayRef)).collect();
    columns.push(("id", Arc::new(Int64Array::from(vec![1]))));
    files.add("wide.arrow", &stream(&batch(columns)));
    assert_eq!(import("wide.arrow").unwrap().vertices, 1);
}

/// A file of Parquet without rows, by hand: a column `id`, and groups within one another that promise so many children each.
fn nested_parquet(groups: usize, promise: i32) -> Vec<u8> {
    let varint = |mut number: u64| {
        let mut bytes = Vec::new();
        while number > 0x7f {
            bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        bytes.push(number as u8);
        bytes
    };
    let signed = |number: i32| varint(((number << 1) ^ (number >> 31)) as u32 as u64);
    let leaf = |name: &str| [&[0x15, 4, 0x25, 0, 0x18, name.len() as u8], name.as_bytes(), &[0]].concat();
    let group = || [&[0x35, 0, 0x18, 1, b'g', 0x15][..], &signed(promise), &[0]].concat();
    let mut footer = [&[0x15, 2, 0x19, 0xfc][..], &varint(groups as u64 + 3)].concat();
    footer.extend([0x48, 1, b'r', 0x15, 4, 0]);
    footer.extend(leaf("id"));
    (0..groups).for_each(|_| footer.extend(group()));
    footer.extend(leaf("x"));
    footer.extend([0x16, 0, 0x19, 0x0c, 0]);
    let length = (footer.len() as u32).to_le_bytes();
    [b"PAR1", &footer[..], &length, b"PAR1"].concat()
}

/// The reader of Parquet recurses once for each group within a group, and made room for as many columns as a group promises: a file of some
/// hundred kilobytes ended the process.
#[test]
fn a_schema_of_any_nesting_is_read_or_refused() {
    let files = Files::new(&[]);
    let import = |bytes: &[u8]| {
        files.add("p.parquet", bytes);
        ingest::import(&memory(), &mapped(files.folder(), &["P=p.parquet:id"], &[]))
    };
    for groups in [0, 1, 39, 40, 41, 126, 127, 128, 129, 5_000, 100_000] {
        let outcome = import(&nested_parquet(groups, 1)).map(|report| report.vertices);
        match outcome {
            Ok(vertices) => assert!(groups < 128 && vertices == 0, "{groups}"),
            Err(error) => {
                let says =
                    error.to_string().contains("its columns are nested deeper than 128 groups; flatten them");
                assert!(groups >= 128 && says, "{groups}: {error}");
            }
        }
    }
    for (promise, told) in [(i32::MAX, "promises more columns"), (-1, "promises less"), (2, "promises more")]
    {
        let error = import(&nested_parquet(1, promise)).unwrap_err().to_string();
        assert!(error.contains(told), "{promise}: {error}");
    }
}

/// Files as other programs write them, if Python and they are here.
#[test]
fn files_of_pandas_polars_and_duckdb_are_read() {
    let files = Files::new(&[]);
    let script = r#"
import sys, datetime, decimal
folder = sys.argv[1]
made = []
rows = {"id": [1, 2], "name": ["Ada", None], "when": [datetime.datetime(2024, 2, 29, 1, 2, 3, 456789), None]}
try:
    import pandas as pd
    frame = pd.DataFrame(rows)
    frame["kind"] = frame["name"].astype("category")
    frame.to_parquet(folder + "/pandas.parquet"); made.append("pandas.parquet")
    frame.to_feather(folder + "/pandas.feather"); made.append("pandas.feather")
except ImportError: pass
try:
    import polars as pl
    frame = pl.DataFrame(rows).with_columns(pl.col("name").cast(pl.Categorical).alias("kind"))
    frame.write_parquet(folder + "/polars.parquet"); made.append("polars.parquet")
    frame.write_ipc(folder + "/polars.arrow", compression="zstd"); made.append("polars.arrow")
    frame.write_ipc_stream(folder + "/polars.arrows"); made.append("polars.arrows")
except ImportError: pass
try:
    import duckdb
    duckdb.sql("COPY (SELECT 1 AS id, 'Ada' AS name, TIMESTAMP '2024-02-29 01:02:03.456789' AS when, 'Ada'::ENUM('Ada') AS kind UNION ALL SELECT 2, NULL, NULL, NULL) TO '" + folder + "/duckdb.parquet'")
    made.append("duckdb.parquet")
except ImportError: pass
print("\n".join(made))
"#;
    let output = std::process::Command::new("python3").args(["-c", script]).arg(files.folder()).output();
    let Some(output) = output.ok().filter(|output| output.status.success()) else {
        println!("passed over: Python with pandas, polars or duckdb is not here");
        return;
    };
    for name in String::from_utf8(output.stdout).unwrap().lines().filter(|name| !name.is_empty()) {
        println!("{name}");
        let engine = memory();
        let report =
            ingest::import(&engine, &mapped(files.folder(), &[&format!("P={name}:id")], &[])).unwrap();
        assert_eq!(rejected(&report), [""; 0], "{name}");
        let lines =
            [r#":P {id: 1, kind: "Ada", name: "Ada", when: 2024-02-29T01:02:03.456789}"#, ":P {id: 2}"];
        assert_eq!(vertex_lines(&engine), lines, "{name}");
    }
}

/// Whatever the bytes are, there is an answer, and nothing is imported where it is an error.
#[test]
fn random_damage_is_told() {
    damage(60);
}

#[test]
#[ignore = "long"]
fn random_damage_is_told_for_long() {
    damage(20_000);
}

fn damage(rounds: usize) {
    let rows = every_type();
    let whole = [parquet(&rows, Compression::SNAPPY), file(&rows), stream(&rows)];
    let seed = Chance::system_seed();
    println!("seed {seed}");
    let mut chance = Chance::seeded(seed);
    let folder = Files::new(&[]);
    for round in 0..rounds {
        let mut bytes = whole[round % whole.len()].clone();
        for _ in 0..=chance.below(4) {
            let at = chance.below(bytes.len() as u64) as usize;
            match chance.below(8) {
                0 => bytes.truncate(at.max(1)),
                1 => bytes[at] = 0xff,
                _ => bytes[at] ^= 1 << chance.below(8),
            }
        }
        folder.add("p", &bytes);
        let engine = memory();
        let outcome = ingest::import(&engine, &mapped(folder.folder(), &["P=p:id"], &[]));
        if let Err(error) = outcome {
            assert_eq!(engine.snapshot().commit_version(), 0, "{error}");
        }
    }
}

/// A file in memory, and who pays for its reading.
struct Paid {
    bytes: Vec<u8>,
    bytes_max: u64,
    most: AtomicU64,
}

impl MeteredFile for Paid {
    fn size_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<usize> {
        let rest = self.bytes.get(offset as usize..).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
    fn hold(&self, bytes: u64) -> std::io::Result<()> {
        self.most.fetch_max(bytes, Ordering::Relaxed);
        if bytes <= self.bytes_max { Ok(()) } else { Err(std::io::Error::other("too much is held")) }
    }
}

/// The rows of a file for a query that may hold so many bytes.
fn queried(bytes: Vec<u8>, bytes_max: u64) -> Result<Vec<Value>, String> {
    let file = Arc::new(Paid { bytes, bytes_max, most: AtomicU64::new(0) });
    let mut rows = ingest::parquet().unwrap().open(file)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(row);
    }
    assert!(matches!(rows.next(), Ok(None)), "the end stays the end");
    Ok(found)
}

#[test]
fn a_query_reads_every_type() {
    for compression in
        [Compression::UNCOMPRESSED, Compression::GZIP(Default::default()), Compression::LZ4_RAW]
    {
        let rows = queried(parquet(&every_type(), compression), 64 << 20).unwrap();
        let shown: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
        assert_eq!(shown, QUERIED, "{compression}");
    }
}

const QUERIED: [&str; 2] = [
    r#"Map({"address": Map({"city": String("Lyon")}), "bool": Bool(true), "bytes": Bytes([0, 255]), "color": String("red"), "date": Date(Date { days: 19782 }), "f32": Float(0.5), "id": Int(1), "list": List([Int(1), Int(2)]), "local": LocalDateTime(LocalDateTime { seconds: -1, nanos: 999999000 }), "map": Map({"a": Int(1)}), "nothing": Null, "offset": DateTime(ZonedDateTime { seconds: 0, nanos: 1, offset_seconds: 7200, zone: None }), "text": String("a,\"b\"\n"), "time": LocalTime(LocalTime { nanos: 1 }), "u8": Int(255), "utc": DateTime(ZonedDateTime { seconds: 0, nanos: 0, offset_seconds: 0, zone: None }), "zoned": DateTime(ZonedDateTime { seconds: 1700000000, nanos: 123000000, offset_seconds: 3600, zone: Some("Europe/Paris") })})"#,
    r#"Map({"address": Map({"city": Null}), "bool": Null, "bytes": Null, "color": Null, "date": Null, "f32": Float(NaN), "id": Int(2), "list": List([Int(3), Null]), "local": Null, "map": Null, "nothing": Null, "offset": Null, "text": String(""), "time": Null, "u8": Null, "utc": Null, "zoned": Null})"#,
];

/// Rows as values and as columns, both made by the same draws.
fn drawn(chance: &mut Chance, count: usize) -> (Vec<Value>, RecordBatch) {
    let (mut ints, mut texts) = (Int64Builder::new(), StringBuilder::new());
    let (mut lists, mut words) =
        (ListBuilder::new(Int32Builder::new()), ListBuilder::new(StringBuilder::new()));
    let mut fixed = FixedSizeBinaryBuilder::new(3);
    let mut rows = Vec::new();
    for _ in 0..count {
        let text = |chance: &mut Chance| "x".repeat(chance.index(9)) + ["", "a", "é"][chance.index(3)];
        let int = chance.happens(0.7).then(|| chance.next_u64() as i64);
        ints.append_option(int);
        let one = chance.happens(0.8).then(|| text(chance));
        texts.append_option(one.as_deref());
        let list: Option<Vec<Option<i32>>> = chance.happens(0.8).then(|| {
            (0..chance.index(5)).map(|_| chance.happens(0.8).then(|| chance.next_u64() as i32)).collect()
        });
        lists.append_option(list.clone());
        let many: Vec<Option<String>> = (0..chance.index(4)).map(|_| Some(text(chance))).collect();
        words.append_value(many.clone());
        let bytes = chance.bytes(3);
        fixed.append_value(&bytes).unwrap();
        let list_of = |items: Vec<Value>| Value::try_list(items).unwrap();
        let list = list.map(|list| {
            list_of(
                list.into_iter()
                    .map(|item| item.map(|item| Value::Int(item.into())).unwrap_or_default())
                    .collect(),
            )
        });
        rows.push(Value::map([
            ("i", int.map(Value::Int).unwrap_or_default()),
            ("t", one.map(Value::from).unwrap_or_default()),
            ("l", list.unwrap_or_default()),
            ("w", list_of(many.into_iter().map(|word| Value::from(word.unwrap())).collect())),
            ("f", Value::Bytes(bytes.into())),
        ]));
    }
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("i", Arc::new(ints.finish())),
        ("t", Arc::new(texts.finish())),
        ("l", Arc::new(lists.finish())),
        ("w", Arc::new(words.finish())),
        ("f", Arc::new(fixed.finish())),
    ];
    (rows, batch(columns))
}

#[test]
fn a_query_reads_what_was_written_whatever_its_pages() {
    let seed = Chance::system_seed();
    let mut chance = Chance::seeded(seed);
    for round in 0..12 {
        let count = [0, 1, 63, 64, 65, 1023, 1024, 1025, 2500][chance.index(9)];
        let (rows, batch) = drawn(&mut chance, count);
        let zstd = Compression::ZSTD(ZstdLevel::try_new(1).unwrap());
        let compression = [
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            zstd,
            Compression::GZIP(Default::default()),
            Compression::LZ4,
        ][chance.index(5)];
        let encoding =
            [Encoding::PLAIN, Encoding::DELTA_BYTE_ARRAY, Encoding::DELTA_LENGTH_BYTE_ARRAY][chance.index(3)];
        let properties = WriterProperties::builder()
            .set_compression(compression)
            .set_dictionary_enabled(chance.happens(0.5))
            .set_column_encoding("t".into(), encoding)
            .set_data_page_row_count_limit(1 + chance.index(700))
            .set_write_batch_size(1 + chance.index(100))
            .set_max_row_group_row_count(Some(1 + chance.index(2000)))
            .set_writer_version([WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0][chance.index(2)])
            .build();
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        let bytes = writer.into_inner().unwrap();
        let found = queried(bytes, 64 << 20).unwrap();
        assert_eq!(found.len(), rows.len(), "seed {seed} round {round} {compression} {encoding}");
        for (found, row) in found.iter().zip(&rows) {
            assert_eq!(
                format!("{found:?}"),
                format!("{row:?}"),
                "seed {seed} round {round} {compression} {encoding}"
            );
        }
    }
}

/// A small file may stand for gigabytes: by a text that all rows share, by a list of equal values, by a page that says too little of itself.
#[test]
fn a_query_holds_its_budget_whatever_a_file_says() {
    let long = "x".repeat(2 << 20);
    let texts = DictionaryArray::<Int32Type>::try_new(
        Int32Array::from(vec![0; 200]),
        Arc::new(StringArray::from(vec![long.as_str()])),
    );
    let rows = batch(vec![("t", Arc::new(texts.unwrap()))]);
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_dictionary_page_size_limit(4 << 20)
        .set_statistics_enabled(EnabledStatistics::None)
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), rows.schema(), Some(properties)).unwrap();
    writer.write(&rows).unwrap();
    let shared = writer.into_inner().unwrap();
    assert!(shared.len() < 1 << 20, "{}", shared.len());
    let file = Arc::new(Paid { bytes: shared.clone(), bytes_max: 16 << 20, most: AtomicU64::new(0) });
    let mut rows = ingest::parquet().unwrap().open(file.clone()).unwrap();
    let mut count = 0;
    while rows.next().unwrap().is_some() {
        count += 1;
    }
    assert_eq!(count, 200);
    assert!(file.most.load(Ordering::Relaxed) >= 4 << 20, "the page and a row of it");
    let error = queried(shared, 3 << 20).unwrap_err();
    assert!(error.contains("too much is held"), "{error}");

    let mut list = ListBuilder::new(Int64Builder::new());
    list.values().append_value_n(7, 1 << 20);
    list.append(true);
    let equal = parquet(&batch(vec![("l", Arc::new(list.finish()))]), Compression::UNCOMPRESSED);
    assert!(equal.len() < 1 << 16, "{}", equal.len());
    assert!(queried(equal.clone(), 8 << 20).unwrap_err().contains("too much is held"));
    assert_eq!(queried(equal, 256 << 20).unwrap().len(), 1);

    // The first page begins behind the magic: its type, then how many bytes it has.
    let zeros: Int64Array = (0..100_000).map(|at| Some(at % 3)).collect();
    let properties = WriterProperties::builder()
        .set_compression(Compression::GZIP(Default::default()))
        .set_dictionary_enabled(false)
        .build();
    let rows = batch(vec![("z", Arc::new(zeros))]);
    let mut writer = ArrowWriter::try_new(Vec::new(), rows.schema(), Some(properties)).unwrap();
    writer.write(&rows).unwrap();
    let mut lying = writer.into_inner().unwrap();
    assert_eq!(lying[4..7], [0x15, 0, 0x15]);
    let end = 7 + lying[7..].iter().position(|byte| byte & 0x80 == 0).unwrap();
    lying[7] = 0x82;
    lying[8..end].fill(0x80);
    lying[end] = 0;
    let error = queried(lying, 256 << 20).unwrap_err();
    assert!(error.contains("longer than it says"), "{error}");
}

#[test]
fn damaged_parquet_ends_a_query_and_nothing_else() {
    let seed = Chance::system_seed();
    let mut chance = Chance::seeded(seed);
    let (_, batch) = drawn(&mut chance, 50);
    let bytes = parquet(&batch, Compression::SNAPPY);
    for _ in 0..150 {
        let mut bytes = bytes.clone();
        if chance.happens(0.3) {
            bytes.truncate(chance.index(bytes.len()));
        }
        for _ in 0..chance.index(4) {
            let at = chance.index(bytes.len().max(1));
            bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << chance.index(8));
        }
        drop(queried(bytes, 32 << 20));
    }
    for (bytes, wanted) in [
        (&b"PARE...."[..], "encryption"),
        (b"\x1f\x8b\x08\0", "unpack it"),
        (b"id,name\n", "does not begin as Parquet does"),
        (b"PAR1", "no footer"),
        (b"", "no Parquet"),
    ] {
        let error = queried(bytes.to_vec(), 32 << 20).unwrap_err();
        assert!(error.contains(wanted), "{error}");
    }
}
