//! Merging while others read, and the rules beside a search.

use applications::command::Over;
use applications::knowledge::{Knowledge, RELATIONS};
use applications::search;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::time::Duration;
use world::chance::Chance;
use world::files::{self, TemporaryFolder};
use world::threads::in_parallel;

/// Relationships by type, between ids.
type Relations = BTreeSet<(&'static str, String, String)>;

fn drawn(concepts: u64, relations: usize, chance: &mut Chance) -> Relations {
    let id = |chance: &mut Chance| format!("c{}", chance.below(concepts));
    (0..relations).map(|_| (RELATIONS[chance.index(3)].1, id(chance), id(chance))).collect()
}

fn loaded(concepts: u64, relations: &Relations) -> Knowledge {
    let files = TemporaryFolder::new("knowledge").unwrap();
    let mut synsets = "id,pos,lexfile,words,gloss\n".to_string();
    (0..concepts).for_each(|at| synsets += &format!("c{at},n,03,word{at}|common,\"the gloss, of {at}\"\n"));
    let mut text = "from,type,to,from_word,to_word\n".to_string();
    for (kind, from, to) in relations {
        let name = RELATIONS.iter().find(|(_, known)| known == kind).unwrap().0;
        text += &format!("{from},{name},{to},0,0\n{to},hyponym,{from},0,0\n");
    }
    files::write_bytes(&files.path().join("synsets.csv"), synsets.as_bytes()).unwrap();
    files::write_bytes(&files.path().join("relations.csv"), text.as_bytes()).unwrap();
    let mut knowledge = Knowledge::open(None, Some(files.path().into())).unwrap();
    knowledge.load().unwrap();
    knowledge
}

/// The obvious twin: the parts of each thing.
fn parts(relations: &Relations) -> BTreeSet<(String, String)> {
    let mut found: BTreeSet<(String, String)> = BTreeSet::new();
    loop {
        let before = found.len();
        for (kind, from, to) in relations {
            match *kind {
                "HAS_PART" => _ = found.insert((from.clone(), to.clone())),
                "IS_A" | "INSTANCE_OF" => {
                    let more: Vec<_> = found.iter().filter(|(thing, _)| thing == to).cloned().collect();
                    found.extend(more.into_iter().map(|(_, part)| (from.clone(), part)));
                }
                _ => {}
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

#[test]
fn rules_hold_while_concepts_are_merged() {
    for seed in 0..2 {
        let mut chance = Chance::seeded(seed);
        let mut relations = drawn(14, 30, &mut chance);
        let mut knowledge = loaded(14, &relations);
        knowledge.keep_rules().unwrap();
        let mut changes = knowledge.watch(true).unwrap();
        let mut told = BTreeMap::<(String, String), i64>::new();
        let mut alive: Vec<String> = (0..14).map(|at| format!("c{at}")).collect();
        while alive.len() > 3 {
            let wanted = parts(&relations);
            let of = |kinds: &[&str]| -> Vec<(&str, &str)> {
                let all = relations.iter().filter(|(kind, ..)| kinds.contains(kind));
                all.map(|(_, from, to)| (from.as_str(), to.as_str())).collect()
            };
            let searched = search::parts(&of(&["IS_A", "INSTANCE_OF"]), &of(&["HAS_PART"]));
            let searched = searched.into_iter().map(|(thing, part)| (thing.to_string(), part.to_string()));
            assert_eq!(searched.collect::<BTreeSet<_>>(), wanted, "seed {seed}");
            for _ in 0..200 {
                if told.keys().cloned().collect::<BTreeSet<_>>() == wanted {
                    break;
                }
                for change in changes.next(Duration::from_millis(50)).unwrap() {
                    *told.entry((change.thing, change.part)).or_default() += change.difference;
                }
                told.retain(|_, count| *count != 0);
            }
            assert_eq!(told.keys().cloned().collect::<BTreeSet<_>>(), wanted, "seed {seed}");
            for thing in &alive {
                let asked: BTreeSet<String> = knowledge.parts(thing).unwrap().into_iter().collect();
                let wanted = wanted.iter().filter(|(of, _)| of == thing).map(|(_, part)| part.clone());
                assert_eq!(asked, wanted.collect(), "seed {seed}, {thing}");
            }
            let gone = alive.swap_remove(chance.index(alive.len()));
            let stays = alive[chance.index(alive.len())].clone();
            let words = knowledge.concept(&gone).unwrap().unwrap().words;
            assert!(knowledge.merge(&stays, &gone).unwrap());
            assert!(!knowledge.merge(&stays, &gone).unwrap() && !knowledge.merge(&stays, &stays).unwrap());
            assert_eq!(knowledge.concept(&gone).unwrap(), None);
            let merged = knowledge.concept(&stays).unwrap().unwrap();
            assert!(words.iter().all(|word| merged.words.contains(word)));
            assert!(merged.gloss.starts_with("the gloss, of"));
            let moved = |id: String| if id == gone { stays.clone() } else { id };
            let between = |from: &String, to: &String| {
                (from == &gone || to == &gone) && moved(from.clone()) == moved(to.clone())
            };
            relations.retain(|(_, from, to)| !between(from, to));
            relations =
                relations.into_iter().map(|(kind, from, to)| (kind, moved(from), moved(to))).collect();
            assert_eq!(knowledge.relations().unwrap(), relations.len() as i64, "seed {seed}");
        }
    }
}

#[test]
fn readers_see_all_of_a_merge_or_nothing_of_it() {
    let mut chance = Chance::seeded(5);
    let mut knowledge = loaded(200, &drawn(200, 600, &mut chance));
    let [concepts, words] = knowledge.counts().unwrap();
    assert_eq!([concepts, words], [200, 201]);
    let is_over = AtomicBool::new(false);
    let merged = in_parallel("merging", 3, |number| {
        let mut own = knowledge.share();
        if number == 0 {
            let _over = Over(&is_over);
            let mut chance = Chance::seeded(6);
            let mut merged = 0;
            for _ in 0..60 {
                let [stays, gone] = [(); 2].map(|()| format!("c{}", chance.below(200)));
                merged += i64::from(own.merge(&stays, &gone).unwrap());
            }
            return merged;
        }
        let (mut last, mut looks) = (200, 0);
        while !is_over.load(SeqCst) || looks < 3 {
            let [now, same] = own.counts().unwrap();
            assert!(same == words && now <= last, "{now} concepts with {same} words");
            (last, looks) = (now, looks + 1);
        }
        0
    });
    assert!(merged[0] > 30, "{merged:?}");
    assert_eq!(knowledge.counts().unwrap(), [200 - merged[0], words]);
}
