"""The official driver against the server: what its users do, unchanged. Usage: driver.py PORT"""

import sys
import threading
import time
from datetime import date, datetime, timedelta, timezone

import neo4j
from neo4j import GraphDatabase
from neo4j.exceptions import ClientError, ConstraintError, CypherSyntaxError, TransientError
from neo4j.time import Date, DateTime, Duration, Time

URI = "bolt://127.0.0.1:" + sys.argv[1]


def auto_commit(driver):
    records, summary, keys = driver.execute_query(
        "CREATE (a:Person {name: $name, born: date('1815-12-10')})-[r:KNOWS {since: 1833}]->(b:Person {name: 'Charles'}) "
        "RETURN a, r, b",
        name="Ada",
    )
    assert keys == ["a", "r", "b"]
    counters = summary.counters
    assert (counters.nodes_created, counters.relationships_created, counters.labels_added) == (2, 1, 2), counters
    assert counters.contains_updates and summary.query_type == "rw"
    a, r, b = records[0]
    assert a.labels == {"Person"} and a["name"] == "Ada" and a["born"] == Date(1815, 12, 10)
    assert (r.type, r["since"], r.start_node.element_id, r.end_node.element_id) == ("KNOWS", 1833, a.element_id, b.element_id)
    path = driver.execute_query("MATCH p = (b:Person {name: 'Charles'})<-[:KNOWS]-(a) RETURN p").records[0]["p"]
    assert [node["name"] for node in path.nodes] == ["Charles", "Ada"] and path.relationships[0].start_node["name"] == "Ada"
    assert driver.execute_query("MATCH (a) WHERE elementId(a) = $id RETURN a.name", id=a.element_id).records[0][0] == "Ada"


def values(driver):
    instant = datetime(2026, 11, 20, 12, 30, 15, 500, tzinfo=timezone(timedelta(hours=2)))
    sent = {
        "null": None,
        "bool": True,
        "ints": [0, -1, 127, 128, -(2**63), 2**63 - 1],
        "float": 1.5,
        "text": "grüße \U0001f600 " + "x" * 70_000,
        "bytes": b"\x00\xff",
        "map": {"a": [1, {"b": []}]},
        "date": Date(2024, 2, 29),
        "time": Time(1, 2, 3, 4),
        "local": DateTime(2020, 1, 2, 3, 4, 5, 6),
        "instant": instant,
        "duration": Duration(months=14, days=3, seconds=5, nanoseconds=7),
        "point": neo4j.spatial.CartesianPoint((1.0, 2.0)),
        "globe": neo4j.spatial.WGS84Point((1.0, 2.0, 3.0)),
    }
    got = driver.execute_query("RETURN $sent AS got", sent=sent).records[0]["got"]
    assert got.keys() == sent.keys()
    for name, value in sent.items():
        back = got[name].to_native() if name == "instant" else got[name]
        assert back == value, (name, value, back)
    driver.execute_query("CREATE (:When {d: $d})", d=date(2000, 1, 1))
    assert driver.execute_query("MATCH (w:When) RETURN w.d.year").records[0][0] == 2000


def managed(driver):
    with driver.session() as session:

        def work(tx):
            for i in range(3):
                tx.run("CREATE (:X {i: $i})", i=i)
            return [record["i"] for record in tx.run("MATCH (x:X) RETURN x.i AS i ORDER BY i")]

        assert session.execute_write(work) == [0, 1, 2]
        assert session.execute_read(lambda tx: tx.run("UNWIND range(1, 5000) AS i RETURN i").value()[-1]) == 5000
        assert session.last_bookmarks().raw_values


def retried(driver):
    driver.execute_query("CREATE (:Counter {n: 0})")
    attempts = []

    def increment(tx):
        attempts.append(1)
        n = tx.run("MATCH (c:Counter) RETURN c.n AS n").single()["n"]
        tx.run("MATCH (c:Counter) SET c.n = $n", n=n + 1).consume()

    def work():
        with driver.session() as session:
            for _ in range(10):
                session.execute_write(increment)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert driver.execute_query("MATCH (c:Counter) RETURN c.n").records[0][0] == 40
    # A conflict for certain: the driver is told that it may try again.
    with driver.session() as one, driver.session() as two:
        first, second = one.begin_transaction(), two.begin_transaction()
        for tx in (first, second):
            tx.run("MATCH (c:Counter) RETURN c").single()
            tx.run("MATCH (c:Counter) SET c.n = c.n + 1").consume()
        first.commit()
        try:
            second.commit()
            raise AssertionError("both were committed")
        except TransientError as error:
            assert error.is_retryable()


