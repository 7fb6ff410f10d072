//! Properties as TinkerGraph has them, in the one mode there is: types come back as they were written, also after a restart and whichever
//! engine runs; Cypher sees plain values where there are some; labels that nothing reads keep no traversers apart.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use database::gremlin::GremlinOptions;
use database::{Database, Options, Session};
use gremlin::{Bindings, Object, Request};
use tanglewood_database as database;

fn ask(session: &mut Session, text: &str, options: &GremlinOptions) -> Result<Vec<Object>, database::Error> {
    let mut last = Vec::new();
    for request in gremlin::parse(text, &Bindings::new())? {
        match request {
            Request::Traversal(traversal, _) => last = session.gremlin(&traversal, options)?.all()?,
            other => panic!("{other:?}"),
        }
    }
    Ok(last)
}

/// The answer by plan and by machine, which is one.
fn both(session: &mut Session, text: &str) -> String {
    let machine = GremlinOptions { machine_only: true, ..GremlinOptions::default() };
    let [planned, walked] = [GremlinOptions::default(), machine].map(|options| {
        let found = ask(session, text, &options).unwrap_or_else(|error| panic!("{text}: {error}"));
        let mut shown: Vec<String> = found.iter().map(ToString::to_string).collect();
        shown.sort();
        shown.join(" ")
    });
    assert_eq!(planned, walked, "{text}");
    planned
}

fn message(session: &mut Session, text: &str) -> String {
    ask(session, text, &GremlinOptions::default()).unwrap_err().message
}

fn memory() -> Session {
    let options = Options { executors: Some(1), ..Options::default() };
    Database::open(database::MEMORY, options).unwrap().session()
}

/// What is written, and what it comes back as.
const VALUES: [(&str, &str); 20] = [
    ("5", "5"),
    ("5l", "5l"),
    ("9000000000", "9000000000l"),
    ("5b", "5"),
    ("5s", "5"),
    ("5n", "5n"),
    ("0.5f", "0.5d"),
    ("0.5d", "0.5d"),
    ("5.25m", "5.25m"),
    ("true", "true"),
    ("'x'", "\"x\""),
    ("UUID('f47af10b-58cc-4372-a567-0f02b2f3d479')", "UUID(\"f47af10b-58cc-4372-a567-0f02b2f3d479\")"),
    ("datetime('2023-08-08T00:00:00Z')", "datetime(\"2023-08-08T00:00Z\")"),
    ("[1, 'a']", "[1, \"a\"]"),
    ("[1l, 2l]", "[1l, 2l]"),
    ("{1l, 2}", "{1l, 2}"),
    ("['a': 1l]", "[\"a\": 1l]"),
    ("[1: {2s}]", "[1: {2s}]"),
    ("[]", "[]"),
    ("NaN", "NaN"),
];

#[test]
fn types_come_back_as_they_were_written_also_after_a_restart() {
    let folder = world::files::TemporaryFolder::new("types").unwrap();
    let path = folder.path().join("types.db");
    let open = || Database::open(&path, Options { executors: Some(1), ..Options::default() }).unwrap();
    {
        let mut session = open().session();
        for (at, (written, _)) in VALUES.iter().enumerate() {
            let text = format!(
                "g.addV('v').property('at', {at}).property('k{at}', {written}).as('a').addE('e').to('a').property('p{at}', {written})"
            );
            ask(&mut session, &text, &GremlinOptions::default()).unwrap();
        }
    }
    let mut session = open().session();
    for (at, (written, read)) in VALUES.iter().enumerate() {
        for text in [
            format!("g.V().values('k{at}')"),
            format!("g.V().has('at', {at}).values('k{at}')"),
            format!("g.E().values('p{at}')"),
            format!("g.V().has('k{at}').group().by('k{at}').by('k{at}').unfold().select(values).unfold()"),
        ] {
            let found = both(&mut session, &text);
            let is_list = text.contains("unfold") && written.contains(['[', '{']);
            assert!(found == *read || is_list, "{text}: {written} came back as {found}, not {read}");
        }
    }
}

