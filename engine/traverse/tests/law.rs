//! The machine against what plain loops over lists give: filters, walks, loops, groups, paths, side effects, changes, ends; on random graphs.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

#[allow(dead_code, reason = "shared with the other tests")]
mod twin;

use gremlin::Object;
use model::{EdgeId, EdgeRef, VertexId};
use std::collections::{BTreeMap, BTreeSet};
use tanglewood_traverse::convert::shown;
use tanglewood_traverse::{Kept, TraverseError};
use twin::{Edge, Lists, Vertex, Walked, run};

/// SplitMix64: small, seeded, replayable.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

/// Labels A and B, a number `x` that some lack, edges of types r and s with a weight, loops and parallel edges among them.
fn random(seed: u64) -> Lists {
    let mut chance = Chance(seed);
    let mut lists = Lists::default();
    let count = 4 + chance.below(12);
    for _ in 0..count {
        let labels = vec![["A", "B"][chance.below(2) as usize].into()];
        let x = (chance.below(5) > 0).then(|| Kept::plain(Object::Long(chance.below(6) as i64)));
        let properties = x.map(|x| ("x".into(), vec![x])).into_iter().collect();
        lists.vertices.push(Some(Vertex { labels, properties }));
    }
    for id in 0..chance.below(3 * count) {
        let (source, target) = (VertexId(chance.below(count)), VertexId(chance.below(count)));
        let properties = vec![("w".into(), Object::Long(chance.below(4) as i64))];
        let kind = ["r", "r", "s"][chance.below(3) as usize].into();
        lists.edges.push(Some(Edge { edge: EdgeRef { id: EdgeId(id), source, target }, kind, properties }));
    }
    lists
}

fn texts(numbers: impl IntoIterator<Item = i64>) -> Vec<String> {
    numbers.into_iter().map(|number| number.to_string()).collect()
}

fn id(vertex: &VertexId) -> i64 {
    vertex.0 as i64
}

/// Ends of all walks of so many steps over type r, as often as there are walks.
fn walks(lists: &Lists, from: &[VertexId], steps: usize) -> Vec<VertexId> {
    let step = |ends: Vec<VertexId>| ends.iter().flat_map(|end| lists.out(*end, Some("r"))).collect();
    (0..steps).fold(from.to_vec(), |ends, _| step(ends))
}

fn weight(edge: &Edge) -> i64 {
    edge.properties[0].1.as_long().unwrap()
}

type Expected = fn(&Lists) -> Vec<String>;

fn all(lists: &Lists) -> Vec<VertexId> {
    lists.ids().collect()
}

fn has(lists: &Lists, vertex: &VertexId, label: &str) -> bool {
    lists.vertex(*vertex).unwrap().labels.iter().any(|own| **own == *label)
}

fn xs(lists: &Lists) -> Vec<i64> {
    lists.ids().filter_map(|vertex| lists.number(vertex, "x")).collect()
}

/// Texts, and what they give in any order.
const FILTERS: &[(&str, Expected)] = &[
    ("g.V().id()", |l| texts(l.ids().map(|v| id(&v)))),
    ("g.V().count()", |l| texts([l.ids().count() as i64])),
    ("g.E().count()", |l| texts([l.edges().count() as i64])),
    ("g.V().hasLabel('A').id()", |l| texts(all(l).iter().filter(|v| has(l, v, "A")).map(id))),
    ("g.V().hasLabel('A', 'B').count()", |l| texts([l.ids().count() as i64])),
    ("g.V().not(hasLabel('A')).id()", |l| texts(all(l).iter().filter(|v| !has(l, v, "A")).map(id))),
    ("g.V().has('x').id()", |l| texts(l.ids().filter(|v| l.number(*v, "x").is_some()).map(|v| id(&v)))),
    ("g.V().hasNot('x').id()", |l| texts(l.ids().filter(|v| l.number(*v, "x").is_none()).map(|v| id(&v)))),
    ("g.V().has('x', 3).id()", |l| texts(l.ids().filter(|v| l.number(*v, "x") == Some(3)).map(|v| id(&v)))),
    ("g.V().values('x').is(gt(2))", |l| texts(xs(l).into_iter().filter(|x| *x > 2))),
    ("g.V().values('x').is(between(1, 4))", |l| texts(xs(l).into_iter().filter(|x| (1..4).contains(x)))),
    ("g.V().values('x').is(outside(1, 4))", |l| texts(xs(l).into_iter().filter(|x| *x < 1 || *x > 4))),
    ("g.V().values('x').is(within(1, 5))", |l| texts(xs(l).into_iter().filter(|x| [1, 5].contains(x)))),
    ("g.V().values('x').is(without(1, 5))", |l| texts(xs(l).into_iter().filter(|x| ![1, 5].contains(x)))),
    ("g.V().values('x').is(lte(2).or(eq(5)))", |l| texts(xs(l).into_iter().filter(|x| *x <= 2 || *x == 5))),
    ("g.V().values('x').dedup()", |l| texts(BTreeSet::from_iter(xs(l)))),
    ("g.V().and(has('x', gte(2)), out('r')).id()", |l| {
        let is = |v: &VertexId| l.number(*v, "x").is_some_and(|x| x >= 2) && !l.out(*v, Some("r")).is_empty();
        texts(l.ids().filter(is).map(|v| id(&v)))
    }),
    ("g.V().or(has('x', lt(2)), outE('s')).id()", |l| {
        let is = |v: &VertexId| l.number(*v, "x").is_some_and(|x| x < 2) || !l.out(*v, Some("s")).is_empty();
        texts(l.ids().filter(is).map(|v| id(&v)))
    }),
    ("g.V().where(out('r').count().is(gt(1))).id()", |l| {
        texts(l.ids().filter(|v| l.out(*v, Some("r")).len() > 1).map(|v| id(&v)))
    }),
    ("g.E().hasLabel('s').values('w')", |l| texts(l.edges().filter(|e| *e.kind == *"s").map(weight))),
    ("g.E().has('w', neq(2)).count()", |l| texts([l.edges().filter(|e| weight(e) != 2).count() as i64])),
];