def explicit(driver):
    with driver.session() as session:
        tx = session.begin_transaction()
        tx.run("CREATE (:Y)")
        tx.rollback()
        assert session.run("MATCH (y:Y) RETURN count(*)").single()[0] == 0
        with session.begin_transaction() as tx:
            slow = iter(tx.run("UNWIND range(1, 5000) AS i RETURN i"))
            other = iter(tx.run("UNWIND range(10001, 15000) AS i RETURN i"))
            pairs = [(next(slow)[0], next(other)[0]) for _ in range(3000)]
            assert pairs[-1] == (3000, 13000)
            tx.run("CREATE (:Y)")
            tx.commit()
        assert session.run("MATCH (y:Y) RETURN count(*)").single()[0] == 1


def streaming(driver):
    with driver.session(fetch_size=1000) as session:
        total = sum(record[0] for record in session.run("UNWIND range(1, 100000) AS i RETURN i, 'text'"))
        assert total == 100000 * 100001 // 2
        began = time.time()
        result = session.run("UNWIND range(1, 1000000) AS i UNWIND range(1, 1000000) AS j RETURN i")
        assert next(iter(result))[0] == 1
        result.consume()
        assert time.time() - began < 5, "the rest of an endless result was awaited"


def errors(driver):
    with driver.session() as session:

        def fails(kind, text, code, **params):
            try:
                session.run(text, **params).consume()
            except kind as error:
                assert error.code == code, (text, error.code)
                return error.message
            raise AssertionError(text + " did not fail")

        message = fails(CypherSyntaxError, "MATCH (n) RETRUN n", "Neo.ClientError.Statement.SyntaxError")
        assert "^^^^^^" in message and "RETURN" in message, message
        fails(ClientError, "RETURN $missing", "Neo.ClientError.Statement.ParameterMissing")
        fails(ClientError, "RETURN 1 / 0", "Neo.ClientError.Statement.ArithmeticError")
        session.run("CREATE CONSTRAINT FOR (k:Key) REQUIRE k.id IS UNIQUE").consume()
        session.run("CREATE (:Key {id: 1})").consume()
        fails(ConstraintError, "CREATE (:Key {id: 1})", "Neo.ClientError.Schema.ConstraintValidationFailed")
        assert session.run("RETURN 1").single()[0] == 1, "usable after failures"
    with driver.session(default_access_mode=neo4j.READ_ACCESS) as session:
        try:
            session.run("CREATE (:Z)").consume()
            raise AssertionError("a reading session wrote")
        except ClientError as error:
            assert error.code == "Neo.ClientError.Statement.AccessMode", error.code


def cancelled(driver):
    endless = "UNWIND range(1, 1000000) AS i UNWIND range(1, 1000000) AS j RETURN sum(i * j)"
    with driver.session() as session:
        began = time.time()
        try:
            session.run(neo4j.Query(endless, timeout=0.2)).consume()
            raise AssertionError("it ended")
        except (ClientError, TransientError) as error:
            assert error.code == "Neo.ClientError.Transaction.TransactionTimedOutClientConfiguration", error.code
        assert time.time() - began < 5
    # Another thread ends it by its id.
    failures = []

    def run():
        try:
            driver.execute_query(endless)
        except Exception as error:
            failures.append(error.code)

    thread = threading.Thread(target=run)
    thread.start()
    found = []
    while not found:
        queries = driver.execute_query("SHOW QUERIES").records
        found = [query["queryId"] for query in queries if query["query"].startswith("UNWIND range(1, 1000000)")]
    driver.execute_query(f"KILL QUERY '{found[0]}'")
    thread.join(10)
    assert failures == ["Neo.ClientError.Transaction.Terminated"], failures


def plans(driver):
    plan = driver.execute_query("EXPLAIN MATCH (p:Person) RETURN p").summary.plan
    assert plan["operatorType"] and plan["children"], plan
    profile = driver.execute_query("PROFILE MATCH (p:Person) RETURN p").summary.profile
    walk = [profile]
    while walk:
        step = walk.pop()
        walk.extend(step["children"])
        for key, name in (("rows", "Rows"), ("dbHits", "DbHits"), ("time", "Time"), ("pageCacheHits", "PageCacheHits")):
            assert type(step[key]) is int and step[key] == step["args"][name], (key, step)
        assert step["operatorType"].endswith("@neo4j") and isinstance(step["identifiers"], list), step
    assert profile["rows"] > 0 and profile["args"]["version"] == "5", profile


