//! The crates as they are (from `cargo metadata`) and as they should be (the import tables of ARCHITECTURE.md).

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Crate name to the crates it imports.
pub type Imports = BTreeMap<String, BTreeSet<String>>;

/// Layers from the ground up; a crate may import crates of its own layer and of those below.
pub const LAYERS: [&str; 5] = ["storage", "language", "engine", "interfaces", "testing"];

/// Over which table the imports of crates stand.
pub const IMPORTS: &str = "## Who may import whom";
/// The heading of the table of imports of tests.
pub const TESTS_IMPORT: &str = "## Whom tests import beside";

/// The crates of the workspace.
#[derive(Default)]
pub struct Crates {
    /// The imports of a crate in the product.
    pub imports: Imports,
    /// The further imports of its tests, examples and benches.
    pub tests_import: Imports,
    /// On which layer it is; none of those outside the layers.
    pub layers: BTreeMap<String, usize>,
    /// Dependencies that a `[workspace.dependencies]` line names and no crate uses.
    pub unused_lines: Vec<String>,
}

/// Reads the crates of the workspace.
pub fn actual(root: &Path) -> Result<Crates, String> {
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

fn read(told: &Value, manifest: &str) -> Crates {
    let texts = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_string();
    let packages = || told["packages"].as_array().into_iter().flatten();
    let root = texts(told, "workspace_root");
    let mut crates_of: BTreeMap<String, String> = BTreeMap::new();
    let mut crates = Crates::default();
    for package in packages() {
        let path = texts(package, "manifest_path");
        let path = path.strip_prefix(&root).unwrap_or(&path).trim_matches('/').replace("Cargo.toml", "");
        let name = name_of(path.trim_matches('/'));
        let layer = LAYERS.iter().position(|layer| path.split('/').next() == Some(*layer));
        crates.layers.extend(layer.map(|level| (name.clone(), level)));
        crates_of.insert(texts(package, "name"), name);
    }
    let mut used = BTreeSet::new();
    for package in packages() {
        let own = &crates_of[&texts(package, "name")];
        let (mut imports, mut tests_import) = (BTreeSet::new(), BTreeSet::new());
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let name = texts(dependency, "name");
            used.extend([name.clone(), texts(dependency, "rename")]);
            // A crate of another workspace's registry may have the name of one of ours.
            let Some(import) = crates_of.get(&name).filter(|_| dependency["source"].is_null()) else {
                continue;
            };
            match dependency["kind"].as_str() {
                Some("dev") => tests_import.insert(import.clone()),
                _ => imports.insert(import.clone()),
            };
        }
        tests_import.retain(|import| !imports.contains(import) && import != own);
        crates.imports.insert(own.clone(), imports);
        crates.tests_import.insert(own.clone(), tests_import);
    }
    crates.unused_lines = workspace_lines(manifest).filter(|name| !used.contains(name)).collect();
    crates
}

/// The name of a crate, from its folder below the workspace.
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

/// Reads the table under a heading: rows `| `crate` | … | `import` `import` |`.
pub fn promised(architecture: &str, heading: &str) -> Imports {
    let table = architecture.lines().skip_while(|line| !line.starts_with(heading)).skip(1);
    table
        .take_while(|line| !line.starts_with("## "))
        .filter(|line| line.starts_with("| `"))
        .filter_map(|line| {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let names =
                |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_string).collect::<Vec<_>>();
            let package = names(cells.first()?).into_iter().next()?;
            Some((package, names(cells.last()?).into_iter().collect()))
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
        let crates = read(
            &told,
            "[workspace.dependencies]\nlow = { }\n# why\nserde = \"1\"\ngone = \"2\"\n[profile]\na = 1",
        );
        let of = |imports: &Imports, package: &str| imports[package].iter().cloned().collect::<Vec<_>>();
        assert_eq!(of(&crates.imports, "tanglewood"), ["low"]);
        assert!(of(&crates.imports, "low").is_empty());
        assert_eq!(of(&crates.tests_import, "low"), ["x-examples"]);
        assert_eq!(crates.layers, BTreeMap::from([("low".to_string(), 0)]));
        assert_eq!(crates.unused_lines, ["gone"]);
    }

    #[test]
    fn a_table_ends_with_its_section() {
        let page = "## A\n| `x` | what `it` is | `y` |\n| `y` | | |\n## B\n| `x` | `z` |\n";
        assert_eq!(promised(page, "## A")["x"], BTreeSet::from(["y".to_string()]));
        assert!(promised(page, "## A")["y"].is_empty());
        assert_eq!(promised(page, "## B")["x"], BTreeSet::from(["z".to_string()]));
    }
}
