//! Commands that read or write a file, and the one that repeats a query: `:source`, `:export`, `:watch`.

use super::conversation::{Conversation, Outcome};
use super::piped;
use crate::print::INTERRUPTED;
use crate::{Format, Look, PrintError, Style, print_result};
use database::Error;
use std::io::{self, Write};
use std::path::Path;
use std::time::Duration;

/// Scripts that read one another.
const SOURCE_DEPTH_MAX: usize = 8;
/// Time between two answers of `:watch` where none is said, and the shortest and longest that may be.
const WATCH_SECONDS: [f64; 3] = [2.0, 0.1, 86_400.0];

const CODE: &str = "Tanglewood.ClientError.Shell.Command";

impl Conversation {
    /// Runs the statements and commands of a file, until the first failure.
    pub(super) fn source(&mut self, file: &str) -> io::Result<Outcome> {
        let name = unquoted(file);
        if self.source_depth >= SOURCE_DEPTH_MAX {
            let error = Error::new(CODE, format!("more than {SOURCE_DEPTH_MAX} scripts read one another"));
            return self.complain(&error);
        }
        let reader = match world::files::open_reader(Path::new(name)) {
            Ok(reader) => reader,
            Err(error) => return self.complain(&Error::new(CODE, error.to_string())),
        };
        let before = (self.script.take(), std::mem::replace(&mut self.script_name, name.to_string()));
        self.source_depth += 1;
        let outcome = piped::run_from(self, reader);
        self.source_depth -= 1;
        (self.script, self.script_name) = before;
        // `:quit` in a script ends the script.
        outcome.map(|outcome| if outcome == Outcome::Quit { Outcome::Go } else { outcome })
    }

    /// Writes the answer of a query into a new file, in the format of its extension.
    pub(super) fn export(&mut self, rest: &str) -> io::Result<Outcome> {
        let Some((file, query)) = first_word(rest).filter(|(_, query)| !query.is_empty()) else {
            return self.complain(
                &Error::new(CODE, ":export needs a file and a query")
                    .hint(":export people.csv MATCH (p:Person) RETURN p.name"),
            );
        };
        match self.exported(Path::new(file), query) {
            Ok(()) => Ok(Outcome::Go),
            Err(PrintError::Query(error)) => self.complain(&error),
            Err(PrintError::Output(error)) => {
                self.complain(&Error::new(CODE, format!("{file} cannot be written: {error}")))
            }
        }
    }

    fn exported(&mut self, path: &Path, query: &str) -> Result<(), PrintError> {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        let format = match ending {
            "csv" => Format::Csv,
            "json" => Format::Json,
            "jsonl" | "ndjson" => Format::Jsonl,
            "txt" => Format::Table,
            _ => {
                let error = Error::new(CODE, format!("{} does not say in which format", path.display()));
                return Err(error.hint("let its name end with .csv, .json, .jsonl or .txt").into());
            }
        };
        if world::files::exists(path) {
            return Err(Error::new(CODE, format!("{} is there already", path.display())).into());
        }
        self.talk.settle_interrupt();
        let look = Look { format, style: Style::plain(), timing: false };
        let mut answer = self.talk.query(query, &self.params)?;
        let mut out =
            world::files::create_writer(path).map_err(|error| Error::new(CODE, error.to_string()))?;
        let written = print_result(&mut *answer, &look, &mut out);
        drop(answer);
        drop(out);
        if written.is_err() {
            // Half a file is worse than none.
            let _ = world::files::remove_file(path);
            self.talk.break_transaction();
        }
        written.map(drop)?;
        Ok(self.note(&format!("written to {}", path.display()))?)
    }

    /// Shows the answer again every few seconds, until Ctrl-C, or so often: `:watch 0.5 10x MATCH (n) RETURN count(n)`.
    pub(super) fn watch(&mut self, rest: &str) -> io::Result<Outcome> {
        let (mut query, mut seconds, mut times) = (rest, WATCH_SECONDS[0], None);
        while let Some((word, after)) = first_word(query) {
            if let Ok(number) = word.parse::<f64>() {
                seconds = number;
            } else if let Some(Ok(number)) = word.strip_suffix('x').map(str::parse::<u64>) {
                times = Some(number);
            } else {
                break;
            }
            query = after;
        }
        if query.is_empty() || !(WATCH_SECONDS[1]..=WATCH_SECONDS[2]).contains(&seconds) {
            let error = Error::new(CODE, ":watch needs a query, and a time from 0.1 to 86400 seconds");
            return self.complain(&error.hint(":watch 2 MATCH (n) RETURN count(n)"));
        }
        self.talk.settle_interrupt();
        let mut round = 0;
        while times.is_none_or(|times| round < times) {
            if round > 0 {
                world::threads::sleep(Duration::from_secs_f64(seconds));
            }
            round += 1;
            if self.style.width.is_some() {
                // The screen is cleared, and the cursor goes to its corner.
                world::files::stdout().write_all(b"\x1b[2J\x1b[H")?;
            }
            match self.answer(query) {
                Ok(()) => {}
                Err(PrintError::Output(error)) => return Err(error),
                Err(PrintError::Query(error)) if error.code.ends_with(INTERRUPTED) => break,
                Err(PrintError::Query(error)) => {
                    self.talk.break_transaction();
                    return self.complain(&error);
                }
            }
        }
        self.talk.settle_interrupt();
        Ok(Outcome::Go)
    }
}

pub(super) fn first_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    Some(text.split_once(char::is_whitespace).map_or((text, ""), |(word, rest)| (word, rest.trim_start())))
}

fn unquoted(text: &str) -> &str {
    let inner = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    inner('\'').or_else(|| inner('"')).unwrap_or(text)
}
