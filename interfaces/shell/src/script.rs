//! Where in a script a statement stands, so that its errors name the script's lines.

use database::Error;

/// A place in a script, both counted from 1; columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptPlace {
    /// The line.
    pub line: usize,
    /// The column.
    pub column: usize,
}

impl ScriptPlace {
    /// Where a script begins.
    pub const BEGIN: ScriptPlace = ScriptPlace { line: 1, column: 1 };

    /// The position after `bytes` bytes of a text that begins here.
    #[must_use]
    pub fn after(self, text: &str, bytes: usize) -> ScriptPlace {
        let before = &text[..bytes.min(text.len())];
        let lines = before.matches('\n').count();
        match before.rfind('\n') {
            Some(at) => ScriptPlace { line: self.line + lines, column: before[at + 1..].chars().count() + 1 },
            None => ScriptPlace { line: self.line, column: self.column + before.chars().count() },
        }
    }
    /// A position within a statement that begins here.
    fn within(self, line: usize, column: usize) -> ScriptPlace {
        match line {
            0 | 1 => ScriptPlace { line: self.line, column: self.column + column.saturating_sub(1) },
            _ => ScriptPlace { line: self.line + line - 1, column },
        }
    }
    /// The error of a statement that begins here, with lines and columns of the script.
    #[must_use]
    pub fn of_error(self, error: Error, script: &str) -> Error {
        let told = error.excerpt.as_deref().and_then(|excerpt| self.moved(excerpt, script));
        let excerpt = told.unwrap_or_else(|| {
            let place = format!("--> {script}, line {}, column {}", self.line, self.column);
            error.excerpt.iter().fold(place, |place, excerpt| format!("{place}\n{excerpt}"))
        });
        Error { excerpt: Some(excerpt), ..error }
    }
    /// An excerpt (`--> line 2, column 3`, the line behind its number, the marks below it) as one of the script.
    fn moved(self, excerpt: &str, script: &str) -> Option<String> {
        let mut lines = excerpt.lines();
        let (line, column) = lines.next()?.trim_start().strip_prefix("--> line ")?.split_once(", column ")?;
        let place = self.within(line.trim().parse().ok()?, column.trim().parse().ok()?);
        let number = place.line.to_string();
        let margin = " ".repeat(number.len());
        let mut moved = format!("{margin}--> {script}, line {}, column {}", place.line, place.column);
        for (at, line) in lines.enumerate() {
            let (_, shown) = line.split_once(" | ")?;
            moved.push_str(&format!("\n{} | {shown}", if at == 0 { &number } else { &margin }));
        }
        Some(moved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted_in_the_script() {
        let text = "RETURN 1;\n\n  RETURN 'ü', x;";
        let begin = ScriptPlace::BEGIN;
        assert_eq!(begin.after(text, 0), begin);
        assert_eq!(begin.after(text, text.find("RETURN 'ü'").unwrap()), ScriptPlace { line: 3, column: 3 });
        assert_eq!(begin.after(text, text.find('x').unwrap()), ScriptPlace { line: 3, column: 15 });
    }

    #[test]
    fn an_error_is_told_by_lines_of_the_script() {
        let at = ScriptPlace { line: 41, column: 5 };
        let excerpt = " --> line 1, column 8\n1 | RETURN x\n  |        ^".to_string();
        let error = Error { excerpt: Some(excerpt), ..Error::new("c", "m") };
        let told = at.of_error(error, "standard input").excerpt.unwrap();
        assert_eq!(told, "  --> standard input, line 41, column 12\n41 | RETURN x\n   |        ^");
        let excerpt = " --> line 3, column 8\n3 | RETURN x\n  |        ^".to_string();
        let error = Error { excerpt: Some(excerpt), ..Error::new("c", "m") };
        assert!(at.of_error(error, "s").excerpt.unwrap().starts_with("  --> s, line 43, column 8\n43 | "));
        let told = at.of_error(Error::new("c", "m"), "standard input").excerpt.unwrap();
        assert_eq!(told, "--> standard input, line 41, column 5");
    }
}
