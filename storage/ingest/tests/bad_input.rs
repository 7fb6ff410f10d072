//! Every fault of the input gives a clear error, and leaves the database as it was.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_ingest as ingest;

use crate::common;

use common::{Files, import, memory, options, refused, rejected, vertex_lines};
use ingest::{ImportError, ImportOptions, Layout, MappedNodes, Mapping, REJECTED_SHOWN_MAX};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

#[test]
fn a_path_that_does_not_exist() {
    let error = ingest::import(&memory(), &options("/nowhere/at/all".as_ref())).unwrap_err();
    assert_eq!(error.code(), "Neo.ClientError.Import.NotFound");
    assert_eq!(error.to_string(), "/nowhere/at/all does not exist");
}

#[test]
fn nothing_that_is_recognised() {
    let error = refused(&[], Layout::Auto, false);
    assert_eq!(error.code(), "Neo.ClientError.Import.NothingRecognised");
    let hint = error.hint().unwrap();
    assert!(["ldbc", "headers", "edges"].iter().all(|layout| hint.contains(layout)), "{hint}");
    refused(&[("notes.txt", "nothing of interest\nat all\n"), ("empty.csv", "")], Layout::Auto, false);
    refused(&[("g.txt", "1 2\n")], Layout::Ldbc, false);
    refused(&[("g.txt", "1 2\n")], Layout::Headers, false);
    let error = refused(&[("a.csv", "id:ID\nx\n")], Layout::Edges, false);
    assert!(error.to_string().contains("no file has the layout `edges`"), "{error}");
    refused(&[("only_nodes.csv", "1\n2\n")], Layout::Auto, false);
}

#[test]
fn headers_that_make_no_sense() {
    let what = |header: &str| match refused(&[("a.csv", header)], Layout::Auto, false) {
        ImportError::Header { what, .. } => what,
        other => panic!("{other}"),
    };
    assert_eq!(what(":START_ID,x\n1,2\n"), "edges need both :START_ID and :END_ID");
    assert_eq!(what("a:ID,b:ID\n1,2\n"), "two columns are :ID");
    assert_eq!(what("a:ID,b:complex\n1,2\n"), "`complex` is no type of a column");
    assert_eq!(what("a:ID{id-type:float}\n1\n"), "`float` is no id-type");
    assert_eq!(what("id:ID,name,name\n1,2,3\n"), "two columns are called `name`");
    assert_eq!(what("id:ID,id:string\n1,2\n"), "two columns are called `id`");
    assert_eq!(what(":START_ID,:END_ID,w:int,w:float\n1,2,3,4\n"), "two columns are called `w`");
    let error = refused(
        &[("person_0_0.csv", "name\nx\n"), ("person_knows_person.csv", "a.id|b.id\n")],
        Layout::Auto,
        false,
    );
    assert!(error.to_string().ends_with("person_0_0.csv: a vertex file needs a column `id`"), "{error}");
    let error = refused(&[("person_knows_person_0_0.csv", "Person.id|creationDate\n")], Layout::Ldbc, false);
    assert_eq!(error.code(), "Neo.ClientError.Import.MalformedHeader");
}

#[test]
fn ordinary_columns_that_are_named_twice() {
    for header in ["id,name,name", "name,id,id", "name,age,age", "id,id", "ID,Name,Name"] {
        let text = format!("{header}\n{}\n", header.split(',').map(|_| "1").collect::<Vec<_>>().join(","));
        for layout in [Layout::Auto, Layout::Csv] {
            let error = refused(&[("people.csv", &text)], layout, false);
            assert_eq!(error.code(), "Neo.ClientError.Import.MalformedHeader", "{header}: {error}");
            let (told, twice) = (error.to_string(), header.rsplit(',').next().unwrap());
            assert!(told.starts_with("first line of ") && told.contains("people.csv"), "{told}");
            assert!(told.ends_with(&format!("two columns are called `{twice}`")), "{told}");
        }
    }
    // Two ends that are the same are no header.
    let (_, report) = import(&[("friends.csv", "ann,ann\nann,bob\n")]);
    assert_eq!((report.vertices, report.edges, report.files), (2, 2, 1));
}

#[test]
fn a_value_that_its_type_has_no_room_for_is_told_by_file_line_and_column() {
    let (engine, report) = import(&[("P.csv", "id:ID,born:short\n1,1999\n2,70000\n3,\n")]);
    let told = "P.csv:3: column `born`: `70000` is no short: whole numbers from -32768 to 32767";
    assert_eq!(rejected(&report), [told]);
    assert_eq!(vertex_lines(&engine), [":P {born: 1999, id: 1}", ":P {id: 3}"]);
}

