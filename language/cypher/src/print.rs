//! Syntax tree to canonical text: every operator in brackets, keywords in capitals, one blank between words.
//!
//! Invariant, tested on every query of the test files: parsing the canonical text gives the same tree again. The brackets
//! show how a text was understood, so tests use this as their picture of a tree.

mod clause;
mod expression;
mod pattern;
mod schema;

use crate::ast::{Mode, Name, Statement, StatementBody};
use crate::lexer::{continues_word, starts_word};

/// The canonical text of a statement.
pub fn print(statement: &Statement) -> String {
    let mut printer = Printer { out: String::new() };
    match statement.mode {
        Mode::Run => {}
        Mode::Explain => printer.put("EXPLAIN "),
        Mode::Profile => printer.put("PROFILE "),
    }
    printer.put(if statement.scopes_off { "CYPHER scopes = off " } else { "" });
    if let Some(policy) = &statement.recursive {
        printer.put("CYPHER recursive = ");
        printer.quoted_if(policy, !is_plain(policy));
        printer.put(" ");
    }
    if let Some(version) = &statement.as_of {
        printer.put("AS OF ");
        printer.expression(version);
        printer.put(" ");
    }
    if let Some(time) = statement.no_older_than_ms {
        printer.put(&format!("READ NO OLDER THAN {time} ms "));
    }
    match &statement.body {
        StatementBody::Query(query) => printer.query(query),
        StatementBody::Schema(command) => printer.schema_command(command),
        StatementBody::Tenant(command) => printer.put(&command.to_string()),
        StatementBody::Program(command) => printer.put(&command.to_string()),
        StatementBody::User(command) => printer.user_command(command),
        StatementBody::Role(command) => printer.put(&command.to_string()),
        StatementBody::Standing(command) => printer.put(&command.to_string()),
        StatementBody::Show(show) => printer.show(show),
        StatementBody::Terminate(targets) => {
            printer.put("TERMINATE QUERIES ");
            printer.list(targets, ", ", Printer::expression);
        }
    }
    printer.out
}

/// Words that could be read as keywords where a variable stands.
const KEYWORDS: [&str; 68] = [
    "ALL",
    "ALLSHORTESTPATHS",
    "AND",
    "ANY",
    "AS",
    "ASC",
    "ASCENDING",
    "CALL",
    "CASE",
    "COLLECT",
    "CONTAINS",
    "COUNT",
    "CREATE",
    "CYPHER",
    "DELETE",
    "DESC",
    "DESCENDING",
    "DETACH",
    "DISTINCT",
    "DROP",
    "ELSE",
    "END",
    "ENDS",
    "EXISTS",
    "EXPLAIN",
    "FALSE",
    "FINISH",
    "FOR",
    "FOREACH",
    "GROUP",
    "GROUPS",
    "IF",
    "IN",
    "INSERT",
    "IS",
    "KILL",
    "LIMIT",
    "MATCH",
    "MERGE",
    "NODETACH",
    "NONE",
    "NOT",
    "NULL",
    "OFFSET",
    "ON",
    "OPTIONAL",
    "OR",
    "ORDER",
    "PATH",
    "PATHS",
    "PROFILE",
    "REDUCE",
    "REMOVE",
    "RETURN",
    "SET",
    "SHORTEST",
    "SHORTESTPATH",
    "SHOW",
    "SINGLE",
    "SKIP",
    "STARTS",
    "TERMINATE",
    "THEN",
    "TRUE",
    "UNION",
    "UNWIND",
    "WHERE",
    "WITH",
];

/// Keywords that cannot be called even before a bracket.
const UNCALLABLE: [&str; 7] = ["ALLSHORTESTPATHS", "CASE", "FALSE", "NOT", "NULL", "SHORTESTPATH", "TRUE"];

struct Printer {
    out: String,
}

impl Printer {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    /// Prints items with a separator between them.
    fn list<T>(&mut self, items: &[T], separator: &str, print: impl Fn(&mut Self, &T)) {
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.put(separator);
            }
            print(self, item);
        }
    }

    /// A name where no keyword can stand: a label, a property.
    fn name(&mut self, name: &Name) {
        self.quoted_if(&name.text, !is_plain(&name.text));
    }

    fn variable(&mut self, name: &str) {
        self.quoted_if(
            name,
            !is_plain(name)
                || is_one_of(name, &KEYWORDS)
                || is_one_of(name, &["XOR", "YIELD", "USING", "WHEN"]),
        );
    }

    fn function_name(&mut self, parts: &[Name]) {
        self.list(parts, ".", |printer, part| {
            printer.quoted_if(&part.text, !is_plain(&part.text) || is_one_of(&part.text, &UNCALLABLE));
        });
    }

    fn quoted_if(&mut self, name: &str, quoted: bool) {
        if quoted {
            self.put(&plan::Quoted(name).to_string());
        } else {
            self.put(name);
        }
    }
}

fn is_plain(name: &str) -> bool {
    name.starts_with(starts_word) && name.chars().all(continues_word)
}

fn is_one_of(name: &str, words: &[&str]) -> bool {
    words.iter().any(|word| word.eq_ignore_ascii_case(name))
}