const WALKS: &[(&str, Expected)] = &[
    ("g.V().out().id()", |l| texts(all(l).iter().flat_map(|v| l.out(*v, None)).map(|v| id(&v)))),
    ("g.V().in('r').id()", |l| texts(l.edges().filter(|e| *e.kind == *"r").map(|e| id(&e.edge.source)))),
    ("g.V().both('s').count()", |l| texts([2 * l.edges().filter(|e| *e.kind == *"s").count() as i64])),
    ("g.V().outE('r').inV().id()", |l| texts(walks(l, &all(l), 1).iter().map(id))),
    ("g.E().outV().id()", |l| texts(l.edges().map(|e| id(&e.edge.source)))),
    ("g.V().hasLabel('A').outE().otherV().id()", |l| {
        texts(all(l).iter().filter(|v| has(l, v, "A")).flat_map(|v| l.out(*v, None)).map(|v| id(&v)))
    }),
    ("g.V().out('r').out('r').out('r').id()", |l| texts(walks(l, &all(l), 3).iter().map(id))),
    ("g.V().repeat(out('r')).times(3).id()", |l| texts(walks(l, &all(l), 3).iter().map(id))),
    ("g.V().times(2).repeat(out('r')).id()", |l| texts(walks(l, &all(l), 2).iter().map(id))),
    ("g.V().repeat(out('r')).times(2).emit().id()", |l| {
        texts((1..3).flat_map(|n| walks(l, &all(l), n)).map(|v| id(&v)))
    }),
    ("g.V().emit().repeat(out('r')).times(2).id()", |l| {
        texts((0..3).flat_map(|n| walks(l, &all(l), n)).map(|v| id(&v)))
    }),
    ("g.V().repeat(out('r').dedup()).emit().id()", |l| {
        // What dedup has seen it never lets through again, in whatever round.
        texts(l.edges().filter(|e| *e.kind == *"r").map(|e| id(&e.edge.target)).collect::<BTreeSet<_>>())
    }),
    ("g.V().repeat(out('r')).until(or(has('x', 3), loops().is(3))).id()", |l| {
        let (mut found, mut ends) = (Vec::new(), all(l));
        for round in 1..=3 {
            let (done, on): (Vec<_>, Vec<_>) =
                walks(l, &ends, 1).into_iter().partition(|v| round == 3 || l.number(*v, "x") == Some(3));
            found.extend(texts(done.iter().map(id)));
            ends = on;
        }
        found
    }),
    ("g.V().union(out('r'), in('r'), identity()).count()", |l| {
        let edges = l.edges().filter(|e| *e.kind == *"r").count() as i64;
        texts([2 * edges + l.ids().count() as i64])
    }),
    ("g.V().coalesce(out('s'), out('r')).id()", |l| {
        let first = |v: &VertexId| match l.out(*v, Some("s")) {
            none if none.is_empty() => l.out(*v, Some("r")),
            some => some,
        };
        texts(all(l).iter().flat_map(first).map(|v| id(&v)))
    }),
    ("g.V().choose(has('x', gt(2)), out('r'), constant('none')).count()", |l| {
        let one = |v: &VertexId| match l.number(*v, "x") {
            Some(x) if x > 2 => l.out(*v, Some("r")).len(),
            _ => 1,
        };
        texts([all(l).iter().map(one).sum::<usize>() as i64])
    }),
    ("g.V().optional(out('r')).count()", |l| {
        texts([all(l).iter().map(|v| l.out(*v, Some("r")).len().max(1)).sum::<usize>() as i64])
    }),
    ("g.V().local(out('r').limit(1)).count()", |l| {
        texts([all(l).iter().map(|v| l.out(*v, Some("r")).len().min(1)).sum::<usize>() as i64])
    }),
    ("g.V().as('a').out('r').as('b').where('a', eq('b')).count()", |l| {
        let is = |e: &&Edge| *e.kind == *"r" && e.edge.source == e.edge.target;
        texts([l.edges().filter(is).count() as i64])
    }),
    ("g.V().as('a').out('r').out('r').where(neq('a')).count()", |l| {
        texts([all(l)
            .iter()
            .flat_map(|v| walks(l, &[*v], 2).into_iter().filter(|end| end != v).collect::<Vec<_>>())
            .count() as i64])
    }),
    ("g.V().as('a').out('r').as('b').select('a', 'b').by(id())", |l| {
        let row = |e: &Edge| format!("{{a={}, b={}}}", e.edge.source.0, e.edge.target.0);
        l.edges().filter(|e| *e.kind == *"r").map(row).collect()
    }),
    ("g.V().out('r').out('r').path().by(id())", |l| {
        let mut found = Vec::new();
        for a in l.ids() {
            for b in l.out(a, Some("r")) {
                found.extend(l.out(b, Some("r")).iter().map(|c| format!("path[{}, {}, {}]", a.0, b.0, c.0)));
            }
        }
        found
    }),
    ("g.V().out('r').out('r').simplePath().count()", |l| {
        let simple = |v: &VertexId| {
            let ways = l.out(*v, Some("r")).into_iter().filter(|b| b != v);
            ways.flat_map(|b| {
                l.out(b, Some("r")).into_iter().filter(move |c| *c != b && c != v).collect::<Vec<_>>()
            })
            .count()
        };
        texts([all(l).iter().map(simple).sum::<usize>() as i64])
    }),
];

