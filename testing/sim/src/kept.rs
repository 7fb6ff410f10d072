//! Standing queries after a recovery: each must agree with the same query run anew.

use database::{Database, Event, Params, Value};
use std::collections::BTreeMap;
use std::time::Duration;

/// The longest wait for a standing query to come up to a commit.
const WAIT_MAX: Duration = Duration::from_secs(20);

/// Rows as text, and how often each is there.
type Rows = BTreeMap<String, isize>;

/// Compares a standing query, whose answer always has a row, with its text run anew.
///
/// # Errors
/// The difference, or the query that failed.
pub fn agrees(database: &Database, name: &str, text: &str) -> Result<(), String> {
    let told = told(database, name)?;
    let result = database.session().query(text, Params::new()).and_then(|result| result.rows());
    let mut asked = Rows::new();
    for row in result.map_err(|error| format!("{text}: {error}"))? {
        *asked.entry(format!("{:?}", row.iter().collect::<Vec<&Value>>())).or_default() += 1;
    }
    match told == asked {
        true => Ok(()),
        false => Err(format!("{name} tells {told:?}, and the answer is {asked:?}")),
    }
}

/// The whole answer as of the last commit.
fn told(database: &Database, name: &str) -> Result<Rows, String> {
    let commit_version = database.snapshot().commit_version();
    let subscribed = database.subscribe(name, &Params::new(), None, true);
    let subscription = subscribed.map_err(|error| format!("{name}: {error}"))?;
    let (mut rows, mut at) = (Rows::new(), None);
    while at.is_none_or(|at| at < commit_version) {
        let event = subscription.next(WAIT_MAX).map_err(|end| format!("{name}: {end:?}"))?;
        let Some(event) = event else {
            return Err(format!("{name} tells nothing up to version {commit_version}"));
        };
        at = Some(event.commit_version());
        if let Event::Snapshot { rows: new, .. } | Event::Changes { rows: new, .. } = event {
            for (row, difference) in new.iter() {
                let columns = subscription.columns().iter();
                let row: Vec<&Value> = columns.map(|column| &row.values()[column.at]).collect();
                *rows.entry(format!("{row:?}")).or_default() += difference;
            }
        }
    }
    rows.retain(|_, count| *count != 0);
    Ok(rows)
}
