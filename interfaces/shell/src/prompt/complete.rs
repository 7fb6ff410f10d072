//! Completion: the words that may stand at the cursor, judged by the text before it.
//!
//! After `:` come labels and types, after `.` properties, after `$` parameters, after `YIELD` the procedure's fields, at the head of a line commands;
//! elsewhere keywords, functions, and the words typed already.

use super::command::COMMANDS;
use super::conversation::Conversation;
use crate::highlight::KEYWORDS;
use database::entity::Hydrated;

/// Candidates offered at once; more than this is not a list that anyone reads.
const CANDIDATES_MAX: usize = 200;

/// The words known now.
#[derive(Default)]
pub(crate) struct Vocabulary {
    labels: Vec<String>,
    types: Vec<String>,
    keys: Vec<String>,
    functions: Vec<String>,
    procedures: Vec<String>,
    /// Columns of each procedure, in the order of `procedures`.
    returned: Vec<Vec<String>>,
    params: Vec<String>,
    version: Option<u64>,
}

impl Vocabulary {
    /// Learns new names from commits since the last call.
    pub fn refresh(&mut self, conversation: &mut Conversation) {
        self.params = conversation.params.keys().map(|name| name.to_string()).collect();
        let version = conversation.talk.names_version();
        if self.version == Some(version) {
            return;
        }
        let is_first = self.version.replace(version).is_none();
        // Without the names nothing but completion is poorer.
        let names = conversation.talk.names().unwrap_or_default();
        (self.labels, self.types, self.keys) = (names.labels, names.types, names.keys);
        if is_first {
            let first = |row: Vec<String>| row.into_iter().next();
            let functions = listed(conversation, "SHOW FUNCTIONS YIELD name");
            self.functions = functions.into_iter().filter_map(first).collect();
            for row in listed(conversation, "SHOW PROCEDURES YIELD name, signature") {
                let [name, signature] = &row[..] else { continue };
                self.procedures.push(name.clone());
                self.returned.push(columns(signature));
            }
        }
    }

    /// Where the word at the end of `before` begins, and its completions.
    pub fn candidates(&self, before: &str) -> (usize, Vec<String>) {
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
        let start = before.char_indices().rev().take_while(|(_, letter)| is_part(*letter)).last();
        let start = start.map_or(before.len(), |(at, _)| at);
        let (head, word) = before.split_at(start);
        if head.trim() == ":" {
            let names = COMMANDS.iter().map(|(name, ..)| &name[1..]);
            return (start, matching(names, word));
        }
        let columns = yielding(head).map(|procedure| self.returned_by(procedure, head));
        let found = match head.chars().last() {
            _ if columns.is_some() => matching(columns.into_iter().flatten(), word),
            Some(':' | '|') if is_in_brackets(head) => matching(strs(&self.types), word),
            Some(':' | '|' | '&' | '!') => matching(strs(&self.labels), word),
            Some('.') => self.after_dot(head, word),
            Some('$') => matching(strs(&self.params), word),
            Some('{' | ',') if is_in_braces(head) => matching(strs(&self.keys), word),
            _ if word.is_empty() => Vec::new(),
            _ => self.words(head, word),
        };
        (start, found)
    }

    /// Columns of a procedure that the clause does not name yet.
    fn returned_by(&self, procedure: &str, head: &str) -> impl Iterator<Item = &str> {
        let at = self.procedures.iter().position(|name| name.eq_ignore_ascii_case(procedure));
        let columns = at.and_then(|at| self.returned.get(at)).map(Vec::as_slice).unwrap_or_default();
        let named = names_behind_yield(head).unwrap_or_default();
        strs(columns).filter(move |column| {
            !named.split(',').any(|part| part.split_whitespace().next() == Some(column))
        })
    }

    fn after_dot(&self, head: &str, word: &str) -> Vec<String> {
        let mut found = matching(strs(&self.keys), word);
        // Names of procedures and some functions have dots in them.
        let whole = head.rsplit(|letter: char| !(letter.is_alphanumeric() || "._".contains(letter))).next();
        let prefix = whole.unwrap_or_default();
        let dotted =
            self.functions.iter().chain(&self.procedures).filter_map(|name| name.strip_prefix(prefix));
        found.extend(matching(dotted, word));
        found
    }

    fn words(&self, head: &str, word: &str) -> Vec<String> {
        let in_lower_case = word.chars().all(|letter| !letter.is_uppercase());
        let keywords = KEYWORDS.iter().filter(|keyword| starts_with(keyword, word));
        let mut found: Vec<String> = keywords
            .map(|keyword| if in_lower_case { keyword.to_lowercase() } else { keyword.to_string() })
            .collect();
        let mut typed: Vec<&str> = head
            .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
            .filter(|other| other.len() > word.len())
            .collect();
        typed.sort_unstable();
        typed.dedup();
        found.extend(matching(typed.into_iter(), word));
        found.extend(matching(strs(&self.functions), word));
        found.extend(matching(strs(&self.procedures), word));
        found.dedup();
        found.truncate(CANDIDATES_MAX);
        found
    }
}

/// The texts in each row of an answer.
fn listed(conversation: &mut Conversation, statement: &str) -> Vec<Vec<String>> {
    // Without the list nothing but completion is poorer.
    let text = |cell: &Hydrated| match cell {
        Hydrated::Plain(value) => value.as_str().map(str::to_string),
        _ => None,
    };
    let rows = conversation.rows(statement).map(|(_, rows)| rows);
    rows.map(|rows| rows.iter().map(|row| row.iter().filter_map(text).collect()).collect())
        .unwrap_or_default()
}

