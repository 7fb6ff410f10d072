//! Circles of files: those of a crate that use each other, directly or by way of others, so that none can be understood or moved alone. The
//! rule is that none has more than [`CIRCLE_FILES_MAX`].
//!
//! The uses of a file are read off its paths: `crate::…`, `super::…`, `self::…`, and those that begin with a module that it declares; not in its
//! tests. `lib.rs` is a table of contents, so a name that it re-exports is attributed to its origin. Declaring a module is no use of it.

use crate::product::{ProductFile, above_tests};
use std::collections::{BTreeMap, BTreeSet};

/// Files of a circle that can still be read as one.
const CIRCLE_FILES_MAX: usize = 3;

/// A module's path within its crate.
type Module = Vec<String>;

/// Of a crate, which file uses which, by the names of their modules.
pub type Uses = BTreeMap<String, BTreeSet<String>>;

/// The uses between the files of each crate of the product.
pub fn read(product: &[ProductFile]) -> BTreeMap<String, Uses> {
    let mut crates: BTreeMap<String, BTreeMap<Module, String>> = BTreeMap::new();
    for file in product {
        crates.entry(file.package.clone()).or_default().insert(module(&file.inner), code(&file.text));
    }
    crates.into_iter().map(|(package, files)| (package, uses(&files))).collect()
}

/// Tells each crate whose largest circle has too many files.
pub fn check(crates: &BTreeMap<String, Uses>, faults: &mut Vec<String>) {
    for (package, uses) in crates {
        let circle = largest(uses);
        if circle.len() > CIRCLE_FILES_MAX {
            faults.push(format!(
                "{package}: a circle of {} files that use each other, at most {CIRCLE_FILES_MAX} may: {}; put what they share into a file below them",
                circle.len(),
                circle.join(", ")
            ));
        }
    }
}

/// The path of a module by that of its file below `src`; empty for the root.
fn module(inner: &str) -> Module {
    let name = inner.trim_end_matches(".rs");
    let name = name.strip_suffix("/mod").unwrap_or(name);
    match name {
        "lib" | "main" => Module::new(),
        _ => name.split('/').map(str::to_string).collect(),
    }
}

/// A file without its comments and its tests, and without the paths of `pub(in …)`: visibility is no use.
fn code(text: &str) -> String {
    let code = above_tests(text).map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    code.map(|line| line.replace("pub(in crate::", "pub(in ")).collect::<Vec<_>>().join("\n")
}

/// Which file uses which, by the names of their modules; without the root.
fn uses(files: &BTreeMap<Module, String>) -> Uses {
    let handed_on: BTreeMap<String, Module> = files.get(&Module::new()).map_or_else(BTreeMap::new, |root| {
        let all = paths(root, &Module::new(), files).into_iter();
        all.filter_map(|path| Some((path.last()?.clone(), path))).collect()
    });
    let mut uses = Uses::new();
    for (own, text) in files.iter().filter(|(own, _)| !own.is_empty()) {
        let found = uses.entry(own.join("::")).or_default();
        for path in paths(text, own, files) {
            let path = match path.first() {
                Some(first) if !files.contains_key(&path[..1]) => handed_on.get(first).cloned(),
                _ => Some(path),
            };
            let Some(used) = path.and_then(|path| file_of(&path, files)) else { continue };
            if used != *own {
                found.insert(used.join("::"));
            }
        }
    }
    uses
}

/// The file that a path leads into: that of its longest beginning that is a module.
fn file_of(path: &[String], files: &BTreeMap<Module, String>) -> Option<Module> {
    let lengths = (1..=path.len()).rev();
    lengths.map(|length| path[..length].to_vec()).find(|beginning| files.contains_key(beginning))
}

/// All paths into the crate that a file names, from the crate's root on.
fn paths(text: &str, own: &Module, files: &BTreeMap<Module, String>) -> Vec<Module> {
    let mut found = Vec::new();
    let is_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut last = ' ';
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let word: &str = &rest[..rest.find(|letter| !is_word(letter)).unwrap_or(rest.len())];
        if word.is_empty() {
            // A path begins behind anything but a path.
            last = letter;
            rest = &rest[letter.len_utf8()..];
            continue;
        }
        let behind = &rest[word.len()..];
        // Behind a point stands a method, not a module: `.collect::<…>()`.
        if behind.starts_with("::") && !matches!(last, ':' | '.') {
            let mut start = own.clone();
            let begins = match word {
                "crate" => {
                    start.clear();
                    true
                }
                "super" => start.pop().is_some(),
                "self" => true,
                child => {
                    start.push(child.to_string());
                    files.contains_key(&start)
                }
            };
            if begins {
                tree(&behind[2..], &start, &mut found);
            }
        }
        last = 'a';
        rest = behind;
    }
    found
}