#[test]
fn a_key_is_as_wide_as_the_widest_number_it_ever_held() {
    let mut session = memory();
    ask(&mut session, "g.addV('v').property('n', 1)", &GremlinOptions::default()).unwrap();
    assert_eq!(both(&mut session, "g.V().values('n').sum()"), "1");
    ask(&mut session, "g.addV('v').property('n', 2l)", &GremlinOptions::default()).unwrap();
    // a plan that was made before is not used any more
    assert_eq!(both(&mut session, "g.V().values('n').sum()"), "3l");
    assert_eq!(both(&mut session, "g.V().values('n')"), "1l 2l");
    assert_eq!(both(&mut session, "g.V().project('a').by('n').select('a')"), "1l 2l");
    assert_eq!(both(&mut session, "g.V().has('n', 2).count()"), "1l");
    let rows = session.query("MATCH (v:v) RETURN sum(v.n) AS s", Default::default()).unwrap().rows().unwrap();
    assert_eq!(format!("{rows:?}").matches("Int(3)").count(), 1, "{rows:?}");
}

#[test]
fn properties_are_as_tinkergraph_has_them() {
    let mut session = memory();
    let mut run = |text: &str| ask(&mut session, text, &GremlinOptions::default()).unwrap();
    run("g.addV('v').property(T.id, 'one').property('k', 1).property('k', 2)");
    run("g.addV('v').property(T.id, 2).property('s', 1).property('m', 'x', 'since', 2, 'until', null)");
    run("g.V(2).property('s', 2).property(set, 't', 1).property(set, 't', 1).property('gone', null)");
    for (text, found) in [
        ("g.V('one').values('k')", "1 2"),
        ("g.V(2).values('s')", "2"),
        ("g.V('2').values('t')", "1"),
        ("g.V(2).properties('m').valueMap()", "[\"since\": 2]"),
        ("g.V().has('gone').count()", "0l"),
        ("g.V().id()", "\"one\" 2"),
        ("g.V().hasId('one').count()", "1l"),
    ] {
        assert_eq!(both(&mut session, text), found, "{text}");
    }
    assert!(message(&mut session, "g.addV('v').property(T.id, 2)").contains("already exists"));
    ask(&mut session, "g.V(2).property('s', null)", &GremlinOptions::default()).unwrap();
    assert_eq!(both(&mut session, "g.V(2).has('s').count()"), "0l");
}

#[test]
fn strategies_are_honoured_or_refused() {
    let mut session = memory();
    ask(&mut session, "g.addV('v').as('a').addE('e').to('a')", &GremlinOptions::default()).unwrap();
    let told = "g.withStrategies(EdgeLabelVerificationStrategy(throwException: true))";
    assert!(message(&mut session, &format!("{told}.V().out()")).contains("without any specified edge label"));
    let nested = format!("{told}.V().where(out('e').in())");
    assert!(message(&mut session, &nested).contains("without any specified edge label"));
    assert_eq!(both(&mut session, &format!("{told}.V().out('e').count()")), "1l");
    let taken = format!("{told}.withoutStrategies(EdgeLabelVerificationStrategy).V().out().count()");
    assert_eq!(both(&mut session, &taken), "1l");
    assert_eq!(both(&mut session, "g.V().hasLabel('v').or().hasLabel('w')"), "v[0]");
    assert_eq!(both(&mut session, "g.withoutStrategies(ConnectiveStrategy).V().hasLabel('v').or()"), "");
    assert_eq!(both(&mut session, "g.withoutStrategies(ConnectiveStrategy).V().and().count()"), "1l");
    assert!(message(&mut session, "g.withStrategies(ElementIdStrategy).V()").contains("ids"));
    assert!(message(&mut session, "g.withStrategies(MadeUpStrategy).V()").contains("MadeUpStrategy"));
    for (name, effect, _) in gremlin::strategies::STRATEGIES {
        let outcome =
            ask(&mut session, &format!("g.withStrategies({name}).V().count()"), &Default::default());
        let wants_more = *name == "PartitionStrategy";
        let refused = matches!(effect, gremlin::strategies::Effect::Refused(_));
        assert_eq!(outcome.is_err(), refused || wants_more, "{name}");
    }
}

