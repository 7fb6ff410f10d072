//! The interface of TAO beside maps.

use applications::social::{Association, Social, Thing};
use std::collections::BTreeMap;
use world::chance::Chance;
use world::files::TemporaryFolder;

#[test]
fn every_call_answers_what_maps_do() {
    for seed in 0..2 {
        let mut chance = Chance::seeded(seed);
        let mut social = Social::open(None).unwrap();
        let mut objects = BTreeMap::<i64, (String, String)>::new();
        let mut ties = BTreeMap::<(i64, String, i64), (i64, String)>::new();
        for step in 0..120 {
            let [a, b] = [(); 2].map(|()| chance.below(8) as i64);
            let kind = ["follows", "likes"][chance.index(2)].to_string();
            match chance.below(9) {
                0 | 1 => {
                    let data = format!("data {step}");
                    social.put(a, "person", &data).unwrap();
                    objects.insert(a, ("person".into(), data));
                }
                2 if chance.below(6) == 0 => {
                    social.remove(a).unwrap();
                    objects.remove(&a);
                    ties.retain(|(from, _, to), _| *from != a && *to != a);
                }
                3..=5 => {
                    let are_there = objects.contains_key(&a) && objects.contains_key(&b);
                    // Times differ, so that their order is known.
                    assert_eq!(
                        social.tie(a, &kind, b, step, "d").unwrap(),
                        are_there,
                        "seed {seed}, step {step}"
                    );
                    if are_there {
                        ties.insert((a, kind.clone(), b), (step, "d".into()));
                    }
                }
                _ => {
                    let was_there = ties.remove(&(a, kind.clone(), b)).is_some();
                    assert_eq!(social.untie(a, &kind, b).unwrap(), was_there, "seed {seed}, step {step}");
                }
            }
            let mut wanted: Vec<Association> = ties
                .iter()
                .filter(|((from, of, _), _)| *from == a && *of == kind)
                .map(|((.., to), (time, data))| Association { to: *to, time: *time, data: data.clone() })
                .collect();
            wanted.sort_by_key(|one| -one.time);
            let thing =
                objects.get(&a).map(|(kind, data)| Thing { id: a, kind: kind.clone(), data: data.clone() });
            assert_eq!(social.get(a).unwrap(), thing);
            assert_eq!(social.count(a, &kind).unwrap(), wanted.len() as i64);
            let (list, count) = social.list_and_count(a, &kind, 2).unwrap();
            assert_eq!((list.as_slice(), count), (&wanted[..wanted.len().min(2)], wanted.len() as i64));
            let skipped = wanted.iter().skip(1).take(3).cloned().collect::<Vec<_>>();
            assert_eq!(social.range(a, &kind, 1, 3).unwrap(), skipped);
            let late: Vec<_> =
                wanted.iter().filter(|one| (step / 2..=step - 1).contains(&one.time)).cloned().collect();
            assert_eq!(social.time_range(a, &kind, (step / 2, step - 1), 100).unwrap(), late);
            let some: Vec<_> = wanted.iter().filter(|one| [b, 3].contains(&one.to)).cloned().collect();
            assert_eq!(social.ties_to(a, &kind, &[b, 3]).unwrap(), some);
        }
        assert!(social.range(0, "follows", -5, -1).unwrap().is_empty());
    }
}

#[test]
fn a_network_is_loaded_and_is_there_after_a_restart() {
    let folder = TemporaryFolder::new("social").unwrap();
    let mut social = Social::open(Some(folder.path())).unwrap();
    // Pairs that come again, in one commit and in another, are one association each.
    social.load(&[(1, 2), (1, 2), (1, 3), (2, 1), (1, 4), (4, 4), (1, 2)], 2).unwrap();
    drop(social);
    let mut social = Social::open(Some(folder.path())).unwrap();
    let newest: Vec<i64> = social.range(1, "follows", 0, 2).unwrap().iter().map(|one| one.to).collect();
    assert_eq!((newest, social.count(1, "follows").unwrap()), (vec![4, 3], 3));
    assert_eq!(social.client().get(4).unwrap().unwrap().kind, "person");
}
