//! The lists of scenarios that do not pass yet. They may only shrink.

use std::collections::BTreeMap;

use crate::gherkin::Scenario;
use crate::scenario::Outcome;

/// Parses a list: names of scenarios, and why each does not pass. One a line, `name: reason`; `#` begins a comment.
pub fn listed(text: &str) -> BTreeMap<&str, &str> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.split_once(": ").unwrap_or((line, ""))).collect()
}

/// Compares outcomes with a list; returns a report of everything that should not be, and prints the counts.
///
/// # Errors
/// A scenario fails that is not listed, a listed one passes, or a listed one does not exist.
pub fn check(name: &str, scenarios: &[Scenario], outcomes: &[Outcome], list: &str) -> Result<(), String> {
    let mut listed = listed(list);
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    let mut faults = Vec::new();
    for (scenario, outcome) in scenarios.iter().zip(outcomes) {
        let reason = listed.remove(scenario.id.as_str());
        match (outcome, reason) {
            (Outcome::Passed, None) => passed += 1,
            (Outcome::Passed, Some(_)) => {
                faults.push(format!("{} passes: take it off the list", scenario.id))
            }
            (Outcome::Failed(_), Some(reason)) if !reason.is_empty() => failed += 1,
            (Outcome::Failed(_), Some(_)) => {
                faults.push(format!("{} is listed without a reason", scenario.id))
            }
            (Outcome::Failed(why), None) => {
                faults.push(format!("{} · {}\n    {why}", scenario.id, scenario.title));
            }
            (Outcome::Skipped(_), None) => skipped += 1,
            (Outcome::Skipped(_), Some(_)) => faults.push(format!("{} is listed, but skipped", scenario.id)),
        }
    }
    faults.extend(listed.keys().map(|id| format!("{id} is listed, but does not exist")));
    println!("{name}: {passed} of {} pass, {failed} are listed, {skipped} skipped", scenarios.len());
    if faults.is_empty() {
        Ok(())
    } else {
        Err(format!("{name}: {} faults\n{}", faults.len(), faults.join("\n")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_may_only_shrink() {
        let scenario =
            |id: &str| Scenario { id: id.into(), title: String::new(), tags: Vec::new(), steps: Vec::new() };
        let scenarios = [scenario("a"), scenario("b")];
        let failed = || Outcome::Failed("why".into());
        let both = |a, b, list| check("t", &scenarios, &[a, b], list);
        assert!(both(Outcome::Passed, failed(), "# comment\nb: known").is_ok());
        for (a, b, list) in [
            (Outcome::Passed, failed(), ""),
            (Outcome::Passed, failed(), "b"),
            (Outcome::Passed, failed(), "a: x\nb: y"),
            (Outcome::Passed, Outcome::Passed, "c: gone"),
        ] {
            assert!(both(a, b, list).is_err(), "{list}");
        }
    }
}
