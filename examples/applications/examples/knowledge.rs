//! Concepts that are merged while others read: `cargo run --release -p tanglewood-applications-examples --example knowledge -- [FOLDER] [--picture FILE.svg]`.
//!
//! The folder holds WordNet as `synsets.csv` and `relations.csv`. Without one, a small knowledge is drawn.
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use applications::command::{Arguments, Over, Times, below, timed, times_chart, told};
use applications::knowledge::Knowledge;
use std::path::{Path, PathBuf};
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
/// A merge counts as done when nothing was delivered for this long. Later changes are not among the times.
const PATIENCE: Duration = Duration::from_millis(20);

fn main() -> Result<(), String> {
    let arguments = Arguments::read()?;
    let folder = TemporaryFolder::new("knowledge").map_err(|error| error.to_string())?;
    let files = match &arguments.data {
        Some(data) => below(data, "wordnet"),
        None => drawn(folder.path())?,
    };
    let ids: Vec<String> = files::read_text(&files.join("synsets.csv"))
        .map_err(|error| error.to_string())?
        .lines()
        .skip(1)
        .filter_map(|line| line.split(',').next().filter(|id| id.len() < 12).map(String::from))
        .collect();
    let mut knowledge = Knowledge::open(None, Some(files)).map_err(|error| told(&error))?;
    let ((), took) = timed(|| knowledge.load())?;
    let ([concepts, words], _) = timed(|| knowledge.counts())?;
    let (relations, _) = timed(|| knowledge.relations())?;
    println!("{concepts} concepts with {words} words and {relations} relationships, loaded in {took:.1?}");
    let ((), took) = timed(|| knowledge.keep_rules())?;
    let mut changes = knowledge.watch(true).map_err(|error| told(&error))?;
    let mut known = 0;
    loop {
        let found = changes.next(Duration::from_secs(1)).map_err(|error| told(&error))?;
        if found.is_empty() {
            break;
        }
        known += found.len();
    }
    println!("{known} parts of things follow, first answered in {took:.1?}");
    let is_over = AtomicBool::new(false);
    let done = in_parallel("knowledge", 2, |number| {
        let mut own = knowledge.share();
        if number == 1 {
            return read(&mut own, words, &is_over).map(|times| vec![times]);
        }
        let _over = Over(&is_over);
        merge(&mut own, &mut changes_of(&knowledge)?, &ids)
    });
    let mut done = done.into_iter().collect::<Result<Vec<_>, String>>()?.into_iter().flatten();
    let [merges, alerts, questions, reads] = [(); 4].map(|()| done.next().unwrap_or_default());
    println!("a merge, while somebody reads all words: {}", merges.told());
    println!(
        "from its commit until what follows is told, where something is within {PATIENCE:?}: {}",
        alerts.told()
    );
    println!("all parts of a thing, asked anew: {}", questions.told());
    println!("all {words} words were there at each of {} looks, each {}", reads.len(), reads.told());
    arguments.draw(&times_chart(
        "A knowledge graph: merges while somebody reads",
        &[
            ("a merge", &merges),
            ("from there until told", &alerts),
            ("parts of a thing, asked anew", &questions),
        ],
    ))
}

fn changes_of(
    knowledge: &Knowledge,
) -> Result<applications::Told<applications::knowledge::PartChange>, String> {
    knowledge.watch(false).map_err(|error| told(&error))
}

/// Merges concepts that are drawn: times of the merges, of their consequences, and of questions between them.
fn merge(
    knowledge: &mut Knowledge,
    changes: &mut applications::Told<applications::knowledge::PartChange>,
    ids: &[String],
) -> Result<Vec<Times>, String> {
    let mut chance = Chance::seeded(4);
    let [mut merges, mut alerts, mut questions] = [(); 3].map(|()| Times::default());
    for _ in 0..MERGES {
        let [stays, gone] = [(); 2].map(|()| ids[chance.index(ids.len())].clone());
        let (is_merged, took) = timed(|| knowledge.merge(&stays, &gone))?;
        if is_merged {
            merges.push(took);
        }
        let begin_ns = monotonic_ns();
        if !changes.next(PATIENCE).map_err(|error| told(&error))?.is_empty() {
            alerts.push(Duration::from_nanos(monotonic_ns() - begin_ns));
        }
        let (_, took) = timed(|| knowledge.parts(&stays))?;
        questions.push(took);
        // The rest of a large change, or one that came late.
        while !changes.next(PATIENCE).map_err(|error| told(&error))?.is_empty() {}
    }
    Ok(vec![merges, alerts, questions])
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
    let mut chance = Chance::seeded(8);
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
