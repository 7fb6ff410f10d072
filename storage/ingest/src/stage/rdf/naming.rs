//! Short names for IRIs of one use: the last part, or the whole where two end alike.

use std::collections::{BTreeMap, BTreeSet};

/// The part of an IRI after the last `#`, `/` or `:`; the whole where that is empty.
pub(super) fn local(iri: &str) -> &str {
    let after = |separator: char| iri.rsplit_once(separator).map(|(_, rest)| rest);
    let local = after('#').or_else(|| after('/')).or_else(|| after(':'));
    local.filter(|name| !name.is_empty()).unwrap_or(iri)
}

/// The name of each IRI. Names that are taken already are given to none.
pub(super) fn names<'i>(
    iris: impl IntoIterator<Item = &'i str>,
    taken: &[&str],
) -> BTreeMap<&'i str, String> {
    let iris: BTreeSet<&str> = iris.into_iter().collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    iris.iter().for_each(|iri| *counts.entry(local(iri)).or_default() += 1);
    let name = |iri: &'i str| {
        let local = local(iri);
        let is_free = counts[local] == 1 && !taken.contains(&local);
        (iri, if is_free { local } else { iri }.to_string())
    };
    iris.into_iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_the_last_part_or_the_whole_where_two_end_alike() {
        assert_eq!(local("http://x.org/a#b"), "b");
        assert_eq!(local("http://x.org/a/b"), "b");
        assert_eq!(local("urn:isbn:1"), "1");
        assert_eq!(local("http://x.org/a/"), "http://x.org/a/");
        let all = ["http://a/name", "http://b/name", "http://b/age", "http://b/uri"];
        let found: Vec<String> = names(all, &["uri"]).into_values().collect();
        assert_eq!(found, ["http://a/name", "age", "http://b/name", "http://b/uri"]);
    }
}
