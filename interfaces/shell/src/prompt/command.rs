//! Commands of the shell: words after a colon. Each is described once, in [`COMMANDS`], for help and completion.

use super::conversation::{Conversation, Language, Outcome};
use crate::print::print_table;
use crate::text::words_wrapped;
use crate::{Format, Ink};
use database::entity::Hydrated;
use database::{Error, Params, Value};
use std::io;

/// Name, arguments, and description.
pub(crate) const COMMANDS: &[(&str, &str, &str)] = &[
    (":help", "", "this list"),
    (":explain", "QUERY", "the plan of a query, with estimated rows"),
    (":profile", "QUERY", "runs a query and shows the plan with true rows and times"),
    (":schema", "", "labels, relationship types, indexes and constraints"),
    (":param", "name => EXPRESSION", "sets a parameter, used as $name"),
    (":params", "[clear]", "lists the parameters, or forgets them"),
    (":begin", "", "begins a transaction"),
    (":commit", "", "commits it"),
    (":rollback", "", "forgets it"),
    (":gremlin", "", "statements are Gremlin from now on; one that begins with g. always is"),
    (":cypher", "", "statements are Cypher again"),
    (
        ":mode",
        "table|vertical|json|…",
        "how rows are shown: table, vertical, json, jsonl or csv; :format is the same",
    ),
    (":source", "FILE", "runs the statements and commands of a file, until the first failure"),
    (":export", "FILE QUERY", "writes an answer into a new file: .csv, .json, .jsonl or .txt"),
    (":watch", "[SECONDS] [TIMESx] QUERY", "shows the answer again and again, until Ctrl-C"),
    (":live", "[TIMESx] NAME", "shows the answer of a standing query, kept true, until Ctrl-C"),
    (":pager", "on|off", "whether the program that PAGER names shows long answers"),
    (":timing", "on|off", "whether the time is shown below tables"),
    (":queries", "", "queries that run now"),
    (":kill", "QUERY-ID", "ends one of them"),
    (":quit", "", "ends the shell; so does Ctrl-D"),
];

/// Where the descriptions of commands begin.
const HELP_INDENT: usize = 34;

/// Code of errors that are the shell's own.
const CODE: &str = "Tanglewood.ClientError.Shell.Command";

impl Conversation {
    /// Carries out a command line that begins with a colon.
    pub fn command(&mut self, line: &str) -> io::Result<Outcome> {
        let line = line.trim().trim_end_matches(';').trim_end();
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let done = match name {
            ":help" | ":h" | ":?" => self.help().map(Ok),
            ":explain" if !rest.is_empty() => return self.statement(&format!("EXPLAIN {rest}")),
            ":profile" if !rest.is_empty() => return self.statement(&format!("PROFILE {rest}")),
            ":schema" => self.schema(),
            ":param" => Ok(self.set_parameter(rest)),
            ":params" => self.parameters(rest),
            ":begin" => Ok(self.talk.begin()),
            ":commit" => Ok(self.talk.commit()),
            ":rollback" => Ok(self.talk.rollback()),
            ":gremlin" => Ok(self.speak(Language::Gremlin)),
            ":cypher" => Ok(self.speak(Language::Cypher)),
            ":format" | ":mode" => Ok(self.set_format(rest)),
            ":source" if !rest.is_empty() => return self.source(rest),
            ":export" => return self.export(rest),
            ":watch" => return self.watch(rest),
            ":live" => return self.live(rest),
            ":pager" => Ok(self.set_pager(rest)),
            ":timing" => Ok(self.set_timing(rest)),
            ":queries" => self.queries(),
            ":kill" => return self.kill(rest),
            ":quit" | ":exit" | ":q" => return Ok(Outcome::Quit),
            _ => Ok(Err(unknown(name, rest))),
        };
        match done? {
            Ok(()) => Ok(Outcome::Go),
            Err(error) => self.complain(&error),
        }
    }

    fn help(&self) -> io::Result<()> {
        for (name, arguments, what) in COMMANDS {
            let usage = format!("{name} {arguments}");
            let width = self.style.width.map(|width| width.saturating_sub(HELP_INDENT));
            let lines = words_wrapped(what, width);
            let what = lines.join(&format!("\n{:HELP_INDENT$}", ""));
            self.say(&format!("  {}{what}", self.style.paint(Ink::Name, &format!("{usage:<32}"))))?;
        }
        let end =
            "Statements end with a semicolon, or with an empty line. Tab completes. Ctrl-C stops a query.";
        let width = self.style.width.map(|width| width.saturating_sub(2));
        self.note(&format!("  {}", words_wrapped(end, width).join("\n  ")))
    }

