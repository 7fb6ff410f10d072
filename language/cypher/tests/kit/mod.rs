//! Reads the scenarios of an openCypher compatibility kit: just enough Gherkin for its feature files.

use std::path::{Path, PathBuf};

/// A scenario's queries and what is expected of the last one.
pub struct Scenario {
    pub name: String,
    /// Queries that prepare the graph or look at it afterwards.
    pub auxiliary: Vec<String>,
    /// The query under test.
    pub query: String,
    /// `(type, phase, detail)` of the expected error, such as `(SyntaxError, compile time, UndefinedVariable)`.
    pub error: Option<(String, String, String)>,
    /// Names of the expected columns, if a table is expected.
    pub columns: Option<Vec<String>>,
}

/// All scenarios below the folder named by `TANGLEWOOD_TCK`, outlines multiplied by their examples; `None` when unset.
pub fn scenarios() -> Option<Vec<Scenario>> {
    let folder = std::env::var_os("TANGLEWOOD_TCK")?;
    let mut files = Vec::new();
    find_features(Path::new(&folder), &mut files);
    files.sort();
    assert!(!files.is_empty(), "no .feature file below {folder:?}");
    Some(files.iter().flat_map(|file| read_feature(file)).collect())
}

fn find_features(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            find_features(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "feature") {
            files.push(path);
        }
    }
}

fn read_feature(path: &Path) -> Vec<Scenario> {
    let text = std::fs::read_to_string(path).unwrap();
    let file = path.file_stem().unwrap().to_string_lossy().to_string();
    let mut blocks: Vec<Vec<&str>> = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("Scenario:") || trimmed.starts_with("Scenario Outline:") {
            blocks.push(Vec::new());
        }
        if let Some(block) = blocks.last_mut() {
            block.push(line);
        }
    }
    blocks.iter().flat_map(|block| read_block(&file, block)).collect()
}

fn read_block(file: &str, lines: &[&str]) -> Vec<Scenario> {
    let mut scenario = Scenario {
        name: format!("{file}: {}", lines[0].trim().split_once(':').unwrap().1.trim()),
        auxiliary: Vec::new(),
        query: String::new(),
        error: None,
        columns: None,
    };
    let mut examples: Vec<Vec<String>> = Vec::new();
    let mut in_examples = false;
    let mut under_test = false;
    let mut at = 1;
    while at < lines.len() {
        let line = lines[at].trim();
        at += 1;
        if line.starts_with("Examples:") {
            in_examples = true;
        } else if in_examples && line.starts_with('|') {
            examples.push(cells(line));
        } else if line == "\"\"\"" {
            let (query, end) = doc_string(lines, at);
            let step = lines[at - 2].trim();
            at = end;
            under_test = step.contains("When executing query");
            match under_test {
                true => scenario.query = query,
                false => scenario.auxiliary.push(query),
            }
        } else if line.contains("should be raised at") {
            scenario.error = expected_error(line);
        } else if under_test
            && line.contains("the result should be")
            && at < lines.len()
            && lines[at].trim().starts_with('|')
        {
            scenario.columns.get_or_insert(cells(lines[at].trim()));
        }
    }
    multiply(scenario, &examples)
}

fn doc_string(lines: &[&str], start: usize) -> (String, usize) {
    let end = (start..lines.len()).find(|at| lines[*at].trim() == "\"\"\"").unwrap();
    let indent = lines[start - 1].len() - lines[start - 1].trim_start().len();
    let text: Vec<&str> = lines[start..end].iter().map(|line| line.get(indent..).unwrap_or("")).collect();
    (text.join("\n"), end + 1)
}

fn cells(line: &str) -> Vec<String> {
    let inner = line.trim_matches('|').replace("\\|", "\u{1}");
    inner.split('|').map(|cell| cell.trim().replace('\u{1}', "|").replace("\\\\", "\\")).collect()
}

fn expected_error(line: &str) -> Option<(String, String, String)> {
    let (kind, rest) = line.split_once(" should be raised at ")?;
    let (phase, detail) = rest.split_once(": ")?;
    Some((kind.split(' ').next_back()?.to_string(), phase.to_string(), detail.to_string()))
}

fn multiply(scenario: Scenario, examples: &[Vec<String>]) -> Vec<Scenario> {
    let Some((header, rows)) = examples.split_first() else { return vec![scenario] };
    let fill = |text: &str, row: &[String]| {
        header
            .iter()
            .zip(row)
            .fold(text.to_string(), |text, (key, value)| text.replace(&format!("<{key}>"), value))
    };
    let one = |row: &Vec<String>| Scenario {
        name: format!("{} {row:?}", scenario.name),
        auxiliary: scenario.auxiliary.iter().map(|query| fill(query, row)).collect(),
        query: fill(&scenario.query, row),
        error: scenario
            .error
            .as_ref()
            .map(|(kind, phase, detail)| (fill(kind, row), fill(phase, row), fill(detail, row))),
        columns: scenario.columns.as_ref().map(|names| names.iter().map(|name| fill(name, row)).collect()),
    };
    rows.iter().map(one).collect()
}
