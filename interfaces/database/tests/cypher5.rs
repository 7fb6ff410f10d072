//! Additions of Cypher 5 to openCypher: each function, operator and command with its answer.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use tanglewood_database::{Database, MEMORY, Options, Params, Session, Value, params};

fn session() -> Session {
    Database::open(MEMORY, Options { executors: Some(2), ..Options::default() }).unwrap().session()
}

fn rows(session: &mut Session, text: &str) -> Vec<Vec<Value>> {
    let rows = session.query(text, Params::new()).and_then(|result| result.rows());
    rows.unwrap_or_else(|error| panic!("{text}: {error}")).iter().map(|row| row.to_vec()).collect()
}

fn shown(value: &dyn std::fmt::Debug) -> String {
    format!("{value:?}")
}

fn code(session: &mut Session, text: &str) -> String {
    match session.query(text, Params::new()).and_then(|result| result.rows()) {
        Ok(rows) => panic!("{text} answers {rows:?}"),
        Err(error) => error.code,
    }
}

/// Each expression is equal to the other, as lists with nulls too.
fn same(session: &mut Session, cases: &[(&str, &str)]) {
    for (left, right) in cases {
        let found = rows(session, &format!("RETURN {left} AS a, {right} AS b"));
        assert_eq!(shown(&found[0][0]), shown(&found[0][1]), "{left} is not {right}");
    }
}

#[test]
fn functions_of_texts() {
    same(
        &mut session(),
        &[
            ("btrim('  a b ')", "'a b'"),
            ("btrim('xxyyhelloxyxy', 'xy')", "'hello'"),
            ("ltrim('xxyyhelloxy', 'xy')", "'helloxy'"),
            ("rtrim('xxyyhelloxy', 'xy')", "'xxyyhello'"),
            ("trim('xax', 'x')", "'a'"),
            ("trim(BOTH 'x' FROM 'xaxbx')", "'axb'"),
            ("trim(LEADING 'x' FROM 'xaxbx')", "'axbx'"),
            ("trim(TRAILING 'x' FROM 'xaxbx')", "'xaxb'"),
            ("trim(BOTH FROM '  a ')", "'a'"),
            ("trim('x' FROM 'xax')", "'a'"),
            ("trim(BOTH null FROM 'xax')", "null"),
            ("btrim(null)", "null"),
            ("btrim('', 'x')", "''"),
            ("btrim('xxx', 'x')", "''"),
            ("normalize('\\u212B') = '\\u00C5'", "true"),
            ("normalize('\\uFE64', NFKC)", "'<'"),
            ("normalize('\\u00C5', NFD) = 'A\\u030A'", "true"),
            ("normalize(null)", "null"),
            ("'\\u00C5' IS NORMALIZED", "true"),
            ("'A\\u030A' IS NORMALIZED", "false"),
            ("'A\\u030A' IS NOT NORMALIZED", "true"),
            ("'A\\u030A' IS NFD NORMALIZED", "true"),
            ("'\\uFE64' IS NOT NFKC NORMALIZED", "true"),
            ("1 IS NORMALIZED", "null"),
            ("1 IS NOT NORMALIZED", "null"),
            ("null IS NORMALIZED", "null"),
            ("character_length('abc')", "3"),
        ],
    );
}

#[test]
fn lists_are_converted_element_by_element() {
    same(
        &mut session(),
        &[
            ("toIntegerList(['1', 2.9, true, 'x', null])", "[1, 2, 1, null, null]"),
            ("toFloatList(['1.5', 2, 'x', null])", "[1.5, 2.0, null, null]"),
            ("toBooleanList(['true', 0, 'x', null])", "[true, false, null, null]"),
            ("toStringList([1, true, 'a', null, [1]])", "['1', 'true', 'a', null, null]"),
            ("toIntegerList(null)", "null"),
            ("toIntegerList([])", "[]"),
            ("vector.similarity.cosine([1, 0], [1, 0])", "1.0"),
            ("vector.similarity.cosine([1, 0], [0, 1])", "0.5"),
            ("vector.similarity.euclidean([1, 2], [1, 4])", "0.2"),
            ("vector.similarity.euclidean(null, [1])", "null"),
        ],
    );
}

