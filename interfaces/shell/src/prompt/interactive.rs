//! The shell at a terminal: line editing, history, completion, and Ctrl-C, which ends the running query and nothing else.

use super::complete::Vocabulary;
use super::conversation::{Conversation, Outcome};
use super::history;
use super::options::ShellOptions;
use crate::highlight::highlight;
use crate::{Ink, Style};
use rustyline::completion::Completer;
use rustyline::error::ReadlineError;
use rustyline::highlight::{CmdKind, Highlighter};
use rustyline::hint::Hinter;
use rustyline::history::DefaultHistory;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{CompletionType, Config, Context, Editor, Helper};
use std::borrow::Cow;
use std::io;

const PROMPT: &str = "tanglewood> ";
const PROMPT_IN_TRANSACTION: &str = "tanglewood*> ";

pub(crate) fn run(mut conversation: Conversation) -> io::Result<bool> {
    let mut editor = editor(&conversation).map_err(io::Error::other)?;
    let history = history::file();
    if let Some(file) = &history {
        // A history that cannot be read is none.
        let _ = editor.load_history(file);
    }
    let interrupt = conversation.talk.interrupter();
    // Where another handler stands already, Ctrl-C ends the process: what was committed is safe.
    let _ = ctrlc::set_handler(move || interrupt());
    conversation.note(":help lists commands; statements end with a semicolon")?;
    loop {
        if let Some(helper) = editor.helper_mut() {
            helper.vocabulary.refresh(&mut conversation);
        }
        let prompt = if conversation.talk.in_transaction() { PROMPT_IN_TRANSACTION } else { PROMPT };
        let input = match editor.readline(prompt) {
            Ok(input) => input,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => break,
            Err(error) => return Err(io::Error::other(error)),
        };
        if input.trim().is_empty() {
            continue;
        }
        // A full or unwritable history is no reason to stop.
        let _ = editor.add_history_entry(input.trim_end());
        if let Some(file) = &history {
            let _ = editor.append_history(file);
        }
        // An interruption that came too late for the statement before is not meant for this one.
        conversation.talk.settle_interrupt();
        if answer(&mut conversation, &input)? == Outcome::Quit {
            break;
        }
    }
    conversation.farewell()?;
    Ok(true)
}

fn answer(conversation: &mut Conversation, input: &str) -> io::Result<Outcome> {
    if input.trim_start().starts_with(':') {
        return conversation.command(input);
    }
    conversation.run_rest(input)?;
    Ok(Outcome::Go)
}

fn editor(conversation: &Conversation) -> rustyline::Result<Editor<Assistant, DefaultHistory>> {
    let config = Config::builder()
        .max_history_size(history::ENTRIES_MAX)?
        .history_ignore_dups(true)?
        .history_ignore_space(true)
        .completion_type(CompletionType::List)
        .build();
    let mut editor = Editor::with_config(config)?;
    let (options, style) = (conversation.options, conversation.style);
    editor.set_helper(Some(Assistant { vocabulary: Vocabulary::default(), options, style }));
    Ok(editor)
}

/// Callbacks of the line editor.
struct Assistant {
    vocabulary: Vocabulary,
    options: ShellOptions,
    style: Style,
}

impl Helper for Assistant {}

impl Hinter for Assistant {
    type Hint = String;
}

impl Completer for Assistant {
    type Candidate = String;
    fn complete(
        &self,
        line: &str,
        position: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(self.vocabulary.candidates(&line[..position]))
    }
}

impl Validator for Assistant {
    /// A command is complete at once; statements are once a semicolon or an empty line ends them.
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let input = context.input();
        let is_command = input.trim_start().starts_with(':');
        let pieces = (self.options.split)(input);
        let is_ended = pieces.last().is_none_or(|last| last.terminated);
        let after_empty_line = input.ends_with('\n');
        Ok(if is_command || is_ended || after_empty_line {
            ValidationResult::Valid(None)
        } else {
            ValidationResult::Incomplete
        })
    }
}

impl Highlighter for Assistant {
    fn highlight<'l>(&self, line: &'l str, _position: usize) -> Cow<'l, str> {
        Cow::Owned(highlight(line, &self.style))
    }
    fn highlight_prompt<'b, 's: 'b, 'p: 'b>(&'s self, prompt: &'p str, _default: bool) -> Cow<'b, str> {
        Cow::Owned(self.style.paint(Ink::Strong, prompt))
    }
    fn highlight_char(&self, _line: &str, _position: usize, _kind: CmdKind) -> bool {
        self.style.colour
    }
}
