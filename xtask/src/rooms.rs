//! The rooms as they are (Cargo.toml files) and as they should be (the import table of ARCHITECTURE.md).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Room name to the rooms it imports.
pub type Imports = BTreeMap<String, BTreeSet<String>>;

/// Storeys from the ground up; a room may import rooms of its own storey and of those below.
pub const STOREYS: [&str; 5] = ["storage", "language", "engine", "doors", "trials"];

/// Reads `[dependencies]` of every room.
pub fn actual(root: &Path) -> (Imports, BTreeMap<String, usize>) {
    let mut imports = Imports::new();
    let mut storeys = BTreeMap::new();
    for (level, storey) in STOREYS.iter().enumerate() {
        for room in folders(&root.join(storey)) {
            let Ok(manifest) = std::fs::read_to_string(root.join(storey).join(&room).join("Cargo.toml"))
            else {
                continue;
            };
            storeys.insert(room.clone(), level);
            imports.insert(room, dependencies(&manifest));
        }
    }
    let rooms: BTreeSet<String> = imports.keys().cloned().collect();
    imports.values_mut().for_each(|found| found.retain(|name| rooms.contains(name)));
    (imports, storeys)
}

/// Reads the table under "Who may import whom": `| room | sentence | imports |`.
pub fn promised(architecture: &str) -> Imports {
    let table = architecture.lines().skip_while(|line| !line.starts_with("## Who may import whom")).skip(1);
    table
        .take_while(|line| !line.starts_with("## "))
        .filter(|line| line.starts_with("| `"))
        .filter_map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let names =
                |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_string).collect::<Vec<_>>();
            let room = names(cells.first()?).into_iter().next()?;
            Some((room, names(cells.get(2)?).into_iter().collect()))
        })
        .collect()
}

fn dependencies(manifest: &str) -> BTreeSet<String> {
    let section = manifest.lines().skip_while(|line| line.trim() != "[dependencies]").skip(1);
    section
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split(['.', '=', ' ']).next())
        .filter(|name| !name.is_empty() && !name.starts_with('#'))
        .map(str::to_string)
        .collect()
}

fn folders(path: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(path) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|e| e.path().is_dir())
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}
