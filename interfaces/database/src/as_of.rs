//! `AS OF`: from the version that a statement names to the snapshot of that version.
//!
//! A version is the number of a commit, or a point in time; a text is read as a point in time, in UTC unless it names a zone.

use crate::{Database, Error, Params};
use execute::watch::{self, Limited};
use expression::{Layout, Request, Scope, compile};
use model::temporal::Kind;
use model::temporal::build::{convert, from_text};
use model::{Batch, Value};
use plan::Expr;
use std::time::Duration;
use store::Snapshot;
use transact::Moment;

/// Time that the expression of a version may take.
const VERSION_TIME_MAX: Duration = Duration::from_secs(1);
/// Bytes that evaluating the version may hold.
const VERSION_BYTES_MAX: u64 = 16 << 20;

/// The snapshot of `AS OF version`.
pub(crate) fn snapshot(
    database: &Database,
    version: &Expr,
    params: &Params,
    present: &Snapshot,
) -> Result<Snapshot, Error> {
    let request = Request::begin(params.clone(), None);
    let compiled = compile(version, &Layout::default(), present.catalog(), params).map_err(bad)?;
    let value = {
        // The statement has not begun: what names its version has a time and a memory of its own.
        let _watched = watch::enter(Limited::new(VERSION_TIME_MAX, VERSION_BYTES_MAX));
        compiled.evaluate_row(&Batch::unit(), 0, &Scope::new(present, &request)).map_err(bad)?
    };
    database.snapshot_at(moment(&value)?)
}

/// The moment that a value names.
pub(crate) fn moment(value: &Value) -> Result<Moment, Error> {
    let time = match value {
        Value::Int(commit_version) => {
            return u64::try_from(*commit_version)
                .map(Moment::CommitVersion)
                .map_err(|_| bad("a commit version is not negative"));
        }
        Value::String(text) => from_text(Kind::DateTime, text).map_err(bad)?,
        Value::Date(_) | Value::LocalDateTime(_) | Value::DateTime(_) => {
            convert(Kind::DateTime, value).map_err(bad)?
        }
        other => {
            let kind = other.value_type().name();
            return Err(bad(format!("a version is a commit's number or a point in time, not a {kind}")));
        }
    };
    let Value::DateTime(time) = &time else { return Err(bad("a point in time was expected")) };
    let micros = i128::from(time.seconds) * 1_000_000 + i128::from(time.nanos / 1_000);
    Ok(Moment::Time(u64::try_from(micros.max(0)).unwrap_or(u64::MAX)))
}

fn bad(what: impl ToString) -> Error {
    Error::new("Neo.ClientError.Statement.ArgumentError", format!("AS OF: {}", what.to_string()))
        .hint("AS OF 1234, AS OF datetime('2026-11-20T10:00:00Z'), or a parameter with one of these")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_commit_versions_or_times() {
        assert_eq!(moment(&7.into()).unwrap(), Moment::CommitVersion(7));
        assert_eq!(moment(&"1970-01-01T00:00:01.5Z".into()).unwrap(), Moment::Time(1_500_000));
        assert_eq!(moment(&"1970-01-01T01:00:02+01:00".into()).unwrap(), Moment::Time(2_000_000));
        assert_eq!(moment(&"1970-01-02".into()).unwrap(), Moment::Time(86_400_000_000));
        assert_eq!(moment(&"1960-01-02".into()).unwrap(), Moment::Time(0));
        for wrong in [Value::from(-1), "yesterday".into(), true.into(), Value::Null] {
            assert!(moment(&wrong).unwrap_err().hint.is_some());
        }
    }
}
