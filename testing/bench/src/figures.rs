//! `bench figures`: the tables and figures of the papers at this machine's scale, as one page and as numbers.
//!
//! Each figure is a part of a bench that verifies its answers; here stands what the paper says of it, what was scaled, and what it should show. A bench
//! draws curves where it has them; all its figures are in a table. Where a bench cannot run here, the page says why.

mod list;
mod page;

use crate::report::{Line, Report};
use crate::timing::shown_ms;
use crate::{BENCHES, Choice};
use experiment::Setup;
use list::{FIGURES, PaperFigure};
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use world::files;

/// Which figures to draw, and the output folder.
#[derive(Clone, Debug, Default)]
pub struct FigureOptions {
    /// Names of figures, or of papers; all where it is empty.
    pub only: Vec<String>,
    /// Where the page and the numbers go.
    pub out: PathBuf,
    /// Only the parts that take little time: all together within ten minutes.
    pub is_quick: bool,
}

/// No other engines: these figures are ours alone.
const PEERS: &str = "none";
/// Names in a sentence, at most.
const NAMES_MAX: usize = 3;

/// A figure that was measured.
struct Measured {
    figure: &'static PaperFigure,
    /// Parts of the bench that were run.
    parts: &'static [&'static str],
    lines: Vec<Line>,
    /// Why it could not be measured to its end.
    failure: Option<String>,
    took_ms: f64,
}

impl Measured {
    /// Figures that reached their target, and all of them.
    fn verdicts(&self) -> (usize, usize) {
        let verdicts = self.lines.iter().filter_map(|line| match line {
            Line::Figure { reached, .. } => Some(*reached),
            _ => None,
        });
        verdicts.fold((0, 0), |(reached, all), is_reached| (reached + usize::from(is_reached), all + 1))
    }
    /// Names of the figures that reached their target.
    fn reached(&self) -> Vec<String> {
        let names = self.lines.iter().filter_map(|line| match line {
            Line::Figure { name, reached: true, .. } => Some(name.clone()),
            _ => None,
        });
        names.collect()
    }
    /// The comparisons that were not made in this run, and why.
    fn left_out(&self) -> Vec<String> {
        let skipped = self.lines.iter().filter_map(|line| match line {
            Line::Skipped { name, why } => Some(format!("{name} ({why})")),
            _ => None,
        });
        let parts = self.figure.parts.iter().filter(|part| !self.parts.contains(part));
        skipped.chain(parts.map(|part| format!("{part} (left out by --quick)"))).collect()
    }
    /// Was everything compared, and did everything reach its target?
    fn is_shown(&self) -> bool {
        let (reached, all) = self.verdicts();
        self.failure.is_none() && all > 0 && reached == all && self.left_out().is_empty()
    }
    /// One sentence on whether this run shows what the figure should show; without a comparison it shows nothing.
    fn sentence(&self) -> String {
        let (shows, (reached, all), names) = (self.figure.shows, self.verdicts(), few(&self.reached()));
        if let Some(why) = &self.failure {
            return format!("Not shown: {why}");
        }
        if self.is_shown() {
            return format!("Shown: {shows} Compared: {names}.");
        }
        let left_out = match self.left_out() {
            none if none.is_empty() => String::new(),
            some => format!(" Not compared: {}.", few(&some)),
        };
        match (reached, all) {
            (0, 0) if left_out.is_empty() => format!("Not judged here: {shows}"),
            (0, 0) => format!("Not shown here: {shows}{left_out}"),
            (0, _) => format!("Not shown by any of its figures: {shows}{left_out}"),
            _ => format!("Not shown here: {shows} Reached, {reached} of {all}: {names}.{left_out}"),
        }
    }
}

/// The first of these names, and how many more there are.
fn few(names: &[String]) -> String {
    let first = &names[..names.len().min(NAMES_MAX)];
    match names.len() - first.len() {
        0 => first.join("; "),
        more => format!("{}; and {more} more", first.join("; ")),
    }
}