def listed(driver):
    """SHOW TRANSACTIONS knows a transaction by what its client told of it; TERMINATE ends it by its id."""
    with driver.session() as session:
        tx = session.begin_transaction(metadata={"app": "check", "n": 1})
        tx.run("RETURN 1").consume()
        show = "SHOW TRANSACTIONS YIELD * WHERE metaData.app = 'check' RETURN *"
        (row,) = driver.execute_query(show).records
        assert row["metaData"] == {"app": "check", "n": 1} and row["status"] == "Running", row
        assert row["connectionId"].startswith("bolt-") and row["clientAddress"].startswith("127.0.0.1:"), row
        assert row["transactionId"].startswith("neo4j-transaction-") and row["currentQuery"] == "", row
        ended = driver.execute_query(f"TERMINATE TRANSACTION '{row['transactionId']}'").records[0]
        assert ended["message"] == "Transaction terminated.", ended
        assert driver.execute_query(show).records[0]["status"].startswith("Terminated"), "it is still open"
        try:
            tx.run("RETURN 1").consume()
            raise AssertionError("it went on")
        except ClientError as error:
            assert error.code == "Neo.ClientError.Transaction.Terminated", error.code
        tx.close()
        assert not driver.execute_query(show).records
        again = driver.execute_query(f"TERMINATE TRANSACTION '{row['transactionId']}'").records[0]
        assert again["message"] == "Transaction not found.", again


def schema(driver):
    """The schema comes as nodes and relationships that no graph holds."""
    driver.execute_query("CREATE (:Film {title: 'x'})<-[:ACTED_IN {role: 'y'}]-(:Actor)")
    record = driver.execute_query("CALL db.schema.visualization()").records[0]
    names = {node["name"]: node for node in record["nodes"]}
    film, actor = names["Film"], names["Actor"]
    assert film.labels == {"Film"} and film.element_id != actor.element_id, film
    acted = [edge for edge in record["relationships"] if edge.type == "ACTED_IN"]
    assert [(edge.start_node.element_id, edge.end_node.element_id) for edge in acted] == [(actor.element_id, film.element_id)]
    kinds = driver.execute_query("CALL db.schema.nodeTypeProperties() YIELD nodeType, propertyName, propertyTypes WHERE nodeType = ':`Film`' RETURN *")
    assert kinds.records[0]["propertyTypes"] == ["String"], kinds
    kinds = driver.execute_query("CALL db.schema.relTypeProperties() YIELD relType, propertyName WHERE relType = ':`ACTED_IN`' RETURN *")
    assert kinds.records[0]["propertyName"] == "role", kinds


def standing(driver):
    """A subscription is an ordinary result whose records come as commits happen."""
    driver.execute_query("CREATE STANDING QUERY rich AS MATCH (a:Account) WHERE a.money > $least RETURN a.id AS id")
    driver.execute_query("UNWIND range(1, 5) AS i CREATE (:Account {id: i, money: i * 10})")
    with driver.session(fetch_size=1) as session:
        told = iter(session.run("SUBSCRIBE rich SNAPSHOT", least=30))

        def news(count):
            found, mark = [], None
            while len(found) < count or mark is None:
                record = next(told)
                if record["mark"] is None:
                    found.append((record["difference"], record["id"]))
                    mark = None
                else:
                    assert record["difference"] == 0, record
                    mark = record["mark"]
            return mark, sorted(found)

        mark, rows = news(2)
        assert rows == [(1, 4), (1, 5)], rows
        driver.execute_query("MATCH (a:Account {id: 1}) SET a.money = 100")
        mark, rows = news(1)
        assert rows == [(1, 1)], rows
    driver.execute_query("MATCH (a:Account {id: 5}) DELETE a")
    with driver.session(fetch_size=1) as session:
        told = iter(session.run("SUBSCRIBE rich FROM $mark", mark=mark, least=30))
        assert news(1)[1] == [(-1, 5)]
    began = time.time()
    driver.execute_query("DROP STANDING QUERY rich")
    assert time.time() - began < 5, "a reader that has gone is waited for"


def routed():
    with GraphDatabase.driver(URI.replace("bolt", "neo4j")) as driver:
        driver.verify_connectivity()
        bookmarks = None
        with driver.session() as session:
            session.run("CREATE (:Routed)").consume()
            bookmarks = session.last_bookmarks()
        with driver.session(bookmarks=bookmarks, default_access_mode=neo4j.READ_ACCESS) as session:
            assert session.run("MATCH (r:Routed) RETURN count(*)").single()[0] == 1
        assert driver.execute_query("RETURN 1 AS x", routing_="r").records[0]["x"] == 1


with GraphDatabase.driver(URI) as driver:
    driver.verify_connectivity()
    for check in (auto_commit, values, managed, retried, explicit, streaming, errors, cancelled, plans, listed, schema, standing):
        began = time.time()
        check(driver)
        print(f"{check.__name__}: ok, {time.time() - began:.2f} s", flush=True)
routed()
print("routed: ok")
