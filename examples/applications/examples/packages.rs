//! What breaks when a package goes: `cargo run --release -p tanglewood-applications-examples --example packages -- [DATA] [--out FOLDER] [--page PAGE.md]`.
//!
//! DATA is the folder of packed data sets, or one with Debian's lists: `bookworm_packages.csv`, `bookworm_relations.csv`, and the same of
//! `bookworm-security`. Without it, an archive is drawn. Every answer is held against a search through the lists, before and behind the update.
#![allow(clippy::disallowed_methods, clippy::print_stdout)]

use applications::command::{Arguments, lines, timed, told};
use applications::findings::Findings;
use applications::packages::Packages;
use applications::search::Archive;
use applications::times::{Times, times_chart};
use chart::{Axis, Chart, Look, Series};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::time::Duration;
use world::chance::Chance;
use world::files::{self, TemporaryFolder};

/// Packages that are drawn.
const DRAWN: u64 = 3_000;
const SEED: u64 = 12;
/// Those that are taken away, of Debian, and of what is drawn.
const GONE: [&str; 6] =
    ["libc6", "perl-base", "libssl3", "python3", "default-jre-headless", "exim4-daemon-light"];
const DRAWN_GONE: [&str; 6] = ["p0", "p1", "p3", "p10", "p30", "p100"];
/// Packages that are taken away one after the other, drawn from all.
const SAMPLE: usize = 60;

/// As the server has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<(), String> {
    let arguments = Arguments::read()?;
    let folder = TemporaryFolder::new("packages").map_err(|error| error.to_string())?;
    let found = arguments.folder("debian-bookworm", "debian")?;
    let (names, about) = match found {
        Some(_) => (GONE, "Debian 12 and a security update of it"),
        None => (DRAWN_GONE, "an archive that is drawn"),
    };
    let lists = found.map_or_else(|| drawn(folder.path()), Ok)?;
    let mut findings = Findings::begin("packages", about, SEED);
    let mut archive = Archive::default();
    let read = |archive: &mut Archive, name: &str| -> Result<(), String> {
        let list = |of: &str| lines(&lists.join(format!("{name}_{of}.csv")), 1);
        archive.read(&list("packages")?, &list("relations")?);
        Ok(())
    };
    read(&mut archive, "bookworm")?;
    let database = folder.path().join("database");
    let mut packages = Packages::open(Some(&database), Some(lists.clone())).map_err(|error| told(&error))?;
    let ((), took) = timed(|| packages.load("bookworm"))?;
    let ([count, needs], _) = timed(|| packages.size())?;
    findings.count("packages", count as usize);
    findings.count("needs", needs as usize);
    findings.time("loaded, on disk, with history", took);
    let before = packages.commit().map_err(|error| told(&error))?;
    without(&mut packages, &archive, &names, &mut findings)?;
    sample(&mut packages, &archive, &mut findings)?;
    circles(&mut packages, &archive, &mut findings)?;
    let old = archive.clone();
    let (_, took) = timed(|| packages.update("bookworm-security"))?;
    findings.time("the security update, one commit", took);
    read(&mut archive, "bookworm-security")?;
    past(&mut packages, [&old, &archive], &names, before, &mut findings)?;
    findings.end(&arguments)
}

/// Takes each of these away, beside the walk that knows no alternatives.
fn without(
    packages: &mut Packages,
    archive: &Archive,
    names: &[&str],
    findings: &mut Findings,
) -> Result<(), String> {
    let [mut falls, mut reached] = [Vec::new(), Vec::new()];
    let mut table = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let (fallen, took) = timed(|| packages.breaks_without(name, None))?;
        let (reaches, walk_took) = timed(|| packages.reaches(name))?;
        compare(archive, name, &fallen, Some(reaches))?;
        let rounds = fallen.iter().map(|(_, round)| *round).max().unwrap_or(0);
        let ms = |time: Duration| format!("{:.1}", time.as_secs_f64() * 1e3);
        table.push(vec![
            name.to_string(),
            reaches.to_string(),
            fallen.len().to_string(),
            rounds.to_string(),
            ms(took),
            ms(walk_took),
        ]);
        falls.push((at as f64, fallen.len() as f64));
        reached.push((at as f64, reaches as f64));
    }
    findings.table(
        "What falls without a package",
        &["without", "may need it", "fall", "rounds", "ms", "ms of the walk"],
        &table,
    );
    let bars = |name: &str, points| Series { name: name.into(), look: Look::Bars, points };
    findings.chart(Chart {
        title: "Packages that fall, of those that may need one that goes".into(),
        x: Axis::default(),
        y: Axis::log("packages"),
        categories: names.iter().map(ToString::to_string).collect(),
        series: vec![bars("may need it", reached), bars("fall", falls)],
    });
    Ok(())
}

