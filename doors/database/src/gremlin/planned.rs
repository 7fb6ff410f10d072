//! Plans of traversals, kept among those of Cypher's texts.

use crate::cache::Planned;
use crate::{Database, Error};
use gremlin::{ResultKind, Traversal};
use plan::StatementKind;
use std::sync::Arc;
use store::Snapshot;

/// What no text of Cypher begins with: the key under which a traversal's plan is kept.
const PREFIX: &str = "\u{1}gremlin ";

/// A traversal's plan.
pub(crate) struct PlannedTraversal {
    pub planned: Arc<Planned>,
    pub result: ResultKind,
}

impl Database {
    /// The plan of a traversal, from the cache or made now; none where the algebra cannot say it.
    pub(crate) fn plan_gremlin(
        &self,
        text: &str,
        traversal: &Traversal,
        snapshot: &Snapshot,
    ) -> Result<Option<PlannedTraversal>, Error> {
        let key = format!("{PREFIX}{text}");
        if let Some(planned) = self.kept_plan(&key, snapshot) {
            let result = result_of(&planned);
            return Ok(Some(PlannedTraversal { planned, result }));
        }
        gremlin::check(traversal)?;
        let Some(lowered) = gremlin::lower(traversal) else { return Ok(None) };
        let planning = execute::planning::SnapshotPlanning::new(snapshot.clone());
        let statement = plan::optimize(lowered.statement, &planning)?;
        let planned = Arc::new(Planned::new(statement, false, snapshot));
        self.keep_plan(&key, planned.clone());
        Ok(Some(PlannedTraversal { planned, result: lowered.result }))
    }
}

/// How rows are read, from the columns they have.
fn result_of(planned: &Planned) -> ResultKind {
    let StatementKind::Query { columns, .. } = &planned.statement.kind else { return ResultKind::Objects };
    match columns.as_slice() {
        [(title, _)] if &**title == "count" => ResultKind::Count,
        [_] => ResultKind::Objects,
        _ => ResultKind::Counts,
    }
}
