"""Arrow, pandas, polars, networkx, tensors."""

import datetime as dt
import random
import re

import pytest

import tanglewood

SOME = "UNWIND range(1, $n) AS x RETURN x, x * 0.5 AS f, toString(x) AS t, x % 2 = 0 AS b, CASE WHEN x % 3 = 0 THEN null ELSE x END AS m"


def expected(n):
    return [(x, x * 0.5, str(x), x % 2 == 0, None if x % 3 == 0 else x) for x in range(1, n + 1)]


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 1024, 5000])
def test_arrow_and_rows_say_the_same(db, n):
    pytest.importorskip("pyarrow")
    result = db.query(SOME, {"n": n})
    table = result.to_arrow()
    table.validate(full=True)
    assert table.column_names == ["x", "f", "t", "b", "m"]
    assert [tuple(row.values()) for row in table.to_pylist()] == expected(n) == result.rows()
    if n:
        assert [str(kind) for kind in table.schema.types] == ["int64", "double", "string", "bool", "int64"]


def test_filtered_and_constant_columns(people):
    pytest.importorskip("pyarrow")
    text = "MATCH (p:Person) WHERE p.age > 36 RETURN p.name AS name, p.age AS age, 'x' AS c, null AS n, 1 AS one"
    table = people.query(text).to_arrow()
    table.validate(full=True)
    assert table.to_pylist() == [{"name": "Charles", "age": 41, "c": "x", "n": None, "one": 1}]


def test_a_result_that_was_begun(db):
    pytest.importorskip("pyarrow")
    for begun in (1, 64, 1023, 1024, 1025, 4999, 5000):
        result = db.query(SOME, {"n": 5000})
        for _ in range(begun):
            next(result)
        table = result.to_arrow()
        table.validate(full=True)
        assert [tuple(row.values()) for row in table.to_pylist()] == expected(5000)[begun:]


def test_the_columns_outlive_the_result(db):
    pytest.importorskip("pyarrow")
    result = db.query(SOME, {"n": 3000})
    table = result.to_arrow()
    result.close()
    del result
    for _ in range(50):
        db.query(SOME, {"n": 3000}).rows()
    assert [tuple(row.values()) for row in table.to_pylist()] == expected(3000)


def test_streams_that_nobody_reads_are_given_back(db):
    for _ in range(100):
        result = db.query(SOME, {"n": 2000})
        result.__arrow_c_stream__()
    pa = pytest.importorskip("pyarrow")
    reader = pa.RecordBatchReader.from_stream(db.query(SOME, {"n": 5000}))
    assert next(iter(reader)).num_rows > 0
    del reader


def test_random_columns(db):
    pytest.importorskip("pyarrow")
    chance = random.Random(5)
    for kind in (lambda: chance.randint(-9, 9), lambda: chance.random(), lambda: "é" * chance.randint(0, 5), lambda: chance.random() < 0.5):
        for nulls in (0, 0.3, 1):
            values = [None if chance.random() < nulls else kind() for _ in range(chance.randint(0, 3000))]
            result = db.query("UNWIND $values AS v RETURN v", {"values": values})
            assert result.to_arrow().column("v").to_pylist() == values == [v for (v,) in result.rows()]


def test_other_columns(people):
    pytest.importorskip("pyarrow")
    table = people.query(
        "MATCH (p:Person {name: 'Ada'})-[r]->() RETURN p, r, [1, null] AS l, {a: 1} AS m, date('2024-01-02') AS d,"
        " datetime('2024-01-02T03:04:05Z') AS z, duration('P1M') AS u, localdatetime('2024-01-01T00:00:00.000000001') AS n"
    ).to_arrow()
    # Python's own times end at microseconds.
    assert table.column("n").cast("int64").to_pylist() == [1704067200000000001]
    (row,) = table.drop(["n"]).to_pylist()
    assert row["p"]["_labels"] == ["Person"] and row["p"]["name"] == "Ada" and row["r"]["since"] == 1833
    assert row["l"] == [1, None] and row["m"] == {"a": 1} and row["d"] == dt.date(2024, 1, 2)
    assert row["z"] == dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=dt.timezone.utc)
    assert row["u"]["months"] == 1 and str(table.schema.field("n").type) == "timestamp[ns]"
    mixed = people.query("UNWIND [1, 'a'] AS x RETURN x")
    with pytest.raises(tanglewood.DataError, match="column x"):
        mixed.to_arrow()
    assert mixed.rows() == [(1,), ("a",)]
    assert people.query("UNWIND [1, 2.5] AS x RETURN x").to_arrow().column("x").to_pylist() == [1.0, 2.5]


