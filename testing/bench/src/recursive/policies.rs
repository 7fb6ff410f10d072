//! Every policy beside the engine's own choice, cell by cell.

use super::lengths::{Question, SOURCES, measure, questions};
use super::ours::{LENGTHS, Ours};
use super::subject::Subject;
use crate::report::Report;
use crate::timing::shown_ms;

/// The policies that are set by name.
const POLICIES: [&str; 5] = ["1T1S", "nT1S", "nTkS(2)", "nTkMS(1)", "nTkMS(2)"];
/// The chosen policy may take this many times as long as the best of them.
const OF_BEST_MAX: f64 = 1.1;
/// Many threads and some sources may take this many times as long as the better of one thread per source and all threads on one.
const OF_PLAIN_MAX: f64 = 1.05;
/// Lanes, when all are full, beside the same sources one by one.
const LANES_TIMES_MIN: f64 = 4.0;
const LANES_SOURCES_MIN: usize = 64;

/// One line for each number of sources.
///
/// # Errors
/// A wrong answer.
pub fn run(subject: &Subject, ours: &Ours, report: &mut Report) -> Result<(), String> {
    report.note("policies by name beside the one that is chosen");
    for count in SOURCES {
        let asked: Vec<Question> = questions(subject, count);
        let by_name = |policy: &&'static str| {
            let text = format!("CYPHER recursive = `{policy}` {LENGTHS}");
            Ok::<_, String>((measure(ours, &text, &asked)?, *policy))
        };
        let times = POLICIES.iter().map(by_name).collect::<Result<Vec<_>, _>>()?;
        let chosen_ms = measure(ours, LENGTHS, &asked)?;
        let (best_ms, best) =
            times.iter().min_by(|a, b| a.0.total_cmp(&b.0)).copied().unwrap_or((f64::NAN, ""));
        report.figure(
            &format!("{}, {count} sources, chosen", subject.name),
            &shown_ms(chosen_ms),
            &format!("at most {OF_BEST_MAX} of {best} ({})", shown_ms(best_ms)),
            chosen_ms <= best_ms * OF_BEST_MAX,
        );
        let time_of =
            |name: &str| times.iter().find(|(_, policy)| *policy == name).map_or(f64::NAN, |(time, _)| *time);
        let plain_ms = time_of("1T1S").min(time_of("nT1S"));
        report.figure(
            "  nTkS(2)",
            &shown_ms(time_of("nTkS(2)")),
            &format!("at most {OF_PLAIN_MAX} of 1T1S and nT1S ({})", shown_ms(plain_ms)),
            time_of("nTkS(2)") <= plain_ms * OF_PLAIN_MAX,
        );
        if count >= LANES_SOURCES_MIN {
            let lanes_ms = time_of("nTkMS(1)").min(time_of("nTkMS(2)"));
            let faster = time_of("nTkS(2)") / lanes_ms;
            report.figure(
                "  nTkMS over nTkS",
                &format!("{faster:.1} times as fast"),
                &format!("at least {LANES_TIMES_MIN} times"),
                faster >= LANES_TIMES_MIN,
            );
        }
        let all: Vec<String> =
            times.iter().map(|(time, policy)| format!("{policy} {}", shown_ms(*time))).collect();
        report.note(format!("  {}", all.join(", ")));
    }
    Ok(())
}
