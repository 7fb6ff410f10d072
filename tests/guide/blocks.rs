//! Fenced blocks of a Markdown page, and blocks that the page hides in comments.
//!
//! A fence opens with a language and words: ```` ```sh ````, ```` ```text output ````, ```` ```java (not run: why) ````. A hidden block is a
//! comment, `<!-- hidden LANGUAGE WORDS`, with the code on the lines below it. `tests/guide.rs` says what the words mean.

/// A block in the order of the page.
#[derive(Clone, Debug)]
pub struct Block {
    /// Line of the page at which it opens, from 1.
    pub line: usize,
    /// First word of the info string; empty where there is none.
    pub language: String,
    /// The rest of the info string.
    pub words: String,
    pub code: String,
    pub hidden: bool,
}

impl Block {
    /// Why it is not run, if its info string says so: `(not run: why)`.
    pub fn not_run(&self) -> Option<&str> {
        self.words.strip_prefix("(not run: ")?.strip_suffix(')')
    }
    /// Is this one of its words?
    pub fn has(&self, word: &str) -> bool {
        self.words.split(' ').any(|one| one == word)
    }
}

/// All blocks of a page.
pub fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let indent = line.len() - line.trim_start().len();
        let opened = line.trim_start();
        let (info, end, hidden) = match (opened.strip_prefix("```"), opened.strip_prefix("<!-- hidden ")) {
            (Some(info), _) => (info, "```", false),
            (None, Some(info)) => (info, "-->", true),
            (None, None) => continue,
        };
        let mut code = String::new();
        let (info, whole) = match info.strip_suffix("-->") {
            Some(info) if hidden => (info.trim(), true),
            _ => (info.trim(), false),
        };
        if !whole {
            let inner = lines.by_ref().map(|(_, line)| line).take_while(|line| line.trim() != end);
            for line in inner {
                code.push_str(line.get(indent.min(line.len() - line.trim_start().len())..).unwrap_or(line));
                code.push('\n');
            }
        }
        let (language, words) = info.split_once(' ').unwrap_or((info, ""));
        let (language, words) = (language.to_string(), words.to_string());
        found.push(Block { line: at + 1, language, words, code, hidden });
    }
    found
}

/// Does a shown output hold? Times may differ, `…` stands for anything within a line, and a line of its own for any lines.
///
/// # Errors
/// The first line that was not found.
pub fn matches(shown: &str, actual: &str) -> Result<(), String> {
    let time = regex::Regex::new(r"[0-9][0-9.,]* (ns|µs|ms|s)\b").expect("a pattern");
    let plain = |line: &str| time.replace_all(line.trim_end(), "TIME").into_owned();
    let mut left = actual.lines().map(plain).collect::<std::collections::VecDeque<String>>();
    let mut skips = false;
    for line in shown.lines() {
        if line.trim() == "…" {
            skips = true;
            continue;
        }
        let pattern = regex::escape(&plain(line)).replace('…', ".*");
        let pattern = regex::Regex::new(&format!("^{pattern}$")).expect("an escaped pattern");
        loop {
            match left.pop_front() {
                Some(actual) if pattern.is_match(&actual) => break,
                Some(_) if skips => {}
                Some(actual) => return Err(format!("shown:  {line}\nactual: {actual}")),
                None => return Err(format!("shown, but not there: {line}")),
            }
        }
        skips = false;
    }
    match left.into_iter().find(|line| !line.is_empty()) {
        Some(more) if !skips => Err(format!("there, but not shown: {more}")),
        _ => Ok(()),
    }
}

#[test]
fn blocks_are_found_as_markdown_has_them() {
    let page = "a\n```sh\nls\n```\n- b\n\n  ```text file=x.csv\n  1,2\n    3\n  ```\n<!-- hidden params\n{}\n-->\n<!-- hidden certificate -->\n```java (not run: why)\nx\n```\n";
    let found = blocks(page);
    let seen: Vec<_> =
        found.iter().map(|b| (b.line, b.language.as_str(), b.code.as_str(), b.hidden)).collect();
    let expected = [
        (2, "sh", "ls\n", false),
        (7, "text", "1,2\n  3\n", false),
        (11, "params", "{}\n", true),
        (14, "certificate", "", true),
        (15, "java", "x\n", false),
    ];
    assert_eq!(seen, expected);
    assert_eq!((found[4].not_run(), found[1].not_run()), (Some("why"), None));
}

#[test]
fn outputs_match_but_for_times_and_gaps() {
    let shown = "a …d\n…\n1 row · 0.4 ms\n";
    assert_eq!(matches(shown, "a bcd\nx\ny\n1 row · 12 µs\n"), Ok(()));
    assert!(matches(shown, "a bcd\nx\n2 rows · 12 µs\n").is_err());
    assert!(matches("a\n", "a\nb\n").is_err() && matches("a\nb\n", "a\n").is_err());
}
