//! Gremlin from the command line: TinkerPop's files imported, and queried in the shell.
#![allow(clippy::disallowed_methods, clippy::disallowed_types)]

mod support;

use support::Place;

/// Two people and a thing, as GraphSON 3 has them; the first with a property that has two values, one of them with a property.
const GRAPH: &str = r#"{"id":{"@type":"g:Int32","@value":1},"label":"person","outE":{"made":[{"id":{"@type":"g:Int32","@value":7},"inV":{"@type":"g:Int64","@value":3},"properties":{"weight":{"@type":"g:Double","@value":0.4}}}]},"properties":{"name":[{"id":{"@type":"g:Int64","@value":0},"value":"marko"}],"place":[{"id":{"@type":"g:Int64","@value":1},"value":"here","properties":{"since":{"@type":"g:Int32","@value":1997}}},{"id":{"@type":"g:Int64","@value":2},"value":"there"}]}}
{"id":{"@type":"g:Int32","@value":2},"label":"person","properties":{"name":[{"id":{"@type":"g:Int64","@value":3},"value":"vadas"}]}}

{"id":{"@type":"g:Int32","@value":3},"label":"thing","properties":{"name":[{"id":{"@type":"g:Int64","@value":4},"value":"lop"}]}}
"#;

#[test]
fn a_graph_of_tinkerpop_is_read_and_asked() {
    let place = Place::new();
    place.file("graph.json", GRAPH);
    let import = |database: &str, more: &[&str]| {
        let arguments = ["import", database, "--from", "graph.json", "--layout", "graphson"];
        place.run(&[&arguments[..], more].concat())
    };
    let report = import("many.db", &[]).ok();
    assert!(report.contains("vertices  3\nedges     1\n"), "{report}");
    let again = import("many.db", &["--gremlin-multi-properties"]).failed(1);
    assert!(again.contains("holds a graph already"), "{again}");

    let input = ":format csv\n:timing off\n\
                 g.V(1).properties('place').count();\ng.V(1).out('made').values('name');\n\
                 :gremlin\ng.V().order().by('name').id();\n:param who => 'vadas'\ng.V().has('name', who).count();\n\
                 :cypher\nMATCH (n) RETURN count(*) AS n;\n";
    let out = place.run_with_input(&["shell", "many.db"], input).ok();
    assert_eq!(out, "result\n2\nresult\nlop\nresult\n3\n1\n2\nresult\n1\nn\n3\n");
    let refused = place.run_with_input(&["shell", "many.db"], "g.V().nothing();").failed(1);
    assert!(refused.contains("nothing") && refused.contains("SyntaxError"), "{refused}");
    // Written in one language, read in the other; a transaction of Gremlin's own words.
    let input = ":format csv\ng.addV('x').property('n', 1).iterate();\ng.tx().begin();\ng.addV('x');\ng.tx().rollback();\n\
                 MATCH (x:x) RETURN count(*) AS n, sum(x.n) AS s;\ng.V().hasLabel('x').hasNext();\n\
                 g.V().hasLabel('x').project('a', 'b').by('n').by(T.label);\n";
    let out = place.run_with_input(&["shell", "a.db", "--create"], input).ok();
    assert_eq!(out.matches("result").count(), 3, "what is asked for its effects shows nothing: {out}");
    assert!(
        out.contains("n,s\n1,1\n")
            && out.contains("result\ntrue\n")
            && out.ends_with("result\n\"{\"\"a\"\":1,\"\"b\"\":\"\"x\"\"}\"\n"),
        "{out}"
    );
}

#[test]
fn broken_files_are_told_by_line() {
    let place = Place::new();
    for (text, what) in [
        ("{\"id\":1,\"label\":\"a\"}\nnonsense\n", "graph.json:2"),
        ("{\"label\":\"a\"}\n", "a vertex has no id"),
        ("{\"id\":1}\n{\"id\":{\"@type\":\"g:Int64\",\"@value\":1}}\n", "two vertices with the id 1"),
        ("{\"id\":1,\"outE\":{\"e\":[{\"inV\":9}]}}\n", "the vertex 9, which is not in the file"),
        (
            "{\"id\":1,\"properties\":{\"a\":[{\"value\":{\"@type\":\"g:Int32\",\"@value\":\"x\"}}]}}\n",
            "no whole number",
        ),
    ] {
        place.file("graph.json", text);
        let refused =
            place.run(&["import", "a.db", "--from", "graph.json", "--layout", "graphson"]).failed(1);
        assert!(refused.contains(what), "{what} is missing in:\n{refused}");
        assert!(!place.path().join("a.db").exists());
    }
}
