//! Ids that clients of Gremlin give: found by an index, whatever their type, label and history, and shown by no interface.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use std::time::{Duration, Instant};
use tanglewood_database::gremlin::GremlinOptions;
use tanglewood_database::{Database, MEMORY, Mode, Options, Params, Session};

fn database() -> Database {
    Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap()
}

fn try_ask(session: &mut Session, text: &str) -> Result<Vec<String>, String> {
    let requests = gremlin::parse(text, &gremlin::Bindings::new()).map_err(|error| error.to_string())?;
    let gremlin::Request::Traversal(traversal, _) = &requests[0] else { panic!("{text}") };
    let answer = session.gremlin(traversal, &GremlinOptions::default());
    let objects = answer.and_then(|answer| answer.all()).map_err(|error| error.to_string())?;
    let shown = |object: &gremlin::Object| object.as_str().map_or_else(|| object.to_string(), str::to_string);
    Ok(objects.iter().map(shown).collect())
}

fn ask(session: &mut Session, text: &str) -> Vec<String> {
    try_ask(session, text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn rows(session: &mut Session, text: &str) -> Vec<String> {
    let rows = session.query(text, Params::new()).and_then(|result| result.rows()).unwrap();
    rows.iter().map(|row| format!("{row:?}")).collect()
}

#[test]
fn an_id_is_found_whatever_its_type_and_label() {
    let mut session = database().session();
    for id in ["1", "'a'", "'2'", "3L", "4.5d", "UUID('5e2b43f0-5a2c-4bd8-8d3e-3f1f8e1b2c7d')"] {
        for label in ["A", "B"] {
            let text = format!("g.addV('{label}').property(T.id, {id}).property('of', '{label}')");
            let outcome = try_ask(&mut session, &text);
            assert_eq!(outcome.is_ok(), label == "A", "an id is given once: {text}: {outcome:?}");
        }
        assert_eq!(ask(&mut session, &format!("g.V({id}).values('of')")), ["A"], "{id}");
    }
    for alike in ["'1'", "1L", "1.0d", "2", "'3'", "'4.5'", "'5e2b43f0-5a2c-4bd8-8d3e-3f1f8e1b2c7d'"] {
        assert_eq!(ask(&mut session, &format!("g.V({alike}).count()")), ["1l"], "{alike}");
    }
    for none in ["7", "'b'", "4", "'A'"] {
        assert_eq!(ask(&mut session, &format!("g.V({none}).count()")), ["0l"], "{none}");
    }
    ask(&mut session, "g.V(1).as('x').V('a').addE('R').from('x').property(T.id, 'e1')");
    ask(&mut session, "g.V(1).as('x').V('a').addE('S').from('x').property(T.id, 9)");
    assert_eq!(ask(&mut session, "g.E('e1').label()"), ["R"]);
    assert_eq!(ask(&mut session, "g.E('9').label()"), ["S"]);
    assert_eq!(ask(&mut session, "g.E('x').count()"), ["0l"]);
    // A vertex without one keeps the number that the database gave it.
    let own = ask(&mut session, "g.addV('C').id()").remove(0);
    assert_eq!(ask(&mut session, &format!("g.V({own}).label()")), ["C"]);
    ask(&mut session, "g.V(1).drop()");
    assert_eq!(ask(&mut session, "g.V(1).count()"), ["0l"]);
    ask(&mut session, "g.addV('B').property(T.id, 1)");
    assert_eq!(ask(&mut session, "g.V(1).label()"), ["B"]);
}

#[test]
fn elements_are_written_with_the_ids_that_clients_know() {
    let mut session = database().session();
    ask(
        &mut session,
        "g.addV('A').property(T.id, 'a').as('x').addV('A').property(T.id, 7).as('y').addE('R').from('x').to('y').property(T.id, 12)",
    );
    assert_eq!(ask(&mut session, "g.V().order().by(T.id).asString()"), ["v[7]", "v[a]"]);
    assert_eq!(ask(&mut session, "g.E().asString()"), ["e[12][a-R->7]"]);
    assert_eq!(ask(&mut session, "g.V('a').fold().asString(local)"), ["[\"v[a]\"]"]);
    assert_eq!(ask(&mut session, "g.V('a').fold().asString()"), ["[v[a]]"]);
}

/// An edge was made with an id that another edge had: `E(id)` then found one of the two.
#[test]
fn an_id_of_an_edge_is_given_once() {
    let mut session = database().session();
    ask(&mut session, "g.addV('A').property(T.id, 'a')");
    let add = |kind: &str, id: &str| {
        format!(
            "g.V('a').as('x').addE('{kind}').from('x').to('x').property(T.id, {id}).property('of', '{kind}')"
        )
    };
    for id in ["1", "'e'", "'2'", "3L", "4.5d", "UUID('5e2b43f0-5a2c-4bd8-8d3e-3f1f8e1b2c7d')"] {
        for kind in ["R", "S"] {
            let outcome = try_ask(&mut session, &add(kind, id));
            assert_eq!(outcome.is_ok(), kind == "R", "{id} of {kind}: {outcome:?}");
            if let Err(why) = outcome {
                assert!(why.contains("Edge with id already exists"), "{why}");
            }
        }
        assert_eq!(ask(&mut session, &format!("g.E({id}).values('of')")), ["R"], "{id}");
    }
    // A vertex may have the id of an edge, and an edge that of one which is gone.
    ask(&mut session, "g.addV('A').property(T.id, 'e')");
    ask(&mut session, "g.E('e').drop()");
    ask(&mut session, &add("S", "'e'"));
    assert_eq!(ask(&mut session, "g.E('e').values('of')"), ["S"]);
    // In a transaction, and in one traversal.
    session.begin(Mode::Write).unwrap();
    ask(&mut session, &add("T", "'t'"));
    assert!(try_ask(&mut session, &add("S", "'t'")).is_err());
    session.rollback().unwrap();
    let twice = "g.V('a').as('x').addE('R').from('x').to('x').property(T.id, 'u').V('a').addE('S').from('x').to('x').property(T.id, 'u')";
    assert!(try_ask(&mut session, twice).is_err());
    assert_eq!(ask(&mut session, "g.E('u', 't').count()"), ["0l"]);
}

/// Uncommitted ids, those of a transaction that is rolled back, and those after a restart.
#[test]
fn ids_are_found_in_transactions_and_after_a_restart() {
    let folder = world::files::TemporaryFolder::new("ids").unwrap();
    let path = folder.path().join("db");
    let open = || Database::open(&path, Options { executors: Some(1), ..Options::default() }).unwrap();
    let first = open();
    let mut session = first.session();
    session.begin(Mode::Write).unwrap();
    ask(&mut session, "g.addV('A').property(T.id, 'x')");
    assert_eq!(ask(&mut session, "g.V('x').count()"), ["1l"]);
    assert!(try_ask(&mut session, "g.addV('B').property(T.id, 'x')").is_err());
    session.rollback().unwrap();
    assert_eq!(ask(&mut session, "g.V('x').count()"), ["0l"]);
    session.begin(Mode::Write).unwrap();
    ask(&mut session, "g.addV('A').property(T.id, 'y')");
    ask(&mut session, "g.addV('B').property(T.id, 'z')");
    session.commit().unwrap();
    drop(session);
    first.close().unwrap();
    let second = open();
    let mut session = second.session();
    assert_eq!(ask(&mut session, "g.V('y', 'z').count()"), ["2l"]);
    assert!(try_ask(&mut session, "g.addV('C').property(T.id, 'z')").is_err());
    drop(session);
    second.close().unwrap();
}

/// 20,000 ids each looked up among 20,000 vertices: by scans that is 400 million looks.
#[test]
fn an_id_is_looked_up_not_scanned_for() {
    let mut session = database().session();
    ask(&mut session, "g.addV('A').property(T.id, 0)");
    // What it makes in one transaction has its ids from a list.
    rows(&mut session, "UNWIND range(1, 20000) AS i CREATE (:A {` id`: i})");
    let begin = Instant::now();
    for id in (0..20_000).step_by(40) {
        assert_eq!(ask(&mut session, &format!("g.V({id}).count()")), ["1l"]);
    }
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(15), "500 look-ups took {took:?}");
}

#[test]
fn no_interface_shows_them() {
    let mut session = database().session();
    ask(
        &mut session,
        "g.addV('A').property(T.id, 'a').property('n', 1L).property('u', UUID('5e2b43f0-5a2c-4bd8-8d3e-3f1f8e1b2c7d'))",
    );
    ask(&mut session, "g.V('a').as('x').addE('R').from('x').to('x').property(T.id, 'e').property('w', 1)");
    assert_eq!(rows(&mut session, "MATCH (n) RETURN keys(n)"), ["[List([String(\"n\"), String(\"u\")])]"]);
    assert_eq!(
        rows(&mut session, "MATCH ()-[r]->() RETURN properties(r)"),
        rows(&mut session, "RETURN {w: 1} AS p")
    );
    assert_eq!(
        rows(&mut session, "MATCH (n) RETURN size(keys(n {.*})), size(keys(properties(n)))"),
        ["[Int(2), Int(2)]"]
    );
    let keys = rows(&mut session, "CALL db.propertyKeys() YIELD propertyKey RETURN propertyKey");
    assert_eq!(keys.len(), 3, "{keys:?}");
    assert_eq!(
        rows(&mut session, "CALL db.schema.nodeTypeProperties() YIELD propertyName RETURN propertyName")
            .len(),
        2
    );
    assert!(
        rows(&mut session, "SHOW INDEXES").is_empty() && rows(&mut session, "CALL db.indexes()").is_empty()
    );
    // Who replaces all properties replaces those that are shown, and who copies them copies no id.
    rows(&mut session, "MATCH (n) SET n = {m: 2}");
    assert_eq!(ask(&mut session, "g.V('a').properties().key()"), ["m"]);
    rows(&mut session, "MATCH (n) CREATE (c:C) SET c = n");
    assert_eq!(ask(&mut session, "g.V('a').count()"), ["1l"]);
    rows(&mut session, "MATCH (c:C), (n:A) SET c += n, n += c");
    assert_eq!(ask(&mut session, "g.V('a').label()"), ["A"]);
}

/// Who found no element with an id depends on all that others give such an id to, be it the first of all, or the first of its type.
#[test]
fn an_id_that_was_not_there_may_not_come_meanwhile() {
    let first_id = "g.addV('A').property(T.id, 'a')";
    let types_known = "g.V('a').as('x').addE('R').from('x').to('x').V('a').addE('S').from('x').to('x')";
    let of_another_type = "g.V('a').as('x').addE('R').from('x').to('x').property(T.id, 'r')";
    let edge = "g.V().hasLabel('A').as('x').addE('S').from('x').to('x').property(T.id, 'e')";
    let vertex = "g.addV('B').property(T.id, 'e')";
    for (before, look, meanwhile) in [
        (vec!["g.addV('A')"], "g.E('e').count()", edge),
        (vec![first_id], "g.E('e').count()", edge),
        (vec![first_id, types_known], "g.E('e').count()", edge),
        (vec![first_id, types_known, of_another_type], "g.E('e').count()", edge),
        (vec!["g.addV('A')"], "g.V('e').count()", vertex),
        (vec![first_id], "g.V('e').count()", vertex),
        (vec![first_id, "g.addV('B')"], "g.V('e').count()", vertex),
    ] {
        let database = database();
        let (mut one, mut two) = (database.session(), database.session());
        for text in &before {
            ask(&mut two, text);
        }
        one.begin(Mode::Write).unwrap();
        assert_eq!(ask(&mut one, look), ["0l"]);
        ask(&mut two, meanwhile);
        ask(&mut one, "g.addV('Missed')");
        let error = one.commit().expect_err(&format!("{before:?} {look}"));
        assert!(error.retryable, "{error}");
        assert_eq!(ask(&mut one, look), ["1l"], "{before:?}");
    }
}

/// Both look, none is there, both make one: the second is refused.
#[test]
fn an_id_is_given_once_to_whoever_comes_first() {
    for before in [vec![], vec!["g.addV('A').property(T.id, 'a')"]] {
        let database = database();
        let (mut one, mut two) = (database.session(), database.session());
        for text in &before {
            ask(&mut two, text);
        }
        one.begin(Mode::Write).unwrap();
        two.begin(Mode::Write).unwrap();
        ask(&mut one, "g.addV('A').property(T.id, 'x')");
        ask(&mut two, "g.addV('B').property(T.id, 'x')");
        one.commit().unwrap();
        assert!(two.commit().expect_err("the id is taken").retryable);
        assert_eq!(ask(&mut two, "g.V('x').label()"), ["A"]);
    }
}

/// Many give the same ids at once to vertices of several labels: each id is given once, whoever is first.
#[test]
fn ids_that_many_give_at_once_are_given_once() {
    const IDS: usize = 12;
    let database = database();
    let given: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|number| {
                let mut session = database.session();
                scope.spawn(move || {
                    let text = |id| format!("g.addV('L{}').property(T.id, 'x{id}')", (number + id) % 3);
                    (0..IDS).filter(|id| try_ask(&mut session, &text(*id)).is_ok()).count()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    let mut session = database.session();
    assert_eq!(ask(&mut session, "g.V().id().dedup().count()"), [format!("{given}l")]);
    assert_eq!(ask(&mut session, "g.V().count()"), [format!("{given}l")]);
    assert!(given >= 1);
    for id in 0..IDS {
        let found = ask(&mut session, &format!("g.V('x{id}').count()"));
        assert!(found == ["1l"] || found == ["0l"], "{id}: {found:?}");
    }
}

/// An edge that has an id of its own is not found by the number that the database gave it, and stands in nobody's way by that.
#[test]
fn the_number_of_an_edge_with_an_id_is_free() {
    let mut session = database().session();
    ask(&mut session, "g.addV('A').property(T.id, 100).as('a').addV('A').property(T.id, 101).as('b')");
    // Ids that run through the numbers that such edges have, the other way round.
    for id in (0..40).rev() {
        for kind in ["R", "S"] {
            let id = if kind == "R" { id } else { 1000 + id };
            ask(
                &mut session,
                &format!("g.V(100).as('a').V(101).addE('{kind}').from('a').property(T.id, {id})"),
            );
        }
    }
    for id in 0..40 {
        assert_eq!(ask(&mut session, &format!("g.E({id}).id()")), [id.to_string()], "{id}");
    }
    for id in 40..1000 {
        assert_eq!(ask(&mut session, &format!("g.E({id}).count()")), ["0l"], "{id}");
    }
}

/// Who finds nothing with a property of a name that nobody has used, and writes, is refused when another uses it meanwhile.
#[test]
fn a_property_that_nobody_has_is_looked_for_as_any_other() {
    let add = |label: &str, key: &str| {
        format!(
            "g.V().has('{label}', '{key}', 'x').fold().coalesce(unfold(), addV('{label}').property('{key}', 'x'))"
        )
    };
    for (number, known) in
        ["", "g.addV('User')", "g.addV('User').property('name', 'y')"].into_iter().enumerate()
    {
        let database = database();
        let (mut one, mut two) = (database.session(), database.session());
        if !known.is_empty() {
            ask(&mut one, known);
        }
        one.begin(Mode::Write).unwrap();
        two.begin(Mode::Write).unwrap();
        ask(&mut one, &add("User", "name"));
        ask(&mut two, &add("User", "name"));
        one.commit().unwrap();
        assert!(two.commit().expect_err("there is one by now").retryable, "{number}");
        ask(&mut two, &add("User", "name"));
        assert_eq!(ask(&mut two, "g.V().has('User', 'name', 'x').count()"), ["1l"], "{number}");
    }
}

/// Likewise of an edge of a type that nobody has used.
#[test]
fn a_type_of_edges_that_nobody_has_is_looked_for_as_any_other() {
    let add = "g.V(1).coalesce(out('knows'), addE('knows').to(V(2)).inV())";
    for known in ["g.V().count()", "g.V(1).addE('other').to(V(2))", "g.V(2).addE('knows').to(V(1))"] {
        let database = database();
        let (mut one, mut two) = (database.session(), database.session());
        ask(&mut one, "g.addV('A').property(T.id, 1)");
        ask(&mut one, "g.addV('A').property(T.id, 2)");
        ask(&mut one, known);
        one.begin(Mode::Write).unwrap();
        two.begin(Mode::Write).unwrap();
        ask(&mut one, add);
        ask(&mut two, add);
        one.commit().unwrap();
        assert!(two.commit().expect_err("there is one by now").retryable, "{known}");
        assert_eq!(ask(&mut two, "g.V(1).outE('knows').count()"), ["1l"], "{known}");
    }
}

#[test]
fn types_that_values_do_not_have_are_shown_as_texts() {
    let database = Database::open(MEMORY, Options { executors: Some(1), ..Options::default() }).unwrap();
    let mut session = database.session();
    let mut shown = |text: &str| {
        let mut rows = session.gremlin_text(text, &Params::new(), &GremlinOptions::default()).unwrap();
        let mut all = Vec::new();
        while let Some(some) = rows.next_objects().unwrap() {
            all.extend(some.into_iter().map(|(one, _)| format!("{one:?}")));
        }
        all.join(" ")
    };
    let uuid = "5e2b43f0-5a2c-4bd8-8d3e-3f1f8e1b2c7d";
    let values = format!("UUID('{uuid}'), 1.5m, 12345678901234567890n");
    let found = shown(&format!("g.inject({values})"));
    let made = shown(&format!(
        "g.addV('A').property('u', UUID('{uuid}')).property('d', 1.5m).property('v', 12345678901234567890n)"
    ));
    let kept = shown("g.V().values('u', 'd', 'v')");
    let whole = shown("g.V().elementMap()");
    for told in [found, made, kept, whole] {
        let all = [uuid, "\"1.5\"", "\"12345678901234567890\""];
        assert!(all.iter().all(|one| told.contains(one)) && !told.contains(" kind"), "{told}");
    }
}