/// The paths of a tree such as `a::{b, c::d}` at the beginning of a text, below `start`; how much of the text they take.
fn tree(text: &str, start: &Module, found: &mut Vec<Module>) -> usize {
    let trimmed = text.trim_start();
    let skipped = text.len() - trimmed.len();
    if let Some(group) = trimmed.strip_prefix('{') {
        let mut at = 0;
        while at < group.len() {
            match group[at..].chars().next() {
                Some('}') => return skipped + at + 2,
                Some(letter) if letter.is_alphanumeric() || letter == '_' || letter == '{' => {
                    at += tree(&group[at..], start, found).max(1);
                }
                Some(letter) => at += letter.len_utf8(),
                None => break,
            }
        }
        return text.len();
    }
    let length =
        trimmed.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(trimmed.len());
    let (word, behind) = trimmed.split_at(length);
    let mut path = start.clone();
    match word {
        "super" => drop(path.pop()),
        "self" | "" => {}
        _ => path.push(word.to_string()),
    }
    let taken = skipped + length;
    if let Some(more) = behind.strip_prefix("::") {
        return taken + 2 + tree(more, &path, found);
    }
    found.push(path);
    // What it is called here is no path: `a as b`.
    let renamed = behind.strip_prefix(" as ").map_or(0, |name| {
        4 + name.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(name.len())
    });
    taken + renamed
}

/// The largest set of files that all reach each other, in order; empty where no two do.
fn largest(uses: &Uses) -> Vec<&str> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        uses.keys().map(|file| (file.as_str(), reachable(file, uses))).collect();
    let circle = |file: &&str| -> Vec<&str> {
        let others = reached[*file].iter().copied();
        others.filter(|other| reached.get(other).is_some_and(|back| back.contains(*file))).collect()
    };
    let circles = reached.keys().copied().map(|file| circle(&file));
    // The first of the largest, so that it is the same each time.
    circles.fold(Vec::new(), |best, circle| if circle.len() > best.len() { circle } else { best })
}

/// Files that are used by a file, directly or by way of others.
fn reachable<'a>(from: &str, uses: &'a Uses) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&str> = uses[from].iter().map(String::as_str).collect();
    while let Some(file) = open.pop() {
        if found.insert(file) {
            open.extend(uses.get(file).into_iter().flatten().map(String::as_str));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crate_of(files: &[(&str, &str)]) -> BTreeMap<Module, String> {
        files.iter().map(|(inner, text)| (module(inner), code(text))).collect()
    }

    #[test]
    fn uses_are_read_off_paths() {
        let files = crate_of(&[
            ("lib.rs", "pub mod a;\nmod b;\nmod c;\npub use b::Shown;\npub use c::{self, d::Deep as Low};"),
            ("a.rs", "use crate::{Shown, c::{d, self}};\nuse std::fmt::{self, Debug};\n// crate::e"),
            (
                "b.rs",
                "mod own;\nuse own::Thing;\nfn f() -> crate::a::A { x::b::y() }\n#[cfg(test)]\nmod t { use crate::c; }",
            ),
            ("b/own.rs", "use super::X;\nuse super::super::c::d::{Y as Z, W};"),
            ("c.rs", "fn f(d: u32) { d::g(); x.d::<u8>() }\nuse crate::Low;"),
            ("c/d.rs", "fn g() { self::h::i(); }"),
            ("e/mod.rs", "pub(in crate::a) fn k() {}"),
        ]);
        let uses = uses(&files);
        let of = |file: &str| uses[file].iter().map(String::as_str).collect::<Vec<_>>();
        assert_eq!(of("a"), ["b", "c", "c::d"]);
        assert_eq!(of("b"), ["a", "b::own"]);
        assert_eq!(of("b::own"), ["b", "c::d"]);
        assert_eq!(of("c"), ["c::d"]);
        assert_eq!(of("c::d"), [""; 0]);
        assert_eq!(of("e"), [""; 0]);
        assert_eq!(largest(&uses), ["a", "b", "b::own"]);
    }

    #[test]
    fn the_largest_circle_is_found() {
        let uses = |pairs: &[(&str, &str)]| {
            let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
            for (from, to) in pairs {
                uses.entry(from.to_string()).or_default().insert(to.to_string());
                uses.entry(to.to_string()).or_default();
            }
            uses
        };
        assert!(largest(&uses(&[("a", "b"), ("b", "c"), ("a", "c")])).is_empty());
        let two = uses(&[("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "c")]);
        assert_eq!(largest(&two), ["c", "d", "e"]);
    }
}
