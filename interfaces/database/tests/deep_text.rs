//! Texts that are deep or wide: each production of each language, nested or repeated below, at and above every limit and up to a million
//! times (the short form: a hundred thousand). None may end the process, hang, or take memory without bound: each is answered, or refused with a reason.
//!
//! The texts are asked in a child process, on a thread with the stack that threads have: what ends it is named by the last line it wrote.
//! `cargo test -p tanglewood-database --test deep_text -- --ignored` asks for all sizes.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

#[path = "deep_text/grammar.rs"]
mod grammar;
#[path = "deep_text/growth.rs"]
mod growth;

use grammar::{CLAUSES, EXPRESSIONS, Production, RULES, TRAVERSALS};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tanglewood_database::gremlin::GremlinOptions;
use tanglewood_database::{Database, Error, Limits, MEMORY, Options, Params, QueryResult, Session};

/// Below and above the limits of nesting (64, 80, 128), of trees (400, 600), of clauses (1,000); and far beyond them; a million times in the long form.
const SIZES: [usize; 6] = [63, 81, 129, 401, 5_000, 100_000];
const MORE_SIZES: [usize; 23] = [
    1, 2, 10, 63, 64, 65, 79, 80, 81, 127, 128, 129, 399, 400, 401, 599, 601, 999, 1_001, 20_000, 100_000,
    200_000, 1_000_000,
];
/// The stack of a thread that a program starts without a word about it.
const STACK_BYTES: usize = 2 << 20;
/// Processor time one text may take, in an unoptimised build.
const TIME_MAX: Duration = Duration::from_secs(20);
/// Without a word for so long it hangs. Where others have the cores, a text of many small requests waits for its turn thousands of times.
const SILENCE_MAX: Duration = Duration::from_secs(150);
/// Time its execution is given.
const TIMEOUT: Duration = Duration::from_secs(3);
/// Memory one execution is given, and what the process may take at most.
const QUERY_BYTES: u64 = 128 << 20;
const PROCESS_BYTES_MAX: u64 = 700 << 20;
/// Names the child's part of the work.
const PART: &str = "TANGLEWOOD_DEEP_TEXT";
const LONG: &str = "TANGLEWOOD_DEEP_TEXT_LONG";
/// The one production that the child is about, for who looks closer.
const ONLY: &str = "TANGLEWOOD_DEEP_TEXT_ONLY";
/// The child measures how the time of a text grows with its size.
const GROWTH: &str = "TANGLEWOOD_DEEP_TEXT_GROWTH";
/// The production that the child begins with.
const FROM: &str = "TANGLEWOOD_DEEP_TEXT_FROM";

const PARTS: [(&str, &[Production]); 4] =
    [("expressions", EXPRESSIONS), ("clauses", CLAUSES), ("rules", RULES), ("traversals", TRAVERSALS)];

/// The most memory this process has had, bytes.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("0");
    line.trim().trim_end_matches("kB").trim().parse::<u64>().unwrap_or(0) << 10
}

fn database() -> Database {
    let options = Options { executors: Some(2), query_bytes_max: QUERY_BYTES, ..Options::default() };
    let database = Database::open(MEMORY, Options { query_timeout: Some(TIMEOUT), ..options }).unwrap();
    let made = "UNWIND range(1, 20) AS x CREATE (:A {x: x})-[:R]->(:B {x: x})";
    database.session().query(made, Params::new()).unwrap().finish().unwrap();
    database
}

/// How many rows come. None is kept: the memory that is measured is the query's.
fn count(mut found: QueryResult) -> Result<usize, Error> {
    let mut count = 0;
    if !found.is_endless() {
        while let Some(batch) = found.next_batch()? {
            count += batch.len();
        }
    }
    Ok(count)
}

