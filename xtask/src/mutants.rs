//! How good are the tests? Changes a line of a room in many small ways, and runs the room's own tests against each.
//!
//! The engine is `cargo-mutants`: it finds the places and runs the tests. Here a sample is drawn by seed from the rooms of storage,
//! language and engine, and what survives is shown. All happens in a copy of the tree below `target/mutants`, so that the tree itself may
//! be worked on meanwhile; the copy is kept, so that a mutant costs what its room and that room's tests take to build.

use crate::rooms;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Storeys whose rooms are drawn from.
const STOREYS: [&str; 3] = ["storage", "language", "engine"];
/// Mutants where not said.
const SAMPLE: usize = 20;
/// Of a hundred mutants that build, so many must be caught.
const CAUGHT_PERCENT_MIN: usize = 95;
/// A mutant ends with a timeout after so many times what the unchanged tests take.
const TIMEOUT_MULTIPLIER: &str = "3";
/// And not before so many seconds.
const TIMEOUT_SECONDS_MIN: &str = "20";
/// What developers alone read.
const EXCLUDED: [&str; 1] = ["impl (std::fmt::|fmt::)?Debug for"];

const USAGE: &str = "\
cargo xtask mutants [--sample N] [--seed S] [--room R]... [--list]

  --sample N   mutants drawn over all rooms that are asked (20)
  --seed S     another seed draws others (1)
  --room R     only this room; may be given several times
  --list       prints the sample, and runs nothing
";

struct Options {
    sample: usize,
    seed: u64,
    rooms: Vec<String>,
    list: bool,
}

/// A mutant: the room, and the line that names it for `cargo-mutants`.
type Drawn = (String, String);

/// Runs the command; true where enough mutants are caught.
pub fn run(root: &Path, words: &[&str]) -> bool {
    let faults = match options(words) {
        Ok(options) => sample(root, &options),
        Err(fault) => Err(format!("{fault}\n{USAGE}")),
    };
    faults.unwrap_or_else(|fault| {
        eprintln!("{fault}");
        false
    })
}

fn options(words: &[&str]) -> Result<Options, String> {
    let mut options = Options { sample: SAMPLE, seed: 1, rooms: Vec::new(), list: false };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().copied().ok_or_else(|| format!("{word} wants a value"));
        match *word {
            "--sample" => options.sample = value()?.parse().map_err(|error| format!("--sample: {error}"))?,
            "--seed" => options.seed = value()?.parse().map_err(|error| format!("--seed: {error}"))?,
            "--room" => options.rooms.push(value()?.to_string()),
            "--list" => options.list = true,
            other => return Err(format!("{other} is not known")),
        }
    }
    Ok(options)
}

fn sample(root: &Path, options: &Options) -> Result<bool, String> {
    let tool = Command::new("cargo").args(["mutants", "--version"]).output();
    if !tool.is_ok_and(|output| output.status.success()) {
        return Err("the engine is missing: cargo install cargo-mutants --locked".into());
    }
    let rooms = asked_rooms(root, &options.rooms)?;
    let tree = copy(root)?;
    let mut all: Vec<Drawn> = Vec::new();
    for (room, storey) in &rooms {
        let listed = mutants(&tree, room, &["--list", "--file", &format!("{storey}/{room}/src/**")])?;
        all.extend(listed.lines().map(|line| (room.clone(), line.to_string())));
    }
    let (there, drawn) = (all.len(), draw(all, options));
    println!("{} of {there} mutants of {} rooms, seed {}", drawn.len(), rooms.len(), options.seed);
    if options.list {
        drawn.iter().for_each(|(_, name)| println!("{name}"));
        return Ok(true);
    }
    let mut by_room: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    drawn.iter().for_each(|(room, name)| by_room.entry(room).or_default().push(name));
    let mut total = Outcome::default();
    for (room, names) in by_room {
        let outcome = try_room(root, &tree, room, &names)?;
        println!("{room}: {}", outcome.summary());
        total.add(outcome);
    }
    survivors(&tree, &total.missed);
    println!("all: {}", total.summary());
    Ok(total.is_good())
}

