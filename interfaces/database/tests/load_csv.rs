//! `LOAD CSV`, `LOAD JSON` and `LOAD PARQUET`: files below the import folder, and URLs of listed hosts, become rows, and nothing else can be read.

use database::{
    Database, ExportFormat, ImportOptions, Limits, MEMORY, MappedNodes, Mapping, Options, Params, Session,
    UrlRules, Value,
};
use std::time::Duration;
use tanglewood_database as database;
use world::files::{TemporaryFolder, write_bytes};

fn session(folder: &TemporaryFolder) -> Session {
    let import_folder = Some(folder.path().to_path_buf());
    Database::open(MEMORY, Options { executors: Some(1), import_folder, ..Options::default() })
        .unwrap()
        .session()
}

/// Rows as they are shown in messages.
fn shown(rows: Result<Vec<Vec<Value>>, database::Error>) -> String {
    format!("{:?}", rows.unwrap())
}

fn ask(session: &mut Session, text: &str) -> Result<Vec<Vec<Value>>, database::Error> {
    session.query(text, Params::new())?.rows()
}

#[test]
fn records_become_rows() {
    let folder = TemporaryFolder::new("load-csv").unwrap();
    write_bytes(&folder.path().join("people.csv"), b"name;age\nAda;36\n\"Bo;b\";\n").unwrap();
    let mut session = session(&folder);
    let with = "LOAD CSV WITH HEADERS FROM 'file:///people.csv' AS row FIELDTERMINATOR ';' RETURN row.name, toInteger(row.age)";
    assert_eq!(
        shown(ask(&mut session, with)),
        format!("{:?}", [["Ada".into(), Value::Int(36)], ["Bo;b".into(), Value::Null]])
    );
    let without = "UNWIND ['people.csv', 'people.csv'] AS f LOAD CSV FROM f AS row RETURN count(row[0])";
    assert_eq!(shown(ask(&mut session, without)), format!("{:?}", [[Value::Int(6)]]));
    let written = "LOAD CSV FROM 'file:///people.csv' AS row CALL (row) { CREATE (:P {x: row[0]}) } IN TRANSACTIONS OF 2 ROWS";
    ask(&mut session, written).unwrap();
    assert_eq!(shown(ask(&mut session, "MATCH (p:P) RETURN count(*)")), format!("{:?}", [[Value::Int(3)]]));
}

#[test]
fn a_long_file_streams() {
    let folder = TemporaryFolder::new("load-csv").unwrap();
    let text: String = (0..50_000).map(|at| format!("{at},x\n")).collect();
    write_bytes(&folder.path().join("long.csv"), text.as_bytes()).unwrap();
    let mut session = session(&folder);
    let sum = "LOAD CSV FROM 'file:///long.csv' AS row RETURN sum(toInteger(row[0]))";
    assert_eq!(shown(ask(&mut session, sum)), format!("{:?}", [[Value::Int(1_249_975_000)]]));
    let few = "LOAD CSV FROM 'file:///long.csv' AS row RETURN row[0] LIMIT 2";
    assert_eq!(ask(&mut session, few).unwrap().len(), 2);
}

