//! `explain()` and `profile()`: how a traversal runs, as text.

use super::outcome::AnswerError;
use super::planned::{PlannedTraversal, Plans};
use execute::profiling::Profiling;
use gremlin::{Argument, Instruction, Metrics, Traversal, shape};
use plan::explain::PlanDescription;
use plan::statement::Mode;
use std::fmt::Write as _;
use store::Snapshot;

/// The report on a traversal that the algebra cannot express.
const MACHINE: &str =
    "The algebra cannot say this traversal: the traverser machine goes through its steps.\n";

/// Letters of a step's name that a table shows.
const NAME_LETTERS_MAX: usize = 60;

/// The traversal without an `explain()` or `profile()` at its end, if this is there.
pub fn without(word: &str, traversal: &Traversal) -> Option<Traversal> {
    let (last, before) = traversal.steps.split_last()?;
    (&*last.name == word && last.arguments.is_empty() && !before.is_empty())
        .then(|| Traversal { source: traversal.source.clone(), steps: before.to_vec() })
}

/// The traversal without a `profile()` at its end, or without the two steps that put its metrics aside and fetch them.
pub fn unprofiled(traversal: &Traversal) -> Option<Traversal> {
    let name = |step: &Instruction| step.arguments.first().and_then(Argument::value).cloned();
    if let [before @ .., profile, cap] = traversal.steps.as_slice()
        && (&*profile.name, &*cap.name) == ("profile", "cap")
        && name(profile).is_some()
        && name(profile) == name(cap)
    {
        return Some(Traversal { source: traversal.source.clone(), steps: before.to_vec() });
    }
    without("profile", traversal)
}

/// Counters of each operator of a plan: as text, and one by one.
pub fn measures(profiling: &Profiling, nodes: &[execute::NodeProfile]) -> (String, Vec<Metrics>) {
    let (text, tree) = profiling.describe(nodes);
    let mut parts = Vec::new();
    operators(&tree, nodes, &mut parts);
    (text, parts)
}

fn operators(tree: &PlanDescription, nodes: &[execute::NodeProfile], parts: &mut Vec<Metrics>) {
    // What comes first in a traversal is deepest in its plan.
    tree.children.iter().for_each(|child| operators(child, nodes, parts));
    let arguments: Vec<String> = tree
        .arguments
        .iter()
        .filter(|(key, _)| !matches!(*key, "Rows" | "Time"))
        .map(|(_, value)| value.clone())
        .collect();
    let (rows, duration_ns) = nodes.get(tree.number).map_or((0, 0), |node| (node.rows_out, node.cpu_ns));
    parts.push(Metrics {
        id: tree.number.to_string().into(),
        name: format!("{}({})", tree.name, arguments.join(", ")).into(),
        duration_ns,
        elements: rows,
        traversers: rows,
    });
}

/// The machine's steps with their counters, one a line.
pub fn table(parts: &[Metrics]) -> String {
    let mut text = MACHINE.to_string();
    let width = parts.iter().map(|part| part.name.chars().count().min(NAME_LETTERS_MAX)).max().unwrap_or(0);
    for part in parts {
        let name: String = part.name.chars().take(NAME_LETTERS_MAX).collect();
        let _ = writeln!(
            text,
            "  {name:width$}  {:>10} traversers  {:>10} objects  {:>8} us",
            part.traversers,
            part.elements,
            part.duration_ns / 1_000
        );
    }
    text
}

/// The steps, one a line; and where they become a plan, the plan with estimates and its constants.
pub fn explained(
    plans: &Plans,
    traversal: &Traversal,
    snapshot: &Snapshot,
    machine_only: bool,
) -> Result<String, AnswerError> {
    let mut text = format!("{traversal}\n");
    let planned = match machine_only {
        true => None,
        false => plans.plan(traversal, snapshot)?,
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
pub fn measured(planned: &PlannedTraversal, snapshot: &Snapshot) -> (PlannedTraversal, Profiling) {
    let mut statement = planned.planned.statement.clone();
    statement.mode = Mode::Profile;
    let again = execute::Prepared::new(statement, false, snapshot);
    let planned = PlannedTraversal::new(again, planned.result.clone(), snapshot);
    let profiling = Profiling::of(&planned.planned, snapshot);
    (planned, profiling)
}
