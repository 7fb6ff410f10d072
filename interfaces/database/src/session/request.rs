//! One statement on its way through a session: its text, its limits, and the beginning of its summary.

use crate::cache::Planned;
use crate::notification::Notices;
use crate::result::RequestKind;
use crate::{Error, Notification, Params, Session, Summary};
use execute::{Prepared, QueryId};
use plan::StatementKind;
use plan::statement::Mode as StatementMode;
use std::sync::Arc;
use store::Snapshot;

/// A statement that is run.
pub(super) struct Request<'a> {
    pub(super) text: &'a str,
    pub(super) params: Arc<Params>,
    pub(super) bytes_max: u64,
    pub(super) deadline_ns: Option<u64>,
    pub(super) plan: &'a Prepared,
    /// Its notices, if they are reported.
    pub(super) notices: Option<&'a Notices>,
    pub(super) started_ns: u64,
    /// The query that stands for the whole statement, where this is a part of it.
    pub(super) part_of: Option<QueryId>,
}

impl<'a> Request<'a> {
    /// The same request with the same parameters, for another part of its statement.
    pub(super) fn again(&self) -> Request<'a> {
        Request { params: self.params.clone(), notices: None, ..*self }
    }
    /// The initial summary of its answer.
    pub(super) fn summary(&self, session: &Session, snapshot: &Snapshot) -> Summary {
        let notifications = self.notices.map_or_else(Vec::new, |notices| {
            session.searching(self.deadline_ns, snapshot, || notices.now(snapshot))
        });
        summary(self.plan, notifications, snapshot)
    }
}

impl Planned {
    /// The initial summary of an answer.
    pub(super) fn summary(&self, snapshot: &Snapshot) -> Summary {
        summary(&self.plan, self.notices.now(snapshot), snapshot)
    }
}

/// Those that the database hands in by itself begin with a space, and come later.
pub(super) fn check_parameters(planned: &Prepared, params: &Params) -> Result<(), Error> {
    let is_missing = |name: &&Arc<str>| !name.starts_with(' ') && !params.contains_key(*name);
    let Some(missing) = planned.statement.parameters.iter().find(is_missing) else {
        return Ok(());
    };
    let message = format!("the query needs the parameter ${missing}, which was not given");
    let mut given: Vec<String> = params.keys().map(|name| format!("${name}")).collect();
    given.sort();
    let hint = match given.is_empty() {
        true => "no parameter was given".into(),
        false => format!("given: {}", given.join(", ")),
    };
    Err(Error::new("Neo.ClientError.Statement.ParameterMissing", message).hint(hint))
}

fn summary(planned: &Prepared, notifications: Vec<Notification>, snapshot: &Snapshot) -> Summary {
    let kind = match &planned.statement.kind {
        StatementKind::Query { columns, .. } if planned.writes && columns.is_empty() => RequestKind::Write,
        StatementKind::Query { .. } if planned.writes => RequestKind::ReadWrite,
        StatementKind::Schema(_) => RequestKind::Schema,
        _ => RequestKind::Read,
    };
    Summary {
        notifications,
        profiled: planned.statement.mode == StatementMode::Profile,
        ..Summary::of(kind, snapshot)
    }
}
