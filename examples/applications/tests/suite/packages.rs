//! The packages that break when one goes, beside a search that visits everything in each round.

use applications::command::lines;
use applications::packages::Packages;
use applications::search;
use std::collections::{BTreeMap, BTreeSet};
use world::chance::Chance;
use world::files::{self, TemporaryFolder};

/// Clauses by package, each with its alternatives; and provided names by package.
#[derive(Default)]
struct Archive {
    needs: BTreeMap<String, Vec<Vec<String>>>,
    provides: BTreeMap<String, Vec<String>>,
}

impl Archive {
    fn drawn(chance: &mut Chance) -> Archive {
        let mut archive = Archive::default();
        let name = |chance: &mut Chance| match chance.below(8) {
            0 => format!("virtual{}", chance.below(4)),
            1 => "nowhere".to_string(),
            _ => format!("p{}", chance.below(30)),
        };
        for at in 0..30 {
            let clauses = (0..chance.below(3)).map(|_| (0..=chance.below(3)).map(|_| name(chance)).collect());
            archive.needs.insert(format!("p{at}"), clauses.collect());
            let provided = (0..chance.below(2)).map(|_| format!("virtual{}", chance.below(4)));
            archive.provides.insert(format!("p{at}"), provided.collect());
        }
        archive
    }
    fn write(&self, folder: &TemporaryFolder, name: &str, version: &str) {
        let mut packages = "name,version,section,priority,installed_size_kib,source,homepage\n".to_string();
        let mut relations = "from,type,to,constraint,group\n".to_string();
        for (name, clauses) in &self.needs {
            packages += &format!("{name},{version},misc,optional,10,{name},\n");
            for (group, alternatives) in clauses.iter().enumerate() {
                let kind = if group == 1 { "Pre-Depends" } else { "Depends" };
                for to in alternatives {
                    relations += &format!("{name},{kind},{to},>= 1,{group}\n");
                }
            }
            for to in &self.provides[name] {
                relations += &format!("{name},Provides,{to},,0\n{name},Suggests,{to},,0\n");
            }
        }
        let write = |file: &str, text: &str| {
            files::write_bytes(&folder.path().join(format!("{name}_{file}.csv")), text.as_bytes()).unwrap();
        };
        write("packages", &packages);
        write("relations", &relations);
    }
    /// The obvious twin. A clause that nothing fulfilled before breaks no package.
    fn breaks(&self, without: &str) -> BTreeSet<String> {
        let mut gone = BTreeSet::from([without.to_string()]);
        loop {
            let stands = |name: &String, gone: &BTreeSet<String>| {
                let own = self.needs.contains_key(name) && !gone.contains(name);
                own || self.provides.iter().any(|(by, names)| !gone.contains(by) && names.contains(name))
            };
            let nobody = BTreeSet::new();
            let breaks = |alternatives: &Vec<String>| {
                alternatives.iter().any(|name| stands(name, &nobody))
                    && !alternatives.iter().any(|name| stands(name, &gone))
            };
            let falls = |(name, clauses): &(&String, &Vec<Vec<String>>)| {
                !gone.contains(*name) && clauses.iter().any(breaks)
            };
            let fallen: Vec<String> = self.needs.iter().filter(falls).map(|(name, _)| name.clone()).collect();
            if fallen.is_empty() {
                gone.remove(without);
                return gone;
            }
            gone.extend(fallen);
        }
    }
    /// The obvious twin of the walk: how many may need a package, by its own name or one that it provides.
    fn reaches(&self, name: &str) -> usize {
        let mut known = BTreeSet::from([name.to_string()]);
        loop {
            let is_lost =
                |to: &String| known.contains(to) || known.iter().any(|by| self.provides[by].contains(to));
            let needs = |(_, clauses): &(&String, &Vec<Vec<String>>)| clauses.iter().flatten().any(is_lost);
            let more: Vec<String> = self.needs.iter().filter(needs).map(|(name, _)| name.clone()).collect();
            let before = known.len();
            known.extend(more);
            if known.len() == before {
                return before - 1;
            }
        }
    }
}

fn names(packages: &mut Packages, without: &str, as_of: Option<u64>) -> BTreeSet<String> {
    let fallen = packages.breaks_without(without, as_of).unwrap();
    let names: BTreeSet<String> = fallen.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(names.len(), fallen.len(), "each falls once");
    names
}

/// The search that the command compares with.
fn read(searched: &mut search::Archive, files: &TemporaryFolder, name: &str) {
    let list = |of: &str| lines(&files.path().join(format!("{name}_{of}.csv")), 1).unwrap();
    searched.read(&list("packages"), &list("relations"));
}

