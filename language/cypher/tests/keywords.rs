//! Every keyword in every position of an identifier: a name that is spelt like a keyword means what the same name in backticks means.
//!
//! The twin is the backticks: `MATCH (limit)` and ``MATCH (`limit`)`` have the same tree. Words that need backticks where they
//! are read stand in [`OPERATORS`].

use tanglewood_cypher as cypher;

/// The words of Cypher 5's grammar, and ours.
const KEYWORDS: &str = "ACCESS ACTIVE ACYCLIC ADMIN ADMINISTRATOR ALIAS ALIASES ALL ALLSHORTESTPATHS ALTER AND ANY ARRAY AS ASC ASCENDING ASSERT ASSIGN AT \
    AUTH BFS BINDINGS BOOL BOOLEAN BOOSTED BOTH BREAK BRIEF BTREE BUILT BY BYTEARRAY CALL CASCADE CASE CHANGE CIDR COLLECT COMMAND COMMANDS \
    COMMIT COMPOSITE CONCURRENT CONSTRAINT CONSTRAINTS CONTAINS CONTINUE COPY COUNT CREATE CSV CURRENT CYPHER DATA DATABASE DATABASES \
    DATALOG DATE DATETIME DBMS DEALLOCATE DEFAULT DEFINED DELETE DENY DESC DESCENDING DESTROY DETACH DFS DIFFERENT DISTINCT DRIVER DROP \
    DRYRUN DUMP DURATION EACH EDGE EDGES ELEMENT ELEMENTID ELEMENTS ELSE ENABLE ENCRYPTED END ENDS ERROR EXECUTABLE EXECUTE EXIST EXISTENCE \
    EXISTS EXPLAIN FAIL FALSE FIELDTERMINATOR FIFO FILTER FINISH FLOAT FOR FOREACH FROM FULLTEXT FUNCTION FUNCTIONS GRANT GRAPH GRAPHS \
    GROUP GROUPS HEADERS HOME ID IF IMMUTABLE IMPERSONATE IN INDEX INDEXES INF INFINITY INSERT INT INTEGER IS JOIN KEY KILL LABEL LABELS \
    LEADING LET LIMIT LIMITROWS LIST LOAD LOCAL LOOKUP MANAGEMENT MAP MATCH MAX MERGE NAME NAMES NAN NEW NFC NFD NFKC NFKD NODE NODES \
    NODETACH NONE NORMALIZE NORMALIZED NOT NOTHING NOWAIT NULL OF OFF OFFSET ON ONLY OPTION OPTIONAL OPTIONS OR ORDER PASSWORD PASSWORDS \
    PATH PATHS PLAINTEXT POINT POPULATED PRIMARIES PRIMARY PRIVILEGE PRIVILEGES PROCEDURE PROCEDURES PROFILE PROPERTIES PROPERTY PROVIDER \
    PROVIDERS QUERIES QUERY RANGE READ REALLOCATE REDUCE REL RELATIONSHIP RELATIONSHIPS REMOVE RENAME REPEATABLE REPLACE REPORT REQUIRE \
    REQUIRED RESTRICT RETAIN RETURN REVOKE ROLE ROLES ROW ROWS SCAN SCOPE SEC SECOND SECONDARIES SECONDARY SECONDS SEEK SERVER SERVERS SET \
    SETTING SETTINGS SHORTEST SHORTESTPATH SHOW SIGNED SIMPLE SINGLE SKIP SKIPROWS STANDING START STARTS STATUS STOP STRING SUBSCRIBE \
    SUPPORTED SUSPENDED TABLETS TARGET TENANT TENANTS TERMINATE TEXT THEN TIME TIMESTAMP TIMEZONE TO TOPOLOGY TRAIL TRAILING TRANSACTION \
    TRANSACTIONS TRAVERSE TRIM TRUE TYPE TYPED TYPES UNION UNIQUE UNIQUENESS UNWIND URL USE USER USERS USING VALUE VARCHAR VECTOR VERTEX \
    WAIT WALK WHEN WHERE WIDE WITH WITHIN WITHOUT WRITE XOR YIELD ZONE ZONED";

