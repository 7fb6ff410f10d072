//! How good are the tests? Changes the code of a crate in many small ways, and runs the crate's own tests against each.
//!
//! ```text
//!   find: every change of every file ─ draw: a sample by seed ─ write: all of a crate behind switches ─ one build ─ a run of the tests for each
//! ```
//!
//! Idea: what costs is building, so a crate is built once with its whole sample in it, in a copy of the tree below `target/mutants`, and each
//! run turns one change on, for those tests alone that come to it. What does not build behind a switch is tried
//! by itself. Changes that make the same program are listed in `same.txt`.
#![cfg_attr(not(test), deny(clippy::unwrap_used))]
#![allow(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "a developer's tool, outside the product"
)]

mod find;
mod package;
mod run;
mod same;
mod values;
mod write;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;

/// Layers whose crates are drawn from.
const LAYERS: [&str; 3] = ["storage", "language", "engine"];
/// Changes where not said.
const SAMPLE: usize = 20;
/// Of a hundred changes that build, at least this many must be caught.
const CAUGHT_PERCENT_MIN: usize = 95;

const USAGE: &str = "\
cargo xtask mutants [--sample N] [--seed S] [--package R]... [--list]

  --sample N   changes drawn over all crates that are asked (20)
  --seed S     another seed draws others (1)
  --crate R       only this crate; may be given several times
  --list       prints the sample, and runs nothing
";

struct Options {
    sample: usize,
    seed: u64,
    crates: Vec<String>,
    list: bool,
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome =
        options(&words).map_err(|fault| format!("{fault}\n{USAGE}")).and_then(|options| sample(&options));
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(fault) => {
            eprintln!("{fault}");
            ExitCode::FAILURE
        }
    }
}

fn options(words: &[String]) -> Result<Options, String> {
    let mut options = Options { sample: SAMPLE, seed: 1, crates: Vec::new(), list: false };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or_else(|| format!("{word} wants a value"));
        match word.as_str() {
            "--sample" => options.sample = value()?.parse().map_err(|error| format!("--sample: {error}"))?,
            "--seed" => options.seed = value()?.parse().map_err(|error| format!("--seed: {error}"))?,
            "--crate" => options.crates.push(value()?.to_string()),
            "--list" => options.list = true,
            other => return Err(format!("{other} is not known")),
        }
    }
    Ok(options)
}

fn sample(options: &Options) -> Result<bool, String> {
    let root = root()?;
    let crates = crates(&root, &options.crates)?;
    let tree = package::copy(&root)?;
    let mut all = Vec::new();
    for (name, layer) in &crates {
        all.extend(package::mutants(&tree, layer, name)?.into_iter().map(|mutant| (name.clone(), mutant)));
    }
    let there = all.len();
    all.sort_by_cached_key(|(_, mutant)| rank(options.seed, &mutant.name));
    all.truncate(options.sample);
    println!("{} of {there} changes of {} crates, seed {}", all.len(), crates.len(), options.seed);
    let mut by_crate: BTreeMap<&str, Vec<&find::Mutant>> = BTreeMap::new();
    all.iter().for_each(|(package, mutant)| by_crate.entry(package).or_default().push(mutant));
    by_crate.values_mut().for_each(|mutants| mutants.sort_by(|one, other| one.name.cmp(&other.name)));
    if options.list {
        by_crate.values().flatten().for_each(|mutant| println!("{}", mutant.name));
        return Ok(true);
    }
    let same = same::read()?;
    let mut total = run::Outcome::default();
    for (name, mut mutants) in by_crate {
        let drawn = mutants.len();
        mutants.retain(|mutant| !same.iter().any(|entry| entry.is(mutant)));
        let mut outcome = match mutants.is_empty() {
            true => run::Outcome::default(),
            false => run::try_crate(&tree, &crates[name], name, &mutants)?,
        };
        outcome.same = drawn - mutants.len();
        outcome.survivors.iter().for_each(|survivor| println!("{survivor}"));
        println!("{name}: {}", outcome.summary());
        total.add(outcome);
    }
    println!("all: {}", total.summary());
    Ok(total.is_at_least(CAUGHT_PERCENT_MIN))
}

/// The folder of the workspace.
fn root() -> Result<PathBuf, String> {
    let own = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).map(PathBuf::from).ok_or_else(|| "no workspace".to_string())
}

/// The named crates, or all, with their layers.
fn crates(root: &std::path::Path, asked: &[String]) -> Result<BTreeMap<String, String>, String> {
    let mut all = BTreeMap::new();
    for layer in LAYERS {
        let entries = std::fs::read_dir(root.join(layer)).map_err(|error| format!("{layer}: {error}"))?;
        let is_crate = |entry: &std::fs::DirEntry| entry.path().join("Cargo.toml").exists();
        for entry in entries.flatten().filter(is_crate) {
            all.insert(entry.file_name().to_string_lossy().into_owned(), layer.to_string());
        }
    }
    match asked.iter().find(|package| !all.contains_key(*package)) {
        Some(unknown) => Err(format!(
            "{unknown} is no crate of {}: {}",
            LAYERS.join(", "),
            all.into_keys().collect::<Vec<_>>().join(", ")
        )),
        None => {
            Ok(all.into_iter().filter(|(package, _)| asked.is_empty() || asked.contains(package)).collect())
        }
    }
}

/// Those whose names rank lowest under the seed are the sample, so that a larger one contains a smaller one.
fn rank(seed: u64, name: &str) -> u64 {
    name.bytes().fold(mixed(seed), |hash, byte| mixed(hash ^ u64::from(byte)))
}

/// SplitMix64's finalizer.
fn mixed(seed: u64) -> u64 {
    let mut bits = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
