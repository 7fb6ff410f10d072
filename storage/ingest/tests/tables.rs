//! Random tables of nodes and relationships: what is imported is what was written, and each wrong line is left out and named.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_ingest as ingest;

use crate::common;

use common::{Files, edge_lines, import, index_lines, mapped, memory, options, rejected, vertex_lines};
use ingest::{ExportFormat, ExportOptions, ImportOptions, Layout, REJECTED_SHOWN_MAX};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use transact::Engine;
use world::chance::Chance;

/// A column: its header, a right field with how the value is shown, and a wrong field with what is said of it.
type Kind = (&'static str, fn(&mut Chance) -> (String, String), Option<(&'static str, &'static str)>);

const KINDS: [Kind; 7] = [
    ("name", |chance| plain(format!("n{}", chance.below(9))), None),
    ("age:int", |chance| number(chance.below(99) as i64 - 50), Some(("x", "`x` is no integer"))),
    ("score:double", |chance| fraction(chance.below(80)), Some(("x", "`x` is no number"))),
    ("ok:boolean", |chance| truth(chance.below(2) == 0), Some(("maybe", "`maybe` is no truth value"))),
    ("tags:string[]", |chance| list(chance.below(3)), None),
    ("years:int[]", |chance| numbers(chance.below(3)), Some(("1;x", "`x` is no integer"))),
    ("out:date", |chance| date(chance.below(9)), Some(("soon", "`soon` is no date"))),
];

fn plain(text: String) -> (String, String) {
    (text.clone(), format!("{text:?}"))
}
fn number(number: i64) -> (String, String) {
    (number.to_string(), number.to_string())
}
fn fraction(quarters: u64) -> (String, String) {
    let float = quarters as f64 / 4.0;
    (float.to_string(), format!("{float:?}"))
}
fn truth(truth: bool) -> (String, String) {
    (truth.to_string(), truth.to_string())
}
fn list(more: u64) -> (String, String) {
    let all: Vec<String> = (0..=more).map(|n| format!("t{n}")).collect();
    (all.join(";"), format!("[{}]", all.iter().map(|one| format!("{one:?}")).collect::<Vec<_>>().join(", ")))
}
fn numbers(more: u64) -> (String, String) {
    let all: Vec<String> = (0..=more).map(|n| (n * 7).to_string()).collect();
    (all.join(";"), format!("[{}]", all.join(", ")))
}
fn date(day: u64) -> (String, String) {
    let text = format!("2024-03-0{}", day + 1);
    (text.clone(), text)
}

/// Some of the columns, each at most once.
fn columns(chance: &mut Chance) -> Vec<Kind> {
    KINDS.into_iter().filter(|_| chance.below(2) == 0).collect()
}

/// A row: its fields, its properties by name, and what is wrong in it.
fn row(columns: &[Kind], chance: &mut Chance) -> (Vec<String>, BTreeMap<String, String>, Option<String>) {
    let (mut fields, mut held, mut wrong) = (Vec::new(), BTreeMap::new(), None);
    for (header, right, not) in columns {
        match (chance.below(24), not) {
            (0, Some((field, what))) => {
                fields.push(field.to_string());
                wrong = wrong.or(Some(what.to_string()));
            }
            (1..6, _) => fields.push(String::new()),
            _ => {
                let (field, shown) = right(chance);
                fields.push(field);
                held.insert(header.split(':').next().unwrap().to_string(), shown);
            }
        }
    }
    (fields, held, wrong)
}

fn shown(held: &BTreeMap<String, String>) -> String {
    let all: Vec<String> = held.iter().map(|(key, value)| format!("{key}: {value}")).collect();
    if all.is_empty() { String::new() } else { format!(" {{{}}}", all.join(", ")) }
}

fn counted(lines: &BTreeMap<String, u64>) -> Vec<(String, u64)> {
    lines.iter().map(|(name, count)| (name.clone(), *count)).collect()
}

#[test]
fn what_was_written_is_imported() {
    for seed in 0..60 {
        let mut chance = Chance::seeded(seed);
        let (mut files, mut wrong) = (Vec::<(String, String)>::new(), Vec::new());
        let (mut nodes, mut by_label, mut known) = (Vec::new(), BTreeMap::new(), [Vec::new(), Vec::new()]);
        for (space, name) in ["Person", "City"].into_iter().enumerate() {
            let (columns, labelled) = (columns(&mut chance), chance.below(2) == 0);
            let headers: String = columns.iter().map(|(header, ..)| format!(",{header}")).collect();
            let mut text = format!("id:ID({name}){headers}{}\n", if labelled { ",:LABEL" } else { "" });
            for at in 0..chance.below(40) {
                let id = space as u64 * 1_000 + at;
                let (mut fields, mut held, fault) = row(&columns, &mut chance);
                let labels = match (labelled, chance.below(3)) {
                    (false, _) => name.to_string(),
                    (true, 0) => "A".to_string(),
                    (true, 1) => "B".to_string(),
                    (true, _) => "B;A".to_string(),
                };
                fields.insert(0, id.to_string());
                fields.extend(labelled.then(|| labels.clone()));
                text.push_str(&(fields.join(",") + "\n"));
                if let Some(fault) = fault {
                    wrong.push((format!("{name}.csv"), at + 2, fault));
                    continue;
                }
                known[space].push(id);
                held.insert("id".into(), id.to_string());
                let mut labels: Vec<&str> = labels.split(';').collect();
                labels.sort_unstable();
                *by_label.entry(labels.join(":")).or_insert(0) += 1;
                nodes.push(format!(":{}{}", labels.join(":"), shown(&held)));
            }
            files.push((format!("{name}.csv"), text));
        }
        let (mut edges, mut by_type) = (Vec::new(), BTreeMap::new());
        for name in ["LIVES", "VISITS"] {
            let (columns, typed) = (columns(&mut chance), chance.below(2) == 0);
            let headers: String = columns.iter().map(|(header, ..)| format!(",{header}")).collect();
            let mut text =
                format!(":START_ID(Person),:END_ID(City){headers}{}\n", if typed { ",:TYPE" } else { "" });
            for at in 0..chance.below(60) {
                let (from, to) = (chance.below(44), 1_000 + chance.below(44));
                let (mut fields, held, fault) = row(&columns, &mut chance);
                let edge_type = if typed { ["S", "R", "LIVES"][chance.index(3)] } else { name };
                fields.splice(0..0, [from.to_string(), to.to_string()]);
                fields.extend(typed.then(|| edge_type.to_string()));
                text.push_str(&(fields.join(",") + "\n"));
                let is_known = known[0].contains(&from) && known[1].contains(&to);
                if fault.is_some() || !is_known {
                    wrong.push((format!("{name}.csv"), at + 2, String::new()));
                    continue;
                }
                *by_type.entry(edge_type.to_string()).or_insert(0) += 1;
                edges.push(format!("{from} -[:{edge_type}{}]-> {to}", shown(&held)));
            }
            files.push((format!("{name}.csv"), text));
        }
        let all: Vec<(&str, &str)> =
            files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let (engine, report) = import(&all);
        nodes.sort();
        edges.sort();
        assert_eq!(vertex_lines(&engine), nodes, "seed {seed}");
        assert_eq!(edge_lines(&engine), edges, "seed {seed}");
        is_named(&rejected(&report), &wrong, seed);
        assert_eq!((report.by_label, report.by_type), (counted(&by_label), counted(&by_type)), "seed {seed}");
        assert_eq!((report.vertices, report.edges), (nodes.len() as u64, edges.len() as u64), "seed {seed}");
        assert_eq!((report.rejected, report.files), (wrong.len() as u64, 4), "seed {seed}");
    }
}

/// The first wrong lines by file and line are those that are shown, nodes with what is wrong.
fn is_named(told: &[String], wrong: &[(String, u64, String)], seed: u64) {
    let mut wrong: Vec<_> = wrong.iter().collect();
    wrong.sort();
    assert_eq!(told.len(), wrong.len().min(REJECTED_SHOWN_MAX), "seed {seed}");
    for (told, (file, line, what)) in told.iter().zip(wrong) {
        assert!(told.starts_with(&format!("{file}:{line}: ")), "seed {seed}: {told} at {file}:{line}");
        assert!(told.contains(what.as_str()), "seed {seed}: {told} says {what}");
    }
}

/// A case of the page: how it is asked for, its files, and the account that the page has.
#[derive(Default)]
struct Case {
    head: String,
    files: Vec<(String, String)>,
}

/// The cases of a page: `# what, options`, then of each file `== name` and its lines behind `| `.
fn cases(page: &str) -> Vec<Case> {
    let mut all: Vec<Case> = Vec::new();
    for line in page.lines() {
        if line.starts_with("# ") {
            all.push(Case { head: line.to_string(), files: Vec::new() });
        } else if let (Some(name), Some(case)) = (line.strip_prefix("== "), all.last_mut()) {
            case.files.push((name.to_string(), String::new()));
        } else if let (Some(text), Some(file)) =
            (line.strip_prefix('|'), all.last_mut().and_then(|case| case.files.last_mut()))
        {
            let text = text.strip_prefix(' ').unwrap_or(text);
            file.1.push_str(&text.replace("<tab>", "\t"));
            file.1.push('\n');
        }
    }
    all
}

/// What the words behind the `;` of a head ask for.
fn asked(folder: &std::path::Path, head: &str) -> ImportOptions {
    let words =
        || head.split_once("; ").map_or("", |(_, words)| words).split(' ').filter(|word| !word.is_empty());
    let of = |name: &str| words().filter_map(|word| word.strip_prefix(name)).collect::<Vec<&str>>();
    let mut options = match (of("nodes:"), of("edges:")) {
        (nodes, edges) if nodes.len() + edges.len() > 0 => mapped(folder, &nodes, &edges),
        _ => options(folder),
    };
    let is = |word: &str| words().any(|other| other == word);
    options.layout = match () {
        () if is("ldbc") => Layout::Ldbc,
        () if is("headers") => Layout::Headers,
        () if is("edges") => Layout::Edges,
        () if is("csv") => Layout::Csv,
        () => Layout::Auto,
    };
    (options.strict, options.dry_run) = (is("strict"), is("dry"));
    options.delimiter = of("delimiter:").first().map(|given| given.as_bytes()[0]);
    options.vertex_label = of("label:").first().map(ToString::to_string);
    options.edge_type = of("type:").first().map(ToString::to_string);
    options.nulls = of("null:").iter().map(ToString::to_string).collect();
    options.threads = Some(1);
    options
}

/// The graph as files of both forms, which are the same graph again.
fn exported(engine: &Engine, lines: &mut Vec<String>) {
    for format in [ExportFormat::Csv, ExportFormat::Jsonl] {
        let to = Files::new(&[]);
        let schema = vec!["CREATE INDEX one".to_string(), "CREATE INDEX two".to_string()];
        let options = ExportOptions { to: to.folder().to_path_buf(), format, schema, stopped: None };
        let report = ingest::export(&engine.snapshot(), &options).unwrap();
        lines.push(format!(
            "exported: {} nodes, {} relationships, {} files",
            report.vertices, report.edges, report.files
        ));
        let mut files = world::files::list_folder(to.folder()).unwrap();
        files.sort();
        for path in &files {
            lines.push(format!("exported {}", path.file_name().unwrap().display()));
            let text = world::files::read_text(path).unwrap();
            lines.extend(text.lines().map(|line| format!("> {line}")));
        }
        let error = ingest::export(&engine.snapshot(), &options).unwrap_err().to_string();
        assert!(error.contains("holds something already"), "{error}");
        let again = memory();
        let back =
            ingest::import(&again, &ImportOptions { from: options.to.clone(), ..ImportOptions::default() });
        assert_eq!(back.unwrap().rejected, 0);
        assert_eq!((vertex_lines(&again), edge_lines(&again)), (vertex_lines(engine), edge_lines(engine)));
    }
}

/// All that an import says and does.
fn account(case: &Case) -> String {
    let files = Files::new(&[]);
    case.files.iter().for_each(|(name, text)| files.add(name, text.as_bytes()));
    let (mut options, engine) = (asked(files.folder(), &case.head), memory());
    let understood: Arc<Mutex<Vec<String>>> = Arc::default();
    let told = understood.clone();
    options.understood = Some(Arc::new(move |one| told.lock().unwrap().push(one.to_string())));
    let outcome = ingest::import(&engine, &options);
    let mut lines: Vec<String> =
        understood.lock().unwrap().iter().map(|text| format!("understood {text}")).collect();
    match outcome {
        Err(error) => {
            lines.push(format!("{}: {error}", error.code()));
            lines.extend(error.hint().map(|hint| format!("hint: {hint}")));
            assert_eq!(engine.snapshot().commit_version(), 0, "{}", case.head);
        }
        Ok(report) => {
            let skipped: Vec<String> = report.skipped.iter().map(|path| path.display().to_string()).collect();
            let counts = (report.vertices, report.edges, report.existing, report.rejected);
            lines.push(format!(
                "vertices, edges, existing, rejected: {counts:?}; {} files, skipped {skipped:?}",
                report.files
            ));
            lines.push(format!("{:?} {:?}", report.by_label, report.by_type));
            lines.extend(rejected(&report));
            lines.extend([vertex_lines(&engine), edge_lines(&engine), index_lines(&engine)].concat());
            if case.head.contains(" export") {
                exported(&engine, &mut lines);
            }
        }
    }
    let folder = format!("{}/", files.folder().display());
    let text: String = lines.iter().flat_map(|line| line.lines()).map(|line| format!("  {line}\n")).collect();
    text.replace(&folder, "").replace(folder.trim_end_matches('/'), "the folder")
}

/// `page.txt` has small files of every form, and behind each case what was made of them: what they were understood to be, what is in the graph,
/// what was left out, or why nothing was imported. With `LEDGER=write` it is written anew, to be read as any other change is.
#[test]
fn files_mean_what_the_page_says() {
    let page = include_str!("page.txt");
    let mut written = String::new();
    for case in cases(page) {
        written.push_str(&format!("{}\n", case.head));
        for (name, text) in &case.files {
            written.push_str(&format!("== {name}\n"));
            let shown = |line: &str| format!("| {}\n", line.replace('\t', "<tab>")).replace("| \n", "|\n");
            text.lines().for_each(|line| written.push_str(&shown(line)));
        }
        written.push_str(&account(&case));
        written.push('\n');
    }
    if std::env::var("LEDGER").is_ok_and(|asked| asked == "write") {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/page.txt"), written).unwrap();
        return;
    }
    for (found, expected) in written.lines().zip(page.lines()) {
        assert_eq!(found, expected);
    }
    assert_eq!(written.lines().count(), page.lines().count());
}
