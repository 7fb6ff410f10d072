//! Real data sets, where the environment variable `TANGLEWOOD_SHARED` names a folder whose folder `data` has them, packed.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

extern crate tanglewood_ingest as ingest;

use crate::common;

use common::{index_lines, memory, options};
use ingest::ImportReport;
use std::path::PathBuf;

/// Imports a packed data set; none where it is not at hand.
fn sample(name: &str) -> Option<ImportReport> {
    let path =
        std::env::var_os("TANGLEWOOD_SHARED").map(|shared| PathBuf::from(shared).join("data").join(name));
    let Some(path) = path.filter(|path| path.exists()) else {
        eprintln!("skipped: TANGLEWOOD_SHARED names no folder with data/{name}");
        return None;
    };
    let engine = memory();
    let report = ingest::import(&engine, &options(&path)).unwrap();
    assert_eq!((report.rejected, report.rejected_first.len()), (0, 0), "{name}");
    assert!(!index_lines(&engine).is_empty());
    Some(report)
}

fn count(counts: &[(String, u64)], name: &str) -> u64 {
    counts.iter().find(|(found, _)| found == name).map_or(0, |(_, count)| *count)
}

#[test]
fn the_benchmarks_own_test_data() {
    let Some(report) = sample("ldbc-test-data.tar.zst") else { return };
    assert_eq!((report.vertices, report.edges, report.files), (34_735, 70_842, 31));
    assert_eq!(count(&report.by_label, "Person"), 222);
    assert_eq!(count(&report.by_type, "KNOWS"), 825);
}

#[test]
fn the_subgraph_benchmark() {
    let Some(report) = sample("lsqb-sf0.003.tar.zst") else { return };
    assert_eq!((report.vertices, report.edges), (31_524, 49_680));
}

#[test]
fn a_social_network_of_scale_a_tenth() {
    let Some(report) = sample("snb-like-sf0.1.tar.zst") else { return };
    assert_eq!((report.vertices, report.edges), (339_760, 1_533_681));
}

#[test]
fn the_small_twitter_graph() {
    let Some(report) = sample("ego-twitter.txt.zst") else { return };
    assert_eq!((report.vertices, report.edges), (81_306, 1_768_135));
}
