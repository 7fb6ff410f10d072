//! Wings: the folders of a large crate, and which of them may use which. The tables under "Wings" in ARCHITECTURE.md say so, one for each
//! crate that has them; a line of a table that no file uses is as much an error as a use that no line allows.
//!
//! A wing is a module of the crate's root with all that is below it. What a file uses is read off its paths (see `circles`).

use crate::circles::Uses;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Under which heading the tables stand.
const HEADING: &str = "## Wings";

/// Which wing uses which.
type Borders = BTreeMap<String, BTreeSet<String>>;

/// Holds the wings of every crate that has a table against it.
pub fn check(root: &Path, crates: &BTreeMap<String, Uses>, faults: &mut Vec<String>) {
    let page = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap_or_default();
    let tables = tables(&page);
    if tables.is_empty() {
        faults.push(format!("ARCHITECTURE.md has no table under {HEADING}"));
    }
    for (room, table) in &tables {
        match crates.get(room) {
            Some(uses) => compare(room, table, &borders(uses), faults),
            None => {
                faults.push(format!("ARCHITECTURE.md has wings of {room}, which is no crate of the product"))
            }
        }
    }
}

/// The tables of the page, by crate: a heading `### `crate``, then rows `| `wing` | sentence | `used` `used` |`.
fn tables(page: &str) -> BTreeMap<String, Borders> {
    let lines = page.lines().skip_while(|line| *line != HEADING).skip(1);
    let lines = lines.take_while(|line| !line.starts_with("## "));
    let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_string).collect::<Vec<_>>();
    let mut tables: BTreeMap<String, Borders> = BTreeMap::new();
    let mut room = String::new();
    for line in lines {
        if let Some(heading) = line.strip_prefix("### ") {
            room = heading.trim_matches('`').to_string();
        } else if line.starts_with("| `") {
            let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
            let used = cells.last().map_or_else(Vec::new, |cell| names(cell));
            for wing in names(cells[0]) {
                tables.entry(room.clone()).or_default().entry(wing).or_default().extend(used.iter().cloned());
            }
        }
    }
    tables
}

/// What wings use of others, by what their files use.
fn borders(uses: &Uses) -> Borders {
    let wing = |file: &str| file.split("::").next().unwrap_or(file).to_string();
    let mut borders = Borders::new();
    for (file, used) in uses {
        let own = wing(file);
        let others = used.iter().map(|file| wing(file)).filter(|other| *other != own);
        borders.entry(own.clone()).or_default().extend(others);
    }
    borders
}

fn compare(room: &str, table: &Borders, actual: &Borders, faults: &mut Vec<String>) {
    for (wing, used) in actual {
        let Some(allowed) = table.get(wing) else {
            faults.push(format!("{room}: `{wing}` is in no row of its table of wings in ARCHITECTURE.md"));
            continue;
        };
        let extra = used.difference(allowed);
        faults.extend(extra.map(|other| {
            format!("{room}: `{wing}` uses `{other}`, which its table of wings does not allow")
        }));
        let stale = allowed.difference(used);
        faults.extend(stale.map(|other| {
            format!("{room}: `{wing}` uses nothing of `{other}`, which its table of wings names")
        }));
    }
    let gone = table.keys().filter(|wing| !actual.contains_key(*wing));
    faults
        .extend(gone.map(|wing| format!("{room}: its table of wings names `{wing}`, which does not exist")));
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "## Wings\n### `storage/x`\n| wing | what | uses |\n|---|---|---|\n| `a` | low | |\n| `b` | high | `a` `c` |\n\
                        ## Else\n| `d` | other | `a` |\n";

    fn faults(uses: &[(&str, &[&str])]) -> Vec<String> {
        let of =
            |(file, used): &(&str, &[&str])| (file.to_string(), used.iter().map(|u| u.to_string()).collect());
        let (tables, mut faults) = (tables(PAGE), Vec::new());
        compare("storage/x", &tables["storage/x"], &borders(&uses.iter().map(of).collect()), &mut faults);
        faults
    }

    #[test]
    fn a_border_holds_both_ways() {
        assert_eq!(tables(PAGE).len(), 1);
        let high: &[&str] = &["a", "b::two", "c"];
        let faults =
            faults(&[("a", &[]), ("a::one", &["a::two", "b::one"]), ("a::two", &[]), ("b::one", high)]);
        assert_eq!(faults, ["storage/x: `a` uses `b`, which its table of wings does not allow"]);
    }

    #[test]
    fn what_is_not_used_or_not_there_is_told() {
        let faults = faults(&[("b::one", &["a::one"]), ("e", &[])]);
        assert_eq!(
            faults,
            [
                "storage/x: `b` uses nothing of `c`, which its table of wings names",
                "storage/x: `e` is in no row of its table of wings in ARCHITECTURE.md",
                "storage/x: its table of wings names `a`, which does not exist",
            ]
        );
    }
}
