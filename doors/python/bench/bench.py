"""Figures of the package beside kuzu and duckdb, where those are installed: one process, one run, answers checked.

python bench/bench.py [--edges 1000000] [--rows 1000000] [--lookups 10000] [--repeat 3]

Each figure is the best of the repetitions, in turn with the others; every answer is compared before it counts. duckdb is a table store: its
graph is two tables with an index on the id. kuzu and tanglewood import into a new database in memory.
"""

import argparse
import gc
import statistics
import sys
import time

import numpy as np
import pandas as pd

import tanglewood


class Tanglewood:
    name = "tanglewood"

    def __init__(self, people, edges):
        self.people, self.edges = people, edges

    def open(self):
        self.db = tanglewood.connect(":memory:")
        self.session = self.db.session()

    def load(self):
        nodes, ends = {"Person": (self.people, "id")}, ("from:Person", "to:Person")
        report = self.db.import_tables(nodes, {"KNOWS": (self.edges, *ends)})
        return report.nodes, report.relationships

    def call(self):
        return self.session.query("RETURN 1").rows()[0][0]

    def lookup(self, id):
        return self.session.query("MATCH (p:Person {id: $id}) RETURN p.name", {"id": id}).rows()[0][0]

    def table(self, rows):
        return self.session.query("UNWIND range(1, $rows) AS x RETURN x, x * 0.5 AS f, toString(x) AS t", {"rows": rows})

    def pandas(self, rows):
        return self.table(rows).to_pandas()

    def arrow(self, rows):
        return self.table(rows).to_arrow()

    def graph_pandas(self):
        return self.session.query("MATCH (a:Person)-[k:KNOWS]->(b) RETURN a.id, b.id, k.since").to_pandas()

    def hops(self, id):
        text = "MATCH (p:Person {id: $id})-[:KNOWS]->()-[:KNOWS]->(f) RETURN count(DISTINCT f.id)"
        return self.session.query(text, {"id": id}).rows()[0][0]

    def close(self):
        self.db.close()


class Kuzu:
    name = "kuzu"

    def __init__(self, people, edges):
        import kuzu

        # It does not know the texts of pandas 3.
        self.kuzu, self.people, self.edges = kuzu, people.astype({"name": object}), edges

    def open(self):
        self.db = self.kuzu.Database(":memory:")
        self.session = self.kuzu.Connection(self.db)
        self.session.execute("CREATE NODE TABLE Person(id INT64, name STRING, PRIMARY KEY (id))")
        self.session.execute("CREATE REL TABLE KNOWS(FROM Person TO Person, since INT64)")

    def load(self):
        people, edges = self.people, self.edges
        self.session.execute("COPY Person FROM people")
        self.session.execute("COPY KNOWS FROM edges")
        count = lambda text: self.session.execute(text).get_next()[0]
        return count("MATCH (p:Person) RETURN count(*)"), count("MATCH ()-[k:KNOWS]->() RETURN count(*)")

    def call(self):
        return self.session.execute("RETURN 1").get_next()[0]

    def lookup(self, id):
        return self.session.execute("MATCH (p:Person {id: $id}) RETURN p.name", {"id": id}).get_next()[0]

    def table(self, rows):
        return self.session.execute(
            "UNWIND range(1, %d) AS x RETURN x, CAST(x AS DOUBLE) * 0.5 AS f, CAST(x AS STRING) AS t" % rows
        )

    def pandas(self, rows):
        return self.table(rows).get_as_df()

    def arrow(self, rows):
        return self.table(rows).get_as_arrow()

    def graph_pandas(self):
        return self.session.execute("MATCH (a:Person)-[k:KNOWS]->(b:Person) RETURN a.id, b.id, k.since").get_as_df()

    def hops(self, id):
        text = "MATCH (p:Person {id: $id})-[:KNOWS]->()-[:KNOWS]->(f) RETURN count(DISTINCT f.id)"
        return self.session.execute(text, {"id": id}).get_next()[0]

    def close(self):
        self.session.close()
        self.db.close()


class Duckdb:
    name = "duckdb"

    def __init__(self, people, edges):
        import duckdb

        self.duckdb, self.people, self.edges = duckdb, people, edges

    def open(self):
        self.db = self.duckdb.connect(":memory:")

    def load(self):
        people, edges = self.people, self.edges
        self.db.execute("CREATE TABLE person AS SELECT * FROM people")
        self.db.execute("CREATE UNIQUE INDEX by_id ON person(id)")
        self.db.execute('CREATE TABLE knows AS SELECT * FROM edges')
        self.db.execute('CREATE INDEX by_from ON knows("from")')
        count = lambda table: self.db.execute("SELECT count(*) FROM " + table).fetchone()[0]
        return count("person"), count("knows")

    def call(self):
        return self.db.execute("SELECT 1").fetchall()[0][0]

    def lookup(self, id):
        return self.db.execute("SELECT name FROM person WHERE id = ?", [id]).fetchall()[0][0]

    def table(self, rows):
        return self.db.execute("SELECT x, CAST(x * 0.5 AS DOUBLE) AS f, CAST(x AS VARCHAR) AS t FROM range(1, ? + 1) r(x)", [rows])

    def pandas(self, rows):
        return self.table(rows).df()

    def arrow(self, rows):
        return self.table(rows).to_arrow_table()

    def graph_pandas(self):
        return self.db.execute('SELECT "from", "to", since FROM knows').df()

    def hops(self, id):
        text = 'SELECT count(DISTINCT k2."to") FROM knows k1 JOIN knows k2 ON k1."to" = k2."from" WHERE k1."from" = ?'
        return self.db.execute(text, [id]).fetchall()[0][0]

    def close(self):
        self.db.close()


