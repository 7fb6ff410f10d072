"""TinkerPop's Python driver against the server: what its users do, unchanged. Usage: python driver.py PORT"""
import logging
import sys
import threading
import time

from gremlin_python.driver import serializer
from gremlin_python.driver.client import Client
from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection
from gremlin_python.driver.protocol import GremlinServerError
from gremlin_python.process.anonymous_traversal import traversal
from gremlin_python.process.graph_traversal import __
from gremlin_python.process.traversal import Direction, Order, P, T, TextP

logging.getLogger("gremlinpython").setLevel(logging.CRITICAL)
URL = f"ws://127.0.0.1:{sys.argv[1]}/gremlin"
HTTP = f"http://127.0.0.1:{sys.argv[1]}/"
ENDLESS = "g.inject(1).repeat(__.identity()).until(__.is(2))"
FORMATS = [serializer.GraphBinarySerializersV1, serializer.GraphSONSerializersV3d0, serializer.GraphSONSerializersV2d0]


def fails(code, run):
    try:
        run()
    except GremlinServerError as error:
        assert code is None or error.status_code == code, error
        return str(error)
    raise AssertionError("did not fail")


def traversals(g):
    g.V().drop().iterate()
    g.add_v("person").property("name", "ada").property("age", 36).as_("a").add_v("person").property("name", "bob").property(
        "age", 20).as_("b").add_e("knows").from_("a").to("b").property("since", 1833).iterate()
    assert g.V().count().next() == 2
    assert g.V().has("age", P.gt(30)).values("name").to_list() == ["ada"]
    assert g.V().has("name", TextP.starting_with("b")).values("age").to_list() == [20]
    assert g.V().order().by("age", Order.asc).values("name").to_list() == ["bob", "ada"]
    ada = g.V().has("name", "ada").next()
    assert ada.label == "person"
    edge = g.E().next()
    assert (edge.label, edge.outV.id, edge.inV.label) == ("knows", ada.id, "person")
    assert g.V(ada).out("knows").values("name").to_list() == ["bob"]
    assert list(g.V(ada.id).out_e().in_v().path().by("name").by("since").next().objects) == ["ada", 1833, "bob"]
    assert g.V(ada.id).element_map("name").next()["name"] == "ada"
    assert g.V().repeat(__.out()).until(__.out_e().count().is_(0)).dedup().values("name").to_list() == ["bob"]
    assert "on purpose" in fails(595, lambda: g.V().fail("on purpose").iterate())
    assert len(g.inject(0).repeat(__.union(__.identity(), __.identity())).times(14).limit(10000).to_list()) == 10000


def parts(g):
    """What few traversals give, on the two vertices and the edge of `traversals`."""
    metrics = g.V().out("knows").values("name").profile().next()
    assert metrics["dur"] > 0 and sum(part["counts"]["elementCount"] for part in metrics["metrics"]) > 0, metrics
    assert g.V().out("knows").profile("x").cap("x").next()["metrics"]
    tree = g.with_("trees", "maps").V().out("knows").tree().by("name").next()
    assert tree == {"ada": {"bob": {}}}, tree
    assert g.V().out_e("knows").subgraph("s").count().next() == 1
    assert set(g.call().to_list()) == {"tinker.search", "tinker.degree.centrality"}
    assert g.call("tinker.search", {"search": "ad"}).element().values("name").to_list() == ["ada"]
    assert g.V().has("name", "bob").call("tinker.degree.centrality").next() == 1
    assert g.V().has("name", "ada").call("tinker.degree.centrality").with_("direction", Direction.OUT).next() == 1
    fails(597, lambda: g.call("tinker.nothing").iterate())
    fails(597, lambda: g.V().page_rank().iterate())
    assert "2^63" in fails(500, lambda: g.inject(0).repeat(__.union(__.identity(), __.identity())).times(70).count().next())


def hostile(g):
    """What cannot be run is told to who asked it, and the connection goes on."""
    assert "lambdas" in fails(498, lambda: g.V().map(lambda: "it.get()").iterate())
    deep = __.identity()
    for _ in range(90):
        deep = __.map(deep)
    assert "nest" in fails(None, lambda: g.V().map(deep).iterate())
    long = g.V()
    for _ in range(20_001):
        long = long.identity()
    assert "steps" in fails(597, long.iterate)
    unknown = g.V()
    unknown.bytecode.add_step("frobnicate", 1)
    assert "frobnicate" in fails(597, unknown.iterate)
    source = g.V()
    source.bytecode.add_source("withFrobnication", 1)
    assert "withFrobnication" in fails(597, source.iterate)
    assert g.V().count().next() == 2


def transactions(g):
    before = g.V().count().next()
    for end, more in (("rollback", 0), ("commit", 1)):
        tx = g.tx()
        inside = tx.begin()
        inside.add_v("tx").iterate()
        assert inside.V().count().next() == before + 1
        assert g.V().count().next() == before
        getattr(tx, end)()
        assert g.V().count().next() == before + more


def scripts(form):
    client = Client(URL, "g", message_serializer=form())
    assert client.submit("g.inject(x, y)", {"x": 1, "y": ["two", 3.5]}).all().result() == [1, ["two", 3.5]]
    fails(597, lambda: client.submit("g.V().nothing()").all().result())
    fails(598, lambda: client.submit(ENDLESS, request_options={"evaluationTimeout": 100}).all().result())
    parts = list(client.submit("g.inject(0).repeat(__.union(__.identity(), __.identity())).times(12)", request_options={"batchSize": 100}))
    assert sum(map(len, parts)) == 4096 and max(map(len, parts)) == 100
    session = Client(URL, "g", session="a-session-of-python", message_serializer=form())
    session.submit("g.addV('session')").all().result()
    assert session.submit("g.V().hasLabel('session').count()").all().result() == [1]
    session.close()
    assert client.submit("g.V().hasLabel('session').count()").all().result() == [0]
    client.close()


for form in FORMATS:
    connection = DriverRemoteConnection(URL, "g", message_serializer=form())
    g = traversal().with_(connection)
    traversals(g)
    parts(g)
    hostile(g)
    transactions(g)
    connection.close()
    scripts(form)
for form in FORMATS[:2]:
    connection = DriverRemoteConnection(HTTP, "g", message_serializer=form())
    assert traversal().with_(connection).inject(1, 2).to_list() == [1, 2]
    connection.close()
    client = Client(HTTP, "g", message_serializer=form())
    assert client.submit("g.inject(x)", {"x": 3}).all().result() == [3]
    client.close()
going = Client(URL, "g")
threading.Thread(target=lambda: going.submit(ENDLESS), daemon=True).start()
time.sleep(0.3)
print("gremlinpython: traversals, metrics, trees, services, transactions, scripts and sessions in GraphBinary, GraphSON 3 and 2; HTTP")
