//! Commands of the shell: words after a colon. Each is described once, in [`COMMANDS`], for help and completion.

use super::conversation::{Conversation, Language, Outcome};
use crate::print::print_table;
use crate::{Format, Ink};
use database::entity::Hydrated;
use database::{Error, Mode, Params, Value};
use std::io;

/// Name, arguments, and what it does.
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
    (":format", "table|vertical|json|…", "how rows are shown: table, vertical, json, jsonl or csv"),
    (":pager", "on|off", "whether the program that PAGER names shows long answers"),
    (":timing", "on|off", "whether the time is shown below tables"),
    (":queries", "", "queries that run now"),
    (":kill", "QUERY-ID", "ends one of them"),
    (":quit", "", "ends the shell; so does Ctrl-D"),
];

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
            ":begin" => Ok(self.session.begin(Mode::Write)),
            ":commit" => Ok(self.session.commit().map(drop)),
            ":rollback" => Ok(self.session.rollback()),
            ":gremlin" => Ok(self.speak(Language::Gremlin)),
            ":cypher" => Ok(self.speak(Language::Cypher)),
            ":format" | ":mode" => Ok(self.set_format(rest)),
            ":pager" => Ok(self.set_pager(rest)),
            ":timing" => Ok(self.set_timing(rest)),
            ":queries" => self.queries().map(Ok),
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
            self.say(&format!("  {}{what}", self.style.paint(Ink::Name, &format!("{usage:<32}"))))?;
        }
        self.note(
            "  Statements end with a semicolon, or with an empty line. Tab completes. Ctrl-C stops a query.",
        )
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
        let value = self.session.query(&format!("RETURN {value}"), self.params.clone())?.single()?;
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

    fn queries(&self) -> io::Result<()> {
        let running = self.database.running();
        if running.is_empty() {
            return self.note("no queries run now");
        }
        let rows: Vec<Vec<Hydrated>> = running
            .into_iter()
            .map(|query| {
                let (time, bytes) = (query.elapsed_ms as i64, query.bytes as i64);
                row([query.id.into(), time.into(), bytes.into(), query.text.into()])
            })
            .collect();
        print_table(&["id", "ms", "bytes", "text"], &rows, &self.style, &mut world::files::stdout())
    }

    fn kill(&self, id: &str) -> io::Result<Outcome> {
        match self.database.kill(id, "killed from the shell") {
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
        _ => Error::new(CODE, format!("no command {name}")).hint(":help lists them"),
    }
}
