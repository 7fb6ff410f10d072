//! Property keys that a language stores for itself beside those of its users. They are stored like any other key, and no interface shows them.
//!
//! Gremlin stores the ids that clients give as a property, and records facts about keys as names in the catalogue that no element has. They begin
//! with a blank, and so hardly collide with users' names.

/// The key that holds the id a client of Gremlin gave to a vertex or an edge.
pub const OWN_ID: &str = " id";
/// Beginning of the names that tell which labels have vertices with such ids; alone, that all of them are named.
pub const OF_LABEL: &str = " id of";
/// Likewise, which types have edges with such ids.
pub const OF_TYPE: &str = " id on";
/// Beginning of the names that tell of keys that have held values which the algebra does not know.
pub const TAGGED: &str = " kept";
/// Beginning of the names that tell of keys that have held 64-bit whole numbers.
pub const WIDE: &str = " wide";

/// Is it a key that no interface shows?
pub fn is_hidden(key: &str) -> bool {
    let tells =
        |mark: &str| key.strip_prefix(mark).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    key.starts_with(' ') && (key == OWN_ID || [OF_LABEL, OF_TYPE, TAGGED, WIDE].into_iter().any(tells))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_names_of_a_language_are_hidden() {
        for key in [
            " id",
            " kept",
            " wide",
            " kept a",
            " wide  a",
            " wide  wide a",
            " id of",
            " id of A",
            " id on R",
        ] {
            assert!(is_hidden(key), "{key:?}");
        }
        for key in ["", " ", "id", " ids", " id ", " id off", "  id", " widely", " keptx", "kept a", " many"]
        {
            assert!(!is_hidden(key), "{key:?}");
        }
    }
}
