"""Imports of tables, by the bulk path."""

import datetime as dt
import decimal

import pytest

import tanglewood
from tanglewood import Nodes, Relationships

pa = pytest.importorskip("pyarrow")

PEOPLE = {"id": [1, 2, 3], "name": ["Ada", "Charles, \"B\"\nabbage", None], "age": [36, None, 7]}
FRIENDS = {"a": [1, 2], "b": [2, 3], "since": [1833, None]}


def load(db, **options):
    return db.import_tables({"Person": (PEOPLE, "id")}, {"KNOWS": (FRIENDS, "a:Person", "b:Person")}, **options)


def people_of(db):
    return db.query("MATCH (p:Person) RETURN p.id, p.name, p.age ORDER BY p.id").rows()


def test_dicts_of_columns(db):
    report = load(db)
    assert (report.nodes, report.relationships, report.rejected) == (3, 2, 0)
    assert people_of(db) == list(zip(*PEOPLE.values()))
    assert db.query("MATCH (a)-[r:KNOWS]->(b) RETURN a.id, b.id, r.since ORDER BY a.id").rows() == [(1, 2, 1833), (2, 3, None)]


def test_every_kind_of_table(tmp_path):
    import pyarrow.parquet as parquet

    table = pa.table(PEOPLE)
    parquet.write_table(table, tmp_path / "people.parquet")
    tables = [table, table.to_batches()[0], tmp_path / "people.parquet", str(tmp_path / "people.parquet")]
    pandas = pytest.importorskip("pandas")
    tables.append(table.to_pandas())
    tables.append(pandas.DataFrame(PEOPLE))
    tables.append(pytest.importorskip("polars").DataFrame(PEOPLE))
    for one in tables:
        with tanglewood.connect(":memory:") as db:
            db.import_tables([Nodes("Person", one, "id")])
            assert people_of(db) == list(zip(*PEOPLE.values()))


def test_what_is_there_already(db):
    load(db)
    with pytest.raises(tanglewood.IntegrityError):
        load(db)
    assert load(db, existing="skip").nodes == 0
    changed = {"id": [3, 4], "name": ["Grace", "Linus"]}
    report = db.import_tables({"Person": (changed, "id")}, existing="merge")
    assert report.nodes == 1 and report.existing == 1
    assert people_of(db)[2:] == [(3, "Grace", 7), (4, "Linus", None)]


def test_relationships_to_nodes_that_are_there(db):
    load(db)
    more = {"x": [3], "y": [1]}
    with pytest.raises(tanglewood.DataError, match="of which nothing is said"):
        db.import_tables(relationships={"LIKES": (more, "x:Person", "y:Person")})
    report = db.import_tables(relationships={"LIKES": (more, "x:Person", "y:Person")}, keys={"Person": "id"})
    assert report.relationships == 1
    assert db.query("MATCH (a)-[:LIKES]->(b) RETURN a.id, b.id").rows() == [(3, 1)]


@pytest.mark.parametrize("type", ["KNOWS", "WORKS_AT", "knows", "Knows_well_2", "A_b_C", "X_HEADER", "T2", "a b"])
@pytest.mark.parametrize("label", ["Person", "Person_2", "Company", "person s", "v1", "Header", "x_header", "Å"])
def test_names(db, label, type):
    ids, edges = {"id": ["a", "b"]}, {"from": ["a"], "to": ["b"]}
    db.import_tables([Nodes(label, ids, "id")], [Relationships(type, edges, (label, "from"), (label, "to"))])
    assert db.query("MATCH (a)-[r]->(b) RETURN labels(a), type(r), b.id").rows() == [([label], type, "b")]


def test_types_of_columns(db):
    utc = dt.timezone.utc
    columns = {
        "id": pa.array([1, 2], pa.int32()),
        "b": [True, None],
        "f": pa.array([0.1, float("inf")], pa.float64()),
        "s": ["", None],
        "d": [dt.date(2024, 1, 2), None],
        "ts": [dt.datetime(2024, 1, 2, 3, 4, 5, 600), None],
        "tz": pa.array([dt.datetime(2024, 1, 2, 3, 4, 5, tzinfo=utc), None], pa.timestamp("us", "UTC")),
        "tm": [dt.time(1, 2, 3), None],
        "u": [dt.timedelta(seconds=-90), None],
        "l": [[1, 2], None],
        "ls": [["x", "y z,"], ["q"]],
        "k": pa.array(["x", "y"]).dictionary_encode(),
        "none": [None, None],
    }
    db.import_tables({"T": (columns, "id")})
    node = db.query("MATCH (t:T {id: 1}) RETURN t").value()
    assert node["b"] is True and node["f"] == 0.1 and node["s"] == "" and node["k"] == "x"
    assert node["d"] == dt.date(2024, 1, 2) and node["ts"] == dt.datetime(2024, 1, 2, 3, 4, 5, 600)
    assert node["tz"] == columns["tz"][0].as_py() and node["tm"] == dt.time(1, 2, 3)
    assert db.query("MATCH (t:T {id: 1}) RETURN t.u = duration('PT-90S')").value() is True
    assert node["l"] == [1, 2] and node["ls"] == ["x", "y z,"] and "none" not in node
    other = db.query("MATCH (t:T {id: 2}) RETURN t").value()
    assert other.properties == {"id": 2, "f": float("inf"), "ls": ["q"], "k": "y"}