#[test]
fn what_breaks_is_what_a_search_finds_now_and_before_an_update() {
    let mut most = 0;
    for seed in 0..3 {
        let mut chance = Chance::seeded(seed);
        let (files, folder) =
            (TemporaryFolder::new("packages-files").unwrap(), TemporaryFolder::new("packages").unwrap());
        let (old, new) = (Archive::drawn(&mut chance), Archive::drawn(&mut chance));
        old.write(&files, "old", "1");
        new.write(&files, "new", "2");
        let mut packages = Packages::open(Some(folder.path()), Some(files.path().into())).unwrap();
        packages.load("old").unwrap();
        let before = packages.commit().unwrap();
        let mut searched = search::Archive::default();
        read(&mut searched, &files, "old");
        let old_searched = searched.clone();
        read(&mut searched, &files, "new");
        let check = |packages: &mut Packages, archive: &Archive, as_of: Option<u64>| {
            let searched = if std::ptr::eq(archive, &raw const old) { &old_searched } else { &searched };
            let breaks = |at: u64| (archive.breaks(&format!("p{at}")), format!("p{at}"));
            let mut all: Vec<(BTreeSet<String>, String)> = (0..30).map(breaks).collect();
            all.sort_by_key(|(wanted, _)| std::cmp::Reverse(wanted.len()));
            // One that breaks most, and fewer and fewer.
            for (wanted, name) in all.iter().step_by(3) {
                assert_eq!(&names(packages, name, as_of), wanted, "seed {seed}, without {name}");
                let reaches = archive.reaches(name);
                assert_eq!((&searched.breaks_without(name), searched.reaches(name)), (wanted, reaches));
                assert!(wanted.len() <= reaches, "seed {seed}, without {name}");
                if as_of.is_none() {
                    assert_eq!(packages.reaches(name).unwrap(), reaches as i64, "seed {seed}, {name}");
                }
            }
            all[0].0.len()
        };
        most = most.max(check(&mut packages, &old, None));
        let commit = packages.update("new").unwrap();
        assert!(commit > before);
        check(&mut packages, &new, None);
        check(&mut packages, &old, Some(before));
        assert_eq!(packages.version("p3", None).unwrap().as_deref(), Some("2"));
        assert_eq!(packages.version("p3", Some(before)).unwrap().as_deref(), Some("1"));
        assert_eq!(packages.version("no such", None).unwrap(), None);
        // A file that is not there changes nothing.
        assert!(packages.update("no such").is_err());
        assert_eq!(packages.commit().unwrap(), commit);
    }
    assert!(most > 3, "{most}");
}

#[test]
fn circles_are_found() {
    let files = TemporaryFolder::new("packages-circles").unwrap();
    let need = |to: &str| vec![vec![to.to_string()]];
    let ties = [("a", "b"), ("b", "a"), ("c", "d"), ("d", "e"), ("e", "c"), ("f", "c"), ("g", "name")];
    let mut needs: BTreeMap<String, _> = ties.iter().map(|(from, to)| (from.to_string(), need(to))).collect();
    needs.insert("h".to_string(), Vec::new());
    let provided = |name: &str| if "ch".contains(name) { vec!["name".to_string()] } else { Vec::new() };
    let provides = needs.keys().map(|name| (name.clone(), provided(name))).collect();
    let archive = Archive { needs, provides };
    archive.write(&files, "one", "1");
    let mut packages = Packages::open(None, Some(files.path().into())).unwrap();
    packages.load("one").unwrap();
    assert_eq!(packages.size().unwrap(), [8, 7]);
    assert_eq!(packages.pairs_in_circles().unwrap(), [["a".to_string(), "b".to_string()]]);
    let circle =
        |packages: &mut Packages, name: &str| packages.circle(name).unwrap().map(|names| names.join(" "));
    assert_eq!(circle(&mut packages, "d").as_deref(), Some("d e c d"));
    assert_eq!(circle(&mut packages, "a").as_deref(), Some("a b a"));
    assert_eq!(circle(&mut packages, "f"), None);
    // Who needs a name needs whoever provides it; a provider needs nobody for that.
    for (name, reaches) in [("a", 1), ("c", 4), ("f", 0), ("g", 0), ("h", 1)] {
        assert_eq!(packages.reaches(name).unwrap(), reaches, "{name}");
        assert_eq!(archive.reaches(name) as i64, reaches, "{name}");
    }
}
