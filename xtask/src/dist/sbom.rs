//! The content of a binary: each crate with version, licence and checksum, as CycloneDX 1.5 (JSON). Crates are those that cargo resolves for the
//! machine and the features; checksums are those of `Cargo.lock`.

use super::binary::Machine;
use super::{done, output, version};
use crate::{cargo_path, root};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// One crate.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Component {
    name: String,
    version: String,
    licence: String,
}

/// Writes a list for each binary that was made.
pub fn make(made: &[Machine], folder: &Path) -> bool {
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).unwrap_or_default();
    let sums = checksums(&lock);
    made.iter().all(|machine| {
        let Some(tree) = tree(*machine) else { return false };
        let components: BTreeSet<Component> = tree.lines().filter_map(component).collect();
        let path = folder.join(format!("tanglewood-{}-{}.cdx.json", version(), machine.name()));
        println!("   {} components", components.len());
        components.len() > 1 && done(&path, std::fs::write(&path, document(&components, &sums)))
    })
}

/// Crates that are linked, without build-time ones.
fn tree(machine: Machine) -> Option<String> {
    let format = "{p}\t{l}";
    output(
        Command::new(cargo_path())
            .args(["tree", "--package", "tanglewood", "--edges", "normal,no-proc-macro", "--prefix", "none"])
            .args(["--target", machine.triple(), "--format", format])
            .current_dir(root()),
    )
}

/// `name v1.2.3 (folder)`, a tab, the licence; perhaps `(*)` behind it.
fn component(line: &str) -> Option<Component> {
    let (package, licence) = line.split_once('\t')?;
    let mut words = package.split(' ');
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
    let licence = licence.trim_end_matches("(*)").trim().replace('/', " OR ");
    Some(Component { name: name.into(), version: version.into(), licence })
}

/// Checksums by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let value = |block: &str, key: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
        line.and_then(|rest| rest.strip_suffix('"')).map(str::to_string)
    };
    let blocks = lock.split("[[package]]").skip(1);
    blocks
        .filter_map(|block| {
            Some(((value(block, "name")?, value(block, "version")?), value(block, "checksum")?))
        })
        .collect()
}

fn document(components: &BTreeSet<Component>, sums: &BTreeMap<(String, String), String>) -> String {
    let shown: Vec<String> = components
        .iter()
        .filter(|component| component.name != "tanglewood")
        .map(|component| {
            let Component { name, version, licence } = component;
            let sum = sums.get(&(name.clone(), version.clone()));
            let hash = sum.map_or(String::new(), |sum| {
                format!(",\"hashes\":[{{\"alg\":\"SHA-256\",\"content\":{}}}]", quoted(sum))
            });
            let licence = match licence.is_empty() {
                true => String::new(),
                false => format!(",\"licenses\":[{{\"expression\":{}}}]", quoted(licence)),
            };
            let (name, version) = (quoted(name), quoted(version));
            let url = quoted(&format!("pkg:cargo/{}@{}", component.name, component.version));
            format!(
                "{{\"type\":\"library\",\"bom-ref\":{url},\"name\":{name},\"version\":{version},\"purl\":{url}{licence}{hash}}}"
            )
        })
        .collect();
    format!(
        "{{\"bomFormat\":\"CycloneDX\",\"specVersion\":\"1.5\",\"version\":1,\"metadata\":{{\"component\":{{\"type\":\"application\",\
         \"bom-ref\":\"tanglewood\",\"name\":\"tanglewood\",\"version\":{}}}}},\n\"components\":[\n{}\n]}}\n",
        quoted(version()),
        shown.join(",\n")
    )
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_cargo_is_a_component() {
        let of = |name: &str, version: &str, licence: &str| {
            Some(Component { name: name.into(), version: version.into(), licence: licence.into() })
        };
        assert_eq!(
            component("memchr v2.8.3\tUnlicense OR MIT (*)"),
            of("memchr", "2.8.3", "Unlicense OR MIT")
        );
        assert_eq!(component("x v0.1.0 (/a/b)\tMIT/Apache-2.0"), of("x", "0.1.0", "MIT OR Apache-2.0"));
        assert_eq!(component(""), None);
    }

    #[test]
    fn checksums_come_from_the_lock_file() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"ff\"\n\n[[package]]\nname = \"own\"\nversion = \"0.1.0\"\n";
        let sums = checksums(lock);
        assert_eq!(sums.get(&("a".into(), "1.0.0".into())).map(String::as_str), Some("ff"));
        assert_eq!(sums.len(), 1);
        let components = [component("a v1.0.0\tMIT").expect("a line of cargo")].into();
        let document = document(&components, &sums);
        assert!(
            document.contains(
                "\"purl\":\"pkg:cargo/a@1.0.0\",\"licenses\":[{\"expression\":\"MIT\"}],\"hashes\""
            )
        );
    }
}
