//! Concepts that are merged while others read: `cargo run --release -p tanglewood-applications-examples --example knowledge -- [DATA] [--out FOLDER] [--page PAGE.md]`.
//!
//! DATA is the folder of packed data sets, or one with WordNet as `synsets.csv` and `relations.csv`. Without it, a small knowledge is drawn. What the
//! rules say is held against a search through the relations, before the merges, and behind them with all that was told meanwhile.
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use applications::Told;
use applications::command::{Arguments, Over, lines, since, timed, told};
use applications::findings::Findings;
use applications::knowledge::{Knowledge, PartChange, RELATIONS};
use applications::search;
use applications::times::{Times, times_chart};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;
use world::chance::Chance;
use world::clock::monotonic_ns;
use world::files::{self, TemporaryFolder};
use world::threads::in_parallel;

/// Merges that are measured.
const MERGES: usize = 200;
/// Concepts that are drawn.
const DRAWN: u64 = 2_000;
const SEED: u64 = 4;
/// Nothing more is to come of a merge once nothing came for so long. What comes later is not among the times.
const PATIENCE: Duration = Duration::from_millis(20);
/// The answer of the rules is complete once nothing came for so long.
const SILENCE: Duration = Duration::from_secs(1);

/// By thing and part, how many times it was told.
type Parts = HashMap<(String, String), i64>;

/// What the merging client did.
#[derive(Default)]
struct Merged {
    merges: Times,
    alerts: Times,
    questions: Times,
    /// Which concept stayed, by the one that went into it.
    stays: HashMap<String, String>,
    changes: Vec<PartChange>,
}

/// As the server has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), String> {
    let arguments = Arguments::read()?;
    let folder = TemporaryFolder::new("knowledge").map_err(|error| error.to_string())?;
    let found = arguments.folder("wordnet30", "wordnet")?;
    let about = if found.is_some() { "WordNet 3.0" } else { "a knowledge that is drawn" };
    let files = found.map_or_else(|| drawn(folder.path()), Ok)?;
    let ids = ids(&files)?;
    let relations = lines(&files.join("relations.csv"), 1)?;
    let mut findings = Findings::begin("knowledge", about, SEED);
    let mut knowledge = Knowledge::open(None, Some(files)).map_err(|error| told(&error))?;
    let ((), took) = timed(|| knowledge.load())?;
    let ([concepts, words], _) = timed(|| knowledge.counts())?;
    let (between, _) = timed(|| knowledge.relations())?;
    findings.count("concepts", concepts as usize);
    findings.count("words", words as usize);
    findings.count("relationships", between as usize);
    findings.time("loaded", took);
    if concepts as usize != ids.len() {
        return Err(format!("{concepts} concepts were loaded of {}", ids.len()));
    }
    let begin_ns = monotonic_ns();
    let ((), _) = timed(|| knowledge.keep_rules())?;
    let mut changes = knowledge.watch(true).map_err(|error| told(&error))?;
    let mut parts = Parts::new();
    let all = rest(&mut changes, SILENCE)?;
    findings
        .time("what follows by the rules, told for the first time", since(begin_ns).saturating_sub(SILENCE));
    all.into_iter().for_each(|change| add(&mut parts, change));
    compare(&parts, &relations, &HashMap::new())?;
    findings.count("parts of things that follow", parts.len());
    findings.check(format!("all {} parts, beside a search through the relations", parts.len()));
    let (merged, reads) = at_once(&knowledge, changes, &ids, words)?;
    merged.changes.into_iter().for_each(|change| add(&mut parts, change));
    parts.retain(|_, count| *count != 0);
    compare(&parts, &relations, &merged.stays)?;
    findings.times("a merge, while somebody reads all words", &merged.merges);
    findings
        .times(&format!("from its commit until what follows is told, within {PATIENCE:?}"), &merged.alerts);
    findings.times("all parts of a thing, asked anew", &merged.questions);
    findings.times("a look at all words", &reads);
    findings
        .check(format!("all {words} words were there at each of {} looks between the merges", reads.len()));
    findings.check(format!(
        "behind {} merges, all that was told adds up to the {} parts of a search",
        merged.merges.len(),
        parts.len()
    ));
    findings.chart(times_chart(
        "Concepts are merged while others read",
        &[
            ("a merge", &merged.merges),
            ("until what follows is told", &merged.alerts),
            ("parts of a thing, asked anew", &merged.questions),
        ],
    ));
    findings.end(&arguments)
}

fn ids(files: &Path) -> Result<Vec<String>, String> {
    let all = lines(&files.join("synsets.csv"), 1)?;
    // A gloss may have lines of its own; ids are short.
    let id = |line: &String| line.split(',').next().filter(|id| id.len() < 12).map(str::to_string);
    Ok(all.iter().filter_map(id).collect())
}

fn add(parts: &mut Parts, change: PartChange) {
    *parts.entry((change.thing, change.part)).or_default() += change.difference;
}

/// All that comes until nothing came for so long.
fn rest(changes: &mut Told<PartChange>, silence: Duration) -> Result<Vec<PartChange>, String> {
    let mut all = Vec::new();
    loop {
        let found = changes.next(silence).map_err(|error| told(&error))?;
        if found.is_empty() {
            return Ok(all);
        }
        all.extend(found);
    }
}