/// Measures the figures and writes `index.html` and `figures.json`; true if no figure failed or fell short of its target.
///
/// # Errors
/// A name is not known, or the folder cannot be written.
pub fn run(data: Option<&Path>, options: &FigureOptions) -> Result<bool, String> {
    let chosen = chosen(&options.only, options.is_quick)?;
    files::create_folder(&options.out).map_err(|error| error.to_string())?;
    let mut measured = Vec::new();
    for figure in chosen {
        measured.push(measure(figure, data, options.is_quick));
        // What is there is kept, whatever becomes of the rest.
        write(&measured, data, options)?;
    }
    let is_reached = |one: &Measured| {
        let (reached, all) = one.verdicts();
        reached == all && one.failure.is_none()
    };
    println!(
        "\n{} of {} figures shown: {}",
        measured.iter().filter(|one| one.is_shown()).count(),
        measured.len(),
        options.out.join("index.html").display()
    );
    Ok(measured.iter().all(is_reached))
}

fn chosen(only: &[String], is_quick: bool) -> Result<Vec<&'static PaperFigure>, String> {
    let is_named = |figure: &PaperFigure, name: &String| {
        name.eq_ignore_ascii_case(figure.name) || name.eq_ignore_ascii_case(figure.paper)
    };
    if let Some(unknown) = only.iter().find(|name| !FIGURES.iter().any(|figure| is_named(figure, name))) {
        let known: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
        return Err(format!("there is no figure `{unknown}`; known: {}", known.join(", ")));
    }
    let is_chosen = |figure: &&PaperFigure| match only {
        [] => !is_quick || figure.quick.is_some(),
        only => only.iter().any(|name| is_named(figure, name)),
    };
    Ok(FIGURES.iter().filter(is_chosen).collect())
}

fn measure(figure: &'static PaperFigure, data: Option<&Path>, is_quick: bool) -> Measured {
    let parts = if is_quick { figure.quick.unwrap_or(figure.parts) } else { figure.parts };
    let choice =
        Choice { only: parts.iter().map(ToString::to_string).collect(), peers: vec![PEERS.to_string()] };
    println!("\n{}: {}", figure.name, figure.title);
    let mut report = Report::begin(figure.bench, data, choice);
    let (outcome, took_ms) = crate::timing::timed(|| {
        let found = BENCHES.iter().find(|(name, ..)| *name == figure.bench);
        let (.., bench) = found.ok_or(format!("there is no bench `{}`", figure.bench))?;
        bench(data, &mut report)
    });
    println!("{} in {}", figure.name, shown_ms(took_ms));
    Measured { figure, parts, lines: report.lines(), failure: outcome.err(), took_ms }
}

fn write(measured: &[Measured], data: Option<&Path>, options: &FigureOptions) -> Result<(), String> {
    let told = |error: world::disk::DiskError| error.to_string();
    let about = about(data, options.is_quick);
    let numbers = json!({ "about": about, "figures": measured.iter().map(numbers).collect::<Vec<Json>>() });
    let numbers = serde_json::to_string_pretty(&numbers).map_err(|error| error.to_string())?;
    files::write_bytes(&options.out.join("figures.json"), numbers.as_bytes()).map_err(told)?;
    let page = page::page(measured, &about)?;
    files::write_bytes(&options.out.join("index.html"), page.as_bytes()).map_err(told)
}

/// The environment that makes figures comparable: machine, commit, data.
fn about(data: Option<&Path>, is_quick: bool) -> Json {
    let mut about = Setup::here().json();
    about["has_data"] = json!(data.is_some());
    about["is_quick"] = json!(is_quick);
    about["peers"] = json!(PEERS);
    about
}

