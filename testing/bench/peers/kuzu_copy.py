"""COPY of an edge list in Kuzu and in LadybugDB, which descends from it: run.py MODULE FOLDER WORK. Tables are made before."""
import importlib
import json
import os
import time

from common import FOLDER, PACKAGE, WORK, edges_file, questions

engine = importlib.import_module(PACKAGE)
connection = engine.Connection(engine.Database(os.path.join(WORK, "copy.db")))
if hasattr(connection, "set_max_threads_for_exec"):
    connection.set_max_threads_for_exec(os.cpu_count())
nodes = os.path.join(WORK, "nodes.csv")
with open(nodes, "w") as file:
    file.writelines(f"{vertex}\n" for vertex in range(questions()["vertices"]))
connection.execute("CREATE NODE TABLE N(id INT64, PRIMARY KEY(id))")
connection.execute("CREATE REL TABLE E(FROM N TO N)")
copied = os.path.join(WORK, "edges.csv")
os.symlink(edges_file(), copied)

begin = time.perf_counter()
connection.execute(f"COPY N FROM '{nodes}' (HEADER=false)")
connection.execute(f"COPY E FROM '{copied}' (HEADER=false, DELIM=' ')")
seconds = time.perf_counter() - begin
print(json.dumps({"version": engine.__version__, "copy_seconds": seconds}))
os._exit(0)
