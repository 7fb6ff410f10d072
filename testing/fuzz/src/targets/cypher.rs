//! Texts: parsed, printed, and lowered to a plan; never a panic, and what was parsed can be printed and parsed again.

/// Compiles a text, if it is one.
pub fn cypher(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    drop(cypher::compile(text));
    drop(cypher::split_statements(text));
    let Ok(parsed) = cypher::parse(text) else { return };
    let printed = cypher::print(&parsed);
    let again = cypher::parse(&printed);
    let again = again.unwrap_or_else(|error| panic!("printed so that it cannot be read: {printed}\n{error}"));
    assert_eq!(cypher::print(&again), printed, "printed otherwise the second time");
}

pub(super) fn seeds() -> Vec<Vec<u8>> {
    let corpus = include_str!("../../corpus/queries.txt");
    let lines = corpus.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| line.as_bytes().to_vec()).collect()
}
