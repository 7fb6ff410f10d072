//! What pages of the guide show is what their commands wrote beside their pictures.

use applications::findings::{block, block_of};
use std::path::{Path, PathBuf};

fn guide() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide")
}

/// The pages of the applications, and the names of their commands.
const PAGES: [(&str, &str); 6] = [
    ("access-control", "access"),
    ("blockchain-explorer", "blockchain"),
    ("fraud-rings", "rings"),
    ("knowledge-graph", "knowledge"),
    ("package-dependencies", "packages"),
    ("social-network", "social"),
];

#[test]
fn each_page_shows_the_numbers_and_pictures_of_its_command() {
    for (page, name) in PAGES {
        let text = std::fs::read_to_string(guide().join(format!("{page}.md"))).unwrap();
        let numbers = std::fs::read_to_string(guide().join(format!("pictures/{name}.json"))).unwrap();
        let numbers = serde_json::from_str(&numbers).unwrap();
        assert_eq!(block_of(&text), Some(&*block(&numbers)), "{page}: write it by its command");
        let charts = numbers["charts"].as_array().unwrap();
        assert!(!charts.is_empty(), "{page} has a picture");
        for chart in charts {
            let picture = guide().join("pictures").join(chart["file"].as_str().unwrap());
            assert!(
                std::fs::read_to_string(&picture).unwrap().contains("prefers-color-scheme"),
                "{picture:?}"
            );
        }
        assert!(text.contains(&format!("--example {name} -- ")), "{page} says its command");
        assert!(!numbers["checks"].as_array().unwrap().is_empty(), "{page}: answers were compared");
    }
}
