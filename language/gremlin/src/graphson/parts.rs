//! Rare results: parts of the graph, and reports of a run.

use super::writing::{JsonWriter, Written};
use crate::object::Graph;
use crate::{Elements, Metrics, Object, TraversalMetrics};

impl<E: Elements> JsonWriter<'_, E> {
    pub(super) fn graph(&mut self, graph: &Graph) -> Written<E> {
        self.typed("tinker:graph", |writer| {
            writer.put("{\"vertices\":");
            writer.row(&graph.vertices, |writer, vertex| writer.object(&Object::Vertex(*vertex)))?;
            writer.put(",\"edges\":");
            writer.row(&graph.edges, |writer, edge| writer.object(&Object::Edge(edge.clone())))?;
            writer.text.push('}');
            Ok(())
        })
    }

    /// Durations are milliseconds here, where GraphBinary has nanoseconds.
    pub(super) fn traversal_metrics(&mut self, metrics: &TraversalMetrics) -> Written<E> {
        let duration = Object::Double(metrics.duration_ns as f64 / 1e6);
        let fields = |writer: &mut Self, between: &str| {
            writer.put("\"dur\"");
            writer.put(between);
            writer.object(&duration)?;
            writer.put(",\"metrics\"");
            writer.put(between);
            writer.collection("g:List", metrics.parts.iter().enumerate(), |writer, (number, part)| {
                writer.metrics(metrics, part, number == 0)
            })
        };
        self.typed("g:TraversalMetrics", |writer| {
            // A map of version 3 is a row of keys and values.
            if writer.is_wrapped() {
                return writer.typed("g:Map", |writer| {
                    writer.text.push('[');
                    fields(writer, ",")?;
                    writer.text.push(']');
                    Ok(())
                });
            }
            writer.text.push('{');
            fields(writer, ":")?;
            writer.text.push('}');
            Ok(())
        })
    }
    fn metrics(&mut self, all: &TraversalMetrics, part: &Metrics, is_first: bool) -> Written<E> {
        let long = |count: u64| Object::Long(i64::try_from(count).unwrap_or(i64::MAX));
        let named = |name: &'static str, value: Object| (Object::string(name), value);
        let counts =
            vec![named("traverserCount", long(part.traversers)), named("elementCount", long(part.elements))];
        let mut notes = vec![named("percentDur", Object::Double(all.percent(part)))];
        if is_first {
            notes.push(named("plan", Object::string(all.text.as_str())));
        }
        let fields = Object::map(vec![
            named("id", Object::String(part.id.clone())),
            named("name", Object::String(part.name.clone())),
            named("dur", Object::Double(part.duration_ns as f64 / 1e6)),
            named("counts", Object::map(counts)),
            named("annotations", Object::map(notes)),
        ]);
        self.typed("g:Metrics", |writer| writer.object(&fields))
    }
}
