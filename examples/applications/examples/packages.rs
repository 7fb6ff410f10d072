//! What breaks when a package goes: `cargo run --release -p tanglewood-applications-examples --example packages -- [FOLDER] [--picture FILE.svg]`.
//!
//! The folder holds Debian's lists as `bookworm_packages.csv`, `bookworm_relations.csv`, and the same of `bookworm-security`. Without one, an archive is
//! drawn.
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use applications::command::{Arguments, below, timed, told};
use applications::packages::Packages;
use chart::{Axis, Chart, Look, Series};
use std::path::Path;
use world::chance::Chance;
use world::files::{self, TemporaryFolder};

/// Packages that are drawn.
const DRAWN: u64 = 3_000;
/// The packages that are removed, for Debian and for a generated archive.
const GONE: [&str; 6] =
    ["libc6", "perl-base", "libssl3", "python3", "default-jre-headless", "exim4-daemon-light"];
const DRAWN_GONE: [&str; 6] = ["p0", "p1", "p3", "p10", "p30", "p100"];

fn main() -> Result<(), String> {
    let arguments = Arguments::read()?;
    let folder = TemporaryFolder::new("packages").map_err(|error| error.to_string())?;
    let files = match &arguments.data {
        Some(data) => below(data, "debian"),
        None => drawn(folder.path())?,
    };
    let mut packages =
        Packages::open(Some(&folder.path().join("database")), Some(files)).map_err(|error| told(&error))?;
    let ((), took) = timed(|| packages.load("bookworm"))?;
    let ([count, needs], _) = timed(|| packages.size())?;
    println!("{count} packages with {needs} needs, loaded in {took:.1?}");
    let before = packages.commit().map_err(|error| told(&error))?;
    let names = if arguments.data.is_some() { GONE } else { DRAWN_GONE };
    let [mut falls, mut reached] = [Vec::new(), Vec::new()];
    for (at, name) in names.into_iter().enumerate() {
        let (fallen, took) = timed(|| packages.breaks_without(name, None))?;
        let (reaches, walk_took) = timed(|| packages.reaches(name))?;
        let rounds = fallen.iter().map(|(_, round)| *round).max().unwrap_or(0);
        println!(
            "without {name:<22} {:>6} of {reaches:>6} that may need it fall, in {rounds} rounds ({took:.1?}; the walk {walk_took:.1?})",
            fallen.len()
        );
        falls.push((at as f64, fallen.len() as f64));
        reached.push((at as f64, reaches as f64));
    }
    let (pairs, took) = timed(|| packages.pairs_in_circles())?;
    println!("{} pairs need each other ({took:.1?})", pairs.len());
    if let Some([one, _]) = pairs.first() {
        let (circle, took) = timed(|| packages.circle(one))?;
        println!(
            "the shortest circle through {one}: {} ({took:.1?})",
            circle.unwrap_or_default().join(" -> ")
        );
    }
    let (commit, took) = timed(|| packages.update("bookworm-security"))?;
    println!("the security update is one commit, {commit} ({took:.1?})");
    for name in names.into_iter().take(3) {
        let (now, _) = timed(|| packages.version(name, None))?;
        let (then, past_took) = timed(|| packages.version(name, Some(before)))?;
        let (falls_now, now_took) = timed(|| packages.breaks_without(name, None))?;
        let (falls_then, then_took) = timed(|| packages.breaks_without(name, Some(before)))?;
        let version = |version: Option<String>| version.unwrap_or("none".into());
        println!(
            "{name}: {} now, {} before ({past_took:.1?}); {} fall without it now ({now_took:.1?}), {} before ({then_took:.1?})",
            version(now),
            version(then),
            falls_now.len(),
            falls_then.len()
        );
    }
    let bars = |name: &str, points| Series { name: name.into(), look: Look::Bars, points };
    arguments.draw(&Chart {
        title: "Packages that fall, of those that may need one that goes".into(),
        x: Axis::default(),
        y: Axis::log("packages"),
        categories: names.map(String::from).to_vec(),
        series: vec![bars("may need it", reached), bars("fall", falls)],
    })
}

/// An archive in which packages need earlier ones, some by two alternatives, and an update of a tenth of it.
fn drawn(folder: &Path) -> Result<std::path::PathBuf, String> {
    let mut chance = Chance::seeded(12);
    for (name, version, share) in [("bookworm", "1", 1), ("bookworm-security", "2", 10)] {
        let mut packages = "name,version,section,priority,installed_size_kib,source,homepage\n".to_string();
        let mut relations = "from,type,to,constraint,group\n".to_string();
        for at in (0..DRAWN).filter(|at| at % share == 0) {
            packages += &format!("p{at},{version},misc,optional,10,p{at},\n");
            for group in 0..chance.below(5).min(at) {
                for _ in 0..=chance.below(2) {
                    let to = chance.below(at) * chance.below(at) / at.max(1);
                    relations += &format!("p{at},Depends,p{to},,{group}\n");
                }
            }
        }
        let write = |file: &str, text: &str| {
            let at = folder.join(format!("{name}_{file}.csv"));
            files::write_bytes(&at, text.as_bytes()).map_err(|error| error.to_string())
        };
        write("packages", &packages)?;
        write("relations", &relations)?;
    }
    Ok(folder.to_path_buf())
}
