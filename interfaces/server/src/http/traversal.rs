//! A Gremlin text as a statement of the Query API: one column, `result`, with a row for each object.
//!
//! The text is a transaction of its own. `accessMode` and open transactions are refused: a text may end them itself (`g.tx().commit()`).

use super::query::{Ending, QueryRequest, Stop, Writer};
use super::values::{write_hydrated, write_list};
use database::gremlin::GremlinOptions;
use database::{Error, Session};
use std::sync::Arc;

/// The one column.
const COLUMN: &str = "result";

/// Why the request cannot run as Gremlin, if so.
fn check(asked: &QueryRequest, ending: &Ending) -> Result<(), Error> {
    let message = match ending {
        Ending::Bookmark if asked.reads_only == Some(true) => "`accessMode` READ cannot be asked of Gremlin",
        Ending::Bookmark => return Ok(()),
        _ => "a transaction of the Query API takes no Gremlin",
    };
    let error = Error::new("Neo.ClientError.Request.Invalid", message);
    Err(error.hint(
        "ask it alone; `g.tx().begin()` and `g.tx().commit()` in one text hold several traversals together",
    ))
}

/// Runs a text and writes its objects as rows, repeated by their multiplicities.
pub(super) fn run(
    writer: &mut Writer<'_>,
    session: &mut Session,
    statement: &str,
    asked: &QueryRequest,
    ending: &Ending,
) -> Result<(), Stop> {
    check(asked, ending)?;
    let options = GremlinOptions { timeout: asked.timeout, ..GremlinOptions::default() };
    let mut rows = session.gremlin_text(statement, &asked.params, &options)?;
    let titles: Vec<Arc<str>> = if rows.is_silent() { Vec::new() } else { vec![COLUMN.into()] };
    writer.head(&titles);
    while let Some(objects) = rows.next_objects()? {
        for (object, bulk) in objects.into_iter().filter(|_| !titles.is_empty()) {
            for _ in 0..bulk {
                writer.record(|bytes, form| {
                    write_list(bytes, [&object], |bytes, object| write_hydrated(bytes, object, form));
                });
                writer.out.overflow()?;
            }
        }
        writer.flush_lines()?;
    }
    drop(rows);
    if session.in_transaction() {
        session.rollback()?;
        let message = "the text began a transaction and did not end it: nothing of it is kept";
        let error = Error::new("Neo.ClientError.Request.Invalid", message);
        return Err(error.hint("end it with `g.tx().commit()`").into());
    }
    writer.begin_tail();
    let commit_version = session.database().snapshot().commit_version();
    writer.close(session, ending, commit_version)
}
