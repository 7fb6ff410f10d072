//! The graphs: generated ones, and real ones where data is given.

use super::bare::Bare;
use crate::data;
use crate::power_law::{FIRST, Graph};
use crate::rmat;
use std::path::Path;
use world::chance::Chance;

/// Vertices of the Erdős-Rényi graphs, their average degrees, and the seed.
const RANDOM_VERTICES: u32 = 200_000;
const RANDOM_DEGREES: [usize; 3] = [2, 8, 32];
const RANDOM_SEED: u64 = 44;

/// A graph to query.
pub struct Subject {
    /// For people.
    pub name: String,
    /// Vertices, numbered from 0.
    pub vertices: u32,
    /// Directed edges.
    pub edges: Vec<(u32, u32)>,
}

impl Subject {
    /// The plain twin.
    pub fn bare(&self) -> Bare {
        Bare::new(self.vertices, &self.edges)
    }
    /// Edges that leave each vertex.
    pub fn degrees(&self) -> Vec<u32> {
        let mut degrees = vec![0; self.vertices as usize];
        self.edges.iter().for_each(|(from, _)| degrees[*from as usize] += 1);
        degrees
    }
}

/// The recursive matrix of this scale.
pub fn rmat(scale: u32) -> Subject {
    let shape = rmat::Shape { scale, ..rmat::SCALE_20 };
    Subject { name: format!("rmat{scale}"), vertices: 1 << scale, edges: rmat::edges(&shape) }
}

/// The power-law graph of the first bench.
pub fn power_law() -> Subject {
    let graph = Graph::generate(&FIRST);
    Subject { name: "power-law".into(), vertices: graph.vertex_count(), edges: graph.edges().collect() }
}

/// Graphs of Erdős and Rényi of rising degree.
pub fn random() -> impl Iterator<Item = Subject> {
    RANDOM_DEGREES.into_iter().map(|degree| {
        let mut chance = Chance::seeded(RANDOM_SEED);
        let mut end = || chance.below(u64::from(RANDOM_VERTICES)) as u32;
        let edges = (0..RANDOM_VERTICES as usize * degree).map(|_| (end(), end())).collect();
        Subject { name: format!("random-{degree}"), vertices: RANDOM_VERTICES, edges }
    })
}

/// The follower graph of SNAP, if it is there.
///
/// # Errors
/// It is missing or is no edge list.
pub fn twitter(folder: &Path) -> Result<Subject, String> {
    let text = data::text(folder, "ego-twitter.txt")?;
    let number = |word: Option<&str>| word.and_then(|word| word.parse::<u32>().ok());
    let edge = |line: &str| {
        let mut words = line.split_whitespace();
        number(words.next()).zip(number(words.next()))
    };
    let edges: Vec<(u32, u32)> =
        text.lines().filter(|line| !line.starts_with('#')).filter_map(edge).collect();
    let highest = edges.iter().map(|(from, to)| *from.max(to)).max().ok_or("ego-twitter has no edges")?;
    Ok(Subject { name: "ego-twitter".into(), vertices: highest + 1, edges })
}

/// The friendships of a social network of the benchmark council's generator, in both directions.
///
/// # Errors
/// It is missing or in another layout.
pub fn knows(folder: &Path) -> Result<Subject, String> {
    const NAME: &str = "person_knows_person_0_0.csv";
    let (place, _) =
        data::unpacked(folder, "snb-like-sf0.3").or_else(|_| data::unpacked(folder, "snb-like-sf0.1"))?;
    let folder = data::find_folder(&place, "dynamic").ok_or("the network has no folder `dynamic`")?;
    let text = data::text(&folder, NAME)?;
    let mut numbers = std::collections::BTreeMap::new();
    let mut edges = Vec::new();
    for line in text.lines().skip(1) {
        let mut words = line.split('|');
        let (Some(from), Some(to)) = (words.next(), words.next()) else { continue };
        let mut number = |id: &str| {
            let next = numbers.len() as u32;
            *numbers.entry(id.to_string()).or_insert(next)
        };
        let (from, to) = (number(from), number(to));
        edges.extend([(from, to), (to, from)]);
    }
    Ok(Subject { name: "knows".into(), vertices: numbers.len() as u32, edges })
}
