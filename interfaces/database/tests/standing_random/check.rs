//! A standing query and the same query run anew, over a list of commits.

use crate::commits::Commit;
use crate::grammar::Query;
use std::collections::BTreeMap;
use std::time::Duration;
use tanglewood_database::{
    Database, Error, Event, Limits, Options, Params, Row, Session, Subscription, SubscriptionEnd, Value,
};

/// Rows as text, each with how often it is there.
pub type Rows = BTreeMap<String, isize>;

/// How long the query may take that is asked anew; one that takes longer is compared no more.
const ASKED_MAX: Duration = Duration::from_secs(5);
/// How long a commit may take to be told.
const TOLD_MAX: Duration = Duration::from_secs(60);

fn number(float: f64) -> String {
    if float.is_nan() {
        return String::from("NaN");
    }
    // Not the last digits: sums of squares depend on their order.
    let rounded = format!("{float:.9e}").parse::<f64>().unwrap_or(float);
    if rounded == 0.0 { String::from("0") } else { format!("{rounded}") }
}

/// A value as text: what is equal to DISTINCT is one text.
pub fn shown(value: &Value, is_bag: bool) -> String {
    match value {
        Value::Int(int) if int.unsigned_abs() < 1 << 53 => number(*int as f64),
        Value::Float(float) => number(*float),
        Value::List(list) => {
            let mut all: Vec<String> = list.iter().map(|value| shown(value, false)).collect();
            if is_bag {
                all.sort();
            }
            format!("[{}]", all.join(", "))
        }
        Value::Map(map) => {
            let all: Vec<String> =
                map.iter().map(|(key, value)| format!("{key}: {}", shown(value, false))).collect();
            format!("{{{}}}", all.join(", "))
        }
        other => format!("{other:?}"),
    }
}

fn row<'v>(values: impl Iterator<Item = &'v Value>, bags: &[bool]) -> String {
    let all: Vec<String> = values.zip(bags).map(|(value, is_bag)| shown(value, *is_bag)).collect();
    all.join(" | ")
}

/// The answer now.
pub fn asked(session: &mut Session, query: &Query, params: &Params) -> Result<Rows, Error> {
    let mut rows = Rows::new();
    let limits = Limits { timeout: Some(ASKED_MAX), ..Limits::default() };
    for values in session.query_within(&query.text, params.clone(), &limits)?.rows()? {
        *rows.entry(row(values.iter(), &query.bags)).or_insert(0) += 1;
    }
    Ok(rows)
}

/// A subscriber, and what it has been told.
pub struct Reader {
    pub subscription: Subscription,
    pub rows: Rows,
    /// Nothing was read yet where there is none.
    pub commit_version: Option<u64>,
}

impl Reader {
    pub fn of(database: &Database, name: &str, params: &Params) -> Result<Reader, Error> {
        let subscription = database.subscribe(name, params, None, true)?;
        Ok(Reader { subscription, rows: Rows::new(), commit_version: None })
    }
    pub fn take(&mut self, rows: &[(Row, isize)], bags: &[bool]) {
        for (values, difference) in rows {
            let columns = self.subscription.columns().iter();
            let row = row(columns.map(|column| &values.values()[column.at]), bags);
            *self.rows.entry(row).or_insert(0) += difference;
        }
        self.rows.retain(|_, count| *count != 0);
    }
    /// Reads what is told up to this commit.
    pub fn read_to(&mut self, commit_version: u64, bags: &[bool]) -> Result<(), SubscriptionEnd> {
        while self.commit_version.is_none_or(|at| at < commit_version) {
            let event = self.subscription.next(TOLD_MAX)?.expect("told in time");
            match &event {
                Event::Snapshot { rows, .. } | Event::Changes { rows, .. } => self.take(rows, bags),
                Event::Progress { .. } => {}
            }
            self.commit_version = Some(event.commit_version());
        }
        Ok(())
    }
}

/// What became of a query.
#[derive(Debug)]
pub enum Outcome {
    Same,
    /// It cannot be kept, or not be asked in time.
    Refused(String),
    /// Both fail.
    Failed,
    /// The answers differ.
    Differs(String),
}

/// A standing query with its reader.
pub struct Kept {
    pub query: Query,
    pub name: String,
    pub params: Params,
    pub reader: Option<Reader>,
}

fn difference(told: &Rows, asked: &Rows) -> String {
    let mut text = String::new();
    for (row, count) in told {
        if asked.get(row) != Some(count) {
            text.push_str(&format!("  told {count} x {row}\n"));
        }
    }
    for (row, count) in asked {
        if told.get(row) != Some(count) {
            text.push_str(&format!("  asked {count} x {row}\n"));
        }
    }
    text
}

