//! The page: one text of HTML that needs nothing else, for light and dark, and for paper.

use super::Measured;
use crate::report::Line;
use crate::timing::shown_ms;
use chart::{Axis, Chart, Look, Series};
use serde_json::Value as Json;

/// Colours of light and dark; paper is light.
const STYLE: &str = "
:root{color-scheme:light dark;--ink:#1f2328;--soft:#57606a;--line:#d1d5da;--ground:#ffffff;--good:#1a7f37;--bad:#cf222e}
@media (prefers-color-scheme:dark){:root{--ink:#e6edf3;--soft:#8d96a0;--line:#3d444d;--ground:#0d1117;--good:#56d364;--bad:#ff7b72}}
@media print{:root{--ink:#000;--soft:#444;--line:#bbb;--ground:#fff;--good:#1a7f37;--bad:#cf222e}section{break-inside:avoid}}
body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:var(--ink);background:var(--ground)}
table{border-collapse:collapse;width:100%;font-size:.88rem;margin:.5rem 0}
td,th{border-bottom:1px solid var(--line);padding:.25rem .5rem;text-align:left;vertical-align:top}
.soft{color:var(--soft)}.good{color:var(--good)}.bad{color:var(--bad)}
section{margin:2.5rem 0}svg{max-width:100%;height:auto}nav a{margin-right:.8rem;color:inherit}
";

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The page of these figures.
///
/// # Errors
/// A chart cannot be drawn.
pub(super) fn page(measured: &[Measured], about: &Json) -> Result<String, String> {
    let word = |name: &str| escaped(&about[name].as_str().map_or(about[name].to_string(), str::to_string));
    let links = measured.iter().map(|one| format!("<a href=\"#{0}\">{0}</a>", one.figure.name));
    let links: Vec<String> = links.collect();
    let warning = match about["is_optimised"].as_bool() {
        Some(true) => "",
        _ => "<p class=\"bad\">Built without optimisation: times mean nothing.</p>",
    };
    let verified = match measured.iter().all(|one| one.failure.is_none()) {
        true => "Every answer was verified.",
        false => "Not everything could be measured or verified: see what failed.",
    };
    let data = match about["has_data"].as_bool() {
        Some(true) => "A data folder was given",
        _ => "This run had no data: no data folder was given",
    };
    let extent = match about["is_quick"].as_bool() {
        Some(true) => "--quick: only the parts that take little time",
        _ => "all parts of each figure",
    };
    let peers = match about["peers"].as_str() {
        Some("none") => "other engines were not asked",
        _ => "other engines were asked where they are here",
    };
    let mut text = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>Tanglewood: the papers' figures</title><style>{STYLE}</style></head><body>\
         <h1>The papers' figures, at this machine's scale</h1>\
         <p class=\"soft\">{} with {} cores, {}; commit {}; load {}. {verified} Dashed lines are what papers say, or simulations.</p>\
         <p class=\"soft\">{data}; {extent}; {peers}.</p>\
         {warning}<nav>{}</nav>",
        word("machine"),
        word("cores"),
        word("system"),
        word("commit"),
        word("load"),
        links.join(" ")
    );
    for one in measured {
        text += &section(one)?;
    }
    Ok(text + "</body></html>\n")
}

fn section(one: &Measured) -> Result<String, String> {
    let figure = one.figure;
    let mut text = format!(
        "<section id=\"{}\"><h2>{}: {}</h2><p><b>{}</b></p><p>The paper: {}</p><p class=\"soft\">{} Took {}.</p>",
        figure.name,
        escaped(figure.name),
        escaped(figure.title),
        escaped(&one.sentence()),
        escaped(figure.paper_says),
        escaped(figure.scaled),
        shown_ms(one.took_ms)
    );
    let charts = one.lines.iter().filter_map(|line| match line {
        Line::Chart(chart) => Some((**chart).clone()),
        _ => None,
    });
    let mut charts: Vec<Chart> = charts.collect();
    if charts.is_empty() {
        charts.extend(bars(one));
    }
    for chart in charts {
        text += &chart.svg().unwrap_or_else(|why| format!("<p class=\"bad\">{}</p>", escaped(&why)));
    }
    text += "<table><tr><th>figure</th><th>measured</th><th>target</th><th></th></tr>";
    let mut number = 0;
    for line in &one.lines {
        number += usize::from(matches!(line, Line::Figure { .. }));
        text += &row(line, number);
    }
    Ok(text + "</table></section>")
}

/// A row of the table; figures bear their number, as their bars do.
fn row(line: &Line, number: usize) -> String {
    match line {
        Line::Section(title) => format!("<tr><th colspan=\"4\">{}</th></tr>", escaped(title)),
        Line::Note(note) => format!("<tr><td colspan=\"4\" class=\"soft\">{}</td></tr>", escaped(note)),
        Line::Skipped { name, why } => {
            format!(
                "<tr><td>{}</td><td colspan=\"3\" class=\"soft\">skipped: {}</td></tr>",
                escaped(name),
                escaped(why)
            )
        }
        Line::Figure { name, measured, target, reached } => {
            let (class, word) = if *reached { ("good", "reached") } else { ("bad", "short") };
            format!(
                "<tr><td>{number}. {}</td><td>{}</td><td>{}</td><td class=\"{class}\">{word}</td></tr>",
                escaped(name),
                escaped(measured),
                escaped(target)
            )
        }
        Line::Chart(_) => String::new(),
    }
}

/// Words before a number that is a limit.
const LIMITS: [&str; 4] = ["at least ", "at most ", "under ", "over "];

/// The number with its unit that a text begins with: `3.5x`, `12 ms`, `at least 300 a second`.
fn leading(text: &str) -> Option<(f64, &str)> {
    let text = LIMITS.iter().find_map(|limit| text.strip_prefix(limit)).unwrap_or(text);
    if !text.starts_with(|letter: char| letter.is_ascii_digit()) {
        return None;
    }
    let end = text.find(|letter: char| !(letter.is_ascii_digit() || letter == '.')).unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    let unit = text[end..].trim_start().split([' ', ',', ';']).next().unwrap_or_default();
    // Times are of one unit, so that they stand beside each other.
    let scale = match unit {
        "ns" => 1e-6,
        "us" => 1e-3,
        "s" => 1e3,
        _ => return Some((number, unit)),
    };
    Some((number * scale, "ms"))
}

/// Measured numbers beside their targets, of the figures whose unit is the most frequent one: as bars that bear the numbers of their rows in the table.
fn bars(one: &Measured) -> Option<Chart> {
    let figures = one.lines.iter().filter_map(|line| match line {
        Line::Figure { measured, target, .. } => Some((measured, target)),
        _ => None,
    });
    let pairs = figures.enumerate().filter_map(|(at, (measured, target))| {
        let ((number, unit), (target, wanted)) = (leading(measured)?, leading(target)?);
        // The axis is logarithmic: there is no place on it for nothing.
        let is_drawn = unit == wanted && !unit.is_empty() && number.min(target) > 0.0;
        is_drawn.then_some((unit, at + 1, number, target))
    });
    let pairs: Vec<(&str, usize, f64, f64)> = pairs.collect();
    let count = |unit: &&str| pairs.iter().filter(|(other, ..)| other == unit).count();
    // The first of those that are equally frequent.
    let (unit, ..) = pairs.iter().rev().max_by_key(|(unit, ..)| count(unit))?;
    let same: Vec<_> = pairs.iter().filter(|(other, ..)| other == unit).collect();
    let points = |pick: fn(f64, f64) -> f64| {
        let numbers = same.iter().map(|(_, _, number, target)| pick(*number, *target));
        numbers.enumerate().map(|(at, number)| (at as f64, number)).collect()
    };
    Some(Chart {
        title: format!("measured beside its target, in {unit}"),
        x: Axis::linear("figures by their numbers in the table"),
        y: Axis::log(unit),
        categories: same.iter().map(|(_, row, ..)| row.to_string()).collect(),
        series: vec![
            Series { name: "measured".into(), look: Look::Bars, points: points(|number, _| number) },
            Series { name: "target".into(), look: Look::Bars, points: points(|_, target| target) },
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::leading;

    #[test]
    fn numbers_are_read_with_their_units() {
        assert_eq!(leading("3.5x, 12 us"), Some((3.5, "x")));
        assert_eq!(leading("300000 operations/s"), Some((300_000.0, "operations/s")));
        assert_eq!(leading("at least 300000 operations/s"), Some((300_000.0, "operations/s")));
        assert_eq!(leading("about 3 ms"), None);
        assert_eq!(leading("none"), None);
        assert_eq!(leading("250 us, max 12 ms"), Some((0.25, "ms")));
        assert_eq!(leading("2 s"), Some((2_000.0, "ms")));
    }
}
