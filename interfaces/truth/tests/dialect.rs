//! The statements are for three databases: what one of them reads otherwise than PostgreSQL does not stand in them.

const SOURCES: [(&str, &str); 7] = [
    ("schema.sql", include_str!("../src/schema.sql")),
    ("lib.rs", include_str!("../src/lib.rs")),
    ("group.rs", include_str!("../src/group.rs")),
    ("log.rs", include_str!("../src/log.rs")),
    ("load.rs", include_str!("../src/load.rs")),
    ("sequence.rs", include_str!("../src/sequence.rs")),
    ("connection.rs", include_str!("../src/connection.rs")),
];

/// Lines in which a word stands by itself.
fn lines_with<'t>(text: &'t str, word: &str) -> impl Iterator<Item = (usize, &'t str)> {
    let is_part = |character: char| character.is_alphanumeric() || character == '_';
    let stands = move |line: &str| {
        line.match_indices(word).any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + word.len()..]);
            !before.ends_with(is_part) && !after.starts_with(is_part)
        })
    };
    text.lines().enumerate().filter(move |(_, line)| stands(line))
}

/// CockroachDB takes INT for 64 bits, and the client then refuses the 32 that it has.
#[test]
fn integers_say_how_wide_they_are() {
    for (name, text) in SOURCES {
        for word in ["INT", "INTEGER"] {
            let found = lines_with(text, word).next();
            assert!(found.is_none(), "{name}: {word} stands in line {found:?}; write INT4 or BIGINT");
        }
    }
}

/// A sum of integers is a BIGINT in PostgreSQL and a DECIMAL in CockroachDB.
#[test]
fn sums_are_cast() {
    for (name, text) in SOURCES {
        for (at, _) in text.match_indices("sum(octet_length") {
            assert!(text[..at].ends_with("CAST("), "{name}: a sum without a type at {at}");
        }
    }
}

/// Older versions of CockroachDB know no DELETE … USING.
#[test]
fn nothing_is_deleted_by_a_join() {
    for (name, text) in SOURCES {
        assert!(lines_with(text, "USING").next().is_none(), "{name} deletes by USING");
    }
}
