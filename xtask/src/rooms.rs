//! The rooms as they are (what `cargo metadata` tells) and as they should be (the import tables of ARCHITECTURE.md).

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Room name to the rooms it imports.
pub type Imports = BTreeMap<String, BTreeSet<String>>;

/// Storeys from the ground up; a room may import rooms of its own storey and of those below.
pub const STOREYS: [&str; 5] = ["storage", "language", "engine", "doors", "trials"];

/// Over which table the imports of rooms stand.
pub const IMPORTS: &str = "## Who may import whom";
/// Over which table stands what tests import beside.
pub const TESTS_IMPORT: &str = "## Whom tests import beside";

/// The rooms of the workspace.
#[derive(Default)]
pub struct Rooms {
    /// What a room imports in the product.
    pub imports: Imports,
    /// What its tests, examples and benches import beside.
    pub tests_import: Imports,
    /// On which storey it is; none of those outside the storeys.
    pub storeys: BTreeMap<String, usize>,
    /// Dependencies that a `[workspace.dependencies]` line names and no crate uses.
    pub unused_lines: Vec<String>,
}

/// Reads the crates of the workspace.
pub fn actual(root: &Path) -> Result<Rooms, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cargo metadata: {error}"))?;
    let told: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("cargo metadata: {error}: {}", String::from_utf8_lossy(&output.stderr)))?;
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).unwrap_or_default();
    Ok(read(&told, &manifest))
}

fn read(told: &Value, manifest: &str) -> Rooms {
    let texts = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_string();
    let packages = || told["packages"].as_array().into_iter().flatten();
    let root = texts(told, "workspace_root");
    let mut rooms_of: BTreeMap<String, String> = BTreeMap::new();
    let mut rooms = Rooms::default();
    for package in packages() {
        let path = texts(package, "manifest_path");
        let path = path.strip_prefix(&root).unwrap_or(&path).trim_matches('/').replace("Cargo.toml", "");
        let room = name_of(path.trim_matches('/'));
        let storey = STOREYS.iter().position(|storey| path.split('/').next() == Some(*storey));
        rooms.storeys.extend(storey.map(|level| (room.clone(), level)));
        rooms_of.insert(texts(package, "name"), room);
    }
    let mut used = BTreeSet::new();
    for package in packages() {
        let room = &rooms_of[&texts(package, "name")];
        let (mut imports, mut tests_import) = (BTreeSet::new(), BTreeSet::new());
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let name = texts(dependency, "name");
            used.extend([name.clone(), texts(dependency, "rename")]);
            // A crate of another workspace's registry may have the name of a room.
            let Some(import) = rooms_of.get(&name).filter(|_| dependency["source"].is_null()) else {
                continue;
            };
            match dependency["kind"].as_str() {
                Some("dev") => tests_import.insert(import.clone()),
                _ => imports.insert(import.clone()),
            };
        }
        tests_import.retain(|import| !imports.contains(import) && import != room);
        rooms.imports.insert(room.clone(), imports);
        rooms.tests_import.insert(room.clone(), tests_import);
    }
    rooms.unused_lines = workspace_lines(manifest).filter(|name| !used.contains(name)).collect();
    rooms
}

/// What a room is called, by its folder below the workspace.
fn name_of(path: &str) -> String {
    match path.split_once('/') {
        None if path.is_empty() => "tanglewood".to_string(),
        None => path.to_string(),
        Some(("examples", name)) => format!("{name}-examples"),
        Some((_, name)) => name.to_string(),
    }
}

/// Names under `[workspace.dependencies]`.
fn workspace_lines(manifest: &str) -> impl Iterator<Item = String> {
    let section = manifest.lines().skip_while(|line| line.trim() != "[workspace.dependencies]").skip(1);
    section
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.split_once(" = ").map(|(name, _)| name.trim().to_string()))
        .filter(|name| !name.starts_with('#'))
}

/// Reads the table under a heading: rows `| `room` | … | `import` `import` |`.
pub fn promised(architecture: &str, heading: &str) -> Imports {
    let table = architecture.lines().skip_while(|line| !line.starts_with(heading)).skip(1);
    table
        .take_while(|line| !line.starts_with("## "))
        .filter(|line| line.starts_with("| `"))
        .filter_map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let names =
                |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_string).collect::<Vec<_>>();
            let room = names(cells.first()?).into_iter().next()?;
            Some((room, names(cells.last()?).into_iter().collect()))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rooms_are_read_from_what_cargo_tells() {
        let told = serde_json::json!({"workspace_root": "/w", "packages": [
            {"name": "t", "manifest_path": "/w/Cargo.toml", "dependencies": [{"name": "t-low", "rename": "low", "source": null}]},
            {"name": "t-low", "manifest_path": "/w/storage/low/Cargo.toml", "dependencies": [
                {"name": "serde", "source": "registry"}, {"name": "t-ex", "source": null, "kind": "dev"}]},
            {"name": "t-ex", "manifest_path": "/w/examples/x/Cargo.toml", "dependencies": []},
        ]});
        let rooms = read(
            &told,
            "[workspace.dependencies]\nlow = { }\n# why\nserde = \"1\"\ngone = \"2\"\n[profile]\na = 1",
        );
        let of = |imports: &Imports, room: &str| imports[room].iter().cloned().collect::<Vec<_>>();
        assert_eq!(of(&rooms.imports, "tanglewood"), ["low"]);
        assert!(of(&rooms.imports, "low").is_empty());
        assert_eq!(of(&rooms.tests_import, "low"), ["x-examples"]);
        assert_eq!(rooms.storeys, BTreeMap::from([("low".to_string(), 0)]));
        assert_eq!(rooms.unused_lines, ["gone"]);
    }

    #[test]
    fn a_table_ends_with_its_section() {
        let page = "## A\n| `x` | what `it` is | `y` |\n| `y` | | |\n## B\n| `x` | `z` |\n";
        assert_eq!(promised(page, "## A")["x"], BTreeSet::from(["y".to_string()]));
        assert!(promised(page, "## A")["y"].is_empty());
        assert_eq!(promised(page, "## B")["x"], BTreeSet::from(["z".to_string()]));
    }
}
