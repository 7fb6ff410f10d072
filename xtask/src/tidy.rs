//! Project rules that are tests: the import table, sizes of files and functions, words that must not stand in the code, links in the
//! pages, places that would panic, assertions, circles of files, borders of folders, names of types, tests that nothing runs, the walk
//! through the architecture, the page that the server shows. Limits only ever go down.

use crate::assertions;
use crate::circles;
use crate::crates::{self, Imports};
use crate::facade;
use crate::folders;
use crate::names;
use crate::page;
use crate::panics;
use crate::product;
use crate::suites;
use crate::walk;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The most lines of a Rust file.
const FILE_LINES_MAX: usize = 900;
/// Share of files that must stay under [`FILE_LINES_USUAL`] lines, in percent.
const FILE_USUAL_PERCENT: usize = 85;
/// The usual limit of a file.
const FILE_LINES_USUAL: usize = 450;
/// Lines of a function that need a reason; the count of longer ones is a ratchet.
const FUNCTION_LINES_MAX: usize = 70;
/// Functions longer than [`FUNCTION_LINES_MAX`] today. Lower it when you shorten one.
const FUNCTIONS_LONG_MAX: usize = 16;
/// The attribute of each crate's root: no `unwrap` but in tests. Integration tests and examples are crates of their own.
const NO_UNWRAP: &str = "#![cfg_attr(not(test), deny(clippy::unwrap_used))]";
/// Written apart so that this file does not find itself.
const BANNED: [(&str, &str); 4] = [
    (concat!("todo", "!("), "finish it or file an issue"),
    (concat!("unimplemented", "!("), "finish it or refuse with an error"),
    (concat!("FIX", "ME"), "mend it now"),
    (concat!("#[", "ignore]"), "name the reason: #[ignore = \"soak: …\"]"),
];

/// Checks every rule; prints faults; true where there are none.
pub fn run(root: &Path) -> bool {
    let mut faults = Vec::new();
    import_table(root, &mut faults);
    facade::check(root, &mut faults);
    let sources = files(root, "rs");
    sizes(root, &sources, &mut faults);
    words(root, &sources, &mut faults);
    unwraps(root, &sources, &mut faults);
    links(root, &mut faults);
    panics::check(root, &sources, &mut faults);
    let product = product::read(root, &sources);
    suites::check(root, &sources, &mut faults);
    names::check(&product, &mut faults);
    assertions::check(&product, &mut faults);
    let crates = circles::read(&product);
    circles::check(&crates, &mut faults);
    folders::check(root, &crates, &mut faults);
    walk::check(root, &mut faults);
    page::check(root, &mut faults);
    faults.iter().for_each(|fault| println!("   {fault}"));
    faults.is_empty()
}

fn import_table(root: &Path, faults: &mut Vec<String>) {
    let Ok(page) = std::fs::read_to_string(root.join("ARCHITECTURE.md")) else {
        return faults.push("ARCHITECTURE.md is missing".into());
    };
    let actual = match crates::actual(root) {
        Ok(actual) => actual,
        Err(error) => return faults.push(error),
    };
    compare_imports(&crates::promised(&page, crates::IMPORTS), &actual.imports, crates::IMPORTS, faults);
    let with_some = |(package, imports): (&String, &BTreeSet<String>)| {
        (!imports.is_empty()).then(|| (package.clone(), imports.clone()))
    };
    let tests: Imports = actual.tests_import.iter().filter_map(with_some).collect();
    compare_imports(&crates::promised(&page, crates::TESTS_IMPORT), &tests, crates::TESTS_IMPORT, faults);
    for (package, imports) in &actual.imports {
        let above = |import: &&String| actual.layers.get(*import) > actual.layers.get(package);
        if actual.layers.contains_key(package) {
            let above = imports.iter().filter(above);
            faults.extend(above.map(|import| format!("{package} imports {import} from a layer above it")));
        }
    }
    let unused = actual.unused_lines.iter();
    faults.extend(unused.map(|name| format!("Cargo.toml: no crate uses the workspace's dependency {name}")));
    cycles(&actual.imports, faults);
}

