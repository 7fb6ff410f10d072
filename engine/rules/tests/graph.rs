//! Facts of a real graph, with and without an index, against plain loops over what was put into it.

use model::schema::{IndexDefinition, IndexId, SchemaTarget};
use model::{EdgeRef, Value, VertexId};
use std::collections::BTreeSet;
use store::{Change, Snapshot, Store};
use tanglewood_rules::{Bounds, Evaluation, GraphFacts};

struct Vertex {
    id: VertexId,
    labels: Vec<&'static str>,
    i: Value,
}

struct Edge {
    source: usize,
    target: usize,
    kind: &'static str,
    w: Value,
}

struct Town {
    snapshot: Snapshot,
    vertices: Vec<Vertex>,
    edges: Vec<Edge>,
}

/// What `i` and `w` may be: 1 and 1.0 are two values for rules and one for an index, NaN is one here and none there.
fn value(number: usize) -> Value {
    match number % 7 {
        0 => Value::Null,
        1 => Value::Int(1),
        2 => Value::Float(1.0),
        3 => Value::Float(f64::NAN),
        4 => "a text that is rather long".into(),
        other => Value::Int(other as i64),
    }
}

/// Vertices of `A`, `B`, both or none, edges of `R` and `S` with parallel ones and loops; `A.i` has an index or not.
fn town(with_index: bool) -> Town {
    let store = Store::new(Default::default());
    let (names, allocator) = (store.names(), store.allocator());
    let (a, b) = (names.intern_label("A").unwrap(), names.intern_label("B").unwrap());
    let (i, w) = (names.intern_key("i").unwrap(), names.intern_key("w").unwrap());
    let kinds = [("R", names.intern_edge_type("R").unwrap()), ("S", names.intern_edge_type("S").unwrap())];
    let sets = [(vec!["A"], vec![a]), (vec!["B"], vec![b]), (vec!["A", "B"], vec![a, b]), (vec![], vec![])];
    let sets = sets.map(|(labels, ids)| (labels, names.intern_label_set(&ids).unwrap()));
    let (mut vertices, mut edges, mut changes) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..60 {
        let (labels, set) = &sets[number % 4];
        let (id, value) = (allocator.vertex(*set).unwrap(), value(number / 4));
        changes.push(Change::CreateVertex { id, labels: *set, properties: vec![(i, value.clone())] });
        vertices.push(Vertex { id, labels: labels.clone(), i: value });
    }
    for number in 0..240 {
        let (source, target) = (number * number % 31 % 60, number * 7 % 23);
        let ((kind, edge_type), value) = (kinds[usize::from(number % 5 == 0)], value(number / 3));
        let id = allocator.edge(vertices[source].id, edge_type).unwrap();
        let edge = EdgeRef { id, source: vertices[source].id, target: vertices[target].id };
        changes.push(Change::CreateEdge { edge, properties: vec![(w, value.clone())] });
        edges.push(Edge { source, target, kind, w: value });
    }
    let (definitions, _) = names.undurable();
    let mut first: Vec<Change> = definitions.into_iter().map(Change::DefineName).collect();
    if with_index {
        let (target, name) = (SchemaTarget::Vertices(a), "index".to_string());
        first.push(Change::CreateIndex(IndexDefinition {
            id: IndexId(0),
            name,
            target,
            keys: vec![i],
            unique: false,
        }));
    }
    let snapshot = store.current().apply(1, &[&first]).unwrap().apply(2, &[&changes]).unwrap();
    Town { snapshot, vertices, edges }
}

type Facts = BTreeSet<Vec<String>>;

