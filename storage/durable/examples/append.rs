//! How many commits a second the log takes, by the number of commits that share one sync.
//!
//! `cargo run --release -p tanglewood-durable --example append [folder]`; every run is read back and compared before its figure is printed.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tanglewood_durable::{BackingStore, DurableResult, LocalFolder, LogOptions, OpenMode};
use world::chance::Chance;
use world::clock::monotonic_ns;
use world::disk::{Disk, RealDisk};
use world::files::TemporaryFolder;

const SEED: u64 = 1;
const PAYLOAD_BYTES: usize = 200;
const RUN_TIME_NS: u64 = 1_000_000_000;

fn main() -> DurableResult<()> {
    let machine = world::machine::Machine::here();
    println!("{} cores, {}; seed {SEED}, {PAYLOAD_BYTES} bytes a commit", machine.cores, machine.model);
    println!("{:>10} {:>12} {:>12} {:>10}", "group", "commits/s", "syncs/s", "MB/s");
    let folder = match std::env::args_os().nth(1) {
        Some(path) => TemporaryFolder::inside(Path::new(&path), "append")?,
        None => TemporaryFolder::new("append")?,
    };
    for group in [1, 8, 64, 512, 4096] {
        measure(&folder.path().join(group.to_string()), group)?;
    }
    Ok(())
}

fn measure(path: &Path, group: u64) -> DurableResult<()> {
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let path = PathBuf::from(path);
    let open = |mode| LocalFolder::open(Arc::clone(&disk), &path, mode, LogOptions::default());
    let store = open(OpenMode::CreateIfMissing)?;
    let payload = Chance::seeded(SEED).bytes(PAYLOAD_BYTES);
    let mut commit_version = 0;
    let begin_ns = monotonic_ns();
    while monotonic_ns() - begin_ns < RUN_TIME_NS {
        let records: Vec<(u64, &[u8])> =
            (1..=group).map(|n| (commit_version + n, payload.as_slice())).collect();
        store.append_and_sync(&records)?;
        commit_version += group;
    }
    let seconds = (monotonic_ns() - begin_ns) as f64 / 1e9;
    store.close()?;
    drop(store);
    verify(&open(OpenMode::Existing)?, commit_version, &payload)?;
    let commits = commit_version as f64 / seconds;
    let megabytes = commits * PAYLOAD_BYTES as f64 / 1e6;
    println!("{group:>10} {commits:>12.0} {:>12.0} {megabytes:>10.1}", commits / group as f64);
    Ok(())
}

fn verify(store: &LocalFolder, last: u64, payload: &[u8]) -> DurableResult<()> {
    let mut expected = 0;
    for record in store.recover(1)? {
        let record = record?;
        expected += 1;
        assert!(
            record.commit_version == expected && record.payload == payload,
            "what was confirmed is read back"
        );
    }
    assert_eq!(expected, last, "every confirmed commit is there");
    Ok(())
}