/// Rooms by name, with their storeys.
fn asked_rooms(root: &Path, asked: &[String]) -> Result<BTreeMap<String, String>, String> {
    let (_, storeys) = rooms::actual(root);
    let of = |(room, level): (String, usize)| (room, rooms::STOREYS[level].to_string());
    let all: BTreeMap<String, String> =
        storeys.into_iter().map(of).filter(|(_, storey)| STOREYS.contains(&storey.as_str())).collect();
    match asked.iter().find(|room| !all.contains_key(*room)) {
        Some(unknown) => Err(format!(
            "{unknown} is no room of {}: {}",
            STOREYS.join(", "),
            all.into_keys().collect::<Vec<_>>().join(", ")
        )),
        None if asked.is_empty() => Ok(all),
        None => Ok(all.into_iter().filter(|(room, _)| asked.contains(room)).collect()),
    }
}

/// The sample: those whose names hash lowest under the seed, so that a larger sample contains a smaller one.
fn draw(mut all: Vec<Drawn>, options: &Options) -> Vec<Drawn> {
    let rank =
        |(_, name): &Drawn| name.bytes().fold(mixed(options.seed), |h, byte| mixed(h ^ u64::from(byte)));
    all.sort_by_cached_key(rank);
    all.truncate(options.sample);
    all.sort();
    all
}