impl Town {
    fn answer(&self, text: &str) -> Facts {
        let program = datalog::compile(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
        let mut answers = Vec::new();
        for program in [program.clone(), datalog::focus(&program)] {
            let question = program.question.clone().unwrap().relation;
            let facts = GraphFacts::new(&self.snapshot, &program);
            let mut evaluation = Evaluation::new(program.clone(), |_| None, Bounds::default()).unwrap();
            evaluation.evaluate_over(&facts).unwrap();
            let shown = |fact: Vec<Value>| fact.iter().map(|value| format!("{value:?}")).collect();
            answers.push(evaluation.facts(question).map(|fact| shown(fact.to_vec())).collect::<Facts>());
        }
        assert_eq!(answers[0], answers[1], "{text}, focused");
        answers.remove(0)
    }
    fn is(&self, at: usize, label: &str) -> bool {
        self.vertices[at].labels.contains(&label)
    }
    fn id(&self, at: usize) -> String {
        format!("{:?}", Value::from(self.vertices[at].id))
    }
    /// Vertices and their `i`, where they have one.
    fn with_i(&self) -> Vec<(usize, String)> {
        let present = (0..self.vertices.len()).filter(|at| !self.vertices[*at].i.is_null());
        present.map(|at| (at, format!("{:?}", self.vertices[at].i))).collect()
    }
    fn of(&self, kind: &'static str) -> impl Iterator<Item = (usize, usize, &Value)> {
        let own = self.edges.iter().filter(move |edge| edge.kind == kind);
        own.map(|edge| (edge.source, edge.target, &edge.w))
    }
    fn joined(&self, kind: &'static str, source: usize, target: usize) -> bool {
        self.of(kind).any(|(from, to, _)| (from, to) == (source, target))
    }
}

#[test]
fn every_relation_is_asked_in_every_way() {
    for with_index in [false, true] {
        let town = &town(with_index);
        let all = 0..town.vertices.len();
        let check = |text: &str, expected: Facts| {
            assert_eq!(town.answer(text), expected, "{text}, index {with_index}");
        };
        let one = |at: usize| vec![town.id(at)];
        let labelled = |label: &'static str| all.clone().filter(move |at| town.is(*at, label));
        let text = format!("{:?}", Value::from("a text that is rather long"));
        // Labels: listed, and tested.
        check("?- A(x).", labelled("A").map(one).collect());
        check(
            "p(x) :- A(x), B(x). ?- p(x).",
            labelled("A").filter(|at| town.is(*at, "B")).map(one).collect(),
        );
        check(
            "p(x) :- A(x), !B(x). ?- p(x).",
            labelled("A").filter(|at| !town.is(*at, "B")).map(one).collect(),
        );
        // Properties: listed, of one vertex, by a value, tested, and of any vertex.
        let values = || town.with_i().into_iter().filter(|(at, _)| town.is(*at, "A"));
        check("?- A.i(x, v).", values().map(|(at, value)| vec![town.id(at), value]).collect());
        check(
            "?- _.i(x, v).",
            town.with_i().into_iter().map(|(at, value)| vec![town.id(at), value]).collect(),
        );
        check(
            "p(x, v) :- B(x), A.i(x, v). ?- p(x, v).",
            values()
                .filter(|(at, _)| town.is(*at, "B"))
                .map(|(at, value)| vec![town.id(at), value])
                .collect(),
        );
        for (written, held) in [("1", Value::Int(1)), ("1.0", Value::Float(1.0)), ("6", Value::Int(6))] {
            let held = format!("{held:?}");
            let is_it = |value: &str| value == held;
            let expected: Facts = values().filter(|(_, value)| is_it(value)).map(|(at, _)| one(at)).collect();
            check(&format!("p(x) :- A.i(x, {written}). ?- p(x)."), expected.clone());
            check(&format!("p(x) :- A(x), A.i(x, {written}). ?- p(x)."), expected.clone());
            check(
                &format!("p(x) :- A(x), !A.i(x, {written}). ?- p(x)."),
                labelled("A").map(one).filter(|fact| !expected.contains(fact)).collect(),
            );
        }
        check(
            "p(x) :- A.i(x, 'a text that is rather long'). ?- p(x).",
            values().filter(|(_, value)| *value == text).map(|(at, _)| one(at)).collect(),
        );
        // Two that have the same value, NaN among them.
        let alike = || {
            let pairs = values().flat_map(|one| values().map(move |other| (one.clone(), other)));
            pairs.filter(|((one, a), (other, b))| one != other && a == b)
        };
        check(
            "p(x, y) :- A.i(x, v), A.i(y, v), x != y. ?- p(x, y).",
            alike().map(|((one, _), (other, _))| vec![town.id(one), town.id(other)]).collect(),
        );
        // Edges: each pair once, from both ends, and tested.
        let pair = |(source, target, _): (usize, usize, &Value)| vec![town.id(source), town.id(target)];
        check("?- R(x, y).", town.of("R").map(pair).collect());
        check(
            "p(x, y) :- B(y), S(x, y). ?- p(x, y).",
            town.of("S").filter(|(_, target, _)| town.is(*target, "B")).map(pair).collect(),
        );
        check(
            "p(x, y) :- B(x), S(x, y). ?- p(x, y).",
            town.of("S").filter(|(source, ..)| town.is(*source, "B")).map(pair).collect(),
        );
        check(
            "p(x, y) :- R(x, y), S(x, y). ?- p(x, y).",
            town.of("R").filter(|(source, target, _)| town.joined("S", *source, *target)).map(pair).collect(),
        );
        check(
            "p(x, y) :- S(x, y), !R(x, y). ?- p(x, y).",
            town.of("S")
                .filter(|(source, target, _)| !town.joined("R", *source, *target))
                .map(pair)
                .collect(),
        );
        check(
            "p(x) :- R(x, x). ?- p(x).",
            town.of("R").filter(|(source, target, _)| source == target).map(|(at, ..)| one(at)).collect(),
        );
        // Properties of edges.
        let valued = |(source, target, w): (usize, usize, &Value)| {
            (!w.is_null()).then(|| vec![town.id(source), town.id(target), format!("{w:?}")])
        };
        check("?- R.w(x, y, v).", town.of("R").filter_map(valued).collect());
        check(
            "p(x, y, v) :- B(y), R.w(x, y, v). ?- p(x, y, v).",
            town.of("R").filter(|(_, target, _)| town.is(*target, "B")).filter_map(valued).collect(),
        );
        let is_one = |w: &Value| matches!(w, Value::Int(1));
        check(
            "p(x, y) :- S(x, y), S.w(x, y, 1). ?- p(x, y).",
            town.of("S").filter(|(.., w)| is_one(w)).map(pair).collect(),
        );
        let has_one = |source: usize, target: usize| {
            town.of("S").any(|(from, to, w)| (from, to) == (source, target) && is_one(w))
        };
        check(
            "p(x, y) :- S(x, y), !S.w(x, y, 1). ?- p(x, y).",
            town.of("S").filter(|(source, target, _)| !has_one(*source, *target)).map(pair).collect(),
        );
        // What the graph has no name for has no facts.
        for text in [
            "?- None(x).",
            "?- None.i(x, v).",
            "?- A.none(x, v).",
            "p(x) :- None(x, y). ?- p(x).",
            "p(x) :- R.none(x, y, v). ?- p(x).",
            "p(x) :- None.w(x, y, v). ?- p(x).",
            "p(x) :- A(x), None(x, x). ?- p(x).",
        ] {
            check(text, Facts::new());
        }
        check("p(x) :- A(x), !None(x, x). ?- p(x).", labelled("A").map(one).collect());
        // What is no vertex has no facts either.
        for text in ["p(y) :- _.i(x, v), R(v, y). ?- p(y).", "p(v) :- _.i(x, v), A(v). ?- p(v)."] {
            check(text, Facts::new());
        }
    }
}