/// A batch held a thousand records whatever their size, and the fields of one were made in one go: a small compressed file took gigabytes, whatever
/// the budget, and a timeout waited.
#[test]
fn records_of_any_size_hold_the_budget_and_the_time() {
    let folder = TemporaryFolder::new("load-csv").unwrap();
    let write = |name: &str, bytes: &[u8]| write_bytes(&folder.path().join(name), bytes).unwrap();
    write("large.csv", format!("{}\n", "a".repeat(1 << 20)).repeat(40).as_bytes());
    write("wide.csv", format!("{}\n", ",".repeat(3 << 20)).as_bytes());
    write("quoted.csv", format!("\"{}\"\n", ",".repeat(3 << 20)).as_bytes());
    write("long.csv", "a".repeat((16 << 20) + 1).as_bytes());
    let mut session = session(&folder);
    let mut ask = |name: &str, head: &str, timeout_ms: u64| {
        let timeout = Some(Duration::from_millis(timeout_ms));
        let limits = Limits { timeout, bytes_max: Some(24 << 20) };
        let sum = if head.is_empty() { "sum(size(row[0])) + sum(size(row))" } else { "count(row)" };
        let text = format!("LOAD CSV{head} FROM '{name}' AS row RETURN {sum}");
        session.query_within(&text, Params::new(), &limits)?.rows()
    };
    assert_eq!(shown(ask("large.csv", "", 60_000)), format!("{:?}", [[Value::Int((40 << 20) + 40)]]));
    // Separators within quotes are no fields.
    assert_eq!(shown(ask("quoted.csv", "", 60_000)), format!("{:?}", [[Value::Int((3 << 20) + 1)]]));
    for (name, head) in [("wide.csv", ""), ("wide.csv", " WITH HEADERS")] {
        let error = ask(name, head, 60_000).unwrap_err();
        assert!(error.code.ends_with("MemoryPoolOutOfMemoryError"), "{head} {error}");
    }
    let error = ask("long.csv", "", 60_000).unwrap_err();
    assert!(
        error.message.contains("LOAD CSV FROM '/long.csv': line 1 of the file")
            && error.message.contains("16 MiB"),
        "{error}"
    );
    let error = ask("large.csv", "", 1).unwrap_err();
    assert!(error.code.ends_with("TransactionTimedOut"), "{error}");
}

#[test]
fn what_lies_elsewhere_is_refused() {
    let folder = TemporaryFolder::new("load-csv").unwrap();
    let mut session = session(&folder);
    for bad in [
        "file:///../etc/passwd",
        "file:///etc/../../passwd",
        "https://example.org/a.csv",
        "file:///missing.csv",
    ] {
        let text = format!("LOAD CSV FROM '{bad}' AS row RETURN row");
        let error = ask(&mut session, &text).unwrap_err();
        assert_eq!(error.code, "Neo.ClientError.Statement.ExternalResourceFailed", "{bad}");
    }
    let mut closed = Database::open(MEMORY, Options::default()).unwrap().session();
    let error = ask(&mut closed, "LOAD CSV FROM 'file:///a.csv' AS row RETURN row").unwrap_err();
    assert!(error.hint.unwrap().contains("import_folder"));
}

/// Links once led out of the folder, and errors told where it is.
#[test]
fn links_lead_nowhere_else_and_errors_name_no_folder() {
    let (folder, elsewhere) =
        (TemporaryFolder::new("load-csv").unwrap(), TemporaryFolder::new("elsewhere").unwrap());
    let below = |name: &str| folder.path().join(name);
    write_bytes(&elsewhere.path().join("secret.csv"), b"secret\n").unwrap();
    write_bytes(&below("plain.csv"), b"plain\n").unwrap();
    world::files::create_folder(&below("sub")).unwrap();
    let link = |to: &std::path::Path, name: &str| std::os::unix::fs::symlink(to, below(name)).unwrap();
    link(&elsewhere.path().join("secret.csv"), "file.csv");
    link(elsewhere.path(), "folder");
    link(std::path::Path::new("../../../../../../../../../etc"), "up");
    link(std::path::Path::new("/proc/self/root"), "root");
    link(std::path::Path::new("/proc/self/cwd"), "cwd");
    link(std::path::Path::new("/dev/fd/0"), "fd");
    link(std::path::Path::new("loop.csv"), "loop.csv");
    link(std::path::Path::new("../plain.csv"), "sub/inside.csv");
    let mut session = session(&folder);
    let mut load = |name: &str| {
        let text = format!("LOAD CSV FROM '{name}' AS row RETURN row[0]");
        ask(&mut session, &text).map(|rows| shown(Ok(rows)))
    };
    for name in ["plain.csv", "sub/inside.csv", "file:///sub/inside.csv", "file:///%70lain.csv"] {
        assert_eq!(load(name).unwrap(), format!("{:?}", [["plain"].map(Value::from)]), "{name}");
    }
    for name in [
        "file.csv",
        "folder/secret.csv",
        "up/passwd",
        "root/etc/passwd",
        "cwd/Cargo.toml",
        "fd",
        "loop.csv",
        "sub",
        "missing.csv",
        "file:///root/etc/passwd",
        "file:///%2e%2e/%2e%2e/etc/passwd",
        "file:////etc/passwd",
        "file://localhost/etc/passwd",
        "sub/../../etc/passwd",
        "/etc/passwd",
        "./plain.csv/../../x",
    ] {
        let error = load(name).unwrap_err();
        assert_eq!(error.code, "Neo.ClientError.Statement.ExternalResourceFailed", "{name}: {error}");
        let told = error.to_string();
        assert!(!told.contains(&folder.path().display().to_string()), "{told}");
        assert!(!told.contains("String(") && told.contains(&format!("'{name}'")), "{told}");
    }
}

