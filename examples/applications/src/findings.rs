//! What a command measured and checked: printed as it comes, and written as numbers, pictures and a block of its page of the guide.
//!
//! A [`Findings`] is an object of JSON that grows. [`block`] makes the page's block of that object alone, so that a test can hold the page against the
//! numbers that lie beside its pictures.

use crate::command::Arguments;
use crate::times::Times;
use chart::{Chart, Look};
use experiment::Setup;
use serde_json::{Value as Json, json};
use std::path::Path;
use std::time::Duration;
use world::clock::monotonic_ns;
use world::files;

/// Where the block of a page begins and ends.
const BEGIN: &str = "<!-- figures, written by the command -->";
const END: &str = "<!-- end of figures -->";
/// The folder of pictures and numbers beside a page.
const PICTURES: &str = "pictures";
/// Points of a curve that are written as numbers; of longer ones the quantiles are among the figures.
const POINTS_MAX: usize = 100;
/// Width of a name when it is printed.
const NAME_WIDTH: usize = 52;

/// What a command measured and checked.
#[derive(Debug)]
pub struct Findings {
    name: &'static str,
    about: Json,
    figures: Vec<Json>,
    tables: Vec<Json>,
    checks: Vec<String>,
    charts: Vec<Chart>,
    begin_ns: u64,
}

impl Findings {
    /// Begins, and prints what makes figures comparable. `data` says what data it is.
    pub fn begin(name: &'static str, data: &str, seed: u64) -> Findings {
        let setup = Setup::here();
        let mut about = setup.json();
        about["data"] = json!(data);
        about["seed"] = json!(seed);
        about["profile"] = json!(profile());
        println!("{name}: {data}, seed {seed}");
        println!(
            "{} cores, {}, {}; commit {}, profile {}; load {}",
            setup.machine.cores,
            setup.machine.model,
            setup.machine.system,
            setup.commit,
            profile(),
            setup.load
        );
        if !setup.is_optimised {
            println!("built without optimisation: times mean nothing");
        }
        let (figures, tables, checks, charts) = Default::default();
        Findings { name, about, figures, tables, checks, charts, begin_ns: monotonic_ns() }
    }
    fn enter(&mut self, figure: Json) {
        let name = figure["name"].as_str().unwrap_or_default();
        println!("{name:<NAME_WIDTH$} {}", cells(&figure).join("  "));
        self.figures.push(figure);
    }
    /// A number of things.
    pub fn count(&mut self, name: &str, count: usize) {
        self.enter(json!({ "name": name, "count": count }));
    }
    /// The time of one thing.
    pub fn time(&mut self, name: &str, time: Duration) {
        self.enter(json!({ "name": name, "us": us(time) }));
    }
    /// How many a second.
    pub fn rate(&mut self, name: &str, per_second: f64) {
        self.enter(json!({ "name": name, "per_second": per_second.round() }));
    }
    /// One number divided by another.
    pub fn ratio(&mut self, name: &str, ratio: f64) {
        self.enter(json!({ "name": name, "ratio": (ratio * 100.0).round() / 100.0 }));
    }
    /// Times of one thing done again and again.
    pub fn times(&mut self, name: &str, times: &Times) {
        let [median, late, last] = [0.5, 0.99, 1.0].map(|part| us(times.part(part)));
        self.enter(json!({ "name": name, "times": times.len(), "median_us": median, "p99_us": late, "longest_us": last }));
    }
    /// Rows under names of columns; the first column is text, the others are numbers.
    pub fn table(&mut self, title: &str, columns: &[&str], rows: &[Vec<String>]) {
        println!("{title}");
        println!("  {}", columns.join(" | "));
        rows.iter().for_each(|row| println!("  {}", row.join(" | ")));
        self.tables.push(json!({ "title": title, "columns": columns, "rows": rows }));
    }
    /// Something that was compared and was right.
    pub fn check(&mut self, text: String) {
        println!("right: {text}");
        self.checks.push(text);
    }
    /// A picture; the first one has the name of the command.
    pub fn chart(&mut self, chart: Chart) {
        self.charts.push(chart);
    }
    /// The names of the files of the pictures, in their order.
    fn picture_names(&self) -> Vec<String> {
        let name = |at| match at {
            0 => format!("{}.svg", self.name),
            at => format!("{}-{}.svg", self.name, at + 1),
        };
        (0..self.charts.len()).map(name).collect()
    }
    fn json(&self) -> Json {
        let series = |chart: &Chart| {
            let short = chart.series.iter().filter(|series| series.points.len() <= POINTS_MAX);
            short.map(|series| json!({ "name": series.name, "points": series.points, "is_paper": series.look == Look::Dashed })).collect::<Vec<Json>>()
        };
        let chart = |(chart, file): (&Chart, String)| json!({ "title": chart.title, "file": file, "x": chart.x.title, "y": chart.y.title, "categories": chart.categories, "series": series(chart) });
        json!({
            "name": self.name,
            "about": self.about,
            "figures": self.figures,
            "tables": self.tables,
            "checks": self.checks,
            "charts": self.charts.iter().zip(self.picture_names()).map(chart).collect::<Vec<Json>>(),
        })
    }
    /// Writes what was asked for: with a folder, NAME.json and NAME.svg; with a page, these beside it, and its block.
    ///
    /// # Errors
    /// A picture cannot be drawn, a file cannot be written, or the page has no place for a block.
    pub fn end(mut self, arguments: &Arguments) -> Result<(), String> {
        self.about["seconds"] = json!(((monotonic_ns() - self.begin_ns) as f64 / 1e9).round());
        self.about["load_at_the_end"] = json!(experiment::load());
        if let Some(folder) = &arguments.out {
            self.write(folder)?;
        }
        let Some(page) = &arguments.page else { return Ok(()) };
        self.write(&page.with_file_name(PICTURES))?;
        let text = files::read_text(page).map_err(|error| error.to_string())?;
        let text = with_block(&text, &block(&self.json()))
            .ok_or_else(|| format!("{} has no line `{BEGIN}` before a line `{END}`", page.display()))?;
        files::write_bytes(page, text.as_bytes()).map_err(|error| error.to_string())?;
        println!("page: {}", page.display());
        Ok(())
    }
    fn write(&self, folder: &Path) -> Result<(), String> {
        let told = |error: world::disk::DiskError| error.to_string();
        files::create_folder(folder).map_err(told)?;
        let numbers = serde_json::to_string_pretty(&self.json()).map_err(|error| error.to_string())?;
        files::write_bytes(&folder.join(format!("{}.json", self.name)), format!("{numbers}\n").as_bytes())
            .map_err(told)?;
        for (chart, name) in self.charts.iter().zip(self.picture_names()) {
            files::write_bytes(&folder.join(name), format!("{}\n", chart.svg()?).as_bytes()).map_err(told)?;
        }
        println!("written: {}", folder.join(self.name).display());
        Ok(())
    }
}