/// Walks of twelve steps over a graph of sixteen vertices: as many as nobody can go through one by one.
#[test]
fn labels_that_nothing_reads_keep_no_traversers_apart() {
    let mut session = memory();
    session.begin(database::Mode::Write).unwrap();
    (0..16).for_each(|n| drop(both_write(&mut session, &format!("g.addV('v').property('n', {n})"))));
    for n in 0..16 {
        for step in [1, 7, 11] {
            let to = (n + step) % 16;
            let text = format!("g.V().has('n', {n}).as('a').V().has('n', {to}).addE('e').from('a')");
            both_write(&mut session, &text);
        }
    }
    session.commit().unwrap();
    let walks = 16 * 3_i64.pow(12);
    for text in [
        "g.V().repeat(out()).times(12).count()",
        "g.V().as('a').repeat(out()).times(12).count()",
        "g.V().as('a').repeat(out().as('b')).times(12).select('b').count()",
        "g.V().repeat(out()).times(12).as('a').select('a').count()",
        "g.V().repeat(out().as('x')).times(12).select(last, 'x').count()",
        "g.V().repeat(out()).times(12).path().count()",
        "g.V().as('a').repeat(out()).times(12).as('b').select('a', 'b').count()",
        "g.V().out().out().out().out().out().out().out().out().out().out().out().as('a').out().as('b').select('a', 'b').by('n').count()",
        "g.V().repeat(out()).times(12).as('a').in('e').as('b').out('e').select('a').dedup().count()",
    ] {
        let options =
            GremlinOptions { timeout: Some(std::time::Duration::from_secs(20)), ..Default::default() };
        let found = ask(&mut session, text, &options).unwrap_or_else(|error| panic!("{text}: {error}"));
        let wanted = if text.contains("dedup") { 16 } else { walks };
        assert_eq!(found, [Object::Long(wanted)], "{text}");
    }
    let counted = ask(
        &mut session,
        "g.V().repeat(out()).times(12).as('a').select('a').groupCount().by('n')",
        &Default::default(),
    )
    .unwrap();
    let Object::Map(pairs) = &counted[0] else { panic!("{counted:?}") };
    assert_eq!(pairs.iter().filter_map(|(_, count)| count.as_long()).sum::<i64>(), walks);
}