/// A pipe in the folder has no writer, and must not be waited for.
#[test]
fn what_is_no_file_is_not_read() {
    let folder = TemporaryFolder::new("load-csv").unwrap();
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("pipe.csv")).status();
    if !made.is_ok_and(|status| status.success()) {
        return;
    }
    let error = ask(&mut session(&folder), "LOAD CSV FROM 'pipe.csv' AS row RETURN row").unwrap_err();
    assert_eq!(error.code, "Neo.ClientError.Statement.ExternalResourceFailed", "{error}");
}

fn plain(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Int(int) => int.to_string(),
        Value::Float(float) => float.to_string(),
        Value::String(text) => text.to_string(),
        other => format!("{other:?}"),
    }
}

/// JSON below the import folder: elements of a list, or values behind each other; damaged, huge and nested files end the query and nothing else.
#[test]
fn json_is_read_as_values_with_the_same_rules() {
    let folder = TemporaryFolder::new("load-json").unwrap();
    let write = |name: &str, bytes: &[u8]| write_bytes(&folder.path().join(name), bytes).unwrap();
    write(
        "people.json",
        b"[{\"name\": \"Ada\", \"tags\": [1, null]},\n {\"name\": \"Bob\", \"at\": {\"city\": \"Rome\"}}]",
    );
    write("lines.ndjson", b"{\"x\": 1}\n\n{\"x\": 2.5}\n");
    // `[7]`, packed by gzip.
    write(
        "packed.json.gz",
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x8b\x36\x8f\x05\x00\x3e\x95\x75\x1a\x03\x00\x00\x00",
    );
    let mut session = session(&folder);
    for (text, expected) in [
        (
            "LOAD JSON FROM 'file:///people.json' AS p RETURN p.name, size(p.tags), p.at.city, linenumber(), file()",
            "Ada 2 null 1 /people.json; Bob null Rome 2 /people.json",
        ),
        ("LOAD JSON FROM 'lines.ndjson' AS row RETURN sum(row.x)", "3.5"),
        ("UNWIND ['packed.json.gz', 'packed.json.gz'] AS f LOAD JSON FROM f AS row RETURN row", "7; 7"),
        (
            "load json from 'lines.ndjson' as row call (row) { create (:J {x: row.x}) } in transactions of 1 row return count(*)",
            "2",
        ),
    ] {
        let rows = ask(&mut session, text).unwrap();
        let shown: Vec<String> =
            rows.iter().map(|row| row.iter().map(plain).collect::<Vec<_>>().join(" ")).collect();
        assert_eq!(shown.join("; "), expected, "{text}");
    }
    write("broken.json", b"[{\"x\": 1},\n {\"x\": }]");
    write("deep.json", "[".repeat(200).as_bytes());
    write("huge.json", format!("[\"{}\"]", "a".repeat(17 << 20)).as_bytes());
    let wide = format!("[[{}0]]", "[],".repeat(3 << 20));
    write("wide.json", wide.as_bytes());
    for (name, wanted) in [
        ("broken.json", "line 2 of the file, column 8"),
        ("deep.json", "line 1 of the file, column 129"),
        ("huge.json", "one value has more than"),
        ("nothing.json", "LOAD JSON FROM 'nothing.json'"),
        ("../people.json", "must lie below the import folder"),
        ("http://x/people.json", "reads no URLs"),
    ] {
        let error = ask(&mut session, &format!("LOAD JSON FROM '{name}' AS row RETURN row")).unwrap_err();
        assert!(error.message.contains(wanted), "{name}: {error}");
    }
    // What one value holds is charged while it is read.
    let few = Limits { timeout: None, bytes_max: Some(32 << 20) };
    let error =
        session.query_within("LOAD JSON FROM 'wide.json' AS row RETURN size(row)", Params::new(), &few);
    let error = error.and_then(|result| result.rows()).unwrap_err();
    assert!(error.code.contains("MemoryLimit") || error.code.contains("OutOfMemory"), "{error:?}");
    let soon = Limits { timeout: Some(Duration::from_millis(5)), bytes_max: None };
    let error =
        session.query_within("LOAD JSON FROM 'wide.json' AS row RETURN size(row)", Params::new(), &soon);
    assert!(error.and_then(|result| result.rows()).unwrap_err().code.ends_with("TransactionTimedOut"));
}

