//! No text makes this crate panic or overflow the stack: mutated queries and hostile nesting.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

use tanglewood_cypher as cypher;

/// A small generator of random numbers (xorshift64*), so that a printed seed replays a run.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

fn corpus() -> Vec<String> {
    let files = [
        include_str!("golden/expressions.txt"),
        include_str!("golden/patterns.txt"),
        include_str!("golden/clauses.txt"),
        include_str!("golden/schema.txt"),
        include_str!("golden/errors.txt"),
        include_str!("golden/plans.txt"),
        include_str!("golden/semantics.txt"),
    ];
    let cases = files.iter().flat_map(|file| file.split(">>> ").skip(1));
    cases.map(|case| case.split("\n---").next().unwrap().to_string()).collect()
}

/// Pieces that are likely to confuse a parser.
const PIECES: [&str; 40] = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "|",
    "*",
    "..",
    "-",
    "->",
    "<-",
    "<",
    ":",
    "&",
    "!",
    "'",
    "\"",
    "`",
    "$",
    "/*",
    "//",
    "\\",
    "\u{0}",
    "😀",
    "é",
    "0x",
    "1e",
    "99999999999999999999",
    "NOT ",
    " IN ",
    " WHERE ",
    "CASE ",
    "EXISTS {",
    " CALL {",
    "RETURN ",
    " WITH ",
    " UNION ",
    "[x IN ",
    "reduce(a = 0, ",
];

fn mutate(text: &str, corpus: &[String], chance: &mut Chance) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    for _ in 0..1 + chance.below(4) {
        let at = chance.below(letters.len() + 1);
        let to = (at + chance.below(12)).min(letters.len());
        match chance.below(5) {
            0 => drop(letters.drain(at..to)),
            1 => drop(letters.splice(at..at, PIECES[chance.below(PIECES.len())].chars())),
            2 => {
                let piece: Vec<char> = letters[at..to].to_vec();
                let other = chance.below(letters.len() + 1);
                letters.splice(other..other, piece);
            }
            3 => letters.truncate(at),
            _ => {
                let other = &corpus[chance.below(corpus.len())];
                letters.splice(at..at, other.chars().skip(chance.below(20)).take(30));
            }
        }
    }
    letters.into_iter().collect()
}

