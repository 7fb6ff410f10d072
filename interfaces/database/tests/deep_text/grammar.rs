//! One text of each production of each language, as deep or as wide as requested.

/// A production: its name, and its text with so many parts.
pub type Production = (&'static str, fn(usize) -> String);

/// `open` so often, the middle, `close` as often.
fn nest(open: &str, middle: &str, close: &str, n: usize) -> String {
    format!("{}{middle}{}", open.repeat(n), close.repeat(n))
}

/// Parts with something between them.
fn row(n: usize, between: &str, part: impl Fn(usize) -> String) -> String {
    (0..n.max(1)).map(part).collect::<Vec<_>>().join(between)
}

fn ret(expression: String) -> String {
    format!("WITH 1 AS x, {{a: 1}} AS m, [1] AS l RETURN {expression} AS r")
}

/// So many columns.
fn columns(n: usize) -> String {
    row(n, ", ", |i| format!("{i} AS a{i}"))
}

/// Expressions of Cypher.
pub const EXPRESSIONS: &[Production] = &[
    ("parentheses", |n| ret(nest("(", "1", ")", n))),
    ("signs", |n| ret(nest("-(", "1", ")", n))),
    ("signs without parentheses", |n| ret(nest("- ", "1", "", n))),
    ("NOT", |n| ret(nest("NOT ", "true", "", n))),
    ("AND chain", |n| ret(row(n, " AND ", |i| format!("x <> {}", i + 7)))),
    ("OR chain", |n| ret(row(n, " OR ", |i| format!("x = {}", i + 7)))),
    ("OR chain of many properties", |n| {
        format!("MATCH (n) WHERE {} RETURN n", row(n, " OR ", |i| format!("n.a{i} = 1")))
    }),
    ("AND chain of many properties", |n| {
        format!("MATCH (n) WHERE {} RETURN n", row(n, " AND ", |i| format!("n.a{i} = 1")))
    }),
    ("XOR chain", |n| ret(row(n, " XOR ", |_| "true".into()))),
    ("AND and OR in turns", |n| ret(nest("(true AND (false OR ", "true", "))", n))),
    ("sum", |n| ret(row(n, " + ", |_| "x".into()))),
    ("sum of texts", |n| ret(row(n, " + ", |_| "'a'".into()))),
    ("sum to the right", |n| ret(nest("x + (", "x", ")", n))),
    ("difference", |n| ret(row(n, " - ", |_| "x".into()))),
    ("product", |n| ret(row(n, " * ", |_| "x".into()))),
    ("power", |n| ret(row(n, " ^ ", |_| "x".into()))),
    ("concatenation", |n| ret(row(n, " || ", |_| "'a'".into()))),
    ("comparisons", |n| ret(row(n, " < ", |i| i.to_string()))),
    ("equalities", |n| ret(row(n, " = ", |_| "x".into()))),
    ("IN within IN", |n| ret(nest("1 IN [", "1", "]", n))),
    ("wide IN", |n| ret(format!("x IN [{}]", row(n, ", ", |i| i.to_string())))),
    ("list", |n| ret(nest("[", "", "]", n))),
    ("wide list", |n| ret(format!("[{}]", row(n, ",", |_| "1".into())))),
    ("wide list of variables", |n| ret(format!("[{}]", row(n, ",", |_| "x".into())))),
    ("map", |n| ret(nest("{a: ", "1", "}", n))),
    ("wide map", |n| ret(format!("{{{}}}", row(n, ",", |i| format!("k{i}: x"))))),
    ("CASE in THEN", |n| ret(nest("CASE WHEN x = 1 THEN ", "1", " END", n))),
    ("CASE in ELSE", |n| ret(nest("CASE WHEN x = 2 THEN 1 ELSE ", "1", " END", n))),
    ("CASE in WHEN", |n| ret(nest("CASE WHEN ", "true", " THEN true END", n))),
    ("wide CASE", |n| ret(format!("CASE x {} END", row(n, " ", |i| format!("WHEN {i} THEN {i}"))))),
    ("function", |n| ret(nest("abs(", "x", ")", n))),
    ("wide function", |n| ret(format!("coalesce({})", row(n, ", ", |_| "null".into())))),
    ("index", |n| ret(format!("l{}", "[0]".repeat(n)))),
    ("slice", |n| ret(format!("l{}", "[0..]".repeat(n)))),
    ("property", |n| ret(format!("m{}", ".a".repeat(n)))),
    ("property of a parameter", |n| ret(format!("$p{}", ".a".repeat(n)))),
    ("comprehension", |n| ret(nest("[y IN ", "l", "]", n))),
    ("comprehension with a test", |n| ret(nest("[y IN ", "l", " WHERE y > 0 | y]", n))),
    ("comprehension in a body", |n| ret(nest("[y IN l | ", "y", "]", n))),
    ("reduce", |n| ret(nest("reduce(s = ", "0", ", y IN l | s + y)", n))),
    ("reduce in a body", |n| ret(nest("reduce(s = 0, y IN l | s + ", "y", ")", n))),
    ("any", |n| ret(nest("any(y IN l WHERE ", "y = 1", ")", n))),
    ("labels", |n| format!("MATCH (n:{}) RETURN n", row(n, "|", |i| format!("A{i}")))),
    ("labels together", |n| format!("MATCH (n:{}) RETURN n", row(n, "&", |i| format!("A{i}")))),
    ("labels of old", |n| format!("MATCH (n:{}) RETURN n", row(n, ":", |i| format!("A{i}")))),
    ("labels nested", |n| format!("MATCH (n:{}) RETURN n", nest("(A|(B&", "C", "))", n))),
    ("labels not", |n| format!("MATCH (n:{}A) RETURN n", "!".repeat(n))),
    ("label tests", |n| format!("MATCH (n) WHERE {} RETURN n", row(n, " OR ", |i| format!("n:A{i}")))),
    ("IS NULL", |n| ret(format!("x{}", " IS NULL".repeat(n)))),
    ("type of a list", |n| ret(format!("x IS :: {}", nest("LIST<", "INTEGER", ">", n)))),
    ("types", |n| ret(format!("x IS :: {}", row(n, " | ", |_| "INTEGER".into())))),
    ("STARTS WITH", |n| ret(nest("'a' STARTS WITH (", "'a'", ")", n))),
    ("pattern comprehension", |n| format!("MATCH (a) RETURN {}", nest("[(a)-->(b) | ", "1", "]", n))),
    ("EXISTS", |n| {
        format!("MATCH (a) WHERE {} RETURN a", nest("EXISTS { MATCH (a) WHERE ", "true", " }", n))
    }),
    ("COUNT", |n| {
        format!("MATCH (a) WHERE {} RETURN a", nest("COUNT { MATCH (a) WHERE ", "true", " } > 0", n))
    }),
    ("COLLECT", |n| format!("MATCH (a) RETURN {}", nest("COLLECT { MATCH (a) RETURN ", "1", " }", n))),
    ("many EXISTS", |n| {
        format!("MATCH (a) WHERE {} RETURN a", row(n, " OR ", |i| format!("EXISTS {{ (a)-[:T{i}]->() }}")))
    }),
    ("projection", |n| format!("MATCH (a) RETURN {}", nest("a {.x, y: ", "1", "}", n))),
    ("wide projection", |n| format!("MATCH (a) RETURN a {{{}}}", row(n, ", ", |i| format!(".x{i}")))),
    ("aggregates", |n| format!("MATCH (a) RETURN {}", row(n, " + ", |i| format!("sum(a.x{i})")))),
    ("parameters", |n| format!("EXPLAIN RETURN [{}]", row(n, ", ", |i| format!("$p{i}")))),
    ("wide list of columns", |n| {
        format!(
            "WITH {} RETURN [{}]",
            row(n, ", ", |i| format!("{i} AS a{i}")),
            row(n, ", ", |i| format!("a{i}"))
        )
    }),
    ("wide sum of columns", |n| {
        format!(
            "WITH {} RETURN {}",
            row(n, ", ", |i| format!("{i} AS a{i}")),
            row(n, " + ", |i| format!("a{i}"))
        )
    }),
    ("wide list of comprehensions", |n| {
        ret(format!("[{}]", row(n, ", ", |i| format!("[y{i} IN l | y{i}]"))))
    }),
    ("wide maximum of lists", |n| ret(format!("[{}]", row(n, ", ", |_| "[x]".into())))),
    ("text", |n| ret(format!("'{}'", "a".repeat(n)))),
    ("escapes", |n| ret(format!("'{}'", "\\u0041".repeat(n)))),
    ("number", |n| ret("1".repeat(n))),
    ("fraction", |n| ret(format!("0.{}", "1".repeat(n)))),
    ("name", |n| ret(format!("1 AS {}, 2", "a".repeat(n)))),
    ("quoted name", |n| ret(format!("1 AS `{}`, 2", "``".repeat(n)))),
    ("comment", |n| ret(format!("/*{}*/ 1", " /* ".repeat(n)))),
    ("blanks", |n| ret(format!("{}1", " \n".repeat(n)))),
];

/// Clauses and patterns of Cypher.
pub const CLAUSES: &[Production] = &[
    ("WITH", |n| format!("WITH 1 AS x {}RETURN x", "WITH x ".repeat(n))),
    ("WITH that computes", |n| format!("WITH 1 AS x {}RETURN x", "WITH x + x % 2 AS x ".repeat(n))),
    ("UNWIND", |n| format!("WITH 1 AS x {}RETURN x", row(n, "", |i| format!("UNWIND [1] AS y{i} ")))),
    ("MATCH", |n| format!("{}RETURN 1", row(n, "", |i| format!("MATCH (n{i}) ")))),
    ("MATCH of the same", |n| format!("{}RETURN 1", "MATCH (n) ".repeat(n.max(1)))),
    ("OPTIONAL MATCH", |n| format!("{}RETURN 1", row(n, "", |i| format!("OPTIONAL MATCH (n{i}:None) ")))),
    ("path", |n| format!("MATCH (n){} RETURN n", "-->()".repeat(n))),
    ("named path", |n| format!("MATCH p = (n){} RETURN p", row(n, "", |i| format!("-[r{i}]->(n{i})")))),
    ("path of repeatable elements", |n| {
        format!("MATCH REPEATABLE ELEMENTS (n){} RETURN n", row(n, "", |i| format!("-[r{i}]->(n{i})")))
    }),
    ("parts", |n| format!("MATCH {} RETURN 1", row(n, ", ", |i| format!("(n{i})")))),
    ("parts joined", |n| format!("MATCH {} RETURN 1", row(n, ", ", |i| format!("(n{i})-->(n{})", i + 1)))),
    ("types of relationships", |n| {
        format!("MATCH (a)-[:{}]->(b) RETURN a", row(n, "|", |i| format!("T{i}")))
    }),
    ("length", |n| format!("MATCH (a)-[*{n}]->(b) RETURN a")),
    ("greatest length", |n| format!("MATCH (a)-[*1..{n}]->(b) RETURN count(*)")),
    ("lengths", |n| format!("MATCH (a){} RETURN count(*)", "-[*0..1]->()".repeat(n))),
    ("quantified", |n| {
        format!("MATCH (a) {} RETURN count(*)", "((b)-->(c)){0,1} (d) ".repeat(n).replace("(d)", "()"))
    }),
    ("quantifier", |n| format!("MATCH (a) ((b)-->(c)){{{n}}} (d) RETURN count(*)")),
    ("shortest", |n| format!("MATCH p = shortestPath((a)-[*..{n}]->(b)) WHERE a.x < b.x RETURN length(p)")),
    ("properties of a pattern", |n| {
        format!("MATCH (n {{{}}}) RETURN n", row(n, ", ", |i| format!("a{i}: 1")))
    }),
    ("CREATE of a path", |n| format!("CREATE (){} RETURN 1 LIMIT 0", "-[:Q]->()".repeat(n))),
    ("CREATE of parts", |n| format!("CREATE {}", row(n, ", ", |_| "(:Q)".into()))),
    ("CREATE chain", |n| "CREATE (:Q) ".repeat(n.max(1))),
    ("CREATE with labels", |n| format!("CREATE (:{})", row(n, ":", |i| format!("Q{i}")))),
    ("CREATE with properties", |n| format!("CREATE (:Q {{{}}})", row(n, ", ", |i| format!("q{i}: 1")))),
    ("CREATE that reads itself", |n| {
        format!(
            "CREATE {}",
            row(n, ", ", |i| if i == 0 {
                "(q0:Q {v: 1})".into()
            } else {
                format!("(q{i}:Q {{v: q{}.v}})", i - 1)
            })
        )
    }),
    ("MERGE chain", |n| row(n, " ", |i| format!("MERGE (:Q {{q: {i}}})"))),
    ("MERGE of a path", |n| format!("MERGE (:Q){}", "-[:Q]->(:Q)".repeat(n))),
    ("SET", |n| format!("MATCH (n:None) SET {}", row(n, ", ", |i| format!("n.a{i} = 1")))),
    ("REMOVE", |n| format!("MATCH (n:None) REMOVE {}", row(n, ", ", |i| format!("n.a{i}")))),
    ("DELETE", |n| format!("MATCH (n:None) DELETE {}", row(n, ", ", |_| "n".into()))),
    ("FOREACH", |n| nest("FOREACH (x IN [1] | ", "CREATE (:Q)", ")", n)),
    ("FOREACH chain", |n| "FOREACH (x IN [] | CREATE (:Q)) ".repeat(n.max(1))),
    ("CALL within CALL", |n| {
        format!(
            "{} RETURN 1",
            nest("CALL () { ", "RETURN 1 AS x", " RETURN 1 AS y }", n).replacen(
                "RETURN 1 AS x RETURN 1 AS y",
                "RETURN 1 AS x",
                1
            )
        )
    }),
    ("CALL chain", |n| format!("{}RETURN 1", row(n, "", |i| format!("CALL () {{ RETURN 1 AS x{i} }} ")))),
    ("CALL of a procedure", |n| {
        format!("{}RETURN 1", row(n, "", |i| format!("CALL db.labels() YIELD label AS l{i} ")))
    }),
    ("UNION", |n| row(n, " UNION ", |_| "RETURN 1 AS x".into())),
    ("UNION ALL", |n| row(n, " UNION ALL ", |_| "MATCH (n) RETURN n.x AS x".into())),
    ("UNION within CALL", |n| {
        format!("CALL () {{ {} }} RETURN count(*)", row(n, " UNION ", |i| format!("RETURN {i} AS x")))
    }),
    ("RETURN", |n| format!("RETURN {}", row(n, ", ", |i| format!("1 AS a{i}")))),
    ("RETURN of aggregates", |n| {
        format!("MATCH (n) RETURN {}", row(n, ", ", |i| format!("count(n.a{i}) AS a{i}")))
    }),
    ("RETURN of groups", |n| {
        format!("MATCH (n) RETURN {}, count(*) AS c", row(n, ", ", |i| format!("n.a{i} AS a{i}")))
    }),
    ("RETURN of variables", |n| format!("WITH {} RETURN {}", columns(n), row(n, ", ", |i| format!("a{i}")))),
    ("RETURN of all", |n| format!("WITH {} RETURN *", columns(n))),
    ("RETURN DISTINCT", |n| format!("RETURN DISTINCT {}", columns(n))),
    ("RETURN of groups of variables", |n| {
        format!("WITH {} RETURN {}, count(*) AS c", columns(n), row(n, ", ", |i| format!("a{i}")))
    }),
    ("RETURN of the same aggregate", |n| {
        format!("MATCH (n) RETURN {}", row(n, ", ", |i| format!("count(n) AS a{i}")))
    }),
    ("WITH of many columns", |n| format!("WITH {} WITH *, 1 AS z WHERE a0 = 0 RETURN z", columns(n))),
    ("WITH DISTINCT of many columns", |n| format!("WITH DISTINCT {} WHERE a0 = 0 RETURN a0", columns(n))),
    ("columns in order", |n| format!("RETURN {} ORDER BY {}", columns(n), row(n, ", ", |i| format!("a{i}")))),
    ("columns in order with a limit", |n| {
        format!(
            "WITH {} RETURN {} ORDER BY a0 LIMIT 1",
            columns(n),
            row(n, ", ", |i| format!("a{i} + 1 AS b{i}"))
        )
    }),
    ("columns and a MATCH", |n| format!("WITH {} MATCH (n:A) RETURN *", columns(n))),
    ("columns and an OPTIONAL MATCH", |n| {
        format!("WITH {} OPTIONAL MATCH (n:A {{x: a0}}) RETURN *", columns(n))
    }),
    ("columns and an EXISTS", |n| {
        format!("WITH {} WHERE EXISTS {{ (:A {{x: a0 + 1}}) }} RETURN *", columns(n))
    }),
    ("columns and a MERGE", |n| format!("WITH {} MERGE (n:Q {{x: a0}}) RETURN *", columns(n))),
    ("columns and a FOREACH", |n| {
        format!(
            "WITH {} FOREACH (y IN [{}] | CREATE (:Q {{y: y + a0}}))",
            columns(n),
            row(n, ", ", |i| format!("a{i}"))
        )
    }),
    ("columns and a CALL", |n| {
        format!(
            "WITH {} CALL (*) {{ RETURN {} AS z }} RETURN z",
            columns(n),
            row(n, " + ", |i| format!("a{i}"))
        )
    }),
    ("columns and a CALL that imports", |n| {
        let names = row(n, ", ", |i| format!("a{i}"));
        format!("WITH {} CALL ({names}) {{ RETURN a0 AS z }} RETURN *", columns(n))
    }),
    ("columns and an UNWIND", |n| format!("WITH {} UNWIND [1, 2] AS u RETURN *", columns(n))),
    ("columns of a CALL", |n| format!("CALL () {{ RETURN {} }} RETURN *", columns(n))),
    ("columns of a UNION", |n| format!("RETURN {} UNION RETURN {}", columns(n), columns(n))),
    ("columns of a UNION ALL", |n| format!("RETURN {} UNION ALL RETURN {}", columns(n), columns(n))),
    ("columns of a UNION within CALL", |n| {
        format!("CALL () {{ RETURN {0} UNION RETURN {0} }} WITH * WHERE a0 = 0 RETURN *", columns(n))
    }),
    ("CREATE of columns", |n| format!("WITH {} CREATE (:Q {{x: a0}})-[:R]->(q) RETURN *", columns(n))),
    ("CREATE of names", |n| format!("CREATE {} RETURN *", row(n, ", ", |i| format!("(q{i}:Q)")))),
    ("CREATE of a named path", |n| {
        format!("CREATE p = (q){} RETURN length(p)", row(n, "", |i| format!("-[r{i}:Q]->(q{i})")))
    }),
    ("CREATE of relationships between names", |n| {
        format!(
            "CREATE {} CREATE {} RETURN count(*)",
            row(n, ", ", |i| format!("(q{i}:Q)")),
            row(n, ", ", |i| format!("(q{i})-[:R]->(q{})", n.max(1) - 1 - i))
        )
    }),
    ("CREATE with types", |n| format!("CREATE {}", row(n, ", ", |i| format!("()-[:Q{i}]->()")))),
    ("MERGE with properties", |n| format!("MERGE (:Q {{{}}})", row(n, ", ", |i| format!("q{i}: {i}")))),
    ("MERGE with labels", |n| format!("MERGE (:{})", row(n, ":", |i| format!("Q{i}")))),
    ("MERGE ON CREATE", |n| format!("MERGE (n:Q) ON CREATE SET {}", row(n, ", ", |i| format!("n.a{i} = 1")))),
    ("MERGE ON MATCH", |n| format!("MERGE (n:A) ON MATCH SET {}", row(n, ", ", |i| format!("n.a{i} = 1")))),
    ("SET of labels", |n| format!("MATCH (n:A) SET n:{}", row(n, ":", |i| format!("Q{i}")))),
    ("SET of what is there", |n| format!("MATCH (n:A) SET {}", row(n, ", ", |i| format!("n.a{i} = n.x")))),
    ("REMOVE of labels", |n| format!("MATCH (n:A) REMOVE n:{}", row(n, ":", |i| format!("Q{i}")))),
    ("DELETE of columns", |n| {
        format!(
            "MATCH (n:None) WITH {} DELETE {}",
            row(n, ", ", |i| format!("n AS a{i}")),
            row(n, ", ", |i| format!("a{i}"))
        )
    }),
    ("ORDER BY", |n| format!("MATCH (n) RETURN n ORDER BY {}", row(n, ", ", |i| format!("n.a{i}")))),
    ("hints", |n| format!("MATCH (n:A) {} RETURN n", "USING SCAN n:A ".repeat(n))),
    ("SHOW", |n| format!("SHOW INDEXES YIELD {}", row(n, ", ", |i| format!("name AS a{i}")))),
    ("index", |n| format!("CREATE INDEX FOR (n:Q) ON ({})", row(n, ", ", |i| format!("n.a{i}")))),
    ("constraint", |n| {
        format!("CREATE CONSTRAINT FOR (n:Q) REQUIRE ({}) IS UNIQUE", row(n, ", ", |i| format!("n.a{i}")))
    }),
    ("type constraint", |n| {
        format!("CREATE CONSTRAINT FOR (n:Q) REQUIRE n.a IS :: {}", nest("LIST<", "INTEGER", ">", n))
    }),
    ("EXPLAIN", |n| {
        format!("EXPLAIN MATCH (n) WHERE {} RETURN n", row(n, " OR ", |i| format!("n.a{i} = 1")))
    }),
    ("PROFILE", |n| format!("PROFILE WITH 1 AS x {}RETURN x", "WITH x ".repeat(n))),
    ("standing query", |n| {
        format!(
            "CREATE STANDING QUERY q AS MATCH (n) WHERE {} RETURN n",
            row(n, " OR ", |i| format!("n.a{i} = 1"))
        )
    }),
    ("standing query of UNIONs", |n| {
        format!("CREATE STANDING QUERY q AS {}", row(n, " UNION ", |i| format!("MATCH (n:A{i}) RETURN n")))
    }),
    ("standing query of EXISTS", |n| {
        format!(
            "CREATE STANDING QUERY q AS MATCH (a) WHERE {} RETURN a",
            nest("EXISTS { MATCH (a) WHERE ", "a.x > 0", " }", n)
        )
    }),
];

/// Datalog.
pub const RULES: &[Production] = &[
    ("parentheses", |n| format!("DATALOG {{ p(x) :- R(y, z), x = {}. ?- p(x). }}", nest("(", "1", ")", n))),
    ("signs", |n| format!("DATALOG {{ p(x) :- R(y, z), x = {}1. ?- p(x). }}", "- ".repeat(n))),
    ("sum", |n| format!("DATALOG {{ p(x) :- R(y, z), x = {}. ?- p(x). }}", row(n, " + ", |_| "1".into()))),
    ("body", |n| format!("DATALOG {{ p(x) :- {}. ?- p(x). }}", row(n, ", ", |_| "R(x, y)".into()))),
    ("body of a path", |n| {
        format!("DATALOG {{ p(x0) :- {}. ?- p(x). }}", row(n, ", ", |i| format!("R(x{i}, x{})", i + 1)))
    }),
    ("rules", |n| format!("DATALOG {{ {} ?- p(x). }}", row(n, " ", |_| "p(x) :- R(x, y).".into()))),
    ("chain of rules", |n| {
        format!(
            "DATALOG {{ {} p{n}(x) :- R(x, y). ?- p0(x). }}",
            row(n, " ", |i| format!("p{i}(x) :- p{}(x).", i + 1))
        )
    }),
    ("chain of negations", |n| {
        format!(
            "DATALOG {{ {} p{n}(x) :- R(x, y). ?- p0(x). }}",
            row(n, " ", |i| format!("p{i}(x) :- R(x, y), !p{}(x).", i + 1))
        )
    }),
    ("circle of rules", |n| {
        format!(
            "DATALOG {{ {} p{n}(x) :- p0(x). p0(x) :- R(x, y). ?- p0(x). }}",
            row(n, " ", |i| format!("p{i}(x) :- p{}(x).", i + 1))
        )
    }),
    ("columns", |n| format!("DATALOG {{ p({0}) :- q({0}). ?- p({0}). }}", row(n, ", ", |i| format!("x{i}")))),
    ("facts", |n| format!("DATALOG {{ {} ?- p(x). }}", row(n, " ", |i| format!("p({i}).")))),
    ("text", |n| format!("DATALOG {{ p('{}'). ?- p(x). }}", "a".repeat(n))),
    ("number", |n| format!("DATALOG {{ p({}). ?- p(x). }}", "1".repeat(n))),
    ("name", |n| format!("DATALOG {{ {0}(1). ?- {0}(x). }}", "a".repeat(n))),
    ("comments", |n| format!("DATALOG {{ {} p(1). ?- p(x). }}", "/* ".repeat(n))),
    ("standing rules", |n| {
        format!(
            "CREATE STANDING QUERY q AS DATALOG {{ {} p{n}(x) :- R(x, y). ?- p0(x). }}",
            row(n, " ", |i| format!("p{i}(x) :- p{}(x).", i + 1))
        )
    }),
];

/// Gremlin.
pub const TRAVERSALS: &[Production] = &[
    ("map", |n| format!("g.inject(1).{}", nest("map(__.", "identity()", ")", n))),
    ("repeat", |n| format!("g.inject(1).{}", nest("repeat(__.", "identity()", ").times(1)", n))),
    ("repeat with times", |n| format!("g.inject(1).repeat(__.identity()).times({n}).count()")),
    ("repeat that grows", |n| format!("g.inject(1).repeat(__.project('a').by()).times({n}).count()")),
    ("repeat that folds", |n| format!("g.inject(1).repeat(__.fold()).times({n}).count()")),
    ("union", |n| format!("g.inject(1).{}", nest("union(__.", "identity()", ")", n))),
    ("wide union", |n| format!("g.inject(1).union({}).count()", row(n, ", ", |_| "__.identity()".into()))),
    ("coalesce", |n| format!("g.inject(1).{}", nest("coalesce(__.", "identity()", ")", n))),
    ("choose", |n| format!("g.inject(1).{}", nest("choose(__.is(1), __.", "identity()", ")", n))),
    ("where", |n| format!("g.V().{}", nest("where(__.", "out()", ")", n))),
    ("not", |n| format!("g.V().{}", nest("not(__.", "out()", ")", n))),
    ("and", |n| format!("g.V().and({})", row(n, ", ", |_| "__.out()".into()))),
    ("local", |n| format!("g.V().{}", nest("local(__.", "out()", ")", n))),
    ("optional", |n| format!("g.V().{}", nest("optional(__.", "out()", ")", n))),
    ("out", |n| format!("g.V(){}.count()", ".out('None')".repeat(n))),
    ("identity", |n| format!("g.inject(1){}", ".identity()".repeat(n))),
    ("as", |n| format!("g.inject(1){}.path()", row(n, "", |i| format!(".as('a{i}')")))),
    ("has", |n| format!("g.V(){}", row(n, "", |i| format!(".has('a{i}', 1)")))),
    ("select", |n| {
        format!(
            "g.inject(1).as('a').as('b').select({})",
            row(n, ", ", |i| if i % 2 == 0 { "'a'".into() } else { "'b'".into() })
        )
    }),
    ("by", |n| format!("g.V().order(){}", ".by('x')".repeat(n))),
    ("inject", |n| format!("g.inject({}).count()", row(n, ", ", |_| "1".into()))),
    ("list", |n| format!("g.inject({})", nest("[", "1", "]", n))),
    ("set", |n| format!("g.inject({})", nest("{", "1", "}", n))),
    ("map of values", |n| format!("g.inject({})", nest("['a': ", "1", "]", n))),
    ("wide list", |n| format!("g.inject([{}]).count(local)", row(n, ", ", |_| "1".into()))),
    ("predicates", |n| format!("g.inject(1).is({})", nest("P.not(", "P.eq(2)", ")", n))),
    ("predicates joined", |n| format!("g.inject(1).is(P.gt(0){})", ".and(P.lt(9))".repeat(n))),
    ("within", |n| format!("g.inject(1).is(P.within({}))", row(n, ", ", |i| i.to_string()))),
    ("match", |n| {
        format!("g.V().match({})", row(n, ", ", |i| format!("__.as('a{i}').out().as('a{}')", i + 1)))
    }),
    ("addV", |n| format!("g{}", ".addV('Q')".repeat(n.max(1)))),
    ("property", |n| format!("g.addV('Q'){}", row(n, "", |i| format!(".property('q{i}', 1)")))),
    ("with", |n| format!("g{}.inject(1)", ".with('x')".repeat(n))),
    ("sideEffects", |n| format!("g{}.inject(1)", row(n, "", |i| format!(".withSideEffect('a{i}', 1)")))),
    ("math", |n| format!("g.inject(1).math('{}')", nest("(", "_", ")", n))),
    ("math chain", |n| format!("g.inject(1).math('{}')", row(n, " + ", |_| "_".into()))),
    ("math functions", |n| format!("g.inject(1).math('{}')", nest("abs(", "_", ")", n))),
    ("text", |n| format!("g.inject('{}')", "a".repeat(n))),
    ("number", |n| format!("g.inject({})", "1".repeat(n))),
    ("requests", |n| row(n, "; ", |_| "g.inject(1)".into())),
    ("regex", |n| format!("g.inject('a').is(TextP.regex('{}'))", nest("(", "a", ")", n))),
];