/// Holds what was told against a search, where some concepts went into others.
fn compare(parts: &Parts, relations: &[String], stays: &HashMap<String, String>) -> Result<(), String> {
    let merged = |id: &str| {
        let mut id = id.to_string();
        while let Some(into) = stays.get(&id) {
            id.clone_from(into);
        }
        id
    };
    let mut pairs = [BTreeSet::new(), BTreeSet::new()];
    for line in relations {
        let mut words = line.split(',');
        let [Some(from), Some(kind), Some(to)] = [(); 3].map(|()| words.next()) else { continue };
        let place = match RELATIONS.iter().find(|(name, _)| *name == kind) {
            Some((_, "IS_A" | "INSTANCE_OF")) => 0,
            Some((_, "HAS_PART")) => 1,
            _ => continue,
        };
        let (one, other) = (merged(from), merged(to));
        // What lay between two that are one now is gone.
        if one != other || from == to {
            pairs[place].insert((one, other));
        }
    }
    let [is_a, has] =
        pairs.each_ref().map(|set| set.iter().map(|(a, b)| (a.as_str(), b.as_str())).collect::<Vec<_>>());
    let wanted = search::parts(&is_a, &has);
    let is_known =
        |(thing, part): &(&str, &str)| parts.get(&(thing.to_string(), part.to_string())) == Some(&1);
    let known = parts.values().filter(|count| **count != 0).count();
    match wanted.iter().find(|pair| !is_known(pair)) {
        Some((thing, part)) => Err(format!("{thing} has {part}, and that was not told once")),
        None if known != wanted.len() => {
            Err(format!("{known} parts were told, a search finds {}", wanted.len()))
        }
        None => Ok(()),
    }
}

/// One client merges, another one reads.
fn at_once(
    knowledge: &Knowledge,
    changes: Told<PartChange>,
    ids: &[String],
    words: i64,
) -> Result<(Merged, Times), String> {
    let (is_over, changes) = (AtomicBool::new(false), Mutex::new(changes));
    let done = in_parallel("knowledge", 2, |number| {
        let mut own = knowledge.share();
        if number == 1 {
            let times = read(&mut own, words, &is_over)?;
            return Ok((Merged::default(), times));
        }
        let _over = Over(&is_over);
        let mut changes = changes.lock().map_err(|_| "another client failed")?;
        Ok((merge(&mut own, &mut changes, ids)?, Times::default()))
    });
    let done = done.into_iter().collect::<Result<Vec<(Merged, Times)>, String>>()?;
    match <[(Merged, Times); 2]>::try_from(done) {
        Ok([(merged, _), (_, reads)]) => Ok((merged, reads)),
        Err(_) => Err("two clients were started".into()),
    }
}

/// Merges concepts that are drawn: times of the merges, of their consequences, and of questions between them.
fn merge(
    knowledge: &mut Knowledge,
    changes: &mut Told<PartChange>,
    ids: &[String],
) -> Result<Merged, String> {
    let mut chance = Chance::seeded(SEED);
    let mut merged = Merged::default();
    for _ in 0..MERGES {
        let [stays, gone] = [(); 2].map(|()| ids[chance.index(ids.len())].clone());
        let (is_merged, took) = timed(|| knowledge.merge(&stays, &gone))?;
        if !is_merged {
            continue;
        }
        merged.merges.push(took);
        merged.stays.insert(gone, stays.clone());
        let begin_ns = monotonic_ns();
        let found = changes.next(PATIENCE).map_err(|error| told(&error))?;
        if !found.is_empty() {
            merged.alerts.push(since(begin_ns));
        }
        merged.changes.extend(found);
        let (_, took) = timed(|| knowledge.parts(&stays))?;
        merged.questions.push(took);
        // The rest of a large change, or one that came late.
        merged.changes.extend(rest(changes, PATIENCE)?);
    }
    merged.changes.extend(rest(changes, SILENCE)?);
    Ok(merged)
}

/// Looks at all words again and again: no merge may lose one.
fn read(knowledge: &mut Knowledge, words: i64, is_over: &AtomicBool) -> Result<Times, String> {
    let mut times = Times::default();
    while !is_over.load(SeqCst) || times.is_empty() {
        let ([_, now], took) = timed(|| knowledge.counts())?;
        times.push(took);
        if now != words {
            return Err(format!("{now} words of {words} were there"));
        }
    }
    Ok(times)
}

fn drawn(folder: &Path) -> Result<PathBuf, String> {
    let mut chance = Chance::seeded(SEED);
    let mut synsets = "id,pos,lexfile,words,gloss\n".to_string();
    let mut relations = "from,type,to,from_word,to_word\n".to_string();
    for at in 0..DRAWN {
        synsets += &format!("c{at},n,03,word{at}|other{},the gloss of {at}\n", chance.below(DRAWN));
        let above = chance.below(at.max(1)) * chance.below(at.max(1)) / at.max(1);
        if at > 0 {
            relations += &format!("c{at},hypernym,c{above},0,0\n");
        }
        if chance.below(4) == 0 {
            relations += &format!("c{at},part_meronym,c{},0,0\n", chance.below(DRAWN));
        }
    }
    for (file, text) in [("synsets.csv", synsets), ("relations.csv", relations)] {
        files::write_bytes(&folder.join(file), text.as_bytes()).map_err(|error| error.to_string())?;
    }
    Ok(folder.to_path_buf())
}
