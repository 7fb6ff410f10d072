"""Hops in Kuzu and in LadybugDB, which descends from it: run.py MODULE FOLDER WORK."""
import importlib
import os
import time

from common import FOLDER, PACKAGE, WORK, edges_file, hops, questions

engine = importlib.import_module(PACKAGE)
graph = questions()
connection = engine.Connection(engine.Database(os.path.join(WORK, "hops.db")))
if hasattr(connection, "set_max_threads_for_exec"):
    connection.set_max_threads_for_exec(os.cpu_count())

begin = time.perf_counter()
nodes = os.path.join(WORK, "nodes.csv")
with open(nodes, "w") as file:
    file.writelines(f"{vertex}\n" for vertex in range(graph["vertices"]))
connection.execute("CREATE NODE TABLE N(id INT64, PRIMARY KEY(id))")
connection.execute("CREATE REL TABLE E(FROM N TO N)")
connection.execute(f"COPY N FROM '{nodes}' (HEADER=false)")
copied = os.path.join(WORK, "edges.csv")
os.symlink(edges_file(), copied)
connection.execute(f"COPY E FROM '{copied}' (HEADER=false, DELIM=' ')")
load_seconds = time.perf_counter() - begin


def asked(text):
    prepared = connection.prepare(text)

    def ask(question):
        result = connection.execute(prepared, {"s": question["source"]})
        return result.get_next()[0]

    return ask


def within(steps):
    stepwise = "MATCH (a:N {id: $s})-[:E]->(v1:N) WITH DISTINCT v1 "
    for step in range(1, steps):
        stepwise += f"MATCH (v{step})-[:E*0..1]->(v{step + 1}:N) WITH DISTINCT v{step + 1} "
    texts = {
        "walks": f"MATCH (a:N {{id: $s}})-[:E*1..{steps}]->(b:N) RETURN count(DISTINCT b.id)",
        "shortest": f"MATCH (a:N {{id: $s}})-[:E* SHORTEST 1..{steps}]->(b:N) RETURN count(*)",
        "shortest ends": f"MATCH (a:N {{id: $s}})-[:E* SHORTEST 1..{steps}]->(b:N) WHERE b.id <> $s RETURN count(*)",
        "step by step": stepwise + "RETURN count(*)",
    }
    if steps == 1:
        texts["plain"] = "MATCH (a:N {id: $s})-[:E]->(b:N) RETURN count(DISTINCT b.id)"
    if steps == 2:
        texts["plain"] = (
            "MATCH (a:N {id: $s})-[:E]->(b:N) WITH a, collect(b.id) AS near "
            "MATCH (a)-[:E]->(:N)-[:E]->(c:N) WHERE NOT list_contains(near, c.id) "
            "RETURN size(any_value(near)) + count(DISTINCT c.id)"
        )
    return {name: asked(text) for name, text in texts.items()}


point = {"key": asked("MATCH (a:N {id: $s}) RETURN a.id")}
hops(point, {steps: within(steps) for steps in (1, 2, 3)}, engine.__version__, load_seconds, graph)
os._exit(0)
