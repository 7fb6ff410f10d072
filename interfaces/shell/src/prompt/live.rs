//! `:live`: the answer of a standing query on the screen, drawn anew after each commit that changed it.
//!
//! Idea: a subscription tells the whole answer first and differences after it; their sum is the answer now. Invariant: a row is kept while
//! it is in the answer once or more often, and no row is in it less than never. Cost: the rows of the answer in memory, at most
//! [`ROWS_KEPT_MAX`]; a drawing takes as many of them as the screen has lines.

use super::conversation::{Conversation, Outcome};
use super::files::first_word;
use crate::Style;
use crate::print::{INTERRUPTED, PrintError, print_table};
use crate::text::{cell_text, count_text, counted};
use database::Error;
use database::entity::Hydrated;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

/// Rows of an answer that is shown.
const ROWS_KEPT_MAX: usize = 100_000;
/// Lines of the screen that are not rows: two of titles, one below, one for the cursor.
const OTHER_LINES: usize = 4;
/// Columns of a subscription before those of the query, and where among them commit, difference and mark are.
const OWN_COLUMNS: usize = 4;
const COMMIT: usize = 0;
const DIFFERENCE: usize = 2;
const MARK: usize = 3;

const CODE: &str = "Tanglewood.ClientError.Shell.Command";

/// A row of the answer.
struct ViewRow {
    cells: Vec<Hydrated>,
    /// How often it is in the answer.
    times: i64,
    /// The commit with which it came last; none where it was there from the beginning.
    since: i64,
}

/// The answer as it is now.
#[derive(Default)]
struct View {
    /// By the text of their cells, so that equal rows are one and the order is that of the texts.
    rows: BTreeMap<Vec<String>, ViewRow>,
    commit: i64,
    came: u64,
    went: u64,
    /// Has the whole answer come, so that later rows are changes?
    has_begun: bool,
}

impl View {
    /// Takes in rows of the subscription; true where a commit is whole.
    fn take(&mut self, rows: Vec<Vec<Hydrated>>) -> Result<bool, Error> {
        let mut is_whole = false;
        for mut row in rows {
            let cells = row.split_off(OWN_COLUMNS.min(row.len()));
            let (commit, difference) = (int(&row, COMMIT), int(&row, DIFFERENCE));
            if commit != self.commit {
                (self.commit, self.came, self.went) = (commit, 0, 0);
            }
            let has_mark = !matches!(row.get(MARK), None | Some(Hydrated::Plain(database::Value::Null)));
            if difference != 0 {
                self.add(cells, difference);
            }
            is_whole |= has_mark;
            self.has_begun |= has_mark;
        }
        if self.rows.len() > ROWS_KEPT_MAX {
            let most = count_text(ROWS_KEPT_MAX as u64);
            return Err(Error::new(CODE, format!("the answer has more than {most} rows"))
                .hint("SUBSCRIBE tells the changes of any answer"));
        }
        Ok(is_whole)
    }

    fn add(&mut self, cells: Vec<Hydrated>, difference: i64) {
        let key: Vec<String> = cells.iter().map(cell_text).collect();
        let kept = self.rows.entry(key.clone()).or_insert(ViewRow { cells, times: 0, since: i64::MIN });
        kept.times += difference;
        debug_assert!(kept.times >= 0, "a row is in an answer less than never");
        match difference > 0 {
            _ if !self.has_begun => {}
            true => (self.came, kept.since) = (self.came + difference.unsigned_abs(), self.commit),
            false => self.went += difference.unsigned_abs(),
        }
        if kept.times <= 0 {
            self.rows.remove(&key);
        }
    }

    /// The first rows, each with a mark: `+` if the last commit brought it, and its multiplicity.
    fn shown(&self, most: usize) -> Vec<Vec<Hydrated>> {
        let row = |kept: &ViewRow| {
            let new = if kept.since == self.commit { "+" } else { "" };
            let often = if kept.times > 1 { format!("{new}×{}", kept.times) } else { new.to_string() };
            let cells = kept.cells.iter().cloned();
            std::iter::once(Hydrated::Plain(often.into())).chain(cells).collect()
        };
        self.rows.values().take(most).map(row).collect()
    }

    /// The number of rows, and the changes of the last commit.
    fn below(&self, shown: usize) -> String {
        let all: i64 = self.rows.values().map(|kept| kept.times).sum();
        let rows = counted(all.unsigned_abs(), "row", "rows");
        let more = if self.rows.len() > shown { format!(", {shown} shown") } else { String::new() };
        format!("{rows}{more} · commit {}: {} came, {} went", self.commit, self.came, self.went)
    }
}

fn int(row: &[Hydrated], at: usize) -> i64 {
    match row.get(at) {
        Some(Hydrated::Plain(database::Value::Int(int))) => *int,
        _ => 0,
    }
}

