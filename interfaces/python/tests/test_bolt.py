"""The same by Bolt, where neo4j's driver is installed and ``TANGLEWOOD`` names the binary."""

import datetime as dt
import decimal
import os
import socket
import subprocess
import time

import pytest

import tanglewood

pytest.importorskip("neo4j")


@pytest.fixture
def served(tmp_path):
    binary = os.environ.get("TANGLEWOOD")
    if not binary:
        pytest.skip("needs the binary: set TANGLEWOOD")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [binary, "serve", str(tmp_path / "people.db"), "--bolt", "127.0.0.1:%d" % port]
    with open(tmp_path / "log", "w") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        until = time.monotonic() + 60
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert time.monotonic() < until and server.poll() is None, (tmp_path / "log").read_text()
                time.sleep(0.05)
        with tanglewood.connect("bolt://127.0.0.1:%d" % port) as db:
            yield db
    finally:
        server.kill()
        server.wait()


def test_the_same_by_bolt(served):
    session = served.session()
    summary = session.query("CREATE (:Person {name: $name, age: $age})-[:KNOWS]->(:Person {name: 'Mary'})", {"name": "Ada", "age": 36}).summary()
    assert summary.counters == {"nodes_created": 2, "relationships_created": 1, "properties_set": 3, "labels_added": 2}
    result = session.query("MATCH (p:Person) RETURN p.name AS name, p.age AS age ORDER BY name")
    assert result.columns == ("name", "age") and result.peek(1) == [("Ada", 36)]
    assert result.rows() == [("Ada", 36), ("Mary", None)] == result.rows()
    assert next(result)["name"] == "Ada" and [row["name"] for row in result] == ["Mary"]
    node, edge = served.query("MATCH (a)-[r]->() RETURN a, r").single()
    assert node.labels == {"Person"} and node["name"] == "Ada" and edge.start_id == node.id and edge.type == "KNOWS"
    assert len(served.query("MATCH p = ()-[:KNOWS]->() RETURN p").value()) == 1
    for value in (None, 1, 2.5, "x", b"\0", [1, {"a": None}], dt.date(2024, 1, 2), dt.timedelta(days=1, seconds=2), dt.datetime(2024, 1, 2, 3)):
        assert served.query("RETURN $x AS x", {"x": value}).value() == value
    for value in (tanglewood.Duration(months=3), tanglewood.Point(7203, 1, 2)):
        assert served.query("RETURN $x AS x", {"x": value}).value() == value
    nanos = served.query("RETURN localdatetime('2024-01-01T00:00:00.000000001') AS x").value()
    assert nanos == tanglewood.Temporal("localdatetime", "2024-01-01T00:00:00.000000001")


def test_transactions_and_errors_by_bolt(served):
    with pytest.raises(ZeroDivisionError):
        with served.session() as session, session.transaction() as tx:
            tx.query("CREATE (:A)")
            1 / 0
    assert served.execute_write(lambda tx: tx.query("CREATE (a:A) RETURN 5 AS x").value()) == 5
    assert served.execute_read(lambda tx: tx.query("MATCH (a:A) RETURN count(a)").value()) == 1
    with pytest.raises(tanglewood.QuerySyntaxError):
        served.query("RETUR 1")
    with pytest.raises(tanglewood.ParameterError, match=r"\$x\[0\]"):
        served.query("RETURN $x", {"x": [decimal.Decimal(1)]})
    for call in (lambda: served.gremlin("g.V()"), lambda: served.query("RETURN 1", memory=5)):
        with pytest.raises(tanglewood.NotSupportedError):
            call()
    with pytest.raises(tanglewood.OperationalError):
        tanglewood.connect("bolt://127.0.0.1:1")


def test_tables_by_bolt(served):
    pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    text = "UNWIND range(1, 3) AS x RETURN x, toString(x) AS t"
    assert list(served.query(text).to_pandas()["t"]) == ["1", "2", "3"]
    assert served.query(text).to_arrow().to_pylist()[0] == {"x": 1, "t": "1"}
    assert "<table>" in served.query(text)._repr_html_()
    program = "n(x) :- x = 1. ?- n(x)."
    assert served.session().datalog(program).rows() == [(1,)]
