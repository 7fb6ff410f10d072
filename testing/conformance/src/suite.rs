//! All scenarios of a folder, run on the machine's threads.

use std::borrow::Borrow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::gherkin::{self, Scenario};
use crate::scenario::{self, Outcome};
use database::{Database, MEMORY, Options};

/// The folder named `name` of the outside suites, if it is there: below `TANGLEWOOD_CONFORMANCE` or `../shared/conformance`.
pub fn folder(name: &str) -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance");
    let base = std::env::var_os("TANGLEWOOD_CONFORMANCE").map_or_else(beside, PathBuf::from);
    let folder = base.join(name);
    if world::files::is_folder(&folder) {
        return Some(folder);
    }
    println!("skipped: there is no {name} below TANGLEWOOD_CONFORMANCE or ../shared/conformance");
    None
}

/// The scenarios of all feature files below a folder, in the order of their paths.
///
/// # Panics
/// A file cannot be read, or there is none.
pub fn scenarios(folder: &Path) -> Vec<Scenario> {
    let mut files = Vec::new();
    find_features(folder, &mut files);
    files.sort();
    assert!(!files.is_empty(), "there are no feature files below {}", folder.display());
    let read = |file: &PathBuf| {
        let name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        let text = world::files::read_text(file).expect("the suite's files can be read");
        gherkin::scenarios(&name, &text)
    };
    files.iter().flat_map(read).collect()
}

/// As [`scenarios`], each named by its file's path below the folder and its own title, of which a title that is there again has a number.
///
/// # Panics
/// A file cannot be read, or there is none.
pub fn scenarios_by_title(folder: &Path) -> Vec<Scenario> {
    let mut files = Vec::new();
    find_features(folder, &mut files);
    files.sort();
    assert!(!files.is_empty(), "there are no feature files below {}", folder.display());
    let mut all: Vec<Scenario> = Vec::new();
    let mut seen = std::collections::HashMap::new();
    for file in &files {
        let name = file.strip_prefix(folder).unwrap_or(file).display().to_string();
        let text = world::files::read_text(file).expect("the suite's files can be read");
        for scenario in gherkin::scenarios("", &text) {
            let id = format!("{name}::{}", scenario.title);
            let count = seen.entry(id.clone()).and_modify(|count| *count += 1).or_insert(1);
            let id = if *count > 1 { format!("{id}#{count}") } else { id };
            all.push(Scenario { id, ..scenario });
        }
    }
    all
}

fn find_features(folder: &Path, files: &mut Vec<PathBuf>) {
    for path in world::files::list_folder(folder).expect("the suite's folders can be read") {
        if world::files::is_folder(&path) {
            find_features(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "feature") {
            files.push(path);
        }
    }
}

/// An empty database in memory.
///
/// # Panics
/// It does not open.
pub fn in_memory() -> Database {
    let options = Options { executors: Some(1), ..Options::default() };
    Database::open(MEMORY, options).expect("a database in memory opens")
}

/// Runs scenarios on all cores, each in a database of its own, which `open` gives; outcomes in the order of the scenarios.
pub fn run<D: Borrow<Database>>(scenarios: &[Scenario], open: &(impl Fn() -> D + Sync)) -> Vec<Outcome> {
    let next = AtomicUsize::new(0);
    let threads = world::machine::cores();
    let work = |_| {
        let mut outcomes = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(scenario) = scenarios.get(at) else { return outcomes };
            outcomes.push((at, scenario::run(scenario, open().borrow())));
        }
    };
    let mut outcomes: Vec<(usize, Outcome)> =
        world::threads::in_parallel("scenarios", threads, work).into_iter().flatten().collect();
    outcomes.sort_by_key(|(at, _)| *at);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}