impl Conversation {
    /// Shows a standing query's answer until Ctrl-C, or so often: `:live 3x adults`.
    pub(super) fn live(&mut self, rest: &str) -> std::io::Result<Outcome> {
        let (name, times) = match first_word(rest) {
            Some((word, after)) => match word.strip_suffix('x').map(str::parse::<u64>) {
                Some(Ok(times)) if !after.is_empty() => (after, Some(times)),
                _ => (rest, None),
            },
            None => {
                let error = Error::new(CODE, ":live needs the name of a standing query");
                return self.complain(&error.hint("SHOW STANDING QUERIES lists them"));
            }
        };
        self.talk.settle_interrupt();
        let text = format!("SUBSCRIBE {name} SNAPSHOT");
        let outcome = match self.follow(&text, times) {
            Ok(()) => Ok(Outcome::Go),
            Err(PrintError::Output(error)) => Err(error),
            Err(PrintError::Query(error)) if error.code.ends_with(INTERRUPTED) => Ok(Outcome::Go),
            Err(PrintError::Query(error)) => {
                self.talk.break_transaction();
                self.complain(&error)
            }
        };
        self.talk.settle_interrupt();
        outcome
    }

    fn follow(&mut self, text: &str, times: Option<u64>) -> Result<(), PrintError> {
        let mut answer = self.talk.query(text, &self.params)?;
        let titles: Vec<Arc<str>> = answer.columns().into_iter().skip(OWN_COLUMNS).collect();
        let (mut view, mut drawn) = (View::default(), 0);
        while times.is_none_or(|times| drawn < times)
            && let Some(rows) = answer.next_rows()?
        {
            if view.take(rows)? {
                draw(&view, &titles, &self.style)?;
                drawn += 1;
            }
        }
        Ok(())
    }
}

fn draw(view: &View, titles: &[Arc<str>], style: &Style) -> std::io::Result<()> {
    let mut out = std::io::BufWriter::new(world::files::stdout());
    if style.width.is_some() {
        // The screen is cleared, and the cursor goes to its corner.
        out.write_all(b"\x1b[2J\x1b[H")?;
    }
    let rows = view.shown(style.height.map_or(usize::MAX, |lines| lines.saturating_sub(OTHER_LINES).max(1)));
    let titles: Vec<&str> = std::iter::once("").chain(titles.iter().map(|title| &**title)).collect();
    print_table(&titles, &rows, style, &mut out)?;
    writeln!(out, "{}", style.paint(crate::Ink::Quiet, &view.below(rows.len())))?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use database::Value;

    fn plain(values: impl IntoIterator<Item = Value>) -> Vec<Hydrated> {
        values.into_iter().map(Hydrated::Plain).collect()
    }

    fn change(commit: i64, difference: i64, name: &str) -> Vec<Hydrated> {
        plain([commit.into(), Value::Null, difference.into(), Value::Null, name.into()])
    }

    fn mark(commit: i64) -> Vec<Hydrated> {
        plain([commit.into(), Value::Null, 0_i64.into(), "m".into(), Value::Null])
    }

    fn check(view: &View, expected: &[(&str, &str)]) {
        let shown: Vec<(String, String)> =
            view.shown(9).iter().map(|row| (cell_text(&row[0]), cell_text(&row[1]))).collect();
        let expected: Vec<_> = expected.iter().map(|(a, b)| (a.to_string(), b.to_string())).collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn differences_add_up_to_the_answer() {
        let mut view = View::default();
        assert!(!view.take(vec![change(3, 1, "b"), change(3, 2, "a")]).unwrap());
        assert!(view.take(vec![mark(3)]).unwrap());
        check(&view, &[("×2", "a"), ("", "b")]);
        assert_eq!(view.below(9), "3 rows · commit 3: 0 came, 0 went");
        assert!(view.take(vec![change(4, -1, "a"), change(4, -1, "b"), change(4, 1, "c"), mark(4)]).unwrap());
        check(&view, &[("", "a"), ("+", "c")]);
        assert_eq!(view.below(2), "2 rows · commit 4: 1 came, 2 went");
        assert_eq!(view.below(1), "2 rows, 1 shown · commit 4: 1 came, 2 went");
        assert!(view.take(vec![change(6, -1, "a"), change(6, -1, "c"), mark(6)]).unwrap());
        check(&view, &[]);
        // A row that is short is no reason to panic.
        assert!(!view.take(vec![Vec::new()]).unwrap());
    }

    #[test]
    fn an_answer_may_be_so_large_and_no_larger() {
        let mut view = View::default();
        let rows = |from: usize, to: usize| (from..to).map(|at| change(1, 1, &at.to_string())).collect();
        assert!(view.take(rows(0, ROWS_KEPT_MAX)).is_ok());
        let error = view.take(rows(ROWS_KEPT_MAX, ROWS_KEPT_MAX + 1)).unwrap_err();
        assert!(error.to_string().contains("100,000 rows"), "{error}");
    }
}
