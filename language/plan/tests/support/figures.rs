//! Statistics written as text: `all 10000; Person 1000; edges 5000; Person KNOWS> 40000; index Person(name) 900; far KNOWS> City 0.1`;
//! `edge index KNOWS(since) 1` is one over edges; with `labels 0` they are not listed. `Person(age)>=90 12` and `Person(name)='Ada' 400` are what an index says of values;
//! `spread KNOWS> 20` is how unequal degrees are.

use model::{Direction, Value};
use std::ops::Bound;
use tanglewood_plan::Planning;

/// Figures by name; what is not said follows from what is.
pub struct Figures(Vec<(String, f64)>);

impl Figures {
    pub fn new(text: &str) -> Figures {
        let pairs = text.split(';').map(str::trim).filter(|line| !line.is_empty());
        Figures(
            pairs
                .map(|line| {
                    let (name, figure) = line.rsplit_once(' ').expect("a name and a figure");
                    (name.to_string(), figure.parse().expect("a figure"))
                })
                .collect(),
        )
    }
    fn get(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, figure)| *figure)
    }
    fn arrow(types: &[&str], direction: Direction) -> String {
        let arrow = match direction {
            Direction::Out => ">",
            Direction::In => "<",
            Direction::Both => "-",
        };
        format!("{}{arrow}", types.join("|"))
    }
}

impl Planning for Figures {
    fn vertices(&self, label: Option<&str>) -> f64 {
        let all = self.get("all").unwrap_or(10_000.0);
        label.map_or(all, |label| self.get(label).unwrap_or(all / 10.0))
    }
    fn labels(&self) -> Vec<String> {
        if self.get("labels") == Some(0.0) {
            return Vec::new();
        }
        let plain =
            |name: &str| name.chars().all(char::is_alphanumeric) && name.starts_with(char::is_uppercase);
        self.0.iter().filter(|(name, _)| plain(name)).map(|(name, _)| name.clone()).collect()
    }
    fn edges(&self, near: Option<&str>, types: &[&str], direction: Direction) -> f64 {
        let arrow = Figures::arrow(types, direction);
        let all = self.get(&arrow).or(self.get("edges")).unwrap_or(50_000.0);
        let Some(near) = near else { return all };
        let share = self.vertices(Some(near)) / self.vertices(None);
        self.get(&format!("{near} {arrow}")).unwrap_or(all * share)
    }
    fn spread(&self, _: Option<&str>, types: &[&str], direction: Direction) -> Option<f64> {
        self.get(&format!("spread {}", Figures::arrow(types, direction)))
    }
    fn far_share(&self, _: Option<&str>, types: &[&str], direction: Direction, far: &str) -> f64 {
        let told = self.get(&format!("far {} {far}", Figures::arrow(types, direction)));
        told.unwrap_or(self.vertices(Some(far)) / self.vertices(None))
    }
    fn index(&self, label: &str, keys: &[&str]) -> Option<Vec<String>> {
        let same = |name: &str| {
            let (on, listed) = name.strip_prefix("index ")?.split_once('(')?;
            let listed: Vec<String> = listed.trim_end_matches(')').split(',').map(String::from).collect();
            let all =
                listed.len() == keys.len() && keys.iter().all(|key| listed.iter().any(|other| other == key));
            (on == label && all).then_some(listed)
        };
        self.0.iter().find_map(|(name, _)| same(name))
    }
    fn labels_with_index(&self, key: &str) -> Vec<String> {
        let on_key = |name: &str| {
            let (label, listed) = name.strip_prefix("index ")?.split_once('(')?;
            (listed.trim_end_matches(')') == key).then(|| label.to_string())
        };
        self.0.iter().filter_map(|(name, _)| on_key(name)).collect()
    }
    fn edge_indexes(&self, edge_type: &str) -> Vec<Vec<String>> {
        let on_type = |name: &str| {
            let (on, listed) = name.strip_prefix("edge index ")?.split_once('(')?;
            let keys = || listed.trim_end_matches(')').split(',').map(String::from).collect();
            (on == edge_type).then(keys)
        };
        self.0.iter().filter_map(|(name, _)| on_type(name)).collect()
    }
    fn edges_between(
        &self,
        edge_type: &str,
        key: &str,
        lower: Bound<&Value>,
        upper: Bound<&Value>,
    ) -> Option<f64> {
        let what = match (lower, upper) {
            (Bound::Included(low), Bound::Included(_)) => format!("={}", low.as_int()?),
            (Bound::Included(low), Bound::Unbounded) => format!(">={}", low.as_int()?),
            _ => return None,
        };
        self.get(&format!("{edge_type}({key}){what}"))
    }
    fn distinct(&self, label: &str, keys: &[&str]) -> Option<f64> {
        let ordered = self.index(label, keys)?;
        self.get(&format!("index {label}({})", ordered.join(",")))
    }
    fn between(&self, label: &str, key: &str, lower: Bound<&Value>, upper: Bound<&Value>) -> Option<f64> {
        self.index(label, &[key])?;
        let what = match (lower, upper) {
            (Bound::Included(low), Bound::Included(_)) => format!("='{}'", low.as_str()?),
            (Bound::Included(low), Bound::Unbounded) => format!(">={}", low.as_int()?),
            _ => return None,
        };
        self.get(&format!("{label}({key}){what}"))
    }
}
