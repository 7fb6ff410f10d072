"""The official texts of TPC-H in DuckDB over a part of the rows: run.py MODULE FOLDER WORK.

`questions.json`: {"texts": {name: text}, "points": [{"partkey", "orderkey", "names"}], "rounds"}; the tables as CSV beside it. The answer holds, for each
point, what each named text answers where only stock up to that part and orders up to that key are there, and the time of the fastest of its rounds.
"""
import datetime
import decimal
import json
import os
import time

import duckdb

from common import FOLDER, questions

KEYS = {"partsupp": ("ps_partkey", "partkey"), "orders": ("o_orderkey", "orderkey"), "lineitem": ("l_orderkey", "orderkey")}
TABLES = {
    "region": "r_regionkey BIGINT, r_name VARCHAR, r_comment VARCHAR",
    "nation": "n_nationkey BIGINT, n_name VARCHAR, n_regionkey BIGINT, n_comment VARCHAR",
    "supplier": "s_suppkey BIGINT, s_name VARCHAR, s_address VARCHAR, s_nationkey BIGINT, s_phone VARCHAR, "
    "s_acctbal DECIMAL(15, 2), s_comment VARCHAR",
    "customer": "c_custkey BIGINT, c_name VARCHAR, c_address VARCHAR, c_nationkey BIGINT, c_phone VARCHAR, "
    "c_acctbal DECIMAL(15, 2), c_mktsegment VARCHAR, c_comment VARCHAR",
    "part": "p_partkey BIGINT, p_name VARCHAR, p_mfgr VARCHAR, p_brand VARCHAR, p_type VARCHAR, p_size INTEGER, "
    "p_container VARCHAR, p_retailprice DECIMAL(15, 2), p_comment VARCHAR",
    "partsupp": "ps_partkey BIGINT, ps_suppkey BIGINT, ps_availqty INTEGER, ps_supplycost DECIMAL(15, 2), ps_comment VARCHAR",
    "orders": "o_orderkey BIGINT, o_custkey BIGINT, o_orderstatus VARCHAR, o_totalprice DECIMAL(15, 2), o_orderdate DATE, "
    "o_orderpriority VARCHAR, o_clerk VARCHAR, o_shippriority INTEGER, o_comment VARCHAR",
    "lineitem": "l_orderkey BIGINT, l_partkey BIGINT, l_suppkey BIGINT, l_linenumber INTEGER, l_quantity DECIMAL(15, 2), "
    "l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2), l_tax DECIMAL(15, 2), l_returnflag VARCHAR, "
    "l_linestatus VARCHAR, l_shipdate DATE, l_commitdate DATE, l_receiptdate DATE, l_shipinstruct VARCHAR, "
    "l_shipmode VARCHAR, l_comment VARCHAR",
}


def plain(value):
    """What JSON can say."""
    if isinstance(value, decimal.Decimal):
        return float(value)
    return value.isoformat() if isinstance(value, datetime.date) else value


def answer(text):
    """The rows of the one SELECT among the statements of a text."""
    rows = None
    for statement in filter(str.strip, text.split(";")):
        result = connection.execute(statement)
        if statement.strip().startswith("select"):
            rows = result.fetchall()
    return rows


asked = questions()
connection = duckdb.connect(config={"threads": os.cpu_count()})
for table, columns in TABLES.items():
    loaded = f"all_{table}" if table in KEYS else table
    connection.execute(f"CREATE TABLE {loaded} ({columns})")
    connection.execute(f"COPY {loaded} FROM '{os.path.join(FOLDER, table)}.csv' (HEADER, QUOTE '\"')")
answers, best_ms = [], []


def timed(text):
    """The answer and the milliseconds of one call; rows are made fit for JSON outside of the clock."""
    before = time.perf_counter()
    rows = answer(text)
    took_ms = (time.perf_counter() - before) * 1e3
    return rows if rows is None else [[plain(value) for value in row] for row in rows], took_ms


for point in asked["points"]:
    for table, (column, key) in KEYS.items():
        text = f"CREATE OR REPLACE TABLE {table} AS SELECT * FROM all_{table} WHERE {column} <= {int(point[key])}"
        connection.execute(text)
    calls = {name: [timed(asked["texts"][name]) for _ in range(asked.get("rounds", 1))] for name in point["names"]}
    answers.append({name: found[0][0] for name, found in calls.items()})
    best_ms.append({name: min(took for _, took in found) for name, found in calls.items()})
print(json.dumps({"version": duckdb.__version__, "answers": answers, "best_ms": best_ms}))