/// The profile of the build, as the folder of this program says: `target/PROFILE/examples/NAME`.
fn profile() -> String {
    let program = std::env::current_exe().unwrap_or_default();
    let folder = program.parent().and_then(Path::parent).and_then(Path::file_name);
    folder.map_or("unknown".into(), |name| name.to_string_lossy().into_owned())
}

fn us(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e7).round() / 10.0
}

/// Microseconds, with three digits or so and the unit that fits.
pub fn shown_us(us: f64) -> String {
    let (value, unit) = match us {
        us if us >= 1e6 => (us / 1e6, "s"),
        us if us >= 1e3 => (us / 1e3, "ms"),
        us => (us, "µs"),
    };
    match value {
        value if value >= 100.0 => format!("{value:.0} {unit}"),
        value if value >= 10.0 => format!("{value:.1} {unit}"),
        value => format!("{value:.2} {unit}"),
    }
}

/// A whole number, its thousands apart.
fn shown_count(count: u64) -> String {
    let digits = count.to_string();
    let parts: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|part| std::str::from_utf8(part).ok()).collect();
    parts.join(",")
}

/// A figure as cells: one, or the four of times.
fn cells(figure: &Json) -> Vec<String> {
    let number = |name: &str| figure[name].as_f64();
    if let Some(count) = figure["count"].as_u64() {
        return vec![shown_count(count)];
    }
    if let Some(us) = number("us") {
        return vec![shown_us(us)];
    }
    if let Some(rate) = number("per_second") {
        return vec![format!("{}/s", shown_count(rate as u64))];
    }
    if let Some(ratio) = number("ratio") {
        return vec![format!("{ratio:.2}x")];
    }
    let times = shown_count(figure["times"].as_u64().unwrap_or(0));
    let quantiles = ["median_us", "p99_us", "longest_us"].map(|name| shown_us(number(name).unwrap_or(0.0)));
    std::iter::once(times).chain(quantiles).collect()
}

