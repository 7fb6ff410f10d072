//! The generated graph as plain arrays, and the files that every engine loads.

use database::{MappedEdges, MappedEnd, MappedFile, MappedNodes, Mapping};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use world::chance::Chance;
use world::files;

/// How large it is.
pub struct Shape {
    pub people: u32,
    pub knows: usize,
    pub likes: usize,
    pub seed: u64,
}

/// The graph of this bench.
pub const SHAPE: Shape = Shape { people: 1_000_000, knows: 5_000_000, likes: 1_000_000, seed: 20 };

/// Distinct cities; ages; distinct names.
const CITIES: u64 = 200;
const AGES: u64 = 90;
const NAMES: u64 = 300_000;
/// First year of an acquaintance, and how many there are.
const YEAR_FIRST: i64 = 1990;
const YEARS: u64 = 35;

/// An edge with its two properties.
pub struct Edge {
    pub source: u32,
    pub target: u32,
    pub year: i64,
    pub weight: f64,
}

/// Columns of people by number, and edges.
pub struct Graph {
    pub ages: Vec<i64>,
    pub scores: Vec<f64>,
    pub cities: Vec<u16>,
    pub names: Vec<u32>,
    pub incomes: Vec<i64>,
    pub knows: Vec<Edge>,
    pub likes: Vec<(u32, u32)>,
}

pub fn city(number: u16) -> String {
    format!("city {number}")
}

pub fn name(number: u32) -> String {
    format!("name of number {number}")
}

impl Graph {
    /// Draws it.
    pub fn generate(shape: &Shape) -> Graph {
        let mut chance = Chance::seeded(shape.seed);
        let people = shape.people as usize;
        let mut ints = |bound: u64| -> Vec<u64> { (0..people).map(|_| chance.below(bound)).collect() };
        let (ages, cities, names, incomes) = (ints(AGES), ints(CITIES), ints(NAMES), ints(200_000));
        let scores = (0..people).map(|_| chance.float()).collect();
        let end = |chance: &mut Chance| chance.below(u64::from(shape.people)) as u32;
        let edge = |chance: &mut Chance| (end(chance), end(chance));
        let knows = (0..shape.knows)
            .map(|_| {
                let (source, target) = edge(&mut chance);
                let year = YEAR_FIRST + chance.below(YEARS) as i64;
                Edge { source, target, year, weight: chance.float() }
            })
            .collect();
        let likes = (0..shape.likes).map(|_| edge(&mut chance)).collect();
        Graph {
            ages: ages.iter().map(|age| *age as i64).collect(),
            scores,
            cities: cities.iter().map(|city| *city as u16).collect(),
            names: names.iter().map(|name| *name as u32).collect(),
            incomes: incomes.iter().map(|income| *income as i64).collect(),
            knows,
            likes,
        }
    }
    /// Writes `people.csv`, `knows.csv` and `likes.csv` with a header each.
    pub fn write(&self, place: &Path) -> Result<(), String> {
        let people = (0..self.ages.len()).map(|at| {
            let (city, name) = (city(self.cities[at]), name(self.names[at]));
            format!("{at},{},{},{city},{name},{}", self.ages[at], self.scores[at], self.incomes[at])
        });
        lines(&place.join("people.csv"), "id,age,score,city,name,income", people)?;
        let knows = self.knows.iter().map(|edge| {
            let mut line = String::new();
            // Writing to a text does not fail.
            let _ = write!(line, "{},{},{},{}", edge.source, edge.target, edge.year, edge.weight);
            line
        });
        lines(&place.join("knows.csv"), "from,to,year,weight", knows)?;
        let likes = self.likes.iter().map(|(source, target)| format!("{source},{target}"));
        lines(&place.join("likes.csv"), "from,to", likes)
    }
}

fn lines(file: &Path, header: &str, mut lines: impl Iterator<Item = String>) -> Result<(), String> {
    let mut writer = files::create_writer(file).map_err(|error| error.to_string())?;
    let written =
        writeln!(writer, "{header}").and_then(|()| lines.try_for_each(|line| writeln!(writer, "{line}")));
    written.and_then(|()| writer.flush()).map_err(|error| error.to_string())
}

/// How the import maps the files to the graph.
pub fn mapping(place: &Path) -> Mapping {
    let end = |column: &str| MappedEnd { column: column.into(), label: "Person".into() };
    let edges = |edge_type: &str, file: &str| MappedEdges {
        file: place.join(file),
        edge_type: edge_type.into(),
        from: end("from"),
        to: end("to"),
        columns: BTreeMap::new(),
        read: MappedFile::default(),
    };
    Mapping {
        nodes: vec![MappedNodes::new(vec!["Person".into()], place.join("people.csv"), Some("id".into()))],
        edges: vec![edges("KNOWS", "knows.csv"), edges("LIKES", "likes.csv")],
    }
}
