//! Lengths of shortest paths from some sources to all vertices, on one executor and on two, beside the bare search and other engines.

use super::ours::{self, LENGTHS, Ours};
use super::subject::Subject;
use crate::peers::RECURSIVE;
use crate::report::Report;
use crate::timing::{Samples, shown_ms, timed};
use serde_json::json;
use world::chance::Chance;
use world::files;

/// Numbers of sources of one query.
pub const SOURCES: [usize; 5] = [1, 8, 64, 128, 256];
/// The seed that draws the sources.
const SOURCES_SEED: u64 = 9;
/// The least degree of a source, so that there is something to search.
const DEGREE_MIN: usize = 2;
/// Calls that count, of each question; there are five questions about one source.
const ROUNDS: usize = 5;
const QUESTIONS_OF_ONE: usize = 5;
/// Whole stack against the bare search, both on one thread.
const OF_BARE_MAX: f64 = 1.3;
/// The least speedup of two executors, from that many sources on.
const SPEEDUP_MIN: f64 = 1.85;
const SPEEDUP_SOURCES_MIN: usize = 8;
/// The policy of one search per source is measured by name up to this many sources: beyond it lanes are many times as fast.
const NAMED_SOURCES_MAX: usize = 64;
const NAMED: &str = "nTkS(2)";
/// Against other engines.
const PEER_TIMES_MIN: f64 = 10.0;

/// Sources of one query, and the right answer.
pub struct Question {
    /// Where paths begin.
    pub sources: Vec<u32>,
    /// Ends, and the sum of their distances.
    pub right: (i64, i64),
    /// The same where a path never comes back to its source.
    pub without_sources: (i64, i64),
    /// Time of the bare search, one source after the other.
    pub bare_ms: f64,
}

/// Questions with this many sources.
pub fn questions(subject: &Subject, count: usize) -> Vec<Question> {
    let bare = subject.bare();
    let mut chance = Chance::seeded(SOURCES_SEED);
    let repeats = if count == 1 { QUESTIONS_OF_ONE } else { 1 };
    let mut draw = || loop {
        let vertex = chance.below(u64::from(subject.vertices)) as u32;
        if bare.degree(vertex) >= DEGREE_MIN {
            return vertex;
        }
    };
    let mut one = |_| {
        let mut sources = std::collections::BTreeSet::new();
        while sources.len() < count {
            sources.insert(draw());
        }
        let sources: Vec<u32> = sources.into_iter().collect();
        let search = || sources.iter().map(|source| bare.search(*source)).collect::<Vec<_>>();
        let answers = search();
        let summed = |with_source: bool| {
            let each = answers.iter().map(|lengths| lengths.summed(with_source));
            each.fold((0, 0), |all, one| (all.0 + one.0, all.1 + one.1))
        };
        let (right, without_sources) = (summed(true), summed(false));
        let mut best = f64::MAX;
        for _ in 0..if count == 1 { ROUNDS } else { 1 } {
            best = best.min(timed(search).1);
        }
        Question { sources, right, without_sources, bare_ms: best }
    };
    (0..repeats).map(&mut one).collect()
}

/// Median over all questions.
///
/// # Errors
/// A wrong answer.
pub fn measure(ours: &Ours, text: &str, questions: &[Question]) -> Result<f64, String> {
    let (mut samples, mut session) = (Samples::default(), ours.session());
    for round in 0..=ROUNDS {
        for question in questions {
            let time_ms = ours::lengths(&mut session, text, &question.sources, question.right)?;
            if round > 0 {
                samples.push(time_ms);
            }
        }
    }
    Ok(samples.median_ms())
}