#[test]
fn types_of_values() {
    let yes = [
        "1 IS :: INTEGER",
        "1 :: INT",
        "1 IS TYPED SIGNED INTEGER",
        "1 IS NOT :: FLOAT",
        "1 IS NOT TYPED STRING",
        "null IS :: INTEGER",
        "null IS NOT :: INTEGER NOT NULL",
        "NOT null IS NOT :: INTEGER",
        "null IS :: NULL",
        "1 IS NOT :: NULL",
        "null IS NOT :: NOTHING",
        "1 IS NOT :: NOTHING",
        "1 IS :: ANY",
        "null IS :: ANY VALUE",
        "null IS NOT :: ANY NOT NULL",
        "1 IS :: INTEGER | FLOAT",
        "1.5 IS :: INTEGER | FLOAT",
        "'a' IS NOT :: INTEGER | FLOAT",
        "'a' IS :: ANY<INTEGER | STRING>",
        "1 IS :: INTEGER NOT NULL | FLOAT NOT NULL",
        "1 IS :: INTEGER!",
        "null IS NOT :: INTEGER!",
        "[1, 2] IS :: LIST<INTEGER>",
        "[1, 2.5] IS :: LIST<INTEGER | FLOAT>",
        "[1, null] IS :: LIST<INTEGER>",
        "[1, null] IS NOT :: LIST<INTEGER NOT NULL>",
        "[] IS :: LIST<NOTHING>",
        "[] IS :: LIST<INTEGER NOT NULL> NOT NULL",
        "[[1], ['a']] IS :: LIST<LIST<INTEGER | STRING>>",
        "[1] IS :: ARRAY<INT>",
        "[1] IS :: INTEGER LIST",
        "[[1]] IS :: INTEGER NOT NULL LIST NOT NULL LIST",
        "1 IS NOT :: LIST<ANY>",
        "[1, 'a'] IS :: LIST<ANY>",
        "'a' IS :: VARCHAR",
        "true IS :: BOOL",
        "{a: 1} IS :: MAP",
        "{a: 1} IS :: ANY MAP",
        "1 IS :: PROPERTY VALUE",
        "[1, 2] IS :: PROPERTY VALUE",
        "[1, 'a'] IS NOT :: PROPERTY VALUE",
        "[null] IS NOT :: PROPERTY VALUE",
        "{a: 1} IS NOT :: PROPERTY VALUE",
        "date('2020-01-01') IS :: DATE",
        "datetime('2020-01-01T00:00Z') IS :: ZONED DATETIME",
        "datetime('2020-01-01T00:00Z') IS :: TIMESTAMP WITH TIME ZONE",
        "localdatetime('2020-01-01T00:00') IS :: LOCAL DATETIME",
        "localdatetime('2020-01-01T00:00') IS :: TIMESTAMP WITHOUT TIMEZONE",
        "time('12:00Z') IS :: TIME WITH TIME ZONE",
        "localtime('12:00') IS :: TIME WITHOUT TIME ZONE",
        "duration('P1D') IS :: DURATION",
        "point({x: 1, y: 2}) IS :: POINT",
        "[x IN [1, 'a'] WHERE x IS :: INTEGER | x] = [1]",
        "[x IN [1, 'a', 2.5] WHERE x IS :: INTEGER | FLOAT | x] = [1, 2.5]",
        "[x IN [[1], 2] WHERE x IS :: LIST<INTEGER | FLOAT>] = [[1]]",
    ];
    let mut session = session();
    same(&mut session, &yes.map(|text| (text, "true")));
    let text = "CREATE p = (a)-[r:R]->() RETURN a IS :: NODE, a IS :: ANY VERTEX, r IS :: RELATIONSHIP, r IS :: EDGE, p IS :: PATH, a IS :: MAP";
    let answers = [true, true, true, true, true, false].map(Value::Bool);
    assert_eq!(shown(&rows(&mut session, text)[0]), shown(&answers));
}

