//! Feature files to scenarios: just enough Gherkin for the suites.
//!
//! Scenario outlines are multiplied by their examples, and a `Background` stands before every scenario of its file. A scenario is named
//! by its file, its number in brackets or its place, and the row of its examples: `Match1[3]#2`.

/// A scenario: its steps in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Name that the lists use.
    pub id: String,
    /// Title in the file.
    pub title: String,
    /// Tags such as `@ignore`.
    pub tags: Vec<String>,
    /// Steps.
    pub steps: Vec<Step>,
}

/// A step with the text or table below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Text without its keyword and the colon at its end.
    pub text: String,
    /// Text between lines of three quotes.
    pub document: Option<String>,
    /// Cells between bars, row by row.
    pub table: Vec<Vec<String>>,
}

/// Words that begin a step.
const STEP_WORDS: [&str; 6] = ["Given ", "When ", "Then ", "And ", "But ", "* "];

/// The scenarios of a feature file; `name` is the file's, without its ending.
pub fn scenarios(name: &str, text: &str) -> Vec<Scenario> {
    let mut reader =
        Reader { lines: text.lines().collect(), at: 0, background: Vec::new(), found: Vec::new() };
    reader.feature(name);
    reader.found
}

struct Reader<'t> {
    lines: Vec<&'t str>,
    at: usize,
    background: Vec<Step>,
    found: Vec<Scenario>,
}

impl<'t> Reader<'t> {
    fn line(&self) -> Option<&'t str> {
        self.lines.get(self.at).map(|line| line.trim())
    }

    fn feature(&mut self, name: &str) {
        let (mut tags, mut place) = (Vec::new(), 0);
        while let Some(line) = self.line() {
            self.at += 1;
            if line.starts_with('@') {
                tags.extend(line.split_whitespace().map(str::to_string));
            } else if line.starts_with("Background:") {
                self.background = self.steps();
            } else if let Some(title) = title(line) {
                place += 1;
                let steps = [self.background.clone(), self.steps()].concat();
                let id = format!("{name}{}", number(title).unwrap_or(format!("[{place}]")));
                let scenario = Scenario { id, title: title.into(), tags: std::mem::take(&mut tags), steps };
                let examples = self.examples();
                self.found.extend(multiplied(scenario, &examples));
            } else if line.starts_with("Feature:") {
                tags.clear();
            }
        }
    }

    fn steps(&mut self) -> Vec<Step> {
        let mut steps: Vec<Step> = Vec::new();
        while let Some(line) = self.line() {
            if let Some(text) = STEP_WORDS.iter().find_map(|word| line.strip_prefix(word)) {
                let text = text.trim().trim_end_matches(':').trim_end().to_string();
                steps.push(Step { text, ..Step::default() });
            } else if line == "\"\"\"" {
                let document = self.document();
                steps.last_mut().expect("a document stands under a step").document = Some(document);
                continue;
            } else if line.starts_with('|') {
                steps.last_mut().expect("a table stands under a step").table.push(cells(line));
            } else if !line.is_empty() && !line.starts_with('#') {
                break;
            }
            self.at += 1;
        }
        steps
    }

    /// The lines up to the closing quotes, without the indentation of the opening ones.
    fn document(&mut self) -> String {
        let opening = self.lines[self.at];
        let indent = opening.len() - opening.trim_start().len();
        let mut lines = Vec::new();
        self.at += 1;
        while let Some(line) = self.lines.get(self.at) {
            self.at += 1;
            if line.trim() == "\"\"\"" {
                break;
            }
            lines.push(line.get(indent..).unwrap_or_else(|| line.trim_start()));
        }
        lines.join("\n")
    }

    /// The rows under `Examples:`, each table's header with its rows.
    fn examples(&mut self) -> Vec<(Vec<String>, Vec<Vec<String>>)> {
        let mut tables = Vec::new();
        while let Some(line) = self.line() {
            if line.starts_with("Examples:") {
                tables.push((Vec::new(), Vec::new()));
            } else if let Some((header, rows)) = tables.last_mut().filter(|_| line.starts_with('|')) {
                match header.is_empty() {
                    true => *header = cells(line),
                    false => rows.push(cells(line)),
                }
            } else if !line.is_empty() && !line.starts_with('#') {
                break;
            }
            self.at += 1;
        }
        tables
    }
}

fn title(line: &str) -> Option<&str> {
    let heads = ["Scenario:", "Scenario Outline:", "Example:"];
    heads.iter().find_map(|head| line.strip_prefix(head)).map(str::trim)
}

/// The number in brackets at the beginning of a title.
fn number(title: &str) -> Option<String> {
    let end = title.strip_prefix('[')?.find(']')? + 1;
    Some(title[..=end].to_string())
}

/// The cells of a row: `\|` is a bar, `\\` a backslash, `\n` a new line.
fn cells(line: &str) -> Vec<String> {
    let (mut cells, mut cell) = (Vec::new(), String::new());
    let mut letters = line.trim().strip_prefix('|').unwrap_or(line).chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some('n') => cell.push('\n'),
                Some(escaped @ ('|' | '\\')) => cell.push(escaped),
                Some(other) => cell.extend(['\\', other]),
                None => cell.push('\\'),
            },
            '|' => cells.push(std::mem::take(&mut cell).trim().to_string()),
            letter => cell.push(letter),
        }
    }
    cells
}

fn multiplied(scenario: Scenario, examples: &[(Vec<String>, Vec<Vec<String>>)]) -> Vec<Scenario> {
    if examples.is_empty() {
        return vec![scenario];
    }
    let rows = examples.iter().flat_map(|(header, rows)| rows.iter().map(move |row| (header, row)));
    rows.enumerate()
        .map(|(at, (header, row))| {
            let fill = |text: &String| {
                header
                    .iter()
                    .zip(row)
                    .fold(text.clone(), |text, (key, value)| text.replace(&format!("<{key}>"), value))
            };
            let step = |step: &Step| Step {
                text: fill(&step.text),
                document: step.document.as_ref().map(fill),
                table: step.table.iter().map(|cells| cells.iter().map(fill).collect()).collect(),
            };
            Scenario {
                id: format!("{}#{}", scenario.id, at + 1),
                title: fill(&scenario.title),
                tags: scenario.tags.clone(),
                steps: scenario.steps.iter().map(step).collect(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outlines_are_multiplied_and_backgrounds_repeated() {
        let text = "Feature: F\n\n  Background:\n    Given any graph\n\n  # a comment\n  @slow\n  Scenario Outline: [7] x\n    \
                    When executing query:\n      \"\"\"\n      RETURN <a>\n        AS b\n      \"\"\"\n    Then the result should be, in order:\n      \
                    | b |\n      | '\\|<a>' |\n\n    Examples:\n      | a |\n      | 1 |\n      | 2 |\n\n  Scenario: plain\n    When nothing\n";
        let found = scenarios("F1", text);
        let ids: Vec<&str> = found.iter().map(|scenario| scenario.id.as_str()).collect();
        assert_eq!(ids, ["F1[7]#1", "F1[7]#2", "F1[2]"]);
        assert_eq!(found[0].tags, ["@slow"]);
        let texts: Vec<&str> = found[1].steps.iter().map(|step| step.text.as_str()).collect();
        assert_eq!(texts, ["any graph", "executing query", "the result should be, in order"]);
        assert_eq!(found[1].steps[1].document.as_deref(), Some("RETURN 2\n  AS b"));
        assert_eq!(found[1].steps[2].table, [["b"], ["'|2'"]]);
        assert_eq!(found[2].steps[0].text, "any graph");
    }
}