/// What became of a text: rows, or a code.
fn ask(part: &str, session: &mut Session, text: &str) -> String {
    let outcome = if part == "traversals" {
        let options = GremlinOptions { timeout: Some(TIMEOUT), ..GremlinOptions::default() };
        session.gremlin_text(text, &Params::new(), &options).and_then(|mut found| {
            let mut count = 0;
            while let Some(objects) = found.next_objects()? {
                count += objects.len();
            }
            Ok(count)
        })
    } else {
        let limits = Limits { timeout: Some(TIMEOUT), bytes_max: Some(QUERY_BYTES) };
        let found = session.query_within(text, Params::new(), &limits);
        found.and_then(count)
    };
    match outcome {
        Ok(rows) => format!("{rows} rows"),
        Err(error) if error.to_string().contains("internal error") => error.to_string(),
        Err(error) if error.to_string().len() > 4_096 => {
            format!("internal error: {} bytes of {}", error.to_string().len(), error.code)
        }
        Err(error) => error.code,
    }
}

/// The child: says what it asks before it asks.
#[test]
fn child() {
    let Ok(part) = std::env::var(PART) else { return };
    let productions = PARTS.iter().find(|(name, _)| *name == part).unwrap().1;
    let sizes: &[usize] = if std::env::var_os(LONG).is_some() { &MORE_SIZES } else { &SIZES };
    let work = move || {
        let (mut database, mut faults) = (database(), Vec::new());
        let from = std::env::var(FROM).ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        let only = std::env::var(ONLY).ok();
        for (name, text) in &productions[from..] {
            if only.as_ref().is_some_and(|only| only != name) {
                continue;
            }
            if std::env::var_os(GROWTH).is_some() {
                faults.extend(growth::measure(
                    &part,
                    (*name, *text),
                    &mut database,
                    std::env::var_os(LONG).is_some(),
                ));
                continue;
            }
            for size in sizes {
                println!("ask {name} {size}");
                let text = text(*size);
                let (began, began_ns, peak) = (Instant::now(), growth::cpu_ns(), peak_bytes());
                let came = ask(&part, &mut database.session(), &text);
                drop(text);
                let peak_after = peak_bytes();
                println!("done {:?} {came} {} MB", began.elapsed(), peak_after >> 20);
                let elapsed = Duration::from_nanos(growth::cpu_ns().saturating_sub(began_ns));
                if peak_after > peak.max(PROCESS_BYTES_MAX)
                    || elapsed > TIME_MAX
                    || came.contains("internal error")
                {
                    faults.push(format!("{name} {size}: {elapsed:?}, {peak} to {peak_after} bytes, {came}"));
                }
                // What a text wrote is of no use to the next.
                if database.snapshot().commit_version() > 1 {
                    database = self::database();
                }
            }
        }
        assert!(faults.is_empty(), "{}", faults.join("\n"));
        println!("end");
    };
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(work).unwrap().join().unwrap();
}

/// Asks all texts of a part in children; what they did not survive. Behind a production that ends a child another goes on.
fn run(part: &str, productions: &[Production], forms: &[&str]) -> Vec<String> {
    let (mut faults, mut from) = (Vec::new(), 0);
    while from < productions.len() {
        let Err((last, fault)) = run_from(part, from, forms) else { break };
        faults.push(fault);
        let at = productions.iter().position(|(name, _)| last.contains(&format!("ask {name} ")));
        from = at.map_or(productions.len(), |at| at + 1);
    }
    faults
}

