//! A reader's call may do a query's upkeep: the end of that reader is not the query's.

use super::*;
use dataflow::watch::{self, Limited, UNITS_PER_LOOK};
use model::Value;
use std::time::Duration;
use transact::{Mode, OpenOptions};
use world::clock::monotonic_ns;

#[test]
fn a_reader_who_is_ended_withdraws_what_others_left() {
    let engine = transact::open(None, &OpenOptions::default()).unwrap().0;
    let t = engine.begin(Mode::Write);
    let (label, key) = (t.label("P").unwrap(), t.key("x").unwrap());
    for x in 0..10 {
        t.create_vertex(&[label], vec![(key, Value::Int(x))]).unwrap();
    }
    t.commit().unwrap();

    let mut follower = Follower::begin(&engine, None, None);
    let text = "MATCH (a:P) WHERE a.x < $x RETURN id(a) AS a";
    let statement = plan::normalize(cypher::compile(text).unwrap()).unwrap();
    let (view, timestamp, at) = (&follower.view, follower.timestamp, follower.at);
    let mut query = Query::begin(("q", text), statement.into(), view, timestamp, at).unwrap();
    let runtime = execute::runtime(Some(1)).unwrap();
    query.upkeep = Some(runtime.services()(0, "upkeep".into()));
    let arguments = |x| Row::new(vec![Value::Int(x)]);
    let with_answer = Begin { snapshot: true, ..Begin::default() };
    drop(query.subscribe(&arguments(7), with_answer, &mut follower, None).unwrap());
    let left_ns = monotonic_ns() + WITHDRAW_EVERY_NS;
    query.withdraw(&mut follower, left_ns);
    assert_eq!(query.readers.len(), 1, "they may come back");

    // Somebody whose time is over comes next, and would be told so at the next unit of work.
    let reader = watch::enter(Limited::new(Duration::ZERO, 0));
    assert!(watch::spend(UNITS_PER_LOOK).is_err());
    assert_eq!(watch::spend(UNITS_PER_LOOK - 1), Ok(()));
    query.withdraw(&mut follower, left_ns + LINGER_NS);
    assert!(watch::spend(UNITS_PER_LOOK).is_err());
    drop(reader);
    assert_eq!((query.failure(), query.readers.len(), query.rows()), (None, 0, 0));

    // Where it is the query itself that was ended, it ends.
    drop(query.subscribe(&arguments(7), with_answer, &mut follower, None).unwrap());
    query.withdraw(&mut follower, left_ns + 2 * LINGER_NS);
    query.upkeep.iter().for_each(|upkeep| upkeep.end("by the test"));
    let _ = watch::spend(UNITS_PER_LOOK);
    assert_eq!(watch::spend(UNITS_PER_LOOK - 1), Ok(()));
    query.withdraw(&mut follower, left_ns + 3 * LINGER_NS);
    assert_eq!(query.failure(), Some(&StandingError::Ended("by the test".into())));
}