#[test]
fn the_first_ten_wrong_lines_are_shown_and_all_are_counted() {
    let text: String = (0..50_000).map(|line| if line % 2 == 0 { "1 2\n" } else { "wrong\n" }).collect();
    let (_, report) = import(&[("g.txt", &text)]);
    assert_eq!((report.rejected, report.edges), (25_000, 25_000));
    assert_eq!(report.rejected_first.len(), REJECTED_SHOWN_MAX);
    let lines: Vec<u64> = report.rejected_first.iter().map(|line| line.line).collect();
    assert_eq!(lines, [2, 4, 6, 8, 10, 12, 14, 16, 18, 20]);
}

#[test]
fn strict_stops_at_the_first_wrong_line() {
    let cases: [(&[(&str, &str)], Layout); 5] = [
        (&[("g.txt", "1 2\nx y\nz\n")], Layout::Edges),
        (&[("A.csv", "id:ID\n1\n1\n")], Layout::Headers),
        (&[("A.csv", "id:ID,b:int\n1,x\n")], Layout::Headers),
        (&[("A.csv", "id:ID\n1\n"), ("E.csv", ":START_ID,:END_ID\n1,7\n")], Layout::Headers),
        (&[("forum_0_0.csv", "id|moderator\n1|7\n")], Layout::Ldbc),
    ];
    for (files, layout) in cases {
        let error = refused(files, layout, true);
        assert_eq!(error.code(), "Neo.ClientError.Import.MalformedLine", "{error}");
        assert!(error.to_string().ends_with("nothing was imported"), "{error}");
    }
    let ImportError::Rejected(line) = refused(&[("g.txt", "1 2\nx y\nz\n")], Layout::Auto, true) else {
        panic!("a wrong line")
    };
    assert_eq!((line.line, line.what.as_str()), (2, "`x` is no integer"));
}

