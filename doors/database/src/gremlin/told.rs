//! `explain()` and `profile()`: how a traversal runs, as text.

use super::planned::PlannedTraversal;
use crate::profile::Profiling;
use crate::{Database, Error, profile};
use gremlin::{Instruction, Traversal, shape};
use plan::statement::Mode;
use std::fmt::Write as _;
use std::sync::Arc;
use store::Snapshot;

/// What is told of a traversal that the algebra cannot say.
const MACHINE: &str =
    "The algebra cannot say this traversal: the traverser machine goes through its steps.\n";

/// The traversal without an `explain()` or `profile()` at its end, if this is there.
pub(crate) fn without(word: &str, traversal: &Traversal) -> Option<Traversal> {
    let (last, before) = traversal.steps.split_last()?;
    (&*last.name == word && last.arguments.is_empty() && !before.is_empty())
        .then(|| Traversal { source: traversal.source.clone(), steps: before.to_vec() })
}

/// The steps, one a line; and where they become a plan, the plan with estimates and the constants it is given.
pub(crate) fn explained(
    database: &Database,
    traversal: &Traversal,
    snapshot: &Snapshot,
    machine_only: bool,
) -> Result<String, Error> {
    let mut text = format!("{traversal}\n");
    let planned = match machine_only {
        true => None,
        false => database.plan_gremlin(traversal, snapshot)?,
    };
    let Some(planned) = planned else {
        gremlin::check(traversal)?;
        text += MACHINE;
        steps(&traversal.steps, 1, &mut text);
        return Ok(text);
    };
    for (place, constant) in shape::constants(traversal).into_iter().enumerate() {
        let _ = writeln!(text, "${} = {:?}", shape::parameter(place).trim(), constant.value());
    }
    let shown = Profiling::of(&planned.planned, snapshot).plain();
    Ok(text + &shown)
}

fn steps(all: &[Instruction], depth: usize, text: &mut String) {
    for step in all {
        let _ = writeln!(text, "{:width$}{step}", "", width = 2 * depth);
    }
}

/// A plan whose run is measured.
pub(crate) fn measured(
    planned: &PlannedTraversal,
    snapshot: &Snapshot,
) -> (PlannedTraversal, profile::Profiling) {
    let mut statement = planned.planned.statement.clone();
    statement.mode = Mode::Profile;
    let planned = PlannedTraversal {
        planned: Arc::new(crate::cache::Planned::new(statement, false, snapshot)),
        result: planned.result.clone(),
    };
    let profiling = Profiling::of(&planned.planned, snapshot);
    (planned, profiling)
}
