"""Hops in DuckDB: relational, recursive, and over lists of neighbours: run.py MODULE FOLDER WORK."""
import os
import time

import duckdb

from common import WORK, edges_file, hops, questions

graph = questions()
connection = duckdb.connect(os.path.join(WORK, "hops.duckdb"), config={"threads": os.cpu_count()})
begin = time.perf_counter()
connection.execute(f"CREATE TABLE n AS SELECT range AS id FROM range({graph['vertices']})")
connection.execute(
    f"CREATE TABLE e AS SELECT * FROM read_csv('{edges_file()}', delim=' ', header=false, "
    "columns={'s': 'BIGINT', 't': 'BIGINT'}) ORDER BY s, t"
)
connection.execute("CREATE UNIQUE INDEX n_id ON n(id)")
connection.execute("CREATE INDEX e_s ON e(s)")
connection.execute("CREATE TABLE a AS SELECT s, list(t) AS near FROM e GROUP BY s ORDER BY s")
connection.execute("CREATE UNIQUE INDEX a_s ON a(s)")
load_seconds = time.perf_counter() - begin
prepared = 0


def asked(text):
    """Prepared by name once; asked by EXECUTE."""
    global prepared
    prepared += 1
    name = f"p{prepared}"
    connection.execute(f"PREPARE {name} AS {text}")
    return lambda question: connection.execute(f"EXECUTE {name}({question['source']})").fetchone()[0]


def direct(text):
    return lambda question: connection.execute(text, [question["source"]]).fetchone()[0]


def within(steps):
    levels = ["h1 AS MATERIALIZED (SELECT DISTINCT t FROM e WHERE s = $1)"]
    lists = ["h1 AS MATERIALIZED (SELECT DISTINCT unnest(near) AS t FROM a WHERE s = $1)"]
    for step in range(2, steps + 1):
        before = f"(SELECT t FROM h{step - 1})"
        levels.append(f"h{step} AS MATERIALIZED (SELECT DISTINCT t FROM e WHERE s IN {before})")
        lists.append(f"h{step} AS MATERIALIZED (SELECT DISTINCT unnest(near) AS t FROM a WHERE s IN {before})")
    union = " UNION ".join(f"SELECT t FROM h{step}" for step in range(1, steps + 1))
    recursive = (
        "WITH RECURSIVE r(v, d) AS (SELECT $1::BIGINT, 0 UNION SELECT e.t, r.d + 1 FROM r JOIN e ON e.s = r.v "
        f"WHERE r.d < {steps}) SELECT count(DISTINCT v) FROM r WHERE d > 0"
    )
    using_key = (
        "WITH RECURSIVE r(v, d) USING KEY (v) AS (SELECT $1::BIGINT, 0 UNION SELECT e.t, min(r.d) + 1 FROM r "
        "JOIN e ON e.s = r.v LEFT JOIN recurring.r k ON k.v = e.t WHERE k.v IS NULL "
        f"AND r.d < {steps} GROUP BY e.t) SELECT count(*) - 1 FROM r"
    )
    texts = {
        "levels": f"WITH {', '.join(levels)} SELECT count(*) FROM ({union})",
        "lists": f"WITH {', '.join(lists)} SELECT count(*) FROM ({union})",
        "recursive": recursive,
        "recursive by key": using_key,
    }
    if steps == 1:
        texts["plain"] = "SELECT count(DISTINCT t) FROM e WHERE s = $1"
    asks = {}
    for name, text in texts.items():
        for how, make in (("prepared", asked), ("direct", direct)):
            try:
                asks[f"{name}, {how}"] = make(text)
            except duckdb.Error:
                pass
    return asks


point_text = "SELECT id FROM n WHERE id = $1"
point = {"prepared": asked(point_text), "direct": direct(point_text)}
hops(point, {steps: within(steps) for steps in (1, 2, 3)}, duckdb.__version__, load_seconds, graph)