#[test]
fn text_that_is_not_utf8() {
    let files = Files::new(&[]);
    files.add("A.csv", b"id:ID,name\n1,caf\xe9\n2,ok\n");
    let engine = memory();
    let report = ingest::import(&engine, &options(files.folder())).unwrap();
    assert_eq!(rejected(&report), ["A.csv:2: column `name`: the field is not UTF-8 text"]);
    assert_eq!(vertex_lines(&engine), [r#":A {id: 2, name: "ok"}"#]);
}

#[test]
fn a_compressed_file_that_is_cut_off() {
    for (name, mut bytes) in [("g.txt.gz", gzip(&random_edges())), ("g.txt.zst", zstd(&random_edges()))] {
        bytes.truncate(bytes.len() / 2);
        let (files, engine) = (Files::new(&[]), memory());
        files.add(name, &bytes);
        let error = ingest::import(&engine, &options(files.folder())).unwrap_err();
        assert_eq!(error.code(), "Neo.ClientError.Import.Unreadable", "{error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("is it whole")), "{error}");
        assert_eq!(engine.snapshot().commit_version(), 0);
    }
}

/// An empty folder that was named as a file of nodes was an import of nothing, which succeeded.
#[test]
fn a_named_file_that_is_an_empty_folder_or_no_text() {
    let files = Files::new(&[]);
    let wide: Vec<u8> = "id,name\n1,Ada\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    files.add("wide.csv", &wide);
    files.add("folder/.hidden", b"");
    for (name, code, hint) in [
        ("folder", "Unreadable", "is it whole"),
        ("wide.csv", "WrongColumn", "UTF-16 without a byte order mark"),
    ] {
        let mut mapping = Mapping::default();
        let file = files.folder().join(name);
        mapping.nodes.push(MappedNodes::new(vec!["Person".into()], file, Some("id".into())));
        let engine = memory();
        let error =
            ingest::import(&engine, &ImportOptions { mapping, ..options(files.folder()) }).unwrap_err();
        assert!(error.code().ends_with(code), "{error}");
        assert!(error.hint().is_some_and(|told| told.contains(hint)), "{error}: {:?}", error.hint());
        assert_eq!(engine.snapshot().commit_version(), 0);
    }
}

fn random_edges() -> Vec<u8> {
    let mut chance = world::chance::Chance::seeded(7);
    let lines = (0..100_000).map(|_| format!("{} {}\n", chance.below(70_000), chance.below(70_000)));
    lines.collect::<String>().into_bytes()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(bytes, ruzstd::encoding::CompressionLevel::Fastest)
}

#[test]
fn compressed_files_and_archives_hold_what_plain_ones_hold() {
    let plain = random_edges();
    let (files, engine) = (Files::new(&[]), memory());
    files.add("g.txt", &plain);
    let expected = ingest::import(&engine, &options(files.folder())).unwrap();
    let (half, rest) = plain.split_at(plain.iter().position(|byte| *byte == b'\n').unwrap() + 1);
    // Members, frames and a skippable frame one after the other are one file.
    let skippable = [[0x50, 0x2a, 0x4d, 0x18].as_slice(), &3u32.to_le_bytes(), b"abc"].concat();
    let frames = [zstd(half), skippable, zstd(rest)].concat();
    let members = [gzip(half), gzip(rest)].concat();
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(plain.len() as u64);
    archive.append_data(&mut header, "inner/g.txt", plain.as_slice()).unwrap();
    let archive = archive.into_inner().unwrap();
    let packed = [
        ("g.zst", frames),
        ("g.gz", members),
        ("g.tar", archive.clone()),
        ("g.tar.gz", gzip(&archive)),
        ("g.tar.zst", zstd(&archive)),
    ];
    for (name, bytes) in packed {
        let (files, engine) = (Files::new(&[]), memory());
        files.add(name, &bytes);
        let report = ingest::import(&engine, &options(&files.path(name))).unwrap();
        assert_eq!(
            (report.vertices, report.edges, report.rejected),
            (expected.vertices, expected.edges, 0),
            "{name}"
        );
    }
}

#[test]
fn lines_of_an_archive_are_named_by_their_place_in_it() {
    let text = b"1 2\noops\n";
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(text.len() as u64);
    archive.append_data(&mut header, "inner/g.txt", text.as_slice()).unwrap();
    let files = Files::new(&[]);
    files.add("g.tar", &archive.into_inner().unwrap());
    let report = ingest::import(&memory(), &options(&files.path("g.tar"))).unwrap();
    assert_eq!(report.rejected_first[0].file, files.path("g.tar").join("inner/g.txt"));
}

#[test]
fn progress_is_told_and_ends_at_the_total() {
    let (files, engine) = (Files::new(&[]), memory());
    files.add("g.txt", &random_edges());
    let told: Arc<Mutex<Vec<ingest::Progress>>> = Arc::default();
    let seen = told.clone();
    let progress = move |progress: &ingest::Progress| seen.lock().unwrap().push(progress.clone());
    let options = ImportOptions { progress: Some(Arc::new(progress)), ..options(files.folder()) };
    let report = ingest::import(&engine, &options).unwrap();
    let told = told.lock().unwrap();
    let last = told.last().unwrap();
    assert_eq!((last.phase, last.bytes_done, last.bytes_total), ("done", report.bytes, report.bytes));
    assert_eq!((last.vertices, last.edges), (report.vertices, report.edges));
}

#[test]
fn an_import_that_is_stopped_changes_nothing() {
    let persons: String = (0..50_000).map(|id| format!("{id},person {id}\n")).collect();
    let files = Files::new(&[("P.csv", &format!("id:ID(P),name\n{persons}"))]);
    // At the beginning, while files are read, and before anything is written.
    for phase in ["", "reading vertices", "building"] {
        let (engine, stop) = (memory(), Arc::new(AtomicBool::new(phase.is_empty())));
        let pressed = stop.clone();
        let progress: ingest::ProgressListener =
            Arc::new(move |told| pressed.store(told.phase == phase, Ordering::Release));
        let progress = (!phase.is_empty()).then_some(progress);
        let asked = ImportOptions { stop: Some(stop), progress, ..options(files.folder()) };
        let error = ingest::import(&engine, &asked).unwrap_err();
        assert!(matches!(error, ImportError::Stopped), "{phase}: {error}");
        assert_eq!(error.to_string(), "the import was stopped; nothing was imported");
        assert_eq!(engine.snapshot().statistics().vertices(), 0);
        let asked = ImportOptions { stop: Some(Arc::default()), ..options(files.folder()) };
        assert_eq!(ingest::import(&engine, &asked).unwrap().vertices, 50_000);
    }
}

/// A file of each format that is imported whole as it stands.
fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let rows = |start: &str, row: fn(u32) -> String, end: &str| {
        let rows: String = (1..60).map(row).collect();
        [start, &rows, end].concat().into_bytes()
    };
    let csv = rows("id,name,age\n", |id| format!("{id},\"n, {id}\",{}\n", id % 90), "");
    vec![
        ("Person.csv.gz", gzip(&csv)),
        ("Person.csv", csv),
        ("Typed.csv", rows("id:ID,born:int,tags:string[]\n", |id| format!("{id},{id},a;b\n"), "")),
        ("Labelled.csv", rows("id:ID,:LABEL\n", |id| format!("{id},A;B\n"), "")),
        ("g.txt", rows("# of a test\n", |id| format!("{id} {}\n", id + 1), "")),
        ("Person.jsonl", rows("", |id| format!("{{\"id\": {id}, \"name\": \"n{id}\"}}\n"), "")),
        ("Person.json", rows("[", |id| format!("{{\"id\": {id}}},\n"), "{\"id\": 0}]")),
        (
            "g.graphml",
            rows(
                "<?xml version=\"1.0\"?><graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\"><graph edgedefault=\"directed\">\n",
                |id| format!("<node id=\"n{id}\"/>\n<edge source=\"n{id}\" target=\"n{id}\"/>\n"),
                "</graph></graphml>\n",
            ),
        ),
        ("g.nt", rows("", |id| format!("<http://a/{id}> <http://p> <http://a/{}> .\n", id + 1), "")),
        (
            "g.ttl",
            rows("@prefix a: <http://a/> .\n", |id| format!("a:n{id} a:p a:n{}, \"text\" .\n", id + 1), ""),
        ),
    ]
}

/// What becomes of files on their way: cut off, other bytes, other encodings, other ends of lines, nothing at all.
fn damages(whole: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let middle = whole.len() / 2;
    let with = |at: usize, piece: &[u8]| [&whole[..at], piece, &whole[at..]].concat();
    let wide = |order: fn(u16) -> [u8; 2]| -> Vec<u8> {
        String::from_utf8_lossy(whole).encode_utf16().flat_map(order).collect()
    };
    vec![
        ("nothing", Vec::new()),
        ("cut in the middle", whole[..middle].to_vec()),
        ("cut before its end", whole[..whole.len() - 1].to_vec()),
        ("a byte order mark before it", with(0, b"\xef\xbb\xbf")),
        ("a NUL", with(middle, b"\0")),
        ("a thousand NULs", with(middle, &[0; 1_000])),
        ("a byte that is no UTF-8", with(middle, b"\xff")),
        ("a quote", with(middle, b"\"")),
        ("a bracket", with(middle, b"}]>")),
        ("a huge field", with(middle, &vec![b'7'; 300_000])),
        (
            "a huge beginning",
            with(whole.iter().position(|byte| byte.is_ascii_lowercase()).unwrap(), &vec![b'a'; 300_000]),
        ),
        ("deep brackets", with(middle, &vec![b'['; 50_000])),
        ("UTF-16, little end first", wide(u16::to_le_bytes)),
        ("UTF-16, big end first", wide(u16::to_be_bytes)),
        ("its second half twice", [whole, &whole[middle..]].concat()),
        ("backwards", whole.iter().rev().copied().collect()),
        ("other lines' ends", String::from_utf8_lossy(whole).replace('\n', "\r\n").into_bytes()),
    ]
}

/// Every format with every damage: it is read, or lines of it are told and left out, or it is refused by name with a hint. Where it is refused, and
/// always under `strict`, a wrong file leaves nothing behind.
#[test]
fn each_format_with_each_damage() {
    let (mut outcomes, mut wrong) = ([0; 3], Vec::new());
    for (name, whole) in samples() {
        let mut cases = damages(&whole);
        cases.push(("whole", whole));
        for (damage, bytes) in cases {
            // Strict is another case only where lines were left out.
            let outcome = damaged(name, &bytes, false).and_then(|outcome| match outcome {
                Outcome::Told => damaged(name, &bytes, true).map(|_| Outcome::Told),
                outcome => Ok(outcome),
            });
            match outcome {
                Ok(Outcome::Refused) if damage == "whole" => wrong.push(format!("{name} is refused")),
                Ok(outcome) => outcomes[outcome as usize] += 1,
                Err(what) => wrong
                    .push(format!("{name} with {damage}: {}", what.chars().take(500).collect::<String>())),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(outcomes.iter().all(|count| *count > 10), "{outcomes:?}");
}

#[derive(Clone, Copy)]
enum Outcome {
    Read,
    Told,
    Refused,
}

/// What an import of one file did, or what of that no user should see.
fn damaged(name: &str, bytes: &[u8], strict: bool) -> Result<Outcome, String> {
    let (files, engine) = (Files::new(&[]), memory());
    files.add(name, bytes);
    let options = ImportOptions { strict, ..options(&files.path(name)) };
    let (message, hint) = match ingest::import(&engine, &options) {
        Ok(report) if report.rejected > 0 => {
            let line = &report.rejected_first[0];
            let is_told = !strict && line.file.ends_with(name) && (1..2_000).contains(&line.what.len());
            return if is_told { Ok(Outcome::Told) } else { Err(format!("left out {line:?}")) };
        }
        Ok(report) if report.vertices + report.edges == 0 => return Err("nothing was imported".into()),
        Ok(_) => return Ok(Outcome::Read),
        Err(error) => (error.to_string(), error.hint()),
    };
    let snapshot = engine.snapshot();
    match () {
        () if (snapshot.commit_version(), snapshot.statistics().vertices()) != (0, 0) => {
            Err(format!("half of it is there: {message}"))
        }
        () if message.len() > 2_000 => Err(format!("a message of {} bytes", message.len())),
        () if !message.contains(name) => Err(format!("the file is not named: {message}")),
        () if hint.is_none() => Err(format!("no hint: {message}")),
        () => Ok(Outcome::Refused),
    }
}
