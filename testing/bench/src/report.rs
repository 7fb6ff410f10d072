//! One line a figure: what was measured, what it should be, and whether it is.

use crate::Choice;
use chart::Chart;
use experiment::commit;
use std::path::Path;
use std::sync::Mutex;
use world::machine::Machine;

/// Widths of the columns; longer names push what follows to the right.
const NAME_WIDTH: usize = 38;
const MEASURED_WIDTH: usize = 30;
const TARGET_WIDTH: usize = 42;

/// A line of a report, for the page of figures.
#[derive(Clone, Debug)]
pub enum Line {
    /// A group of figures begins.
    Section(String),
    /// Something that is no figure.
    Note(String),
    /// What was measured, what it should be, and whether it is.
    Figure {
        /// The name.
        name: String,
        /// With its unit.
        measured: String,
        /// With its unit.
        target: String,
        /// The verdict.
        reached: bool,
    },
    /// A figure that could not be measured here.
    Skipped {
        /// The name.
        name: String,
        /// Why.
        why: String,
    },
    /// Curves.
    Chart(Box<Chart>),
}

/// Collects verdicts and prints them as they come.
#[derive(Debug, Default)]
pub struct Report {
    /// In the order in which they came.
    lines: Mutex<Vec<Line>>,
    /// The chosen parts.
    pub choice: Choice,
    reached: usize,
    short: Vec<String>,
    skipped: Vec<String>,
}

impl Report {
    /// Prints the environment of the figures: machine, commit, data.
    pub fn begin(name: &str, data: Option<&Path>, choice: Choice) -> Report {
        let machine = Machine::here();
        let memory_gb = machine.memory_bytes.map_or(0, |bytes| bytes >> 30);
        println!("bench {name}");
        println!("machine   {} cores, {}, {memory_gb} GB, {}", machine.cores, machine.model, machine.system);
        println!("commit    {}", commit());
        match data {
            Some(folder) => println!("data      {}", folder.display()),
            None => println!("data      none given: generated data only"),
        }
        if cfg!(debug_assertions) {
            println!("warning   built without optimisation: times mean nothing");
        }
        for (what, names) in [("only", &choice.only), ("peers", &choice.peers)] {
            if !names.is_empty() {
                println!("{what:<9} {}", names.join(", "));
            }
        }
        Report { choice, ..Report::default() }
    }
    fn enter(&self, line: Line) {
        if let Ok(mut lines) = self.lines.lock() {
            lines.push(line);
        }
    }
    /// All lines so far.
    pub fn lines(&self) -> Vec<Line> {
        self.lines.lock().map(|lines| lines.clone()).unwrap_or_default()
    }
    /// Curves, for the page of figures.
    pub fn chart(&self, chart: Chart) {
        self.enter(Line::Chart(Box::new(chart)));
    }
    /// Says something that is no figure.
    pub fn note(&self, text: impl AsRef<str>) {
        self.enter(Line::Note(text.as_ref().to_string()));
        println!("  {}", text.as_ref());
    }
    /// Opens a group of figures.
    pub fn section(&self, title: &str) {
        self.enter(Line::Section(title.to_string()));
        println!("\n{title}");
    }
    /// One figure with its verdict.
    pub fn figure(&mut self, name: &str, measured: &str, target: &str, reached: bool) {
        let [of, with, to] = [name, measured, target].map(str::to_string);
        self.enter(Line::Figure { name: of, measured: with, target: to, reached });
        let verdict = if reached { "reached" } else { "SHORT" };
        println!("  {name:<NAME_WIDTH$} {measured:<MEASURED_WIDTH$} {target:<TARGET_WIDTH$} {verdict}");
        if reached {
            self.reached += 1;
        } else {
            self.short.push(name.to_string());
        }
    }
    /// Notes a figure that could not be measured here, and why.
    pub fn skipped(&mut self, name: &str, why: &str) {
        self.enter(Line::Skipped { name: name.to_string(), why: why.to_string() });
        println!("  {name:<NAME_WIDTH$} skipped: {why}");
        self.skipped.push(name.to_string());
    }
    /// The summary line; true if nothing fell short.
    pub fn end(self) -> bool {
        let (reached, total) = (self.reached, self.reached + self.short.len());
        let list = |title: &str, names: &[String]| match names {
            [] => String::new(),
            names => format!("; {title}: {}", names.join(", ")),
        };
        println!(
            "\nsummary: {reached} of {total} figures reached{}{}",
            list("SHORT", &self.short),
            list("skipped", &self.skipped)
        );
        self.short.is_empty()
    }
}