fn both_write(session: &mut Session, text: &str) -> Vec<Object> {
    ask(session, text, &GremlinOptions::default()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn steps_say_what_the_reference_says() {
    let mut session = memory();
    ask(
        &mut session,
        "g.addV('v').property('b', 1).property('a', 2).as('a').addE('e').to('a')",
        &Default::default(),
    )
    .unwrap();
    for (text, found) in [
        ("g.V().out('e').path().reverse().count(local)", "2l"),
        ("g.V().elementMap('a').order(local).by(keys).select(keys)", "{\"a\", T.label, T.id}"),
        ("g.inject('0x5').asNumber()", "5"),
        ("g.inject('-0xff', '010', '7L', '1.5', '1e400').limit(4).asNumber()", "-255 1.5f 7l 8"),
        ("g.inject(1).constant(3).order().count()", "1l"),
    ] {
        assert_eq!(both(&mut session, text), found, "{text}");
    }
    assert!(message(&mut session, "g.V().dedup().by('a').by('b')").contains("only have one by"));
    assert!(message(&mut session, "g.inject('08').asNumber()").contains("Can't parse"));
}

/// Values that a traversal makes are as deep and large as they may be, and no deeper: nothing goes down without end.
#[test]
fn values_have_a_depth_and_a_size() {
    let mut session = memory();
    for text in [
        "g.inject(1).repeat(__.project('a')).times(50000).count()",
        "g.inject(1).repeat(__.project('a', 'b')).times(60).count()",
        "g.inject(1).repeat(map(__.fold())).times(50000).count()",
    ] {
        let error = ask(&mut session, text, &Default::default()).map(|found| found.len());
        let error = error.err().unwrap_or_else(|| panic!("{text} has an answer"));
        assert!(error.code.contains("Limit") || error.code.contains("Memory"), "{text}: {error}");
    }
    assert_eq!(both(&mut session, "g.inject(1).repeat(__.project('a')).times(100).count()"), "1l");
}

/// What a reduction gives had gone no rounds, so that `times` never came.
#[test]
fn a_reduction_within_a_loop_goes_its_rounds() {
    let mut session = memory();
    ask(&mut session, "g.addV('v').as('a').addE('e').to('a')", &Default::default()).unwrap();
    for (text, answer) in [
        ("g.inject(1, 2).repeat(count()).times(2)", "1l"),
        ("g.inject(1, 2).repeat(sum()).times(3)", "3"),
        ("g.inject(1).repeat(fold()).times(3)", "[[[1]]]"),
        ("g.inject(1).repeat(local(fold())).times(3)", "[[[1]]]"),
        (
            "g.inject(1, 2).repeat(local(union(identity(), identity()).fold())).times(2).count(local).sum()",
            "4l",
        ),
        ("g.inject(1).repeat(identity().fold().unfold()).times(3)", "1"),
        ("g.inject(1, 2).repeat(optional(count())).times(3).dedup()", "1l"),
        ("g.inject(5).repeat(is(lt(0)).count()).times(2)", "0l"),
        ("g.inject(7).emit().repeat(local(count())).until(loops().is(3)).count()", "4l"),
        ("g.inject(1, 2).repeat(repeat(fold()).times(2)).times(2).count(local)", "1l"),
        ("g.V().repeat(out().fold().unfold()).times(4).count()", "1l"),
    ] {
        assert_eq!(both(&mut session, text), answer, "{text}");
    }
}

/// Long chains and deep nesting in a text are run or refused, and the process goes on.
#[test]
fn long_and_deep_texts_are_run_or_refused() {
    let mut session = memory();
    ask(&mut session, "g.addV('v').as('a').addE('e').to('a')", &Default::default()).unwrap();
    let joined = |count: usize| format!("g.V().has('a', P.eq(1){}).count()", ".or(P.eq(1))".repeat(count));
    assert_eq!(both(&mut session, &joined(128)), "0l");
    for count in [129, 10_000] {
        let error = ask(&mut session, &joined(count), &Default::default()).unwrap_err();
        assert!(error.message.contains("joined more than 128 deep"), "{error}");
    }
    assert_eq!(both(&mut session, &format!("g.V(){}.count()", ".out()".repeat(300))), "1l");
    // A plan has scopes six deep at most: what is nested deeper walks, and comes to the same.
    let kinds = [
        ("project('a').by(", "count()", ")"),
        ("project('a', 'b').by(constant(1)).by(", "out().count()", ")"),
        ("group().by().by(", "count()", ")"),
        ("group().by(label()).by(out().", "fold()", ")"),
        ("local(out().", "count()", ")"),
        ("where(out().", "out()", ")"),
        ("map(out().", "count()", ")"),
        ("flatMap(out().", "values('n')", ")"),
        ("choose(out(), out().", "id().count()", ")"),
        ("coalesce(out().", "label()", ", constant(1))"),
        ("union(out().", "label()", ", label())"),
        ("optional(out().", "out()", ")"),
        ("not(out().", "in('none')", ")"),
        ("repeat(out().", "identity()", ").times(1)"),
        ("order().by(out().", "count()", ")"),
    ];
    for (before, inmost, after) in kinds {
        for depth in [1, 4, 5, 6, 7, 8, 20, 30] {
            both(&mut session, &format!("g.V().{}{inmost}{}", before.repeat(depth), after.repeat(depth)));
        }
    }
    let deep = format!("g.V(){}.count()", ".where(__.out()".repeat(10_000) + &")".repeat(10_000));
    assert!(message(&mut session, &deep).contains("deeper than 64"));
}
