//! The guide is true: every block of its pages, of the README and of the formats is run, in the order of the page.
//!
//! A page is one story, told in a folder of its own ([`story`]). What a block is, its info string says:
//!
//! | block | what happens |
//! |---|---|
//! | `sh` | each line runs under bash and must go well; with the word `fails`, the last must not |
//! | `cypher`, `datalog`, `gremlin` | each statement is asked through the library; `SUBSCRIBE` is read until nothing comes |
//! | `python`, `js` | runs with the official driver, where that is installed |
//! | `rust` | a whole program: a doctest of `src/lib.rs` |
//! | any with `file=NAME` | becomes a file of the folder |
//! | `text output` | what the block before it printed: times may differ, and `…` stands for anything, or as a line for any lines |
//! | `text session` | the shell: lines with its prompt are typed, the others are answered |
//! | `text drawing` | bytes or folders drawn: nothing to run |
//! | any with `(not run: why)` | counted below; the count may only shrink |
//!
//! A page sets its scene in comments, which readers do not see: `<!-- hidden LANGUAGE WORDS`, code, `-->`. Besides the blocks above these
//! are `params` (a JSON object for the statements that follow), `database` (which one is asked, `people.db` if not said), `input` (what
//! commands read) and `certificate` (makes `server.pem` and `server.key`).
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

#[path = "guide/blocks.rs"]
mod blocks;
#[path = "guide/story.rs"]
mod story;
mod support;

use blocks::{Block, blocks};
use std::path::{Path, PathBuf};
use story::Story;

/// Blocks that are not run. Lower it when one runs.
const NOT_RUN_MAX: usize = 3;
/// Compared with the flags by `src/commands/reference.rs`.
const GENERATED: &str = "docs/guide/command-line.md";
/// Run by the tests of the package itself, interfaces/python/tests/test_guide.py.
const OF_PYTHON: &str = "docs/guide/python.md";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn pages() -> Vec<String> {
    let mut pages = vec!["README.md".to_string()];
    for folder in ["docs/guide", "docs/formats"] {
        let found = std::fs::read_dir(root().join(folder)).unwrap().flatten();
        let names: Vec<PathBuf> = found.map(|entry| entry.path()).collect();
        let pages_of = names.iter().filter(|path| path.extension().is_some_and(|end| end == "md"));
        pages.extend(pages_of.map(|path| path.strip_prefix(root()).unwrap().display().to_string()));
    }
    pages.sort();
    pages.retain(|page| page != GENERATED && page != OF_PYTHON);
    pages
}

fn blocks_of(page: &str) -> Vec<Block> {
    blocks(&std::fs::read_to_string(root().join(page)).unwrap())
}

fn is_quiet(block: &Block) -> bool {
    block.not_run().is_some() || (block.language == "text" && block.has("drawing"))
}

fn tell(page: &str) -> Option<String> {
    let started = std::time::Instant::now();
    let mut story = Story::new();
    for block in blocks_of(page).iter().filter(|block| !is_quiet(block)) {
        if let Err(fault) = story.run(block) {
            return Some(format!("{page}:{}: {fault}", block.line));
        }
    }
    println!("{page}: {:.1} s", started.elapsed().as_secs_f64());
    story.let_go().err().map(|fault| format!("{page}: {fault}"))
}

#[test]
fn every_page_does_what_it_says() {
    let only = std::env::var("TANGLEWOOD_GUIDE").unwrap_or_default();
    let wanted = |page: &String| page.contains(&only);
    let faults: Vec<String> =
        pages().iter().filter(|page| wanted(page)).filter_map(|page| tell(page)).collect();
    assert!(faults.is_empty(), "\n{}\n", faults.join("\n\n"));
}

#[test]
fn blocks_that_are_not_run_only_grow_fewer() {
    let silent = |page: &String| {
        let found = blocks_of(page).into_iter().filter(|block| block.not_run().is_some());
        found.map(|block| format!("{page}:{}", block.line)).collect::<Vec<_>>()
    };
    let all: Vec<String> = pages().iter().flat_map(silent).collect();
    assert!(all.len() <= NOT_RUN_MAX, "{} blocks are not run: {all:?}", all.len());
}

/// Rust is compiled and run by rustdoc, page by page.
#[test]
fn pages_with_rust_are_doctests() {
    let library = std::fs::read_to_string(root().join("src/lib.rs")).unwrap();
    for page in &pages() {
        let has_rust = blocks_of(page).iter().any(|block| block.language.starts_with("rust"));
        let included = library.contains(&format!("include_str!(\"../{page}\")"));
        assert_eq!(has_rust, included, "{page}: a page with Rust, and no other, is included in src/lib.rs");
    }
}