/// The block of a page: how it was measured, the figures, what was compared, the pictures.
pub fn block(findings: &Json) -> String {
    let about = &findings["about"];
    let word = |name: &str| about[name].as_str().map_or(about[name].to_string(), str::to_string);
    let load = |name: &str| word(name).split_whitespace().next().unwrap_or("?").to_string();
    let mut text = format!(
        "Data: {}; seed {}, on {} cores ({}), commit `{}`, profile `{}`, load {} at the beginning and {} at the end, {} seconds in all.\n",
        word("data"),
        word("seed"),
        word("cores"),
        word("machine"),
        word("commit"),
        word("profile"),
        load("load"),
        load("load_at_the_end"),
        about["seconds"].as_f64().unwrap_or(0.0)
    );
    let list = |name: &str| findings[name].as_array().cloned().unwrap_or_default();
    let (times, single): (Vec<Json>, Vec<Json>) =
        list("figures").into_iter().partition(|figure| figure["times"].is_u64());
    let row = |figure: &Json| {
        format!("| {} | {} |\n", figure["name"].as_str().unwrap_or_default(), cells(figure).join(" | "))
    };
    if !single.is_empty() {
        text += "\n| | |\n|---|--:|\n";
        text.extend(single.iter().map(row));
    }
    if !times.is_empty() {
        text += "\n| | times | median | 99 of 100 within | longest |\n|---|--:|--:|--:|--:|\n";
        text.extend(times.iter().map(row));
    }
    for table in list("tables") {
        let words = |cells: &Json| -> Vec<String> {
            cells
                .as_array()
                .into_iter()
                .flatten()
                .map(|cell| cell.as_str().unwrap_or_default().to_string())
                .collect()
        };
        let columns = words(&table["columns"]);
        text += &format!(
            "\n{}:\n\n| {} |\n|---{}|\n",
            table["title"].as_str().unwrap_or_default(),
            columns.join(" | "),
            "|--:".repeat(columns.len().saturating_sub(1))
        );
        text.extend(
            table["rows"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|row| format!("| {} |\n", words(row).join(" | "))),
        );
    }
    if !list("checks").is_empty() {
        text += "\nCompared, and right:\n\n";
        text.extend(list("checks").iter().map(|check| format!("- {}\n", check.as_str().unwrap_or_default())));
    }
    for chart in list("charts") {
        let word = |name: &str| chart[name].as_str().unwrap_or_default().to_string();
        text += &format!("\n![{}]({PICTURES}/{})\n", word("title"), word("file"));
    }
    text
}

/// The page with this block in the place of its old one; none where it has no place for one.
fn with_block(page: &str, block: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{block}{END}{after}"))
}

/// The block that a page has, if it has one.
pub fn block_of(page: &str) -> Option<&str> {
    let (_, rest) = page.split_once(BEGIN)?;
    let (block, _) = rest.split_once(END)?;
    Some(block.trim_start_matches('\n'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::times::times_chart;
    use world::files::TemporaryFolder;

    fn findings() -> Findings {
        let mut findings = Findings::begin("trial", "drawn", 7);
        let mut times = Times::default();
        (1..=9).for_each(|at| times.push(Duration::from_micros(at * 100)));
        findings.count("people", 1_234_567);
        findings.time("loaded", Duration::from_millis(1_500));
        findings.times("a call", &times);
        findings.rate("calls", 1_500.2);
        findings.ratio("beside", 5.125);
        findings.table("rows", &["what", "ms"], &[vec!["a".into(), "1.5".into()]]);
        findings.check("all 9 of them".into());
        findings.chart(times_chart("calls", &[("a call", &times)]));
        findings.chart(times_chart("again", &[("a call", &times)]));
        findings
    }

    #[test]
    fn a_page_gets_its_block_and_its_pictures_again_and_again() {
        let folder = TemporaryFolder::new("findings").unwrap();
        let page = folder.path().join("trial.md");
        files::write_bytes(&page, format!("before\n\n{BEGIN}\nold\n{END}\n\nbehind\n").as_bytes()).unwrap();
        let arguments = Arguments { page: Some(page.clone()), ..Arguments::default() };
        for _ in 0..2 {
            findings().end(&arguments).unwrap();
            let text = files::read_text(&page).unwrap();
            assert!(
                text.starts_with("before\n\n") && text.ends_with("\n\nbehind\n") && !text.contains("old")
            );
            let numbers = files::read_text(&folder.path().join("pictures/trial.json")).unwrap();
            assert_eq!(block_of(&text).unwrap(), block(&serde_json::from_str(&numbers).unwrap()));
            for part in [
                "| people | 1,234,567 |",
                "| loaded | 1.50 s |",
                "| a call | 9 | 500 µs | 900 µs | 900 µs |",
                "| calls | 1,500/s |",
                "| beside | 5.13x |",
                "| a | 1.5 |",
                "- all 9 of them",
                "![again](pictures/trial-2.svg)",
                "seed 7",
            ] {
                assert!(text.contains(part), "{part}: {text}");
            }
        }
        assert!(files::exists(&folder.path().join("pictures/trial-2.svg")));
    }

    #[test]
    fn a_page_without_a_place_is_refused() {
        let folder = TemporaryFolder::new("findings-none").unwrap();
        let page = folder.path().join("trial.md");
        for text in ["nothing", END, BEGIN] {
            files::write_bytes(&page, text.as_bytes()).unwrap();
            let arguments = Arguments { page: Some(page.clone()), ..Arguments::default() };
            assert!(findings().end(&arguments).unwrap_err().contains("has no line"), "{text}");
            assert_eq!(files::read_text(&page).unwrap(), text);
        }
    }

    #[test]
    fn numbers_are_shown_short() {
        assert_eq!(
            [0.0, 1.25, 99.95, 123.4, 1_500.0, 2e7].map(shown_us),
            ["0.00 µs", "1.25 µs", "100.0 µs", "123 µs", "1.50 ms", "20.0 s"]
        );
        assert_eq!([0, 999, 1_000, 1_234_567].map(shown_count), ["0", "999", "1,000", "1,234,567"]);
    }
}
