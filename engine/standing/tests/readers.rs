//! Readers of a place where others are at work: threads that drop, close or subscribe can be ended, and readers get the reason.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use dataflow::watch::{self, Limited};
use execute::Runtime;
use model::Value;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tanglewood_standing::{Begin, Event, Keeper, StandingError, Subscription, SubscriptionEnd};
use transact::{Engine, Mode, OpenOptions};

const LIGHT: &str = "MATCH (v:V) RETURN v.i AS i";
/// Work for minutes, once there is a T.
const SLOW: &str = "MATCH (t:T) MATCH (a:V), (b:V), (c:V) WHERE a.i + b.i + c.i + t.x < 0 RETURN a.i AS a";
/// Far more than anything here takes that is not meant to last.
const LONG: Duration = Duration::from_secs(60);

fn engine() -> Engine {
    let engine = transact::open(None, &OpenOptions::default()).unwrap().0;
    (0..400).for_each(|i| add(&engine, "V", "i", i));
    engine
}

fn add(engine: &Engine, label: &str, key: &str, value: i64) {
    let t = engine.begin(Mode::Write);
    let properties = vec![(t.key(key).unwrap(), Value::Int(value))];
    t.create_vertex(&[t.label(label).unwrap()], properties).unwrap();
    t.commit().unwrap();
}

fn create(keeper: &Keeper, name: &str, text: &str) {
    let statement = plan::normalize(cypher::compile(text).unwrap()).unwrap();
    keeper.create(name, text, statement, 0, Arc::new(|_| {})).unwrap();
}

fn read(keeper: &Keeper, name: &str) -> Result<Subscription, StandingError> {
    keeper.subscribe(name, &|_| None, Begin { snapshot: true, ..Begin::default() })
}

/// How it ends, after what it has to tell before.
fn end_of(reader: &Subscription) -> SubscriptionEnd {
    let until = Instant::now() + LONG;
    while Instant::now() < until {
        if let Err(end) = reader.next(Duration::from_millis(10)) {
            return end;
        }
    }
    panic!("it does not end");
}

fn at_work(runtime: &Runtime) {
    let until = Instant::now() + LONG;
    while runtime.queries().is_empty() {
        assert!(Instant::now() < until, "it is never at work");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn who_drops_does_not_wait_for_others() {
    let (engine, runtime) = (engine(), execute::runtime(Some(1)).unwrap());
    let keeper = Keeper::new(engine.clone(), 2).serving(Arc::new(runtime.services()));
    create(&keeper, "slow", SLOW);
    create(&keeper, "elsewhere", LIGHT);
    create(&keeper, "light", LIGHT);
    keeper.drop_query("elsewhere").unwrap();
    let (slow, light) = (read(&keeper, "slow").unwrap(), read(&keeper, "light").unwrap());
    add(&engine, "T", "x", 1);
    std::thread::scope(|scope| {
        let turn = scope.spawn(|| keeper.turn(0));
        at_work(&runtime);
        let began = Instant::now();
        keeper.drop_query("light").unwrap();
        assert!(began.elapsed() < LONG, "{:?}", began.elapsed());
        assert!(!turn.is_finished(), "it waited for the other one");
        assert_eq!(keeper.list().iter().map(|query| &*query.name).collect::<Vec<_>>(), ["slow"]);
        assert_eq!(keeper.drop_query("light"), Err(StandingError::NoSuchQuery("light".into())));
        // Its name is free, and whoever takes it is not mistaken for it.
        create(&keeper, "light", LIGHT);
        assert_eq!(keeper.list().len(), 2);

        keeper.drop_query("slow").unwrap();
        turn.join().unwrap();
        assert_eq!(end_of(&slow), SubscriptionEnd::Dropped);
        assert_eq!(end_of(&light), SubscriptionEnd::Dropped);
    });
    assert_eq!(keeper.list().iter().map(|query| &*query.name).collect::<Vec<_>>(), ["light"]);
    keeper.turn(1);
    let again = read(&keeper, "light").unwrap();
    assert!(matches!(again.next(LONG).unwrap(), Some(Event::Snapshot { rows, .. }) if rows.len() == 400));
    assert!(runtime.queries().is_empty());
}

#[test]
fn readers_are_told_that_the_database_closes() {
    let (engine, runtime) = (engine(), execute::runtime(Some(1)).unwrap());
    let keeper = Keeper::new(engine.clone(), 1).serving(Arc::new(runtime.services()));
    create(&keeper, "light", LIGHT);
    create(&keeper, "slow", SLOW);
    let readers = [read(&keeper, "light").unwrap(), read(&keeper, "slow").unwrap()];
    add(&engine, "T", "x", 1);
    std::thread::scope(|scope| {
        scope.spawn(|| keeper.turn(0));
        at_work(&runtime);
        keeper.close();
    });
    readers.iter().for_each(|reader| assert_eq!(end_of(reader), SubscriptionEnd::Closed));
}

/// Upkeep is not a reader's work: it waits for it, and can be ended meanwhile.
#[test]
fn who_subscribes_leaves_upkeep_to_others() {
    let (engine, runtime) = (engine(), execute::runtime(Some(1)).unwrap());
    let keeper = Keeper::new(engine.clone(), 1).serving(Arc::new(runtime.services()));
    create(&keeper, "light", LIGHT);
    create(&keeper, "slow", SLOW);
    add(&engine, "T", "x", 1);
    let watched = watch::enter(Limited::new(Duration::from_millis(50), 1 << 30));
    assert!(read(&keeper, "light").is_err(), "nobody has taken up what was committed");
    drop(watched);
    assert!(keeper.list().iter().all(|query| query.failure.is_none()));
    std::thread::scope(|scope| {
        scope.spawn(|| keeper.turn(0));
        at_work(&runtime);
        let watched = watch::enter(Limited::new(Duration::from_millis(50), 1 << 30));
        assert!(read(&keeper, "light").is_err(), "the other one is at work");
        drop(watched);
        let reader = scope.spawn(|| read(&keeper, "light"));
        keeper.drop_query("slow").unwrap();
        let reader = reader.join().unwrap().unwrap();
        let Some(Event::Snapshot { rows, commit_version, .. }) = reader.next(LONG).unwrap() else { panic!() };
        assert_eq!((rows.len(), commit_version), (400, engine.snapshot().commit_version()));
    });
}