/// A folder with a file of Parquet as an export writes it, and one that is none.
fn parquet_folder() -> (TemporaryFolder, String) {
    let folder = TemporaryFolder::new("load-parquet").unwrap();
    let mut session = session(&folder);
    ask(
        &mut session,
        "UNWIND range(1, 3000) AS x CREATE (:P {x: x, name: 'n' + toString(x), tags: [x, x + 1]})",
    )
    .unwrap();
    let out = folder.path().join("out");
    session.database().export(&out, ExportFormat::Parquet, None).unwrap();
    let files = world::files::list_folder(&out).unwrap();
    let file = files.iter().find(|path| path.to_string_lossy().contains("P")).unwrap();
    let name = format!("out/{}", file.file_name().unwrap().to_string_lossy());
    (folder, name)
}

#[test]
fn parquet_is_read_as_maps_with_the_same_rules() {
    let (folder, name) = parquet_folder();
    write_bytes(&folder.path().join("none.parquet"), b"id,name\n1,Ada\n").unwrap();
    let mut bytes = world::files::read_bytes(&folder.path().join(&name)).unwrap();
    let footer = bytes.len() - 40;
    bytes[footer..footer + 24].fill(0xff);
    write_bytes(&folder.path().join("damaged.parquet"), &bytes).unwrap();
    let mut session = session(&folder);
    let shown_rows = |rows: Vec<Vec<Value>>| -> String {
        let rows = rows.iter().map(|row| row.iter().map(plain).collect::<Vec<_>>().join(" "));
        rows.collect::<Vec<_>>().join("; ")
    };
    for (text, expected) in [
        (
            "RETURN count(*), sum(row.x), max(linenumber()), min(size(row.tags))",
            "3000 4501500 3000 2".to_string(),
        ),
        (
            "RETURN row.name, linenumber() > 0, file() ORDER BY row.x LIMIT 2",
            format!("n1 Bool(true) /{name}; n2 Bool(true) /{name}"),
        ),
        ("WITH row LIMIT 1 RETURN row.nothing, row.tags[1] - row.x", "null 1".into()),
    ] {
        let text = format!("LOAD PARQUET FROM 'file:///{name}' AS row {text}");
        assert_eq!(shown_rows(ask(&mut session, &text).unwrap()), expected, "{text}");
    }
    let write = "load parquet from $file as row call (row) { merge (:Q {x: row.x % 7}) } in transactions of 1000 rows return count(*)";
    let params = Params::from([("file".into(), Value::from(name.as_str()))]);
    assert_eq!(shown_rows(session.query(write, params).unwrap().rows().unwrap()), "3000");
    assert_eq!(shown_rows(ask(&mut session, "MATCH (q:Q) RETURN count(q)").unwrap()), "7");
    for (name, wanted, hinted) in [
        ("none.parquet", "does not begin as Parquet does", "correct the file"),
        ("damaged.parquet", "LOAD PARQUET FROM '/damaged.parquet'", "correct the file"),
        ("nothing.parquet", "LOAD PARQUET FROM 'nothing.parquet'", "import_urls"),
        ("../x.parquet", "must lie below the import folder", "import_urls"),
        ("s3://bucket/x.parquet", "only file:/// can be read", "import_urls"),
        ("https://example.org/x.parquet", "reads no URLs", "import_urls"),
    ] {
        let error = ask(&mut session, &format!("LOAD PARQUET FROM '{name}' AS row RETURN row")).unwrap_err();
        assert_eq!(error.code, "Neo.ClientError.Statement.ExternalResourceFailed", "{name}");
        assert!(error.message.contains(wanted), "{name}: {error}");
        assert!(error.hint.is_some_and(|hint| hint.contains(hinted)), "{name}");
    }
    let all = format!("LOAD PARQUET FROM '{name}' AS row RETURN collect(row)");
    for limits in [
        Limits { timeout: None, bytes_max: Some(256 << 10) },
        Limits { timeout: Some(Duration::from_millis(1)), bytes_max: None },
    ] {
        let error =
            session.query_within(&all, Params::new(), &limits).and_then(|result| result.rows()).unwrap_err();
        let wanted =
            if limits.timeout.is_some() { "TransactionTimedOut" } else { "MemoryPoolOutOfMemoryError" };
        assert!(error.code.ends_with(wanted), "{error}");
    }
}

