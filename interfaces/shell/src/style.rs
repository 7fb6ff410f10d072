//! Colours and width of the terminal. Colours only on a terminal, and never against `NO_COLOR`.

use std::io::IsTerminal;

/// The style of output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// May colours be used?
    pub colour: bool,
    /// Columns of the terminal; absent where it is none.
    pub width: Option<usize>,
    /// Lines of the terminal; absent where it is none.
    pub height: Option<usize>,
}

/// The kind of a piece of text, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// The most important text.
    Strong,
    /// Text of little importance: frames, times.
    Quiet,
    /// Words of the language.
    Keyword,
    /// Text in quotes.
    Quoted,
    /// Labels and types.
    Name,
    /// It went well.
    Good,
    /// It went wrong.
    Bad,
    /// A hint.
    Hint,
}

impl Ink {
    fn code(self) -> &'static str {
        match self {
            Ink::Strong => "1",
            Ink::Quiet => "2",
            Ink::Keyword => "34",
            Ink::Quoted => "32",
            Ink::Name => "36",
            Ink::Good => "32",
            Ink::Bad => "1;31",
            Ink::Hint => "36",
        }
    }
}

impl Style {
    /// Neither colours nor a width.
    pub fn plain() -> Style {
        Style::default()
    }
    /// The style of standard output.
    pub fn of_stdout() -> Style {
        let stdout = std::io::stdout();
        Style::of(stdout.is_terminal(), terminal_size::terminal_size_of(&stdout))
    }
    /// The style of standard error.
    pub fn of_stderr() -> Style {
        let stderr = std::io::stderr();
        Style::of(stderr.is_terminal(), terminal_size::terminal_size_of(&stderr))
    }
    fn of(is_terminal: bool, size: Option<(terminal_size::Width, terminal_size::Height)>) -> Style {
        let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        Style {
            colour: is_terminal && !dumb && !set("NO_COLOR"),
            width: size.filter(|_| is_terminal).map(|(width, _)| usize::from(width.0)),
            height: size.filter(|_| is_terminal).map(|(_, height)| usize::from(height.0)),
        }
    }
    /// The text in the colour of `ink`, where colours are allowed.
    pub fn paint(&self, ink: Ink, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\x1b[{}m{text}\x1b[0m", ink.code())
        } else {
            text.to_string()
        }
    }
}