/// Texts with an identifier at each `K`.
const POSITIONS: [&str; 130] = [
    // --- patterns ---
    "MATCH (K) RETURN 1",
    "MATCH (K:A) RETURN 1",
    "MATCH (K {x: 1}) RETURN 1",
    "MATCH (K:A WHERE K.x = 1) RETURN 1",
    "MATCH (n:K) RETURN 1",
    "MATCH (:K) RETURN 1",
    "MATCH (:K&A) RETURN 1",
    "MATCH (:A|K) RETURN 1",
    "MATCH (:!K) RETURN 1",
    "MATCH (n {K: 1}) RETURN 1",
    "MATCH (n {a: 1, K: 2}) RETURN 1",
    "MATCH ()-[K]->() RETURN 1",
    "MATCH ()-[K:R]-() RETURN 1",
    "MATCH ()-[K:R*1..2]-() RETURN 1",
    "MATCH ()-[:K]-() RETURN 1",
    "MATCH ()-[:K|R]-() RETURN 1",
    "MATCH ()-[:R {K: 1}]-() RETURN 1",
    "MATCH K = (a)-->(b) RETURN 1",
    "MATCH K = shortestPath((a)-[*]->(b)) RETURN 1",
    "MATCH (a), (K) RETURN 1",
    "MATCH (a)-->(K)-->(b) RETURN 1",
    "MATCH (K) WHERE K.x = 1 RETURN K",
    "OPTIONAL MATCH (K) RETURN K",
    "MATCH (n) WHERE (n)-->(:K) RETURN 1",
    "MATCH (n) WHERE EXISTS { (n)-->(K) } RETURN 1",
    "MATCH (n) WHERE EXISTS { (K) } RETURN 1",
    "MATCH (a) ((x)-[K:R]->(y)){1,2} (b) RETURN 1",
    // --- expressions: alone and beside operators ---
    "WITH 1 AS K RETURN K",
    "WITH 1 AS K RETURN K AS x",
    "WITH 1 AS K RETURN 1 AS x, K",
    "WITH 1 AS K RETURN (K)",
    "WITH 1 AS K RETURN [K]",
    "WITH 1 AS K RETURN [1, K]",
    "WITH 1 AS K RETURN {a: K}",
    "WITH 1 AS K RETURN K + 1",
    "WITH 1 AS K RETURN 1 + K",
    "WITH 1 AS K RETURN K - 1",
    "WITH 1 AS K RETURN K * 2",
    "WITH 1 AS K RETURN K / 2",
    "WITH 1 AS K RETURN K % 2",
    "WITH 1 AS K RETURN K ^ 2",
    "WITH 1 AS K RETURN -K",
    "WITH 1 AS K RETURN K = 1",
    "WITH 1 AS K RETURN K <> 1",
    "WITH 1 AS K RETURN K < 1",
    "WITH 1 AS K RETURN 1 <= K",
    "WITH 1 AS K RETURN K =~ 'a'",
    "WITH 1 AS K RETURN K || 'a'",
    "WITH 1 AS K RETURN K IS NULL",
    "WITH 1 AS K RETURN K IS NOT NULL",
    "WITH 1 AS K RETURN K IS :: INTEGER",
    "WITH 1 AS K RETURN K IN [1]",
    "WITH 1 AS K RETURN 1 IN K",
    "WITH 1 AS K RETURN K STARTS WITH 'a'",
    "WITH 1 AS K RETURN 'a' STARTS WITH K",
    "WITH 1 AS K RETURN K ENDS WITH 'a'",
    "WITH 1 AS K RETURN K CONTAINS 'a'",
    "WITH true AS K RETURN K AND true",
    "WITH true AS K RETURN true AND K",
    "WITH true AS K RETURN K OR true",
    "WITH true AS K RETURN K XOR true",
    "WITH true AS K RETURN NOT K",
    "WITH [1] AS K RETURN K[0]",
    "WITH [1] AS K RETURN K[0..1]",
    "WITH [1] AS a RETURN a[K.x]",
    "MATCH (K) RETURN K.x",
    "MATCH (K) RETURN K.x.y",
    "MATCH (K) RETURN K.x + 1",
    "MATCH (K) RETURN K:A",
    "MATCH (K) RETURN K {.x}",
    "MATCH (K) RETURN K {.*, a: 1}",
    "MATCH (n) RETURN n {.K}",
    "MATCH (n) RETURN n {K: 1}",
    "WITH 1 AS K MATCH (n) RETURN n {K}",
    "WITH 1 AS K MATCH (n) RETURN n {.a, K}",
    "MATCH (n) RETURN n.K",
    "MATCH (n) RETURN n.K + 1",
    "MATCH (n) RETURN n.K.K",
    "MATCH (n) RETURN n:K",
    "RETURN {K: 1}",
    "RETURN {a: 1, K: 2}",
    "RETURN {K: 1}.K",
    "WITH 1 AS K RETURN size(K)",
    "WITH 1 AS K RETURN coalesce(1, K)",
    "WITH 1 AS K RETURN count(K)",
    "WITH 1 AS K RETURN count(DISTINCT K)",
    "WITH 1 AS K RETURN collect(K)",
    "WITH 1 AS K RETURN CASE K WHEN 1 THEN 2 END",
    "WITH 1 AS K RETURN CASE K + 1 WHEN 1 THEN 2 END",
    "WITH 1 AS K RETURN CASE K = 0 WHEN true THEN 2 END",
    "MATCH (K) RETURN CASE K.x WHEN 1 THEN 2 END",
    "WITH 1 AS K RETURN CASE 1 WHEN K THEN 2 END",
    "WITH 1 AS K RETURN CASE 1 WHEN 1 THEN K END",
    "WITH 1 AS K RETURN CASE 1 WHEN 1 THEN 2 ELSE K END",
    "WITH 1 AS K RETURN CASE WHEN K = 1 THEN 2 END",
    "WITH true AS K RETURN CASE WHEN K THEN 2 END",
    "RETURN [K IN [1] | K]",
    "RETURN [K IN [1] WHERE K = 1 | K + 1]",
    "RETURN [K IN [1] WHERE K = 1]",
    "RETURN all(K IN [1] WHERE K = 1)",
    "RETURN any(K IN [1] WHERE K = 1)",
    "RETURN none(K IN [1] WHERE K = 1)",
    "RETURN single(K IN [1] WHERE K = 1)",
    "RETURN reduce(K = 0, x IN [1] | K + x)",
    "RETURN reduce(a = 0, K IN [1] | a + K)",
    // --- clauses ---
    "RETURN 1 AS K",
    "RETURN 1 AS K ORDER BY K",
    "RETURN 1 AS K ORDER BY K DESC",
    "RETURN 1 AS K ORDER BY K SKIP 1 LIMIT 1",
    "RETURN 1 AS K UNION RETURN 2 AS K",
    "WITH 1 AS K ORDER BY K LIMIT 1 RETURN K",
    "WITH 1 AS K WITH K RETURN K",
    "WITH 1 AS K WITH K WHERE K = 1 RETURN K",
    "WITH 1 AS K WITH DISTINCT K RETURN DISTINCT K",
    "WITH 1 AS K WITH K AS x RETURN x",
    "WITH 1 AS a, 2 AS K WITH a, K SKIP 1 RETURN K UNION ALL WITH 1 AS K RETURN K",
    "UNWIND [1] AS K RETURN K",
    "WITH [1] AS K UNWIND K AS x RETURN x",
    "CREATE (K:K {K: 1})-[r:K]->(a) SET K.K = 1, K += {K: 2}, K:K REMOVE K.K, K:K",
    "MERGE (K:K {K: 1}) ON CREATE SET K.x = 1 ON MATCH SET K.y = 1 RETURN K",
    "MATCH (K) DELETE K",
    "MATCH (K) DETACH DELETE K RETURN 1",
    "FOREACH (K IN [1] | CREATE (:A {x: K}))",
    "WITH 1 AS K CALL (K) { RETURN K AS x } RETURN x",
    "WITH 1 AS K CALL { WITH K RETURN K AS x } RETURN x",
    "CALL db.labels() YIELD label AS K RETURN K",
    "LOAD CSV FROM 'a' AS K RETURN K",
    "LOAD JSON FROM 'a' AS K RETURN K",
    "LOAD PARQUET FROM 'a' AS K RETURN K",
    "CREATE INDEX K FOR (K:K) ON (K.K)",
];