/// Answers with the files of a folder, `/slow` never; its address.
#[allow(clippy::disallowed_methods, clippy::disallowed_types)]
fn file_server(folder: std::path::PathBuf) -> String {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::mem::forget(world::threads::spawn("server of a test", move || {
        let mut silent = Vec::new();
        for mut socket in listener.incoming().flatten() {
            let mut request = [0; 4096];
            let count = socket.read(&mut request).unwrap_or(0);
            let text = String::from_utf8_lossy(&request[..count]);
            let path = text.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
            if path == "slow" {
                silent.push(socket);
                continue;
            }
            let (status, bytes) = match world::files::read_bytes(&folder.join(path)) {
                Ok(bytes) => ("200 OK", bytes),
                Err(_) => ("404 Not Found", Vec::new()),
            };
            let head =
                format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", bytes.len());
            // Whoever asked may have gone.
            let _ = socket.write_all(&[head.as_bytes(), &bytes].concat());
        }
    }));
    address
}

#[test]
fn urls_of_listed_hosts_are_read_and_nobody_waits_for_them() {
    let (folder, parquet) = parquet_folder();
    let write = |name: &str, bytes: &[u8]| write_bytes(&folder.path().join(name), bytes).unwrap();
    write("people.csv", b"name,age\nAda,36\nBo,7\n");
    write(
        "packed.json.gz",
        b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x8b\x36\x8f\x05\x00\x3e\x95\x75\x1a\x03\x00\x00\x00",
    );
    let address = file_server(folder.path().to_path_buf());
    let import_urls = UrlRules::parse(&format!("http://{address}")).unwrap();
    let options = Options { executors: Some(1), import_urls, ..Options::default() };
    let database = Database::open(MEMORY, options).unwrap();
    let mut session = database.session();
    let url = |name: &str| format!("http://{address}/{name}");
    for (clause, name, text, expected) in [
        ("LOAD CSV WITH HEADERS", "people.csv", "RETURN sum(toInteger(row.age)), max(linenumber())", "43 3"),
        ("LOAD JSON", "packed.json.gz", "RETURN row", "7"),
        ("LOAD PARQUET", &parquet, "RETURN count(row.x), sum(row.x)", "3000 4501500"),
        ("UNWIND range(1, 20) AS i LOAD CSV", "people.csv", "RETURN count(row)", "60"),
        ("LOAD CSV", "people.csv", "RETURN row[0] LIMIT 1", "name"),
        ("LOAD CSV", "people.csv", "WITH row, file() AS f LIMIT 1 RETURN split(f, '/')[3]", "people.csv"),
        (
            "UNWIND [1, 2] AS i CALL (i) { LOAD CSV",
            "people.csv",
            "RETURN count(row) AS c } RETURN sum(c)",
            "6",
        ),
    ] {
        let text = format!("{clause} FROM '{}' AS row {text}", url(name));
        let rows = ask(&mut session, &text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let found = rows.iter().map(|row| row.iter().map(plain).collect::<Vec<_>>().join(" "));
        assert_eq!(found.collect::<Vec<_>>().join("; "), expected, "{text}");
    }
    let load = |url: &str| format!("LOAD CSV FROM '{url}' AS row RETURN row");
    for (url, wanted) in [
        (url("absent.csv"), "status 404"),
        ("http://ada:secret@127.0.0.1:1/x".to_string(), "does not list http://127.0.0.1:1"),
        ("https://example.org/x.csv".to_string(), "does not list https://example.org:443"),
        ("file:///x.csv".to_string(), "no folder to import from"),
    ] {
        let error = ask(&mut session, &load(&url)).unwrap_err();
        assert_eq!(error.code, "Neo.ClientError.Statement.ExternalResourceFailed", "{url}");
        assert!(error.message.contains(wanted) && !error.message.contains("secret"), "{url}: {error}");
    }
    // One executor, and a host that never answers: others are answered meanwhile, and the time of the statement ends it.
    let slow = load(&url("slow"));
    let (mut waiting, begun) = (database.session(), world::clock::monotonic_ns());
    let waiter = world::threads::spawn("waits", move || {
        let limits = Limits { timeout: Some(Duration::from_millis(400)), bytes_max: None };
        waiting.query_within(&slow, Params::new(), &limits).and_then(|result| result.rows()).unwrap_err()
    });
    world::threads::sleep(Duration::from_millis(100));
    for _ in 0..20 {
        ask(&mut session, "UNWIND range(1, 100000) AS x RETURN sum(x)").unwrap();
    }
    assert!(!waiter.is_finished() || world::clock::monotonic_ns() - begun > 400_000_000);
    assert!(waiter.join().code.ends_with("TransactionTimedOut"));
    assert!(world::clock::monotonic_ns() - begun < 10_000_000_000, "nobody waits for the host");
}

/// An import reads the same URLs without a list, for whoever imports has the rights of the process; what is wrong names the URL, and nothing is half there.
#[test]
fn an_import_reads_urls_and_names_them() {
    let folder = TemporaryFolder::new("import-url").unwrap();
    write_bytes(&folder.path().join("people.csv"), b"name,age\nAda,36\nBo,7\n").unwrap();
    write_bytes(&folder.path().join("wrong.csv"), b"name,age\nAda,36\n\"Bo,7\n").unwrap();
    let address = file_server(folder.path().to_path_buf());
    let database = Database::open(MEMORY, Options { executors: Some(1), ..Options::default() }).unwrap();
    let options = |file: &str, label: &str| {
        let nodes = vec![MappedNodes::new(vec![label.into()], file.into(), Some("name".into()))];
        let mapping = Mapping { nodes, edges: Vec::new() };
        ImportOptions { mapping, strict: true, ..ImportOptions::default() }
    };
    let count = || shown(ask(&mut database.session(), "MATCH (n) RETURN count(n)"));
    for (at, url) in
        [format!("http://{address}/people.csv"), format!("file://{}/people.csv", folder.path().display())]
            .iter()
            .enumerate()
    {
        assert_eq!(database.import(&options(url, &format!("P{at}"))).unwrap().vertices, 2, "{url}");
    }
    assert_eq!(count(), format!("{:?}", [[Value::Int(4)]]));
    for (url, wanted) in [
        (format!("http://{address}/absent.csv?key=secret"), "status 404"),
        (format!("http://{address}/wrong.csv"), "wrong.csv:3"),
        ("s3://".to_string(), "s3://"),
    ] {
        let error = database.import(&options(&url, "Q")).unwrap_err();
        let told = error.to_string();
        assert!(told.contains(wanted) && !told.contains("secret"), "{told}");
        assert!(told.contains(url.split('?').next().unwrap()), "{told}");
    }
    assert_eq!(count(), format!("{:?}", [[Value::Int(4)]]));
}

/// What becomes of files on their way.
fn damages(whole: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let middle = whole.len() / 2;
    let with = |at: usize, piece: &[u8]| [&whole[..at], piece, &whole[at..]].concat();
    let wide: Vec<u8> = String::from_utf8_lossy(whole).encode_utf16().flat_map(u16::to_le_bytes).collect();
    vec![
        ("nothing", whole.to_vec()),
        ("no bytes", Vec::new()),
        ("a cut in the middle", whole[..middle].to_vec()),
        ("a cut before its end", whole[..whole.len() - 1].to_vec()),
        ("a byte order mark", with(0, b"\xef\xbb\xbf")),
        ("NULs", with(middle, &[0; 100])),
        ("a byte that is no UTF-8", with(middle, b"\xff")),
        ("a quote", with(middle, b"\"")),
        ("a bracket", with(middle, b"}]")),
        ("a huge field", with(middle, &vec![b'7'; 300_000])),
        ("a huge beginning", with(1, &vec![b'a'; 300_000])),
        ("deep brackets", with(middle, &vec![b'['; 50_000])),
        ("UTF-16", wide),
        ("all bytes backwards", whole.iter().rev().copied().collect()),
    ]
}

/// Every format with every damage: rows come, or the statement fails, names the file and changes nothing.
#[test]
fn each_format_with_each_damage() {
    let folder = TemporaryFolder::new("load-csv").unwrap();
    let mut session = session(&folder);
    let lines = |start: &str, row: fn(u32) -> String, end: &str| {
        [start, &(1..60).map(row).collect::<String>(), end].concat().into_bytes()
    };
    let (parquet, name) = parquet_folder();
    let columnar = world::files::read_bytes(&parquet.path().join(&name)).unwrap();
    let csv = lines("id,name\n", |id| format!("{id},\"n, {id}\"\n"), "");
    let samples: [(&str, &str, Vec<u8>); 5] = [
        ("a.csv", "CSV", csv.clone()),
        ("b.csv", "CSV WITH HEADERS", csv),
        ("a.jsonl", "JSON", lines("", |id| format!("{{\"id\": {id}}}\n"), "")),
        ("a.json", "JSON", lines("[", |id| format!("{{\"id\": [{id}]}},\n"), "1]")),
        ("a.parquet", "PARQUET", columnar),
    ];
    let (mut read, mut refused, mut wrong) = (0, 0, Vec::new());
    for (name, form, whole) in samples {
        for (damage, bytes) in damages(&whole) {
            write_bytes(&folder.path().join(name), &bytes).unwrap();
            let text =
                format!("LOAD {form} FROM '{name}' AS row CREATE (:Loaded) WITH row RETURN count(row)");
            let case = format!("{form} with {damage}");
            match ask(&mut session, &text) {
                Ok(_) => {
                    read += 1;
                    ask(&mut session, "MATCH (n:Loaded) DELETE n").unwrap();
                }
                Err(error) => {
                    refused += 1;
                    let (message, start) =
                        (&error.message, error.message.chars().take(400).collect::<String>());
                    match () {
                        () if damage == "nothing" => wrong.push(format!("{case}: refused: {start}")),
                        () if message.len() > 2_000 => {
                            wrong.push(format!("{case}: {} bytes: {start}", message.len()))
                        }
                        () if !message.contains(name) => wrong.push(format!("{case}: not named: {start}")),
                        () if error.hint.is_none() => wrong.push(format!("{case}: no hint: {start}")),
                        () => {}
                    }
                }
            }
            let left = shown(ask(&mut session, "MATCH (n:Loaded) RETURN count(n)"));
            assert_eq!(left, format!("{:?}", [[Value::Int(0)]]), "{case}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(read > 20 && refused > 20, "{read} read, {refused} refused");
}