const VALUES: &[(&str, Expected)] = &[
    ("g.V().values('x').fold().count(local)", |l| texts([xs(l).len() as i64])),
    ("g.V().values('x').sum()", |l| if xs(l).is_empty() { vec![] } else { texts([xs(l).iter().sum()]) }),
    ("g.V().values('x').max()", |l| texts(xs(l).into_iter().max())),
    ("g.V().values('x').min()", |l| texts(xs(l).into_iter().min())),
    ("g.V().groupCount().by(label).unfold()", |l| {
        let mut counts = BTreeMap::<String, i64>::new();
        l.ids().for_each(|v| *counts.entry(l.vertex(v).unwrap().labels[0].to_string()).or_default() += 1);
        counts.into_iter().map(|(label, count)| format!("\"{label}\"={count}l")).collect()
    }),
    ("g.V().hasLabel('A').group().by(label).by(out().count()).unfold()", |l| {
        let own: Vec<VertexId> = all(l).into_iter().filter(|v| has(l, v, "A")).collect();
        let count: usize = own.iter().map(|v| l.out(*v, None).len()).sum();
        if own.is_empty() { vec![] } else { vec![format!("\"A\"={count}l")] }
    }),
    ("g.V().has('x').project('i', 'x').by(id()).by('x')", |l| {
        let row = |v: VertexId| Some(format!("{{i={}, x={}}}", v.0, l.number(v, "x")?));
        l.ids().filter_map(row).collect()
    }),
    ("g.V().aggregate('all').by(id()).limit(1).cap('all').count(local)", |l| texts([l.ids().count() as i64])),
    ("g.V().has('x').values('x').math('_ * 2 + 1').sum()", |l| {
        if xs(l).is_empty() {
            vec![]
        } else {
            vec![format!("{:?}", xs(l).iter().map(|x| (x * 2 + 1) as f64).sum::<f64>())]
        }
    }),
    ("g.withSack(0).V().outE('r').sack(sum).by('w').inV().sack()", |l| {
        texts(l.edges().filter(|e| *e.kind == *"r").map(weight))
    }),
    ("g.V().values('x').order().fold()", |l| {
        let mut sorted = xs(l);
        sorted.sort_unstable();
        vec![format!("[{}]", texts(sorted).join(", "))]
    }),
    ("g.V().values('x').order().by(desc).range(1, 3)", |l| {
        let mut sorted = xs(l);
        sorted.sort_unstable_by(|a, b| b.cmp(a));
        texts(sorted.into_iter().skip(1).take(2))
    }),
    ("g.V().values('x').order().skip(2)", |l| {
        let mut sorted = xs(l);
        sorted.sort_unstable();
        texts(sorted.into_iter().skip(2))
    }),
    ("g.V().values('x').order().tail(2)", |l| {
        let mut sorted = xs(l);
        sorted.sort_unstable();
        texts(sorted[sorted.len().saturating_sub(2)..].iter().copied())
    }),
    ("g.V().order().by(id(), desc).limit(2).id()", |l| texts(all(l).iter().rev().take(2).map(id))),
];