impl Kept {
    /// Makes the query and its reader.
    pub fn make(database: &Database, name: &str, query: &Query, params: &Params) -> Result<Kept, Outcome> {
        let mut session = database.session();
        let asked = asked(&mut session, query, params);
        match database.create_standing(name, &query.text) {
            Err(error) if error.code == "Tanglewood.ClientError.Standing.Failed" && asked.is_err() => {
                return Err(Outcome::Failed);
            }
            Err(error) if error.code == "Tanglewood.ClientError.Standing.Unsupported" => {
                return Err(match (&error.hint, &asked) {
                    (None, _) => Outcome::Differs(format!("refused without a hint: {error}")),
                    _ => Outcome::Refused(error.message),
                });
            }
            Err(error) => {
                return Err(match asked {
                    Err(other) if other.code == error.code => Outcome::Refused(error.message),
                    _ => Outcome::Differs(format!("creation fails: {error}, asked: {asked:?}")),
                });
            }
            Ok(()) => {}
        }
        let reader = Reader::of(database, name, params)
            .map_err(|error| Outcome::Differs(format!("no reader: {error}")))?;
        Ok(Kept {
            query: query.clone(),
            name: name.to_string(),
            params: params.clone(),
            reader: Some(reader),
        })
    }
    /// Compares what was told with what is asked now. After anything but `Same` it is compared no more.
    pub fn compare(&mut self, database: &Database, session: &mut Session) -> Outcome {
        let commit_version = database.snapshot().commit_version();
        let asked = asked(session, &self.query, &self.params);
        let Some(reader) = &mut self.reader else { return Outcome::Failed };
        let outcome = match (reader.read_to(commit_version, &self.query.bags), asked) {
            (Ok(()), Ok(asked)) if reader.rows == asked => return Outcome::Same,
            (Ok(()), Ok(asked)) => Outcome::Differs(difference(&reader.rows, &asked)),
            (Ok(()), Err(error)) if error.code.contains("TimedOut") => Outcome::Refused(error.message),
            // What is pruned does not fail.
            (Ok(()), Err(_)) => return Outcome::Same,
            (Err(SubscriptionEnd::Failed(_)), Err(_)) => Outcome::Failed,
            (Err(end), Ok(asked)) => Outcome::Differs(format!("it ended: {end:?}; asked: {asked:?}")),
            (Err(end), Err(error)) => Outcome::Differs(format!("it ended: {end:?}; asked: {error}")),
        };
        self.reader = None;
        outcome
    }
}

/// What becomes of the query over these commits; it is made after the first `before` of them.
pub fn replay(query: &Query, params: &Params, commits: &[Commit], before: usize) -> Result<(), Outcome> {
    let options = Options { executors: Some(1), ..Options::default() };
    let database = Database::open(tanglewood_database::MEMORY, options).expect("it opens");
    let mut session = database.session();
    for commit in &commits[..before] {
        let _ = commit.run(&mut session);
    }
    let mut kept = Kept::make(&database, "q", query, params)?;
    for commit in [None].into_iter().chain(commits[before..].iter().map(Some)) {
        if let Some(commit) = commit {
            let _ = commit.run(&mut session);
        }
        match kept.compare(&database, &mut session) {
            Outcome::Same => {}
            outcome => return Err(outcome),
        }
    }
    Ok(())
}

/// How it differs, if it does.
fn differs(query: &Query, params: &Params, commits: &[Commit], before: usize) -> Option<String> {
    match replay(query, params, commits, before) {
        Err(Outcome::Differs(why)) => Some(why),
        _ => None,
    }
}

/// The shortest list of commits found over which the query still differs, as text.
pub fn shrunk(query: &Query, params: &Params, commits: &[Commit], before: usize) -> String {
    let (mut commits, mut before) = (commits.to_vec(), before);
    let Some(mut why) = differs(query, params, &commits, before) else {
        return String::from("a replay with this query alone does not differ");
    };
    let mut size = commits.len().div_ceil(2).max(1);
    let mut left = 400;
    loop {
        let mut at = 0;
        while at < commits.len() && left > 0 {
            left -= 1;
            let end = (at + size).min(commits.len());
            let mut fewer = commits.clone();
            fewer.drain(at..end);
            let fewer_before = before - before.min(end).saturating_sub(at);
            match differs(query, params, &fewer, fewer_before) {
                Some(now) => (commits, before, why) = (fewer, fewer_before, now),
                None => at = end,
            }
        }
        if size == 1 {
            break;
        }
        size = size.div_ceil(2);
    }
    let mut text = String::new();
    for (number, commit) in commits.iter().enumerate() {
        if number == before {
            text.push_str("-- the query is made\n");
        }
        let back = if commit.is_rolled_back { " (rolled back)" } else { "" };
        text.push_str(&format!("{}{back};\n", commit.statements.join("; ")));
    }
    format!("{text}{why}")
}
