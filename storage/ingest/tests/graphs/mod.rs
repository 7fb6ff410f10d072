//! Files that hold a whole graph: GraphML, RDF, node-link JSON; and tables as pandas writes them.
#![cfg(all(feature = "graphml", feature = "rdf"))]

use crate::common::{
    Files, edge_lines, import, index_lines, memory, options, refused, rejected, vertex_lines,
};
use ingest::{ExistingPolicy, ImportOptions, Layout};
use world::chance::Chance;

const GRAPHML: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key id="d0" for="node" attr.name="name" attr.type="string"/>
  <key id="d1" for="node" attr.name="age" attr.type="int"><default>30</default></key>
  <key id="d2" for="edge" attr.name="weight" attr.type="double"/>
  <key id="d3" for="node" yfiles.type="nodegraphics"/>
  <key id="d4" for="node" attr.name="tags" attr.list="string"/>
  <graph edgedefault="directed">
    <node id="ann" labels=":Person:Admin"><data key="labels">:Person:Admin</data><data key="d0">Ann &amp; <![CDATA[<Co>]]>&#233;</data>
      <data key="d3"><y:Shape xmlns:y="http://www.yworks.com"><y:Fill color="red"/></y:Shape></data><data key="d4">["a","b"]</data></node>
    <node id="bob"><data key="d1">7</data><data key="d0"></data>
      <graph><node id="inner"/></graph>
    </node>
    <edge source="ann" target="bob" label="KNOWS"><data key="d2">1</data></edge>
    <!-- a comment --><edge source="bob" target="bob"/>
  </graph>
</graphml>
"#;