/// SplitMix64's finalizer.
fn mixed(seed: u64) -> u64 {
    let mut bits = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Brings the copy of the tree up to date, writing only files that differ, so that cargo builds only what changed.
fn copy(root: &Path) -> Result<PathBuf, String> {
    let tree = root.join("target/mutants/tree");
    let failed = |path: &Path| {
        let path = path.display().to_string();
        move |error: std::io::Error| format!("{path}: {error}")
    };
    std::fs::create_dir_all(&tree).map_err(failed(&tree))?;
    let wanted: BTreeSet<String> = files(root)?;
    for name in &wanted {
        let (from, to) = (root.join(name), tree.join(name));
        // A file that is listed and not there was removed and is not committed yet.
        let Ok(bytes) = std::fs::read(&from) else { continue };
        if std::fs::read(&to).is_ok_and(|there| there == bytes) {
            continue;
        }
        let folder = to.parent().unwrap_or(&tree);
        std::fs::create_dir_all(folder).map_err(failed(folder))?;
        std::fs::write(&to, bytes).map_err(failed(&to))?;
    }
    let list = tree.join("target-files");
    let before = std::fs::read_to_string(&list).unwrap_or_default();
    for gone in before.lines().filter(|name| !wanted.contains(*name)) {
        let _ = std::fs::remove_file(tree.join(gone));
    }
    let now: Vec<&str> = wanted.iter().map(String::as_str).collect();
    std::fs::write(&list, now.join("\n")).map_err(failed(&list))?;
    Ok(tree)
}

/// What git keeps or would keep.
fn files(root: &Path) -> Result<BTreeSet<String>, String> {
    let mut command = Command::new("git");
    command.args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(root);
    let output = command.output().map_err(|error| format!("git: {error}"))?;
    if !output.status.success() {
        return Err(format!("git ls-files: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_string).collect())
}

/// Calls the engine in the copy, and gives what it prints.
fn mutants(tree: &Path, room: &str, arguments: &[&str]) -> Result<String, String> {
    let mut command = engine(tree, room);
    let output = command.args(arguments).output().map_err(|error| format!("cargo mutants: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo mutants: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn engine(tree: &Path, room: &str) -> Command {
    let mut command = Command::new("cargo");
    command.args([
        "mutants",
        "--no-config",
        "--line-col",
        "true",
        "--package",
        &format!("tanglewood-{room}"),
    ]);
    for excluded in EXCLUDED {
        command.args(["--exclude-re", excluded]);
    }
    command.current_dir(tree);
    command
}

/// What became of the mutants of a room.
#[derive(Default)]
struct Outcome {
    caught: usize,
    timeout: usize,
    unviable: usize,
    missed: Vec<Drawn>,
}

impl Outcome {
    fn viable(&self) -> usize {
        self.caught + self.timeout + self.missed.len()
    }
    fn is_good(&self) -> bool {
        (self.caught + self.timeout) * 100 >= self.viable() * CAUGHT_PERCENT_MIN
    }
    fn summary(&self) -> String {
        let held = self.caught + self.timeout;
        let percent = (held * 100).checked_div(self.viable()).unwrap_or(100);
        format!(
            "{} caught, {} timeouts, {} missed, {} do not build: {percent} % of {}",
            self.caught,
            self.timeout,
            self.missed.len(),
            self.unviable,
            self.viable()
        )
    }
    fn add(&mut self, other: Outcome) {
        self.caught += other.caught;
        self.timeout += other.timeout;
        self.unviable += other.unviable;
        self.missed.extend(other.missed);
    }
}

/// Runs the room's own tests, of its library and its folder `tests`, against each of these.
fn try_room(root: &Path, tree: &Path, room: &str, names: &[&str]) -> Result<Outcome, String> {
    let out = root.join("target/mutants").join(room);
    let _ = std::fs::remove_dir_all(&out);
    std::fs::create_dir_all(&out).map_err(|error| format!("{}: {error}", out.display()))?;
    let mut command = engine(tree, room);
    command.args(["--in-place", "--baseline", "run", "--caught", "--unviable"]);
    command.args(["--timeout-multiplier", TIMEOUT_MULTIPLIER, "--minimum-test-timeout", TIMEOUT_SECONDS_MIN]);
    command.arg("--output").arg(&out);
    names.iter().for_each(|name| {
        command.args(["--re", &format!("^{}$", escaped(name))]);
    });
    // What other packages need is built already for the tree itself.
    command.args(["--", "--tests"]).env("CARGO_TARGET_DIR", root.join("target"));
    command.status().map_err(|error| format!("cargo mutants: {error}"))?;
    // The engine tries left-out fields of struct expressions whatever the patterns say; what was not drawn does not count.
    let lines = |name: &str| -> Vec<String> {
        let text = std::fs::read_to_string(out.join("mutants.out").join(name)).unwrap_or_default();
        text.lines().filter(|line| names.contains(line)).map(str::to_string).collect()
    };
    let outcome = Outcome {
        caught: lines("caught.txt").len(),
        timeout: lines("timeout.txt").len(),
        unviable: lines("unviable.txt").len(),
        missed: lines("missed.txt").into_iter().map(|name| (room.to_string(), name)).collect(),
    };
    match outcome.viable() + outcome.unviable {
        tried if tried == names.len() => Ok(outcome),
        tried => Err(format!("{room}: {tried} of {} mutants were tried; do its tests pass?", names.len())),
    }
}

/// Every mutant that nobody noticed, as a difference of its file.
fn survivors(tree: &Path, missed: &[Drawn]) {
    for (room, name) in missed {
        let shown = mutants(tree, room, &["--list", "--diff", "--re", &format!("^{}$", escaped(name))]);
        println!(
            "\nsurvived: {name}\n{}",
            shown.map_or_else(|fault| fault, |shown| difference(&shown, name))
        );
    }
}

/// The changed lines of the mutant of this name, out of what the engine lists: it lists others beside it.
fn difference(listed: &str, name: &str) -> String {
    let own = listed.lines().skip_while(|line| *line != name).skip(1);
    let own = own.take_while(|line| line.starts_with([' ', '+', '-', '@']) || line.is_empty());
    let changed = own
        .filter(|line| line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---"));
    changed.collect::<Vec<_>>().join("\n")
}

/// A text as a pattern that matches it alone.
fn escaped(text: &str) -> String {
    let plain = |letter: char| letter.is_alphanumeric() || !letter.is_ascii() || "<>_ ".contains(letter);
    text.chars().fold(String::new(), |mut pattern, letter| {
        if !plain(letter) {
            pattern.push('\\');
        }
        pattern.push(letter);
        pattern
    })
}

#[test]
fn a_larger_sample_contains_a_smaller_one() {
    let all = || (0..100).map(|n| ("room".to_string(), format!("file.rs:{n}"))).collect::<Vec<Drawn>>();
    let of = |sample, seed| draw(all(), &Options { sample, seed, rooms: Vec::new(), list: false });
    let (few, many) = (of(10, 7), of(30, 7));
    assert!(few.len() == 10 && few.iter().all(|one| many.contains(one)));
    assert_ne!(few, of(10, 8));
}

#[test]
fn names_are_matched_literally() {
    assert_eq!(
        escaped("a/b.rs:1:2: replace + with -> in <A>"),
        "a\\/b\\.rs\\:1\\:2\\: replace \\+ with \\-> in <A>"
    );
}