#[test]
fn cases_with_tests_of_their_subject() {
    let mut session = session();
    let case = |x: &str| {
        format!(
            "CASE {x} WHEN IS NULL THEN 'null' WHEN < 0, > 100 THEN 'far' WHEN 1, 2, 3 THEN 'few' WHEN <= 10 THEN 'some' \
             WHEN IS NOT TYPED INTEGER | FLOAT THEN 'none' ELSE 'many' END"
        )
    };
    for (x, expected) in [
        ("null", "null"),
        ("-1", "far"),
        ("101", "far"),
        ("2", "few"),
        ("7", "some"),
        ("'a'", "none"),
        ("50", "many"),
    ] {
        same(&mut session, &[(case(x).as_str(), format!("'{expected}'").as_str())]);
    }
    same(
        &mut session,
        &[
            ("CASE 'abc' WHEN STARTS WITH 'b' THEN 1 WHEN ENDS WITH 'bc' THEN 2 END", "2"),
            ("CASE 'abc' WHEN CONTAINS 'x' THEN 1 WHEN =~ 'a.*' THEN 2 END", "2"),
            ("CASE 3 WHEN IN [1, 2] THEN 1 WHEN IN [3] THEN 2 END", "2"),
            ("CASE 3 WHEN <> 3 THEN 1 WHEN = 3 THEN 2 END", "2"),
            ("CASE '\\u00C5' WHEN IS NOT NORMALIZED THEN 1 WHEN IS NORMALIZED THEN 2 END", "2"),
            ("CASE 1 WHEN IS :: STRING THEN 1 WHEN :: INTEGER THEN 2 END", "2"),
            ("CASE null WHEN null THEN 1 WHEN IS NULL THEN 2 END", "2"),
            ("CASE 5 WHEN < 3 THEN 1 WHEN CASE 1 WHEN > 0 THEN 5 END THEN 2 END", "2"),
        ],
    );
    // A subject that may differ between computations is computed once.
    let text =
        "UNWIND range(1, 200) AS i RETURN CASE rand() WHEN < 0.5 THEN true WHEN >= 0.5 THEN true END AS one";
    assert!(rows(&mut session, text).iter().all(|row| row[0].as_bool() == Some(true)));
    let text = "UNWIND [1, 5] AS x WITH x, CASE x + 1 WHEN < 3 THEN 'a' ELSE 'b' END AS k RETURN k, count(*) ORDER BY k";
    assert_eq!(rows(&mut session, text).len(), 2);
}

#[test]
fn a_foreach_may_hide_a_variable() {
    let mut session = session();
    rows(
        &mut session,
        "WITH 7 AS x FOREACH (x IN [1, 2] | CREATE (:A {x: x}) FOREACH (x IN [3] | CREATE (:B {x: x})))",
    );
    let found = rows(&mut session, "MATCH (n) RETURN labels(n)[0], n.x ORDER BY labels(n)[0], n.x");
    let found: Vec<_> = found.iter().map(|row| row[1].as_int().unwrap()).collect();
    assert_eq!(found, [1, 2, 3, 3]);
    let text = "WITH 7 AS x FOREACH (x IN [1] | CREATE (:C {x: x})) RETURN x";
    assert_eq!(shown(&rows(&mut session, text)), shown(&[[Value::Int(7)]]));
}

#[test]
fn a_union_answers_its_branches_in_their_order() {
    let mut session = session();
    rows(&mut session, "UNWIND range(1, 5000) AS x CREATE (:A {x: x}), (:B {x: x})");
    let branches = "UNWIND range(1, 3000) AS x RETURN x UNION ALL UNWIND range(3001, 3003) AS x RETURN x \
                    UNION ALL MATCH (n:A) RETURN n.x + 10000 AS x ORDER BY x UNION ALL RETURN 0 AS x";
    let expected: Vec<i64> = (1..=3003).chain(10_001..=15_000).chain([0]).collect();
    let numbers = |rows: Vec<Vec<Value>>| rows.iter().map(|row| row[0].as_int().unwrap()).collect::<Vec<_>>();
    for _ in 0..5 {
        assert_eq!(numbers(rows(&mut session, branches)), expected);
    }
    let text = "RETURN 1 AS x UNION ALL RETURN 2 AS x UNION ALL RETURN 3 AS x";
    assert_eq!(numbers(rows(&mut session, text)), [1, 2, 3]);
    let text = "CALL { RETURN 1 AS x UNION ALL RETURN 2 AS x UNION ALL RETURN 3 AS x } RETURN x";
    assert_eq!(numbers(rows(&mut session, text)), [1, 2, 3]);
    let text = "UNWIND [10, 20] AS i CALL (i) { RETURN i + 1 AS x UNION ALL RETURN i + 2 AS x } RETURN i, collect(x) ORDER BY i";
    let found = rows(&mut session, text);
    // The order of the outer rows is another matter: each keeps that of its branches.
    for (row, expected) in found.iter().zip([[11, 12], [21, 22]]) {
        assert_eq!(shown(&row[1]), shown(&Value::list(expected.map(Value::Int).to_vec())));
    }
}