/// A figure as numbers.
fn numbers(one: &Measured) -> Json {
    let line = |line: &Line| match line {
        Line::Section(title) => json!({ "section": title }),
        Line::Note(text) => json!({ "note": text }),
        Line::Skipped { name, why } => json!({ "name": name, "skipped": why }),
        Line::Figure { name, measured, target, reached } => {
            json!({ "name": name, "measured": measured, "target": target, "reached": reached })
        }
        Line::Chart(chart) => {
            let series =
                chart.series.iter().map(|series| json!({ "name": series.name, "points": series.points }));
            json!({ "chart": chart.title, "x": chart.x.title, "y": chart.y.title, "series": series.collect::<Vec<Json>>() })
        }
    };
    json!({
        "name": one.figure.name,
        "paper": one.figure.paper,
        "title": one.figure.title,
        "paper_says": one.figure.paper_says,
        "scaled": one.figure.scaled,
        "sentence": one.sentence(),
        "failure": one.failure,
        "not_compared": one.left_out(),
        "seconds": one.took_ms / 1e3,
        "lines": one.lines.iter().map(line).collect::<Vec<Json>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use chart::{Axis, Chart};

    fn measured(lines: Vec<Line>, failure: Option<&str>) -> Measured {
        let (figure, failure) = (&FIGURES[0], failure.map(String::from));
        Measured { figure, parts: figure.parts, lines, failure, took_ms: 1.0 }
    }

    fn figure(reached: bool) -> Line {
        let text = |text: &str| text.to_string();
        Line::Figure { name: text("a <b>"), measured: text("3.5x"), target: text("2x"), reached }
    }

    #[test]
    fn each_figure_names_a_bench_and_no_name_is_given_twice() {
        let mut names = std::collections::BTreeSet::new();
        for figure in FIGURES {
            assert!(BENCHES.iter().any(|(name, ..)| *name == figure.bench), "{}", figure.name);
            assert!(names.insert(figure.name), "{} is there twice", figure.name);
            assert!(figure.shows.ends_with('.') && figure.paper_says.ends_with('.'), "{}", figure.name);
        }
    }

    #[test]
    fn names_choose_and_unknown_ones_are_refused() {
        assert_eq!(chosen(&[], false).unwrap().len(), FIGURES.len());
        assert!(!chosen(&[], true).unwrap().is_empty());
        assert_eq!(chosen(&["weaver-5.18".into()], true).unwrap().len(), 1);
        assert!(chosen(&["Kronos".into()], false).unwrap().iter().all(|figure| figure.paper == "Kronos"));
        assert!(chosen(&["5.99".into()], false).err().is_some_and(|why| why.contains("weaver-5.18")));
    }

    #[test]
    fn the_sentence_says_what_was_shown() {
        assert!(measured(vec![figure(true)], None).sentence().starts_with("Shown: "));
        assert!(
            measured(vec![figure(true), figure(false)], None).sentence().contains("Reached, 1 of 2: a <b>.")
        );
        assert!(measured(vec![figure(false)], None).sentence().starts_with("Not shown by any"));
        assert!(measured(vec![], None).sentence().starts_with("Not judged"));
        assert!(measured(vec![figure(true)], Some("no data")).sentence().starts_with("Not shown: no data"));
        let skipped = || Line::Skipped { name: "beside".into(), why: "not asked".into() };
        let sentence = measured(vec![figure(true), skipped()], None).sentence();
        assert!(
            sentence.starts_with("Not shown here: ") && sentence.contains("beside (not asked)"),
            "{sentence}"
        );
        assert!(measured(vec![skipped()], None).sentence().starts_with("Not shown here: "));
        let part = Measured { parts: &[], ..measured(vec![figure(true)], None) };
        assert!(part.sentence().contains("blocks (left out by --quick)") && !part.is_shown());
    }

    #[test]
    fn the_page_holds_everything_and_nothing_from_elsewhere() {
        let series = Chart::distribution("ours", vec![1.0, 2.0, 5.0]);
        let chart = Chart { title: "c".into(), x: Axis::log("ms"), series: vec![series], ..Chart::default() };
        let lines =
            vec![Line::Section("s".into()), figure(true), figure(false), Line::Chart(Box::new(chart))];
        let all = [measured(lines, None)];
        let text = page::page(&all, &about(None, true)).unwrap();
        for part in
            ["<svg", "a &lt;b&gt;", "3.5x", FIGURES[0].paper_says, "prefers-color-scheme", "@media print"]
        {
            assert!(text.contains(part), "{part}");
        }
        for part in ["<script", "src=", "href=\"http"] {
            assert!(!text.contains(part), "{part}");
        }
        assert!(text.contains("Every answer was verified") && text.contains("no data folder was given"));
        let failed = page::page(&[measured(vec![], Some("wrong"))], &about(None, true)).unwrap();
        assert!(!failed.contains("Every answer was verified"));
        assert_eq!(numbers(&all[0])["lines"].as_array().unwrap().len(), 4);
    }
}
