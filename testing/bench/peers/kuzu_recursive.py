"""Path lengths in Kuzu and in LadybugDB: run.py MODULE FOLDER WORK. Checks every answer, prints the best wording's median."""
import importlib
import os
import time

from common import FOLDER, PACKAGE, WORK, edges_file, json, median_ms, questions, trial_ms

LENGTH_MAX = 30

engine = importlib.import_module(PACKAGE)
graph = questions()
connection = engine.Connection(engine.Database(os.path.join(WORK, "paths.db")))
connection.set_max_threads_for_exec(int(graph["threads"]))

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
try:
    connection.execute(f"CALL var_length_extend_max_depth={LENGTH_MAX}")
except RuntimeError:
    pass

TEXTS = {
    "shortest": f"MATCH (a:N)-[e:E* SHORTEST 1..{LENGTH_MAX}]->(b:N) WHERE a.id IN $s RETURN count(*), sum(length(e))",
    "shortest, not the source": f"MATCH (a:N)-[e:E* SHORTEST 1..{LENGTH_MAX}]->(b:N) WHERE a.id IN $s AND a.id <> b.id RETURN count(*), sum(length(e))",
}


def asked(text):
    prepared = connection.prepare(text)

    def ask(question):
        return connection.execute(prepared, {"s": question["sources"]}).get_next()

    return ask


def right(question, answer):
    # A source that can be reached from itself is an end to some engines and none to others.
    return [answer[0], answer[1]] in (question["answers"])


figures = {}
for name, sources in graph["questions"].items():
    asks = {wording: asked(text) for wording, text in TEXTS.items()}
    trials = {wording: trial_ms(ask, sources, right) for wording, ask in asks.items()}
    best = min(trials, key=trials.get)
    if trials[best] < float("inf"):
        figures[name] = median_ms(asks[best], sources, right)
print(json.dumps({"version": engine.__version__, "load_seconds": load_seconds, "figures": figures}))
os._exit(0)