/// Words that begin or join expressions, so that a name like them needs backticks where it is read: literals, what stands before an
/// operand, what stands between two. They are held to the positions that only declare a name.
const OPERATORS: [&str; 16] = [
    "TRUE", "FALSE", "NULL", "CASE", "WHEN", "NOT", "DISTINCT", "AND", "OR", "XOR", "IN", "STARTS", "ENDS",
    "CONTAINS", "IS", "AS",
];

#[test]
fn a_name_like_a_keyword_is_the_name_in_backticks() {
    let mut wrong = Vec::new();
    for keyword in KEYWORDS.split_whitespace() {
        for position in POSITIONS {
            if OPERATORS.contains(&keyword) && names(position) > 1 {
                continue;
            }
            for word in [keyword.to_string(), keyword.to_lowercase()] {
                let (plain, quoted) = (put(position, &word), put(position, &format!("`{word}`")));
                let expected = cypher::parse(&quoted).unwrap_or_else(|error| panic!("{quoted}: {error}"));
                match cypher::parse(&plain) {
                    Ok(found) if found == expected => {}
                    Ok(_) => wrong.push(format!("{plain}   is another tree")),
                    Err(error) => wrong.push(format!("{plain}   {error}")),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of them:\n{}", wrong.len(), wrong.join("\n"));
}

/// How many identifiers a position has.
fn names(position: &str) -> usize {
    put(position, "$").matches('$').count()
}

/// The position with the identifier at each `K` that is a word.
fn put(position: &str, word: &str) -> String {
    let mut text = String::new();
    let letters: Vec<char> = position.chars().collect();
    for (at, letter) in letters.iter().enumerate() {
        let beside =
            |at: Option<usize>| at.and_then(|at| letters.get(at)).is_some_and(|l| l.is_alphanumeric());
        match letter {
            'K' if !beside(at.checked_sub(1)) && !beside(Some(at + 1)) => text.push_str(word),
            letter => text.push(*letter),
        }
    }
    text
}

/// What the lowering names itself, spelt as a text may spell it.
const OWN_NAMES: [&str; 9] =
    [" path", "_path", " element0", " line0", " file0", " key0", " relationship0", "_key4", "\u{0}"];

/// Where the lowering names something: paths as values, one in the condition of another, and what procedures write.
const MORE_POSITIONS: [&str; 9] = [
    "MATCH (K), (b) RETURN length(shortestPath((K)-[*]->(b))) AS x",
    "WITH 5 AS K MATCH (a), (b) RETURN K, allShortestPaths((a)-[*]->(b)) AS x",
    "MATCH (a), (b) RETURN [K IN nodes(shortestPath((a)-[*]->(b))) | K.x] AS x",
    "MATCH (a), (K) RETURN shortestPath((a)-[* {x: length(shortestPath((a)-[*]->(K)))}]->(K)) AS x",
    "MATCH (a), (b) RETURN shortestPath((a)-[*]->(b {x: COUNT { (K:K)-->(a) WHERE K.x = 1 }})) AS x",
    "MATCH (a), (K) RETURN [(a)-->(b) WHERE length(shortestPath((b)-[*]->(K))) = 1 | shortestPath((K)-[*]-(a))] AS x",
    "MATCH (a) RETURN [K = (a)-->(b) | [length(K), shortestPath((a)-[*]->(b))]] AS x",
    "MATCH (a), (b) CALL apoc.merge.node(['A'], {x: length(shortestPath((a)-[*]->(b)))}) YIELD node AS K RETURN K",
    "WITH 1 AS K CALL apoc.create.node(['A'], {x: K}) YIELD node RETURN node.x, K",
];

/// A path as a value was called ` path` in the scope: beside a variable of that name, or within another such path, it was `already declared`.
#[test]
fn no_name_of_a_text_meets_one_of_the_lowerings_own() {
    let mut lowered = 0;
    for position in POSITIONS.iter().chain(&MORE_POSITIONS) {
        let meaning = |name: &str| {
            let statement = cypher::compile(&put(position, &format!("`{name}`")));
            let shown = statement.map(|statement| format!("{:?}", statement.kind));
            let neutral = |text: String| {
                let escaped = format!("{name:?}");
                let bare = escaped.trim_matches('"');
                let quoted = [format!("`{bare}`"), format!("`{name}`")];
                quoted.iter().fold(text.replace(&escaped, "\"K\""), |text, quoted| text.replace(quoted, "K"))
            };
            shown.map(neutral).map_err(|error| neutral(error.message.clone()))
        };
        let expected = meaning("any name");
        lowered += usize::from(expected.is_ok());
        for own in OWN_NAMES {
            assert_eq!(meaning(own), expected, "{position} with {own:?}");
        }
    }
    assert!(lowered > 60, "only {lowered} are taken");
    for position in MORE_POSITIONS {
        let text = put(position, "k");
        assert!(cypher::compile(&text).is_ok(), "{text}: {:?}", cypher::compile(&text).err());
    }
}
