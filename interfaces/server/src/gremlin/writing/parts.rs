//! Rare results: parts of the graph, and reports of a run.

use super::{NULL, Writer};
use database::Error;
use gremlin::object::Graph;
use gremlin::{Elements, Metrics, Object, TraversalMetrics};

impl Writer<'_> {
    pub(super) fn graph(&mut self, graph: &Graph) -> Result<(), Error> {
        let Some(answer) = self.answer else {
            self.bytes.extend(NULL);
            return Ok(());
        };
        self.begin(0x10);
        self.count(graph.vertices.len());
        for vertex in &graph.vertices {
            let shown = answer.vertex(*vertex)?;
            self.object(&shown.id)?;
            self.text(&shown.label);
            self.count(shown.properties.len());
            for property in &shown.properties {
                self.object(&answer.property_id(property))?;
                self.text(&property.key);
                self.object(&property.value)?;
                self.bytes.extend(NULL);
                self.count(property.meta.len());
                property.meta.iter().try_for_each(|(key, value)| self.key_value(key, value))?;
            }
        }
        self.count(graph.edges.len());
        for edge in &graph.edges {
            let shown = answer.edge(edge)?;
            self.object(&shown.id)?;
            self.text(&shown.label);
            for (id, _) in [&shown.in_vertex, &shown.out_vertex] {
                // Its label is with the vertex.
                self.object(id)?;
                self.bytes.extend(NULL);
            }
            self.bytes.extend(NULL);
            self.count(shown.properties.len());
            shown.properties.iter().try_for_each(|(key, value)| self.key_value(key, value))?;
        }
        Ok(())
    }

    pub(super) fn traversal_metrics(&mut self, metrics: &TraversalMetrics) -> Result<(), Error> {
        self.begin(0x2d);
        self.bytes.extend(metrics.duration_ns.to_be_bytes());
        self.count(metrics.parts.len());
        for (number, part) in metrics.parts.iter().enumerate() {
            let mut notes = vec![(Object::string("percentDur"), Object::Double(metrics.percent(part)))];
            if number == 0 {
                notes.push((Object::string("plan"), Object::string(metrics.text.as_str())));
            }
            self.metrics(part, &notes)?;
        }
        Ok(())
    }
    fn metrics(&mut self, part: &Metrics, notes: &[(Object, Object)]) -> Result<(), Error> {
        self.begin(0x2c);
        self.text(&part.id);
        self.text(&part.name);
        self.bytes.extend(part.duration_ns.to_be_bytes());
        let counts = [("traverserCount", part.traversers), ("elementCount", part.elements)];
        self.count(counts.len());
        for (name, count) in counts {
            self.typed_text(name);
            self.object(&Object::Long(i64::try_from(count).unwrap_or(i64::MAX)))?;
        }
        self.count(notes.len());
        for (name, value) in notes {
            self.object(name)?;
            self.object(value)?;
        }
        self.count(0);
        Ok(())
    }
}
