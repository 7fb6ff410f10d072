//! PlainRights that are kept and rights that are asked, beside a search.

use applications::access::{Access, Tie};
use applications::search::PlainRights;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use world::chance::Chance;
use world::files::TemporaryFolder;

type Ties = BTreeSet<(String, Tie, String)>;

/// The obvious twin: from each person through all groups to all resources.
fn reach(people: &BTreeSet<String>, ties: &Ties) -> BTreeSet<(String, String)> {
    let walk = |first: &str, tie: Tie| {
        let (mut seen, mut next) = (BTreeSet::new(), vec![first.to_string()]);
        while let Some(from) = next.pop() {
            let to = ties.iter().filter(|(a, kind, _)| *a == from && *kind == tie).map(|(.., b)| b.clone());
            next.extend(to.filter(|to| seen.insert(to.clone())));
        }
        seen
    };
    let below = |who: &str, tie: Tie| -> BTreeSet<String> {
        let own = ties.iter().filter(|(a, kind, _)| a == who && *kind == tie).map(|(.., b)| b.clone());
        own.flat_map(|resource| {
            let mut all = walk(&resource, Tie::Contains);
            all.insert(resource);
            all
        })
        .collect()
    };
    let mut found = BTreeSet::new();
    for person in people {
        let mut may = below(person, Tie::Allowed);
        walk(person, Tie::Member).iter().for_each(|group| may.extend(below(group, Tie::Allowed)));
        let mut barred = below(person, Tie::Barred);
        walk(person, Tie::Member).iter().for_each(|group| barred.extend(below(group, Tie::Barred)));
        found.extend(may.difference(&barred).map(|resource| (person.clone(), resource.clone())));
    }
    found
}

/// The search that the command compares with.
fn searched(people: &BTreeSet<String>, ties: &Ties) -> BTreeSet<(String, String)> {
    let of = |tie: Tie| {
        ties.iter().filter(|(_, kind, _)| *kind == tie).map(|(a, _, b)| (a.clone(), b.clone())).collect()
    };
    let rights = PlainRights {
        members: of(Tie::Member),
        allowed: of(Tie::Allowed),
        barred: of(Tie::Barred),
        contains: of(Tie::Contains),
    };
    let found = rights.of(people.iter().map(String::as_str));
    let pairs =
        found.iter().flat_map(|(who, all)| all.iter().map(|what| (who.to_string(), what.to_string())));
    pairs.collect()
}

#[test]
fn what_is_kept_and_what_is_asked_is_what_a_search_finds() {
    for seed in 0..2 {
        let mut chance = Chance::seeded(seed);
        let mut access = Access::open(None).unwrap();
        let mut changes = access.watch(true).unwrap();
        let (mut people, mut ties) = (BTreeSet::new(), Ties::new());
        let (mut told, mut most) = (BTreeMap::<(String, String), i64>::new(), 0);
        for step in 0..120 {
            let mut one = |kind: &str, of: u64| format!("{kind}{}", chance.below(of));
            let (person, group, other) = (one("p", 6), one("g", 5), one("g", 5));
            let (resource, inner) = (one("r", 8), one("r", 8));
            let asked_for = person.clone();
            if people.insert(person.clone()) {
                access.hire(&person).unwrap();
            } else if step % 17 == 0 {
                access.dismiss(&person).unwrap();
                people.remove(&person);
                ties.retain(|(from, ..)| *from != person);
            } else {
                let tie = match chance.below(6) {
                    0 | 1 => (person, Tie::Member, group),
                    2 => (group, Tie::Member, other),
                    3 => (group, Tie::Allowed, resource),
                    4 => (resource, Tie::Contains, inner),
                    _ if step % 3 == 0 => (group, Tie::Barred, resource),
                    _ => (person, Tie::Barred, resource),
                };
                if ties.insert(tie.clone()) {
                    access.tie(&tie.0, tie.1, &tie.2).unwrap();
                } else {
                    ties.remove(&tie);
                    assert!(access.untie(&tie.0, tie.1, &tie.2).unwrap());
                    assert!(!access.untie(&tie.0, tie.1, &tie.2).unwrap());
                }
            }
            let wanted = reach(&people, &ties);
            assert_eq!(searched(&people, &ties), wanted, "seed {seed}, step {step}");
            for _ in 0..200 {
                if told.keys().cloned().collect::<BTreeSet<_>>() == wanted {
                    break;
                }
                for change in changes.next(Duration::from_millis(50)).unwrap() {
                    *told.entry((change.person, change.resource)).or_default() += change.difference;
                }
                told.retain(|_, count| *count != 0);
            }
            assert_eq!(told.keys().cloned().collect::<BTreeSet<_>>(), wanted, "seed {seed}, step {step}");
            assert!(told.values().all(|count| *count == 1));
            most = most.max(wanted.len());
            let asked: BTreeSet<String> = access.reach_of(&asked_for).unwrap().into_iter().collect();
            let wanted = wanted.iter().filter(|(who, _)| *who == asked_for).map(|(_, what)| what.clone());
            assert_eq!(asked, wanted.collect(), "seed {seed}, step {step}, {asked_for}");
        }
        assert!(most > 5, "{most}");
    }
}

#[test]
fn rights_are_there_after_a_restart() {
    let folder = TemporaryFolder::new("access").unwrap();
    let mut access = Access::open(Some(folder.path())).unwrap();
    access.hire("ann").unwrap();
    let pair = |a: &str, b: &str| (a.to_string(), b.to_string());
    access.tie_all(Tie::Member, &[pair("ann", "staff"), pair("staff", "all")]).unwrap();
    access.tie_all(Tie::Allowed, &[pair("all", "house")]).unwrap();
    access.tie_all(Tie::Contains, &[pair("house", "room")]).unwrap();
    drop(access);
    let mut access = Access::open(Some(folder.path())).unwrap();
    assert!(access.may("ann", "room").unwrap() && !access.may("bob", "room").unwrap());
    assert!(access.hire("ann").is_err());
    // What is barred to a group is barred to all in it.
    access.tie("all", Tie::Barred, "room").unwrap();
    assert!(access.may("ann", "house").unwrap() && !access.may("ann", "room").unwrap());
    assert!(access.untie("all", Tie::Barred, "room").unwrap());
    assert!(access.may("ann", "room").unwrap());
    assert!(access.untie("staff", Tie::Member, "all").unwrap());
    assert!(!access.may("ann", "room").unwrap());
}