@pytest.mark.parametrize(
    "columns, said",
    [
        ({"id": [1, None]}, "null"),
        ({"id": [1.5]}, "ids are integers or texts"),
        ({"id": [1], "x": [decimal.Decimal(1)]}, "column x"),
        ({"id": [1], "x": [{"a": 1}]}, "column x"),
        ({"id": [1], "x": [["a;b"]]}, "column x"),
        ({"id": [1], "a,b": [1]}, "a,b"),
        ({"other": [1]}, "no column 'id'"),
        ({"id": [1, 2, 1]}, "^nodes :T, row 3: id `1` is there before"),
        ({"id": [1, 1], "t": ["a\nb", ""]}, "^nodes :T: id `1`"),
        ({"id": [1], "x": [2**70]}, "nodes :T"),
        ({"id": [1], "x": [[]], "y": ["a", "b"]}, "nodes :T"),
        ({"id": pa.array([2**63], pa.uint64())}, "9223372036854775808"),
    ],
)
def test_bad_tables_change_nothing(db, columns, said):
    with pytest.raises(tanglewood.Error, match=said):
        db.import_tables({"T": (columns, "id")})
    assert db.query("MATCH (n) RETURN count(n)").value() == 0


def test_edges_that_lead_nowhere_change_nothing(db):
    far = list(range(250_000))
    with pytest.raises(tanglewood.Error, match="^relationships :R, row 250001: no vertex has the id `-1`"):
        db.import_tables({"P": ({"id": far}, "id")}, {"R": ({"a": [*far, 1], "b": [*far, -1]}, "a:P", "b:P")})
    assert db.query("MATCH (n) RETURN count(n)").value() == 0
    with pytest.raises(tanglewood.DataError):
        db.import_tables()


def test_progress(db, capfd):
    told = []
    n = 200_000
    ids = {"id": list(range(n))}
    edges = {"a": list(range(n)), "b": list(range(n))[::-1]}
    tables = [Nodes("N", ids, "id")], [Relationships("R", edges, ("N", "a"), ("N", "b"))]
    report = db.import_tables(*tables, progress=lambda *parts: told.append(parts))
    assert (report.nodes, report.relationships) == (n, n) and "200000 nodes" in repr(report)
    assert told and told[-1][0] == "done"
    db.import_tables(*tables, existing="skip", progress=True)
    assert "nodes" in capfd.readouterr().err


def test_files(db, tmp_path):
    (tmp_path / "P.csv").write_text("id:ID(P),name\n1,Ada\n2\n")
    assert db.import_from(tmp_path).rejected == 1
    with pytest.raises(tanglewood.OperationalError):
        db.import_from(tmp_path / "none")
    with pytest.raises(tanglewood.InterfaceError):
        db.import_from(tmp_path, existing="perhaps")


@pytest.mark.parametrize("sign", [";", "|", "\t", ";;;"])
def test_columns_are_called_as_they_like(db, sign):
    table = {"id": [1, 2], "a%sb" % sign: [3, 4]}
    report = db.import_tables({"T": (table, "id")})
    assert (report.nodes, report.skipped) == (2, [])
    assert [row[0] for row in db.query("MATCH (t:T) RETURN properties(t) ORDER BY t.id").rows()] == [
        {"id": 1, "a%sb" % sign: 3},
        {"id": 2, "a%sb" % sign: 4},
    ]


def test_a_label_that_a_header_would_lose_is_refused(db):
    with pytest.raises(tanglewood.DataError, match="cannot be a label of an import"):
        db.import_tables({"Single": ({"id": [1]}, "id")})


def test_a_bar_looks_like_tqdm():
    from tanglewood.progress import duration, line, size

    assert [size(n) for n in (0, 999, 1000, 12345, 999499, 10**6, 10**12, 2 * 10**15)] == "0 999 1k 12.3k 999k 1M 1T 2000T".split()
    assert [duration(s) for s in (0, 59.9, 60, 3599, 3600, 86399)] == "00:00 00:59 01:00 59:59 1:00:00 23:59:59".split()
    assert line("nodes", 500, 1000, 2.0, "7 nodes") == "nodes:  50%|████████████            | 500/1k [00:02<00:02, 250B/s, 7 nodes]"
    assert line("nodes", 0, 1000, 0, "").startswith("nodes:   0%|" + " " * 24 + "| 0/1k [00:00<?, ?B/s")
    assert line("nodes", 0, 0, 1, "").startswith("nodes: 100%|" + "█" * 24) and line("n", 9, 3, 1, "").startswith("n: 100%|")


@pytest.mark.parametrize("has_tqdm", [True, False])
def test_progress_is_drawn(db, capsys, monkeypatch, has_tqdm):
    pytest.importorskip("pyarrow")
    if has_tqdm:
        pytest.importorskip("tqdm")
    else:
        monkeypatch.setitem(__import__("sys").modules, "tqdm.auto", None)
    db.import_tables({"N": ({"id": list(range(3000))}, "id")}, progress=True)
    said = capsys.readouterr().err
    assert "100%|" in said and "3000 nodes" in said and said.endswith("\n")
