"""Connect, ask, read rows."""

import json
import pickle

import pytest

import tanglewood


def test_the_api_that_outside_checks_rely_on(tmp_path):
    db = tanglewood.connect(str(tmp_path / "people.db"))
    session = db.session()
    session.query("CREATE (:Person {name: $name, age: $age})", {"name": "Ada", "age": 36})
    result = session.query("MATCH (p:Person) RETURN p.name AS name, p.age AS age", {})
    assert result.rows() == [("Ada", 36)]
    db.close()
    with tanglewood.connect(tmp_path / "people.db", create=False) as again:
        assert again.query("MATCH (p:Person) RETURN count(*)").value() == 1


def test_a_folder_can_be_opened_once(tmp_path):
    with tanglewood.connect(tmp_path / "a.db"):
        with pytest.raises(tanglewood.OperationalError) as caught:
            tanglewood.connect(tmp_path / "a.db")
        assert caught.value.hint
    with pytest.raises(tanglewood.DatabaseError):
        tanglewood.connect(tmp_path / "none.db", create=False)
    with pytest.raises(tanglewood.InterfaceError):
        tanglewood.connect("https://localhost")


def test_closing_ends_sessions_and_frees_the_folder(tmp_path):
    db = tanglewood.connect(tmp_path / "a.db")
    session, open_result = db.session(), db.query("UNWIND range(1, 100000) AS x RETURN x")
    next(open_result)
    db.close()
    db.close()
    assert db.closed and session.closed
    for call in (db.session, lambda: session.query("RETURN 1"), lambda: db.query("RETURN 1")):
        with pytest.raises(tanglewood.InterfaceError):
            call()
    with tanglewood.connect(tmp_path / "a.db") as again:
        again.query("RETURN 1").rows()


def test_rows_of_every_size(db):
    for count in (0, 1, 2, 1023, 1024, 1025, 5000):
        result = db.query("UNWIND range(1, $count) AS x RETURN x, toString(x) AS text", {"count": count})
        expected = [(x, str(x)) for x in range(1, count + 1)]
        assert result.rows() == expected == result.rows()
        assert list(result) == expected
        assert list(result) == []
        assert db.query("UNWIND range(1, $count) AS x RETURN x", {"count": count}).dicts() == [
            {"x": x} for x in range(1, count + 1)
        ]


def test_iteration_hands_out_and_the_rest_stays(db):
    result = db.query("UNWIND range(1, 3000) AS x RETURN x")
    assert [next(result)[0] for _ in range(1500)] == list(range(1, 1501))
    assert [x for (x,) in result.peek(3)] == [1501, 1502, 1503]
    assert [x for (x,) in result.rows()] == list(range(1501, 3001))
    assert result.fetchone() == (1501,)
    assert result.fetchmany(2) == [(1502,), (1503,)]
    assert len(result.fetchall()) == 3000 - 1503
    assert result.fetchone() is None and result.fetchmany(0) == []


def test_records_are_tuples_with_names(people):
    record = people.query("MATCH (p:Person {name: 'Ada'}) RETURN p.name AS name, p.age AS age").single()
    name, age = record
    assert (name, age) == ("Ada", 36) == record
    assert record["name"] == record[0] == "Ada" and record[-1] == 36 and record[:1] == ("Ada",)
    assert record.data() == dict(record.items()) == {"name": "Ada", "age": 36}
    assert record.keys() == ["name", "age"] and record.get("none", 5) == 5
    assert json.dumps(record) == '["Ada", 36]'
    assert pickle.loads(pickle.dumps(record))["age"] == 36
    with pytest.raises(KeyError, match="name, age"):
        record["nome"]


def test_nodes_relationships_and_paths(people):
    node, edge, path = people.query(
        "MATCH p = (a:Person {name: 'Mary'})-[r:KNOWS]->(:Person)-[:KNOWS]->() RETURN a, r, p"
    ).single()
    assert node.labels == {"Person"} and node["name"] == "Mary" and dict(node) == {"name": "Mary"}
    assert node.get("age") is None and "age" not in node and len(node) == 1
    assert edge.type == "KNOWS" and edge["since"] == 1834
    assert (edge.start_id, edge.end_id) == (path.nodes[0].id, path.nodes[1].id)
    assert len(path) == 2 and [one["name"] for one in path.nodes] == ["Mary", "Ada", "Charles"]
    assert path.relationships[0] == edge and path.start_node == node
    assert node != edge and len({node, path.nodes[0]}) == 1
    nested = people.query("MATCH (a:Person {name: 'Mary'}) RETURN {all: [a, 1]} AS map").value()
    assert nested == {"all": [node, 1]}
    assert pickle.loads(pickle.dumps(node))["name"] == "Mary"
    assert "Mary" in repr(node) and "KNOWS" in repr(edge) and "Charles" in repr(path)


def test_single_and_value(db):
    assert db.query("RETURN 1 AS x").value() == 1
    for text in ("UNWIND [] AS x RETURN x", "UNWIND [1, 2] AS x RETURN x"):
        with pytest.raises(tanglewood.DataError):
            db.query(text).single()


def test_the_summary(db):
    result = db.query("CREATE (:A {x: 1})-[:R]->(:B)")
    summary = result.summary()
    assert summary.counters == {
        "nodes_created": 2,
        "relationships_created": 1,
        "properties_set": 1,
        "labels_added": 2,
    }
    assert summary.commit > 0 and summary.elapsed >= 0
    assert db.query("EXPLAIN MATCH (n) RETURN n").summary().plan
    assert db.query("MATCH (n:Nope) RETURN n").consume().notifications
    assert db.query("CREATE INDEX FOR (n:A) ON (n.x)").summary().indexes_added == 1


def test_results_stream(db):
    result = db.query("UNWIND range(1, 1000000000) AS x RETURN x")
    assert next(result) == (1,)
    result.close()
    with pytest.raises(tanglewood.InterfaceError):
        next(result)


def test_gremlin_and_datalog(people):
    assert sorted(row[0] for row in people.gremlin("g.V().hasLabel('Person').values('name')")) == ["Ada", "Charles", "Mary"]
    assert people.gremlin("g.V().has('name', who).out('KNOWS').count()", {"who": "Mary"}).value() == 1
    (node,) = people.gremlin("g.V().has('name', 'Ada')").single()
    assert node["age"] == 36
    with pytest.raises(tanglewood.Error):
        people.gremlin("g.V(")
    with people.session() as session:
        session.gremlin("g.addV('Person').property('name', 'Grace')").rows()
        program = "reach(x, y) :- KNOWS(x, y). reach(x, z) :- reach(x, y), KNOWS(y, z). ?- reach(x, y)."
        assert len(session.datalog(program).rows()) == 3
    with pytest.raises(tanglewood.ProgrammingError):
        people.datalog("reach(x) :-")


def test_databases_do_not_mix(db):
    with tanglewood.connect(":memory:") as other:
        other.query("CREATE (:A)")
        assert db.query("MATCH (n) RETURN count(n)").value() == 0


def test_notebooks_show_the_first_rows(db):
    shown = db.query("UNWIND range(1, 30) AS x RETURN x, '<b>' AS t")._repr_html_()
    assert shown.count("<tr>") == 21 and "&lt;b&gt;" in shown and "more rows" in shown
    result = db.query("RETURN 1 AS x")
    assert "more" not in result._repr_html_() and result.rows() == [(1,)]
