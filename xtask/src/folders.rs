//! The folders of a large crate, and which of them may use which, by the tables under "Folders of large crates" in ARCHITECTURE.md, one for each such
//! crate; a line of a table that no file uses is as much an error as a use that no line allows.
//!
//! A folder is a module of the crate's root with all that is below it. The uses of a file are read off its paths (see `circles`).

use crate::circles::Uses;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Under which heading the tables stand.
const HEADING: &str = "## Folders of large crates";

/// Which folder uses which.
type Borders = BTreeMap<String, BTreeSet<String>>;

/// Holds the folders of every crate that has a table against it.
pub fn check(root: &Path, crates: &BTreeMap<String, Uses>, faults: &mut Vec<String>) {
    let page = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap_or_default();
    let tables = tables(&page);
    if tables.is_empty() {
        faults.push(format!("ARCHITECTURE.md has no table under {HEADING}"));
    }
    for (package, table) in &tables {
        match crates.get(package) {
            Some(uses) => compare(package, table, &borders(uses), faults),
            None => faults
                .push(format!("ARCHITECTURE.md has folders of {package}, which is no crate of the product")),
        }
    }
}

/// The tables of the page, by crate: a heading `### `crate``, then rows `| `folder` | sentence | `used` `used` |`.
fn tables(page: &str) -> BTreeMap<String, Borders> {
    let lines = page.lines().skip_while(|line| *line != HEADING).skip(1);
    let lines = lines.take_while(|line| !line.starts_with("## "));
    let names = |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_string).collect::<Vec<_>>();
    let mut tables: BTreeMap<String, Borders> = BTreeMap::new();
    let mut package = String::new();
    for line in lines {
        if let Some(heading) = line.strip_prefix("### ") {
            package = heading.trim_matches('`').to_string();
        } else if line.starts_with("| `") {
            let cells: Vec<&str> = line.trim_matches('|').split('|').collect();
            let used = cells.last().map_or_else(Vec::new, |cell| names(cell));
            for folder in names(cells[0]) {
                tables
                    .entry(package.clone())
                    .or_default()
                    .entry(folder)
                    .or_default()
                    .extend(used.iter().cloned());
            }
        }
    }
    tables
}

/// The uses between folders, from those between files.
fn borders(uses: &Uses) -> Borders {
    let folder = |file: &str| file.split("::").next().unwrap_or(file).to_string();
    let mut borders = Borders::new();
    for (file, used) in uses {
        let own = folder(file);
        let others = used.iter().map(|file| folder(file)).filter(|other| *other != own);
        borders.entry(own.clone()).or_default().extend(others);
    }
    borders
}

fn compare(package: &str, table: &Borders, actual: &Borders, faults: &mut Vec<String>) {
    for (folder, used) in actual {
        let Some(allowed) = table.get(folder) else {
            faults.push(format!(
                "{package}: `{folder}` is in no row of its table of folders in ARCHITECTURE.md"
            ));
            continue;
        };
        let extra = used.difference(allowed);
        faults.extend(extra.map(|other| {
            format!("{package}: `{folder}` uses `{other}`, which its table of folders does not allow")
        }));
        let stale = allowed.difference(used);
        faults.extend(stale.map(|other| {
            format!("{package}: `{folder}` uses nothing of `{other}`, which its table of folders names")
        }));
    }
    let gone = table.keys().filter(|folder| !actual.contains_key(*folder));
    faults.extend(
        gone.map(|folder| format!("{package}: its table of folders names `{folder}`, which does not exist")),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "## Folders of large crates\n### `storage/x`\n| folder | what | uses |\n|---|---|---|\n| `a` | low | |\n| `b` | high | `a` `c` |\n\
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
        assert_eq!(faults, ["storage/x: `a` uses `b`, which its table of folders does not allow"]);
    }

    #[test]
    fn what_is_not_used_or_not_there_is_told() {
        let faults = faults(&[("b::one", &["a::one"]), ("e", &[])]);
        assert_eq!(
            faults,
            [
                "storage/x: `b` uses nothing of `c`, which its table of folders names",
                "storage/x: `e` is in no row of its table of folders in ARCHITECTURE.md",
                "storage/x: its table of folders names `a`, which does not exist",
            ]
        );
    }
}
