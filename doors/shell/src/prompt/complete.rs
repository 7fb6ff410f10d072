//! Completion: which words may stand where the cursor is, judged by what stands before it.
//!
//! After `:` come labels and types, after `.` properties, after `$` parameters, at the head of a line commands; elsewhere keywords,
//! functions, and the words typed already.

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
    params: Vec<String>,
    version: Option<u64>,
}

impl Vocabulary {
    /// Learns what came with commits since the last time.
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
            self.functions = listed(conversation, "SHOW FUNCTIONS");
            self.procedures = listed(conversation, "SHOW PROCEDURES");
        }
    }

    /// Where the word at the end of `before` begins, and what it may become.
    pub fn candidates(&self, before: &str) -> (usize, Vec<String>) {
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
        let start = before.char_indices().rev().take_while(|(_, letter)| is_part(*letter)).last();
        let start = start.map_or(before.len(), |(at, _)| at);
        let (head, word) = before.split_at(start);
        if head.trim() == ":" {
            let names = COMMANDS.iter().map(|(name, ..)| &name[1..]);
            return (start, matching(names, word));
        }
        let found = match head.chars().last() {
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

fn listed(conversation: &mut Conversation, statement: &str) -> Vec<String> {
    // Without the list nothing but completion is poorer.
    let first = |row: &Vec<Hydrated>| match row.first() {
        Some(Hydrated::Plain(value)) => value.as_str().map(str::to_string),
        _ => None,
    };
    let rows = conversation.rows(statement).map(|(_, rows)| rows);
    rows.map(|rows| rows.iter().filter_map(first).collect()).unwrap_or_default()
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
            procedures: owned(&["db.labels"]),
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
        check("", &[]);
    }
}