    /// The value is any expression: the database computes it.
    fn set_parameter(&mut self, text: &str) -> Result<(), Error> {
        let (name, value) = text
            .split_once("=>")
            .ok_or_else(|| Error::new(CODE, "a name and a value are needed").hint(":param name => 'Ada'"))?;
        let name = name.trim().trim_start_matches('$');
        let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
        if name.is_empty() || !name.chars().all(is_word) {
            return Err(Error::new(CODE, format!("`{name}` is not a name")).hint(":param name => 'Ada'"));
        }
        let mut answer = self.talk.query(&format!("RETURN {value}"), &self.params)?;
        let mut rows = answer.next_rows()?.unwrap_or_default();
        let cell = rows.first_mut().and_then(Vec::pop);
        drop(answer);
        let Some(Hydrated::Plain(value)) = cell else {
            return Err(Error::new(CODE, "nodes, relationships and paths are no parameters")
                .hint("keep an id: :param id => 7"));
        };
        self.params.insert(name.into(), value);
        Ok(())
    }

    fn parameters(&mut self, rest: &str) -> io::Result<Result<(), Error>> {
        if rest == "clear" {
            self.params = Params::new();
            return Ok(Ok(()));
        }
        let mut pairs: Vec<_> = self.params.iter().collect();
        pairs.sort_by(|a, b| a.0.cmp(b.0));
        let rows: Vec<Vec<Hydrated>> = pairs
            .iter()
            .map(|(name, value)| row([Value::String((*name).clone()), (*value).clone()]))
            .collect();
        if rows.is_empty() {
            self.note("no parameters; :param name => 'Ada' sets one")?;
        } else {
            print_table(&["name", "value"], &rows, &self.style, &mut world::files::stdout())?;
        }
        Ok(Ok(()))
    }

    fn speak(&mut self, language: Language) -> Result<(), Error> {
        self.language = language;
        Ok(())
    }

    fn set_format(&mut self, name: &str) -> Result<(), Error> {
        let hint = "formats are table, vertical, json, jsonl and csv";
        self.format =
            Format::named(name).ok_or_else(|| Error::new(CODE, format!("no format `{name}`")).hint(hint))?;
        Ok(())
    }

    fn set_pager(&mut self, word: &str) -> Result<(), Error> {
        self.pager = match word {
            "off" => None,
            "on" | "" => {
                let hint = "set PAGER, for example to less, before the shell begins";
                let none = || Error::new(CODE, "the environment names no pager").hint(hint);
                Some(crate::pager::from_environment().ok_or_else(none)?)
            }
            other => return Err(Error::new(CODE, format!("`{other}` is neither on nor off"))),
        };
        Ok(())
    }

    fn set_timing(&mut self, word: &str) -> Result<(), Error> {
        self.timing = match word {
            "on" => true,
            "off" => false,
            "" => !self.timing,
            other => return Err(Error::new(CODE, format!("`{other}` is neither on nor off"))),
        };
        Ok(())
    }

    fn queries(&mut self) -> io::Result<Result<(), Error>> {
        let running = match self.talk.running() {
            Ok(running) if running.is_empty() => return self.note("no queries run now").map(Ok),
            Ok(running) => running,
            Err(error) => return Ok(Err(error)),
        };
        let rows: Vec<Vec<Hydrated>> = running
            .into_iter()
            .map(|query| {
                let (time, bytes) = (query.elapsed_ms as i64, query.bytes as i64);
                row([query.id.into(), time.into(), bytes.into(), query.text.into()])
            })
            .collect();
        print_table(&["id", "ms", "bytes", "text"], &rows, &self.style, &mut world::files::stdout()).map(Ok)
    }

    fn kill(&mut self, id: &str) -> io::Result<Outcome> {
        match self.talk.kill(id) {
            Ok(true) => self.note("ended").map(|()| Outcome::Go),
            Ok(false) => {
                let error = Error::new(CODE, format!("no query `{id}` runs now")).hint(":queries lists them");
                self.complain(&error)
            }
            Err(error) => self.complain(&error),
        }
    }
}

/// Plain values as a row to print.
pub(crate) fn row(values: impl IntoIterator<Item = Value>) -> Vec<Hydrated> {
    values.into_iter().map(Hydrated::Plain).collect()
}

fn unknown(name: &str, rest: &str) -> Error {
    match COMMANDS.iter().find(|(known, ..)| *known == name) {
        Some((known, arguments, _)) if rest.is_empty() => {
            Error::new(CODE, format!("{known} needs more")).hint(format!("{known} {arguments}"))
        }
        _ => {
            let near = database::nearest(name, COMMANDS.iter().map(|(known, ..)| *known));
            let hint = near.map_or(":help lists them".into(), |known| format!("did you mean {known}?"));
            Error::new(CODE, format!("no command {name}")).hint(hint)
        }
    }
}