#[test]
fn what_exists_is_refused_with_its_code() {
    let mut session = session();
    let index = |name: &str, about: &str| {
        format!(
            "CREATE INDEX {name} FOR {about} ON ({about_key})",
            about_key = if about.starts_with("()") { "r.x" } else { "n.x" }
        )
    };
    let schema = |what: &str| format!("Neo.ClientError.Schema.{what}");
    rows(&mut session, &index("", "(n:A)"));
    rows(&mut session, &index("", "()-[r:R]-()"));
    let names: Vec<String> =
        rows(&mut session, "SHOW INDEXES YIELD name WHERE name STARTS WITH 'index_' RETURN name")
            .iter()
            .map(|row| row[0].as_str().unwrap().to_string())
            .collect();
    assert!(names.len() == 2 && names[0] != names[1], "{names:?}");
    assert!(
        names.iter().all(|name| name.len() == 14 && name[6..].bytes().all(|b| b.is_ascii_hexdigit())),
        "{names:?}"
    );
    assert_eq!(code(&mut session, &index("", "(n:A)")), schema("EquivalentSchemaRuleAlreadyExists"));
    assert_eq!(code(&mut session, &index("other", "(n:A)")), schema("IndexAlreadyExists"));
    assert_eq!(code(&mut session, &index(&names[0], "(n:Z)")), schema("IndexWithNameAlreadyExists"));
    let unique =
        |name: &str, label: &str| format!("CREATE CONSTRAINT {name} FOR (n:{label}) REQUIRE n.x IS UNIQUE");
    assert_eq!(code(&mut session, &unique("", "A")), schema("IndexAlreadyExists"));
    rows(&mut session, &unique("", "B"));
    let made = rows(&mut session, "SHOW CONSTRAINTS YIELD name");
    let made = made[0][0].as_str().unwrap().to_string();
    assert!(made.starts_with("constraint_") && made.len() == 19, "{made}");
    assert_eq!(code(&mut session, &unique("", "B")), schema("EquivalentSchemaRuleAlreadyExists"));
    assert_eq!(code(&mut session, &unique("other", "B")), schema("ConstraintAlreadyExists"));
    assert_eq!(code(&mut session, &unique(&made, "C")), schema("ConstraintWithNameAlreadyExists"));
    assert_eq!(code(&mut session, &unique(&names[0], "C")), schema("IndexWithNameAlreadyExists"));
    assert_eq!(code(&mut session, &index("", "(n:B)")), schema("ConstraintAlreadyExists"));
    assert_eq!(code(&mut session, &index(&made, "(n:D)")), schema("ConstraintWithNameAlreadyExists"));
    let key = "CREATE CONSTRAINT FOR (n:B) REQUIRE n.x IS NODE KEY";
    assert_eq!(code(&mut session, key), schema("ConstraintAlreadyExists"));
    // IF NOT EXISTS takes what is there, and what has the name.
    for text in [
        index("IF NOT EXISTS", "(n:A)"),
        index("other IF NOT EXISTS", "(n:A)"),
        index(&format!("{} IF NOT EXISTS", names[0]), "(n:Z)"),
        unique("IF NOT EXISTS", "B"),
        unique("other IF NOT EXISTS", "B"),
        unique(&format!("{made} IF NOT EXISTS"), "C"),
    ] {
        rows(&mut session, &text);
    }
    // Two constraints on one property that can stand together, both without a name.
    rows(&mut session, "CREATE CONSTRAINT FOR (n:B) REQUIRE n.x IS NOT NULL");
    rows(&mut session, "CREATE CONSTRAINT FOR (n:B) REQUIRE n.x IS :: INTEGER");
    assert_eq!(rows(&mut session, "SHOW CONSTRAINTS").len(), 3);
    // The same name is made again, in another database too.
    let mut again = self::session();
    rows(&mut again, "CREATE (:Other {y: 1})");
    rows(&mut again, &unique("", "B"));
    assert_eq!(rows(&mut again, "SHOW CONSTRAINTS YIELD name")[0][0].as_str(), Some(made.as_str()));
}