#[test]
fn mutated_queries_never_panic() {
    let seed =
        std::env::var("TANGLEWOOD_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0x5eed_cafe_u64);
    println!("TANGLEWOOD_SEED={seed}");
    let mut chance = Chance(seed);
    let corpus = corpus();
    let (mut understood, mut refused, mut lowered) = (0, 0, 0);
    for _ in 0..20_000 {
        let query = mutate(&corpus[chance.below(corpus.len())], &corpus, &mut chance);
        cypher::split_statements(&query);
        match cypher::parse(&query) {
            Ok(statement) => {
                understood += 1;
                let canonical = cypher::print(&statement);
                assert_eq!(
                    cypher::parse(&canonical).as_ref(),
                    Ok(&statement),
                    "{query}\nprints as\n{canonical}"
                );
                match cypher::lower(&query, &statement) {
                    Ok(_) => lowered += 1,
                    Err(error) => assert!(!error.render(&query).is_empty()),
                }
            }
            Err(error) => {
                refused += 1;
                assert!(error.span.range().end <= query.len(), "{query}");
                error.render(&query);
            }
        }
    }
    println!("{understood} understood, {lowered} of them lowered, {refused} refused");
    assert!(understood > 500 && lowered > 100 && refused > 1_000, "the mix is off");
}

/// Texts nested `depth` times in every way the grammar can nest.
fn nested(depth: usize) -> Vec<String> {
    let wrap = |before: &str, middle: &str, after: &str| {
        format!("RETURN {}{middle}{}", before.repeat(depth), after.repeat(depth))
    };
    vec![
        wrap("(", "1", ")"),
        wrap("[", "1", "]"),
        wrap("{a: ", "1", "}"),
        wrap("({a: [", "1", "]})"),
        wrap("NOT ", "true", ""),
        wrap("- ", "1", ""),
        wrap("f(", "1", ")"),
        wrap("CASE WHEN ", "1", " THEN 1 END"),
        wrap("[x IN ", "[]", " | x]"),
        wrap("reduce(a = 0, x IN ", "[]", " | a)"),
        wrap("EXISTS { MATCH (n) WHERE ", "true", " }"),
        wrap("COUNT { (n WHERE ", "true", ") }"),
        wrap("COLLECT { RETURN ", "1", " }"),
        wrap("[(a)-[:R {x: ", "1", "}]->(b) | b]"),
        wrap("1 + (2 * 3 ^ (NOT (a OR b XOR (c AND (d IN (", "1", ")))))) "),
        wrap("a[", "1", "]"),
        wrap("n {x: ", "1", "}"),
        wrap("n:", "A", "").replace("n:", "(n:") + &")".repeat(depth),
        format!("MATCH {}(a)-->(b){} RETURN 1", "(".repeat(depth), ")".repeat(depth)),
        format!("MATCH (n:{}A{}) RETURN n", "!(".repeat(depth), ")".repeat(depth)),
        format!("{} RETURN 1 AS x {}", "CALL {".repeat(depth), "}".repeat(depth)),
        format!("{} CREATE () {}", "FOREACH (x IN [] |".repeat(depth), ")".repeat(depth)),
        format!("RETURN 1{}", " + 1".repeat(depth)),
        format!("MATCH (a) RETURN 1{} + count(a)", " + 1".repeat(depth)),
        format!("RETURN a{}", ".b".repeat(depth)),
        format!("RETURN a{}", " IS NULL".repeat(depth)),
        format!("RETURN a{}", " AND b".repeat(depth)),
        format!("RETURN a{}", " < b".repeat(depth)),
        format!("RETURN a:B{}", "|C".repeat(depth)),
        format!("MATCH (a){} RETURN 1", "-->()".repeat(depth)),
        format!("RETURN 1 AS x{}", " UNION RETURN 1 AS x".repeat(depth)),
        format!("{} RETURN 1", "WITH DISTINCT 1 AS x ORDER BY x SKIP 0 LIMIT 1 WHERE true ".repeat(depth)),
        format!("MATCH (a) WHERE true {} RETURN 1", "OPTIONAL MATCH p = (a)-->() WHERE a.x ".repeat(depth)),
        format!(
            "CREATE (a0){}",
            (0..depth).map(|at| format!(", (a{} {{x: a{at}.x}})", at + 1)).collect::<String>()
        ),
        format!(
            "CREATE (a0){}",
            (0..depth).map(|at| format!(", (a{})-[:R]->(a{at})", at + 1)).collect::<String>()
        ),
        "CREATE () ".repeat(depth),
        "(".repeat(depth),
        "MATCH (".repeat(depth),
    ]
}

#[test]
fn deepest_tree_fits_the_stack() {
    let run = || {
        for depth in [1, 10, 30, 50, 99, 100, 200, 399, 400, 999, 10_000] {
            for query in nested(depth) {
                if let Ok(statement) = cypher::parse(&query) {
                    let canonical = cypher::print(&statement);
                    let _ = cypher::parse(&canonical);
                    let _ = cypher::lower(&query, &statement);
                }
            }
        }
    };
    // The stack of a thread as Rust makes it.
    std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
}

#[test]
fn nesting_up_to_the_limit_is_understood() {
    let wrap = |depth: usize| format!("RETURN {}1{}", "(".repeat(depth), ")".repeat(depth));
    assert!(cypher::parse(&wrap(cypher::limits::NESTING_DEPTH_MAX - 1)).is_ok());
    let error = cypher::parse(&wrap(cypher::limits::NESTING_DEPTH_MAX)).unwrap_err();
    assert_eq!(error.kind, cypher::ErrorKind::LimitExceeded);
    let long = format!("RETURN 1{}", " OR 1".repeat(100_000));
    assert!(cypher::parse(&long).is_ok(), "a chain of OR is one node");
    let too_long = format!("RETURN '{}'", "x".repeat(cypher::limits::QUERY_TEXT_BYTES_MAX));
    assert_eq!(cypher::parse(&too_long).unwrap_err().kind, cypher::ErrorKind::LimitExceeded);
}

#[test]
fn ambiguous_brackets_do_not_multiply_the_work() {
    let query = |size: usize| {
        format!("RETURN {}", "[({a: (b)--(c)}), ".repeat(50) + &"1, ".repeat(size) + "1" + &"]".repeat(50))
    };
    for size in [10, 200_000] {
        assert!(cypher::parse(&query(size)).is_ok());
    }
}