/// All figures of one graph.
///
/// # Errors
/// It could not be loaded.
pub fn run(subject: &Subject, report: &mut Report) -> Result<Ours, String> {
    let cores = world::machine::Machine::here().cores;
    let mut ours = Ours::load(subject)?.with_executors(1)?;
    let asked: Vec<Vec<Question>> = SOURCES.iter().map(|count| questions(subject, *count)).collect();
    let chosen = |ours: &Ours| -> Vec<Result<f64, String>> {
        asked.iter().map(|questions| measure(ours, LENGTHS, questions)).collect()
    };
    let (alone, alone_named) = (chosen(&ours), named(&ours, &asked));
    ours = ours.with_executors(cores)?;
    let (together, together_named) = (chosen(&ours), named(&ours, &asked));
    let mut one_ms = f64::NAN;
    for ((questions, count), (alone, together)) in asked.iter().zip(SOURCES).zip(alone.iter().zip(&together))
    {
        let name = format!("{}, {count} source{}", subject.name, if count == 1 { "" } else { "s" });
        let (alone_ms, together_ms) = match (alone, together) {
            (Ok(alone), Ok(together)) => (*alone, *together),
            (Err(fault), _) | (_, Err(fault)) => {
                report.figure(&name, "wrong", "right", false);
                report.note(fault);
                continue;
            }
        };
        let bare_ms = questions.iter().map(|question| question.bare_ms).sum::<f64>() / questions.len() as f64;
        let times = alone_ms / bare_ms;
        report.figure(
            &name,
            &format!("{}, {times:.2} of bare", shown_ms(alone_ms)),
            &format!("at most {OF_BARE_MAX} of bare ({})", shown_ms(bare_ms)),
            times <= OF_BARE_MAX,
        );
        let speedup = alone_ms / together_ms;
        let measured = format!("{}, {speedup:.2} times as fast", shown_ms(together_ms));
        if count >= SPEEDUP_SOURCES_MIN {
            let target = format!("{SPEEDUP_MIN} times on {cores} executors");
            report.figure(
                &format!("  {cores} executors, chosen"),
                &measured,
                &target,
                speedup >= SPEEDUP_MIN,
            );
            let at = asked.iter().position(|other| std::ptr::eq(other, questions)).unwrap_or(usize::MAX);
            if let (Some(Ok(alone_ms)), Some(Ok(together_ms))) = (alone_named.get(at), together_named.get(at))
            {
                let speedup = alone_ms / together_ms;
                let measured = format!("{}, {speedup:.2} times as fast", shown_ms(*together_ms));
                report.figure(
                    &format!("  {cores} executors, {NAMED}"),
                    &measured,
                    &target,
                    speedup >= SPEEDUP_MIN,
                );
            }
        } else {
            report.note(format!("  {cores} executors: {measured}"));
            one_ms = together_ms.min(alone_ms);
        }
    }
    peers(subject, &ours, &asked[0], one_ms, report)?;
    Ok(ours)
}

/// The same by name, for as many sources as that is worth it.
fn named(ours: &Ours, asked: &[Vec<Question>]) -> Vec<Result<f64, String>> {
    let text = format!("CYPHER recursive = `{NAMED}` {LENGTHS}");
    let few = asked.iter().zip(SOURCES).filter(|(_, count)| *count <= NAMED_SOURCES_MAX);
    few.map(|(questions, _)| measure(ours, &text, questions)).collect()
}

fn peers(
    subject: &Subject,
    ours: &Ours,
    questions: &[Question],
    ours_ms: f64,
    report: &mut Report,
) -> Result<(), String> {
    // A source that a cycle leads through is an end to some engines and none to others.
    let question = |question: &Question| {
        let (with, without) = (question.right, question.without_sources);
        json!({ "sources": question.sources, "answers": [[with.0, with.1], [without.0, without.1]] })
    };
    let asked = json!({
        "vertices": subject.vertices,
        "threads": world::machine::Machine::here().cores,
        "questions": { "one": questions.iter().map(question).collect::<Vec<_>>() },
    });
    files::write_bytes(&ours.folder().join("questions.json"), asked.to_string().as_bytes())
        .map_err(|error| error.to_string())?;
    for peer in RECURSIVE {
        if !report.choice.takes(peer.name, peer.package) {
            continue;
        }
        match peer.run(ours.folder(), &[]) {
            Ok(answer) => match answer["figures"]["one"].as_f64() {
                Some(peer_ms) => report.figure(
                    &format!("  beside {} {}", peer.name, answer["version"].as_str().unwrap_or("?")),
                    &format!("{:.1} times as fast", peer_ms / ours_ms),
                    &format!("at least {PEER_TIMES_MIN} times ({})", shown_ms(peer_ms)),
                    peer_ms / ours_ms >= PEER_TIMES_MIN,
                ),
                None => report.skipped(peer.name, "it has no right answer"),
            },
            Err(why) => report.skipped(peer.name, &why),
        }
    }
    Ok(())
}