#[test]
fn graphml_is_nodes_and_relationships_with_declared_types() {
    let (engine, report) = import(&[("graph.graphml", GRAPHML)]);
    assert_eq!(rejected(&report), [""; 0]);
    assert_eq!(
        vertex_lines(&engine),
        [
            r#":Admin:Person {age: 30, id: "ann", name: "Ann & <Co>é", tags: ["a", "b"]}"#,
            r#":Node {age: 30, id: "inner"}"#,
            r#":Node {age: 7, id: "bob", name: ""}"#,
        ]
    );
    assert_eq!(
        edge_lines(&engine),
        [r#""ann" -[:KNOWS {weight: 1.0}]-> "bob""#, r#""bob" -[:EDGE]-> "bob""#]
    );
    assert_eq!(index_lines(&engine), ["unique Admin.id", "unique Node.id", "unique Person.id"]);
}

#[test]
fn graphml_of_tinkerpop_and_of_latin1_is_read() {
    let modern = r#"<?xml version="1.0" encoding="ISO-8859-1"?><g:graphml xmlns:g="x"><g:key id="labelV" for="node" attr.name="labelV" attr.type="string"/>
      <g:key id="labelE" for="edge" attr.name="labelE" attr.type="string"/><g:key id="id" for="node" attr.name="id" attr.type="long"/>
      <g:graph><g:node id="1"><g:data key="labelV">caf"#;
    let rest = r#"</g:data><g:data key="id">77</g:data></g:node><g:node id="2"><g:data key="labelV">software</g:data></g:node>
      <g:edge id="7" source="1" target="2"><g:data key="labelE">created</g:data></g:edge></g:graph></g:graphml>"#;
    let (files, engine) = (Files::new(&[]), memory());
    files.add("modern.xml", &[modern.as_bytes(), b"\xe9", rest.as_bytes()].concat());
    let report = ingest::import(&engine, &options(files.folder())).unwrap();
    assert_eq!((report.vertices, report.edges), (2, 1));
    assert_eq!(vertex_lines(&engine), [":café {_id: 1, id: 77}", ":software {_id: 2}"]);
}

#[test]
fn wrong_graphml_names_its_line_and_column_and_changes_nothing() {
    let around = |inner: &str| {
        format!(
            "<graphml>\n<key id=\"n\" for=\"node\" attr.name=\"n\" attr.type=\"int\"/>\n<graph>{inner}</graph></graphml>"
        )
    };
    let deep = "<x>".repeat(200);
    let cases = [
        (around("<node/>"), "graph.xml:3: column 15: the element `node` has no attribute `id`"),
        (
            around("\n<node id=\"1\"><data key=\"n\">x</data></node>"),
            "graph.xml:4: column 36: `n`: `x` is no whole number",
        ),
        (around("<hyperedge/>"), "an edge between more than two nodes"),
        (around("<node id=\"1\">"), "graph.xml:3: column"),
        (around("<node id=\"&bomb;\"/>"), "graph.xml:3: column"),
        (
            around("<node id=\"1\"><data key=\"n\">&bomb;</data></node>"),
            "`&bomb;` is none of XML's own entities",
        ),
        (around("<edge source=\"1\"/>"), "the element `edge` has no attribute `target`"),
        (
            around("<node id=\"1\"><data key=\"n\">1</data><data key=\"n\">2</data></node>"),
            "`n` stands twice",
        ),
        (around(&deep), "elements are nested deeper than 128"),
        ("<graphml></graphml>".into(), "the file has no element `graph`"),
        (
            "<graphml><graph>".into(),
            "graph.xml:1: column 17: the XML is wrong: the file ends inside an element",
        ),
        ("<graphml><key id=\"x\" attr.type=\"complex\"/></graphml>".into(), "attr.type `complex` is no type"),
        (
            "<?xml version=\"1.0\" encoding=\"koi8-r\"?><graphml/>".into(),
            "encoding `koi8-r`; write it as UTF-8",
        ),
    ];
    for (text, wanted) in cases {
        let error = refused(&[("graph.xml", &text)], Layout::Auto, false).to_string();
        assert!(error.contains(wanted) && error.contains("graph.xml"), "{error}\nwanted: {wanted}");
    }
}

const TURTLE: &str = r#"@prefix ex: <http://example.org/> .
@prefix foaf: <http://xmlns.com/foaf/0.1/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .

ex:ada a foaf:Person, ex:Writer ;
  foaf:name "Ada", "Augusta"@en ;
  foaf:age 36 ; ex:born "1815-12-10"^^xsd:date ; ex:ok true ; ex:height 1.65 ;
  foaf:knows ex:bob , ex:bob , [ foaf:name "Nobody" ] .
ex:bob foaf:name "Bob" ; ex:name "Robert" ; ex:odd 1, "x" .
"#;

#[test]
fn triples_are_resources_with_properties_and_relationships() {
    let (engine, report) = import(&[("people.ttl", TURTLE)]);
    assert_eq!(rejected(&report), [""; 0]);
    let lines = vertex_lines(&engine);
    let name = "http://xmlns.com/foaf/0.1/name";
    assert_eq!(
        lines[..2],
        [
            format!(
                r#":Person:Resource:Writer {{age: 36, born: 1815-12-10, height: 1.65, {name}: ["Ada", "Augusta"], ok: true, uri: "http://example.org/ada"}}"#
            ),
            format!(
                r#":Resource {{http://example.org/name: "Robert", {name}: "Bob", odd: ["1", "x"], uri: "http://example.org/bob"}}"#
            ),
        ]
    );
    assert!(lines[2].starts_with(&format!(":Resource {{{name}: \"Nobody\", uri: \"_:")), "{lines:?}");
    assert_eq!((report.vertices, report.edges), (3, 2), "a triple that is said twice is there once");
    assert_eq!(report.by_type, [("knows".to_string(), 2)]);
    assert!(index_lines(&engine).contains(&"unique Resource.uri".to_string()));
}

#[test]
fn triples_of_several_files_and_of_several_imports_meet() {
    let one = "<http://e/a> <http://e/knows> <http://e/b> .\n<http://e/a> <http://e/age> \"1\"^^<http://www.w3.org/2001/XMLSchema#int> .\n";
    let two = "# more\n<http://e/b> <http://e/knows> <http://e/a> .\n<http://e/a> <http://e/name> \"A\" .\n_:x <http://e/of> _:x .";
    let files = Files::new(&[("one.nt", one), ("two", two)]);
    let engine = memory();
    let report = ingest::import(&engine, &options(files.folder())).unwrap();
    assert_eq!((report.vertices, report.edges, report.files), (3, 3, 3));
    let fail = ingest::import(&engine, &options(files.folder())).unwrap_err().to_string();
    assert!(fail.contains("is in the database already"), "{fail}");
    for existing in [ExistingPolicy::Skip, ExistingPolicy::Merge] {
        let again = ImportOptions { existing, ..options(files.folder()) };
        let report = ingest::import(&engine, &again).unwrap();
        assert_eq!((report.vertices, report.edges, report.existing), (0, 0, 6), "{existing:?}");
    }
    // Blank nodes of another file are others.
    let other = Files::new(&[("three.nt", "_:x <http://e/of> <http://e/a> .\n")]);
    let report =
        ingest::import(&engine, &ImportOptions { existing: ExistingPolicy::Skip, ..options(other.folder()) })
            .unwrap();
    assert_eq!((report.vertices, report.edges, report.existing), (1, 1, 1));
}

#[test]
fn wrong_triples_name_their_line_and_column_and_change_nothing() {
    for (text, wanted) in [
        ("<http://e/a> <http://e/b> .\n", "people.nt:1: column 27:"),
        (
            "<http://e/a> <http://e/b> <http://e/c> .\n\n<http://e/a> \"x\" <http://e/c> .\n",
            "people.nt:3: column 14:",
        ),
        ("<http://e/a> <http://e/b> \"never ends", "people.nt:1: column 27:"),
        ("<http://e/a> <b> <http://e/c> .", "people.nt:1: column 14:"),
        ("x:a x:b x:c .", "people.nt:1: column 1: The prefix x: has not been declared"),
    ] {
        let error = refused(&[("people.nt", text)], Layout::Auto, false).to_string();
        assert!(
            error.contains(wanted) && error.contains("nothing was imported"),
            "{error}\nwanted: {wanted}"
        );
    }
    // A text that never ends costs its length: it was looked at from its beginning with every line.
    let endless = format!("<http://e/a> <http://e/b> \"\"\"{}", "a line\n".repeat(400_000));
    let error = refused(&[("people.nt", &endless)], Layout::Auto, false).to_string();
    assert!(error.contains("people.nt:1: column 27:"), "{error}");
    // A long text that ends is read.
    let long = format!(
        "<http://e/a> <http://e/b> \"\"\"{}\"\"\" .\n<http://e/a> <http://e/c> <http://e/d> .",
        "a line\n".repeat(40_000)
    );
    let (_, report) = import(&[("long.ttl", &long)]);
    assert_eq!((report.vertices, report.edges), (2, 1));
    let xml = "<?xml version=\"1.0\"?>\n<rdf:RDF xmlns:rdf=\"x\"></rdf:RDF>";
    let error = refused(&[("people.rdf", xml)], Layout::Auto, false).to_string();
    assert!(error.contains("it is RDF/XML"), "{error}");
}

const NODE_LINK: &str = r#"{"directed": true, "multigraph": true, "graph": {"name": "g"},
 "nodes": [{"labels": ["Person"], "age": 36, "at": {"city": "London"}, "id": "1"}, {"id": "bob", "seen": {"$date": "2024-02-29"}},
  {"id": "x", "labels": 7}],
 "links": [{"type": "KNOWS", "since": 1833, "source": "1", "target": "bob", "key": 0}, {"source": "bob", "target": "x", "key": "LIKES"},
  {"source": "x", "target": "x"}]}