def timed(work):
    gc.collect()
    started = time.perf_counter()
    found = work()
    return time.perf_counter() - started, found


def check(what, one, other):
    if one != other:
        sys.exit("%s: %r is not %r" % (what, one, other))


def total(frame):
    """What is compared of a frame: its size and the sums of its columns."""
    sums = [float(frame[name].sum()) if frame[name].dtype.kind in "if" else int(frame[name].str.len().sum()) for name in frame]
    return len(frame), *sums


def measures(arguments, people, edges):
    chance = np.random.default_rng(3)
    ids = [int(id) for id in chance.integers(0, len(people), arguments.lookups)]
    hops, rows = ids[:100], arguments.rows
    frame_of = {"arrow": lambda table: total(table.to_pandas()), "pandas": total}
    yield "import", "s", 1, lambda store: store.load(), lambda found: found
    yield "a call", "us", 2000, lambda store: [store.call() for _ in range(2000)], sum
    yield "look-up", "us", len(ids), lambda store: [store.lookup(id) for id in ids], lambda names: names
    yield "2 hops", "us", len(hops), lambda store: [store.hops(id) for id in hops], lambda counts: counts
    yield "rows to pandas", "s", 1, lambda store: store.pandas(rows), frame_of["pandas"]
    yield "rows to Arrow", "s", 1, lambda store: store.arrow(rows), frame_of["arrow"]
    yield "edges to pandas", "s", 1, lambda store: store.graph_pandas(), total


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, value in (("edges", 1_000_000), ("people", 100_000), ("rows", 1_000_000), ("lookups", 10_000), ("repeat", 3)):
        parser.add_argument("--" + name, type=int, default=value)
    arguments = parser.parse_args()
    chance = np.random.default_rng(7)
    n, m = arguments.people, arguments.edges
    people = pd.DataFrame({"id": np.arange(n), "name": ["person %d" % id for id in range(n)]})
    ends = {"from": chance.integers(0, n, m), "to": chance.integers(0, n, m), "since": chance.integers(1900, 2026, m)}
    # A loop is walked twice by joins, and once by Cypher.
    ends["to"] = np.where(ends["to"] == ends["from"], (ends["to"] + 1) % n, ends["to"])
    edges = pd.DataFrame(ends)
    stores = []
    for make in (Tanglewood, Kuzu, Duckdb):
        try:
            stores.append(make(people, edges))
        except ImportError:
            print("%s is not installed" % make.name)
    print("%-16s %s" % ("", " ".join("%14s" % store.name for store in stores)))
    best = {}
    for at in range(arguments.repeat):
        for store in stores:
            store.open()
        for what, unit, count, work, shown in measures(arguments, people, edges):
            answers = []
            for store in stores:
                seconds, found = timed(lambda: work(store))
                answers.append(shown(found))
                key = (what, unit, count, store.name)
                best[key] = min(best.get(key, float("inf")), seconds)
            for answer in answers[1:]:
                check(what, answer, answers[0])
        for store in stores:
            store.close()
    for what, unit, count, *_ in measures(arguments, people, edges):
        scale = 1e6 if unit == "us" else 1
        figures = [best[what, unit, count, store.name] / count * scale for store in stores]
        ratios = ["%8.3f %-5s" % (figure, "x%.2f" % (figure / figures[0])) for figure in figures]
        print("%-16s %s %s" % (what, " ".join(ratios), unit))
    overhead()


def overhead():
    """What the package adds to the database's own time for the same statement.

    The summary says that time, from the text to the last row that was read; so what lies between `query` and `rows` counts as the
    database's, and a call that does nothing (`in_transaction`) is timed beside it.
    """
    with tanglewood.connect(":memory:") as db, db.session() as session:
        own, whole = [], []
        for _ in range(20_000):
            started = time.perf_counter_ns()
            result = session.query("RETURN 1")
            result.rows()
            whole.append(time.perf_counter_ns() - started)
            own.append(result.summary().elapsed * 1e9)
        empty = []
        for _ in range(20_000):
            started = time.perf_counter_ns()
            session.in_transaction
            empty.append(time.perf_counter_ns() - started)
    of = lambda found: statistics.median(found) / 1e3
    print("a call of RETURN 1: %.2f us (median), of which the database says %.2f us" % (of(whole), of(own)))
    print("the package adds %.2f us; a call that does nothing takes %.2f us" % (of(whole) - of(own), of(empty)))


if __name__ == "__main__":
    main()