/// The last text that was asked, and what became of the child.
fn run_from(part: &str, from: usize, forms: &[&str]) -> Result<(), (String, String)> {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "child", "--nocapture"]).env(PART, part).env(FROM, from.to_string());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    for form in forms {
        command.env(form, "1");
    }
    let mut child = command.spawn().unwrap();
    let (said, heard) = mpsc::channel();
    let out = BufReader::new(child.stdout.take().unwrap());
    let reader = std::thread::spawn(move || {
        for line in out.lines().map_while(Result::ok) {
            let _ = said.send(line);
        }
    });
    let errors = child.stderr.take().unwrap();
    let errors = std::thread::spawn(move || std::io::read_to_string(errors).unwrap_or_default());
    let (mut last, mut ended, mut slowest) = (String::new(), false, (Duration::ZERO, String::new()));
    let mut began = Instant::now();
    let hangs = loop {
        match heard.recv_timeout(SILENCE_MAX) {
            Ok(line) if line == "end" => ended = true,
            Ok(line) if line.contains("ask ") => (last, began) = (line, Instant::now()),
            Ok(_) if began.elapsed() > slowest.0 => slowest = (began.elapsed(), last.clone()),
            Ok(_) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => break false,
            Err(mpsc::RecvTimeoutError::Timeout) => break true,
        }
    };
    if hangs {
        child.kill().unwrap();
    }
    let status = child.wait().unwrap();
    let _ = reader.join();
    let errors = errors.join().unwrap();
    println!("{part} from {from}: slowest {slowest:?}");
    if ended && status.success() {
        return Ok(());
    }
    let told: Vec<&str> = errors.lines().filter(|line| !line.is_empty()).take(12).collect();
    let how = if hangs { "hangs" } else { "ends" };
    let fault = format!("{part}: {how} at `{last}`: {status}\n{}", told.join("\n"));
    Err((last, fault))
}

fn all(forms: &'static [&'static str]) {
    let runs: Vec<_> =
        PARTS.iter().map(|(part, texts)| std::thread::spawn(move || run(part, texts, forms))).collect();
    let faults: Vec<String> = runs.into_iter().flat_map(|run| run.join().unwrap()).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn no_text_is_too_deep_or_too_wide() {
    all(&[]);
}

/// A line of a file of GraphSON nests as deep as its writer likes.
#[test]
fn a_file_of_graphson_of_any_nesting_is_read_or_refused() {
    let folder = world::files::TemporaryFolder::new("deep-graphson").unwrap();
    let from = folder.path().join("g.json");
    let int = r#"{"@type":"g:Int32","@value":7}"#;
    for depth in [0, 1, 29, 30, 31, 60, 63, 64, 65, 66, 123, 124, 127, 128, 5_000, 100_000] {
        for (open, core, close) in [
            ("[", "7", "]"),
            (r#"{"@type":"g:List","@value":["#, int, "]}"),
            (r#"{"@type":"g:Map","@value":["a","#, int, "]}"),
        ] {
            let value = format!("{}{core}{}", open.repeat(depth), close.repeat(depth));
            let line = format!(r#"{{"id":1,"label":"a","properties":{{"p":[{{"id":2,"value":{value}}}]}}}}"#);
            std::fs::write(&from, line).unwrap();
            let database = Database::open(MEMORY, Options::default()).unwrap();
            let import = tanglewood_database::GraphsonImport {
                from: from.clone(),
                ..tanglewood_database::GraphsonImport::default()
            };
            let around = 4 + depth * open.matches(['[', '{']).count();
            match database.import_graphson(&import) {
                Ok(report) => assert!(report.vertices == 1 && depth <= 65, "{depth} of {open}"),
                Err(error) => {
                    let told = error.to_string();
                    let is_clear = told.contains("nested deeper than") || told.contains("cannot be kept");
                    assert!(is_clear && !told.contains("recursion limit"), "{depth} of {open}: {told}");
                    assert!(depth > 60 || around > 120, "{depth} of {open}: {told}");
                    assert_eq!(database.snapshot().statistics().vertices(), 0);
                }
            }
        }
    }
}

#[test]
#[ignore = "soak: all sizes of all productions, some minutes"]
fn no_text_of_any_size_is_too_deep_or_too_wide() {
    all(&[LONG]);
}

#[test]
fn the_time_of_a_text_grows_as_its_size() {
    all(&[GROWTH]);
}

#[test]
#[ignore = "soak: sizes up to 160,000 of all productions, some minutes"]
fn the_time_of_a_wide_text_grows_as_its_size() {
    all(&[GROWTH, LONG]);
}
