//! Shapes: traversals that differ in constants alone have one; all others have their own, and hashes that tell them apart.

use gremlin::shape::{constants, hash, is_same};
use gremlin::{Bindings, Request, Traversal, parse};
use tanglewood_gremlin as gremlin;

fn traversal(text: &str) -> Traversal {
    match parse(text, &Bindings::new()).unwrap().remove(0) {
        Request::Traversal(traversal, _) => traversal,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn constants_alone_make_no_other_shape() {
    let groups = [
        &["g.V().has('a', 1)", "g.V().has('a', 'x')", "g.V().has('a', 2.5)"][..],
        &["g.V().has('a', within(1))", "g.V().has('a', within('x', 'y', 3))"],
        &["g.V(1)", "g.V(22L)"],
        &["g.V().has('a', startingWith('x'))", "g.V().has('a', startingWith('y'))"],
        &["g.V().has('a', lt(1).or(gt(5)))", "g.V().has('a', lt(2).or(gt('x')))"],
    ];
    for group in groups {
        let first = traversal(group[0]);
        for text in group {
            let other = traversal(text);
            assert_eq!(hash(&first), hash(&other), "{text}");
            assert!(is_same(&first, &other) && is_same(&other, &first), "{text}");
            assert_eq!(constants(&first).len(), constants(&other).len(), "{text}");
        }
    }
}

#[test]
fn other_shapes_are_told_apart() {
    let texts = [
        "g.V()",
        "g.V(1)",
        "g.V(1, 2)",
        "g.V(1, 3)",
        "g.V().has('a')",
        "g.V().has('b')",
        "g.V().has('a', 1)",
        "g.V().has('a', null)",
        "g.V().has('a', 'b', 1)",
        "g.V().has('a', within())",
        "g.V().has('a', within('x'))",
        "g.V().has('a', without())",
        "g.V().has('a', without('x'))",
        "g.V().has('a', startingWith('x'))",
        "g.V().has('a', notStartingWith('x'))",
        "g.V().has('a', endingWith('x'))",
        "g.V().has('a', notEndingWith('x'))",
        "g.V().has('a', containing('x'))",
        "g.V().has('a', notContaining('x'))",
        "g.V().has('a', regex('x'))",
        "g.V().has('a', notRegex('x'))",
        "g.V().has('a', lt(1).or(gt(5)))",
        "g.V().has('a', lt(1).and(gt(5)))",
        "g.V().has('a', between(1, 5))",
        "g.V().has('a', inside(1, 5))",
        "g.V().has('a', outside(1, 5))",
        "g.V().hasLabel('a')",
        "g.V().hasLabel('a', 'b')",
        "g.V().hasId(1)",
        "g.V().hasId(1, 2)",
        "g.V().limit(1)",
        "g.V().limit(2)",
        "g.V().constant(0.0)",
        "g.V().constant(-0.0)",
        "g.V().constant(1.5)",
        "g.V().constant(1)",
        "g.V().constant(1L)",
    ];
    let all: Vec<Traversal> = texts.iter().map(|text| traversal(text)).collect();
    for (at, one) in all.iter().enumerate() {
        for (behind, other) in all[at + 1..].iter().enumerate() {
            let (one_text, other_text) = (texts[at], texts[at + 1 + behind]);
            assert!(!is_same(one, other) && !is_same(other, one), "{one_text} and {other_text} share a plan");
            assert_ne!(hash(one), hash(other), "{one_text} and {other_text} drive each other out");
        }
    }
}
