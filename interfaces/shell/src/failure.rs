//! An error as people read it: code, message, the position in the text underlined, and a hint.

use crate::{Ink, Style};
use database::{Error, Notification, Severity};

/// `error[CODE]: message`, then the excerpt and `hint: …` where there are any; without a line break at the end.
pub fn failure(error: &Error, style: &Style) -> String {
    let mut out = format!("{}: {}", style.paint(Ink::Bad, &format!("error[{}]", error.code)), error.message);
    for line in error.excerpt.iter().flat_map(|excerpt| excerpt.lines()) {
        let is_marks = line.contains('^') && line.chars().all(|letter| " |^".contains(letter));
        out.push_str("\n  ");
        out.push_str(&if is_marks { style.paint(Ink::Bad, line) } else { line.to_string() });
    }
    if let Some(hint) = &error.hint {
        out.push_str(&format!("\n{}: {hint}", style.paint(Ink::Hint, "hint")));
    }
    out
}

/// A notification about a statement, as Bolt clients get it: `warning[CODE]: description`, and where.
pub fn notice(notice: &Notification, style: &Style) -> String {
    let kind = match notice.severity {
        Severity::Warning => "warning",
        Severity::Information => "note",
    };
    let code = notice.code.rsplit('.').next().unwrap_or(notice.code);
    let place = notice.position.map(|place| format!(" (line {}, column {})", place.line, place.column));
    let head = style.paint(Ink::Hint, &format!("{kind}[{code}]"));
    format!("{head}: {}{}", notice.description, place.unwrap_or_default())
}
