"""Questions about the whole graph in DuckDB: run.py MODULE FOLDER WORK."""
import json
import os
import time

import duckdb

from common import FOLDER, WORK

connection = duckdb.connect(os.path.join(WORK, "analytics.duckdb"), config={"threads": os.cpu_count()})
begin = time.perf_counter()
people = os.path.join(FOLDER, "people.csv")
connection.execute(f"CREATE TABLE person AS SELECT * FROM read_csv('{people}', header=true)")
for name, columns in (("knows", "\"from\" AS from_id, \"to\" AS to_id, year, weight"), ("likes", "\"from\" AS from_id, \"to\" AS to_id")):
    file = os.path.join(FOLDER, f"{name}.csv")
    connection.execute(f"CREATE TABLE {name} AS SELECT {columns} FROM read_csv('{file}', header=true)")
load_seconds = time.perf_counter() - begin
figures = {}
with open(os.path.join(FOLDER, "questions.json")) as file:
    questions = json.load(file)
for question in questions:
    best, rows = float("inf"), None
    for _ in range(question["rounds"] + 1):
        before = time.perf_counter()
        if question["sorted"]:
            column = connection.execute(question["sql"]).fetchnumpy()["score"]
            took = time.perf_counter() - before
            rows = [[len(column), bool((column[:-1] <= column[1:]).all()), float(column[0]), float(column[-1])]]
        else:
            rows = [list(row) for row in connection.execute(question["sql"]).fetchall()]
            took = time.perf_counter() - before
        best = min(best, took * 1e3)
    figures[question["name"]] = {"best_ms": best, "rows": rows}
print(json.dumps({"version": duckdb.__version__, "load_seconds": load_seconds, "figures": figures}))