def test_pandas(people):
    pd = pytest.importorskip("pandas")
    frame = people.query("MATCH (p:Person) RETURN p.name AS name, p.age AS age, p ORDER BY name").to_pandas()
    assert list(frame.columns) == ["name", "age", "p"] and list(frame["name"]) == ["Ada", "Charles", "Mary"]
    assert frame["age"].sum() == 77 and pd.isna(frame["age"][2]) and frame["p"][0]["name"] == "Ada"
    whole = people.query("UNWIND range(1, 3) AS x RETURN x, 'a' AS t").to_pandas()
    assert str(whole["x"].dtype) == "int64" and len(whole) == 3
    empty = people.query("MATCH (n:None) RETURN n.x AS x, n").to_pandas()
    assert list(empty.columns) == ["x", "n"] and len(empty) == 0


def test_pandas_without_arrow(people, monkeypatch):
    pytest.importorskip("pandas")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    frame = people.query("MATCH (p:Person) RETURN p.name AS name ORDER BY name").to_pandas()
    assert list(frame["name"]) == ["Ada", "Charles", "Mary"]
    with pytest.raises(tanglewood.NotSupportedError, match="pyarrow"):
        people.query("RETURN 1 AS x").to_arrow()


def test_polars(people):
    pl = pytest.importorskip("polars")
    frame = people.query("MATCH (p:Person) RETURN p.name AS name, p.age AS age ORDER BY name").to_polars()
    assert frame["name"].to_list() == ["Ada", "Charles", "Mary"] and frame["age"].to_list() == [36, 41, None]
    assert pl.DataFrame(people.query("UNWIND range(1, 5000) AS x RETURN x"))["x"].sum() == 12_502_500
    pytest.importorskip("pyarrow")
    assert people.query("RETURN [1] AS l, date('2024-01-01') AS d").to_polars().rows() == [([1], dt.date(2024, 1, 1))]


def test_networkx(people):
    pytest.importorskip("networkx")
    graph = people.query("MATCH p = (:Person)-[:KNOWS]->(:Person) RETURN p").to_networkx()
    assert graph.number_of_nodes() == 3 and graph.number_of_edges() == 2
    ada = next(id for id, about in graph.nodes(data=True) if about["name"] == "Ada")
    assert graph.nodes[ada]["labels"] == ["Person"] and graph.in_degree(ada) == 1
    assert sorted(about["since"] for *_, about in graph.edges(data=True)) == [1833, 1834]


def test_edge_index(people):
    np = pytest.importorskip("numpy")
    for text in (
        "MATCH (a)-[r:KNOWS]->(b) RETURN r",
        "MATCH (a)-[:KNOWS]->(b) RETURN a, b",
        "MATCH (a)-[:KNOWS]->(b) RETURN id(a), id(b)",
    ):
        index, ids = people.query(text).to_edge_index()
        names = [people.query("MATCH (n) WHERE id(n) = $id RETURN n.name", {"id": int(id)}).value() for id in ids]
        found = sorted((names[int(a)], names[int(b)]) for a, b in np.asarray(index).T)
        assert found == [("Ada", "Charles"), ("Mary", "Ada")]
    index, ids = people.query("MATCH (a)-[r:NONE]->(b) RETURN r").to_edge_index()
    assert tuple(index.shape) == (2, 0) and len(ids) == 0


def test_networkx_takes_any_name_of_a_property(db):
    pytest.importorskip("networkx")
    db.query("CREATE (a:A {node_for_adding: 1, self: 2})-[:R {key: 3, u_for_edge: 4, v_for_edge: 5}]->(a)")
    graph = db.query("MATCH (a)-[r]->() RETURN a, r").to_networkx()
    assert [data for _, data in graph.nodes(data=True)] == [{"node_for_adding": 1, "self": 2, "labels": ["A"]}]
    assert [data for *_, data in graph.edges(data=True)] == [{"key": 3, "u_for_edge": 4, "v_for_edge": 5, "type": "R"}]