#[test]
fn what_a_traversal_gives_is_what_loops_give() {
    for seed in 0..60 {
        let lists = random(seed);
        for (text, expected) in FILTERS.iter().chain(WALKS).chain(VALUES) {
            // One element of the graph at a time, or all.
            for part in [1, 1_000] {
                let graph = Walked { part, ..Walked::of(lists.clone()) };
                let mut found: Vec<String> =
                    run(&graph, text).unwrap_or_else(|e| panic!("{text}: {e}")).iter().map(shown).collect();
                let mut expected = expected(&lists);
                if text.contains("math") {
                    found
                        .iter_mut()
                        .for_each(|number| *number = format!("{:?}", number.parse::<f64>().unwrap()));
                }
                found.sort();
                expected.sort();
                assert_eq!(found, expected, "seed {seed}: {text}");
            }
        }
    }
}

/// What is changed is in the lists afterwards.
#[test]
fn changes_are_made_and_seen() {
    let graph = Walked::of(Lists::default());
    let count = |text: &str| run(&graph, text).unwrap()[0].as_long().unwrap();
    run(
        &graph,
        "g.addV('A').property('x', 1).as('a').addV('B').as('b').addE('r').from('a').to('b').property('w', 7)",
    )
    .unwrap();
    assert_eq!((count("g.V().count()"), count("g.E().values('w')")), (2, 7));
    run(&graph, "g.V().hasLabel('A').property('x', 5)").unwrap();
    assert_eq!(count("g.V().has('x', 5).count()"), 1);
    run(&graph, "g.V().hasLabel('A').property(list, 'y', 1).property(list, 'y', 2).property(set, 'y', 2)")
        .unwrap();
    assert_eq!(count("g.V().values('y').sum()"), 3);
    run(&graph, "g.V().properties('y').hasValue(1).drop()").unwrap();
    assert_eq!(count("g.V().values('y').sum()"), 2);
    run(&graph, "g.E().properties('w').drop()").unwrap();
    assert_eq!(count("g.E().has('w').count()"), 0);
    run(&graph, "g.mergeV([(T.label): 'A', x: 5])").unwrap();
    assert_eq!(count("g.V().count()"), 2, "it was there");
    run(&graph, "g.mergeV([(T.label): 'A', x: 6]).option(onCreate, [(T.label): 'A', x: 6, z: 1])").unwrap();
    assert_eq!((count("g.V().count()"), count("g.V().has('x', 6).values('z')")), (3, 1));
    run(&graph, "g.V().hasLabel('B').drop()").unwrap();
    assert_eq!((count("g.V().count()"), count("g.E().count()")), (2, 0), "edges go with their vertices");
    run(&graph, "g.V().drop()").unwrap();
    assert_eq!(graph.lists.lock().unwrap().ids().count(), 0);
}

/// What is enough ends the work before it, and the graph may end it at any moment.
#[test]
fn work_ends_when_it_is_enough() {
    let mut lists = Lists::default();
    for at in 0..300 {
        lists.vertices.push(Some(Vertex::default()));
        let edge = EdgeRef { id: EdgeId(at), source: VertexId(at), target: VertexId((at + 1) % 300) };
        lists.edges.push(Some(Edge { edge, kind: "r".into(), properties: Vec::new() }));
    }
    let pauses = |text: &str| {
        let graph = Walked { pauses_max: Some(2_000), part: 10, ..Walked::of(lists.clone()) };
        run(&graph, text).map(|found| found.len())
    };
    assert_eq!(pauses("g.V().limit(3)"), Ok(3));
    assert_eq!(pauses("g.V().limit(20).tail(3)"), Ok(3));
    assert_eq!(pauses("g.V().limit(20).tail(0)"), Ok(0));
    assert_eq!(pauses("g.V().limit(20).where(out('r').tail(0))"), Ok(0));
    assert_eq!(
        pauses("g.V().repeat(out('r')).limit(3)").map_err(|e| e.to_string()),
        Err("enough".into()),
        "it never ends"
    );
    assert_eq!(pauses("g.V().repeat(out('r')).emit().limit(3)"), Ok(3), "but what it emits comes at once");
    assert_eq!(pauses("g.V().out('r').out('r').range(10, 12)"), Ok(2));
    let failed = run(&Walked::of(lists.clone()), "g.V().limit(1).fail('so')").unwrap_err();
    assert!(matches!(&failed, TraverseError::Failed(why) if why.contains("so")), "{failed}");
    let wrong =
        run(&Walked::of(lists), "g.V().limit(1).values('x').fold().unfold().math('_ +')").unwrap_err();
    assert!(!wrong.to_string().is_empty());
}