#[test]
fn listings_are_paged_and_tools_find_their_procedures() {
    let mut session = session();
    for label in ["C", "A", "B"] {
        rows(&mut session, &format!("CREATE INDEX i_{label} FOR (n:{label}) ON (n.x)"));
    }
    let names = |rows: Vec<Vec<Value>>| {
        rows.iter().map(|row| row[0].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    for (text, expected) in [
        ("SHOW INDEXES YIELD name ORDER BY name DESC", vec!["i_C", "i_B", "i_A"]),
        ("SHOW INDEXES YIELD name ORDER BY name SKIP 1 LIMIT 1", vec!["i_B"]),
        ("SHOW INDEXES YIELD name, type ORDER BY name LIMIT 2 WHERE name <> 'i_A' RETURN name", vec!["i_B"]),
        ("SHOW INDEXES YIELD * ORDER BY name OFFSET 2 RETURN name", vec!["i_C"]),
        ("SHOW INDEXES YIELD name WHERE name = 'i_A' RETURN name AS n ORDER BY n LIMIT 5", vec!["i_A"]),
        ("USE neo4j SHOW INDEXES YIELD name WHERE name = 'i_A'", vec!["i_A"]),
        ("USE neo4j MATCH (n) RETURN 'x' AS x UNION USE neo4j RETURN 'y' AS x", vec!["y"]),
        ("CALL { USE neo4j RETURN 'a' AS x } RETURN x", vec!["a"]),
        ("SHOW SETTINGS YIELD name WHERE name = 'server.bolt.enabled'", vec!["server.bolt.enabled"]),
        ("SHOW SETTING server.bolt.enabled", vec!["server.bolt.enabled"]),
        ("SHOW SETTINGS 'server.bolt.enabled', 'nothing'", vec!["server.bolt.enabled"]),
    ] {
        assert_eq!(names(rows(&mut session, text)), expected, "{text}");
    }
    let usual = session.query("SHOW INDEXES", Params::new()).unwrap().columns().len();
    let with_condition =
        session.query("SHOW INDEXES WHERE name = 'i_A'", Params::new()).unwrap().columns().len();
    assert_eq!(usual, with_condition);
    assert_eq!(code(&mut session, "USE other RETURN 1"), "Neo.ClientError.Database.DatabaseNotFound");
    assert_eq!(code(&mut session, "USE system RETURN 1"), "Neo.ClientError.Database.DatabaseNotFound");
    for text in [
        "CALL db.awaitIndexes()",
        "CALL db.awaitIndexes(10)",
        "CALL db.awaitIndexes",
        "CALL db.awaitIndex('i_A')",
        "CALL db.awaitIndex('i_A', 5)",
    ] {
        rows(&mut session, text);
    }
    assert_eq!(rows(&mut session, "UNWIND [1, 2] AS x CALL db.awaitIndexes(1) RETURN x").len(), 2);
    let missing = code(&mut session, "CALL db.awaitIndex('nothing')");
    assert_eq!(missing, "Neo.ClientError.Procedure.ProcedureCallFailed");
    code(&mut session, "CALL db.awaitIndexes(1, 2)");
}

#[test]
fn load_csv_tells_where_it_is() {
    let folder = std::env::temp_dir().join(format!("tanglewood-cypher5-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("a.csv"), "name\nann\n\n\"b\nb\"\ncy\n").unwrap();
    let options = Options { executors: Some(2), import_folder: Some(folder.clone()), ..Options::default() };
    let mut session = Database::open(MEMORY, options).unwrap().session();
    let text = "LOAD CSV WITH HEADERS FROM 'file:///a.csv' AS row RETURN row.name, linenumber(), file()";
    let found = rows(&mut session, text);
    let lines: Vec<_> = found.iter().map(|row| row[1].as_int().unwrap()).collect();
    assert_eq!(lines, [2, 5, 6]);
    assert!(found.iter().all(|row| row[2].as_str() == Some("/a.csv")));
    let text = "LOAD CSV FROM 'a.csv' AS row WITH row[0] AS name WHERE name <> 'name' WITH name, linenumber() AS line \
                WHERE linenumber() > 2 RETURN line, linenumber()";
    let found = rows(&mut session, text);
    assert_eq!(shown(&found), shown(&[[Value::Int(5), Value::Int(5)], [Value::Int(6), Value::Int(6)]]));
    let text = "LOAD CSV FROM 'a.csv' AS row WITH count(*) AS n RETURN n, linenumber(), file()";
    assert_eq!(shown(&rows(&mut session, text)), shown(&[[Value::Int(4), Value::Null, Value::Null]]));
    assert_eq!(
        shown(&rows(&mut session, "RETURN linenumber(), file()")),
        shown(&[[Value::Null, Value::Null]])
    );
    let gzip = std::process::Command::new("gzip").arg("-k").arg(folder.join("a.csv")).status();
    if gzip.is_ok_and(|status| status.success()) {
        let found =
            rows(&mut session, "LOAD CSV WITH HEADERS FROM 'file:///a.csv.gz' AS row RETURN row.name");
        assert_eq!(found.len(), 3);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

/// `ORDER BY`, `SKIP`, `OFFSET` and `LIMIT` as clauses of their own: what `WITH *` does before them.
#[test]
fn rows_are_ordered_and_cut_between_clauses() {
    let mut session = session();
    rows(&mut session, "UNWIND range(1, 6) AS i CREATE (:N {i: i, odd: i % 2 = 1})");
    let pages = [
        "ORDER BY x DESC",
        "LIMIT 2",
        "ORDER BY x SKIP 1",
        "ORDER BY x OFFSET 4",
        "ORDER BY x DESC SKIP 1 LIMIT 3",
    ];
    for page in pages {
        for (before, after) in [
            ("UNWIND [3, 1, 2, 5, 4] AS x", "RETURN collect(x) AS xs"),
            ("MATCH (n:N) WHERE n.odd WITH n.i AS x", "MATCH (m:N {i: x + 1}) RETURN collect(m.i) AS xs"),
            ("UNWIND [3, 1, 2, 5, 4] AS x", "ORDER BY x LIMIT 1 RETURN x"),
            ("UNWIND [3, 1, 2, 5, 4] AS x LET y = -x", "FILTER x > 1 RETURN x, y ORDER BY x LIMIT 2"),
        ] {
            // One that carries on a projection is a part of it.
            let alone = rows(&mut session, &format!("{before} {page} {after}"));
            let wanted = rows(&mut session, &format!("{before} WITH * {page} {after}"));
            assert_eq!(shown(&alone), shown(&wanted), "{before} {page} {after}");
        }
    }
    assert_eq!(shown(&rows(&mut session, "UNWIND [3, 1, 2] AS n LIMIT 1 LIMIT 5 RETURN n")), "[[Int(3)]]");
    assert_eq!(
        code(&mut session, "UNWIND [1] AS n ORDER n RETURN n"),
        "Neo.ClientError.Statement.SyntaxError"
    );
    assert_eq!(code(&mut session, "RETURN 1 AS n LIMIT 1 LIMIT 2"), "Neo.ClientError.Statement.SyntaxError");
    assert_eq!(
        code(&mut session, "UNWIND [1] AS n LIMIT n RETURN n"),
        "Neo.ClientError.Statement.SyntaxError"
    );
}

/// Names like the words that begin and join clauses, as the subject, the test and the outcome of a CASE; with the answer, not only the tree.
#[test]
fn a_case_reads_variables_that_are_named_like_clauses() {
    let mut session = session();
    let words = [
        "union", "limit", "skip", "offset", "order", "where", "return", "with", "create", "set", "merge",
        "unwind", "match", "optional", "delete", "remove", "call", "foreach", "yield", "finish", "let",
        "filter", "insert",
    ];
    for word in words {
        for (case, expected) in [
            (format!("CASE {word} = 0 WHEN true THEN 'zero' ELSE 'other' END"), "'zero'"),
            (format!("CASE {word} WHEN 0 THEN 'zero' ELSE 'other' END"), "'zero'"),
            (format!("CASE 0 WHEN {word} THEN 'zero' ELSE 'other' END"), "'zero'"),
            (format!("CASE WHEN {word} < 1 THEN {word} ELSE 'other' END"), "0"),
            (format!("CASE {word} + 1 WHEN > {word} THEN 'more' END"), "'more'"),
            (format!("CASE {word} WHEN 1 THEN 2 ELSE {word} END"), "0"),
            (format!("[{word} IN [0, 1] | CASE {word} = 0 WHEN true THEN 1 ELSE 2 END]"), "[1, 2]"),
        ] {
            let text = format!("WITH 0 AS {word} RETURN {case} = {expected} AS same");
            assert_eq!(shown(&rows(&mut session, &text)), "[[Bool(true)]]", "{text}");
        }
    }
}

/// Statements that Neo4j 5 takes, with the first column of the answer; or refuses, with the code.
#[test]
fn statements_answer_or_are_refused_as_in_neo4j() {
    let mut session = session();
    let syntax = "Neo.ClientError.Statement.SyntaxError";
    for (text, expected) in [
        // FOREACH hides variables of every kind, and gives them back.
        ("WITH 7 AS x FOREACH (x IN [1, 2] | CREATE (:F {x: x})) RETURN x", Ok("7")),
        ("MATCH (f:F) WITH count(f) AS f FOREACH (f IN [9] | MERGE (:F {x: f})) RETURN f", Ok("2")),
        ("MATCH (f:F {x: 9}) FOREACH (f IN [f] | SET f.x = 10) RETURN f.x", Ok("10")),
        ("WITH [1, 2] AS x FOREACH (x IN x | CREATE (:G {x: x})) RETURN size(x)", Ok("2")),
        ("MATCH (g:G) RETURN sum(g.x)", Ok("3")),
        ("RETURN 1 AS x UNION ALL RETURN 2 AS x", Ok("1")),
        // Indexes of kinds that are not built are refused rather than made something else.
        ("CREATE TEXT INDEX FOR (n:A) ON (n.x)", Err("")),
        ("CREATE POINT INDEX FOR (n:A) ON (n.x)", Err("")),
        ("CREATE RANGE INDEX r FOR (n:A) ON (n.x)", Ok("")),
        ("CREATE INDEX r IF NOT EXISTS FOR (n:A) ON (n.x)", Ok("")),
        (
            "CREATE INDEX r FOR (n:A) ON (n.x)",
            Err("Neo.ClientError.Schema.EquivalentSchemaRuleAlreadyExists"),
        ),
        ("SHOW INDEXES YIELD type", Ok("'RANGE'")),
        ("MATCH (n:`a b`:%) RETURN n", Err(syntax)),
        ("MATCH (n:A) DELETE n.x", Err(syntax)),
        ("USE neo4j RETURN 1", Ok("1")),
        ("RETURN 1 IS :: STRING | INTEGER", Ok("true")),
        ("RETURN [1] IS :: LIST<INTEGER>", Ok("true")),
        ("RETURN CASE 2 WHEN < 3 THEN 'less' END", Ok("'less'")),
        ("RETURN btrim('xax', 'x')", Ok("'a'")),
        ("RETURN normalize('a')", Ok("'a'")),
        ("RETURN 'a' IS NORMALIZED", Ok("true")),
        ("RETURN toIntegerList(['1'])[0]", Ok("1")),
        ("RETURN toFloatList(['1'])[0] = 1", Ok("true")),
        ("RETURN toBooleanList(['true'])[0]", Ok("true")),
        ("RETURN toStringList([1])[0]", Ok("'1'")),
        ("RETURN linenumber() IS NULL AND file() IS NULL", Ok("true")),
        ("SHOW INDEXES YIELD name ORDER BY name LIMIT 1", Ok("'r'")),
        ("CALL db.awaitIndexes(10)", Ok("")),
        ("SHOW SETTINGS YIELD name ORDER BY name LIMIT 0", Ok("")),
        ("SHOW CURRENT USER", Ok("")),
        ("ALTER CURRENT USER SET PASSWORD FROM 'a' TO 'long enough'", Err("")),
    ] {
        let found = session.query(text, Params::new()).and_then(|result| result.rows());
        match (found, expected) {
            (Ok(rows), Ok("")) => assert!(rows.is_empty(), "{text}: {rows:?}"),
            (Ok(rows), Ok(expected)) => {
                let same = session.query(
                    &format!("RETURN $found = {expected} AS same"),
                    params! { "found" => rows[0][0].clone() },
                );
                assert_eq!(shown(&same.unwrap().rows().unwrap()[0][0]), "Bool(true)", "{text}: {rows:?}");
            }
            (Err(error), Err(code)) => assert!(code.is_empty() || error.code == code, "{text}: {error:?}"),
            (found, _) => panic!("{text}: {found:?}"),
        }
    }
}

/// What a scope clause lets in stays in sight behind an aggregation of one row, as behind any other WITH.
#[test]
fn imports_stay_in_sight_behind_an_aggregation_of_one_row() {
    let mut session = session();
    rows(&mut session, "CREATE (:P {x: 1}), (b:P {x: 2}), (b)-[:R]->(:Q {x: 5}), (b)-[:R]->(:Q {x: 6})");
    for (text, expected) in [
        (
            "CALL (n) { MATCH (m:Q) WITH count(m) AS g RETURN g AS k, sum(g) AS y } RETURN n.x AS n, k, y",
            "[[1, 2, 2], [2, 2, 2]]",
        ),
        (
            "CALL (n) { MATCH (m:Q) WITH count(m) AS g RETURN DISTINCT g AS k, n.x AS y } RETURN n.x AS n, k, y",
            "[[1, 2, 1], [2, 2, 2]]",
        ),
        (
            "CALL (n) { MATCH (n)-->(m) WITH count(m) AS g RETURN g * 10 + n.x AS y } RETURN n.x AS n, y",
            "[[1, 1], [2, 22]]",
        ),
        (
            "CALL (n) { MATCH (n)-->(m) WITH max(m.x) AS g WHERE n.x = 2 RETURN g } RETURN n.x AS n, g",
            "[[2, 6]]",
        ),
        (
            "CALL (n) { MATCH (n)-->(m) WITH count(m) AS g WITH g AS h WITH sum(h) AS s MATCH (q:P {x: n.x}) RETURN s + q.x AS y } RETURN n.x AS n, y",
            "[[1, 1], [2, 4]]",
        ),
        (
            "CALL (n) { MATCH (m:Q) WITH count(m) AS g RETURN g UNION ALL MATCH (n)-->(m) WITH sum(m.x) AS g RETURN g + n.x AS g } RETURN n.x AS n, g",
            "[[1, 1], [1, 2], [2, 13], [2, 2]]",
        ),
        (
            "WITH n, COLLECT { MATCH (n)-->(m) WITH count(m) AS g UNWIND [g, n.x] AS y RETURN y } AS y RETURN n.x AS n, y",
            "[[1, [0, 1]], [2, [2, 2]]]",
        ),
        (
            "WITH n WHERE EXISTS { MATCH (m:Q) WITH count(m) AS g WHERE g = n.x RETURN g } RETURN n.x AS n",
            "[[2]]",
        ),
        (
            "RETURN n.x AS n, COUNT { MATCH (n)-->(m) WITH sum(m.x) AS g MATCH (q:Q) WHERE q.x < g AND n.x > 0 RETURN q } AS c",
            "[[1, 0], [2, 2]]",
        ),
    ] {
        let text = format!("MATCH (n:P) {text}");
        let mut found = rows(&mut session, &text);
        found.sort_by_key(|row| shown(row));
        let plain = shown(&found).replace("Int(", "").replace(')', "").replace("List(", "");
        assert_eq!(plain, expected, "{text}");
        // And kept true: a standing query has the same plan.
        rows(&mut session, &format!("CREATE STANDING QUERY q AS {text}"));
        rows(&mut session, "DROP STANDING QUERY q");
    }
}