@pytest.mark.parametrize("size", [1, 16383, 16384, 16385, 20000, 300000])
@pytest.mark.parametrize("rows", [1, 3, 2000])
def test_constant_texts_of_any_size(db, size, rows):
    pytest.importorskip("pyarrow")
    if size * rows > 40_000_000:
        return
    table = db.query("UNWIND range(1, $rows) AS x RETURN $t AS t", {"t": "x" * size, "rows": rows}).to_arrow()
    table.validate(full=True)
    assert table.to_pylist() == [{"t": "x" * size}] * rows


def svg_of(drawing):
    """The picture, read as XML: whatever names and values are, it stays well formed."""
    import xml.etree.ElementTree as xml

    return xml.fromstring(re.search(r"<svg.*?</svg>", drawing.html, re.S)[0])


def test_a_graph_is_drawn(people, tmp_path):
    people.query("MATCH (m:Person {name: 'Mary'}) SET m.name = '<b>&\"Mary' CREATE (m)-[:KNOWS]->(m), (:City {name: 'Oslo'})")
    drawing = people.query("MATCH (n) OPTIONAL MATCH (n)-[r]->() RETURN n, r").draw()
    assert (drawing.nodes, drawing.relationships, drawing.left_out) == (4, 3, 0)
    svg = svg_of(drawing)
    assert len(list(svg.findall(".//{*}circle"))) == 4 and len(list(svg.findall(".//{*}path"))) == 3
    texts = [text.text for text in svg.findall(".//{*}text")]
    assert sorted(texts) == sorted(["Ada", "Charles", '<b>&"Mary', "Oslo"] + ["KNOWS"] * 3)
    assert "since: 1833" in drawing.html and "<b>" not in drawing.html and "http" not in drawing.html.replace("http://www.w3.org/2000/svg", "")
    drawing.save(tmp_path / "graph.html")
    assert drawing.html in (tmp_path / "graph.html").read_text(encoding="utf-8")
    # The same answer, the same picture; ends that were not returned are there, too.
    again = people.query("MATCH (n) OPTIONAL MATCH (n)-[r]->() RETURN n, r").draw()
    assert again.html == drawing.html
    assert people.query("MATCH ()-[r:KNOWS]->() RETURN r").draw().nodes == 3
    assert people.query("RETURN 1 AS x").draw().nodes == 0


def test_a_picture_has_a_limit(db):
    db.query("UNWIND range(1, 101) AS x CREATE (:N {x: x})-[:R]->(:M)")
    for limit, shown in ((1, 1), (201, 201), (203, 202)):
        drawing = db.query("MATCH p = (:N)-->(:M) RETURN p").draw(limit)
        assert (drawing.nodes, drawing.left_out) == (shown, 202 - shown)
        svg_of(drawing)
    for limit in (0, -1, 501):
        with pytest.raises(ValueError, match="1 to 500"):
            db.query("MATCH (n) RETURN n").draw(limit)


def test_places_are_apart(db):
    from tanglewood.drawing import places_of

    chance = random.Random(3)
    for count in (0, 1, 2, 40):
        pairs = [(chance.randrange(count), chance.randrange(count)) for _ in range(count)]
        places = places_of(count, pairs)
        assert len(places) == count and all(abs(x) < 5000 and abs(y) < 5000 for x, y in places)
        for at, one in enumerate(places):
            assert all((one[0] - x) ** 2 + (one[1] - y) ** 2 > 9 for x, y in places[:at])


def test_a_notebook_shows_tables_and_graphs(people):
    table = people.query("UNWIND range(1, 30) AS x RETURN x, '<' AS t")
    assert table._repr_html_().count("<tr>") == 21 and "&lt;" in table._repr_html_() and "svg" not in table._repr_html_()
    assert "and more rows" in table._repr_html_() and len(table.rows()) == 30
    graph = people.query("MATCH p = (:Person)-[:KNOWS]->() RETURN p")
    assert graph._repr_html_().count("<circle") == 3 and len(graph.rows()) == 2