/// Names of the columns in a signature: `p(x :: T) :: (a :: T, b :: T)` has `a` and `b`.
fn columns(signature: &str) -> Vec<String> {
    let Some((_, returned)) = signature.rsplit_once(":: (") else { return Vec::new() };
    let names = returned.split(", ").filter_map(|column| column.split_once(" :: "));
    names.map(|(name, _)| name.to_string()).collect()
}

/// The procedure whose columns are named where `head` ends: it ends in `CALL p(…) YIELD a,`.
fn yielding(head: &str) -> Option<&str> {
    names_behind_yield(head)?;
    let (_, call) = split_at_last(head, "CALL")?;
    let end = call.find(|letter: char| !(letter.is_alphanumeric() || "._".contains(letter)))?;
    Some(&call[..end]).filter(|name| !name.is_empty())
}

/// The text behind the last YIELD, as long as that is names with commas between them and ends where a name may begin.
fn names_behind_yield(head: &str) -> Option<&str> {
    let (_, names) = split_at_last(head, "YIELD")?;
    let is_name = |name: &str| !name.is_empty() && !name.contains(char::is_whitespace);
    let mut parts = names.split(',').map(str::trim).rev();
    let is_at_start = parts.next().is_some_and(str::is_empty);
    let renamed = |part: &str| {
        split_at_last(part, "AS").map_or(is_name(part), |(from, to)| is_name(from.trim()) && is_name(to))
    };
    (is_at_start && parts.all(renamed)).then_some(names)
}

/// Splits at the last place where a keyword stands with white space behind it; both sides without it.
fn split_at_last<'t>(text: &'t str, keyword: &str) -> Option<(&'t str, &'t str)> {
    let is_here = |at: &usize| {
        let (before, rest) = (&text[..*at], &text[*at..]);
        let word = rest.get(..keyword.len()).is_some_and(|word| word.eq_ignore_ascii_case(keyword));
        let behind = rest.get(keyword.len()..).is_some_and(|rest| rest.starts_with(char::is_whitespace));
        word && behind && !before.ends_with(|letter: char| letter.is_alphanumeric() || letter == '_')
    };
    let at = text.char_indices().map(|(at, _)| at).rev().find(is_here)?;
    Some((&text[..at], text[at + keyword.len()..].trim_start()))
}

fn strs(words: &[String]) -> impl Iterator<Item = &str> {
    words.iter().map(String::as_str)
}

fn matching<'w>(words: impl Iterator<Item = &'w str>, word: &str) -> Vec<String> {
    let mut found: Vec<String> =
        words.filter(|candidate| starts_with(candidate, word)).map(str::to_string).collect();
    found.sort_unstable();
    found.dedup();
    found.truncate(CANDIDATES_MAX);
    found
}

fn starts_with(candidate: &str, word: &str) -> bool {
    candidate.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word))
}

/// Is the innermost open bracket a square one, as in `-[:KNOWS`?
fn is_in_brackets(head: &str) -> bool {
    last_open(head) == Some('[')
}

fn is_in_braces(head: &str) -> bool {
    last_open(head) == Some('{')
}

fn last_open(head: &str) -> Option<char> {
    let mut open = Vec::new();
    for letter in head.chars() {
        match letter {
            '(' | '[' | '{' => open.push(letter),
            ')' | ']' | '}' => drop(open.pop()),
            _ => {}
        }
    }
    open.pop()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &str, expected: &[&str]) {
        let owned = |words: &[&str]| words.iter().map(|word| word.to_string()).collect();
        let vocabulary = Vocabulary {
            labels: owned(&["Person", "Post"]),
            types: owned(&["KNOWS"]),
            keys: owned(&["name", "born"]),
            functions: owned(&["count", "duration.between"]),
            procedures: owned(&["db.labels", "db.index"]),
            returned: vec![columns("db.labels() :: (label :: STRING, level :: INTEGER)"), Vec::new()],
            params: owned(&["id"]),
            version: Some(1),
        };
        assert_eq!(vocabulary.candidates(before).1, expected, "{before}");
    }

    #[test]
    fn what_stands_before_decides() {
        check("MATCH (p:P", &["Person", "Post"]);
        check("MATCH (p:Person)-[:", &["KNOWS"]);
        check("MATCH (p:Person)-[:KNOWS]->(:pers", &["Person"]);
        check("MATCH (p {na", &["name"]);
        check("RETURN p.", &["born", "name"]);
        check("RETURN $", &["id"]);
        check(":sch", &["schema"]);
        check("mat", &["match"]);
        check("MAT", &["MATCH"]);
        check("RETURN duration.b", &["born", "between"]);
        check("CALL db.la", &["labels"]);
        check("MATCH (person) RETURN per", &["person"]);
        check("CALL db.labels() YIELD la", &["label"]);
        check("call db.labels()\nyield ", &["label", "level"]);
        check("CALL db.labels() YIELD label, l", &["level"]);
        check("CALL db.labels() YIELD label AS l, ", &["level"]);
        check("CALL db.labels() YIELD label RETURN label, le", &[]);
        check("CALL db.index() YIELD la", &[]);
        check("RETURN yield ", &[]);
        check("", &[]);
    }
}