/// Holds what falls, and what the walk says, against a search through the lists.
fn compare(
    archive: &Archive,
    name: &str,
    fallen: &[(String, u32)],
    reaches: Option<i64>,
) -> Result<(), String> {
    let fallen: BTreeSet<String> = fallen.iter().map(|(name, _)| name.clone()).collect();
    let wanted = archive.breaks_without(name);
    if fallen != wanted {
        let other = fallen.symmetric_difference(&wanted).next();
        return Err(format!(
            "without {name}: {} fall, a search says {}; for one {other:?}",
            fallen.len(),
            wanted.len()
        ));
    }
    match reaches {
        Some(reaches) if reaches != archive.reaches(name) as i64 => {
            Err(format!("{name}: the walk says {reaches}, a search {}", archive.reaches(name)))
        }
        _ => Ok(()),
    }
}

/// Takes packages away that are drawn from all.
fn sample(packages: &mut Packages, archive: &Archive, findings: &mut Findings) -> Result<(), String> {
    let names: Vec<&String> = archive.needs.keys().collect();
    let mut chance = Chance::seeded(SEED);
    let [mut falls, mut walks] = [(); 2].map(|()| Times::default());
    for _ in 0..SAMPLE {
        let name = names[chance.index(names.len())];
        let (fallen, took) = timed(|| packages.breaks_without(name, None))?;
        falls.push(took);
        let (reaches, took) = timed(|| packages.reaches(name))?;
        walks.push(took);
        compare(archive, name, &fallen, Some(reaches))?;
    }
    findings.times("what falls without a package that is drawn", &falls);
    findings.times("the walk of the same", &walks);
    findings.check(format!("what falls without each of {} packages, and each walk", SAMPLE + GONE.len()));
    findings
        .chart(times_chart("What falls without a package", &[("what falls", &falls), ("the walk", &walks)]));
    Ok(())
}

/// Packages that need each other, and a circle through one of them.
fn circles(packages: &mut Packages, archive: &Archive, findings: &mut Findings) -> Result<(), String> {
    let (pairs, took) = timed(|| packages.pairs_in_circles())?;
    let needs: HashMap<&str, BTreeSet<&str>> = archive
        .needs
        .iter()
        .map(|(name, clauses)| (name.as_str(), clauses.iter().flatten().map(String::as_str).collect()))
        .collect();
    let need = |from: &str, to: &str| needs.get(from).is_some_and(|all| all.contains(to));
    let both = needs.iter().flat_map(|(one, all)| all.iter().map(move |other| (*one, *other)));
    let both = both.filter(|(one, other)| one < other && need(other, one)).count();
    if both != pairs.len() {
        return Err(format!("{} pairs need each other, a search says {both}", pairs.len()));
    }
    findings.count("pairs of packages that need each other", pairs.len());
    findings.time("to find them", took);
    let Some([one, _]) = pairs.first() else { return Ok(()) };
    let (circle, took) = timed(|| packages.circle(one))?;
    let circle = circle.unwrap_or_default();
    if circle.len() < 3 || !circle.windows(2).all(|pair| need(&pair[0], &pair[1])) {
        return Err(format!("{circle:?} is no circle"));
    }
    findings.time("the shortest circle through one of them", took);
    findings.check(format!("{both} pairs, and the circle {}", circle.join(" → ")));
    Ok(())
}

/// The same questions now and as of the commit before the update.
fn past(
    packages: &mut Packages,
    [old, new]: [&Archive; 2],
    names: &[&str],
    before: u64,
    findings: &mut Findings,
) -> Result<(), String> {
    let mut table = Vec::new();
    for name in names {
        let version = |version: Option<String>| version.unwrap_or("none".into());
        let (now, _) = timed(|| packages.version(name, None))?;
        let (then, _) = timed(|| packages.version(name, Some(before)))?;
        let (falls_now, now_took) = timed(|| packages.breaks_without(name, None))?;
        let (falls_then, then_took) = timed(|| packages.breaks_without(name, Some(before)))?;
        compare(new, name, &falls_now, None)?;
        compare(old, name, &falls_then, None)?;
        let of = |falls: &[(String, u32)], took: Duration| {
            [falls.len().to_string(), format!("{:.1}", took.as_secs_f64() * 1e3)]
        };
        let [[now_count, now_ms], [then_count, then_ms]] =
            [of(&falls_now, now_took), of(&falls_then, then_took)];
        table.push(vec![
            name.to_string(),
            version(then),
            version(now),
            then_count,
            then_ms,
            now_count,
            now_ms,
        ]);
    }
    let columns = ["package", "version before", "now", "fell before", "ms, AS OF", "fall now", "ms"];
    findings.table("Before the update and now", &columns, &table);
    findings.check(format!(
        "what falls without {} packages before the update, asked behind it, and now",
        names.len()
    ));
    Ok(())
}

/// An archive in which packages need earlier ones, some by two alternatives, and an update of a tenth of it.
fn drawn(folder: &Path) -> Result<std::path::PathBuf, String> {
    let mut chance = Chance::seeded(SEED);
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
