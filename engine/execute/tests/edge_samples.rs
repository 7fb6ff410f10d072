//! What samples of edges tell, beside the truth: hubs that a sample of vertices misses, and labels that edges of one type lead to.

use crate::support;

use model::Direction;
use plan::Planning;
use std::sync::Arc;
use support::engine;
use tanglewood_execute::planning::{Samples, SnapshotPlanning};
use transact::{Engine, Mode};

/// Topics, of which the first few have most of the fans.
const TOPICS: u64 = 20_000;
const HUBS: u64 = 5;
/// Fans of each hub, and of each other topic.
const OF_HUB: u64 = 4_000;
const OF_OTHER: u64 = 1;
/// How far an estimate may be from the truth, as a factor.
const FACTOR_MAX: f64 = 1.3;

fn planning(engine: &Engine) -> SnapshotPlanning {
    SnapshotPlanning::with_samples(engine.snapshot(), Arc::new(Samples::default()))
}

fn is_near(found: f64, right: f64) -> bool {
    found <= right * FACTOR_MAX && right <= found * FACTOR_MAX
}

#[test]
fn hubs_count_as_often_as_they_have_edges() {
    let engine = engine();
    let transaction = engine.begin(Mode::Write);
    let (fan, topic) = (transaction.label("Fan").unwrap(), transaction.label("Topic").unwrap());
    let likes = transaction.edge_type("LIKES").unwrap();
    let fans: Vec<_> = (0..OF_HUB).map(|_| transaction.create_vertex(&[fan], Vec::new()).unwrap()).collect();
    for number in 0..TOPICS {
        let made = transaction.create_vertex(&[topic], Vec::new()).unwrap();
        // Hubs lie far from each other.
        let of_it = if number % (TOPICS / HUBS) == 77 { OF_HUB } else { OF_OTHER };
        for at in 0..of_it {
            let fan = fans[((number + at) % OF_HUB) as usize];
            transaction.create_edge(fan, made, likes, Vec::new()).unwrap();
        }
    }
    transaction.commit().unwrap();

    let (others, of_hub) = ((TOPICS - HUBS) as f64, OF_HUB as f64);
    let edges = others + HUBS as f64 * of_hub;
    let squares = others + HUBS as f64 * of_hub * of_hub;
    let right = squares * TOPICS as f64 / (edges * edges);
    let found = planning(&engine).spread(Some("Topic"), &["LIKES"], Direction::In).unwrap();
    assert!(is_near(found, right), "{found} for {right}");
    let of_fans = planning(&engine).spread(Some("Fan"), &["LIKES"], Direction::Out).unwrap();
    assert!(of_fans < FACTOR_MAX, "all have about the same number: {of_fans}");
    assert_eq!(planning(&engine).spread(Some("Topic"), &["LIKES"], Direction::Out), None, "none leave them");
}

/// Persons lie in towns, messages in countries, and towns in countries: all by one type.
fn places() -> Engine {
    let engine = engine();
    let transaction = engine.begin(Mode::Write);
    let label = |name: &str| transaction.label(name).unwrap();
    let located = transaction.edge_type("IN").unwrap();
    let make = |name: &str| transaction.create_vertex(&[label(name)], Vec::new()).unwrap();
    let (countries, towns): (Vec<_>, Vec<_>) =
        ((0..20).map(|_| make("Country")).collect(), (0..1_000).map(|_| make("Town")).collect());
    for number in 0..1_000 {
        transaction.create_edge(towns[number], countries[number % 20], located, Vec::new()).unwrap();
    }
    for number in 0..3_000 {
        let person = make("Person");
        transaction.create_edge(person, towns[number % 1_000], located, Vec::new()).unwrap();
    }
    for number in 0..30_000 {
        let message = make("Message");
        transaction.create_edge(message, countries[number % 20], located, Vec::new()).unwrap();
    }
    transaction.commit().unwrap();
    engine
}

#[test]
fn the_label_of_one_end_tells_that_of_the_other() {
    let engine = places();
    let (sampled, counted) = (planning(&engine), SnapshotPlanning::new(engine.snapshot()));
    let share = |planning: &SnapshotPlanning, near: &str, direction: Direction, far: &str| {
        planning.far_share(Some(near), &["IN"], direction, far)
    };
    for (near, direction, far, right) in [
        ("Town", Direction::In, "Person", 1.0),
        ("Town", Direction::In, "Message", 0.0),
        ("Country", Direction::In, "Message", 30.0 / 31.0),
        ("Country", Direction::In, "Town", 1.0 / 31.0),
        ("Person", Direction::Out, "Town", 1.0),
        ("Person", Direction::Out, "Country", 0.0),
        ("Message", Direction::Out, "Country", 1.0),
        ("Town", Direction::Out, "Country", 1.0),
        ("Town", Direction::Both, "Person", 0.75),
    ] {
        let found = share(&sampled, near, direction, far);
        assert!((found - right).abs() < 0.07, "{near} {direction:?} {far}: {found} for {right}");
        // Without a sample no more can lead there than are met there.
        assert!(share(&counted, near, direction, far) <= 1.0);
    }
    assert!(share(&counted, "Town", Direction::In, "Person") < 0.2, "counters do not tell");
}