/// Compares a table with the actual imports: each import is in it, and each of its entries is used.
fn compare_imports(promised: &Imports, actual: &Imports, table: &str, faults: &mut Vec<String>) {
    let none = BTreeSet::new();
    for (package, imports) in actual {
        let Some(allowed) = promised.get(package) else {
            faults.push(format!("crate {package} is not in ARCHITECTURE.md, {table}"));
            continue;
        };
        let extra = imports.difference(allowed);
        faults.extend(extra.map(|extra| {
            format!("{package} imports {extra}, which ARCHITECTURE.md, {table} does not allow")
        }));
    }
    for (package, allowed) in promised {
        let stale = allowed.difference(actual.get(package).unwrap_or(&none));
        faults.extend(
            stale.map(|stale| {
                format!("{package} does not import {stale}, which ARCHITECTURE.md, {table} says")
            }),
        );
        if !actual.contains_key(package) {
            faults.push(format!(
                "ARCHITECTURE.md, {table} names {package}, which does not exist or imports nothing"
            ));
        }
    }
}

fn cycles(imports: &Imports, faults: &mut Vec<String>) {
    fn visit<'a>(package: &'a str, imports: &'a Imports, trail: &mut Vec<&'a str>, faults: &mut Vec<String>) {
        if trail.contains(&package) {
            return faults
                .push(format!("crates import each other in a circle: {} > {package}", trail.join(" > ")));
        }
        trail.push(package);
        imports[package].iter().for_each(|next| visit(next, imports, trail, faults));
        trail.pop();
    }
    imports.keys().for_each(|package| visit(package, imports, &mut Vec::new(), faults));
}

fn sizes(root: &Path, sources: &[PathBuf], faults: &mut Vec<String>) {
    let (mut large, mut long_functions) = (0, Vec::new());
    for file in sources {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let lines = text.lines().count();
        large += usize::from(lines > FILE_LINES_USUAL);
        if lines > FILE_LINES_MAX {
            faults.push(format!(
                "{}: {lines} lines; name its inner parts (limit {FILE_LINES_MAX})",
                shown(root, file)
            ));
        }
        if !is_test(file) {
            long_functions.extend(
                functions_over(&text).map(|(line, n)| format!("{}:{line} {n} lines", shown(root, file))),
            );
        }
    }
    if large * 100 > sources.len() * (100 - FILE_USUAL_PERCENT) {
        faults.push(format!("{large} of {} files are over {FILE_LINES_USUAL} lines", sources.len()));
    }
    if long_functions.len() > FUNCTIONS_LONG_MAX {
        faults.push(format!(
            "{} functions are over {FUNCTION_LINES_MAX} lines (limit {FUNCTIONS_LONG_MAX}):\n     {}",
            long_functions.len(),
            long_functions.join("\n     ")
        ));
    }
}

/// Functions by indentation, as rustfmt lays them out: from `fn` to the closing brace of the same depth.
fn functions_over(text: &str) -> impl Iterator<Item = (usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let depth = |line: &str| line.len() - line.trim_start().len();
    let mut long = Vec::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| opens_function(line)) {
        // A trait's function may have no body.
        let signature_end = lines[at..].iter().find(|line| line.ends_with(['{', ';', '}']));
        if signature_end.is_some_and(|line| line.ends_with(';')) {
            continue;
        }
        let close = format!("{}}}", " ".repeat(depth(line)));
        if let Some(length) = lines[at..].iter().position(|other| *other == close)
            && length > FUNCTION_LINES_MAX
        {
            long.push((at + 1, length));
        }
    }
    long.into_iter()
}

/// Does a function begin in this line? Whoever may see it, and whether it is `const`, `async`, `unsafe` or `extern`.
fn opens_function(line: &str) -> bool {
    let mut code = line.trim_start();
    if let Some(behind) = code.strip_prefix("pub") {
        // `pub`, `pub(crate)`, `pub(in crate::a)`.
        code =
            behind.strip_prefix('(').and_then(|scope| scope.split_once(')')).map_or(behind, |(_, code)| code);
        code = code.trim_start();
    }
    loop {
        let before = code;
        for word in ["default ", "const ", "async ", "unsafe ", "safe ", "extern "] {
            code = code.strip_prefix(word).unwrap_or(code);
        }
        // The ABI of `extern "C"`.
        code = code.strip_prefix('"').and_then(|abi| abi.split_once("\" ")).map_or(code, |(_, code)| code);
        if code == before {
            return code.starts_with("fn ");
        }
    }
}

