//! The parts of a bench to run: all, or the questions, data sets and peers that were named.

/// Names as they were given; an empty list chooses everything.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Questions (`IC5`) and data sets (`snb-like-sf0.1`), in one list.
    pub only: Vec<String>,
    /// Other engines, by name or by the name of their package (`Neo4j`, `ladybug`); `none` for none.
    pub peers: Vec<String>,
}

impl Choice {
    /// Which of `all` are meant: those that are named, or all if none of them is.
    pub fn among<'a>(&self, all: &[&'a str]) -> Vec<&'a str> {
        let named = |name: &&&str| self.only.iter().any(|only| only.eq_ignore_ascii_case(name));
        let chosen: Vec<&str> = all.iter().filter(named).copied().collect();
        if chosen.is_empty() { all.to_vec() } else { chosen }
    }
    /// Does an engine of this name or package take part?
    pub fn takes(&self, name: &str, package: &str) -> bool {
        let named = |peer: &String| peer.eq_ignore_ascii_case(name) || peer.eq_ignore_ascii_case(package);
        self.peers.is_empty() || self.peers.iter().any(named)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_named_at_all_is_whole() {
        let choice = Choice { only: vec!["ic5".into(), "small".into()], peers: vec!["kuzu".into()] };
        assert_eq!(choice.among(&["small", "large"]), ["small"]);
        assert_eq!(choice.among(&["IC4", "IC5"]), ["IC5"]);
        assert_eq!(choice.among(&["Q1", "Q2"]), ["Q1", "Q2"]);
        assert!(choice.takes("Kuzu", "kuzu") && !choice.takes("Neo4j", "neo4j"));
        assert!(Choice::default().takes("Neo4j", "neo4j"));
    }
}
