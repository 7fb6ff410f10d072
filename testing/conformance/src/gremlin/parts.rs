//! Results that are no lists of objects: trees, written out as `|--` with a level of indentation each, and parts of a graph.

use super::{Run, Stop, brief, notation};
use crate::gherkin::Step;
use gremlin::Object;

/// Spaces of one level of a tree that is written out.
const INDENTATION: usize = 3;

impl Run<'_, '_> {
    /// Compares the result, a tree or a subgraph, with the expected shape.
    pub(super) fn expect_part(&mut self, text: &str, step: &Step) -> Result<(), Stop> {
        let found = self.first.clone().ok_or_else(|| "nothing was iterated".to_string())?;
        let (mut found, mut wanted) = match (text, &found) {
            ("the result should be a tree with a structure of", Object::Tree(branches)) => {
                let mut ways = Vec::new();
                grow("", branches, &mut ways);
                (ways, self.ways(step.document.as_deref().unwrap_or_default())?)
            }
            ("the result should be a subgraph with the following", Object::Graph(graph)) => {
                let header = step.table.first().and_then(|row| row.first()).map_or("", String::as_str);
                let objects: Vec<Object> = match header {
                    "edges" => graph.edges.iter().map(|edge| Object::Edge(edge.clone())).collect(),
                    _ => graph.vertices.iter().map(|vertex| Object::Vertex(*vertex)).collect(),
                };
                let mut wanted = Vec::new();
                for cell in step.table.iter().skip(1).filter_map(|row| row.first()) {
                    wanted.push(notation::shown(&self.object(cell)?));
                }
                (objects.iter().map(notation::shown).collect(), wanted)
            }
            _ => return Err(Stop::Fail(format!("{text:?}, but it is {}", found.type_name()))),
        };
        found.sort();
        wanted.sort();
        match found == wanted {
            true => Ok(()),
            false => Err(Stop::Fail(format!("got {} wanted {}", brief(&found), brief(&wanted)))),
        }
    }

    /// The ways from the root of a tree that is written out to each of its nodes.
    fn ways(&mut self, text: &str) -> Result<Vec<String>, String> {
        let lines: Vec<(usize, &str)> = text
            .lines()
            .filter_map(|line| line.find("|--").map(|at| (at, line[at + INDENTATION..].trim())))
            .collect();
        let root = lines.iter().map(|(at, _)| *at).min().unwrap_or(0);
        let (mut all, mut way) = (Vec::new(), Vec::new());
        for (at, name) in lines {
            way.truncate((at - root) / INDENTATION);
            way.push(notation::shown(&self.object(name)?));
            all.push(format!("/{}", way.join("/")));
        }
        Ok(all)
    }
}

fn grow(before: &str, branches: &[(Object, Object)], ways: &mut Vec<String>) {
    for (node, below) in branches {
        let way = format!("{before}/{}", notation::shown(node));
        ways.push(way.clone());
        if let Object::Tree(below) = below {
            grow(&way, below, ways);
        }
    }
}