"#;

#[test]
fn node_link_json_is_a_graph() {
    for text in [NODE_LINK.to_string(), NODE_LINK.replace("\"links\"", "\"edges\"")] {
        let (engine, report) = import(&[("graph.json", &text)]);
        assert_eq!(rejected(&report), [""; 0]);
        assert_eq!(
            vertex_lines(&engine),
            [
                r#":Node {id: "bob", seen: 2024-02-29}"#,
                r#":Node {id: "x", labels: 7}"#,
                r#":Person {age: 36, at.city: "London", id: "1"}"#,
            ]
        );
        assert_eq!(
            edge_lines(&engine),
            [r#""1" -[:KNOWS {since: 1833}]-> "bob""#, r#""bob" -[:LIKES]-> "x""#, r#""x" -[:EDGE]-> "x""#]
        );
    }
    // Numbers stay numbers, and lists may come in any order.
    let (engine, _) =
        import(&[("g.json", "{\"links\":[{\"source\":1,\"target\":2}],\"nodes\":[{\"id\":1},{\"id\":2}]}")]);
    assert_eq!(edge_lines(&engine), ["1 -[:EDGE]-> 2"]);
}

#[test]
fn wrong_node_link_json_names_its_line_and_changes_nothing() {
    for (text, wanted) in [
        (
            "{\"nodes\":[{\"id\":1},\n7],\"links\":[]}",
            "graph.json:2: column 2: a node or a link is an object",
        ),
        ("{\"nodes\":[{\"x\":1}],\"links\":[]}", "graph.json:1: `id`, the id of a node, is missing"),
        (
            "{\"nodes\":[],\n\"links\":[{\"source\":1}]}",
            "graph.json:2: `target`, the id of a node, is missing",
        ),
        ("{\"nodes\":[{\"id\":1}],\"links\":[]", "graph.json:1: column 31"),
        ("{\"nodes\":[{\"id\":1,\"a\":{\"b\":1},\"a.b\":2}],\"links\":[]}", "the name `a.b` stands twice"),
    ] {
        let error = refused(&[("graph.json", text)], Layout::Auto, false).to_string();
        assert!(error.contains(wanted), "{error}\nwanted: {wanted}");
    }
    let (_, report) =
        import(&[("g.json", "{\"nodes\":[{\"id\":1}],\n\"links\":[{\"source\":1,\"target\":9}]}")]);
    assert_eq!(rejected(&report), ["g.json:2: no vertex has the id `9`"]);
}

#[test]
fn tables_of_pandas_are_rows() {
    let forms = [
        r#"{"id":{"0":1,"1":2},"name":{"0":"Ada","1":null}}"#,
        r#"{"0":{"id":1,"name":"Ada"},"1":{"id":2,"name":null}}"#,
        r#"{"columns":["id","name"],"index":[0,1],"data":[[1,"Ada"],[2,null]]}"#,
        r#"{"schema":{"fields":[{"name":"id","type":"integer"}],"pandas_version":"1.4.0"},"data":[{"id":1,"name":"Ada"},{"id":2,"name":null}]}"#,
        r#"[{"id":1,"name":"Ada"},{"id":2,"name":null}]"#,
    ];
    for text in forms {
        let (engine, _) = import(&[("person.json", text)]);
        assert_eq!(vertex_lines(&engine), [r#":Person {id: 1, name: "Ada"}"#, ":Person {id: 2}"], "{text}");
    }
    for (text, wanted) in [
        (
            "{\"id\":{\"0\":1},\n\"name\":{\"1\":\"Ada\"}}",
            "person.json:2: column 18: column `name` names the row `1`",
        ),
        (
            "{\"id\":{\"0\":1,\"1\":2},\n\"name\":{\"0\":\"Ada\"}}",
            "column `name` has 1 rows, and the first has 2",
        ),
        (
            "{\"columns\":[\"id\"],\"data\":[[1],\n[1,2]]}",
            "person.json:2: column 6: a row has 2 values for 1 columns",
        ),
        ("{\"columns\":[\"id\"],\"data\":[7]}", "a row is a list of values"),
        ("{\"id\":{\"0\":1", "person.json:1: column 13"),
    ] {
        let error = refused(&[("person.json", text)], Layout::Auto, false).to_string();
        assert!(error.contains(wanted), "{error}\nwanted: {wanted}");
    }
    // An object with an object in it is still a row.
    let (engine, _) = import(&[("person.json", "{\"id\":1,\"at\":{\"city\":\"London\"}}")]);
    assert_eq!(vertex_lines(&engine), [r#":Person {at.city: "London", id: 1}"#]);
}

/// Whatever is done to the bytes of a file, an import ends, and where it fails, nothing is there.
#[test]
fn files_changed_at_random_import_whole_or_not_at_all() {
    let mut chance = Chance::seeded(18);
    for (name, text) in [("a.graphml", GRAPHML), ("a.ttl", TURTLE), ("a.json", NODE_LINK)] {
        for round in 0..20 {
            let mut bytes = text.as_bytes().to_vec();
            for _ in 0..=chance.below(3) {
                let at = chance.below(bytes.len() as u64) as usize;
                match chance.below(3) {
                    0 => bytes[at] = chance.below(256) as u8,
                    1 => bytes.truncate(at.max(1)),
                    _ => drop(bytes.remove(at)),
                }
                if bytes.is_empty() {
                    bytes.push(b'<');
                }
            }
            let (files, engine) = (Files::new(&[]), memory());
            files.add(name, &bytes);
            let read = ingest::import(&engine, &options(files.folder()));
            let held = engine.snapshot().statistics().vertices();
            let wanted = read.as_ref().map_or(0, |report| report.vertices);
            assert_eq!(held, wanted, "{name} round {round}: {}", String::from_utf8_lossy(&bytes));
        }
    }
}