fn words(root: &Path, sources: &[PathBuf], faults: &mut Vec<String>) {
    for file in sources {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        for (word, advice) in BANNED {
            if let Some(line) = text.lines().position(|line| line.contains(word)) {
                faults.push(format!("{}:{}: `{word}`: {advice}", shown(root, file), line + 1));
            }
        }
        if !text.starts_with("//!") && !is_test(file) && !text.starts_with("#!") {
            faults.push(format!("{}: says nothing of what it is for; open it with //!", shown(root, file)));
        }
    }
}

/// Clippy denies `unwrap` in each crate of the workspace, and no file allows it again.
fn unwraps(root: &Path, sources: &[PathBuf], faults: &mut Vec<String>) {
    for file in sources {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let is_root = file.ends_with("src/lib.rs") || file.ends_with("src/main.rs");
        if is_root && !text.lines().any(|line| line == NO_UNWRAP) {
            faults.push(format!("{}: say at its head: {NO_UNWRAP}", shown(root, file)));
        }
        if let Some(line) =
            text.lines().position(|line| line.contains(concat!("allow(clippy::", "unwrap_used")))
        {
            faults.push(format!(
                "{}:{}: `unwrap` is for tests, and needs no allowance there: say why it cannot fail (`expect`)",
                shown(root, file),
                line + 1
            ));
        }
    }
}

/// Relative links of the pages lead somewhere.
fn links(root: &Path, faults: &mut Vec<String>) {
    for page in files(root, "md") {
        let text = std::fs::read_to_string(&page).unwrap_or_default();
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = target.split('#').next().unwrap_or_default();
            let outside = path.is_empty() || path.contains("://") || path.starts_with("mailto:");
            if !outside && !page.parent().is_some_and(|folder| folder.join(path).exists()) {
                faults.push(format!("{}: the link to {target} leads nowhere", shown(root, &page)));
            }
        }
    }
}

pub fn is_test(file: &Path) -> bool {
    let test_name = file.file_stem().is_some_and(|stem| stem.to_string_lossy().contains("test"));
    test_name || file.components().any(|part| part.as_os_str() == "tests")
}

fn shown(root: &Path, file: &Path) -> String {
    file.strip_prefix(root).unwrap_or(file).display().to_string()
}

fn files(root: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root.to_path_buf()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name());
            if path.is_dir() {
                // A template is the begin of others' projects, and belongs to none of the crates.
                let is_others = ["target", "node_modules", "template"].iter().any(|other| name == *other);
                if !is_others && !name.to_string_lossy().starts_with('.') {
                    open.push(path);
                }
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_seen_whatever_stands_before_them() {
        let functions = [
            "fn f() {",
            "    pub fn f() {",
            "pub(in crate::a) const fn f() {",
            "pub const unsafe fn f() {",
            "async fn f() {",
            "unsafe extern \"C\" fn f() {",
        ];
        assert!(functions.iter().all(|line| opens_function(line)));
        let others = ["pub const F: fn() = f;", "public fn", "let f: fn() = g;", "const fnord: u8 = 1;"];
        assert!(!others.iter().any(|line| opens_function(line)));
    }

    #[test]
    fn long_functions_are_measured_to_their_brace() {
        let body = "        a();\n".repeat(FUNCTION_LINES_MAX);
        let text = format!(
            "trait A {{\n    const fn f() {{\n{body}    }}\n    fn g(\n    );\n    fn h() {{\n{body}    }}\n}}\n"
        );
        let lines = FUNCTION_LINES_MAX + 1;
        assert_eq!(functions_over(&text).collect::<Vec<_>>(), [(2, lines), (lines + 5, lines)]);
    }

    #[test]
    fn a_table_of_imports_holds_both_ways() {
        let of = |pairs: &[(&str, &[&str])]| -> Imports {
            let set = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
            pairs.iter().map(|(package, imports)| (package.to_string(), set(imports))).collect()
        };
        let mut faults = Vec::new();
        let promised = of(&[("a", &["b", "c"]), ("d", &[])]);
        compare_imports(&promised, &of(&[("a", &["b", "x"]), ("e", &[])]), "T", &mut faults);
        assert_eq!(
            faults,
            [
                "a imports x, which ARCHITECTURE.md, T does not allow",
                "crate e is not in ARCHITECTURE.md, T",
                "a does not import c, which ARCHITECTURE.md, T says",
                "ARCHITECTURE.md, T names d, which does not exist or imports nothing",
            ]
        );
    }
}
