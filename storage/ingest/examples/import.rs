//! Imports what the first argument names into a database in memory, or into the folder that the second names, and prints how long it took.
//!
//! `cargo run --release -p tanglewood-ingest --example import -- FROM [DB]`, with `THREADS=n` for another number of threads.

extern crate tanglewood_ingest as ingest;

use ingest::{ImportOptions, Progress};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use transact::OpenOptions;
use world::clock::monotonic_ns;
use world::disk::{Disk, RealDisk};
use world::memory;

fn megabytes(bytes: Option<u64>) -> u64 {
    bytes.unwrap_or(0) / (1 << 20)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let from = arguments.next().ok_or("which folder or file?")?;
    let folder = arguments.next();
    let disk: Arc<dyn Disk> = Arc::new(RealDisk);
    let open = folder.as_deref().map(|folder| (disk, folder));
    let (engine, _) = transact::open(open, &OpenOptions::default())?;
    let before = memory::resident_bytes();
    // Name, when it began, and the most megabytes resident before it.
    type Phase = (&'static str, u64, u64);
    let phases: Arc<Mutex<Vec<Phase>>> = Arc::default();
    let seen = phases.clone();
    let progress = move |progress: &Progress| {
        let mut phases = seen.lock().expect("nobody panics while holding it");
        if phases.last().is_none_or(|(phase, ..)| *phase != progress.phase) {
            phases.push((progress.phase, monotonic_ns(), megabytes(memory::resident_bytes_peak())));
        }
    };
    let threads = std::env::var("THREADS").ok().and_then(|threads| threads.parse().ok());
    let options =
        ImportOptions { from, threads, progress: Some(Arc::new(progress)), ..ImportOptions::default() };
    let report = ingest::import(&engine, &options).map_err(|error| {
        eprintln!("{}: {error}; hint: {:?}", error.code(), error.hint());
        error
    })?;
    for pair in phases.lock().expect("nobody panics while holding it").windows(2) {
        let (time_ms, peak) = ((pair[1].1 - pair[0].1) as f64 / 1e6, pair[1].2);
        println!("{:>20} {time_ms:8.1} ms, at most {peak} MB resident by its end", pair[0].0);
    }
    println!(
        "{} vertices, {} edges, {} files, {:.1} MB in {:.3} s; {} rejected; {} files skipped",
        report.vertices,
        report.edges,
        report.files,
        report.bytes as f64 / 1e6,
        report.seconds,
        report.rejected,
        report.skipped.len()
    );
    for rejected in &report.rejected_first {
        println!("  {}:{}: {}", rejected.file.display(), rejected.line, rejected.what);
    }
    println!("labels {:?}\ntypes {:?}", report.by_label, report.by_type);
    println!(
        "resident: {} MB before, {} MB after, {} MB at most",
        megabytes(before),
        megabytes(memory::resident_bytes()),
        megabytes(memory::resident_bytes_peak())
    );
    Ok(())
}
